#!/bin/bash
# Proves the README on a fresh machine: debootstrap Debian 12 into a folder, clone the committed
# tree inside, and run the README's commands and nothing else. Needs root. Package sources, CA
# certificates, pip's configuration and proxy settings are copied from this machine, so that its
# mirrors serve the folder too. Anything that cannot be done fails; nothing is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $(id -u) != 0 ]]; then
    echo "fresh-check: debootstrap, mount and chroot need root" >&2
    exit 1
fi
root=$(mktemp -d "${TMPDIR:-/tmp}/fusegate-fresh.XXXXXX")
chmod 755 "$root"
mounts=()

leave() {
    local i
    for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
        umount "${mounts[i]}" || umount --lazy "${mounts[i]}"
    done
    # Never delete through a mount that is still there.
    if ! grep -q " $root/" /proc/mounts; then
        rm -rf --one-file-system "$root"
    fi
}
trap leave EXIT
trap 'exit 130' INT TERM

mount_in() { # arguments of mount, the last one is the place inside
    local place=$root/${*: -1}
    mkdir -p "$place"
    mount "${@:1:$#-1}" "$place"
    mounts+=("$place")
}

# The machine's mirror of bookworm, from either form of sources.
mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | sort | xargs cat |
    sed -nE 's/^(URIs:|deb( +\[[^]]*\])?) +([^ ]+).*/\3/p' | head -n 1)
if [[ -z $mirror ]]; then
    echo "fresh-check: no package source in /etc/apt" >&2
    exit 1
fi

started=$SECONDS
echo "fresh-check: debootstrap of bookworm into $root"
debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$root" "$mirror" \
    >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; rm -f "$root.log"; exit 1; }
rm -f "$root.log"
bootstrapped=$SECONDS

for path in /etc/apt/apt.conf /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d \
    /etc/apt/keyrings /usr/share/keyrings /etc/ssl/certs /usr/local/share/ca-certificates \
    /etc/pip.conf /etc/resolv.conf /etc/hosts; do
    if [[ -e $path ]]; then
        mkdir -p "$root$(dirname "$path")"
        cp -aLT --remove-destination "$path" "$root$path" 2>/dev/null ||
            cp -rLT --remove-destination "$path" "$root$path" || true
    fi
done
# debootstrap wrote the mirror here; the copied file names it again.
if ls "$root"/etc/apt/sources.list.d/debian.sources >/dev/null 2>&1; then
    rm -f "$root/etc/apt/sources.list"
fi
mount_in -t proc proc proc
mount_in --bind /dev dev
mount_in --bind /dev/pts dev/pts
mount_in -t tmpfs -o mode=1777 tmpfs dev/shm
mount_in -t tmpfs -o mode=1777 tmpfs tmp

git clone --quiet --no-hardlinks . "$root/root/fusegate"
git -C "$root/root/fusegate" remote remove origin

# From the machine: where packages and certificates come from, and which BLAS kernels its
# processor needs. Nothing else of its environment.
environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
while IFS= read -r name; do
    environment+=("$name=${!name}")
done < <(compgen -e | grep -iE '^(https?|no|all|ftp)_proxy$|^PIP_|^SSL_CERT|^OPENBLAS_' || true)

inside() {
    echo "fresh-check: \$ $*"
    chroot "$root" /usr/bin/env -i "${environment[@]}" /bin/bash -c 'cd ~/fusegate && exec "$@"' \
        inside "$@" </dev/null
}

inside make gate
gated=$SECONDS
inside make test
echo "fresh-check: passed: debootstrap $((bootstrapped - started)) s," \
    "make gate $((gated - bootstrapped)) s, make test $((SECONDS - gated)) s"
