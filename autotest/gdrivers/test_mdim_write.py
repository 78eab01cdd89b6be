"""Stores made through the multidimensional API: as zarr-python, xarray and the netCDF files that they come from have them."""
import gc
import json
import os

import numpy as np
import pytest
from osgeo import gdal, gdal_array, osr

from mdim import attributes_of, random_steps, root_of
from support import GDAL, ask_peer, error_of, need, peak_memory, run_peer, warnings_of
from writing import check_consolidated, document, files_of

TYPES = ["uint8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "complex64", "complex128"]
TYPES += ["int8"] * (GDAL >= 3070000)
NETCDF = gdal.GetDriverByName("netCDF")


def made(path, *options):
    """(dataset, root group) of a new store."""
    dataset = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(path), [], list(options))
    return dataset, dataset.GetRootGroup()


def extended(dtype):
    if np.dtype(dtype) == np.int8 and GDAL >= 3070000:
        return gdal.ExtendedDataType.Create(gdal.GDT_Int8)
    return gdal.ExtendedDataType.Create(gdal_array.NumericTypeCodeToGDALTypeCode(np.dtype(dtype)))


def dimensions(group, **sizes):
    return [group.CreateDimension(name, None, None, size) for name, size in sizes.items()]


def write(array, values, start=None, count=None, step=None, stride=None):
    """Writes elements that lie in memory with any strides, in elements."""
    assert array.Write(values.tobytes(), start, count or list(values.shape), step, stride, extended(values.dtype)) == gdal.CE_None


def random_values(rng, shape, dtype):
    kind = np.dtype(dtype).kind
    if kind in "fc":
        return (rng.normal(0, 50, shape) + (1j * rng.normal(0, 50, shape) if kind == "c" else 0)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def values_of(array, shape, dtype):
    return np.frombuffer(bytes(array.Read()), dtype).reshape(shape)


# ------------------------------------------------------------------------------------------------------------ round trips

@pytest.fixture(scope="module")
def forecast(tmp_path_factory):
    """a.nc of xarray, c.zarr made of it, and b.nc made of that."""
    need("GDAL's netCDF driver", NETCDF)
    folder = tmp_path_factory.mktemp("forecast")
    run_peer("mdim_netcdf.py", folder, "write")
    gdal.MultiDimTranslate(str(folder / "c.zarr"), str(folder / "a.nc"), format="ShardedZarr", creationOptions=["CHUNK_SHAPE=8"]).FlushCache()
    gdal.MultiDimTranslate(str(folder / "b.nc"), str(folder / "c.zarr"), format="netCDF").FlushCache()
    return folder


def test_netcdf_converted_to_a_store_and_back_is_equal(forecast):
    run_peer("mdim_netcdf.py", forecast, "compare")


def test_xarray_opens_the_store_as_it_opens_the_netcdf(forecast):
    run_peer("mdim_netcdf.py", forecast, "store")


def test_a_store_has_what_the_netcdf_has(forecast):
    before, after = gdal.MultiDimInfo(str(forecast / "a.nc")), gdal.MultiDimInfo(str(forecast / "c.zarr"))
    assert after["driver"] == "ShardedZarr"
    assert after["attributes"] == before["attributes"]
    assert sorted(after["arrays"]) == sorted([*before["arrays"], "spatial_ref"])  # which the netCDF driver hides
    for name, array in before["arrays"].items():
        for key in ("datatype", "dimensions", "dimension_size", "unit", "nodata_value", "scale", "offset", "attributes"):
            assert after["arrays"][name].get(key) == array.get(key), (name, key)
        assert ("srs" in array) == ("srs" in after["arrays"][name]), name
    dims = lambda info: {d["name"]: d for d in info["dimensions"]}  # noqa: E731
    for name, dimension in dims(before).items():
        assert dims(after)[name].get("type") == dimension.get("type")
        variable = dims(after)[name]["indexing_variable"]  # its name, or in GDAL 3.13 what it is
        assert type(variable) is type(dimension["indexing_variable"]) and (variable == "/" + name or list(variable) == [name])
    check_consolidated(forecast / "c.zarr")
    assert "sharding_indexed" in str(document(forecast / "c.zarr", "t2m")["codecs"])


def test_a_store_that_is_copied_has_its_crs_once(forecast, tmp_path):
    gdal.MultiDimTranslate(str(tmp_path / "d.zarr"), str(forecast / "c.zarr"), format="ShardedZarr").FlushCache()
    gdal.MultiDimTranslate(str(tmp_path / "e.zarr"), str(forecast / "a.zarr"), format="ShardedZarr").FlushCache()
    for name in ("d.zarr", "e.zarr"):
        found = document(tmp_path / name)["consolidated_metadata"]["metadata"]
        assert [key for key in found if "crs_wkt" in found[key]["attributes"]] == ["spatial_ref"], sorted(found)
        assert found["t2m"]["attributes"]["grid_mapping"] == "spatial_ref"
        srs = root_of(tmp_path / name).OpenMDArray("t2m").GetSpatialRef()
        assert srs.IsGeographic() and srs.GetDataAxisToSRSAxisMapping() == [3, 4], name


# -------------------------------------------------------------------------------------------------------------- elements

def random_array(rng, group, name):
    """An array of any type, rank, chunks and shards, written in part with any steps and strides: (its values, as numpy has them)."""
    rank = int(rng.integers(0, 6))
    shape = [int(rng.integers(1, 40 // rank + 2)) for _ in range(rank)]
    dtype = str(rng.choice(TYPES))
    chunk = [int(rng.integers(1, s + 3)) for s in shape]
    shard = [c * int(rng.integers(1, 4)) for c in chunk]
    options = ["CHUNK_SHAPE=" + ",".join(map(str, chunk)), "SHARD_SHAPE=" + ",".join(map(str, shard))] if rank else []
    dims = [group.CreateDimension("%s_%d" % (name, d), None, None, s) for d, s in enumerate(shape)]
    array = group.CreateMDArray(name, dims, extended(dtype), options)
    expected = np.full(shape, np.nan if rank and np.dtype(dtype).kind == "f" else 0, dtype)
    for _ in range(int(rng.integers(1, 8)) if rank else 1):
        start, count, step, index = random_steps(rng, shape)
        source = str(rng.choice(["uint8", "int16", dtype])) if np.dtype(dtype).kind != "u" else dtype
        if np.dtype(source).itemsize > np.dtype(dtype).itemsize or np.dtype(dtype) == np.int8:
            source = dtype
        order = rng.permutation(rank)
        values = random_values(rng, [count[d] for d in order], source)  # as it lies in memory
        inverse = np.argsort(order) if rank else []
        stride = [values.strides[i] // values.itemsize for i in inverse]
        write(array, values, start or None, count, step or None, stride or None)
        expected[index] = np.transpose(values, inverse).astype(dtype) if rank else values.astype(dtype)
    return expected


@pytest.mark.parametrize("seed", range(6))
def test_random_multidimensional_writes_equal_numpy_for_all_readers(tmp_path, seed):
    rng, expected = np.random.default_rng(seed), {}
    dataset, root = made(tmp_path / "a.zarr")
    group = root.CreateGroup("sub")
    for i in range(6):
        expected["sub/a%d" % i] = random_array(rng, group, "a%d" % i)
        inside = values_of(group.OpenMDArray("a%d" % i), expected["sub/a%d" % i].shape, expected["sub/a%d" % i].dtype)
        np.testing.assert_array_equal(inside, expected["sub/a%d" % i], "before it is flushed")
    del group, root
    dataset = None
    names = list(expected)
    for name in names:
        array = root_of(tmp_path / "a.zarr").OpenMDArrayFromFullname("/" + name)
        np.testing.assert_array_equal(values_of(array, expected[name].shape, expected[name].dtype), expected[name], name)
        assert array.GetNoDataValueAsRaw() is None
    for peer in ("zarr", "tensorstore"):
        for name, answer in zip(names, ask_peer(peer, tmp_path, [("a.zarr", name) for name in names])):
            assert "error" not in answer, (peer, name, answer)
            np.testing.assert_array_equal(answer["values"][0], expected[name], "%s %s" % (peer, name))
    check_consolidated(tmp_path / "a.zarr")


def test_stores_of_zarr_python_are_copied_element_by_element(tmp_path):
    run_peer("mdim_types.py", tmp_path)
    gdal.MultiDimTranslate(str(tmp_path / "b.zarr"), str(tmp_path / "ranks.zarr"), format="ShardedZarr",
                           creationOptions=["COMPRESS=ZSTD"]).FlushCache()
    names = [name for name in root_of(tmp_path / "ranks.zarr").GetMDArrayNames() if "bool" not in name]
    for name, answer in zip(names, ask_peer("zarr", tmp_path, [("b.zarr", name) for name in names])):
        np.testing.assert_array_equal(answer["values"][0], np.load(tmp_path / (name + ".npy")), name)


# ------------------------------------------------------------------------------------------------------ what arrays mean

@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_flipped_arrays_of_numpy_are_written_as_they_are(tmp_path, dtype):
    """values[::-1] has negative strides."""
    values = np.arange(24, dtype=dtype).reshape(6, 4)
    dataset, root = made(tmp_path / "a.zarr")
    sides = dimensions(root, y=6, x=4)
    for number, flipped in enumerate((values[::-1], values[:, ::-1], values[::-1, ::-1])):
        array = root.CreateMDArray("a%d" % number, sides, extended(dtype))
        assert array.WriteArray(flipped) == gdal.CE_None
        np.testing.assert_array_equal(array.ReadAsArray(), flipped)


def test_attributes_of_all_kinds_come_back(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    x, = dimensions(root, x=3)
    array = root.CreateMDArray("v", [x], extended("float32"))
    text, number = gdal.ExtendedDataType.CreateString(), lambda code: gdal.ExtendedDataType.Create(code)  # noqa: E731
    given = {"text": ([], text, "a \"text\", Zürich"), "texts": ([2], text, ["a", ""]),
             "int": ([], number(gdal.GDT_Int32), -3), "ints": ([3], number(gdal.GDT_UInt16), [1, 2, 65535]),
             "double": ([], number(gdal.GDT_Float64), 0.1), "whole": ([], number(gdal.GDT_Float64), 3.0),
             "float": ([2], number(gdal.GDT_Float32), [0.5, -1.25]), "large": ([], number(gdal.GDT_Float64), 1e300)}
    for thing in (root, array, root.CreateGroup("g")):
        for name, (shape, kind, value) in given.items():
            assert thing.CreateAttribute(name, shape, kind).Write(value) == gdal.CE_None
        thing.CreateAttribute("json", [], gdal.ExtendedDataType.CreateString(0, gdal.GEDTST_JSON)).Write('{"a":[1,null,true]}')
        assert "json" not in error_of(thing.CreateAttribute, "matrix", [2, 2], number(gdal.GDT_Int32))
        assert "already" in error_of(thing.CreateAttribute, "int", [], text)
        bad = thing.CreateAttribute("bad", [], gdal.ExtendedDataType.CreateString(0, gdal.GEDTST_JSON))
        assert "attribute bad" in error_of(bad.Write, "{")
    del array, thing, root, x, bad
    dataset = None
    root = root_of(tmp_path / "a.zarr")
    for thing in (root, root.OpenGroup("g"), root.OpenMDArray("v")):
        found = attributes_of(thing)
        assert json.loads(found.pop("json")) if isinstance(found["json"], str) else found.pop("json") == {"a": [1, None, True]}
        expected = {name: value for name, (_, _, value) in given.items()}
        assert {key: list(value) if isinstance(value, (list, tuple)) else value for key, value in found.items()} == expected
    assert document(tmp_path / "a.zarr")["attributes"]["whole"] == 3.0


@pytest.mark.parametrize("shape, value, again", [([], "[1,2,3]", "[5,6]"), ([], '["a","b"]', '{"a":1}'), ([], "7", '"a"'), ([], "null", "[]"),
                                                 ([2], ['{"a":1}', "[2]"], ["1", "2"])])
def test_an_attribute_of_json_is_read_from_the_object_that_wrote_it(tmp_path, shape, value, again):
    dataset, root = made(tmp_path / "a.zarr")
    attribute = root.CreateAttribute("j", shape, gdal.ExtendedDataType.CreateString(0, gdal.GEDTST_JSON))
    assert not any(attribute.ReadAsStringArray() or [])
    for text in (value, again):
        assert attribute.Write(text) == gdal.CE_None
        assert attribute.ReadAsStringArray() == (text if shape else [text])


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_an_attribute_of_text_stays_text_for_the_object_that_wrote_it(tmp_path, text):
    dataset, root = made(tmp_path / "a.zarr")
    one, two = (root.CreateAttribute(name, shape, gdal.ExtendedDataType.CreateString()) for name, shape in (("a", []), ("b", [2])))
    assert one.ReadAsString() is None and root.CreateAttribute("n", [2], extended("int32")).ReadAsIntArray() == (0, 0)
    assert one.Write(text) == gdal.CE_None and two.Write([text, "a"]) == gdal.CE_None
    assert one.ReadAsString() == text and two.ReadAsStringArray() == [text, "a"]


def test_nodata_scale_offset_unit_and_crs(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    y, x = dimensions(root, y=40, x=50)
    srs, other = osr.SpatialReference(), osr.SpatialReference()
    srs.ImportFromEPSG(32633), other.ImportFromEPSG(3035)
    for name, crs in (("a", srs), ("b", srs), ("c", other), ("d", None)):
        array = root.CreateMDArray(name, [y, x], extended("int16"), ["CHUNK_SHAPE=16"])
        array.SetNoDataValueDouble(-7)
        array.SetScale(0.5), array.SetOffset(10), array.SetUnit("m")
        assert "expected a finite scale" in error_of(array.SetScale, float("nan")) and "expected a finite offset" in error_of(array.SetOffset, float("inf"))
        if crs:
            array.SetSpatialRef(crs)
        array.Write(np.full((10, 10), 3, "int16"), [0, 0])
    assert array.GetNoDataValueAsDouble() == -7 and array.ReadAsArray([39, 49], [1, 1]) == -7
    array.SetNoDataValueDouble(3)  # elements are there: what is stored stays what it is
    assert array.ReadAsArray([39, 49], [1, 1]) == -7 and array.GetNoDataValueAsDouble() == 3
    del array, root, x, y
    dataset = None
    root = root_of(tmp_path / "a.zarr")
    for name, code in (("a", "32633"), ("b", "32633"), ("c", "3035")):
        array = root.OpenMDArray(name)
        assert (array.GetNoDataValueAsDouble(), array.GetScale(), array.GetOffset(), array.GetUnit()) == (-7, 0.5, 10, "m")
        assert array.GetSpatialRef().GetAuthorityCode(None) == code and array.ReadAsArray([39, 49], [1, 1]) == -7
        assert attributes_of(array).get("proj:code") == ("EPSG:3035" if name == "c" else None)
    assert root.OpenMDArray("d").GetSpatialRef() is None
    assert root.GetMDArrayNames() == ["a", "b", "c", "d", "spatial_ref"]
    assert document(tmp_path / "a.zarr", "a")["fill_value"] == -7
    assert not [key for key in files_of(tmp_path / "a.zarr") if key.startswith("a/c/") and not key.startswith("a/c/0/0")]


def test_dimensions_keep_their_type(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    kinds = {"t": "TEMPORAL", "z": "VERTICAL", "n": "HORIZONTAL_Y", "e": "HORIZONTAL_X"}
    dims = [root.CreateDimension(name, kind, None, 2) for name, kind in kinds.items()]
    for d in dims:
        variable = root.CreateMDArray(d.GetName(), [d], extended("float64"))
        variable.Write(np.array([1.0, 2.0]))
        assert d.SetIndexingVariable(variable) in (True, gdal.CE_None) and d.GetIndexingVariable().GetFullName() == "/" + d.GetName()
    array = root.CreateMDArray("v", dims, extended("uint8"))
    assert "already" in error_of(root.CreateDimension, "t", None, None, 3)
    assert [d.GetFullName() for d in root.GetDimensions()] == ["/t", "/z", "/n", "/e"]
    assert root.CreateGroup("sub").CreateMDArray("w", dims[:2], extended("uint8")).GetDimensions()[0].GetFullName() == "/t"
    del array, variable, dims, d, root
    dataset = None
    found = {d.GetName(): d.GetType() for d in root_of(tmp_path / "a.zarr").OpenMDArray("v").GetDimensions()}
    assert found == kinds


# ---------------------------------------------------------------------------------------------------------------- layout

def layout_of(path, shape, dtype="float32", options=(), dataset_options=()):
    """(shape of an inner chunk, of a shard or None)."""
    dataset, root = made(path, *dataset_options)
    dims = [root.CreateDimension("d%d" % i, None, None, s) for i, s in enumerate(shape)]
    array = root.CreateMDArray("v", dims, extended(dtype), list(options))
    sizes = array.GetBlockSize()
    shard = (array.GetStructuralInfo() or {}).get("SHARD_SHAPE")
    return sizes, [int(n) for n in shard.split(",")] if shard else None


def test_options_for_all_arrays_apply_where_they_fit(tmp_path):
    options = ["CHUNK_SHAPE=4,16,16", "SHARD_SHAPE=8,32,32", "COMPRESS=GZIP", "BITROUND=9"]
    assert layout_of(tmp_path / "a.zarr", (10, 100, 100), dataset_options=options) == ([4, 16, 16], [8, 32, 32])
    assert layout_of(tmp_path / "b.zarr", (100, 100), "int16", dataset_options=options) == ([100, 100], [100, 100])
    own = ["CHUNK_SHAPE=5,50,50", "SHARD_SHAPE=AUTO"]
    assert layout_of(tmp_path / "c.zarr", (10, 100, 100), options=own, dataset_options=options)[0] == [5, 50, 50]


# ---------------------------------------------------------------------------------------------------------------- safety

def test_names_that_no_store_may_have_are_refused(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    dims = dimensions(root, x=4)
    root.CreateMDArray("v", dims, extended("int16"))
    for name in ("", ".", "..", "a/b", ".zattrs", "zarr.json", "v"):
        assert error_of(root.CreateMDArray, name, dims, extended("int16"))
        assert error_of(root.CreateGroup, name)
    assert (root.GetMDArrayNames(), root.GetGroupNames() or []) == (["v"], [])


def test_read_only_arrays_refuse_writes(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    root.CreateMDArray("v", dimensions(root, x=4), extended("int16")).Write(np.arange(4, dtype="int16"))
    del root
    dataset = None
    root = root_of(tmp_path / "a.zarr")
    array = root.OpenMDArray("v")
    for attempt in (lambda: root.CreateGroup("g"), lambda: root.CreateDimension("d", None, None, 3), lambda: array.Write(np.zeros(4, "int16")),
                    lambda: root.CreateAttribute("a", [], gdal.ExtendedDataType.CreateString()), lambda: array.SetUnit("m")):
        assert "update mode" in error_of(attempt)


def test_new_store_appears_when_closed_and_not_before(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    array = root.CreateMDArray("v", dimensions(root, x=40), extended("int16"), ["CHUNK_SHAPE=10"])
    array.Write(np.arange(40, dtype="int16"))
    assert not os.path.exists(tmp_path / "a.zarr")
    dataset.FlushCache()
    np.testing.assert_array_equal(root_of(tmp_path / "a.zarr").OpenMDArray("v").ReadAsArray(), np.arange(40))
    array.Write(np.zeros(5, "int16"), [20])
    root.CreateGroup("late").CreateAttribute("a", [], gdal.ExtendedDataType.CreateString()).Write("b")
    del array, root
    dataset = None
    root = root_of(tmp_path / "a.zarr")
    assert list(root.OpenMDArray("v").ReadAsArray()) == [*range(20), 0, 0, 0, 0, 0, *range(25, 40)]
    assert attributes_of(root.OpenGroup("late")) == {"a": "b"} and os.listdir(tmp_path) == ["a.zarr"]
    check_consolidated(tmp_path / "a.zarr")


def two_arrays(path, value, *options):
    dataset, root = made(path, *options)
    dims = dimensions(root, y=64, x=64)
    for name in ("a", "b"):
        root.CreateMDArray(name, dims, extended("int32"), ["CHUNK_SHAPE=16"]).Write(np.full((64, 64), value, "int32"))
    return dataset


def test_store_with_a_failed_write_does_not_replace_another(small_disk):
    noise = np.random.default_rng(0).integers(0, 2**31, (1000, 1000), "int32")
    two_arrays(small_disk / "a.zarr", 1).FlushCache()
    before = files_of(small_disk)
    dataset, root = made(small_disk / "a.zarr", "OVERWRITE=YES")
    array = root.CreateMDArray("v", dimensions(root, y=1000, x=1000), extended("int32"), ["CHUNK_SHAPE=100", "SHARD_SHAPE=200"])
    assert error_of(array.Write, noise)
    assert "what was there stays" in error_of(dataset.FlushCache)
    del array, root
    gdal.PushErrorHandler("CPLQuietErrorHandler")
    dataset = None
    gc.collect()  # what the exceptions above hold
    gdal.PopErrorHandler()
    assert files_of(small_disk) == before


def test_copy_warns_of_what_it_leaves_out(tmp_path):
    need("GDAL's netCDF driver", NETCDF)
    dataset = NETCDF.CreateMultiDimensional(str(tmp_path / "a.nc"), [], ["FORMAT=NC4"])
    root = dataset.GetRootGroup()
    y, x = dimensions(root, y=2, x=3)
    parts = [gdal.EDTComponent.Create(name, at, extended("float32")) for name, at in (("u", 0), ("v", 4))]
    root.CreateMDArray("pairs", [y, x], gdal.ExtendedDataType.CreateCompound("pair", 8, parts))
    root.CreateMDArray("v", [y, x], extended("int16")).Write(np.arange(6, dtype="int16").reshape(2, 3))
    del root, y, x
    dataset = None
    opened = gdal.OpenEx(str(tmp_path / "a.nc"), gdal.OF_MULTIDIM_RASTER)
    translate = lambda strict: gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "b.zarr"), opened, strict=strict)  # noqa: E731
    assert "structured" in error_of(translate, 1) and os.listdir(tmp_path) == ["a.nc"]
    copied, messages = warnings_of(lambda: translate(0))
    assert copied and any("pairs" in message and "left out" in message for message in messages)
    del copied
    assert root_of(tmp_path / "b.zarr").GetMDArrayNames() == ["v"]


COPY = """
gdal.SetCacheMax(64 << 20)
gdal.MultiDimTranslate(sys.argv[2], sys.argv[1], format="ShardedZarr", creationOptions=sys.argv[3:]).FlushCache()
"""


def test_a_copy_takes_little_memory_and_writes_shards_once(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    dims = dimensions(root, t=100, y=512, x=512)
    array = root.CreateMDArray("v", dims, extended("float32"), ["SHARD_SHAPE=1,512,512"])
    rng = np.random.default_rng(0)
    maps = rng.integers(0, 1000, (100, 512, 512)).astype("float32")
    array.Write(maps)
    del array, dims, root
    dataset = None
    base = peak_memory("gdal.SetCacheMax(64 << 20)\n")[1]
    _, peak = peak_memory(COPY, tmp_path / "a.zarr", tmp_path / "b.zarr", "CHUNK_SHAPE=10,64,64", "SHARD_SHAPE=50,256,256")
    assert peak < base + 150
    assert len([name for name in files_of(tmp_path / "b.zarr") if name.startswith("v/c/")]) == 8
    np.testing.assert_array_equal(root_of(tmp_path / "b.zarr").OpenMDArray("v").ReadAsArray(), maps)


# --------------------------------------------------------------------------------------------------------------- updating

def updated(path, *options):
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE, open_options=list(options))
    return dataset, dataset.GetRootGroup()


@pytest.mark.parametrize("way", ["REWRITE", "APPEND", "IN_PLACE"])
def test_arrays_of_zarr_python_are_updated_in_place(tmp_path, way):
    run_peer("mdim_types.py", tmp_path)
    names = [name for name in root_of(tmp_path / "ranks.zarr").GetMDArrayNames() if "bool" not in name and "float16" not in name]
    rng, expected = np.random.default_rng(3), {name: np.load(tmp_path / (name + ".npy")) for name in names}
    dataset, root = updated(tmp_path / "ranks.zarr", "UPDATE=" + way)
    for name in names:
        array = root.OpenMDArray(name)
        for _ in range(3):
            start, count, step, index = random_steps(rng, expected[name].shape)
            dtype = "int16" if expected[name].dtype == np.int8 and GDAL < 3070000 else expected[name].dtype
            values = random_values(rng, count, expected[name].dtype).astype(dtype)
            write(array, values, start or None, count, step or None)
            expected[name][index] = values.astype(expected[name].dtype)
        array.CreateAttribute("changed", [], gdal.ExtendedDataType.CreateString()).Write("yes")
    root.CreateGroup("new").CreateAttribute("n", [], gdal.ExtendedDataType.Create(gdal.GDT_Int32)).Write(3)
    del array, root
    dataset = None
    for name, answer in zip(names, ask_peer("zarr", tmp_path, [("ranks.zarr", name) for name in names])):
        np.testing.assert_array_equal(answer["values"][0], expected[name], name)
        assert answer["members"][name]["changed"] == "yes" and answer["members"]["new"] == {"n": 3}
    check_consolidated(tmp_path / "ranks.zarr")


def test_added_array_is_listed_beside_the_former_ones(tmp_path):
    two_arrays(tmp_path / "a.zarr", 1).FlushCache()
    before = {name: (tmp_path / "a.zarr" / name).read_bytes() for name in files_of(tmp_path / "a.zarr") if name != "zarr.json"}
    dataset, root = updated(tmp_path / "a.zarr")
    assert "already" in error_of(root.CreateMDArray, "a", [], extended("int16"))
    array = root.CreateMDArray("c", root.OpenMDArray("a").GetDimensions(), extended("int16"), ["CHUNK_SHAPE=16"])
    array.SetNoDataValueDouble(5)
    array.Write(np.full((3, 64), 9, "int16"))
    del array, root
    dataset = None
    found = root_of(tmp_path / "a.zarr").OpenMDArray("c")
    assert found.GetNoDataValueAsDouble() == 5 and found.ReadAsArray().sum() == 3 * 64 * 9 + 61 * 64 * 5
    assert [d.GetFullName() for d in found.GetDimensions()] == ["/y", "/x"]
    assert before == {name: (tmp_path / "a.zarr" / name).read_bytes() for name in before}
    check_consolidated(tmp_path / "a.zarr")


def test_crs_set_on_an_array_is_that_of_its_raster(tmp_path):
    source = gdal.GetDriverByName("MEM").Create("", 40, 30, 1)
    source.SetGeoTransform((500000, 10, 0, 5000000, 0, -10))
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(32633)
    source.SetSpatialRef(srs)
    gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "a.zarr"), source, options=["ARRAY_NAME=v"])
    dataset, root = updated(tmp_path / "a.zarr")
    srs.ImportFromEPSG(32634)
    root.OpenMDArray("v").SetSpatialRef(srs)
    root.OpenMDArray("v").SetUnit("m")
    del root
    dataset = None
    raster = gdal.Open(str(tmp_path / "a.zarr"))
    assert raster.GetSpatialRef().GetAuthorityCode(None) == "32634" and raster.GetGeoTransform() == source.GetGeoTransform()
    assert raster.GetRasterBand(1).GetUnitType() == "m" and "32633" not in json.dumps(document(tmp_path / "a.zarr"))


@pytest.mark.skipif(GDAL < 3080000, reason="GDAL 3.8 deletes attributes")
def test_attributes_are_deleted(tmp_path):
    dataset, root = made(tmp_path / "a.zarr")
    array = root.CreateMDArray("v", dimensions(root, x=4), extended("int16"))
    for thing in (root, array):
        for name in "ab":
            thing.CreateAttribute(name, [], gdal.ExtendedDataType.CreateString()).Write("text")
    del array, thing, root
    dataset = None
    dataset, root = updated(tmp_path / "a.zarr")
    for thing in (root, root.OpenMDArray("v")):
        thing.DeleteAttribute("a")
        assert "there is none" in error_of(thing.DeleteAttribute, "a")
    del thing, root
    dataset = None
    root = root_of(tmp_path / "a.zarr")
    assert attributes_of(root) == attributes_of(root.OpenMDArray("v")) == {"b": "text"}


# ---------------------------------------------------------------------------------------------------------------- CRS

def crs_of(code):
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(code)
    srs.SetDataAxisToSRSAxisMapping([2, 1])
    return srs


def codes_of(path):
    root = root_of(path)
    codes = {name: root.OpenMDArray(name).GetSpatialRef() for name in "uvw"}
    return {name: srs and int(srs.GetAuthorityCode(None)) for name, srs in codes.items()}


@pytest.mark.parametrize("before, set_to, expected", [
    ((None, 32631, 32631), {"v": 3857}, (None, 3857, 32631)),
    ((None, 32631, 32632), {"v": 3857}, (None, 3857, 32632)),
    ((None, 32631, 32631), {"u": 3857}, (3857, 32631, 32631)),
    ((None, 32631, 32631), {"v": 3857, "w": 32632}, (None, 3857, 32632)),
    ((None, 32631, 32632), {"w": 32631}, (None, 32631, 32631))])
def test_crs_of_an_array_does_not_change_its_siblings(tmp_path, before, set_to, expected):
    """Though arrays beside it have the same dimensions, and the same grid mapping."""
    path = tmp_path / "a.zarr"
    dataset, root = made(path)
    grid = dimensions(root, y=4, x=5)
    for name, code in zip("uvw", before):
        array = root.CreateMDArray(name, grid, extended("uint8"))
        if code is not None:
            array.SetSpatialRef(crs_of(code))
        write(array, np.zeros((4, 5), "uint8"))
    array = root = dataset = grid = None
    dataset, root = updated(path)
    for name, code in set_to.items():
        root.OpenMDArray(name).SetSpatialRef(None if code is None else crs_of(code))
    root = dataset = None
    assert codes_of(path) == dict(zip("uvw", expected))


# ------------------------------------------------------------------------------------------------------------ attributes

def test_nan_and_infinity_in_attributes_survive_as_numbers_in_strict_json(tmp_path):
    """And the document stays JSON, for readers that take no other."""
    path = tmp_path / "a.zarr"
    dataset, root = made(path)
    values = {"nan": float("nan"), "range": [float("-inf"), float("inf")], "mix": [1.5, float("nan")]}
    for name, value in values.items():
        root.CreateAttribute(name, [len(value)] if isinstance(value, list) else [], extended("float64")).Write(value)
    for name, value in {"text": "nan", "texts": ["NaN", "b"]}.items():
        root.CreateAttribute(name, [len(value)] if isinstance(value, list) else [], gdal.ExtendedDataType.CreateString()).Write(value)
    root = dataset = None
    with open(path / "zarr.json") as file:
        json.load(file, parse_constant=lambda constant: pytest.fail(constant))
    attributes = attributes_of(root_of(path))
    for name, value in values.items():
        np.testing.assert_array_equal(attributes[name], value)
    assert attributes["text"] == "nan" and list(attributes["texts"]) == ["NaN", "b"]


def test_coordinates_are_those_of_the_source_and_come_first(tmp_path):
    need("GDAL's netCDF driver", NETCDF)
    dataset, root = made(tmp_path / "a.zarr")
    y, x = dimensions(root, y=4, x=5)
    for name, grid in {"albedo": [y, x], "column_width": [x], "lat": [y, x], "lon": [y, x], "x": [x], "y": [y]}.items():
        array = root.CreateMDArray(name, grid, extended("float64"))
        write(array, np.arange(float(np.prod([d.GetSize() for d in grid]))).reshape([d.GetSize() for d in grid]))
        if name == "albedo":
            array.SetSpatialRef(crs_of(32631))
            array.CreateAttribute("coordinates", [], gdal.ExtendedDataType.CreateString()).Write("lat lon")
    array = root = dataset = y = x = None
    root = root_of(tmp_path / "a.zarr")
    assert root.GetMDArrayNames() == ["x", "y", "albedo", "column_width", "lat", "lon", "spatial_ref"]
    albedo = root.OpenMDArray("albedo")
    assert attributes_of(albedo)["coordinates"] == "lat lon spatial_ref"  # for xarray
    assert [a.GetName() for a in albedo.GetCoordinateVariables()] == ["lat", "lon"]
    albedo = root = None
    gdal.MultiDimTranslate(str(tmp_path / "b.nc"), str(tmp_path / "a.zarr"), format="netCDF").FlushCache()
    copied = gdal.OpenEx(str(tmp_path / "b.nc"), gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    assert attributes_of(copied.OpenMDArray("albedo"))["coordinates"] == "lat lon spatial_ref"
    assert attributes_of(copied.OpenMDArray("column_width")) == {} and copied.OpenMDArray("column_width").GetUnit() == ""


LATIN_1_VRT = """<VRTDataset><Group name="/"><Dimension name="größe" size="3"/>
<Attribute name="Straße"><DataType>String</DataType><Value>Müller</Value></Attribute>
<Array name="größe"><DataType>Int16</DataType><DimensionRef ref="größe"/><RegularlySpacedValues start="5" increment="1"/></Array>
<Array name="Höhe"><DataType>Float32</DataType><DimensionRef ref="größe"/><Unit>°C</Unit><ConstantValue>7</ConstantValue>
<Attribute name="Ä"><DataType>String</DataType><Value>é</Value></Attribute></Array></Group></VRTDataset>"""


def test_latin_1_names_and_texts_are_copied_as_utf_8_with_one_warning(tmp_path):
    (tmp_path / "a.vrt").write_bytes(LATIN_1_VRT.encode("latin-1"))
    before = gdal.OpenEx(str(tmp_path / "a.vrt"), gdal.OF_MULTIDIM_RASTER)
    made, messages = warnings_of(lambda: gdal.MultiDimTranslate(str(tmp_path / "a.zarr"), before, format="ShardedZarr"))
    assert made is not None and len(messages) == 1 and "Latin-1" in messages[0], messages
    del made
    check_consolidated(tmp_path / "a.zarr")
    root = root_of(tmp_path / "a.zarr")
    array = root.OpenMDArray("Höhe")
    assert attributes_of(root) == {"Straße": "Müller"} and attributes_of(array) == {"Ä": "é"} and array.GetUnit() == "°C"
    dimension, = array.GetDimensions()
    assert dimension.GetName() == "größe" and list(dimension.GetIndexingVariable().ReadAsArray()) == [5, 6, 7]


@pytest.mark.parametrize("array, group", [(".zarray", "g"), ("a", "C:")])
def test_a_copy_names_what_it_leaves_out_for_its_name_and_fails_where_strict(tmp_path, array, group):
    (tmp_path / "a.vrt").write_text("""<VRTDataset><Group name="/"><Array name="%s"><DataType>Int16</DataType><ConstantValue>7</ConstantValue></Array>
        <Array name="kept"><DataType>Int16</DataType><ConstantValue>7</ConstantValue></Array>
        <Group name="%s"/></Group></VRTDataset>""" % (array, group))
    before = gdal.OpenEx(str(tmp_path / "a.vrt"), gdal.OF_MULTIDIM_RASTER)
    bad = array if array != "a" else group
    message = error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "a.zarr"), before, 1)
    assert '"%s"' % bad in message and not (tmp_path / "a.zarr").exists()
    made, messages = warnings_of(lambda: gdal.MultiDimTranslate(str(tmp_path / "a.zarr"), before, format="ShardedZarr"))
    assert made is not None and ['"%s"' % bad in message and "left out" in message for message in messages] == [True]
    del made
    assert "kept" in root_of(tmp_path / "a.zarr").GetMDArrayNames()
