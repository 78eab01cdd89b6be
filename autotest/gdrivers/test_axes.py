"""Copies keep the dimensions that the bands of their source are flattened from (time, level ...): their values, units and calendars.
And bands are described by what means something: an index does not."""
import json
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta, sharding, write_coordinate
from support import GDAL, error_of, need, open_array, open_ours, read_all, run_peer
from writing import UTM, check_consolidated, copy, document, driver, source

TIME = {"units": "hours since 2024-05-01 00:00:00", "calendar": "proleptic_gregorian", "standard_name": "time", "axis": "T"}
LEVEL = {"units": "hPa", "positive": "down", "long_name": "pressure level"}
TYPES = {"float64": gdal.GDT_Float64, "float32": gdal.GDT_Float32, "int32": gdal.GDT_Int32, "int16": gdal.GDT_Int16}
SIZE = (20, 30)


def multidimensional(path, driver_name, axes, size=SIZE):
    """A file of GDAL's multidimensional API with a variable t2m along axes {name: (values, data type, attributes)}, y and x."""
    gdal_driver = gdal.GetDriverByName(driver_name)
    need("GDAL's %s driver" % driver_name, gdal_driver)
    dataset = gdal_driver.CreateMultiDimensional(str(path))
    root, dimensions = dataset.GetRootGroup(), []
    place = {"y": (50.0 - np.arange(size[0]), "float64", {"units": "degrees_north", "standard_name": "latitude"}),
             "x": (10.0 + np.arange(size[1]), "float64", {"units": "degrees_east", "standard_name": "longitude"})}
    for name, (values, data_type, attributes) in {**axes, **place}.items():
        dimension = root.CreateDimension(name, {"y": "HORIZONTAL_Y", "x": "HORIZONTAL_X"}.get(name), None, len(values))
        variable = root.CreateMDArray(name, [dimension], gdal.ExtendedDataType.Create(TYPES[data_type]))
        for key, text in attributes.items():
            variable.CreateAttribute(key, [], gdal.ExtendedDataType.CreateString()).Write(text)
        variable.Write(np.array(values, data_type))
        if driver_name == "Zarr":
            dimension.SetIndexingVariable(variable)
        dimensions.append(dimension)
    data = root.CreateMDArray("t2m", dimensions, gdal.ExtendedDataType.Create(gdal.GDT_Float32))
    data.SetUnit("K")
    pixels = counting([d.GetSize() for d in dimensions], "float32")
    data.Write(pixels)
    return pixels


def netcdf(path, **axes):
    multidimensional(path, "netCDF", axes)
    return gdal.Open(str(path))


def axis(path, name):
    """(values, attributes) of a coordinate variable of a store."""
    meta, values = oracle.read(os.path.join(str(path), name))
    assert meta["dimension_names"] == [name]
    return values.tolist(), meta["attributes"]


def dimensions(path, array):
    return dict(zip(document(path, array)["dimension_names"], document(path, array)["shape"]))


def leftovers(path, array):
    """What of the metadata that speak of axes is still there."""
    text = json.dumps(document(path, array)["attributes"])
    return [word for word in ("NETCDF_DIM", "DIM_", "time#", "level#", "2024-05-01T") if word in text]


def stacked(items, shape=SIZE, **metadata):
    """A raster in memory whose bands have these metadata, {name: text} for each, and whose dataset has `metadata`."""
    dataset = source(counting((len(items), *shape), "uint16"))
    dataset.SetMetadata({name.replace("__", "#"): text for name, text in metadata.items()})
    for number, item in enumerate(items):
        dataset.GetRasterBand(number + 1).SetMetadata(item)
    return dataset


def assert_counted(path, array, count):
    """The bands of a copy are just counted."""
    assert list(dimensions(path, array).items())[0] == ("band", count)
    assert axis(path, "band")[0] == list(range(1, count + 1))


# ------------------------------------------------------------------------------------------------------------ netCDF

@pytest.mark.parametrize("values, data_type, attributes", [
    ([0, 6, 12], "float64", TIME), ([0, 6, 13], "int32", TIME), ([0.1, 1 / 3, 2.5], "float64", {**TIME, "units": "days since 1900-01-01"}),
    ([58, 59, 60], "int32", {**TIME, "units": "days since 2000-01-01", "calendar": "noleap"}), ([7], "int32", TIME),
    ([29, 30], "int16", {**TIME, "units": "days since 2000-02-01", "calendar": "360_day"})], ids=str)
def test_xarray_sees_the_times_of_the_netcdf_file(tmp_path, values, data_type, attributes):
    copy(tmp_path / "c.zarr", netcdf(tmp_path / "a.nc", time=(values, data_type, attributes)))
    run_peer("xarray_axes.py", tmp_path / "answer.json", tmp_path / "a.nc", tmp_path / "c.zarr")
    theirs, ours = json.loads((tmp_path / "answer.json").read_text()).values()
    assert ours == theirs and ours["time"]["time"]["calendar"] == attributes["calendar"]
    assert len(ours["time"]["values"]) == len(values)


def test_netcdf_time_becomes_a_dimension_and_its_items_are_dropped(tmp_path):
    dataset = netcdf(tmp_path / "a.nc", time=([0, 6, 12], "float64", TIME))
    made = copy(tmp_path / "c.zarr", dataset)
    assert dimensions(tmp_path / "c.zarr", "c") == {"time": 3, "y": 20, "x": 30}
    assert axis(tmp_path / "c.zarr", "time") == ([0, 6, 12], TIME)
    np.testing.assert_array_equal(read_all(made), read_all(dataset))
    assert leftovers(tmp_path / "c.zarr", "c") == []
    assert [made.GetRasterBand(b).GetMetadataItem("DIM_time_VALUE") for b in (1, 2, 3)] == [
        "2024-05-01T00:00:00", "2024-05-01T06:00:00", "2024-05-01T12:00:00"]
    assert made.GetMetadataItem("time#units") == TIME["units"] and made.GetRasterBand(1).GetUnitType() == "K"
    check_consolidated(tmp_path / "c.zarr")


def two_axes(path):
    return netcdf(path, time=([0, 6, 12], "int32", TIME), level=([1000, 0.1], "float32", LEVEL))


@pytest.mark.parametrize("options", [{}, {"CHUNK_SHAPE": "2,1,16,16", "SHARD_SHAPE": "4,2,32,32"}, {"INTERLEAVE": "PIXEL"}, {"OVERVIEWS": "2,4"}], ids=str)
def test_several_dimensions_keep_their_order(tmp_path, options):
    dataset = two_axes(tmp_path / "a.nc")
    made = copy(tmp_path / "c.zarr", dataset, **options)
    assert dimensions(tmp_path / "c.zarr", "c") == {"time": 3, "level": 2, "y": 20, "x": 30}
    values, attributes = axis(tmp_path / "c.zarr", "level")
    assert np.array(values, "float32").tolist() == np.array([1000, 0.1], "float32").tolist() and attributes == LEVEL
    assert document(tmp_path / "c.zarr", "level")["data_type"] == "float32"
    np.testing.assert_array_equal(read_all(made), read_all(dataset))
    assert leftovers(tmp_path / "c.zarr", "c") == []
    if "OVERVIEWS" in options:
        assert made.GetRasterBand(6).GetOverviewCount() == 2
        assert dimensions(tmp_path / "c.zarr", "ovr_2x/c") == {"time": 3, "level": 2, "y_2x": 10, "x_2x": 15}


def test_time_survives_conversion_through_geotiff(tmp_path):
    gdal.Translate(str(tmp_path / "a.tif"), netcdf(tmp_path / "a.nc", time=([0, 6, 12], "float64", TIME)))
    copy(tmp_path / "c.zarr", gdal.Open(str(tmp_path / "a.tif")))
    assert axis(tmp_path / "c.zarr", "time") == ([0, 6, 12], TIME)


# --------------------------------------------------------------------------------------------------------- subsets, copies

def test_a_subset_of_bands_keeps_its_values(tmp_path):
    first = copy(tmp_path / "a.zarr", netcdf(tmp_path / "a.nc", time=([0, 6, 12, 18, 24], "float64", TIME)))
    for name, dataset in (("b", first), ("c", gdal.Open(str(tmp_path / "a.nc")))):
        target = str(tmp_path / (name + ".zarr"))
        gdal.Translate(target, dataset, format="ShardedZarr", bandList=[2, 5], creationOptions=["OVERVIEWS=NONE"])
        assert axis(target, "time") == ([6, 24], TIME), name
        np.testing.assert_array_equal(read_all(open_ours(target)), read_all(dataset)[[1, 4]])
    gdal.Translate(str(tmp_path / "d.zarr"), first, format="ShardedZarr", bandList=[5])
    assert axis(tmp_path / "d.zarr", "time")[0] == [24] and dimensions(tmp_path / "d.zarr", "d")["time"] == 1


def test_a_copy_of_a_copy_is_the_same(tmp_path):
    first = copy(tmp_path / "a.zarr", two_axes(tmp_path / "a.nc"), ARRAY_NAME="t2m")
    second = copy(tmp_path / "b.zarr", first, ARRAY_NAME="t2m")
    copy(tmp_path / "c.zarr", second, ARRAY_NAME="t2m")
    documents = [{node: document(tmp_path / store, node) for node in ("", "t2m", "time", "level")} for store in ("a.zarr", "b.zarr", "c.zarr")]
    assert documents[0] == documents[1] == documents[2]
    assert axis(tmp_path / "c.zarr", "level") == axis(tmp_path / "a.zarr", "level")
    np.testing.assert_array_equal(read_all(second), read_all(first))


def write_cube(path, attributes=None, **coordinates):
    """A store as others write it: (time, member, y, x); coordinates are (values, attributes, data type)."""
    oracle.write(path, group_meta())
    shape = (2, 3, *SIZE)
    oracle.write(os.path.join(str(path), "t2m"),
                 array_meta(shape, shard=(2, 2, 32, 32), codecs=[sharding((1, 1, 32, 32))], dimension_names=["time", "member", "y", "x"],
                            attributes=attributes or {}), counting(shape))
    for name, (values, attributes, data_type) in coordinates.items():
        write_coordinate(path, name, values, attributes, data_type)
    return open_array(path, "/t2m")


def test_copies_of_stores_of_other_writers_keep_their_dimensions(tmp_path):
    nanoseconds = {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}
    made = write_cube(tmp_path / "a", {"long_name": "temperature"}, member=([0.1, 0.2, 0.7], {"units": "1"}, "float32"),
                      time=(np.array([1714521600000000000, 1714543200000000001], "int64"), {"long_name": "time"}, nanoseconds))
    copied = copy(tmp_path / "c.zarr", made)
    assert dimensions(tmp_path / "c.zarr", "c") == {"time": 2, "member": 3, "y": 20, "x": 30}
    assert axis(tmp_path / "c.zarr", "time") == ([1714521600000000000, 1714543200000000001], {
        "long_name": "time", "units": "nanoseconds since 1970-01-01", "calendar": "proleptic_gregorian"})
    assert axis(tmp_path / "c.zarr", "member") == (np.array([0.1, 0.2, 0.7], "float32").tolist(), {"units": "1"})
    assert document(tmp_path / "c.zarr", "c")["attributes"]["long_name"] == "temperature"
    assert [copied.GetRasterBand(b).GetDescription() for b in (1, 6)] == [made.GetRasterBand(b).GetDescription() for b in (1, 6)]
    assert copied.GetRasterBand(6).GetDescription() == "temperature, time=2024-05-01T06:00:00.000000001, member=0.7"
    np.testing.assert_array_equal(read_all(copied), read_all(made))


def test_attributes_of_a_coordinate_that_differ_in_case_are_others(tmp_path):
    made = write_cube(tmp_path / "a", member=([0.1, 0.2, 0.7], {"Data_Type": "float32", "Scale_Factor": "2"}, "float64"))
    copy(tmp_path / "c.zarr", made)
    assert axis(tmp_path / "c.zarr", "member") == ([0.1, 0.2, 0.7], {"Data_Type": "float32", "Scale_Factor": "2"})


def test_a_dimension_without_coordinates_keeps_its_name(tmp_path):
    made = write_cube(tmp_path / "a", time=([3, 4], {"units": "days since 2024-01-01"}, "int64"))
    copy(tmp_path / "c.zarr", made)
    assert dimensions(tmp_path / "c.zarr", "c") == {"time": 2, "member": 3, "y": 20, "x": 30}
    assert not (tmp_path / "c.zarr" / "member").exists() and axis(tmp_path / "c.zarr", "time")[0] == [3, 4]


def test_appended_array_has_names_of_its_own_for_dimensions_of_the_root(tmp_path):
    copy(tmp_path / "a.zarr", netcdf(tmp_path / "a.nc", time=([0, 6], "float64", TIME)))
    for name, options, names in (("b", [], ["time_b", "y_b", "x_b"]), ("c", ["DIM_NAMES=time,y,x"], ["time", "y", "x"])):
        dataset = netcdf(tmp_path / (name + ".nc"), time=([0, 12], "float64", TIME))
        driver().CreateCopy(str(tmp_path / "a.zarr"), dataset, options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=" + name, "OVERVIEWS=NONE"] + options)
        assert list(dimensions(tmp_path / "a.zarr", name + "/" + name)) == names
        assert oracle.read(str(tmp_path / "a.zarr" / name / names[0]))[1].tolist() == [0, 12]


# --------------------------------------------------------------------------------------------------------- GDAL's Zarr driver

@pytest.mark.skipif(GDAL < 3080000, reason="before 3.8 GDAL's Zarr driver makes no bands of other dimensions")
def test_axes_of_gdals_zarr_driver(tmp_path):
    multidimensional(tmp_path / "a.zarr", "Zarr", {"time": ([0, 6, 12], "float64", TIME), "level": ([1000, 850], "int32", LEVEL)})
    dataset = gdal.OpenEx(str(tmp_path / "a.zarr"), allowed_drivers=["Zarr"])
    made = copy(tmp_path / "c.zarr", dataset)
    assert dimensions(tmp_path / "c.zarr", "c") == {"time": 3, "level": 2, "y": 20, "x": 30}
    assert axis(tmp_path / "c.zarr", "time") == ([0, 6, 12], {"units": TIME["units"]})  # it tells no more
    assert axis(tmp_path / "c.zarr", "level") == ([1000, 850], {"units": "hPa"})
    np.testing.assert_array_equal(read_all(made), read_all(dataset))


# ---------------------------------------------------------------------------------------------------------------- DIM_NAMES

def test_names_of_dimensions_win_over_those_of_the_source_and_values_stay(tmp_path):
    copy(tmp_path / "c.zarr", netcdf(tmp_path / "a.nc", time=([0, 6, 12], "float64", TIME)), DIM_NAMES="t,lat,lon")
    assert dimensions(tmp_path / "c.zarr", "c") == {"t": 3, "lat": 20, "lon": 30}
    assert axis(tmp_path / "c.zarr", "t") == ([0, 6, 12], TIME) and not (tmp_path / "c.zarr" / "time").exists()


@pytest.mark.parametrize("option", [{"DIM_NAMES": "time,y,x"}, {"DIM_NAMES": "a,b,c,d,e"}, {"CHUNK_SHAPE": "1,1,1,16,16"}], ids=str)
def test_another_number_of_names_or_lengths_than_dimensions_is_refused(tmp_path, option):
    assert "4 n" in error_of(copy, tmp_path / "c.zarr", two_axes(tmp_path / "a.nc"), **option)


def test_a_dimension_name_does_not_turn_numbered_bands_into_times(tmp_path):
    copy(tmp_path / "c.zarr", source(counting((3, *SIZE), "uint8")), DIM_NAMES="time,y,x")
    assert dimensions(tmp_path / "c.zarr", "c")["time"] == 3 and not (tmp_path / "c.zarr" / "time").exists()
    assert open_ours(str(tmp_path / "c.zarr")).GetRasterBand(2).GetDescription() == ""


# ---------------------------------------------------------------------------------------------------------- what is doubtful

def items(**axes):
    """Metadata of bands: NETCDF_DIM_<name> from {name: [text per band]}."""
    return [{"NETCDF_DIM_" + name: str(texts[b]) for name, texts in axes.items() if texts[b] is not None}
            for b in range(len(next(iter(axes.values()))))]


@pytest.mark.parametrize("axes", [
    {"time": [5, 5, 5]}, {"time": [1, 2, 1]}, {"time": [1, None, 3]}, {"time": ["a", "b", "c"]}, {"time": [1, 2, "nan?"]},
    {"time": [0, 0, 6, 6], "level": [1, 2, 1, 3]}, {"time": [0, 0, 6], "level": [1, 2, 1]}, {"time": [0, 6, 6, 0], "level": [1, 1, 2, 2]},
    {"x": [1, 2, 3]}, {"a/b": [1, 2, 3]}, {"..": [1, 2, 3]}, {"spatial_ref": [1, 2]}], ids=str)
def test_ambiguous_axis_items_give_numbered_bands_and_stay_as_metadata(tmp_path, axes):
    metadata = items(**axes)
    made = copy(tmp_path / "c.zarr", stacked(metadata, time__units="hours since 2024-05-01", NETCDF_DIM_EXTRA="{time}"))
    assert_counted(tmp_path / "c.zarr", "c", len(metadata))
    found = [{k: v for k, v in made.GetRasterBand(b + 1).GetMetadata().items() if "NETCDF" in k} for b in range(len(metadata))]
    assert found == metadata and made.GetMetadataItem("time#units") == "hours since 2024-05-01"


# ------------------------------------------------------------------------------------------------------------- descriptions

def described(path, dimension, values, attributes=None, data_type="int64"):
    """Descriptions of the bands of a store as others write it."""
    oracle.write(path, group_meta())
    oracle.write(path / "data", array_meta((len(values), 4, 5), "uint8", dimension_names=[dimension, "y", "x"]))
    write_coordinate(path, dimension, values, attributes, data_type)
    dataset = open_array(path, "/data")
    return [dataset.GetRasterBand(b + 1).GetDescription() for b in range(len(values))]


def on_a_grid(path, dimension, values, attributes=None, data_type="int64"):
    """The same store, in a place: its dataset."""
    described(path, dimension, values, attributes, data_type)
    write_coordinate(path, "x", np.arange(5.0), {"units": "m"})
    write_coordinate(path, "y", np.arange(4.0), {"units": "m"})
    return open_array(path, "/data")


@pytest.mark.parametrize("dimension, values, attributes, data_type, expected", [
    ("wavelength", [492.7, 559.8], {"units": "nm"}, "float64", ["wavelength=492.7", "wavelength=559.8"]),
    ("time", [0, 1], {"units": "days since 2024-05-01"}, "int64", ["2024-05-01T00:00:00", "2024-05-02T00:00:00"]),  # as QGIS reads times
    ("level", [850, 500], {}, "int64", ["level=850", "level=500"]), ("depth", [0, 1], {"units": "m"}, "int64", ["depth=0", "depth=1"]),
    ("band", [3, 1, 4], {}, "int64", ["", "", ""]), ("member", [0, 1, 2], {}, "int64", ["", "", ""]), ("member", [1, 2, 3], {}, "int64", ["", "", ""])])
def test_meaningful_coordinate_values_become_band_descriptions_and_plain_indices_do_not(tmp_path, dimension, values, attributes, data_type, expected):
    assert described(tmp_path, dimension, values, attributes, data_type) == expected


def test_the_title_of_a_series_does_not_hide_its_times(tmp_path):
    """`to_datetime(@band_description)` of QGIS reads the whole description."""
    store = tmp_path / "s.zarr"
    oracle.write(store, group_meta())
    oracle.write(store / "data", array_meta((2, 4, 5), "uint8", dimension_names=["time", "y", "x"], attributes={"long_name": "temperature"}))
    write_coordinate(store, "time", [0, 1], {"units": "days since 2024-05-01"}, "int64")
    dataset = open_array(store, "/data")
    assert [dataset.GetRasterBand(b).GetDescription() for b in (1, 2)] == ["2024-05-01T00:00:00", "2024-05-02T00:00:00"]
    made = copy(tmp_path / "c.zarr", dataset)
    assert [made.GetRasterBand(b).GetDescription() for b in (1, 2)] == ["2024-05-01T00:00:00", "2024-05-02T00:00:00"]
    assert document(tmp_path / "c.zarr", "c")["attributes"]["long_name"] == "temperature" and leftovers(tmp_path / "c.zarr", "c") == []


@pytest.mark.parametrize("values, data_type, numbers, type_number", [
    ([0, 6, 12], "int64", "0,6,12", 4), ([0, 6, 12], "uint8", "0,6,12", 4), ([0.5, 6, 12.25], "float64", "0.5,6,12.25", 6),
    ([0.1, 6, 12], "float32", "0.1,6,12", 5), ([-3, 0, 3 * 10**9], "int64", "-3,0,3000000000", 6)])
def test_coordinates_of_one_dimension_become_netcdf_dim_items(tmp_path, values, data_type, numbers, type_number):
    """Which rioxarray and copies to netCDF understand."""
    store = tmp_path / "s.zarr"
    dataset = on_a_grid(store, "time", values, {"units": "seconds since 2024-05-01"}, data_type)
    told = {name: value for name, value in dataset.GetMetadata().items() if name.startswith("NETCDF")}
    assert told == {"NETCDF_DIM_EXTRA": "{time}", "NETCDF_DIM_time_DEF": "{3,%d}" % type_number, "NETCDF_DIM_time_VALUES": "{%s}" % numbers}
    assert [dataset.GetRasterBand(b + 1).GetMetadataItem("NETCDF_DIM_time") for b in range(3)] == numbers.split(",")
    assert open_array(store, "/data").GetMetadataItem("NETCDF_DIM_EXTRA") == "{time}"
    part = open_array(store, "/data:time=1..2")
    assert part.GetMetadataItem("NETCDF_DIM_time_VALUES") == "{%s}" % numbers[numbers.index(",") + 1:]
    assert open_array(store, "/data:1").GetMetadataItem("NETCDF_DIM_EXTRA") is None
    made = gdal.GetDriverByName("netCDF").CreateCopy(str(tmp_path / "c.nc"), dataset)
    assert made is not None and gdal.GetLastErrorMsg() == ""
    del made
    assert gdal.Open(str(tmp_path / "c.nc")).GetMetadataItem("NETCDF_DIM_time_VALUES") == "{%s}" % numbers
    copy(tmp_path / "c.zarr", dataset)
    variable = document(tmp_path / "c.zarr", "time")
    assert variable["data_type"] == data_type and axis(tmp_path / "c.zarr", "time")[0] == [np.dtype(data_type).type(v) for v in values]
    assert leftovers(tmp_path / "c.zarr", "c") == []


def test_band_numbers_are_neither_metadata_nor_descriptions(tmp_path):
    made = copy(tmp_path / "a.zarr", source(counting((3, *SIZE), "uint8"), UTM, "EPSG:32632"))
    tif = gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / "a.tif"), made)
    for dataset in (made, tif):
        assert [dataset.GetRasterBand(b).GetMetadata() for b in (1, 2, 3)] == [{}] * 3
        assert [dataset.GetRasterBand(b).GetDescription() for b in (1, 2, 3)] == ["", "", ""]
        assert not [name for name in dataset.GetMetadata() if "band" in name]
    described(tmp_path / "b", "band", [8, 4, 3])  # these are names
    assert open_array(tmp_path / "b", "/data").GetRasterBand(1).GetMetadata() == {"DIM_band_INDEX": "0", "DIM_band_VALUE": "8", "NETCDF_DIM_band": "8"}
