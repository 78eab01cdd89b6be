"""Writes random stores of chunks deep in a dimension behind codecs that change each element, and what zarr-python reads of them.

    python zarr_python_deep_filters.py OUT FIRST_SEED COUNT

OUT/SEED.zarr is the store, OUT/SEED.npy its values. Needs zarr-python 3.4 with cast-value-rs.
"""
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, CastValue, ScaleOffset, ShardingCodec, TransposeCodec
from zarr.codecs import numcodecs as nc

from randoms import pick, save_stores


def filters(rng):
    """(codecs, data type of the array, of what is stored)"""
    target = pick(rng, ["uint8", "int16", "uint16", "int32", "float32"])
    source = pick(rng, ["float32", "float64"])
    cast = CastValue(data_type=target, out_of_range=None if target == "float32" else "clamp",
                     **({} if target == "float32" else {"scalar_map": {"encode": [("NaN", 0)], "decode": [(0, "NaN")]}}))
    scale = ScaleOffset(offset=pick(rng, [0.0, -0.1, 5.0]), scale=pick(rng, [1.0, 10.0, 0.5]))
    if source == target:
        return [scale], source, source
    if rng.random() < 0.15:
        return [nc.BitRound(keepbits=7)], source, source
    return ([scale, cast] if rng.random() < 0.7 else [cast]), source, target


def random_store(path, seed):
    rng = np.random.default_rng(seed)
    chain, source, target = filters(rng)
    shape = (40, int(rng.integers(150, 300)), int(rng.integers(150, 300)))
    inner = (40, pick(rng, [100, 128]), pick(rng, [96, 150]))
    if rng.random() < 0.3:
        chain = [TransposeCodec(order=tuple(int(i) for i in rng.permutation(3)))] + chain
    itemsize = np.dtype(target).itemsize
    last = [BytesCodec(endian=pick(rng, ["little", "little", "big"]))]
    if rng.random() < 0.8:
        last.append(BloscCodec(cname=pick(rng, ["lz4", "zstd", "blosclz"]), clevel=int(rng.integers(0, 8)), typesize=itemsize,
                               shuffle=pick(rng, ["noshuffle", "shuffle", "bitshuffle"]), blocksize=pick(rng, [0, 0, 8192, 20001])))
    transposed = type(chain[0]) is TransposeCodec
    codecs, chunks = chain + last, inner
    if not transposed and rng.random() < 0.8:
        chunks = (40, 2 * inner[1], 2 * inner[2])
        codecs = [ShardingCodec(chunk_shape=inner, codecs=chain + last)]
    array = zarr.create(store=path, shape=shape, chunks=chunks, dtype=source, codecs=codecs, fill_value=float("nan"), zarr_format=3)
    values = (np.add.outer(np.arange(40), np.add.outer(np.arange(shape[1]), np.arange(shape[2]))) % 90 + rng.integers(0, 9, shape)).astype(source)
    values[rng.random(shape) < 0.02] = np.nan
    array[...] = values
    return zarr.open_array(path, mode="r")[...]


warnings.simplefilter("ignore")
save_stores(*sys.argv[1:4], random_store)
