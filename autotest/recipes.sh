#!/bin/sh
# recipes.sh BUILD: follows "Add a codec" and "Add an option" of driver/doc/contributing.md in a copy of the sources below BUILD, builds the
# plugin of it, and uses both. The files that are touched here are those that the page names. Not optimized: it is the build that takes time.
# It is the build without the libraries that a user may do without, too.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
copy=$build/source
rm -rf "$copy" "$build/store.zarr" "$build/made.zarr"
mkdir "$copy"
cp -R CMakeLists.txt README.md LICENSE include driver autotest "$copy"
for file in codec/codec.h codec/codec.c codec/bz2.c gdal/create/options.cpp gdal/create/creation_options.h; do
    [ -e "driver/$file" ] || { echo "driver/$file is not where the recipe says"; exit 1; }
done

# Add a codec, 1 and 2: the file, found by CMake. It inverts all bits.
cat > "$copy/driver/codec/invert.c" <<'END'
#include "codec/codec.h"

static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    (void)stage;
    (void)scratch;
    if (n > capacity)
        return zs_fail(err, ZS_CORRUPT, "invert: expected at most %zu bytes, found %zu", capacity, n);
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)dst)[i] = (unsigned char)~((const unsigned char *)src)[i];
    *produced = n;
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    ZS_TRY(zs_buffer_reset(out, n, err));
    return decode(stage, scratch, src, n, out->data, n, &out->size, err);
}

const struct zs_codec zs_codec_invert = {
    .name = "invert", .kind = ZS_BYTES_TO_BYTES, .decode = decode, .encode = encode};
END
# 3: a line among the extern ones, and a row of the table.
sed -i -e '0,/^extern const struct zs_codec/s//extern const struct zs_codec zs_codec_invert;\n&/' \
    -e 's/^    {"crc32c", &zs_codec_crc32c},/&\n    {"invert", \&zs_codec_invert},/' "$copy/driver/codec/codec.c"

# Add an option, 1 and 2: a row like that of CHUNK_CHECKSUM, and a member that it sets.
sed -i 's/^        {CREATING, "CHUNK_CHECKSUM", .*/        {ZS_RASTER, "RECIPE", flag("NO"), "Whether the recipe was followed", [](Creation \&o, Value \&v) { o.recipe = v.isYes; }},\n&/' \
    "$copy/driver/gdal/create/options.cpp"
sed -i 's/^    bool overwrite = false;/&\n    bool recipe = false;/' "$copy/driver/gdal/create/creation_options.h"

cmake -S "$copy" -B "$build" -DSHARDEDZARR_WERROR=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O0 -DCMAKE_CXX_FLAGS=-O0 \
    -DSHARDEDZARR_ZSTD=OFF -DSHARDEDZARR_BLOSC=OFF -DSHARDEDZARR_BZ2=OFF -DSHARDEDZARR_ZFP=OFF >"$build/cmake.log"
cmake --build "$build" -j "$(nproc)" --target gdal_ShardedZarr >>"$build/cmake.log" || { tail -n 30 "$build/cmake.log"; exit 1; }
export GDAL_DRIVER_PATH="$build/gdalplugins"

# The codec decodes what another wrote, and encodes what changes.
mkdir -p "$build/store.zarr/c/0"
cat > "$build/store.zarr/zarr.json" <<'END'
{"zarr_format": 3, "node_type": "array", "shape": [2, 2], "data_type": "uint8", "fill_value": 0, "attributes": {},
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
 "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": [{"name": "bytes"}, {"name": "invert"}]}
END
printf '\376\375\374\373' > "$build/store.zarr/c/0/0"
[ "$(gdallocationinfo -valonly "SHARDEDZARR:$build/store.zarr" 1 1)" = 4 ] # which is ~0373
# burns a value: the one program that changes pixels
printf '{"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}' > "$build/all.json"
gdal_rasterize -q -at -burn 9 "$build/all.json" "SHARDEDZARR:$build/store.zarr" 2>>"$build/cmake.log" # of no CRS
[ "$(od -An -tu1 "$build/store.zarr/c/0/0" | tr -s ' ')" = " 246 246 246 246" ] # ~9

# The option is shown, taken, and checked.
gdalinfo --format ShardedZarr | grep -q "name=.RECIPE."
gdal_translate -q -of ShardedZarr -co RECIPE=YES "SHARDEDZARR:$build/store.zarr" "$build/made.zarr"
if gdal_translate -q -of ShardedZarr -co RECIPE=PERHAPS "SHARDEDZARR:$build/store.zarr" "$build/no.zarr" 2>"$build/refused"; then
    echo "RECIPE=PERHAPS was taken"
    exit 1
fi
grep -q "RECIPE" "$build/refused"
echo "a codec and an option, added as the page says, work"
