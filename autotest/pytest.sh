#!/bin/sh
# pytest.sh BUILD PEERS [ARGUMENT...]: the tests in Python, with the plugin of BUILD and the libraries that peers.sh put in PEERS, side by side
# in PYTEST_WORKERS processes (as many as there are processors); with PYTEST_CASES=n at most n cases of each test. Arguments that name files
# of the tests stand for the whole folder.
set -eu
cd "$(dirname "$0")/.."
GDAL_DRIVER_PATH=$(cd "$1" && pwd)/gdalplugins
SHARDEDZARR_PEERS=$(cd "$2" && pwd)/run
export GDAL_DRIVER_PATH SHARDEDZARR_PEERS PYTHONDONTWRITEBYTECODE=1
shift 2
case " $* " in *autotest/gdrivers*) folder= ;; *) folder=autotest/gdrivers ;; esac
# /usr/bin: only Debian's Python has Debian's osgeo
exec sh autotest/in_memory.sh /usr/bin/python3 -m pytest -q -p no:cacheprovider -n "${PYTEST_WORKERS:-$(nproc)}" --durations=5 $folder "$@"
