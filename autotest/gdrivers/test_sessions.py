"""What several sessions change of one store at once, and what is held across a change: an edit changes what was asked and nothing else."""
import glob
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta
from support import GDAL, error_of
from test_mdim_write import dimensions, extended, made, updated, write
from writing import check_consolidated, document

SETS = """
import sys
from osgeo import gdal
gdal.UseExceptions()
path, name = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for number in range(10):
    d = gdal.OpenEx('SHARDEDZARR:"%s"' % path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
    root = d.GetRootGroup()
    root.OpenMDArray("a").CreateAttribute("%s%d" % (name, number), [], gdal.ExtendedDataType.CreateString()).Write("x")
    t = root.CreateDimension("t%s%d" % (name, number), None, None, 2)
    root.CreateMDArray("%s%d" % (name, number), [t], gdal.ExtendedDataType.Create(gdal.GDT_Byte))
    del root, t
    d = None
"""


def store(path):
    """A store of an array of (y, x) in its root, and one in a group."""
    dataset, root = made(path)
    y, x = dimensions(root, y=4, x=6)
    write(root.CreateMDArray("a", [y, x], extended("uint8")), np.full((4, 6), 3, "uint8"))
    group = root.CreateGroup("g")
    write(group.CreateMDArray("b", [y, x], extended("uint8")), np.full((4, 6), 4, "uint8"))
    del root, group, y, x
    dataset = None
    return path


def set_attribute(thing, name, value="x"):
    attribute = thing.CreateAttribute(name, [], gdal.ExtendedDataType.CreateString())
    assert attribute.Write(value) == gdal.CE_None
    return attribute


@pytest.fixture
def quiet():
    gdal.PushErrorHandler("CPLQuietErrorHandler")
    yield
    gdal.PopErrorHandler()


def test_two_processes_that_change_a_store_lose_nothing(tmp_path):
    store(tmp_path / "a.zarr")
    writers = [subprocess.Popen([sys.executable, "-c", SETS, str(tmp_path / "a.zarr"), name], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True) for name in "pq"]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    names = {"%s%d" % (name, number) for name in "pq" for number in range(10)}
    assert set(document(tmp_path / "a.zarr", "a")["attributes"]) >= names
    assert set(document(tmp_path / "a.zarr")["consolidated_metadata"]["metadata"]) == names | {"a", "g", "g/b"}
    check_consolidated(tmp_path / "a.zarr")


def test_of_two_sessions_creating_an_array_only_one_succeeds(tmp_path, quiet):
    store(tmp_path / "a.zarr")
    sessions = [updated(tmp_path / "a.zarr") for _ in range(2)]
    (first, ours), (second, theirs) = sessions
    ours.CreateMDArray("n", dimensions(ours, t=2), extended("uint8"))
    assert "/n/.unfinished: process " in error_of(theirs.CreateMDArray, "n", dimensions(theirs, t=3), extended("uint8"))
    del sessions, ours, theirs
    first.FlushCache()
    second.FlushCache()
    first = second = None
    assert document(tmp_path / "a.zarr", "n")["shape"] == [2]
    check_consolidated(tmp_path / "a.zarr")


def test_array_created_meanwhile_by_another_library_keeps_its_pixels(tmp_path, quiet):
    """A session of ours sees the mark of the first one."""
    store(tmp_path / "a.zarr")
    first, root = updated(tmp_path / "a.zarr")
    write(root.CreateMDArray("n", dimensions(root, t=8), extended("uint8")), np.full(8, 5, "uint8"))
    del root
    oracle.write(str(tmp_path / "a.zarr" / "n"), array_meta((8,), "uint8", shard=(8,)), np.full(8, 9, "uint8"))
    before = {name: open(name, "rb").read() for name in glob.glob(str(tmp_path / "a.zarr" / "n" / "**"), recursive=True) if os.path.isfile(name)}
    assert "/n: another writer made it meanwhile" in error_of(first.FlushCache)
    first = None
    assert before and before == {name: open(name, "rb").read() for name in before}
    np.testing.assert_array_equal(oracle.read(str(tmp_path / "a.zarr" / "n"))[1], np.full(8, 9, "uint8"))


@pytest.mark.skipif(GDAL < 3080000, reason="GDAL has no Delete...() before 3.8")
def test_an_edit_of_an_array_that_another_session_deleted_is_an_error(tmp_path, quiet):
    store(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    set_attribute(root.OpenMDArray("a"), "k")
    other, others = updated(tmp_path / "a.zarr")
    assert others.DeleteMDArray("a") == gdal.CE_None
    del others, root
    other = None
    assert "/a: another writer removed this array" in error_of(dataset.FlushCache)
    dataset = None
    assert not (tmp_path / "a.zarr" / "a").exists()
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("options, consolidated", [({"data_type": gdal.GDT_Int16}, "YES"), ({"CHUNK_SHAPE": "8"}, "NO"), ({"bands": 3}, "YES")])
def test_edits_are_not_applied_to_a_replaced_array(tmp_path, options, consolidated, quiet):
    options = dict(options)
    path, data_type, bands = str(tmp_path / "a.zarr"), options.pop("data_type", gdal.GDT_Byte), options.pop("bands", 1)
    make = lambda path, dtype, bands=1, **more: gdal.GetDriverByName("ShardedZarr").Create(str(path), 16, 16, bands, dtype, [  # noqa: E731
        "ARRAY_NAME=a", "CREATE_CONSOLIDATED_METADATA=" + consolidated] + ["%s=%s" % item for item in more.items()])
    make(path, gdal.GDT_Byte).FlushCache()
    make(tmp_path / "b.zarr", data_type, bands, **options).FlushCache()
    session = gdal.Open(path, gdal.GA_Update)
    assert session.GetRasterBand(1).GetNoDataValue() is None
    shutil.rmtree(path + "/a")
    shutil.copytree(tmp_path / "b.zarr" / "a", path + "/a")
    before = document(path, "a")
    session.GetRasterBand(1).SetNoDataValue(7)
    session.SetMetadataItem("k", "v")
    assert "changed since this array was opened" in error_of(session.FlushCache)
    session = None
    assert document(path, "a") == before


def test_an_item_of_70_megabytes_is_refused_and_the_store_stays_readable(tmp_path):
    path = str(tmp_path / "a.zarr")
    gdal.GetDriverByName("ShardedZarr").Create(path, 4, 4, 1, gdal.GDT_Byte).FlushCache()
    before = document(tmp_path / "a.zarr")
    dataset = gdal.Open(path, gdal.GA_Update)
    dataset.SetMetadataItem("k", "a" * 70000000)
    dataset.SetMetadataItem("l", "b")
    message = error_of(dataset.FlushCache)
    assert "zarr.json is not written" in message and "at most 67108864" in message
    dataset.SetMetadataItem("k", "small")
    dataset.FlushCache()
    dataset = None
    assert gdal.Open(path).GetMetadata()["l"] == "b" and gdal.Open(path).GetMetadataItem("k") == "small"
    assert set(document(tmp_path / "a.zarr")) == set(before)


def raster(path):
    dataset = gdal.GetDriverByName("ShardedZarr").Create(str(path), 16, 16, 3, gdal.GDT_Byte)
    dataset.SetGeoTransform([0, 1, 0, 16, 0, -1])
    dataset = None
    return path


def in_sessions(path, *actions):
    """Does each action in a session of its own, all opened before the first is closed."""
    sessions = [gdal.Open(str(path), gdal.GA_Update) for _ in actions]
    for session in sessions:
        session.GetMetadata(), session.GetRasterBand(1).GetMetadata()
    for session, action in zip(sessions, actions):
        action(session)
    del session
    while sessions: # closes the first
        sessions.pop(0)
    if document(path)["node_type"] == "group":
        check_consolidated(path)
    return gdal.Open(str(path))


def test_band_edits_of_two_sessions_are_both_stored(tmp_path):
    seen = in_sessions(raster(tmp_path / "a.zarr"),
                           lambda d: d.GetRasterBand(1).SetMetadataItem("k", "1"),
                           lambda d: d.GetRasterBand(2).SetMetadataItem("k", "2"),
                           lambda d: d.GetRasterBand(1).SetMetadataItem("l", "3"),
                           lambda d: d.GetRasterBand(2).SetUnitType("m"),
                           lambda d: d.GetRasterBand(3).SetDescription("third"))
    first, second, third = (seen.GetRasterBand(i) for i in (1, 2, 3))
    assert (first.GetMetadataItem("k"), first.GetMetadataItem("l")) == ("1", "3")
    assert (second.GetMetadataItem("k"), second.GetUnitType(), third.GetDescription()) == ("2", "m", "third")


def test_removing_a_band_property_keeps_those_of_another_session(tmp_path):
    in_sessions(raster(tmp_path / "a.zarr"), lambda d: d.GetRasterBand(1).SetMetadataItem("k", "1"))
    seen = in_sessions(tmp_path / "a.zarr", lambda d: d.GetRasterBand(2).SetMetadataItem("k", "2"),
                           lambda d: d.GetRasterBand(1).SetMetadata({}))
    assert seen.GetRasterBand(1).GetMetadataItem("k") is None and seen.GetRasterBand(2).GetMetadataItem("k") == "2"


@pytest.mark.parametrize("whole, other", [(None, "unit"), ("K", "nodata"), ("K", "scale"), ("K", "units of all")])
def test_band_properties_of_two_sessions_are_both_stored(tmp_path, whole, other):
    """Where the array says one of all its bands, and where it says none."""
    path = tmp_path / "a.zarr"
    dataset, root = made(path)
    array = root.CreateMDArray("a", dimensions(root, t=3, y=4, x=6), extended("int16"))
    if whole:
        array.SetUnit(whole)
    del array, root
    dataset = None
    edits = {"unit": lambda d: d.GetRasterBand(2).SetUnitType("ft"), "scale": lambda d: d.GetRasterBand(1).SetScale(0.5),
             "nodata": lambda d: [d.GetRasterBand(n).SetNoDataValue(7) for n in (1, 2, 3)],
             "units of all": lambda d: [d.GetRasterBand(n).SetUnitType("km") for n in (1, 2, 3)]}
    seen = in_sessions(path, lambda d: d.GetRasterBand(1).SetUnitType("m"), edits[other])
    bands = [seen.GetRasterBand(n) for n in (1, 2, 3)]
    units = [band.GetUnitType() for band in bands]
    assert units == {"unit": ["m", "ft", whole or ""], "units of all": ["m", "km", "km"]}.get(other, ["m", whole or "", whole or ""])
    assert other != "nodata" or [band.GetNoDataValue() for band in bands] == [7] * 3
    assert other != "scale" or [band.GetScale() for band in bands] == [0.5, None, None]


@pytest.mark.parametrize("attributes, order", [({}, 1), ({"_FillValue": 9}, -1)])
def test_nodata_of_two_sessions_is_stored_in_both_bands_of_a_foreign_store(tmp_path, attributes, order):
    path = str(tmp_path / "a.zarr")
    meta = array_meta((3, 4, 6), "int16", attributes=attributes, fill_value=1, dimension_names=["t", "y", "x"])
    oracle.write(path, meta, np.ones((3, 4, 6), "int16"))
    whole = 9 if attributes else 1
    seen = in_sessions(path, *[lambda d: d.GetRasterBand(1).SetNoDataValue(7), lambda d: d.GetRasterBand(2).SetNoDataValue(8)][::order])
    assert [seen.GetRasterBand(n).GetNoDataValue() for n in (1, 2, 3)] == [7, 8, whole]
    assert document(tmp_path / "a.zarr")["attributes"] == {**attributes, "gdal:bands": [{"nodata": 7}, {"nodata": 8}, {}]}
    seen = in_sessions(path, lambda d: d.GetRasterBand(1).SetNoDataValue(whole))
    assert [seen.GetRasterBand(n).GetNoDataValue() for n in (1, 2, 3)] == [whole, 8, whole]


def test_metadata_domains_of_two_sessions_are_both_stored(tmp_path):
    in_sessions(raster(tmp_path / "a.zarr"), lambda d: d.SetMetadataItem("o", "0", "D0"))
    seen = in_sessions(tmp_path / "a.zarr", lambda d: d.SetMetadataItem("d", "1", "D1"),
                           lambda d: d.SetMetadataItem("d", "2", "D2"), lambda d: d.SetMetadataItem("e", "3", "D1"),
                           lambda d: d.SetMetadata({}, "D0"))
    assert seen.GetMetadata("D1") == {"d": "1", "e": "3"} and seen.GetMetadata("D2") == {"d": "2"}
    assert not seen.GetMetadata("D0")


def test_overviews_of_two_sessions_are_both_stored(tmp_path):
    seen = in_sessions(raster(tmp_path / "a.zarr"), *[lambda d, f=f: d.BuildOverviews("NEAREST", [f]) for f in (4, 2)])
    band = seen.GetRasterBand(1)
    assert [band.GetOverview(i).XSize for i in range(band.GetOverviewCount())] == [8, 4]


# ------------------------------------------------------------------------------------------------------------ what is held

@pytest.mark.skipif(GDAL < 3080000, reason="GDAL has no Rename() and Delete...() before 3.8")
def test_an_attribute_follows_its_renamed_array(tmp_path):
    dataset, root = updated(store(tmp_path / "a.zarr"))
    array = root.OpenMDArray("a")
    attribute = set_attribute(array, "k")
    array.Rename("n")
    root.CreateMDArray("a", array.GetDimensions(), extended("uint8"))
    attribute.Write("later")
    del array, attribute, root
    dataset = None
    assert document(tmp_path / "a.zarr", "n")["attributes"]["k"] == "later" and "k" not in document(tmp_path / "a.zarr", "a")["attributes"]


@pytest.mark.skipif(GDAL < 3080000, reason="GDAL has no Rename() and Delete...() before 3.8")
def test_what_was_deleted_does_not_change_what_takes_its_place(tmp_path):
    dataset, root = updated(store(tmp_path / "a.zarr"))
    array, group, dims = root.OpenMDArray("a"), root.OpenGroup("g"), root.OpenMDArray("a").GetDimensions()
    attribute = set_attribute(array, "k")
    root.DeleteMDArray("a")
    root.CreateMDArray("a", dims, extended("uint8"))
    root.DeleteGroup("g")
    root.CreateGroup("g")
    for action in (lambda: attribute.Write("later"), lambda: array.SetUnit("m"), lambda: set_attribute(array, "l"),
                   lambda: group.CreateMDArray("n", dims, extended("uint8")), lambda: set_attribute(group, "k")):
        assert "delete" in error_of(action)
    del array, group, attribute, root, dims
    dataset = None
    assert not set(document(tmp_path / "a.zarr", "a")["attributes"]) & {"k", "l", "units"}
    assert document(tmp_path / "a.zarr", "g")["attributes"] == {} and not (tmp_path / "a.zarr" / "g" / "n").exists()
