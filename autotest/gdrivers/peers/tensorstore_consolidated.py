"""Arrays that tensorstore wrote in a group that zarr-python consolidated, which spells out what tensorstore leaves to defaults.

    python tensorstore_consolidated.py STORE
"""
import json
import sys
import warnings

import numpy as np
import tensorstore
import zarr

warnings.simplefilter("ignore")
LITTLE, BIG = ({"name": "bytes", "configuration": {"endian": order}} for order in ("little", "big"))
COMPRESSORS = {
    "none": [], "crc32c": [{"name": "crc32c"}], "gzip": [{"name": "gzip", "configuration": {"level": 3}}],
    "zstd": [{"name": "zstd", "configuration": {"level": 3}}],
    "blosc": [{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}}]}
FILLS = {"uint8": [7], "uint16": [7], "float32": ["NaN", "0xffc00000", -0.0, 0.1], "float64": ["-Infinity", "0x7ff8000000000001"],
         "complex64": [[1, "NaN"]]}


def shards(codecs):
    return [{"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 4], "codecs": codecs, "index_codecs": [LITTLE, {"name": "crc32c"}]}}]


def write(path, data_type, fill, codecs):
    metadata = {"shape": [8, 8], "data_type": data_type, "fill_value": fill, "codecs": codecs, "dimension_names": [None, None],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8]}}, "chunk_key_encoding": {"name": "default"}}
    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}, "metadata": metadata, "create": True}).result()
    array.write(np.arange(64).reshape(8, 8).astype(data_type)).result()
    with open(path + "/zarr.json") as file:
        own = json.load(file)
    for member in codecs[0].get("configuration", {}).get("codecs", [])[1:]:
        if member["name"] == "blosc":  # tensorstore writes it, others do not
            own["codecs"][0]["configuration"]["codecs"][-1]["configuration"].pop("typesize", None)
    with open(path + "/zarr.json", "w") as file:
        json.dump(own, file)


root = zarr.create_group(sys.argv[1], attributes={"title": "theirs"})
for data_type, fills in FILLS.items():
    for name, codecs in COMPRESSORS.items():
        write("%s/%s_%s" % (sys.argv[1], data_type, name), data_type, fills[0], shards([LITTLE, *codecs]))
    for number, fill in enumerate(fills):
        write("%s/%s_fill%d" % (sys.argv[1], data_type, number), data_type, fill, [BIG])
zarr.consolidate_metadata(root.store)
