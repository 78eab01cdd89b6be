"""What xarray makes of an array and its mask: the mask by the name that the array tells, and the array where that says valid.

    python xarray_masks.py STORE ARRAY OUT.npz
"""
import sys

import numpy as np
import xarray

store, name, out = sys.argv[1:]
opened = xarray.open_zarr(store, chunks=None, consolidated=True)
array = opened[name]
mask = opened[array.attrs["ancillary_variables"]]
meanings = dict(zip(mask.attrs["flag_meanings"].split(), mask.attrs["flag_values"]))
valid = array.where(mask == meanings["valid"])
np.savez(out, mask=mask.values, dims=list(mask.dims), valid=valid.values, standard_name=mask.attrs["standard_name"])
