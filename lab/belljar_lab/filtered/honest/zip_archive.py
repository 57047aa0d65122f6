# SPDX-License-Identifier: Apache-2.0
import io
import zipfile

memory = io.BytesIO()
with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.txt", "a" * 1000)
    archive.writestr("folder/b.txt", "b")
with zipfile.ZipFile(memory) as archive:
    for one in archive.infolist():
        print(one.filename, one.file_size)
    print(archive.read("folder/b.txt"), archive.testzip())
