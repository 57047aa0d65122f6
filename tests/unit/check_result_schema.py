# SPDX-License-Identifier: Apache-2.0
"""check_result_schema.py SCHEMA TEST_RESULT_JSON: the samples of that test are what the schema says.

And the schema says something: each sample, changed in one place, is refused by it.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

# Where and what; a value that no result may have there.
WRONG = [
    (("schema",), "belljar.result/2"),
    (("outcome",), "timeout"),
    (("started",), 1),
    (("exit_code",), 256),
    (("signal",), 0),
    (("limits_hit",), ["swap"]),
    (("stdout", "encoding"), "latin-1"),
    (("stderr", "truncated"), "no"),
    (("usage", "by"), "guess"),
    (("usage", "wall_ms"), -1),
    (("usage", "memory_peak_bytes"), 0),
    (("retry",), "maybe"),
    (("timings_ms", "lunch"), 1.0),
    (("extra",), None),
]
# A run that did not exit has no code, and so on.
CONTRADICTIONS = [("outcome", "refused"), ("outcome", "sandbox_error"), ("outcome", "signaled"),
                  ("outcome", "time_limit")]


def samples(program):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program], env={**os.environ, "BELLJAR_SAMPLES": folder}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return {path.stem: json.loads(path.read_bytes()) for path in Path(folder).iterdir()}


def main():
    schema = json.loads(Path(sys.argv[1]).read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = samples(sys.argv[2])
    assert len(good) >= 15, sorted(good)
    for name, sample in sorted(good.items()):
        for error in validator.iter_errors(sample):
            raise SystemExit(f"{name}: {error.json_path}: {error.message}")
        for path, value in WRONG:
            bad = copy.deepcopy(sample)
            at = bad
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            assert not validator.is_valid(bad), (name, path)
        for key in sample:
            assert not validator.is_valid({k: v for k, v in sample.items() if k != key}), key
    for key, value in CONTRADICTIONS:
        assert not validator.is_valid({**good["success"], key: value}), value
    print(f"{len(good)} samples")


main()
