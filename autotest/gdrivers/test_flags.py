"""CF's flags as GDAL's attribute table: values, or bits, with their meanings and colours."""
import numpy as np
import oracle
import pytest
from osgeo import gdal

from stores import array_meta
from support import error_of, held_band, open_ours, warnings_of
from writing import document, driver

VALUES = np.arange(24, dtype="uint8").reshape(4, 6)


def band_with(tmp_path, attributes, values=VALUES):
    oracle.write(str(tmp_path / "a.zarr"), array_meta(values.shape, str(values.dtype), [2, 3], attributes=attributes), values)
    return held_band(open_ours(str(tmp_path / "a.zarr")))


def table_with(*arguments):
    """A table that outlives its band."""
    band = band_with(*arguments)
    table = band.GetDefaultRAT()
    return table and table.Clone()


def rows_of(table):
    """[{name of the column: value}]"""
    getters = {gdal.GFT_Integer: table.GetValueAsInt, gdal.GFT_Real: table.GetValueAsDouble, gdal.GFT_String: table.GetValueAsString}
    columns = range(table.GetColumnCount())
    return [{table.GetNameOfCol(c): getters[table.GetTypeOfCol(c)](row, c) for c in columns} for row in range(table.GetRowCount())]


def test_values_and_their_meanings_are_a_thematic_table(tmp_path):
    band = band_with(tmp_path, {"flag_values": [4, 5, 200], "flag_meanings": "vegetation bare_soil no_data"})
    table = band.GetDefaultRAT()
    assert rows_of(table) == [{"Value": 4, "Class_name": "vegetation"}, {"Value": 5, "Class_name": "bare_soil"}, {"Value": 200, "Class_name": "no_data"}]
    assert table.GetTableType() == gdal.GRTT_THEMATIC
    assert [table.GetUsageOfCol(c) for c in range(2)] == [gdal.GFU_MinMax, gdal.GFU_Name]
    assert band.GetCategoryNames()[4:6] == ["vegetation", "bare_soil"]  # as before


def test_bits_have_their_mask_and_negative_and_wide_values_are_kept(tmp_path):
    table = table_with(tmp_path, {"flag_masks": [1, 6, 6], "flag_values": [1, 2, 4], "flag_meanings": ["cloud", "land", "water"]})
    assert rows_of(table) == [{"Value": 1, "Mask": 1, "Class_name": "cloud"}, {"Value": 2, "Mask": 6, "Class_name": "land"}, {"Value": 4, "Mask": 6, "Class_name": "water"}]
    table = table_with(tmp_path, {"flag_masks": [1, 2], "flag_meanings": "a b"})
    assert [(row["Value"], row["Mask"]) for row in rows_of(table)] == [(1, 1), (2, 2)]
    table = table_with(tmp_path, {"flag_values": [-5, 2 ** 40], "flag_meanings": "a b"}, VALUES.astype("int64"))
    assert [row["Value"] for row in rows_of(table)] == [-5.0, 2.0 ** 40]


@pytest.mark.parametrize("colours", ["#ff0000 #00fF01", ["#ff0000", "#00ff01"]])
def test_colours_are_columns(tmp_path, colours):
    table = table_with(tmp_path, {"flag_values": [0, 1], "flag_meanings": "a b", "flag_colors": colours})
    assert [(row["Red"], row["Green"], row["Blue"]) for row in rows_of(table)] == [(255, 0, 0), (0, 255, 1)]
    assert [table.GetUsageOfCol(c) for c in range(2, 5)] == [gdal.GFU_Red, gdal.GFU_Green, gdal.GFU_Blue]


@pytest.mark.parametrize("attributes", [{}, {"flag_values": [0, 1], "flag_meanings": "a"}, {"flag_values": [0.5], "flag_meanings": "a"}, {"flag_meanings": "a b"}])
def test_odd_flags_are_no_table(tmp_path, attributes):
    assert table_with(tmp_path, attributes) is None


def test_copy_keeps_flag_values_and_meanings_and_warns_of_masks(tmp_path):
    band = band_with(tmp_path, {"flag_values": [0, 3], "flag_meanings": "water land"})
    made, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "b.zarr"), band.keep, strict=1))
    assert messages == [] and rows_of(made.GetRasterBand(1).GetDefaultRAT()) == rows_of(band.GetDefaultRAT())
    band = band_with(tmp_path, {"flag_masks": [1, 2], "flag_meanings": "cloud snow"})
    assert "raster attribute table" in error_of(driver().CreateCopy, str(tmp_path / "c.zarr"), band.keep, strict=1)


def test_flag_attributes_follow_edited_categories(tmp_path):
    path = str(tmp_path / "a.zarr")
    oracle.write(path, array_meta(VALUES.shape, "uint8", [2, 3], attributes={"flag_values": [0, 1], "flag_meanings": "a b"}), VALUES)
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % path, gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.GetRasterBand(1).SetCategoryNames(["c", "d", "e"])
    dataset = None
    assert document(path)["attributes"]["flag_meanings"] == "c d e"
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % path, gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.GetRasterBand(1).SetCategoryNames([])
    dataset = None
    assert "flag_meanings" not in document(path)["attributes"]
