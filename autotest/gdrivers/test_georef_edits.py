"""An edit of georeferencing is done whole or not at all, of the arrays that are meant, and the same edit again does what one that failed left."""
import json
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import group_meta, plain_meta, spatial_proj, write_coordinate
from support import STEP, ask_peer, error_of, geotransform, in_process, name_of, open_ours
from test_edits import attributes_of, everything, georeferenced, update, wkt
from writing import UTM, check_consolidated, copy, document, driver, files_of, source


@pytest.fixture
def quiet():
    gdal.PushErrorHandler("CPLQuietErrorHandler")
    yield
    gdal.PopErrorHandler()


MOVED = (600000, 20, 0, 4000000, 0, -20)
ROTATED = (500000, 10, 1, 5000000, 1, -10)


def ours(path, style, levels="2"):
    copy(path, source(np.ones((64, 80), "uint8"), UTM, "EPSG:32633"), GEOREFERENCING=style, OVERVIEWS=levels, ARRAY_NAME="v")
    return str(path)


def of_integers(path):
    """Coordinates in whole numbers, which no pixel centre of MOVED with halves fits into."""
    path = georeferenced(path)
    for name, values in (("x", 500005 + 10 * np.arange(10)), ("y", 4999995 - 10 * np.arange(8))):
        shutil.rmtree(os.path.join(path, name))
        meta = plain_meta(values.shape, "int32", attributes={"units": "m", "note": name}, dimension_names=[name])
        oracle.write(os.path.join(path, name), meta, values.astype("int32"))
    return path


STORES = {
    "ours": lambda path: (ours(path, "ALL"), None), "ours in CF": lambda path: (ours(path, "CF"), None),
    "ours in spatial": lambda path: (ours(path, "SPATIAL_PROJ"), None),
    "another's": lambda path: (georeferenced(path), "/a"), "the second of another's": lambda path: (georeferenced(path), "/b"),
    "of integers": lambda path: (of_integers(path), "/a"),
}
EDITS = {
    "moved": lambda dataset: dataset.SetGeoTransform(MOVED),
    "rotated": lambda dataset: dataset.SetGeoTransform(ROTATED),
    "crs": lambda dataset: dataset.SetSpatialRef(wkt(32634)),
    "both": lambda dataset: (dataset.SetGeoTransform(MOVED), dataset.SetSpatialRef(wkt(4326))),
}


def objects_of(path):
    return {"bucket/a.zarr/" + name: open(os.path.join(path, name), "rb").read() for name in files_of(path)}


def content_of(objects):
    """Documents as what they say, in any order."""
    return {key: json.loads(data) if key.endswith(".json") else data for key, data in objects.items()}


def edited(s3, array, edit):
    """Edits, and whether it was told that this failed."""
    gdal.VSICurlClearCache()
    dataset = update("/vsis3/bucket/a.zarr", array)
    EDITS[edit](dataset)
    has_failed = False
    try:
        dataset.FlushCache()
    except RuntimeError:
        has_failed = True
    dataset = None  # which tries once more
    return has_failed


def is_chunk(key):
    return not key.endswith("zarr.json")


def chunk_of(said, key):
    """Coordinates that change get chunks of other keys: one name for those that the document names, one for those that it does not."""
    folder, _, name = key.replace("/c/0", "/c.0").rpartition("/")
    document = said.get(folder + "/zarr.json")
    if name != "c.0" or document is None:
        return key
    is_named = document["chunk_key_encoding"].get("configuration", {}).get("separator", "/") == key[-2]
    return folder + "/" + ("chunk" if is_named else "former chunk")


def place_of(objects):
    """What a store says of where its arrays lie. Texts that are not needed (GeoTransform beside coordinates) may be missing, but not old."""
    said, found = content_of(objects), {}
    for key, value in said.items():
        if is_chunk(key):
            found[chunk_of(said, key)] = value
            continue
        attributes = value["attributes"]
        found[key] = {name: member for name, member in attributes.items() if name not in ("GeoTransform", "coordinates", "zarr_conventions")}
        if "GeoTransform" in attributes:
            found[key + " GeoTransform"] = attributes["GeoTransform"]
    return found


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", STORES)
def test_edit_with_any_failed_put_is_complete_when_repeated(tmp_path, s3, quiet, kind, edit):
    path, array = STORES[kind](tmp_path / "a.zarr")
    before = objects_of(path)
    s3.objects = dict(before)
    assert not edited(s3, array, edit)
    puts, whole, place = [key for method, key in s3.log if method == "PUT"], content_of(s3.objects), place_of(s3.objects)
    assert puts and whole != content_of(before)
    for number, key in list(enumerate(puts))[::STEP]:
        for lasts in (False, True) if number % 4 == 0 else (True,):
            seen = []

            def fault(method, _, query):
                seen.extend([method] if method == "PUT" else [])
                return 403 if method == "PUT" and (len(seen) == number + 1 or (lasts and len(seen) > number)) else None
            s3.objects, s3.fault = dict(before), fault
            assert edited(s3, array, edit) or not lasts, key  # a document that was refused once is sent again
            if lasts and is_chunk(key):
                documents = [{k: v for k, v in objects.items() if not is_chunk(k)} for objects in (before, s3.objects)]
                assert documents[0] == documents[1], key
            s3.fault = lambda method, key, query: None
            assert not edited(s3, array, edit)
            if is_chunk(key) or not lasts:
                assert content_of(s3.objects) == whole, (key, lasts)
            else:
                now = place_of(s3.objects)
                assert set(place) - set(now) <= {name for name in place if name.endswith("GeoTransform")}, key
                assert {name: now.get(name) for name in place if name in now} == {name: place[name] for name in place if name in now}, key
                left = set(now) - set(place)  # to go after all documents: chunks that nothing refers to, or X beside a rotation
                assert left <= {name for name in now if "/%s/" % ("y" if kind == "of integers" else "x") in name or edit != "rotated" and is_chunk(name)}


@pytest.mark.parametrize("kind", ["another's", "of integers"])
def test_coordinates_that_do_not_fit_on_the_disk_leave_every_document_as_it_was(tmp_path, kind):
    """As on a full disk: y can be written, x cannot."""
    path = STORES[kind](tmp_path / "a.zarr")[0]
    for name in ("a", "b", "x"):
        shutil.rmtree(os.path.join(path, name))
    x, type_of = 500005 + 10 * np.arange(2000), "int32" if kind == "of integers" else "float64"
    oracle.write(os.path.join(path, "x"), plain_meta(x.shape, type_of, attributes={"units": "m"}, dimension_names=["x"]), x.astype(type_of))
    for name, mapping in (("a", "spatial_ref"), ("b", "crs")):
        meta = plain_meta((8, 2000), "uint8", attributes={"grid_mapping": mapping}, dimension_names=["y", "x"])
        oracle.write(os.path.join(path, name), meta, np.ones((8, 2000), "uint8"))
    shutil.copytree(path, str(tmp_path / "whole.zarr"))
    documents = {name: text for name, text in everything(path).items() if name.endswith(".json")}
    for limit in ("12000", ""):
        lines = in_process("""
import resource
if sys.argv[2]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
dataset = gdal.OpenEx(sys.argv[1], gdal.OF_RASTER | gdal.OF_UPDATE)
dataset.SetGeoTransform((600000.25, 20, 0, 4000000, 0, -20))
try:
    dataset.FlushCache()
    print("written")
except RuntimeError as error:
    print("refused", str(error).replace("\\n", " "))
dataset = None
""", name_of(path, "/a"), limit)
        if limit:
            assert lines[0].startswith("refused")
            assert {name: text for name, text in everything(path).items() if name.endswith(".json")} == documents
            seen = open_ours(name_of(path, "/a"))
            assert seen is not None
            seen = None
        else:
            assert lines == ["written"]
    update(str(tmp_path / "whole.zarr"), "/a").SetGeoTransform((600000.25, 20, 0, 4000000, 0, -20))
    assert geotransform(open_ours(name_of(path, "/a"))) == pytest.approx((600000.25, 20, 0, 4000000, 0, -20))
    assert content_of(objects_of(path)) == content_of(objects_of(str(tmp_path / "whole.zarr")))


def test_a_coordinate_goes_only_after_the_one_that_replaces_it_is_whole(tmp_path, s3):
    path = of_integers(tmp_path / "a.zarr")
    s3.objects = objects_of(path)
    before = dict(s3.objects)
    s3.refuse = lambda method, key: method == "PUT" and is_chunk(key)
    gdal.VSICurlClearCache()
    dataset = update("/vsis3/bucket/a.zarr", "/a")
    dataset.SetGeoTransform((600000.25, 20, 0, 4000000, 0, -20))
    assert "/c" in error_of(dataset.FlushCache)
    assert s3.objects == before and s3.removed == []
    s3.refuse = lambda method, key: False
    dataset.FlushCache()
    dataset = None
    assert {key for key in s3.objects if "/x/" in key} == {"bucket/a.zarr/x/zarr.json", "bucket/a.zarr/x/c.0"}
    gdal.VSICurlClearCache()
    assert geotransform(open_ours(name_of("/vsis3/bucket/a.zarr", "/b"))) == (600000.25, 20, 0, 4000000, 0, -20)


def test_a_coordinate_that_is_replaced_twice_has_one_chunk(tmp_path):
    path = of_integers(tmp_path / "a.zarr")
    update(path, "/a").SetGeoTransform((600000.25, 20, 0, 4000000, 0, -20))
    assert [name for name in files_of(path) if name.startswith("x/")] == ["x/c.0", "x/zarr.json"]
    meta, values = oracle.read(os.path.join(path, "x"))
    assert values == pytest.approx(600010.25 + 20 * np.arange(10)) and meta["attributes"]["note"] == "x"
    meta["attributes"]["scale_factor"] = 2
    oracle.put(path, {"x/zarr.json": meta})
    update(path, "/a").SetGeoTransform(UTM)
    assert [name for name in files_of(path) if name.startswith("x/")] == ["x/c/0", "x/zarr.json"]
    assert geotransform(open_ours(name_of(path, "/a"))) == UTM


# ---------------------------------------------------------------------------------------------------------- two sessions

@pytest.mark.parametrize("style", ["CF", "none"])
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("api", ["raster", "multidimensional"])
def test_arrays_to_which_two_sessions_give_a_crs_each_keep_their_own(tmp_path, quiet, api, consolidated, style):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    for name, first, step, size in (("x", 500005, 10, 10), ("y", 4999995, -10, 8)) if style == "CF" else ():
        write_coordinate(path, name, first + step * np.arange(float(size)), {"units": "m"})
    for name in "ab":
        oracle.write(os.path.join(path, name), plain_meta((8, 10), "uint16", dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    if consolidated:
        oracle.consolidate(path)
    kind, names = gdal.OF_RASTER if api == "raster" else gdal.OF_MULTIDIM_RASTER, {"a": 32633, "b": 32634}
    sessions = {name: gdal.OpenEx(name_of(path, "/" + name if api == "raster" else None), kind | gdal.OF_UPDATE) for name in names}
    things = {name: session if api == "raster" else session.GetRootGroup().OpenMDArray(name) for name, session in sessions.items()}
    for name, thing in things.items():
        assert thing.GetSpatialRef() is None and (api != "raster" or (geotransform(thing) == UTM) == (style == "CF"))
    for name, thing in things.items():
        thing.SetSpatialRef(wkt(names[name]))
    del thing, things
    told = []
    for name in names:
        try:
            sessions[name].FlushCache()
        except RuntimeError as error:
            told.append(str(error))
    sessions.clear()
    crs = [open_ours(name_of(path, "/" + name)).GetSpatialRef() for name in names]
    assert crs[0].GetAuthorityCode(None) == "32633"
    if told:
        assert "another writer made it meanwhile" in told[0] and crs[1] is None
    else:
        assert crs[1].GetAuthorityCode(None) == "32634"
    assert api == "multidimensional" or not told
    for name in names:
        mapping = document(path, name).get("attributes", {}).get("grid_mapping")
        assert mapping is None if told and name == "b" else "UTM zone %d" % (names[name] - 32600) in attributes_of(path, mapping)["crs_wkt"]


# -------------------------------------------------------------------------------------------------- coordinates in common

def staggered(path, where, consolidated):
    """a(y, x), and w on a grid of its own with one of its coordinates: beside it, or in a group below."""
    path = georeferenced(path)
    for name in ("b", "zonal", "crs"):
        shutil.rmtree(os.path.join(path, name))
    dims = ["y", "x_w"] if where == "beside" else ["y", "x"]
    group = path if where == "beside" else os.path.join(path, "sub")
    if where != "beside":
        oracle.put(path, {"sub/zarr.json": group_meta()})
    own = np.arange(4.0) * 30 + 700015
    oracle.write(os.path.join(group, "w"), plain_meta((8, 4), "uint16", attributes={"grid_mapping": "spatial_ref"}, dimension_names=dims),
                 np.ones((8, 4), "uint16"))
    oracle.write(os.path.join(group, dims[1]), plain_meta((4,), attributes={"units": "m", "axis": "X"}, dimension_names=[dims[1]]), own)
    if consolidated:
        oracle.consolidate(path)
    return path, "/w" if where == "beside" else "/sub/w"


@pytest.mark.parametrize("where, consolidated", [("below", True), ("below", False), ("beside", True), ("beside", False)])
def test_a_transform_moves_no_array_along_one_axis(tmp_path, where, consolidated):
    path, other = staggered(tmp_path / "a.zarr", where, consolidated)
    before, place = [document(path, name) for name in ("x", "y")], geotransform(open_ours(name_of(path, other)))
    values = [oracle.read(os.path.join(path, name))[1].tolist() for name in ("x", "y")]
    assert (place is None) == (where == "below" and not consolidated)
    for _ in range(2):
        update(path, "/a").SetGeoTransform(MOVED)
        assert geotransform(open_ours(name_of(path, other))) == place
        assert geotransform(open_ours(name_of(path, "/a"))) == MOVED
        assert [document(path, name) for name in ("x", "y")] == before
        assert [oracle.read(os.path.join(path, name))[1].tolist() for name in ("x", "y")] == values
    along_x = (600000, 20, 0, 5000000, 0, -10)  # whose Y is that of the others
    update(path, "/a").SetGeoTransform(along_x)
    assert [geotransform(open_ours(name_of(path, name))) for name in ("/a", other)] == [along_x, place]
    assert oracle.read(os.path.join(path, "x"))[1][0] == 600010


def test_arrays_below_that_have_both_coordinates_move_with_them(tmp_path):
    path = georeferenced(tmp_path / "a.zarr")
    oracle.put(path, {"sub/zarr.json": group_meta()})
    oracle.write(os.path.join(path, "sub/w"), plain_meta((8, 10), "uint16", dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    oracle.consolidate(path)
    update(path, "/a").SetGeoTransform(MOVED)
    assert [geotransform(open_ours(name_of(path, name))) for name in ("/a", "/b", "/sub/w")] == [MOVED] * 3
    assert oracle.read(os.path.join(path, "x"))[1][0] == 600010


def inherited(path, kind, consolidated):
    """a(y, x) and b(y, x) in the root; sub/c(y, x) has their coordinates, and its CRS from the units of these or from a mapping of its own."""
    path = str(path)
    dims, start, step = (["lat", "lon"], (58, -10), (-0.5, 0.5)) if kind == "degrees" else (["y", "x"], (4999995, 500005), (-10, 10))
    oracle.put(path, {"zarr.json": group_meta(), "sub/zarr.json": group_meta()})
    for axis in range(2):
        names = ("latitude", "longitude") if kind == "degrees" else ("projection_y_coordinate", "projection_x_coordinate")
        units = ("degrees_north", "degrees_east")[axis] if kind == "degrees" else "m"
        write_coordinate(path, dims[axis], start[axis] + step[axis] * np.arange((8.0, 10.0)[axis]), {"standard_name": names[axis], "units": units})
    for name in ("a", "b", "sub/c"):
        attributes = {"grid_mapping": "crs"} if kind != "degrees" and (name == "sub/c") == (kind == "its own") else {}
        oracle.write(os.path.join(path, name), plain_meta((8, 10), "uint16", attributes=attributes, dimension_names=dims), np.ones((8, 10), "uint16"))
    if kind != "degrees":
        at = os.path.join(path, "sub/crs" if kind == "its own" else "crs")
        oracle.write(at, plain_meta((), "int64", attributes={"crs_wkt": wkt(32633).ExportToWkt()}), np.int64(0))
    if consolidated:
        oracle.consolidate(path)
    return path


def crs_of(dataset):
    return dataset.GetSpatialRef() and dataset.GetSpatialRef().ExportToWkt()


@pytest.mark.parametrize("kind", ["degrees", "its own", "none"])
@pytest.mark.parametrize("consolidated", [True, False])
def test_a_transform_with_another_crs_moves_no_array_below_that_has_the_coordinates(tmp_path, kind, consolidated):
    path = inherited(tmp_path / "a.zarr", kind, consolidated)
    seen = open_ours(name_of(path, "/sub/c"))
    before, others = (geotransform(seen), crs_of(seen)), {name: text for name, text in everything(path).items() if name.startswith(("sub", "lat", "lon", "y", "x"))}
    assert (before[1] is None) == (kind == "none" or kind == "degrees" and not consolidated)
    seen = None
    for place in (MOVED, UTM):  # then a transform alone, in the CRS that is there now
        dataset = update(path, "/a")
        dataset.SetGeoTransform(place)
        if place == MOVED:
            dataset.SetSpatialRef(wkt(32634))
        dataset = None
        seen = open_ours(name_of(path, "/sub/c"))
        if kind == "none":  # an array without a CRS moves with the coordinates
            assert (geotransform(seen), crs_of(seen)) == (place if consolidated else None, None)
        else:
            assert (geotransform(seen), crs_of(seen)) == before
            assert {name: text for name, text in everything(path).items() if name in others} == others
        for name in "ab":
            seen = open_ours(name_of(path, "/" + name))
            assert geotransform(seen) == place
            assert name == "b" and kind == "none" or seen.GetSpatialRef().GetAuthorityCode(None) == "32634"
    if consolidated:
        check_consolidated(path)


def of_two_grids(path, consolidated, text=None):
    """u(y, x_u) beside a(y, x); sub/w(y, x) and sub/v(y, x_v) below: all have Y and the grid mapping of the root."""
    path = georeferenced(path)
    for name in ("b", "zonal", "crs"):
        shutil.rmtree(os.path.join(path, name))
    mapping = {"crs_wkt": wkt(32633).ExportToWkt(), **({"GeoTransform": " ".join(map(str, text))} if text else {})}
    oracle.write(os.path.join(path, "spatial_ref"), plain_meta((), "int32", attributes=mapping), np.array(0, "int32"))
    oracle.put(path, {"sub/zarr.json": group_meta()})
    for name, size, dim, first in (("u", 4, "x_u", 700015), ("sub/w", 10, "x", None), ("sub/v", 5, "x_v", 800020)):
        meta = plain_meta((8, size), "uint16", attributes={"grid_mapping": "spatial_ref"}, dimension_names=["y", dim])
        oracle.write(os.path.join(path, name), meta, np.ones((8, size), "uint16"))
        if first:
            values = first + np.arange(size) * 30.0
            oracle.write(os.path.join(os.path.dirname(os.path.join(path, name)), dim),
                         plain_meta((size,), attributes={"units": "m", "axis": "X"}, dimension_names=[dim]), values)
    if consolidated:
        oracle.consolidate(path)
    return path


def where(path, names):
    """What arrays are read as, and which values another reader finds as their coordinates."""
    found = {}
    for name in names:
        seen, folder = open_ours(name_of(path, "/" + name)), os.path.dirname(os.path.join(path, name))
        for dim in document(path, name)["dimension_names"]:
            at = next(at for at in (os.path.join(folder, dim), os.path.join(path, dim), None) if at is None or os.path.exists(at))
            found[name, dim] = at and oracle.read(at)[1].tolist()
        found[name] = geotransform(seen), seen.GetSpatialRef().ExportToWkt()
    return found


OF_TWO_GRIDS = ["a", "u", "sub/w", "sub/v"]


@pytest.mark.parametrize("text", [None, UTM])
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("edit", ["moved", "rotated"])
@pytest.mark.parametrize("asked", OF_TWO_GRIDS)
def test_a_transform_moves_no_array_that_has_one_axis_or_the_grid_mapping(tmp_path, asked, edit, consolidated, text):
    path = of_two_grids(tmp_path / "a.zarr", consolidated, text)
    others = [name for name in OF_TWO_GRIDS if name != asked]
    before = where(path, others)
    for _ in range(2):
        dataset = update(path, "/" + asked)
        EDITS[edit](dataset)
        dataset = None
        assert where(path, others) == before
        assert geotransform(open_ours(name_of(path, "/" + asked))) == (MOVED if edit == "moved" else ROTATED)
    left = attributes_of(path, "spatial_ref").get("GeoTransform")
    assert left is None or (text and left == " ".join(map(str, text)) and (asked, edit) != ("a", "moved"))  # then it is true for none
    if consolidated:
        check_consolidated(path)


@pytest.mark.parametrize("api", ["raster", "multidimensional"])
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("asked", OF_TWO_GRIDS)
def test_a_crs_hides_no_grid_mapping_of_a_group_above(tmp_path, asked, consolidated, api):
    path = of_two_grids(tmp_path / "a.zarr", consolidated)
    others = [name for name in OF_TWO_GRIDS if name != asked]
    before = where(path, others)
    if api == "raster":
        update(path, "/" + asked).SetSpatialRef(wkt(32634))
    else:
        dataset = gdal.OpenEx(name_of(path), gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
        dataset.GetRootGroup().OpenMDArrayFromFullname("/" + asked).SetSpatialRef(wkt(32634))
        dataset = None
    assert where(path, others) == before
    assert open_ours(name_of(path, "/" + asked)).GetSpatialRef().GetAuthorityCode(None) == "32634"


def test_an_array_that_has_its_transform_from_the_grid_mapping_alone_keeps_it(tmp_path):
    """Another array with the grid mapping tells its own."""
    path = of_two_grids(tmp_path / "a.zarr", True, UTM)
    shutil.rmtree(os.path.join(path, "x_u"))
    oracle.put(path, {"zarr.json": {name: value for name, value in document(path).items() if name != "consolidated_metadata"}})
    assert geotransform(open_ours(name_of(path, "/u"))) == UTM
    for edit, place in (("moved", MOVED), ("rotated", ROTATED)):
        dataset = update(path, "/a")
        EDITS[edit](dataset)
        dataset = None
        assert [geotransform(open_ours(name_of(path, "/" + name))) for name in "au"] == [place, UTM]


@pytest.mark.parametrize("refused", ["/x/c", "/y/c"])
def test_when_one_coordinate_is_refused_both_keep_their_values(tmp_path, s3, quiet, refused):
    s3.objects = objects_of(georeferenced(tmp_path / "a.zarr"))
    before = dict(s3.objects)
    s3.refuse = lambda method, key: method == "PUT" and refused in key
    assert edited(s3, "/a", "moved")
    assert s3.objects == before
    s3.refuse = lambda method, key: False
    assert not edited(s3, "/a", "moved")
    gdal.VSICurlClearCache()
    assert [geotransform(open_ours(name_of("/vsis3/bucket/a.zarr", "/" + name))) for name in "ab"] == [MOVED] * 2


@pytest.mark.parametrize("refused", ["PUT", "DELETE"])
def test_coordinates_left_by_an_interrupted_rotation_are_removed_by_the_next(tmp_path, s3, quiet, refused):
    """Beside a rotation, other readers take them for the place."""
    path = georeferenced(tmp_path / "a.zarr")
    for name in ("b", "zonal", "crs"):
        shutil.rmtree(os.path.join(path, name))
    s3.objects = objects_of(path)
    s3.refuse = lambda method, key: method == "DELETE" if refused == "DELETE" else method == "PUT" and "spatial_ref" in key
    edited(s3, "/a", "rotated")
    assert {"bucket/a.zarr/x/zarr.json", "bucket/a.zarr/y/zarr.json"} <= set(s3.objects)
    s3.refuse = lambda method, key: False
    assert not edited(s3, "/a", "rotated")
    assert not [key for key in s3.objects if "/x/" in key or "/y/" in key]
    gdal.VSICurlClearCache()
    assert geotransform(open_ours(name_of("/vsis3/bucket/a.zarr", "/a"))) == ROTATED


# -------------------------------------------------------------------------------------------------- one grid mapping for all

def of_xarray(path, mapping=None, text=None):
    """a(y, x), b(y, x) and other(y2, x2) beside bounds, a mask of nothing and a section, as xarray writes them: no array names a grid mapping unless
    `mapping` is there."""
    path = str(path)
    oracle.put(path, {"zarr.json": group_meta()})
    for name, first, step, size in (("x", 500005, 10, 10), ("y", 4999995, -10, 8), ("x2", 700015, 30, 6), ("y2", 4000015, 30, 5)):
        attributes = {"units": "m", "standard_name": "projection_%s_coordinate" % name[0], **({"bounds": "y_bnds"} if name == "y" else {})}
        write_coordinate(path, name, first + step * np.arange(float(size)), attributes)
    named = {"grid_mapping": mapping} if mapping else {}
    for name, shape, dims in (("a", (8, 10), ["y", "x"]), ("b", (8, 10), ["y", "x"]), ("other", (5, 6), ["y2", "x2"]), ("y_bnds", (8, 2), ["y", "bnds"])):
        attributes = {**({"coordinates": mapping} if mapping and name == "y_bnds" else named)}
        oracle.write(os.path.join(path, name), plain_meta(shape, "uint16", attributes=attributes, dimension_names=dims), np.ones(shape, "uint16"))
    if mapping:
        attributes = {"crs_wkt": wkt(32633).ExportToWkt(), **({"GeoTransform": " ".join(map(str, text))} if text else {})}
        oracle.write(os.path.join(path, mapping), plain_meta((), "int64", attributes=attributes), np.int64(0))
    oracle.consolidate(path)
    return path


def seen_by_rioxarray(path, names):
    """{name: (EPSG code, transform in GDAL's order)}"""
    answers = ask_peer("xarray", os.path.dirname(path), [(os.path.basename(path), name) for name in names])
    found = {}
    for name, answer in zip(names, answers):
        a, b, x, d, e, y = answer["transform"]
        found[name] = answer["epsg"], (x, a, b, y, d, e)
    return found


@pytest.mark.parametrize("edit", ["crs", "both", "moved"])
def test_new_grid_mapping_does_not_apply_to_arrays_without_grid_mapping(tmp_path, edit):
    """rioxarray takes `spatial_ref` of the group for these."""
    path = of_xarray(tmp_path / "a.zarr")
    before = seen_by_rioxarray(path, ["b", "other"])
    for _ in range(2):
        dataset = update(path, "/a")
        EDITS[edit](dataset)
        dataset = None
        assert not os.path.exists(os.path.join(path, "spatial_ref"))
    after = seen_by_rioxarray(path, ["a", "b", "other"])
    assert after["other"] == before["other"]
    expected = {"crs": (32634, UTM), "both": (4326, MOVED), "moved": (None, MOVED)}[edit]
    assert after["a"] == expected and after["b"] == (before["b"] if edit == "crs" else expected)
    if edit == "crs":  # the next with that CRS has the same mapping
        update(path, "/other").SetSpatialRef(wkt(32634))
        assert attributes_of(path, "other")["grid_mapping"] == attributes_of(path)["grid_mapping"] == "spatial_ref_2"
        assert seen_by_rioxarray(path, ["b"]) == {"b": before["b"]}
    check_consolidated(path)


@pytest.mark.parametrize("edit", ["crs", "both"])
def test_a_new_grid_mapping_has_its_usual_name_where_all_rasters_get_it(tmp_path, edit):
    """Bounds are none."""
    path = of_xarray(tmp_path / "a.zarr")
    for name in ["other"] + (["b"] if edit == "crs" else []):
        shutil.rmtree(os.path.join(path, name))
    oracle.consolidate(path)
    dataset = update(path, "/a")
    EDITS[edit](dataset)
    dataset = None
    assert attributes_of(path)["grid_mapping"] == "spatial_ref"


@pytest.mark.parametrize("edit", ["crs", "both"])
def test_a_crs_leaves_the_grid_mapping_of_arrays_that_name_none(tmp_path, edit):
    path = of_xarray(tmp_path / "a.zarr", "spatial_ref")
    meta = document(path, "other")
    meta["attributes"].pop("grid_mapping")
    oracle.put(path, {"other/zarr.json": meta})
    oracle.consolidate(path)
    before = seen_by_rioxarray(path, ["other"])
    assert before["other"][0] == 32633
    dataset = update(path, "/a")
    EDITS[edit](dataset)
    dataset = None
    after = seen_by_rioxarray(path, ["a", "other"])
    assert after["other"] == before["other"] and after["a"][0] == (32634 if edit == "crs" else 4326)


OF_OTHER = (700000, 30, 0, 4000000, 0, 30)


@pytest.mark.parametrize("place", [MOVED, ROTATED])
@pytest.mark.parametrize("asked", ["a", "other"])
@pytest.mark.parametrize("text", [UTM, OF_OTHER])
def test_a_transform_is_read_alike_by_rioxarray_where_other_grids_have_the_grid_mapping(tmp_path, text, asked, place):
    """The GeoTransform in it is that of one grid; rioxarray takes the size of pixels from it for all."""
    path = of_xarray(tmp_path / "a.zarr", "spatial_ref", text)
    names = ["a", "b", "other"]
    before = {name: geotransform(open_ours(name_of(path, "/" + name))) for name in names}
    update(path, "/" + asked).SetGeoTransform(place)
    now = {name: geotransform(open_ours(name_of(path, "/" + name))) for name in names}
    moved = ["other"] if asked == "other" else ["a", "b"]
    assert now == {name: place if name in moved else before[name] for name in names}
    seen, text_of = seen_by_rioxarray(path, names), attributes_of(path, "spatial_ref").get("GeoTransform")
    assert {name: seen[name] for name in moved} == {name: (32633, place) for name in moved}
    if (text == OF_OTHER) != (asked == "other") or place == ROTATED:  # it is true for an array that stays, or for none that is moved
        assert text_of == " ".join(map(str, text))
    else:
        assert text_of is None and seen == {name: (32633, now[name]) for name in names}
    check_consolidated(path)


@pytest.mark.parametrize("asked", ["a", "other"])
def test_transform_of_one_array_keeps_the_geotransform_text_of_others(tmp_path, asked):
    path = of_xarray(tmp_path / "a.zarr", "spatial_ref", UTM if asked == "other" else OF_OTHER)
    other = "other" if asked == "a" else "a"
    before = seen_by_rioxarray(path, [other]), attributes_of(path, "spatial_ref")
    update(path, "/" + asked).SetGeoTransform((0, 1, 0, 0, 0, 1))
    assert (seen_by_rioxarray(path, [other]), attributes_of(path, "spatial_ref")) == before


# --------------------------------------------------------------------------------------------------- statements of groups

def with_group(path, of_group, own=None):
    """Arrays a and c of two grids in a group that tells where they lie."""
    oracle.put(str(path), {"zarr.json": group_meta(of_group)})
    for name, shape, dims in (("a", (8, 10), ["y", "x"]), ("c", (4, 5), ["v", "u"])):
        meta = plain_meta(shape, "uint16", attributes=own if own and name == "a" else {}, dimension_names=dims)
        oracle.write(os.path.join(str(path), name), meta, np.ones(shape, "uint16"))
    return str(path)


@pytest.mark.parametrize("edit", ["both", "moved", "crs"])
@pytest.mark.parametrize("of_group", ["crs", "transform"])
def test_group_georeferencing_of_arrays_on_another_grid_stays(tmp_path, edit, of_group):
    said = spatial_proj((10, 0, 500000, 0, -10, 5000000) if of_group == "transform" else None, "EPSG:32633")
    said.pop("spatial:dimensions", None)
    path = with_group(tmp_path / "a.zarr", said, {"spatial:dimensions": ["y", "x"]})
    seen = open_ours(name_of(path, "/c"))
    before, place = document(path), (geotransform(seen), seen.GetSpatialRef().ExportToWkt())
    seen = None
    dataset = update(path, "/a")
    EDITS[edit](dataset)
    dataset = None
    assert document(path) == before
    seen = open_ours(name_of(path, "/c"))
    assert (geotransform(seen), seen.GetSpatialRef().ExportToWkt()) == place
    seen = open_ours(name_of(path, "/a"))
    assert edit == "crs" or geotransform(seen) == MOVED
    assert seen.GetSpatialRef().GetAuthorityCode(None) == {"both": "4326", "moved": "32633", "crs": "32634"}[edit]


@pytest.mark.parametrize("edit", ["both", "moved"])
def test_group_georeferencing_of_one_grid_moves_with_its_array(tmp_path, edit):
    """Arrays further below do not have it from that group."""
    path = with_group(tmp_path / "a.zarr", spatial_proj((10, 0, 500000, 0, -10, 5000000), "EPSG:32633"))
    os.makedirs(os.path.join(path, "sub"))
    shutil.move(os.path.join(path, "c"), os.path.join(path, "sub", "c"))
    oracle.put(path, {"sub/zarr.json": group_meta()})
    dataset = update(path, "/a")
    EDITS[edit](dataset)
    dataset = None
    assert document(path)["attributes"]["spatial:transform"] == [20, 0, 600000, 0, -20, 4000000]
    assert document(path)["attributes"]["proj:code"] == ("EPSG:4326" if edit == "both" else "EPSG:32633")
    seen = open_ours(name_of(path, "/a"))
    assert geotransform(seen) == MOVED and seen.GetSpatialRef().GetAuthorityCode(None) == ("4326" if edit == "both" else "32633")


@pytest.mark.parametrize("edit", ["both", "moved"])
def test_the_grid_of_a_group_of_zagg_moves_with_an_array(tmp_path, edit):
    """Whose group alone can tell it: what an array tells itself goes before, and another reader of zagg knows no other place."""
    of_group = {"crs": "EPSG:32633", "resolution": [10, 10], "bounds": [500000, 4999920, 500100, 5000000]}
    path = with_group(tmp_path / "a.zarr", of_group)
    dataset = update(path, "/a")
    assert geotransform(dataset) == UTM
    EDITS[edit](dataset)
    dataset = None
    after = document(path)["attributes"]
    assert after["bounds"] == [600000, 3999840, 600200, 4000000] and after["resolution"] == [20, 20]
    assert after["crs"] == ("EPSG:4326" if edit == "both" else "EPSG:32633")
    assert geotransform(open_ours(name_of(path, "/a"))) == MOVED


@pytest.mark.parametrize("is_edited", [False, True])
def test_chunks_that_a_failed_edit_left_go_with_their_store(tmp_path, is_edited):
    path = of_integers(tmp_path / "a.zarr")
    for name in ("b", "zonal", "crs"):
        shutil.rmtree(os.path.join(path, name))
    if is_edited:
        update(path, "/a").SetGeoTransform(MOVED)
    oracle.put(path, {"x/c/0" if is_edited else "x/c.0": b"\0" * 40})
    driver().Delete(path)
    assert not os.path.exists(path)
