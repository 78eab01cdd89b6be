"""The codec packbits as zarrs does it, through zarr-python, which does not know it.

    python zarrs_packbits.py write DIR: DIR/0.zarr, ... with their values in DIR/0.npy, ...
    python zarrs_packbits.py read DIR: reads them again: *.now.npy
"""
import glob
import sys
from dataclasses import dataclass

import numpy as np
import zarr
import zarrs  # noqa: F401
from zarr.abc.codec import ArrayBytesCodec
from zarr.registry import register_codec


@dataclass(frozen=True)
class PackBits(ArrayBytesCodec):
    """Only its name and configuration: the work is that of zarrs."""
    is_fixed_size = True
    configuration: tuple = ()

    @classmethod
    def from_dict(cls, data):
        return cls(tuple(data.get("configuration", {}).items()))

    def to_dict(self):
        return {"name": "packbits", "configuration": dict(self.configuration)}

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        return input_byte_length

    async def _decode_single(self, *arguments):
        raise NotImplementedError

    _encode_single = _decode_single


register_codec("packbits", PackBits)
zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})
# zarrs extends the sign of integers within their byte only, and writes no padding where all bits of a byte are kept.
CASES = [("bool", {}), ("bool", {"padding_encoding": "first_byte"}), ("bool", {"padding_encoding": "last_byte"}), ("uint8", {"last_bit": 2}),
         ("uint8", {"first_bit": 3, "last_bit": 6, "padding_encoding": "last_byte"}), ("int8", {"last_bit": 4}), ("int8", {}),
         ("uint16", {"last_bit": 11}), ("uint16", {"first_bit": 4, "last_bit": 14, "padding_encoding": "first_byte"}), ("uint32", {"last_bit": 20}),
         ("float32", {"first_bit": 13}), ("float64", {}), ("uint64", {"first_bit": 1, "last_bit": 60}), ("int32", {})]


def kept(values, first, last):
    """Values with those bits alone, sign and all."""
    bits = 8 * values.dtype.itemsize
    words = values.view("uint%d" % bits).astype(object)
    words = np.array([int(w) >> first << first & (1 << last + 1) - 1 for w in words.flat], dtype=object).reshape(words.shape)
    if values.dtype.kind == "i":
        words = np.array([w | (((1 << bits) - 1) ^ ((1 << last + 1) - 1)) if w >> last & 1 else w for w in words.flat], dtype=object).reshape(words.shape)
    return words.astype("uint%d" % bits).view(values.dtype)


def write(folder):
    rng = np.random.default_rng(11)
    for k, (dtype, configuration) in enumerate(CASES):
        values = rng.integers(0, 256, (19, 27, np.dtype(dtype).itemsize)).astype("uint8").view(dtype)[..., 0] if dtype != "bool" else rng.random((19, 27)) < 0.5
        if dtype != "bool":
            values = kept(np.nan_to_num(values), configuration.get("first_bit", 0), configuration.get("last_bit", 8 * values.dtype.itemsize - 1))
        codec = PackBits(tuple(configuration.items()))
        array = zarr.create_array("%s/%d.zarr" % (folder, k), shape=values.shape, dtype=dtype, chunks=(5, 7), shards=(10, 14), serializer=codec,
                                  compressors=None if k % 2 else zarr.codecs.GzipCodec(level=1), fill_value=0)
        array[...] = values
        np.save("%s/%d.npy" % (folder, k), values)


def read(folder):
    for path in glob.glob(folder + "/*.zarr"):
        np.save(path[:-5] + ".now.npy", zarr.open_array(path, mode="r")[...])


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
