"""Writes stores of bfloat16, which numpy does not have, with ml_dtypes and tensorstore; and says what tensorstore makes of another's.

    python bfloat16.py write DIR: DIR/little.zarr, big.zarr, ts.zarr, with their values as float64 in *.npy
    python bfloat16.py read DIR: DIR/ts.zarr, read again: its values in ts.now.npy
"""
import json
import os
import sys

import ml_dtypes
import numpy as np
import tensorstore

VALUES = np.arange(65536, dtype="uint16").reshape(64, 1024)  # each pattern of bits


def metadata(codecs):
    return {"zarr_format": 3, "node_type": "array", "shape": list(VALUES.shape), "data_type": "bfloat16", "fill_value": 1,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(VALUES.shape)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs}


def store(folder, **options):
    return tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": folder + "/ts.zarr/"}, **options}).result()


def write(folder):
    values = VALUES.view(ml_dtypes.bfloat16)
    for order, code in [("little", "<u2"), ("big", ">u2")]:
        path = "%s/%s.zarr" % (folder, order)
        os.makedirs(path + "/c/0")
        with open(path + "/zarr.json", "w") as file:
            json.dump(metadata([{"name": "bytes", "configuration": {"endian": order}}]), file)
        VALUES.astype(code).tofile(path + "/c/0/0")
    inner = [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", "configuration": {"level": 1}}]
    sharding = {"chunk_shape": [16, 256], "codecs": inner,
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}
    store(folder, create=True, metadata=metadata([{"name": "sharding_indexed", "configuration": sharding}])).write(values).result()
    for name in ["little", "big", "ts"]:
        np.save("%s/%s.npy" % (folder, name), values.astype("float64"))


def read(folder):
    np.save(folder + "/ts.now.npy", np.asarray(store(folder, open=True).read().result()).astype("float64"))


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
