#!/bin/sh
# The benchmark, in Debian sid for the sake of GDAL 3.13 and its Zarr driver, as root:
#   sh autotest/benchmark/run.sh [--size small|full] [--rounds N] [--cases REGULAR-EXPRESSION] [--threads 1,2,4] [--quick [--keep]]
# small (the default) is an eighth of every size and shows only that everything runs and reads the same; full takes an hour and 15 GB.
# --quick takes two minutes: some cases of the full size, and which of them are slower than last time (autotest/benchmark/last.json).
# The Debian is the one that in_debian.sh keeps in build/roots or SHARDEDZARR_ROOTS. The table is also left in build/benchmark.json.
set -eu
cd "$(dirname "$0")/../.."

[ "${BENCHMARK_INSIDE:-}" = yes ] || exec env BENCHMARK_INSIDE=yes sh autotest/in_debian.sh sid sh autotest/benchmark/run.sh "$@"

sh autotest/install.sh --build gdal-bin python3-gdal python3-numpy python3-venv ca-certificates
echo "$(gdalinfo --version); $(nproc) processors"
build=/work/build
cmake -S . -B "$build" -DSHARDEDZARR_WERROR=ON >"$build.log"
cmake --build "$build" --target gdal_ShardedZarr -j "$(nproc)" >>"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
sh autotest/peers.sh "$build/peers"
mkdir -p "$build/benchmark" build
cc -std=c11 -O2 -Wall -Wextra -o "$build/benchmark/limit" autotest/benchmark/limit.c -lzstd -lblosc -ldeflate -lpthread
cc -std=c11 -O2 -Wall -Wextra -o "$build/benchmark/limit_map" autotest/benchmark/limit_map.c -lblosc -ldeflate -lpthread
cc -std=c11 -O2 -Wall -Wextra -o "$build/benchmark/limit_create" autotest/benchmark/limit_create.c -lzstd -ldeflate -lpthread
# A copy: whoever builds meanwhile does not change what is measured.
mkdir -p "$build/benchmark/plugins"
cp "${BENCHMARK_PLUGIN:-$build/gdalplugins/gdal_ShardedZarr.so}" "$build/benchmark/plugins/gdal_ShardedZarr.so"
# BENCHMARK_BEFORE, an older plugin, takes turns with it: ratio /before is what a change cost.
if [ -n "${BENCHMARK_BEFORE:-}" ]; then
    mkdir -p "$build/benchmark/before"
    cp "$BENCHMARK_BEFORE" "$build/benchmark/before/gdal_ShardedZarr.so"
    export BENCHMARK_BEFORE="$build/benchmark/before"
fi
BENCHMARK_PLUGINS=$build/benchmark/plugins BENCHMARK_PEERS=$build/peers/run BENCHMARK_LIMIT=$build/benchmark/limit
export BENCHMARK_PLUGINS BENCHMARK_PEERS BENCHMARK_LIMIT PYTHONDONTWRITEBYTECODE=1
trap 'rm -rf "$build/benchmark/data"' EXIT
/usr/bin/python3 autotest/benchmark/benchmark.py "$build/benchmark/data" build/benchmark.json "$@"
