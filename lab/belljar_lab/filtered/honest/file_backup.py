# SPDX-License-Identifier: Apache-2.0
import os
import shutil

os.makedirs("notes", exist_ok=True)
for name in ("monday", "tuesday"):
    with open(os.path.join("notes", f"{name}.txt"), "w", encoding="utf-8") as file:
        file.write(f"what was done on {name}\n")
shutil.copytree("notes", "backup")
for folder, _, names in sorted(os.walk("backup")):
    for name in sorted(names):
        print(os.path.join(folder, name), os.path.getsize(os.path.join(folder, name)))
shutil.rmtree("notes")
print(os.path.exists("notes"), os.path.exists("backup"))
