"""The oracle itself, against zarr-python; it does not need the driver."""
import glob
import os

import numpy as np
import pytest

import oracle
import stores
from support import run_peer

pytestmark = pytest.mark.no_driver


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
