"""Published layouts, small, as zarr-python writes them.

    python zarr_python_layouts.py DIR: DIR/tessera.zarr, DIR/glw4.zarr, and their values in DIR/NAME.npy
"""
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import BloscCodec

CONVENTIONS = [{"uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f", "name": "proj:"}, {"uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4", "name": "spatial:"}]


def array(group, name, values, chunks, shards, dims, fill=0, attributes=None):
    made = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=chunks, shards=shards, fill_value=fill, dimension_names=dims,
                              compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=values.dtype.itemsize), attributes=attributes or {})
    made[...] = values


def coordinate(group, name, values, attributes=None):
    group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=values.shape, dimension_names=[name], attributes=attributes or {})[...] = values


def zone(root, name, code, west, north, height, width, rng, folder):
    """Years of 128 numbers a pixel, their scale, and the first 16 and 4 of them in larger chunks."""
    group = root.create_group(name, attributes={
        "zarr_conventions": CONVENTIONS, "proj:code": code, "spatial:dimensions": ["y", "x"], "spatial:shape": [height, width],
        "spatial:transform": [10.0, 0.0, west, 0.0, -10.0, north]})
    embeddings = rng.integers(-127, 128, (2, 128, height, width), "int8")
    scales = rng.random((2, height, width)).astype("float32")
    scales[0, 40:70, 10:50] = np.nan  # water
    scales[1, :64, :64] = np.inf  # not written
    embeddings[1, :, :64, :64] = 0
    array(group, "embeddings", embeddings, (1, 128, 32, 32), (1, 128, 64, 64), ["time", "band", "y", "x"])
    array(group, "embeddings_d16", embeddings[:, :16], (1, 16, 64, 64), (1, 16, 128, 128), ["time", "band_d16", "y", "x"])
    array(group, "embeddings_d4", embeddings[:, :4], (1, 4, 128, 128), (1, 4, 128, 128), ["time", "band_d4", "y", "x"])
    array(group, "scales", scales, (1, 32, 32), (1, 64, 64), ["time", "y", "x"], fill=np.inf)
    coordinate(group, "time", np.array([2023, 2024], "int32"))
    coordinate(group, "band", np.arange(128, dtype="int32"))
    coordinate(group, "x", west + 5 + 10.0 * np.arange(width))
    coordinate(group, "y", north - 5 - 10.0 * np.arange(height))
    np.save("%s/%s_embeddings.npy" % (folder, name), embeddings)
    np.save("%s/%s_scales.npy" % (folder, name), scales)


def livestock(path, rng, folder):
    """A layer of the world a species, each one shard."""
    root = zarr.create_group(path)
    values = rng.gamma(2, 50, (5, 180, 360)).astype("float32")
    values[:, 150:, :] = np.nan
    root.create_array("spatial_ref", shape=(), dtype="int64", attributes={"crs_wkt": WGS84, "GeoTransform": "-180.0 1.0 0.0 90.0 0.0 -1.0"})[...] = 0
    array(root, "count", values, (1, 90, 90), (1, 180, 360), ["species", "y", "x"], fill=np.nan,
          attributes={"grid_mapping": "spatial_ref", "_FillValue": "AAAAAAAA+H8=", "units": "1"})
    species = root.create_array("species", shape=(5,), dtype=str, chunks=(5,), dimension_names=["species"])
    species[...] = np.array(["buffalo", "cattle", "goat", "pig", "sheep"])
    coordinate(root, "x", -179.5 + np.arange(360), {"standard_name": "longitude", "units": "degrees_east"})
    coordinate(root, "y", 89.5 - np.arange(180), {"standard_name": "latitude", "units": "degrees_north"})
    np.save(folder + "/glw4.npy", values)
    zarr.consolidate_metadata(path)


WGS84 = ('GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],'
         'UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]')
warnings.simplefilter("ignore")
out, random = sys.argv[1], np.random.default_rng(5)
tessera = zarr.create_group(out + "/tessera.zarr")
zone(tessera, "utm33", "EPSG:32633", 400000.0, 5200000.0, 150, 100, random, out)
zone(tessera, "utm56", "EPSG:32656", 300000.0, -3700000.0, 90, 130, random, out)
zarr.consolidate_metadata(out + "/tessera.zarr")
livestock(out + "/glw4.zarr", random, out)
