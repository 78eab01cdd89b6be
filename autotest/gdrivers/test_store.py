"""Where bytes live: what is absent and what has failed in archives and folders, what is no file, what killed writers left."""
import os
import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from osgeo import gdal

from support import assert_same, open_ours
from webserver import RangeServer
from writing import copy, created, files_of, source

TEMPORARY = re.compile(r"\.shardedzarr-[0-9a-f]{32}\.tmp")


@pytest.fixture
def sparse(tmp_path):
    """A store of four shards, of which one is absent: (path, pixels)."""
    pixels = np.arange(1, 64 * 64 + 1, dtype="uint16").reshape(64, 64)
    pixels[32:, 32:] = 0
    path = tmp_path / "a.zarr"
    copy(path, source(pixels), CHUNK_SHAPE=16, SHARD_SHAPE=32, ARRAY_NAME="v", OVERVIEWS="NONE", COMPRESS="NONE")
    assert not (path / "v/c/1/1").exists()
    return path, pixels


def zipped(path):
    name = str(path) + ".zip"
    with zipfile.ZipFile(name, "w", zipfile.ZIP_STORED) as archive:
        for file in files_of(path):
            archive.write(os.path.join(path, file), file)
    return name


COUNTER = '''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static int count;
int fsync(int fd) { count++; return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { count++; return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
__attribute__((destructor)) static void tell(void) { printf("%d\\n", count); }
'''
WRITE = '''
import sys
from osgeo import gdal
gdal.UseExceptions()
path, fsync = sys.argv[1:]
source = gdal.GetDriverByName("MEM").Create("", 64, 64, 1)
source.GetRasterBand(1).Fill(3)
driver = gdal.GetDriverByName("ShardedZarr")
driver.CreateCopy(path + "/copy.zarr", source, options=["FSYNC=" + fsync])
dataset = driver.Create(path + "/new.zarr", 64, 64, 1, options=["FSYNC=" + fsync])
dataset.GetRasterBand(1).Fill(5)
dataset = None
dataset = gdal.OpenEx(path + "/copy.zarr", gdal.OF_UPDATE, open_options=["FSYNC=" + fsync])
dataset.GetRasterBand(1).Fill(5)
dataset.SetMetadataItem("a", "b")
dataset = None
'''


def test_files_are_synced_unless_fsync_is_off(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("without a compiler")
    (tmp_path / "count.c").write_text(COUNTER)
    library = str(tmp_path / "count.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(tmp_path / "count.c"), "-ldl"], check=True)
    counts = {}
    for fsync in "YES", "NO":
        (tmp_path / fsync).mkdir()
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), library]))
        done = subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / fsync), fsync], check=True, capture_output=True, text=True,
                              env={**os.environ, "LD_PRELOAD": preload})
        counts[fsync] = int(done.stdout)
        assert_same(gdal.Open(str(tmp_path / fsync / "new.zarr")).ReadAsArray(), np.full((64, 64), 5, "uint8"))
    assert counts["NO"] == 0 and counts["YES"] >= 6


def test_an_absent_shard_in_an_archive_is_nodata_on_a_disk_and_behind_a_network(sparse, tmp_path):
    path, pixels = sparse
    name = zipped(path)
    assert_same(open_ours("/vsizip/" + name).ReadAsArray(), pixels)
    with RangeServer(tmp_path) as server:
        assert_same(open_ours("/vsizip/" + server.vsi("a.zarr.zip")).ReadAsArray(), pixels)


@pytest.mark.parametrize("fault", [403, 500, 404])
def test_a_refused_shard_in_an_archive_behind_a_network_is_an_error(sparse, tmp_path, fault):
    path, _ = sparse
    os.rename(zipped(path), tmp_path / ("%d.zarr.zip" % fault))
    with RangeServer(tmp_path) as server:
        dataset = open_ours("/vsizip/" + server.vsi("%d.zarr.zip" % fault))
        server.faults["%d.zarr.zip" % fault] = fault
        gdal.VSICurlClearCache()
        with pytest.raises(RuntimeError):
            dataset.ReadAsArray(0, 0, 32, 32)
        with pytest.raises(RuntimeError):
            dataset.ReadAsArray(32, 32, 32, 32)  # absent, but who knows


# This driver alone: GDAL 3.13's own waits for the pipe.
OPEN = "import sys\nfrom osgeo import gdal\ngdal.UseExceptions()\ntry:\n    gdal.OpenEx(sys.argv[1], allowed_drivers=['ShardedZarr'])\nexcept RuntimeError:\n    print('no')\n"


@pytest.mark.parametrize("prefix", ["%s", 'SHARDEDZARR:"%s"'])
def test_a_pipe_in_place_of_metadata_does_not_hang(tmp_path, prefix):
    os.mkfifo(tmp_path / "zarr.json")
    done = subprocess.run([sys.executable, "-c", OPEN, prefix % tmp_path], capture_output=True, timeout=60, text=True)
    assert done.stdout == "no\n"


def test_a_pipe_in_place_of_a_shard_is_an_error(sparse):
    path, pixels = sparse
    os.mkfifo(path / "v/c/1/1")
    dataset = open_ours(str(path))
    assert_same(dataset.ReadAsArray(0, 0, 64, 32), pixels[:32])
    with pytest.raises(RuntimeError, match="pipe"):
        dataset.ReadAsArray(32, 32, 32, 32)


def test_temporary_files_of_a_killed_update_are_hidden_and_removed_by_the_next_writer(tmp_path):
    path = created(tmp_path / "a.zarr", np.ones((1, 512, 512), "uint16"), CHUNK_SHAPE=16, SHARD_SHAPE=512, ARRAY_NAME="v")
    left = os.path.join(path, ".shardedzarr-" + "0" * 32 + ".tmp")
    with open(left, "wb") as file:
        file.write(b"x")
    (tmp_path / "a.zarr" / "mine.tmp").write_bytes(b"x")
    dataset = open_ours(path)
    assert not any(TEMPORARY.search(name) for name in dataset.GetFileList())
    assert_same(dataset.ReadAsArray(), np.ones((512, 512), "uint16"))
    assert os.path.exists(left)  # reading removes nothing
    dataset = gdal.Open(path, gdal.GA_Update)
    dataset.GetRasterBand(1).WriteArray(np.full((1, 1), 5, "uint16"), 3, 3)
    dataset = None
    assert not os.path.exists(left)
    assert (tmp_path / "a.zarr" / "mine.tmp").exists()
    assert not any(TEMPORARY.search(name) for name in files_of(path))
