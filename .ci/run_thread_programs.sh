#!/bin/bash
# Runs the plain thread programs of a thread-sanitizer build: run_thread_programs.sh FOLDER SECONDS
# NAME... Each must print at least one line that begins with "ok " or "pass " and exit 0; a report of the
# sanitizer ends a program with another code.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 limit=$2
shift 2

if (($# == 0)); then
    echo "run_thread_programs: the list of programs is empty" >&2
    exit 1
fi
export TSAN_OPTIONS="halt_on_error=1:exitcode=66:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export OPENBLAS_NUM_THREADS=1
# The sanitizer's shadow does not fit beside every random layout of addresses.
still=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    still=(setarch "$(uname -m)" -R)
fi

failed=()
for name in "$@"; do
    log=$folder/$name.log
    started=$SECONDS
    code=0
    timeout --kill-after=10 "$limit" "${still[@]}" "$folder/suites/tsan_$name" >"$log" 2>&1 \
        </dev/null || code=$?
    passed=$(grep -cE '^(ok|pass) ' "$log" || true)
    cat "$log"
    if ((code != 0 || passed == 0)); then
        failed+=("$name")
        echo "tsan_$name: FAILED: exit code $code, $passed checks passed"
    else
        echo "tsan_$name: $passed checks passed in $((SECONDS - started)) s"
    fi
done
if ((${#failed[@]})); then
    echo "failed programs: ${failed[*]}"
    exit 1
fi
echo "$# thread programs passed"
