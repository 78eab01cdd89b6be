"""Where the pixels are: geotransform and CRS from every convention, their order of precedence, and what is not believed."""
import gzip
import json
import shutil

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import (GZIP, LITTLE, MULTISCALES, array_meta, convention, counting, group_meta, plain_meta, sharding,
                    spatial_proj, write_coordinate)
from support import (as_raster, assert_pixels, fixture_path, geotransform, held_band, name_of, open_array, open_ours, peak_memory,
                     read_all, same_crs, warnings_of)
from writing import copy, document, source

SHAPE = (4, 6)
NORTH_UP = [10, 0, 500000, 0, -10, 5000000]  # as in spatial:transform
NORTH_UP_GT = (500000, 10, 0, 5000000, 0, -10)
UTM33 = "EPSG:32633"


def wkt(code, version="WKT2_2019"):
    srs = osr.SpatialReference()
    srs.SetFromUserInput(code)
    return srs.ExportToWkt(["FORMAT=" + version])


def projjson(code):
    srs = osr.SpatialReference()
    srs.SetFromUserInput(code)
    return json.loads(srs.ExportToPROJJSON())


def write_data(path, attributes=None, group=None, names=("y", "x"), shape=SHAPE):
    """A group with one sharded array `data`; returns the path of the group."""
    oracle.write(path, group_meta(group))
    oracle.write("%s/data" % path, array_meta(shape, dimension_names=list(names), attributes=attributes or {}), counting(shape))
    return str(path)


def open_data(path):
    return open_array(path, "/data")


def write_xy(path, x, y, x_attributes=None, y_attributes=None, names=("y", "x"), data_type="float64"):
    """Coordinates: the centre of the first cell and the step of each."""
    write_coordinate(path, names[0], y[0] + y[1] * np.arange(SHAPE[0]), y_attributes, data_type)
    write_coordinate(path, names[1], x[0] + x[1] * np.arange(SHAPE[1]), x_attributes, data_type)


def write_grid_mapping(path, name="spatial_ref", **attributes):
    oracle.write("%s/%s" % (path, name), plain_meta((), "int64", attributes=attributes), np.zeros(()))


# ------------------------------------------------------------------------------------------------------- spatial: and proj:

@pytest.mark.parametrize("where", ["array", "group", "split"])
def test_spatial_and_proj_on_the_array_or_its_group(tmp_path, where):
    both = spatial_proj(NORTH_UP, UTM33)
    transform, code = spatial_proj(NORTH_UP), spatial_proj(code=UTM33)
    array, group = {"array": (both, None), "group": (None, both), "split": (transform, code)}[where]
    dataset = open_data(write_data(tmp_path, array, group))
    assert geotransform(dataset) == NORTH_UP_GT and same_crs(dataset, UTM33)


@pytest.mark.parametrize("crs", [{"proj:code": UTM33}, {"proj:wkt2": wkt(UTM33)}, {"proj:projjson": projjson(UTM33)},
                                 {"proj:code": None, "proj:wkt2": wkt(UTM33), "proj:projjson": None},
                                 {"proj:wkt2": wkt(UTM33, "WKT1_GDAL")}],
                         ids=["code", "wkt2", "projjson", "nulls", "wkt1"])
def test_every_form_of_a_proj_crs(tmp_path, crs):
    assert same_crs(open_data(write_data(tmp_path, spatial_proj(NORTH_UP, **crs))), UTM33)


@pytest.mark.parametrize("transform, expected", [
    (NORTH_UP, NORTH_UP_GT), ([10, 0.1, 450000, 0.15, -10, 5000000], (450000, 10, 0.1, 5000000, 0.15, -10)),
    ([0.5, 0, -180, 0, 0.5, -90], (-180, 0.5, 0, -90, 0, 0.5)), ([-10, 0, 0, 0, 10, 0], (0, -10, 0, 0, 0, 10))],
    ids=["north-up", "rotated", "south-up", "mirrored"])
@pytest.mark.parametrize("registration", [None, "pixel", "node"])
def test_transforms_for_pixels_and_nodes(tmp_path, transform, expected, registration):
    more = {"spatial:registration": registration} if registration else {}
    dataset = open_data(write_data(tmp_path, spatial_proj(transform, UTM33, **more)))
    if registration == "node":  # the transform names the centres of the outermost cells
        x, a, b, y, d, e = expected
        expected = (x - (a + b) / 2, a, b, y - (d + e) / 2, d, e)
    assert geotransform(dataset) == pytest.approx(expected)


@pytest.mark.parametrize("attributes", [
    {"spatial:bbox": [0, 0, 0, 0]}, {"spatial:transform": [1, 2, 3]}, {"spatial:transform": ["a"] * 6}, {"spatial:transform": [0] * 6},
    {"spatial:transform": NORTH_UP, "spatial:transform_type": "polynomial"}, {"spatial:bbox": "everywhere"}], ids=str)
def test_invalid_transforms_are_ignored(tmp_path, attributes):
    dataset = open_data(write_data(tmp_path, spatial_proj(None, UTM33, **{"spatial:dimensions": ["y", "x"], **attributes})))
    assert geotransform(dataset) is None and same_crs(dataset, UTM33)
    assert_pixels(dataset, as_raster(counting(SHAPE), "uint16"), windows=1)


@pytest.mark.parametrize("crs", [{"proj:code": "EPSG:0"}, {"proj:code": "nonsense"}, {"proj:wkt2": "PROJCRS["}, {"proj:projjson": {}},
                                 {"proj:code": 4326}], ids=str)
def test_a_crs_that_proj_does_not_know_does_not_hide_the_pixels(tmp_path, crs):
    dataset = open_data(write_data(tmp_path, spatial_proj(NORTH_UP, **crs)))
    assert geotransform(dataset) == NORTH_UP_GT and dataset.GetSpatialRef() is None
    assert_pixels(dataset, as_raster(counting(SHAPE), "uint16"), windows=1)


# ------------------------------------------------------------------------------------------------------------------- CF

@pytest.mark.parametrize("attributes", [{"grid_mapping": "crs"}, {"grid_mapping": "crs: x y"}, {"coordinates": "crs"},
                                        {"coordinates": "valid_time crs lon2d"}], ids=str)
def test_grid_mapping_is_found(tmp_path, attributes):
    path = write_data(tmp_path, attributes)
    write_grid_mapping(path, "crs", crs_wkt=wkt(UTM33, "WKT1_GDAL"), grid_mapping_name="transverse_mercator")
    write_xy(path, (500005, 10), (4999995, -10))
    dataset = open_data(path)
    assert geotransform(dataset) == pytest.approx(NORTH_UP_GT) and same_crs(dataset, UTM33)


@pytest.mark.parametrize("named, where", [("/crs", "crs"), ("/other/crs", "other/crs"), ("../../other/crs", "other/crs"), ("../crs: x y", "g/crs")])
def test_a_grid_mapping_is_found_by_its_path(tmp_path, named, where):
    for group in ("", "/g", "/other"):
        oracle.write(str(tmp_path) + group, group_meta())
    path = write_data(str(tmp_path / "g/h"), {"grid_mapping": named})
    write_grid_mapping(str(tmp_path), where, crs_wkt=[wkt(UTM33)])  # a list of one text, as of HDF5
    write_xy(path, (500005, 10), (4999995, -10))
    assert same_crs(open_array(str(tmp_path), "/g/h/data"), UTM33)
    oracle.write(path + "/track", plain_meta((3,), "uint8", attributes={"grid_mapping": named}, dimension_names=["x"]), np.ones(3, "uint8"))
    group = gdal.OpenEx(str(tmp_path), gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenGroup("g").OpenGroup("h")
    assert same_crs(group.OpenMDArray("track"), UTM33)


@pytest.mark.parametrize("named, where", [("places/crs", "g/places/crs"), ("../other/crs", "other/crs"), ("/other/crs", "other/crs"), ("crs", "g/crs")])
@pytest.mark.parametrize("level", ["h", ""])
def test_a_path_in_the_attribute_of_a_group_starts_at_that_group(tmp_path, named, where, level):
    """Whether the array is in it or is a level that it lays out."""
    layout = {"layout": [{"asset": "h/data"}]}
    oracle.write(str(tmp_path / "g"), group_meta({"grid_mapping": named, "zarr_conventions": [convention(MULTISCALES)], "multiscales": layout}))
    path = write_data(str(tmp_path / "g" / level), group=None if level else {"grid_mapping": named})
    for group in ("", "other", "g/places"):
        oracle.write(str(tmp_path / group), group_meta())
    write_grid_mapping(str(tmp_path), where, crs_wkt=wkt(UTM33))
    write_xy(path, (500005, 10), (4999995, -10))
    assert same_crs(open_array(str(tmp_path), "/" + "/".join(filter(None, ["g", level, "data"]))), UTM33)


@pytest.mark.parametrize("where", ["array", "group"])
@pytest.mark.parametrize("name, wrapped", [("crs", False), ("_CRS", False), ("crs", True)])
def test_wkt_in_an_attribute_is_the_crs_where_nothing_else_is(tmp_path, where, name, wrapped):
    """A list of one text is that text. GDAL's own member is that of an array."""
    attributes = {name: [wkt(UTM33)] if wrapped else wkt(UTM33)}
    path = write_data(tmp_path, attributes if where == "array" else None, attributes if where == "group" else None)
    srs = open_data(path).GetSpatialRef()
    assert code_of(srs) == "32633" if where == "array" or name == "crs" else srs is None
    if where == "array":
        gdal.OpenEx(name_of(path, "/data"), gdal.OF_RASTER | gdal.OF_UPDATE).SetSpatialRef(None)
        assert open_data(path).GetSpatialRef() is None
    path = write_data(tmp_path / "c", {"crs": "local [m]", **spatial_proj(NORTH_UP, UTM33)})
    gdal.OpenEx(name_of(path, "/data"), gdal.OF_RASTER | gdal.OF_UPDATE).SetSpatialRef(None)
    assert open_data(path).GetSpatialRef() is None and document(path, "data")["attributes"]["crs"] == "local [m]"
    path = write_data(tmp_path / "b", {**attributes, "grid_mapping": "g"})
    write_grid_mapping(path, "g", crs_wkt=wkt("EPSG:32634"))
    assert same_crs(open_data(path), "EPSG:32634")


@pytest.mark.parametrize("how", ["Create", "update", "multidimensional"])
def test_a_coordinate_epoch_that_is_set_is_told_not_to_be_kept(tmp_path, how):
    path, srs = str(tmp_path / "a.zarr"), osr.SpatialReference()
    srs.ImportFromEPSG(9000)
    srs.SetCoordinateEpoch(2021.3)
    dataset = held = gdal.GetDriverByName("ShardedZarr").Create(path, 8, 8)
    if how != "Create":
        dataset = held = None
        dataset = held = gdal.OpenEx(path, gdal.OF_UPDATE | (gdal.OF_RASTER if how == "update" else gdal.OF_MULTIDIM_RASTER))
    if how == "multidimensional":
        held = dataset.GetRootGroup().OpenMDArray("a")
    _, heard = warnings_of(lambda: held.SetSpatialRef(srs))
    assert len(heard) == 1 and "epoch 2021.3" in heard[0]
    dataset = held = None
    assert code_of(open_ours(path).GetSpatialRef()) == "9000"


@pytest.mark.parametrize("transform", [(-180, 180, 0, 90, 0, -180), (180, -180, 0, 90, 0, -180), (-2e7, 1000, 0, 2e7, 0, -1000), (-2e7, 1e7, 0, 2e7, 0, -1e7),
                                       (0, 120, 0, 90, 0, -60), (500000, 10, 0, 5000000, 0, -10)], ids=str)
@pytest.mark.parametrize("style", ["CF", "ALL"])
def test_steps_of_half_a_turn_and_metres_called_degrees_are_read_as_written(tmp_path, transform, style):
    raster = source(np.zeros((1, 3, 2), "uint8"), transform, "EPSG:4326")
    assert geotransform(copy(tmp_path / "a.zarr", raster, GEOREFERENCING=style)) == transform


def put_default(path, names="ab", named=None, consolidated=False):
    """Arrays on one grid beside a `spatial_ref`, of which one may name it."""
    path = write_data(path)
    for name in names:
        attributes = {"grid_mapping": "spatial_ref"} if name == named else {}
        oracle.write("%s/%s" % (path, name), array_meta(SHAPE, dimension_names=["y", "x"], attributes=attributes), counting(SHAPE))
    write_grid_mapping(path, crs_wkt=wkt(UTM33), grid_mapping_name="transverse_mercator")
    write_xy(path, (500005, 10), (4999995, -10), {"units": "m"}, {"units": "m"})
    shutil.rmtree(path + "/data")
    if consolidated:
        oracle.consolidate(path)
    return path


def codes(path, names="ab"):
    return {name: code_of(open_array(path, "/" + name).GetSpatialRef()) for name in names}


def code_of(srs):
    return srs and srs.GetAuthorityCode(None)


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("named, expected", [(None, {"a": "32633", "b": "32633"}), ("a", {"a": "32633", "b": None})])
def test_a_spatial_ref_is_of_the_arrays_that_name_it_and_of_all_where_none_names_any(tmp_path, named, expected, consolidated):
    """As rioxarray finds it where no array has a grid mapping."""
    path = put_default(tmp_path, "ab", named, consolidated)
    assert codes(path) == expected
    root = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    assert {name: code_of(root.OpenMDArray(name).GetSpatialRef()) for name in "ab"} == expected


TM = "transverse_mercator"


@pytest.mark.parametrize("name, given, expected", [
    (TM, {}, "has no l"), (TM, {"latitude_of_projection_origin": 0}, "has no longitude_of_central_meridian:"), (TM, {"epsg_code": "EPSG:32633"}, "+zone=33"),
    (TM, {"spatial_epsg": 32633}, "+zone=33"), (TM, {"esri_pe_string": wkt(UTM33, "WKT1_GDAL")}, "+zone=33"),
    (TM, {"proj4": "+proj=utm +zone=33 +datum=WGS84 +units=m +no_defs"}, "+zone=33"),
    (TM, {"epsg_code": 32633, "latitude_of_projection_origin": 0, "longitude_of_central_meridian": 15}, "+zone=33"),
    ("swiss_oblique_cylindrical", {}, "is no projection of CF:"),
    ("lambert_conformal_conic", {"standard_parallel": 40, "latitude_of_projection_origin": 40}, "has no longitude_of_central_meridian:"),
    ("lambert_conformal_conic", {"standard_parallel": 40, "longitude_of_central_meridian": 9}, "has no latitude_of_projection_origin:"),
    ("albers_conical_equal_area", {"latitude_of_projection_origin": 40, "longitude_of_central_meridian": 9}, "has no standard_parallel:"),
    ("polar_stereographic", {"straight_vertical_longitude_from_pole": 0}, "has no latitude_of_projection_origin:"),
    ("polar_stereographic", {"straight_vertical_longitude_from_pole": 0, "standard_parallel": -71}, "+lat_0=-90"),
    ("geostationary", {"longitude_of_projection_origin": 0}, "has no perspective_point_height:"),
    ("rotated_latitude_longitude", {"grid_north_pole_latitude": 39.25}, "has no grid_north_pole_longitude:"),
    ("rotated_latitude_longitude", {"grid_north_pole_latitude": 39.25, "grid_north_pole_longitude": -162}, "+proj=ob_tran")], ids=str)
@pytest.mark.parametrize("api", ["raster", "multidimensional"])
def test_a_grid_mapping_is_a_crs_or_a_warning_names_what_cf_demands_and_is_absent(tmp_path, name, given, expected, api):
    """0 in its place would be a projection elsewhere on the Earth."""
    path = write_data(tmp_path, {"grid_mapping": "crs"})
    write_grid_mapping(path, "crs", grid_mapping_name=name, **given)
    held = open_data(path) if api == "raster" else gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("data")
    srs, heard = warnings_of(held.GetSpatialRef)
    assert (srs is None) == bool(heard)
    assert expected in srs.ExportToProj4() if srs else "/crs: its %s %s" % (name, expected) in heard[0]


def test_geotransform_of_rioxarray(tmp_path):
    path = write_data(tmp_path, {"grid_mapping": "spatial_ref"})
    write_grid_mapping(path, crs_wkt=wkt(UTM33), GeoTransform="500000.0 10.0 0.5 5000000.0 0.25 -10.0")
    assert geotransform(open_data(path)) == (500000, 10, 0.5, 5000000, 0.25, -10)


@pytest.mark.parametrize("shape", [(1, 30), (20, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("style", ["CF", "ALL", "SPATIAL_PROJ"])
def test_a_single_row_or_column_keeps_its_step(tmp_path, shape, style):
    """Its coordinate has one element and cannot tell it; the grid mapping's GeoTransform can."""
    transform = (10, 0.25, 0, 50, 0, -0.75)
    assert geotransform(copy(tmp_path / "a.zarr", source(np.ones(shape, "uint8"), transform, "EPSG:4326"), GEOREFERENCING=style)) == transform


@pytest.mark.parametrize("names", [("lat", "lon"), ("latitude", "longitude"), ("y", "x"), ("northing", "easting")])
@pytest.mark.parametrize("data_type", ["float64", "float32"])
@pytest.mark.parametrize("step", [-0.25, 0.25], ids=["north-up", "south-up"])
def test_one_dimensional_coordinates_are_cell_centres(tmp_path, names, data_type, step):
    path = write_data(tmp_path, names=names)
    write_xy(path, (-179.875, 0.25), (0.125, step), names=names, data_type=data_type)
    dataset = open_data(path)
    assert geotransform(dataset) == pytest.approx((-180, 0.25, 0, 0.125 - step / 2, 0, step))
    assert_pixels(dataset, as_raster(counting(SHAPE), "uint16"), windows=1)


def test_coordinates_found_by_their_axis_attribute(tmp_path):
    path = write_data(tmp_path, names=("a", "b"))
    write_xy(path, (500005, 10), (4999995, -10), {"axis": "X"}, {"axis": "Y"}, names=("a", "b"))
    assert geotransform(open_data(path)) == NORTH_UP_GT


@pytest.mark.parametrize("x", [[0, 1, 2, 4, 5, 6], [0, 0, 0, 0, 0, 0], [0, 1, float("nan"), 3, 4, 5], [0, 1, 2, 3, 4, 3]], ids=str)
def test_irregular_coordinates_give_no_geotransform(tmp_path, x):
    path = write_data(tmp_path)
    write_coordinate(path, "x", x)
    write_coordinate(path, "y", [3, 2, 1, 0])
    assert geotransform(open_data(path)) is None


@pytest.mark.parametrize("named", ["lat2 lon2", "/lat2 /lon2", "./lat2 ./lon2", ["lat2 lon2"]], ids=str)
def test_two_dimensional_latitude_and_longitude_become_the_geolocation_domain(tmp_path, named):
    path = write_data(tmp_path, {"coordinates": named})
    lat, lon = np.mgrid[50:54, 5:11] + 0.5 * np.random.default_rng(1).random(SHAPE)
    for name, values, standard_name, units in (("lat2", lat, "latitude", "degrees_north"), ("lon2", lon, "longitude", "degrees_east")):
        attributes = {"standard_name": standard_name, "units": units}
        oracle.write(tmp_path / name, plain_meta(SHAPE, dimension_names=["y", "x"], attributes=attributes), values)
    dataset = open_data(path)
    domain = dataset.GetMetadata("GEOLOCATION")
    assert geotransform(dataset) is None
    assert [domain[k] for k in ("PIXEL_OFFSET", "LINE_OFFSET", "PIXEL_STEP", "LINE_STEP")] == ["0", "0", "1", "1"]
    for axis, values in (("X", lon), ("Y", lat)):
        band = held_band(gdal.Open(domain[axis + "_DATASET"]), int(domain[axis + "_BAND"]))
        np.testing.assert_array_equal(band.ReadAsArray(), values)
    transformer = gdal.Transformer(dataset, None, ["METHOD=GEOLOC_ARRAY"])
    ok, point = transformer.TransformPoint(False, 2.5, 1.5)
    assert ok and point[:2] == pytest.approx((lon[1, 2], lat[1, 2]), abs=0.6)
    assert gdal.Open(str(tmp_path)).RasterCount == 1, "they are no rasters of their own"
    array = gdal.OpenEx(str(tmp_path), gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("data")
    assert [variable.GetFullName() for variable in array.GetCoordinateVariables()] == ["/lat2", "/lon2"]


@pytest.mark.parametrize("packing", [{"scale_factor": 1e-6, "add_offset": 0.0}, {"scale_factor": 1e-6}, {"scale_factor": 0.001, "add_offset": 40},
                                     {"add_offset": 9.5, "scale_factor": [0.0001]}], ids=str)
def test_geolocation_of_packed_integers_warps_to_where_the_pixels_are(tmp_path, packing):
    """As products of Sentinel-3 and VIIRS have it. The first rows have no coordinates, which is no place 1,000 degrees off."""
    shape, missing = (40, 60), -2147483648
    scale, offset = np.ravel(packing["scale_factor"])[0], packing.get("add_offset", 0)
    row, column = np.mgrid[0:40, 0:60]
    lon, lat = 10 + 0.02 * column + 0.005 * row, 50 - 0.02 * row + 0.004 * column
    path = str(tmp_path / "a & 'b'.zarr")
    oracle.write(path, group_meta())
    oracle.write(path + "/v", array_meta(shape, "float32", dimension_names=["r", "c"], attributes={"coordinates": "lat2 lon2"}), 10 * lat)
    for name, values, units in (("lat2", lat, "degrees_north"), ("lon2", lon, "degrees_east")):
        packed = np.where(row < 3, missing, np.round((values - offset) / scale)).astype("int32")
        attributes = {"units": units, "_FillValue": missing, **packing}
        oracle.write("%s/%s" % (path, name), plain_meta(shape, "int32", dimension_names=["r", "c"], attributes=attributes), packed)
    dataset = open_array(path, "/v")
    warped = gdal.Warp("", dataset, format="MEM", dstSRS="EPSG:4326", outputBounds=(10.4, 49.5, 10.8, 49.85), xRes=0.02, yRes=0.02)
    there = read_all(warped)[-1]
    assert np.abs(there - (49.85 - 0.01 - 0.02 * np.arange(there.shape[0]))[:, None] * 10).max() < 0.45
    bounds = gdal.Warp("", dataset, format="MEM", dstSRS="EPSG:4326").GetGeoTransform()
    assert bounds[0] == pytest.approx(10, abs=0.1) and bounds[3] == pytest.approx(50.2, abs=0.1)


# ------------------------------------------------------------------------------------------------- coordinates have a budget

LOOK = """
messages = []
gdal.PushErrorHandler(lambda level, number, message: messages.append(message))
print(gdal.OpenEx(sys.argv[1]).GetGeoTransform(can_return_null=True), *messages)
"""


def test_a_coordinate_whose_chunk_is_a_bomb_is_left_out(tmp_path):
    path = write_data(tmp_path)
    oracle.put(path, {"x/zarr.json": array_meta([6], "float64", [2**26], [LITTLE, GZIP], dimension_names=["x"]),
                      "x/c/0": gzip.compress(bytes(2**29), 1)})
    write_coordinate(path, "y", [3, 2, 1, 0])
    output, megabytes = peak_memory(LOOK, name_of(path, "/data"))
    assert output.startswith("None") and megabytes < 200


@pytest.mark.parametrize("bent", [None, 0, 1200000, 2999999], ids=str)
def test_every_value_of_a_long_axis_must_be_on_its_line(tmp_path, bent):
    path, x = str(tmp_path), 100.5 + np.arange(3000000.0)
    oracle.put(path, {"zarr.json": group_meta(),
                      "data/zarr.json": array_meta((4, 3000000), "uint8", (4, 2**20), [sharding((4, 2**20))], dimension_names=["y", "x"])})
    if bent is not None:
        x[bent] += 0.4
    write_coordinate(path, "x", x)
    write_coordinate(path, "y", [3.5, 2.5, 1.5, 0.5])
    assert geotransform(open_data(path)) == ((100, 1, 0, 4, 0, -1) if bent is None else None)


# ----------------------------------------------------------------------------------------------------- _CRS and OME-NGFF

@pytest.mark.parametrize("crs", [{"url": "http://www.opengis.net/def/crs/EPSG/0/32633"}, {"wkt": wkt(UTM33)}, {"projjson": projjson(UTM33)},
                                 {"url": "http://www.opengis.net/def/crs/EPSG/0/32633", "wkt": wkt("EPSG:4326")}],
                         ids=["url", "wkt", "projjson", "url before wkt"])
def test_crs_attribute_of_gdal(tmp_path, crs):
    path = write_data(tmp_path, {"_CRS": crs}, names=("Y", "X"))
    write_xy(path, (500005, 10), (4999995, -10), names=("Y", "X"))
    dataset = open_data(path)
    assert geotransform(dataset) == NORTH_UP_GT and same_crs(dataset, UTM33)


@pytest.mark.parametrize("axes", ["yx", "cyx", "tczyx"])
def test_ome_scale_and_translation_refer_to_pixel_centres(tmp_path, axes):
    shape = [2] * (len(axes) - 2) + [4, 6]
    types = {"t": "time", "c": "channel"}
    oracle.write(tmp_path, group_meta({"ome": {"version": "0.5", "multiscales": [{
        "name": "image", "axes": [{"name": a, "type": types.get(a, "space")} for a in axes],
        "datasets": [{"path": "0", "coordinateTransformations": [
            {"type": "scale", "scale": [1.0] * (len(axes) - 2) + [0.5, 0.25]},
            {"type": "translation", "translation": [0.0] * (len(axes) - 2) + [100.0, 20.0]}]}]}]}}))
    oracle.write(tmp_path / "0", array_meta(shape, dimension_names=list(axes)), counting(shape))
    dataset = open_ours(str(tmp_path))
    assert geotransform(dataset) == pytest.approx((20 - 0.125, 0.25, 0, 100 - 0.25, 0, 0.5))
    assert_pixels(dataset, as_raster(counting(shape), "uint16"), windows=1)


# ---------------------------------------------------------------------------------------------------------- precedence

def test_conventions_count_by_their_priority(tmp_path):
    path = write_data(tmp_path, {**spatial_proj(NORTH_UP, UTM33), "grid_mapping": "spatial_ref", "_CRS": {"wkt": wkt("EPSG:4326")}})
    write_grid_mapping(path, crs_wkt=wkt("EPSG:3857"), GeoTransform="1 2 0 3 0 -2")
    write_xy(path, (0, 1), (0, 1))
    dataset = open_data(path)
    assert geotransform(dataset) == NORTH_UP_GT and same_crs(dataset, UTM33)
    gdal.SetConfigOption("CPL_DEBUG", "ShardedZarr")
    _, heard = warnings_of(lambda: geotransform(open_data(path)))
    gdal.SetConfigOption("CPL_DEBUG", None)
    assert "ShardedZarr: /data: the transform is by spatial:transform, the CRS by proj:" in heard
    oracle.write(tmp_path / "data", array_meta(SHAPE, dimension_names=["y", "x"], attributes={
        "grid_mapping": "spatial_ref", "_CRS": {"wkt": wkt("EPSG:4326")}}), counting(SHAPE))
    assert same_crs(open_data(path), "EPSG:3857"), "CF comes before _CRS"


def test_a_crs_of_one_convention_goes_with_the_transform_of_another(tmp_path):
    path = write_data(tmp_path, spatial_proj(code=UTM33))
    write_xy(path, (500005, 10), (4999995, -10))
    dataset = open_data(path)
    assert geotransform(dataset) == NORTH_UP_GT and same_crs(dataset, UTM33)


# --------------------------------------------------------------------------------------------------- fixtures of others

@pytest.mark.parametrize("name, expected, code", [
    ("spatial_geotransform.zarr", (450000, 10, 0.1, 5000000, 0.15, -10), None),
    ("spatial_proj_at_array_level.zarr", (450000, 10, 0, 5000000, 0, -10), "EPSG:32631"),
    ("spatial_proj_at_parent_level.zarr", (450000, 10, 0, 5000000, 0, -10), "EPSG:32631"),
    ("spatial_proj_convention_at_root_level.zarr", (450000, 10, 0, 5000000, 0, -10), "EPSG:32631")])
def test_stores_of_gdal_with_conventions(name, expected, code):
    dataset = open_array(fixture_path("gdal", name))
    assert (dataset.RasterXSize, dataset.RasterYSize) == (100, 200)
    assert geotransform(dataset) == expected
    assert code is None or same_crs(dataset, code)
    assert np.isnan(read_all(dataset)).all()


def example(*parts):
    with open(fixture_path("conventions", *parts)) as file:
        return json.load(file)["attributes"]


@pytest.mark.parametrize("folder, name, expected, code", [
    ("spatial", "proj", (-20037508.342789244, 156543.03392804097, 0, 20037508.342789244, 0, -156543.03392804097), "EPSG:3857"),
    ("geo-proj", "epsg26711", (440720, 60, 0, 3750120, 0, -60), "EPSG:26711"),
    ("geo-proj", "epsg3587", (-20037508.342789244, 156543.03392804097, 0, 20037508.342789244, 0, -156543.03392804097), "EPSG:3857"),
    ("geo-proj", "wkt2", (500000, 30, 0, 5000000, 0, -30), UTM33),
    ("CF", "composed_with_proj", None, "EPSG:4326"), ("CF", "composed_with_spatial", (-180, 0.25, 0, 90, 0, -0.25), None)])
def test_examples_of_the_conventions_on_an_array(tmp_path, folder, name, expected, code):
    attributes = example(folder, "examples", name + ".json")
    names = attributes.get("spatial:dimensions", ["Y", "X"])
    dataset = open_data(write_data(tmp_path, attributes, names=names))
    assert geotransform(dataset) == expected
    assert dataset.GetSpatialRef() is None if code is None else same_crs(dataset, code)


@pytest.mark.parametrize("folder, name, code, levels", [
    ("spatial", "multiscales", UTM33, [1200, 600, 200]), ("geo-proj", "multiscales", UTM33, [1200, 600, 200]),
    ("multiscales", "sentinel-2-multiresolution", UTM33, [10980, 5490, 1830, 915, 305, 153]),
    ("multiscales", "geospatial-pyramid", "EPSG:32632", [400, 200, 100])])
@pytest.mark.parametrize("asset", ["group", "array"])
def test_examples_of_the_conventions_on_levels(tmp_path, folder, name, code, levels, asset):
    attributes = example(folder, "examples", name + ".json")
    layout = attributes["multiscales"]["layout"]
    oracle.write(tmp_path, group_meta(attributes))
    for entry, size in zip(layout, levels):
        if asset == "group":
            oracle.write(tmp_path / entry["asset"], group_meta())
        oracle.write(tmp_path / entry["asset"] / ("b02" if asset == "group" else "."),
                     array_meta((size, size), shard=(256, 256), dimension_names=["Y", "X"], fill_value=7))
    for entry, size in zip(layout, levels):
        a, b, c, d, e, f = entry["spatial:transform"]
        dataset = open_array(tmp_path, "/" + entry["asset"] + ("/b02" if asset == "group" else ""))
        assert dataset.RasterXSize == size and geotransform(dataset) == (c, a, b, f, d, e) and same_crs(dataset, code)
        assert dataset.ReadAsArray(size // 2, size // 2, 2, 2).tolist() == [[7, 7], [7, 7]]
