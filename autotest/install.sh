#!/bin/sh
# install.sh [--build] PACKAGE...: installs those of these Debian packages that are missing, and says which.
# --build: and those that it takes to build the plugin.
set -eu
if [ "$1" = --build ]; then
    shift
    set -- gcc g++ make cmake pkgconf libgdal-dev libdeflate-dev libcjson-dev libzstd-dev libblosc-dev libbz2-dev libzfp-dev "$@"
fi
missing=
for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "Installing with apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { apt-get update && apt-get install -y --no-install-recommends -o APT::Keep-Downloaded-Packages=false $missing; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log"
    echo "FAILED: apt-get install$missing"
    exit 1
fi
rm "$log"
