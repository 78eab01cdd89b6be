"""What several sessions change of one store at once, and what is held across a change: an edit changes what was asked and nothing else."""
import glob
import os
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
    theirs.CreateMDArray("n", dimensions(theirs, t=3), extended("uint8"))
    del sessions, ours, theirs
    first.FlushCache()
    assert "/n: another writer made it meanwhile" in error_of(second.FlushCache)
    first = second = None
    assert document(tmp_path / "a.zarr", "n")["shape"] == [2]
    check_consolidated(tmp_path / "a.zarr")


def test_array_created_meanwhile_by_another_library_keeps_its_pixels(tmp_path, quiet):
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
    assert "open it again" in error_of(dataset.FlushCache)  # an error ends the session
    dataset = None
    assert document(tmp_path / "a.zarr") == before


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
