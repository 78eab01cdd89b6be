"""Stores that zarr-python wrote, to be changed by us: DIR/NAME.zarr and what they hold, DIR/NAME.npy.

    python zarr_python_update_sources.py DIR
"""
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

warnings.simplefilter("ignore")
BIG, LITTLE = BytesCodec(endian="big"), BytesCodec(endian="little")
KINDS = {
    "plain": [ShardingCodec(chunk_shape=(8, 8), codecs=[LITTLE, ZstdCodec(level=3)])],
    "unsharded": [BIG, GzipCodec(level=1)],
    "nested": [ShardingCodec(chunk_shape=(16, 16), codecs=[ShardingCodec(chunk_shape=(8, 4), codecs=[LITTLE]), Crc32cCodec()])],
    "outer": [ShardingCodec(chunk_shape=(8, 8), codecs=[LITTLE]), GzipCodec(level=1), Crc32cCodec()],
    "big": [ShardingCodec(chunk_shape=(8, 8), codecs=[BIG], index_codecs=[BIG, Crc32cCodec()])],
    "start": [ShardingCodec(chunk_shape=(8, 8), codecs=[LITTLE, ZstdCodec()], index_location="start")],
    "transposed": [TransposeCodec(order=(1, 0)), ShardingCodec(chunk_shape=(8, 8), codecs=[TransposeCodec(order=(1, 0)), LITTLE])],
}
for number, (kind, codecs) in enumerate(KINDS.items()):
    values = np.random.default_rng(number).integers(0, 60000, (70, 90)).astype("uint16")
    root = zarr.create_group("%s/%s.zarr" % (sys.argv[1], kind), attributes={"title": "theirs", "count": 1.5})
    array = zarr.create(store=root.store, path="v", shape=values.shape, chunks=(32, 32), dtype="uint16", codecs=codecs, zarr_format=3,
                        dimension_names=["y", "x"], fill_value=7, attributes={"keep": [1, {"a": None}]})
    array[...] = values
    zarr.consolidate_metadata(root.store)
    np.save("%s/%s.npy" % (sys.argv[1], kind), values)
