"""What others find in a store of HEALPix cells: values, and where healpix-geo has the middle of each cell.

    python healpix_store.py STORE ARRAY OUT

OUT is an .npz of values, lon and lat, and what the `dggs` object of the group that holds the array says is believed.
"""
import sys

import numpy as np
import zarr
from healpix_geo import nested

store, path, out = sys.argv[1:]
group = zarr.open_group(store, path=path.rpartition("/")[0], mode="r")
dggs = dict(group.attrs)["dggs"]
order = dggs["refinement_level"]
assert (dggs["name"], dggs["indexing_scheme"]) == ("healpix", "nested")
ellipsoid = "WGS84" if dggs["ellipsoid"]["name"] == "WGS84" else "sphere"
array = group[path.rpartition("/")[2]]
assert array.metadata.dimension_names[-1] == dggs["spatial_dimension"]
numbers = group[dggs["coordinate"]][:] if "coordinate" in dggs else np.arange(12 * 4**order, dtype="uint64")
lon, lat = nested.healpix_to_lonlat(numbers, order, ellipsoid=ellipsoid)
np.savez(out, values=array[...], lon=(lon + 180) % 360 - 180, lat=lat, numbers=numbers)
