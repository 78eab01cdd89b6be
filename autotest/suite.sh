#!/bin/sh
# suite.sh [--prepare] BUILD [NAME]: installs what the project needs, builds it in BUILD with this Debian's gcc and GDAL, warnings being errors,
# and runs the tests in C (ctest) and in Python (pytest); with NAME that C test, or the Python tests of that name, and with NAME "Python" all
# in Python, and no C test is built.
# --prepare: installs alone.
# autotest/run.sh calls it here and, through in_debian.sh, in other Debians.
set -eu
cd "$(dirname "$0")/.."
prepare=
[ "$1" != --prepare ] || {
    prepare=yes
    shift
}
build=$1 name=${2:-}
mkdir -p "$build"
sh autotest/install.sh --build binutils dpkg-dev file gdal-bin python3-gdal python3-numpy python3-pytest python3-pytest-xdist python3-venv python3-distributed python3-rasterio python3-rioxarray python3-cftime procps proj-bin proj-data ca-certificates
case $(gdalinfo --version) in "GDAL 3.10"*) sh autotest/install.sh python3-qgis ;; esac # test_qgis.py: minutes, in one Debian alone
if [ -n "$prepare" ]; then
    sh autotest/peers.sh "$build/peers"
    exit
fi

make_all() {
    testing=ON
    [ "$name" != Python ] || testing=OFF
    cmake -S . -B "$build" -DBUILD_TESTING=$testing -DSHARDEDZARR_WERROR=ON && cmake --build "$build" -j "$(nproc)"
}
run_c() {
    sh autotest/in_memory.sh ctest --test-dir "$build" --output-on-failure -j "$(nproc)"
}
echo "$(gdalinfo --version); $(gcc --version | head -n 1)"
if [ -n "$name" ] && [ "$name" != Python ]; then
    cmake -S . -B "$build" -DBUILD_TESTING=ON -DSHARDEDZARR_WERROR=ON
    if [ -e "autotest/unit/$name.c" ]; then
        cmake --build "$build" --target "$name" -j "$(nproc)"
        exec ctest --test-dir "$build" --output-on-failure -R "^$name\$"
    fi
    cmake --build "$build" --target gdal_ShardedZarr shardedzarr-validate -j "$(nproc)"
    sh autotest/peers.sh "$build/peers"
    exec sh autotest/pytest.sh "$build" "$build/peers" -k "$name"
fi
. autotest/steps.sh
beside peers sh autotest/peers.sh "$build/peers"
step "build" make_all
[ "$name" = Python ] || step "tests in C" run_c
step "other Zarr libraries" await peers
beside package sh autotest/package.sh "$build"
step "tests in Python" sh autotest/pytest.sh "$build" "$build/peers"
step "packages" await package
tell_steps
