"""xarray_ensemble.py STORE: a forecast as providers publish them, written by xarray with zarr-python, in shards: init_time, ensemble_member,
lead_time, latitude, longitude; consolidated. Pixels count in C order."""
import sys

import numpy as np
import xarray

INIT, MEMBERS, LEADS, HEIGHT, WIDTH = 200, 6, 85, 2, 3

shape = (INIT, MEMBERS, LEADS, HEIGHT, WIDTH)
names = ("init_time", "ensemble_member", "lead_time", "latitude", "longitude")
dataset = xarray.Dataset(
    {"t2m": (names, np.arange(np.prod(shape), dtype="float32").reshape(shape), {"long_name": "2 metre temperature", "units": "K"})},
    {"init_time": np.datetime64("2026-05-01", "ns") + np.arange(INIT) * np.timedelta64(12, "h"),
     "ensemble_member": np.arange(MEMBERS), "lead_time": (np.arange(LEADS) * 3).astype("timedelta64[h]").astype("timedelta64[ns]"),
     "latitude": [50.5, 50.0], "longitude": [10.0, 10.5, 11.0]})
dataset.to_zarr(sys.argv[1], zarr_format=3, consolidated=True,
                encoding={"t2m": {"chunks": (1, 1, LEADS, HEIGHT, WIDTH), "shards": (INIT, MEMBERS, LEADS, HEIGHT, WIDTH)},
                          "lead_time": {"units": "hours", "dtype": "int64"}})
