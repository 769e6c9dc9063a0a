#!/bin/bash
# Layout, size, clang-tidy and cppcheck: lint.sh JOBS SOURCE... Any finding fails.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$1
shift
flags=(-I. -D_GNU_SOURCE -std=c17)
failed=()

if (($# == 0)); then
    echo "lint: the list of sources is empty" >&2
    exit 1
fi

echo "lint: clang-format"
find contract reference cuda fuser conformance -name '*.[ch]' -print0 |
    xargs -0 clang-format --dry-run -Werror || failed+=(clang-format)

echo "lint: files of more than 500 lines"
find contract reference cuda fuser conformance -name '*.[ch]' -exec wc -l {} + |
    awk '$2 != "total" && $1 > 500 { print $2 ": " $1 " lines"; bad = 1 } END { exit bad }' ||
    failed+=(length)

echo "lint: clang-tidy"
printf '%s\0' "$@" | xargs -0 -n 1 -P "$jobs" sh -c 'clang-tidy --quiet "$@" -- '"${flags[*]}" tidy 2>&1 |
    sed -E '/^[0-9]+ warnings? generated/d' || failed+=(clang-tidy)

# legacyUninitvar takes an initialized array of functions for an uninitialized one.
echo "lint: cppcheck"
cppcheck --quiet -j "$jobs" --std=c11 --enable=warning,performance,portability -D_GNU_SOURCE -I. \
    '-DTest(suite,name,...)=void suite##_##name(void)' '-DTestSuite(...)=' --inline-suppr \
    --suppress=missingIncludeSystem --suppress=legacyUninitvar --error-exitcode=1 "$@" ||
    failed+=(cppcheck)

if ((${#failed[@]})); then
    echo "lint: findings of: ${failed[*]}" >&2
    exit 1
fi
echo "lint: no findings in $# sources"
