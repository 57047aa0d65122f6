#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The seams of the tests are linked, never switched: no installed file may hold one. And of the
# library's own names only bj_* may be seen from outside.
set -euo pipefail
stage=${STAGE:?}
status=0
found=0

# The lab's own files are no product files; a package of their own holds them.
while read -r file; do
	found=$((found + 1))
	if nm -a "$file" 2>/dev/null | grep -E ' (lab_|attack_|planted_|test_|__wrap_|fault_plan)' ||
	   nm -aD "$file" 2>/dev/null | grep -E ' (lab_|attack_|planted_|test_|__wrap_|fault_plan)'; then
		echo "symbols: $file holds symbols of the lab or the tests" >&2
		status=1
	fi
	if strings -a "$file" | grep -E 'BELLJAR_(TEST|FAULT|SKIP|DISABLE|LAB|LAUNCH|REQUIRED)'; then
		echo "symbols: $file reads a variable of the tests" >&2
		status=1
	fi
done < <(find "$stage" -path '*/libexec/belljar-lab' -prune -o -type f \( -perm -u+x -o -name '*.so*' -o -name '*.a' \) -print)
[ "$found" -ge 4 ] || { echo "symbols: only $found files below $stage" >&2; exit 1; }

shared=$(find "$stage" -name 'libbelljar.so*' -type f)
static=$(find "$stage" -name libbelljar.a)
[ -n "$shared" ] && [ -n "$static" ] || { echo "symbols: no libbelljar.so or no libbelljar.a" >&2; exit 1; }
if { nm -D --defined-only "$shared"; nm -g --defined-only "$static"; } | awk 'NF == 3 { print $3 }' |
   grep -v '^bj_'; then
	echo "symbols: the library exports more than bj_*" >&2
	status=1
fi
[ "$(nm -g --defined-only "$static" | grep -c ' T bj_')" -gt 20 ] ||
	{ echo "symbols: $static lacks functions of belljar.h" >&2; status=1; }
for program in belljar belljar-launch; do
	path=$(find "$stage" -name "$program" -type f -perm -u+x)
	[ -n "$path" ] || { echo "symbols: no $program" >&2; exit 1; }
	if readelf -d "$path" | grep NEEDED || readelf -l "$path" | grep INTERP; then
		echo "symbols: $path is not static" >&2
		status=1
	fi
done
[ $status -ne 0 ] || echo "symbols: $found files"
exit $status
