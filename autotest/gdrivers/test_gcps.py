"""Ground control points of EOPF's Sentinel-1 GRD products, laid out as the processor lays them out."""
import os

import numpy as np
import oracle
import pytest
from osgeo import gdal, osr

from stores import array_meta, group_meta, sharding
from support import error_of, open_ours, warnings_of
from writing import UTM, copy, document, driver, files_of
from writing import source as held

HEIGHT, WIDTH = 60, 90
LINES, PIXELS = np.array([0, 20, 40, 59], "int64"), np.array([0, 30, 60, 80, 89], "int64")
LONGITUDE = 10 + PIXELS[None, :] * 0.001 + LINES[:, None] * 0.0002
LATITUDE = 45 - LINES[:, None] * 0.001 + PIXELS[None, :] * 0.0001
ALTITUDE = np.arange(20.0).reshape(4, 5)
DIMS = ["azimuth_time", "ground_range"]


def variable(root, path, values, dims):
    oracle.write(os.path.join(root, path), array_meta(values.shape, str(values.dtype), list(values.shape), dimension_names=dims), values)


def product(tmp_path, point=1, **changed):
    """/VV/measurements/grd with /VV/conditions/gcp; `changed`: other variables of that group as (values, dimensions), or None for none."""
    root = str(tmp_path / "S01SIWGRD.zarr")
    for group in ("", "VV", "VV/measurements", "VV/conditions", "VV/conditions/gcp"):
        oracle.write(os.path.join(root, group), group_meta())
    values = np.arange(HEIGHT * WIDTH, dtype="uint16").reshape(HEIGHT, WIDTH)
    meta = array_meta(values.shape, "uint16", [32, 64], [sharding((16, 16))], dimension_names=DIMS)
    oracle.write(os.path.join(root, "VV/measurements/grd"), meta, values)
    variable(root, "VV/measurements/ground_range", np.arange(WIDTH) * 10.0, DIMS[1:])
    variable(root, "VV/measurements/azimuth_time", np.arange(HEIGHT) * 1.5 + 7, DIMS[:1])
    found = {"line": (LINES, DIMS[:1]), "pixel": (PIXELS, DIMS[1:]), "latitude": (LATITUDE, DIMS), "longitude": (LONGITUDE, DIMS), "height": (ALTITUDE, DIMS)}
    for name, what in {**found, **changed}.items():
        if what is not None:
            variable(root, "VV/conditions/gcp/" + name, *what)
    return root


def points(dataset):
    return [(p.GCPPixel, p.GCPLine, p.GCPX, p.GCPY, p.GCPZ) for p in dataset.GetGCPs()]


def expected(altitude=ALTITUDE):
    return [(PIXELS[j], LINES[i], LONGITUDE[i, j], LATITUDE[i, j], altitude[i, j]) for i in range(4) for j in range(5)]


def grd(root):
    return open_ours('SHARDEDZARR:"%s":/VV/measurements/grd' % root)


def test_points_of_a_product_are_gcps(tmp_path):
    dataset = grd(product(tmp_path))
    assert dataset.GetGCPCount() == 20 and points(dataset) == expected()
    srs = dataset.GetGCPSpatialRef()
    assert srs.IsGeographic() and srs.GetAuthorityCode(None) == "4326" and srs.GetDataAxisToSRSAxisMapping() == [2, 1]
    assert dataset.GetGeoTransform(can_return_null=True) is None  # seconds and metres of the swath are no place


@pytest.mark.parametrize("changed", [{"line": None}, {"longitude": None}, {"latitude": None}, {"pixel": (PIXELS[:4], DIMS[1:])},
                                     {"line": (LINES, ["other"])}, {"latitude": (np.zeros((300, 300)), DIMS)}, {"longitude": (np.zeros((4, 5)), DIMS)}],
                         ids=["no line", "no longitude", "no latitude", "another length", "another dimension", "too many", "blank"])
def test_malformed_groups_give_no_gcps(tmp_path, changed):
    dataset = grd(product(tmp_path, **changed))
    assert dataset.GetGCPCount() == 0 and dataset.GetGCPSpatialRef() is None
    assert dataset.ReadAsArray()[3, 4] == 3 * WIDTH + 4


def test_unreadable_gcps_are_an_error(tmp_path):
    root = product(tmp_path)
    name = os.path.join(root, "VV/conditions/gcp/longitude/c/0/0")
    os.remove(name)
    os.symlink(name, name)  # leads nowhere, which is not the same as not being there
    dataset = grd(root)
    assert "longitude" in error_of(dataset.GetGCPCount)


def test_a_copy_of_a_product_keeps_its_points(tmp_path):
    kept = copy(str(tmp_path / "b.zarr"), grd(product(tmp_path)))
    assert points(kept) == expected() and kept.GetGCPSpatialRef().GetAuthorityCode(None) == "4326"


# ------------------------------------------------------------------------------------------------- points that this driver keeps

POINTS = [gdal.GCP(500000.25, 5000000, 7.5, 0, 0), gdal.GCP(500090, 5000000, 0, 9, 0), gdal.GCP(500000, 4999920, 0, 0, 8), gdal.GCP(500093, 4999921, 0, 9.5, 7.25)]
EXPECTED = [(p.GCPPixel, p.GCPLine, p.GCPX, p.GCPY, p.GCPZ) for p in POINTS]


def srs_of(code="EPSG:32633"):
    srs = osr.SpatialReference()
    srs.SetFromUserInput(code)
    return srs


def with_points(bands=1, srs="EPSG:32633"):
    mem = held(np.arange(80 * bands, dtype="uint8").reshape(bands, 8, 10))
    mem.SetGCPs(POINTS, srs_of(srs) if srs else None)
    return mem


def update(path):
    return gdal.OpenEx(str(path), gdal.OF_RASTER | gdal.OF_UPDATE)


@pytest.mark.parametrize("srs", ["EPSG:32633", "EPSG:4326", None])
@pytest.mark.parametrize("options", [{}, {"SINGLE_ARRAY": "NO"}, {"OVERVIEWS": "2"}, {"GEOREFERENCING": "CF"}], ids=str)
def test_gcps_survive_a_copy(tmp_path, options, srs):
    path = tmp_path / "a.zarr"
    dataset = copy(path, with_points(2, srs), CHUNK_SHAPE=4, **options)
    assert points(dataset) == EXPECTED and [p.Id for p in dataset.GetGCPs()] == ["1", "2", "3", "4"]
    found = dataset.GetGCPSpatialRef()
    assert found.IsSame(srs_of(srs), ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES"]) if srs else found is None
    assert dataset.GetGeoTransform(can_return_null=True) is None and "gdal:gcps" not in dataset.GetMetadata()
    if "OVERVIEWS" in options:
        assert "gdal:gcps" not in document(path, "ovr_2x/a")["attributes"]
    again = copy(tmp_path / "b.zarr", dataset)
    assert points(again) == EXPECTED


@pytest.mark.parametrize("how", ["array", "group", "create"])
def test_gcps_are_set_in_the_store_and_not_in_a_side_car_file(tmp_path, how, config):
    config("GDAL_PAM_ENABLED", "YES")
    path = tmp_path / "a.zarr"
    if how == "create":
        dataset = driver().Create(str(path), 10, 8, 1)
    else:
        copy(path, held(np.ones((2, 8, 10), "uint8"), UTM, "EPSG:32633"), SINGLE_ARRAY="NO" if how == "group" else "YES")
        dataset = update(path)
    assert warnings_of(lambda: dataset.SetGCPs(POINTS, srs_of()))[1] == (
        [] if how == "create" else [str(path) + ": the geotransform is removed, because there are ground control points now"])
    assert points(dataset) == EXPECTED
    dataset = None
    assert not [name for name in files_of(path) if name.endswith(".aux.xml")]
    dataset = open_ours(str(path))
    assert points(dataset) == EXPECTED and dataset.GetGCPSpatialRef().GetAuthorityCode(None) == "32633"
    assert dataset.GetGeoTransform(can_return_null=True) is None
    dataset = update(path)
    dataset.SetMetadataItem("k", "v")  # leaves them alone
    dataset = None
    assert points(open_ours(str(path))) == EXPECTED
    dataset = update(path)
    assert warnings_of(lambda: dataset.SetGeoTransform(UTM))[1] == [str(path) + ": the ground control points are removed, because there is a geotransform now"]
    dataset = None
    dataset = open_ours(str(path))
    assert dataset.GetGCPCount() == 0 and dataset.GetGeoTransform() == UTM and dataset.GetGCPSpatialRef() is None
    dataset = update(path)
    dataset.SetGCPs(POINTS, None)
    dataset.FlushCache()
    dataset.SetGCPs([], None)
    dataset = None
    assert open_ours(str(path)).GetGCPCount() == 0


def test_gcps_take_the_place_of_the_crs_of_the_raster(tmp_path):
    """As in a GeoTIFF: `gdal_edit.py -gcp ... -a_srs` gives the points their CRS, and the raster has none of its own."""
    path = tmp_path / "a.zarr"
    copy(path, held(np.ones((8, 10), "uint8"), UTM, "EPSG:32634"))
    dataset = update(path)
    dataset.SetGCPs(POINTS, srs_of())
    assert dataset.GetSpatialRef() is None
    dataset = None
    dataset = open_ours(str(path))
    assert dataset.GetSpatialRef() is None and dataset.GetGCPSpatialRef().GetAuthorityCode(None) == "32633"


@pytest.mark.parametrize("said", [5, {"points": 5}, {"points": [[1, 2]]}, {"points": [[1, 2, "NaN", 3, 4]]}, {"points": [[0] * 5] * 65537}], ids=lambda said: str(said)[:30])
def test_malformed_gcp_lists_are_ignored_and_kept(tmp_path, said):
    path = tmp_path / "a.zarr"
    oracle.put(str(path), {"zarr.json": group_meta()})
    meta = array_meta((8, 10), "uint16", [8, 8], [sharding((4, 4))], attributes={"gdal:gcps": said}, dimension_names=["y", "x"])
    oracle.write(str(path / "a"), meta, np.ones((8, 10), "uint16"))
    dataset = gdal.OpenEx('SHARDEDZARR:"%s":/a' % path, gdal.OF_RASTER | gdal.OF_UPDATE)
    assert dataset.GetGCPCount() == 0 and dataset.GetGCPSpatialRef() is None
    dataset.SetMetadataItem("k", "v")
    dataset = None
    assert document(path, "a")["attributes"] == {"gdal:gcps": said, "k": "v"}


def test_points_are_set_where_levels_have_a_transform_and_no_crs(tmp_path):
    path = str(tmp_path / "a.zarr")
    copy(path, held(np.ones((1, 90, 80), "uint8"), UTM), OVERVIEWS="2", CHUNK_SHAPE=16)
    dataset = gdal.OpenEx(path, gdal.OF_UPDATE)
    dataset.SetGCPs([gdal.GCP(1, 2, 0, 3, 4), gdal.GCP(1, 5, 0, 3, 9), gdal.GCP(3, 5, 0, 30, 9)], "")
    dataset = None
    again = gdal.Open(path)
    assert again.GetGCPCount() == 3 and again.GetGeoTransform(can_return_null=True) is None and again.GetRasterBand(1).GetOverviewCount() == 1
