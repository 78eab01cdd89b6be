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


@pytest.mark.parametrize("consolidated", ["YES", "NO"])
@pytest.mark.parametrize("names", [("v",), ("v", "g/u")], ids=len)
def test_an_array_is_renamed_with_its_mask_once_it_has_no_overviews(tmp_path, names, consolidated):
    names = [name.split("/")[-1] for name in names]
    before = pyramid_with_mask(tmp_path / "a.zarr", names, CREATE_CONSOLIDATED_METADATA=consolidated)
    assert len(before["v"]) == 3 and before["v"][0][0] == gdal.GMF_PER_DATASET
    dataset, root = updated(tmp_path / "a.zarr")
    group = root if "v" in root.GetMDArrayNames() else root.OpenGroup("v")
    v = group.OpenMDArray("v")
    prefix = v.GetFullName()[:-1].strip("/")
    assert "gdaladdo -clean" in error_of(v.Rename, "w") and v.GetName() == "v"
    del v, group, root, dataset
    assert seen_of(tmp_path / "a.zarr", prefix + "v") == before["v"]
    gdal.OpenEx('SHARDEDZARR:"%s":/%sv' % (tmp_path / "a.zarr", prefix), gdal.OF_RASTER | gdal.OF_UPDATE).BuildOverviews("NONE", [])
    dataset, root = updated(tmp_path / "a.zarr")
    v = root.OpenMDArrayFromFullname("/%sv" % prefix)
    assert v.Rename("w") == gdal.CE_None
    del v, root, dataset
    assert seen_of(tmp_path / "a.zarr", prefix + "w") == before["v"][:1]
    if len(names) > 1:
        assert seen_of(tmp_path / "a.zarr", "u") == before["u"]
    assert_clean(tmp_path / "a.zarr")
    if consolidated == "YES":
        check_consolidated(tmp_path / "a.zarr")


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
    for d, name in zip(v.GetDimensions(), ("t", "column")):
        assert d.Rename(name) == gdal.CE_None
    assert [d.GetFullName() for d in w.GetDimensions()] == ["/g/t", "/g/x"]
    parent = v = w = time = d = x = root = dataset = None
    assert names_in(tmp_path / "a.zarr", "v", "g/v", "time") == [["t", "column"], ["t", "x"], ["t"]]
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


def test_a_dimension_whose_first_array_was_deleted_is_renamed_in_the_others(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    t, = dimensions(root, t=7)
    for name in "ab":
        write(root.CreateMDArray(name, [t], extended("int16")), np.ones(7, "int16"))
    assert root.DeleteMDArray("a") == gdal.CE_None and t.Rename("q") == gdal.CE_None
    assert [d.GetName() for d in root.GetDimensions()] == ["q"] == [d.GetName() for d in root.OpenMDArray("b").GetDimensions()]
    del root
    dataset = None
    assert document(tmp_path / "a.zarr", "b")["dimension_names"] == ["q"]


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


def test_attributes_are_renamed(tmp_path):
    content = series(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    array = root.OpenMDArray("a")
    for thing in (root, array):
        for name, value in (("old", "text"), ("other", "more")):
            thing.CreateAttribute(name, [], gdal.ExtendedDataType.CreateString()).Write(value)
        attribute = thing.GetAttribute("old")
        assert attribute.Rename("new") == gdal.CE_None and attribute.GetName() == "new" and attribute.GetFullName().endswith("/new")
        assert "already" in error_of(attribute.Rename, "other") and attribute.GetName() == "new"
        attribute.Write("text of it")
    del array, attribute, thing, root
    dataset = None
    root = root_of(tmp_path / "a.zarr")
    for thing in (root, root.OpenMDArray("a")):
        found = {a.GetName(): a.Read() for a in thing.GetAttributes()}
        assert found["new"] == "text of it" and found["other"] == "more" and "old" not in found
    assert "update mode" in error_of(root.GetAttribute("new").Rename, "old")
    assert_content(tmp_path / "a.zarr", content)


# ---------------------------------------------------------------------------------------------------------------- renaming

@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("base", ["", "/vsimem/test_mdim_change"])
def test_array_is_renamed_with_its_pending_writes(tmp_path, base, is_there):
    path = (base or str(tmp_path)) + "/a.zarr"
    dataset, root = made(path, "CHUNK_SHAPE=8", "SHARD_SHAPE=16")
    x, = dimensions(root, x=40)
    array = root.CreateMDArray("old", [x], extended("int16"))
    coordinate = root.CreateMDArray("x", [x], extended("int16"))
    write(coordinate, np.arange(40, dtype="int16"))
    write(array, np.full(20, 3, "int16"))
    if is_there:
        del array, coordinate, x, root
        dataset = None
        dataset, root = updated(path)
        array = root.OpenMDArray("old")
    write(array, np.full(5, 4, "int16"), start=[30])
    assert array.Rename("new") == gdal.CE_None and array.GetName() == "new" and array.GetFullName() == "/new"
    assert sorted(root.GetMDArrayNames()) == ["new", "x"] and root.OpenMDArray("new").GetDimensions()[0].GetIndexingVariable() is not None
    write(array, np.full(1, 5, "int16"), start=[39])
    for bad in ("", "a/b", "..", "x", ".zarray"):
        assert error_of(array.Rename, bad) and array.GetName() == "new", bad
    expected = np.concatenate([np.full(20, 3), np.zeros(10), np.full(5, 4), np.zeros(4), [5]]).astype("int16")
    np.testing.assert_array_equal(values_of(array, (40,), "int16"), expected)
    again = root.CreateMDArray("old", array.GetDimensions(), extended("uint8"), ["CHUNK_SHAPE=8"])
    write(again, np.full(1, 9, "uint8"))
    del array, again, root
    if not is_there:
        del coordinate, x
    dataset = None
    content = {"new": expected, "x": np.arange(40, dtype="int16"), "old": np.array([9] + [0] * 39, "uint8")}
    if base:
        root = root_of(path)
        for name, values in content.items():
            np.testing.assert_array_equal(values_of(root.OpenMDArray(name), values.shape, values.dtype), values, name)
        gdal.RmdirRecursive(base)
    else:
        assert_content(tmp_path / "a.zarr", content)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_group_is_renamed_with_what_is_in_it(tmp_path, is_there):
    dataset, root = made(tmp_path / "a.zarr", "CHUNK_SHAPE=8", "SHARD_SHAPE=16")
    assert root.CreateGroup("other") is not None  # consolidated metadata go with their last entry
    group = root.CreateGroup("g")
    inner, (x,) = group.CreateGroup("h"), dimensions(group, x=20)
    array = inner.CreateMDArray("v", [x], extended("uint8"))
    write(array, np.full(12, 3, "uint8"))
    write(group.CreateMDArray("x", [x], extended("uint8")), np.arange(20, dtype="uint8"))
    if is_there:
        del array, inner, x, group, root
        dataset = None
        dataset, root = updated(tmp_path / "a.zarr")
        group = root.OpenGroup("g")
        inner = group.OpenGroup("h")
        array = inner.OpenMDArray("v")
    assert group.Rename("new") == gdal.CE_None and group.GetFullName() == "/new"
    assert inner.GetFullName() == "/new/h" and array.GetFullName() == "/new/h/v" and sorted(root.GetGroupNames()) == ["new", "other"]
    assert array.GetDimensions()[0].GetFullName() == "/new/x" and array.GetDimensions()[0].GetIndexingVariable().GetFullName() == "/new/x"
    write(array, np.full(1, 4, "uint8"), start=[19])
    inner.CreateAttribute("k", [], gdal.ExtendedDataType.Create(gdal.GDT_Int32)).Write(7)
    assert inner.Rename("k") == gdal.CE_None and array.GetFullName() == "/new/k/v"
    assert root.CreateGroup("g") is not None and "already" in error_of(group.Rename, "g")
    if not is_there:
        del x
    del array, inner, group, root
    dataset = None
    assert_content(tmp_path / "a.zarr", {"new/k/v": np.array([3] * 12 + [0] * 7 + [4], "uint8"), "new/x": np.arange(20, dtype="uint8")})
    root = root_of(tmp_path / "a.zarr")
    assert sorted(root.GetGroupNames()) == ["g", "new", "other"] and root.OpenGroupFromFullname("/new/k").GetAttribute("k").Read() == 7
    assert not (tmp_path / "a.zarr" / "g" / "h").exists()


def test_rename_to_a_taken_name_is_refused_and_changes_nothing(tmp_path):
    content = series(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "mine").mkdir()
    (tmp_path / "a.zarr" / "mine" / "notes.txt").write_text("mine")
    dataset, root = updated(tmp_path / "a.zarr")
    array = root.OpenMDArray("a")
    assert "already" in error_of(array.Rename, "mine") and array.GetName() == "a"
    write(array, np.full((1, 1, 1), 77, "int16"))
    del array, root
    dataset = None
    content["a"][0, 0, 0] = 77
    assert_content(tmp_path / "a.zarr", content)
    assert (tmp_path / "a.zarr" / "mine" / "notes.txt").read_text() == "mine"
    assert "update mode" in error_of(root_of(tmp_path / "a.zarr").OpenMDArray("a").Rename, "c")


# ---------------------------------------------------------------------------------------------------- names of dimensions

def names_in(path, *arrays):
    return [document(path, name)["dimension_names"] for name in arrays]


def test_a_dimension_is_renamed_in_all_arrays_that_have_it(tmp_path):
    content = series(tmp_path / "a.zarr")
    dataset, root = updated(tmp_path / "a.zarr")
    a, z = root.OpenMDArray("a"), root.OpenMDArray("z")
    x = a.GetDimensions()[2]
    assert x.Rename("column") == gdal.CE_None
    assert (x.GetName(), x.GetFullName(), x.GetIndexingVariable()) == ("column", "/column", None)
    assert [d.GetName() for d in z.GetDimensions()] == ["y", "column"] == [d.GetName() for d in root.OpenMDArray("b").GetDimensions()][1:]
    assert sorted(d.GetName() for d in root.GetDimensions()) == ["column", "time", "y"]
    np.testing.assert_array_equal(values_of(a, (5, 20, 24), "int16"), content["a"])
    assert names_in(tmp_path / "a.zarr", "z") == [["y", "x"]]  # until the flush
    assert root.OpenMDArray("x").Rename("column") == gdal.CE_None  # its variable is renamed by itself
    assert names_in(tmp_path / "a.zarr", "a", "b", "column", "z") == [["time", "y", "column"]] * 2 + [["column"], ["y", "column"]]
    found = a.GetDimensions()[2].GetIndexingVariable()
    assert found is None or found.GetName() == "column"
    del a, z, x, root, found
    dataset = None
    content["column"] = content.pop("x")
    assert_content(tmp_path / "a.zarr", content)
    root = root_of(tmp_path / "a.zarr")
    assert root.OpenMDArray("b").GetDimensions()[2].GetIndexingVariable().GetName() == "column"


def test_attributes_that_name_a_dimension_follow_its_rename(tmp_path):
    gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "a.zarr"), gdal.Open(str(placed(tmp_path))),
                                                   options=["ARRAY_NAME=v", "OVERVIEWS=NONE", "GEOREFERENCING=SPATIAL_PROJ"])
    before = gdal.Info(str(tmp_path / "a.zarr"), format="json")
    dataset, root = updated(tmp_path / "a.zarr")
    for d, name in zip(root.OpenMDArray("v").GetDimensions(), ("row", "column")):
        assert d.Rename(name) == gdal.CE_None
    del d, root
    dataset = None
    assert names_in(tmp_path / "a.zarr", "v") == [["row", "column"]]
    after = gdal.Info(str(tmp_path / "a.zarr"), format="json")
    assert after["geoTransform"] == before["geoTransform"] and after["coordinateSystem"] == before["coordinateSystem"]


def placed(folder):
    raster = gdal.GetDriverByName("GTiff").Create(str(folder / "a.tif"), 40, 30)
    raster.SetGeoTransform([500000, 10, 0, 4600000, 0, -10])
    raster.SetProjection("EPSG:32632")
    return folder / "a.tif"


def test_dimensions_that_cannot_be_renamed_stay(tmp_path):
    series(tmp_path / "a.zarr")
    before = {name: (tmp_path / "a.zarr" / name).read_bytes() for name in files_of(tmp_path / "a.zarr")}
    assert "update mode" in error_of(root_of(tmp_path / "a.zarr").OpenMDArray("a").GetDimensions()[0].Rename, "t")
    dataset, root = updated(tmp_path / "a.zarr")
    time = root.OpenMDArray("a").GetDimensions()[0]
    for name in ("x", "y", "", "..", "a/b"):
        assert error_of(time.Rename, name)
    assert time.GetName() == "time"
    del time, root
    dataset = None
    assert {name: (tmp_path / "a.zarr" / name).read_bytes() for name in files_of(tmp_path / "a.zarr")} == before


def test_an_array_of_a_store_that_is_changed_is_one_object(tmp_path):
    copy(tmp_path / "a.zarr", source(np.ones((2, 20, 30), "uint16")), ARRAY_NAME="v", OVERVIEWS="NONE")
    dataset, root = updated(tmp_path / "a.zarr")
    one, other = root.OpenMDArray("v"), root.OpenMDArray("v")
    one.SetUnit("m")
    one.SetNoDataValueDouble(7)
    assert other.GetUnit() == "m" and other.GetNoDataValueAsDouble() == 7
    del dataset
