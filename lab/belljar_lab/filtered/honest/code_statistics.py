# SPDX-License-Identifier: Apache-2.0
import ast
from collections import Counter

SOURCE = '''
import subprocess

def run(command):
    """Runs it."""
    result = subprocess.run(command, shell=True)
    if result.returncode:
        raise RuntimeError(eval("'failed'"))
    return result
'''
tree = ast.parse(SOURCE)
kinds = Counter(type(node).__name__ for node in ast.walk(tree))
print(kinds.most_common(3))
risky = [node.func.id for node in ast.walk(tree)
         if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
print("look at:", risky)
