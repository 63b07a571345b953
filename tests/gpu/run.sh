#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds the kernels, runs the tests of device "cuda" on it, and
# prints one table last. Needs nvcc and Python; takes the environment that is active.
#
#   tests/gpu/run.sh [pytest arguments]
set -uo pipefail
cd "$(dirname "$0")/../.."

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 1

python -m pip install -q '.[test]' --config-settings=cmake.define.ZOO_CUDA=ON || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests pyproject.toml "$work"  # beside the installed package, not over its sources

cd "$work"
unset ZOO_EMULATED_LIBRARY
python -m pytest -q -m cuda tests/gpu/device --junit-xml="$work/report.xml" "$@"
status=$?

python - "$work/report.xml" <<'TABLE'
import collections, sys
import xml.etree.ElementTree as tree

rows = collections.defaultdict(collections.Counter)
for case in tree.parse(sys.argv[1]).iter("testcase"):
    bad = case.find("failure") is not None or case.find("error") is not None
    rows[case.get("name").split("[")[0]]["failed" if bad else "passed"] += 1
print(f"\n{'test':60} passed failed")
for name, counts in sorted(rows.items()):
    print(f"{name:60} {counts['passed']:6} {counts['failed']:6}")
TABLE
exit $status
