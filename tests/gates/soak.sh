#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A short soak: 600 runs of every outcome, nothing more on the host afterwards. `make bench` has the
# long one.
set -euo pipefail
ninja -C "${BUILD:?}" --quiet benches
exec /usr/bin/python3 bench/bench.py --only soak --strict --soak 600 --out "$BUILD/gates/soak.json"
