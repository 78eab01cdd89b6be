"""Maps, windows and series of chunks that are deep in time, which are read in parts: equal to what was written, whoever wrote it; and
what is broken in a part, or too large for the whole."""
import numpy as np
import pytest

import oracle
from stores import LITTLE, array_meta, blosc, sharding
from support import assert_same, error_of, in_process, need_codecs, open_ours, run_peer

SEEDS = {"zarr-python": range(0, 14), "zarrs": range(100, 107), "tensorstore": range(200, 210)}


@pytest.fixture(scope="module")
def stores_of(tmp_path_factory):
    made = {}

    def make(writer):
        if writer not in made:
            folder = tmp_path_factory.mktemp(writer)
            run_peer("deep_random.py", folder, SEEDS[writer][0], len(SEEDS[writer]), writer)
            made[writer] = folder
        return made[writer]
    return make


def check_parts(name, expected, seed, rounds=12):
    """Random maps, windows of a map, boxes through all steps, and blocks, from one dataset, in which pieces of others are cached."""
    rng = np.random.default_rng(seed)
    dataset = open_ours(name)
    depth, height, width = expected.shape
    for _ in range(rounds):
        z, y, x = (int(rng.integers(0, n)) for n in expected.shape)
        h, w = int(rng.integers(1, min(20, height - y) + 1)), int(rng.integers(1, min(20, width - x) + 1))
        band = dataset.GetRasterBand(z + 1)
        assert_same(band.ReadAsArray(), expected[z], (seed, "map", z))
        assert_same(band.ReadAsArray(x, y, w, h), expected[z, y:y + h, x:x + w], (seed, "window", z, y, x))
        assert_same(dataset.ReadAsArray(x, y, 1, 1)[:, 0, 0], expected[:, y, x], (seed, "series", y, x))
        assert_same(dataset.ReadAsArray(x, y, min(3, w), min(3, h)), expected[:, y:y + min(3, h), x:x + min(3, w)], (seed, "box", y, x))
    again = open_ours(name)
    block_width, block_height = again.GetRasterBand(1).GetBlockSize()
    z = int(rng.integers(0, depth))
    for y in range(0, height, block_height):
        for x in range(0, width, block_width):
            part = expected[z, y:y + block_height, x:x + block_width]
            read = again.GetRasterBand(z + 1).ReadBlock(x // block_width, y // block_height)
            found = np.frombuffer(read, expected.dtype).reshape(block_height, block_width)[:part.shape[0], :part.shape[1]]
            assert_same(found, part, (seed, "block", z, y, x))


@pytest.mark.parametrize("writer, seed", [(writer, seed) for writer, seeds in SEEDS.items() for seed in seeds])
def test_parts_of_deep_chunks_read_as_written(stores_of, writer, seed):
    folder = stores_of(writer)
    expected = np.load(folder / ("%d.npy" % seed))
    check_parts("SHARDEDZARR:%s/%d.zarr" % (folder, seed), expected, seed)


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
