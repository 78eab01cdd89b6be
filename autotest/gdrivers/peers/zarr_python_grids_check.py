"""Checks that zarr-python reads the stores that zarr_python_grids.py made, changed since, as the values beside them.

    python zarr_python_grids_check.py OUT

or others like them. Needs zarr-python 3.2, as that.
"""
import glob
import sys

import numpy as np

try:
    import zarr
    from zarr.core.metadata.v3 import RectilinearChunkGridMetadata  # noqa: F401
except ImportError as error:
    raise ModuleNotFoundError("No module named 'zarr 3.2'") from error

zarr.config.set({"array.rectilinear_chunks": True})
for name in glob.glob(sys.argv[1] + "/*.zarr"):
    array = zarr.open_array(name, mode="r")
    np.testing.assert_array_equal(array[...], np.load(name[:-5] + ".npy"), err_msg=name)
