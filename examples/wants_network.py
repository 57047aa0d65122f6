# SPDX-License-Identifier: Apache-2.0
# Asks a server for a page.
import urllib.request

print(urllib.request.urlopen("http://example.com/", timeout=5).read()[:80])
