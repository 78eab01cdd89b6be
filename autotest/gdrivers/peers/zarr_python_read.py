"""Reads stores with zarr-python, for comparison with what wrote them: every DIR/NAME.zarr becomes DIR/NAME.zarr.npy.

    python zarr_python_read.py DIR

datetime64 and timedelta64 are saved as int64. Where the root is a group, its one array of two or more dimensions is read that
is not in a group named ovr_*.
"""
import glob
import sys
import warnings

import numpy as np
import zarr


def raster_of(node):
    if isinstance(node, zarr.Array):
        return node
    members = sorted(node.members(max_depth=None))
    arrays = [array for name, array in members if isinstance(array, zarr.Array) and array.ndim > 1 and not name.startswith("ovr_")]
    assert len(arrays) == 1, "%d arrays" % len(arrays)
    return arrays[0]


warnings.simplefilter("ignore")
for path in sorted(glob.glob(sys.argv[1] + "/*.zarr")):
    values = raster_of(zarr.open(path, mode="r"))[...]
    np.save(path + ".npy", values.view("int64") if values.dtype.kind in "mM" else values)
