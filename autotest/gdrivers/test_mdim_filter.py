"""The filter of blosc in copies of arrays: the one that makes samples of the source smallest."""
import os

import numpy as np
import pytest
from osgeo import gdal, gdal_array

import oracle
from mdim import root_of
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
