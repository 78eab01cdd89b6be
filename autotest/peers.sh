#!/bin/sh
# peers.sh DIRECTORY: other Zarr libraries, from PyPI, in a Python of their own. DIRECTORY/run is that Python.
# Apart from the system's Python because GDAL's bindings need the numpy that they were built with.
set -eu
here=$(dirname "$0")
[ -x "$1/venv/bin/python" ] || /usr/bin/python3 -m venv "$1/venv"
export PIP_CERT="${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}"
for peer in zarr tensorstore zarrs xarray rioxarray; do
    "$1/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$peer" || sh "$here/skip.sh" "$peer from PyPI"
done
"$1/venv/bin/pip" list 2>/dev/null | grep -E '^(zarr|tensorstore|zarrs|numpy|numcodecs|xarray|rioxarray) ' || true
# Without LD_PRELOAD: the peers are not what the sanitizers are for.
printf '#!/bin/sh\nunset LD_PRELOAD\nexec "%s/venv/bin/python" "$@"\n' "$(cd "$1" && pwd)" > "$1/run"
chmod +x "$1/run"
