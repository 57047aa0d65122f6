#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs.sh: the generated pages are what the tables and the lab's rows make. docs.sh --write: makes them.
set -euo pipefail
build=${BUILD:?}
ninja -C "$build" --quiet
docgen=$(find "$build" -name belljar-docgen -type f -perm -u+x -not -path '*/gate-*' | head -n 1)
[ -n "$docgen" ] || { echo 'docs: belljar-docgen was not built' >&2; exit 1; }
attacks() { PYTHONPATH=lab "${PYTHON:-/usr/bin/python3}" -B -m belljar_lab list --markdown; }
rules() { "$build/src/layers/seccomp_gen" x86_64 doc; }
case ${1-} in
--write)
	"$docgen" write docs/generated
	rules >docs/generated/seccomp.md
	attacks >docs/generated/attacks.md
	;;
*)
	"$docgen" check docs/generated
	rules | diff -u docs/generated/seccomp.md - || { echo 'docs: `make docs` makes it anew' >&2; exit 1; }
	attacks | diff -u docs/generated/attacks.md - || { echo 'docs: `make docs` makes it anew' >&2; exit 1; }
	;;
esac
