"""The filter of blosc in a raster of Create(): by the first window that is written."""
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from support import open_ours
from test_create_options import KINDS, surface
from test_validate import assert_clean
from writing import document, driver, files_of, pairs, shards

pytestmark = pytest.mark.skipif(not oracle.available("blosc:zstd"), reason="blosc is not here")


def created(path, bands=1, side=600, code=gdal.GDT_Float32, **options):
    return driver().Create(str(path), side, side, bands, code, options=pairs({"OVERVIEWS": "NONE", **options}))


def chosen(dataset):
    return dataset.GetMetadataItem("BLOSC_SHUFFLE", "IMAGE_STRUCTURE")


def filters_of(path, name):
    """Filters in the headers of the frames of all chunks: 0 none, 1 bytes, 4 bits."""
    data, = shards(path, name).values()
    size = document(path, name)["codecs"][0]["configuration"]["chunk_shape"]
    count = int(np.prod([-(-600 // n) for n in size[-2:]]))
    index = np.frombuffer(data[-16 * count - 4:-4], "<u8").reshape(count, 2)
    return {data[int(offset) + 2] & 5 for offset, _ in index}


def test_blosc_filter_of_the_first_window_is_stored_for_all_chunks(tmp_path):
    values = KINDS["scaled"](surface(600))
    dataset = created(tmp_path / "a.zarr", CHUNK_SHAPE="128", SHARD_SHAPE="640")
    assert chosen(dataset) == "BYTE"
    dataset.GetRasterBand(1).WriteArray(values[:400])
    assert chosen(dataset) == "NONE"
    dataset.GetRasterBand(1).WriteArray(KINDS["terrain"](surface(600))[400:], 0, 400)  # which would choose bytes
    dataset = None
    assert chosen(open_ours(str(tmp_path / "a.zarr"))) == "NONE" and filters_of(tmp_path / "a.zarr", "a") == {0}
    assert_clean(tmp_path / "a.zarr")


@pytest.mark.parametrize("first", ["small", "of one value", "of an option", "zstd"])
def test_constant_first_window_keeps_the_filter_of_the_data_type(tmp_path, first):
    options = {"of an option": {"BLOSC_SHUFFLE": "BYTE"}, "zstd": {"COMPRESS": "ZSTD"}}.get(first, {})
    dataset, values = created(tmp_path / "a.zarr", **options), KINDS["scaled"](surface(600))
    if first == "small":
        dataset.GetRasterBand(1).WriteArray(values[:50])
    if first == "of one value":
        dataset.GetRasterBand(1).WriteArray(np.full((300, 600), 3, "float32"))
    dataset.GetRasterBand(1).WriteArray(values)
    dataset = None
    assert chosen(open_ours(str(tmp_path / "a.zarr"))) == (None if first == "zstd" else "BYTE")
    np.testing.assert_array_equal(open_ours(str(tmp_path / "a.zarr")).ReadAsArray(), values)


def test_overviews_have_the_filter_too(tmp_path):
    dataset = created(tmp_path / "a.zarr", OVERVIEWS="2")
    dataset.GetRasterBand(1).WriteArray(KINDS["scaled"](surface(600)))
    dataset = None
    levels = [document(tmp_path / "a.zarr", os.path.dirname(name)) for name in files_of(tmp_path / "a.zarr") if os.path.basename(name) == "zarr.json"]
    assert [str(meta["codecs"]).count("noshuffle") for meta in levels if len(meta.get("shape", [])) == 2] == [1, 1]
