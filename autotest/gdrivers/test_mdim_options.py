"""Creation options as GDAL's own Zarr driver calls them, and stores that are opened where that one is not asked."""
import json
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
import stores
from mdim import attributes_of, root_of
from support import GDAL, ask_peer, assert_same, error_of, open_array, read_all, warnings_of
from writing import document, source

VALUES = np.arange(24 * 26, dtype="float32").reshape(24, 26)


def made(path, options, values=VALUES, dataset=("FORMAT=ZARR_V3",)):
    """The document of an array of two dimensions that is made with these options, after zarr-python has read it."""
    store = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(path), [], list(dataset))
    root = store.GetRootGroup()
    dims = [root.CreateDimension(name, None, None, size) for name, size in zip("yx", values.shape)]
    kind = gdal.ExtendedDataType.Create(gdal.GDT_Float32)
    root.CreateMDArray("data", dims, kind, list(options)).Write(values)
    del root, dims
    store = None
    answer, = ask_peer("zarr", path.parent, [(path.name, "data")])
    np.testing.assert_array_equal(answer["values"][0], values)
    return document(path / "data")


def inner(meta):
    """(configuration of the shards, {codec: its configuration} of the chunks in them)"""
    sharding = meta["codecs"][0]["configuration"]
    return sharding, {codec["name"]: codec.get("configuration") for codec in sharding["codecs"]}


def test_a_block_is_a_shard_where_the_shape_of_its_chunks_is_given_and_else_a_chunk(tmp_path):
    both = made(tmp_path / "a.zarr", ["BLOCKSIZE=10,12", "SHARD_CHUNK_SHAPE=5,6"])
    assert both["chunk_grid"]["configuration"]["chunk_shape"] == [10, 12] and inner(both)[0]["chunk_shape"] == [5, 6]
    assert inner(made(tmp_path / "b.zarr", ["BLOCKSIZE=10,12"]))[0]["chunk_shape"] == [10, 12]
    assert inner(made(tmp_path / "c.zarr", ["SHARD_CHUNK_SHAPE=5,6"]))[0]["chunk_shape"] == [5, 6]


@pytest.mark.parametrize("options, codec, configuration", [
    (["COMPRESS=gzip", "GZIP_LEVEL=1"], "gzip", {"level": 1}),
    (["COMPRESS=GZIP", "ZLIB_LEVEL=2", "ZSTD_LEVEL=9"], "gzip", {"level": 2}),
    (["COMPRESS=zstd", "ZSTD_LEVEL=20", "ZSTD_CHECKSUM=YES"], "zstd", {"level": 20, "checksum": True}),
    (["COMPRESS=blosc", "BLOSC_CNAME=zlib", "BLOSC_CLEVEL=1", "BLOSC_SHUFFLE=NONE", "BLOSC_BLOCKSIZE=512"], "blosc",
     {"cname": "zlib", "clevel": 1, "shuffle": "noshuffle", "blocksize": 512, "typesize": 4}),
    (["CHUNK_MEMORY_LAYOUT=F"], "transpose", {"order": [1, 0]}),
    (["@ENDIAN=big"], "bytes", {"endian": "big"}),
])
def test_codecs_are_as_asked(tmp_path, options, codec, configuration):
    assert inner(made(tmp_path / "a.zarr", ["BLOCKSIZE=5,6"] + options))[1][codec] == configuration


REFUSED = [("FORMAT=ZARR_V2", "ZARR_V3"), ("CREATE_CONSOLIDATED_METADATA=perhaps", "YES or NO")]


@pytest.mark.parametrize("option, words", REFUSED)
def test_unsupported_options_of_gdals_driver_are_refused_by_name(tmp_path, option, words):
    driver = gdal.GetDriverByName("ShardedZarr")
    for attempt in (lambda: driver.CreateMultiDimensional(str(tmp_path / "a.zarr"), [], [option]),
                    lambda: driver.Create(str(tmp_path / "a.zarr"), 4, 4, options=[option])):
        message = error_of(attempt)
        assert option.split("=")[0] in message and words in message
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("options, words", [
    (["BLOCKSIZE=10,10", "SHARD_CHUNK_SHAPE=3,5"], "multiple"), (["BLOCKSIZE=10,x"], "BLOCKSIZE"),
    (["BLOCKSIZE=10,10", "CHUNK_SHAPE=5"], "nothing beside"), (["BLOCKSIZE=4000000000,4000000000"], "chunk")])
def test_shapes_that_contradict_are_refused(tmp_path, options, words):
    store = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(tmp_path / "a.zarr"))
    root = store.GetRootGroup()
    dims = [root.CreateDimension(name, None, None, 10) for name in "yx"]
    assert words in error_of(root.CreateMDArray, "v", dims, gdal.ExtendedDataType.Create(gdal.GDT_Float32), options)


def test_creation_options_of_gdals_driver_make_rasters_without_a_warning(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (3, 200, 300), "uint8")
    options = ["FORMAT=ZARR_V3", "BLOCKSIZE=3,100,200", "SHARD_CHUNK_SHAPE=1,50,50", "COMPRESS=ZSTD", "ZSTD_LEVEL=5", "DIM_SEPARATOR=.",
               "CHUNK_MEMORY_LAYOUT=F", "GEOREFERENCING_CONVENTION=SPATIAL_PROJ", "CREATE_CONSOLIDATED_METADATA=YES", "OVERVIEWS=2"]
    copy, messages = warnings_of(lambda: gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "a.zarr"), source(pixels), options=options))
    assert not messages
    overview = copy.GetRasterBand(2).GetOverview(0).ReadAsArray()
    copy = None
    meta = document(tmp_path / "a.zarr" / "a")
    assert meta["chunk_grid"]["configuration"]["chunk_shape"] == [3, 100, 200] and inner(meta)[1]["zstd"]["level"] == 5
    dataset = gdal.Open(str(tmp_path / "a.zarr"))
    np.testing.assert_array_equal(dataset.ReadAsArray(), pixels)
    np.testing.assert_array_equal(dataset.GetRasterBand(2).GetOverview(0).ReadAsArray(), overview)
    answer, = ask_peer("zarr", tmp_path, [("a.zarr", "a")])
    np.testing.assert_array_equal(answer["values"][0], pixels)


def test_an_array_that_cannot_be_read_does_not_open_and_says_why(tmp_path):
    meta = stores.array_meta([8, 8], "int16", [4, 4], [stores.sharding([3, 1])])
    os.makedirs(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps(meta))
    message = error_of(gdal.OpenEx, 'SHARDEDZARR:"%s"' % (tmp_path / "a.zarr"), gdal.OF_MULTIDIM_RASTER)
    assert "chunk_shape" in message


# ------------------------------------------------------------------------------------------------------------ small things

def test_attributes_of_groups_have_names_of_their_own(tmp_path):
    store = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(tmp_path / "a.zarr"))
    root = store.GetRootGroup()
    below = root.CreateGroup("g")
    for group, name in ((root, "/_GLOBAL_/a"), (below, "/g/_GLOBAL_/a")):
        attribute = group.CreateAttribute("a", [], gdal.ExtendedDataType.CreateString())
        attribute.Write("b")
        assert (attribute.GetFullName(), group.GetAttribute("a").GetFullName(), attributes_of(group)) == (name, name, {"a": "b"})


@pytest.mark.skipif(GDAL < 3130000, reason="GDAL 3.13 has overviews of arrays")
def test_overviews_of_arrays_are_those_of_the_raster(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (2, 300, 500), "uint8")
    gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "a.zarr"), source(pixels), options=["OVERVIEWS=2,4", "CHUNK_SHAPE=64"])
    root, raster = root_of(tmp_path / "a.zarr"), gdal.Open(str(tmp_path / "a.zarr"))
    array = root.OpenMDArray("a")
    assert [array.GetOverview(i).GetFullName() for i in range(array.GetOverviewCount())] == ["/ovr_2x/a", "/ovr_4x/a"]
    assert array.GetOverview(0).GetOverviewCount() == 1 and array.GetOverview(1).GetOverviewCount() == 0
    assert array.GetOverview(-1) is None and array.GetOverview(2) is None
    for i in range(2):
        assert_same(array.GetOverview(i).ReadAsArray()[1], raster.GetRasterBand(2).GetOverview(i).ReadAsArray())
    classic = array.AsClassicDataset(2, 1)
    assert classic.GetRasterBand(1).GetOverviewCount() == 2
    assert_same(read_all(classic), pixels)


def test_data_type_with_a_fallback_is_read_as_the_fallback(tmp_path):
    meta = {**stores.plain_meta([6, 8], "int16"), "data_type": {"name": "acme.degrees", "configuration": {"a": 1}, "fallback": "int16"}}
    values = stores.counting([6, 8], "int16")
    oracle.write(tmp_path / "a.zarr", stores.plain_meta([6, 8], "int16"), values)
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps(meta))
    assert_same(read_all(open_array(tmp_path / "a.zarr"))[0], values)
    meta["data_type"]["fallback"] = {"name": "int16"}
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps(meta))
    assert "acme.degrees" in error_of(open_array, tmp_path / "a.zarr")
