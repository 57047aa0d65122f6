#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every fuzzer for FUZZ_SECONDS (20). What it finds stays in build/fuzz: a crash is reproduced by
# giving that file to the fuzzer; the corpus grows from run to run.
set -euo pipefail
seconds=${FUZZ_SECONDS:-20}
tree=${BUILD:?}/gate-fuzz
found=${BUILD:?}/fuzz
status=0

if [ ! -e "$tree/build.ninja" ]; then
	CC=clang ${MESON:-meson} setup "$tree" -Dfuzzers=true -Dtests=enabled -Db_lundef=false >/dev/null
fi
fuzzers=$(ninja -C "$tree" -t targets all | sed -n 's|^\(tests/fuzz/fuzz_[a-z_]*\): c_LINKER.*|\1|p')
[ -n "$fuzzers" ] || { echo 'fuzz: there is no fuzzer' >&2; exit 1; }
# shellcheck disable=SC2086 # names without blanks
ninja -C "$tree" --quiet $fuzzers

fuzz_one() {
	local fuzzer=$1 name seeds
	name=$(basename "$fuzzer")
	seeds=tests/fuzz/corpus/${name#fuzz_}
	mkdir -p "$found/$name.corpus"
	echo "fuzz $name, $seconds s"
	# shellcheck disable=SC2046
	"$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=600 -print_final_stats=1 \
		-artifact_prefix="$found/$name-" "$found/$name.corpus" \
		$([ ! -d "$seeds" ] || echo "$seeds") >"$found/$name.log" 2>&1 ||
		{ tail -n 40 "$found/$name.log"; echo "fuzz: $name found a fault" >&2; return 1; }
	grep -E 'number_of_executed_units' "$found/$name.log"
}
mkdir -p "$found"
for fuzzer in $fuzzers; do
	fuzz_one "$tree/$fuzzer" || status=1
done
exit $status
