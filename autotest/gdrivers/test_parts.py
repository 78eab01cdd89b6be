"""Chunks that are read in parts (those of peers: test_peers.py): what is broken in a part, or too large for the whole."""
import numpy as np

import oracle
from stores import LITTLE, array_meta, blosc, sharding
from support import assert_same, error_of, in_process, need_codecs, open_ours

SHAPE, CHUNK = (48, 150, 210), (48, 112, 112)
CHAINS = {"plain": [sharding(CHUNK, LITTLE)], "unsharded": [LITTLE, blosc("zstd", "shuffle", 4)]}


def write_deep(path, chain):
    codecs = CHAINS[chain]
    values = (np.arange(np.prod(SHAPE), dtype="int64").reshape(SHAPE) * 7919 % 50021 / 8).astype("float32")
    meta = array_meta(SHAPE, "float32", CHUNK if chain == "unsharded" else (48, 224, 224), codecs)
    need_codecs(meta)
    oracle.write(path, meta, values)
    return values


def test_broken_blosc_block_is_an_error_only_for_windows_that_need_it(tmp_path):
    values = write_deep(tmp_path / "a.zarr", "unsharded")
    path = tmp_path / "a.zarr" / "c" / "0" / "0" / "0"
    data = bytearray(path.read_bytes())
    data[-40:] = bytes(40)
    path.write_bytes(data)
    dataset = open_ours("SHARDEDZARR:%s" % (tmp_path / "a.zarr"))
    assert_same(dataset.GetRasterBand(1).ReadAsArray(0, 0, 112, 112), values[0, :112, :112])
    assert "does not decode" in error_of(dataset.GetRasterBand(48).ReadAsArray, 0, 0, 112, 112)
    assert_same(dataset.GetRasterBand(48).ReadAsArray(112, 0, 98, 112), values[47, :112, 112:])


def test_a_map_of_a_chunk_beyond_the_limit_is_read_and_the_whole_is_refused(tmp_path):
    values = write_deep(tmp_path / "a.zarr", "plain")
    code = """
dataset = gdal.OpenEx("SHARDEDZARR:" + sys.argv[1], open_options=["MAX_CHUNK_SIZE=1"])
print(dataset.GetRasterBand(5).ReadAsArray().sum(dtype="float64"))
try:
    dataset.ReadAsArray(0, 0, 112, 112)
except RuntimeError as error:
    print("MAX_CHUNK_SIZE" in str(error))
"""
    assert in_process(code, tmp_path / "a.zarr") == ["%s" % values[4].sum(dtype="float64"), "True"]
