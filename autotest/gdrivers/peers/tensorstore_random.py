"""Writes random sharded stores with tensorstore: the same command line and files as zarr_python_random.py.

    python tensorstore_random.py OUT FIRST_SEED COUNT
"""
import sys

import numpy as np
import tensorstore

from randoms import pick, random_values, save_stores

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "complex64", "complex128"]
FILLS = {"b": [True, False], "f": [0.0, -1.5, "NaN", "Infinity", "-Infinity"], "c": [[0.0, 0.0], [1.5, "-Infinity"], ["NaN", 2.0]]}


def random_codecs(rng, dtype, encoded_shape):
    codecs = [{"name": "bytes", "configuration": {"endian": pick(rng, ["little", "big"])}}]
    if len(encoded_shape) > 1 and rng.random() < 0.4:
        codecs.insert(0, {"name": "transpose", "configuration": {"order": [int(i) for i in rng.permutation(len(encoded_shape))]}})
    kind = pick(rng, ["none", "gzip", "zstd", "blosc", "blosc"])
    if kind == "gzip":
        codecs.append({"name": "gzip", "configuration": {"level": int(rng.integers(1, 10))}})
    elif kind == "zstd":
        codecs.append({"name": "zstd", "configuration": {"level": int(rng.integers(1, 10))}})
    elif kind == "blosc":
        codecs.append({"name": "blosc", "configuration": {
            "cname": pick(rng, ["lz4", "lz4hc", "blosclz", "zstd", "zlib"]), "clevel": int(rng.integers(0, 10)),
            "shuffle": pick(rng, ["noshuffle", "shuffle", "bitshuffle"]), "typesize": dtype.itemsize, "blocksize": 0}})
    if rng.random() < 0.2:
        codecs.append({"name": "crc32c"})
    return codecs


def random_sharding(rng, dtype, shape, depth):
    inner = [pick(rng, [d for d in range(1, s + 1) if s % d == 0]) for s in shape]
    index = [{"name": "bytes", "configuration": {"endian": pick(rng, ["little", "big"])}}, {"name": "crc32c"}]
    codecs = random_codecs(rng, dtype, inner) if depth == 0 else random_sharding(rng, dtype, inner, depth - 1)
    return [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner, "codecs": codecs, "index_codecs": index[:pick(rng, [1, 2, 2])],
        "index_location": pick(rng, ["start", "end"])}}]


def random_store(path, seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(TYPES[seed % len(TYPES)])
    ndim = pick(rng, [1, 2, 2, 3, 4])
    shape = [int(rng.integers(1, {1: 60, 2: 30, 3: 12, 4: 6}[ndim])) for _ in range(ndim)]
    shard = [int(rng.integers(1, s + 4)) for s in shape]
    limits = None if dtype.kind in "bfc" else np.iinfo(dtype)
    fill = pick(rng, FILLS.get(dtype.kind) or [0, 7, int(limits.min), int(limits.max)])
    separator = {"configuration": {"separator": pick(rng, ["/", "."])}}
    metadata = {"shape": shape, "data_type": dtype.name, "fill_value": fill, "node_type": "array", "zarr_format": 3,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
                "chunk_key_encoding": {"name": pick(rng, ["default", "v2"]), **separator},
                "codecs": random_sharding(rng, dtype, shard, pick(rng, [0, 0, 1]))}
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}, "metadata": metadata, "create": True, "delete_existing": True,
            "store_data_equal_to_fill_value": bool(rng.integers(2))}
    array = tensorstore.open(spec).result()
    expected, values = np.array(array.read().result()), random_values(rng, dtype, tuple(shape))
    begin = [int(rng.integers(0, s)) if rng.random() < 0.4 else 0 for s in shape]
    part = tuple(slice(b, int(rng.integers(b, s)) + 1) if rng.random() < 0.4 else slice(b, s) for b, s in zip(begin, shape))
    array[part].write(values[part]).result()
    expected[part] = values[part]
    return expected


if __name__ == "__main__":
    save_stores(*sys.argv[1:4], random_store)
