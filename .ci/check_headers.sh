#!/bin/bash
# Compiles each header alone, and finds sources that no list of the Makefile names:
# check_headers.sh LISTED_SOURCE...
set -euo pipefail
cd "$(dirname "$0")/.."
rooms=(contract reference cuda fuser conformance)
offences=0

offend() {
    echo "$1" >&2
    offences=$((offences + 1))
}

headers=0
while read -r header; do
    headers=$((headers + 1))
    if ! gcc -I. -D_GNU_SOURCE -std=c17 -Wall -Wextra -Wconversion -Wshadow -Wvla -Werror \
        -fsyntax-only -x c "$header"; then
        offend "$header: does not compile alone"
    fi
done < <(find "${rooms[@]}" -name '*.h' | sort)

sources=0
while read -r source; do
    sources=$((sources + 1))
    if [[ " $* " != *" $source "* ]]; then
        offend "$source: in no list of the Makefile"
    fi
done < <(find "${rooms[@]}" -name '*.c' | sort)

for listed in "$@"; do
    if [[ ! -f $listed ]]; then
        offend "$listed: listed in the Makefile, but not there"
    fi
done

if ((headers == 0 || sources == 0)); then
    offend "found $headers headers and $sources sources, expected some of both"
fi
echo "check-headers: $headers headers, $sources sources, $offences offences"
((offences == 0))
