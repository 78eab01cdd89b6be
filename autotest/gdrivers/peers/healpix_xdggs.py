"""What xdggs makes of a store of HEALPix cells.

    python healpix_xdggs.py STORE OUT

OUT is JSON: level, indexing scheme and semi-major axis, and the middle of the first cells.
"""
import json
import sys

import xarray
import xdggs

dataset = xdggs.decode(xarray.open_zarr(sys.argv[1]), convention="zarr", name="cell_ids")
info, centres = dataset.dggs.grid_info, dataset.dggs.cell_centers()
with open(sys.argv[2], "w") as file:
    json.dump({"level": info.level, "scheme": info.indexing_scheme, "semi_major": info.ellipsoid.semimajor_axis,
               "lon": centres.longitude.values[:9].tolist(), "lat": centres.latitude.values[:9].tolist()}, file)
