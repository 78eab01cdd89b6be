"""Georeferencing that is set is what every reader of this driver finds: a raster with variables of its own is written anew, what other arrays use stays."""
import json
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import MULTISCALES, convention, group_meta, plain_meta, spatial_proj, write_coordinate
from support import STEP, ask_peer, error_of, geotransform, name_of, open_ours, srs_of, warnings_of
from test_edits import attributes_of, everything, georeferenced, update
from writing import UTM, change_document, check_consolidated, copy, document, driver, files_of, source

MOVED = (600000, 20, 0, 4000000, 0, -20)
ROTATED = (500000, 10, 1, 5000000, 1, -10)
EDITS = {
    "moved": (MOVED, None), "rotated": (ROTATED, None), "crs": (None, 32634), "both": (MOVED, 4326),
}


def set_on(dataset, edit):
    transform, code = EDITS[edit]
    if transform:
        dataset.SetGeoTransform(transform)
    if code:
        dataset.SetSpatialRef(srs_of(code))


def ours(path, style):
    copy(path, source(np.ones((64, 80), "uint8"), UTM, "EPSG:32633"), GEOREFERENCING=style, OVERVIEWS="2", ARRAY_NAME="a")
    return str(path)


def alone(path, **more):
    """An array of another writer with coordinates and a grid mapping of its own."""
    path = georeferenced(path, **more)
    for name in ("b", "zonal", "crs"):
        shutil.rmtree(os.path.join(path, name))
    return path


def of_integers(path):
    """Coordinates in whole numbers, which no pixel centre of MOVED with halves fits into."""
    path = alone(path)
    for name, values in (("x", 500005 + 10 * np.arange(10)), ("y", 4999995 - 10 * np.arange(8))):
        shutil.rmtree(os.path.join(path, name))
        meta = plain_meta(values.shape, "int32", attributes={"units": "m", "note": name}, dimension_names=[name])
        oracle.write(os.path.join(path, name), meta, values.astype("int32"))
    return path


STORES = {
    "ours": lambda path: ours(path, "ALL"), "ours in CF": lambda path: ours(path, "CF"), "ours in spatial": lambda path: ours(path, "SPATIAL_PROJ"),
    "another's": alone, "of integers": of_integers, "in kilometres": lambda path: alone(path, units=("km", "km"), scale=(1000, 1000)),
}


def place_of(path, array="/a"):
    seen = open_ours(name_of(path, array))
    return geotransform(seen), seen.GetSpatialRef() and seen.GetSpatialRef().GetAuthorityCode(None)


def seen_by_rioxarray(path, names):
    """{name: (EPSG code, transform in GDAL's order)}"""
    answers = ask_peer("xarray", os.path.dirname(path), [(os.path.basename(path), name) for name in names])
    found = {}
    for name, answer in zip(names, answers):
        a, b, x, d, e, y = answer["transform"]
        found[name] = (x, a, b, y, d, e), answer["epsg"] and str(answer["epsg"])
    return found


# -------------------------------------------------------------------------------------------------- variables of its own

@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", STORES)
def test_a_raster_with_variables_of_its_own_is_written_anew_in_its_conventions(tmp_path, kind, edit):
    path = STORES[kind](tmp_path / "a.zarr")
    before, (transform, code) = everything(path), EDITS[edit]
    expected = transform or UTM, str(code or 32633)
    _, heard = warnings_of(lambda: set_on(update(path, "/a"), edit))
    assert heard == [] and place_of(path) == expected
    if edit != "rotated" and kind != "ours in spatial" and (kind, edit) != ("in kilometres", "crs"):
        oracle.consolidate(path)
        assert seen_by_rioxarray(path, ["a"]) == {"a": expected}
    if kind.startswith("ours"):
        t = expected[0]
        assert place_of(path, "/ovr_2x/a") == ((t[0], 2 * t[1], 2 * t[2], t[3], 2 * t[4], 2 * t[5]), expected[1])
        check_consolidated(path)
    else:
        assert ("spatial:transform" in attributes_of(path)) is False
        assert attributes_of(path, "spatial_ref")["mine"] == [1, 2] and ("towgs84" in attributes_of(path, "spatial_ref")) == (code is None)
        assert edit == "rotated" or [attributes_of(path, name)["note"] for name in "xy"] == ["x", "y"]
    after = everything(path)
    assert set(after) - set(before) <= {"x/c.0", "y/c.0", "ovr_2x/x_2x/c.0", "ovr_2x/y_2x/c.0"}
    assert transform or all(after[name] == before[name] for name in before if not name.endswith(".json"))  # a CRS alone moves no coordinate


@pytest.mark.parametrize("node, names", [("a", ["y", "x"]), ("a", None), ("", None)], ids=["named", "unnamed", "root"])
def test_a_bare_array_gets_all_conventions_and_loses_them(tmp_path, node, names):
    path, attributes = str(tmp_path / "a.zarr"), {"keep": 12345678901234567890}
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(os.path.join(path, node), plain_meta((8, 10), "uint16", attributes=attributes, **({"dimension_names": names} if names else {})),
                 np.ones((8, 10), "uint16"))
    for edit in ("both", "crs"):
        _, heard = warnings_of(lambda: set_on(update(path, "/" + node), edit))
        assert heard == [] and place_of(path, "/" + node) == (MOVED, str(EDITS[edit][1]))
    assert attributes_of(path, node)["keep"] == attributes["keep"]
    if names:
        oracle.consolidate(path)
        assert seen_by_rioxarray(path, ["a"]) == {"a": (MOVED, "32634")} and attributes_of(path)["grid_mapping"] == "spatial_ref"
    else:
        assert not {"spatial:transform", "spatial:dimensions"} & set(attributes_of(path, node))
    dataset = update(path, "/" + node)
    dataset.SetGeoTransform((0, 0, 0, 0, 0, 0)), dataset.SetSpatialRef(None)
    dataset = None
    assert place_of(path, "/" + node) == (None, None) and not os.path.exists(os.path.join(path, "x"))


def test_entries_of_levels_follow_and_keep_what_others_put_there(tmp_path):
    path, half = str(tmp_path / "a.zarr"), (600000, 40, 0, 4000000, 0, -40)
    layout = [{"asset": "a", "spatial:transform": [1, 0, 0, 0, -1, 0]},
              {"asset": "ovr_2x", "mine": 2, "derived_from": "a", "spatial:transform": [2, 0, 0, 0, -2, 0]}]
    said = spatial_proj((1, 0, 0, 0, -1, 0), "EPSG:32633", multiscales={"mine": 1, "layout": layout})
    said["zarr_conventions"].append(convention(MULTISCALES))
    oracle.put(path, {"zarr.json": group_meta(said), "ovr_2x/zarr.json": group_meta()})
    for name, shape, own in (("a", (8, 10), {"_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/32633"}}), ("ovr_2x/a", (4, 5), {"proj:code": "EPSG:32633"})):
        oracle.write(os.path.join(path, name), plain_meta(shape, "uint16", attributes=own, dimension_names=["y", "x"]), np.ones(shape, "uint16"))
    set_on(update(path, "/a"), "both")
    assert place_of(path) == (MOVED, "4326") and place_of(path, "/ovr_2x/a") == (half, "4326")
    now = document(path)["attributes"]
    assert now["proj:code"] == "EPSG:4326" and now["spatial:transform"] == [20, 0, 600000, 0, -20, 4000000] and now["multiscales"]["mine"] == 1
    assert now["multiscales"]["layout"][1]["mine"] == 2 and now["multiscales"]["layout"][1]["spatial:transform"] == [40, 0, 600000, 0, -40, 4000000]


def test_levels_lie_as_their_base_where_the_group_has_the_other_registration(tmp_path):
    path = ours(tmp_path / "a.zarr", "ALL")
    change_document(path, attributes={"spatial:registration": "node"})
    update(path, "/a").BuildOverviews("NEAREST", [2])
    assert place_of(path) == (UTM, "32633") and place_of(path, "/ovr_2x/a") == ((UTM[0], 20, 0, UTM[3], 0, -20), "32633")
    set_on(update(path, "/a"), "moved")
    assert place_of(path)[0] == MOVED and place_of(path, "/ovr_2x/a")[0] == (MOVED[0], 40, 0, MOVED[3], 0, -40)


def test_overviews_of_points_whose_transform_is_of_corners_leave_the_base_where_it_is(tmp_path):
    """As rioxarray writes: AREA_OR_POINT alone."""
    path = str(tmp_path / "a.zarr")
    attributes = {"AREA_OR_POINT": "Point", "spatial:dimensions": ["y", "x"], "spatial:transform": [10.0, 0.0, 500000.0, 0.0, -10.0, 6000000.0]}
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path + "/a", plain_meta((40, 40), "uint8", attributes=attributes, dimension_names=["y", "x"]), np.ones((40, 40), "uint8"))
    update(path, "/a").BuildOverviews("NEAREST", [2])
    assert geotransform(open_ours(name_of(path, "/a"))) == (500000, 10, 0, 6000000, 0, -10)


def test_a_crs_keeps_the_geotransform_of_a_grid_mapping_of_several_arrays(tmp_path):
    path, turned = str(tmp_path / "a.zarr"), (5000, 20, 1, 9000, 2, -20)
    oracle.put(path, {"zarr.json": group_meta()})
    for name, dims in (("a", ["y", "x"]), ("b", ["y", "x2"])):
        oracle.write(os.path.join(path, name), plain_meta((8, 10), "uint16", attributes={"grid_mapping": "crs"}, dimension_names=dims), np.ones((8, 10), "uint16"))
    oracle.write(os.path.join(path, "crs"), plain_meta((), "int64", attributes={"spatial_ref": "EPSG:32631", "GeoTransform": "5000 20 1 9000 2 -20.00"}), np.int64(0))
    _, heard = warnings_of(lambda: set_on(update(path, "/a"), "crs"))
    assert len(heard) == 1 and place_of(path) == (turned, "32634") and place_of(path, "/b") == (turned, "32631")


@pytest.mark.parametrize("kind", STORES)
def test_georeferencing_of_its_own_is_removed(tmp_path, kind):
    path = STORES[kind](tmp_path / "a.zarr")
    dataset = update(path, "/a")
    dataset.SetGeoTransform((0, 0, 0, 0, 0, 0))
    dataset.SetSpatialRef(None)
    dataset = None
    assert place_of(path) == (None, None)
    assert not os.path.exists(os.path.join(path, "x"))


@pytest.mark.parametrize("edit", EDITS)
def test_a_grid_mapping_that_no_array_names_is_that_of_the_only_raster(tmp_path, edit):
    """As rioxarray writes without encoding: spatial_ref, and no attribute that names it."""
    path = georeferenced(tmp_path / "a.zarr")
    for name in ("b", "zonal", "crs", "a"):
        shutil.rmtree(os.path.join(path, name))
    oracle.write(os.path.join(path, "a"), plain_meta((8, 10), "uint16", dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    transform, code = EDITS[edit]
    _, heard = warnings_of(lambda: set_on(update(path, "/a"), edit))
    assert heard == [] and place_of(path) == (transform or UTM, str(code or 32633))
    assert code is None or srs_of(code).IsSame(as_srs(attributes_of(path, "spatial_ref")["crs_wkt"]), ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES"])


def as_srs(text):
    srs = osr.SpatialReference()
    srs.ImportFromWkt(text)
    return srs


@pytest.mark.parametrize("setter, value", [("SetSpatialRef", srs_of(32633)), ("SetGeoTransform", UTM)])
def test_georeferencing_of_an_array_of_one_dimension_is_in_a_side_car_file(tmp_path, setter, value, config):
    path = str(tmp_path / "a.zarr")
    oracle.write(path, plain_meta((10,), "uint16", dimension_names=["x"]), np.ones(10, "uint16"))
    before = document(path)
    config("GDAL_PAM_ENABLED", "NO")
    assert "side-car" in error_of(getattr(update(path), setter), value)
    config("GDAL_PAM_ENABLED", "YES")
    dataset = update(path)
    assert getattr(dataset, setter)(value) == gdal.CE_None
    dataset = None
    seen = open_ours(path)
    assert document(path) == before
    assert geotransform(seen) == UTM if setter == "SetGeoTransform" else seen.GetSpatialRef().GetAuthorityCode(None) == "32633"


# ------------------------------------------------------------------------------------------------ variables of others, too

def beside(path, kind, consolidated):
    """a(y, x) and others: {name: whether rioxarray reads it}."""
    path, sub = georeferenced(path), kind in ("below", "below, one axis")
    for name in ("b", "zonal", "crs"):
        shutil.rmtree(os.path.join(path, name))
    name, shape, dims, mapping = {
        "one grid": ("b", (8, 10), ["y", "x"], "spatial_ref"), "without a mapping": ("b", (8, 10), ["y", "x"], None),
        "zonal": ("zonal", (8,), ["y"], None), "one axis": ("b", (8, 6), ["y", "x2"], "spatial_ref"), "another grid": ("b", (5, 6), ["y2", "x2"], "spatial_ref"),
        "below": ("sub/b", (8, 10), ["y", "x"], None), "below, one axis": ("sub/b", (8, 6), ["y", "x2"], "spatial_ref")}[kind]
    folder = path
    if sub:
        oracle.put(path, {"sub/zarr.json": group_meta()})
        folder = os.path.join(path, "sub")
    oracle.write(os.path.join(path, name), plain_meta(shape, "uint16", attributes={"grid_mapping": mapping} if mapping else {}, dimension_names=dims),
                 np.ones(shape, "uint16"))
    for dim, first, step, size in (("x2", 700015, 30, 6), ("y2", 4000015, -30, 5)):
        if dim in dims:
            write_coordinate(folder, dim, first + step * np.arange(float(size)), {"units": "m", "standard_name": "projection_%s_coordinate" % dim[0]})
    if consolidated:
        oracle.consolidate(path)
    return path, name


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("kind", ["one grid", "without a mapping", "zonal", "one axis", "another grid", "below", "below, one axis"])
def test_what_other_arrays_use_stays_and_the_array_itself_tells_its_new_place(tmp_path, kind, consolidated, edit):
    path, other = beside(tmp_path / "a.zarr", kind, consolidated)
    before, place = everything(path), place_of(path, "/" + other)
    riox = seen_by_rioxarray(path, [other]) if consolidated and kind != "zonal" and "below" not in kind else None
    transform, code = EDITS[edit]
    for number in range(2):  # the second time, nothing is to be done
        _, heard = warnings_of(lambda: set_on(update(path, "/a"), edit))
        assert [("Readers of CF alone see the former one" in text) for text in heard] == [True] * (1 - number)
    assert place_of(path) == (transform or UTM, str(code or 32633)) and place_of(path, "/" + other) == place
    after = everything(path)
    assert {name for name in before if after[name] != before[name]} == {"a/zarr.json", *(["zarr.json"] if consolidated else [])}
    assert set(after) == set(before)
    assert riox is None or seen_by_rioxarray(path, [other]) == riox
    if consolidated:
        check_consolidated(path)


def test_overviews_beside_others_follow_their_array(tmp_path):
    path, other = beside(tmp_path / "a.zarr", "one grid", True)
    update(path, "/a").BuildOverviews("NEAREST", [2])
    set_on(update(path, "/a"), "both")
    assert place_of(path, "/ovr_2x/a") == ((600000, 40, 0, 4000000, 0, -40), "4326")
    assert place_of(path, "/" + other) == (UTM, "32633")


@pytest.mark.parametrize("what", ["transform", "crs"])
def test_georeferencing_of_others_cannot_be_removed(tmp_path, what):
    path, _ = beside(tmp_path / "a.zarr", "one grid", True)
    before, dataset = everything(path), update(path, "/a")
    dataset.SetGeoTransform((0, 0, 0, 0, 0, 0)) if what == "transform" else dataset.SetSpatialRef(None)
    assert "variables or groups around it declare another" in error_of(dataset.FlushCache)
    del dataset
    assert everything(path) == before


def with_group(path, of_group, has_other, own=None):
    """Array a, and c of another grid, in a group that tells where they lie."""
    oracle.put(str(path), {"zarr.json": group_meta(of_group)})
    for name, shape, dims in (("a", (8, 10), ["y", "x"]),) + (("c", (4, 5), ["v", "u"]),) * has_other:
        meta = plain_meta(shape, "uint16", attributes=own if own and name == "a" else {}, dimension_names=dims)
        oracle.write(os.path.join(str(path), name), meta, np.ones(shape, "uint16"))
    return str(path)


OF_GROUP = {
    "crs": {k: v for k, v in spatial_proj(None, "EPSG:32633").items() if k != "spatial:dimensions"},
    "transform": spatial_proj((10, 0, 500000, 0, -10, 5000000), "EPSG:32633"),
    "zagg": {"crs": "EPSG:32633", "resolution": [10, 10], "bounds": [500000, 4999920, 500100, 5000000]},
}


@pytest.mark.parametrize("edit", ["both", "moved", "crs"])
@pytest.mark.parametrize("has_other", [True, False])
@pytest.mark.parametrize("of_group", OF_GROUP)
def test_a_group_that_tells_of_one_array_alone_is_written_with_it(tmp_path, of_group, has_other, edit):
    path = with_group(tmp_path / "a.zarr", OF_GROUP[of_group], has_other, {"spatial:dimensions": ["y", "x"]})
    before, transform, other = document(path), place_of(path)[0], place_of(path, "/c") if has_other else None
    set_on(update(path, "/a"), edit)
    assert place_of(path) == (EDITS[edit][0] or transform, str(EDITS[edit][1] or 32633))
    if has_other:
        assert document(path) == before and place_of(path, "/c") == other
    elif of_group == "transform":
        now = document(path)["attributes"]
        assert now["spatial:transform"] == ([20, 0, 600000, 0, -20, 4000000] if edit != "crs" else [10, 0, 500000, 0, -10, 5000000])
        assert now["proj:code"] == "EPSG:%d" % (EDITS[edit][1] or 32633)


# ------------------------------------------------------------------------------------------------- whole or not at all

def objects_of(path):
    return {"bucket/a.zarr/" + name: open(os.path.join(path, name), "rb").read() for name in files_of(path)}


def content_of(objects):
    """Documents as what they say, in any order."""
    return {key: json.loads(data) if key.endswith(".json") else data for key, data in objects.items()}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", STORES)
def test_an_edit_of_which_an_object_is_refused_once_is_done_at_the_close(tmp_path, s3, kind, edit):
    before = objects_of(STORES[kind](tmp_path / "a.zarr"))

    def edited():
        gdal.VSICurlClearCache()
        dataset = update("/vsis3/bucket/a.zarr", "/a")
        set_on(dataset, edit)
        gdal.PushErrorHandler("CPLQuietErrorHandler")
        try:
            dataset.FlushCache()
        except RuntimeError:
            return True
        finally:
            dataset = None  # which tries once more
            gdal.PopErrorHandler()
        return False
    s3.objects = dict(before)
    assert not edited()
    puts, whole = [key for method, key in s3.log if method == "PUT"], content_of(s3.objects)
    assert puts and whole != content_of(before)
    for number, key in list(enumerate(puts))[::STEP]:
        seen = []

        def fault(method, _, query):
            seen.extend([method] if method == "PUT" else [])
            return 403 if method == "PUT" and len(seen) == number + 1 else None
        s3.objects, s3.fault = dict(before), fault
        edited()
        s3.fault = lambda method, key, query: None
        edited()
        assert content_of(s3.objects) == whole, key


def test_a_coordinate_goes_only_after_the_one_that_replaces_it_is_whole(tmp_path, s3):
    s3.objects = objects_of(of_integers(tmp_path / "a.zarr"))
    before = dict(s3.objects)
    s3.refuse = lambda method, key: method == "PUT" and not key.endswith("zarr.json")
    gdal.VSICurlClearCache()
    dataset = update("/vsis3/bucket/a.zarr", "/a")
    dataset.SetGeoTransform(MOVED)
    assert "/c" in error_of(dataset.FlushCache)
    assert s3.objects == before and s3.removed == []
    s3.refuse = lambda method, key: False
    assert "open it again" in error_of(dataset.FlushCache)
    dataset = None
    update("/vsis3/bucket/a.zarr", "/a").SetGeoTransform(MOVED)
    assert {key for key in s3.objects if "/x/" in key} == {"bucket/a.zarr/x/zarr.json", "bucket/a.zarr/x/c.0"}
    gdal.VSICurlClearCache()
    assert place_of("/vsis3/bucket/a.zarr")[0] == MOVED


def test_chunks_that_a_failed_edit_left_go_with_their_store(tmp_path):
    path = of_integers(tmp_path / "a.zarr")
    oracle.put(path, {"x/c.0": b"\0" * 40})
    driver().Delete(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("api", ["raster", "multidimensional"])
def test_arrays_to_which_two_sessions_give_a_crs_each_have_their_own(tmp_path, api, consolidated):
    path, names = str(tmp_path / "a.zarr"), {"a": 32633, "b": 32634}
    oracle.put(path, {"zarr.json": group_meta()})
    for name in names:
        oracle.write(os.path.join(path, name), plain_meta((8, 10), "uint16", dimension_names=["y", "x"]), np.ones((8, 10), "uint16"))
    if consolidated:
        oracle.consolidate(path)
    kind = gdal.OF_RASTER if api == "raster" else gdal.OF_MULTIDIM_RASTER
    sessions = {name: gdal.OpenEx(name_of(path, "/" + name if api == "raster" else None), kind | gdal.OF_UPDATE) for name in names}
    for name, session in sessions.items():
        (session if api == "raster" else session.GetRootGroup().OpenMDArray(name)).SetSpatialRef(srs_of(names[name]))
    del session
    sessions.clear()
    assert {name: place_of(path, "/" + name)[1] for name in names} == {name: str(code) for name, code in names.items()}
