"""Overviews of what Create() makes: those of a copy, made when the dataset is closed; and what a close that fails or is killed leaves."""
import os
import random

import numpy as np
import pytest
from osgeo import gdal

import oracle
import support
from stores import plain_meta
from support import GDAL, assert_same, error_of, held_band, levels_of, open_array, open_ours, read_all, subdatasets
from writing import UTM, arrays, check_consolidated, copy, created, document, driver, files_of, source

PIXELS = np.random.default_rng(3).integers(1, 250, (3, 90, 120)).astype("uint8")
CHUNKS = ["CHUNK_SHAPE=16", "SHARD_SHAPE=32", "ARRAY_NAME=v"]


def assert_levels(actual, expected, count):
    assert len(actual) == len(expected) == count
    for level, wanted in zip(actual, expected):
        assert_same(level, wanted)


def sizes(path):
    """Widths of the levels of a store, and that the overviews in it are those that its metadata list."""
    band = open_ours(str(path)).GetRasterBand(1)
    dataset = open_ours(str(path))
    found = [dataset.GetRasterBand(1).GetOverview(i).XSize for i in range(dataset.GetRasterBand(1).GetOverviewCount())]
    assert band is not None and len([name for name in arrays(path) if "ovr_" in name]) == len(found)
    return found


def close(dataset, watch=lambda message: None):
    """Closes, with an exception where that fails; `watch` is called with all messages."""
    errors = []

    def handler(level, number, message):
        watch(message)
        if level >= gdal.CE_Failure:
            errors.append(message)
    gdal.PushErrorHandler(handler)
    try:
        if GDAL >= 3080000:
            support.close(dataset)
        else:  # has no error in Python
            dataset.__swig_destroy__(dataset)
            dataset.this = None
    finally:
        gdal.PopErrorHandler()
    if errors:
        raise RuntimeError("\n".join(errors))


# ----------------------------------------------------------------------------------------------------------------- values

def kinds():
    plain = source(PIXELS, UTM, "EPSG:32633")
    masked = source(np.where(PIXELS < 60, 7, PIXELS), UTM, "EPSG:32633", 7)
    floats = source(PIXELS.astype("float32") / 3, UTM, "EPSG:32633", float("nan"))
    palette = source(PIXELS[0] % 5, UTM, "EPSG:32633")
    table = gdal.ColorTable()
    for value in range(5):
        table.SetColorEntry(value, (value * 50, 255 - value * 50, value, 255))
    palette.GetRasterBand(1).SetColorTable(table)
    return {"plain": plain, "nodata": masked, "floats": floats, "palette": palette}


@pytest.mark.parametrize("kind, options, warping", [
    ("plain", [], []), ("plain", ["RESAMPLING=CUBIC"], []), ("plain", ["OVERVIEWS=3,5", "RESAMPLING=NEAREST"], []), ("plain", ["INTERLEAVE=PIXEL"], ["-dstalpha"]),
    ("nodata", [], []), ("nodata", ["RESAMPLING=MODE", "CHUNK_ORDER=HILBERT"], []), ("floats", [], []), ("palette", [], []),
    ("palette", ["RESAMPLING=AVERAGE"], [])], ids=str)
def test_a_warp_to_a_store_has_the_overviews_of_a_copy_of_the_same_warp(tmp_path, kind, options, warping):
    warping = ["-t_srs", "EPSG:4326", *warping]
    gdal.Warp(str(tmp_path / "a.tif"), kinds()[kind], options=list(warping))
    copied = copy(tmp_path / "copy.zarr", gdal.Open(str(tmp_path / "a.tif")), **dict(o.split("=", 1) for o in ["OVERVIEWS=AUTO", *CHUNKS, *options]))
    gdal.Warp(str(tmp_path / "a.zarr"), kinds()[kind], format="ShardedZarr", creationOptions=CHUNKS + options, options=list(warping))
    made = open_ours(str(tmp_path / "a.zarr"))
    assert_levels(levels_of(made), levels_of(copied), 3 if "OVERVIEWS=3,5" in options else 4)
    ours, theirs = document(tmp_path / "a.zarr")["attributes"]["multiscales"], document(tmp_path / "copy.zarr")["attributes"]["multiscales"]
    assert ours == theirs
    check_consolidated(tmp_path / "a.zarr")
    assert [name for name in files_of(tmp_path / "a.zarr") if name.endswith(".tmp")] == []


@pytest.mark.parametrize("options, widths", [([], [60, 30, 15]), (["OVERVIEWS=NONE"], []), (["OVERVIEWS=4"], [30]), (["CHUNK_SHAPE=128"], []),
                                             (["CHUNK_SHAPE=512", "OVERVIEWS=AUTO"], [])], ids=str)
def test_levels_are_those_of_the_option(tmp_path, options, widths):
    created(tmp_path / "a.zarr", PIXELS, **{"CHUNK_SHAPE": 16, "OVERVIEWS": "AUTO", **dict(o.split("=") for o in options)})
    assert sizes(tmp_path / "a.zarr") == widths


def test_a_raster_that_is_appended_gets_overviews_of_its_own(tmp_path):
    copy(tmp_path / "a.zarr", source(PIXELS), ARRAY_NAME="one", CHUNK_SHAPE=16)
    created(tmp_path / "a.zarr", PIXELS[:1] + 1, ARRAY_NAME="two", APPEND_SUBDATASET="YES", CHUNK_SHAPE=16, OVERVIEWS="AUTO")
    assert sorted(subdatasets(open_ours(str(tmp_path / "a.zarr")))) == ["/one", "/two/two"]
    expected = copy(tmp_path / "b.zarr", source(PIXELS[:1] + 1), CHUNK_SHAPE=16, OVERVIEWS="AUTO")
    assert_levels(levels_of(open_array(tmp_path / "a.zarr", "/two/two")), levels_of(expected), 4)
    assert_levels(levels_of(open_array(tmp_path / "a.zarr", "/one")), [PIXELS], 1)
    check_consolidated(tmp_path / "a.zarr")


# -------------------------------------------------------------------------------------------------------- who gets none

def test_unwritten_raster_gets_no_overviews_and_is_not_read(tmp_path):
    dataset = driver().Create(str(tmp_path / "a.zarr"), 1000000, 1000000, 1)  # a terabyte
    dataset.SetGeoTransform(UTM)
    dataset.GetRasterBand(1).SetNoDataValue(7)
    dataset.GetRasterBand(1).SetDescription("empty")
    dataset.FlushCache()
    close(dataset)
    assert sizes(tmp_path / "a.zarr") == [] and open_ours(str(tmp_path / "a.zarr")).ReadAsArray(5, 5, 1, 1)[0, 0] == 7
    assert "multiscales" not in document(tmp_path / "a.zarr")["attributes"]


def test_overviews_built_by_the_caller_are_kept_on_close(tmp_path):
    dataset = driver().Create(str(tmp_path / "a.zarr"), 120, 90, 3, options=CHUNKS)
    dataset.WriteArray(PIXELS)
    dataset.BuildOverviews("NEAREST", [3])
    close(dataset)
    assert sizes(tmp_path / "a.zarr") == [40]
    expected = source(PIXELS)
    expected.BuildOverviews("NEAREST", [3])
    assert_levels(levels_of(open_ours(str(tmp_path / "a.zarr"))), levels_of(expected), 2)


# --------------------------------------------------------------------------------------------- a close that does not succeed

def spoil(store):
    """Puts an array of somebody else where the group of a level would be."""
    os.makedirs(os.path.join(store, "ovr_2x"))
    oracle.put(os.path.join(store, "ovr_2x"), {"zarr.json": plain_meta((4,), "uint8")})


def test_close_reports_failed_overviews_and_the_raster_is_complete(tmp_path):
    dataset = driver().Create(str(tmp_path / "a.zarr"), 120, 90, 3, options=CHUNKS)
    dataset.WriteArray(PIXELS)
    dataset.FlushCache()
    spoil(str(tmp_path / "a.zarr"))
    message = error_of(close, dataset)
    assert "ovr_2x" in message and "found an array" in message
    found = open_array(tmp_path / "a.zarr", "/v")
    assert_levels(levels_of(found), [PIXELS], 1)


def test_replacement_has_its_overviews_before_it_is_published(tmp_path):
    path = created(tmp_path / "a.zarr", PIXELS[:1], ARRAY_NAME="old")
    dataset = driver().Create(path, 120, 90, 3, options=["CHUNK_SHAPE=16", "ARRAY_NAME=new"])
    dataset.WriteArray(PIXELS)
    names = [(tmp_path / name) for name in os.listdir(str(tmp_path)) if name != "a.zarr"]
    seen = []
    gdal.SetConfigOption("CPL_DEBUG", "ShardedZarr")
    try:
        close(dataset, lambda message: seen.append((message, "old" in arrays(path), names[0].exists())))
    finally:
        gdal.SetConfigOption("CPL_DEBUG", None)
    assert [state for message, *state in seen if "3 overviews" in message] == [[True, True]]
    assert os.listdir(str(tmp_path)) == ["a.zarr"] and sizes(path) == [60, 30, 15] and "old" not in arrays(path)


@pytest.mark.skipif(GDAL < 3130000, reason="Close() has progress from GDAL 3.13 on")
def test_closing_reports_progress_and_can_be_stopped(tmp_path):
    for stop in (False, True):
        dataset = driver().Create(str(tmp_path / "a.zarr"), 120, 90, 3, options=CHUNKS)
        assert not dataset.GetCloseReportsProgress()
        dataset.WriteArray(PIXELS)
        assert dataset.GetCloseReportsProgress()
        shown = []
        report = lambda done, *_: shown.append(done) or not stop  # noqa: E731
        if stop:
            assert "terminated" in error_of(dataset.Close, callback=report)
        else:
            dataset.Close(callback=report)
            assert shown == sorted(shown) and shown[-1] == 1 and len(shown) > 3
        assert sizes(tmp_path / "a.zarr") == ([] if stop else [60, 30, 15])
        assert_same(read_all(open_ours(str(tmp_path / "a.zarr"))), PIXELS)


def refused_before_pixels(tmp_path, dataset, *options):
    """The messages of a copy that is refused before anything is there."""
    steps = []
    message = error_of(driver().CreateCopy, str(tmp_path / "a.zarr"), dataset, 0, list(options), lambda *step: steps.append(step) or 1)
    assert steps == [] and os.listdir(str(tmp_path)) == []
    return message


@pytest.mark.parametrize("nodata, resampling, is_held", [(2**24 + 1, "CUBIC", False), (2**24 + 1, "AVERAGE", True), (2**24, "CUBIC", True), (-7, "MODE", True)])
def test_a_nodata_value_that_a_resampling_does_not_hold_is_refused_before_a_pixel_is_written(tmp_path, nodata, resampling, is_held):
    options = ["OVERVIEWS=2", "RESAMPLING=" + resampling]
    if not is_held:
        assert "found CUBIC" in refused_before_pixels(tmp_path, source(np.ones((64, 64), "int32"), nodata=nodata), *options)
    dataset = driver().Create(str(tmp_path / "a.zarr"), 64, 64, 1, gdal.GDT_Int32, options)
    band = held_band(dataset)
    assert band.SetNoDataValue(nodata) == gdal.CE_None if is_held else "found CUBIC" in error_of(band.SetNoDataValue, nodata)
    band = None
    dataset.GetRasterBand(1).Fill(3)
    dataset = None
    band = held_band(open_ours(str(tmp_path / "a.zarr")))
    assert band.GetOverviewCount() == 1 and band.GetNoDataValue() == (nodata if is_held else None)


@pytest.mark.parametrize("nodata, is_held", [(3.3, False), (-9999, False), (0, True), (-8, True), (float("nan"), True)])
def test_a_nodata_value_that_bitround_does_not_keep_is_refused_when_it_is_set(tmp_path, nodata, is_held):
    dataset = driver().Create(str(tmp_path / "a.zarr"), 64, 64, 1, gdal.GDT_Float32, ["BITROUND=3"])
    band = held_band(dataset)
    assert band.SetNoDataValue(nodata) == gdal.CE_None if is_held else "BITROUND" in error_of(band.SetNoDataValue, nodata)
    band = None
    dataset.GetRasterBand(1).Fill(3)
    dataset = None
    assert np.all(open_ours(str(tmp_path / "a.zarr")).ReadAsArray() == 3)


CLOSES = """
import sys
import numpy as np
from osgeo import gdal
gdal.UseExceptions()
path = sys.argv[1]
pixels = np.random.default_rng(1).integers(1, 999, (2, 600, 500)).astype("uint16")
print("ready", flush=True)
for number in range(1000):
    dataset = gdal.GetDriverByName("ShardedZarr").Create(path % number if "%" in path else path, 500, 600, 2, gdal.GDT_UInt16,
                                                         ["CHUNK_SHAPE=32", "SHARD_SHAPE=128", "ARRAY_NAME=v"])
    dataset.WriteArray(pixels + np.uint16(number % 2))
    dataset = None
"""


@pytest.mark.parametrize("replacing", [False, True])
def test_a_close_that_is_killed_leaves_a_raster_with_all_its_overviews_or_none(tmp_path, replacing):
    pixels = np.random.default_rng(1).integers(1, 999, (2, 600, 500)).astype("uint16")
    expected = [levels_of(copy(tmp_path / ("%d.copy" % i), source(pixels + np.uint16(i)), CHUNK_SHAPE=32, OVERVIEWS="AUTO")) for i in range(2)]
    moments = random.Random(5)
    for kill in range(0, 8, support.STEP):
        folder = tmp_path / str(kill)
        folder.mkdir()
        if replacing:
            copy(folder / "a.zarr", source(pixels), CHUNK_SHAPE=32, OVERVIEWS="AUTO", ARRAY_NAME="v")
        support.killed(moments.uniform(0, 0.5), CLOSES, folder / ("a.zarr" if replacing else "%d.zarr"))
        stores = sorted(name for name in os.listdir(str(folder)) if not name.startswith("."))
        last = max(range(len(stores)), key=lambda i: int(stores[i].split(".")[0])) if not replacing and stores else None
        for i, name in enumerate(stores):
            found = levels_of(open_ours(str(folder / name)))
            parity = 0 if replacing and (found[0] == pixels).all() else 1 if replacing else int(name.split(".")[0]) % 2
            if replacing or i != last:
                assert_levels(found, expected[parity], 6)
            else:  # killed while it was written, or closed: what there is of it is right
                assert len(found) in (1, 6) and ((found[0] == expected[parity][0]) | (found[0] == 0)).all()
                assert len(found) == 1 or all((a == b).all() for a, b in zip(found, expected[parity]))
