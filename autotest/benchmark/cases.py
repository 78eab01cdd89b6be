"""The cases: what is read or written, by whom, and what this driver must reach ("bars", of the full size only).

A case is a generator that takes an opened raster (see with_gdal.py) and the scale, and yields everything that it reads, so that one
loop can both time it and check it. All contenders of a case must yield the same values.
"""
from dataclasses import dataclass, field

import numpy as np

import rasters
from rasters import Layout, scaled

OURS = ["ours", "before"]  # before: as this driver was, where a plugin is given
GDALS = OURS + ["gdal", "cog"]
PEERS = ["zarr-python", "zarrs", "tensorstore"]
# Of Icechunk repositories: this driver in the plain store of the same objects, and Icechunk's own library.
REPOSITORY = OURS + ["plain", "icechunk"]
VIA_GDAL, LIBRARIES = GDALS + ["plain", "gtiff"], PEERS + ["icechunk"]
CASES = {}


@dataclass
class Case:
    """
    bars       {a contender, "limit": at most so many times its seconds; "seconds", "megabytes", "requests": at most;
               "size": at most so many times the COG's bytes}
    differing  contenders whose values are others by nature: compared with no one
    opening    whether the time to open counts
    latency    seconds per answer of the HTTP server; None: local files
    warm       everything has been done once before in the same process
    prefixed   opened with the driver's prefix
    layout     what is created; then `data` is a source
    way        how, where it is no copy: "warp", by gdalwarp, to pixels of another size; "blocks", chunk by chunk
    cube       a function of cubes.py: through the multidimensional API, from what it is given to what is made or read
    update     how the shards of a series are changed, a map a day (worker.py makes it, there is no `data`)
    """
    name: str
    data: str
    contenders: list
    read: object = None
    bars: dict = field(default_factory=dict)
    differing: tuple = ()
    opening: bool = False
    latency: float = None
    warm: bool = False
    prefixed: bool = False
    environment: dict = field(default_factory=dict)
    layout: Layout = None
    way: str = None
    update: str = None
    only_full: bool = False
    cube: str = None


def add(name, data, contenders, read=None, **more):
    CASES[name] = Case(name, data, contenders, read, **more)


# ------------------------------------------------------------------------------------------------------------ what is done

def whole(raster, scale):
    yield raster.whole()


def lines(raster, scale):
    for y in range(raster.height):
        yield raster.window(0, y, raster.width, 1)


def blocks(raster, scale):
    for row in range((raster.height - 1) // raster.block_height + 1):
        for column in range((raster.width - 1) // raster.block_width + 1):
            yield raster.block(column, row)


def windows(size, count):
    def random_windows(raster, scale):
        side, rng = scaled(size, scale), np.random.default_rng(size)
        places = rng.integers(0, (raster.width - side, raster.height - side), (scaled(count, scale), 2)).tolist()
        for x, y in places:
            for part in raster.parts:
                yield part.window(x, y, side, side)
    return random_windows


def window(x, y, size):
    def one_window(raster, scale):
        yield raster.window(scaled(x, scale), scaled(y, scale), scaled(size, scale), scaled(size, scale))
    return one_window


def overview(raster, scale):
    yield raster.reduced(scaled(686, scale), scaled(686, scale))


def pixel(raster, scale):
    yield raster.window(raster.width // 3, raster.height // 2, 1, 1)


def nothing(raster, scale):
    yield np.array([raster.width, raster.height])


def sparse_window(raster, scale):
    yield raster.slice(6 * 2048 + 100, 2048 + 100, 4 * 2048 + 50, 140, 140)


def sparse_empty(raster, scale):
    yield raster.slice(3 * 2048 + 100, 2048 + 100, 4 * 2048 + 50, 140, 140)


def map_at(step, count=1):
    def maps(raster, scale):
        for number in range(count):
            yield raster.slice(scaled(step, scale) + number, 0, 0, raster.width, raster.height)
    return maps


def map_reduced(raster, scale):
    yield raster.slice_reduced(scaled(200, scale), scaled(60, scale), scaled(60, scale))


def box(raster, scale):
    yield raster.window(raster.width // 3, raster.height // 2, 10, 10)


def checksum(raster, scale):
    yield np.array([raster.checksum()])


# ------------------------------------------------------------------------------------------------------------- local files

READERS = GDALS + ["limit"] + PEERS

add("create, ZSTD 3", "scene", READERS, layout=Layout("scene"), bars={"cog": 1.0})
add("create, default codec", "scene", OURS + ["cog"], layout=Layout("scene", codec="default"), bars={"cog": 0.6, "size": 1.0})
add("create with overviews", "scene", OURS + ["cog"], layout=Layout("scene", overviews=True))
for what, way in (("by gdalwarp", "warp"), ("block by block", "blocks")):
    add("create %s" % what, "scene", OURS + ["gtiff"], layout=Layout("scene"), way=way)
add("create without fsync", "scene", OURS, layout=Layout("scene", codec="default"), environment={"SHARDEDZARR_FSYNC": "NO"})
add("read all", "scene", READERS, whole, bars={"cog": 1.0, "limit": 1.15})
add("line by line", "scene", GDALS + ["tensorstore"], lines, bars={"gdal": 0.7})
add("block by block", "scene", GDALS + PEERS, blocks)
add("500 windows of 256", "scene", GDALS + PEERS, windows(256, 500), bars={"cog": 0.7})
add("500 windows of 512", "scene", GDALS + PEERS, windows(512, 500))
add("overview image", "scene", GDALS, overview, bars={"cog": 1.5}, differing=("cog",))  # 686, not 687 pixels
add("open", "scene", GDALS + PEERS, nothing, opening=True, warm=True, bars={"seconds": 0.001})
add("open, first", "scene", GDALS + PEERS, nothing, opening=True)
add("RGB, one array", "rgb", GDALS + PEERS, windows(1024, 40))
add("RGB, three arrays", "rgb3", GDALS + PEERS, windows(1024, 40))
add("pixel, 1000 steps", "steps", GDALS + PEERS, pixel)
for chunk in rasters.CHUNKS:
    add("chunks of %d" % chunk, "chunk %d" % chunk, READERS, whole)
add("chunks of 512", "uint16", READERS, whole)
for codec in rasters.CODECS:
    add("codec %s" % codec, "codec %s" % codec, READERS if not codec.startswith("blosc") else [c for c in READERS if c != "cog"], whole)
add("uint8", "uint8", READERS, whole)
add("float32", "float32", READERS, whole)
for kind in ("uint8", "float32"):
    add("create %s, ZSTD 3" % kind, "half " + kind, GDALS, layout=Layout("half " + kind))
    add("create %s, default" % kind, "half " + kind, OURS + ["cog"], layout=Layout("half " + kind, codec="default"))
for way in ("REWRITE", "APPEND", "IN_PLACE"):
    add("one map a day, %s" % way, None, OURS, update=way)
for what, function in (("netCDF to store", "into_store"), ("store to netCDF", "into_netcdf"), ("store to memory", "into_memory"),
                       ("strided", "strided"), ("backwards", "backwards"), ("transposed", "transposed")):
    # In the small size chunks are longer than the cube, which GDAL's driver tells netCDF, and that refuses.
    add("cube: %s" % what, "cube", OURS + ["gdal"], cube=function, bars={"gdal": 1.0},
        differing=("gdal",) if function == "into_netcdf" else ())
SPARSE = OURS + ["gdal"] + PEERS
add("ZEP 2, open", "sparse", SPARSE, nothing, opening=True, warm=True, bars={"seconds": 0.005, "megabytes": 100})
add("ZEP 2, window", "sparse", SPARSE, sparse_window, bars={"seconds": 0.020, "megabytes": 100})
add("ZEP 2, empty window", "sparse", SPARSE, sparse_empty, bars={"seconds": 0.020, "megabytes": 100})
# A map out of chunks that are as deep as the series is long, and the series beside it.
DEEP_ONES = OURS + ["gdal", "limit"] + PEERS
DEEP_BARS = {"limit": 1.3, "gdal": 0.05, "zarr-python": 0.05, "zarrs": 1.0}
add("deep: map", "deep", DEEP_ONES, map_at(200), bars={**DEEP_BARS, "megabytes": 180})
add("deep: ten maps", "deep", OURS + ["gdal"] + PEERS, map_at(300, 10))
add("deep: map, 60 x 60", "deep", OURS + ["gdal"], map_reduced)
add("deep: pixel", "deep", OURS + ["gdal"] + PEERS, pixel)
add("deep: box of 10", "deep", OURS + ["gdal"] + PEERS, box)
add("deep: map, plain", "deep plain", OURS + ["gdal"] + PEERS, map_at(200), bars={"gdal": 0.05, "zarr-python": 0.05})
add("deep: pixel, plain", "deep plain", OURS + ["gdal"] + PEERS, pixel)
add("deep: map, MRMS", "deep mrms", DEEP_ONES, map_at(200), bars={**DEEP_BARS, "megabytes": 180})
add("deep: map, IMERG", "deep imerg", DEEP_ONES, map_at(200), bars=DEEP_BARS)
add("repository: read all", "repository", REPOSITORY, whole, bars={"plain": 1.02, "icechunk": 1.0})
add("repository: 500 windows", "repository", REPOSITORY, windows(256, 500))
SMALL_CACHE = {"GDAL_CACHEMAX": "64"}
add("30000: create", "big", GDALS, layout=Layout("big", shard=8192), environment=SMALL_CACHE, only_full=True, bars={"megabytes": 250})
add("30000: checksum", "big", GDALS, checksum, environment=SMALL_CACHE, only_full=True, bars={"cog": 0.9, "megabytes": 200})

# -------------------------------------------------------------------------------------------------------------------- HTTP

REMOTE = {"open": (nothing, GDALS, 2, 0.15), "overview": (overview, GDALS, 4, 0.26),
          "200 window": (window(5000, 5000, 200), GDALS + ["tensorstore"], 4, 0.26),
          "2000 window": (window(3096, 3096, 2000), GDALS + ["tensorstore"], 12, 0.31)}

for latency in (0, 0.05):
    where = "HTTP %d ms" % (1000 * latency)
    for what, (action, contenders, requests, seconds) in REMOTE.items():
        add("%s: %s" % (where, what), "scene", contenders, action, opening=True, latency=latency,
            differing=("cog",) if what == "overview" else (), bars={"seconds": seconds} if latency else {"requests": requests})
    add("%s: open with prefix" % where, "scene", OURS + ["gdal"], nothing, opening=True, latency=latency, prefixed=True,
        bars={} if latency else {"requests": 1})
    add("%s: pixel, 40 shards" % where, "slices", GDALS + ["tensorstore"], pixel, opening=True, latency=latency,
        bars={"seconds": 0.5} if latency else {})
    for what in ("open", "2000 window"):
        action, contenders, _, _ = REMOTE[what]
        add("%s, warm: %s" % (where, what), "scene", contenders, action, opening=True, latency=latency, warm=True)

for what, action in (("map", map_at(200)), ("pixel", pixel)):
    add("HTTP 50 ms: deep, %s" % what, "deep", OURS + ["gdal", "tensorstore"], action, opening=True, latency=0.05)
for what, action in (("map", map_at(20)), ("pixel", pixel)):
    add("HTTP 50 ms: repository, %s" % what, "repository slices", REPOSITORY, action, opening=True, latency=0.05, prefixed=True, bars={"icechunk": 0.8})

# What a change is held against in two minutes (--quick).
QUICK = ["create, ZSTD 3", "create, default codec", "create with overviews", "create block by block", "read all", "line by line",
         "500 windows of 256", "overview image", "open", "pixel, 1000 steps", "uint8", "float32", "deep: map", "HTTP 50 ms: 200 window",
         "HTTP 50 ms: 2000 window"]
