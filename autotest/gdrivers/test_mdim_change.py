"""Arrays that grow and nodes that are deleted through the multidimensional API, against numpy, zarr-python and tensorstore."""
import json

import numpy as np
import pytest
from osgeo import gdal

import oracle
from mdim import random_steps, root_of
from stores import plain_meta
from support import GDAL, ask_peer, error_of, warnings_of
from test_validate import assert_clean
from test_mdim_write import dimensions, extended, made, random_values, updated, values_of, write
from writing import check_consolidated, copy, document, files_of, source

pytestmark = pytest.mark.skipif(GDAL < 3080000, reason="GDAL has no Resize() and Delete...() before 3.7 and 3.8")


def series(path, *options, steps=5):
    """A store of two arrays of (time, y, x) with coordinates of time and x, and one that has no time. Returns what is in it."""
    rng = np.random.default_rng(3)
    dataset, root = made(path, "CHUNK_SHAPE=4,8,8", "SHARD_SHAPE=8,16,16", *options)
    time, y, x = dimensions(root, time=steps, y=20, x=24)
    content = {"a": rng.integers(1, 99, (steps, 20, 24)).astype("int16"), "b": rng.normal(0, 1, (steps, 20, 24)).astype("float32"),
               "time": np.arange(steps, dtype="int64"), "x": np.arange(24) * 10.0, "z": rng.integers(1, 99, (20, 24)).astype("uint8")}
    of = {"a": [time, y, x], "b": [time, y, x], "time": [time], "x": [x], "z": [y, x]}
    for name, values in content.items():
        write(root.CreateMDArray(name, of[name], extended(values.dtype)), values)
    return content


def put_listed(path):
    """Adds an array whose chunks have different lengths, of the dimension time, and which cannot become longer."""
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3]]}}
    oracle.write(path / "listed", plain_meta((5,), "uint8", chunk_grid=grid, dimension_names=["time"]))
    oracle.consolidate(path)


def assert_content(path, content):
    """That this driver, the oracle and zarr-python find it in the store."""
    root = root_of(path)
    answers = ask_peer("zarr", path.parent, [(path.name, name) for name in content])
    for (name, expected), answer in zip(content.items(), answers):
        np.testing.assert_array_equal(values_of(root.OpenMDArrayFromFullname("/" + name), expected.shape, expected.dtype), expected,
                                      name)
        np.testing.assert_array_equal(oracle.read(path / name)[1], expected, name)
        np.testing.assert_array_equal(answer["values"][0], expected, name)
    check_consolidated(path)


def grown(values, size, fill=0):
    more = [(0, size - values.shape[0])] + [(0, 0)] * (values.ndim - 1)
    return np.pad(values, more, constant_values=fill)


def test_growing_an_array_warns_that_its_overviews_are_outdated(tmp_path):
    """The call says so, once; gdaladdo makes them in the place of the old ones."""
    series(tmp_path / "a.zarr")
    gdal.OpenEx('SHARDEDZARR:"%s":/a' % (tmp_path / "a.zarr"), gdal.OF_RASTER | gdal.OF_UPDATE).BuildOverviews("NEAREST", [2])
    dataset, root = updated(tmp_path / "a.zarr")
    a = root.OpenMDArray("a")
    for size, expected in ((6, ["/a"]), (7, [])):
        _, messages = warnings_of(lambda: a.Resize([size, 20, 24]))
        assert [m.split(":")[0].split()[-1] for m in messages if "overviews" in m] == expected
    del a, root, dataset
    raster = gdal.OpenEx('SHARDEDZARR:"%s":/a' % (tmp_path / "a.zarr"), gdal.OF_RASTER | gdal.OF_UPDATE)
    assert raster.RasterCount == 7 and raster.GetRasterBand(1).GetOverviewCount() == 0
    raster.BuildOverviews("NEAREST", [2])
    assert raster.GetRasterBand(7).GetOverviewCount() == 1
    np.testing.assert_array_equal(raster.GetRasterBand(3).GetOverview(0).ReadAsArray(), raster.GetRasterBand(3).ReadAsArray()[::2, ::2])
    raster = None
    check_consolidated(tmp_path / "a.zarr")


def pyramid_with_mask(path, names=("v", "u"), **options):
    """A store of rasters with overviews, of which the first has a mask, with overviews of its own; what is read of each."""
    pixels = np.random.default_rng(5).integers(1, 200, (100, 80)).astype("uint8")
    for number, name in enumerate(names):
        copy(str(path), source(pixels + number), ARRAY_NAME=name, OVERVIEWS="2,4", CHUNK_SHAPE="16", SHARD_SHAPE="32",
             APPEND_SUBDATASET="YES" if number else "NO", **options)
    raster = gdal.OpenEx('SHARDEDZARR:"%s":/%s' % (path, names[0]), gdal.OF_UPDATE | gdal.OF_RASTER)
    raster.CreateMaskBand(gdal.GMF_PER_DATASET)
    raster.GetRasterBand(1).GetMaskBand().WriteArray(np.where(pixels > 100, 255, 0).astype("uint8"))
    raster.BuildOverviews("NEAREST", [2, 4])
    raster = None
    return {name: seen_of(path, name) for name in names}


def seen_of(path, name):
    raster = gdal.Open('SHARDEDZARR:"%s":/%s' % (path, name))
    bands = [raster.GetRasterBand(1)] + [raster.GetRasterBand(1).GetOverview(i) for i in range(raster.GetRasterBand(1).GetOverviewCount())]
    return [(band.GetMaskFlags(), band.ReadAsArray().tolist(), band.GetMaskBand().ReadAsArray().tolist()) for band in bands]


@pytest.mark.parametrize("name, value", [("SetNoDataValueDouble", 5), ("SetScale", 2.5), ("SetOffset", -3), ("SetUnit", "K")])
def test_band_property_of_an_array_is_also_set_on_its_overviews(tmp_path, name, value):
    copy(tmp_path / "a.zarr", source(np.ones((2, 80, 80), "int16")), ARRAY_NAME="v", OVERVIEWS="2,4", CHUNK_SHAPE="16")
    dataset, root = updated(tmp_path / "a.zarr")
    v = root.OpenMDArray("v")
    assert getattr(v, name)(value) == gdal.CE_None
    del v, root, dataset
    raster = gdal.Open(str(tmp_path / "a.zarr"))
    bands = [raster.GetRasterBand(2), raster.GetRasterBand(2).GetOverview(0), raster.GetRasterBand(2).GetOverview(1)]
    get = {"SetNoDataValueDouble": "GetNoDataValue", "SetUnit": "GetUnitType"}.get(name, name.replace("Set", "Get"))
    assert [getattr(band, get)() for band in bands] == [value] * 3
    assert_clean(tmp_path / "a.zarr")


def test_deleting_an_array_or_a_level_updates_the_pyramid(tmp_path):
    before = pyramid_with_mask(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    assert root.DeleteMDArray("mask") == gdal.CE_None
    del root, dataset
    assert [band[1] for band in seen_of(tmp_path / "a.zarr", "v")] == [band[1] for band in before["v"]]
    assert_clean(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    assert root.DeleteGroup("ovr_2x") == gdal.CE_None
    del root, dataset
    assert seen_of(tmp_path / "a.zarr", "v")[1][1] == before["v"][2][1]
    dataset, root = updated(tmp_path / "a.zarr")
    assert root.DeleteMDArray("v") == gdal.CE_None
    assert root.GetGroupNames() == ["u"]
    del root, dataset
    assert_clean(tmp_path / "a.zarr")
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("way", ["REWRITE", "APPEND", "IN_PLACE"])
def test_a_day_is_appended_to_all_arrays_of_a_series(tmp_path, way):
    content, rng = series(tmp_path / "a.zarr"), np.random.default_rng(8)
    for day in range(5, 12):
        dataset, root = updated(tmp_path / "a.zarr", "UPDATE=" + way)
        a, b, time = (root.OpenMDArray(name) for name in ("a", "b", "time"))
        assert a.Resize([day + 1, 20, 24]) == gdal.CE_None
        assert [array.GetShape()[0] for array in (a, b, time)] == [day + 1] * 3
        assert a.GetDimensions()[0].GetSize() == day + 1 and root.OpenMDArray("z").GetShape() == (20, 24)
        for name, array, values in (("a", a, rng.integers(1, 99, (1, 20, 24))), ("b", b, rng.normal(0, 1, (1, 20, 24))),
                                    ("time", time, np.array([day]))):
            content[name] = np.concatenate([content[name], values.astype(content[name].dtype)])
            write(array, content[name][-1:], start=[day] + [0] * (values.ndim - 1))
        del a, b, time, array, root
        dataset = None
        if day in (7, 11):  # the last of a shard, and of all
            assert_content(tmp_path / "a.zarr", content)
    raster = gdal.Open('SHARDEDZARR:"%s":/a' % (tmp_path / "a.zarr"))
    np.testing.assert_array_equal(raster.ReadAsArray(), content["a"])


@pytest.mark.parametrize("seed", range(6))
def test_random_growth_along_any_dimension(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    shape = [int(n) for n in rng.integers(1, 9, rank)]
    chunk = [int(n) for n in rng.integers(1, 4, rank)]
    dataset, root = made(tmp_path / "a.zarr")
    array = root.CreateMDArray("v", dimensions(root, **{"d%d" % d: n for d, n in enumerate(shape)}), extended("int32"),
                               ["CHUNK_SHAPE=" + ",".join(map(str, chunk)),
                                "SHARD_SHAPE=" + ",".join(str(n * int(rng.integers(1, 4))) for n in chunk)])
    fill = 0
    if seed % 2:
        fill = -7
        array.SetNoDataValueDouble(fill)
    expected = np.full(shape, fill, "int32")
    for step in range(12):
        if step % 4 == 3:  # where it is by then
            del array, root
            dataset = None
            dataset, root = updated(tmp_path / "a.zarr", "UPDATE=" + ["REWRITE", "APPEND", "IN_PLACE"][step // 4])
            array = root.OpenMDArray("v")
        if rng.random() < 0.5:
            new = [n + int(rng.integers(0, 5)) for n in expected.shape]
            assert array.Resize(new) == gdal.CE_None
            expected = np.pad(expected, [(0, n - m) for n, m in zip(new, expected.shape)], constant_values=fill)
        start, count, by, index = random_steps(rng, expected.shape)
        values = random_values(rng, count, "int32")
        write(array, values, start, count, by)
        expected[index] = values
        np.testing.assert_array_equal(values_of(array, expected.shape, "int32"), expected)
    del array, root
    dataset = None
    assert_content(tmp_path / "a.zarr", {"v": expected})


def test_array_of_a_new_store_grows_before_the_first_flush(tmp_path):
    dataset, root = made(tmp_path / "a.zarr", "CHUNK_SHAPE=4,8")
    time, x = dimensions(root, time=0, x=10)
    array, coordinate = root.CreateMDArray("v", [time, x], extended("uint8")), root.CreateMDArray("time", [time], extended("int16"))
    assert array.Resize([3, 10]) == gdal.CE_None and time.GetSize() == 3 and coordinate.GetShape() == (3,)
    write(array, np.full((3, 10), 5, "uint8"))
    assert coordinate.Resize([6]) == gdal.CE_None and array.GetShape() == (6, 10)
    write(coordinate, np.arange(6, dtype="int16"))
    del array, coordinate, time, x, root
    dataset = None
    assert_content(tmp_path / "a.zarr", {"v": np.repeat(np.array([5, 0], "uint8"), 3)[:, None].repeat(10, 1),
                                         "time": np.arange(6, dtype="int16")})


def test_growing_an_array_in_a_subgroup_grows_the_coordinate_above(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    time, = dimensions(root, time=2)
    group = root.CreateGroup("g")
    write(root.CreateMDArray("time", [time], extended("int16")), np.arange(2, dtype="int16"))
    write(group.CreateMDArray("v", [time], extended("uint8")), np.full(2, 3, "uint8"))
    other, = dimensions(group, other=2)
    write(group.CreateMDArray("w", [other], extended("uint8")), np.full(2, 4, "uint8"))
    del time, other, group, root
    dataset = None
    dataset, root = updated(tmp_path / "a.zarr")
    assert root.OpenMDArrayFromFullname("/g/v").Resize([4]) == gdal.CE_None
    del root
    dataset = None
    assert_content(tmp_path / "a.zarr", {"time": np.array([0, 1, 0, 0], "int16"), "g/v": np.array([3, 3, 0, 0], "uint8"),
                                         "g/w": np.array([4, 4], "uint8")})


@pytest.mark.parametrize("is_there", [False, True])
def test_a_dimension_is_one_in_groups_below_where_it_has_a_variable(tmp_path, is_there):
    """Before the store is there, and after."""
    dataset, root = made(tmp_path / "a.zarr")
    time, x = dimensions(root, time=2, x=3)
    root.CreateMDArray("time", [time], extended("int16"))
    for parent in (root, root.CreateGroup("g")):
        parent.CreateMDArray("v", [time, x], extended("uint8"))
    if is_there:
        parent = time = x = root = dataset = None
        dataset, root = updated(tmp_path / "a.zarr")
    v, w, time = root.OpenMDArray("v"), root.OpenMDArrayFromFullname("/g/v"), root.OpenMDArray("time")
    assert [d.GetFullName() for d in w.GetDimensions()] == ["/time", "/g/x"]
    assert v.Resize([4, 5]) == gdal.CE_None and (v.GetShape(), w.GetShape(), time.GetShape()) == ((4, 5), (4, 3), (4,))
    parent = v = w = time = x = root = dataset = None
    check_consolidated(tmp_path / "a.zarr")


def test_refused_growth_is_explained_and_changes_nothing(tmp_path):
    content = series(tmp_path / "a.zarr")
    put_listed(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    a = root.OpenMDArray("a")
    assert "made longer" in error_of(a.Resize, [4, 20, 24])
    assert error_of(a.Resize, [9, 20])
    assert error_of(a.Resize, [5, 2**62, 24]) and a.GetShape() == (5, 20, 24)
    twice = root.CreateMDArray("twice", [root.GetDimensions()[0]] * 2, extended("uint8"))
    assert "twice" in error_of(twice.Resize, [6, 7]) and twice.GetShape() == (5, 5)
    assert "listed" in error_of(a.Resize, [6, 20, 24])  # has the same dimension
    assert a.GetShape() == (5, 20, 24) and a.GetDimensions()[0].GetSize() == 5
    np.testing.assert_array_equal(values_of(a, (5, 20, 24), "int16"), content["a"])
    root.DeleteMDArray("listed")  # which zarr-python does not read
    del a, twice, root
    dataset = None
    assert_content(tmp_path / "a.zarr", content)
    assert "update mode" in error_of(root_of(tmp_path / "a.zarr").OpenMDArray("a").Resize, [6, 20, 24])


def test_size_changed_by_another_writer_is_kept(tmp_path):
    series(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    assert root.OpenMDArray("a").Resize([6, 20, 24]) == gdal.CE_None
    meta = document(tmp_path / "a.zarr", "a")
    meta["shape"] = [9, 20, 24]
    (tmp_path / "a.zarr" / "a" / "zarr.json").write_text(json.dumps(meta))
    del root
    assert "another writer" in error_of(dataset.FlushCache)
    gdal.PushErrorHandler("CPLQuietErrorHandler")
    dataset = None
    gdal.PopErrorHandler()
    assert document(tmp_path / "a.zarr", "a")["shape"] == [9, 20, 24]


def properties(band):
    return (band.GetDescription(), band.GetUnitType(), band.GetScale(), band.GetOffset(), band.GetNoDataValue(),
            gdal.GetColorInterpretationName(band.GetColorInterpretation()),
            {name: item for name, item in band.GetMetadata().items() if not name.startswith("DIM_")})


def raster_of(path, flags=0):
    return gdal.OpenEx('SHARDEDZARR:"%s":/t' % path, gdal.OF_RASTER | flags)


@pytest.mark.parametrize("shape, new, stays", [([3, 4, 5], [4, 4, 5], {1: 1, 2: 2, 3: 3}), ([3, 4, 5], [3, 6, 7], {1: 1, 2: 2, 3: 3})])
@pytest.mark.parametrize("is_named", [False, True])
def test_properties_of_bands_stay_with_their_slices_when_an_array_grows(tmp_path, shape, new, stays, is_named):
    path = tmp_path / "a.zarr"
    dataset, root = made(path)
    array = root.CreateMDArray("t", dimensions(root, time=shape[0], y=shape[1], x=shape[2]), extended("int16"))
    array.SetUnit("K")
    write(array, np.ones(shape, "int16"))
    del array, root
    dataset = None
    raster = raster_of(path, gdal.OF_UPDATE)
    band = raster.GetRasterBand(2)
    band.SetScale(0.5), band.SetOffset(3), band.SetNoDataValue(-9), band.SetUnitType("m"), band.SetMetadataItem("day", "two")
    band.SetColorInterpretation(gdal.GCI_AlphaBand)
    for number in range(1, raster.RasterCount + 1) if is_named else [2]:
        raster.GetRasterBand(number).SetDescription("band %d" % number)
    band = raster = None
    raster = raster_of(path)
    before = {number: properties(raster.GetRasterBand(number)) for number in range(1, raster.RasterCount + 1)}
    assert before[2] == ("band 2", "m", 0.5, 3, -9, "Alpha", {"day": "two"}) and before[1][1] == "K"
    raster = None
    dataset, root = updated(path)
    assert root.OpenMDArray("t").Resize(new) == gdal.CE_None
    del root
    dataset = None
    raster = raster_of(path)
    assert raster.RasterCount == np.prod(new[:-2])
    assert {number: properties(raster.GetRasterBand(after)) for number, after in stays.items()} == before
    assert all(properties(raster.GetRasterBand(number))[0] == "" for number in set(range(1, raster.RasterCount + 1)) - set(stays.values()))
    check_consolidated(path)


def test_a_dimension_whose_first_array_was_deleted_follows_the_others(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    t, = dimensions(root, t=7)
    for name in "ab":
        write(root.CreateMDArray(name, [t], extended("int16")), np.ones(7, "int16"))
    assert root.DeleteMDArray("a") == gdal.CE_None and root.OpenMDArray("b").Resize([9]) == gdal.CE_None and t.GetSize() == 9
    assert [d.GetSize() for d in root.GetDimensions()] == [9]


@pytest.mark.parametrize("new", [[2, 3, 4, 5], [3, 2, 4, 5], [2**21, 2, 4, 5]], ids=str)
def test_growth_by_which_lists_of_single_bands_would_be_of_others_is_refused(tmp_path, new):
    meta = plain_meta((2, 2, 4, 5), "uint8", dimension_names=["t", "b", "y", "x"], attributes={"gdal:bands": [{"unit": "m"}, {}, {}, {}]})
    oracle.write(tmp_path / "a.zarr", {"zarr_format": 3, "node_type": "group"})
    oracle.write(tmp_path / "a.zarr" / "a", meta)
    dataset, root = updated(tmp_path / "a.zarr")
    assert "gdal:bands" in error_of(root.OpenMDArray("a").Resize, new) and root.OpenMDArray("a").GetShape() == (2, 2, 4, 5)
    assert root.OpenMDArray("a").Resize([2, 2, 8, 5]) == gdal.CE_None
    del root
    dataset = None
    assert document(tmp_path / "a.zarr", "a") == dict(meta, shape=[2, 2, 8, 5])


def test_appending_a_day_writes_only_new_chunks_and_an_index(tmp_path):
    content = series(tmp_path / "a.zarr", "COMPRESS=NONE")
    before = {name: len((tmp_path / "a.zarr" / name).read_bytes()) for name in files_of(tmp_path / "a.zarr")}
    dataset, root = updated(tmp_path / "a.zarr", "UPDATE=APPEND")
    array = root.OpenMDArray("a")
    array.Resize([9, 20, 24])  # the fifth to eighth are of a chunk that is there, the ninth of a shard that is not
    write(array, np.ones((1, 20, 24), "int16"), start=[8, 0, 0])
    del array, root
    dataset = None
    after = {name: len((tmp_path / "a.zarr" / name).read_bytes()) for name in files_of(tmp_path / "a.zarr")}
    assert {name for name in after if name.startswith("a/c/0/")} == {name for name in before if name.startswith("a/c/0/")}
    assert all(after[name] == before[name] for name in before if name.startswith("a/c/"))
    assert {name for name in after if name.startswith("a/c/1/")} == {"a/c/1/%d/%d" % (y, x) for y in range(2) for x in range(2)}
    content["a"] = grown(content["a"], 9)
    content["a"][8] = 1
    content["b"], content["time"] = grown(content["b"], 9, np.nan), grown(content["time"], 9)
    assert_content(tmp_path / "a.zarr", content)


# ---------------------------------------------------------------------------------------------------------------- deleting

def test_deleting_an_array_removes_its_chunks_and_nothing_else(tmp_path):
    content = series(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "b" / "notes.txt").write_text("mine")
    others = {name for name in files_of(tmp_path / "a.zarr") if not name.startswith("b/")}
    dataset, root = updated(tmp_path / "a.zarr")
    b, attribute = root.OpenMDArray("b"), root.OpenMDArray("b").CreateAttribute("n", [], gdal.ExtendedDataType.CreateString())
    assert root.DeleteMDArray("b") == gdal.CE_None
    assert "b" not in root.GetMDArrayNames() and set(files_of(tmp_path / "a.zarr")) == others | {"b/notes.txt"}
    assert error_of(b.Read) and error_of(b.Write, content["b"]) and error_of(b.Resize, [6, 20, 24]) and error_of(attribute.Write, "x")
    assert "there is no array" in error_of(root.DeleteMDArray, "b") and "there is no" in error_of(root.DeleteMDArray, "c")
    assert "there is no group" in error_of(root.DeleteGroup, "a")
    del b, attribute, root
    dataset = None
    del content["b"]
    assert_content(tmp_path / "a.zarr", content)
    assert set(files_of(tmp_path / "a.zarr")) == others | {"b/notes.txt"}


def test_arrays_of_a_new_store_are_deleted_before_the_first_flush(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    x, = dimensions(root, x=40)
    group = root.CreateGroup("g")
    for parent in (root, group):
        array = parent.CreateMDArray("v", [x], extended("uint8"), ["CHUNK_SHAPE=8"])
        write(array, np.full(40, 9, "uint8"))
    array.Resize([41])  # its chunks are in the store
    assert root.DeleteMDArray("v") == gdal.CE_None and root.DeleteGroup("g") == gdal.CE_None
    assert error_of(array.Read) and error_of(group.CreateMDArray, "w", [x], extended("uint8")) and error_of(group.CreateGroup, "w")
    root.CreateMDArray("v", [x], extended("uint8"), ["CHUNK_SHAPE=8"])
    group = root.CreateGroup("g")
    write(group.CreateMDArray("v", [x], extended("uint8"), ["CHUNK_SHAPE=8"]), np.full(1, 3, "uint8"))
    del array, parent, group, x, root
    dataset = None
    expected = np.zeros(40, "uint8")
    assert not (tmp_path / "a.zarr" / "v" / "c").exists()
    assert_content(tmp_path / "a.zarr", {"v": expected, "g/v": np.concatenate([np.full(1, 3, "uint8"), expected[1:]])})


def test_an_array_of_a_store_that_is_changed_is_one_object(tmp_path):
    copy(tmp_path / "a.zarr", source(np.ones((2, 20, 30), "uint16")), ARRAY_NAME="v", OVERVIEWS="NONE")
    dataset, root = updated(tmp_path / "a.zarr")
    one, other = root.OpenMDArray("v"), root.OpenMDArray("v")
    one.SetUnit("m")
    one.SetNoDataValueDouble(7)
    assert other.GetUnit() == "m" and other.GetNoDataValueAsDouble() == 7
    del dataset
