"""Writes stores of data types that numpy does not have, with ml_dtypes and, where it knows the type, tensorstore; and says what others make of them.

    python small_types.py write DIR: every DIR/TYPE-BY.zarr, with its values as float64 in DIR/TYPE-BY.npy
    python small_types.py read DIR: every DIR/*.zarr that tensorstore wrote, read again: its values in *.now.npy
"""
import glob
import json
import os
import sys

import ml_dtypes
import numpy as np
import tensorstore

TYPES = ["int2", "uint2", "int4", "uint4", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
         "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]


def every_value(name):
    """(40, n) with each pattern of bits that the type has."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    if dtype.itemsize == 2:
        return np.arange(65536, dtype="uint16").view(dtype).reshape(64, 1024)
    bits = {"2": 2, "4": 4, "6": 6}.get(name.lstrip("uintfloa")[0], 8)
    patterns = np.resize(np.arange(2 ** bits, dtype="uint8"), (40, 16))
    if name.startswith("int"):
        patterns = np.where(patterns >= 2 ** (bits - 1), patterns.astype(int) - 2 ** bits, patterns).astype("int8").view("uint8")
    return patterns.view(dtype)


def metadata(name, shape, codecs):
    return {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": name, "fill_value": 1,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs}


def write(folder):
    for name in TYPES:
        values = every_value(name)
        endian = {"little": "<", "big": ">"}
        for order in ["little", "big"] if values.dtype.itemsize == 2 else ["little"]:
            path = "%s/%s-%s" % (folder, name, order)
            os.makedirs(path + ".zarr/c/0")
            with open(path + ".zarr/zarr.json", "w") as file:
                json.dump(metadata(name, values.shape, [{"name": "bytes", "configuration": {"endian": order}}]), file)
            raw = values.view("uint%d" % (8 * values.dtype.itemsize))
            raw.astype(raw.dtype.newbyteorder(endian[order])).tofile(path + ".zarr/c/0/0")
            np.save(path + ".npy", values.astype("float64"))
        inner = [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", "configuration": {"level": 1}}]
        sharding = {"chunk_shape": [values.shape[0] // 4, values.shape[1] // 4], "codecs": inner,
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}
        try:
            array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": "%s/%s-ts.zarr/" % (folder, name)}, "create": True,
                                      "metadata": metadata(name, values.shape, [{"name": "sharding_indexed", "configuration": sharding}])}).result()
        except ValueError as error:
            assert "data type" in str(error), error
            continue
        array.write(values).result()
        np.save("%s/%s-ts.npy" % (folder, name), values.astype("float64"))


def read(folder):
    for path in glob.glob(folder + "/*-ts.zarr"):
        array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}, open=True).result()
        np.save(path[:-5] + ".now.npy", np.asarray(array.read().result()).astype("float64"))


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
