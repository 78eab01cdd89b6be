"""The oracle itself, against known bytes and against the stores that others wrote; none of it needs the driver."""
import glob
import os

import numpy as np
import pytest

import oracle
import stores
from support import fixture_path, run_peer

pytestmark = pytest.mark.no_driver


def test_crc32c_of_the_check_string():
    assert oracle.crc32c(b"123456789") == 0xE3069283


def test_shard_bytes_are_those_of_the_specification():
    meta = stores.array_meta([2], "uint8", [2], [stores.sharding([1], index=[stores.LITTLE])])
    shard = oracle.Encoder(meta).encode(np.array([7, 0], "uint8"))["c/0"]
    empty = b"\xff" * 16
    assert shard == b"\x07" + (0).to_bytes(8, "little") + (1).to_bytes(8, "little") + empty


@pytest.mark.parametrize("seed", range(34))
def test_random_stores_read_back(tmp_path, seed):
    meta, array, layout = stores.random_store(seed)
    _, again = oracle.read(oracle.write(tmp_path, meta, array, layout))
    assert again.dtype == array.dtype and again.tobytes() == array.tobytes()


@pytest.mark.parametrize("name, first, last", [
    ("simple_sharding", 0, 623), ("transposed_sharding", 0, 623), ("nested_sharding", 0, 49), ("sharded_3d", 0, 503),
    ("sharding_big_endian", 1, 4), ("sharding_fill_value", 1, 1), ("sharding_with_crc32_then_byte_byte_codec", 1, 4)])
def test_stores_of_gdal_read_as_expected(name, first, last):
    _, array = oracle.read(fixture_path("gdal", name + ".zarr"))
    assert (array.ravel()[0], array.ravel()[-1]) == (first, last)


def test_zarr_python_reads_what_the_oracle_writes(tmp_path):
    expected = {}
    for seed in range(60):
        meta, array, layout = stores.random_store(seed)
        text = str(meta)
        beyond_it = (any(word in text for word in ("'name': 'endian'", "transpose", "0x")) or meta["data_type"] == "r8" or
                     isinstance(meta["chunk_key_encoding"], str))
        if not beyond_it:
            expected[oracle.write(tmp_path / ("%d.zarr" % seed), meta, array, layout)] = array
    run_peer("zarr_python_read.py", tmp_path)
    assert len(expected) > 5 and len(glob.glob(str(tmp_path / "*.npy"))) == len(expected)
    for path, array in expected.items():
        assert np.load(path + ".npy").tobytes() == array.tobytes(), os.path.basename(path)
