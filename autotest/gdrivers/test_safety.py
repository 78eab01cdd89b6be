"""Killed writers, full disks, memory: a shard is wholly old or wholly new, an error is never silent, and nothing torn is left."""
import contextlib
import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
from support import STEP, assert_same, in_process, killed, levels_of, open_array, open_ours, subdatasets
from writing import check_consolidated, copy, created, document, driver, files_of, source

ROUNDS = 9 // STEP
HEAD = "import os\nimport signal\nimport sys\nimport numpy as np\nfrom osgeo import gdal\ngdal.UseExceptions()\npath = sys.argv[1]\n"
COPY = HEAD + """
source = gdal.GetDriverByName("MEM").Create("", 1500, 1500, 1, gdal.GDT_UInt16)
source.GetRasterBand(1).WriteArray(np.random.default_rng(1).integers(1, 999, (1500, 1500)).astype("uint16"))
def progress(done, *_):
    if done >= float(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
gdal.GetDriverByName("ShardedZarr").CreateCopy(path, source, options=["CHUNK_SHAPE=64", "SHARD_SHAPE=256"], callback=progress)
"""
UPDATE = HEAD + """
d = gdal.Open(path, gdal.GA_Update)
b = d.GetRasterBand(1)
print("ready", flush=True)
for value in range(2, 1000):
    b.Fill(value)
    d.SetMetadataItem("value", str(value))
    d.FlushCache()
"""
# Small ones again and again: the moment falls into the metadata as often as into the pixels.
NUMBERED = """
def numbered(number):
    source = gdal.GetDriverByName("MEM").Create("", 300, 200, 2, gdal.GDT_UInt16)
    source.WriteArray(np.random.default_rng(number).integers(1, 999, (2, 200, 300)).astype("uint16"))
    return source
OPTIONS = ["CHUNK_SHAPE=32", "SHARD_SHAPE=64", "OVERVIEWS=2,4,8", "RESAMPLING=NEAREST"]
"""
COPIES = HEAD + NUMBERED + """
print("ready", flush=True)
for number in range(1000):
    options = OPTIONS + ["SINGLE_ARRAY=" + ["YES", "NO"][number % 2]]
    gdal.GetDriverByName("ShardedZarr").CreateCopy(path + "/%d.zarr" % number, numbered(number), options=options)
"""
APPEND = HEAD + NUMBERED + """
first = max(1, len(gdal.Open(path).GetSubDatasets()))
print("ready", flush=True)
for number in range(first, 1000):
    options = OPTIONS + ["APPEND_SUBDATASET=YES", "ARRAY_NAME=n%d" % number]
    gdal.GetDriverByName("ShardedZarr").CreateCopy(path, numbered(number), options=options)
    print("done", flush=True)
"""
ADDO = HEAD + """
print("ready", flush=True)
for number in range(1000):
    d = gdal.Open(path, gdal.GA_Update)
    d.BuildOverviews("NEAREST", [[2, 4, 8], [2, 4, 8], [], [2], [4, 8], []][number % 6])
    d = None
"""


def leftovers(path):
    return [name for name in files_of(path) if name.endswith(".tmp")]


def test_a_copy_that_is_killed_before_its_end_leaves_no_store_and_its_name_is_free(tmp_path):
    for at in (0, 0.3, 0.9):
        path = tmp_path / "a.zarr"
        writer = subprocess.run([sys.executable, "-c", COPY, str(path), str(at)])
        assert writer.returncode == -signal.SIGKILL
        assert not path.exists()
    copy(path, source(numbered(0)[0]), OVERVIEWS="NONE")
    assert_levels(levels_of(open_ours(str(path))), numbered(0)[:1])


def test_every_shard_is_its_old_or_its_new_self_after_a_kill(tmp_path):
    moments = random.Random(8)
    path = created(tmp_path / "a.zarr", np.ones((1, 512, 512), "uint16"), CHUNK_SHAPE=32, SHARD_SHAPE=128, ARRAY_NAME="v")
    for _ in range(ROUNDS):
        killed(moments.uniform(0, 0.3), UPDATE, path)
        meta, array = oracle.read(os.path.join(path, "v"))
        for y in range(0, 512, 128):
            for x in range(0, 512, 128):
                shard = array[y:y + 128, x:x + 128]
                assert shard.min() == shard.max() > 0
        dataset = open_ours(path)
        assert_same(dataset.ReadAsArray(), array)
        assert dataset.GetMetadataItem("value") is None or 1 < int(dataset.GetMetadataItem("value")) < 1000
    dataset = gdal.Open(path, gdal.GA_Update)  # and it can be written to as ever
    dataset.GetRasterBand(1).Fill(5)
    dataset = None
    assert (oracle.read(os.path.join(path, "v"))[1] == 5).all()


def numbered(number):
    """The pixels of the writers above, and what GDAL itself makes of them: [level][band], the base first."""
    raster = source(np.random.default_rng(number).integers(1, 999, (2, 200, 300)).astype("uint16"))
    raster.BuildOverviews("NEAREST", [2, 4, 8])
    return levels_of(raster)


def rasters_of(path):
    """{name of the array, "" of an only one: its levels} of a store."""
    dataset = open_ours(str(path))
    if dataset.RasterCount:
        return {"": levels_of(dataset)}
    return {key.split("/")[-1]: levels_of(open_array(path, key)) for key in subdatasets(dataset)}


def assert_levels(levels, expected):
    assert len(levels) == len(expected)
    for level, wanted in zip(levels, expected):
        assert_same(level, wanted)


def test_a_copy_with_overviews_that_is_killed_leaves_no_store_or_one_with_all_of_them(tmp_path):
    moments = random.Random(9)
    for round_ in range(ROUNDS):
        place = tmp_path / str(round_)
        place.mkdir()
        killed(moments.uniform(0, 0.3), COPIES, place)
        for number in range(len(os.listdir(place))):
            path, expected = place / ("%d.zarr" % number), numbered(number)
            if not (path / "zarr.json").exists():
                assert number == len(os.listdir(place)) - 1  # the one being written
                with pytest.raises(RuntimeError):
                    gdal.Open(str(path))
                continue
            check_consolidated(path)
            assert_levels(levels_of(open_ours(str(path))), expected)  # of one array, or of two side by side


def test_killed_append_leaves_the_former_store_or_the_complete_append(tmp_path):
    moments, path, seen = random.Random(10), tmp_path / "a.zarr", 2
    copy(path, source(numbered(0)[0]), CHUNK_SHAPE=32, SHARD_SHAPE=64, ARRAY_NAME="n0", OVERVIEWS="2,4,8", RESAMPLING="NEAREST")
    for round_ in range(ROUNDS):
        killed(moments.uniform(0, 0.3), APPEND, path, done=int(round_ == 0))
        found = rasters_of(path)
        assert len(found) >= seen
        seen = len(found)
        for number in range(seen):
            assert_levels(found["n%d" % number], numbered(number))


def test_building_overviews_that_is_killed_leaves_right_ones_or_none(tmp_path):
    moments, path, expected = random.Random(11), tmp_path / "a.zarr", numbered(0)
    copy(path, source(expected[0]), CHUNK_SHAPE=32, SHARD_SHAPE=64, ARRAY_NAME="v")
    for _ in range(ROUNDS):
        killed(moments.uniform(0, 0.3), ADDO, path)
        for name, meta in document(path)["consolidated_metadata"]["metadata"].items():
            assert document(path, name) == {key: value for key, value in meta.items() if key != "consolidated_metadata"}
        base, *levels = rasters_of(path)[""]
        assert_same(base, expected[0])
        assert_same(oracle.read(path / "v")[1], expected[0])
        for level in levels:
            wanted, = [w for w in expected[1:] if w.shape == level.shape]
            assert_same(level, wanted)
    dataset = gdal.Open(str(path), gdal.GA_Update)  # and they can be built as ever
    assert dataset.BuildOverviews("NEAREST", [2, 4, 8]) == 0
    dataset = None
    assert_levels(rasters_of(path)[""], expected)


# ------------------------------------------------------------------------------- a shard that cannot be stored, and others

@pytest.mark.parametrize("options", [[], ["UPDATE=APPEND"], ["UPDATE=IN_PLACE"]])
@pytest.mark.parametrize("damaged", [0, 2, 4])
def test_a_shard_that_cannot_be_stored_costs_no_other_at_the_close(tmp_path, options, damaged):
    path = str(tmp_path / "a.zarr")
    copy(path, source(np.ones((16, 80), "uint16")), CHUNK_SHAPE=8, SHARD_SHAPE=16, ARRAY_NAME="v", OVERVIEWS="NONE")
    with open("%s/v/c/0/%d" % (path, damaged), "r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(b"\xff" * 8)  # its index
    said = in_process("""d = gdal.OpenEx(sys.argv[1], gdal.OF_UPDATE | gdal.OF_RASTER, open_options=sys.argv[2:])
import numpy as np
for shard in range(5):
    d.GetRasterBand(1).WriteArray(np.full((8, 8), shard + 2, "uint16"), 16 * shard, 0)
gdal.DontUseExceptions()
gdal.PushErrorHandler(lambda level, number, message: print(message))
d = None""", path, *options)
    assert any("c/0/%d" % damaged in line for line in said)
    dataset = gdal.Open(path)
    for shard in set(range(5)) - {damaged}:
        assert (dataset.ReadAsArray(16 * shard, 0, 8, 8) == shard + 2).all(), shard


# --------------------------------------------------------------------------------------------------------------- full disk

def noise(size, seed=1):
    return np.random.default_rng(seed).integers(1, 60000, (size, size)).astype("uint16")


def test_a_copy_to_a_full_disk_is_an_error_and_leaves_nothing(small_disk):
    """With 950 pixels a side it is full when the overviews come."""
    for size, options in ((1500, ["SHARD_SHAPE=256"]), (1500, ["SHARD_SHAPE=2048"]), (1500, ["SHARD_SHAPE=256", "OVERVIEWS=NONE"]), (950, ["SHARD_SHAPE=256"])):
        with pytest.raises(RuntimeError):
            driver().CreateCopy(str(small_disk / "a.zarr"), source(noise(size)), options=["CHUNK_SHAPE=64"] + options)
        assert os.listdir(small_disk) == []


def test_the_disk_that_fills_up_during_an_update_is_an_error_and_every_chunk_is_old_or_new(small_disk):
    path, old, new = str(small_disk / "a.zarr"), np.full((1024, 1024), 3, "uint16"), noise(1024, 2)
    copy(path, source(old), CHUNK_SHAPE=64, SHARD_SHAPE=256, ARRAY_NAME="v")
    dataset = gdal.Open(path, gdal.GA_Update)

    def write():
        dataset.GetRasterBand(1).WriteArray(new)
        dataset.FlushCache()
    with pytest.raises(RuntimeError):
        write()
    with contextlib.suppress(RuntimeError):
        dataset = None
    array = oracle.read(os.path.join(path, "v"))[1]
    for y in range(0, 1024, 64):
        for x in range(0, 1024, 64):
            part = (slice(y, y + 64), slice(x, x + 64))
            assert (array[part] == old[part]).all() or (array[part] == new[part]).all()
    assert not leftovers(path)


def test_flushing_to_a_full_disk_fails(small_disk):
    path = str(small_disk / "a.zarr")
    dataset = driver().Create(path, 1024, 1024, 1, gdal.GDT_UInt16, options=["CHUNK_SHAPE=64", "SHARD_SHAPE=256"])
    with contextlib.suppress(OSError), open(small_disk / "filler", "wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass

    def write():
        dataset.GetRasterBand(1).WriteArray(noise(1024))
        dataset.FlushCache()
    with pytest.raises(RuntimeError):
        write()
    os.remove(small_disk / "filler")
    with contextlib.suppress(RuntimeError):
        dataset = None
    assert not leftovers(path)
