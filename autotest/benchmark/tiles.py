"""A tile server's work, by rio-tiler: tiles of a store and of a COG of the same pixels, each opened anew, as titiler does for a request.

    build-wheel/venvs/bookworm/new/bin/python autotest/benchmark/tiles.py [SIZE [TILES]]

Prints the milliseconds of a tile, in the middle of three rounds, and those of a processor. autotest/wheel_tests.sh makes the venv.
"""
import os
import statistics
import sys
import tempfile
import time

import morecantile
import numpy as np
import rasterio
import rasterio.shutil
import rasterio.warp
import shardedzarr  # noqa: F401
from rio_tiler.io import Reader


def make(folder, size):
    """The store and the COG: three bands as of Sentinel-2, 10 m."""
    row = np.sin(np.arange(size) / 300) * 900
    noise = np.random.default_rng(1).integers(0, 200, (size, size))
    pixels = np.stack([(1200 + band * 300 + np.add.outer(row, row) + noise).astype("uint16") for band in range(3)])
    names = [os.path.join(folder, name) for name in ("scene.zarr", "scene.tif")]
    profile = dict(width=size, height=size, count=3, dtype="uint16", crs="EPSG:32633", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6), nodata=0)
    with rasterio.io.MemoryFile() as memory:
        with memory.open(driver="GTiff", **profile) as source:
            source.write(pixels)
        with memory.open() as source:
            rasterio.shutil.copy(source, names[0], driver="ShardedZarr", compress="zstd", overview_resampling="average")
            rasterio.shutil.copy(source, names[1], driver="COG", compress="zstd", blocksize=512, overview_resampling="average")
    return names


def tiles(name, count):
    """As many tiles, over all zooms in which the raster is more than a tile."""
    with Reader(name) as reader:
        bounds = rasterio.warp.transform_bounds(reader.crs, "EPSG:4326", *reader.bounds)
        grid, zooms = morecantile.tms.get("WebMercatorQuad"), range(reader.maxzoom - 3, reader.maxzoom + 1)
    found = [tile for zoom in zooms for tile in grid.tiles(*bounds, zooms=zoom)]
    return [found[number] for number in np.random.default_rng(2).choice(len(found), min(count, len(found)), replace=False)]


def main(size=4096, count=200):
    with tempfile.TemporaryDirectory() as folder:
        names, spent, sums = make(folder, size), {}, {}
        wanted = tiles(names[1], count)
        for _ in range(4):  # the first fills the system's caches, and is not counted
            for name in names:
                clocks, sums[name] = (time.perf_counter(), time.process_time()), []
                for tile in wanted:
                    with Reader(name) as reader:
                        sums[name].append(int(reader.tile(tile.x, tile.y, tile.z).array.filled(0).sum(dtype="int64")))
                spent.setdefault(name, []).append((time.perf_counter() - clocks[0], time.process_time() - clocks[1]))
        for name in names:
            seconds, cpu = (statistics.median(one[which] for one in spent[name][1:]) for which in (0, 1))
            print("%-10s %6.1f ms a tile, %6.1f ms of processors" % (os.path.basename(name), 1000 * seconds / len(wanted), 1000 * cpu / len(wanted)))
        different = sum(one != other for one, other in zip(*sums.values()))
        print("%d tiles, %d differ" % (len(wanted), different))


main(*map(int, sys.argv[1:]))
