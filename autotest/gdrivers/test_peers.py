"""Stores that zarr-python, tensorstore and zarrs wrote, and what zarr-python makes of ours.

Needs SHARDEDZARR_PEERS: a Python that has those libraries. The stores are random, and a seed always makes the same store. Where
SHARDEDZARR_STORES names a directory, they are kept in it and made only once: for a root file system without the libraries.
"""
import json
import os
import pathlib

import numpy as np
import pytest
from osgeo import gdal, gdal_array

from stores import random_values
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


def test_zarr_python_reads_what_create_copy_writes(tmp_path):
    expected, rng = {}, np.random.default_rng(11)
    for data_type in ("uint8", "int16", "uint16", "uint32", "int64", "float32", "float64", "complex64"):
        for compress in ("ZSTD", "BLOSC", "GZIP", "NONE"):
            array = random_values(rng, data_type, [(2, 40, 50), (33, 65)][len(expected) % 2])
            path = str(tmp_path / ("%s_%s.zarr" % (data_type, compress)))
            options = ["COMPRESS=" + compress, "CHUNK_SHAPE=16"]
            gdal.GetDriverByName("ShardedZarr").CreateCopy(path, gdal_array.OpenArray(array), options=options)
            expected[path] = array
    run_peer("zarr_python_read.py", tmp_path)
    for path, array in expected.items():
        read = np.load(path + ".npy")
        assert read.dtype == array.dtype and read.tobytes() == array.tobytes(), path
