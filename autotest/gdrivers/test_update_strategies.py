"""The open option UPDATE: shards appended to, or overwritten in place. Everyone reads the same pixels, no writer loses another's, and a kill costs
what the manual says."""
import os
import random
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
import test_update
from stores import BIG, CRC32C, GZIP, array_meta, random_store, random_values, sharding
from support import ask_peer, as_raster, assert_same, killed, name_of, need_codecs, open_array, raster_dtype, random_window, read_all
from writing import created, document, files_of, only_array

WAYS = ["REWRITE", "APPEND", "IN_PLACE"]
VALIDATE = os.path.join(os.environ["GDAL_DRIVER_PATH"], "..", "shardedzarr-validate")


def update(path, way, array=None, fsync="NO"):
    return gdal.OpenEx(name_of(path, array), gdal.OF_RASTER | gdal.OF_UPDATE, open_options=["UPDATE=" + way, "FSYNC=" + fsync])


def journals(path):
    return [name for name in files_of(path) if name.endswith(".journal")]


def check_valid(path):
    done = subprocess.run([VALIDATE, "--quiet", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


# --------------------------------------------------------------------------------------------------------------- pixels

STORES = {
    **test_update.STORES,
    "checksums": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG, CRC32C)]),
    "compressed": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG, GZIP)]),
    "nested, not compressed": array_meta((40, 50), shard=[32, 32], codecs=[sharding((16, 16), sharding((8, 4), BIG, CRC32C))]),
    "not compressed": array_meta((40, 50), shard=[16, 32], codecs=[BIG]),
}


def change_windows(path, bands, rng, ways, data_type):
    """Random windows in several sessions; `bands` is changed alike."""
    for way in ways:
        dataset = update(path, way)
        for _ in range(3):
            band, (x, y, w, h) = int(rng.integers(len(bands))), random_window(rng, bands.shape[2], bands.shape[1])
            part = as_raster(random_values(rng, data_type, (h, w)), data_type)[0]
            dataset.GetRasterBand(band + 1).WriteArray(part, x, y)
            bands[band, y:y + h, x:x + w] = part
            if rng.random() < 0.5:
                dataset.FlushCache()
        assert_same(read_all(dataset), bands)
        dataset = None
        assert_same(as_raster(oracle.read(path)[1], data_type), bands)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("ways", [["REWRITE"] * 3, ["APPEND"] * 6, ["IN_PLACE"] * 4, WAYS * 3])
def test_a_store_of_any_codecs_is_changed_by_windows(tmp_path, kind, ways):
    meta, rng = STORES[kind], np.random.default_rng(len(ways))
    array = random_values(rng, "uint16", meta["shape"])
    array[..., 16:32, :30] = meta["fill_value"]
    path = oracle.write(tmp_path / "a.zarr", meta, array, oracle.Layout(order="random", gap=3, share=True, seed=5))
    change_windows(path, array.reshape((-1,) + array.shape[-2:]), rng, ways, "uint16")
    assert document(path) == meta and not journals(path)
    check_valid(path)


@pytest.mark.parametrize("seed", [*range(60), *range(200, 230)])
def test_a_random_store_is_changed_by_windows(tmp_path, seed):
    meta, array, layout = random_store(seed)
    need_codecs(meta)
    if raster_dtype(meta["data_type"]) != oracle.dtype_of(meta["data_type"]):
        pytest.skip("this GDAL has no such type")
    path, rng = oracle.write(tmp_path / "a.zarr", meta, array, layout), np.random.default_rng(seed)
    bands = as_raster(array, meta["data_type"]).copy()
    change_windows(path, bands, rng, [WAYS[i] for i in rng.integers(0, 3, 4)], meta["data_type"])
    assert_same(read_all(open_array(path)), bands)


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """(directory, [(store, array)], [pixels])"""
    folder, stores, expected = tmp_path_factory.mktemp("ways"), [], []
    for way in ("APPEND", "IN_PLACE"):
        for number, more in enumerate([{}, {"COMPRESS": "NONE"}, {"COMPRESS": "NONE", "CHUNK_CHECKSUM": "YES", "INDEX_LOCATION": "START"}]):
            rng, store = np.random.default_rng(number), "%s_%d.zarr" % (way, number)
            bands = rng.integers(1, 999, (4, 60, 70)).astype("uint16")
            created(folder / store, bands, CHUNK_SHAPE="1,16,16", SHARD_SHAPE="4,32,32", ARRAY_NAME="v", **more)
            for _ in range(5):
                dataset = update(str(folder / store), way)
                x, y, w, h = random_window(rng, 70, 60)
                bands[2, y:y + h, x:x + w] = rng.integers(1, 999, (h, w))
                dataset.GetRasterBand(3).WriteArray(bands[2, y:y + h, x:x + w], x, y)
                dataset = None
            stores.append((store, "v"))
            expected.append(bands)
    return folder, stores, expected


@pytest.mark.parametrize("peer", ["zarr", "zarrs", "tensorstore"])
def test_other_libraries_read_updated_stores(changed, peer):
    folder, stores, expected = changed
    for store, answer, bands in zip(stores, ask_peer(peer, folder, stores), expected):
        assert "error" not in answer, (store, answer)
        assert_same(answer["values"][0], bands, store)


# ---------------------------------------------------------------------------------------------------------- what it costs

def series(path, **options):
    """A store for 48 maps of 64 x 64 in one shard, of which the first is there."""
    array = np.zeros((48, 64, 64), "uint16")
    array[0] = 1
    return created(path, array, CHUNK_SHAPE="1,32,32", SHARD_SHAPE="48,64,64", ARRAY_NAME="v", COMPRESS="NONE", OVERVIEWS="NONE", **options), array


@pytest.mark.parametrize("where", ["END", "START"])
def test_a_series_that_grows_is_appended_to(tmp_path, where):
    path, array = series(tmp_path / "a.zarr", INDEX_LOCATION=where)
    shard, index = os.path.join(path, "v", "c", "0", "0", "0"), 16 * 48 * 4 + 4
    inode, size = os.stat(shard).st_ino, os.stat(shard).st_size
    for step in range(1, 20):
        array[step] = np.random.default_rng(step).integers(1, 999, (64, 64))
        dataset = update(path, "APPEND", fsync="YES")
        dataset.GetRasterBand(step + 1).WriteArray(array[step])
        dataset = None
        grown = os.stat(shard).st_size - size
        size += grown
        # its chunks and, at the end, an index; now and then what was there without the old indexes
        assert os.stat(shard).st_ino != inode or grown == 64 * 64 * 2 + (index if where == "END" else 0)
        inode = os.stat(shard).st_ino
        assert size <= 2 * ((step + 1) * 64 * 64 * 2 + index)
    assert_same(only_array(path)[2], array)
    assert not journals(path)
    check_valid(path)


# ------------------------------------------------------------------------------------------------------- many, and killed

GROWING = """
import sys
import numpy as np
from osgeo import gdal
gdal.UseExceptions()
path, way, fsync = sys.argv[1:]
print("ready", flush=True)
for turn in range(100000):
    d = gdal.OpenEx(path, gdal.OF_RASTER | gdal.OF_UPDATE, open_options=["UPDATE=" + way, "FSYNC=" + fsync])
    for number in (turn % 16, (turn + 5) % 16):
        b = d.GetRasterBand(number + 1)
        b.WriteArray(np.full((64, 64), b.ReadAsArray(0, 0, 1, 1)[0, 0] + 16, "uint16"))
    d = None
"""


def chunks_in(bands):
    """Those of 32 x 32 in 16 maps of 64 x 64, flat."""
    return bands.reshape(16, 2, 32, 2, 32).swapaxes(2, 3).reshape(64, 1024)


@pytest.mark.parametrize("way, where", [("APPEND", "END"), ("APPEND", "START"), ("IN_PLACE", "END")])
def test_after_a_kill_every_chunk_is_old_or_new_and_the_next_writer_goes_on(tmp_path, way, where):
    array, moments = np.stack([np.full((64, 64), 1 + number, "uint16") for number in range(16)]), random.Random(4)
    path = created(tmp_path / "a.zarr", array, CHUNK_SHAPE="1,32,32", SHARD_SHAPE="16,64,64", ARRAY_NAME="v", COMPRESS="NONE", CHUNK_CHECKSUM="YES",
                   OVERVIEWS="NONE", INDEX_LOCATION=where)
    before = array
    for turn in range(5):
        killed(moments.uniform(0, 0.12), GROWING, path, way, ["NO", "YES"][turn % 2])
        try:
            found = read_all(open_array(path, "v"))
        except RuntimeError as error:  # a chunk over two pages of the disk's cache was cut in two, which its checksum tells
            torn = int(re.search(r"inner chunk \[(\d+),.*crc32c checksum", str(error)).group(1))
            dataset = update(path, way)
            assert way == "IN_PLACE" and dataset.GetRasterBand(torn + 1).WriteArray(before[torn]) == gdal.CE_None
            dataset = None
            found = read_all(open_array(path, "v"))
        for chunk, old in zip(chunks_in(found), chunks_in(before)):
            assert chunk.min() == chunk.max() >= old[0] and (chunk[0] - old[0]) % 16 == 0
        before = found
    # Another map: whatever was left is out of the way.
    dataset = update(path, way, fsync="YES")
    before[3] = 60000
    dataset.GetRasterBand(4).WriteArray(before[3])
    dataset = None
    assert_same(only_array(path)[2], before)
    assert not journals(path)
    check_valid(path)


def test_an_appending_that_was_cut_off_is_read_as_before_until_the_next_writer(tmp_path, server):
    path, array = series(tmp_path / "a.zarr")
    shard = os.path.join(path, "v", "c", "0", "0", "0")
    stopped = subprocess.run([sys.executable, "-c", """
import os, resource, signal, sys
import numpy as np
from osgeo import gdal
gdal.UseExceptions()
d = gdal.OpenEx(sys.argv[1], gdal.OF_RASTER | gdal.OF_UPDATE, open_options=["UPDATE=APPEND"])
d.GetRasterBand(2).WriteArray(np.full((64, 64), 2, "uint16"))
most = os.stat(sys.argv[2]).st_size + 9000  # the chunks, but no index
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
d.FlushCache()
""", path, shard])
    assert stopped.returncode == -signal.SIGXFSZ and len(journals(path)) == 1
    with pytest.raises(oracle.OracleError):
        oracle.read(os.path.join(path, "v"))  # others: an error
    assert_same(read_all(open_array(path, "v")), array)
    assert_same(read_all(open_array(server.vsi("a.zarr"), "v")), array)  # where the shard comes in one request
    done = subprocess.run([VALIDATE, path], capture_output=True, text=True)
    assert done.returncode == 1 and "checksum" in done.stdout and "journal" in done.stdout
    dataset = update(path, "APPEND")
    array[4] = 7
    dataset.GetRasterBand(5).WriteArray(array[4])
    dataset = None
    assert_same(only_array(path)[2], array)
    assert not journals(path)
    check_valid(path)
