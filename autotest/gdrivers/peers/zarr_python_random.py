"""Writes random sharded stores with zarr-python, each with what it must read as.

    python zarr_python_random.py OUT FIRST_SEED COUNT [zarrs]

OUT/SEED.zarr is the store, OUT/SEED.npy the values (datetime64 and timedelta64 as int64); stores.json lists the seeds with type and
shape. With `zarrs` the chunks are encoded by the zarrs codec pipeline instead of zarr-python's own.
The same seed makes the same store, so that a seed that once failed can be kept.
"""
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

from randoms import UNITS, pick, random_fill, random_parts, random_values, save_stores

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "complex64", "complex128", "datetime64", "timedelta64"]  # r8 is beyond its sharding codec


def random_bytes_codecs(rng, dtype):
    """What follows the array-to-bytes codec inside a shard."""
    codecs = []
    if rng.random() < 0.15:
        codecs.append(Crc32cCodec())
    kind = pick(rng, ["none", "gzip", "zstd", "zstd", "blosc", "blosc", "blosc"])
    if kind == "gzip":
        codecs.append(GzipCodec(level=int(rng.integers(0, 10))))
    elif kind == "zstd":
        codecs.append(ZstdCodec(level=int(rng.integers(-5, 8)), checksum=bool(rng.integers(2))))
    elif kind == "blosc":
        codecs.append(BloscCodec(cname=pick(rng, ["lz4", "lz4hc", "blosclz", "zstd", "zlib"]), clevel=int(rng.integers(0, 10)),
                                 shuffle=pick(rng, ["noshuffle", "shuffle", "bitshuffle"]), typesize=dtype.itemsize,
                                 blocksize=pick(rng, [0, 0, 256])))
    if rng.random() < 0.2:
        codecs.append(Crc32cCodec())
    return codecs


def random_sharding(rng, dtype, shape, depth, before=None):
    """A sharding codec for shards of `shape`: inner chunks of a divisor of each side, perhaps sharded themselves.

    `before` is the shape before a transpose: zarr-python refuses inner chunks that do not divide it, too, axis by axis.
    """
    inner = tuple(pick(rng, [d for d in range(1, s + 1) if s % d == 0 and b % d == 0]) for s, b in zip(shape, before or shape))
    codecs = []
    if len(shape) > 1 and rng.random() < 0.25:
        codecs.append(TransposeCodec(order=tuple(int(i) for i in rng.permutation(len(shape)))))
    if depth > 0:
        inside = tuple(inner[i] for i in codecs[0].order) if codecs else inner
        codecs += random_sharding(rng, dtype, inside, depth - 1, inner)
    else:
        codecs.append(BytesCodec(endian=pick(rng, ["little", "little", "big"])))
    if depth == 0 or rng.random() < 0.2:
        codecs += random_bytes_codecs(rng, dtype)
    index = [BytesCodec(endian=pick(rng, ["little", "little", "big"]))]
    if rng.random() < 0.75:
        index.append(Crc32cCodec())
    return [ShardingCodec(chunk_shape=inner, codecs=codecs, index_codecs=index, index_location=pick(rng, ["end", "end", "start"]))]


def random_store(path, seed):
    rng = np.random.default_rng(seed)
    name = TYPES[seed % len(TYPES)]
    dtype = np.dtype("%s[%s]" % (name, pick(rng, UNITS)) if name.endswith("delta64") or name.startswith("date") else name)
    ndim = pick(rng, [1, 2, 2, 2, 3, 3, 4, 5])
    longest = {1: 60, 2: 30, 3: 12, 4: 6, 5: 5}[ndim]
    shape = tuple(int(rng.integers(1, longest + 1)) for _ in range(ndim))
    shard = tuple(int(rng.integers(1, s + pick(rng, [1, 5]))) for s in shape)
    codecs, encoded = [], shard
    if ndim > 1 and rng.random() < 0.25:
        codecs.append(TransposeCodec(order=tuple(int(i) for i in rng.permutation(ndim))))
        encoded = tuple(shard[i] for i in codecs[0].order)
    codecs += random_sharding(rng, dtype, encoded, pick(rng, [0, 0, 0, 1, 2]), shard)
    outer = pick(rng, [[]] * 5 + [[Crc32cCodec()], [GzipCodec(level=1)]])
    fill = random_fill(rng, dtype)
    array = zarr.create(store=path, shape=shape, chunks=shard, dtype=dtype, codecs=codecs + outer, fill_value=fill, zarr_format=3,
                        chunk_key_encoding=(pick(rng, ["default", "v2"]), pick(rng, ["/", "."])),
                        dimension_names=pick(rng, [None, ["d%d" % i for i in range(ndim)]]), overwrite=True,
                        config={"write_empty_chunks": bool(rng.integers(2))})
    expected, values = np.full(shape, fill, dtype), random_values(rng, dtype, shape)
    for part in random_parts(rng, shape):
        array[part] = values[part]
        expected[part] = values[part]
    return expected.view("int64") if dtype.kind in "mM" else expected


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[4:] == ["zarrs"]:
        import zarrs  # noqa: F401  registers the pipeline
        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    save_stores(*sys.argv[1:4], random_store)
