#!/bin/sh
# in_debian.sh SUITE COMMAND...: runs a command in another Debian, for the sake of its GDAL (trixie has 3.10, sid 3.13). There the project is
# /work/main, where the command starts, and what is ../shared here is /work/shared.
# The Debian is debootstrapped into build/roots/SUITE from the mirror that apt has here, and kept there; SHARDEDZARR_ROOTS names another place
# than build/roots.
set -eu
cd "$(dirname "$0")/.."
suite=$1
root=${SHARDEDZARR_ROOTS:-$PWD/build/roots}/$suite

# In a mount namespace of its own, so that nothing that is mounted below outlives this script (think of rm -r build).
if [ "${IN_DEBIAN_UNSHARED:-}" != yes ]; then
    export IN_DEBIAN_UNSHARED=yes
    sh autotest/own_mounts.sh true || exec sh autotest/skip.sh "Debian $1: mount namespaces are not allowed here"
    exec sh autotest/own_mounts.sh sh autotest/in_debian.sh "$@"
fi
shift

if [ ! -e "$root/.complete" ]; then
    sh autotest/install.sh debootstrap
    echo "Debootstrapping $suite into $root"
    rm -rf "$root"
    mkdir -p "$root"
    # without a mirror that apt knows: debootstrap's own default
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | grep -m 1 ^http || true)
    debootstrap --variant=minbase "$suite" "$root" $mirror >"$root.log" 2>&1 || {
        tail -n 5 "$root.log"
        exec sh autotest/skip.sh "Debian $suite: debootstrap failed"
    }
    # A mirror of sid may be older than the week that its release file is valid.
    echo 'Acquire::Check-Valid-Until "false";' > "$root/etc/apt/apt.conf.d/80shardedzarr"
    touch "$root/.complete"
fi

# This machine's names and certificate authorities hold there too.
cp /etc/resolv.conf "$root/etc/"
mkdir -p "$root/usr/local/share/ca-certificates" "$root/work/main" "$root/work/shared"
cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
mount --bind "$root" "$root"
trap 'umount --lazy "$root" 2>/dev/null || true' EXIT
mount --make-private "$root" # the mounts below are seen here alone, even with "unchanged" above
mount -t proc proc "$root/proc"
mount --bind . "$root/work/main"
[ ! -d ../shared ] || mount --bind ../shared "$root/work/shared"
chroot "$root" sh -c 'cd /work/main && exec "$@"' sh "$@"
