"""Debian's own rasterio and rioxarray, which use the same GDAL: they open, read, describe and write a store as they do other rasters."""
import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta, write_coordinate
from support import assert_same, name_of, need, open_ours, read_all
from writing import UTM, copy, source

PIXELS = np.arange(2 * 60 * 90, dtype="int16").reshape(2, 60, 90)


def module(name):
    """rasterio or rioxarray, which Debian has."""
    try:
        return __import__(name)
    except ImportError:
        need("python3-" + name, False)


@pytest.fixture
def store(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS, UTM, "EPSG:32633", -1), CHUNK_SHAPE=16, OVERVIEWS="2")
    return str(tmp_path / "a.zarr")


def test_rasterio_reads_and_describes_a_store(store):
    rasterio = module("rasterio")
    for name in (store, store + "/zarr.json", name_of(store)):
        with rasterio.open(name) as dataset:
            assert dataset.driver == "ShardedZarr" and dataset.crs.to_epsg() == 32633 and dataset.nodata == -1
            assert dataset.transform.to_gdal() == UTM and dataset.overviews(1) == [2] and dataset.block_shapes == [(16, 16)] * 2
            assert_same(dataset.read(), PIXELS)
            window = rasterio.windows.Window(7, 9, 30, 20)
            assert_same(dataset.read(2, window=window), PIXELS[1, 9:29, 7:37])


@pytest.mark.parametrize("compress", ["GZIP", "ZSTD", "BLOSC", "NONE"])
@pytest.mark.parametrize("interleave", ["BAND", "PIXEL"])
def test_the_profile_of_a_store_makes_another_and_a_geotiff(tmp_path, compress, interleave):
    rasterio = module("rasterio")
    copy(tmp_path / "a.zarr", source(PIXELS, UTM, "EPSG:32633", -1), CHUNK_SHAPE=16, COMPRESS=compress, INTERLEAVE=interleave)
    with rasterio.open(str(tmp_path / "a.zarr")) as before:
        assert before.interleaving.name == before.profile["interleave"] == interleave.lower()
        assert before.profile.get("compress") == {"GZIP": "deflate", "ZSTD": "zstd", "BLOSC": "zstd"}.get(compress)  # blosc has zstd inside
        for name, format_name in (("b.zarr", "ShardedZarr"), ("b.tif", "GTiff")):
            with rasterio.open(str(tmp_path / name), "w", **{**before.profile, "driver": format_name}) as made:
                made.write(PIXELS)
            with rasterio.open(str(tmp_path / name)) as again:
                assert_same(again.read(), PIXELS)
                assert again.interleaving == before.interleaving


def test_rasterio_writes_and_updates_a_store(store, tmp_path):
    rasterio = module("rasterio")
    with rasterio.open(store) as before:
        profile = {**before.profile, "count": 1, "driver": "ShardedZarr"}
    path = str(tmp_path / "b.zarr")
    with rasterio.open(path, "w", **profile) as made:
        made.write(PIXELS[:1])
    with rasterio.open(path, "r+") as again:
        again.write(PIXELS[1, :16, :16], 1, window=rasterio.windows.Window(16, 32, 16, 16))
    expected = PIXELS[:1].copy()
    expected[0, 32:48, 16:32] = PIXELS[1, :16, :16]
    dataset = open_ours(path)
    assert_same(read_all(dataset), expected)
    assert dataset.GetGeoTransform() == UTM and dataset.GetRasterBand(1).GetNoDataValue() == -1


def test_rasterio_lists_the_arrays_of_a_store(store):
    rasterio = module("rasterio")
    gdal.GetDriverByName("ShardedZarr").CreateCopy(store, source(PIXELS[0] + 1, UTM, "EPSG:32633"),
                                                   options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=more", "OVERVIEWS=NONE"])
    with rasterio.open(store) as dataset:
        names = dataset.subdatasets
    assert len(names) == 2
    for name, wanted in zip(names, (PIXELS, PIXELS[:1] + 1)):
        with rasterio.open(name) as one:
            assert_same(one.read(), wanted)


def test_rioxarray_opens_a_store_as_a_raster(store):
    rioxarray = module("rioxarray")
    with rioxarray.open_rasterio(store) as values:
        assert values.dims == ("band", "y", "x") and values.rio.crs.to_epsg() == 32633 and values.rio.nodata == -1
        assert values.rio.transform().to_gdal() == UTM and values.rio.bounds() == (500000, 4999400, 500900, 5000000)
        assert_same(values.values, PIXELS)


@pytest.mark.parametrize("how", ["rioxarray", "xarray"])
def test_a_store_that_opens_as_a_group_opens_there(tmp_path, how):
    """They follow the names of subdatasets, of which none leads back."""
    path = str(tmp_path / "forecast.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    for name in ("t2m", "d2m"):
        oracle.write(path + "/" + name, array_meta((3, 8, 10), "float32", dimension_names=["time", "y", "x"]), np.ones((3, 8, 10), "float32"))
    rioxarray = module("rioxarray")
    if how == "rioxarray":
        opened = rioxarray.open_rasterio(path)
        variables = [name for part in (opened if isinstance(opened, list) else [opened]) for name in getattr(part, "data_vars", ["one"])]
        assert {"t2m", "d2m"} <= set(variables)
    else:
        assert module("xarray").open_dataset(path, engine="rasterio").sizes["x"] == 10


def cube(path, **units):
    """A store of (time, y, x) variables, as xarray writes it."""
    oracle.put(path, {"zarr.json": group_meta()})
    for name, unit in units.items():
        oracle.write(path / name, array_meta((3, 4, 6), "float32", dimension_names=["time", "y", "x"], attributes={"units": unit}), np.arange(72, dtype="float32").reshape(3, 4, 6))
    write_coordinate(path, "time", [0, 6, 12], {"units": "hours since 2026-05-01"}, "int64")
    write_coordinate(path, "x", np.arange(6.0), {"units": "m"})
    write_coordinate(path, "y", np.arange(4.0), {"units": "m"})
    return str(path)


def test_rioxarray_has_the_times_of_a_cube(tmp_path):
    module("cftime")  # by which rioxarray reads times
    found = module("rioxarray").open_rasterio(cube(tmp_path / "a.zarr", t2m="K"))
    assert found.dims == ("time", "y", "x") and [str(time) for time in found.time.values] == ["2026-05-01 %02d:00:00" % hour for hour in (0, 6, 12)]
