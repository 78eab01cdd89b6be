#!/usr/bin/python3
"""shapes.py FOLDER [STEPS]: one cube, a temperature of STEPS (720) days on 512 x 512 points, in stores of three shapes of chunks. What each takes on
the disk and to write, and what a map and a series of it cost over HTTP: the table of driver/doc/performance.md.

  GDAL_DRIVER_PATH=build/gdalplugins python3 autotest/benchmark/shapes.py /tmp/shapes"""
import os
import sys
import time

import numpy as np
from osgeo import gdal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gdrivers"))
from webserver import RangeServer  # noqa: E402

gdal.UseExceptions()
SIDE = 512
SHAPES = {"maps": ("1,256,256", "24,512,512"), "both": ("24,64,64", "120,256,256"), "series": ("720,16,16", "720,128,128")}


def cube(steps):
    """Tenths of a degree: the seasons, the latitudes, and weather that is smooth in space and time."""
    rng = np.random.default_rng(1)
    days, y, x = np.ogrid[:steps, :SIDE, :SIDE]
    coarse = rng.normal(size=(steps // 4 + 2, 17, 17)).repeat(4, 0)[:steps].repeat(32, 1).repeat(32, 2)[:, :SIDE, :SIDE]
    values = 150 - y / 2 + 100 * np.sin(days / 58) * (1 - y / SIDE) + 20 * coarse + rng.normal(size=(steps, SIDE, SIDE))
    return values.astype("int16")


def write(name, values, chunk, shard):
    """Seconds to write it"""
    begin = time.monotonic()
    dataset = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(name, [], ["OVERWRITE=YES"])
    root = dataset.GetRootGroup()
    dimensions = [root.CreateDimension(dim, None, None, size) for dim, size in zip(("time", "y", "x"), values.shape)]
    kind = gdal.ExtendedDataType.Create(gdal.GDT_Int16)
    root.CreateMDArray("t", dimensions, kind, ["CHUNK_SHAPE=" + chunk, "SHARD_SHAPE=" + shard]).Write(values)
    del root, dimensions
    dataset.FlushCache()
    return time.monotonic() - begin


def read(folder, name, start, count):
    """(seconds, requests, kilobytes) of a window of a store behind HTTP, beside those of its metadata"""
    with RangeServer(folder) as server:
        gdal.VSICurlClearCache()
        dataset = gdal.OpenEx('SHARDEDZARR:"/vsicurl/http://%s/%s"' % (server.host, name), gdal.OF_MULTIDIM_RASTER)
        array = dataset.GetRootGroup().OpenMDArray("t")
        server.log.clear()
        begin = time.monotonic()
        array.ReadAsArray(start, count)
        seconds = time.monotonic() - begin
        return seconds, len(server.log), sum(request.sent for request in server.log) / 1000


def main(folder, steps=720):
    os.makedirs(folder, exist_ok=True)
    values = cube(steps)
    print("%s; %d MB of int16" % (gdal.VersionInfo("--version"), values.nbytes // 10**6))
    for name, (chunk, shard) in SHAPES.items():
        path = os.path.join(folder, name + ".zarr")
        seconds = write(path, values, chunk, shard)
        sizes = [os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(path) for file in files]
        costs = [read(folder, name + ".zarr", *window)
                 for window in (([steps // 2, 0, 0], [1, SIDE, SIDE]), ([0, 200, 300], [steps, 1, 1]))]
        print("%s %s %s: %d objects, %.0f MB, written in %.1f s" % (name, chunk, shard, len(sizes), sum(sizes) / 1e6, seconds), end="")
        print("".join("; %s %.3f s, %d requests, %.0f KB" % (what, *cost) for what, cost in zip(("map", "series"), costs)))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
