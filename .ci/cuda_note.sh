#!/bin/bash
# Says what the CUDA setting (auto, 0 or 1) means on this machine; fails where it asks for what
# cannot be given.
set -euo pipefail

nvcc="without nvcc on PATH"
if command -v nvcc >/dev/null; then
    nvcc="with nvcc at $(command -v nvcc)"
fi
case $1 in
0) ;;
auto) echo "CUDA=auto: left out: this version has no CUDA kernels yet ($nvcc)" ;;
1)
    echo "CUDA=1: this version has no CUDA kernels to build yet ($nvcc)" >&2
    exit 1
    ;;
*)
    echo "CUDA=$1: found '$1', expected auto, 0 or 1" >&2
    exit 1
    ;;
esac
