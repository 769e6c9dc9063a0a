#!/bin/bash
# Checks who may include whom, that quoted includes are rooted and exist, that a source includes
# its own header first, and that file names are unique. Prints every offence.
set -euo pipefail
cd "$(dirname "$0")/.."
rooms=(contract reference cuda fuser conformance)

# What a room's files may include: patterns of our headers (quoted) and, beside the C library and
# POSIX, of other libraries' headers (angle brackets). The first line whose pattern fits a file
# counts.
rules='
conformance/plugins/*_executor.c  (contract/.*|fuser/fuser_executor[.]h)  -
conformance/plugins/plain_backend.c  contract/backend[.]h      -
conformance/plugins/*  .*                                     -
conformance/suites/*   .*                                     criterion/.*|cblas[.]h|openblas_config[.]h|jansson[.]h|xxhash[.]h|Random123/.*
conformance/mutants/*  .*                                     cblas[.]h|openblas_config[.]h|xxhash[.]h|jansson[.]h
conformance/worker/*   .*                                     cblas[.]h|openblas_config[.]h|jansson[.]h|xxhash[.]h
conformance/cli/*      .*                                     cblas[.]h|openblas_config[.]h|jansson[.]h|xxhash[.]h
conformance/judge/self_test*  (contract/.*|conformance/((case|tensors|judge|executor|process|report)/)?[^/]*|reference/oracle[.]h)  cblas[.]h
conformance/*          (contract/.*|conformance/((case|tensors|judge|executor|process|report)/)?[^/]*|reference/oracle[.]h)  jansson[.]h|xxhash[.]h|Random123/.*
contract/*             contract/.*                            -
reference/*            (contract|reference)/.*                cblas[.]h|openblas_config[.]h
cuda/*                 (contract|cuda)/.*                     cuda.*[.]h|cublas.*[.]h
fuser/*                (contract|fuser)/.*                    xxhash[.]h
'
libraries='^(criterion/|cblas|openblas|jansson|xxhash|Random123/|cuda|cublas|yaml)'
offences=0

offend() {
    echo "$1" >&2
    offences=$((offences + 1))
}

check_file() { # file
    local file=$1 pattern own_re other_re line quote name own first=1
    while read -r pattern own_re other_re; do
        # shellcheck disable=SC2053
        if [[ -n $pattern && $file == $pattern ]]; then
            break
        fi
    done <<<"$rules"
    own=${file%.c}.h
    while IFS=: read -r line text; do
        [[ $text =~ ^\#\ *include\ *([\"\<])([^\"\>]*) ]] || continue
        quote=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
        if [[ $quote == '"' ]]; then
            if [[ ! -f $name ]]; then
                offend "$file:$line: \"$name\" is no path from the root of the tree"
            elif ! [[ $name =~ ^($own_re)$ ]]; then
                offend "$file:$line: this room may not include \"$name\""
            fi
        elif [[ $name =~ $libraries ]] && ! [[ $name =~ ^($other_re)$ ]]; then
            offend "$file:$line: this room may not include <$name>"
        fi
        if ((first)) && [[ $file == *.c && -f $own && $name != "$own" ]]; then
            offend "$file:$line: the first include must be \"$own\""
        fi
        first=0
    done < <(grep -nE '^# *include' "$file" || true)
}

files=0
while read -r file; do
    files=$((files + 1))
    check_file "$file"
done < <(find "${rooms[@]}" -name '*.[ch]' | sort)

while read -r name; do
    offend "$name: more than one file has this name"
done < <(find "${rooms[@]}" -name '*.[ch]' -printf '%f\n' | sort | uniq --repeated)

if ((files == 0)); then
    offend "found no file to check"
fi
echo "check-includes: $files files, $offences offences"
((offences == 0))
