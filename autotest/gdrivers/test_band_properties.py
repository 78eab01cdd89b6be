"""What the numbers mean: nodata, scale and offset, units, names, categories, colours, and attributes as metadata."""
import base64
import gzip
import struct

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta, plain_meta, write_coordinate
from support import as_raster, assert_pixels, error_of, held_band, open_array, open_ours, warnings_of
from writing import document, driver, source

SHAPE = (4, 6)
NAN = float("nan")


def band_of(path, attributes, data_type="int16", fill=0, **members):
    """The first band of an array with these attributes; the pixels have been checked on the way."""
    meta = array_meta(SHAPE, data_type, fill_value=fill, attributes=attributes, **members)
    oracle.write(path, meta, counting(SHAPE, data_type))
    dataset = open_array(path)
    assert_pixels(dataset, as_raster(counting(SHAPE, data_type), data_type), windows=1)
    return held_band(dataset)


def xarray_fill(value):
    """_FillValue of a float array as xarray writes it."""
    return base64.b64encode(struct.pack("<d", value)).decode()


def metadata_of(band):
    """All metadata of a band and of its dataset."""
    return {**band.keep.GetMetadata(), **band.GetMetadata()}


# ------------------------------------------------------------------------------------------------------------- nodata

@pytest.mark.parametrize("data_type, attributes, fill, nodata", [
    ("int16", {"_FillValue": -9999}, 0, -9999), ("int16", {"_FillValue": -9999.0}, 0, -9999), ("int16", {}, -1, -1),
    ("int16", {"missing_value": -5}, 0, -5), ("int16", {"missing_value": -5, "_FillValue": -6}, 0, -6), ("uint8", {}, 255, 255),
    ("float32", {"_FillValue": xarray_fill(NAN)}, 0.0, NAN), ("float64", {"_FillValue": xarray_fill(-9999.0)}, "NaN", -9999),
    ("float32", {"_FillValue": xarray_fill(-9999.0)}, "NaN", -9999), ("float32", {"_FillValue": NAN}, 0.0, NAN),
    ("float32", {"_FillValue": "NaN"}, 0.0, NAN), ("float32", {"_FillValue": float("inf")}, 0.0, float("inf")),
    ("float32", {"_FillValue": "-Infinity"}, 0.0, float("-inf")), ("float32", {"_FillValue": "0x7fc00000"}, 0.0, NAN),
    ("float64", {"_FillValue": [-1.5]}, 0.0, -1.5), ("float64", {"missing_value": xarray_fill(1e20)}, 0.0, 1e20),
    ("float32", {}, "NaN", NAN), ("float64", {}, -32768.5, -32768.5), ("float32", {"_FillValue": 1e20}, 0.0, float(np.float32(1e20))),
    ("uint64", {"_FillValue": 2**64 - 1}, 0, 2**64 - 1), ("int64", {"_FillValue": -2**63}, 0, -2**63), ("int64", {}, 2**53 + 1, 2**53 + 1),
    ("uint16", {"_FillValue": 65535}, 0, 65535)], ids=str)
def test_nodata_is_the_fill_attribute_then_missing_value_then_the_fill_value(tmp_path, data_type, attributes, fill, nodata):
    found = band_of(tmp_path, attributes, data_type, fill).GetNoDataValue()
    assert found == nodata or np.isnan([found, nodata]).all()


@pytest.mark.parametrize("missing, stays", [(-9, True), ([-9, -1], True), (-1, False)])
def test_a_missing_value_that_differs_stays_beside_a_fill_value_attribute(tmp_path, missing, stays):
    """GDAL 3.6 copies attributes before the nodata value, 3.13 after it."""
    oracle.write(tmp_path / "a.zarr", group_meta())
    meta = array_meta(SHAPE, "int16", attributes={"_FillValue": -1, "missing_value": missing})
    oracle.write(tmp_path / "a.zarr" / "v", meta, counting(SHAPE, "int16"))
    gdal.MultiDimTranslate(str(tmp_path / "b.zarr"), 'SHARDEDZARR:"%s"' % (tmp_path / "a.zarr"), format="ShardedZarr")
    found = document(tmp_path / "b.zarr", "v")["attributes"]
    assert found["_FillValue"] == -1 and (not stays or found["missing_value"] == missing)
    assert open_array(tmp_path / "b.zarr", "/v").GetRasterBand(1).GetNoDataValue() == -1


@pytest.mark.parametrize("value", ["AAAA", "nonsense", "", {}, [], True, None], ids=str)
def test_invalid_fill_value_attribute_is_ignored(tmp_path, value):
    band_of(tmp_path, {"_FillValue": value}, "float32")


# --------------------------------------------------------------------------------------------------------- plain attributes

def test_scale_offset_units_and_long_name(tmp_path):
    band = band_of(tmp_path, {"scale_factor": 0.0001, "add_offset": -0.1, "units": "K", "long_name": "air temperature"})
    assert (band.GetScale(), band.GetOffset(), band.GetUnitType(), band.GetDescription()) == (0.0001, -0.1, "K", "air temperature")


@pytest.mark.parametrize("items, is_told", [({"scale_factor": "3"}, True), ({"add_offset": "1", "note": "n"}, True), ({"note": "n"}, False)], ids=str)
@pytest.mark.parametrize("strict", [0, 1])
def test_items_that_tell_a_scale_of_a_band_without_one_are_left_out_and_told(tmp_path, items, is_told, strict):
    raster = source(np.ones((2, 8, 8), "int16"))
    for band in (1, 2):
        raster.GetRasterBand(band).SetMetadata(items)
    made, heard = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "a.zarr"), raster, strict))
    made = None
    assert len(heard) == is_told and all("scale_factor and add_offset" in message for message in heard)
    band = held_band(open_ours(str(tmp_path / "a.zarr")))
    assert band.GetScale() in (None, 1) and band.GetMetadata() == {k: v for k, v in items.items() if k == "note"}


def test_remaining_attributes_become_metadata(tmp_path):
    attributes = {"standard_name": "air_temperature", "valid_max": 330.5, "count": 7, "cell_methods": "time: mean"}
    band = band_of(tmp_path, attributes)
    found = metadata_of(band)
    assert found["standard_name"] == "air_temperature" and band.GetDescription() == "" and found["cell_methods"] == "time: mean"
    assert float(found["valid_max"]) == 330.5 and found["count"] == "7"


@pytest.mark.parametrize("attributes", [{"units": 5}, {"units": None}, {"scale_factor": "a lot"}, {"long_name": ["a", "b"]},
                                        {"nested": {"a": [1, {"b": None}]}}, {"text": "ü\n\u0000ä"}, {"flag_values": "1, 2"},
                                        {"flag_values": [1], "flag_meanings": "a b c"},
                                        {"flag_values": [-1, 2**40], "flag_meanings": "a b"},
                                        {"coordinates": 5}, {"grid_mapping": ["a"]}, {"zarr_conventions": "all"}, {"multiscales": []},
                                        {"ome": 1}, {"_CRS": "here"}], ids=str)
def test_attributes_of_unexpected_types_are_ignored(tmp_path, attributes):
    band_of(tmp_path, attributes)


@pytest.mark.parametrize("attributes", [
    {"gdal:bands": 7, "long_name": ["only one"]}, {"gdal:bands": [{}], "long_name": [1, 2]}, {"gdal:bands": [3, "x"], "long_name": {}},
    {"gdal:bands": [{"scale": "x", "offset": [], "unit": 1, "description": {}, "categories": {"a": 1}}, None]},
    {"gdal:bands": [{"color_table": [[1, 2]], "metadata": [1], "nodata": "x", "color_interpretation": 3}, None]},
    {"gdal:bands": [{"color_table": [[1, 2, NAN]], "scale": float("inf"), "nodata": {}}, []], "gdal:color_table": [[1e9, 0, 0]]}], ids=str)
def test_malformed_lists_of_bands_are_ignored(tmp_path, attributes):
    oracle.write(tmp_path, array_meta((2, *SHAPE), attributes=attributes), counting((2, *SHAPE)))
    dataset = open_array(tmp_path)
    for band in (dataset.GetRasterBand(1), dataset.GetRasterBand(2)):
        assert (band.GetScale(), band.GetOffset(), band.GetUnitType(), band.GetCategoryNames(), band.GetColorTable()) == (None, None, "", None, None)
        assert band.GetDescription() in ("", "only one")


# ------------------------------------------------------------------------------------------------------ categories, colours

@pytest.mark.parametrize("meanings", ["water land ice", ["water", "land", "ice"]], ids=["string", "list"])
@pytest.mark.parametrize("values, expected", [([0, 1, 2], ["water", "land", "ice"]), ([1, 2, 4], ["", "water", "land", "", "ice"])])
def test_flags_become_category_names(tmp_path, meanings, values, expected):
    band = band_of(tmp_path, {"flag_values": values, "flag_meanings": meanings}, "uint8")
    assert band.GetCategoryNames() == expected


@pytest.mark.parametrize("name, expected", [("red", gdal.GCI_RedBand), ("green", gdal.GCI_GreenBand), ("blue", gdal.GCI_BlueBand)])
def test_arrays_named_red_green_blue_have_these_colour_interpretations(tmp_path, name, expected):
    oracle.write(tmp_path, group_meta())
    for array in ("red", "green", "blue"):
        oracle.write(tmp_path / array, array_meta(SHAPE, "uint8"))
    assert held_band(open_array(tmp_path, "/" + name)).GetColorInterpretation() == expected
    whole = open_array(tmp_path)
    assert [held_band(whole, b).GetColorInterpretation() for b in (1, 2, 3)] == [gdal.GCI_BlueBand, gdal.GCI_GreenBand, gdal.GCI_RedBand]


def test_bands_take_their_description_from_a_coordinate(tmp_path):
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "data", array_meta((2, 4, 5), dimension_names=["wavelength", "y", "x"]))
    write_coordinate(tmp_path, "wavelength", [492.7, 559.8], {"units": "nm"})
    dataset = open_array(tmp_path, "/data")
    assert ["492.7" in dataset.GetRasterBand(1).GetDescription(), "559.8" in dataset.GetRasterBand(2).GetDescription()] == [True, True]


def test_arrays_of_strings_are_names_and_no_rasters(tmp_path):
    """AlphaEarth's bands, in strings of any length; a table of strings beside them hides nothing."""
    names = ["A00", "größe", ""]
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "data", array_meta((3, 4, 5), "uint8", dimension_names=["band", "y", "x"]))
    text = {"data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}, {"name": "gzip", "configuration": {"level": 1}}]}
    items = b"".join(len(n.encode()).to_bytes(4, "little") + n.encode() for n in names)
    oracle.put(tmp_path / "band", {"zarr.json": {**plain_meta([3], "uint8", dimension_names=["band"]), **text},
                                   "c/0": gzip.compress((3).to_bytes(4, "little") + items)})
    oracle.put(tmp_path / "table", {"zarr.json": {**plain_meta([3, 2], "uint8"), **text}})
    dataset = gdal.Open(str(tmp_path))
    assert dataset.RasterCount == 3 and dataset.GetDriver().ShortName == "ShardedZarr"
    assert [dataset.GetRasterBand(b).GetMetadataItem("DIM_band_VALUE") or "" for b in (1, 2, 3)] == names
    assert "größe" in dataset.GetRasterBand(2).GetDescription()
    assert "no GDAL data type" in error_of(open_array, tmp_path, "/table")
