"""A forecast as xarray writes it.

    python mdim_netcdf.py DIR write      DIR/a.nc, and the same variables as they are there, sharded, as DIR/a.zarr
    python mdim_netcdf.py DIR compare    whether DIR/b.nc, made of a.zarr, says what a.nc says; what differs is the error
    python mdim_netcdf.py DIR store      whether DIR/c.zarr does
"""
import sys
import warnings

import numpy as np
import pandas as pd
import xarray as xr

WKT = ('GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],'
       'UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]')


def write(folder):
    rng = np.random.default_rng(0)
    temperature = rng.normal(280, 10, (5, 3, 20, 30)).astype("float32")
    temperature[0, 0, 0, :5] = np.nan
    grid = {"grid_mapping": "spatial_ref"}
    dataset = xr.Dataset(
        {"t2m": (("time", "level", "latitude", "longitude"), temperature,
                 {"units": "K", "long_name": "2 metre temperature", "valid_range": [100.0, 400.0], "codes": np.array([1, 2], "int32"), **grid}),
         "count": (("latitude", "longitude"), np.arange(600, dtype="int16").reshape(20, 30), grid),
         "packed": (("time", "latitude"), rng.normal(0, 1, (5, 20)), {"units": "m s-1"}),
         "spatial_ref": ((), 0, {"grid_mapping_name": "latitude_longitude", "crs_wkt": WKT, "semi_major_axis": 6378137.0})},
        coords={"time": ("time", pd.date_range("2024-05-01", periods=5, freq="6h"), {"standard_name": "time"}),
                "level": ("level", np.array([1000, 850, 500], "int32"), {"units": "hPa", "positive": "down", "axis": "Z"}),
                "latitude": ("latitude", np.linspace(50, 40.5, 20), {"units": "degrees_north", "standard_name": "latitude"}),
                "longitude": ("longitude", np.linspace(5, 19.5, 30), {"units": "degrees_east", "standard_name": "longitude"})},
        attrs={"title": "a test", "number": 3, "list": [1.5, 2.5]})
    dataset.to_netcdf(folder + "/a.nc", encoding={
        "t2m": {"_FillValue": -9999.0}, "count": {"_FillValue": -1}, "time": {"units": "hours since 2024-05-01", "dtype": "int64"},
        "packed": {"dtype": "int16", "scale_factor": 0.01, "add_offset": 1.0, "_FillValue": -32768}})
    plain = xr.open_dataset(folder + "/a.nc", decode_cf=False)
    encoding = {}
    for name, variable in plain.data_vars.items():
        chunks = tuple((s + 3) // 4 for s in variable.shape)
        if chunks:
            encoding[name] = {"chunks": chunks, "shards": tuple(2 * c for c in chunks)}
    plain.to_zarr(folder + "/a.zarr", zarr_format=3, encoding=encoding)


def compare(folder):
    same(xr.open_dataset(folder + "/a.nc"), xr.open_dataset(folder + "/b.nc"))


def store(folder):
    same(xr.open_dataset(folder + "/a.nc"), xr.open_zarr(folder + "/c.zarr", consolidated=True))


def same(a, b):
    xr.testing.assert_equal(a.drop_vars("spatial_ref"), b[list(a.variables)].drop_vars("spatial_ref"))
    assert a.attrs.keys() <= b.attrs.keys(), b.attrs
    for name in a.variables:
        old, new = a[name], b[name]
        if name == "spatial_ref":  # whose words are the writer's
            continue
        assert old.dims == new.dims and old.dtype == new.dtype, name
        for key, value in old.attrs.items():
            if key != "grid_mapping":  # whose name is the writer's
                np.testing.assert_array_equal(new.attrs[key], value, "%s: %s" % (name, key))
        for key in ("units", "calendar", "scale_factor", "add_offset", "_FillValue"):
            np.testing.assert_equal(new.encoding.get(key), old.encoding.get(key), "%s: %s" % (name, key))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"write": write, "compare": compare, "store": store}[sys.argv[2]](sys.argv[1])
