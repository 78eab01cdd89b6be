"""What the tests build stores from: pieces of zarr.json, values, and whole random stores made from a seed."""
import numpy as np

import oracle

ALL_TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
             "complex64", "complex128", "r8",
             {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}},
             {"name": "numpy.timedelta64", "configuration": {"unit": "ms", "scale_factor": 10}}]

PROJ = "f17cb550-5864-4468-aeb7-f3180cfb622f"
SPATIAL = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
MULTISCALES = "d35379db-88df-4056-af3a-620245f8e347"


def type_name(data_type):
    return data_type["name"] if isinstance(data_type, dict) else data_type


def codec(name, **configuration):
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE, BIG, CRC32C = codec("bytes", endian="little"), codec("bytes", endian="big"), codec("crc32c")
GZIP, ZSTD = codec("gzip", level=1), codec("zstd", level=1, checksum=False)


def blosc(cname="lz4", shuffle="shuffle", typesize=2, clevel=5):
    return codec("blosc", cname=cname, clevel=clevel, shuffle=shuffle, typesize=typesize, blocksize=0)


def transpose(*order):
    return codec("transpose", order=list(order))


def sharding(chunk, *codecs, index=(LITTLE, CRC32C), location="end"):
    """sharding_indexed with inner chunks of shape `chunk`; `codecs` are those of the chunks, by default plain little-endian bytes."""
    return codec("sharding_indexed", chunk_shape=list(chunk), codecs=list(codecs) or [LITTLE], index_codecs=list(index),
                 index_location=location)


def default_fill(data_type):
    dtype = oracle.dtype_of(data_type)
    return {"b": False, "f": 0.0, "c": [0.0, 0.0]}.get(dtype.kind, [0] if data_type == "r8" else 0)


def array_meta(shape, data_type="uint16", shard=None, codecs=None, **members):
    """zarr.json of an array. `codecs` defaults to a shard of plain chunks of half its size; `members` replace or add members."""
    shard = list(shard or [s + s % 2 for s in shape])
    codecs = codecs or [sharding([s // 2 if s % 2 == 0 else s for s in shard])]
    meta = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": default_fill(data_type), "codecs": codecs}
    meta.update(members)
    return meta


def plain_meta(shape, data_type="float64", **members):
    """zarr.json of an unsharded array in one chunk, as coordinates are stored."""
    return array_meta(shape, data_type, shape, [LITTLE], **members)


def group_meta(attributes=None, **members):
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}, **members}


def convention(uuid, name=None):
    return {"uuid": uuid, **({"name": name} if name else {})}


def spatial_proj(transform=None, code=None, **more):
    """Attributes of the spatial: and proj: conventions, registered by UUID alone."""
    attributes = {"zarr_conventions": [convention(SPATIAL), convention(PROJ)], **more}
    if transform:
        attributes["spatial:transform"] = list(transform)
        attributes.setdefault("spatial:dimensions", ["y", "x"])
    if code:
        attributes["proj:code"] = code
    return attributes


def write_coordinate(path, name, values, attributes=None, data_type="float64"):
    """A 1-D coordinate array beside the arrays that use it."""
    values = np.asarray(values)
    oracle.write("%s/%s" % (path, name), plain_meta(values.shape, data_type, dimension_names=[name], attributes=attributes or {}), values)


def counting(shape, data_type="uint16"):
    """0, 1, 2, ... in C order, so that a pixel out of place shows where it came from."""
    return np.arange(np.prod(shape), dtype="int64").reshape(shape).astype(oracle.dtype_of(data_type))


def random_values(rng, data_type, shape):
    """Any bits that the type can have; for floats NaNs with payloads and infinities among ordinary numbers."""
    dtype = oracle.dtype_of(data_type)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    bits = rng.integers(0, 256, int(np.prod(shape)) * dtype.itemsize, "uint8").view(dtype).reshape(shape)
    if dtype.kind in "iu":
        return bits
    values = (rng.normal(0, 100, shape) + (1j * rng.normal(0, 100, shape) if dtype.kind == "c" else 0)).astype(dtype)
    with np.errstate(all="ignore"):
        return np.where(rng.random(shape) < 0.1, bits, values)


def random_fill(rng, data_type):
    """A fill value as JSON, with the special ones of the type."""
    dtype = oracle.dtype_of(data_type)
    if data_type == "r8":
        return [[int(rng.integers(256))], "Kg=="][rng.integers(2)]
    if dtype.kind == "b":
        return bool(rng.integers(2))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        choices = [0, 1, int(limits.min), int(limits.max), int(limits.max) - 1]
        return (choices + ["NaT"] * 2 if isinstance(data_type, dict) else choices)[rng.integers(5 + 2 * isinstance(data_type, dict))]
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    reals = [0.0, -2.5, "NaN", "Infinity", "-Infinity", {2: "0x7e01", 4: "0x7fc00001", 8: "0x7ff8000000000001"}[size]]
    if dtype.kind == "c":
        return [reals[rng.integers(6)], reals[rng.integers(6)]]
    return reals[rng.integers(6)]


def _divisor(rng, size):
    return int(rng.choice([d for d in range(1, size + 1) if size % d == 0]))


def _random_compression(rng, dtype):
    choices = [[], [GZIP], [CRC32C]]
    if oracle.available("zstd"):
        choices += [[ZSTD], [codec("zstd", level=-3, checksum=True)]]
    if oracle.available("blosc"):
        cname = rng.choice([c for c in ("lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy") if oracle.available("blosc:" + c)])
        choices += [[blosc(str(cname), str(rng.choice(["noshuffle", "shuffle", "bitshuffle"])), dtype.itemsize, int(rng.integers(10)))]] * 3
    chosen = choices[rng.integers(len(choices))]
    return chosen + ([CRC32C] if rng.random() < 0.2 else [])


def random_chain(rng, dtype, shape, depth, sharded=True):
    """A codec chain for chunks of `shape`, `depth` more shards deep inside the first."""
    codecs = []
    if len(shape) > 1 and rng.random() < 0.3:
        order = [int(i) for i in rng.permutation(len(shape))]
        codecs, shape = [transpose(*order)], [shape[i] for i in order]
    if sharded:
        inner = [_divisor(rng, s) for s in shape]
        index = [codec("bytes", endian=str(rng.choice(["little", "big"])))] + [CRC32C] * int(rng.random() < 0.75)
        codecs.append(sharding(inner, *random_chain(rng, dtype, inner, depth - 1, depth > 0), index=index,
                               location=str(rng.choice(["end", "start"]))))
        after = rng.random()
        return codecs + ([CRC32C] if after < 0.1 else [GZIP] if after < 0.2 else [])
    name = str(rng.choice(["bytes", "bytes", "endian"]))
    return codecs + [codec(name, endian=str(rng.choice(["little", "big"])))] + _random_compression(rng, dtype)


def random_store(seed):
    """(zarr.json, values, layout): the same for the same seed. Every seventeenth seed has the same data type."""
    rng = np.random.default_rng(seed)
    data_type = ALL_TYPES[seed % len(ALL_TYPES)]
    ndim = int(rng.choice([1, 2, 2, 2, 3, 3, 4, 5]))
    shape = [int(rng.integers(1, {1: 50, 2: 26, 3: 10, 4: 6, 5: 4}[ndim])) for _ in range(ndim)]
    shard = [int(rng.integers(1, s + 4)) for s in shape]
    name = str(rng.choice(["default", "v2"]))
    key = [name, codec(name), codec(name, separator="."), codec(name, separator="/")][rng.integers(4)]
    meta = array_meta(shape, data_type, shard, random_chain(rng, oracle.dtype_of(data_type), shard, int(rng.choice([0, 0, 1, 2]))),
                      fill_value=random_fill(rng, data_type), chunk_key_encoding=key)
    values = np.full(shape, oracle.fill_of(meta))
    corner = tuple(slice(int(rng.integers(0, s)), None) if rng.random() < 0.4 else slice(None) for s in shape)
    values[corner] = random_values(rng, data_type, values[corner].shape)
    layout = oracle.Layout(order=str(rng.choice(["c", "reversed", "random"])), gap=int(rng.choice([0, 0, 5])), seed=seed,
                           leave_out_chunks=bool(rng.integers(2)), leave_out_shards=bool(rng.integers(2)),
                           beyond=str(rng.choice(["fill", "garbage"])), share=bool(rng.integers(2)),
                           gzip_members=int(rng.integers(1, 3)), zstd_content_size=bool(rng.integers(2)))
    return meta, values, layout
