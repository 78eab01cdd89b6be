"""Overviews of rasters of which little was written: what is empty is not resampled, and pixels are as if it were."""

import numpy as np
import pytest
from osgeo import gdal

from support import assert_same, open_array
from writing import driver, pairs

SHAPE = (2048, 10240)
ODD = (2047, 10239)
BLOBS = ((1900, 2030, 100, 60), (0, 0, 40, 30), (2008, 500, 40, 30))  # y, x, height, width: across cells of a level, at corners


def made(path, dtype, bands, nodata, resampling, shard, factors="2,4", shape=SHAPE):
    """A raster that is empty but for some boxes, with levels that are made at its close."""
    code = {"uint8": gdal.GDT_Byte, "float32": gdal.GDT_Float32}[dtype]
    options = dict(ARRAY_NAME="v", CHUNK_SHAPE=128, SHARD_SHAPE=shard, OVERVIEWS=factors, RESAMPLING=resampling)
    dataset, rng = driver().Create(str(path), shape[1], shape[0], bands, code, options=pairs(options)), np.random.default_rng(3)
    for number in range(1, bands + 1):
        band = dataset.GetRasterBand(number)
        if nodata is not None:
            band.SetNoDataValue(nodata)
        if number == 4:
            band.SetColorInterpretation(gdal.GCI_AlphaBand)
        for y, x, height, width in BLOBS:
            y = min(y, shape[0] - height)
            band.WriteArray(rng.integers(0, 256, (height, width)).astype(dtype), x, y)
    dataset = None
    dataset = open_array(str(path), "/v")
    return [np.stack([dataset.GetRasterBand(b + 1).GetOverview(level).ReadAsArray() for b in range(bands)]) for level in range(2)]


@pytest.mark.parametrize("dtype, bands, nodata, resampling, shape, factors", [
    ("uint8", 1, None, "AVERAGE", SHAPE, "2,4"), ("uint8", 1, 0, "AVERAGE", SHAPE, "2,4"), ("uint8", 1, 7, "NEAREST", SHAPE, "2,4"),
    ("uint8", 1, 0, "MODE", SHAPE, "2,4"), ("uint8", 1, None, "CUBIC", SHAPE, "2,4"), ("float32", 1, -1, "LANCZOS", SHAPE, "2,4"),
    ("float32", 1, -1, "CUBICSPLINE", SHAPE, "2,4"), ("uint8", 1, None, "GAUSS", SHAPE, "2,4"), ("float32", 1, None, "BILINEAR", SHAPE, "2,4"),
    ("uint8", 4, None, "AVERAGE", SHAPE, "2,4"), ("uint8", 4, None, "CUBIC", SHAPE, "2,4"),
    ("uint8", 1, 0, "AVERAGE", ODD, "2,4"), ("uint8", 1, 7, "NEAREST", ODD, "2,4"), ("uint8", 1, 0, "MODE", (2048, 10001), "3,6"),
    ("float32", 1, -1, "LANCZOS", ODD, "2,4"), ("uint8", 1, None, "GAUSS", ODD, "2,4"), ("uint8", 4, None, "CUBIC", (2048, 10001), "3,6")])
def test_levels_of_a_sparse_raster_are_as_if_all_of_it_were_resampled(tmp_path, dtype, bands, nodata, resampling, shape, factors):
    """Of an odd size, too, where a pixel of a level is no whole number of the raster's."""
    sparse = made(tmp_path / "sparse.zarr", dtype, bands, nodata, resampling, 256, factors, shape)
    whole = made(tmp_path / "whole.zarr", dtype, bands, nodata, resampling, "2048,10240", factors, shape)  # one shard: nothing is known to be empty
    for actual, expected in zip(sparse, whole):
        assert_same(actual, expected)
        assert len(np.unique(expected)) > 2


def test_rebuilt_levels_drop_chunks_of_removed_pixels(tmp_path):
    path = str(tmp_path / "a.zarr")
    before = made(path, "uint8", 1, 0, "AVERAGE", 256)
    dataset = gdal.Open(path, gdal.GA_Update)
    y, x, height, width = BLOBS[0]
    dataset.GetRasterBand(1).WriteArray(np.zeros((height, width), "uint8"), x, y)
    dataset.BuildOverviews("AVERAGE", [2, 4])
    dataset = None
    dataset = open_array(path, "/v")
    for level, expected in enumerate(before):
        factor = 2 << level
        expected[0, y // factor:, x // factor - 1:(x + width) // factor + 1] = 0
        assert_same(dataset.GetRasterBand(1).GetOverview(level).ReadAsArray()[np.newaxis], expected)


def test_a_huge_raster_of_which_little_is_written_has_its_overviews_in_seconds(tmp_path):
    path, array = str(tmp_path / "a.zarr"), np.random.default_rng(1).integers(1, 256, (1000, 1000)).astype("uint8")
    dataset = driver().Create(path, 200000, 200000, 1, gdal.GDT_Byte, ["ARRAY_NAME=v", "RESAMPLING=AVERAGE"])
    dataset.GetRasterBand(1).SetNoDataValue(0)
    for x, y in ((7000, 9000), (199000, 199000), (100000, 50000)):
        dataset.GetRasterBand(1).WriteArray(array, x, y)
    dataset = None  # 40 gigapixels take minutes where nothing is skipped
    dataset = open_array(path, "/v")
    band = dataset.GetRasterBand(1)
    assert band.GetOverviewCount() == 9
    expected = array.reshape(500, 2, 500, 2).mean((1, 3))
    for x, y in ((3500, 4500), (99500, 99500), (50000, 25000)):
        assert np.abs(band.GetOverview(0).ReadAsArray(x, y, 500, 500) - expected).max() <= 0.5
    assert band.GetOverview(8).ReadAsArray().any() and not band.GetOverview(0).ReadAsArray(20000, 20000, 3000, 3000).any()
