"""Debian's rasterio and rioxarray, which share this GDAL, open, read, describe, write and copy a store as they do GeoTIFFs."""
import os
import warnings

import numpy as np
import pytest

import oracle
from stores import array_meta, group_meta, write_coordinate
from support import assert_same, name_of, need
from writing import UTM, copy, source

PIXELS = np.arange(2 * 60 * 90, dtype="int16").reshape(2, 60, 90)
PICTURE = np.random.default_rng(1).integers(1, 250, (3, 150, 130)).astype("uint8")


def module(name):
    try:
        return __import__(name)
    except ImportError:
        need("python3-" + name, False)


@pytest.fixture
def rasterio():
    module("rasterio")
    import rasterio
    import rasterio.shutil
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield rasterio


@pytest.fixture
def store(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS, UTM, "EPSG:32633", -1), CHUNK_SHAPE=16, OVERVIEWS="2")
    return str(tmp_path / "a.zarr")


def test_a_store_is_read_and_described(store, rasterio):
    for name in (store, store + "/zarr.json", name_of(store)):
        with rasterio.open(name) as dataset:
            assert dataset.driver == "ShardedZarr" and dataset.crs.to_epsg() == 32633 and dataset.nodata == -1
            assert dataset.transform.to_gdal() == UTM and dataset.overviews(1) == [2] and dataset.block_shapes == [(16, 16)] * 2
            assert_same(dataset.read(), PIXELS)
            assert_same(dataset.read(2, window=rasterio.windows.Window(7, 9, 30, 20)), PIXELS[1, 9:29, 7:37])


@pytest.mark.parametrize("compress, interleave", [("GZIP", "PIXEL"), ("ZSTD", "BAND"), ("BLOSC", "PIXEL"), ("NONE", "BAND")])
def test_the_profile_of_a_store_makes_another_and_a_geotiff(tmp_path, rasterio, compress, interleave):
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


@pytest.mark.parametrize("profile, block, levels", [({"tiled": True, "blockxsize": 32, "blockysize": 16, "interleave": "pixel"}, (16, 32), 4),
                                                    ({"tiled": False, "interleave": "band"}, (150, 130), 0)])  # one chunk
def test_a_raster_is_written_with_the_profile_of_a_geotiff_and_has_overviews(tmp_path, rasterio, caplog, profile, block, levels):
    place = {"crs": "EPSG:32633", "transform": rasterio.transform.from_origin(500000, 5000000, 10, 10)}
    with rasterio.open(str(tmp_path / "a.tif"), "w", driver="GTiff", width=130, height=150, count=3, dtype="uint8", **place, **profile) as tiff:
        tiff.write(PICTURE)
    with rasterio.open(str(tmp_path / "a.tif")) as tiff:
        with rasterio.open(str(tmp_path / "a.zarr"), "w", **{**tiff.profile, "driver": "ShardedZarr"}) as made:
            for _, window in tiff.block_windows(1):
                made.write(tiff.read(window=window), window=window)
    with rasterio.open(str(tmp_path / "a.zarr")) as made:
        assert_same(made.read(), PICTURE)
        assert made.block_shapes == [block] * 3 and made.crs == place["crs"] and made.transform == place["transform"]
        assert len(made.overviews(1)) == levels and made.overviews(1)[:1] == [2][:levels]
        assert [colour.name for colour in made.colorinterp] == ["red", "green", "blue"]
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_overviews_built_by_rasterio_are_kept_and_files_are_copied_and_deleted(tmp_path, rasterio, monkeypatch):
    copy(tmp_path / "a.zarr", source(PICTURE, UTM), CHUNK_SHAPE=16)
    with rasterio.open(str(tmp_path / "a.zarr"), "r+") as opened:
        opened.build_overviews([3], rasterio.enums.Resampling.nearest)
    monkeypatch.chdir(tmp_path)
    rasterio.shutil.copyfiles("a.zarr", "b.zarr")
    with rasterio.open("b.zarr") as opened:
        assert opened.overviews(1) == [3]
        assert_same(opened.read(), PICTURE)
    rasterio.shutil.delete("b.zarr")
    assert os.listdir(".") == ["a.zarr"]


def test_a_store_is_written_in_memory(rasterio):
    """MemoryFile() makes an empty file of the name first. It reads files alone: troubleshooting.md says how to read."""
    with rasterio.MemoryFile(ext=".zarr") as memory:
        place = rasterio.transform.from_origin(500000, 5000000, 10, 10)
        with memory.open(driver="ShardedZarr", width=130, height=150, count=3, dtype="uint8", transform=place) as made:
            made.write(PICTURE)
        with rasterio.open(memory.name) as made:
            assert_same(made.read(), PICTURE)


def test_rioxarray_opens_a_store_as_a_raster(store):
    with module("rioxarray").open_rasterio(store) as values:
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


def test_rioxarray_has_the_times_of_a_cube(tmp_path):
    module("cftime")  # by which rioxarray reads times
    path = tmp_path / "a.zarr"
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path / "t2m", array_meta((3, 4, 6), "float32", dimension_names=["time", "y", "x"], attributes={"units": "K"}), np.ones((3, 4, 6), "float32"))
    write_coordinate(path, "time", [0, 6, 12], {"units": "hours since 2026-05-01"}, "int64")
    write_coordinate(path, "x", np.arange(6.0), {"units": "m"})
    write_coordinate(path, "y", np.arange(4.0), {"units": "m"})
    found = module("rioxarray").open_rasterio(str(path))
    assert found.dims == ("time", "y", "x") and [str(time) for time in found.time.values] == ["2026-05-01 %02d:00:00" % hour for hour in (0, 6, 12)]
