#!/usr/bin/python3
"""gaps.py FOLDER [SIZE]: what the open option MERGE_GAP does over HTTP: seconds, requests and megabytes of cold reads from a scene of SIZE x SIZE
(6000) pixels, in several shapes and as a COG, and from the cubes of shapes.py, at several latencies and bandwidths of the server.

  GDAL_DRIVER_PATH=build/gdalplugins python3 autotest/benchmark/gaps.py /tmp/gaps"""
import itertools
import os
import statistics
import sys
import time

import numpy as np
from osgeo import gdal

import shapes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gdrivers"))
from webserver import RangeServer  # noqa: E402

gdal.UseExceptions()
SCENES = {"256_1024": (256, 1024), "256_4096": (256, 4096), "512_4096": (512, 4096)}
CUBES = {name: shapes.SHAPES[name] for name in ("maps", "both")}
GAPS = (128, 256, 512, 1024)  # kilobytes
LATENCIES, BANDWIDTHS = (0.005, 0.02, 0.05, 0.2), (50e6, 1e9)
ROUNDS = 3


def scene(size):
    rng = np.random.default_rng(1)
    coarse = rng.normal(size=(size // 50 + 2, size // 50 + 2)).repeat(50, 0).repeat(50, 1)[:size, :size]
    return (2000 + 300 * coarse + 40 * rng.normal(size=(size, size))).astype("uint16")


def make(folder, size):
    source = gdal.GetDriverByName("MEM").Create("", size, size, 1, gdal.GDT_UInt16)
    source.SetGeoTransform((400000, 10, 0, 5000000, 0, -10))
    source.GetRasterBand(1).WriteArray(scene(size))
    for name, (chunk, shard) in SCENES.items():
        gdal.Translate(os.path.join(folder, name + ".zarr"), source, format="ShardedZarr", creationOptions=["CHUNK_SHAPE=%d" % chunk, "SHARD_SHAPE=%d" % shard])
    gdal.Translate(os.path.join(folder, "cog.tif"), source, format="COG", creationOptions=["COMPRESS=ZSTD", "PREDICTOR=YES", "OVERVIEWS=AUTO"])
    values = shapes.cube(240)
    for name, shape in CUBES.items():
        shapes.write(os.path.join(folder, name + ".zarr"), values, *shape)


def windows(size, side):
    """Three windows: in the middle, where four shards meet, and two by chance."""
    middle = [(size // 2 // 1024 * 1024 - side // 2,) * 2]
    return middle + np.random.default_rng(side).integers(0, size - side, (2, 2)).tolist()


def reads(size):
    """(what, name of the store, function that reads it from an opened dataset)"""
    for side in (200, 2000):
        for name in [*(name + ".zarr" for name in SCENES), "cog.tif"]:
            for x, y in windows(size, side):
                yield "%d window" % side, name, lambda dataset, x=int(x), y=int(y), side=side: dataset.ReadAsArray(x, y, side, side)
    for name in CUBES:
        yield "map", name + ".zarr", lambda dataset: dataset.GetRasterBand(100).ReadAsArray()
        yield "series", name + ".zarr", lambda dataset: dataset.ReadAsArray(300, 200, 1, 1)
        yield "series of 100 x 100", name + ".zarr", lambda dataset: dataset.ReadAsArray(300, 200, 100, 100)


def cost(folder, latency, bandwidth, name, read, gap):
    """(seconds, requests, megabytes), from a server of which the process knows nothing"""
    with RangeServer(folder) as server:
        server.latency, server.bandwidth = latency, bandwidth
        return ask(server, name, read, gap)


def ask(server, name, read, gap):
    begin = time.monotonic()
    path = server.vsi(name) if name.endswith(".tif") else 'SHARDEDZARR:"%s":/%s' % (server.vsi(name), "t" if name[:-5] in CUBES else name[:-5])
    read(gdal.OpenEx(path, gdal.OF_RASTER, open_options=[] if gap is None or name.endswith(".tif") else ["MERGE_GAP=%d" % gap]))
    return time.monotonic() - begin, len(server.log), sum(request.sent for request in server.log) / 1e6


def main(folder, size=6000, *only):
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "cog.tif")):
        make(folder, size)
    gdal.SetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    for link in itertools.product(LATENCIES, BANDWIDTHS):
        print("\n%3d ms, %4d MB/s" % (1000 * link[0], link[1] / 1e6) + "".join("%24d KB" % gap for gap in GAPS))
        rows = {}
        for what, name, read in reads(size):
            cells = rows.setdefault((what, name), [[] for _ in GAPS])
            for _ in range(ROUNDS):
                for cell, gap in zip(cells, GAPS[:1] if name.endswith(".tif") else GAPS):
                    cell.append(cost(folder, *link, name, read, gap))
        for (what, name), cells in rows.items():
            print("%-20s %-16s" % (what, name) + "".join(
                "%8.3f s %3.0f rq %5.1f MB" % tuple(statistics.median(values) for values in zip(*cell)) for cell in cells if cell), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
