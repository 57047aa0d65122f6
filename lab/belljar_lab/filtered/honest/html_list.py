# SPDX-License-Identifier: Apache-2.0
import html
from html.parser import HTMLParser


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if tag == "a" and name == "href"]


parser = Links()
parser.feed('<p><a href="https://example.com/?a=1&amp;b=2">one</a> <a href="/two">two</a></p>')
print(parser.found)
print(html.escape("<script>eval('1')</script>"))
