"""Writes random stores with the chunk grid rectilinear, plain and sharded, and their values.

    python zarr_python_grids.py OUT FIRST_SEED COUNT

OUT/SEED.zarr is the store, OUT/SEED.npy its values. Needs zarr-python 3.2, which has the grid behind an option.
"""
import sys

import numpy as np

try:
    import zarr
    from zarr.core.metadata.v3 import RectilinearChunkGridMetadata  # noqa: F401
except ImportError as error:
    raise ModuleNotFoundError("No module named 'zarr 3.2'") from error

zarr.config.set({"array.rectilinear_chunks": True})


def edges(rng, size, unit):
    """Lengths that cover `size`: all alike, or each of its own, at times with some beyond."""
    out = []
    while sum(out) < size:
        out += [int(rng.integers(2, 7)) * unit] * int(rng.integers(1, 3))
    return [max(out)] * len(out) if rng.random() < 0.2 else out


def write(path, rng):
    shape = [int(rng.integers(1, 13)) for _ in range(int(rng.choice([2, 2, 3])))]
    dtype = str(rng.choice(["uint8", "int16", "uint32", "float32", "float64"]))
    sharded = rng.random() < 0.6
    chunk = [int(rng.integers(1, 5)) for _ in shape]
    grid = [edges(rng, s, c if sharded else 1) for s, c in zip(shape, chunk)]
    fill = int(rng.integers(0, 3))
    whole = [sum(lengths) for lengths in grid]
    array = zarr.create_array(str(path), shape=whole, dtype=dtype, fill_value=fill, zarr_format=3,
                              chunks=chunk if sharded else grid, **({"shards": grid} if sharded else {}))
    values = np.full(whole, fill, dtype)
    corner = tuple(slice(int(rng.integers(0, s)), None) if rng.random() < 0.4 else slice(None) for s in whole)
    values[corner] = rng.integers(0, 100, values[corner].shape)
    array[...] = values
    if rng.random() < 0.7:  # the lengths stay as they are
        array.resize(shape)
    return values[tuple(slice(0, s) for s in array.shape)]


out, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for seed in range(first, first + count):
    np.save("%s/%d.npy" % (out, seed), write("%s/%d.zarr" % (out, seed), np.random.default_rng(seed)))
