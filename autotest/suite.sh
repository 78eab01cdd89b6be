#!/bin/sh
# suite.sh BUILD [NAME]: installs what the project needs, builds it in BUILD with this Debian's gcc and GDAL, warnings being errors, and
# runs the tests in C (ctest) and in Python (pytest); with NAME that C test, or the Python tests of that name, or with NAME "C" all in C.
# autotest/run.sh calls it here and, through in_debian.sh, in other Debians.
set -eu
cd "$(dirname "$0")/.."
if [ "${2:-}" = C ]; then
    sh autotest/install.sh --build binutils proj-data ca-certificates
    cmake -S . -B "$1" -DBUILD_TESTING=ON -DSHARDEDZARR_WERROR=ON
    cmake --build "$1" -j "$(nproc)"
    exec ctest --test-dir "$1" --output-on-failure -j "$(nproc)"
fi
sh autotest/install.sh --build binutils gdal-bin python3-gdal python3-numpy python3-pytest python3-pytest-xdist python3-venv python3-distributed python3-rasterio python3-rioxarray python3-cftime procps proj-bin proj-data ca-certificates
case $(gdalinfo --version) in "GDAL 3.10"*) sh autotest/install.sh python3-qgis ;; esac # test_qgis.py: minutes, in one Debian alone
echo "$(gdalinfo --version); $(gcc --version | head -n 1)"

cmake -S . -B "$1" -DBUILD_TESTING=ON -DSHARDEDZARR_WERROR=ON
name=${2:-}
if [ -e "autotest/unit/$name.c" ]; then
    cmake --build "$1" --target "$name" -j "$(nproc)"
    exec ctest --test-dir "$1" --output-on-failure -R "^$name\$"
fi
if [ -n "$name" ]; then
    cmake --build "$1" --target gdal_ShardedZarr shardedzarr-validate -j "$(nproc)"
    sh autotest/peers.sh "$1/peers"
    exec sh autotest/pytest.sh "$1" "$1/peers" -k "$name"
fi
cmake --build "$1" -j "$(nproc)"
ctest --test-dir "$1" --output-on-failure -j "$(nproc)"
sh autotest/package.sh "$1"
sh autotest/peers.sh "$1/peers"
sh autotest/pytest.sh "$1" "$1/peers"
