"""What is there when something else is to take its place: it stays until that is complete, and nothing that is not a store's ever goes."""
import os
import random
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from osgeo import gdal

from support import assert_same, error_of, killed, need, open_ours, read_all, warnings_of
from writing import UTM, copy, created, driver, snapshot, source

TEMPORARY = ".shardedzarr-0123456789abcdef0123456789abcdef.tmp"
OLD, NEW = np.full((1, 70, 90), 3, "uint8"), np.full((2, 50, 40), 9, "int16")


def program(*command, cwd=None):
    """(exit status, all that was printed) of one of GDAL's programs."""
    need(command[0], shutil.which(command[0]))
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": ""})
    return done.returncode, done.stdout + done.stderr


def several(path):
    """A store of two rasters, /red and /green."""
    copy(path, source(OLD, UTM, "EPSG:32633"), ARRAY_NAME="red", CHUNK_SHAPE=16)
    driver().CreateCopy(str(path), source(OLD + 1), options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=green", "OVERVIEWS=NONE"])
    return str(path)


# ---------------------------------------------------------------------------------------------------------------- sources

@pytest.mark.parametrize("number", range(3))
def test_a_copy_may_replace_what_it_reads(tmp_path, number):
    copy(tmp_path / "a.zarr", source(OLD, UTM, "EPSG:32633"), CHUNK_SHAPE=16)
    gdal.Translate(str(tmp_path / "a.vrt"), str(tmp_path / "a.zarr"), format="VRT")
    os.symlink("a.zarr", str(tmp_path / "link.zarr"))
    copy(tmp_path / "a.zarr", gdal.Open(str(tmp_path / ["a.zarr", "a.vrt", "link.zarr"][number])))
    assert_same(read_all(open_ours(str(tmp_path / "a.zarr"))), OLD)


# ------------------------------------------------------------------------------------------------- what may be overwritten

def test_store_of_several_rasters_is_overwritten_only_with_the_option(tmp_path):
    path = several(tmp_path / "a.zarr")
    before = snapshot(tmp_path)
    for call in (lambda *options: driver().CreateCopy(path, source(NEW), options=list(options)),
                 lambda *options: driver().Create(path, 10, 10, 1, options=list(options))):
        message = error_of(call)
        assert "OVERWRITE=YES" in message and "APPEND_SUBDATASET" in message and "/red" in message and "/green" in message
        assert snapshot(tmp_path) == before
    copy(path, source(NEW), OVERWRITE="YES")
    assert_same(read_all(open_ours(path)), NEW)
    assert os.listdir(str(tmp_path)) == ["a.zarr"]


def test_store_with_text_arrays_is_overwritten_only_with_the_option(tmp_path):
    """But for labels, which are coordinates."""
    def put(name, names):
        dataset = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(tmp_path / name), [], [])
        root = dataset.GetRootGroup()
        y, x = (root.CreateDimension(axis, None, None, 3) for axis in "yx")
        root.CreateMDArray("only", [y, x], gdal.ExtendedDataType.Create(gdal.GDT_Byte)).Write(np.zeros((3, 3), "uint8"))
        root.CreateMDArray(names, [x], gdal.ExtendedDataType.CreateString()).Write(["a", "b", "c"])
        return str(tmp_path / name)

    for call in (lambda path: driver().CreateCopy(path, source(NEW)), lambda path: driver().CreateMultiDimensional(path, [], [])):
        path = put("remarks.zarr", "remarks")
        before = snapshot(tmp_path)
        assert "/remarks" in error_of(call, path)
        assert snapshot(tmp_path) == before
        shutil.rmtree(path)
    copy(put("labels.zarr", "x"), source(NEW))


def test_a_store_with_an_array_that_is_no_raster_of_ours_is_not_overwritten(tmp_path):
    copy(tmp_path / "a.zarr", source(OLD))
    series = tmp_path / "a.zarr" / "series"
    series.mkdir()
    (series / "zarr.json").write_text(
        '{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0, "codecs": [{"name": "bytes"}], "chunk_grid": '
        '{"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"}, "dimension_names": ["time"]}')
    (series / "c").mkdir()
    (series / "c" / "0").write_bytes(b"abcd")
    before = snapshot(tmp_path)
    assert "/series" in error_of(driver().CreateCopy, str(tmp_path / "a.zarr"), source(NEW))
    assert snapshot(tmp_path) == before
    copy(tmp_path / "a.zarr", source(NEW), OVERWRITE="YES")
    assert not series.exists()


# ------------------------------------------------------------------------------------------------------- what is not ours

FOREIGN = ["notes.txt", "a/notes.txt", "c/2024", "a/c/1/1/7", "a/c/photo.jpg", "photos/c/0.jpg", "a/c/0/x/0", "ovr_2x/zarr.json.bak", ".tmp", "x/zarr.txt", "a/c/x.tmp"]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_store_with_files_of_others_is_neither_overwritten_nor_deleted(tmp_path, name):
    path = copy(tmp_path / "a.zarr", source(OLD), CHUNK_SHAPE=16, OVERVIEWS="2").GetDescription()
    os.makedirs(os.path.join(path, os.path.dirname(name)), exist_ok=True)
    with open(os.path.join(path, name), "w") as file:
        file.write("precious")
    before = snapshot(tmp_path)
    for options in ([], ["OVERWRITE=YES"]):
        assert name in error_of(driver().CreateCopy, path, source(NEW), options=options)
        assert name in error_of(driver().Create, path, 10, 10, 1, options=options)
    assert name in program("gdalmanage", "delete", path)[1]  # gdalmanage of GDAL 3.6 ends with 0
    assert snapshot(tmp_path) == before


def test_deleting_a_store_removes_everything_it_wrote(tmp_path):
    path = copy(tmp_path / "a.zarr", source(OLD), ARRAY_NAME="red", CHUNK_SHAPE=16, OVERVIEWS="2").GetDescription()
    for name in ("zarr.json.aux.xml", "red/zarr.json.aux.xml", TEMPORARY, "red/c/0/" + TEMPORARY, "red/" + TEMPORARY):
        (tmp_path / "a.zarr" / name).write_text("left")
    assert program("gdalmanage", "delete", path) == (0, "")
    assert os.listdir(str(tmp_path)) == []


# ------------------------------------------------------------------------------------------------------------------ links

def test_links_in_a_store_are_removed_and_their_targets_stay(tmp_path):
    for action in (lambda path: driver().Delete(path), lambda path: copy(path, source(NEW), OVERWRITE="YES")):
        path = copy(tmp_path / "a.zarr", source(OLD), CHUNK_SHAPE=16, ARRAY_NAME="v", OVERVIEWS="2").GetDescription()
        outside = tmp_path / "outside"
        outside.mkdir()
        os.rename(os.path.join(path, "v", "c"), str(outside / "c"))
        os.symlink("../../outside/c", os.path.join(path, "v", "c"))
        os.rename(os.path.join(path, "ovr_2x"), str(outside / "ovr_2x"))
        os.symlink(str(outside / "ovr_2x"), os.path.join(path, "ovr_2x"))
        assert_same(read_all(open_ours(path)), OLD)
        before = snapshot(outside)
        action(path)
        assert snapshot(outside) == before and len(before) > 5
        assert not os.path.lexists(os.path.join(path, "v"))
        shutil.rmtree(str(outside))
        shutil.rmtree(path, ignore_errors=True)


def test_a_store_behind_a_link_is_replaced_behind_it_and_deleting_takes_the_link(tmp_path):
    (tmp_path / "disk").mkdir()
    copy(tmp_path / "disk" / "a.zarr", source(OLD))
    os.symlink("disk/a.zarr", str(tmp_path / "link.zarr"))
    copy(tmp_path / "link.zarr", source(NEW))
    assert os.readlink(str(tmp_path / "link.zarr")) == "disk/a.zarr" and os.listdir(str(tmp_path / "disk")) == ["a.zarr"]
    assert_same(read_all(open_ours(str(tmp_path / "disk" / "a.zarr"))), NEW)
    driver().Delete(str(tmp_path / "link.zarr"))
    assert not os.path.lexists(str(tmp_path / "link.zarr"))
    assert_same(read_all(open_ours(str(tmp_path / "disk" / "a.zarr"))), NEW)


# ---------------------------------------------------------------------------------------------------- cancelled and failed

@pytest.mark.parametrize("stop", [0.0, 0.3, 0.6, 0.8, 0.95])
def test_a_copy_that_is_cancelled_leaves_what_was_there_and_nothing_else(tmp_path, stop):
    copy(tmp_path / "a.zarr", source(OLD), OVERVIEWS="2")
    before = snapshot(tmp_path)
    for name in ("a.zarr", "new.zarr", "new/deep/er/new.zarr"):
        with pytest.raises(RuntimeError):
            driver().CreateCopy(str(tmp_path / name), source(np.ones((3, 200, 200), "uint8")), options=["CHUNK_SHAPE=16", "SHARD_SHAPE=32"],
                                callback=lambda done, *_: int(done < stop))
        assert snapshot(tmp_path) == before


def test_a_source_that_fails_leaves_what_was_there(tmp_path):
    copy(tmp_path / "a.zarr", source(OLD))
    created(tmp_path / "broken.zarr", np.ones((1, 100, 100), "uint8"), CHUNK_SHAPE=16, SHARD_SHAPE=32)
    (tmp_path / "broken.zarr" / "broken" / "c" / "2" / "1").write_bytes(b"broken")
    before = snapshot(tmp_path)
    error_of(driver().CreateCopy, str(tmp_path / "a.zarr"), gdal.Open(str(tmp_path / "broken.zarr")))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["a.zarr/zarr.json", 'SHARDEDZARR:"a.zarr"'])
def test_gdal_does_not_delete_a_store_before_its_replacement_is_published(tmp_path, name):
    """It deletes whatever a target's name opens as, unless that is a directory."""
    copy(tmp_path / "a.zarr", source(OLD))
    before = snapshot(tmp_path)
    code = ("from osgeo import gdal\nd = gdal.GetDriverByName('ShardedZarr')\ngdal.DontUseExceptions()\n"
            "made = d.CreateCopy(%r, gdal.GetDriverByName('MEM').Create('', 20, 20, 1), callback=lambda done, *_: 0)\nassert made is None\n")
    done = subprocess.run([sys.executable, "-c", code % name], cwd=str(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert snapshot(tmp_path) == before


# ----------------------------------------------------------------------------------------------------------------- Create

def test_create_over_a_store_leaves_the_old_one_until_the_first_flush(tmp_path):
    path = copy(tmp_path / "a.zarr", source(OLD), OVERVIEWS="2").GetDescription()
    before = snapshot(path)
    dataset = driver().Create(path, 40, 50, 2, gdal.GDT_Int16, options=["CHUNK_SHAPE=16"])
    dataset.WriteArray(NEW)
    assert snapshot(path) == before
    assert_same(read_all(dataset), NEW)
    dataset.FlushCache()
    assert_same(read_all(open_ours(path)), NEW)
    assert os.listdir(str(tmp_path)) == ["a.zarr"]
    dataset.GetRasterBand(1).Fill(4)  # and it goes on
    dataset.SetMetadataItem("key", "value")
    assert dataset.GetFileList() == [path + "/zarr.json"] and dataset.GetDescription() == path
    dataset = None
    assert (open_ours(path).GetRasterBand(1).ReadAsArray() == 4).all() and open_ours(path).GetMetadataItem("key") == "value"


# ------------------------------------------------------------------------------------------------------------------ kills

REPLACE = """
import sys
import numpy as np
from osgeo import gdal
gdal.UseExceptions()
path = sys.argv[1]
def raster(value):
    source = gdal.GetDriverByName("MEM").Create("", 200, 200, 1)
    source.GetRasterBand(1).Fill(value)
    return source
options = ["CHUNK_SHAPE=8", "SHARD_SHAPE=16"]
gdal.GetDriverByName("ShardedZarr").CreateCopy(path, raster(1), options=options)
print("ready", flush=True)
for value in range(2, 200):
    %s
"""
COPY = "gdal.GetDriverByName('ShardedZarr').CreateCopy(path, raster(value), options=options)"
DELETE = COPY + "\n    gdal.GetDriverByName('ShardedZarr').Delete(path)"


@pytest.mark.parametrize("code", [COPY, DELETE], ids=["copy", "delete"])
def test_killed_replacement_or_deletion_leaves_a_complete_store_or_none(tmp_path, code):
    moments, path, seen = random.Random(3), tmp_path / "a.zarr", set()
    for number in range(10):
        killed(moments.uniform(0.05, 0.5), REPLACE % code, path)
        seen.add(path.exists())
        if path.exists():
            pixels = read_all(open_ours(str(path)))
            assert pixels.min() == pixels.max() > 0
        if number % 5 == 4:  # and all is as ever, and tidy, after the same command
            status, printed = program("gdalwarp", "-q", "-overwrite", "-of", "ShardedZarr", "-t_srs", "EPSG:4326", _utm(tmp_path), path)
            assert (status, printed) == (0, "")
            assert sorted(os.listdir(str(tmp_path))) == ["a.zarr", "utm.tif"]
            assert program("gdalmanage", "delete", path) == (0, "")
            assert os.listdir(str(tmp_path)) == ["utm.tif"]
    assert code == DELETE or True in seen


def _utm(tmp_path):
    gdal.Translate(str(tmp_path / "utm.tif"), source(OLD, UTM, "EPSG:32633"))
    return tmp_path / "utm.tif"


def test_next_writer_removes_files_of_killed_writers_and_keeps_those_of_live_ones(tmp_path):
    path = tmp_path / "a.zarr"
    while not any(name.endswith(".tmp") for name in os.listdir(str(tmp_path))):
        killed(random.uniform(0.05, 0.3), REPLACE % COPY, path)
    (tmp_path / ".a.zarr.notes.tmp").mkdir()  # not ours
    (tmp_path / ".b.zarr.0123456789abcdef.tmp").mkdir()  # another's place
    names = []

    def progress(done, *_):
        names.append(sorted(name for name in os.listdir(str(tmp_path)) if name.startswith(".a.zarr")))
        if len(names) == 1:
            copy(path, source(NEW))  # a second writer meanwhile
        return 1
    driver().CreateCopy(str(path), source(OLD), callback=progress)
    assert len(names[0]) == 2 and names[0] == names[-1]
    assert sorted(os.listdir(str(tmp_path))) == [".a.zarr.notes.tmp", ".b.zarr.0123456789abcdef.tmp", "a.zarr"]
    assert_same(read_all(open_ours(str(path))), OLD)


def test_store_set_aside_by_a_killed_replacement_stays_under_its_hidden_name(tmp_path):
    """What a kill leaves between the two renames of a file system without exchange."""
    copy(tmp_path / "a.zarr", source(OLD))
    copy(tmp_path / "new", source(NEW))
    os.rename(str(tmp_path / "a.zarr"), str(tmp_path / ".a.zarr.0123456789abcdef.old"))
    os.rename(str(tmp_path / "new"), str(tmp_path / ".a.zarr.fedcba9876543210.tmp"))
    with pytest.raises(RuntimeError):
        driver().CreateCopy(str(tmp_path / "a.zarr"), source(NEW), callback=lambda *_: 0)
    assert os.listdir(str(tmp_path)) == [".a.zarr.0123456789abcdef.old"]
    copy(tmp_path / "a.zarr", source(NEW))
    assert sorted(os.listdir(str(tmp_path))) == [".a.zarr.0123456789abcdef.old", "a.zarr"]
    assert_same(read_all(open_ours(str(tmp_path / ".a.zarr.0123456789abcdef.old"))), OLD)


# -------------------------------------------------------------------------------------------------------------- at once

def test_one_of_two_concurrent_copies_to_a_new_path_wins_whole(tmp_path):
    for number in range(20):
        path = str(tmp_path / ("%d.zarr" % number))

        def write(value):
            raster = gdal.GetDriverByName("MEM").Create("", 150 + value, 150, 1)
            raster.GetRasterBand(1).Fill(value)
            driver().CreateCopy(path, raster, options=["CHUNK_SHAPE=16", "SHARD_SHAPE=32", "ARRAY_NAME=v"])
        writers = [threading.Thread(target=write, args=(value,)) for value in (1, 2)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        pixels = read_all(open_ours(path))
        value = pixels.shape[-1] - 150
        assert value in (1, 2) and (pixels == value).all()
    assert sorted(os.listdir(str(tmp_path))) == sorted("%d.zarr" % number for number in range(20))


def test_reading_while_a_store_is_replaced_gives_the_old_or_the_new(tmp_path):
    path, options = str(tmp_path / "a.zarr"), ["CHUNK_SHAPE=16", "SHARD_SHAPE=32", "ARRAY_NAME=v", "OVERVIEWS=NONE"]
    rasters = []
    for value in (1, 2):
        rasters.append(gdal.GetDriverByName("MEM").Create("", 128, 128, 1))
        rasters[-1].GetRasterBand(1).Fill(value)
    driver().CreateCopy(path, rasters[0], options=options)
    code = ("import sys\nfrom osgeo import gdal\ngdal.UseExceptions()\nprint('ready', flush=True)\nseen = set()\nwhile True:\n"
            "    try:\n        pixels = gdal.Open(sys.argv[1]).ReadAsArray()\n    except RuntimeError as error:\n"
            "        assert 'after it was opened' in str(error), error\n        continue\n"
            "    assert pixels.min() == pixels.max() > 0, pixels\n")
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        assert reader.stdout.readline() == b"ready\n"
        for number in range(30):
            driver().CreateCopy(path, rasters[number % 2], options=options)
        alive = reader.poll() is None
        reader.kill()
        assert alive, reader.stderr.read()


def test_writing_to_a_replaced_store_is_an_error_and_mixes_nothing(tmp_path):
    path = str(tmp_path / "a.zarr")
    first = driver().Create(path, 200, 200, 1, options=["CHUNK_SHAPE=16", "SHARD_SHAPE=32", "ARRAY_NAME=v"])
    first.FlushCache()
    second = driver().Create(path, 200, 200, 1, options=["CHUNK_SHAPE=16", "SHARD_SHAPE=32", "ARRAY_NAME=v"])
    first.GetRasterBand(1).Fill(1)
    second.GetRasterBand(1).Fill(2)
    second = None
    with pytest.raises(RuntimeError, match="after it was opened"):
        first.GetRasterBand(1).Fill(3)
        first.FlushCache()
    gdal.PushErrorHandler("CPLQuietErrorHandler")
    try:
        first = None
    except RuntimeError:
        pass
    gdal.PopErrorHandler()
    assert (open_ours(path).ReadAsArray() == 2).all()


# ----------------------------------------------------------------------------------------------------------- object stores

def test_store_on_an_object_store_stays_until_its_replacement_is_published(s3):
    path = "/vsis3/bucket/a.zarr"
    copy(path, source(OLD))
    before = dict(s3.objects)
    with pytest.raises(RuntimeError):
        driver().CreateCopy(path, source(NEW), callback=lambda *_: 0)
    assert s3.objects == before
    s3.refuse = lambda method, key: method == "PUT" and "/c/" in key
    error_of(driver().CreateCopy, path, source(NEW))
    assert s3.objects == before
    s3.refuse = lambda method, key: False
    s3.log.clear()
    copy(path, source(NEW))
    gdal.VSICurlClearCache()
    assert_same(read_all(open_ours(path)), NEW)
    assert all(key.startswith("bucket/a.zarr/") for key in s3.objects)
    changes = [key for method, key in s3.log if key.startswith("bucket/a.zarr/") and method in ("PUT", "DELETE", "POST")]
    assert changes[0] == changes[-1] == "bucket/a.zarr/.unfinished"
    assert changes[1] == changes[-2] == "bucket/a.zarr/zarr.json"  # gone first, there again last


@pytest.mark.parametrize("flush", [True, False])
def test_a_store_is_not_replaced_by_a_raster_whose_pixels_could_not_be_written(tmp_path, flush):
    """The limit of a file's size stands for a full disk: documents fit, shards do not."""
    resource = pytest.importorskip("resource")
    path = str(tmp_path / "a.zarr")
    gdal.GetDriverByName("ShardedZarr").CreateCopy(path, source(np.full((1, 8, 12), 9, "int16")), options=["CHUNK_SHAPE=8", "ARRAY_NAME=v"]).FlushCache()
    handled, limit = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limit[1]))
        dataset = gdal.GetDriverByName("ShardedZarr").Create(path, 256, 256, 1, gdal.GDT_Int16, ["CHUNK_SHAPE=128", "SHARD_SHAPE=128", "ARRAY_NAME=v"])
        error_of(dataset.WriteArray, np.random.default_rng(1).integers(0, 32000, (256, 256)).astype("int16"))
        if flush:
            assert "not all of it could be written: it is not made, and what was there stays" in error_of(dataset.FlushCache)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        held = [dataset]
        del dataset
        warnings_of(held.clear)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handled)
    assert (gdal.Open(path).ReadAsArray() == 9).all() and os.listdir(str(tmp_path)) == ["a.zarr"]


def test_a_store_in_memory_is_replaced_again_and_again():
    try:
        for value in range(1, 4):
            copy("/vsimem/again/a.zarr", source(np.full((1, 40, 40), value, "uint8")), CHUNK_SHAPE=16, OVERVIEWS="2")
            assert (read_all(open_ours("/vsimem/again/a.zarr")) == value).all()
    finally:
        gdal.RmdirRecursive("/vsimem/again")
