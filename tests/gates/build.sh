#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh gcc|clang: everything, the benches too, without a warning.
set -euo pipefail
tree=${BUILD:?}/gate-$1
rm -rf "$tree"
CC=$1 ${MESON:-meson} setup "$tree" -Dwerror=true -Dtests=enabled >/dev/null
ninja -C "$tree" all benches
