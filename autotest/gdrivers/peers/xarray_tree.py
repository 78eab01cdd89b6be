"""What xarray and rioxarray make of arrays with no more told than the name of the store, for answers.py: the values from open_datatree() of the
whole store and from open_zarr() of the group, and where either places them.

    python xarray_tree.py DIR
"""
import sys

import rioxarray  # noqa: F401  registers the accessor
import xarray
from answers import answer


def place(values):
    """Where rioxarray sees an array."""
    values = values.load()
    nodata = values.rio.encoded_nodata if values.rio.encoded_nodata is not None else values.rio.nodata
    found = {"epsg": values.rio.crs and values.rio.crs.to_epsg(), "nodata": None if nodata is None else float(nodata)}
    try:
        return {**found, "transform": list(values.rio.transform())[:6], "bounds": list(values.rio.bounds())}
    except rioxarray.exceptions.DimensionMissingCoordinateError:
        return {**found, "transform": None, "bounds": None}


def read(store, path):
    group, _, name = path.rpartition("/")
    of_tree = xarray.open_datatree(store, engine="zarr")[path]
    of_group = xarray.open_zarr(store, group=group or None, chunks=None)[name]
    return [of_tree.values, of_group.values], {"tree": place(of_tree), "group": place(of_group)}


answer(sys.argv[1], "datatree", read)
