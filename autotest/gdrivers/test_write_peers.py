"""What other libraries make of what we write, and we of what they wrote: zarr-python, zarrs, tensorstore, xarray, rioxarray, GDAL's own
Zarr driver (3.13 and later, in a process without our plugin)."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import random_values
from support import GDAL, assert_same, name_of, run_peer
from writing import UTM, copy, document, source

TYPES = ["uint8", "int16", "uint16", "uint32", "int64", "uint64", "float32", "float64", "complex64"]
KINDS = {
    "gzip": dict(COMPRESS="GZIP", CHUNK_CHECKSUM="YES"), "none": dict(COMPRESS="NONE", INDEX_LOCATION="START"),
    "zstd": dict(COMPRESS="ZSTD", CHUNK_ORDER="MORTON"), "lz4": dict(COMPRESS="BLOSC", BLOSC_CNAME="lz4", BLOSC_SHUFFLE="BYTE"),
    "default": {}, "hilbert": dict(CHUNK_ORDER="HILBERT", INDEX_LOCATION="START", CHUNK_CHECKSUM="YES"),
    "blosclz": dict(BLOSC_CNAME="blosclz", BLOSC_SHUFFLE="NONE"), "zlib": dict(BLOSC_CNAME="zlib", LEVEL=9),
    "pixel": dict(INTERLEAVE="PIXEL"), "overviews": dict(OVERVIEWS="2,3"), "cf": dict(GEOREFERENCING="CF")}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(directory, {store: values}) of rasters in every kind of encoding."""
    folder, expected, rng = tmp_path_factory.mktemp("written"), {}, np.random.default_rng(1)
    for number, (kind, options) in enumerate(KINDS.items()):
        for data_type in (TYPES[number % 9], TYPES[(number + 4) % 9]):
            path = str(folder / ("%s_%s.zarr" % (kind, data_type)))
            array = random_values(rng, data_type, [(40, 50), (3, 33, 65)][(number + len(expected)) % 2])
            array[..., :20, :30] = 0
            copy(path, source(array, UTM, "EPSG:32633"), ARRAY_NAME="v", CHUNK_SHAPE=8, SHARD_SHAPE="AUTO", **options)
            expected[path] = array
    return folder, expected


@pytest.mark.parametrize("library", ["zarr", "zarrs", "tensorstore"])
def test_others_read_equal_values(written, library):
    folder, expected = written
    run_peer("others_read.py", library, folder, "v")
    for path, array in expected.items():
        read = np.load("%s.%s.npy" % (path, library))
        assert read.dtype == array.dtype and read.tobytes() == array.tobytes(), path


def test_zarr_python_lists_all_nodes_through_the_consolidated_metadata(written):
    folder, expected = written
    run_peer("others_read.py", "zarr", folder, "v")
    for path in expected:
        with open(path + ".members.json") as file:
            members = json.load(file)
        assert {"v", "x", "y"} <= set(members)
        assert ("ovr_2x/v" in members and "ovr_3x/x" in members) == ("overviews" in path)
        assert members == {name: document(path, name).get("attributes", {}) for name in members}


# ----------------------------------------------------------------------------------------------------------------- xarray

def scenes(folder):
    """{name: (raster, transform, EPSG, nodata)}: what xarray and GDAL are asked to understand."""
    rng, found = np.random.default_rng(2), {}
    for name, data_type, bands, transform, code, nodata, options in [
            ("utm", "uint16", 1, UTM, 32633, 7, {}), ("geographic", "float32", 1, (10, 0.25, 0, 50, 0, -0.25), 4326, float("nan"), {}),
            ("bands", "int16", 3, UTM, 32633, -1, {"OVERVIEWS": "2,4"}), ("levels", "uint8", 1, UTM, 3857, 255, {"OVERVIEWS": "2,4,8"}),
            ("south", "float64", 1, (0, 10, 0, 0, 0, 10), 32733, -9999.5, {}), ("none", "uint8", 2, UTM, 25832, None, {"GEOREFERENCING": "CF"})]:
        array = random_values(rng, data_type, (bands, 40, 60))
        if data_type.startswith("float"):
            array = np.where(np.isfinite(array), array, 1).astype(data_type)
        if nodata is not None:
            array[:, 5:20, 7:33] = nodata
        path = str(folder / (name + ".zarr"))
        copy(path, source(array, transform, "EPSG:%d" % code, nodata), CHUNK_SHAPE=8, ARRAY_NAME="v", **options)
        found[path] = (array, transform, code, nodata)
    return found


def test_xarray_and_rioxarray_see_the_full_resolution(tmp_path):
    expected = scenes(tmp_path)
    run_peer("xarray_read.py", tmp_path)
    for path, (array, transform, code, nodata) in expected.items():
        with open(path + ".json") as file:
            found = json.load(file)
        values, (bands, height, width) = np.load(path + ".npz"), array.shape
        assert found["name"] == "v" and found["dims"] == ["band", "y", "x"][bands == 1:], path
        assert_same(values["raw"].reshape(array.shape), array, path)
        assert found["epsg"] == code, path
        a, b, c, d, e, f = found["transform"]
        assert (c, a, b, f, d, e) == pytest.approx(transform), path
        assert found["coordinates"]["x"] == pytest.approx(transform[0] + transform[1] * (np.arange(width) + 0.5))
        assert found["coordinates"]["y"] == pytest.approx(transform[3] + transform[5] * (np.arange(height) + 0.5))
        if nodata is None:
            assert found["nodata"] is None and not values["missing"].any()
        else:
            assert found["nodata"] == nodata or np.isnan(nodata)
            missing = np.isnan(array) if np.isnan(nodata) else array == array.dtype.type(nodata)
            np.testing.assert_array_equal(values["missing"].reshape(array.shape), missing, err_msg=path)


def test_xarray_applies_scale_and_offset(tmp_path):
    before = source(np.arange(600, dtype="int16").reshape(20, 30), UTM, "EPSG:32633", 5)
    before.GetRasterBand(1).SetScale(0.5)
    before.GetRasterBand(1).SetOffset(100)
    copy(tmp_path / "a.zarr", before)
    run_peer("xarray_read.py", tmp_path)
    values = np.load(tmp_path / "a.zarr.npz")["decoded"]
    expected = np.arange(600).reshape(20, 30) * 0.5 + 100
    expected[0, 5] = np.nan
    np.testing.assert_array_equal(values, expected)


# ------------------------------------------------------------------------------------------------------- GDAL's own driver

OWN = """
import json, sys
import numpy as np
from osgeo import gdal
gdal.UseExceptions()
assert gdal.GetDriverByName("ShardedZarr") is None
for path in sys.argv[1:]:
    d = gdal.Open(path)
    assert d.GetDriver().ShortName == "Zarr"
    b = d.GetRasterBand(1)
    np.save(path + ".own.npy", d.ReadAsArray())
    s = d.GetSpatialRef()
    json.dump({"transform": d.GetGeoTransform(can_return_null=True), "epsg": s and s.GetAuthorityCode(None), "wkt": s and s.ExportToWkt(), "nodata": b.GetNoDataValue(),
               "levels": [[b.GetOverview(i).XSize, b.GetOverview(i).YSize] for i in range(b.GetOverviewCount())]}, open(path + ".own.json", "w"))
"""


def test_gdals_own_driver_understands_all(tmp_path):
    if GDAL < 3130000:
        pytest.skip("GDAL's own driver knows sharding from 3.13 on")
    expected = scenes(tmp_path)
    done = subprocess.run([sys.executable, "-c", OWN, *expected], capture_output=True, text=True,
                          env={**os.environ, "GDAL_DRIVER_PATH": "disable", "GDAL_SKIP": "ShardedZarr"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Ignoring the asset" not in done.stderr
    for path, (array, transform, code, nodata) in expected.items():
        with open(path + ".own.json") as file:
            found = json.load(file)
        assert_same(np.load(path + ".own.npy").reshape(array.shape), array, path)
        assert found["transform"] == pytest.approx(transform), path
        srs, wanted = osr.SpatialReference(), osr.SpatialReference()
        srs.ImportFromWkt(found["wkt"])
        wanted.ImportFromEPSG(code)
        assert srs.IsSame(wanted, ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", "CRITERION=EQUIVALENT"]), path
        wanted = 0 if nodata is None else nodata  # it takes the fill value for nodata, which is 0 where there is none
        np.testing.assert_equal(found["nodata"], wanted, path)
        assert found["levels"] == {"bands": [[30, 20], [15, 10]], "levels": [[30, 20], [15, 10], [8, 5]]}.get(os.path.basename(path)[:-5], []), path


# ------------------------------------------------------------------------------------------------------ stores of others

def test_stores_of_zarr_python_are_updated_in_place(tmp_path):
    run_peer("zarr_python_update_sources.py", tmp_path)
    expected, rng = {}, np.random.default_rng(3)
    for path in sorted(tmp_path.glob("*.zarr")):
        array = np.load(str(path)[:-5] + ".npy")
        dataset = gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE)
        for _ in range(5):
            x, y, w, h = int(rng.integers(80)), int(rng.integers(60)), int(rng.integers(1, 11)), int(rng.integers(1, 11))
            array[y:y + h, x:x + w] = part = random_values(rng, "uint16", (h, w))
            dataset.GetRasterBand(1).WriteArray(part, x, y)
        array[32:64, :32] = 7
        dataset.GetRasterBand(1).WriteArray(array[32:64, :32], 0, 32)
        dataset.SetMetadataItem("ours", "yes")
        dataset.SetGeoTransform(UTM)
        dataset = None
        expected[str(path)] = array
        assert_same(oracle.read(path / "v")[1], array, path)
    for library in ("zarr", "zarrs", "tensorstore"):
        run_peer("others_read.py", library, tmp_path, "v")
        for path, array in expected.items():
            if not (library == "tensorstore" and path.endswith(("nested.zarr", "outer.zarr"))):
                assert_same(np.load("%s.%s.npy" % (path, library)), array, (library, path))
    for path in expected:
        with open(path + ".members.json") as file:
            attributes = json.load(file)["v"]
        assert attributes["ours"] == "yes" and attributes["keep"] == [1, {"a": None}]
        assert document(path)["attributes"]["title"] == "theirs" and document(path)["attributes"]["count"] == 1.5
