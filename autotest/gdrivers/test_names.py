"""Names that come from files: they lead to nothing outside of a store, and to nothing inside that is not what they mean."""
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import MULTISCALES, array_meta, convention, counting, group_meta, plain_meta, sharding, write_coordinate
from support import assert_same, error_of, geotransform, open_array, open_ours, read_all, same_crs, srs_of
from test_update import update
from writing import UTM, check_consolidated, copy, document, snapshot, source

SHAPE = (40, 50)
BAD_NAMES = ["..", ".", "", "/", "../../bait", "a/../../bait", "/vsimem/bait", "zarr.json", "C:\\bait", "a\\b", "a\nb", "%2e%2e", "..%2fbait", "%00",
             "http://127.0.0.1:9/bait", "/absolute"]


def bait(folder, length):
    """Makes a folder look like what a name is after: a coordinate variable of the right length with a CRS, beside files of others."""
    values = 1000 + 7.0 * np.arange(length)
    meta = plain_meta((length,), dimension_names=["y"], attributes={"crs_wkt": srs_of(32633).ExportToWkt(), "spatial_ref": "EPSG:32633"})
    oracle.write(str(folder), meta, values)
    for name in ("keep.txt", "c/keep.txt", "0/keep.txt", "ovr_2x/v/keep.txt"):
        os.makedirs(os.path.dirname(os.path.join(str(folder), name)), exist_ok=True)
        with open(os.path.join(str(folder), name), "w") as file:
            file.write("not yours")


def store_in_bait(tmp_path, name, group="", consolidated=False, **members):
    """A store with an array v in a group, three folders deep, with baits above and wherever else the name leads."""
    if name.startswith("/") and name.strip("/").startswith("absolute"):
        name = str(tmp_path / "above" / "bait")
    above = tmp_path / "above" / "b"
    path = str(above / "a.zarr")
    for length in SHAPE:
        bait(tmp_path / "above" / "bait", length)
        bait(above / "bait", length)
        bait(above, SHAPE[0])
    oracle.put(path, {"zarr.json": group_meta(), "keep.txt": b"not yours"})
    values = counting(SHAPE)
    v = os.path.join(path, group, "v")
    oracle.write(v, array_meta(SHAPE, shard=[16, 32], codecs=[sharding((8, 8))], **members), values)
    if group:
        oracle.put(os.path.join(path, group), {"zarr.json": group_meta()})
    if consolidated:
        oracle.consolidate(path)
    return path, name, values


def outside(tmp_path):
    return snapshot(tmp_path, "above/b/a.zarr")


def use(path, array, values):
    """All that may touch names: opening, looking, changing place, bands and overviews. Returns nothing; errors are for the caller."""
    open_ours('SHARDEDZARR:"%s"' % path)
    dataset = open_array(path, array)
    assert_same(read_all(dataset), values[np.newaxis])
    assert geotransform(dataset) is None and dataset.GetSpatialRef() is None
    for ask in (dataset.GetMetadata, dataset.GetMetadataDomainList, dataset.GetFileList, dataset.GetRasterBand(1).GetOverviewCount):
        ask()
    dataset = update(path, array)
    dataset.SetGeoTransform(UTM)
    dataset.SetSpatialRef(srs_of(32631))
    dataset = None
    dataset = open_array(path, array)
    assert geotransform(dataset) == UTM and same_crs(dataset, "EPSG:32631")
    dataset = update(path, array)
    dataset.SetMetadataItem("note", "changed")
    dataset.GetRasterBand(1).SetNoDataValue(9)
    dataset.GetRasterBand(1).SetDescription("band")
    dataset.GetRasterBand(1).ComputeStatistics(False)
    dataset.GetRasterBand(1).WriteArray(values[:8, :8], 0, 0)
    dataset = None
    update(path, array).BuildOverviews("NEAREST", [2, 4])
    dataset = open_array(path, array)
    assert dataset.GetRasterBand(1).GetOverviewCount() == 2
    assert geotransform(dataset) == UTM and same_crs(dataset, "EPSG:32631")
    update(path, array).SetGeoTransform([1, 2, 0.5, 3, 0.25, -4])
    assert geotransform(open_array(path, array)) == (1, 2, 0.5, 3, 0.25, -4)
    update(path, array).BuildOverviews("NONE", [])
    dataset = open_array(path, array)
    assert dataset.GetRasterBand(1).GetOverviewCount() == 0
    assert_same(read_all(dataset), values[np.newaxis])


# ------------------------------------------------------------------------------------------------------ out of the store

@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("group, consolidated", [("", False), ("g", True)])
def test_dimension_name_that_is_no_node_name_is_not_looked_up(tmp_path, name, group, consolidated):
    path, name, values = store_in_bait(tmp_path, name, group, consolidated, dimension_names=[name, name and name + "x"])
    before = outside(tmp_path)
    use(path, "/" + os.path.join(group, "v"), values)
    assert outside(tmp_path) == before
    with open(path + "/keep.txt") as file:
        assert file.read() == "not yours"
    if consolidated:
        check_consolidated(path)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_variable_named_by_an_attribute_lies_inside_the_store(tmp_path, name):
    attributes = {key: name for key in ("grid_mapping", "coordinates", "ancillary_variables", "bounds", "cell_measures")}
    path, name, values = store_in_bait(tmp_path, name, "g", dimension_names=["y", "x"], attributes=attributes)
    before = outside(tmp_path)
    use(path, "/g/v", values)
    assert outside(tmp_path) == before


def levels(name, kind):
    if kind == "ome":
        return {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
                                                           "datasets": [{"path": p} for p in ("v", name)]}]}}
    if kind == "tiles":
        return {"multiscales": {"tile_matrix_set": {"tileMatrices": [{"id": "v"}, {"id": name}]}}}
    entries = [{"asset": "v", "spatial:shape": list(SHAPE)}, {"asset": name, "derived_from": "v"}]
    return {"zarr_conventions": [convention(MULTISCALES)], "multiscales": {"layout": entries}}


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("kind", ["multiscales", "ome", "tiles"])
def test_pyramid_level_lies_inside_the_store(tmp_path, name, kind):
    path, name, values = store_in_bait(tmp_path, name, dimension_names=["y", "x"])
    small = array_meta((20, 25), shard=[16, 32], codecs=[sharding((8, 8))], dimension_names=["y", "x"])
    for folder in ("above", "above/b", "above/bait", "above/b/bait"):
        shutil.rmtree(str(tmp_path / folder / "c"), ignore_errors=True)
        oracle.write(str(tmp_path / folder), small, np.full((20, 25), 66, "uint16"))
        oracle.write(str(tmp_path / folder / "v"), small, np.full((20, 25), 66, "uint16"))
    oracle.put(path, {"zarr.json": group_meta(levels(name, kind))})
    before = outside(tmp_path)
    dataset = open_array(path, "/v")
    assert dataset.GetRasterBand(1).GetOverviewCount() == 0
    use(path, "/v", values)
    assert outside(tmp_path) == before


@pytest.mark.parametrize("name", BAD_NAMES)
def test_consolidated_keys_outside_the_store_are_ignored(tmp_path, name):
    path, name, values = store_in_bait(tmp_path, name, consolidated=True, dimension_names=["y", "x"])
    root = document(path)
    root["consolidated_metadata"]["metadata"].update({
        name: plain_meta((SHAPE[0],), dimension_names=["y"]), name + "/v": array_meta(SHAPE, codecs=[sharding((2, 2))]),
        "g/" + name: array_meta(SHAPE, codecs=[sharding((2, 2))])})
    oracle.put(path, {"zarr.json": root})
    before = outside(tmp_path)
    assert_same(read_all(open_ours(path)), values[np.newaxis])  # the only raster
    use(path, "/v", values)
    assert outside(tmp_path) == before


@pytest.mark.parametrize("name", ["...", "C:", "a\\b", "a\nb", "a\x7fb", "%2e%2e", "..%2fbait"])
def test_folder_with_an_invalid_node_name_is_not_listed(tmp_path, name):
    path, _, values = store_in_bait(tmp_path, name, dimension_names=["y", "x"])
    os.rename(path + "/zarr.json", path + "/root")
    oracle.write(os.path.join(path, "more", name), array_meta(SHAPE, codecs=[sharding((2, 2))]), counting(SHAPE))
    os.rename(path + "/root", path + "/zarr.json")
    assert_same(read_all(open_ours(path)), values[np.newaxis])  # the only raster


@pytest.mark.parametrize("name", ["__xarray_dataarray_variable__", "a:b", "a:1", "__x:0"])
@pytest.mark.parametrize("consolidated", [True, False])
def test_names_that_the_specification_advises_against_are_listed_opened_and_copied(tmp_path, name, consolidated):
    path, values = str(tmp_path / "a.zarr"), counting(SHAPE)
    oracle.put(path, {"zarr.json": group_meta()})
    for member in (name, "other"):
        oracle.write(os.path.join(path, member), array_meta((1, *SHAPE), codecs=[sharding((1, 2, 2))], dimension_names=["__t", "y", "x"]), values[None])
    if consolidated:
        oracle.consolidate(path)
    names = [key for key, text in gdal.OpenEx("SHARDEDZARR:" + path, open_options=["MULTIBAND=NO"]).GetSubDatasets()]
    assert len(names) == 2
    spelt = "/" + name.replace(":", "%3A")
    for opened in [open_array(path, spelt)] + [gdal.Open(key) for key in names]:
        assert_same(read_all(opened), values[np.newaxis])
    gdal.MultiDimTranslate(str(tmp_path / "b.zarr"), "SHARDEDZARR:" + path, format="ShardedZarr")
    assert_same(read_all(open_array(str(tmp_path / "b.zarr"), spelt)), values[np.newaxis])
    copy(tmp_path / "c.zarr", open_array(path, spelt), ARRAY_NAME=name)
    assert_same(read_all(open_array(str(tmp_path / "c.zarr"), spelt)), values[np.newaxis])


@pytest.mark.parametrize("name", BAD_NAMES)
def test_invalid_node_names_are_refused_on_creation(tmp_path, name):
    for option in ("ARRAY_NAME=%s" % name, "DIM_NAMES=y,%s" % name):
        if name == "" and option.startswith("ARRAY_NAME"):
            continue  # the default
        message = error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "a.zarr"), source(counting(SHAPE)), options=[option])
        assert option.split("=")[0] in message and "expected" in message
        assert os.listdir(str(tmp_path)) == []


# --------------------------------------------------------------------------------------- something else of the same name

def other(kind, name, shape=(6, 7)):
    """{key: object} of what is not a variable of the raster, and the array (path, values) whose pixels tell whether it is whole."""
    values = counting(shape)
    if kind == "group":
        return {name: group_meta({"mine": 1}), name + "/deep/v": array_meta(shape)}, (name + "/deep/v", values)
    if kind == "implicit group":
        return {name + "/v": array_meta(shape)}, (name + "/v", values)
    if kind == "picture":
        return {name: array_meta(shape, attributes={"mine": 1})}, (name, values)
    if kind == "of another dimension":
        return {name: plain_meta(SHAPE[:1], "uint16", dimension_names=["station"], attributes={"mine": 1})}, (name, counting(SHAPE[:1]))
    if kind == "of another length":
        return {name: plain_meta((7,), "uint16", dimension_names=[name], attributes={"mine": 1})}, (name, counting((7,)))
    assert kind == "unknown"
    return {name: {**array_meta(SHAPE[:1]), "data_type": "of tomorrow", "dimension_names": [name]}}, None


OTHERS = ["group", "implicit group", "picture", "of another dimension", "of another length", "unknown"]


def put_other(path, kind, name):
    """Puts it there; returns a function that says whether it is still there, bytes and pixels."""
    nodes, pixels = other(kind, name)
    for node, meta in nodes.items():
        array = pixels[1] if pixels and pixels[0] == node else None
        oracle.write(os.path.join(path, node), meta, array)
    oracle.put(path, {name + "/keep.txt": b"not yours"})
    first = name.split("/")[0]
    before = snapshot(os.path.join(path, first))
    return lambda: snapshot(os.path.join(path, first)) == before


def raster_with(tmp_path, kind, name, listed, array="v", **members):
    """A store with a raster, and beside it something of that name that no consolidated metadata list unless `listed`."""
    path, values = str(tmp_path / "a.zarr"), counting(SHAPE)
    oracle.put(path, {"zarr.json": group_meta()})
    members.setdefault("dimension_names", ["y", "x"])
    oracle.write(os.path.join(path, array), array_meta(SHAPE, shard=[16, 32], codecs=[sharding((8, 8))], **members), values)
    if listed is False:
        oracle.consolidate(path)
    is_whole = put_other(path, kind, name)
    if listed:
        oracle.consolidate(path)
    return path, values, is_whole


def test_array_named_like_its_dimension_keeps_its_pixels(tmp_path):
    path, values, _ = raster_with(tmp_path, "group", "other", None, array="x")
    use(path, "/x", values)
    meta, stored = oracle.read(path + "/x")
    assert meta["shape"] == list(SHAPE)
    assert_same(stored, values)


@pytest.mark.parametrize("listed", [None, True, False])
@pytest.mark.parametrize("kind", OTHERS)
def test_copied_coordinate_does_not_overwrite_an_existing_node(tmp_path, kind, listed):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    values = counting((2,) + SHAPE)
    oracle.write(path + "/v", array_meta(values.shape, shard=[2, 16, 32], codecs=[sharding((1, 8, 8))], dimension_names=["time", "y", "x"]), values)
    write_coordinate(path, "time", [3, 4])
    oracle.put(path, {"ovr_2x/zarr.json": group_meta()})
    if listed is False:
        oracle.consolidate(path)
    is_whole = put_other(path + "/ovr_2x", kind, "time")
    if listed:
        oracle.consolidate(path)
    update(path, "/v").BuildOverviews("NEAREST", [2])
    assert is_whole()
    assert_same(read_all(open_array(path, "/ovr_2x/v")), values[:, ::2, ::2])


# ------------------------------------------------------------------------------------------- names of stores and of arrays

def without_quotes(name):
    """What rasterio 1.4 makes of the name of a subdataset."""
    return name.replace('"', "")


ARRAY_NAMES = ["t", "t:0", "t:0:1", "t%3A0", "t%253A0", "100%", "a\"b", "\"t\"", "2024-01-01T12:00", "a b", "é", "aa:", ":0", "%", "%22", "t&u=1|2"]


@pytest.mark.parametrize("consolidated", [False, True])
def test_listed_names_open_what_they_name(tmp_path, consolidated):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta(), "g/zarr.json": group_meta()})
    wanted = {}
    for number, name in enumerate(ARRAY_NAMES + ["g/" + name for name in ARRAY_NAMES]):
        wanted["/" + name] = np.full((2, 4, 6), number, "uint16")
        oracle.write(os.path.join(path, name), array_meta((2, 4, 6)), wanted["/" + name])
    if consolidated:
        oracle.consolidate(path)
    listed = gdal.Open(path).GetSubDatasets()
    assert [open_array(path, name).RasterCount for name in ("/", "/g")] == [len(wanted)] * 2 and len(listed) == len(wanted)
    for name, description in listed:
        array = "/" + description[:description.rindex(" - ")]
        for spelling in (name, without_quotes(name)):
            assert_same(read_all(open_ours(spelling)), wanted[array])
            assert_same(read_all(open_ours(spelling + ":1")), wanted[array][1:])
        slices = gdal.OpenEx(name, open_options=["MULTIBAND=NO"]).GetSubDatasets()
        assert len(slices) == 2
        for slice_name, _ in slices:
            assert_same(read_all(open_ours(slice_name)), wanted[array][:1])


@pytest.mark.skipif(not hasattr(gdal, "GetSubdatasetInfo"), reason="GDAL 3.8 brought GDALGetSubdatasetInfo()")
@pytest.mark.parametrize("store", ["a.zarr", "a b.zarr", "a\"b.zarr", "\"a\".zarr", "a:/b.zarr", "t:0"])
def test_subdataset_info_splits_names_and_changes_their_path(tmp_path, store):
    old, new = str(tmp_path / "old" / store), str(tmp_path / "new.zarr")
    oracle.put(old, {"zarr.json": group_meta()})
    for name in ARRAY_NAMES:
        oracle.write(os.path.join(old, name), array_meta((2, 4, 6)), counting((2, 4, 6)))
    listed = [name for name, _ in gdal.Open(old).GetSubDatasets()]
    whole = gdal.GetSubdatasetInfo(listed[0][:listed[0].rindex(":/") + 2])  # the group of all
    assert whole.GetPathComponent() == old
    parts = [gdal.GetSubdatasetInfo(name) for name in listed + [name + ":1" for name in listed]]
    assert len(parts) == 2 * len(ARRAY_NAMES) and {part.GetPathComponent() for part in parts} == {old}
    assert all(part.GetSubdatasetComponent().startswith("/") for part in parts)
    os.makedirs(os.path.dirname(new), exist_ok=True)
    os.rename(old, new)
    for number, part in enumerate(parts):
        expected = counting((2, 4, 6))[0 if number < len(listed) else 1:]
        assert_same(read_all(open_ours(part.ModifyPathComponent(new))), expected)
    assert open_ours(whole.ModifyPathComponent(new)).RasterCount == 2 * len(ARRAY_NAMES)


@pytest.mark.parametrize("store", ["multi.zarr", "./multi.zarr", "sub/multi.zarr", "d", "a b.zarr", "t:0", "2024-01-01T12:00.zarr", "12:00", "a\"b.zarr",
                                   "\"a\".zarr", "a\":b.zarr", "a:/b.zarr", "a%3Ab.zarr", "x.zarr:", ":x", "é.zarr", "a'b$c.zarr", "a?b=c.zarr",
                                   "a\\b.zarr", "a\nb.zarr", "SHARDEDZARR", "zarr.json.zarr", " "])
def test_a_store_of_any_name_is_made_and_opens_again(tmp_path, monkeypatch, store):
    os.mkdir(str(tmp_path / "here"))
    monkeypatch.chdir(str(tmp_path / "here"))
    values = counting(SHAPE)
    for place in (store, str(tmp_path / "there" / store)):
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        made = gdal.GetDriverByName("ShardedZarr").CreateCopy(place, source(values, UTM, "EPSG:32631"), options=["OVERVIEWS=2"])
        assert_same(read_all(made), values[np.newaxis])
        del made
        for name in (place, 'SHARDEDZARR:"%s"' % place):
            dataset = open_ours(name)
            assert_same(read_all(dataset), values[np.newaxis])
            assert geotransform(dataset) == UTM and dataset.GetRasterBand(1).GetOverviewCount() == 1
        dataset = gdal.OpenEx(place, gdal.OF_UPDATE)
        dataset.GetRasterBand(1).WriteArray(values[:3, :3] + 1, 0, 0)
        dataset = None
        more = gdal.GetDriverByName("ShardedZarr").CreateCopy(place, source(values), options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=more"])
        assert_same(read_all(more), values[np.newaxis])
        del more
        listed = [name for name, _ in gdal.Open(place).GetSubDatasets()]
        assert len(listed) == 2
        assert [read_all(open_ours(name))[0, 0, 0] for name in listed] in ([1, 0], [0, 1])
        if '"' not in store:
            assert not any('"' in name for name in listed)


@pytest.mark.parametrize("form", ["SHARDEDZARR:{}:/t2m", 'SHARDEDZARR:"{}":/t2m', 'SHARDEDZARR:"{}":t2m', "SHARDEDZARR:{}/:/t2m", "SHARDEDZARR:{}/zarr.json:/t2m/",
                                  'ZARR:"{}":/t2m', "ZARR:{}:/t2m"])
def test_names_with_and_without_quotes(tmp_path, monkeypatch, form):
    values = counting((3, 4, 6))
    oracle.write(tmp_path / "multi.zarr/t2m", array_meta((3, 4, 6)), values)
    oracle.put(tmp_path / "multi.zarr", {"zarr.json": group_meta()})
    monkeypatch.chdir(str(tmp_path))
    for store in ("multi.zarr", "./multi.zarr", str(tmp_path / "multi.zarr")):
        assert_same(read_all(open_ours(form.format(store))), values)
        assert_same(read_all(open_ours(form.format(store) + ":2")), values[2:])


def test_names_without_quotes_over_http(tmp_path, server):
    values = counting((3, 4, 6))
    oracle.write(tmp_path / "multi.zarr/t2m", array_meta((3, 4, 6)), values)
    oracle.write(tmp_path / "multi.zarr/u:1", array_meta((3, 4, 6)), values + 1)
    oracle.put(tmp_path / "multi.zarr", {"zarr.json": group_meta()})
    oracle.consolidate(tmp_path / "multi.zarr")
    for store in (server.vsi("multi.zarr"), server.vsi("multi.zarr")[len("/vsicurl/"):]):
        assert_same(read_all(open_ours("SHARDEDZARR:%s:/t2m" % store)), values)
        assert_same(read_all(open_ours("SHARDEDZARR:%s:/t2m:2" % store)), values[2:])
        names = [name for name, _ in open_ours("SHARDEDZARR:" + store).GetSubDatasets()]
        assert len(names) == 2 and not any('"' in name for name in names)
        for name, wanted in zip(names + ["SHARDEDZARR:%s:/" % store], (values, values + 1, np.concatenate([values, values + 1]))):
            assert_same(read_all(open_ours(name)), wanted)


def test_a_store_ends_at_the_last_colon_before_a_slash_or_its_quotes(tmp_path):
    oracle.put(tmp_path / "a.zarr", {"zarr.json": group_meta()})
    oracle.write(tmp_path / "a.zarr/b.zarr", array_meta((4, 6)), counting((4, 6)))
    whole = oracle.write(tmp_path / "a.zarr:/b.zarr", array_meta((4, 6)), counting((4, 6)) + 1)
    name = "SHARDEDZARR:" + whole
    assert read_all(open_ours(name))[0, 0, 0] == 0
    assert read_all(open_ours('SHARDEDZARR:"%s"' % whole))[0, 0, 0] == 1


def test_a_name_without_a_slash_is_answered_with_the_right_spelling(tmp_path, server):
    oracle.put(tmp_path / "a.zarr", {"zarr.json": group_meta()})
    for store in (server.vsi("a.zarr"), tmp_path / "a.zarr"):
        assert error_of(open_ours, "SHARDEDZARR:%s:t2m" % store).endswith("; an array is named by STORE:/ARRAY")


def test_the_geolocation_of_a_signed_url_opens(tmp_path, server):
    lon, lat = np.meshgrid(np.linspace(10, 12, SHAPE[1]), np.linspace(50, 48, SHAPE[0]))
    path, dims = tmp_path / "a.zarr", {"dimension_names": ["y", "x"]}
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path / "v", array_meta(SHAPE, attributes={"coordinates": "lon lat"}, **dims), counting(SHAPE))
    oracle.write(path / "lon", plain_meta(SHAPE, attributes={"units": "degrees_east"}, **dims), lon)
    oracle.write(path / "lat", plain_meta(SHAPE, attributes={"units": "degrees_north"}, **dims), lat)
    store = server.vsi("a.zarr?X-Amz-Credential=A%2Fb&X-Amz-Signature=a:/b%3A0")
    document = server.vsi("a.zarr/zarr.json?X-Amz-Credential=A%2Fb&X-Amz-Signature=a:/b%3A0")
    for spelling, store in [("SHARDEDZARR:%s:/v", store), ('SHARDEDZARR:"%s":/v', store), ("SHARDEDZARR:%s:/v", document)]:
        del server.log[:]
        geolocation = open_ours(spelling % store).GetMetadata("GEOLOCATION")
        assert_same(read_all(open_ours(geolocation["X_DATASET"])), lon[np.newaxis])
        assert_same(read_all(open_ours(geolocation["Y_DATASET"])), lat[np.newaxis])
        warped = gdal.Warp("", spelling % store, format="MEM", geoloc=True, dstSRS="EPSG:4326")
        assert warped.ReadAsArray().any()
        assert {request.query for request in server.log} == {"X-Amz-Credential=A%2Fb&X-Amz-Signature=a:/b%3A0"}


# ----------------------------------------------------------------------------------------------------------- lists of files

SPELLINGS = ["{}", "{}/", "{}//", "{}/zarr.json", 'SHARDEDZARR:"{}"', "SHARDEDZARR:{}", "SHARDEDZARR:{}/", "SHARDEDZARR:{}/zarr.json"]


@pytest.fixture
def side_cars():
    gdal.SetConfigOption("GDAL_PAM_ENABLED", "YES")
    yield
    gdal.SetConfigOption("GDAL_PAM_ENABLED", None)


@pytest.mark.parametrize("spelling", SPELLINGS + ["SHARDEDZARR:{}:/v", 'SHARDEDZARR:"{}/":v'])
def test_the_list_of_files_has_the_document_of_the_root_once_and_the_side_car(tmp_path, monkeypatch, side_cars, spelling):
    monkeypatch.chdir(str(tmp_path))
    for place in (str(tmp_path / "a.zarr"), "a.zarr"):
        oracle.put(place, {"zarr.json": group_meta()})
        oracle.write(place + "/v", array_meta(SHAPE, dimension_names=["y", "x"]), counting(SHAPE))
        documents = [place + "/zarr.json"]
        assert open_ours(spelling.format(place)).GetFileList() == documents
        open_ours(spelling.format(place)).SetMetadataItem("note", "kept", "MINE")
        dataset = open_ours(spelling.format(place))
        assert dataset.GetMetadataItem("note", "MINE") == "kept"
        assert dataset.GetFileList() == documents + [place + "/zarr.json.aux.xml"]
        assert os.path.exists(place + "/zarr.json.aux.xml")
        dataset = None
        os.remove(place + "/zarr.json.aux.xml")


# ------------------------------------------------------------------------------------------------------ arrays by their folders

def forecast(path, group="", consolidated=True):
    """A store with an array of three times in a group, and its coordinates."""
    inner, values = path / group, counting((3,) + SHAPE, "float32")
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.put(inner, {"zarr.json": group_meta({"Conventions": "CF-1.8"})})
    write_coordinate(inner, "y", 60.0 - np.arange(SHAPE[0]), {"units": "degrees_north"})
    write_coordinate(inner, "x", 5.0 + np.arange(SHAPE[1]), {"units": "degrees_east"})
    write_coordinate(inner, "time", np.arange(3.0), {"units": "hours since 2026-05-01"})
    oracle.write(inner / "v", array_meta((3,) + SHAPE, "float32", dimension_names=["time", "y", "x"]), values)
    if consolidated:
        oracle.consolidate(str(path))
    return values


def check_forecast(dataset, values):
    assert geotransform(dataset) == (4.5, 1, 0, 60.5, 0, -1) and dataset.GetSpatialRef() is not None
    assert dataset.GetRasterBand(2).GetMetadataItem("DIM_time_VALUE") == "2026-05-01T01:00:00"
    assert_same(read_all(dataset), values)


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("group", ["", "a/b"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_array_opens_by_its_folder_as_that_of_the_store_above(tmp_path, monkeypatch, spelling, group, consolidated):
    values = forecast(tmp_path / "s.zarr", group, consolidated)
    folder = os.path.join("s.zarr", group, "v")
    monkeypatch.chdir(str(tmp_path))
    check_forecast(open_ours(spelling.format(folder)), values)
    monkeypatch.chdir(str(tmp_path / "s.zarr"))
    check_forecast(open_ours(spelling.format(os.path.relpath(folder, "s.zarr"))), values)
    monkeypatch.chdir(str(tmp_path / folder))
    for name in "SHARDEDZARR:.", "SHARDEDZARR:zarr.json", "zarr.json":
        check_forecast(open_ours(name), values)
    at = open_ours('SHARDEDZARR:"%s":/:time=2026-05-01T01' % (tmp_path / folder))
    assert_same(read_all(at), values[1:2])
    opened = gdal.OpenEx(str(tmp_path / folder), gdal.OF_MULTIDIM_RASTER)
    arrays = opened.GetRootGroup()
    assert arrays.OpenMDArray("v").GetDimensions()[0].GetIndexingVariable().Read()


def test_an_array_that_is_not_listed_is_found_by_the_option_that_the_error_names(tmp_path, server):
    values = forecast(tmp_path / "s.zarr")
    shutil.copytree(str(tmp_path / "s.zarr/v"), str(tmp_path / "s.zarr/w"))
    for store in str(tmp_path / "s.zarr"), server.vsi("s.zarr"):
        assert "USE_CONSOLIDATED_METADATA=NO" in error_of(open_array, store, "/w")
        assert "there is /v" in error_of(open_array, store, "/absent")
        check_forecast(open_array(store, "/w", options=["USE_CONSOLIDATED_METADATA=NO"]), values)


def test_an_array_opens_by_its_folder_over_http_where_a_group_is_above(tmp_path, server, config):
    config("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    values = forecast(tmp_path / "s.zarr", "g")
    check_forecast(open_ours(server.vsi("s.zarr/g/v")), values)
    documents = [request.path for request in server.requests("zarr.json")]
    assert documents == [p + "zarr.json" for p in ("s.zarr/g/v/", "s.zarr/g/", "s.zarr/", "")]
    server.log.clear()
    check_forecast(open_ours("SHARDEDZARR:%s:/v" % server.vsi("s.zarr/g")), values)
    assert "zarr.json" not in {request.path for request in server.log}, "a group is not asked about"


@pytest.mark.parametrize("group", ["", "g"])
def test_an_edit_by_the_folder_of_an_array_keeps_the_consolidated_metadata(tmp_path, group):
    forecast(tmp_path / "s.zarr", group)
    folder = str(tmp_path / "s.zarr" / group / "v")
    dataset = gdal.OpenEx(folder, gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.SetMetadataItem("note", "new")
    dataset.GetRasterBand(1).Fill(5)
    dataset = None
    check_consolidated(tmp_path / "s.zarr")
    whole = open_ours("SHARDEDZARR:%s:/%s" % (tmp_path / "s.zarr", os.path.join(group, "v")))
    assert whole.GetMetadataItem("note") == "new" and (whole.GetRasterBand(1).ReadAsArray() == 5).all()


@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("folder", ["v", "v/", "g", "g/v"])
def test_what_is_in_a_store_is_neither_deleted_nor_replaced_by_its_folder(tmp_path, folder, consolidated):
    forecast(tmp_path / "s.zarr", "g", consolidated=False)
    forecast(tmp_path / "s.zarr", consolidated=consolidated)
    ours, name, before = gdal.GetDriverByName("ShardedZarr"), str(tmp_path / "s.zarr" / folder), snapshot(tmp_path)
    new, overwrite = source(counting(SHAPE)), ["OVERWRITE=YES"]
    for action in (lambda: ours.Delete(name), lambda: ours.Rename(str(tmp_path / "r.zarr"), name),
                   lambda: ours.CopyFiles(str(tmp_path / "r.zarr"), name), lambda: ours.CreateCopy(name, new, options=overwrite),
                   lambda: ours.Create(name, 4, 4), lambda: ours.CreateMultiDimensional(name, options=overwrite),
                   lambda: gdal.Translate(name, new, format="ShardedZarr")):
        assert "in the store" in error_of(action)
        assert snapshot(tmp_path) == before


# ------------------------------------------------------------------------------------------------------------------------ links

@pytest.mark.parametrize("links", [{"g/latest": "."}, {"g/up": ".."}, {"g/all": "../.."}, {"g/to": "../h", "h/back": "../g"}, {"g/self": "self"}])
def test_a_link_that_leads_back_hides_itself_and_not_the_store(tmp_path, links):
    path = tmp_path / "s.zarr"
    oracle.put(path, {"zarr.json": group_meta()})
    for group in "g", "h":
        oracle.put(path / group, {"zarr.json": group_meta()})
    oracle.write(path / "g/v", array_meta(SHAPE), counting(SHAPE))
    for link, target in links.items():
        os.symlink(target, str(path / link))
    opened = gdal.OpenEx(str(path), gdal.OF_MULTIDIM_RASTER)
    assert opened.GetRootGroup().OpenGroup("g").GetMDArrayNames() == ["v"]
    dataset = open_ours(str(path))
    names = [name for name, _ in dataset.GetSubDatasets()]
    if len(links) == 1:
        assert_same(read_all(dataset), counting((1,) + SHAPE))
    else:  # h/back is g, and g/to is h: each is listed once on each way
        assert sorted(name[name.rindex(":"):] for name in names) == [":/g/v", ":/h/back/v"]
    if "g/latest" in links:
        assert_same(read_all(open_array(path, "/g/latest/v")), counting((1,) + SHAPE))


@pytest.mark.parametrize("consolidated", (False, True))
def test_a_name_that_is_not_listed_makes_a_strict_copy_fail(tmp_path, consolidated):
    array = array_meta((3, 4), "int16")
    path = str(tmp_path / "a.zarr")
    for name in ("v", "C:"):
        oracle.write(os.path.join(path, name), array, np.ones((3, 4), "int16"))
    oracle.put(path, {"zarr.json": group_meta(**({"consolidated_metadata": {"kind": "inline", "metadata": {"v": array, "C:": array}}} if consolidated else {}))})
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER)
    assert dataset.GetRootGroup().GetMDArrayNames() == ["v", "?"]
    assert 'left out is "C:"' in error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "b.zarr"), dataset, True)
    assert not os.path.exists(tmp_path / "b.zarr")
