# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import zlib

data = b"pixels" * 1000
packed = zlib.compress(data, 9)
text = base64.b64encode(packed).decode()
print(len(data), hashlib.sha256(data).hexdigest()[:16])
assert zlib.decompress(base64.b64decode(text)) == data
