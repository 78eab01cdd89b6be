"""What xarray and rioxarray make of arrays, for answers.py: the values as they are stored and as they are decoded, and what they mean.

    python xarray_read.py DIR
"""
import sys

import rioxarray  # noqa: F401  registers the accessor
import xarray
from answers import answer


def read(store, path):
    group, _, name = path.rpartition("/")
    # The group of an appended raster, or of an overview, has its own coordinates and CRS.
    opened = {"decode_coords": "all", "chunks": None, "consolidated": True, "group": group or None}
    decoded = xarray.open_zarr(store, **opened)
    raw = xarray.open_zarr(store, **opened, mask_and_scale=False)
    values = decoded[name]
    told = values.dims[-2:] if values.dims[-1] != "x" and values.dims[-1] not in values.coords else None
    if told:  # what rioxarray asks for in its error message
        values = values.rio.set_spatial_dims(*reversed(told))
    crs = values.rio.crs
    coordinates = {dim: [float(v) for v in values[dim].values] for dim in values.dims if dim in values.coords}
    nodata = values.rio.encoded_nodata
    return [raw[name].values, values.values], {
        "told": told, "dims": list(values.dims),
        "crs": crs and crs.to_wkt(), "epsg": crs and crs.to_epsg(), "transform": list(values.rio.transform())[:6], "coordinates": coordinates,
        "size": [values.rio.width, values.rio.height], "nodata": None if nodata is None else str(nodata)}


answer(sys.argv[1], "xarray", read)
