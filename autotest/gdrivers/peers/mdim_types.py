"""Writes with zarr-python one store of arrays of every rank from 0 to 6 and many types, sharded but for those of no dimension.

    python mdim_types.py OUT

OUT/ranks.zarr, consolidated, holds the arrays r<rank>_<type>; OUT/<array>.npy is what each reads as.
"""
import sys
import warnings

import numpy as np
import zarr

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (301,), (37, 53), (7, 22, 31), (5, 6, 9, 11), (3, 4, 5, 6, 7), (2, 3, 4, 5, 6, 7)]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    out = sys.argv[1]
    rng = np.random.default_rng(7)
    root = zarr.open_group(out + "/ranks.zarr", mode="w")
    for rank, shape in enumerate(SHAPES):
        for name in TYPES:
            values = (rng.normal(0, 50, shape) + (1j * rng.normal(0, 50, shape) if name.startswith("complex") else 0)).astype(name)
            inner = tuple(int(rng.integers(-(-s // 3), s + 1)) for s in shape)
            shards = tuple(i * int(rng.integers(1, 3)) for i in inner)
            array = root.create_array("r%d_%s" % (rank, name), shape=shape, dtype=name, chunks=inner, shards=shards or None)
            array[...] = values
            np.save("%s/r%d_%s.npy" % (out, rank, name), values)
    zarr.consolidate_metadata(root.store)
