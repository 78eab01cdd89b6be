#!/bin/sh
# package.sh BUILD: makes the Debian packages of what is built in BUILD, looks what is in them and what they depend on, has lintian look, and
# installs them in a copy of this system that is gone afterwards; there the README's commands that install run, too, and a C program is built
# with the header and the library. So it is with what `cmake --install` gives.
set -eu
cd "$(dirname "$0")/.."
sh autotest/install.sh binutils dpkg-dev file gdal-bin gzip pkgconf
build=$(cd "$1" && pwd)
unset GDAL_DRIVER_PATH

# In a mount namespace of its own, for the copy of this system.
if [ "${PACKAGE_UNSHARED:-}" != yes ]; then
    export PACKAGE_UNSHARED=yes
    sh autotest/own_mounts.sh true || exec sh autotest/skip.sh "package: mount namespaces are not allowed here"
    exec sh autotest/own_mounts.sh sh autotest/package.sh "$build"
fi
tmp=$(mktemp -d)
mkdir "$tmp/copy"
trap 'umount --recursive --lazy "$tmp/copy" 2>/dev/null || true; rm -rf --one-file-system "$tmp"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

# What is in the package
version=$(sed -n -E 's/^project\(ShardedZarr VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[ "$(sed -n -E 's/^## ([0-9.]+).*/\1/p' driver/CHANGELOG.md | head -n 1)" = "$version" ] || fail "driver/CHANGELOG.md does not begin with $version"
export DEBFULLNAME="A Maker" DEBEMAIL=maker@shardedzarr.test
cmake -DSHARDEDZARR_HOMEPAGE=https://shardedzarr.test/ "$build" >/dev/null # finds dpkg-dev, where it was not there before, and who makes the packages
(cd "$build" && cpack -G DEB -B "$tmp/made" >"$tmp/log" 2>&1) || fail "cpack: $(cat "$tmp/log")"
deb=$(ls "$tmp"/made/gdal-plugin-shardedzarr_"$version"-*.deb) || fail "it made no package of version $version"
dev=$(ls "$tmp"/made/libshardedzarr-dev_"$version"-*.deb) || fail "it made no -dev package of version $version"
plugin=/usr/lib/$(gcc -print-multiarch)/gdalplugins/gdal_ShardedZarr.so
doc=/usr/share/doc/gdal-plugin-shardedzarr
mans=/usr/share/man/man1
holds() { # DEB DIRECTORY FILE...: the package has these files and no other
    package=$1 directory=$2
    shift 2
    dpkg-deb -x "$package" "$directory"
    printf '%s\n' "$@" | sort >"$tmp/expected"
    (cd "$directory" && find . ! -type d -size +0 | sed 's/^\.//' | sort) | diff "$tmp/expected" - || fail "$package holds other files (>) than expected (<)"
    for field in Homepage Description Section; do
        dpkg-deb -f "$package" $field | grep -q . || fail "$package has no $field"
    done
    [ "$(dpkg-deb -f "$package" Maintainer)" = "$DEBFULLNAME <$DEBEMAIL>" ] || fail "$package is of $(dpkg-deb -f "$package" Maintainer)"
}
pages=$(find driver/doc -name '*.md' -o -name '*.png' | sed "s|^|$doc/|")
holds "$deb" "$tmp/package" /usr/bin/shardedzarr-validate /usr/bin/shardedzarr-mosaic "$plugin" $mans/shardedzarr-validate.1.gz \
    $mans/shardedzarr-mosaic.1.gz $doc/README.md $pages $doc/copyright $doc/changelog.gz $doc/changelog.Debian.gz
libraries=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
holds "$dev" "$tmp/dev" /usr/include/shardedzarr.h "/usr/$libraries/libshardedzarr.a" "/usr/$libraries/pkgconfig/shardedzarr.pc" \
    /usr/share/doc/libshardedzarr-dev/copyright /usr/share/doc/libshardedzarr-dev/changelog.Debian.gz
gzip -dc "$tmp/package$doc/changelog.gz" | cmp - driver/CHANGELOG.md || fail "changelog.gz is not driver/CHANGELOG.md"
has_options() { # PROGRAM: reads its --help, and looks for each option in its manual page
    for option in $(grep -o -E -e '--[a-z_-]+' | sort -u); do
        gzip -dc "$tmp/package$mans/$1.1.gz" | tr -d '\\' | grep -q -e "$option" || fail "the manual page of $1 has no $option"
    done
}
"$build/shardedzarr-validate" --help | has_options shardedzarr-validate
sed -n -E 's/.*add\("(--[a-z_]+)".*/\1/p' data/mosaic.py | has_options shardedzarr-mosaic

# Links between pages lead to what is in the package.
for page in $(cd "$tmp/package$doc" && find . -name '*.md'); do
    for target in $(grep -o -E ']\([^)#: ]+' "$tmp/package$doc/$page" | sed 's/^](//'); do
        [ -e "$tmp/package$doc/$(dirname "$page")/$target" ] || fail "$page: its link to $target leads nowhere in the package"
    done
done

# It depends on the package of each library that the plugin loads, so on the libgdal that it was built with.
depends=$(dpkg-deb -f "$deb" Depends)
for library in $(objdump -p "$tmp/package$plugin" | sed -n 's/ *NEEDED *//p'); do
    found=
    for owner in $(dpkg-query -S "*/$library" | sed -n -E 's/^([^:]*):.*/\1/p' | sort -u); do
        case ", $depends," in *", $owner "* | *", $owner,"*) found=yes ;; esac
    done
    [ -n "$found" ] || fail "nothing in \"$depends\" has $library"
done

# Installed in an overlay over this system: nothing of it stays.
mount -t tmpfs tmpfs "$tmp/copy"
mkdir "$tmp/copy/upper" "$tmp/copy/work" "$tmp/copy/root"
if mount -t overlay overlay -o "lowerdir=/,upperdir=$tmp/copy/upper,workdir=$tmp/copy/work" "$tmp/copy/root"; then
    mount --rbind /dev "$tmp/copy/root/dev"
    mount -t proc proc "$tmp/copy/root/proc"
    cp "$deb" "$tmp/copy/root/root/package.deb"
    cp "$dev" "$tmp/copy/root/root/dev.deb"
    mkdir -p "$tmp/copy/root$PWD"
    mount --bind . "$tmp/copy/root$PWD"
    # The README's commands; what they install is here, in whatever version, and `build` is what is built already.
    sed -n '/^```sh autotest\/package.sh$/,/^```$/p' README.md |
        sed -E -e '/^```/d' -e "s| build( \|$)| $build\1|g" -e 's/^apt-get install/& --yes --no-upgrade/' >"$tmp/copy/root/root/install.sh"
    [ -s "$tmp/copy/root/root/install.sh" ] || fail "README.md has no commands that are tested here"
    chroot "$tmp/copy/root" sh -eu -s "$version" "$PWD" <<'END' || fail "installed, the package does not do what it should"
cd /root
quietly() {
    "$@" >log 2>&1 </dev/null || { cat log; echo "FAILED: $*"; exit 1; }
}
quietly apt-get install -y ./package.deb
quietly gdalinfo --format ShardedZarr
grep "VERSION=$1\$" log
quietly gdal_create -of ShardedZarr -outsize 300 200 -bands 1 -burn 7 seven.zarr
quietly gdalinfo seven.zarr
grep '^Driver: ShardedZarr/' log
quietly shardedzarr-validate seven.zarr
quietly shardedzarr-validate --version
grep "^shardedzarr-validate $1, GDAL " log
quietly apt-get install -y ./dev.deb
quietly gcc -std=c11 -Wall -Wextra -Werror "$2/autotest/installed.c" -o program $(pkg-config --cflags --libs shardedzarr)
quietly ./program seven.zarr seven 7
quietly apt-get remove -y gdal-plugin-shardedzarr
! gdalinfo --format ShardedZarr >log 2>&1

# The README's commands
cd "$2"
. /root/install.sh >/root/log 2>&1 || { cat /root/log; exit 1; }
gdalinfo --format ShardedZarr | grep "VERSION=$1\$"

# Last: what lintian brings along may be newer than this system.
if apt-get install -y --no-install-recommends lintian >/root/log 2>&1; then
    lintian --allow-root --fail-on error /root/package.deb /root/dev.deb || { echo "FAILED: lintian finds errors"; exit 1; }
else
    sh "$2/autotest/skip.sh" "package: lintian cannot be installed"
fi
END
else
    sh autotest/skip.sh "package: not installed, for overlays are not allowed here"
fi

# The C API, from a folder of its own
cmake --install "$build" --component development --prefix "$tmp/api" >"$tmp/log"
PKG_CONFIG_PATH=$(dirname "$(find "$tmp/api" -name shardedzarr.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion shardedzarr)" = "$version" ] || fail "shardedzarr.pc is of another version"
gcc -std=c11 -Wall -Wextra -Werror autotest/installed.c -o "$tmp/program" $(pkg-config --cflags --libs shardedzarr)
GDAL_DRIVER_PATH=$build/gdalplugins gdal_create -q -of ShardedZarr -outsize 300 200 -bands 1 -burn 7 "$tmp/seven.zarr"
"$tmp/program" "$tmp/seven.zarr" seven 7 || fail "the program built with the installed header and library"
echo "$(basename "$deb"): $depends"
