"""Stores that zarr-python, tensorstore and zarrs wrote.

Needs SHARDEDZARR_PEERS: a Python that has those libraries. The stores are random, and a seed always makes the same store. Where
SHARDEDZARR_STORES names a directory, they are kept in it and made only once: for a root file system without the libraries.
"""
import json
import os
import pathlib

import numpy as np
import pytest

from support import as_raster, assert_pixels, assert_same, open_ours, run_peer

PEERS = {  # {name: (script, further arguments, seeds)}
    "zarr-python": ("zarr_python_random.py", [], range(0, 150)),
    "zarrs": ("zarr_python_random.py", ["zarrs"], range(1000, 1050)),
    "tensorstore": ("tensorstore_random.py", [], range(0, 60)),
    "deep, zarr-python": ("deep_random.py", ["zarr-python"], range(0, 14)),
    "deep, zarrs": ("deep_random.py", ["zarrs"], range(100, 107)),
    "deep, tensorstore": ("deep_random.py", ["tensorstore"], range(200, 210)),
}
AT_ONCE = 10  # so many stores a script makes: where a few cases of each test run, most are not made


@pytest.fixture(scope="module")
def stores_of(tmp_path_factory):
    """A function that gives the directory of the stores of a peer, made at the first call."""
    made = {}

    def make(peer, seed):
        script, more, seeds = PEERS[peer]
        first = seed - (seed - seeds[0]) % AT_ONCE
        if (peer, first) not in made:
            kept = os.environ.get("SHARDEDZARR_STORES")
            folder = pathlib.Path(kept, "%s_%d" % (peer, first)) if kept else tmp_path_factory.mktemp(peer)
            if not (folder / "stores.json").exists():  # which is written last
                folder.mkdir(parents=True, exist_ok=True)
                run_peer(script, folder, first, min(AT_ONCE, seeds[-1] + 1 - first), *more)
            made[peer, first] = folder
        return made[peer, first]
    return make


def check_store(folder, seed):
    array = np.load(folder / ("%d.npy" % seed))
    meta = json.loads((folder / ("%d.zarr" % seed) / "zarr.json").read_text())
    assert_pixels(open_ours(str(folder / ("%d.zarr" % seed))), as_raster(array, meta["data_type"]), seed)


@pytest.mark.parametrize("peer, seed", [(peer, seed) for peer, (_, _, seeds) in PEERS.items() for seed in seeds if not peer.startswith("deep")])
def test_a_random_store_reads_equal_whole_and_by_windows(stores_of, peer, seed):
    check_store(stores_of(peer, seed), seed)


# ------------------------------------------------------------------------------------- chunks that are deep, read in parts

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


@pytest.mark.parametrize("peer, seed", [(peer, seed) for peer, (_, _, seeds) in PEERS.items() for seed in seeds if peer.startswith("deep")])
def test_parts_of_deep_chunks_read_as_written(stores_of, peer, seed):
    folder = stores_of(peer, seed)
    check_parts("SHARDEDZARR:%s/%d.zarr" % (folder, seed), np.load(folder / ("%d.npy" % seed)), seed)
