"""The rasters of the benchmark, from seeds: rasters.py DIRECTORY SCALE NAME... makes those of LAYOUTS, each as NAME.zarr and NAME.tif.

Sources, source_*.raw with an ENVI header, are what "create" reads too. SCALE divides every size: 1 for the full benchmark.
"""
import os
import shutil
import subprocess
import sys
import zlib
from dataclasses import dataclass

import numpy as np

TYPES = {"uint8": 1, "uint16": 12, "float32": 4}  # ENVI's numbers
ITEM_SIZES = {"uint8": 1, "uint16": 2, "float32": 4}


@dataclass
class Source:
    """A satellite-like raster of `bands` x `size` x `size`."""
    size: int
    dtype: str = "uint16"
    bands: int = 1


SOURCES = {
    "scene": Source(10980),
    "big": Source(30000),
    "rgb": Source(5490, bands=3),
    "half": Source(5490), "half uint8": Source(5490, "uint8"), "half float32": Source(5490, "float32"),
    "steps": Source(256, bands=1000),
    "slices": Source(512, bands=40),
}


@dataclass
class Layout:
    """How a source is stored: in chunks of `chunk` x `chunk` pixels of a band, in shards of `shard` x `shard` of `shard_bands`."""
    source: str
    chunk: int = 512
    shard: int = 4096
    shard_bands: int = 1
    codec: str = "zstd"  # zstd, gzip, none, blosc-zstd, blosc-lz4, default
    overviews: bool = False
    arrays: int = 1  # into which the bands are divided
    cog: bool = True
    repository: bool = False  # an Icechunk repository beside it, with the same objects


LAYOUTS = {
    "scene": Layout("scene", overviews=True),
    "big": Layout("big", shard=8192),
    "rgb": Layout("rgb", shard=2048, shard_bands=3),
    "rgb3": Layout("rgb", shard=2048, arrays=3),
    "steps": Layout("steps", chunk=128, shard=256, shard_bands=100),
    "slices": Layout("slices", chunk=128, shard=512),
    "uint8": Layout("half uint8"), "uint16": Layout("half"), "float32": Layout("half float32"),
}
REPOSITORIES = {"repository": Layout("half", cog=False, repository=True), "repository slices": Layout("slices", chunk=128, shard=512, cog=False, repository=True)}
LAYOUTS.update(REPOSITORIES)
CHUNKS = [64, 128, 256, 1024]  # and 512, which is "uint16"
CODECS = ["blosc-zstd", "blosc-lz4", "gzip", "none"]  # and zstd, which is "uint16"
LAYOUTS.update({"chunk %d" % chunk: Layout("half", chunk=chunk) for chunk in CHUNKS})
LAYOUTS.update({"codec %s" % codec: Layout("half", codec=codec, cog=not codec.startswith("blosc")) for codec in CODECS})

SPARSE_SHAPE, SPARSE_SHARD, SPARSE_CHUNK = (25000, 18000, 6000), 2048, 64  # the example of ZEP 2
SPARSE_SHARDS = [(0, 0, 0), (6, 4, 1), (12, 8, 2)]


# As dynamical.org publishes analyses: chunks of all steps, 100 x 100 pixels of each; here less of the area, and all of the depth.
DEEP = {  # {name: (shape, shard, options)}
    "deep": ((720, 600, 600), (720, 300, 300), ["COMPRESS=BLOSC", "BLOSC_CNAME=zstd", "LEVEL=3"]),
    "deep plain": ((720, 600, 600), (720, 300, 300), ["COMPRESS=NONE"]),
    "deep mrms": ((648, 700, 700), (648, 700, 700), ["COMPRESS=BLOSC", "BLOSC_CNAME=zstd", "LEVEL=3"]),
    "deep imerg": ((1440, 300, 300), (1440, 300, 300), ["COMPRESS=BLOSC", "BLOSC_CNAME=zstd", "LEVEL=3"]),
}
DEEP_CHUNK = 100


def deep_sizes(name, scale):
    """(shape, shard, chunk) of a scaled one, whose area is whole chunks."""
    (steps, height, width), (_, down, across), _ = DEEP[name]
    steps, side = scaled(steps, scale), scaled(DEEP_CHUNK, scale)
    return tuple((steps, y // DEEP_CHUNK * side, x // DEEP_CHUNK * side) for y, x in ((height, width), (down, across), (DEEP_CHUNK,) * 2))


def scaled(number, scale, least=1):
    return max(least, number // scale)


def chunk_of(layout, scale):
    return scaled(layout.chunk, scale, 16)  # a TIFF's tiles are multiples of 16


def file_name(name):
    return name.replace(" ", "_").replace(":", "")


def source_path(directory, name):
    return os.path.join(directory, "source_%s.raw" % file_name(name))


# -------------------------------------------------------------------------------------------------------------- values

class Landscape:
    """Smooth terrain, fields with straight borders, a fine texture, and five bits of noise."""

    def __init__(self, size, seed):
        rng = np.random.default_rng(seed)
        self.size, self.seed = size, seed
        self.terrain = (rng.random((size // 300 + 2, size // 300 + 2)) * 3000).astype("float32")
        self.fields = rng.normal(0, 250, (size // 24 + 1, size // 40 + 1)).astype("float32")
        noise = rng.normal(0, 1, (516, 516)).astype("float32")
        self.texture = 60 * sum(noise[i:i + 512, j:j + 512] for i in range(5) for j in range(5)) / 5

    def _weights(self, at, count):
        """Matrix that interpolates a row of `count` values linearly at these places."""
        place = at / 300
        low = place.astype(int)
        weights = np.zeros((len(at), count), "float32")
        weights[np.arange(len(at)), low] = 1 - (place - low)
        weights[np.arange(len(at)), low + 1] = place - low
        return weights

    def rows(self, first, count):
        """Rows of uint16 values between about 0 and 8000."""
        y, x = np.arange(first, first + count), np.arange(self.size)
        down, across = self.terrain.shape
        values = self._weights(y, down) @ self.terrain @ self._weights(x, across).T
        values += self.fields[(y // 24)[:, None], (x // 40)[None, :]]
        values += np.tile(self.texture[y % 512], (1, self.size // 512 + 1))[:, :self.size]
        noise = np.random.default_rng((self.seed, first)).integers(0, 32, values.shape, "uint8")
        return np.clip(values + 1500 + noise, 0, 10000).astype("uint16")


def convert(rows, dtype):
    if dtype == "uint8":
        return (rows // 40).astype("uint8")
    return (rows * np.float32(1e-4)).astype("float32") if dtype == "float32" else rows


def make_source(directory, name, scale):
    source, path = SOURCES[name], source_path(directory, name)
    size, bands = scaled(source.size, scale), scaled(source.bands, scale, min(3, source.bands))
    if os.path.exists(path):
        return
    with open(path + ".part", "wb") as file:
        for band in range(bands):
            landscape = Landscape(size, zlib.crc32(b"%s %d" % (name.split()[0].encode(), band)))
            for first in range(0, size, 512):
                convert(landscape.rows(first, min(512, size - first)), source.dtype).tofile(file)
    with open(path[:-4] + ".hdr", "w") as file:
        file.write("ENVI\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\ndata type = %d\n"
                   "interleave = bsq\nbyte order = 0\nmap info = {UTM, 1, 1, 499980, 5300040, 10, 10, 33, North, WGS-84}\n"
                   % (size, size, bands, TYPES[source.dtype]))
    os.rename(path + ".part", path)


# -------------------------------------------------------------------------------------------------------------- stores

def our_options(layout, scale):
    """Creation options of this driver."""
    chunk, shard, bands = chunk_of(layout, scale), scaled(layout.shard, scale), scaled(layout.shard_bands, scale)
    if layout.source == "rgb":
        bands = layout.shard_bands
    three = SOURCES[layout.source].bands > 1 and layout.arrays == 1
    options = ["ARRAY_NAME=data", "OVERVIEWS=%s" % ("AUTO" if layout.overviews else "NONE"),
               "CHUNK_SHAPE=" + ("1,%d,%d" % (chunk, chunk) if three else "%d,%d" % (chunk, chunk)),
               "SHARD_SHAPE=" + ("%d,%d,%d" % (bands, shard, shard) if three else "%d,%d" % (shard, shard)),
               "SINGLE_ARRAY=%s" % ("YES" if layout.arrays == 1 else "NO")]
    if layout.codec == "default":
        return options
    if layout.codec.startswith("blosc-"):
        return options + ["COMPRESS=BLOSC", "BLOSC_CNAME=" + layout.codec[6:], "BLOSC_SHUFFLE=BYTE", "LEVEL=5"]
    level = {"zstd": ["LEVEL=3"], "gzip": ["LEVEL=6"], "none": []}[layout.codec]
    return options + ["COMPRESS=" + layout.codec.upper()] + level


def cog_options(layout, scale):
    """Creation options of the COG driver for the same chunks and codec."""
    level = {"gzip": ["COMPRESS=DEFLATE", "LEVEL=6"], "none": ["COMPRESS=NONE"]}.get(layout.codec, ["COMPRESS=ZSTD", "LEVEL=3"])
    interleave = ["INTERLEAVE=BAND"] if SOURCES[layout.source].bands > 3 else []
    return level + interleave + ["BLOCKSIZE=%d" % chunk_of(layout, scale), "OVERVIEWS=%s" % ("AUTO" if layout.overviews else "NONE"),
                                 "OVERVIEW_RESAMPLING=AVERAGE", "NUM_THREADS=2"]


def gtiff_options(layout, scale):
    """Creation options of a GeoTIFF in the same chunks by ZSTD: what a COG cannot be made of, but by a copy."""
    chunk = chunk_of(layout, scale)
    return ["TILED=YES", "BLOCKXSIZE=%d" % chunk, "BLOCKYSIZE=%d" % chunk, "COMPRESS=ZSTD", "ZSTD_LEVEL=3", "NUM_THREADS=2"]


def make(directory, name, scale):
    from osgeo import gdal
    gdal.UseExceptions()
    layout, base = LAYOUTS[name], os.path.join(directory, file_name(name))
    make_source(directory, layout.source, scale)
    source = gdal.Open(source_path(directory, layout.source))
    gdal.GetDriverByName("ShardedZarr").CreateCopy(base + ".zarr", source, strict=0, options=our_options(layout, scale))
    if layout.repository:
        make_repository(base + ".zarr", base + ".icechunk")
    if layout.cog:
        cog = gdal.GetDriverByName("COG")
        gdal.PushErrorHandler("CPLQuietErrorHandler")  # it finds the tiles of the small size unexpectedly small
        for part in range(layout.arrays):
            view = source if layout.arrays == 1 else gdal.Translate("", source, format="VRT", bandList=[part + 1])
            cog.CreateCopy(base + (".tif" if layout.arrays == 1 else "_%d.tif" % (part + 1)), view, options=cog_options(layout, scale))


def make_repository(source, target):
    """With the peers' Python, which has Icechunk."""
    shutil.rmtree(target, ignore_errors=True)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repository.py")
    subprocess.run([os.environ["BENCHMARK_PEERS"], script, source, target], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "ICECHUNK_LOG": "error"})


def make_deep(directory, name, scale):
    """Float32 of eight digits: a field that drifts with time, and noise of each step."""
    from osgeo import gdal
    gdal.UseExceptions()
    shape, shard, chunk = deep_sizes(name, scale)
    steps, height, width = shape
    options = ["ARRAY_NAME=data", "OVERVIEWS=NONE", "SINGLE_ARRAY=YES", "BLOSC_SHUFFLE=BYTE", "CHUNK_SHAPE=%d,%d,%d" % chunk,
               "SHARD_SHAPE=%d,%d,%d" % shard]
    path = os.path.join(directory, file_name(name) + ".zarr")
    out = gdal.GetDriverByName("ShardedZarr").Create(path, width, height, steps, gdal.GDT_Float32, options + DEEP[name][2])
    rng = np.random.default_rng(1)
    field = rng.normal(size=(height + steps, width)).astype("float32").cumsum(0).cumsum(1) / 50
    for y in range(0, height, shard[1]):
        for x in range(0, width, shard[2]):
            block = np.empty(shard, "float32")
            for step in range(steps):
                noise = rng.normal(scale=0.1, size=shard[1:]).astype("float32")
                block[step] = field[step + y:step + y + shard[1], x:x + shard[2]] + noise
            bits = block.view("uint32")
            bits += np.uint32(0x3FFF)
            bits &= np.uint32(0xFFFF8000)
            out.WriteRaster(x, y, shard[2], shard[1], block)


def make_sparse(directory, scale):
    """The array of ZEP 2, of which three shards exist, and of these a cube of chunks: written by hand, so that it needs no memory."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gdrivers"))
    import oracle
    from stores import LITTLE, array_meta, codec, group_meta, sharding
    path, across, cube = os.path.join(directory, "sparse.zarr"), SPARSE_SHARD // SPARSE_CHUNK, scaled(8, scale, 4)
    meta = array_meta(SPARSE_SHAPE, "uint8", [SPARSE_SHARD] * 3,
                      [sharding([SPARSE_CHUNK] * 3, LITTLE, codec("zstd", level=3, checksum=False))], dimension_names=["z", "y", "x"])
    oracle.write(path, group_meta())
    oracle.write(os.path.join(path, "data"), meta)
    rng = np.random.default_rng(1)
    for shard in SPARSE_SHARDS:
        index, parts, offset = np.full((across, across, across, 2), oracle.EMPTY, "<u8"), [], 0
        for place in np.ndindex(cube, cube, cube):
            ramp = np.add.outer(np.add.outer(np.arange(SPARSE_CHUNK), np.arange(SPARSE_CHUNK)), np.arange(SPARSE_CHUNK))
            values = (ramp // 2 + rng.integers(0, 8, ramp.shape) + sum(place)).astype("uint8")
            parts.append(oracle.zstd_compress(values.tobytes(), 3))
            index[place] = offset, len(parts[-1])
            offset += len(parts[-1])
        index = index.tobytes()
        name = os.path.join(path, "data", "c", *map(str, shard))
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.writelines(parts + [index, oracle.crc32c(index).to_bytes(4, "little")])


def main(directory, scale, *names):
    os.makedirs(directory, exist_ok=True)
    for name in names:
        done = os.path.join(directory, file_name(name) + ".done")
        if os.path.exists(done):
            continue
        shutil.rmtree(os.path.join(directory, file_name(name) + ".zarr"), ignore_errors=True)
        if name == "sparse":
            make_sparse(directory, int(scale))
        elif name == "cube":
            import cubes
            cubes.make(directory, int(scale))
        elif name in DEEP:
            make_deep(directory, name, int(scale))
        elif name in LAYOUTS:
            make(directory, name, int(scale))
        else:
            make_source(directory, name, int(scale))
        open(done, "w").close()


if __name__ == "__main__":
    main(*sys.argv[1:])
