"""Checks that zarr-python reads the stores that zarr_python_grids.py made, changed since, as the values beside them.

    python zarr_python_grids_check.py OUT
"""
import glob
import sys

import numpy as np
import zarr

zarr.config.set({"array.rectilinear_chunks": True})
for name in glob.glob(sys.argv[1] + "/*.zarr"):
    array = zarr.open_array(name, mode="r")
    np.testing.assert_array_equal(array[...], np.load(name[:-5] + ".npy"), err_msg=name)
