#!/bin/sh
# suite.sh BUILD: installs what the project needs, builds it in BUILD with this Debian's gcc and GDAL, warnings being errors, and
# runs the tests in C (ctest) and in Python (pytest). autotest/run.sh calls it here and, through in_debian.sh, in other Debians.
set -eu
cd "$(dirname "$0")/.."
sh autotest/install.sh --build binutils gdal-bin python3-gdal python3-numpy python3-pytest python3-pytest-xdist python3-venv python3-distributed python3-rasterio python3-rioxarray procps proj-bin proj-data ca-certificates
case $(gdalinfo --version) in "GDAL 3.10"*) sh autotest/install.sh python3-qgis ;; esac # test_qgis.py: minutes, in one Debian alone
echo "$(gdalinfo --version); $(gcc --version | head -n 1)"

cmake -S . -B "$1" -DSHARDEDZARR_WERROR=ON
cmake --build "$1" -j "$(nproc)"
ctest --test-dir "$1" --output-on-failure -j "$(nproc)"
sh autotest/package.sh "$1"
sh autotest/peers.sh "$1/peers"
sh autotest/pytest.sh "$1" "$1/peers"
