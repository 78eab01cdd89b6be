"""Groups, arrays, dimensions and attributes of a store through the multidimensional API, and GDAL's tools that use it."""
import glob
import json
import os
import subprocess

import numpy as np
import pytest
from osgeo import gdal

import oracle
import stores
from mdim import attributes_of, only_array, open_mdim, root_of
from support import FIXTURES, error_of, fixture_path, name_of, need, run_peer

def write_group(path, attributes=None, **members):
    oracle.put(path, {"zarr.json": stores.group_meta(attributes, **members)})
    return str(path)


def write_array(path, shape, data_type="uint16", **members):
    values = stores.counting(shape, data_type)
    return oracle.write(path, stores.array_meta(shape, data_type, **members), values), values


@pytest.fixture
def tree(tmp_path):
    """A store: /t (time, y, x) with coordinates, /sub/deep/u (y, x), /sub/plain, and an array nobody can read."""
    root = write_group(tmp_path / "tree.zarr", {"title": "trees", "n": 3})
    write_array(tmp_path / "tree.zarr" / "t", [3, 4, 6], "int16", dimension_names=["time", "y", "x"],
                attributes={"scale_factor": 0.5, "add_offset": 10, "units": "K", "_FillValue": -9, "long_name": "temperature",
                            "proj:code": "EPSG:32633"})
    stores.write_coordinate(root, "time", [0, 6, 12], {"units": "hours since 2024-05-01", "calendar": "standard"}, "int32")
    stores.write_coordinate(root, "y", [40.0, 30, 20, 10], {"standard_name": "projection_y_coordinate", "units": "m"})
    stores.write_coordinate(root, "x", [0.0, 10, 20, 30, 40, 50], {"axis": "X"})
    write_group(tmp_path / "tree.zarr" / "sub")
    write_group(tmp_path / "tree.zarr" / "sub" / "deep", {"depth": 2})
    write_array(tmp_path / "tree.zarr" / "sub" / "deep" / "u", [4, 6], dimension_names=["y", "x"])
    write_array(tmp_path / "tree.zarr" / "sub" / "plain", [4, 6], codecs=[stores.LITTLE, stores.ZSTD])
    odd = tmp_path / "tree.zarr" / "odd"
    odd.mkdir()
    (odd / "zarr.json").write_text(json.dumps(stores.array_meta([4], "uint16", codecs=[stores.codec("nobody.knows")])))
    return root


def test_groups_and_arrays_are_listed_and_opened(tree):
    root = root_of(tree)
    assert (root.GetName(), root.GetFullName()) == ("/", "/")
    assert root.GetMDArrayNames() == ["time", "x", "y", "odd", "t"]
    assert root.GetGroupNames() == ["sub"]
    sub = root.OpenGroup("sub")
    assert (sub.GetName(), sub.GetFullName(), sub.GetGroupNames(), sub.GetMDArrayNames()) == ("sub", "/sub", ["deep"], ["plain"])
    u = root.OpenMDArrayFromFullname("/sub/deep/u")
    assert (u.GetName(), u.GetFullName()) == ("u", "/sub/deep/u")
    np.testing.assert_array_equal(u.ReadAsArray(), stores.counting([4, 6]))
    np.testing.assert_array_equal(sub.OpenMDArray("plain").ReadAsArray(), stores.counting([4, 6]))
    assert attributes_of(root) == {"title": "trees", "n": 3}
    assert root.ResolveMDArray("u", "/sub").GetFullName() == "/sub/deep/u"


def test_absent_nodes_are_none(tree):
    root = root_of(tree)
    gdal.DontUseExceptions()
    try:
        for name in ("nobody", "sub", "..", "sub/plain", "", "/t"):
            gdal.ErrorReset()
            assert root.OpenMDArray(name) is None, name
        for name in ("nobody", "t", "..", "sub/deep", ""):
            assert root.OpenGroup(name) is None, name
    finally:
        gdal.UseExceptions()


def test_unreadable_array_is_listed_and_its_error_says_why(tree):
    assert "nobody.knows" in error_of(root_of(tree).OpenMDArray, "odd")


def test_array_has_unit_scale_offset_nodata_and_crs(tree):
    t = root_of(tree).OpenMDArray("t")
    assert (t.GetScale(), t.GetOffset(), t.GetUnit(), t.GetNoDataValueAsDouble()) == (0.5, 10.0, "K", -9.0)
    assert attributes_of(t) == {"long_name": "temperature", "proj:code": "EPSG:32633"}
    assert t.GetBlockSize() == [2, 2, 3]
    srs = t.GetSpatialRef()
    assert srs.GetAuthorityCode(None) == "32633" and srs.GetDataAxisToSRSAxisMapping() == [3, 2]
    info = t.GetStructuralInfo()
    assert json.loads(info["CODECS"])[0]["name"] == "sharding_indexed" and info["SHARD_SHAPE"] == "4,4,6"


def test_dimensions_have_types_directions_and_variables(tree):
    root = root_of(tree)
    found = {d.GetName(): (d.GetFullName(), d.GetSize(), d.GetType(), d.GetDirection()) for d in root.GetDimensions()}
    assert found == {"time": ("/time", 3, "TEMPORAL", "FUTURE"), "y": ("/y", 4, "HORIZONTAL_Y", "NORTH"),
                     "x": ("/x", 6, "HORIZONTAL_X", "EAST")}
    time = root.OpenMDArray("t").GetDimensions()[0].GetIndexingVariable()
    assert (time.GetFullName(), time.GetUnit(), list(time.ReadAsArray())) == ("/time", "hours since 2024-05-01", [0, 6, 12])
    assert time.GetNoDataValueAsRaw() is None, "0 is a time like others"
    assert attributes_of(time) == {"calendar": "standard"}
    own = time.GetDimensions()[0].GetIndexingVariable()
    assert own.GetFullName() == "/time"


def test_unnamed_dimensions_belong_to_their_array(tree):
    plain = root_of(tree).OpenGroup("sub").OpenMDArray("plain")
    assert [(d.GetName(), d.GetFullName(), d.GetSize(), d.GetIndexingVariable()) for d in plain.GetDimensions()] == [
        ("dim0", "dim0", 4, None), ("dim1", "dim1", 6, None)]


def test_coordinates_of_groups_above_are_found_where_looking_costs_nothing(tmp_path):
    x, u = stores.plain_meta([3], "float64", dimension_names=["x"]), stores.array_meta([2, 3], dimension_names=["y", "x"])
    root = write_group(tmp_path / "c.zarr", consolidated_metadata={
        "kind": "inline", "must_understand": False, "metadata": {"x": x, "g": stores.group_meta(), "g/u": u}})
    oracle.write(tmp_path / "c.zarr" / "x", x, np.array([1.0, 2, 3]))
    oracle.write(tmp_path / "c.zarr" / "g" / "u", u, stores.counting([2, 3]))
    dims = root_of(root).OpenMDArrayFromFullname("/g/u").GetDimensions()
    assert [d.GetFullName() for d in dims] == ["/g/y", "/x"]
    assert list(dims[1].GetIndexingVariable().ReadAsArray()) == [1, 2, 3]


def test_attributes_of_every_kind_of_json(tmp_path):
    big = 2**63 + 5
    attributes = {"text": "héllo", "empty": "", "small": -3, "long": 2**40, "huge": big, "real": 2.5, "whole": 2.0, "texts": ["a", "b"],
                  "ints": [1, 2, -3], "longs": [1, 2**40], "reals": [1, 2.5], "hugest": [1, big], "object": {"a": [1, None]},
                  "mixed": [1, "a"], "none": [], "null": None, "yes": True, "nested": [[1, 2], [3, 4]]}
    path, _ = write_array(tmp_path / "a.zarr", [4, 4], attributes=attributes)
    array = only_array(path)
    found = {a.GetName(): a for a in array.GetAttributes()}
    assert list(found) == list(attributes)
    plain = {"text", "empty", "small", "long", "huge", "real", "whole", "texts", "ints", "longs", "reals", "hugest"}
    for name, attribute in found.items():
        type_ = attribute.GetDataType()
        if name in plain:
            lists = isinstance(attributes[name], list)
            assert attribute.GetDimensionsSize() == ([len(attributes[name])] if lists else []), name
        else:
            assert type_.GetSubType() == gdal.GEDTST_JSON and json.loads(attribute.ReadAsString()) == attributes[name], name
    types = {name: found[name].GetDataType().GetNumericDataType() for name in ("small", "long", "huge", "real", "whole", "ints", "longs", "reals")}
    assert types == {"small": gdal.GDT_Int32, "long": gdal.GDT_Int64, "huge": gdal.GDT_UInt64, "real": gdal.GDT_Float64,
                     "whole": gdal.GDT_Float64, "ints": gdal.GDT_Int32, "longs": gdal.GDT_Int64, "reals": gdal.GDT_Float64}
    assert found["text"].ReadAsString() == "héllo" and found["texts"].ReadAsStringArray() == ["a", "b"]
    assert list(found["ints"].ReadAsIntArray()) == [1, 2, -3] and list(found["reals"].ReadAsDoubleArray()) == [1, 2.5]
    assert found["small"].ReadAsInt() == -3 and found["long"].ReadAsDouble() == 2.0**40
    assert array.GetAttribute("real").ReadAsDouble() == 2.5


def test_times_of_numpy_have_units_and_a_calendar(tmp_path):
    kind = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    meta = stores.array_meta([4], kind, fill_value="NaT")
    array = only_array(oracle.write(tmp_path / "a.zarr", meta, np.array([0, 60, 120, np.iinfo("int64").min])))
    assert array.GetUnit() == "seconds since 1970-01-01" and attributes_of(array) == {"calendar": "proleptic_gregorian"}
    assert array.GetNoDataValueAsInt64() == np.iinfo("int64").min
    assert list(array.ReadAsArray([1], [2])) == [60, 120]


def test_nodata_is_that_of_the_bands(tmp_path):
    for number, (members, expected) in enumerate([
            ({"fill_value": 7}, 7), ({"fill_value": 7, "attributes": {"_FillValue": 3}}, 3), ({"fill_value": 7, "attributes": {"missing_value": 4}}, 4),
            ({"fill_value": 7, "attributes": {"gdal:no_nodata": True}}, None)]):
        path, _ = write_array(tmp_path / ("%d.zarr" % number), [4, 4], "uint16", **members)
        array = only_array(path)
        assert (array.GetNoDataValueAsDouble() if array.GetNoDataValueAsRaw() is not None else None) == expected
        assert gdal.Open(name_of(path)).GetRasterBand(1).GetNoDataValue() == expected


# --------------------------------------------------------------------------------------------------------------- names

def test_raster_names_open_as_multidimensional_datasets(tree):
    for name in (tree, tree + "/zarr.json", "SHARDEDZARR:" + tree, 'SHARDEDZARR:"%s"' % tree):
        assert open_mdim(name).GetRootGroup().GetMDArrayNames() == ["time", "x", "y", "odd", "t"], name
    assert open_mdim('ZARR:"%s"' % tree).GetRootGroup().GetGroupNames() == ["sub"]


def test_a_group_or_an_array_of_the_store_is_the_root(tree):
    sub = open_mdim("SHARDEDZARR:%s:/sub" % tree).GetRootGroup()
    assert (sub.GetFullName(), sub.GetMDArrayNames(), sub.GetGroupNames()) == ("/", ["plain"], ["deep"])
    assert sub.OpenMDArrayFromFullname("/deep/u").GetFullName() == "/deep/u"
    one = open_mdim("SHARDEDZARR:%s:/sub/deep/u" % tree).GetRootGroup()
    assert (one.GetMDArrayNames(), one.GetGroupNames() or [], attributes_of(one)) == (["u"], [], {"depth": 2})
    np.testing.assert_array_equal(one.OpenMDArray("u").ReadAsArray(), stores.counting([4, 6]))
    assert "indices" in error_of(gdal.OpenEx, "SHARDEDZARR:%s:/t:1" % tree, gdal.OF_MULTIDIM_RASTER)


# --------------------------------------------------------------------------------------------------------------- tools

def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def forecast(tmp_path):
    need("GDAL's netCDF driver", gdal.GetDriverByName("netCDF") is not None)
    run_peer("mdim_netcdf.py", tmp_path, "write")
    return str(tmp_path)


def test_gdalmdiminfo_of_a_store_equals_that_of_its_netcdf_source(forecast):
    zarr = json.loads(run("gdalmdiminfo", "-stats", forecast + "/a.zarr"))
    netcdf = json.loads(run("gdalmdiminfo", "-stats", forecast + "/a.nc"))
    assert zarr["attributes"] == netcdf["attributes"]
    assert {d["name"]: (d["size"], d["type"]) for d in zarr["dimensions"]} == {d["name"]: (d["size"], d["type"]) for d in netcdf["dimensions"]}
    for name, theirs in netcdf["arrays"].items():
        ours = zarr["arrays"][name]
        for key in ("datatype", "dimensions", "dimension_size", "attributes", "unit", "nodata_value", "scale", "offset", "srs"):
            assert ours.get(key) == theirs.get(key), (name, key)
        for key, value in theirs.get("statistics", {}).items():
            assert ours["statistics"][key] == pytest.approx(value), (name, key)


def test_transform_gives_dimensions_indexing_variables(tmp_path):
    place = stores.spatial_proj([10, 0, 500000, 0, -20, 4000000], "EPSG:32633")
    path, values = write_array(tmp_path / "a.zarr", [4, 6], dimension_names=["y", "x"], attributes=place)
    array = only_array(path)
    y, x = (d.GetIndexingVariable() for d in array.GetDimensions())
    assert list(y.ReadAsArray()) == [3999990, 3999970, 3999950, 3999930] and list(x.ReadAsArray())[:2] == [500005, 500015]
    classic = array.AsClassicDataset(1, 0)
    assert classic.GetGeoTransform() == gdal.Open(name_of(path)).GetGeoTransform() == (500000, 10, 0, 4000000, 0, -20)
    assert classic.GetSpatialRef().GetAuthorityCode(None) == "32633"
    np.testing.assert_array_equal(classic.ReadAsArray(), values)


def test_gdalmdimtranslate_takes_parts_of_arrays(forecast):
    parts = []
    for source in ("a.zarr", "a.nc"):
        target = "%s/part_of_%s.nc" % (forecast, source)
        run("gdalmdimtranslate", "-q", "-subset", "longitude(6,9)", "-subset", "time(12)", "-array", "t2m", "%s/%s" % (forecast, source), target)
        parts.append(gdal.OpenEx(target, gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("t2m").ReadAsArray())
    assert parts[0].shape == (3, 20, 7)
    np.testing.assert_array_equal(*parts)


# ----------------------------------------------------------------------------------------------------------- published

TEMPLATES = [name for name in sorted(glob.glob(os.path.join(FIXTURES, "dynamical", "*.json"))) if "gribberish" not in open(name).read()]
TEMPLATES = [os.path.basename(name)[:-len(".json")] for name in TEMPLATES]  # but for those in a codec that is not known here


def template(name, folder):
    """(its zarr.json, as the root of a store of this name in the folder)."""
    with open(fixture_path("dynamical", name + ".json")) as file:
        text = file.read()
    (folder / name).mkdir()
    (folder / name / "zarr.json").write_text(text)
    return json.loads(text)


@pytest.mark.parametrize("name", TEMPLATES)
def test_listing_a_consolidated_store_over_http_is_one_request(tmp_path, server, name):
    listed = template(name, tmp_path)["consolidated_metadata"]["metadata"]
    told = gdal.MultiDimInfo(open_mdim('SHARDEDZARR:"%s"' % server.vsi(name)))
    assert len(server.log) == 1, server.log

    def arrays_of(group, path=""):
        for key, array in group.get("arrays", {}).items():
            yield path + key, array
        for key, below in group.get("groups", {}).items():
            yield from arrays_of(below, path + key + "/")
    arrays = dict(arrays_of(told))
    assert arrays.keys() == {key for key, document in listed.items() if document["node_type"] == "array"}
    for key, array in arrays.items():
        assert array.get("dimension_size", []) == listed[key]["shape"], key
        assert [d.split("/")[-1] for d in array.get("dimensions", [])] == listed[key].get("dimension_names", []), key
        assert array.get("unit", "") == listed[key]["attributes"].get("units", ""), key
