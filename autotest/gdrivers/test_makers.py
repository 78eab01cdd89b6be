"""Several that make a store of one name at once: one makes it, the others are told who does; arrays in a store."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from osgeo import gdal

import writers
from support import assert_same, error_of, open_array, read_all
from writing import driver, source

PATH = "/vsis3/bucket/a.zarr"
MARK = "bucket/a.zarr/.unfinished"
OPTIONS = {"ARRAY_NAME": "v", "CHUNK_SHAPE": 16, "SHARD_SHAPE": 32, "OVERVIEWS": "NONE"}
LIVES = "process %d on " % os.getpid()


def raster(value, side=128):
    return source(np.full((1, side, side), value, "uint8"))


def made(value, path=PATH, side=128, meanwhile=lambda: None, **options):
    """Makes a store, with something else done when half of it is copied."""
    done = []

    def progress(part, *_):
        if part > 0.3 and not done:
            done.append(part)
            other = threading.Thread(target=meanwhile)  # its errors are its own
            other.start()
            other.join()
        return 1
    options = ["%s=%s" % item for item in {**OPTIONS, **options}.items()]
    driver().CreateCopy(str(path), raster(value, side), options=options, callback=progress).FlushCache()
    assert done


def stored(path=PATH, name="/v"):
    gdal.VSICurlClearCache()
    return read_all(open_array(str(path), name))[0]


def assert_is(value, s3, side=128):
    assert_same(stored(), np.full((side, side), value, "uint8"))
    assert not [key for key in s3.objects if not key.startswith("bucket/a.zarr/") or ".unfinished" in key]


def create(value=None, path=PATH):
    dataset = driver().Create(path, 128, 128, 1, options=["%s=%s" % item for item in OPTIONS.items()])
    if value is not None:
        dataset.GetRasterBand(1).Fill(value)
    return dataset


@pytest.mark.parametrize("other", [lambda: made(2, side=160), lambda: made(2, side=160, OVERWRITE="YES"), lambda: create(2),
                                   lambda: driver().Delete(PATH)], ids=["copy", "overwrite", "create", "delete"])
@pytest.mark.parametrize("replaces", [False, True], ids=["new", "replaces"])
def test_creating_where_another_process_creates_is_refused_with_that_process(s3, other, replaces):
    if replaces:
        made(3, side=200)
    said = []
    made(1, meanwhile=lambda: said.append(error_of(other)))
    assert PATH + "/.unfinished: " + LIVES in said[0]
    assert_is(1, s3)


def test_mark_of_create_stays_until_close(s3):
    held = [create(1)]
    assert LIVES in error_of(create, 2) and LIVES in error_of(made, 2)
    held.clear()
    assert_is(1, s3)
    create(2).FlushCache()
    assert_is(2, s3)


@pytest.mark.parametrize("how", ["cancelled", "refused"])
def test_failed_creation_leaves_no_mark(s3, how):
    if how == "refused":
        s3.refuse = lambda method, key: method == "PUT" and key.endswith("v/c/1/1")
        error_of(made, 1)
        s3.refuse = lambda method, key: False
    else:
        error_of(lambda: driver().CreateCopy(PATH, raster(1), callback=lambda *_: 0))
    assert s3.objects == {}
    made(2)
    assert_is(2, s3)


KILLED = """
import sys, time
import numpy as np
import writers
gdal = writers.configure(sys.argv[1])
memory = gdal.GetDriverByName("MEM").Create("", 128, 128, 1)
memory.GetRasterBand(1).Fill(9)
gdal.GetDriverByName("ShardedZarr").CreateCopy(sys.argv[2], memory, options=sys.argv[3:], callback=lambda part, *_: (
    (print("there", flush=True), time.sleep(60)) if part > 0.5 else None, 1)[1])
"""


def kill_one(path, host="", **options):
    """Starts a process that makes a store, and kills it when half of that is copied."""
    options = ["%s=%s" % item for item in {**OPTIONS, **options}.items()]
    with subprocess.Popen([sys.executable, "-c", KILLED, host, str(path)] + options, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(writers.__file__)}) as process:
        try:
            assert process.stdout.readline() == b"there\n"
            process.send_signal(signal.SIGSTOP)
            yield process.pid
        finally:
            process.kill()
    time.sleep(0.5)  # the server puts what was under way


def test_mark_of_a_killed_process_of_this_machine_is_replaced_at_once(s3):
    for pid in kill_one(PATH, s3.host):
        assert ".unfinished: process %d on " % pid in error_of(made, 1)  # it lives, though it does nothing
    gdal.VSICurlClearCache()
    assert MARK in s3.objects
    made(1)
    assert_is(1, s3)


@pytest.mark.parametrize("has_root", [False, True])
def test_what_a_maker_elsewhere_left_is_replaced_by_who_says_so(s3, has_root):
    """In place where it is no store."""
    made(3, side=200)
    if not has_root:
        del s3.objects["bucket/a.zarr/zarr.json"]
    s3.objects[MARK] = (b"A raster is being written here, or was when its writer was killed.\n"
                        b"process 17 since 5 on elsewhere/b/pid:[1] at 2026-01-01T00:00:00Z\n")
    assert "process 17 on elsewhere" in error_of(made, 1)
    s3.log.clear()
    made(1, OVERWRITE="YES")
    assert_is(1, s3)
    assert any(".a.zarr." in key for _, key in s3.log) == has_root


@pytest.fixture(params=["local", "memory", "s3"])
def place(request, tmp_path):
    if request.param == "s3":
        request.getfixturevalue("s3")
    path = {"local": str(tmp_path / "a.zarr"), "memory": "/vsimem/makers/a.zarr", "s3": PATH}[request.param]
    yield path
    if request.param == "memory":
        gdal.RmdirRecursive("/vsimem/makers")


def test_append_of_a_killed_process_is_replaced_by_the_next_append(tmp_path):
    path = str(tmp_path / "a.zarr")
    made(3, path)
    for _ in kill_one(path, "127.0.0.1:1", ARRAY_NAME="w", APPEND_SUBDATASET="YES"):
        pass
    made(1, path, 160, ARRAY_NAME="w", APPEND_SUBDATASET="YES")
    assert_same(stored(path, "/w/w"), np.full((160, 160), 1, "uint8"))
    assert "there is a group /w already" in error_of(made, 1, path, ARRAY_NAME="w", APPEND_SUBDATASET="YES")


def put_array(path, name):
    """As zarr-python makes one, with a chunk."""
    document = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0, "codecs": ["bytes"],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"}}
    if not path.startswith("/vsis3/"):
        assert gdal.MkdirRecursive("/".join([path, name, "c"]), 0o755) == 0
    for key, text in {"zarr.json": json.dumps(document), "c/0": "mine"}.items():
        file = gdal.VSIFOpenL("/".join([path, name, key]), "wb")
        assert file is not None and gdal.VSIFWriteL(text, 1, len(text), file) == len(text) and gdal.VSIFCloseL(file) == 0


@pytest.mark.parametrize("consolidated", ["YES", "NO"])
@pytest.mark.parametrize("name", ["w/w", "w/deep/er"])
def test_append_does_not_replace_an_unlisted_array(place, name, consolidated):
    """zarr-python makes one in a group that has no document."""
    made(3, place, CREATE_CONSOLIDATED_METADATA=consolidated)
    put_array(place, name)
    for action in (lambda: made(1, place, ARRAY_NAME="w", APPEND_SUBDATASET="YES"),
                   lambda: driver().Create(place, 50, 50, 1, options=["ARRAY_NAME=w", "APPEND_SUBDATASET=YES"])):
        assert re.search("there is an? (group |array |)/w(/.*)? already", error_of(action))
        gdal.VSICurlClearCache()
        names = [key for key in gdal.ReadDirRecursive(place) if key.startswith("w/") and not key.endswith("/")]
        assert sorted(names) == [name + "/c/0", name + "/zarr.json"]
        assert gdal.VSIStatL(place + "/" + name + "/c/0").size == 4


def test_a_folder_of_stores_is_never_replaced_or_deleted(place, request):
    if not place.startswith("/vsis3/"):
        assert gdal.MkdirRecursive(place, 0o755) == 0
    made(3, place + "/a.zarr")
    made(3, place + "/b.zarr")
    before = sorted(gdal.ReadDirRecursive(place))
    for action in (lambda: made(1, place), lambda: made(1, place, OVERWRITE="YES"), lambda: create(1, place), lambda: driver().Delete(place)):
        assert re.search("not a Zarr store", error_of(action))
        gdal.VSICurlClearCache()
        assert sorted(gdal.ReadDirRecursive(place)) == before
    if place.startswith("/vsis3/"):  # with a mark it would be what a killed maker left
        assert ("PUT", MARK) not in request.getfixturevalue("s3").log


def test_an_object_of_the_name_of_a_mark_stays(s3):
    made(1)
    s3.objects[MARK] = b"my own notes"
    for action in (lambda: made(2), lambda: made(2, OVERWRITE="YES"), lambda: driver().Delete(PATH)):
        assert ".unfinished: expected an object that this driver has put there" in error_of(action)
    assert s3.objects[MARK] == b"my own notes" and (stored() == 1).all()


def test_a_folder_with_files_named_like_chunks_is_not_replaced(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c/1").write_text("mine")
    assert "not a Zarr store" in error_of(made, 1, tmp_path) and (tmp_path / "c/1").read_text() == "mine"


def test_the_process_whose_mark_could_not_be_removed_goes_on(s3):
    s3.fault = lambda method, key, query: 403 if method == "GET" and MARK in s3.objects else None
    error_of(made, 1)
    assert list(s3.objects) == [MARK]
    s3.fault = lambda method, key, query: None
    gdal.VSICurlClearCache()
    made(2)
    assert_is(2, s3)
