"""An edit changes what was asked and nothing else: items of metadata by their exact names, and what bands mean."""
import glob
import json
import os
import re
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta, plain_meta, spatial_proj, write_coordinate
from support import close, error_of, geotransform, held_band, name_of, open_ours, run_peer, srs_of, warnings_of
from writing import UTM, arrays, check_consolidated, copy, created, document, driver, source


def update(path, array=None):
    return gdal.OpenEx(name_of(path, array), gdal.OF_RASTER | gdal.OF_UPDATE)


def store(path, attributes=None, of_group=None, shape=(8, 10), **members):
    """A group with one array "a"."""
    meta = array_meta(shape, attributes=attributes or {}, **members)
    oracle.put(str(path), {"zarr.json": group_meta(of_group)})
    oracle.write(os.path.join(str(path), "a"), meta, np.arange(np.prod(shape), dtype=oracle.dtype_of(meta["data_type"])).reshape(shape))
    return str(path)


def attributes_of(path, node="a"):
    return document(path, node)["attributes"]


def items_of(thing, domain=""):
    """Items as they are listed: GDAL's dictionaries may cut names."""
    return dict(item.split("=", 1) for item in thing.GetMetadata_List(domain) or [])


# ------------------------------------------------------------------------------------------------------- names of items

NAMES = {"eo:cloud_cover": 5, "eo:snow_cover": 1, "eo": "x", "Title": "A", "title": "b", "a b/c": "d"}


@pytest.mark.parametrize("of_group", [None, {"note": "plain"}], ids=["alone", "in a group with items"])
def test_an_attribute_with_a_colon_survives_an_edit(tmp_path, of_group):
    path = store(tmp_path / "a.zarr", NAMES, of_group)
    dataset = update(path, "/a")
    expected = {name: str(value) for name, value in NAMES.items()}
    assert items_of(dataset) == {**expected, **(of_group or {})}
    assert {name: dataset.GetMetadataItem(name) for name in NAMES} == expected
    dataset.SetMetadataItem("eo:cloud_cover", "7")
    dataset.SetMetadataItem("eo", "y")
    dataset.SetMetadataItem("TITLE", "c")
    dataset.SetMetadataItem("title", None)
    dataset = None
    assert attributes_of(path) == {**{k: v for k, v in NAMES.items() if k != "title"}, "eo:cloud_cover": 7, "eo": "y", "TITLE": "c"}
    assert document(path)["attributes"] == (of_group or {})


NO_ITEMS = {"a=b": "c=d", "=lead": 1, "": "unnamed", "x=": [1, 2], "two\nlines": "e\nf"}  # the last is one


@pytest.mark.parametrize("edit", [
    lambda dataset: dataset.SetMetadataItem("title", "new"),
    lambda dataset: dataset.SetMetadataItem("a_b", "x"),
    lambda dataset: dataset.SetMetadataItem("a_b", None),
    lambda dataset: dataset.SetMetadata({}),
    lambda dataset: dataset.SetMetadata({"bands": "3"}, "ENVI"),
    lambda dataset: dataset.GetRasterBand(1).SetMetadataItem("own", "y")],
    ids=["another", "the name once shown", "without it", "none", "a domain", "of a band"])
def test_attributes_whose_names_no_item_can_have_are_left_alone(tmp_path, edit):
    path = store(tmp_path / "a.zarr", {**NO_ITEMS, "title": "a"}, {"g=h": "i"})
    dataset = update(path, "/a")
    assert set(items_of(dataset)) == {"two\nlines", "title"}
    edit(dataset)
    dataset = None
    after = attributes_of(path)
    kept = {name: value for name, value in NO_ITEMS.items() if name != "two\nlines"}
    assert {name: after.get(name) for name in kept} == kept
    assert set(after) - set(NO_ITEMS) <= {"title", "a_b", "own", "gdal:metadata_domains", "gdal:bands"}
    assert document(path)["attributes"] == {"g=h": "i"}


@pytest.mark.parametrize("remove", [lambda dataset: dataset.SetMetadataItem("title", None), lambda dataset: dataset.SetMetadata({"more": "b"})],
                         ids=["by name", "by a list without it"])
@pytest.mark.parametrize("array", [None, "/a"])
def test_an_item_of_the_group_above_stays_with_a_warning(tmp_path, remove, array):
    path = store(tmp_path / "a.zarr", {"more": "b"}, {"title": "x", "g=h": 1})
    dataset = update(path, array)
    assert items_of(dataset) == {"title": "x", "more": "b"}
    remove(dataset)
    messages = warnings_of(dataset.FlushCache)[1]
    assert [message for message in messages if "title is an attribute of the group" in message] == messages != []
    dataset = None
    assert items_of(open_ours(name_of(path, array))) == {"title": "x", "more": "b"}
    assert document(path)["attributes"] == {"title": "x", "g=h": 1} and attributes_of(path) == {"more": "b"}


def test_items_of_bands_and_domains_keep_their_names(tmp_path):
    path = created(tmp_path / "a.zarr", np.zeros((2, 8, 10), "uint8"))
    dataset = update(path)
    for thing in (dataset.GetRasterBand(2), dataset):
        for domain in ("", "ENVI"):
            thing.SetMetadata(["%s=%s" % item for item in NAMES.items()], domain)
    dataset = thing = None
    expected = {name: str(value) for name, value in NAMES.items()}
    for _ in range(2):
        dataset = update(path)
        for thing in (dataset.GetRasterBand(2), dataset):
            assert [{k: v for k, v in items_of(thing, domain).items() if k in NAMES} for domain in ("", "ENVI")] == [expected] * 2
            assert {name: thing.GetMetadataItem(name, "ENVI") for name in NAMES} == expected
            thing.SetMetadataItem("eo:cloud_cover", "8", "ENVI")
            thing.SetMetadataItem("eo:cloud_cover", "8")
        expected["eo:cloud_cover"] = "8"
        dataset = thing = None


def test_a_change_of_case_alone_is_saved(tmp_path):
    path = store(tmp_path / "a.zarr", {"name": "value"}, {"of": "group"})
    oracle.write(os.path.join(path, "b"), array_meta((8, 10), attributes={"name": "value", "own": "x"}), np.zeros((8, 10), "uint16"))
    dataset = update(path)
    dataset.SetMetadata({"name": "VALUE", "of": "Group"})
    dataset.GetRasterBand(2).SetMetadataItem("own", "X")
    dataset = None
    dataset = open_ours(path)
    assert items_of(dataset) == {"name": "VALUE", "of": "Group"}
    assert items_of(dataset.GetRasterBand(2))["own"] == "X"


@pytest.mark.parametrize("registration", ["pixel", None])
@pytest.mark.parametrize("names", [["y", "x"], [None, None]], ids=["named", "unnamed"])
def test_declared_area_registration_is_shown_and_not_written_by_an_edit(tmp_path, registration, names):
    path = str(tmp_path / "a.zarr")
    attributes = spatial_proj((10, 0, 500000, 0, -10, 5000000), "EPSG:32633")
    attributes.pop("spatial:registration", None)
    if registration:
        attributes["spatial:registration"] = registration
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path + "/a", plain_meta((8, 10), "uint16", attributes=attributes, dimension_names=names), np.ones((8, 10), "uint16"))
    assert open_ours(name_of(path, "/a")).GetMetadataItem("AREA_OR_POINT") == ("Area" if registration else None)
    update(path, "/a").SetMetadataItem("k", "v")
    assert attributes_of(path, "a") == {**attributes, "k": "v"}
    dataset = update(path, "/a")
    dataset.SetMetadata({"k": "w"})
    assert dataset.GetMetadataItem("AREA_OR_POINT") == ("Area" if registration else None)
    dataset = None
    assert attributes_of(path, "a") == {**attributes, "k": "w"}


def test_items_that_begin_with_dim_stay(tmp_path):
    path = created(tmp_path / "a.zarr", np.zeros((2, 8, 10), "uint8"))
    dataset = update(path)
    dataset.SetMetadataItem("DIM_of_the_sensor", "3")
    dataset.GetRasterBand(1).SetMetadataItem("DIM_STACK", "7")
    dataset = None
    dataset = update(path)
    dataset.GetRasterBand(1).SetMetadataItem("more", "8")
    dataset = None
    dataset = open_ours(path)
    assert dataset.GetMetadataItem("DIM_of_the_sensor") == "3"
    assert items_of(dataset.GetRasterBand(1)) == {"DIM_STACK": "7", "more": "8"}
    assert "DIM_band_INDEX" not in json.dumps(arrays(path))


# ------------------------------------------------------------------------------------------------------ what bands mean

ODD = {"standard_name": "air_temperature", "unit": "K", "missing_value": 7, "common_name": "red", "flag_masks": [1], "n": 1.50,
       "gdal:bands": [{"theirs": 1}]}


@pytest.mark.parametrize("edit", ["item", "offset", "description"])
def test_editing_a_band_property_keeps_the_spelling_of_others(tmp_path, edit):
    """In whatever words: `unit` does not become `units`, and no long_name is made of a standard_name."""
    path = store(tmp_path / "a.zarr", ODD)
    dataset = update(path)
    band = dataset.GetRasterBand(1)
    {"item": lambda: band.SetMetadataItem("k", "v"), "offset": lambda: band.SetOffset(3), "description": lambda: band.SetDescription("d")}[edit]()
    dataset = band = None
    changed = {"item": {"gdal:bands": [{"theirs": 1, "metadata": {"k": "v"}}]}, "offset": {"add_offset": 3.0}, "description": {"long_name": "d"}}
    assert attributes_of(path) == {**ODD, **changed[edit]}


@pytest.mark.parametrize("way", ["raster", "array"])
def test_unit_that_eopf_keeps_in_an_object_beside_can_be_removed(tmp_path, way):
    """It came back; what is beside it there stays."""
    path = store(tmp_path / "a.zarr", {"_eopf_attrs": {"units": "dn", "scale_factor": 0.5, "other": 1}})
    if way == "raster":
        dataset = update(path)
        assert dataset.GetRasterBand(1).GetUnitType() == "dn"
        dataset.GetRasterBand(1).SetUnitType("")
        dataset = None
    else:
        dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
        assert dataset.GetRootGroup().OpenMDArray("a").SetUnit("") == 0
        dataset = None
    assert open_ours(path).GetRasterBand(1).GetUnitType() == "" and open_ours(path).GetRasterBand(1).GetScale() == 0.5
    assert attributes_of(path) == {"_eopf_attrs": {"scale_factor": 0.5, "other": 1}}


def test_last_of_attributes_with_one_name_is_shown_and_stays_after_an_edit(tmp_path):
    """As Python reads them. The first was shown, and an edit of one wrote it twice."""
    path = store(tmp_path / "a.zarr", {"one": "first", "units": "K"})
    with open(os.path.join(path, "a", "zarr.json")) as file:
        text = file.read()
    with open(os.path.join(path, "a", "zarr.json"), "w") as file:
        file.write(text.replace('"units"', '"one": "last", "other": 1, "units": "m", "units"', 1).replace('"units": "K"', '"units": "s"', 1))
    dataset = update(path)
    band = dataset.GetRasterBand(1)
    assert band.GetUnitType() == "s" and items_of(dataset)["one"] == "last"
    band.SetUnitType("h")
    dataset = band = None
    with open(os.path.join(path, "a", "zarr.json")) as file:
        text = file.read()
    assert text.count('"units"') == 1 and attributes_of(path) == {"one": "last", "other": 1, "units": "h"}


def test_consolidated_entries_of_other_nodes_keep_their_spelling(tmp_path):
    """Numbers, escapes, and the order of members, as somebody else wrote them."""
    path = str(tmp_path / "a.zarr")
    copy(path, source(np.zeros((1, 64, 64), "uint8"), UTM, "EPSG:32633"), ARRAY_NAME="v", CREATE_CONSOLIDATED_METADATA="YES")
    other = ('{"node_type":"group","attributes":{"z":1e3,"a":1.0,"n":NaN,"u":"é/","big":12345678901234567890123,"e":1E+5,'
             '"neg":-0.0,"list":[1.50,2]},"zarr_format":3}')
    oracle.put(os.path.join(path, "other"), {"zarr.json": group_meta()})
    with open(os.path.join(path, "zarr.json")) as file:
        text = file.read().replace('"metadata": {', '"metadata": {"other": %s,' % other, 1)
    with open(os.path.join(path, "zarr.json"), "w") as file:
        file.write(text)
    dataset = update(path, "/v")
    dataset.GetRasterBand(1).SetUnitType("m")
    dataset = None
    with open(os.path.join(path, "zarr.json")) as file:
        text = file.read()
    assert '"other": ' + other[:-1] in text and json.loads(text)["consolidated_metadata"]["metadata"]["v"]["attributes"]["units"] == "m"


OF_ALL = {"scale_factor": 0.5, "add_offset": 10.0, "units": "K", "flag_values": [0, 1], "flag_meanings": "no yes", "COLOR_INTERPRETATION": "Gray",
          "gdal:color_table": [[1, 2, 3, 255], [4, 5, 6, 255]]}


def properties_of(band):
    table = band.GetColorTable()
    return (band.GetScale(), band.GetOffset(), band.GetUnitType(), band.GetCategoryNames(), band.GetColorInterpretation(),
            [table.GetColorEntry(i) for i in range(table.GetCount())] if table else None)


@pytest.mark.parametrize("edit", [lambda b: b.SetScale(2), lambda b: b.SetOffset(0), lambda b: b.SetUnitType("m"), lambda b: b.SetUnitType(""),
                                  lambda b: b.SetCategoryNames(["a", "b c"]), lambda b: b.SetCategoryNames([]), lambda b: b.SetColorTable(None),
                                  lambda b: b.SetColorInterpretation(gdal.GCI_RedBand)],
                         ids="scale offset unit no_unit categories no_categories no_colours colour".split())
def test_editing_one_band_keeps_array_attributes_of_the_others(tmp_path, edit):
    """xarray and others know no entries of bands: they read the other slices as before."""
    path = store(tmp_path / "a.zarr", OF_ALL, shape=(3, 8, 10))
    dataset = update(path)
    before, band = [properties_of(dataset.GetRasterBand(b)) for b in (1, 2, 3)], dataset.GetRasterBand(2)
    edit(band)
    expected = properties_of(band)
    assert expected != before[1]
    band = dataset = None
    dataset = open_ours(path)
    assert [properties_of(dataset.GetRasterBand(b)) for b in (1, 2, 3)] == [before[0], expected, before[2]]
    attributes = attributes_of(path)
    assert {name: attributes.get(name) for name in OF_ALL} == OF_ALL and len(attributes["gdal:bands"][0]) == 0


@pytest.mark.parametrize("access", [gdal.GA_ReadOnly, gdal.GA_Update], ids=["read", "update"])
def test_side_car_file_holds_only_what_was_set(tmp_path, access, config):
    config("GDAL_PAM_ENABLED", "YES")
    path = store(tmp_path / "a.zarr", {"gdal:bands": [{"metadata": {"k": "v"}, "unit": "m"}, {}], "scale_factor": 2, "note": "n"}, shape=(2, 8, 10))
    dataset = gdal.OpenEx(name_of(path, "/a"), access | gdal.OF_RASTER)
    table = gdal.RasterAttributeTable()
    table.CreateColumn("c", gdal.GFT_Integer, gdal.GFU_MinMax)
    table.SetRowCount(2)
    dataset.GetRasterBand(1).SetDefaultRAT(table)
    dataset = None
    (side_car,) = glob.glob(path + "/**/*.aux.xml", recursive=True)
    written = open(side_car).read()
    assert "<Name>c</Name>" in written and not re.search("<MDI|<Scale|<UnitType|<Description|<NoData", written), written
    assert held_band(open_ours(name_of(path, "/a"))).GetScale() == 2


def stamps(path):
    return {name: os.stat(name).st_mtime_ns for name in glob.glob(path + "/**", recursive=True) if os.path.isfile(name)}


@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_an_edit_that_changes_nothing_writes_nothing(tmp_path, consolidated):
    path = str(tmp_path / "a.zarr")
    mem = source(np.arange(160, dtype="int16").reshape(2, 8, 10), UTM, "EPSG:32633", -1)
    mem.SetMetadataItem("k", "v")
    for b in (1, 2):
        band = mem.GetRasterBand(b)
        band.SetScale(0.5), band.SetOffset(b), band.SetUnitType("m"), band.SetDescription("b%d" % b), band.SetMetadataItem("l", "w")
        band.SetCategoryNames(["a", "b c"])
    copy(path, mem, ARRAY_NAME="a", CREATE_CONSOLIDATED_METADATA=consolidated)
    before = stamps(path)
    dataset = update(path)
    dataset.SetMetadataItem("k", "v"), dataset.SetMetadata(dataset.GetMetadata())
    dataset.SetGeoTransform(dataset.GetGeoTransform()), dataset.SetSpatialRef(dataset.GetSpatialRef())
    for b in (1, 2):
        band = dataset.GetRasterBand(b)
        band.SetScale(band.GetScale()), band.SetOffset(band.GetOffset()), band.SetUnitType("m"), band.SetDescription("b%d" % b)
        band.SetMetadataItem("l", "w"), band.SetNoDataValue(-1), band.SetCategoryNames(["a", "b c"])
        band.SetColorInterpretation(band.GetColorInterpretation())
    band = dataset = None
    assert stamps(path) == before


def test_a_description_that_is_set_as_it_is_shown_is_not_stored(tmp_path):
    """rasterio sets all descriptions at once; those of a time are the values of its coordinate."""
    path = oracle.write(tmp_path / "a.zarr", group_meta())
    oracle.write(path + "/a", array_meta((2, 4, 6), dimension_names=["time", "y", "x"], attributes={"long_name": "sea"}))
    write_coordinate(path, "time", [0, 24], {"units": "hours since 2026-05-01"}, "int64")
    before = stamps(path)
    dataset = update(path, "/a")
    shown = [dataset.GetRasterBand(b).GetDescription() for b in (1, 2)]
    assert shown == ["2026-05-01T00:00:00", "2026-05-02T00:00:00"]
    for b, text in zip((1, 2), shown):
        dataset.GetRasterBand(b).SetDescription(text)
    dataset = None
    assert stamps(path) == before
    dataset = update(path, "/a")
    dataset.GetRasterBand(2).SetDescription("noon")
    dataset = None
    assert attributes_of(path, "a")["gdal:bands"] == [{}, {"description": "noon"}]


def test_scale_and_offset_become_attributes_of_all_together_or_not_at_all(tmp_path):
    pixels = np.arange(160, dtype="int16").reshape(2, 8, 10)
    mem = source(pixels)
    for b in (1, 2):
        mem.GetRasterBand(b).SetScale(0.5)
        mem.GetRasterBand(b).SetOffset(b)
    path = str(tmp_path / "a.zarr")
    copy(path, mem, ARRAY_NAME="a")
    assert not {"scale_factor", "add_offset"} & set(attributes_of(path))
    dataset = update(path)
    assert [(dataset.GetRasterBand(b).GetScale(), dataset.GetRasterBand(b).GetOffset()) for b in (1, 2)] == [(0.5, 1), (0.5, 2)]
    dataset.GetRasterBand(2).SetOffset(1)
    dataset = None
    assert {name: attributes_of(path).get(name) for name in ("scale_factor", "add_offset", "gdal:bands")} == {
        "scale_factor": 0.5, "add_offset": 1.0, "gdal:bands": None}


def test_band_entries_stay_when_another_writer_appends(tmp_path):
    """zarr-python and xarray append along time and know no gdal:bands."""
    entries = [{"unit": "m", "metadata": {"k": str(n)}} for n in range(2)]
    path = store(tmp_path / "a.zarr", {"gdal:bands": entries}, shape=(4, 8, 10))
    dataset = update(path)
    assert [(dataset.GetRasterBand(b).GetUnitType(), dataset.GetRasterBand(b).GetMetadataItem("k")) for b in (1, 2, 3, 4)] == [
        ("m", "0"), ("m", "1"), ("", None), ("", None)]
    dataset.GetRasterBand(4).SetUnitType("K")
    dataset = None
    assert attributes_of(path)["gdal:bands"] == [*entries, {}, {"unit": "K"}]


def test_entries_of_other_bands_are_not_taken(tmp_path):
    """Of two dimensions of bands nobody knows along which the array became longer; a longer list is of more bands."""
    for name, shape in (("a", (2, 2, 8, 10)), ("b", (1, 8, 10))):
        path = store(tmp_path / name, {"gdal:bands": [{"unit": "m"}, {"unit": "K"}]}, shape=shape)
        dataset = open_ours(path)
        assert [dataset.GetRasterBand(b + 1).GetUnitType() for b in range(dataset.RasterCount)] == [""] * dataset.RasterCount


def test_names_of_bands_leave_the_name_of_the_whole(tmp_path):
    path = store(tmp_path / "a.zarr", {"long_name": "reflectance"}, shape=(2, 8, 10))
    dataset = update(path)
    for number in (1, 2):
        dataset.GetRasterBand(number).SetDescription("band %d" % number)
    dataset = None
    assert attributes_of(path) == {"long_name": "reflectance", "gdal:bands": [{"description": "band 1"}, {"description": "band 2"}]}
    dataset = open_ours(path)
    assert [dataset.GetRasterBand(b).GetDescription() for b in (1, 2)] == ["band 1", "band 2"]


def set_all(band, number):
    band.SetDescription("slice %d" % number)
    band.SetScale(2.0 + number)
    band.SetOffset(3.0 + number)
    band.SetUnitType("K%d" % number)
    band.SetNoDataValue(40 + number)
    band.SetCategoryNames(["zero", "one%d" % number])
    band.SetColorInterpretation(gdal.GCI_PaletteIndex)
    table = gdal.ColorTable()
    table.SetColorEntry(0, (number, 2, 3, 255))
    band.SetColorTable(table)
    band.SetMetadataItem("eo:item", "of %d" % number)
    band.SetMetadataItem("bands", str(number), "ENVI")
    band.ComputeStatistics(False)


def all_of(band):
    return (band.GetScale(), band.GetOffset(), band.GetUnitType(), band.GetNoDataValue(), band.GetCategoryNames(),
            band.GetColorInterpretation(), band.GetColorTable() and band.GetColorTable().GetColorEntry(0), band.GetMetadataItem("eo:item"),
            band.GetMetadataItem("bands", "ENVI"), band.GetStatistics(False, False))


@pytest.mark.parametrize("chosen, bands", [(":1:2", [5]), (":1", [3, 4, 5]), (":0:2", [2])], ids=str)
def test_band_properties_of_a_selection_are_stored_for_its_slices(tmp_path, chosen, bands):
    path = store(tmp_path / "a.zarr", {"units": "m"}, shape=(2, 3, 8, 10), data_type="uint8", dimension_names=["time", "level", "y", "x"])
    before = open_ours(name_of(path, "/a"))
    untouched = [all_of(before.GetRasterBand(b + 1)) for b in range(6)]
    before = None
    dataset = update(path, "/a" + chosen)
    for number in range(1, dataset.RasterCount + 1):
        set_all(dataset.GetRasterBand(number), number)
    expected = [all_of(dataset.GetRasterBand(b)) for b in range(1, dataset.RasterCount + 1)]
    dataset = None
    whole, part = open_ours(name_of(path, "/a")), open_ours(name_of(path, "/a" + chosen))
    assert [all_of(part.GetRasterBand(b + 1)) for b in range(len(bands))] == expected
    assert [all_of(whole.GetRasterBand(b + 1)) for b in bands] == expected
    assert all("slice %d" % (i + 1) in whole.GetRasterBand(b + 1).GetDescription() for i, b in enumerate(bands))
    others = [b for b in range(6) if b not in bands]
    assert [all_of(whole.GetRasterBand(b + 1)) for b in others] == [untouched[b] for b in others]


def test_what_is_set_on_one_of_too_many_slices_is_refused(tmp_path):
    path = store(tmp_path / "a.zarr", {}, shape=(70000, 2, 2), data_type="uint8")
    dataset = update(path, "/a:1")
    band = dataset.GetRasterBand(1)
    for action in (lambda: band.SetNoDataValue(3), lambda: band.SetScale(3), lambda: band.SetDescription("d"), lambda: band.SetMetadataItem("k", "v")):
        assert "set it of the array" in error_of(action)
    band.WriteArray(np.full((2, 2), 9, "uint8"))
    dataset = band = None
    assert attributes_of(path) == {}
    assert (open_ours(name_of(path, "/a:1")).ReadAsArray() == 9).all()


@pytest.mark.parametrize("data_type, value", [("uint8", -9999), ("uint8", float("nan")), ("uint8", 1.5), ("int16", 40000), ("float32", 1e300),
                                              ("int64", 2.0 ** 63), ("uint64", -1.0)])
def test_a_nodata_value_that_the_type_does_not_hold_is_refused(tmp_path, data_type, value):
    path = store(tmp_path / "a.zarr", {"_FillValue": 3}, data_type=data_type)
    dataset = update(path)
    band = dataset.GetRasterBand(1)
    set_value = band.SetNoDataValueAsDouble if hasattr(band, "SetNoDataValueAsDouble") else band.SetNoDataValue
    if data_type in ("int64", "uint64"):
        set_value = lambda v: gdal.Band.SetNoDataValueAsInt64(band, int(v)) if data_type == "uint64" else band.SetNoDataValueAsUInt64(int(v))  # noqa: E731
    assert "cannot be a %s" % data_type in error_of(set_value, value)
    assert band.GetNoDataValue() == 3
    dataset = band = None
    assert attributes_of(path)["_FillValue"] == 3


@pytest.mark.parametrize("data_type, value", [("uint8", 255), ("int64", 2 ** 53 + 1), ("uint64", 2 ** 64 - 1), ("float32", 0.1), ("int64", -2 ** 63)])
def test_a_nodata_value_that_the_type_holds_is_stored(tmp_path, data_type, value):
    path = store(tmp_path / "a.zarr", {}, data_type=data_type)
    dataset = update(path)
    dataset.GetRasterBand(1).SetNoDataValue(value)
    dataset = None
    assert held_band(open_ours(path)).GetNoDataValue() == (value if data_type != "float32" else float(np.float32(value)))


# -------------------------------------------------------------------------------------------------------- the side-car

def test_read_only_edits_go_to_the_side_car_file_with_a_warning(tmp_path, config):
    """In the side-car file, which goes before the store until the store is changed."""
    config("GDAL_PAM_ENABLED", "YES")
    path = store(tmp_path / "a.zarr", {"_FillValue": 3, "units": "m", "scale_factor": 2, "add_offset": 1, "long_name": "n", "k": "v"})
    document_before = document(path, "a")
    dataset = gdal.Open(path)
    set_all(dataset.GetRasterBand(1), 1)
    dataset.SetGeoTransform(UTM)
    dataset.SetProjection("EPSG:32633")
    dataset.SetMetadataItem("k", "w")
    dataset = None
    assert document(path, "a") == document_before
    expected = (3, 4, "K1", 41, ["zero", "one1"], gdal.GCI_PaletteIndex, (1, 2, 3, 255))
    dataset = gdal.Open(path)
    assert all_of(dataset.GetRasterBand(1))[:7] == expected  # GDAL cuts the name of the item at its colon
    assert dataset.GetRasterBand(1).GetDescription() == "slice 1"
    assert geotransform(dataset) == UTM and dataset.GetSpatialRef().GetAuthorityCode(None) == "32633"
    assert dataset.GetMetadataItem("k") == "w"
    dataset = None
    dataset = update(path)
    set_all(dataset.GetRasterBand(1), 5)
    dataset.SetGeoTransform((0, 1, 0, 0, 0, -1))
    dataset.SetProjection("EPSG:4326")
    dataset.SetMetadataItem("k", "x")
    dataset = None
    for pam in ("YES", "NO"):
        config("GDAL_PAM_ENABLED", pam)
        dataset = gdal.Open(path)
        expected = (7, 8, "K5", 45, ["zero", "one5"], gdal.GCI_PaletteIndex, (5, 2, 3, 255), "of 5", "5")
        assert all_of(dataset.GetRasterBand(1))[:9] == expected
        assert dataset.GetRasterBand(1).GetDescription() == "slice 5"
        assert geotransform(dataset) == (0, 1, 0, 0, 0, -1) and dataset.GetSpatialRef().GetAuthorityCode(None) == "4326"
        assert dataset.GetMetadataItem("k") == "x"


def test_statistics_of_the_side_car_go_before_those_of_the_store(tmp_path, config):
    config("GDAL_PAM_ENABLED", "YES")
    path = created(tmp_path / "a.zarr", np.arange(80, dtype="uint8").reshape(1, 8, 10))
    dataset = update(path)
    assert dataset.GetRasterBand(1).ComputeStatistics(False)[:2] == [0, 79]
    dataset = None
    dataset = gdal.Open(path)
    dataset.GetRasterBand(1).SetStatistics(1, 2, 3, 4)
    dataset = None
    assert held_band(gdal.Open(path)).GetStatistics(False, False) == [1, 2, 3, 4]
    dataset = update(path)
    dataset.GetRasterBand(1).WriteArray(np.full((8, 10), 7, "uint8"))
    dataset.GetRasterBand(1).ComputeStatistics(False)
    dataset = None
    assert held_band(gdal.Open(path)).GetStatistics(False, False) == [7, 7, 7, 0]


# ---------------------------------------------------------------------------------------------------------- what fails

def test_error_of_an_overview_is_an_error_of_close(tmp_path):
    if not hasattr(gdal.Dataset, "Close"):
        pytest.skip("GDAL 3.6 and 3.7 do not tell what came of closing")
    path = created(tmp_path / "a.zarr", np.ones((1, 64, 64), "uint8"), OVERVIEWS="2")
    dataset = update(path)
    dataset.GetRasterBand(1).GetOverview(0).WriteArray(np.full((16, 16), 5, "uint8"))  # a whole shard would be written at once
    (name,) = [name for name in arrays(path) if name.startswith("ovr_")]
    for key in ("c", "zarr.json"):
        os.rename(os.path.join(path, name, key), os.path.join(path, name, key + "_"))
    open(os.path.join(path, name, "c"), "w").close()  # where a folder was
    assert error_of(close, dataset)


def test_more_bands_than_gdal_opens_are_refused_before_anything_is_made(tmp_path):
    message = error_of(driver().Create, str(tmp_path / "a.zarr"), 2, 2, 70000)
    assert "65536 bands" in message and os.listdir(tmp_path) == []


# ----------------------------------------------------------------------------------- items by names of other attributes

COLLIDING = {"units": "of the sheet", "coordinates": "lat lon", "scale_factor": "7", "proj:x": "1", "proj:code": "EPSG:1", "long_name": "other",
             "_ARRAY_DIMENSIONS": "none", "_FillValue": "3", "grid_mapping": "here", "gdal:bands": "b", "flag_values": "1 2", "plain": "p"}


@pytest.mark.parametrize("bands", [1, 2])
@pytest.mark.parametrize("named", [False, True])
def test_items_by_names_of_other_attributes_survive_a_copy_and_edits(tmp_path, bands, named):
    before = source(np.ones((bands, 8, 10), "uint8"), UTM, "EPSG:32633", nodata=5)
    for number in range(1, bands + 1):
        before.GetRasterBand(number).SetUnitType("m")
        before.GetRasterBand(number).SetDescription("band %d" % number if named else "")
    before.SetMetadata(["%s=%s" % item for item in COLLIDING.items()])
    path = str(tmp_path / "a.zarr")
    driver().CreateCopy(path, before, strict=1, options=["OVERVIEWS=NONE"])

    def check(expected):
        dataset = open_ours(path)
        assert expected.items() <= items_of(dataset).items()
        band = dataset.GetRasterBand(bands)
        assert (band.GetUnitType(), band.GetScale(), band.GetNoDataValue()) == ("m", None, 5)
        assert not named or band.GetDescription() == "band %d" % bands
        assert geotransform(dataset) == UTM and dataset.GetSpatialRef().GetAuthorityCode(None) == "32633"
        return items_of(dataset)

    check(COLLIDING)
    dataset = update(path)
    dataset.SetMetadataItem("units", "changed")
    dataset.SetMetadataItem("proj:y", "new")
    dataset.SetMetadataItem("coordinates", None)
    dataset = None
    assert "coordinates" not in check({**{k: v for k, v in COLLIDING.items() if k != "coordinates"}, "units": "changed", "proj:y": "new"})


def test_an_item_that_is_an_attribute_is_changed_there(tmp_path):
    path = store(tmp_path / "a.zarr", {"long_name": "old", "standard_name": "air_temperature", "units": "K"}, shape=(2, 8, 10))
    update(path).SetMetadataItem("long_name", "new")
    assert attributes_of(path) == {"long_name": "new", "standard_name": "air_temperature", "units": "K"}


@pytest.mark.parametrize("text, stored", [("2", 2), ("-2.5e3", -2500.0), ("007", "007"), ("NaN", "NaN"), ("1e400", "1e400"), (" 3", " 3"), ("", "")])
def test_an_item_that_is_a_number_stays_one_while_it_is_set_to_one(tmp_path, text, stored):
    path = store(tmp_path / "a.zarr", {"FOO": 1, "note": "1", "list": [1]})
    update(path, "/a").SetMetadata({"FOO": text, "note": "2", "list": "[1]", "new": "3"})
    assert attributes_of(path) == {"FOO": stored, "note": "2", "list": [1], "new": "3"}
    assert isinstance(attributes_of(path)["FOO"], type(stored)) and open_ours(name_of(path, "/a")).GetMetadataItem("FOO") == text


# ------------------------------------------------------------------------------------------------------------- deletion

def test_store_of_several_rasters_is_not_deleted(tmp_path):
    """Programs delete what they replace before they tell with what options."""
    path = store(tmp_path / "a.zarr", {})
    oracle.write(os.path.join(path, "b"), array_meta((9, 10)), np.zeros((9, 10), "uint16"))
    before = sorted(os.walk(path))
    message = error_of(driver().Delete, path)
    assert "/a and /b" in message and "rm -r" in message and "APPEND" not in message
    assert sorted(os.walk(path)) == before


def test_refusal_of_the_multidimensional_api_names_the_remedy(tmp_path):
    path = store(tmp_path / "a.zarr", {})
    oracle.write(os.path.join(path, "b"), array_meta((9, 10)), np.zeros((9, 10), "uint16"))
    message = error_of(driver().CreateMultiDimensional, path)
    assert "OVERWRITE=YES replaces it, APPEND_SUBDATASET=YES adds a raster to it" in message


# -------------------------------------------------------------------------------------------------------- georeferencing

MAPPING = {"crs_wkt": srs_of(32633).ExportToWkt(), "grid_mapping_name": "transverse_mercator", "long_name": "ours", "mine": [1, 2], "towgs84": [1, 2, 3],
           "GeoTransform": "500000 10 0 5000000 0 -10"}
THEIRS = {"crs_wkt": srs_of(32633).ExportToWkt(), "theirs": "x"}


def georeferenced(path, units=("m", "m"), scale=(1, 1), mapping=MAPPING, **nodes):
    """As others write: a(y, x), b(y, x) with a grid mapping of its own, zonal(y); coordinates with attributes of their own."""
    oracle.put(str(path), {"zarr.json": group_meta()})
    own = {"a": ("spatial_ref" if mapping else None, (8, 10), ["y", "x"]), "b": ("crs", (8, 10), ["y", "x"]), "zonal": (None, (8,), ["y"])}
    for name, (crs, shape, dims) in own.items():
        attributes = {"grid_mapping": crs} if crs else {}
        oracle.write(os.path.join(str(path), name), plain_meta(shape, "uint16", attributes=attributes, dimension_names=dims), np.ones(shape, "uint16"))
    for name, attributes in {"spatial_ref": mapping, "crs": THEIRS}.items():
        if attributes:
            oracle.write(os.path.join(str(path), name), plain_meta((), "int64", attributes=attributes), np.int64(0))
    axes = {"y": (5000000 - 5 - 10 * np.arange(8.0)) / scale[0], "x": (500000 + 5 + 10 * np.arange(10.0)) / scale[1]}
    for number, (name, values) in enumerate(axes.items()):
        attributes = {"units": units[number], "standard_name": "projection_%s_coordinate" % name, "long_name": "my " + name, "note": name}
        oracle.write(os.path.join(str(path), name), plain_meta(values.shape, attributes=attributes, dimension_names=[name]), values)
    return str(path)


def nodes_of(path):
    return {name: attributes_of(path, name) for name in ("a", "b", "zonal", "spatial_ref", "crs", "x", "y") if os.path.exists(os.path.join(path, name))}


def everything(path):
    """Text of each document of a store, and its objects' times."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return {os.path.relpath(file, path): open(file).read() if file.endswith(".json") else os.stat(file).st_mtime_ns for file in files}


@pytest.mark.parametrize("sibling", ["proj:code", "grid_mapping", "inherited", "of the group"])
def test_a_crs_changes_no_other_array(tmp_path, sibling):
    path = str(tmp_path / "a.zarr")
    said = spatial_proj((10, 0, 500000, 0, -10, 5000000), "EPSG:32633")
    of_group = {"proj:code": said.pop("proj:code")} if sibling == "of the group" else {}
    oracle.put(path, {"zarr.json": {**group_meta(), "attributes": of_group}, "sub/zarr.json": group_meta()})
    theirs = {"proj:code": said, "grid_mapping": {"grid_mapping": "spatial_ref"}}.get(sibling, {})
    for name, attributes in {"a": said, "b": said if sibling == "of the group" else theirs, "sub/w": theirs}.items():
        oracle.write(os.path.join(path, name), plain_meta((8, 10), "uint16", attributes=attributes, dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    oracle.write(os.path.join(path, "spatial_ref"), plain_meta((), "int64", attributes=MAPPING), np.int64(0))
    names, before = ("/b", "/sub/w"), everything(path)
    crs = [open_ours(name_of(path, name)).GetSpatialRef() for name in names]
    update(path, "/a").SetSpatialRef(srs_of(32634))
    after = everything(path)
    assert {file for file in before if before[file] != after[file]} == {"a/zarr.json"}
    assert open_ours(name_of(path, "/a")).GetSpatialRef().GetAuthorityCode(None) == "32634"
    for name, was in zip(names, crs):
        now = open_ours(name_of(path, name)).GetSpatialRef()
        assert (now is None) == (was is None) and (now is None or now.IsSame(was))


@pytest.mark.parametrize("own", ["_CRS", "proj:code", None])
@pytest.mark.parametrize("transform", [(600000, 20, 0, 4000000, 0, -20), (500000, 10, 1, 5000000, 1, -10)])
def test_a_transform_gives_an_array_that_has_a_crs_none_of_a_variable_that_it_does_not_name(tmp_path, own, transform):
    path, code = georeferenced(tmp_path / "a.zarr", mapping=None), "32633"
    for name in ("b", "zonal"):
        shutil.rmtree(os.path.join(path, name))
    attributes = {"_CRS": {"_CRS": {"wkt": srs_of(32633).ExportToWkt()}}, "proj:code": {"proj:code": "EPSG:32633"}}.get(own, {})
    oracle.write(os.path.join(path, "a"), plain_meta((8, 10), "uint16", attributes=attributes, dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    foreign = {"crs_wkt": srs_of(32634).ExportToWkt()}
    oracle.write(os.path.join(path, "spatial_ref"), plain_meta((), "int64", attributes=foreign), np.int64(0))
    update(path, "/a").SetGeoTransform(transform)
    seen = open_ours(name_of(path, "/a"))
    assert geotransform(seen) == transform
    assert seen.GetSpatialRef().GetAuthorityCode(None) == (code if own else "32634")  # as before, and as in rioxarray
    assert own is None or attributes_of(path, "spatial_ref") == foreign


@pytest.mark.parametrize("other", ["zonal", None])
def test_a_crs_changes_the_units_of_both_axes_or_of_none(tmp_path, other):
    """zonal(y), which does not follow, has y in degrees."""
    path = georeferenced(tmp_path / "a.zarr", ("degrees_north", "degrees_east"), (1e5, 1e5), mapping=None)
    for name in {"b", "zonal"} - {other}:
        shutil.rmtree(os.path.join(path, name))
    dataset = update(path, "/a")
    before = geotransform(dataset)
    dataset.SetSpatialRef(srs_of(32634))
    dataset = None
    assert [attributes_of(path, name)["units"] for name in "yx"] == (["degrees_north", "degrees_east"] if other else ["m", "m"])
    seen = open_ours(name_of(path, "/a"))
    assert geotransform(seen) == pytest.approx(before) and seen.GetSpatialRef().GetAuthorityCode(None) == "32634"


@pytest.mark.parametrize("first", ["crs", "transform"])
@pytest.mark.parametrize("style", ["ALL", "CF", "SPATIAL_PROJ"])
def test_crs_and_transform_of_two_sessions_are_both_stored(tmp_path, first, style):
    path, array = str(tmp_path / "a.zarr"), None
    copy(path, source(np.ones((8, 10), "uint8"), UTM, "EPSG:32633"), GEOREFERENCING=style)
    sessions = [update(path, array), update(path, array)]
    for session in sessions:
        assert geotransform(session) == UTM and session.GetSpatialRef() is not None
    del session
    sessions[0].SetSpatialRef(srs_of(32634))
    sessions[1].SetGeoTransform((600000, 20, 0, 5000000, 0, -20))
    while sessions:
        sessions.pop(0 if first == "crs" else -1)
    seen = open_ours(name_of(path, array))
    assert geotransform(seen) == (600000, 20, 0, 5000000, 0, -20) and seen.GetSpatialRef().GetAuthorityCode(None) == "32634"


@pytest.mark.parametrize("transform", [(1, 0, 0, 2, 0, 0), (float("nan"), 1, 0, 2, 0, -1), (0, 1, 1, 0, 1, 1)])
def test_singular_transform_is_refused_and_the_stored_one_stays(tmp_path, transform):
    path = georeferenced(tmp_path / "a.zarr")
    before, dataset = nodes_of(path), update(path, "/a")
    assert "can be inverted" in error_of(dataset.SetGeoTransform, transform)
    assert geotransform(dataset) == UTM
    dataset = None
    assert nodes_of(path) == before


@pytest.mark.parametrize("edit", ["item", "domain", "registration"])
def test_registration_stored_twice_is_kept_unless_it_changes(tmp_path, edit):
    path = tmp_path / "a.zarr"
    attributes = {**spatial_proj((10, 0, 500000, 0, -10, 5000000), "EPSG:32633"), "AREA_OR_POINT": "Area"}
    oracle.put(str(path), {"zarr.json": group_meta()})
    oracle.write(str(path / "a"), plain_meta((8, 10), "uint16", attributes=attributes, dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    dataset = update(str(path), "/a")
    if edit == "registration":
        dataset.SetMetadataItem("AREA_OR_POINT", "Point")
    else:
        dataset.SetMetadataItem("k", "v", *["D"] * (edit == "domain"))
    dataset = None
    after = attributes_of(str(path), "a")
    assert after.get("AREA_OR_POINT") == (None if edit == "registration" else "Area")
    assert open_ours(name_of(str(path), "/a")).GetMetadataItem("AREA_OR_POINT") == ("Point" if edit == "registration" else "Area")


def test_a_registration_that_is_neither_area_nor_point_is_refused(tmp_path):
    path = georeferenced(tmp_path / "a.zarr")
    before, dataset = nodes_of(path), update(path, "/a")
    for action in (lambda: dataset.SetMetadataItem("AREA_OR_POINT", "q"), lambda: dataset.SetMetadata({"AREA_OR_POINT": "q", "k": "v"})):
        assert 'AREA_OR_POINT: expected Area or Point, found "q"' in error_of(action)
    dataset = None
    assert nodes_of(path) == before


@pytest.mark.parametrize("name, value, beside, then", [
    ("AREA_OR_POINT", "Point", "Point", "Point"), ("AREA_OR_POINT", None, None, "Area"), ("area_or_point", "Point", None, "Point"),
    ("k", "v", "Point", "Point")])
def test_a_registration_that_is_set_is_the_stores(tmp_path, config, name, value, beside, then):
    """Also when a side-car file has it, without a value, and in any case."""
    config("GDAL_PAM_ENABLED", "YES")
    path = str(tmp_path / "a.zarr")
    copy(path, source(np.ones((8, 10), "uint8"), UTM, "EPSG:32633"))
    if then == "Area":
        update(path).SetMetadataItem("AREA_OR_POINT", "Point")
    if beside:
        open_ours(path).SetMetadataItem("AREA_OR_POINT", beside)
    update(path).SetMetadataItem(name, value)
    metadata = open_ours(path).GetMetadata()
    assert metadata["AREA_OR_POINT"] == then and "area_or_point" not in metadata and geotransform(open_ours(path)) == UTM


@pytest.mark.parametrize("edit", ["SetScale", "SetOffset"])
def test_a_scale_that_is_not_finite_is_refused(tmp_path, edit):
    path = georeferenced(tmp_path / "a.zarr")
    before, dataset = nodes_of(path), update(path, "/a")
    for value in (float("nan"), float("inf")):
        assert "expected a finite" in error_of(lambda: getattr(dataset.GetRasterBand(1), edit)(value))
    dataset = None
    array = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE).GetRootGroup().OpenMDArray("a")
    assert "expected a finite" in error_of(lambda: getattr(array, edit)(float("nan")))
    array = None
    assert nodes_of(path) == before


@pytest.mark.parametrize("mapping", [None, MAPPING])
def test_a_registration_changes_no_other_array_and_no_other_attribute(tmp_path, mapping):
    """Neither of the array nor of those beside it, whose place CF tells."""
    path = georeferenced(tmp_path / "a.zarr", mapping=mapping)
    before = nodes_of(path)
    update(path, "/a").SetMetadataItem("AREA_OR_POINT", "Point")
    after = nodes_of(path)
    assert after["a"].pop("AREA_OR_POINT") == "Point" and after == before
    assert open_ours(name_of(path, "/a")).GetMetadataItem("AREA_OR_POINT") == "Point"


@pytest.mark.parametrize("kind", ["others", "CF", "ALL", "no transform"])
@pytest.mark.parametrize("way", ["item", "list"])
def test_points_stay_points_in_every_store(tmp_path, kind, way):
    path, array = str(tmp_path / "a.zarr"), None
    if kind == "others":
        path, array = georeferenced(path), "/a"
    else:
        copy(path, source(np.ones((8, 10), "uint8"), *([] if kind == "no transform" else [UTM, "EPSG:32633"])),
             GEOREFERENCING="CF" if kind == "CF" else "ALL")
    opened = lambda: open_ours(name_of(path, array))  # noqa: E731
    assert opened().GetMetadataItem("AREA_OR_POINT") in (None, "Area")
    for value in ("Point", "Area", "Point"):
        dataset = update(path, array)
        if way == "item":
            dataset.SetMetadataItem("AREA_OR_POINT", value)
        else:
            dataset.SetMetadata({"AREA_OR_POINT": value, "k": "v"})
        dataset = None
        assert (opened().GetMetadataItem("AREA_OR_POINT") or "Area") == value
        assert kind == "no transform" or geotransform(opened()) == UTM
    update(path, array).SetMetadata({"k": "w"})
    assert opened().GetMetadata() == {**opened().GetMetadata(), "AREA_OR_POINT": "Point", "k": "w"}


def test_a_copy_of_points_in_cf_alone_is_one_of_points(tmp_path):
    mem = source(np.ones((8, 10), "uint8"), UTM, "EPSG:32633")
    mem.SetMetadataItem("AREA_OR_POINT", "Point")
    copy(str(tmp_path / "a.zarr"), mem, GEOREFERENCING="CF")
    seen = open_ours(str(tmp_path / "a.zarr"))
    assert seen.GetMetadataItem("AREA_OR_POINT") == "Point" and geotransform(seen) == UTM


# ------------------------------------------------------------------------------------------- what zarr-python consolidates

def new_array(dataset):
    group = dataset.GetRootGroup().OpenGroup("g").OpenGroup("full")
    group.CreateMDArray("w", group.OpenMDArray("v").GetDimensions(), gdal.ExtendedDataType.Create(gdal.GDT_Byte))


def group_attribute(dataset):
    attribute = dataset.GetRootGroup().OpenGroup("g").CreateAttribute("k", [], gdal.ExtendedDataType.CreateString())
    attribute.Write("v")


NESTED_EDITS = {  # {name: (edit, members of groups by then)}
    "item": (lambda dataset: dataset.SetMetadataItem("k", "v"), {}),
    "group": (group_attribute, {}),
    "new": (new_array, {"g/full": ["v", "w"]}),
    "delete": (lambda dataset: dataset.GetRootGroup().OpenGroup("g").OpenGroup("full").DeleteMDArray("v"), {"g/full": []}),
    "rename": (lambda dataset: dataset.GetRootGroup().OpenGroup("g").Rename("h"), {})}


@pytest.mark.parametrize("name", NESTED_EDITS)
def test_zarr_python_finds_all_members_after_an_edit_of_what_it_consolidated(tmp_path, name):
    """An empty listing is in each group that the root lists: without it zarr-python lists the store for the members of an empty one."""
    edit, changed = NESTED_EDITS[name]
    if name in ("delete", "rename") and not hasattr(gdal.Group, "Rename"):
        pytest.skip("this GDAL neither deletes nor renames")
    run_peer("zarr_python_nested.py", "make", tmp_path)
    path = str(tmp_path / "a.zarr")
    kind = gdal.OF_RASTER if name == "item" else gdal.OF_MULTIDIM_RASTER
    dataset = gdal.OpenEx(name_of(path, "/a") if name == "item" else 'SHARDEDZARR:"%s"' % path, kind | gdal.OF_UPDATE)
    edit(dataset)
    dataset = None
    moved = lambda names: {re.sub("^g", "h", n) if name == "rename" else n: v for n, v in names.items()}  # noqa: E731
    check_consolidated(path)
    run_peer("zarr_python_nested.py", "read", tmp_path)
    expected = moved({"g": ["empty", "full"], "g/empty": [], "g/full": ["v"], **changed})
    assert json.loads((tmp_path / "members.json").read_text()) == {"": sorted({"a", *(n for n in expected if "/" not in n)}), **expected}


def test_edit_drops_nested_consolidated_metadata_that_became_stale(tmp_path):
    """A script may list the document of a group as it is, with what that consolidates."""
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    for name in ("g", "h"):
        oracle.put(os.path.join(path, name), {"zarr.json": group_meta()})
        oracle.write(os.path.join(path, name, "a"), array_meta((8, 10)), np.zeros((8, 10), "uint16"))
        oracle.consolidate(os.path.join(path, name))
    oracle.consolidate(path)
    before = document(path)["consolidated_metadata"]["metadata"]
    assert set(before["g"]["consolidated_metadata"]["metadata"]) == {"a"}
    update(path, "/g/a").SetMetadataItem("k", "v")
    after = document(path)["consolidated_metadata"]["metadata"]
    assert after["g"]["consolidated_metadata"]["metadata"] == {}
    assert document(path, "g")["consolidated_metadata"]["metadata"]["a"] == document(path, "g/a") == after["g/a"]
    check_consolidated(path)


@pytest.mark.parametrize("said", [5, "text", [], [1, 2], [{"a": 1}, {"a": 2}, {"a": 3}], {"a": 1}])
def test_gdal_bands_of_another_form_stays_until_single_bands_differ(tmp_path, said):
    path = tmp_path / "a.zarr"
    oracle.put(str(path), {"zarr.json": group_meta()})
    meta = plain_meta((2, 8, 10), "uint16", attributes={"gdal:bands": said}, dimension_names=["band", "y", "x"])
    oracle.write(str(path / "a"), meta, np.ones((2, 8, 10), "uint16"))
    dataset = update(str(path), "/a")
    for band in (dataset.GetRasterBand(1), dataset.GetRasterBand(2)):
        band.SetUnitType("K")
    dataset.SetMetadataItem("k", "v")
    dataset = None
    assert attributes_of(str(path), "a") == {"gdal:bands": said, "units": "K", "k": "v"}
    dataset = update(str(path), "/a")
    dataset.GetRasterBand(1).SetUnitType("m")
    dataset = None
    assert attributes_of(str(path), "a") == {"gdal:bands": [{"unit": "m"}, {}], "units": "K", "k": "v"}


def test_categories_that_are_there_leave_the_flags(tmp_path):
    path = store(tmp_path / "b.zarr", {"flag_values": [0, 1], "flag_meanings": "land sea"})
    dataset = gdal.OpenEx(path, gdal.OF_UPDATE)
    dataset.GetRasterBand(1).SetCategoryNames(["land", "sea"])
    dataset = None
    assert attributes_of(path) == {"flag_values": [0, 1], "flag_meanings": "land sea"}
