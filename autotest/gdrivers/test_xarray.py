"""What a user of xarray sees who gives the name of a store and nothing else: all its groups as one tree, and where each array lies."""
import numpy as np
import pytest
from osgeo import gdal

from support import ask_peer, open_array
from writing import UTM, copy, document, driver, source

PIXELS = np.arange(40 * 61, dtype="float32").reshape(40, 61)
BOUNDS = (500000, 4999600, 500610, 5000000)


def scene(values=PIXELS, transform=UTM, crs="EPSG:32633", nodata=-9):
    return source(values, transform, crs, nodata)


def append(path, dataset, name, **options):
    copy_options = {"APPEND_SUBDATASET": "YES", "ARRAY_NAME": name, "OVERVIEWS": "2", **options}
    driver().CreateCopy(str(path), dataset, options=["%s=%s" % option for option in copy_options.items()])


def check(folder, asked):
    """xarray opens the stores as trees and by their groups, and places these arrays where they are: {(store, array): (values, bounds, EPSG)}."""
    for (name, answer), (values, bounds, epsg) in zip(zip(asked, ask_peer("datatree", folder, [*asked])), asked.values()):
        assert "error" not in answer, (name, answer)
        assert all(np.array_equal(found, values, equal_nan=True) for found in answer["values"]), name
        assert answer["tree"]["epsg"] == answer["group"]["epsg"] == epsg, (name, answer)
        if bounds is None:
            assert answer["tree"]["bounds"] is answer["group"]["bounds"] is None, (name, answer)
        else:
            assert answer["tree"]["bounds"] == answer["group"]["bounds"] == pytest.approx(bounds), (name, answer)
            assert answer["tree"]["nodata"] == answer["group"]["nodata"] == -9, (name, answer)
            width, height = values.shape[-1], values.shape[-2]
            a, e = (bounds[2] - bounds[0]) / width, (bounds[1] - bounds[3]) / height
            assert answer["group"]["transform"] == pytest.approx([a, 0, bounds[0], 0, e, bounds[3]]), (name, answer)


def level(path, array, number):
    """The pixels of an overview as we read them."""
    dataset = open_array(path, array)
    pixels = dataset.GetRasterBand(1).GetOverview(number).ReadAsArray()
    assert pixels.shape[0] < PIXELS.shape[0]
    return pixels


def test_store_with_overviews_opens_as_a_tree(tmp_path):
    path = tmp_path / "scene.zarr"
    copy(path, scene(), OVERVIEWS="2,4")
    check(tmp_path, {("scene.zarr", "scene"): (PIXELS, BOUNDS, 32633), ("scene.zarr", "ovr_2x/scene"): (level(path, "/scene", 0), BOUNDS, 32633),
                     ("scene.zarr", "ovr_4x/scene"): (level(path, "/scene", 1), BOUNDS, 32633)})


@pytest.mark.parametrize("style", ["ALL", "CF"])
def test_latitudes_longitudes_and_bands_open_as_a_tree(tmp_path, style):
    values = np.stack([PIXELS, PIXELS + 1, PIXELS + 2])
    copy(tmp_path / "world.zarr", scene(values, (10, 0.25, 0, 50, 0, -0.5), "EPSG:4326"), OVERVIEWS="2,4", DIM_NAMES="time,lat,lon",
         GEOREFERENCING=style)
    check(tmp_path, {("world.zarr", "world"): (values, (10, 30, 25.25, 50), 4326)})


def test_arrays_side_by_side_open_as_a_tree(tmp_path):
    values = np.stack([PIXELS, PIXELS + 1])
    copy(tmp_path / "two.zarr", scene(values), OVERVIEWS="2", SINGLE_ARRAY="NO")
    check(tmp_path, {("two.zarr", name): (values[number], BOUNDS, 32633) for number, name in enumerate(["two_1", "two_2"])})


def test_overviews_that_gdaladdo_makes_and_removes_leave_a_tree(tmp_path):
    path = tmp_path / "scene.zarr"
    copy(path, scene())
    for levels in ([2, 8], [3]):
        gdal.Open(str(path), gdal.GA_Update).BuildOverviews("AVERAGE", levels)
    check(tmp_path, {("scene.zarr", "scene"): (PIXELS, BOUNDS, 32633)})
    for levels in ([], [4]):
        gdal.Open(str(path), gdal.GA_Update).BuildOverviews("AVERAGE", levels)
    check(tmp_path, {("scene.zarr", "ovr_4x/scene"): (level(path, "/scene", 0), BOUNDS, 32633)})
    names = document(path)["consolidated_metadata"]["metadata"]
    assert sorted(names) == ["ovr_4x", "ovr_4x/scene", "ovr_4x/spatial_ref", "ovr_4x/x_4x", "ovr_4x/y_4x", "scene", "spatial_ref", "x", "y"]


def test_appended_arrays_of_any_grid_open_as_a_tree(tmp_path):
    path = tmp_path / "many.zarr"
    smaller, elsewhere = PIXELS[:30, :33], (400000, 10, 0, 4000000, 0, -10)
    copy(path, scene(), OVERVIEWS="2")
    append(path, scene(PIXELS + 1), "same")
    append(path, scene(smaller), "smaller")
    append(path, scene(PIXELS, elsewhere), "elsewhere")
    append(path, source(PIXELS), "nowhere")
    append(path, scene(PIXELS[:, :33]), "narrow")
    append(path, scene(np.stack([PIXELS, PIXELS])), "bands", GEOREFERENCING="SPATIAL_PROJ")
    check(tmp_path, {
        ("many.zarr", "many"): (PIXELS, BOUNDS, 32633), ("many.zarr", "ovr_2x/many"): (level(path, "/many", 0), BOUNDS, 32633),
        ("many.zarr", "same/same"): (PIXELS + 1, BOUNDS, 32633), ("many.zarr", "same/ovr_2x/same"): (level(path, "/same/same", 0), BOUNDS, 32633),
        ("many.zarr", "smaller/smaller"): (smaller, (500000, 4999700, 500330, 5000000), 32633),
        ("many.zarr", "narrow/narrow"): (PIXELS[:, :33], (500000, 4999600, 500330, 5000000), 32633),
        ("many.zarr", "elsewhere/elsewhere"): (PIXELS, (400000, 3999600, 400610, 4000000), 32633)})
    names = ("same", "smaller", "elsewhere", "nowhere", "narrow")
    assert all(document(path, name, name)["dimension_names"] == ["y_" + name, "x_" + name] for name in names)
    assert open_array(path, "/nowhere/nowhere").GetGeoTransform(can_return_null=True) is None
