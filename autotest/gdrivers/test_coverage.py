"""Where a raster has pixels (GetDataCoverageStatus), as its shard indexes tell; who copies or warps leaves out the rest."""
import os

import numpy as np
import pytest
from osgeo import gdal

from support import held_band, open_array
from writing import driver, pairs, shards

DATA, EMPTY, UNIMPLEMENTED = gdal.GDAL_DATA_COVERAGE_STATUS_DATA, gdal.GDAL_DATA_COVERAGE_STATUS_EMPTY, \
    gdal.GDAL_DATA_COVERAGE_STATUS_UNIMPLEMENTED
CHUNK, SHARD, SHAPE = 32, 128, (700, 900)
BLOBS = ((0, 0, 20, 20), (300, 410, 100, 3), (690, 890, 10, 10))  # y, x, height, width


def made(path, nodata=None, bands=2):
    """An array with blobs in its first band, and where its chunks are stored."""
    options = pairs(dict(ARRAY_NAME="v", CHUNK_SHAPE=CHUNK, SHARD_SHAPE=SHARD, OVERVIEWS="NONE"))
    dataset = driver().Create(path, SHAPE[1], SHAPE[0], bands, gdal.GDT_UInt16, options)
    stored = np.zeros(SHAPE, bool)
    for band in range(bands if nodata is not None else 0):
        dataset.GetRasterBand(band + 1).SetNoDataValue(nodata)
    for y, x, height, width in BLOBS:
        dataset.GetRasterBand(1).WriteArray(np.full((height, width), 9, "uint16"), x, y)
        stored[y // CHUNK * CHUNK:-(-(y + height) // CHUNK) * CHUNK, x // CHUNK * CHUNK:-(-(x + width) // CHUNK) * CHUNK] = True
    dataset = None
    return stored


@pytest.mark.parametrize("nodata", [None, 0, 7])
def test_coverage_of_random_windows_is_that_of_the_stored_chunks(tmp_path, nodata):
    path = str(tmp_path / "a.zarr")
    stored, rng = made(path, nodata), np.random.default_rng(5)
    dataset = open_array(path, "/v")
    band = dataset.GetRasterBand(1)
    for _ in range(200):
        x, y = int(rng.integers(0, SHAPE[1])), int(rng.integers(0, SHAPE[0]))
        width, height = int(rng.integers(1, SHAPE[1] - x + 1)), int(rng.integers(1, SHAPE[0] - y + 1))
        part = stored[y:y + height, x:x + width]
        flags, percent = band.GetDataCoverageStatus(x, y, width, height)
        assert flags == DATA * bool(part.any()) | EMPTY * bool(not part.all())
        assert percent == pytest.approx(100 * part.mean())
    assert dataset.GetRasterBand(2).GetDataCoverageStatus(0, 0, *SHAPE[::-1]) == [EMPTY, 0]


def test_stored_chunk_of_fill_values_is_not_reported_empty(tmp_path):
    path = str(tmp_path / "a.zarr")
    made(path, 7)
    dataset = gdal.Open(path, gdal.GA_Update)
    dataset.GetRasterBand(1).SetNoDataValue(5)  # what is not stored stays 7
    dataset = None
    assert held_band(open_array(path, "/v")).GetDataCoverageStatus(600, 100, 50, 50) == [UNIMPLEMENTED | DATA, 100]


def test_pixels_that_are_not_flushed_are_covered(tmp_path):
    path = str(tmp_path / "a.zarr")
    made(path)
    dataset = gdal.Open(path, gdal.GA_Update)
    band = dataset.GetRasterBand(1)
    assert band.GetDataCoverageStatus(600, 100, 20, 20) == [EMPTY, 0]
    band.WriteArray(np.ones((20, 20), "uint16"), 600, 100)
    assert band.GetDataCoverageStatus(600, 100, 20, 20)[0] & DATA
    half = CHUNK // 2  # what is resampled goes through GDAL's block cache
    band.WriteRaster(20 * CHUNK, 10 * CHUNK, CHUNK, CHUNK, np.ones((half, half), "uint16").tobytes(), half, half)
    assert band.GetDataCoverageStatus(20 * CHUNK, 10 * CHUNK, CHUNK, CHUNK)[0] & DATA


def test_shard_with_a_broken_index_is_not_reported_empty(tmp_path):
    path = str(tmp_path / "a.zarr")
    made(path)
    for shard in shards(path, "v"):
        with open(os.path.join(path, "v", shard), "r+b") as file:
            file.seek(-3, 2)
            file.write(b"\0\1\2")
    assert held_band(open_array(path, "/v")).GetDataCoverageStatus(0, 0, 10, 10)[0] == UNIMPLEMENTED | DATA
