"""Elements through the multidimensional API: what zarr-python wrote, by any start, count, step, stride and type, and the same as by bands."""
import pathlib

import numpy as np
import pytest
from osgeo import gdal, gdal_array

import oracle
import stores
from mdim import as_mdim, only_array, random_steps, root_of
from support import as_raster, assert_same, error_of, open_array, open_ours, read_all, run_peer

RANKS = range(7)
TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mdim")
    run_peer("mdim_types.py", folder)
    return folder


def check_parts(array, expected, seed, parts=12):
    rng = np.random.default_rng(seed)
    for _ in range(parts):
        start, count, step, index = random_steps(rng, expected.shape)
        if not expected.ndim:
            break
        assert_same(array.ReadAsArray(start, count, step).reshape(count), np.ascontiguousarray(expected[index]), "%s %s %s" % (start, count, step))
    # GDAL's Python reads no array without dimensions as one of numpy, and no half as itself
    half = expected.dtype == np.float16
    whole = array.ReadAsArray() if expected.ndim else np.frombuffer(
        bytes(array.Read(buffer_datatype=gdal.ExtendedDataType.Create(gdal.GDT_Float32) if half else None)), "float32" if half else expected.dtype
    ).astype(expected.dtype)
    assert_same(whole.reshape(expected.shape), expected, "whole")


def check_bands(raster, expected, seed, name):
    """The raster face: the same elements, in random windows of one band."""
    whole = as_raster(expected, name)
    assert (raster.RasterCount, raster.RasterYSize, raster.RasterXSize) == whole.shape
    rng = np.random.default_rng(seed)
    for _ in range(6):
        band, y, x = (int(rng.integers(n)) for n in whole.shape)
        height, width = int(rng.integers(1, whole.shape[1] - y + 1)), int(rng.integers(1, whole.shape[2] - x + 1))
        assert_same(raster.GetRasterBand(band + 1).ReadAsArray(x, y, width, height), np.ascontiguousarray(whole[band, y:y + height, x:x + width]),
                    "%s %d: %s" % (name, seed, (band, y, x, height, width)))


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("name", TYPES)
def test_any_start_count_and_step_of_every_rank_and_type(ranks, rank, name):
    key = "r%d_%s" % (rank, name)
    array = root_of(ranks / "ranks.zarr").OpenMDArray(key)
    expected = as_mdim(np.load(ranks / (key + ".npy")), name)
    assert [d.GetSize() for d in array.GetDimensions()] == list(expected.shape)
    assert array.GetDataType().GetNumericDataType() == gdal_array.NumericTypeCodeToGDALTypeCode(expected.dtype)
    check_parts(array, expected, rank)
    if rank:
        check_bands(open_array(ranks / "ranks.zarr", key), expected, rank, name)


def test_random_stores_of_zarr_python_by_steps_and_the_same_by_bands(tmp_path):
    run_peer("zarr_python_random.py", tmp_path, 7000, 32)
    for seed in range(7000, 7032):
        path = str(tmp_path / ("%d.zarr" % seed))
        expected = np.load(tmp_path / ("%d.npy" % seed))
        raster = open_ours(path)
        dtype = np.dtype(gdal_array.GDALTypeCodeToNumericTypeCode(raster.GetRasterBand(1).DataType))
        with np.errstate(invalid="ignore"):
            check_parts(only_array(path), expected.astype(dtype), seed, 6)
            assert_same(read_all(raster), as_raster(expected, expected.dtype.name).astype(dtype))


@pytest.mark.parametrize("seed", range(12))
def test_buffer_strides_decide_where_elements_go(ranks, seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 5))
    array = root_of(ranks / "ranks.zarr").OpenMDArray("r%d_int32" % rank)
    expected = np.load(ranks / ("r%d_int32.npy" % rank))
    start, count, step, index = random_steps(rng, expected.shape)
    order = [int(i) for i in rng.permutation(rank)]  # from the slowest of the buffer to the fastest
    stride, size = [0] * rank, 1
    for d in reversed(order):
        stride[d] = size
        size *= count[d]
    data = array.Read(start, count, step, stride)
    actual = np.frombuffer(bytes(data), "int32").reshape([count[d] for d in order])
    np.testing.assert_array_equal(actual, expected[index].transpose(order))


@pytest.mark.parametrize("to", ["uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["bool", "int8", "uint16", "int64", "float16", "float64", "complex64"])
def test_elements_are_converted_as_gdal_converts_them(ranks, name, to):
    array = root_of(ranks / "ranks.zarr").OpenMDArray("r3_" + name)
    own = array.ReadAsArray()
    # GDAL's own conversion, of the same values in a raster in memory
    memory = gdal_array.OpenArray(np.ascontiguousarray(own[3]))
    code = gdal_array.NumericTypeCodeToGDALTypeCode(np.dtype(to))
    expected = memory.GetRasterBand(1).ReadAsArray(buf_type=code)
    for step in (1, -2, 5):
        index = np.arange(own.shape[2])[::step] if step > 0 else np.arange(own.shape[2])[::-1][::-step]
        start = [3, 0, int(index[0])]
        data = array.Read(start, [1, own.shape[1], len(index)], [1, 1, step], None, gdal.ExtendedDataType.Create(code))
        actual = np.frombuffer(bytes(data), to).reshape(own.shape[1], len(index))
        np.testing.assert_array_equal(actual, expected[:, index])


def test_windows_outside_the_array_are_refused(tmp_path):
    meta = stores.array_meta([10, 10])
    array = only_array(oracle.write(tmp_path / "a.zarr", meta, stores.counting([10, 10])))
    for start, count, step in [([0, 5], [1, 6], [1, 1]), ([10, 0], [1, 1], [1, 1]), ([3, 0], [3, 1], [-2, 1]),
                               ([0, 0], [2, 2], [2**62, 1]), ([5, 0], [6, 1], [1, 1])]:
        with pytest.raises((RuntimeError, MemoryError, ValueError)):
            array.Read(start, count, step)


def test_a_broken_shard_is_an_error_that_names_it(tmp_path):
    meta = stores.array_meta([8], "uint8", [8], [stores.sharding([4], stores.LITTLE, stores.CRC32C)])
    path = oracle.write(tmp_path / "a.zarr", meta, stores.counting([8], "uint8"))
    data = bytearray(pathlib.Path(path, "c", "0").read_bytes())
    data[1] ^= 1
    pathlib.Path(path, "c", "0").write_bytes(data)
    array = only_array(path)
    assert "c/0" in error_of(array.ReadAsArray)
    assert list(array.ReadAsArray([4], [4])) == [4, 5, 6, 7]


def test_an_array_outlives_its_dataset_and_its_group(ranks):
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % (ranks / "ranks.zarr"), gdal.OF_MULTIDIM_RASTER)
    group = dataset.GetRootGroup()
    array = group.OpenMDArray("r2_float32")
    del group, dataset
    np.testing.assert_array_equal(array.ReadAsArray(), np.load(ranks / "r2_float32.npy"))


def test_views_and_transposed_and_classic_datasets(ranks):
    array = root_of(ranks / "ranks.zarr").OpenMDArray("r3_uint16")
    values = np.load(ranks / "r3_uint16.npy")
    for view in ["[2:5,::-1,3:30:4]", "[1,...]", "[...,::7]", "[:,20,newaxis,::-3]"]:
        index = eval("np.s_%s" % view, {"np": np, "newaxis": None})
        np.testing.assert_array_equal(array.GetView(view).ReadAsArray(), values[index], view)
    np.testing.assert_array_equal(array.Transpose([2, 0, 1]).ReadAsArray(), values.transpose(2, 0, 1))
    np.testing.assert_array_equal(array.GetView("[4,::2,::3]").AsClassicDataset(1, 0).ReadAsArray(), values[4, ::2, ::3])
    np.testing.assert_array_equal(array.AsClassicDataset(1, 2).ReadAsArray(), values.transpose(0, 2, 1))


def test_statistics_and_advise_read(ranks):
    array = root_of(ranks / "ranks.zarr").OpenMDArray("r3_float64")
    values = np.load(ranks / "r3_float64.npy")
    assert array.AdviseRead() == gdal.CE_None
    statistics = array.GetStatistics(False, True)
    np.testing.assert_allclose([statistics.min, statistics.max, statistics.mean, statistics.std_dev],
                               [values.min(), values.max(), values.mean(), values.std()])
    assert statistics.valid_count == values.size


def test_reading_in_many_threads(ranks):
    from concurrent.futures import ThreadPoolExecutor
    root = root_of(ranks / "ranks.zarr")
    array, values = root.OpenMDArray("r4_int32"), np.load(ranks / "r4_int32.npy")

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            start, count, step, index = random_steps(rng, values.shape)
            one = array if seed % 2 else root.OpenMDArray("r4_int32")
            np.testing.assert_array_equal(one.ReadAsArray(start, count, step), values[index])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
