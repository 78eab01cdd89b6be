"""Writes OUT/names.zarr with zarr-python: the same names as each type of text, sharded and not."""
import sys
import warnings

import numpy as np
import zarr

NAMES = ["", "a", "Zürich", "a b", "日本", "x" * 20, "end"]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    root = zarr.open_group(sys.argv[1] + "/names.zarr", mode="w")
    for sharded, shards in (("sharded", (6,)), ("plain", None)):
        for kind, dtype in (("variable", str), ("fixed", "<U20")):
            array = root.create_array("%s_%s" % (kind, sharded), shape=(9,), dtype=dtype, chunks=(3,), shards=shards, dimension_names=["name"])
            array[:7] = np.array(NAMES, "U20" if kind == "fixed" else object)
        array = root.create_array("bytes_" + sharded, shape=(9,), dtype="S24", chunks=(3,), shards=shards)
        array[:7] = np.array([name.encode() for name in NAMES], "S24")
    numbers = root.create_array("value", shape=(9, 4), dtype="int16", chunks=(3, 2), shards=(9, 4), dimension_names=["name", "x"])
    numbers[...] = np.arange(36).reshape(9, 4)
    names = root.create_array("name", shape=(9,), dtype=str, chunks=(9,), dimension_names=["name"], attributes={"long_name": "names"})
    names[:7] = np.array(NAMES, object)
