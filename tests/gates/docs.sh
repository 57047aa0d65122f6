#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs.sh: the generated pages are what the tables make. docs.sh --write: makes them.
set -euo pipefail
build=${BUILD:?}
ninja -C "$build" --quiet
docgen=$(find "$build" -name belljar-docgen -type f -perm -u+x -not -path '*/gate-*' | head -n 1)
[ -n "$docgen" ] || { echo 'docs: belljar-docgen was not built' >&2; exit 1; }
case ${1-} in
--write) exec "$docgen" write docs/generated ;;
*) exec "$docgen" check docs/generated ;;
esac
