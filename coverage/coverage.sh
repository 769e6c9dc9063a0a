#!/bin/bash
# Measures line and branch coverage of host C: coverage.sh SECONDS "SUITE..." SOURCE...
# Runs every suite and the program's own runs in the coverage build, writes text, HTML, Cobertura
# XML and JSON under build/coverage, and fails below the two gates or when a source is missing from
# the report.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=$1 suites=$2
shift 2
line_gate=80 branch_gate=65
out=build/coverage/report
folder=build/coverage

find "$folder" -name '*.gcda' -delete
rm -rf "$out"
mkdir -p "$out"
# shellcheck disable=SC2086
.ci/run_suites.sh "$folder" "$limit" $suites

echo "coverage: gcovr"
.venv/bin/gcovr --config coverage/gcovr.cfg --txt "$out/coverage.txt" --html-details "$out/index.html" \
    --cobertura "$out/cobertura.xml" --json "$out/coverage.json" --json-summary "$out/summary.json" \
    >"$out/gcovr.log" 2>&1 || { cat "$out/gcovr.log" >&2; exit 1; }
python3 coverage/gate.py "$out/summary.json" "$line_gate" "$branch_gate" "$@"
