# SPDX-License-Identifier: Apache-2.0
import subprocess

names = "pear\napple\nfig\napple\n"
sort = subprocess.run(["sort", "-u"], input=names, capture_output=True, text=True, check=True)
print(sort.stdout.split())
