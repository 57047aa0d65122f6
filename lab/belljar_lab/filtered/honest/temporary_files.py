# SPDX-License-Identifier: Apache-2.0
import os
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "draft.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("draft\n" * 3)
    with open(path, encoding="utf-8") as file:
        print(len(file.readlines()), os.listdir(folder))
print(os.path.exists(path))
