"""What GDAL keeps beside a store that is not to be changed: overviews in NAME.zarr.ovr, as for a GeoTIFF."""
import os

import numpy as np
import pytest
from osgeo import gdal

from support import assert_same, error_of, name_of, open_ours, read_all
from test_build_overviews import gdals_own, levels, terrain
from writing import UTM, copy, driver, files_of, source

ARRAY = terrain((2, 67, 96), "int16")


@pytest.fixture
def store(tmp_path):
    """A store without overviews in it, and two levels beside it."""
    path = str(tmp_path / "a.zarr")
    copy(path, source(ARRAY, UTM, "EPSG:32633", -1), CHUNK_SHAPE=16)
    before = files_of(path)
    assert open_ours(path).BuildOverviews("AVERAGE", [2, 4]) == 0
    assert files_of(path) == before and sorted(os.listdir(tmp_path)) == ["a.zarr", "a.zarr.ovr"]
    return path


def test_overviews_of_a_read_only_store_go_to_an_ovr_file_beside_it(store, tmp_path):
    tif = str(tmp_path / "a.tif")
    gdal.Translate(tif, store).FlushCache()
    gdal.Open(tif).BuildOverviews("AVERAGE", [2, 4])
    geotiff = gdal.Open(tif)
    expected = list(zip(levels(geotiff, 1), levels(geotiff, 2)))
    for name in (store, store + "/zarr.json", name_of(store)):
        dataset = open_ours(name)
        for band in (1, 2):
            for level, wanted in zip(levels(dataset, band), expected):
                assert_same(level, wanted[band - 1])
        assert len(levels(dataset)) == 2 and store + ".ovr" in dataset.GetFileList()
        assert_same(dataset.ReadAsArray(buf_xsize=48, buf_ysize=34), np.stack(expected[0]))
    assert_same(read_all(open_ours(store)), ARRAY)


def test_ovr_file_is_removed_read_only_and_in_update_mode(store):
    open_ours(store).BuildOverviews("NONE", [])
    assert not os.path.exists(store + ".ovr") and levels(open_ours(store)) == []
    open_ours(store).BuildOverviews("NEAREST", [2])
    gdal.Open(store, gdal.GA_Update).BuildOverviews("NONE", [])
    assert not os.path.exists(store + ".ovr") and levels(open_ours(store)) == []


def test_overviews_in_the_store_win_over_the_ovr_file(store):
    gdal.Open(store, gdal.GA_Update).BuildOverviews("NEAREST", [2])
    found, = levels(open_ours(store))
    assert_same(found, gdals_own(ARRAY, "NEAREST", 2)[0][0])
    assert "already" in error_of(open_ours(store).BuildOverviews, "AVERAGE", [2])


def test_ovr_file_is_deleted_with_its_store(store, tmp_path):
    assert driver().Delete(store) == 0 and os.listdir(tmp_path) == []
