"""Groups of arrays on one grid, as zarr-python writes them.

    python zarr_python_groups.py DIR: DIR/scene.zarr, and the values of each array in DIR/PATH.npy, / in the path a -
"""
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import BloscCodec, GzipCodec

SIZE = (150, 170)


def put(folder, group, name, values, chunks, shards=None, dims=("y", "x"), fill=0, compressors=None, **attributes):
    made = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=chunks, shards=shards, fill_value=fill, dimension_names=list(dims),
                              compressors=compressors if compressors is not None else BloscCodec(cname="lz4"), attributes=attributes)
    made[...] = values
    np.save("%s/%s.npy" % (folder, made.path.replace("/", "-")), values)


def coordinate(group, name, values, **attributes):
    group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=values.shape, dimension_names=[name], attributes=attributes)[...] = values


def grid(group, step, height, width):
    coordinate(group, "x", 500000 + step * (np.arange(width) + 0.5), standard_name="projection_x_coordinate")
    coordinate(group, "y", 5000000 - step * (np.arange(height) + 0.5), standard_name="projection_y_coordinate")


def main(folder):
    rng = np.random.default_rng(12)
    root = zarr.create_group(folder + "/scene.zarr", attributes={"title": "three groups"})
    fine = root.create_group("measurements/reflectance/r10m", attributes={"platform": "S2A", "proj:code": "EPSG:32633"})
    grid(fine, 10.0, *SIZE)
    ints = lambda dtype, low, high: rng.integers(low, high, SIZE).astype(dtype)
    put(folder, fine, "b10", ints("uint8", 0, 256), (50, 60), fill=255, compressors=GzipCodec(level=1), sensor="MSI", long_name="cirrus")
    put(folder, fine, "b2", ints("uint16", 0, 9999), (32, 32), (64, 96), scale_factor=0.0001, add_offset=-0.1, units="1", sensor="MSI", common_name="blue")
    put(folder, fine, "b3", ints("int16", -9999, 9999), (30, 40), (150, 200), fill=-9999, sensor="MSI", common_name="green", bandwidth=36)
    floats = rng.normal(0, 1, SIZE).astype("float32")
    floats[rng.random(SIZE) < 0.1] = np.nan
    put(folder, fine, "b8a", floats, (64, 64), (128, 128), fill=np.nan, sensor="MSI", units="W m-2")
    put(folder, fine, "half", ints("uint8", 0, 9)[::2, ::2], (32, 32), dims=("y2", "x2"))
    coarse = root.create_group("measurements/reflectance/r20m")
    grid(coarse, 20.0, 75, 85)
    for name in ("b05", "b06"):
        put(folder, coarse, name, rng.integers(0, 999, (75, 85)).astype("uint32"), (25, 25), (75, 100))
    cube = root.create_group("cube")
    coordinate(cube, "time", np.arange(3) * 6, units="hours since 2026-05-01", calendar="standard")
    put(folder, cube, "t2m", rng.normal(280, 9, (3,) + SIZE), (1, 50, 50), (3, 100, 100), ("time", "y", "x"), np.nan, units="K", cell_methods="point")
    put(folder, cube, "mask", ints("uint8", 0, 2), (150, 170))
    put(folder, cube, "tp", rng.gamma(1, 2, (3,) + SIZE).astype("float32"), (3, 32, 32), (3, 64, 64), ("time", "y", "x"), -1, units="mm")
    coordinate(cube, "x", np.linspace(5, 15, SIZE[1]), units="degrees_east")
    coordinate(cube, "y", np.linspace(50, 40, SIZE[0]), units="degrees_north")
    zarr.consolidate_metadata(folder + "/scene.zarr")


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # consolidated metadata are not in the specification
    main(sys.argv[1])
