# SPDX-License-Identifier: Apache-2.0
import json


def flatten(value, path=""):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from flatten(one, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from flatten(one, f"{path}[{index}]")
    else:
        yield path, value


text = '{"user": {"name": "Ann", "tags": ["a", "b"], "age": 41}, "active": true}'
for path, value in flatten(json.loads(text)):
    print(path, "=", value)
