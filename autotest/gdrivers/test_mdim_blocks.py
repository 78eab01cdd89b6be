"""GetRawBlockInfo(): where the chunks of an array are, against the bytes that the oracle and GDAL's own driver find there."""
import itertools

import numpy as np
import pytest
from osgeo import gdal

import oracle
from mdim import only_array, root_of
from stores import CRC32C, GZIP, LITTLE, array_meta, codec, counting, random_store, sharding, transpose
from support import GDAL, assert_same, error_of, fixture_path
from test_mdim_write import dimensions, extended, made, updated, write

pytestmark = pytest.mark.skipif(GDAL < 3120000, reason="GDAL has no GetRawBlockInfo() before 3.12")


def blocks_of(array):
    counts = [-(-size // block) for size, block in zip(array.GetShape() or [], array.GetBlockSize())]
    return itertools.product(*map(range, counts))


def bytes_of(info):
    """The encoded bytes of a block; None where it is missing."""
    if info.GetFilename() is None:
        data = info.GetInlineData()  # which gives them once
        return bytes(data) if data is not None else None
    with gdal.VSIFile(info.GetFilename(), "rb") as file:
        file.seek(info.GetOffset())
        data = file.read(info.GetSize())
    assert len(data) == info.GetSize()
    return data


def decoded(codecs, shape, data, dtype, fill):
    """An innermost chunk, in the order of the array's dimensions. `shape`: of what one object has."""
    orders = [conf["order"] for name, conf in map(oracle.named, codecs) if name == "transpose"]
    conf = oracle.sharding_of(codecs)
    if conf is None:
        return oracle.decode(codecs, data, shape, dtype, fill)
    chunk = decoded(conf["codecs"], tuple(conf["chunk_shape"]), data, dtype, fill)
    for order in reversed(orders):
        chunk = chunk.transpose(np.argsort(order))
    return chunk


def innermost(meta):
    """The shape of a chunk, in the order of the array's dimensions."""
    def of(codecs, shape):
        conf = oracle.sharding_of(codecs)
        if conf is None:
            return list(shape)
        inner = of(conf["codecs"], conf["chunk_shape"])
        for order in reversed([c["order"] for name, c in map(oracle.named, codecs) if name == "transpose"]):
            inner = [inner[i] for i in np.argsort(order)]
        return inner
    return of(meta["codecs"], oracle.chunk_shape_of(meta))


@pytest.mark.parametrize("seed", range(102))
def test_raw_block_info_gives_file_offset_and_size_of_each_chunk(tmp_path, seed):
    meta, values, layout = random_store(seed)
    oracle.write(tmp_path / "a.zarr", meta, values, layout)
    array = only_array(tmp_path / "a.zarr")
    dtype, fill, block = oracle.dtype_of(meta["data_type"]), oracle.fill_of(meta), innermost(meta)
    assert array.GetBlockSize() == [min(b, s) for b, s in zip(block, values.shape)]
    for number in blocks_of(array):
        info = array.GetRawBlockInfo(list(number))
        window = tuple(slice(i * b, (i + 1) * b) for i, b in zip(number, block))
        data = bytes_of(info)
        if data is None:
            assert (info.GetOffset(), info.GetSize(), info.GetInfo()) == (0, 0, None)
            assert_same(values[window], np.full(values[window].shape, fill))
            continue
        chunk = decoded(meta["codecs"], tuple(oracle.chunk_shape_of(meta)), data, dtype, fill)
        assert_same(chunk[tuple(slice(0, n) for n in values[window].shape)], values[window])
        assert "CHUNK_TYPE=INNER" in info.GetInfo()


# ------------------------------------------------------------------------------------------------------------------ words

def words_of(path, *codecs):
    """What is said of a chunk of int16 that is encoded so."""
    oracle.write(path, array_meta([8, 8], "int16", [8, 8], list(codecs)), counting((8, 8), "int16"))
    return only_array(path).GetRawBlockInfo([0, 0]).GetInfo()


@pytest.mark.parametrize("codecs, words", [
    ([codec("bytes", endian="big")], ["ENDIANNESS=BIG"]),
    ([transpose(1, 0), LITTLE, GZIP], ["COMPRESSOR={ \"name\": \"gzip\", \"configuration\": { \"level\": 1 } }", "ENDIANNESS=LITTLE", "TRANSPOSE_ORDER=[1,0]"]),
    ([sharding([4, 8], LITTLE)], ["ENDIANNESS=LITTLE", "CHUNK_TYPE=INNER"]),
    ([transpose(1, 0), sharding([8, 4], codec("bytes", endian="big"), CRC32C)],
     ["COMPRESSOR={ \"name\": \"crc32c\" }", "ENDIANNESS=BIG", "TRANSPOSE_ORDER=[1,0]", "CHUNK_TYPE=INNER"]),
    ([transpose(1, 0), sharding([8, 4], transpose(1, 0), LITTLE)], ["ENDIANNESS=LITTLE", "CHUNK_TYPE=INNER"]),
    ([sharding([4, 8], sharding([2, 8], LITTLE)), GZIP], ["ENDIANNESS=LITTLE", "CHUNK_TYPE=INNER"])], ids=str)
def test_raw_block_info_describes_the_encoding_in_gdals_words(tmp_path, codecs, words):
    assert words_of(tmp_path / "a.zarr", *codecs) == words


@pytest.mark.parametrize("name", ["f2_le", "f2_be", "order_f_u2", "gzip", "spatial_geotransform"])
def test_raw_block_info_without_shards_equals_that_of_gdals_driver(name):
    path = fixture_path("gdal", name + ".zarr")
    own = gdal.OpenEx(str(path), gdal.OF_MULTIDIM_RASTER, allowed_drivers=["Zarr"]).GetRootGroup()
    answers = []
    for root in (own, root_of(path)):
        array = root.OpenMDArray(own.GetMDArrayNames()[0])
        info = array.GetRawBlockInfo([0] * array.GetDimensionCount())
        answers.append((info.GetFilename(), info.GetOffset(), info.GetSize(), info.GetInfo(), info.GetInlineData()))
    assert answers[0] == answers[1]


# ------------------------------------------------------------------------------------------------------- what is not there

def test_raw_block_info_of_a_written_chunk_exists_after_the_flush(tmp_path):
    dataset, root = made(tmp_path / "a.zarr", "COMPRESS=NONE")
    values = np.arange(1, 65, dtype="int16").reshape(8, 8)
    array = root.CreateMDArray("v", dimensions(root, y=8, x=8), extended("int16"), ["CHUNK_SHAPE=4", "SHARD_SHAPE=8"])
    write(array, values)
    assert "flush it first" in error_of(array.GetRawBlockInfo, [0, 0])
    dataset.FlushCache()
    assert bytes_of(array.GetRawBlockInfo([1, 0])) == values[4:, :4].tobytes()
    del array, root
    dataset = None
    dataset, root = updated(tmp_path / "a.zarr")
    array = root.OpenMDArray("v")
    write(array, np.zeros((4, 4), "int16"), [4, 0])
    assert "flush it first" in error_of(array.GetRawBlockInfo, [1, 1])
    dataset.FlushCache()
    assert array.GetRawBlockInfo([1, 0]).GetFilename() is None and bytes_of(array.GetRawBlockInfo([1, 1])) == values[4:, 4:].tobytes()
