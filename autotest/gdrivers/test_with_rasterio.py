"""rasterio (Debian's, which shares this GDAL) writes stores as it writes GeoTIFFs: with their profile, by blocks, and copies their files."""
import importlib.util
import os
import warnings

import numpy as np
import pytest

from support import assert_same, need, open_ours, read_all
from writing import created

PIXELS = np.random.default_rng(1).integers(1, 250, (3, 150, 130)).astype("uint8")


@pytest.fixture
def rasterio():
    need("python3-rasterio", importlib.util.find_spec("rasterio"))
    import rasterio
    import rasterio.shutil
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield rasterio


@pytest.mark.parametrize("profile, block, levels", [({"tiled": True, "blockxsize": 32, "blockysize": 16, "interleave": "pixel"}, (16, 32), 4),
                                                    ({"tiled": False, "interleave": "band"}, (150, 130), 0)])  # one chunk
def test_a_raster_is_written_with_the_profile_of_a_geotiff_and_has_overviews(tmp_path, rasterio, caplog, profile, block, levels):
    place = {"crs": "EPSG:32633", "transform": rasterio.transform.from_origin(500000, 5000000, 10, 10)}
    with rasterio.open(str(tmp_path / "a.tif"), "w", driver="GTiff", width=130, height=150, count=3, dtype="uint8", **place, **profile) as tiff:
        tiff.write(PIXELS)
    with rasterio.open(str(tmp_path / "a.tif")) as tiff:
        with rasterio.open(str(tmp_path / "a.zarr"), "w", **{**tiff.profile, "driver": "ShardedZarr"}) as store:
            for _, window in tiff.block_windows(1):
                store.write(tiff.read(window=window), window=window)
    with rasterio.open(str(tmp_path / "a.zarr")) as store:
        assert_same(store.read(), PIXELS)
        assert store.block_shapes == [block] * 3 and store.crs == place["crs"] and store.transform == place["transform"]
        assert len(store.overviews(1)) == levels and store.overviews(1)[:1] == [2][:levels]
        assert [colour.name for colour in store.colorinterp] == ["red", "green", "blue"]
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_overviews_built_by_rasterio_are_kept(tmp_path, rasterio):
    place = {"crs": "EPSG:32633", "transform": rasterio.transform.from_origin(500000, 5000000, 10, 10)}
    with rasterio.open(str(tmp_path / "a.zarr"), "w", driver="ShardedZarr", width=130, height=150, count=3, dtype="uint8", chunk_shape=16, **place) as store:
        store.write(PIXELS)
        store.build_overviews([3], rasterio.enums.Resampling.nearest)
    with rasterio.open(str(tmp_path / "a.zarr")) as store:
        assert store.overviews(1) == [3]


def test_files_are_copied_and_deleted_by_names_without_a_folder(tmp_path, rasterio, monkeypatch):
    created(tmp_path / "a.zarr", PIXELS, CHUNK_SHAPE=16, OVERVIEWS="2")
    monkeypatch.chdir(tmp_path)
    rasterio.shutil.copyfiles("a.zarr", "b.zarr")
    assert_same(read_all(open_ours("b.zarr")), PIXELS)
    assert open_ours("b.zarr").GetRasterBand(1).GetOverviewCount() == 1
    rasterio.shutil.delete("b.zarr")
    assert os.listdir(".") == ["a.zarr"]


def test_a_store_is_written_in_memory(rasterio):
    """MemoryFile() makes an empty file of the name first. It reads files alone: troubleshooting.md says how to read."""
    with rasterio.MemoryFile(ext=".zarr") as memory:
        place = rasterio.transform.from_origin(500000, 5000000, 10, 10)
        with memory.open(driver="ShardedZarr", width=130, height=150, count=3, dtype="uint8", transform=place) as store:
            store.write(PIXELS)
        with rasterio.open(memory.name) as store:
            assert_same(store.read(), PIXELS)
