"""Writes random stores of chunks that are deep in a dimension, so large that a map of them is read in parts.

    python deep_random.py OUT FIRST_SEED COUNT zarr-python|zarrs|tensorstore

OUT/SEED.zarr is the store, OUT/SEED.npy its values. All write by the same zarr.json.
"""
import json
import os
import sys
import warnings

import numpy as np

from randoms import pick, random_values, save_stores

TYPES = ["uint8", "int16", "uint16", "int32", "uint32", "uint64", "float32", "float32", "float64", "complex64"]
DEPTH, SIDES = 40, [(150, 350), (300, 200)]


def blosc(rng, dtype):
    return {"name": "blosc", "configuration": {
        "cname": pick(rng, ["lz4", "lz4hc", "blosclz", "zstd", "zstd", "zlib"]), "clevel": int(rng.integers(0, 10)),
        "shuffle": pick(rng, ["noshuffle", "shuffle", "bitshuffle"]), "typesize": pick(rng, [dtype.itemsize, dtype.itemsize, 1]),
        "blocksize": pick(rng, [0, 0, 8192, 20000])}}


def inner_codecs(rng, dtype, ndim):
    codecs = [{"name": "bytes", "configuration": {"endian": pick(rng, ["little", "little", "big"])}}]
    if rng.random() < 0.3:
        codecs.insert(0, {"name": "transpose", "configuration": {"order": [int(i) for i in rng.permutation(ndim)]}})
    kind = pick(rng, ["none", "blosc", "blosc", "blosc", "zstd"])
    if kind == "zstd":
        codecs.append({"name": "zstd", "configuration": {"level": 1, "checksum": False}})
    elif kind == "blosc":
        codecs.append(blosc(rng, dtype))
    if rng.random() < 0.1:
        codecs.append({"name": "crc32c"})
    return codecs


def sharding(inner, codecs):
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    return [{"name": "sharding_indexed", "configuration": {"chunk_shape": inner, "codecs": codecs, "index_codecs": index,
                                                           "index_location": "end"}}]


def metadata_of(rng, dtype, shape):
    """zarr.json: sharded once or twice, or not at all; chunks of all the depth and an uneven part of the area."""
    elements = 2200000 // dtype.itemsize // DEPTH + 1
    side = int(np.ceil(np.sqrt(elements)))
    chunk = [DEPTH, min(side, shape[1]), int(np.ceil(elements / min(side, shape[1])))]
    codecs = inner_codecs(rng, dtype, len(shape))
    transposed = codecs[0]["name"] == "transpose"
    depth, grid = 0 if transposed else pick(rng, [0, 1, 1, 2]), chunk
    for _ in range(depth):
        codecs = sharding(grid, codecs)
        grid = [grid[0], grid[1] * 2, grid[2] * 2]
    return {"shape": shape, "data_type": dtype.name, "fill_value": [0, 0] if dtype.kind == "c" else 7, "node_type": "array", "zarr_format": 3,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs, "attributes": {}}


def write(path, metadata, values):
    if WRITER == "tensorstore":
        import tensorstore
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}, "metadata": metadata, "create": True}
        tensorstore.open(spec).result()[...].write(values).result()
        return
    import zarr
    if WRITER == "zarrs":
        import zarrs  # noqa: F401  registers the pipeline
        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    os.makedirs(path)
    with open(path + "/zarr.json", "w") as file:
        json.dump(metadata, file)
    zarr.open_array(path, mode="r+")[...] = values


def random_store(path, seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(TYPES[seed % len(TYPES)])
    shape = [DEPTH, *pick(rng, SIDES)]
    values = random_values(rng, dtype, tuple(shape))
    if rng.random() < 0.5:  # every other step is flat: some blocks are much smaller than others
        values[::2] = values[0, 0, 0]
    if rng.random() < 0.3:
        values[:, :, shape[2] // 2:] = 7  # chunks and shards that are not stored
    write(path, metadata_of(rng, dtype, shape), values)
    return values


WRITER = sys.argv[4]
warnings.simplefilter("ignore")
save_stores(*sys.argv[1:4], random_store)
