#!/bin/sh
# wheel_tests.sh BUILD [ARGUMENT...]: pytest of autotest/wheel: the wheel that wheel.sh made in BUILD, in venvs with rasterio and what people use with
# it, from PyPI: with Debian 12's Python, rasterio 1.4.3, whose wheel is for manylinux2014, and 1.4.4; and the newest, for which WHEEL_PYTHON or a
# python3.12 to 3.14 in PATH is taken.
set -eu
cd "$(dirname "$0")/.."
sh autotest/install.sh gdal-bin python3-venv python3-pytest python3-pytest-xdist
build=$(cd "$1" && pwd)
shift
venvs=$build/venvs/$(. /etc/os-release && echo "$VERSION_CODENAME") # another Debian has other Pythons
export PIP_CERT="${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}"
install() { # NAME PYTHON PACKAGE...: in the venv of that name
    venv=$venvs/$1
    [ -x "$venv/bin/python" ] || "$2" -m venv "$venv"
    shift 2
    [ -e "$venv/complete" ] || {
        "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: zarr rioxarray distributed "$@" && touch "$venv/complete"
    } || exec sh autotest/skip.sh "wheel: $* from PyPI"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$build"/shardedzarr-*.whl
}
python=${WHEEL_PYTHON:-}
for name in python3.14 python3.13 python3.12; do # one that is only the name of a version that is not chosen (pyenv's) does not run
    [ -n "$python" ] || { "$name" -c '' 2>/dev/null && python=$(command -v "$name"); } || true
done
case $(/usr/bin/python3 --version) in
"Python 3.11."*)
    install older /usr/bin/python3 rasterio==1.4.3 pyogrio==0.10.0
    install old /usr/bin/python3 rasterio==1.4.4 pyogrio
    ;;
esac
[ -z "$python" ] || install new "$python" rasterio pyogrio
export WHEEL_VENVS="$venvs" PYTHONDONTWRITEBYTECODE=1
exec sh autotest/in_memory.sh /usr/bin/python3 -m pytest -q -p no:cacheprovider -n "${PYTEST_WORKERS:-$(nproc)}" --durations=5 autotest/wheel "$@"
