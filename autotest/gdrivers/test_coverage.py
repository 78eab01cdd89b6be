"""Where a raster has pixels (GetDataCoverageStatus), as its shard indexes tell; who copies or warps leaves out the rest."""
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta, sharding
from support import assert_same, held_band, open_array
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


@pytest.mark.parametrize("keys", [{"name": "default", "configuration": {"separator": "/"}}, {"name": "default", "configuration": {"separator": "."}},
                                  {"name": "v2", "configuration": {"separator": "."}}, {"name": "v2", "configuration": {"separator": "/"}}], ids=str)
@pytest.mark.parametrize("at_root", [True, False])
def test_coverage_of_many_shards_is_that_of_those_that_the_store_lists(tmp_path, keys, at_root):
    """Where more shards of a window are absent than are looked up one by one."""
    rng, shape, shard, chunk = np.random.default_rng(int(at_root)), (2, 190, 330), 4, 2
    pixels = np.zeros(shape, "uint16")
    for _ in range(40):
        band, y, x = int(rng.integers(0, 2)), int(rng.integers(100, 190)), int(rng.integers(0, 330))
        pixels[band, y:y + int(rng.integers(1, 12)), x:x + int(rng.integers(1, 12))] = 1 + int(rng.integers(0, 9))
    meta = array_meta(shape, "uint16", (1, shard, shard), [sharding((1, chunk, chunk))], chunk_key_encoding=keys)
    if not at_root:
        oracle.put(tmp_path, {"zarr.json": group_meta()})
    path = oracle.write(tmp_path if at_root else tmp_path / "g" / "v", meta, pixels)
    for name in ("c/x", "other/0/0", "9/9/9/9", "c/9/9/9", "c/00/1/1", "0.0", "c.9.9.9"):  # no chunks of this array
        oracle.put(path, {name: b"nothing"})
    dataset = open_array(str(tmp_path), "" if at_root else "/g/v")
    for number in (1, 2):
        band, stored = dataset.GetRasterBand(number), np.zeros((190, 330), bool)
        for y in range(0, 190, chunk):
            for x in range(0, 330, chunk):
                stored[y:y + chunk, x:x + chunk] = pixels[number - 1, y:y + chunk, x:x + chunk].any()
        windows = [(0, 0, 330, 190)] + [(x, y, int(rng.integers(250, 331 - x)), int(rng.integers(150, 191 - y)))
                                        for x, y in rng.integers(0, 40, (5, 2)).tolist()]
        for x, y, width, height in windows:
            part = stored[y:y + height, x:x + width]
            flags, percent = band.GetDataCoverageStatus(x, y, width, height)
            assert flags == DATA * bool(part.any()) | EMPTY * bool(not part.all())
            assert percent == pytest.approx(100 * part.mean())


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


def test_a_sparse_copy_leaves_out_what_is_empty_and_has_the_same_pixels(tmp_path):
    path, copy = str(tmp_path / "a.zarr"), str(tmp_path / "a.tif")
    made(path, 0)
    source = open_array(path, "/v")
    gdal.Translate(copy, source, creationOptions=["SPARSE_OK=YES", "TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=32"])
    assert_same(gdal.Open(copy).ReadAsArray(), source.ReadAsArray())
    assert os.path.getsize(copy) < 100_000  # of 2.5 MB


def test_coverage_of_two_sparse_terabytes_takes_seconds(tmp_path):
    """The whole of a band is a few thousand looks, whatever its size; 2.4 TB in bands of 1.6 gigapixels."""
    path = str(tmp_path / "a.zarr")
    options = pairs(dict(ARRAY_NAME="v", CHUNK_SHAPE=512, SHARD_SHAPE=4096, OVERVIEWS="NONE"))
    dataset = driver().Create(path, 40960, 40960, 700, gdal.GDT_UInt16, options)
    dataset.GetRasterBand(300).WriteArray(np.ones((10, 10), "uint16"), 20000, 30000)
    dataset = None
    dataset = open_array(path, "/v")
    found = [b for b in range(1, 701) if dataset.GetRasterBand(b).GetDataCoverageStatus(0, 0, 40960, 40960, DATA)[0] & DATA]
    assert found == [300]
    flags, percent = dataset.GetRasterBand(300).GetDataCoverageStatus(0, 0, 40960, 40960)
    assert flags == DATA | EMPTY and 0 < percent < 0.1
