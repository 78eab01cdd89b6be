"""Groups whose arrays lie on one grid, each opened as one dataset with a band for every array, or for every slice of it."""
import os
import subprocess
import threading

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta, random_values, sharding, spatial_proj, write_coordinate
from support import (as_raster, assert_same, error_of, geotransform, held_band, name_of, open_array, open_ours, random_window, read_all, run_peer,
                     same_crs, warnings_of)
from test_published import product  # noqa: F401
from writing import UTM, check_consolidated, document, driver, source

FINE, COARSE = "/measurements/reflectance/r10m", "/measurements/reflectance/r20m"
SHAPE = (6, 10)


def bands_of(dataset):
    return [held_band(dataset, b + 1) for b in range(dataset.RasterCount)]


def read64(dataset, *window):
    return np.stack([band.ReadAsArray(*window).astype("float64") for band in bands_of(dataset)])


def names_of(dataset):
    return [band.GetDescription() for band in bands_of(dataset)]


def listed(dataset):
    return [name[name.index(":/", 14) + 1:] for name, _ in dataset.GetSubDatasets()]


def update(path, group="/"):
    return gdal.OpenEx(name_of(path, group), gdal.OF_RASTER | gdal.OF_UPDATE)


def put_array(path, name, values=None, shard=None, group="", codecs=None, **members):
    """An array (y, x) or (time, y, x); by default 0, 1, 2 ..."""
    values = counting(SHAPE) if values is None else values
    members.setdefault("dimension_names", ["time", "y", "x"][-values.ndim:])
    data_type = str(values.dtype)
    meta = array_meta(values.shape, data_type, shard, codecs, **members)
    oracle.write("/".join(filter(None, (str(path), group, name))), meta, values)
    return values


def put_group(path, **named):
    """A store of arrays in its root, from {name: values}."""
    oracle.put(path, {"zarr.json": group_meta()})
    for name, values in named.items():
        put_array(path, name, values)
    return str(path)


def three(path, data_types=("uint8", "int16", "float32"), shape=SHAPE, consolidated=False):
    """b1, b2 and b10, of random values: (path, values)."""
    rng = np.random.default_rng(len(data_types))
    values = {name: random_values(rng, data_type, shape) for name, data_type in zip(("b1", "b2", "b10"), data_types)}
    put_group(path, **values)
    if consolidated:
        oracle.consolidate(path)
    return str(path), list(values.values())


# --------------------------------------------------------------------------------------------------------------- zarr-python's

@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    run_peer("zarr_python_groups.py", folder)
    return folder


def value_of(scene, *path):
    return np.load(str(scene / ("-".join(path) + ".npy")))


def scene_values(scene, group, names):
    return [value_of(scene, *group.strip("/").split("/"), name) for name in names]


def follow(name, options=()):
    """All rasters that are reached by the names of subdatasets, as (name, bands), and how many datasets were opened on the way."""
    found, ways = [], [name]
    for number, way in enumerate(ways):
        assert number < 1000, "names lead in a circle"
        dataset = open_ours(way, list(options))
        found += [(way, dataset.RasterCount)] if dataset.RasterCount > 0 else []
        ways += [sub for sub, _ in dataset.GetSubDatasets()]
    return found, len(ways)


def test_following_subdatasets_reaches_each_raster_once(scene, tmp_path):
    """As rioxarray, QGIS and gdal_translate -sds do."""
    found, opened = follow(str(scene / "scene.zarr"))
    assert sorted(bands for _, bands in found) == [1, 1, 1, 1, 1, 1, 2, 3, 3] and opened == len(found) + 1
    path, _ = three(tmp_path / "s.zarr")
    for name in (path, name_of(path, "/")):
        assert len(follow(name)[0]) == (3 if name == path else 1)
    path, _ = three(tmp_path / "one.zarr", ("uint8",) * 3)
    assert [follow(name) for name in (path, name_of(path, "/"))] == [([(path, 3)], 1), ([(name_of(path, "/"), 3)], 1)]
    put_array(path, "cube", counting((4,) + SHAPE))
    found, opened = follow(name_of(path, "/cube"), ["MULTIBAND=NO"])
    assert [bands for _, bands in found] == [1] * 4 and opened == 5
    subprocess.run(["gdal_translate", "-q", "-sds", str(scene / "scene.zarr"), str(tmp_path / "a.tif")], check=True)
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".tif")]) == 9


def test_bands_of_a_group_have_the_properties_of_their_arrays(scene):
    dataset = open_array(scene / "scene.zarr", FINE)
    assert (dataset.RasterXSize, dataset.RasterYSize) == (170, 150)
    assert geotransform(dataset) == UTM and same_crs(dataset, "EPSG:32633")
    found = bands_of(dataset)
    assert names_of(dataset) == ["b2", "b3", "b8a", "b10"]
    assert [band.DataType for band in found] == [gdal.GDT_UInt16, gdal.GDT_Int16, gdal.GDT_Float32, gdal.GDT_Byte]
    assert [band.GetNoDataValue() for band in found[:2]] == [0, -9999] and np.isnan(found[2].GetNoDataValue()) and found[3].GetNoDataValue() == 255
    assert [(band.GetScale(), band.GetOffset()) for band in found] == [(0.0001, -0.1)] + [(None, None)] * 3
    assert [band.GetUnitType() for band in found] == ["1", "", "W m-2", ""]
    assert [band.GetColorInterpretation() for band in found] == [gdal.GCI_BlueBand, gdal.GCI_GreenBand, gdal.GCI_Undefined, gdal.GCI_Undefined]
    assert [band.GetBlockSize() for band in found] == [[32, 32], [40, 30], [64, 64], [60, 50]]
    assert dataset.GetMetadata() == {"platform": "S2A", "sensor": "MSI"}
    assert [band.GetMetadata() for band in found] == [{"common_name": "blue"}, {"common_name": "green", "bandwidth": "36"}, {}, {"long_name": "cirrus"}]
    assert dataset.GetMetadata("SUBDATASETS") == {} or dataset.GetMetadata("SUBDATASETS") is None


@pytest.mark.parametrize("seed", range(3))
def test_random_windows_are_those_of_the_arrays(scene, seed):
    rng = np.random.default_rng(seed)
    dataset, values = open_array(scene / "scene.zarr", FINE), scene_values(scene, FINE, ["b2", "b3", "b8a", "b10"])
    for _ in range(12):
        x, y, w, h = random_window(rng, 170, 150)
        wanted = [int(b) for b in rng.permutation(4)[:rng.integers(1, 5)]]
        parts = [values[b][y:y + h, x:x + w] for b in wanted]
        got = dataset.ReadAsArray(x, y, w, h, buf_type=gdal.GDT_Float64, band_list=[b + 1 for b in wanted])
        np.testing.assert_array_equal(np.reshape(got, (len(wanted), h, w)), parts)
        b = wanted[0]
        assert_same(dataset.GetRasterBand(b + 1).ReadAsArray(x, y, w, h), parts[0])
        small = dataset.ReadAsArray(0, 0, 170, 150, buf_xsize=34, buf_ysize=30, buf_type=gdal.GDT_Float64, band_list=[b + 1 for b in wanted])
        np.testing.assert_array_equal(np.reshape(small, (len(wanted), 30, 34)), [values[b][2::5, 2::5] for b in wanted])
        np.testing.assert_array_equal(dataset.ReadAsArray(x, y, w, h, buf_type=gdal.GDT_Float64), [array[y:y + h, x:x + w] for array in values])


def test_arrays_with_time_give_a_band_each_time(scene):
    dataset = open_array(scene / "scene.zarr", "/cube")
    values = scene_values(scene, "/cube", ["mask", "t2m", "tp"])
    np.testing.assert_array_equal(read64(dataset), np.concatenate([as_raster(v, str(v.dtype)) for v in values]))
    times = ["time=2026-05-01T%02d:00:00" % hour for hour in (0, 6, 12)]
    assert names_of(dataset) == ["mask"] + ["t2m, " + time for time in times] + ["tp, " + time for time in times]
    found = bands_of(dataset)
    assert [band.GetMetadataItem("DIM_time_INDEX") for band in found] == [None, "0", "1", "2", "0", "1", "2"]
    assert [band.GetUnitType() for band in found] == [""] + ["K"] * 3 + ["mm"] * 3
    assert [band.GetNoDataValue() for band in found[4:]] == [-1] * 3
    assert dataset.GetMetadataItem("time#units") == "hours since 2026-05-01" and dataset.GetMetadataItem("NETCDF_DIM_EXTRA") is None


def test_group_selection_by_dimension_name(scene):
    dataset = open_ours(name_of(scene / "scene.zarr", "/cube:time=2026-05-01T06"))
    assert names_of(dataset) == ["mask", "t2m", "tp"]
    mask, t2m, tp = scene_values(scene, "/cube", ["mask", "t2m", "tp"])
    np.testing.assert_array_equal(read64(dataset), [mask, t2m[1], tp[1]])
    assert dataset.GetMetadataItem("DIM_time_VALUE") == "2026-05-01T06:00:00"
    assert [band.GetMetadata() for band in bands_of(dataset)] == [{}, {"cell_methods": "point"}, {}]
    assert names_of(open_ours(name_of(scene / "scene.zarr", "/cube:time=1..last")))[-2:] == ["tp, time=2026-05-01T06:00:00", "tp, time=2026-05-01T12:00:00"]
    assert "no array of the group has a dimension step" in error_of(open_ours, name_of(scene / "scene.zarr", "/cube:step=1"))


# ---------------------------------------------------------------------------------------------------------------- what opens

@pytest.mark.parametrize("unit", [None, "K"])
def test_store_of_arrays_with_one_grid_and_unit_opens_as_one_raster(tmp_path, unit):
    path, values = three(tmp_path / "s.zarr", ("int16",) * 3)
    for name, array in zip(("b1", "b2", "b10"), values):
        put_array(path, name, array, attributes={"units": unit} if unit else {})
    for name in (path, path + "/zarr.json", name_of(path, "/")):
        dataset = open_ours(name)
        assert names_of(dataset) == ["b1", "b2", "b10"] and dataset.GetSubDatasets() == []
        for band, wanted in zip(bands_of(dataset), values):
            np.testing.assert_array_equal(band.ReadAsArray(), wanted)


@pytest.mark.parametrize("differ", ["type", "unit", "one has none", "dimensions"])
def test_a_store_of_variables_is_a_list_of_them_and_opens_as_a_group_by_name(tmp_path, differ):
    path = put_group(tmp_path / "s.zarr", a=counting(SHAPE))
    put_array(path, "b", {"type": counting(SHAPE, "float32"), "dimensions": counting((2,) + SHAPE)}.get(differ), attributes={"unit": {"units": "K"}, "one has none": {"unit": "m"}}.get(differ, {}))
    if differ == "unit":
        put_array(path, "a", attributes={"units": "mm"})
    dataset = open_ours(path)
    assert dataset.RasterCount == 0 and listed(dataset) == ["/a", "/b"]
    assert open_array(path, "/").RasterCount == (3 if differ == "dimensions" else 2)
    oracle.put(path, {"zarr.json": group_meta({"gdal:bands": ["b", "a"]})})
    assert held_band(open_ours(path), 1).GetDescription().startswith("b")  # the group says that they are bands
    put_array(path, "c")
    assert open_ours(path).RasterCount == 0


@pytest.mark.parametrize("also", ["other size", "other place", "unreadable type", "unreadable codec"])
def test_store_with_further_arrays_lists_subdatasets(tmp_path, also):
    path = put_group(tmp_path / "s", a=counting(SHAPE), b=counting(SHAPE) + 1)
    dims = {"dimension_names": ["y", "x"]}
    if also == "other size":
        put_array(path, "c", counting((3, 5)))
    elif also == "other place":
        put_array(path, "c", attributes=spatial_proj((1, 0, 0, 0, -1, 0)))
    else:
        codecs = {"codecs": [sharding((3, 5), {"name": "acme.squeeze"})]} if also == "unreadable codec" else {"data_type": "acme.number"}
        oracle.write(path + "/c", {**array_meta(SHAPE, **dims), **codecs})
    dataset = open_ours(path)
    assert dataset.RasterCount == 0 and listed(dataset) == (["/a", "/b", "/c"] if also == "unreadable codec" else ["/", "/c"])
    whole, messages = warnings_of(lambda: open_array(path, "/"))
    assert names_of(whole) == ["a", "b"] and not whole.GetSubDatasets()
    assert_same(read_all(whole), np.stack([counting(SHAPE), counting(SHAPE) + 1]))
    if "unreadable" in also:
        assert len(messages) == 1 and "a band is missing" in messages[0] and "acme" in messages[0] and "/c" in messages[0].replace("c/zarr", "/c")
    else:
        assert messages == []


def test_more_bands_than_gdal_has_are_opened_in_part(tmp_path):
    oracle.put(tmp_path, {"zarr.json": group_meta()})
    for name in "ab":
        oracle.write(tmp_path / name, array_meta((40000, 4, 6), shard=(1, 4, 6), codecs=[sharding((1, 2, 2))], dimension_names=["time", "y", "x"]))
    dataset = open_array(tmp_path)
    assert dataset.RasterCount == 0 and listed(dataset) == ["/a", "/b"]
    assert open_array(tmp_path, "/").RasterCount == 0
    assert open_array(tmp_path, "/:time=0..9").RasterCount == 20
    assert "65536" in error_of(open_array, tmp_path, "/:time=0..39998")


@pytest.mark.parametrize("names", [["blue", "green", "red"], ["red", "green", "blue"]])
def test_a_copy_into_an_array_per_band_is_one_dataset_again(tmp_path, names):
    colours = {"blue": gdal.GCI_BlueBand, "green": gdal.GCI_GreenBand, "red": gdal.GCI_RedBand}
    values = np.random.default_rng(3).integers(0, 255, (3, 70, 101)).astype("uint8")
    before = source(values, UTM, "EPSG:32633", nodata=9)
    before.SetMetadata({"TITLE": "x"})
    before.SetMetadata({"LINE_OFF": "1"}, "RPC")
    for band, name in zip(bands_of(before), names):
        band.SetDescription(name)
        band.SetColorInterpretation(colours[name])
        band.SetMetadataItem("of", name)
    made = driver().CreateCopy(str(tmp_path / "a.zarr"), before, options=["SINGLE_ARRAY=NO", "CHUNK_SHAPE=16", "OVERVIEWS=2,4", "RESAMPLING=NEAREST"])
    assert made.RasterCount == 3
    del made
    dataset = open_ours(str(tmp_path / "a.zarr"))
    assert_same(read_all(dataset), values)
    assert names_of(dataset) == names
    assert document(tmp_path / "a.zarr")["attributes"]["gdal:bands"] == [{"name": name} for name in names]
    assert [band.GetColorInterpretation() for band in bands_of(dataset)] == [colours[name] for name in names]
    assert geotransform(dataset) == UTM and same_crs(dataset, "EPSG:32633")
    assert dataset.GetMetadata() == {"TITLE": "x", "AREA_OR_POINT": "Area"} and dataset.GetMetadata("RPC") == {"LINE_OFF": "1"}
    assert [band.GetMetadata() for band in bands_of(dataset)] == [{"of": name, "long_name": name} for name in names_of(dataset)]
    assert [band.GetNoDataValue() for band in bands_of(dataset)] == [9, 9, 9]
    assert {band.GetOverviewCount() for band in bands_of(dataset)} == {2}
    np.testing.assert_array_equal(dataset.ReadAsArray(0, 0, 101, 70, buf_xsize=51, buf_ysize=35), [band.GetOverview(0).ReadAsArray() for band in bands_of(dataset)])
    assert dataset.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE") == "BAND"


@pytest.mark.parametrize("listed, names", [
    (["c", "a"], ["c", "a", "b"]), ([{"name": "b"}, {"name": "z"}, {"name": "c"}], ["b", "c", "a"]), ([1, None, [], {"name": 7}, "b"], ["b", "a", "c"]),
    ("cba", ["a", "b", "c"]), (["b", "b"], ["b", "a", "c"])])
def test_bands_are_in_the_order_that_the_group_lists(tmp_path, listed, names):
    oracle.write(tmp_path, group_meta({"gdal:bands": listed}))
    for number, name in enumerate("abc"):
        oracle.write(tmp_path / name, array_meta((4, 6)), np.full((4, 6), number, "uint16"))
    dataset = open_ours(str(tmp_path))
    assert names_of(dataset) == names
    assert_same(read_all(dataset), np.stack([np.full((4, 6), "abc".index(name), "uint16") for name in names]))


def test_the_group_of_eopf_is_one_dataset(product):  # noqa: F811
    dataset = open_array(product, FINE)
    assert names_of(dataset) == ["b02", "b03", "b04", "b08"] and geotransform(dataset) == (699960, 10, 0, 4700040, 0, -10) and same_crs(dataset, "EPSG:32632")
    assert np.isnan(dataset.ReadAsArray(10960, 10970, 20, 10)).all()
    assert [dataset.GetRasterBand(3).GetOverview(i).XSize for i in range(dataset.GetRasterBand(3).GetOverviewCount())] == [5490, 1830, 915, 305, 152]
    assert listed(open_ours(str(product)))[0].startswith("/measurements/reflectance/")


# ------------------------------------------------------------------------------------------------------------------- requests

def remote(tmp_path, count=3):
    """A consolidated store of `count` arrays of one shard each, too large to come with its index: its values."""
    rng, values = np.random.default_rng(1), {}
    for number in range(count):
        values["b%d" % number] = rng.integers(0, 65535, (512, 512)).astype("uint16")
    oracle.put(tmp_path / "s", {"zarr.json": group_meta()})
    for name, array in values.items():
        put_array(tmp_path / "s", name, array, shard=(512, 512), codecs=[sharding((64, 64))])
    oracle.consolidate(tmp_path / "s")
    return list(values.values())


def test_a_remote_group_opens_in_one_request(tmp_path, server):
    values = remote(tmp_path)
    dataset = open_array(server.vsi("s"), "/")
    assert [request.path for request in server.log] == ["s/zarr.json"]
    assert names_of(dataset) == ["b0", "b1", "b2"] and geotransform(dataset) is None
    known = len(server.log)
    np.testing.assert_array_equal(dataset.ReadAsArray(0, 0, 64, 64), [array[:64, :64] for array in values])
    assert len(server.log) - known == len(server.requests("b./c/")) == 6  # an index and a range of each


@pytest.mark.parametrize("count", [3, 10])
def test_requests_of_all_arrays_are_under_way_together(tmp_path, server, count):
    values = remote(tmp_path, count)
    dataset = open_array(server.vsi("s"), "/")
    together = threading.Barrier(count)
    server.before = lambda method, path, headers: (together.wait(20), None)[1]  # breaks where one waits for another's answer
    np.testing.assert_array_equal(dataset.ReadAsArray(0, 0, 64, 64), [array[:64, :64] for array in values])
    assert not together.broken


# -------------------------------------------------------------------------------------------------------------------- updates

@pytest.mark.parametrize("consolidated", [False, True])
def test_pixels_are_written_to_the_arrays_of_their_bands(tmp_path, consolidated):
    path, values = three(tmp_path / "s", ("uint8", "int16", "float64"), (40, 50), consolidated)
    rng = np.random.default_rng(5)
    dataset = update(path)
    for _ in range(8):
        x, y, w, h = random_window(rng, 50, 40)
        band = int(rng.integers(3))
        values[band][y:y + h, x:x + w] = part = rng.integers(0, 100, (h, w)).astype(values[band].dtype)
        dataset.GetRasterBand(band + 1).WriteArray(part, x, y)
    patch = rng.integers(0, 100, (3, 7, 9)).astype("uint8")
    dataset.WriteArray(patch, 3, 2)
    for array, part in zip(values, patch):
        array[2:9, 3:12] = part
    np.testing.assert_array_equal(dataset.ReadAsArray(buf_type=gdal.GDT_Float64), np.stack([array.astype("float64") for array in values]))
    dataset = None
    for name, array in zip(("b1", "b2", "b10"), values):
        assert_same(oracle.read("%s/%s" % (path, name))[1], array, name)
    if consolidated:
        check_consolidated(path)


def test_band_properties_are_written_to_their_arrays(tmp_path):
    path, _ = three(tmp_path / "s", consolidated=True)
    dataset = update(path)
    first, second, third = (dataset.GetRasterBand(b) for b in (1, 2, 3))
    first.SetNoDataValue(7)
    second.SetScale(0.5)
    second.SetOffset(3)
    second.SetUnitType("m")
    third.SetNoDataValue(-1)
    third.SetDescription("the third")
    third.SetColorInterpretation(gdal.GCI_RedBand)
    first.SetMetadataItem("note", "one")
    dataset = None
    dataset = open_array(path, "/")
    first, second, third = bands_of(dataset)
    assert [band.GetNoDataValue() for band in (first, second, third)] == [7, 0, -1]
    assert (second.GetScale(), second.GetOffset(), second.GetUnitType(), first.GetScale(), third.GetUnitType()) == (0.5, 3, "m", None, "")
    assert third.GetColorInterpretation() == gdal.GCI_RedBand and third.GetMetadata() == {"long_name": "the third"} and first.GetMetadata() == {"note": "one"}
    assert names_of(dataset) == ["b1", "b2", "b10"] and held_band(open_array(path, "/b10")).GetDescription() == "the third"
    check_consolidated(path)


def test_metadata_are_changed_in_the_node_that_has_them(tmp_path):
    path = put_group(tmp_path / "s")
    oracle.put(path, {"zarr.json": group_meta({"of": "group", "shadowed": "by arrays"})})
    for name in "ab":
        put_array(path, name, attributes={"common": "1", "shadowed": "yes", "own": name, "gone": name})
    dataset = update(path)
    assert dataset.GetMetadata() == {"of": "group", "shadowed": "yes", "common": "1"}
    assert dataset.GetRasterBand(1).GetMetadata() == {"own": "a", "gone": "a"}
    dataset.SetMetadata({"of": "the group", "shadowed": "yes", "common": "2", "new": "3"})
    dataset.GetRasterBand(1).SetMetadata({"own": "a", "more": "m"})
    assert [message for message in warnings_of(dataset.FlushCache)[1] if "gone is an attribute of /a: it stays" in message]
    dataset = None
    assert document(path)["attributes"] == {"of": "the group", "shadowed": "by arrays", "common": "2", "new": "3"}
    a, b = (document(path, name)["attributes"] for name in "ab")
    assert (b["own"], b["gone"], b["shadowed"], a["own"], a["shadowed"]) == ("b", "b", "yes", "a", "yes")
    assert "common" not in a and "common" not in b and a["gone"] == "a"
    dataset = open_ours(path)
    assert dataset.GetMetadata() == {"of": "the group", "shadowed": "yes", "common": "2", "new": "3"}
    assert [band.GetMetadata() for band in bands_of(dataset)] == [{"own": "a", "gone": "a", "more": "m"}, {"own": "b", "gone": "b"}]


@pytest.mark.parametrize("how", ["nothing", "spatial", "coordinates"])
def test_georeferencing_of_all_arrays_changes_together(tmp_path, how):
    attributes = spatial_proj((10, 0, 0, 0, -10, 0), "EPSG:3857") if how == "spatial" else {}
    path = put_group(tmp_path / "s")
    for name in "ab":
        put_array(path, name, attributes=attributes)
    if how == "coordinates":
        write_coordinate(path, "x", np.arange(10.0))
        write_coordinate(path, "y", -np.arange(6.0))
    dataset = update(path)
    assert dataset.RasterCount == 2
    dataset.SetGeoTransform(UTM)
    dataset.SetSpatialRef(source(counting(SHAPE), UTM, "EPSG:32633").GetSpatialRef())
    dataset = None
    for name in ("/", "/a", "/b"):
        dataset = open_array(path, name)
        assert geotransform(dataset) == UTM and same_crs(dataset, "EPSG:32633")
    assert open_ours(path).RasterCount == 2


# ------------------------------------------------------------------------------------------------------------------ overviews

def test_overviews_are_made_for_all_arrays(tmp_path):
    values = {"b1": counting((40, 50), "uint16"), "b2": counting((40, 50), "float32") / 3, "b10": counting((40, 50), "int32")}
    path = put_group(tmp_path / "s", **values)
    told = []
    dataset = update(path)
    assert dataset.BuildOverviews("NEAREST", [2, 4], lambda done, *_: told.append(done) or 1) == 0
    assert {band.GetOverviewCount() for band in bands_of(dataset)} == {2} and told[-1] == 1 and told == sorted(told)
    dataset = None
    dataset = open_array(path, "/")
    assert names_of(dataset) == ["b1", "b2", "b10"] and {band.GetOverviewCount() for band in bands_of(dataset)} == {2}
    for band, (name, array) in zip(bands_of(dataset), values.items()):
        for level in (0, 1):
            assert_same(band.GetOverview(level).ReadAsArray(), oracle.read("%s/ovr_%dx/%s" % (path, 2 << level, name))[1], name)
            assert band.GetOverview(level).GetDescription() == name
        alone = held_band(open_array(path, "/" + name))
        assert alone.GetOverviewCount() == 2
        assert_same(alone.GetOverview(0).ReadAsArray(), band.GetOverview(0).ReadAsArray())
    np.testing.assert_array_equal(dataset.ReadAsArray(0, 0, 50, 40, buf_xsize=25, buf_ysize=20, buf_type=gdal.GDT_Float64),
                                  [band.GetOverview(0).ReadAsArray().astype("float64") for band in bands_of(dataset)])
    update(path).BuildOverviews("NONE", [])
    assert {band.GetOverviewCount() for band in bands_of(open_array(path, "/"))} == {0} and not os.path.exists(path + "/ovr_2x")


# -------------------------------------------------------------------------------------------------------------------- threads
