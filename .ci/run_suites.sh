#!/bin/bash
# Runs Criterion suites one after another: run_suites.sh FOLDER SECONDS NAME...
# Prints Criterion's closing line of each, the whole output of one that fails, and a total. A suite
# fails by its exit code, by its closing line (none, or no test), by its time, and by any report
# that a sanitizer wrote in it or in a worker that it started.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 limit=$2
shift 2

if (($# == 0)); then
    echo "run_suites: the list of suites is empty" >&2
    exit 1
fi
logs=$folder/suite-logs
rm -rf "$logs"
mkdir -p "$logs"
# Criterion's own exit code says nothing of a leak: the report comes after a test's verdict. The
# log files do, those of worker processes included.
reports=$PWD/$logs/sanitizer
export ASAN_OPTIONS="log_path=$reports:detect_leaks=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="log_path=$reports:print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export OPENBLAS_NUM_THREADS=1

tests=0 failed=()
for name in "$@"; do
    log=$logs/$name.log
    started=$SECONDS
    code=0
    timeout --kill-after=10 "$limit" "$folder/suites/test_$name" --color=never \
        >"$log" 2>&1 </dev/null || code=$?
    closing=$(grep 'Synthesis: Tested:' "$log" | tail -n 1 || true)
    count='Tested: ([0-9]+) [|] Passing: ([0-9]+) [|] Failing: 0 [|] Crashing: 0'
    problem=
    if ((code == 124 || code == 137)); then
        problem="no end within $limit s"
    elif [[ -z $closing ]]; then
        problem="no closing line, exit code $code"
    elif ! [[ $closing =~ $count ]]; then
        problem="tests failed"
    elif ((BASH_REMATCH[1] == 0)); then
        problem="no test ran"
    elif ((BASH_REMATCH[1] != BASH_REMATCH[2])); then
        problem="$((BASH_REMATCH[1] - BASH_REMATCH[2])) tests did not pass"
    elif ((code != 0)); then
        problem="exit code $code"
    elif compgen -G "$reports.*" >/dev/null && grep -qE "ERROR: |runtime error:" "$reports".*; then
        problem="a sanitizer reported"
        cat "$reports".* >>"$log"
    fi
    rm -f "$reports".*
    if [[ $closing =~ Tested:\ ([0-9]+) ]]; then
        tests=$((tests + BASH_REMATCH[1]))
    fi
    if [[ -n $problem ]]; then
        failed+=("$name")
        cat "$log"
        echo "test_$name: FAILED: $problem"
    fi
    printf '%s (test_%s, %d s)\n' "${closing:-[====] no closing line}" "$name" $((SECONDS - started))
done

echo "$# suites, $tests tests in $folder"
if ((${#failed[@]})); then
    echo "failed suites: ${failed[*]}"
    exit 1
fi
