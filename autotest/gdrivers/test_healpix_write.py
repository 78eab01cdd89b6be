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
from support import error_of, geotransform, held_band, name_of, open_array, open_ours, run_peer
from test_healpix import DGGS, PLANE, dggs, plane_cells, put_store, to_raster
from writing import copy, driver, source

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


def on_plane(dataset, order, crs=PLANE_CRS):
    """What the documented gdalwarp makes of a raster: a pixel for each cell."""
    box, size = extent(order, crs)[1:5], 5 << order
    return gdal.Warp("", dataset, format="MEM", dstSRS=crs, outputBounds=[float(v) for v in box], width=size, height=size, errorThreshold=0,
                     dstNodata=dataset.GetRasterBand(1).GetNoDataValue() or "nan")


def gdalwarp(*arguments):
    return subprocess.run(["gdalwarp", "-q", "-of", "ShardedZarr", *map(str, arguments)], capture_output=True, text=True)


def cells_of(path, array="v"):
    """The elements themselves, as the row that they are."""
    return open_array(path, "/" + array, options=["HEALPIX=NO"]).ReadAsArray()


# --------------------------------------------------------------------------------------------- each cell has its place's value

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


def test_gdalwarp_onto_a_map_that_is_there(tmp_path):
    dataset, pixels = world(tmp_path / "in.tif")
    nothing = source(np.full((4, 8), -5, "float32"), (-180, 45, 0, 90, 0, -45), "OGC:CRS84")
    copy(tmp_path / "s.zarr", on_plane(nothing, 5), HEALPIX=5, ARRAY_NAME="v")
    part = tmp_path / "part.tif"
    gdal.Translate(str(part), dataset, srcWin=[0, 100, 200, 150])
    done = subprocess.run(["gdalwarp", "-q", "-et", "0", str(part), str(tmp_path / "s.zarr")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    inside = ((lon + 180) / 360 * WIDTH < 200) & ((90 - lat) / 180 * HEIGHT >= 100) & ((90 - lat) / 180 * HEIGHT < 250)
    assert inside.sum() > 500
    assert np.array_equal(values, np.where(inside, nearest(pixels[0], lon, lat), -5))


# ------------------------------------------------------------------------------------------------------------- what is stored

def test_the_store_is_of_the_dggs_convention(tmp_path):
    copy(tmp_path / "s.zarr", on_plane(world()[0], 7), HEALPIX=7, ARRAY_NAME="v", CHUNK_SHAPE=32, SHARD_SHAPE=64)
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
    driver().Delete(str(tmp_path / "s.zarr"))  # the coordinate is no raster beside it
    assert not (tmp_path / "s.zarr").exists()


def test_xdggs_opens_it(tmp_path):
    copy(tmp_path / "s.zarr", on_plane(world()[0], 3), HEALPIX=3, ARRAY_NAME="v")
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
        made = copy(tmp_path / (name + ".zarr"), on_plane(dataset, 4), HEALPIX=4, ARRAY_NAME="v", **options)
        values, lon, lat = as_zarr_python(tmp_path / (name + ".zarr"), "v", tmp_path)
        assert np.array_equal(values, nearest(pixels, lon, lat))
        assert [made.GetRasterBand(b).GetDescription() for b in (1, 2, 3)] == ["a", "b", "c"]
    with open(str(tmp_path / "t.zarr" / "v" / "zarr.json")) as file:
        assert json.load(file)["codecs"][0]["configuration"]["chunk_shape"] == [3, 256]


def test_a_map_is_copied_as_it_is(tmp_path):
    values = np.random.default_rng(0).normal(size=12 * 4**5).astype("float32")
    there = open_array(put_store(tmp_path / "s.zarr", 5, values), "/v")
    made = copy(tmp_path / "t.zarr", there, HEALPIX=5, ARRAY_NAME="v")
    assert np.array_equal(cells_of(tmp_path / "t.zarr")[0], values)
    assert geotransform(made) == geotransform(there) and made.GetSpatialRef().IsSame(there.GetSpatialRef())


@pytest.mark.parametrize("crs, semi_major, flattening", [
    ("+proj=longlat +a=3396190 +b=3376200 +no_defs", 3396190, 169.8944), ("+proj=longlat +R=6371229 +no_defs", 6371229, 0),
    ("+proj=longlat +ellps=GRS80 +no_defs", 6378137, 298.257222101)])
def test_the_ellipsoid_of_the_source_is_that_of_the_cells(tmp_path, crs, semi_major, flattening):
    pixels = world()[1]
    plane = on_plane(source(pixels, (-180, 360 / WIDTH, 0, 90, 0, -180 / HEIGHT), crs), 4, crs.replace("longlat", "healpix +rot_xy=45"))
    copy(tmp_path / "s.zarr", plane, HEALPIX=4, ARRAY_NAME="v")
    found = open_ours(str(tmp_path / "s.zarr")).GetSpatialRef()
    assert found.GetSemiMajor() == semi_major and abs(found.GetInvFlattening() - flattening) < 1e-4
    assert np.isin(cells_of(tmp_path / "s.zarr"), pixels).all()
    if flattening:  # xdggs has names of two ellipsoids
        return
    values, lon, lat = as_zarr_python(tmp_path / "s.zarr", "v", tmp_path)
    assert np.array_equal(values, nearest(pixels[0], lon, lat))


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


# ------------------------------------------------------------------------------------------------------------------- refusals

@pytest.mark.parametrize("options, message", [
    (["HEALPIX=29"], "0 to 28"), (["HEALPIX=x"], "0 to 28"), (["HEALPIX=-1"], "0 to 28"), (["HEALPIX=3", "OVERVIEWS=2"], "OVERVIEWS"),
    (["HEALPIX=5", "CHUNK_SHAPE=10"], "power of two"), (["HEALPIX=5", "CHUNK_SHAPE=8,16"], "power of two"),
    (["HEALPIX=5", "CHUNK_SHAPE=8", "SHARD_SHAPE=24"], "power of two"),
    (["HEALPIX=3", "DIM_NAMES=y,x"], "1 name"), (["HEALPIX=3", "ARRAY_NAME=cells"], "dimension"), (["HEALPIX=3", "ARRAY_NAME=cell_ids"], "dimension")])
def test_contradicting_healpix_options_are_refused(tmp_path, options, message):
    plane = on_plane(world()[0], 3 if "HEALPIX=3" in options else 5)
    assert message in error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), plane, options=options))
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize("kind", ["in degrees", "without a CRS", "of another order", "beside the plane"])
def test_a_copy_of_a_raster_that_is_not_the_plane_is_refused_with_the_command_that_makes_it(tmp_path, kind):
    dataset = world()[0] if kind == "in degrees" else on_plane(world()[0], 2 if kind == "of another order" else 3)
    if kind == "without a CRS":
        dataset = source(dataset.ReadAsArray())
    if kind == "beside the plane":
        dataset.SetGeoTransform([value * 1.01 for value in dataset.GetGeoTransform()])
    message = error_of(lambda: driver().CreateCopy(str(tmp_path / "s.zarr"), dataset, options=["HEALPIX=3"]))
    assert "expected the 40 x 40 pixels" in message and not (tmp_path / "s.zarr").exists()
    world(tmp_path / "in.tif")
    command = re.search(r"gdalwarp .* SOURCE TARGET", message).group(0)
    subprocess.run(command.replace("SOURCE", str(tmp_path / "in.tif")).replace("TARGET", str(tmp_path / "s.zarr")), shell=True, check=True)
    assert np.array_equal(open_ours(str(tmp_path / "s.zarr")).ReadAsArray(), copy(tmp_path / "t.zarr", on_plane(world()[0], 3), HEALPIX=3).ReadAsArray(), equal_nan=True)


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


def test_listed_cells_that_are_not_all_are_read_only(tmp_path):
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta(dggs(2, coordinate="cell_ids"))})
    order = np.arange(192)[::-1].astype("uint64")
    for name, values in (("v", order.astype("int32")), ("cell_ids", order)):
        meta = array_meta(values.shape, str(values.dtype), values.shape, [LITTLE], dimension_names=["cells"])
        oracle.write("%s/%s" % (tmp_path / "s.zarr", name), meta, values)
    assert "HEALPIX=NO" in error_of(lambda: gdal.OpenEx(name_of(tmp_path / "s.zarr", "/v"), gdal.OF_RASTER | gdal.OF_UPDATE))
