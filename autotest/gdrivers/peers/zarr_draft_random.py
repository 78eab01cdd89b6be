"""Writes random stores of the 2022 draft of Zarr v3 with zarr-python 2, which wrote it: the same command line and files as zarr_python_random.py.

OUT/SEED.zarr holds one array, at any path.
"""
import os
import sys
import types
import warnings

import numcodecs
import numpy as np

os.environ.update(ZARR_V3_EXPERIMENTAL_API="1", ZARR_V3_SHARDING="1")
warnings.simplefilter("ignore")
import zarr  # noqa: E402

if not zarr.__version__.startswith("2."):
    raise ModuleNotFoundError("No module named 'zarr' of version 2")
# It asks its own tests for a transformer, and they for pytest.
sys.modules["zarr.tests.test_storage_v3"] = types.SimpleNamespace(DummyStorageTransfomer=types.SimpleNamespace(extension_uri=""))
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer  # noqa: E402

from randoms import pick, random_fill, random_parts, random_values, save_stores  # noqa: E402

TYPES = ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


def random_compressor(rng):
    level = int(rng.integers(1, 9))
    return pick(rng, [None, numcodecs.GZip(level), numcodecs.Zlib(level), numcodecs.BZ2(level), numcodecs.LZ4(level),
                      numcodecs.LZMA(preset=1),
                      numcodecs.Blosc(pick(rng, ["lz4", "lz4hc", "blosclz", "zstd", "zlib"]), level, pick(rng, [-1, 0, 1, 2]), pick(rng, [0, 256]))])


def random_store(path, seed):
    rng = np.random.default_rng(seed)
    name = TYPES[seed % len(TYPES)]
    dtype = np.dtype(pick(rng, "<>") + name)
    ndim = pick(rng, [0, 1, 2, 2, 2, 3, 3, 4])
    longest = {0: 0, 1: 60, 2: 30, 3: 12, 4: 6}[ndim]
    shape = tuple(int(rng.integers(1, longest + 1)) for _ in range(ndim))
    chunks = tuple(int(rng.integers(1, s + 3)) for s in shape)
    sharding = [ShardingStorageTransformer("indexed", tuple(int(rng.integers(1, 5)) for _ in shape))] if rng.random() < 0.75 else []
    fill = random_fill(rng, dtype.newbyteorder("="))
    fill = 0j if dtype.kind == "c" and np.isinf(fill) else fill  # which it reads as another
    array = zarr.create(shape, chunks=chunks, dtype=dtype, store=zarr.DirectoryStoreV3(path), path=pick(rng, [None, "a", "g/a", "g/h/a"]), zarr_version=3,
                        storage_transformers=sharding, fill_value=fill, order=pick(rng, "CF"), compressor=random_compressor(rng),
                        dimension_separator=pick(rng, "/."),
                        write_empty_chunks=bool(rng.integers(2)), overwrite=True)
    values = random_values(rng, dtype.newbyteorder("="), shape) if shape else np.array(1, dtype)
    for part in random_parts(rng, shape):
        array[part] = values[part]
    return np.asarray(array[...]).astype(dtype.newbyteorder("="))


if __name__ == "__main__":
    save_stores(*sys.argv[1:4], random_store)
