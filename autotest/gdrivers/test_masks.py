"""Masks: arrays beside a raster that say which of its pixels are valid. Those that GDAL's programs write, against what GTiff does with the
same commands; and those that other writers leave, of which only what is clearly validity is taken."""
import os
import subprocess

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta
from support import error_of, geotransform, held_band, name_of, open_array, open_ours, run_peer, same_crs, warnings_of
from writing import UTM, arrays, check_consolidated, copy, document, driver, pairs, source

RNG = np.random.default_rng(12)
PIXELS = RNG.integers(1, 250, (3, 150, 190)).astype("uint8")
MASK = np.zeros((150, 190), "uint8")
MASK[20:120, 30:] = 255
MASK[RNG.random(MASK.shape) < 0.2] = 0
PER_DATASET = gdal.GMF_PER_DATASET


def masked(array=PIXELS, mask=MASK, **more):
    dataset = source(array, UTM, "EPSG:32633", **more)
    dataset.CreateMaskBand(PER_DATASET)
    held_band(dataset).GetMaskBand().WriteArray(mask)
    return dataset


def tiff(path, array=PIXELS, mask=MASK):
    gdal.GetDriverByName("GTiff").CreateCopy(str(path), masked(array, mask))
    return str(path)


@pytest.fixture(autouse=True)
def masks_in_tiffs():
    gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "YES")
    yield
    gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", None)


def mask_of(dataset, number=1):
    return held_band(dataset, number).GetMaskBand().ReadAsArray()


def flags_of(dataset):
    return [held_band(dataset, number + 1).GetMaskFlags() for number in range(dataset.RasterCount)]


def check(dataset, mask=MASK, pixels=PIXELS):
    assert flags_of(dataset) == [PER_DATASET] * dataset.RasterCount
    for number in range(dataset.RasterCount):
        np.testing.assert_array_equal(mask_of(dataset, number + 1), mask)
    np.testing.assert_array_equal(dataset.ReadAsArray().reshape(pixels.shape), pixels)


def levels_of(dataset, number=1):
    """[(pixels, mask)] of the overviews of a band."""
    band = held_band(dataset, number)
    levels = [band.GetOverview(i) for i in range(band.GetOverviewCount())]
    assert all(level.GetMaskFlags() == PER_DATASET for level in levels)
    return [(level.ReadAsArray(), level.GetMaskBand().ReadAsArray()) for level in levels]


def assert_levels(actual, expected):
    """The masks of all levels, and valid pixels of the first: what GTiff makes further levels of differs between versions of GDAL."""
    assert [a[0].shape for a in actual] == [e[0].shape for e in expected] != []
    for (_, mask), (_, wanted) in zip(actual, expected):
        np.testing.assert_array_equal(mask, wanted)
    valid = expected[0][1] != 0
    np.testing.assert_array_equal(actual[0][0][valid], expected[0][0][valid])


def update(path, array=None):
    return gdal.OpenEx(name_of(path, array), gdal.OF_RASTER | gdal.OF_UPDATE)


def run(*command):
    subprocess.run([str(c) for c in command], check=True, capture_output=True)


# ---------------------------------------------------------------------------------------------------------------- copies

@pytest.mark.parametrize("options", [{}, {"SINGLE_ARRAY": "NO"}, {"INTERLEAVE": "PIXEL"}, {"CHUNK_SHAPE": 32, "SHARD_SHAPE": 64},
                                     {"CHUNK_SHAPE": 50, "COMPRESS": "NONE"}, {"COMPRESS": "ZSTD", "CHUNK_CHECKSUM": "YES", "INDEX_LOCATION": "START"}, {"GEOREFERENCING": "CF"}])
def test_a_copy_keeps_the_mask_of_its_source(tmp_path, options):
    dataset = copy(tmp_path / "a.zarr", masked(), ARRAY_NAME="a", **options)
    check(dataset)
    check_consolidated(tmp_path / "a.zarr")
    meta = document(tmp_path / "a.zarr", "mask")
    assert meta["data_type"] == "uint8" and meta["shape"] == list(MASK.shape) and meta["dimension_names"] == ["y", "x"]
    attributes = meta["attributes"]
    assert attributes["flag_values"] == [0, 255] and attributes["flag_meanings"] == "invalid valid" and attributes["standard_name"] == "quality_flag"
    named = [document(tmp_path / "a.zarr", name)["attributes"]["ancillary_variables"] for name in os.listdir(tmp_path / "a.zarr") if name.startswith("a")]
    assert set(named) == {"mask"}
    alone = open_array(tmp_path / "a.zarr", "mask")
    np.testing.assert_array_equal(alone.ReadAsArray(), MASK)
    assert geotransform(alone) == UTM and same_crs(alone, "EPSG:32633") and held_band(alone).GetNoDataValue() is None


def test_a_mask_is_not_called_as_a_dimension_is(tmp_path):
    """An array called as a dimension is would be its coordinates."""
    dataset = copy(tmp_path / "a.zarr", masked(), ARRAY_NAME="a", DIM_NAMES="mask,y,x")
    check(dataset)
    assert document(tmp_path / "a.zarr", "a")["attributes"]["ancillary_variables"] == "mask_2"


def test_the_mask_has_the_chunks_shards_and_codec_of_the_raster(tmp_path):
    copy(tmp_path / "a.zarr", masked(), CHUNK_SHAPE=32, SHARD_SHAPE=64, COMPRESS="ZSTD", LEVEL=7, CHUNK_CHECKSUM="YES", INDEX_LOCATION="START")
    mask, pixels = (document(tmp_path / "a.zarr", name) for name in ("mask", "a"))
    assert mask["chunk_grid"]["configuration"]["chunk_shape"] == pixels["chunk_grid"]["configuration"]["chunk_shape"][1:] == [64, 64]
    (ours,), (theirs,) = ([codec["configuration"] for codec in meta["codecs"]] for meta in (mask, pixels))
    assert ours == {**theirs, "chunk_shape": [32, 32]}


@pytest.mark.parametrize("resampling", ["NEAREST", "AVERAGE", "BILINEAR", "CUBIC", "RMS"])
def test_a_copy_has_the_overviews_that_gtiff_makes(tmp_path, resampling):
    name = tiff(tmp_path / "a.tif")
    gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE).BuildOverviews(resampling, [2, 4])
    store = copy(tmp_path / "a.zarr", gdal.Open(name), OVERVIEWS="2,4", RESAMPLING=resampling, CHUNK_SHAPE=32)
    mask = held_band(store).GetMaskBand()
    assert [mask.GetOverview(i).XSize for i in range(mask.GetOverviewCount())] == [95, 48]
    for number in (1, 3):
        expected = levels_of(gdal.Open(name), number)
        assert_levels(levels_of(store, number), expected)


@pytest.mark.parametrize("options", [{}, {"SINGLE_ARRAY": "NO"}])
def test_gdaladdo_makes_and_removes_overviews_of_the_mask_too(tmp_path, options):
    copy(tmp_path / "a.zarr", masked(), ARRAY_NAME="a", **options)
    name = name_of(tmp_path / "a.zarr")
    run("gdaladdo", "-q", "-r", "average", name, 2, 4)
    tiff(tmp_path / "a.tif")
    run("gdaladdo", "-q", "-r", "average", tmp_path / "a.tif", 2, 4)
    expected = levels_of(gdal.Open(str(tmp_path / "a.tif")), 2)
    assert_levels(levels_of(open_ours(name), 2), expected)
    dataset = update(tmp_path / "a.zarr")
    held_band(dataset).GetMaskBand().WriteArray(255 - MASK)
    del dataset
    run("gdaladdo", "-q", "-r", "average", name, 2)
    (_, mask), _ = levels_of(open_ours(name), 2)
    blocks = (255 - MASK).reshape(75, 2, 95, 2).max(axis=(1, 3))
    np.testing.assert_array_equal(mask, blocks)
    run("gdaladdo", "-q", "-clean", name)
    assert not [path for path in arrays(tmp_path / "a.zarr") if "ovr" in path]
    check(open_ours(name), 255 - MASK)


def test_level_without_a_mask_uses_nearest_pixels_of_the_base_mask(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS, UTM, "EPSG:32633"), OVERVIEWS="2")
    dataset = update(tmp_path / "a.zarr")
    assert dataset.CreateMaskBand(PER_DATASET) == 0
    held_band(dataset).GetMaskBand().WriteArray(MASK)
    del dataset
    (_, mask), = levels_of(open_ours(str(tmp_path / "a.zarr")))
    np.testing.assert_array_equal(mask, MASK[1::2, 1::2])


def test_a_copy_of_a_copy_and_back_to_gtiff_is_the_same(tmp_path):
    copy(tmp_path / "a.zarr", masked())
    copy(tmp_path / "b.zarr", open_ours(str(tmp_path / "a.zarr")), SINGLE_ARRAY="NO")
    back = gdal.Translate(str(tmp_path / "a.tif"), open_ours(str(tmp_path / "b.zarr")))
    check(back)
    without = gdal.Translate(str(tmp_path / "c.zarr"), open_ours(str(tmp_path / "b.zarr")), format="ShardedZarr", maskBand="none")
    assert flags_of(without) == [gdal.GMF_ALL_VALID] * 3 and "ancillary" not in str(document(tmp_path / "c.zarr"))


def test_a_mask_that_cannot_be_read_fails_the_copy(tmp_path):
    name = tiff(tmp_path / "a.tif", RNG.integers(0, 255, (1, 600, 600), "uint8"), RNG.integers(0, 2, (600, 600), "uint8") * 255)
    copy(tmp_path / "a.zarr", gdal.Open(name), CHUNK_SHAPE=64, SHARD_SHAPE=128, ARRAY_NAME="a")
    shard = tmp_path / "a.zarr" / "mask" / "c" / "1" / "1"
    shard.write_bytes(shard.read_bytes()[:-3] + b"bad")
    assert "mask" in error_of(driver().CreateCopy, str(tmp_path / "b.zarr"), open_ours(str(tmp_path / "a.zarr")))
    assert not (tmp_path / "b.zarr").exists()


def test_masks_of_single_bands_are_a_loss(tmp_path):
    dataset = source(PIXELS[:2])
    held_band(dataset, 2).CreateMaskBand(0)
    assert "masks that are not one for all bands" in error_of(driver().CreateCopy, str(tmp_path / "a.zarr"), dataset, strict=1)
    made, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "a.zarr"), dataset, strict=0))
    assert len(messages) == 1 and "masks that are not one for all bands" in messages[0] and flags_of(made) == [gdal.GMF_ALL_VALID] * 2


# ------------------------------------------------------------------------------------------------------- writing in place

@pytest.mark.parametrize("steps", ["mask pixels valid", "pixels mask valid", "place mask pixels valid", "mask nodata place pixels valid", "pixels flush mask flush valid flush",
                                   "mask valid flush pixels place"])
@pytest.mark.parametrize("options", [{"OVERVIEWS": "NONE"}, {"OVERVIEWS": "2", "CHUNK_SHAPE": 32}])
def test_a_mask_is_made_and_written_after_create(tmp_path, steps, options):
    dataset = driver().Create(str(tmp_path / "a.zarr"), 190, 150, 3, gdal.GDT_Byte, pairs(options))
    actions = {"mask": lambda: dataset.CreateMaskBand(PER_DATASET), "pixels": lambda: dataset.WriteArray(PIXELS),
               "valid": lambda: held_band(dataset, 2).GetMaskBand().WriteArray(MASK), "flush": dataset.FlushCache,
               "nodata": lambda: [held_band(dataset, b).SetNoDataValue(0) for b in (1, 2, 3)],
               "place": lambda: (dataset.SetGeoTransform(UTM), dataset.SetSpatialRef(source(MASK, None, "EPSG:32633").GetSpatialRef()))}
    for step in steps.split():
        actions[step]()
    del dataset
    actions.clear()
    store = open_ours(str(tmp_path / "a.zarr"))
    check(store)
    check_consolidated(tmp_path / "a.zarr")
    if "place" in steps:
        alone = open_array(tmp_path / "a.zarr", "mask")
        assert geotransform(alone) == UTM and same_crs(alone, "EPSG:32633")
    if options["OVERVIEWS"] == "2":
        blocks = MASK.reshape(75, 2, 95, 2).max(axis=(1, 3))
        np.testing.assert_array_equal(levels_of(store)[0][1], blocks)


def test_a_mask_is_made_once_for_all_bands_and_only_in_update_mode(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS))
    assert error_of(open_ours(str(tmp_path / "a.zarr")).CreateMaskBand, PER_DATASET)
    dataset = update(tmp_path / "a.zarr")
    assert "GMF_PER_DATASET" in error_of(dataset.CreateMaskBand, 0)
    assert dataset.CreateMaskBand(PER_DATASET) == 0
    assert "already" in error_of(dataset.CreateMaskBand, PER_DATASET)
    dataset.FlushCache()
    assert "already" in error_of(update(tmp_path / "a.zarr").CreateMaskBand, PER_DATASET)
    part = update(tmp_path / "a.zarr", "a:0")
    assert error_of(part.CreateMaskBand, PER_DATASET)


def test_a_mask_of_a_group_is_one_for_all_its_arrays(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS, UTM, "EPSG:32633"), SINGLE_ARRAY="NO", ARRAY_NAME="a")
    dataset = update(tmp_path / "a.zarr")
    dataset.CreateMaskBand(PER_DATASET)
    held_band(dataset, 3).GetMaskBand().WriteArray(MASK)
    del dataset
    store = open_ours(str(tmp_path / "a.zarr"))
    check(store)
    assert open_array(tmp_path / "a.zarr", "/mask").RasterCount == 1
    assert flags_of(open_array(tmp_path / "a.zarr", "a_2")) == [PER_DATASET]


def test_a_new_mask_that_cannot_be_written_is_an_error_and_not_named(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS), CHUNK_SHAPE=16, SHARD_SHAPE=64)
    dataset = update(tmp_path / "a.zarr")
    dataset.CreateMaskBand(PER_DATASET)
    os.makedirs(tmp_path / "a.zarr" / "mask", exist_ok=True)
    (tmp_path / "a.zarr" / "mask" / "c").write_text("a file where a folder is to be")
    held_band(dataset).GetMaskBand().WriteArray(MASK[:9, :9] + 255)
    assert "mask/c" in error_of(dataset.FlushCache)
    gdal.PushErrorHandler("CPLQuietErrorHandler")
    dataset = None
    gdal.PopErrorHandler()
    assert flags_of(open_ours(str(tmp_path / "a.zarr"))) == [gdal.GMF_ALL_VALID] * 3
    assert "ancillary_variables" not in document(tmp_path / "a.zarr", "a")["attributes"]


def test_warp_of_a_masked_source_and_onto_a_masked_store_is_as_with_gtiff(tmp_path):
    name = tiff(tmp_path / "s.tif")
    for form, ending in (("GTiff", "tif"), ("ShardedZarr", "zarr")):
        gdal.Warp(str(tmp_path / ("alpha." + ending)), name, format=form, dstAlpha=True, xRes=20, yRes=20)
        gdal.GetDriverByName(form).CreateCopy(str(tmp_path / ("onto." + ending)), masked(PIXELS[:, ::-1].copy(), MASK[::-1].copy())).FlushCache()
        onto = gdal.OpenEx(("SHARDEDZARR:" if ending == "zarr" else "") + str(tmp_path / ("onto." + ending)), gdal.OF_RASTER | gdal.OF_UPDATE)
        gdal.Warp(onto, name)
        del onto
    np.testing.assert_array_equal(open_ours(str(tmp_path / "alpha.zarr")).ReadAsArray(), gdal.Open(str(tmp_path / "alpha.tif")).ReadAsArray())
    expected = gdal.Open(str(tmp_path / "onto.tif"))
    check(open_ours(str(tmp_path / "onto.zarr")), mask_of(expected), expected.ReadAsArray())


def test_xarray_finds_the_mask_by_ancillary_variables(tmp_path):
    copy(tmp_path / "a.zarr", masked(PIXELS[0]), ARRAY_NAME="v", CHUNK_SHAPE=32)
    run_peer("xarray_masks.py", tmp_path / "a.zarr", "v", tmp_path / "out.npz")
    answer = np.load(str(tmp_path / "out.npz"))
    np.testing.assert_array_equal(answer["mask"], MASK)
    np.testing.assert_array_equal(answer["valid"], np.where(MASK != 0, PIXELS[0], np.nan))
    assert list(answer["dims"]) == ["y", "x"] and str(answer["standard_name"]) == "quality_flag"


# ----------------------------------------------------------------------------------------------------- masks of others

SHAPE = (12, 16)
VALID = np.random.default_rng(5).integers(0, 2, SHAPE).astype(bool)
VALUES = np.arange(192, dtype="uint16").reshape(SHAPE)


def put(path, name, values, attributes=None, group="", **members):
    members.setdefault("dimension_names", ["time", "y", "x"][-values.ndim:])
    shard = [1] * (values.ndim - 2) + [6, 8]
    oracle.write("/".join(filter(None, (str(path), group, name))), array_meta(values.shape, str(values.dtype), shard, attributes=attributes or {}, **members), values)


def put_pair(path, mask, attributes, name="quality", data=VALUES, data_attributes=None, **members):
    oracle.put(path, {"zarr.json": group_meta()})
    put(path, "v", data, {"ancillary_variables": "other " + name, "gdal:no_nodata": True, **(data_attributes or {})})
    put(path, name, mask, attributes, **members)
    return str(path)


QUALITY = np.random.default_rng(6).integers(0, 16, SHAPE)
TAKEN = {
    "values": (VALID.astype("uint8"), {"flag_values": [0, 1], "flag_meanings": "bad good"}, VALID),
    "values the other way round": (VALID.astype("uint8"), {"flag_values": [0, 1], "flag_meanings": "Good Missing"}, ~VALID),
    "signed values": ((VALID * -3).astype("int16"), {"flag_values": [-3, 0], "flag_meanings": "valid no-data"}, VALID),
    "several that are not": (QUALITY.astype("int8") % 3, {"flag_values": [0, 1, 2], "flag_meanings": ["valid", "fill", "missing_data"]}, QUALITY % 3 == 0),
    "a value that has no meaning": (QUALITY.astype("uint8") % 3, {"flag_values": [0, 1], "flag_meanings": "valid invalid"}, QUALITY % 3 == 0),
    "bits": (QUALITY.astype("uint8"), {"flag_masks": [1, 2, 4], "flag_meanings": "cloud invalid snow"}, QUALITY & 2 == 0),
    "a bit of a wide type": (QUALITY.astype("uint32") << 20, {"flag_masks": [1 << 21], "flag_meanings": "usable"}, QUALITY & 2 != 0),
    "bits and values": (QUALITY.astype("uint16"), {"flag_masks": [3, 3, 12], "flag_values": [0, 3, 4], "flag_meanings": "good bad cloud"}, QUALITY & 3 == 0),
    "a boolean": (VALID, {"flag_values": [1], "flag_meanings": "valid"}, VALID),
    "a boolean of what is not": (VALID, {"flag_values": [1], "flag_meanings": "invalid"}, ~VALID)}


@pytest.mark.parametrize("what", TAKEN)
def test_flag_array_with_validity_meanings_is_the_mask(tmp_path, what):
    values, attributes, valid = TAKEN[what]
    dataset = open_ours(put_pair(tmp_path / "a.zarr", values, attributes))
    check(dataset, valid * np.uint8(255), VALUES)
    assert dataset.GetSubDatasets() == []
    np.testing.assert_array_equal(open_array(tmp_path / "a.zarr", "quality").ReadAsArray(), values)
    np.testing.assert_array_equal(held_band(dataset).GetMaskBand().ReadAsArray(3, 2, 9, 7), (valid * 255)[2:9, 3:12])
    assert held_band(dataset).GetMaskBand().ReadRaster(buf_type=gdal.GDT_Float32) == (valid * 255).astype("float32").tobytes()


LEFT = {
    "meanings that are not known": (VALID.astype("uint8"), {"flag_values": [0, 1], "flag_meanings": "clear cloudy"}),
    "one that is not known": (QUALITY.astype("uint8") % 3, {"flag_values": [0, 1, 2], "flag_meanings": "good bad probably_good"}),
    "valid alone": (VALID.astype("uint8"), {"flag_values": [1], "flag_meanings": "valid"}),
    "other bits": (QUALITY.astype("uint8"), {"flag_masks": [1, 2], "flag_meanings": "cloud snow"}),
    "lists of two lengths": (VALID.astype("uint8"), {"flag_values": [0, 1, 2], "flag_meanings": "invalid valid"}),
    "no flags": (VALID.astype("uint8"), {"standard_name": "quality_flag"}),
    "a boolean that says nothing": (VALID, {"standard_name": "quality_flag"}),
    "floats": (VALID.astype("float32"), {"flag_values": [0, 1], "flag_meanings": "bad good"}),
    "a wide integer": (VALID.astype("int64"), {"flag_values": [0, 1], "flag_meanings": "bad good"})}


@pytest.mark.parametrize("what", LEFT)
def test_flag_array_without_clear_validity_is_no_mask(tmp_path, what):
    values, attributes = LEFT[what]
    dataset = open_array(put_pair(tmp_path / "a.zarr", values, attributes), "v")
    assert flags_of(dataset) == [gdal.GMF_ALL_VALID] and mask_of(dataset).min() == 255


def test_arrays_of_other_shapes_dimensions_or_names_are_no_masks(tmp_path):
    good = {"flag_values": [0, 1], "flag_meanings": "bad good"}
    for name, values, members in (("size", VALID[:6].astype("uint8"), {}), ("names", VALID.astype("uint8"), {"dimension_names": ["b", "a"]}),
                                  ("turned", VALID.astype("uint8"), {"dimension_names": ["x", "y"]}), ("deep", np.stack([VALID] * 2).astype("uint8"), {})):
        dataset = open_array(put_pair(tmp_path / name, values, good, **members), "v")
        assert flags_of(dataset) == [gdal.GMF_ALL_VALID], name
    put_pair(tmp_path / "a.zarr", VALID.astype("uint8"), good)
    oracle.put(tmp_path / "a.zarr", {"g/zarr.json": group_meta()})
    put(tmp_path / "a.zarr", "v", VALUES, {"ancillary_variables": "quality ../quality /quality", "gdal:no_nodata": True}, group="g")
    assert flags_of(open_array(tmp_path / "a.zarr", "g/v")) == [gdal.GMF_ALL_VALID]


@pytest.mark.parametrize("name", ["valid", "is_valid", "validity", "valid_mask", "validity_mask"])
def test_boolean_ancillary_array_with_a_usual_mask_name_is_the_mask(tmp_path, name):
    check(open_ours(put_pair(tmp_path / "a.zarr", VALID, {}, name)), VALID * np.uint8(255), VALUES)


def test_a_mask_that_the_array_names_comes_before_nodata(tmp_path):
    flags = {"flag_values": [0, 1], "flag_meanings": "bad good"}
    dataset = open_ours(put_pair(tmp_path / "a.zarr", VALID.astype("uint8"), flags, data_attributes={"_FillValue": 7}))
    assert held_band(dataset).GetNoDataValue() == 7
    check(dataset, VALID * np.uint8(255), VALUES)


def test_a_mask_with_times_is_that_of_each_band(tmp_path):
    valid = np.random.default_rng(8).integers(0, 2, (3,) + SHAPE).astype("uint8")
    data = np.arange(3 * 192, dtype="uint16").reshape((3,) + SHAPE)
    put_pair(tmp_path / "a.zarr", valid, {"flag_values": [0, 1], "flag_meanings": "bad good"}, data=data)
    for number, times, dataset in ((0, (0, 1, 2), open_array(tmp_path / "a.zarr", "v")), (PER_DATASET, (2,), open_ours(name_of(tmp_path / "a.zarr", "v") + ":time=last")),
                                   (0, (1, 2), open_ours(name_of(tmp_path / "a.zarr", "v") + ":time=1..2"))):
        assert flags_of(dataset) == [number] * len(times)
        for band, time in enumerate(times):
            np.testing.assert_array_equal(mask_of(dataset, band + 1), valid[time] * 255)
    put_pair(tmp_path / "b.zarr", valid[0], {"flag_values": [0, 1], "flag_meanings": "bad good"}, data=data)
    check(open_array(tmp_path / "b.zarr", "v"), valid[0] * np.uint8(255), data)


def test_masks_of_other_writers_are_only_read(tmp_path):
    put_pair(tmp_path / "c", QUALITY.astype("uint8"), {"flag_masks": [1, 2], "flag_meanings": "cloud invalid"})
    dataset = update(tmp_path / "c", "v")
    assert "another one is only read" in error_of(lambda: held_band(dataset).GetMaskBand().WriteArray(VALID.astype("uint8")) or dataset.FlushCache())
    dataset.BuildOverviews("NEAREST", [2])
    del dataset
    np.testing.assert_array_equal(open_array(tmp_path / "c", "quality").ReadAsArray(), QUALITY)
    assert levels_of(open_array(tmp_path / "c", "v"))[0][1].shape == (6, 8)


def test_a_mask_that_is_named_and_cannot_be_read_is_an_error_and_not_all_valid(tmp_path):
    name = put_pair(tmp_path / "a.zarr", VALID.astype("uint8"), {"flag_values": [0, 1], "flag_meanings": "bad good"})
    meta = document(tmp_path / "a.zarr", "quality")
    meta["codecs"] = [{"name": "zork"}]
    oracle.put(tmp_path / "a.zarr" / "quality", {"zarr.json": meta})
    dataset = open_array(name, "v")
    assert error_of(lambda: held_band(dataset).GetMaskBand().ReadAsArray())


def rectilinear(path, data, with_mask=True, **attributes):
    """A product as zagg lays it out."""
    grid = {"crs": "EPSG:3031", "resolution": [10.0, 10.0], "bounds": [0.0, 0.0, 160.0, 120.0]}
    oracle.put(path, {"zarr.json": group_meta(), "rectilinear/zarr.json": group_meta({**grid, **attributes})})
    put(path, "count", data, group="rectilinear", fill_value="NaN" if data.dtype.kind == "f" else 0)
    if with_mask:
        put(path, "aoi_mask", VALID, group="rectilinear", fill_value=False)
    return str(path)


def test_area_of_interest_of_zagg_is_the_mask_of_arrays_without_nodata(tmp_path):
    counts = VALUES.astype("int32")
    rectilinear(tmp_path / "a.zarr", counts)  # 0 is the fill value, and a count
    dataset = open_ours(str(tmp_path / "a.zarr"))
    check(dataset, VALID * np.uint8(255), counts)
    floats = VALUES.astype("float32")
    floats[0, 0] = np.nan
    rectilinear(tmp_path / "b.zarr", floats)
    dataset = open_ours(str(tmp_path / "b.zarr"))
    assert flags_of(dataset) == [gdal.GMF_NODATA] and mask_of(dataset)[0, 0] == 0 and (mask_of(dataset) == 0).sum() == 1
    np.testing.assert_array_equal(open_array(tmp_path / "b.zarr", "rectilinear/aoi_mask").ReadAsArray(), VALID)
    meta = document(tmp_path / "a.zarr", "rectilinear", "count")
    meta["attributes"]["_FillValue"] = 5
    oracle.put(tmp_path / "a.zarr" / "rectilinear" / "count", {"zarr.json": meta})
    assert flags_of(open_ours(str(tmp_path / "a.zarr"))) == [gdal.GMF_NODATA]
    rectilinear(tmp_path / "c.zarr", counts, with_mask=False)
    assert flags_of(open_ours(str(tmp_path / "c.zarr"))) == [gdal.GMF_NODATA]


def test_mask_flags_follow_a_nodata_value_that_is_set_later(tmp_path):
    made = driver().Create(str(tmp_path / "a.zarr"), 20, 10, 1, gdal.GDT_Float32)
    made.GetRasterBand(1).Fill(7)
    assert made.GetRasterBand(1).GetMaskFlags() == gdal.GMF_ALL_VALID
    made.GetRasterBand(1).SetNoDataValue(7)
    assert made.GetRasterBand(1).GetMaskFlags() == gdal.GMF_NODATA and not made.GetRasterBand(1).GetMaskBand().ReadAsArray().any()
