"""Copies into chunks of many bands, of sources that deliver map by map: each map is decoded once, whatever the memory."""
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import GZIP, LITTLE, array_meta, group_meta, sharding
from support import assert_same, error_of, name_of, read_all

TIMES, HEIGHT, WIDTH = 48, 96, 128


@pytest.fixture
def small_cache():
    """GDAL's cache holds half of the maps; ours a quarter of that."""
    before = gdal.GetCacheMax()
    gdal.SetCacheMax(TIMES * HEIGHT * WIDTH * 2 // 2)
    yield
    gdal.SetCacheMax(before)


def write_maps(path):
    """A store of a map in a chunk, in two variables' worth of times; (pixels, bytes of the chunks)."""
    pixels = np.random.default_rng(5).integers(0, 60000, (TIMES, HEIGHT, WIDTH)).astype("uint16")
    oracle.write(path, group_meta())
    oracle.write(path / "t", array_meta(pixels.shape, "uint16", (1, HEIGHT, WIDTH), [sharding((1, HEIGHT, WIDTH), LITTLE, GZIP)],
                                        dimension_names=["time", "y", "x"]), pixels)
    return pixels, sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path / "t/c") for file in files)


@pytest.mark.parametrize("chunk", ["48,10,10", "48,32,128", "16,20,128", "20,7,50", "1,10,10"])
def test_each_map_is_read_once(tmp_path, server, small_cache, chunk):
    pixels, stored = write_maps(tmp_path / "maps.zarr")
    gdal.Translate(str(tmp_path / "deep.zarr"), name_of(server.vsi("maps.zarr"), "/t"), format="ShardedZarr",
                   creationOptions=["CHUNK_SHAPE=" + chunk, "OVERVIEWS=NONE"])
    fetched = sum(request.sent for request in server.log if "/c/" in request.path)
    assert fetched < 1.1 * stored, "%.1f times" % (fetched / stored)
    assert_same(read_all(gdal.Open(str(tmp_path / "deep.zarr"))), pixels)
    files = {file for _, _, files in os.walk(tmp_path / "deep.zarr") for file in files}
    assert not [file for file in files if file.endswith(".tmp")]
    assert sorted(os.listdir(tmp_path)) == ["deep.zarr", "maps.zarr"]


def test_a_map_that_cannot_be_read_ends_the_copy_and_leaves_nothing(tmp_path, small_cache):
    write_maps(tmp_path / "maps.zarr")
    (tmp_path / "maps.zarr/t/c/30/0/0").write_bytes(b"short")
    assert error_of(gdal.Translate, str(tmp_path / "deep.zarr"), name_of(tmp_path / "maps.zarr", "/t"), format="ShardedZarr",
                    creationOptions=["CHUNK_SHAPE=48,10,10"])
    assert os.listdir(tmp_path) == ["maps.zarr"]
