"""What xarray and rioxarray make of stores: every DIR/NAME.zarr becomes DIR/NAME.zarr.npz (decoded values, raw values, mask) and .json.

    python xarray_read.py DIR
"""
import glob
import json
import sys
import warnings

import numpy as np
import rioxarray  # noqa: F401  registers the accessor
import xarray

warnings.simplefilter("ignore")
for path in sorted(glob.glob(sys.argv[1] + "/*.zarr")):
    decoded = xarray.open_zarr(path, decode_coords="all", chunks=None, consolidated=True)
    raw = xarray.open_zarr(path, decode_coords="all", chunks=None, mask_and_scale=False)
    name, = [name for name, variable in decoded.data_vars.items() if variable.ndim > 1]
    values = decoded[name]
    coordinates = {dim: [float(v) for v in values[dim].values] for dim in values.dims if dim in values.coords}
    np.savez(path + ".npz", decoded=values.values, raw=raw[name].values, missing=np.isnan(values.values) if values.dtype.kind == "f" else False)
    with open(path + ".json", "w") as file:
        json.dump({"name": name, "dims": list(values.dims), "shape": list(values.shape), "crs": decoded.rio.crs and decoded.rio.crs.to_wkt(),
                   "epsg": decoded.rio.crs and decoded.rio.crs.to_epsg(), "transform": list(decoded.rio.transform())[:6],
                   "nodata": None if values.rio.encoded_nodata is None else float(values.rio.encoded_nodata),
                   "attributes": sorted(values.attrs), "coordinates": coordinates}, file)
