"""Rasters become HEALPix cells: each has the value of its place, whichever command writes it, and others open the store."""
import json
import math
import re
import subprocess

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import LITTLE, array_meta, group_meta
from support import error_of, geotransform, held_band, name_of, open_array, open_ours, run_peer, warnings_of
from test_healpix import DGGS, PLANE, dggs, plane_cells, put_store, to_raster
from writing import copy, created, driver, source

PLANE_CRS = "+proj=healpix +rot_xy=45 +ellps=WGS84"
WIDTH, HEIGHT = 1001, 503  # so that no cell's middle is on the edge of a pixel


def world(path=None, bands=1, data_type="float32", nodata=None):
    """All of the Earth in longitude and latitude, each pixel another value."""
    pixels = np.arange(bands * WIDTH * HEIGHT).reshape(bands, HEIGHT, WIDTH)
    pixels = (pixels % 251 if data_type == "uint8" else pixels).astype(data_type)
    dataset = source(pixels, (-180, 360 / WIDTH, 0, 90, 0, -180 / HEIGHT), "OGC:CRS84", nodata)
    if path:
        gdal.GetDriverByName("GTiff").CreateCopy(str(path), dataset)
    return dataset, pixels


def nearest(pixels, lon, lat):
    columns = np.clip(np.floor((lon + 180) / 360 * WIDTH).astype(int), 0, WIDTH - 1)
    return pixels[..., np.clip(np.floor((90 - lat) / 180 * HEIGHT).astype(int), 0, HEIGHT - 1), columns]


def as_zarr_python(store, path, tmp_path):
    """Values, longitudes and latitudes of cells."""
    run_peer("healpix_store.py", store, path, tmp_path / "cells.npz")
    found = np.load(str(tmp_path / "cells.npz"))
    assert np.array_equal(found["numbers"], np.arange(found["values"].shape[-1]))
    return found["values"], found["lon"], found["lat"]


def extent(order, crs=PLANE_CRS):
    """-te and -ts of the plane, as PROJ has its size, by a micrometre inwards."""
    plane, geographic = osr.SpatialReference(), osr.SpatialReference()
    plane.SetFromUserInput(crs)
    geographic.CopyGeogCSFrom(plane)
    geographic.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    half = math.floor(5e6 * osr.CoordinateTransformation(geographic, plane).TransformPoint(45, 0)[0] - 1) / 1e6
    return ["-te", *map(repr, (-half, -half, half, half)), "-ts", str(5 << order), str(5 << order)]


def gdalwarp(*arguments):
    return subprocess.run(["gdalwarp", "-q", "-of", "ShardedZarr", *map(str, arguments)], capture_output=True, text=True)


def cells_of(path, array="v"):
    """The elements themselves, as the row that they are."""
    return open_array(path, "/" + array, options=["HEALPIX=NO"]).ReadAsArray()


# --------------------------------------------------------------------------------------------- each cell has its place's value

@pytest.mark.parametrize("order", [0, 3, 6])
def test_healpix_copy_has_the_source_value_at_each_location(tmp_path, order):
    dataset, pixels = world()
    copy(tmp_path / "s.zarr", dataset, HEALPIX=order, ARRAY_NAME="v")
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert np.array_equal(values, nearest(pixels[0], lon, lat))


@pytest.mark.parametrize("order", [0, 3, 6])
def test_gdalwarp_to_healpix_has_the_source_value_at_each_location(tmp_path, order):
    _, pixels = world(tmp_path / "in.tif")
    done = gdalwarp("-et", 0, "-t_srs", PLANE_CRS, *extent(order), "-co", "HEALPIX=%d" % order, "-co", "ARRAY_NAME=v",
                    tmp_path / "in.tif", tmp_path / "s.zarr")
    assert (done.returncode, done.stderr) == (0, "")
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert np.array_equal(values, nearest(pixels[0], lon, lat))
    half = values[6 * 4**order:7 * 4**order]  # the face that stands at both ends of the plane
    assert len(np.unique(half)) == len(half)


def test_gdalwarp_without_the_extent_of_the_sphere_is_refused_with_it(tmp_path):
    world(tmp_path / "in.tif")
    arguments = ["-et", 0, "-t_srs", PLANE_CRS, "-co", "HEALPIX=5", tmp_path / "in.tif", tmp_path / "s.zarr"]
    done = gdalwarp(*arguments)
    assert done.returncode != 0 and not (tmp_path / "s.zarr").exists()
    told = re.search(r"(-te .* -ts 160 160)", done.stderr).group(1).split()
    assert gdalwarp(*told, *arguments).returncode == 0
    copied = copy(tmp_path / "t.zarr", world()[0], HEALPIX=5)
    assert np.array_equal(open_ours(str(tmp_path / "s.zarr")).ReadAsArray(), copied.ReadAsArray(), equal_nan=True)


def test_gdalwarp_onto_a_map_that_is_there(tmp_path):
    dataset, pixels = world(tmp_path / "in.tif")
    copy(tmp_path / "s.zarr", source(np.full((4, 8), -5, "float32"), (-180, 45, 0, 90, 0, -45), "OGC:CRS84"), HEALPIX=5, ARRAY_NAME="v")
    part = tmp_path / "part.tif"
    gdal.Translate(str(part), dataset, srcWin=[0, 100, 200, 150])
    done = subprocess.run(["gdalwarp", "-q", "-et", "0", str(part), str(tmp_path / "s.zarr")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    inside = ((lon + 180) / 360 * WIDTH < 200) & ((90 - lat) / 180 * HEIGHT >= 100) & ((90 - lat) / 180 * HEIGHT < 250)
    assert inside.sum() > 500
    assert np.array_equal(values, np.where(inside, nearest(pixels[0], lon, lat), -5))


def test_on_a_sphere_the_store_says_so_and_latitudes_are_its_own(tmp_path):
    crs = "+proj=healpix +rot_xy=45 +R=6370997"
    pixels = world()[1]
    ball = source(pixels, (-180, 360 / WIDTH, 0, 90, 0, -180 / HEIGHT), "+proj=longlat +R=6370997")
    gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / "in.tif"), ball)
    done = gdalwarp("-et", 0, "-t_srs", crs, *extent(4, crs), "-co", "HEALPIX=4", "-co", "ARRAY_NAME=v", tmp_path / "in.tif", tmp_path / "s.zarr")
    assert (done.returncode, done.stderr) == (0, "")
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert np.array_equal(values, nearest(pixels[0], lon, lat))
    assert open_ours(str(tmp_path / "s.zarr")).GetSpatialRef().GetSemiMajor() == 6370997


def test_warping_healpix_back_has_the_value_at_each_location(tmp_path):
    values = np.arange(12 * 4**6, dtype="float32")
    put_store(tmp_path / "s.zarr", 6, values)
    done = subprocess.run(["gdalwarp", "-q", "-et", "0", "-te", "-180", "-90", "180", "90", "-t_srs", "EPSG:4326", "-ts", "360", "180",
                           name_of(tmp_path / "s.zarr", "/v"), str(tmp_path / "back.tif")], capture_output=True, text=True)
    assert done.returncode == 0
    back = gdal.Open(str(tmp_path / "back.tif")).ReadAsArray()
    columns, rows = column_and_row(PLANE_CRS, geotransform(open_array(tmp_path / "s.zarr", "/v")),
                                   [(-179.5 + x, 89.5 - y) for y in range(180) for x in range(360)])
    clear = (np.abs(columns - np.round(columns)) > 1e-6) & (np.abs(rows - np.round(rows)) > 1e-6)  # of the edges of cells
    expected = plane_cells(6)[rows.astype(int), columns.astype(int)]
    assert clear.sum() > 60000 and np.array_equal(back.ravel()[clear], expected[clear])


# ------------------------------------------------------------------------------------------------ orders finer than the source

SCENES = {"in a face": (7, 45.5, 0.4), "at a pole": (5, 89.6, 70), "at 180 degrees": (179.6, 10, 0.4)}  # west, south, width


def longitude_latitude():
    srs = osr.SpatialReference()
    srs.SetFromUserInput("OGC:CRS84")
    srs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return srs


def column_and_row(crs, transform, places):
    """Of longitudes and latitudes in the plane, as numbers with fractions."""
    plane, geographic = osr.SpatialReference(), osr.SpatialReference()
    plane.SetFromUserInput(crs)
    geographic.CopyGeogCSFrom(plane)
    geographic.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    found = np.array(osr.CoordinateTransformation(geographic, plane).TransformPoints(places))
    return (found[:, 0] - transform[0]) / transform[1], (found[:, 1] - transform[3]) / transform[5]


@pytest.mark.parametrize("scene", SCENES)
def test_a_small_scene_at_a_fine_order_has_the_pixels_of_the_plain_warp(tmp_path, scene):
    west, south, width = SCENES[scene]
    order, size = 12, 50
    pixels = np.arange(1, size * size + 1, dtype="float32").reshape(1, size, size)
    small = source(pixels, (west, width / size, 0, south + 0.4, 0, -0.4 / size), "OGC:CRS84")
    made = copy(tmp_path / "s.zarr", small, HEALPIX=order, ARRAY_NAME="v")
    columns, rows = column_and_row(PLANE_CRS, geotransform(made), [(west + width / 2, south + 0.2)])
    window = [int(min(max(0, place - 64), (5 << order) - 128)) for place in (columns[0], rows[0])] + [128, 128]
    half = float(extent(order)[3])
    plain = gdal.Warp("", small, format="VRT", dstSRS=PLANE_CRS, outputBounds=(-half, -half, half, half), width=5 << order, height=5 << order,
                      errorThreshold=0, dstNodata="nan").ReadAsArray(*window)
    assert np.isfinite(plain).sum() > 400
    found = made.ReadAsArray(*window)
    cells = np.isfinite(found)
    assert np.array_equal(found[cells], plain[cells])
    lost = (np.isfinite(plain) & ~cells).sum()
    assert lost == 0 or (lost < 30 and scene == "at 180 degrees")  # those astride come from the other corner


PLACES = {  # CRS, and longitude, latitude of the north-west corner
    "in a face": ("OGC:CRS84", 7, 45.9), "in UTM": ("EPSG:32632", 8, 47), "at 180 degrees": ("OGC:CRS84", 179.99853, 10),
    "where three faces meet": ("OGC:CRS84", 44.9985, 41.8118), "where four faces meet": ("EPSG:3857", 89.9985, 0.001),
    "beside the north pole": ("EPSG:3413", -45, 89.9999), "around the south pole": ("EPSG:3031", 45, -89.998)}


@pytest.mark.parametrize("place", PLACES)
def test_a_small_scene_of_order_20_is_copied_in_seconds_with_the_pixels_of_the_plain_warp(tmp_path, place):
    crs, lon, lat = PLACES[place]
    order, size, around = 20, 40, 320
    geographic, projected = longitude_latitude(), longitude_latitude()
    projected.SetFromUserInput(crs)
    x, y, _ = osr.CoordinateTransformation(geographic, projected).TransformPoint(lon, lat)
    pixel = 1e-4 if projected.IsGeographic() else 11
    small = source(np.arange(1, size * size + 1, dtype="float32").reshape(1, size, size), (x, pixel, 0, y, 0, -pixel), crs)
    gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / "s.tif"), small)
    subprocess.run(["gdal_translate", "-q", "-of", "ShardedZarr", "-co", f"HEALPIX={order}", str(tmp_path / "s.tif"), str(tmp_path / "s.zarr")],
                   check=True, timeout=100)
    made, half = open_ours(str(tmp_path / "s.zarr")), float(extent(order)[3])
    plain = gdal.Warp("", small, format="VRT", dstSRS=PLANE_CRS, outputBounds=(-half, -half, half, half), width=5 << order,
                      height=5 << order, errorThreshold=0, dstNodata="nan")
    corners = [(x + pixel * i, y - pixel * j) for i in (1, size / 2, size - 1) for j in (1, size / 2, size - 1)]
    places = [p[:2] for p in osr.CoordinateTransformation(projected, geographic).TransformPoints(corners)]
    lost, seen = 0, set()
    for column, row in zip(*column_and_row(PLANE_CRS, geotransform(made), places)):
        window = [int(min(max(0, at - around // 2), (5 << order) - around)) for at in (column, row)] + [around, around]
        found, expected = made.ReadAsArray(*window), plain.ReadAsArray(*window)
        cells = np.isfinite(found)
        assert cells.any()
        if place == "at 180 degrees":  # face 6 is shown in both corners, and warped in that of its side
            cells &= np.isfinite(expected)
        assert np.array_equal(found[cells], expected[cells])
        lost += (np.isfinite(expected) & ~cells).sum()
        seen.update(found[cells])
    astride = 2 * size if place == "at 180 degrees" else 0  # their cells come from the other corner
    assert len(seen) >= size * size - astride and (lost == 0 or astride)


def test_a_tiny_raster_of_the_finest_order_is_copied(tmp_path):
    tiny = source(np.arange(1, 17, dtype="uint8").reshape(1, 4, 4), (400000, 0.1, 0, 5200000, 0, -0.1), "EPSG:32632")
    made = copy(tmp_path / "s.zarr", tiny, HEALPIX=28)
    (column,), (row,) = column_and_row(PLANE_CRS, geotransform(made), [
        osr.CoordinateTransformation(tiny.GetSpatialRef(), longitude_latitude()).TransformPoint(400000.2, 5199999.8)[:2]])
    found = made.ReadAsArray(int(column) - 20, int(row) - 20, 40, 40)
    assert set(found.ravel()) == set(range(17))


def test_raster_without_a_cell_centre_is_refused_at_a_fine_order(tmp_path):
    tiny = source(np.ones((1, 4, 4), "uint8"), (0, 1e-6, 0, 90, 0, -1e-6), "OGC:CRS84")  # a splinter at the pole
    assert "no pixel lies at a cell" in error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), tiny, options=["HEALPIX=22"]))


@pytest.mark.parametrize("data_type", ["uint8", "int64", "float32"])
@pytest.mark.parametrize("order", [7, 20])
def test_where_nodata_differs_between_bands_all_cells_without_a_pixel_have_that_of_the_first(tmp_path, data_type, order):
    """It is the one that is written, and so nothing has to be written where a small scene does not reach."""
    size = 0.1 if order == 7 else 1e-5
    pixels = np.ones((3, 40, 40), data_type)
    pixels[1, :, :20] = 9
    pixels[2] = 4  # without a nodata value
    small = source(pixels, (7, size, 0, 48, 0, -size), "OGC:CRS84")
    for band, nodata in ((1, 7), (2, 9)):
        small.GetRasterBand(band).SetNoDataValue(nodata)
    warnings_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), small, False, options=[f"HEALPIX={order}", "ARRAY_NAME=v"]))
    made = open_ours(str(tmp_path / "s.zarr"))
    columns, rows = column_and_row(PLANE_CRS, geotransform(made), [(7 + 20 * size, 48 - 20 * size)])
    window = [int(min(max(0, at - 120), (5 << order) - 240)) for at in (columns[0], rows[0])] + [240, 240]
    cells = made.ReadAsArray(*window)
    assert [set(band.ravel()) for band in cells] == [{1, 7}, {1, 7}, {4, 7}]
    assert [made.GetRasterBand(b).GetNoDataValue() for b in (1, 2, 3)] == [7, 7, 7]
    assert 0.3 < (cells[1] == 1).sum() / (cells[0] == 1).sum() < 0.7


def gcps_of(size, lon, lat, step, count, wobble, seed):
    """A grid of ground control points, which lie `wobble` pixels beside their places."""
    rng, points = np.random.default_rng(seed), []
    for x in np.linspace(0, size, count):
        for y in np.linspace(0, size, count):
            east, south = (x, y) + wobble * rng.normal(size=2)
            points.append(gdal.GCP(lon + step * (east + 0.1 * south), lat - step * south, 0, x, y))
    return points


def placed_by(how, tmp_path, lon, lat, step, size, seed=0):
    """A scene without a transform."""
    small = source(np.arange(1, size * size + 1, dtype="float32").reshape(1, size, size))
    if how == "geolocation":
        y, x = np.mgrid[0:size, 0:size] + 0.5
        for name, values in (("x", lon + step * (x + 0.1 * y + np.sin(y / 9))), ("y", lat - step * (y + np.cos(x / 7)))):
            gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / name) + ".tif", source(values[None]))
        small.SetMetadata({"X_DATASET": str(tmp_path / "x.tif"), "X_BAND": "1", "Y_DATASET": str(tmp_path / "y.tif"), "Y_BAND": "1",
                           "PIXEL_OFFSET": "0", "PIXEL_STEP": "1", "LINE_OFFSET": "0", "LINE_STEP": "1", "SRS": longitude_latitude().ExportToWkt()},
                          "GEOLOCATION")
    elif how == "RPC":
        half, zeros, one = size / 2, ["0"] * 20, ["1"] + ["0"] * 19
        line, sample = list(zeros), list(zeros)
        line[2], line[4], sample[1], sample[5] = "-1", "0.01", "1", "0.02"
        small.SetMetadata({"LINE_OFF": str(half), "SAMP_OFF": str(half), "LINE_SCALE": str(half), "SAMP_SCALE": str(half), "LAT_OFF": str(lat - step * half),
                           "LONG_OFF": str(lon + step * half), "LAT_SCALE": str(step * half), "LONG_SCALE": str(step * half), "HEIGHT_OFF": "0",
                           "HEIGHT_SCALE": "500", "LINE_NUM_COEFF": " ".join(line), "SAMP_NUM_COEFF": " ".join(sample), "LINE_DEN_COEFF": " ".join(one),
                           "SAMP_DEN_COEFF": " ".join(one)}, "RPC")
    else:
        small.SetGCPs(gcps_of(size, lon, lat, step, *{"4 GCPs": (2, 1), "9 GCPs": (3, 2), "25 GCPs": (5, 4)}[how], seed), longitude_latitude().ExportToWkt())
    return small


def origins(transformer, window, known):
    """(where the middles of the cells of a window (left, top, side) come from, as (cells, 2); whether they come from anywhere). What `known` has of
    other windows is taken from there: to transform takes most of the time of a test."""
    left, top, side = window
    at, there, is_new = np.zeros((side, side, 2)), np.zeros((side, side), bool), np.ones((side, side), bool)
    for (x, y, _), (others_at, others_there) in known.items():
        (x0, x1), (y0, y1) = ((max(a, b), min(a, b) + side) for a, b in ((left, x), (top, y)))
        if x0 < x1 and y0 < y1:
            here, other = np.s_[y0 - top:y1 - top, x0 - left:x1 - left], np.s_[y0 - y:y1 - y, x0 - x:x1 - x]
            at[here], there[here], is_new[here] = others_at[other], others_there[other], False
    if is_new.any():
        rows, columns = np.mgrid[top:top + side, left:left + side][:, is_new] + 0.5
        found, ok = transformer.TransformPoints(True, list(zip(columns.tolist(), rows.tolist())))
        at[is_new], there[is_new] = np.array(found)[:, :2], np.array(ok, bool)
    known[window] = at, there
    return at.reshape(-1, 2), there.ravel()


@pytest.mark.parametrize("how, lon, lat", [("4 GCPs", 7, 45.9), ("9 GCPs", 44.9985, 41.8118), ("25 GCPs", -120, -70), ("RPC", 44.9985, 41.8118),
                                           ("geolocation", 7, 45.9), ("geolocation", -120, -70)])
def test_a_scene_without_a_transform_is_copied_to_order_20_in_seconds_with_the_pixel_at_the_middle_of_each_cell(tmp_path, how, lon, lat):
    """At its edges, too, where GDAL looks for the pixels of a block with fewer points than there are cells."""
    order, size, around, step = 20, 60, 700, 1e-4
    small = placed_by(how, tmp_path, lon, lat, step, size, seed=int(abs(lat)))
    pixels = small.ReadAsArray()
    # All of the sphere takes hours.
    warnings_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), small, False, options=[f"HEALPIX={order}"]))
    made, seen, known = open_ours(str(tmp_path / "s.zarr")), 0, {}
    transformer = gdal.Transformer(small, made, [])
    for x, y in ((0.5, 0.5), (size - 0.5, 0.5), (size / 2, size / 2), (0.5, size - 0.5), (size - 0.5, size - 0.5)):
        ok, place = transformer.TransformPoint(False, x, y)
        assert ok
        left, top = (int(min(max(0, at - around // 2), (5 << order) - around)) for at in place[:2])
        at, there = origins(transformer, (left, top, around), known)
        at = np.nan_to_num(at, posinf=-1)
        inside = there & (at > 0).all(1) & (at < size).all(1)
        clear = (np.abs(at - np.round(at)) > 1e-4).all(1) | ~there  # of the edges of pixels
        ix, iy = np.clip(np.floor(np.where(inside[:, None], at, 0)).astype(int), 0, size - 1).T
        expected = np.where(inside, pixels[iy, ix], np.nan)
        assert np.array_equal(made.ReadAsArray(left, top, around, around).ravel()[clear], expected[clear], equal_nan=True)
        seen += inside.sum()
    assert seen > 5000


def test_failure_in_the_warp_is_an_error_and_leaves_nothing(tmp_path):
    pixels = world(tmp_path / "in.tif")[1]
    with open(str(tmp_path / "in.tif"), "r+b") as file:
        file.truncate(pixels.nbytes // 2)
    assert error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), gdal.Open(str(tmp_path / "in.tif")), options=["HEALPIX=6"]))
    assert not (tmp_path / "s.zarr").exists()


# ------------------------------------------------------------------------------------------------------------- what is stored

def test_the_store_is_of_the_dggs_convention(tmp_path):
    copy(tmp_path / "s.zarr", world()[0], HEALPIX=7, ARRAY_NAME="v", CHUNK_SHAPE=32, SHARD_SHAPE=64)
    with open(str(tmp_path / "s.zarr" / "zarr.json")) as file:
        attributes = json.load(file)["attributes"]
    assert attributes["dggs"] == {
        "name": "healpix", "refinement_level": 7, "indexing_scheme": "nested", "spatial_dimension": "cells", "coordinate": "cell_ids",
        "compression": "none", "ellipsoid": {"name": "WGS84", "semimajor_axis": 6378137.0, "inverse_flattening": 298.257223563}}
    assert [c["uuid"] for c in attributes["zarr_conventions"]] == [DGGS]
    with open(str(tmp_path / "s.zarr" / "v" / "zarr.json")) as file:
        meta = json.load(file)
    assert (meta["shape"], meta["dimension_names"], meta["chunk_grid"]["configuration"]["chunk_shape"]) == ([12 * 4**7], ["cells"], [4**6])
    assert meta["codecs"][0]["configuration"]["chunk_shape"] == [4**5]


def test_xdggs_opens_it(tmp_path):
    copy(tmp_path / "s.zarr", world()[0], HEALPIX=3, ARRAY_NAME="v")
    run_peer("healpix_xdggs.py", tmp_path / "s.zarr", tmp_path / "told.json")
    with open(str(tmp_path / "told.json")) as file:
        told = json.load(file)
    _, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert (told["level"], told["scheme"], told["semi_major"]) == (3, "nested", 6378137)
    assert np.allclose(told["lat"], lat[:9]) and np.allclose(told["lon"], lon[:9] % 360)


def test_fine_orders_have_no_coordinate(tmp_path):
    driver().Create(str(tmp_path / "s.zarr"), 5 << 10, 5 << 10, 1, gdal.GDT_Byte, options=["HEALPIX=10"])
    assert not (tmp_path / "s.zarr" / "cell_ids").exists()
    with open(str(tmp_path / "s.zarr" / "zarr.json")) as file:
        assert "coordinate" not in json.load(file)["attributes"]["dggs"]


def test_bands_are_before_the_cells(tmp_path):
    dataset, pixels = world(bands=3)
    for number, name in enumerate(("a", "b", "c")):
        dataset.GetRasterBand(number + 1).SetDescription(name)
    for name, options in (("s", {}), ("t", {"INTERLEAVE": "PIXEL"})):
        made = copy(tmp_path / (name + ".zarr"), dataset, HEALPIX=4, ARRAY_NAME="v", **options)
        values, lon, lat = as_zarr_python(tmp_path / (name + ".zarr"), "v", tmp_path)
        assert np.array_equal(values, nearest(pixels, lon, lat))
        assert [made.GetRasterBand(b).GetDescription() for b in (1, 2, 3)] == ["a", "b", "c"]
    with open(str(tmp_path / "t.zarr" / "v" / "zarr.json")) as file:
        assert json.load(file)["codecs"][0]["configuration"]["chunk_shape"] == [3, 256]


def test_arrays_of_their_own_are_one_map_again(tmp_path):
    dataset, _ = world(bands=2)
    one = copy(tmp_path / "s.zarr", dataset, HEALPIX=3)
    several = copy(tmp_path / "t.zarr", dataset, HEALPIX=3, SINGLE_ARRAY="NO")
    assert np.array_equal(one.ReadAsArray(), several.ReadAsArray(), equal_nan=True)


@pytest.mark.parametrize("data_type", ["uint8", "int16", "float64", "complex64"])
def test_pixels_of_all_types(tmp_path, data_type):
    dataset, pixels = world(data_type=data_type, nodata=None if data_type == "complex64" else 7)
    made = copy(tmp_path / "s.zarr", dataset, HEALPIX=4, ARRAY_NAME="v")
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert values.dtype == data_type and np.array_equal(values, nearest(pixels[0], lon, lat))
    assert data_type == "complex64" or held_band(made).GetNoDataValue() == 7


def test_a_map_is_copied_as_it_is(tmp_path):
    values = np.random.default_rng(0).normal(size=12 * 4**5).astype("float32")
    there = open_array(put_store(tmp_path / "s.zarr", 5, values), "/v")
    made = copy(tmp_path / "t.zarr", there, HEALPIX=5, ARRAY_NAME="v")
    assert np.array_equal(cells_of(tmp_path / "t.zarr")[0], values)
    assert geotransform(made) == geotransform(there) and made.GetSpatialRef().IsSame(there.GetSpatialRef())


def test_beside_another_array(tmp_path):
    dataset, pixels = world()
    copy(tmp_path / "s.zarr", source(np.zeros((5, 5), "uint8")), ARRAY_NAME="other")
    driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, options=["APPEND_SUBDATASET=YES", "HEALPIX=3", "ARRAY_NAME=v"])
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v/v", tmp_path)
    assert np.array_equal(values, nearest(pixels[0], lon, lat))


def test_raster_without_georeferencing_is_not_copied_to_healpix(tmp_path):
    assert error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), source(np.zeros((5, 5), "uint8")), options=["HEALPIX=3"]))
    assert not (tmp_path / "s.zarr").exists()


DEGREES = {"lat#units": "degrees_north", "lon#units": "degrees_east"}


def test_a_source_without_a_crs_is_refused_unless_its_dimensions_are_in_degrees(tmp_path):
    pixels = world()[1]
    nowhere = source(pixels, (-180, 360 / WIDTH, 0, 90, 0, -180 / HEIGHT))
    message = error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), nowhere, options=["HEALPIX=3"]))
    assert "HEALPIX=3: the source: expected a CRS" in message
    assert not (tmp_path / "s.zarr").exists()
    nowhere.SetMetadata(DEGREES)
    copy(tmp_path / "s.zarr", nowhere, HEALPIX=3, ARRAY_NAME="v")
    copy(tmp_path / "t.zarr", world()[0], HEALPIX=3, ARRAY_NAME="v")
    assert np.array_equal(cells_of(tmp_path / "s.zarr"), cells_of(tmp_path / "t.zarr"))


def test_a_copy_in_which_no_pixel_finds_a_cell_is_refused(tmp_path):
    small = source(np.ones((1, 4, 4), "uint8"), (10.3, 0.05, 0, 50.2, 0, -0.05), "OGC:CRS84")
    message = error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), small, options=["HEALPIX=3"]))
    order = re.search(r"no pixel lies at a cell, .*; cells of HEALPIX=(\d+) are smaller than this raster", message).group(1)
    assert not (tmp_path / "s.zarr").exists()
    assert copy(tmp_path / "u.zarr", small, HEALPIX=order).ReadAsArray().any()
    assert copy(tmp_path / "s.zarr", source(np.ones((1, 90, 90), "uint8"), (10.3, 0.2, 0, 50.2, 0, -0.2), "OGC:CRS84"), HEALPIX=3).ReadAsArray().any()
    empty = source(np.full((1, 90, 180), 7, "uint8"), (-180, 2, 0, 90, 0, -2), "OGC:CRS84", 7)
    assert (copy(tmp_path / "t.zarr", empty, HEALPIX=3).ReadAsArray() == 7).all()  # nodata is there, too


@pytest.mark.parametrize("data_type, nodata", [("int64", -2**63), ("int64", -9999), ("uint64", 2**53), ("uint64", 255)])
def test_nodata_of_64_bits_is_kept(tmp_path, data_type, nodata):
    pixels = (np.arange(90 * 180).reshape(1, 90, 180) + 2**40).astype(data_type)
    pixels[:, 30:60] = nodata
    raster = source(pixels, (-180, 2, 0, 90, 0, -2), "OGC:CRS84")
    raster.GetRasterBand(1).SetNoDataValue(nodata)
    copy(tmp_path / "s.zarr", raster, HEALPIX=4, ARRAY_NAME="v")
    band, values = held_band(open_ours(str(tmp_path / "s.zarr"))), cells_of(tmp_path / "s.zarr")
    assert band.GetNoDataValue() == nodata
    assert 0.3 < (values == nodata).mean() < 0.6 and np.isin(values, pixels).all()


def test_warns_of_integers_that_the_warp_cannot_hold(tmp_path):
    pixels = (np.arange(90 * 180).reshape(1, 90, 180) + 2**53 + 1).astype("int64")
    raster = source(pixels, (-180, 2, 0, 90, 0, -2), "OGC:CRS84")
    assert "2^53" in error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), raster, True, options=["HEALPIX=3"]))
    _, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), raster, False, options=["HEALPIX=3"]))
    assert any("2^53" in m for m in messages)
    raster.GetRasterBand(1).SetNoDataValue(2**53 + 1)
    assert "nodata" in error_of(lambda: driver().CreateCopy(str(tmp_path / "t.zarr"), raster, False, options=["HEALPIX=3"]))


@pytest.mark.parametrize("crs, semi_major, flattening", [
    ("+proj=longlat +a=3396190 +b=3376200 +no_defs", 3396190, 169.8944), ("+proj=longlat +R=6371229 +no_defs", 6371229, 0),
    ("+proj=longlat +ellps=GRS80 +no_defs", 6378137, 298.257222101)])
def test_the_ellipsoid_of_the_source_is_that_of_the_cells(tmp_path, crs, semi_major, flattening):
    pixels = world()[1]
    copy(tmp_path / "s.zarr", source(pixels, (-180, 360 / WIDTH, 0, 90, 0, -180 / HEIGHT), crs), HEALPIX=4, ARRAY_NAME="v")
    found = open_ours(str(tmp_path / "s.zarr")).GetSpatialRef()
    assert found.GetSemiMajor() == semi_major and abs(found.GetInvFlattening() - flattening) < 1e-4
    assert np.isin(cells_of(tmp_path / "s.zarr"), pixels).all()
    if flattening:  # xdggs has names of two ellipsoids
        return
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert np.array_equal(values, nearest(pixels[0], lon, lat))


def test_resampling_of_a_copy(tmp_path):
    pixels = np.random.default_rng(0).normal(size=(720, 1440)).astype("float32")
    dataset = source(pixels, (-180, 0.25, 0, 90, 0, -0.25), "OGC:CRS84")
    made = copy(tmp_path / "s.zarr", dataset, HEALPIX=3, WARP_RESAMPLING="AVERAGE").ReadAsArray()
    whole = gdal.Warp("", dataset, format="MEM", dstSRS=PLANE_CRS, resampleAlg="average", errorThreshold=0, dstNodata="nan",
                      outputBounds=[float(v) for v in extent(3)[1:5]], width=40, height=40).ReadAsArray()
    middle = np.s_[8:32, 16:24]  # faces that stand once
    warped = ~np.isnan(whole[middle])  # not along edges of faces
    assert np.array_equal(made[middle][warped], whole[middle][warped]) and np.nanstd(made[middle][warped]) < 0.5 and warped.mean() > 0.8


@pytest.mark.parametrize("order, resampling, first", [(0, "NEAREST", 0), (0, "AVERAGE", 90), (3, "NEAREST", -180), (3, "BILINEAR", 0), (3, "AVERAGE", -180),
                                                      (3, "RMS", 90), (3, "MODE", 0), (5, "BILINEAR", 90), (5, "MODE", -180)])
def test_each_cell_of_a_whole_sphere_has_a_value(tmp_path, order, resampling, first):
    """On edges of faces, too, and on the meridian where the source begins and ends."""
    lat = 90 - 0.25 * (np.arange(720) + 0.5)
    pixels = np.repeat(lat[:, None], 1440, axis=1).astype("float32")
    if resampling == "MODE":
        pixels = np.round(pixels)
    dataset = source(pixels, (first, 0.25, 0, 90, 0, -0.25), "OGC:CRS84")
    copy(tmp_path / "s.zarr", dataset, HEALPIX=order, WARP_RESAMPLING=resampling, ARRAY_NAME="v")
    values, _, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert not np.isnan(values).any()
    expected = np.abs(lat) if resampling == "RMS" else lat
    width = {0: 30, 3: 8, 5: 2.5}[order]  # degrees of a cell, about
    assert np.abs(values - expected).max() < width


@pytest.mark.parametrize("invalid, resampling", [("nodata", "NEAREST"), ("nodata", "RMS"), ("mask", "BILINEAR"), ("mask", "AVERAGE"), ("alpha", "MODE"),
                                                 ("alpha", "BILINEAR"), ("NaN", "NEAREST"), ("NaN", "AVERAGE")])
def test_cells_whose_middle_is_not_valid_in_the_source_stay_empty(tmp_path, invalid, resampling):
    pixels = np.full((1 + (invalid == "alpha"), 720, 1440), 5, "float32")
    pixels[:, :, 720:] = {"nodata": -9999, "mask": 777, "alpha": 0, "NaN": np.nan}[invalid]
    dataset = source(pixels, (-180, 0.25, 0, 90, 0, -0.25), "OGC:CRS84")
    if invalid == "nodata":
        dataset.GetRasterBand(1).SetNoDataValue(-9999)
    elif invalid == "mask":
        dataset.CreateMaskBand(gdal.GMF_PER_DATASET)
        dataset.GetRasterBand(1).GetMaskBand().WriteArray(np.uint8(255) * (pixels[0] == 5))
    elif invalid == "alpha":
        pixels[1] *= 51
        dataset.GetRasterBand(1).WriteArray(np.where(pixels[1] == 0, 777, 5))
        dataset.GetRasterBand(2).WriteArray(pixels[1])
        dataset.GetRasterBand(2).SetColorInterpretation(gdal.GCI_AlphaBand)
    driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, strict=0, options=["HEALPIX=3", "WARP_RESAMPLING=" + resampling, "ARRAY_NAME=v"])
    values, lon, _ = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    values, west = (values[0] if values.ndim > 1 else values), (lon > 180) | (lon < 0)
    far = np.abs((lon + 360) % 180 - 90) < 75  # from where one half ends
    assert (values[west & far] == 5).all()
    assert np.isin(values[~west & far], [0, -9999] if invalid in ("nodata", "alpha") else []).all() or np.isnan(values[~west & far]).all()


def masked(pixels, is_valid, of_all=True):
    """A map of longitude and latitude with a mask."""
    height, width = pixels.shape[-2:]
    dataset = source(pixels, (-180, 360 / width, 0, 90, 0, -180 / height), "OGC:CRS84")
    dataset.GetRasterBand(1).CreateMaskBand(gdal.GMF_PER_DATASET if of_all else 0)
    dataset.GetRasterBand(1).GetMaskBand().WriteArray(np.uint8(255) * is_valid)
    return dataset


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data_type", ["uint8", "int16", "uint32"])
def test_masked_integers_become_nodata_or_are_refused(tmp_path, data_type, seed):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 200, (2, HEIGHT, WIDTH)).astype(data_type)
    is_valid = np.kron(rng.random((HEIGHT // 10 + 1, WIDTH // 10 + 1)) < 0.5, np.ones((10, 10), bool))[:HEIGHT, :WIDTH]
    dataset = masked(pixels, is_valid)
    message = error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, False, options=["HEALPIX=4"]))
    assert "band 1: expected a nodata value, which cells get whose pixel is not valid, found a mask alone" in message
    assert not (tmp_path / "s.zarr").exists()
    with_nodata = gdal.Translate("", dataset, format="VRT", noData=222)
    warnings_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), with_nodata, False, options=["HEALPIX=6", "ARRAY_NAME=v"]))
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert np.array_equal(values, np.where(nearest(is_valid, lon, lat), nearest(pixels, lon, lat), 222))


def test_a_mask_of_one_band_is_refused(tmp_path):
    dataset = masked(np.ones((2, 90, 180), "float32"), np.zeros((90, 180), bool), of_all=False)
    message = error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, False, options=["HEALPIX=3"]))
    assert "band 1: expected a mask for all bands, or nodata, found a mask of its own" in message


def test_integers_with_nodata_in_another_band_only_are_refused(tmp_path):
    dataset = source(np.ones((2, 90, 180), "uint8"), (-180, 2, 0, 90, 0, -2), "OGC:CRS84")
    dataset.GetRasterBand(2).SetNoDataValue(5)
    message = error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, False, options=["HEALPIX=3"]))
    assert "found that of another band alone" in message


def test_a_mask_of_a_raster_that_is_the_map_already_is_no_less_looked_at(tmp_path):
    order, n = 3, 40
    plane = gdal.GetDriverByName("MEM").Create("", n, n, 1, gdal.GDT_Float32)
    plane.SetGeoTransform(geotransform(driver().Create(str(tmp_path / "s.zarr"), n, n, 1, gdal.GDT_Byte, options=["HEALPIX=3"])))
    plane.SetProjection(PLANE_CRS)
    plane.WriteArray(np.full((n, n), 3))
    plane.CreateMaskBand(gdal.GMF_PER_DATASET)
    plane.GetRasterBand(1).GetMaskBand().WriteArray(np.uint8(255) * (np.arange(n)[:, None] + np.zeros(n) < 20))
    warnings_of(lambda: driver().CreateCopy(str(tmp_path / "t.zarr"), plane, False, options=[f"HEALPIX={order}", "ARRAY_NAME=v"]))
    found = open_ours(str(tmp_path / "t.zarr")).ReadAsArray()
    inside = pixels_that_count(order)
    assert (found[:20][inside[:20]] == 3).all() and np.isnan(found[20:][inside[20:]]).all()


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_map_of_whole_numbers_is_copied_to_another_order_where_it_has_all_cells(tmp_path, is_whole):
    """Its mask tells where faces are; of listed cells it tells which there are."""
    cells = np.arange(12 * 4**4)[:None if is_whole else 1000].astype("uint64")
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta(dggs(4, coordinate="cell_ids"))})
    for name, values in (("v", cells.astype("int32")), ("cell_ids", cells)):
        meta = array_meta(values.shape, str(values.dtype), values.shape, [LITTLE], dimension_names=["cells"], attributes={"gdal:no_nodata": True})
        oracle.write("%s/%s" % (tmp_path / "s.zarr", name), meta, values)
    there = open_array(str(tmp_path / "s.zarr"), "/v")
    if is_whole:
        copy(tmp_path / "t.zarr", there, HEALPIX=3, ARRAY_NAME="v")
        found = cells_of(tmp_path / "t.zarr")[0]
        assert np.array_equal(found // 4, np.arange(768))
        copy(tmp_path / "u.zarr", open_ours(name_of(tmp_path / "s.zarr", "/v:face=3")), HEALPIX=3, ARRAY_NAME="v")
        assert np.array_equal(cells_of(tmp_path / "u.zarr")[0] // 4, np.where(np.arange(768) // 64 == 3, np.arange(768), 0))
    else:
        assert "found a mask alone" in error_of(lambda: driver().CreateCopy(str(tmp_path / "t.zarr"), there, False, options=["HEALPIX=3"]))


# --------------------------------------------------------------------------------------------------------------------- windows

def pixels_that_count(order):
    """Which pixels of the plane are what is stored of their cell: of face 6 those on their side of 180 degrees."""
    n = 1 << order
    east = np.arange(n)[None, :] >= np.arange(n)[::-1, None]
    return np.block([[east if f == 6 and c == 0 else ~east if f == 6 else np.full((n, n), f >= 0) for c, f in enumerate(row)] for row in PLANE])


@pytest.mark.parametrize("chunk, shard", [(8, 16), (32, 32), (2, 8)])
def test_any_window_is_written(tmp_path, chunk, shard):
    order, n = 5, 5 << 5
    rng = np.random.default_rng(chunk)
    dataset = driver().Create(str(tmp_path / "s.zarr"), n, n, 2, gdal.GDT_Int32,
                              options=["HEALPIX=5", "CHUNK_SHAPE=%d" % chunk, "SHARD_SHAPE=%d" % shard, "ARRAY_NAME=v"])
    expected = np.zeros((2, 12 * 4**order), "int32")
    cells, counts = plane_cells(order), pixels_that_count(order)
    for k in range(40):
        x, y = (int(v) for v in rng.integers(0, n, 2))
        width, height = int(rng.integers(1, n - x + 1)), int(rng.integers(1, n - y + 1))
        if k % 2:
            width, height = min(width, 7), min(height, 7)
        values = rng.integers(1, 1 << 30, (2, height, width)).astype("int32")
        dataset.WriteArray(values, x, y)
        window = np.s_[y:y + height, x:x + width]
        expected[:, cells[window][counts[window]]] = values[:, counts[window]]
        if k == 20:
            assert np.array_equal(dataset.ReadAsArray(), [to_raster(v, order, 0) for v in expected])
    dataset = None
    assert np.array_equal(cells_of(tmp_path / "s.zarr"), expected)


def test_buffers_of_another_type_with_strides(tmp_path):
    n = 5 << 3
    values = np.random.default_rng(3).integers(0, 250, (n, n)).astype("float64")
    dataset = driver().Create(str(tmp_path / "s.zarr"), n, n, 1, gdal.GDT_Byte, options=["HEALPIX=3", "ARRAY_NAME=v"])
    wide = np.full((n, n, 2), 99.0)
    wide[:, :, 0] = values
    dataset.WriteRaster(0, 0, n, n, wide.tobytes(), n, n, gdal.GDT_Float64, buf_pixel_space=16, buf_line_space=16 * n)
    dataset = None
    expected = np.zeros(768)
    counts = pixels_that_count(3)
    expected[plane_cells(3)[counts]] = values[counts]
    assert np.array_equal(cells_of(tmp_path / "s.zarr")[0], expected)


def test_blocks_are_written_as_windows_are(tmp_path):
    values = np.random.default_rng(6).normal(size=(320, 320)).astype("float32")
    dataset = driver().Create(str(tmp_path / "s.zarr"), 640, 640, 1, gdal.GDT_Float32, options=["HEALPIX=7", "ARRAY_NAME=v"])
    dataset.WriteRaster(0, 0, 640, 640, values.tobytes(), 320, 320)  # of another size: GDAL goes by blocks
    dataset = None
    expected, counts = np.full(12 * 4**7, np.nan, "float32"), pixels_that_count(7)
    expected[plane_cells(7)[counts]] = np.repeat(np.repeat(values, 2, 0), 2, 1)[counts]
    assert np.array_equal(cells_of(tmp_path / "s.zarr")[0], expected)


def test_a_face_is_written_by_itself(tmp_path):
    created(tmp_path / "s.zarr", np.zeros((1, 40, 40), "int16"), HEALPIX=3, ARRAY_NAME="v")
    values = np.random.default_rng(4).integers(1, 1000, (8, 8)).astype("int16")
    face = gdal.OpenEx(name_of(tmp_path / "s.zarr", "/v:face=6"), gdal.OF_RASTER | gdal.OF_UPDATE)
    face.WriteArray(values)
    face = None
    assert np.array_equal(open_ours(name_of(tmp_path / "s.zarr", "/v:face=6")).ReadAsArray(), values)
    assert not open_ours(name_of(tmp_path / "s.zarr", "/v:face=5")).ReadAsArray().any()


def test_unwritten_cells_are_nodata(tmp_path):
    dataset = driver().Create(str(tmp_path / "s.zarr"), 320, 320, 1, gdal.GDT_Int16, options=["HEALPIX=6", "ARRAY_NAME=v"])
    dataset.GetRasterBand(1).SetNoDataValue(-9)
    dataset.GetRasterBand(1).WriteArray(np.full((64, 64), 5, "int16"), 128, 128)  # face 4
    dataset.GetRasterBand(1).WriteArray(np.full((64, 64), 6, "int16"), 256, 0)  # of no face
    dataset = None
    cells = cells_of(tmp_path / "s.zarr")[0]
    assert (cells[4 * 4096:5 * 4096] == 5).all() and (np.delete(cells, np.s_[4 * 4096:5 * 4096]) == -9).all()
    band = held_band(open_ours(str(tmp_path / "s.zarr")))
    assert band.GetNoDataValue() == -9 and (band.ReadAsArray()[:64, 256:] == -9).all()


def test_a_map_of_another_writer_is_changed(tmp_path):
    path = put_store(tmp_path / "s.zarr", 4)
    dataset = gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.GetRasterBand(1).WriteArray(np.full((1, 3), -77), 40, 37)
    dataset = None
    expected = np.arange(12 * 4**4)
    expected[plane_cells(4)[37, 40:43]] = -77
    assert np.array_equal(cells_of(path)[0], expected)


def test_a_small_window_of_a_fine_order(tmp_path):
    order = 20
    dataset = driver().Create(str(tmp_path / "s.zarr"), 5 << order, 5 << order, 1, gdal.GDT_Float32, options=["HEALPIX=%d" % order, "ARRAY_NAME=v"])
    values = np.random.default_rng(5).normal(size=(70, 90)).astype("float32")
    x, y = (5 << order) // 2 - 45, (5 << order) // 2 - 35
    dataset.GetRasterBand(1).WriteArray(values, x, y)
    dataset = None
    band = held_band(open_ours(str(tmp_path / "s.zarr")))
    assert np.array_equal(band.ReadAsArray(x, y, 90, 70), values)
    assert np.isnan(band.ReadAsArray(x - 5, y, 5, 70)).all()


# ------------------------------------------------------------------------------------------------------------------- refusals

@pytest.mark.parametrize("options, message", [
    (["HEALPIX=29"], "0 to 28"), (["HEALPIX=x"], "0 to 28"), (["HEALPIX=-1"], "0 to 28"), (["HEALPIX=3", "OVERVIEWS=2"], "OVERVIEWS"),
    (["HEALPIX=5", "CHUNK_SHAPE=10"], "power of two"), (["HEALPIX=5", "CHUNK_SHAPE=8,16"], "power of two"),
    (["HEALPIX=5", "CHUNK_SHAPE=[8,24]"], "power of two"), (["HEALPIX=5", "CHUNK_SHAPE=8", "SHARD_SHAPE=24"], "power of two"),
    (["HEALPIX=3", "DIM_NAMES=y,x"], "one name"), (["HEALPIX=3", "ARRAY_NAME=cells"], "dimension"), (["HEALPIX=3", "ARRAY_NAME=cell_ids"], "coordinate"),
    (["WARP_RESAMPLING=CUBIC"], "HEALPIX"), (["HEALPIX=3", "WARP_RESAMPLING=odd"], "WARP_RESAMPLING")])
def test_contradicting_healpix_options_are_refused(tmp_path, options, message):
    assert message in error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), world()[0], options=options))
    assert not (tmp_path / "s.zarr").exists()


def test_setting_other_georeferencing_of_healpix_is_refused(tmp_path):
    dataset = driver().Create(str(tmp_path / "s.zarr"), 40, 40, 1, gdal.GDT_Byte, options=["HEALPIX=3"])
    before = geotransform(dataset)
    assert "-te" in error_of(lambda: dataset.SetGeoTransform((0, 1, 0, 0, 0, -1)))
    for crs in ("EPSG:4326", "+proj=healpix +ellps=WGS84", "+proj=healpix +rot_xy=45 +lon_0=10 +ellps=WGS84", "+proj=healpix +rot_xy=45 +ellps=WGS84 +units=km"):
        srs = osr.SpatialReference()
        srs.SetFromUserInput(crs)
        assert "rot_xy=45" in error_of(lambda: dataset.SetSpatialRef(srs)), crs
    assert geotransform(dataset) == before


def test_overviews_and_masks_of_cells_are_refused(tmp_path):
    dataset = driver().Create(str(tmp_path / "s.zarr"), 40, 40, 1, gdal.GDT_Byte, options=["HEALPIX=3"])
    assert "HEALPix" in error_of(lambda: dataset.BuildOverviews("NEAREST", [2]))
    assert "HEALPix" in error_of(lambda: dataset.CreateMaskBand(gdal.GMF_PER_DATASET))


def test_mask_that_is_lost_in_a_healpix_copy_is_warned_of(tmp_path):
    dataset, _ = world()
    dataset.CreateMaskBand(gdal.GMF_PER_DATASET)
    dataset.GetRasterBand(1).GetMaskBand().Fill(255)
    _, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, False, options=["HEALPIX=3"]))
    assert any("mask" in m for m in messages)
    assert "mask" in error_of(lambda: driver().CreateCopy(str(tmp_path / "t.zarr"), dataset, True, options=["HEALPIX=3"]))


def test_listed_cells_that_are_not_all_are_read_only(tmp_path):
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta(dggs(2, coordinate="cell_ids"))})
    order = np.arange(192)[::-1].astype("uint64")
    for name, values in (("v", order.astype("int32")), ("cell_ids", order)):
        meta = array_meta(values.shape, str(values.dtype), values.shape, [LITTLE], dimension_names=["cells"])
        oracle.write("%s/%s" % (tmp_path / "s.zarr", name), meta, values)
    assert "HEALPIX=NO" in error_of(lambda: gdal.OpenEx(name_of(tmp_path / "s.zarr", "/v"), gdal.OF_RASTER | gdal.OF_UPDATE))
