"""Stores that zarr-python, tensorstore and zarrs wrote.

Needs SHARDEDZARR_PEERS: a Python that has those libraries. The stores are random, and a seed always makes the same store. Where
SHARDEDZARR_STORES names a directory, they are kept in it and made only once: for a root file system without the libraries.
"""
import json
import os
import pathlib

import numpy as np
import pytest

from support import as_raster, assert_pixels, open_ours, run_peer

PEERS = {  # {name: (script, further arguments, seeds)}
    "zarr-python": ("zarr_python_random.py", [], range(0, 150)),
    "zarrs": ("zarr_python_random.py", ["zarrs"], range(1000, 1050)),
    "tensorstore": ("tensorstore_random.py", [], range(0, 60)),
}


@pytest.fixture(scope="module")
def stores_of(tmp_path_factory):
    """A function that gives the directory of the stores of a peer, made at the first call."""
    made = {}

    def make(peer):
        if peer not in made:
            script, more, seeds = PEERS[peer]
            kept = os.environ.get("SHARDEDZARR_STORES")
            folder = pathlib.Path(kept, peer) if kept else tmp_path_factory.mktemp(peer)
            if not (folder / "stores.json").exists():  # which is written last
                folder.mkdir(parents=True, exist_ok=True)
                run_peer(script, folder, seeds[0], len(seeds), *more)
            made[peer] = folder
        return made[peer]
    return make


def check_store(folder, seed):
    array = np.load(folder / ("%d.npy" % seed))
    meta = json.loads((folder / ("%d.zarr" % seed) / "zarr.json").read_text())
    assert_pixels(open_ours(str(folder / ("%d.zarr" % seed))), as_raster(array, meta["data_type"]), seed)


@pytest.mark.parametrize("peer, seed", [(peer, seed) for peer, (_, _, seeds) in PEERS.items() for seed in seeds])
def test_a_random_store_reads_equal_whole_and_by_windows(stores_of, peer, seed):
    check_store(stores_of(peer), seed)
