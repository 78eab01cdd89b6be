"""What xarray makes of coordinates, in stores and in the netCDF files that they were copied from.

    python xarray_axes.py ANSWER NAME...     where a NAME ends in .nc or is a store; ANSWER is {NAME: {coordinate: what it is}} as JSON
"""
import json
import sys

import netCDF4  # noqa: F401  without it xarray reads no netCDF, and says so in its own way
import xarray

names = sys.argv[2:]
answers = {}
for name in names:
    options = {"decode_timedelta": False, "decode_times": xarray.coders.CFDatetimeCoder(use_cftime=None)}
    opened = xarray.open_dataset(name, **options) if name.endswith(".nc") else xarray.open_zarr(name, chunks=None, **options)
    answers[name] = {
        key: {"dims": list(variable.dims), "values": [str(v) for v in variable.values.ravel()], "type": str(variable.dtype),
              "stored": str(variable.encoding.get("dtype", variable.dtype)),
              "attributes": {k: v for k, v in variable.attrs.items() if isinstance(v, str)},
              "time": {k: variable.encoding[k] for k in ("units", "calendar") if k in variable.encoding}}
        for key, variable in opened.variables.items() if variable.ndim == 1 and key not in ("x", "y", "lat", "lon")}
with open(sys.argv[1], "w") as file:
    json.dump(answers, file)
