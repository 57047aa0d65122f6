# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

top = Path("site")
for name in ("index.html", "css/main.css", "js/app.js", "js/lib/tools.js"):
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"/* {name} */\n", encoding="utf-8")
for path in sorted(top.rglob("*")):
    indent = "  " * (len(path.parts) - 2)
    print(f"{indent}{path.name}{'/' if path.is_dir() else ''}")
