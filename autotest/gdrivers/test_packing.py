"""The creation options SCALE_OFFSET and BITROUND: values in physical units, stored as integers, and floats with fewer digits."""
import numpy as np
import pytest
from osgeo import gdal

import oracle
from support import ask_peer, assert_pixels, error_of, name_of, need_zarr_python_34, open_ours, warnings_of
from writing import UTM, change_document, copy, document, driver, pairs, source

DIGITS = np.random.default_rng(5).integers(1, 65535, (2, 40, 61)).astype("uint16")
DIGITS[:, 3:9, 7:33] = 0


def packed(array, scale, offset=None, nodata=None):
    """A raster in memory whose bands have a scale and an offset."""
    dataset = source(array, UTM, "EPSG:32633", nodata)
    for b in range(dataset.RasterCount):
        dataset.GetRasterBand(b + 1).SetScale(scale)
        if offset is not None:
            dataset.GetRasterBand(b + 1).SetOffset(offset)
    return dataset


def inner_codecs(path, *node):
    return oracle.sharding_of(document(path, *node)["codecs"])["codecs"]


def stored(path, name, data_type, fill=0):
    """What the chunks hold, codecs left aside."""
    meta = document(path, name)
    codecs = [c for c in inner_codecs(path, name) if c["name"] not in ("scale_offset", "cast_value")]
    sharding = {**meta["codecs"][0]["configuration"], "codecs": codecs}
    change_document(path, name, data_type=data_type, fill_value=fill, codecs=[{"name": "sharding_indexed", "configuration": sharding}])
    _, array = oracle.read(str(path / name))
    change_document(path, name, **meta)
    return array


def physical(digits, scale, offset, none=None):
    """As the codec scale_offset decodes."""
    values = digits.astype("float32") / np.float32(1 / scale) + np.float32(offset)
    if none is not None:
        values[digits == none] = np.nan
    return values


def test_packed_integers_are_stored_unchanged_and_read_unpacked(tmp_path):
    path = tmp_path / "scene.zarr"
    dataset = copy(path, packed(DIGITS, 0.0001, -0.1, 0), SCALE_OFFSET="YES", CHUNK_SHAPE="16")
    assert_pixels(dataset, physical(DIGITS, 0.0001, -0.1, 0))
    band = dataset.GetRasterBand(1)
    assert band.GetScale() in (None, 1) and band.GetOffset() in (None, 0) and np.isnan(band.GetNoDataValue())
    np.testing.assert_array_equal(stored(path, "scene", "uint16"), DIGITS)
    meta = document(path, "scene")
    assert (meta["data_type"], meta["fill_value"]) == ("float32", "NaN")
    assert inner_codecs(path, "scene")[:2] == [
        {"name": "scale_offset", "configuration": {"offset": -0.1, "scale": 10000.0}},
        {"name": "cast_value", "configuration": {"data_type": "uint16", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}]
    assert not {"scale_factor", "add_offset"} & set(meta["attributes"])


@pytest.mark.parametrize("data_type, scale, offset, nodata", [
    ("uint8", 0.5, None, None), ("uint8", 0.5, -20, 255), ("int16", 0.01, 273.15, -32768), ("uint16", 2.75e-05, -0.2, 0), ("int16", 0.1, None, None),
    ("uint16", 1 / 3, 1000, 65535), ("int32", 1e-07, 5, -1), ("uint32", 0.001, None, None)])
def test_every_packed_integer_survives_unpacking_and_packing(tmp_path, data_type, scale, offset, nodata):
    limits = np.iinfo(data_type)
    every = np.arange(limits.min, limits.max + 1, 1 + limits.max // 65536 if limits.bits == 32 else 1).astype(data_type)
    every = np.resize(np.append(every, every.dtype.type(limits.max)), (1, 300, 300))
    copy(tmp_path / "a.zarr", packed(every, scale, offset, nodata), SCALE_OFFSET="YES")
    np.testing.assert_array_equal(stored(tmp_path / "a.zarr", "a", data_type), every[0])
    values = open_ours(str(tmp_path / "a.zarr")).ReadAsArray()
    assert values.dtype == ("float64" if limits.bits == 32 else "float32")
    expected = every[0] * scale + (offset or 0)
    expected[every[0] == (nodata if nodata is not None else 1e30)] = np.nan
    np.testing.assert_allclose(values, expected, rtol=3e-7, atol=abs(scale) / 100)


def test_floats_are_stored_as_integers_by_the_scale(tmp_path):
    values = np.round(np.random.default_rng(3).normal(15, 9, (1, 40, 61)), 2).astype("float32")
    values[0, 5:9] = np.nan
    values[0, 20:22] = -9999
    dataset = copy(tmp_path / "t.zarr", packed(values, 0.01, 0, -9999), SCALE_OFFSET="INT16", OVERVIEWS="2")
    expected = np.where(values == -9999, np.float32("nan"), values)
    np.testing.assert_allclose(dataset.ReadAsArray(), expected[0], atol=1e-5)
    digits = np.where(np.isnan(expected), -32768, np.rint(expected * 100)).astype("int16")
    np.testing.assert_array_equal(stored(tmp_path / "t.zarr", "t", "int16"), digits[0])
    assert inner_codecs(tmp_path / "t.zarr", "ovr_2x", "t") == inner_codecs(tmp_path / "t.zarr", "t")
    level = dataset.GetRasterBand(1).GetOverview(0).ReadAsArray()
    assert level.dtype == "float32" and np.nanmax(level) < 60


def test_create_takes_a_scale_and_is_warped_into(tmp_path):
    made = driver().Create(str(tmp_path / "new.zarr"), 61, 40, 1, gdal.GDT_Float32,
                           options=pairs({"SCALE_OFFSET": "YES", "SCALE": "0.0001", "OFFSET": "-0.1", "OVERVIEWS": "NONE"}))
    values = physical(DIGITS[0], 0.0001, -0.1, 0)
    made.GetRasterBand(1).WriteArray(values[:20])
    made = None
    dataset = gdal.OpenEx(name_of(str(tmp_path / "new.zarr")), gdal.OF_UPDATE)
    dataset.GetRasterBand(1).WriteArray(values[10:20], 0, 25)
    dataset = None
    expected = np.full_like(values, np.nan)
    expected[:20], expected[25:35] = values[:20], values[10:20]
    np.testing.assert_array_equal(open_ours(str(tmp_path / "new.zarr")).ReadAsArray(), expected)
    warped = gdal.Warp(str(tmp_path / "warped.zarr"), packed(values, 1), format="ShardedZarr", dstNodata="nan",
                       creationOptions=["SCALE_OFFSET=YES", "SCALE=0.0001", "OFFSET=-0.1", "OVERVIEWS=NONE"])
    warped = None
    np.testing.assert_array_equal(open_ours(str(tmp_path / "warped.zarr")).ReadAsArray(), values)


PACKED = {"SCALE_OFFSET": "YES", "SCALE": "0.1", "OFFSET": "0", "OVERVIEWS": "NONE"}


def warped(path, sources, format, **options):
    """What gdalwarp makes of sources, turned to another CRS so that corners are not covered."""
    made = gdal.Warp(str(path), sources, format=format, dstSRS="EPSG:3035", **options)
    assert made is not None, gdal.GetLastErrorMsg()
    made = None
    return open_ours(str(path)) if format == "ShardedZarr" else gdal.Open(str(path))


@pytest.mark.parametrize("nodata", [0, -9999, 3e30, float("nan")])
def test_gdalwarp_stores_uncovered_and_nodata_pixels_as_missing(tmp_path, nodata):
    values = np.round(np.random.default_rng(3).uniform(1, 300, (2, 40, 61)), 1).astype("float32")
    values[0, 5:9, 3:40], values[1, 20:29, 6:20] = nodata, nodata
    left, right = (source(part, at, "EPSG:32633", nodata) for part, at in (
        (values[:, :, :40], UTM), (values[:, :, 30:], (UTM[0] + 300, *UTM[1:]))))
    expected = warped(tmp_path / "w.tif", [left, right], "GTiff").ReadAsArray()
    expected[expected == np.float32(nodata)] = np.nan
    found = warped(tmp_path / "w.zarr", [left, right], "ShardedZarr", creationOptions=pairs(PACKED))
    assert np.isnan(expected).sum() > 200 and np.isnan(found.GetRasterBand(2).GetNoDataValue())
    np.testing.assert_allclose(found.ReadAsArray(), expected, atol=0.051)


def test_a_new_raster_stored_as_integers_has_no_nodata_until_it_is_set_or_written(tmp_path):
    made = driver().Create(str(tmp_path / "a.zarr"), 8, 6, 2, gdal.GDT_Float32, pairs(PACKED))
    first, second = made.GetRasterBand(1), made.GetRasterBand(2)
    assert first.GetNoDataValue() is None and first.GetMaskFlags() == gdal.GMF_ALL_VALID
    assert first.SetNoDataValue(5) == 0 and first.DeleteNoDataValue() == 0 and first.GetNoDataValue() is None
    assert first.SetNoDataValue(-9999) == 0 and second.SetNoDataValue(7) == 0
    assert np.isnan(first.GetNoDataValue()) and np.isnan(second.GetNoDataValue())
    made.WriteArray(np.array([[[-9999, 7, 0]], [[3, 7, 0]]], "float64"))
    made.FlushCache()
    expected = np.full((2, 6, 8), np.nan, "float32")
    expected[:, 0, :3] = [[np.nan, 7, 0], [3, np.nan, 0]]
    np.testing.assert_allclose(made.ReadAsArray(), expected, rtol=1e-6)
    del first, second, made
    dataset = open_ours(str(tmp_path / "a.zarr"))
    np.testing.assert_allclose(dataset.ReadAsArray(), expected, rtol=1e-6)
    made = driver().Create(str(tmp_path / "b.zarr"), 8, 6, 1, gdal.GDT_Float32, pairs(PACKED))
    made.GetRasterBand(1).WriteArray(np.ones((6, 3)))
    assert np.isnan(made.GetRasterBand(1).GetNoDataValue())
    made = None
    assert np.isnan(open_ours(str(tmp_path / "b.zarr")).GetRasterBand(1).GetNoDataValue())


@pytest.mark.parametrize("data_type, packed_type", [("int16", "UINT16"), ("int32", "UINT8")])
def test_a_nodata_value_that_the_integers_do_not_hold_becomes_nan_in_a_copy(tmp_path, data_type, packed_type):
    digits = np.arange(200).reshape(1, 10, 20).astype(data_type)
    digits[0, 2:4] = -9999
    dataset = copy(tmp_path / "a.zarr", packed(digits, 0.5, 0, -9999), SCALE_OFFSET=packed_type)
    expected = np.where(digits == -9999, np.nan, digits * 0.5)
    np.testing.assert_allclose(dataset.ReadAsArray(), expected[0])
    assert np.isnan(dataset.GetRasterBand(1).GetNoDataValue())


def test_a_value_out_of_the_range_of_the_integers_is_an_error(tmp_path):
    message = error_of(copy, tmp_path / "a.zarr", packed(np.full((4, 6), -3, "float32"), 0.01), SCALE_OFFSET="YES")
    assert message == "ShardedZarr: array /a: expected values from 0 to 655.34, or nodata; found -3, which has no value in uint16"
    made = driver().Create(str(tmp_path / "b.zarr"), 8, 6, 2, gdal.GDT_Float32, pairs({**PACKED, "OFFSET": "200"}))
    values = np.full((2, 6, 8), 250, "float64")
    made.WriteArray(values)
    values[1, 3, 2] = 0  # heard of at once, and nothing of it is written
    message = "ShardedZarr: array /b: expected values from 200 to 6753.4, or nodata; found 0, which has no value in uint16"
    assert error_of(made.WriteArray, values) == message
    assert error_of(made.WriteArray, values[:, :, ::-1], interleave="band") == message
    assert "it is not made" in error_of(made.FlushCache)
    held = [made]
    del made
    warnings_of(held.clear)
    assert not (tmp_path / "b.zarr").exists()


def reopened(path, **options):
    """A raster of 8 x 6 equal values that was made by Create() and is opened for update."""
    made = driver().Create(str(path), 8, 6, 2, gdal.GDT_Float32, pairs({**PACKED, **options}))
    made.WriteArray(np.full((2, 6, 8), 100 if "INT8" in options.values() else 250, "float32"))
    made = None
    return gdal.OpenEx(str(path), gdal.OF_UPDATE)


def test_a_value_out_of_the_range_of_a_reopened_raster_is_an_error_of_the_write(tmp_path):
    dataset = reopened(tmp_path / "b.zarr", OFFSET="200")
    message = "ShardedZarr: array /b: expected values from 200 to 6753.4, or nodata; found %s, which has no value in uint16"
    values = np.full((2, 6, 8), 260, "float32")
    values[1, 3, 2] = 7000
    assert error_of(dataset.WriteArray, values) == message % "7000"
    assert error_of(dataset.WriteArray, values.astype("float64")[:, :, ::-1]) == message % "7000"
    assert error_of(dataset.GetRasterBand(2).WriteArray, np.zeros((1, 1))) == message % "0"
    values[1, 3, 2] = np.inf
    assert error_of(dataset.WriteArray, values) == message % "inf"
    band = dataset.GetRasterBand(1)
    assert error_of(band.WriteRaster, 0, 0, 8, 6, np.zeros((3, 4), "float32").tobytes(), 4, 3) == message % "0"
    values[1, 3, 2] = np.nan
    dataset.WriteArray(values[:, :4])
    del band, dataset
    expected = np.full((2, 6, 8), 250, "float32")
    expected[:, :4] = values[:, :4]
    np.testing.assert_allclose(open_ours(str(tmp_path / "b.zarr")).ReadAsArray(), expected, atol=1e-3)


def test_a_nodata_value_that_the_integers_of_a_reopened_raster_do_not_hold_becomes_nan(tmp_path):
    dataset = reopened(tmp_path / "a.zarr")
    assert dataset.GetRasterBand(1).SetNoDataValue(-9999) == 0 and dataset.GetRasterBand(2).SetNoDataValue(5) == 0
    assert np.isnan(dataset.GetRasterBand(1).GetNoDataValue()) and dataset.GetRasterBand(2).GetNoDataValue() == 5
    values = np.array([[[-9999, 5]], [[3, 5]]], "float64")
    dataset.WriteArray(values)
    assert error_of(dataset.WriteArray, np.array([[[7, 7]], [[7, -9999]]], "float64"))  # nothing of either band
    dataset = None
    dataset = open_ours(str(tmp_path / "a.zarr"))
    np.testing.assert_allclose(dataset.ReadAsArray()[:, 0, :3], [[np.nan, 5, 250], [3, 5, 250]])
    assert np.isnan(dataset.GetRasterBand(1).GetNoDataValue()) and dataset.GetRasterBand(2).GetNoDataValue() == 5


@pytest.mark.parametrize("out_of_range, found", [("clamp", [255, 0, 7]), ("wrap", [44, 255, 7])])
def test_out_of_range_clamp_or_wrap_of_other_writers_applies_but_nodata_must_fit(tmp_path, out_of_range, found):
    path = tmp_path / "a.zarr"
    made = driver().Create(str(path), 3, 1, 1, gdal.GDT_Float32, pairs({"OVERVIEWS": "NONE", "CHUNK_SHAPE": "3"}))
    made = None
    meta = document(path, "a")
    inner = oracle.sharding_of(meta["codecs"])
    inner["codecs"].insert(0, {"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": out_of_range}})
    change_document(path, "a", codecs=meta["codecs"])
    change_document(path, consolidated_metadata=None)
    dataset = gdal.OpenEx(str(path), gdal.OF_UPDATE)
    dataset.WriteArray(np.array([[300, -1, 7]], "float32"))
    assert error_of(dataset.WriteArray, np.array([[1, np.nan, 7]], "float32")).endswith("from 0 to 255; found nan, which has no value in uint8")
    assert "nodata value -9999 cannot be a uint8" in error_of(dataset.GetRasterBand(1).SetNoDataValue, -9999)
    assert dataset.GetRasterBand(1).GetNoDataValue() is None and dataset.GetRasterBand(1).SetNoDataValue(7) == 0
    dataset = None
    assert open_ours(str(path)).ReadAsArray().tolist() == [found]


@pytest.mark.parametrize("array, options, words", [
    (DIGITS, {"SCALE_OFFSET": "YES"}, "neither scale nor offset"),
    (DIGITS, {"SCALE": "2"}, "are for SCALE_OFFSET=YES"),
    (DIGITS, {"SCALE_OFFSET": "YES", "SCALE": "0"}, "finite scale other than 0"),
    (DIGITS, {"SCALE_OFFSET": "YES", "SCALE": "two"}, "SCALE: expected a number"),
    (DIGITS, {"SCALE_OFFSET": "MAYBE"}, "SCALE_OFFSET: expected"),
    (DIGITS, {"SCALE_OFFSET": "YES", "SCALE": "1e-12", "OFFSET": "1e9"}, "more digits than Float64"),
    (DIGITS.astype("complex64"), {"SCALE_OFFSET": "YES", "SCALE": "2"}, "found CFloat32"),
    (DIGITS, {"BITROUND": "5"}, "BITROUND: expected"),
    (DIGITS.astype("float32"), {"BITROUND": "24"}, "BITROUND: expected"),
    (DIGITS.astype("float32"), {"BITROUND": "0"}, "BITROUND: expected"),
])
def test_impossible_packing_options_are_refused_by_name(tmp_path, array, options, words):
    assert words in error_of(copy, tmp_path / "a.zarr", source(array), **options)
    assert not (tmp_path / "a.zarr").exists()


# ----------------------------------------------------------------------------------------------------------- bitround

def rounded(values, keepbits):
    bits = values.view("uint32")
    cut = 23 - keepbits
    return values if cut == 0 else ((bits + ((1 << cut - 1) - 1) + (bits >> cut & 1)) >> cut << cut).view("float32")


def test_bitround_option_keeps_that_many_mantissa_bits(tmp_path):
    values = np.random.default_rng(3).normal(280, 9, (1, 100, 100)).astype("float32")
    size = {}
    for keep in (7, 23):
        path = tmp_path / ("k%d.zarr" % keep)
        np.testing.assert_array_equal(copy(path, source(values), BITROUND=str(keep), OVERVIEWS="2").ReadAsArray(), rounded(values, keep)[0])
        assert inner_codecs(path, path.stem)[0] == inner_codecs(path, "ovr_2x", path.stem)[0] == {
            "name": "numcodecs.bitround", "configuration": {"keepbits": keep}}
        size[keep] = sum(f.stat().st_size for f in (path / path.stem / "c").rglob("*") if f.is_file())
    assert size[7] < 0.6 * size[23]


# -------------------------------------------------------------------------------------------------------------- peers

@pytest.mark.parametrize("peer", ["zarr", "xarray", "datatree"])
def test_other_readers_unpack_the_same_values(tmp_path, peer):
    copy(tmp_path / "scene.zarr", packed(DIGITS, 0.0001, -0.1, 0), SCALE_OFFSET="YES", CHUNK_SHAPE="16")
    values = np.random.default_rng(3).normal(280, 9, (40, 61)).astype("float32")
    copy(tmp_path / "soft.zarr", source(values, UTM, "EPSG:32633"), BITROUND="7")
    scene, soft = ask_peer(peer, tmp_path, [("scene.zarr", "scene"), ("soft.zarr", "soft")])
    assert "error" not in soft, soft
    np.testing.assert_array_equal(soft["values"][-1], rounded(values, 7))
    if "error" in scene:
        need_zarr_python_34()
    np.testing.assert_array_equal(scene["values"][-1], physical(DIGITS, 0.0001, -0.1, 0))
