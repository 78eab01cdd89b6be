#!/bin/sh
# The main job, on the EGM96 geoid that PROJ ships: to a sharded Zarr store with overviews, a look at it, back, compared. As root on a
# bare Debian.
set -eu
cd "$(dirname "$0")/.."
export PATH=/usr/sbin:/usr/bin:/sbin:/bin # Debian's own GDAL, whatever else is installed
source=/usr/share/proj/egm96_15.gtx
store=build/egm96.zarr

sh autotest/install.sh --build gdal-bin proj-data
mkdir -p build
{ cmake -S . -B build && cmake --build build -j "$(nproc)"; } >build/egm96.log 2>&1 || { cat build/egm96.log; exit 1; }
export GDAL_DRIVER_PATH="$PWD/build/gdalplugins"

rm -rf "$store" build/egm96.tif build/egm96.vrt build/egm96.png
set -x
gdal_translate -q -of ShardedZarr -co CHUNK_SHAPE=128 -co SHARD_SHAPE=512 "$source" "$store"
gdalinfo "$store"
gdal_translate -q -of GTiff "$store" build/egm96.tif
gdal_translate -q -of VRT -outsize 440 0 -r bilinear "$store" build/egm96.vrt # read from an overview
gdaldem color-relief -q -of PNG -co ZLEVEL=9 build/egm96.vrt data/egm96.txt build/egm96.png
set +x

gdalinfo "$store" | grep -q 'Overviews: 720x361, 360x181, 180x91' || { echo "FAILED: $store has not the overviews it should"; exit 1; }

# The same size, place, type and nodata; and the same pixels to the bit, as raw files (gdalinfo -checksum rounds to integers).
describe() {
    gdalinfo "$1" | sed -n -E -e 's/ Block=[^ ]*//' -e 's/, ColorInterp=.*//' -e '/^(Size|Origin|Pixel Size)|Type=|NoData/p'
    gdal_translate -q -of ENVI "$1" build/egm96.raw
    cksum build/egm96.raw
}
describe "$source" >build/egm96.txt
for copy in "$store" build/egm96.tif; do
    describe "$copy" | diff build/egm96.txt - || { echo "FAILED: $copy is not as $source"; exit 1; }
done
echo "$store holds the same raster as $source; build/egm96.png shows it, as driver/doc/egm96.png does."
