# SPDX-License-Identifier: Apache-2.0
import xml.etree.ElementTree as ET

root = ET.fromstring("""<books>
  <book year="1847"><title>Jane Eyre</title></book>
  <book year="1813"><title>Pride and Prejudice</title></book>
</books>""")
for book in sorted(root.iter("book"), key=lambda book: int(book.get("year"))):
    print(book.get("year"), book.findtext("title"))
