# SPDX-License-Identifier: Apache-2.0
from urllib.parse import parse_qs, urlencode, urlsplit

parts = urlsplit("https://shop.example/items?colour=red&colour=blue&size=4#top")
print(parts.hostname, parts.path, parse_qs(parts.query), parts.fragment)
print(urlencode({"q": "a b", "page": 2}))
