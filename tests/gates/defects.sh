#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What counts tests, and the runner of planted defects; then that part of them that this commit
# decides on. All of them: make defects.
set -e
cd "$(dirname "$0")/../.."
/usr/bin/python3 -B -m pytest -q -p no:cacheprovider tests/defects
exec /usr/bin/python3 -B tests/defects/defects.py --rotate
