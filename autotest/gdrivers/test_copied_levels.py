"""Overviews of a copy that are made of its pixels while they are in memory: those that BuildOverviews() makes of the stored ones."""

import numpy as np
import pytest
from osgeo import gdal

from stores import random_values
from support import assert_same, levels_of, open_ours, reads_of
from writing import UTM, arrays, check_consolidated, copy, files_of, source

CHUNKS = {"CHUNK_SHAPE": 16, "SHARD_SHAPE": 64, "ARRAY_NAME": "v"}


def assert_made_as_afterwards(tmp_path, raster, how, factors, **options):
    """Copies with overviews; and without, which are then built of what is stored: the pixels and the documents are the same."""
    options = {**CHUNKS, **options}
    at_once = copy(tmp_path / "at_once.zarr", raster, OVERVIEWS=",".join(map(str, factors)), RESAMPLING=how, **options)
    copy(tmp_path / "afterwards.zarr", raster, OVERVIEWS="NONE", **options)
    gdal.OpenEx(str(tmp_path / "afterwards.zarr"), gdal.OF_RASTER | gdal.OF_UPDATE).BuildOverviews(how, list(factors))
    ours, expected = levels_of(at_once), levels_of(open_ours(str(tmp_path / "afterwards.zarr")))
    assert len(ours) == len(expected) == len(factors) + 1
    for level, wanted in zip(ours, expected):
        assert_same(level, wanted)
    found = arrays(tmp_path / "at_once.zarr")
    assert found == arrays(tmp_path / "afterwards.zarr")
    at_once, afterwards = (sorted(name.replace("/c.0", "/c/0") for name in files_of(tmp_path / store)) for store in ("at_once.zarr", "afterwards.zarr"))
    assert at_once == afterwards
    if options.get("CREATE_CONSOLIDATED_METADATA") != "NO":
        check_consolidated(tmp_path / "at_once.zarr")


def values(data_type, shape, seed=0):
    """Terrain with areas of 0 and of 7, which is nodata in some tests."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:shape[-2], :shape[-1]]
    array = np.broadcast_to(100 + 50 * np.sin(x / 9) * np.cos(y / 7) + rng.normal(0, 5, shape), shape).astype(data_type)
    array[rng.random(shape) < 0.2] = 7
    array[..., :shape[-2] // 3, :shape[-1] // 2] = 7
    array[..., -shape[-2] // 3:, -shape[-1] // 2:] = 0
    return array


@pytest.mark.parametrize("data_type, nodata, how", [(data_type, 7, "AVERAGE") for data_type in ("uint8", "uint16", "int16", "uint32", "int32", "float32", "float64", "int64")]
                         + [("uint16", None, "AVERAGE"), ("uint16", 0, "AVERAGE"), ("float32", None, "AVERAGE"), ("uint16", 7, "NEAREST"), ("float64", None, "NEAREST")])
def test_types_and_nodata(tmp_path, data_type, nodata, how):
    assert_made_as_afterwards(tmp_path, source(values(data_type, (1, 192, 160)), UTM, "EPSG:32633", nodata), how, [2, 4, 8])


@pytest.mark.parametrize("size", [(64, 64), (66, 100), (67, 101), (200, 2), (1, 64)], ids=str)
@pytest.mark.parametrize("factors, how", [((2, 4, 8, 16), "AVERAGE"), ((2, 4, 8), "NEAREST"), ((4, 8), "AVERAGE"), ((2, 3, 6), "AVERAGE"), ((8, 2), "NEAREST")], ids=str)
def test_sizes_and_factors(tmp_path, size, factors, how):
    assert_made_as_afterwards(tmp_path, source(values("uint16", (1, *size)), UTM, "EPSG:32633"), how, factors)


@pytest.mark.parametrize("options", [
    {}, {"SINGLE_ARRAY": "NO"}, {"CHUNK_SHAPE": "2,16,16", "SHARD_SHAPE": "4,64,32"}, {"CHUNK_SHAPE": 15, "SHARD_SHAPE": 45}, {"CHUNK_SHAPE": "48,16", "SHARD_SHAPE": "96,64"},
    {"CHUNK_SHAPE": 256, "SHARD_SHAPE": 256}, {"NUM_THREADS": 1}, {"NUM_THREADS": 7}, {"CHUNK_ORDER": "HILBERT"}, {"CHUNK_MEMORY_LAYOUT": "F"}, {"COMPRESS": "NONE"},
    {"CREATE_CONSOLIDATED_METADATA": "NO"}], ids=str)
@pytest.mark.parametrize("interleave, how", [("BAND", "AVERAGE"), ("PIXEL", "AVERAGE"), ("BAND", "NEAREST")])
def test_bands_and_layouts(tmp_path, interleave, options, how):
    memory = source(values("int16", (3, 192, 160)), UTM, "EPSG:32633", 7)
    raster = gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / "a.tif"), memory, options=["INTERLEAVE=" + interleave, "TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=48"])
    assert_made_as_afterwards(tmp_path, raster, how, [2, 4, 8], **options)


def with_mask(raster):
    raster.CreateMaskBand(gdal.GMF_PER_DATASET)
    raster.GetRasterBand(1).GetMaskBand().WriteArray((values("uint8", (raster.RasterYSize, raster.RasterXSize), 5) > 90).astype("uint8") * 255)
    return raster


def with_alpha(raster):
    raster.GetRasterBand(raster.RasterCount).SetColorInterpretation(gdal.GCI_AlphaBand)
    return raster


def with_colours(raster):
    table = gdal.ColorTable()
    for value in range(256):
        table.SetColorEntry(value, (value, 255 - value, value // 2, 255))
    raster.GetRasterBand(1).SetColorTable(table)
    return raster


@pytest.mark.parametrize("how", ["AVERAGE", "NEAREST"])
@pytest.mark.parametrize("change, bands", [(with_mask, 1), (with_mask, 3), (with_alpha, 2), (with_alpha, 4), (with_colours, 1)])
def test_masks_alpha_and_colours(tmp_path, change, bands, how):
    assert_made_as_afterwards(tmp_path, change(source(values("uint8", (bands, 128, 96)), UTM, "EPSG:32633")), how, [2, 4])


def test_of_a_sparse_raster(tmp_path):
    array = np.zeros((1, 1024, 1024), "uint16")
    array[0, 300:310, 500:520] = 1000
    assert_made_as_afterwards(tmp_path, source(array), "AVERAGE", [2, 4, 8, 16])
    stored = [name for name in files_of(tmp_path / "at_once.zarr") if name.startswith("ovr_2x/v/c/")]
    assert stored == ["ovr_2x/v/c/2/3", "ovr_2x/v/c/2/4"]


# ------------------------------------------------------------------------------------------------------- how they are made

@pytest.mark.parametrize("how", ["AVERAGE", "NEAREST"])
def test_the_raster_is_not_read_again(tmp_path, how):
    raster = source(random_values(np.random.default_rng(1), "uint16", (1, 1024, 1024)), nodata=7)
    options = {"COMPRESS": "NONE", "CHUNK_SHAPE": 64, "SHARD_SHAPE": 256, "ARRAY_NAME": "v", "RESAMPLING": how}
    copy(tmp_path / "warm.zarr", raster, OVERVIEWS="2,4,8", **options)
    read = reads_of(lambda: copy(tmp_path / "a.zarr", raster, OVERVIEWS="2,4,8", **options), "rchar")
    assert read < 1024 * 1024  # half of the first level has that much
