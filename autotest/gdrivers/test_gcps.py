"""Ground control points of EOPF's Sentinel-1 GRD products, laid out as the processor lays them out."""
import os
import subprocess

import numpy as np
import oracle
import pytest
from osgeo import gdal

from stores import array_meta, group_meta, sharding
from support import error_of, held_band, open_ours
from writing import driver

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


def test_line_and_pixel_may_be_of_each_point(tmp_path):
    line, pixel = np.broadcast_to(LINES[:, None], (4, 5)).copy(), np.broadcast_to(PIXELS, (4, 5)).copy()
    dataset = grd(product(tmp_path, line=(line, DIMS), pixel=(np.ascontiguousarray(pixel.T), DIMS[::-1]), height=None))
    assert points(dataset) == expected(np.zeros((4, 5)))


def test_points_without_a_place_are_left_out(tmp_path):
    latitude, height = LATITUDE.copy(), ALTITUDE.copy()
    latitude[2, 3], height[1, 1] = np.nan, np.inf
    kept = [p[:4] + (0.0 if p[4] == 6 else p[4],) for p in expected() if p[:2] != (80, 40)]
    assert points(grd(product(tmp_path, latitude=(latitude, DIMS), height=(height, DIMS)))) == kept


@pytest.mark.parametrize("changed", [{"line": None}, {"longitude": None}, {"latitude": None}, {"pixel": (PIXELS[:4], DIMS[1:])},
                                     {"line": (LINES, ["other"])}, {"latitude": (np.zeros((300, 300)), DIMS)}, {"longitude": (np.zeros((4, 5)), DIMS)}],
                         ids=["no line", "no longitude", "no latitude", "another length", "another dimension", "too many", "blank"])
def test_odd_groups_have_none(tmp_path, changed):
    dataset = grd(product(tmp_path, **changed))
    assert dataset.GetGCPCount() == 0 and dataset.GetGCPSpatialRef() is None
    assert dataset.ReadAsArray()[3, 4] == 3 * WIDTH + 4


def test_what_cannot_be_read_is_said(tmp_path):
    root = product(tmp_path)
    name = os.path.join(root, "VV/conditions/gcp/longitude/c/0/0")
    os.remove(name)
    os.symlink(name, name)  # leads nowhere, which is not the same as not being there
    dataset = grd(root)
    assert "longitude" in error_of(dataset.GetGCPCount)


def test_gdalwarp_and_a_copy_take_them(tmp_path):
    """The place of a pixel, as GDAL's own polynomial of the points has it: the same as from a GeoTIFF with them."""
    root = product(tmp_path)
    name = 'SHARDEDZARR:"%s":/VV/measurements/grd' % root
    assert "ground control points" in error_of(driver().CreateCopy, str(tmp_path / "b.zarr"), held_band(grd(root)).keep, strict=1)
    subprocess.run(["gdal_translate", "-q", name, str(tmp_path / "a.tif")], check=True)
    assert points(gdal.Open(str(tmp_path / "a.tif"))) == pytest.approx(expected())
    arrays = []
    for source, target in ((name, "ours.tif"), (str(tmp_path / "a.tif"), "theirs.tif")):
        subprocess.run(["gdalwarp", "-q", "-t_srs", "EPSG:4326", source, str(tmp_path / target)], check=True)
        warped = gdal.Open(str(tmp_path / target))
        arrays.append((warped.GetGeoTransform(), warped.ReadAsArray()))
    assert arrays[0][0] == pytest.approx(arrays[1][0], rel=1e-12) and np.array_equal(arrays[0][1], arrays[1][1]) and arrays[0][1].any()
