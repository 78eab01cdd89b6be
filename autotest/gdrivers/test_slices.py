"""Slices of arrays of many dimensions: asked for by value and by name, and listed where they are more than a dataset has bands."""
import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta, sharding, write_coordinate
from support import assert_same, error_of, open_array, open_ours, read_all, run_peer, subdatasets

SHAPE = (4, 3, 5, 2, 3)
VALUES = counting(SHAPE)
HOURS = "hours since 2026-05-01"


def write_forecast(path, **init):
    """Four runs at 0, 6, 12 and 24 h, three levels, five steps."""
    oracle.write(path, group_meta())
    oracle.write(path / "t", array_meta(SHAPE, dimension_names=["init_time", "level", "step", "y", "x"]), VALUES)
    write_coordinate(path, "init_time", [0, 6, 12, 24], {"units": HOURS, **init}, "int64")
    write_coordinate(path, "level", [1000, 850, 500], {"units": "hPa"}, "float32")
    write_coordinate(path, "step", [0, 3, 6, 9, 12], {"units": "hours"}, "int64")
    return path


def part(path, choice):
    return read_all(open_ours("SHARDEDZARR:%s:/t:%s" % (path, choice)))


def bands(values):
    return values.reshape(-1, 2, 3)


# ------------------------------------------------------------------------------------------------------------------ by value

@pytest.mark.parametrize("choice, where", [
    ("init_time=2026-05-01T06", np.s_[1]), ("init_time=2026-05-02", np.s_[3]), ("init_time=2026-05-01T12:00", np.s_[2]),
    ("init_time=2026-05-01T12:00:00:step=6", np.s_[2, :, 2]), ("init_time=first", np.s_[0]), ("init_time=last:level=last", np.s_[3, 2]),
    ("level=850", np.s_[:, 1]), ("level=8.5e2:init_time=2026-05-02T00", np.s_[3, 1]), ("step=9:level=500:init_time=first", np.s_[0, 2, 3]),
    ("step=0..2", np.s_[:, :, 0:3]), ("step=3..3", np.s_[:, :, 3:4]), ("step=1..last:init_time=1..2", np.s_[1:3, :, 1:]),
    ("init_time=2026-05-01..2026-05-01", np.s_[0:3]), ("init_time=2026-05-01T06..last", np.s_[1:]), ("init_time=first..2026-05-01T06", np.s_[:2]),
    ("init_time=2026-05-01T01:00..2026-05-02T00:00:level=1000", np.s_[1:, 0]), ("init_time=2026-05-01T06%3A00", np.s_[1]),
    ("level=0..2:init_time=2026-05-01%2006", np.s_[1])])
def test_selection_by_dimension_name_and_value(tmp_path, choice, where):
    assert_same(part(write_forecast(tmp_path), choice), bands(VALUES[where]), choice)
    quoted = open_ours('SHARDEDZARR:"%s":/t:%s' % (tmp_path, choice))
    assert_same(read_all(quoted), bands(VALUES[where]), choice)


@pytest.mark.parametrize("choice, message", [
    ("init_time=2026-05-01", "3 elements are 2026-05-01, the first are element 0 (2026-05-01T00:00:00) and 1 (2026-05-01T06:00:00)"),
    ("init_time=2026-05-03", "the last 2026-05-02T00:00:00"),
    ("level=900", "no element is 900; the first is "), ("step=1", "no element is 1; the first is 0"), ("step=-3", "no element is -3"),
    ("step=three", "expected a number"), ("init_time=6", "expected a time"), ("init_time=2026-02-30", "expected a time"),
    ("init_time=2..1", "reversed"), ("init_time=2026-05-02..2026-05-01", "reversed"), ("step=-1..2", "ends of one kind"),
    ("step=0..5", "index 5 is out of range"), ("level=850..500", "index 850 is out of range"), ("init_time=1..2026-05-02", "ends of one kind"),
    ("init_time=2026..2026-06", "ends of one kind"), ("step=2..", "ends of one kind"), ("step=a..b", "expected indices"), ("step=", "expected a number"),
    ("nothing=1", "no dimension nothing; beside X and Y there are: init_time, level, step"), ("x=1", "x is its X"), ("y=0..1", "y is its Y"),
    ("step=3:step=6", "step is given twice"), ("step=3:1", "not mixed"), ("1:step=3", "not mixed"), ("step=3:level", "not mixed")])
def test_invalid_selection_is_an_error_that_says_why(tmp_path, choice, message):
    assert message in error_of(part, write_forecast(tmp_path), choice)


def test_selected_times_follow_their_calendar(tmp_path):
    path = write_forecast(tmp_path, calendar="360_day", units="days since 2026-02-28")
    write_coordinate(path, "init_time", [0, 1, 2, 3], {"units": "days since 2026-02-28", "calendar": "360_day"}, "int64")
    assert_same(part(path, "init_time=2026-02-30"), bands(VALUES[2]))
    assert_same(part(path, "init_time=2026-03"), bands(VALUES[3]))
    assert "expected a time" in error_of(part, path, "init_time=2026-03-31")


def test_text_selection_may_contain_separators(tmp_path):
    texts = ["a:b", "c=d", "first", "1..2", "50%"]
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "t", array_meta((5, 2, 3), dimension_names=["site", "y", "x"]), counting((5, 2, 3)))
    data = b"".join(text.ljust(6).rstrip().encode("utf-32-le").ljust(24, b"\0") for text in texts)
    oracle.put(tmp_path, {"site/zarr.json": {
        "zarr_format": 3, "node_type": "array", "shape": [5], "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 24}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": "",
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "dimension_names": ["site"], "attributes": {}}, "site/c/0": data})
    for number, text in enumerate(["a%3Ab", "c%3Dd", "%66irst", "1%2E.2", "50%25"]):
        assert_same(part(tmp_path, "site=" + text), counting((5, 2, 3))[number:number + 1], text)
    assert_same(part(tmp_path, "site=first"), counting((5, 2, 3))[:1])
    assert "the first is a:b" in error_of(part, tmp_path, "site=A%3AB")


def test_without_coordinates_a_number_is_an_index(tmp_path):
    oracle.write(tmp_path / "t", array_meta((4, 5, 2, 3), dimension_names=["band", None, "y", "x"]), counting((4, 5, 2, 3)))
    oracle.write(tmp_path, group_meta())
    assert_same(part(tmp_path, "band=2"), counting((4, 5, 2, 3))[2])
    assert_same(part(tmp_path, "dim1=1..2:band=0"), counting((4, 5, 2, 3))[0, 1:3])
    assert "out of range" in error_of(part, tmp_path, "band=4")


def test_dimensions_of_one_name_are_told_apart_by_number(tmp_path):
    values = counting((2, 2, 2, 3))
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "t", array_meta((2, 2, 2, 3), dimension_names=["q", "q", "y", "x"]), values)
    assert_same(part(tmp_path, "dim0=1"), values[1])
    assert_same(part(tmp_path, "dim1=1"), values[:, 1])
    assert "no dimension q; beside X and Y there are: dim0, dim1" in error_of(part, tmp_path, "q=1")
    copied = gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "c.zarr"), open_ours("SHARDEDZARR:%s:/t" % tmp_path))
    assert_same(read_all(copied), bands(values))
    copied = None
    assert oracle.read(str(tmp_path / "c.zarr" / "c"))[1].shape == (2, 2, 2, 3)


def test_booleans_are_selected_by_number_and_word_and_described(tmp_path):
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "t", array_meta((2, 2, 3), dimension_names=["q", "y", "x"]), counting((2, 2, 3)))
    write_coordinate(tmp_path, "q", [False, True], {}, "bool")
    for choice in ("1", "true"):
        assert_same(part(tmp_path, "q=" + choice), counting((2, 2, 3))[1:], choice)
    assert_same(part(tmp_path, "q=false"), counting((2, 2, 3))[:1])
    assert "expected a number" in error_of(part, tmp_path, "q=True")
    dataset = open_ours("SHARDEDZARR:%s:/t" % tmp_path)
    assert [dataset.GetRasterBand(b).GetDescription() for b in (1, 2)] == ["q=0", "q=1"]


@pytest.mark.parametrize("times, choice", [([3, 2, 1, 0], "first..2026-05-03"), ([1, 0, 2, 3], "2026-05-02..2026-05-03")])
def test_a_range_of_times_is_of_elements_that_follow_each_other(tmp_path, times, choice):
    path = write_forecast(tmp_path)
    write_coordinate(path, "init_time", times, {"units": "days since 2026-05-01"}, "int64")
    message = "init_time: the elements from %s to %s are not those of the times between" % tuple(choice.split(".."))
    assert message in error_of(part, path, "init_time=" + choice)


def test_pixels_written_to_a_selection_are_those_of_the_array(tmp_path):
    path = write_forecast(tmp_path)
    dataset = gdal.OpenEx("SHARDEDZARR:%s:/t:level=850:init_time=1..2" % path, gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.GetRasterBand(7).WriteArray(np.full((2, 3), 999, "uint16"))
    del dataset
    changed = VALUES.copy()
    changed[2, 1, 1] = 999
    assert_same(read_all(open_array(path, "/t")), bands(changed))


def test_remote_selection_reads_only_the_coordinates_it_names(tmp_path, server):
    write_forecast(tmp_path / "s")
    oracle.consolidate(tmp_path / "s")
    open_ours("SHARDEDZARR:%s:/t:level=850:step=0..2:init_time=first" % server.vsi("s"))
    assert {r.path for r in server.log} == {"s/zarr.json", "s/level/c/0"}


# -------------------------------------------------------------------------------------------------------------------- listed

@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    path = tmp_path_factory.mktemp("ensemble") / "ens.zarr"
    run_peer("xarray_ensemble.py", path)
    return path


def test_a_year_of_forecasts_lists_its_runs(ensemble):
    values = np.arange(200 * 6 * 85 * 6, dtype="float32").reshape(200, 6, 85, 2, 3)
    dataset = gdal.Open(str(ensemble))
    assert dataset.GetDriver().ShortName == "ShardedZarr" and dataset.GetMetadataItem("SUBDATASETS_LISTED") is None
    found = subdatasets(dataset)
    assert list(found) == ["/t2m:%d" % run for run in range(200)]
    assert found["/t2m:1"][1] == "t2m:1, init_time 2026-05-01T12:00:00 - [6x85x2x3] 2 metre temperature (K) (Float32)"
    for number in (0, 77, 199):
        assert_same(read_all(open_ours(list(found.values())[number][0])), bands(values[number]))
    name = "SHARDEDZARR:%s:/t2m:" % ensemble
    assert_same(read_all(open_ours(name + "lead_time=0..24:ensemble_member=3:init_time=last")), bands(values[-1, 3, :25]))
    assert_same(read_all(open_ours(name + "lead_time=24:init_time=2026-05-01T12")), bands(values[1, :, 8]))
    assert_same(read_all(open_ours(name + "lead_time=24:ensemble_member=5")), bands(values[:, 5, 8]))


def write_sparse(path, dims, chunk=(4, 4), **attributes):
    """An array without chunks of these dimensions: [(name, size)]."""
    oracle.put(path, {"zarr.json": group_meta()})
    shape = tuple(size for _, size in dims) + (8, 8)
    meta = array_meta(shape, dimension_names=[name for name, _ in dims] + ["y", "x"],
                      codecs=[sharding([1] * len(dims) + list(chunk), {"name": "bytes", "configuration": {"endian": "little"}})])
    meta["chunk_grid"]["configuration"]["chunk_shape"] = [1] * len(dims) + [8, 8]
    oracle.put(path, {"a/zarr.json": meta})
    return path


def test_the_slowest_dimension_is_listed_and_a_selection_opens_the_rest(tmp_path):
    path = write_sparse(tmp_path, [("run", 12000), ("member", 50), ("step", 60000)])
    write_coordinate(path, "run", 24 * np.arange(12000), {"units": HOURS}, "int64")
    dataset = open_ours(str(path))
    found = subdatasets(dataset)
    assert list(found) == ["/a:%d" % run for run in range(10000)]
    assert found["/a:1"][1] == "a:1, run 2026-05-02T00:00:00 - [50x60000x8x8] (UInt16)"
    note = dataset.GetMetadataItem("SUBDATASETS_LISTED")
    assert note.startswith("the first 10000 of 12000; the others open as SHARDEDZARR:") and note.endswith(":/a:i")
    assert open_ours("SHARDEDZARR:%s:/a:run=11999..11999:member=49" % path).RasterCount == 60000
    assert "found 3000000; select of member, step" in error_of(open_ours, found["/a:1"][0])
    slices = open_ours(str(path), ["MULTIBAND=NO"])
    assert len(slices.GetSubDatasets()) == 10000 and "of 36000000000" in slices.GetMetadataItem("SUBDATASETS_LISTED")


@pytest.mark.parametrize("name", ["a:b", "c=d", "\"g\""])
def test_dimensions_of_any_name_are_listed_and_found(tmp_path, name):
    path = write_sparse(tmp_path, [(name, 2), ("step", 60000)])
    found = subdatasets(open_ours(str(path)))
    assert len(found) == 2
    for place, _ in found.values():
        assert open_ours(place).RasterCount == 60000
