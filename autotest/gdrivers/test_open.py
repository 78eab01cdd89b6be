"""Opening: which names the driver takes, which it leaves to others without a word, and what it says is inside."""
import json
import os
import zipfile

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta, plain_meta, random_values, sharding, write_coordinate
from support import GDAL, as_raster, assert_pixels, bands_of, declined, error_of, held_band, name_of, open_array, open_ours, read_all, subdatasets, \
    tried

SHAPE = (11, 14)


def write_root(path, **members):
    """A sharded root array."""
    return oracle.write(path, array_meta(SHAPE, shard=(6, 8), **members), counting(SHAPE))


def write_group(path, *names, shape=SHAPE, **members):
    """A group with sharded arrays of these names."""
    oracle.write(path, group_meta())
    for number, name in enumerate(names):
        oracle.write(os.path.join(str(path), name), array_meta(shape, **members), counting(shape) + number)
    return str(path)


# ------------------------------------------------------------------------------------------------------------- the driver

def test_driver_declares_what_it_can(driver):
    metadata = driver.GetMetadata()
    assert gdal.GetDriver(0).ShortName == "ShardedZarr", "a plugin comes before the built-in drivers"
    for item in ("DCAP_RASTER", "DCAP_OPEN", "DCAP_CREATECOPY", "DCAP_VIRTUALIO", "DMD_SUBDATASETS"):
        assert metadata.get(item) == "YES", item
    assert metadata["DMD_CONNECTION_PREFIX"] == "SHARDEDZARR:"
    if GDAL >= 3110000:
        assert metadata["DCAP_UPDATE"] == "YES" and "RasterValues" in metadata["DMD_UPDATE_ITEMS"].split()
    assert metadata["DMD_LONGNAME"]
    assert "DMD_HELPTOPIC" not in metadata, "programs look for it below gdal.org, where the page of that name is another driver's"
    for option in ("NUM_THREADS", "CACHE_SIZE", "MERGE_GAP", "USE_CONSOLIDATED_METADATA", "MULTIBAND", "DIM_X", "DIM_Y"):
        assert "name='%s'" % option in metadata["DMD_OPENOPTIONLIST"].replace('"', "'"), option


# ------------------------------------------------------------------------------------------------------------- what it takes

@pytest.mark.parametrize("form", ['{}', '{}/', '{}/zarr.json', 'SHARDEDZARR:"{}"', 'SHARDEDZARR:{}', 'SHARDEDZARR:"{}/zarr.json"',
                                  'ZARR:"{}"', 'ZARR:{}'])
@pytest.mark.parametrize("folder", ["array.zarr", "no_extension", "with space.zarr", "ovr_x.zarr"])
def test_root_array_opens_under_every_name(tmp_path, form, folder):
    path = write_root(tmp_path / folder)
    assert_pixels(open_ours(form.format(path)), as_raster(counting(SHAPE), "uint16"), windows=2)


@pytest.mark.parametrize("form", ['{}', '{}/zarr.json', 'SHARDEDZARR:"{}"', 'SHARDEDZARR:"{}":/deep/er/data', 'ZARR:"{}":/deep/er/data',
                                  '{}/deep/er/data', 'SHARDEDZARR:"{}/deep/er/data"'])
@pytest.mark.parametrize("groups", ["explicit", "implicit", "consolidated"])
def test_array_in_nested_groups_opens(tmp_path, form, groups):
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "deep/er/data", array_meta(SHAPE), counting(SHAPE))
    if groups != "implicit":
        oracle.write(tmp_path / "deep", group_meta())
        oracle.write(tmp_path / "deep/er", group_meta())
    if groups == "consolidated":
        oracle.consolidate(tmp_path)
    assert_pixels(open_ours(form.format(tmp_path)), as_raster(counting(SHAPE), "uint16"), windows=2)


def test_a_group_below_the_root_opens_with_what_is_in_it(tmp_path):
    oracle.write(tmp_path, group_meta())
    write_group(tmp_path / "one", "data")
    write_group(tmp_path / "two", "a", "b")
    assert open_array(tmp_path, "/one").RasterXSize == SHAPE[1]
    assert open_array(tmp_path, "/two").RasterCount == open_array(tmp_path / "two").RasterCount == 2
    assert set(subdatasets(open_array(tmp_path))) == {"/one/data", "/two"}


@pytest.mark.parametrize("form", ["{}", "{}/zarr.json", 'SHARDEDZARR:"{}"', 'ZARR:"{}"'])
@pytest.mark.parametrize("where", ["array", "consolidated group"])
def test_vsimem_vsizip_and_http_open(tmp_path, vsimem, zipped, server, form, where):
    path = str(tmp_path / "s.zarr")
    if where == "array":
        write_root(path)
    else:
        write_group(path, "data")
        oracle.consolidate(path)
    for place in (vsimem(path, "s.zarr"), zipped(path, "s.zarr"), server.vsi("s.zarr")):
        assert_pixels(open_ours(form.format(place)), as_raster(counting(SHAPE), "uint16"), windows=2)


@pytest.mark.parametrize("name", ["packed.zip", "s.zarr.zip", "s.ozx", "other.bin"])
@pytest.mark.parametrize("folder", ["", "s.zarr"])
def test_an_archive_opens_by_its_name_and_may_hold_the_folder_of_the_store(tmp_path, zipped, name, folder):
    write_group(tmp_path / "s.zarr", "data")
    archive = str(tmp_path / name)
    os.rename(zipped(tmp_path / "s.zarr", folder)[len("/vsizip/"):].split(".zip")[0] + ".zip", archive)
    with zipfile.ZipFile(archive, "a") as packed:  # by a Mac
        for extra in (".DS_Store", "__MACOSX/s.zarr/._zarr.json"):
            packed.writestr(extra, "x")
    inside = "/vsizip/{%s}" % archive if name[-3:] != "zip" else "/vsizip/" + archive
    for spelling in [inside] + ([archive, "SHARDEDZARR:" + archive] if name.startswith("s.") else []):
        assert_pixels(open_ours(spelling), as_raster(counting(SHAPE), "uint16"), windows=2)
    assert_pixels(open_array(inside, "/data"), as_raster(counting(SHAPE), "uint16"), windows=2)


def test_array_of_a_store_without_listing_or_consolidated_metadata_opens_by_its_path(tmp_path, server):
    write_group(tmp_path / "s", "a", "b")
    assert_pixels(open_array(server.vsi("s"), "/b"), as_raster(counting(SHAPE) + 1, "uint16"), windows=2)
    assert "name one" in error_of(open_array, server.vsi("s")), "nothing can be found there without a listing"


def test_ome_image_of_a_remote_store_is_found_without_a_listing(tmp_path, server):
    levels = [{"path": name, "coordinateTransformations": [{"type": "scale", "scale": [scale, scale]}]} for name, scale in (("0", 1), ("1", 2))]
    image = {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "y"}, {"name": "x"}], "datasets": levels}]}}
    oracle.write(tmp_path / "s", group_meta(image))
    oracle.write(tmp_path / "s/0", array_meta((8, 8)), counting((8, 8)))
    oracle.write(tmp_path / "s/1", array_meta((4, 4)), counting((4, 4)))
    assert held_band(open_array(server.vsi("s"))).GetOverviewCount() == 1
    assert sorted(r.path for r in server.log) == ["s/0/zarr.json", "s/1/zarr.json", "s/zarr.json"]


# ------------------------------------------------------------------------------------------------------- what it does not take

def not_ours(folder):
    """Files and directories for other drivers, or for none: {what: name}."""
    os.makedirs(folder / "empty")
    oracle.put(folder, {"v2/.zarray": {"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|u1", "compressor": None,
                                       "fill_value": 0, "order": "C", "filters": None}, "v2/0.0": b"\1\2\3\4",
                        "broken/zarr.json": b"{\"zarr_format\": 3, ", "hollow/zarr.json": b"", "binary/zarr.json": bytes(range(256)),
                        "list/zarr.json": b"[1, 2]", "four/zarr.json": {"zarr_format": 4}, "some.json": {"a": 1}, "any/zarr.json": {"a": 1},
                        "zarr.json.txt": b"hello", "text.zarr": b"hello"})
    gdal.Translate(str(folder / "image.tif"), gdal.GetDriverByName("MEM").Create("", 3, 2))
    found = {name: str(folder / name) for name in os.listdir(folder)}
    found.update({name + " by its file": "%s/zarr.json" % (folder / name)
                  for name in ("broken", "hollow", "binary", "list")})
    return {**found, "absent": str(folder / "absent.zarr"),
            "folder of images": str(folder), "other prefix": "NETCDF:\"a.nc\":b", "nothing": "", "xml": "<VRTDataset/>"}


def without_shards(folder):
    """Stores of v3 without shards: {what: name}."""
    oracle.write(folder / "array", plain_meta(SHAPE, "float64"), counting(SHAPE, "float64"))
    for group in "group", "consolidated":
        oracle.write(folder / group, group_meta())
        oracle.write(folder / group / "data", plain_meta(SHAPE, "float64"), counting(SHAPE, "float64"))
    oracle.consolidate(folder / "consolidated")
    found = {what: str(folder / what) for what in ("array", "group", "consolidated")}
    return {**found, **{what + " by its file": name + "/zarr.json" for what, name in found.items()}, "ZARR: array": 'ZARR:"%s"' % found["array"]}


BOTH = pytest.mark.parametrize("flags", [gdal.OF_RASTER, gdal.OF_MULTIDIM_RASTER], ids=["raster", "multidimensional"])


@BOTH
def test_every_store_of_v3_is_ours_unless_another_driver_is_asked(tmp_path, flags):
    for what, name in without_shards(tmp_path).items():
        for drivers in ([], ["ShardedZarr"], ["zarr", "ShardedZarr"]):
            assert tried(name, drivers, flags) == ("ShardedZarr", []), (what, drivers)
        assert gdal.IdentifyDriver(name).ShortName == "ShardedZarr", what
        assert tried(name, ["Zarr"], flags)[0] in ("Zarr", None), what
        if flags == gdal.OF_RASTER:
            assert_pixels(open_ours(name), as_raster(counting(SHAPE, "float64"), "float64"), windows=2)


def test_identify_and_open_decline_other_files_silently(tmp_path):
    for what, name in not_ours(tmp_path / "others").items():
        assert declined(name) == (True, []), what
        if not what.startswith("broken"):  # a damaged store of v3 is no other driver's to delete
            found = gdal.IdentifyDriverEx(name, allowed_drivers=["ShardedZarr", "Zarr"])
            assert found is None or found.ShortName == "Zarr", what


def test_remote_files_of_others_are_not_asked_for_a_zarr_json(tmp_path, server):
    not_ours(tmp_path / "others")
    for name in ("image.tif", "some.json", "text.zarr.txt"):
        assert declined(server.vsi("others/" + name)) == (True, [])
    assert server.requests("zarr.json") == []
    assert declined(server.vsi("absent.zarr")) == (True, [])


# ----------------------------------------------------------------------------------------------- where no other driver is asked

def test_a_store_of_any_name_opens_by_the_drivers_name(tmp_path, server):
    os.rename(without_shards(tmp_path)["array"], tmp_path / "scene.v3")  # for any driver, that is a file
    expected = as_raster(counting(SHAPE, "float64"), "float64")
    for name in (str(tmp_path / "scene.v3"), server.vsi("scene.v3"), server.vsi("scene.v3").replace("/vsicurl/", "")):
        assert_pixels(gdal.OpenEx(name, gdal.OF_RASTER, ["ShardedZarr"]), expected, windows=2)
        array = gdal.OpenEx(name, gdal.OF_MULTIDIM_RASTER, ["ShardedZarr"]).GetRootGroup().OpenMDArray("scene.v3")
        np.testing.assert_array_equal(array.ReadAsArray(), counting(SHAPE, "float64"))


def test_requesting_this_driver_alone_reports_why_nothing_opens(tmp_path, server):
    names = not_ours(tmp_path / "others")
    reasons = {"v2": "v2: expected Zarr v3, found Zarr v2", "absent": "absent.zarr/zarr.json: there is no such file", "broken": "not JSON",
               "four": "expected 3, found 4", "list": "expected a JSON object", "nothing": "there is no path"}
    for what, reason in reasons.items():
        assert reason in error_of(gdal.OpenEx, names[what], gdal.OF_RASTER, ["ShardedZarr"])
        assert reason not in error_of(gdal.OpenEx, names[what], gdal.OF_RASTER, ["ShardedZarr", "GTiff"]), "others may know it"
    server.faults["others/empty/zarr.json"] = 403
    assert "403" in error_of(gdal.OpenEx, server.vsi("others/empty"), gdal.OF_RASTER, ["ShardedZarr"])


@BOTH
def test_requesting_this_driver_without_verbose_errors_is_silent(tmp_path, server, flags):
    names = not_ours(tmp_path / "others")
    for what, name in names.items():
        assert tried(name, ["ShardedZarr"], flags) == (None, []), what
        if not what.startswith("broken"):
            assert gdal.IdentifyDriverEx(name, flags, ["ShardedZarr"]) is None, "by which GDAL chooses who deletes " + what
    assert tried(server.vsi("absent.zarr"), ["ShardedZarr"], flags) == (None, [])


# ---------------------------------------------------------------------------------------------------------- several rasters

def test_several_arrays_become_subdatasets_with_descriptions(tmp_path):
    path = write_group(tmp_path, "a", "b")
    oracle.write(tmp_path / "b", array_meta(SHAPE, attributes={"units": "K"}), counting(SHAPE) + 1)
    oracle.write(tmp_path / "deep", group_meta())
    oracle.write(tmp_path / "deep/cube", array_meta((3, 4, 5), "float32"), counting((3, 4, 5), "float32"))
    oracle.write(tmp_path / "scalar", plain_meta((), "int64"), np.zeros(()))
    found = subdatasets(open_ours(path))
    assert set(found) == {"/a", "/b", "/deep/cube"}
    for key, shape, kind in (("/a", "11x14", "uint16"), ("/deep/cube", "3x4x5", "float32")):
        description = found[key][1]
        assert description.startswith(key[1:] + " - [" + shape + "]") and kind in description.lower()
    assert_pixels(open_ours(found["/b"][0]), as_raster(counting(SHAPE) + 1, "uint16"), windows=2)
    assert open_ours(found["/deep/cube"][0]).RasterCount == 3


def test_coordinates_and_scalars_do_not_hide_the_only_raster(tmp_path):
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "data", array_meta((4, 6), dimension_names=["y", "x"]), counting((4, 6)))
    write_coordinate(tmp_path, "x", np.arange(6))
    write_coordinate(tmp_path, "y", np.arange(4))
    oracle.write(tmp_path / "spatial_ref", plain_meta((), "int64"), np.zeros(()))
    assert_pixels(open_ours(str(tmp_path)), as_raster(counting((4, 6)), "uint16"))


# ---------------------------------------------------------------------------------------------------- consolidated metadata

def test_stale_consolidated_metadata_is_ignored_on_request(tmp_path):
    write_group(tmp_path, "data")
    oracle.consolidate(tmp_path)
    longer = (20, 14)
    oracle.write(tmp_path / "data", array_meta(longer), counting(longer))
    assert open_array(tmp_path, "/data").RasterYSize == SHAPE[0]
    assert_pixels(open_array(tmp_path, "/data", options=["USE_CONSOLIDATED_METADATA=NO"]), as_raster(counting(longer), "uint16"))
    assert_pixels(open_array(tmp_path, "/data", options=["USE_ZMETADATA=NO"]), as_raster(counting(longer), "uint16"))


@pytest.mark.parametrize("consolidated", [None, {"kind": "inline", "must_understand": False, "metadata": {}}])
def test_empty_or_null_consolidated_metadata_of_a_child_is_ignored(tmp_path, consolidated):
    write_group(tmp_path, "data")
    oracle.consolidate(tmp_path)
    root = json.loads((tmp_path / "zarr.json").read_text())
    root["consolidated_metadata"]["metadata"]["empty"] = group_meta(consolidated_metadata=consolidated)
    oracle.put(tmp_path, {"zarr.json": root})
    assert open_ours(str(tmp_path)).RasterCount == 1


# ------------------------------------------------------------------------------------------------------- extra dimensions

CUBE = (2, 3, 5, 7)


def write_cube(path, **members):
    oracle.write(path, group_meta())
    names = ["time", "level", "y", "x"]
    oracle.write("%s/data" % path, array_meta(CUBE, shard=(2, 2, 4, 4), codecs=[sharding((1, 1, 2, 4))], dimension_names=names, **members),
                 counting(CUBE))
    return str(path)


def test_extra_dimensions_become_bands_in_c_order(tmp_path):
    dataset = open_array(write_cube(tmp_path), "/data")
    assert_pixels(dataset, as_raster(counting(CUBE), "uint16"))
    indices = [(b.GetMetadataItem("DIM_time_INDEX"), b.GetMetadataItem("DIM_level_INDEX"))
               for b in map(dataset.GetRasterBand, range(1, 7))]
    assert indices == [(str(t), str(z)) for t in range(2) for z in range(3)]


def test_bands_carry_the_values_of_their_coordinates(tmp_path):
    path = write_cube(tmp_path)
    write_coordinate(tmp_path, "level", [1000, 850, 500.5], {"units": "hPa"})
    write_coordinate(tmp_path, "time", [0, 36], {"units": "hours since 2020-02-28", "calendar": "standard"}, "int64")
    dataset = open_array(path, "/data")
    values = [float(dataset.GetRasterBand(b).GetMetadataItem("DIM_level_VALUE")) for b in (1, 2, 3, 4)]
    assert values == [1000, 850, 500.5, 1000]
    assert "850" in dataset.GetRasterBand(2).GetDescription()
    assert "2020-02-28T00:00:00" in dataset.GetRasterBand(1).GetDescription()
    assert "2020-02-29T12:00:00" in dataset.GetRasterBand(4).GetDescription()
    assert dataset.GetRasterBand(4).GetMetadataItem("DIM_time_VALUE") in ("36", "2020-02-29T12:00:00", "2020-02-29T12:00:00Z")


def test_without_multiband_the_slices_are_subdatasets(tmp_path):
    found = subdatasets(open_array(write_cube(tmp_path), "/data", options=["MULTIBAND=NO"]))
    assert len(found) == 6
    slices = bands_of(counting(CUBE))
    for number, (name, _) in enumerate(found.values()):
        np.testing.assert_array_equal(read_all(open_ours(name))[0], slices[number])


@pytest.mark.parametrize("dim_x, dim_y, x, y", [("time", "level", 0, 1), ("0", "1", 0, 1), ("y", "x", 2, 3), ("level", "time", 1, 0)])
def test_dim_x_and_dim_y_choose_the_plane(tmp_path, dim_x, dim_y, x, y):
    dataset = open_array(write_cube(tmp_path), "/data", options=["DIM_X=" + dim_x, "DIM_Y=" + dim_y])
    assert_pixels(dataset, as_raster(counting(CUBE), "uint16", y, x))


@pytest.mark.parametrize("names, attributes, x, y", [
    (["x", "y", "t"], {}, 0, 1), (["lon", "lat", "t"], {}, 0, 1), (["Longitude", "t", "Latitude"], {}, 0, 2),
    (["easting", "northing", "band"], {}, 0, 1), (["row", "col", "band"], {}, 1, 0), (["a", "b", "c"], {}, 2, 1), (None, {}, 2, 1),
    (["y_osgb", "x_osgb", "step"], {}, 1, 0), (["t", "x_laea", "y_laea"], {}, 1, 2), (["y_geostationary", "x_geostationary", "t"], {}, 1, 0),
    (["grid_lat", "grid_lon", "t"], {}, 1, 0), (["t", "y_1", "x_2"], {}, 2, 1), (["x_a", "y_a", "x_b"], {}, 0, 1), (["lon", "lat", "x_a"], {}, 0, 1),
    (["a", "b", "c"], {"a": {"axis": "X"}, "c": {"axis": "Y"}}, 0, 2),
    (["a", "b", "c"], {"b": {"standard_name": "projection_x_coordinate"}, "a": {"standard_name": "projection_y_coordinate"}}, 1, 0),
    (["a", "b", "c"], {"a": {"units": "degrees_east"}, "b": {"units": "degrees_north"}}, 0, 1)])
def test_x_and_y_are_found_among_the_dimensions(tmp_path, names, attributes, x, y):
    shape = (3, 4, 5)
    array = random_values(np.random.default_rng(1), "int32", shape)
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "data", array_meta(shape, "int32", **({"dimension_names": names} if names else {})), array)
    for name, more in attributes.items():
        write_coordinate(tmp_path, name, np.arange(shape[names.index(name)]), more)
    assert_pixels(open_array(tmp_path, "/data"), as_raster(array, "int32", y, x))


# ------------------------------------------------------------------------------------------------------------- extensions

def test_absent_array_is_an_error_that_lists_existing_ones(tmp_path):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    for name in ("t2m", "tp"):
        oracle.write(path + "/" + name, array_meta((4, 6), dimension_names=["y", "x"]), counting((4, 6)))
    for consolidated in (False, True):
        if consolidated:
            oracle.consolidate(path)
        message = error_of(gdal.Open, name_of(path, "/t2"))
        assert 'no array or group "t2"' in message and message.endswith("there is /t2m and others"), message
