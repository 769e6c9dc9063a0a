#!/bin/bash
# Makes sure that the packages of some groups of targets are there:
#   setup.sh build|lint|python|coverage|fresh ...
# Probes the tools and headers themselves, so that copies from elsewhere count too. What is missing
# is installed when this user may (root, or sudo without a password); else the command is printed.
set -euo pipefail
cd "$(dirname "$0")/.."

# group, Debian package, what proves it: a command on PATH, a header, or a Python module
packages='
build    gcc                command gcc
build    libc6-dev          header  stdlib.h
build    make               command make
build    libopenblas-dev    header  cblas.h
build    libcriterion-dev   header  criterion/criterion.h
build    libjansson-dev     header  jansson.h
build    libxxhash-dev      header  xxhash.h
build    librandom123-dev   header  Random123/philox.h
lint     clang              command clang
lint     clang-tidy         command clang-tidy
lint     clang-format       command clang-format
lint     cppcheck           command cppcheck
python   python3            command python3
coverage python3            command python3
coverage python3-venv       module  ensurepip
fresh    debootstrap        command debootstrap
fresh    git                command git
'

present() { # kind, thing
    case $1 in
    command) command -v "$2" >/dev/null ;;
    header) echo "#include <$2>" | gcc -E -x c - >/dev/null 2>&1 ;;
    module) python3 -c "import $2" >/dev/null 2>&1 ;;
    esac
}

missing=()
while read -r group package kind thing; do
    if [[ -n $group && " $* " == *" $group "* ]] && ! present "$kind" "$thing"; then
        missing+=("$package")
    fi
done <<<"$packages"

if ((${#missing[@]})); then
    if [[ $(id -u) == 0 ]]; then
        sudo=()
    elif sudo -n true 2>/dev/null; then
        sudo=(sudo)
    else
        echo "setup: missing packages; run this and try again:" >&2
        echo "    sudo apt-get update && sudo apt-get install --yes ${missing[*]}" >&2
        exit 1
    fi
    if ! command -v apt-get >/dev/null; then
        echo "setup: no apt-get here; install these (Debian's names) by hand: ${missing[*]}" >&2
        exit 1
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    "${sudo[@]}" apt-get -qq update
    "${sudo[@]}" apt-get -qq install --yes --no-install-recommends "${missing[@]}" >/dev/null
fi

# gcovr comes from PyPI, pinned, into a virtual environment of this tree.
if [[ " $* " == *" coverage "* ]] && ! cmp -s coverage/requirements.txt .venv/requirements.txt; then
    echo "setup: installing gcovr into .venv"
    python3 -m venv --clear .venv
    .venv/bin/pip install --quiet --requirement coverage/requirements.txt
    cp coverage/requirements.txt .venv/requirements.txt
fi
