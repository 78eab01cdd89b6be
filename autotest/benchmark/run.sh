#!/bin/sh
# The benchmark, in Debian sid for the sake of GDAL 3.13 and its Zarr driver, as root:
#   sh autotest/benchmark/run.sh [--size small|full] [--rounds N] [--cases REGULAR-EXPRESSION]
# small (the default) is an eighth of every size and shows only that everything runs and reads the same; full takes an hour and 15 GB.
# The Debian is the one that other_gdal.sh keeps in build/roots or SHARDEDZARR_ROOTS. The table is also left in build/benchmark.json.
set -eu
cd "$(dirname "$0")/../.."

if [ "${BENCHMARK_INSIDE:-}" = yes ]; then # in sid
    sh autotest/install.sh --build gdal-bin python3-gdal python3-numpy python3-venv ca-certificates
    build=/work/build
    cmake -S . -B "$build" -DSHARDEDZARR_WERROR=ON >"$build.log"
    cmake --build "$build" --target gdal_ShardedZarr -j "$(nproc)" >>"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
    sh autotest/peers.sh "$build/peers"
    mkdir -p "$build/benchmark" build
    cc -std=c11 -O2 -Wall -Wextra -o "$build/benchmark/limit" autotest/benchmark/limit.c -lzstd -lblosc -ldeflate -lpthread
    # A copy: whoever builds meanwhile does not change what is measured.
    mkdir -p "$build/benchmark/plugins"
    cp "${BENCHMARK_PLUGIN:-$build/gdalplugins/gdal_ShardedZarr.so}" "$build/benchmark/plugins/gdal_ShardedZarr.so"
    BENCHMARK_PLUGINS=$build/benchmark/plugins BENCHMARK_PEERS=$build/peers/run BENCHMARK_LIMIT=$build/benchmark/limit
    export BENCHMARK_PLUGINS BENCHMARK_PEERS BENCHMARK_LIMIT PYTHONDONTWRITEBYTECODE=1
    trap 'rm -rf "$build/benchmark/data"' EXIT
    /usr/bin/python3 autotest/benchmark/benchmark.py "$build/benchmark/data" build/benchmark.json "$@"
    exit
fi

root=${SHARDEDZARR_ROOTS:-$PWD/build/roots}/sid
if [ "${OTHER_GDAL_UNSHARED:-}" != yes ]; then # as in other_gdal.sh: nothing that is mounted below outlives this script
    export OTHER_GDAL_UNSHARED=yes
    propagation=private
    unshare --mount true 2>/dev/null || propagation=unchanged
    unshare --mount --propagation $propagation true || exec sh autotest/skip.sh "benchmark: mount namespaces are not allowed here"
    exec unshare --mount --propagation $propagation sh autotest/benchmark/run.sh "$@"
fi
if [ ! -e "$root/.complete" ]; then
    sh autotest/install.sh debootstrap
    echo "Debootstrapping sid into $root"
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase sid "$root" http://deb.debian.org/debian >"$root.log" 2>&1 || {
        tail -n 5 "$root.log"
        exec sh autotest/skip.sh "benchmark: debootstrap of sid failed"
    }
    echo 'Acquire::Check-Valid-Until "false";' > "$root/etc/apt/apt.conf.d/80shardedzarr"
    touch "$root/.complete"
fi
cp /etc/resolv.conf "$root/etc/"
mkdir -p "$root/usr/local/share/ca-certificates" "$root/work/main" "$root/work/build"
cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
mount --bind "$root" "$root"
trap 'umount --lazy "$root" 2>/dev/null || true' EXIT
mount --make-private "$root"
mount -t proc proc "$root/proc"
mount --bind . "$root/work/main"
BENCHMARK_INSIDE=yes chroot "$root" sh /work/main/autotest/benchmark/run.sh "$@"
