"""The filter of blosc in copies of arrays: the one that makes samples of the source smallest."""
import os

import numpy as np
import pytest
from osgeo import gdal, gdal_array

import oracle
from mdim import root_of
from support import error_of
from test_create_options import KINDS, surface
from writing import files_of

pytestmark = pytest.mark.skipif(not oracle.available("blosc:zstd"), reason="blosc is not here")
BY_TYPE = {"scene": "BIT", "terrain": "BYTE", "scaled": "BYTE", "scaled double": "BYTE", "classes": "NONE", "valid": "NONE", "constant": "NONE",
           "complex": "BYTE", "with nodata": "BYTE"}


def memory(values, group=None):
    """A dataset in memory with an array `data` in its root group, or in groups below."""
    dataset = gdal.GetDriverByName("MEM").CreateMultiDimensional("")
    parent = dataset.GetRootGroup()
    for name in group.split("/") if group else []:
        parent = parent.CreateGroup(name)
    dims = [parent.CreateDimension(name, None, None, size) for name, size in zip("tzyx"[-values.ndim:], values.shape)]
    code = gdal_array.NumericTypeCodeToGDALTypeCode(values.dtype.type)
    parent.CreateMDArray("data", dims, gdal.ExtendedDataType.Create(code)).Write(values)
    return dataset


def copied(path, dataset, **options):
    """Options of arrays are given to the store: they are for all of them."""
    given = ["%s=%s" % item for item in options.items()]
    result = gdal.GetDriverByName("ShardedZarr").CreateCopy(str(path), dataset, options=given) if isinstance(dataset, gdal.Dataset) else \
        gdal.MultiDimTranslate(str(path), dataset, format="ShardedZarr", creationOptions=given)
    assert result is not None
    del result
    return path


def array_of(path, name="data"):
    return root_of(path).OpenMDArrayFromFullname("/" + name)


def chosen(path, name="data"):
    return array_of(path, name).GetStructuralInfo().get("BLOSC_SHUFFLE")


def contents(path):
    return {name: (path / name).read_bytes() for name in files_of(path)}


def size_of(path):
    return sum(len(data) for name, data in contents(path).items() if os.path.basename(name) != "zarr.json")


def sizes_of(folder, dataset, **options):
    folder.mkdir(exist_ok=True)
    return {filter: size_of(copied(folder / filter, dataset, BLOSC_SHUFFLE=filter, **options)) for filter in ("NONE", "BYTE", "BIT")}


@pytest.mark.parametrize("kind", KINDS)
def test_the_filter_of_an_array_that_is_copied_is_the_one_that_makes_it_smallest(tmp_path, kind):
    values = KINDS[kind](surface(600))
    given = memory(values, "a/b")
    sizes = sizes_of(tmp_path, given)
    path = copied(tmp_path / "auto", given)
    filter = chosen(path, "a/b/data")
    np.testing.assert_array_equal(array_of(path, "a/b/data").ReadAsArray(), values)
    assert sizes[filter] == size_of(path) <= 1.03 * min(sizes.values())
    assert contents(copied(tmp_path / "again", given)) == contents(path)


def test_an_array_of_a_part_of_the_source_gets_the_filter_of_that_part(tmp_path):
    """gdalmdimtranslate reads through a VRT."""
    scaled, terrain = KINDS["scaled"](surface(256)), KINDS["terrain"](surface(256))
    first = copied(tmp_path / "first", memory(np.stack([scaled, terrain])))
    for index, filter in ((0, "NONE"), (1, "BYTE")):
        path = str(tmp_path / ("part%d" % index))
        assert gdal.MultiDimTranslate(path, 'SHARDEDZARR:"%s"' % first, format="ShardedZarr", arraySpecs=["name=data,view=[%d,:,:]" % index])
        np.testing.assert_array_equal(array_of(path).ReadAsArray(), (scaled, terrain)[index])
        assert chosen(path) == filter


def test_a_cube_whose_first_map_has_one_value_is_known_by_its_other_maps(tmp_path):
    """As sums over time have it."""
    given = memory(np.stack([n * KINDS["scaled"](surface(64)) for n in range(9)]))
    path = copied(tmp_path / "auto", given, CHUNK_SHAPE="1,64,64")
    assert chosen(path) != "BYTE" and size_of(path) <= 1.03 * min(sizes_of(tmp_path, given, CHUNK_SHAPE="1,64,64").values())


@pytest.mark.parametrize("options, filter", [({"BLOSC_SHUFFLE": "BYTE"}, "BYTE"), ({"COMPRESS": "ZSTD"}, None), ({"BLOSC_SHUFFLE": "AUTO"}, "NONE"),
                                             ({"CHUNK_MEMORY_LAYOUT": "F"}, "NONE"), ({"BITROUND": "4"}, "BYTE")])
def test_options_count_in_the_choice(tmp_path, options, filter):
    assert chosen(copied(tmp_path / "a", memory(KINDS["scaled"](surface(256))), **options)) == filter


def test_an_array_without_a_source_gets_the_filter_of_its_data_type(tmp_path):
    for kind, filter in BY_TYPE.items():
        values = KINDS[kind](surface(16))
        store = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(tmp_path / kind))
        root = store.GetRootGroup()
        dims = [root.CreateDimension(name, None, None, 16) for name in "yx"]
        code = gdal_array.NumericTypeCodeToGDALTypeCode(values.dtype.type)
        root.CreateMDArray("data", dims, gdal.ExtendedDataType.Create(code)).Write(values)
        del root, dims
        store = None
        assert chosen(tmp_path / kind) == filter


def test_coordinates_keep_the_filter_of_their_data_type(tmp_path):
    dataset = gdal.GetDriverByName("MEM").CreateMultiDimensional("")
    root = dataset.GetRootGroup()
    x = root.CreateDimension("x", None, None, 5000)
    root.CreateMDArray("x", [x], gdal.ExtendedDataType.Create(gdal.GDT_Float64)).Write(np.round(np.random.default_rng(1).random(5000) * 50) * 0.01)
    assert chosen(copied(tmp_path / "a", dataset), "x") == "BYTE"


def test_arrays_of_no_element_and_of_one_are_copied(tmp_path):
    dataset = gdal.GetDriverByName("MEM").CreateMultiDimensional("")
    root = dataset.GetRootGroup()
    number = gdal.ExtendedDataType.Create(gdal.GDT_Float32)
    root.CreateMDArray("one", [root.CreateDimension("a", None, None, 1)], number).Write(np.float32([3]))
    root.CreateMDArray("scalar", [], number).Write(np.float32(4))
    path = copied(tmp_path / "a", dataset)
    assert chosen(path, "one") == "BYTE" and array_of(path, "one").ReadAsArray() == [3]


def test_a_source_that_cannot_be_read_is_an_error_of_the_copy(tmp_path):
    first = copied(tmp_path / "first", memory(KINDS["scaled"](surface(64))))
    shard, = [os.path.join(folder, name) for folder, _, names in os.walk(first) for name in names if name != "zarr.json"]
    with open(shard, "r+b") as file:
        file.write(b"\xff" * (os.path.getsize(shard) - 100))
    broken = gdal.OpenEx('SHARDEDZARR:"%s"' % first, gdal.OF_MULTIDIM_RASTER)
    assert "c/0/0" in error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "a"), broken)
    assert not os.path.exists(tmp_path / "a")
