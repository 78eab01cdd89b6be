#!/bin/sh
# install.sh [--build] PACKAGE...: installs those of these Debian packages that are missing, and says which.
# --build: and those that it takes to build the plugin.
set -eu
if [ "$1" = --build ]; then
    shift
    set -- gcc g++ make cmake pkgconf libgdal-dev zlib1g-dev libdeflate-dev libcjson-dev libzstd-dev libblosc-dev libbz2-dev libzfp-dev "$@"
fi
missing=
for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "Installing with apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
exec 9>"${TMPDIR:-/tmp}/shardedzarr-install.lock"
flock 9 # apt-get does not wait for another
# Lists that are there are mostly of today; and what is installed is not worth that dpkg waits for the disk.
install_missing() {
    apt-get install -y --no-install-recommends -o APT::Keep-Downloaded-Packages=false -o DPkg::Options::=--force-unsafe-io $missing
}
if ! { install_missing || { apt-get update && install_missing; }; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log"
    echo "FAILED: apt-get install$missing"
    exit 1
fi
rm "$log"
