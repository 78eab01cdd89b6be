"""The codecs zfp and numcodecs.zfpy, by zfpy, which brings a libzfp of its own: the second through zarr-python and numcodecs; the first, which
zarr-python does not know and zarrs' wheel does not have, from its specification here.

    python zarr_python_zfp.py DIR: DIR/0.zarr, ... with what zarr-python reads of them in DIR/0.npy, ...
"""
import importlib.metadata
import os
import sys
import warnings
from dataclasses import dataclass

import numpy as np

# autotest/peers.sh puts it beside the others. "1.0.1.post0" is no number for numcodecs.
sys.path.append(os.path.join(os.path.dirname(sys.prefix), "zfpy"))
version = importlib.metadata.version
importlib.metadata.version = lambda name: version(name).split(".post")[0]

import zarr
import zfpy
from numcodecs.zfpy import ZFPY as _  # noqa: F401  registers it
from zarr.abc.codec import ArrayBytesCodec
from zarr.codecs import Crc32cCodec, GzipCodec, TransposeCodec
from zarr.codecs.numcodecs import ZFPY
from zarr.registry import register_codec

PARAMETERS = {"reversible": None, "fixed_accuracy": "tolerance", "fixed_rate": "rate", "fixed_precision": "precision"}
BITS = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16}


def promoted(values):
    """Smaller integers as the 32 bits that zfp takes, the larger unsigned ones as signed ones."""
    name, bits = values.dtype.name, BITS.get(values.dtype.name)
    if bits:
        return (values.astype("int32") - (2**(bits - 1) if name[0] == "u" else 0)) << 31 - bits
    return values.astype(name[1:]) if name[0] == "u" else values


def demoted(values, dtype):
    bits = BITS.get(dtype.name)
    if bits:
        values = (values >> 31 - bits) + (2**(bits - 1) if dtype.kind == "u" else 0)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    return (np.clip(values, max(limits.min, np.iinfo(values.dtype).min), min(limits.max, np.iinfo(values.dtype).max)) if limits else values).astype(dtype)


@dataclass(frozen=True)
class Zfp(ArrayBytesCodec):
    is_fixed_size = False
    configuration: tuple = ()

    @classmethod
    def from_dict(cls, data):
        return cls(tuple(data["configuration"].items()))

    def to_dict(self):
        return {"name": "zfp", "configuration": dict(self.configuration)}

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        raise NotImplementedError

    def options(self, ndim):
        given = dict(self.configuration)
        name = PARAMETERS[given["mode"]]
        if name == "rate" and self.as_zarrs:  # takes it for one of 4 x 4 x 4 elements
            return {"rate": given["rate"] * 4.0**(3 - ndim)}
        return {name: given[name]} if name else {}

    as_zarrs = False

    async def _encode_single(self, chunk_data, chunk_spec):
        values = np.ascontiguousarray(promoted(chunk_data.as_ndarray_like()))
        return chunk_spec.prototype.buffer.from_bytes(zfpy.compress_numpy(values, write_header=False, **self.options(values.ndim)))

    async def _decode_single(self, chunk_data, chunk_spec):
        dtype = np.dtype(chunk_spec.dtype.to_native_dtype())
        as_type = promoted(np.zeros(1, dtype)).dtype
        values = zfpy._decompress(chunk_data.to_bytes(), zfpy.dtype_to_ztype(as_type), chunk_spec.shape, **self.options(len(chunk_spec.shape)))
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(demoted(np.asarray(values), dtype))


register_codec("zfp", Zfp)


def values_of(rng, dtype, shape):
    smooth = np.add.outer(np.arange(shape[-2]) ** 2 / 7, np.arange(shape[-1]) * 3.3)
    values = np.broadcast_to(smooth, shape) + rng.normal(0, 1, shape)
    if np.dtype(dtype).kind == "f":
        return values.astype(dtype)
    return np.clip(values, 0, np.iinfo(dtype).max).astype(dtype)


def cases():
    """(data type, codec, shape, chunk, filters, compressors)"""
    for k, dtype in enumerate(["float32", "float64", "int32", "int64", "uint32", "uint64", "int8", "uint8", "int16", "uint16"]):
        for codec in ({"mode": "reversible"}, {"mode": "fixed_precision", "precision": 19}, {"mode": "fixed_rate", "rate": 10.5},
                      {"mode": "fixed_accuracy", "tolerance": 0.05}):
            if codec["mode"] != "fixed_accuracy" or dtype[0] == "f":
                yield dtype, Zfp(tuple(codec.items())), (19, 27), (5, 7), [], [[], [Crc32cCodec()], [GzipCodec(level=1)]][k % 3]
        if k < 4:
            for parameters in ({"mode": 4, "tolerance": 0.01}, {"mode": 3, "precision": 24}, {"mode": 2, "rate": 8.5}, {}):  # of none it makes the reversible mode
                yield dtype, ZFPY(**parameters), (19, 27), (5, 7), [], [Crc32cCodec()] if k % 2 else []
    yield "float32", ZFPY(mode=4, tolerance=1e-3), (3, 19, 27), (2, 5, 7), [], []
    yield "float32", Zfp((("mode", "fixed_rate"), ("rate", 8.5))), (3, 19, 27), (2, 5, 7), [], []
    yield "float64", Zfp((("mode", "reversible"),)), (2, 3, 19, 27), (2, 3, 5, 7), [], [GzipCodec(level=1)]
    yield "float32", Zfp((("mode", "fixed_accuracy"), ("tolerance", 0.0))), (19, 27), (5, 7), [TransposeCodec(order=(1, 0))], []


def write(folder):
    rng = np.random.default_rng(3)
    for k, (dtype, codec, shape, chunk, filters, compressors) in enumerate(cases()):
        for as_zarrs in [False, True] if dict(getattr(codec, "configuration", ())).get("mode") == "fixed_rate" else [False]:
            Zfp.as_zarrs = as_zarrs
            path = "%s/%s%d" % (folder, "zarrs" if as_zarrs else "", k)
            sharded = {"shards": tuple(2 * c for c in chunk)} if k % 4 else {}
            array = zarr.create_array(path + ".zarr", shape=shape, dtype=dtype, chunks=chunk, serializer=codec, filters=filters,
                                      compressors=compressors, fill_value=0, **sharded)
            array[..., :16, :] = values_of(rng, dtype, shape)[..., :16, :]
            np.save(path + ".npy", array[...])


warnings.simplefilter("ignore")
write(sys.argv[1])
