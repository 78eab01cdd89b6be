"""Overviews: found through every convention, right to the pixel, and the only thing that a small image of a large array touches."""
import os

import numpy as np
import pytest

import oracle
from stores import MULTISCALES, SPATIAL, array_meta, convention, group_meta, random_values, sharding
from support import fixture_path, geotransform, held_band, open_array

BASE = (96, 128)


def multiscales(*layout, **more):
    registered = [convention(MULTISCALES, "multiscales"), convention(SPATIAL)]
    return {"zarr_conventions": registered, "multiscales": {"layout": list(layout)}, **more}


def entry(asset, derived_from=None, scale=2.0, **more):
    if derived_from is None:
        return {"asset": asset, **more}
    return {"asset": asset, "derived_from": derived_from, "transform": {"scale": [scale, scale], "translation": [0.0, 0.0]}, **more}


def write_level(path, shape, seed, **members):
    """One level: its values have nothing to do with those of the others, so that it shows which one was read."""
    array = random_values(np.random.default_rng(seed), "uint16", shape)
    shard = [min(s, 4) if n < len(shape) - 2 else 64 for n, s in enumerate(shape)]
    codecs = [sharding([s if n < len(shape) - 2 else 16 for n, s in enumerate(shard)])]
    meta = array_meta(shape, "uint16", shard, codecs, dimension_names=(["t"] * 3 + ["y", "x"])[-len(shape):], **members)
    oracle.write(path, meta, array)
    return array


def write_pyramid(path, form, shapes):
    """A store of a base and its overviews; returns (array of the base for the connection string, [values])."""
    names = ["base"] + ["level%d" % n for n in range(1, len(shapes))]
    if form == "groups":
        assets, paths = names, [n + "/data" for n in names]
    elif form == "arrays in groups":
        assets = paths = [n + "/data" for n in names]
    elif form == "arrays":
        assets = paths = names
    elif form == "gdal":
        assets = ["data"] + ["ovr_%dx" % round(shapes[0][-2] / shape[-2]) for shape in shapes[1:]]
        paths = ["data"] + [asset + "/data" for asset in assets[1:]]
    elif form == "ome":
        assets = paths = [str(n) for n in range(len(shapes))]
    if form == "ome":
        scales = [[b / s for b, s in zip(shapes[0], shape)] for shape in shapes]
        attributes = {"ome": {"version": "0.5", "multiscales": [{
            "axes": [{"name": "yx"[n] if len(shapes[0]) == 2 else "tyx"[n], "type": "space"} for n in range(len(shapes[0]))],
            "datasets": [{"path": p, "coordinateTransformations": [{"type": "scale", "scale": s}]} for p, s in zip(paths, scales)]}]}}
    else:
        attributes = multiscales(*(entry(a, b) for a, b in zip(assets, [None] + assets)))
    oracle.write(path, group_meta(attributes))
    levels = []
    for number, (name, shape) in enumerate(zip(paths, shapes)):
        if "/" in name:
            oracle.write(os.path.join(str(path), os.path.dirname(name)), group_meta())
        levels.append(write_level(os.path.join(str(path), name), shape, number))
    return "/" + paths[0], levels


HALVES = [(96, 128), (48, 64), (24, 32)]
FORMS = ["groups", "arrays in groups", "arrays", "gdal", "ome"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shapes", [HALVES, [(101, 77), (50, 38), (25, 19)], [(101, 77), (51, 39), (26, 20)],
                                    [(90, 60), (30, 20), (10, 7)]], ids=["halves", "rounded down", "rounded up", "thirds"])
def test_overviews_are_found_and_right(tmp_path, form, shapes):
    name, levels = write_pyramid(tmp_path, form, shapes)
    if form == "gdal" and shapes[1] == (50, 38):  # GDAL rounds up, so that these are of a base of 100 rows
        assert held_band(open_array(tmp_path, name)).GetOverviewCount() == 0
        return
    band = held_band(open_array(tmp_path, name))
    assert [(band.GetOverview(i).YSize, band.GetOverview(i).XSize) for i in range(band.GetOverviewCount())] == shapes[1:]
    for number, array in enumerate(levels[1:]):
        overview = band.GetOverview(number)
        assert overview.DataType == band.DataType and overview.GetNoDataValue() == band.GetNoDataValue()
        np.testing.assert_array_equal(overview.ReadAsArray(), array)
        np.testing.assert_array_equal(overview.ReadAsArray(1, 2, 5, 4), array[2:6, 1:6])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", [1, 2])
def test_a_small_image_touches_the_overview_alone(tmp_path, form, level):
    name, levels = write_pyramid(tmp_path, form, HALVES)
    for others in range(3):
        if others != level:
            spoil(tmp_path, form, others)
    dataset = open_array(tmp_path, name)
    height, width = HALVES[level]
    np.testing.assert_array_equal(dataset.ReadAsArray(buf_xsize=width, buf_ysize=height), levels[level])
    np.testing.assert_array_equal(dataset.GetRasterBand(1).ReadAsArray(32, 16, 64, 32, buf_xsize=64 >> level, buf_ysize=32 >> level),
                                  levels[level][16 >> level:48 >> level, 32 >> level:96 >> level])


def spoil(path, form, level):
    """Makes the chunks of a level unreadable."""
    names = {"gdal": ["data", "ovr_2x/data", "ovr_4x/data"], "ome": ["0", "1", "2"], "arrays": ["base", "level1", "level2"]}
    name = names.get(form, ["base/data", "level1/data", "level2/data"])[level]
    for folder, _, files in os.walk(path / name / "c"):
        for file in files:
            with open(os.path.join(folder, file), "wb") as opened:
                opened.write(b"spoilt")


@pytest.mark.parametrize("form", FORMS)
def test_every_band_of_a_cube_has_its_overviews(tmp_path, form):
    name, levels = write_pyramid(tmp_path, form, [(3,) + s for s in HALVES])
    dataset = open_array(tmp_path, name)
    assert dataset.RasterCount == 3
    for b in range(3):
        band = dataset.GetRasterBand(b + 1)
        assert band.GetOverviewCount() == 2
        np.testing.assert_array_equal(band.GetOverview(0).ReadAsArray(), levels[1][b])
    np.testing.assert_array_equal(dataset.ReadAsArray(buf_xsize=32, buf_ysize=24), levels[2])


def test_scale_with_an_entry_per_dimension_and_a_translation(tmp_path):
    """As topozarr writes it."""
    layout = [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": {"scale": [1.0, 2.0, 2.0], "translation": [0.0, 0.5, 0.5]}}]
    oracle.write(tmp_path, group_meta(multiscales(*layout)))
    for number, shape in enumerate([(2, 64, 64), (2, 32, 32)]):
        oracle.write(tmp_path / str(number), group_meta())
        write_level(tmp_path / str(number) / "data", shape, number)
    assert held_band(open_array(tmp_path, "/0/data"), 2).GetOverviewCount() == 1


def test_overview_levels_know_their_own_transform(tmp_path):
    layout = [entry("a", **{"spatial:transform": [10, 0, 1000, 0, -10, 2000], "spatial:shape": [64, 64]}),
              entry("b", "a", **{"spatial:transform": [20.5, 0, 1000, 0, -20.5, 2000], "spatial:shape": [31, 31]})]
    oracle.write(tmp_path, group_meta(multiscales(*layout, **{"spatial:dimensions": ["y", "x"]})))
    write_level(tmp_path / "a", (64, 64), 0)
    write_level(tmp_path / "b", (31, 31), 1)
    assert geotransform(open_array(tmp_path, "/a")) == (1000, 10, 0, 2000, 0, -10)
    assert geotransform(open_array(tmp_path, "/b")) == (1000, 20.5, 0, 2000, 0, -20.5)
    assert held_band(open_array(tmp_path, "/a")).GetOverviewCount() == 1


def test_only_arrays_of_the_same_name_and_type_are_overviews(tmp_path):
    oracle.write(tmp_path, group_meta(multiscales(entry("a"), entry("b", "a"))))
    for group in "ab":
        oracle.write(tmp_path / group, group_meta())
    write_level(tmp_path / "a/data", BASE, 0)
    write_level(tmp_path / "a/lonely", BASE, 1)
    oracle.write(tmp_path / "b/data", array_meta((48, 64), "float32", dimension_names=["y", "x"]))
    write_level(tmp_path / "b/other", (48, 64), 1)
    assert held_band(open_array(tmp_path, "/a/data")).GetOverviewCount() == 0
    assert held_band(open_array(tmp_path, "/a/lonely")).GetOverviewCount() == 0


@pytest.mark.parametrize("asset", ["../outside", "/absolute", "", ".", "missing", 5, None, "a/../a"], ids=str)
def test_assets_that_are_not_there_or_lead_outside_are_left_out(tmp_path, asset):
    store = tmp_path / "store"
    write_level(tmp_path / "outside", (48, 64), 1)
    oracle.write(store, group_meta(multiscales(entry("a"), entry(asset, "a"))))
    array = write_level(store / "a", BASE, 0)
    dataset = open_array(store, "/a")
    assert dataset.GetRasterBand(1).GetOverviewCount() == 0
    np.testing.assert_array_equal(dataset.ReadAsArray(), array)


def test_an_unreadable_overview_is_an_error_not_another_image(tmp_path):
    name, _ = write_pyramid(tmp_path, "groups", HALVES)
    spoil(tmp_path, "groups", 1)
    with pytest.raises(RuntimeError):
        open_array(tmp_path, name).ReadAsArray(buf_xsize=64, buf_ysize=48)


@pytest.mark.parametrize("name, base, first", [("root_level_multiscales", "/ar", (100, 50)),
                                               ("simple_multiscales", "/level0/ar", (100, 50)),
                                               ("simple_multiscales_ref_array", "/level0/ar", (100, 50)),
                                               ("simple_multiscales_spatial", "/level0/ar", (100, 50))])
def test_pyramids_of_gdal(name, base, first):
    dataset = open_array(fixture_path("gdal", name), base)
    band = dataset.GetRasterBand(1)
    assert (dataset.RasterYSize, dataset.RasterXSize) == (200, 100)
    assert band.GetOverviewCount() >= 1 and (band.GetOverview(0).YSize, band.GetOverview(0).XSize) == first
    assert np.isnan(band.GetOverview(0).ReadAsArray()).all()
    if name == "simple_multiscales_spatial":
        assert geotransform(dataset) == (1000, 10, 0, 2000, 0, -10)
