"""Writes random stores with codecs beyond the core specification, and what zarr-python reads from them.

    python zarr_python_filters.py OUT FIRST_SEED COUNT

OUT/SEED.zarr is the store, OUT/SEED.npy what zarr-python reads, which is not what was written where a codec loses digits; stores.json lists the
seeds with their chains. What zarr-python itself cannot write or read is left out. scale_offset and cast_value are there from zarr-python 3.4 on, with
cast-value-rs.
"""
import json
import math
import shutil
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as nc

try:
    import cast_value_rs  # noqa: F401
    from zarr.codecs import CastValue, ScaleOffset
except ImportError:
    CastValue = ScaleOffset = None

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
ROUNDINGS = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def code(dtype):
    """A type as numcodecs name it."""
    return np.dtype(dtype).str


def bytes_codecs(rng, itemsize):
    every = [lambda: nc.Zlib(level=int(rng.integers(0, 10))), lambda: nc.GZip(level=int(rng.integers(1, 10))), lambda: nc.BZ2(level=int(rng.integers(1, 10))),
             lambda: nc.LZMA(), lambda: nc.LZ4(acceleration=1), lambda: nc.Zstd(level=int(rng.integers(-3, 9))),
             lambda: nc.Blosc(cname=pick(rng, ["lz4", "zstd", "zlib", "blosclz", "lz4hc"]), clevel=int(rng.integers(0, 10)), shuffle=int(rng.integers(-1, 3))),
             lambda: nc.Shuffle(elementsize=itemsize), lambda: nc.CRC32(), lambda: nc.CRC32(location="end"), lambda: nc.CRC32C(),
             lambda: nc.Adler32(), lambda: nc.Adler32(location="end"), lambda: nc.Fletcher32(), nc.JenkinsLookup3(initval=int(rng.integers(0, 99))),
             lambda: Crc32cCodec(), lambda: GzipCodec(level=3), lambda: ZstdCodec(level=1), lambda: BloscCodec(cname="zstd", typesize=itemsize)]
    return [pick(rng, every)() for _ in range(int(rng.integers(0, 4)))]


def mapped(rng, source, target):
    """A scalar map with NaN, an ordinary value, and at times one that would do without."""
    floats = np.dtype(source).kind == "f"
    encode = [(7, 9)] + ([("NaN", 0), ("-Infinity", 1), ("Infinity", 2)] if floats else [])
    decode = [(0, "NaN"), (9, 7)] if floats else [(9, 7)]
    if floats and np.dtype(target).kind == "f":
        encode, decode = [("NaN", 0.5)], [(0.5, "NaN")]
    return {"encode": encode, "decode": decode} if rng.random() < 0.9 else {"encode": encode}


def cast(rng, source):
    target = pick(rng, [t for t in INTEGERS + FLOATS if t != source])
    more = {"scalar_map": mapped(rng, source, target)} if rng.random() < 0.5 else {}
    if rng.random() < 0.6:
        more["out_of_range"] = pick(rng, ["clamp", "wrap"] if np.dtype(target).kind in "iu" else ["clamp"])
    return CastValue(data_type=target, rounding=pick(rng, ROUNDINGS), **more), target


def filters(rng, source):
    """Array to array codecs, and the type of what they give."""
    floats, kind = source in FLOATS, rng.random()
    if source == "bool":
        return [nc.PackBits()], "uint8"
    if CastValue is not None and kind < 0.6:
        chain, target = [], source
        if rng.random() < 0.7:
            scale = pick(rng, [10.0, 10000.0, 0.1, 3.0]) if floats else pick(rng, [1, 2, 3])
            chain.append(ScaleOffset(offset=pick(rng, [0.0, -0.1, 100.0, 1.5]) if floats else int(rng.integers(0, 5)), scale=scale))
        if not chain or rng.random() < 0.8:
            codec, target = cast(rng, source)
            chain.append(codec)
        return chain, target
    if floats and kind < 0.7:
        digits = {"float16": 10, "float32": 23, "float64": 52}[source]
        return [nc.BitRound(keepbits=int(rng.integers(1, digits + 1)))], source
    if floats and kind < 0.8:
        target = pick(rng, [source, "float64"])
        return [nc.Quantize(digits=int(rng.integers(0, 4)), dtype=code(source), astype=code(target))], target
    if kind < 0.9 and source != "float16":
        target = pick(rng, [source, "int16", "uint8", "int32", "float64"] if floats else [source, "int64"])
        offset, scale = (pick(rng, [0, 1, 2.5, -3]), pick(rng, [1, 2, 10, 0.5])) if floats else (pick(rng, [0, 3]), pick(rng, [1, 2]))
        return [nc.FixedScaleOffset(offset=offset, scale=scale, dtype=code(source), astype=code(target))], target
    if rng.random() < 0.5:
        target = source if floats else pick(rng, [source, "int64", "int32"])
        return [nc.Delta(dtype=code(source), astype=code(target))], target
    target = pick(rng, FLOATS if floats else INTEGERS)
    return [nc.AsType(encode_dtype=code(target), decode_dtype=code(source))], target


def values_of(rng, dtype, shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    values = rng.integers(0, pick(rng, [3, 100, 100, 40000]), shape)
    if dtype in INTEGERS:
        return np.minimum(values, np.iinfo(dtype).max).astype(dtype)
    values = (values / pick(rng, [1, 2, 8, 1000]) - pick(rng, [0, 0, 10])).astype(dtype)
    if rng.random() < 0.6:
        values[rng.random(shape) < 0.1] = pick(rng, [np.nan, np.nan, np.inf, -np.inf, -0.0])
    return values


def random_store(path, seed):
    rng = np.random.default_rng(seed)
    source = pick(rng, ["bool"] + 2 * INTEGERS + 6 * FLOATS)
    ndim = pick(rng, [1, 2, 2, 3])
    shape = tuple(int(rng.integers(1, 30 // ndim)) for _ in range(ndim))
    inner = tuple(int(rng.integers(1, s + 1)) for s in shape)
    shard = tuple(i * int(rng.integers(1, 4)) for i in inner)
    chain, target = filters(rng, source)
    if rng.random() < 0.15 and ndim > 1:
        chain.insert(0, TransposeCodec(order=tuple(range(ndim))[::-1]))
        inner = tuple(math.gcd(i, *shard) for i in inner)
    # zarr-python 3.1 hands big-endian numbers to codecs that take them for little-endian ones.
    endians = ["little"] if any(type(codec).__module__.endswith("numcodecs._codecs") for codec in chain) else ["little", "big"]
    to_bytes = [BytesCodec(endian=pick(rng, endians))] + bytes_codecs(rng, np.dtype(target).itemsize)
    place = pick(rng, ["inside", "inside", "before", "plain"])
    index = [BytesCodec(), Crc32cCodec()]
    codecs = chain + to_bytes
    if place == "inside":
        codecs = [ShardingCodec(chunk_shape=inner, codecs=codecs, index_codecs=index)]
    elif place == "before":
        codecs = chain + [ShardingCodec(chunk_shape=inner, codecs=to_bytes, index_codecs=index)]
    if rng.random() < 0.1:
        codecs.append(pick(rng, [nc.CRC32, nc.LZ4, nc.Zlib])())
    fill = pick(rng, [0, 1] if source != "bool" else [True, False])
    if source in FLOATS:
        fill = pick(rng, [0.0, 7.0, float("nan"), float("nan")])
    array = zarr.create(store=path, shape=shape, chunks=shard, dtype=source, codecs=codecs, fill_value=fill, zarr_format=3, overwrite=True)
    part = tuple(slice(int(rng.integers(0, s)) if rng.random() < 0.5 else 0, s) for s in shape)
    array[part] = values_of(rng, source, shape)[part]
    return zarr.open_array(path, mode="r")[...]


def main(out, first, count):
    stores = {}
    for seed in range(int(first), int(first) + int(count)):
        path = "%s/%d.zarr" % (out, seed)
        try:
            array = np.asarray(random_store(path, seed))
        except BaseException as failure:  # a value without a place, what zarr-python does not do, or a panic of cast-value-rs
            shutil.rmtree(path, ignore_errors=True)
            if "--why" in sys.argv:
                print(seed, type(failure).__name__, str(failure)[:150])
            continue
        np.save("%s/%d.npy" % (out, seed), array)
        with open(path + "/zarr.json") as file:
            stores[seed] = json.load(file)["codecs"]
    with open("%s/stores.json" % out, "w") as file:
        json.dump(stores, file, indent=1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:4])
