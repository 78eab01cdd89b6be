"""Writing to object stores that others wrote: versitygw, which holds a PUT to its conditions, and moto, which may not. Where our own server
(objectstore.py) and these differ, these are right."""
import os
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from osgeo import gdal

import dask_writers
import writers
from mdim import open_mdim
from support import SANITIZED, assert_same, need, open_array, open_ours, read_all, warnings_of
from test_nginx import accepts
from writing import copy, driver, source

PEERS = os.path.dirname(os.environ.get("SHARDEDZARR_PEERS", ""))
VERSITYGW, MOTO = os.path.join(PEERS, "versitygw"), os.path.join(PEERS, "moto", "bin", "moto_server")
PATH = "/vsis3/bucket/a.zarr"
NAME = 'SHARDEDZARR:"%s":/v' % PATH


class Server:
    def __init__(self, name, host):
        self.name, self.host = name, host


def command(name, folder, port):
    if name == "moto":
        need("moto, which peers.sh installs,", os.path.exists(MOTO))
        return [MOTO, "-H", "127.0.0.1", "-p", str(port)]
    if not os.path.exists(VERSITYGW):
        pytest.skip("versitygw is not here: peers.sh builds it where there is Go 1.25, which CI may not have")
    (folder / "root" / "bucket").mkdir(parents=True)  # a bucket of it is a folder
    try:
        os.setxattr(folder / "root", "user.test", b"")
    except OSError:
        pytest.skip("versitygw keeps an ETag in an attribute of the file, which this file system has not; beside it (--sidecar) it would not "
                    "change with the object")
    return [VERSITYGW, "--port", "127.0.0.1:%d" % port, "posix", str(folder / "root")]


@pytest.fixture(params=["versitygw", "moto"])
def server(request, tmp_path, config):
    """One of the servers with an empty bucket, and GDAL asking it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command(request.param, tmp_path, port), stdout=log, stderr=log,
                                   env={"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": "id", "ROOT_SECRET_KEY": "secretkey"})
    try:
        end = time.time() + 60
        while not accepts(port):
            assert process.poll() is None and time.time() < end, (tmp_path / "log").read_text()
            time.sleep(0.05)
        running = Server(request.param, "127.0.0.1:%d" % port)
        if request.param == "moto":
            urllib.request.urlopen(urllib.request.Request("http://%s/bucket" % running.host, method="PUT")).close()
        for key, value in writers.settings(running.host).items():
            config(key, value)
        gdal.VSICurlClearCache()
        yield running
    finally:
        process.terminate()
        process.wait()
        gdal.VSICurlClearCache()


def made(path=PATH):
    array = np.random.default_rng(1).integers(1, 200, (1, 256, 256)).astype("uint8")
    copy(path, source(array), CHUNK_SHAPE=32, SHARD_SHAPE=128, ARRAY_NAME="v", OVERVIEWS="NONE").FlushCache()
    return array


def opened(name=NAME):
    gdal.VSICurlClearCache()
    return gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE)


def test_a_store_is_made_changed_given_attributes_and_deleted(server):
    array = made()
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), array)
    ours = opened()
    array[0, 100:150, 20:90] = 7
    ours.GetRasterBand(1).WriteArray(array[0, 100:150, 20:90], 20, 100)
    ours.SetMetadataItem("ours", "1")
    ours.FlushCache()
    ours = None
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), array)
    assert gdal.OpenEx(PATH).GetMetadataItem("ours") == "1"
    driver().Delete(PATH)
    gdal.VSICurlClearCache()
    assert not gdal.ReadDirRecursive("/vsis3/bucket/")


def test_two_writers_of_one_chunk_lose_nothing(server):
    if server.name == "moto":
        pytest.skip("moto looks at no condition")
    made()
    ours, theirs = opened(), opened()
    ours.GetRasterBand(1).WriteArray(np.full((2, 2), 250, "uint8"), 0, 0)
    theirs.GetRasterBand(1).WriteArray(np.full((2, 2), 251, "uint8"), 4, 4)
    ours.SetMetadataItem("ours", "1")
    theirs.SetMetadataItem("theirs", "2")
    for dataset in (theirs, ours):
        assert warnings_of(dataset.FlushCache)[1] == []
    dataset = ours = theirs = None
    gdal.VSICurlClearCache()
    pixels = read_all(open_array(PATH))[0]
    assert pixels[0, 0] == 250 and pixels[4, 4] == 251
    items = gdal.OpenEx(NAME).GetMetadata()
    assert (items.get("ours"), items.get("theirs")) == ("1", "2")


ADD = """
import sys
import writers
gdal = writers.configure(sys.argv[1])
for i in range(8):
    dataset = gdal.OpenEx("%s", gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE, allowed_drivers=["ShardedZarr"])
    root = dataset.GetRootGroup()
    root.CreateMDArray(sys.argv[2] + str(i), [root.CreateDimension("d" + sys.argv[2] + str(i), None, None, 2)],
                       gdal.ExtendedDataType.Create(gdal.GDT_Byte))
    del root
    dataset.FlushCache()
    dataset = None
""" % PATH


def test_arrays_that_two_processes_add_to_one_group_are_all_there(server):
    if server.name == "moto":
        pytest.skip("between looking at a condition and putting the object moto has no lock")
    made()
    running = [subprocess.Popen([sys.executable, "-c", ADD, server.host, name], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONPATH": os.path.dirname(writers.__file__)}) for name in "pq"]
    for process in running:
        assert process.communicate()[1] == "" and process.returncode == 0
    gdal.VSICurlClearCache()
    names = set(open_mdim(PATH).GetRootGroup().GetMDArrayNames())
    assert names >= {name + str(i) for name in "pq" for i in range(8)}, names


MAKE = """
import sys
import writers
gdal = writers.configure(sys.argv[1])
value = int(sys.argv[2])
memory = gdal.GetDriverByName("MEM").Create("", 256 + 16 * value, 256, 1)
memory.GetRasterBand(1).Fill(value)
held = False
def hold(part, *_):
    global held
    if part >= 1 and not held:
        held = print("in it", flush=True) or sys.stdin.readline()
    return 1
for i in range(8):
    sys.stdin.readline()  # all at once
    held = False
    try:
        gdal.GetDriverByName("ShardedZarr").CreateCopy("/vsis3/bucket/%d.zarr" % i, memory, options=sys.argv[3:], callback=hold)
        print("made", flush=True)
    except RuntimeError as error:
        print(*str(error).split("\\n"), flush=True)
"""


@pytest.mark.parametrize("overwrite", ["NO", "YES"])
def test_one_of_concurrent_creations_of_a_name_succeeds_and_others_are_refused(server, overwrite):
    if server.name == "moto":
        pytest.skip("between looking at a condition and putting the object moto has no lock")
    arguments = ["CHUNK_SHAPE=16", "SHARD_SHAPE=32", "ARRAY_NAME=v", "OVERVIEWS=NONE", "OVERWRITE=" + overwrite]
    running = [subprocess.Popen([sys.executable, "-c", MAKE, server.host, str(value)] + arguments, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1,
                                env={**os.environ, "PYTHONPATH": os.path.dirname(writers.__file__)}) for value in (1, 2, 3)]
    refused = 0
    for number in range(8):
        for process in running:
            process.stdin.write("go\n")
        answers = [process.stdout.readline().strip() for process in running]
        for i, process in enumerate(running):  # who is in it was so when the others ended
            if answers[i] == "in it":
                process.stdin.write("go on\n")
                answers[i] = process.stdout.readline().strip()
        gdal.VSICurlClearCache()
        made = [value + 1 for value in range(3) if answers[value] == "made"]
        # versitygw fails to list a folder that changes meanwhile
        assert all(answer == "made" or ".unfinished: " in answer or "cannot be listed" in answer for answer in answers), answers
        pixels = read_all(open_array(PATH.replace("a.zarr", "%d.zarr" % number)))[0]
        value = (pixels.shape[1] - 256) // 16
        assert value in made and (pixels == value).all(), answers
        refused += 3 - len(made)
    assert refused > 0
    for process in running:
        process.communicate()
        assert process.returncode == 0
    assert not [name for name in gdal.ReadDirRecursive("/vsis3/bucket/") if ".unfinished" in name or ".tmp" in name]


@pytest.mark.skipif(SANITIZED, reason="takes too long with ASan")
def test_workers_of_dask_whose_blocks_fit_no_shard_lose_nothing(server):
    if server.name == "moto":
        pytest.skip("between looking at a condition and putting the object moto has no lock")
    assert dask_writers.run_on(server.host) > 0
    gdal.VSICurlClearCache()
    assert_same(read_all(open_ours(PATH.replace("a.zarr", "m.zarr"))), dask_writers.expected())
