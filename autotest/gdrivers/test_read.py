"""Pixels: every data type, codec and layout that the specification allows reads as the oracle says, however it is asked for."""
import json

import numpy as np
import pytest
from osgeo import gdal

import oracle
from oracle import Layout
from stores import (ALL_TYPES, BIG, CRC32C, GZIP, LITTLE, ZSTD, array_meta, blosc, codec, counting, random_store, random_values, sharding,
                    transpose, type_name)
from support import assert_reads, error_of, held_band, need_codecs, open_array, open_ours
from writing import created, driver, source

SHAPE = (13, 17)  # no multiple of anything below


def write_and_check(path, meta, array=None, layout=None, seed=0):
    need_codecs(meta)
    if array is None:
        array = random_values(np.random.default_rng(seed), meta["data_type"], meta["shape"])
    oracle.write(path, meta, array, layout)
    assert_reads(path, meta, array, seed)


# ------------------------------------------------------------------------------------------------------ types and codecs

@pytest.mark.parametrize("data_type", ALL_TYPES, ids=type_name)
@pytest.mark.parametrize("codecs", [[LITTLE], [BIG], [transpose(1, 0), LITTLE], [BIG, GZIP], [LITTLE, ZSTD], [LITTLE, blosc()],
                                    [LITTLE, CRC32C], [transpose(1, 0), BIG, GZIP, CRC32C], [codec("endian", endian="big")]],
                         ids=["little", "big", "transpose", "gzip", "zstd", "blosc", "crc32c", "all", "endian"])
def test_every_type_reads_through_every_codec(tmp_path, data_type, codecs):
    write_and_check(tmp_path, array_meta(SHAPE, data_type, (8, 8), [sharding((4, 4), *codecs)]))


@pytest.mark.parametrize("cname", ["lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"])
@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
@pytest.mark.parametrize("data_type", ["uint8", "uint16", "float64"])
def test_every_compressor_and_shuffle_of_blosc_reads(tmp_path, cname, shuffle, data_type):
    if cname == "snappy" and not oracle.available("blosc:snappy"):
        pytest.skip("this libblosc is built without snappy")
    compression = blosc(cname, shuffle, np.dtype(data_type).itemsize)
    meta = array_meta((40, 50), data_type, (40, 64), [sharding((20, 32), LITTLE, compression)])
    write_and_check(tmp_path, meta, counting((40, 50), data_type))


@pytest.mark.parametrize("compression", [codec("gzip", level=0), codec("gzip", level=9), codec("gzip"), "gzip", codec("zstd", level=-7),
                                         codec("zstd", level=19, checksum=True), codec("zstd"), "zstd", codec("crc32c"), "crc32c",
                                         blosc(clevel=0), blosc("lz4", "shuffle", 2, 9)], ids=str)
def test_every_configuration_of_a_codec_reads(tmp_path, compression):
    write_and_check(tmp_path, array_meta(SHAPE, "int16", (8, 8), [sharding((4, 4), LITTLE, compression)]))


@pytest.mark.parametrize("layout", [Layout(gzip_members=2), Layout(zstd_content_size=False)], ids=["two gzip members", "no size in zstd"])
def test_streams_without_a_length_are_read(tmp_path, layout):
    compression = GZIP if layout.gzip_members == 2 else ZSTD
    write_and_check(tmp_path, array_meta(SHAPE, "int16", (8, 8), [sharding((4, 4), LITTLE, compression)]), layout=layout)


# ------------------------------------------------------------------------------------------------------------ the layouts

BARE = codec("sharding_indexed", chunk_shape=[4, 4], codecs=["bytes", "crc32c"], index_codecs=["bytes", "crc32c"])


@pytest.mark.parametrize("data_type, shard", [("uint8", BARE), ("int32", codec("sharding_indexed", chunk_shape=[4, 4], codecs=[LITTLE]))],
                         ids=["bare names", "no index codecs"])
def test_codecs_without_configurations_and_shards_without_index_codecs_read(tmp_path, data_type, shard):
    write_and_check(tmp_path, array_meta(SHAPE, data_type, (8, 8), [shard], chunk_key_encoding="default"))


NESTED = sharding((12, 8), sharding((6, 4), sharding((3, 2), LITTLE, GZIP), index=[BIG]), location="start")
LAYOUTS = {
    "index at the start": [sharding((4, 4), location="start")],
    "index big-endian": [sharding((4, 4), index=[BIG, CRC32C])],
    "index without checksum": [sharding((4, 4), index=[LITTLE])],
    "checksum twice": [sharding((4, 4), LITTLE, CRC32C, index=[LITTLE, CRC32C, CRC32C])],
    "one chunk in a shard": [sharding((24, 16))],
    "one element in a chunk": [sharding((1, 1), LITTLE, CRC32C)],
    "transpose before": [transpose(1, 0), sharding((4, 6))],
    "transpose before and inside": [transpose(1, 0), sharding((2, 12), transpose(1, 0), BIG)],
    "transpose twice": [transpose(1, 0), transpose(1, 0), sharding((6, 4))],
    "nested": [sharding((12, 8), sharding((3, 4)))],
    "nested three deep": [NESTED],
    "nested, transposed between": [transpose(1, 0), sharding((8, 12), transpose(1, 0), sharding((4, 2), LITTLE, GZIP))],
    "nested, compressed between": [sharding((12, 8), sharding((3, 4)), GZIP)],
    "crc32c after": [sharding((4, 4)), CRC32C],
    "crc32c after, index at the start": [sharding((4, 4), location="start"), CRC32C],
    "gzip after": [sharding((4, 4)), GZIP],
    "gzip after, index at the start": [sharding((4, 4), LITTLE, GZIP, location="start"), GZIP],
    "gzip and crc32c after nested": [sharding((12, 8), sharding((3, 4), location="start"), CRC32C), GZIP, CRC32C],
}
FREEDOMS = {
    "in order": Layout(),
    "reversed with gaps": Layout(order="reversed", gap=7),
    "random, garbage beyond the edge": Layout(order="random", beyond="garbage", seed=3),
    "everything stored": Layout(leave_out_chunks=False, leave_out_shards=False, share=True),
}


@pytest.mark.parametrize("codecs", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("layout", FREEDOMS.values(), ids=FREEDOMS)
def test_every_layout_of_a_shard_reads(tmp_path, codecs, layout):
    shape, rng = (53, 37), np.random.default_rng(5)
    array = random_values(rng, "int16", shape)
    array[5:30, 3:20] = -7  # empty chunks
    array[24:48, 16:32] = -7  # an absent shard
    write_and_check(tmp_path, array_meta(shape, "int16", (24, 16), codecs, fill_value=-7), array, layout)


@pytest.mark.parametrize("key", ["default", "v2", codec("default", separator="."), codec("default", separator="/"),
                                 codec("v2", separator="."), codec("v2", separator="/"), {"name": "v2"}], ids=str)
def test_every_chunk_key_reads(tmp_path, key):
    write_and_check(tmp_path, array_meta((5, 9, 9), "int16", (4, 4, 4), [sharding((2, 2, 2))], chunk_key_encoding=key))


@pytest.mark.parametrize("shape", [[30], [1], [1, 1], [5, 1], [1, 5], [3, 4, 5], [2, 3, 4, 5], [2, 1, 3, 2, 4],
                                   [1, 2, 1, 2, 1, 3]], ids=str)
@pytest.mark.parametrize("larger", [False, True], ids=["shards divide", "shards larger than the array"])
def test_every_number_of_dimensions_reads(tmp_path, shape, larger):
    shard = [4 * s if larger else 2 for s in shape]
    write_and_check(tmp_path, array_meta(shape, "float32", shard, [sharding([s // 2 for s in shard])]), layout=Layout(beyond="garbage"))


@pytest.mark.parametrize("seed", range(170))
def test_random_stores_read_as_the_oracle_reads_them(tmp_path, seed):
    meta, array, layout = random_store(seed)
    write_and_check(tmp_path, meta, array, layout, seed)


# ------------------------------------------------------------------------------------------------------------ fill values

INF, NAN = float("inf"), float("nan")
DATETIME = ALL_TYPES[-2]
FILLS = [("uint64", 2**64 - 1, 2**64 - 1), ("uint64", 2**63, 2**63), ("uint64", 2**53 + 1, 2**53 + 1), ("int64", -2**63, -2**63),
         ("int64", 2**63 - 1, 2**63 - 1), ("int64", 9007199254740993, 9007199254740993), ("int8", -128, -128), ("bool", True, None),
         ("uint8", 255, 255), ("int16", -32768, -32768), ("int32", 7.0, 7), ("uint16", None, None), ("float32", None, None),
         ("float32", "NaN", NAN), ("float64", "NaN", NAN), ("float16", "NaN", NAN), ("float32", "Infinity", INF),
         ("float64", "-Infinity", -INF),
         ("float32", "0x7fc00001", NAN), ("float64", "0x7ff8000000000123", NAN), ("float64", "0xfff0000000000000", -INF),
         ("float16", "0x7e01", NAN), ("float32", "0x3f800000", 1.0), ("float32", 0.1, float(np.float32(0.1))), ("float64", 0.1, 0.1),
         ("float64", -0.0, -0.0), ("float32", 3.4028234663852886e38, 3.4028234663852886e38), ("float64", 5e-324, 5e-324),
         ("complex64", [1.5, "NaN"], None), ("complex128", ["-Infinity", 0.25], None), ("complex64", ["0x7fc00001", 0.0], None),
         (DATETIME, "NaT", -2**63), (DATETIME, -2**63, -2**63),
         ("float16", None, None), ("float32", None, None), ("float64", None, None), ("int16", None, None), ("complex64", None, None),
         (DATETIME, 1577836800, None), ("r8", [42], None), ("r8", "Kg==", None)]  # of these, and of bool, the fill is a value like others


@pytest.mark.parametrize("data_type, fill, nodata", FILLS, ids=["%s %s" % (type_name(t), f) for t, f, _ in FILLS])
def test_absent_chunks_read_as_the_exact_fill_value(tmp_path, data_type, fill, nodata):
    meta = array_meta((6, 8), data_type, (4, 4), [sharding((2, 2))], fill_value=fill)
    array = np.full((6, 8), oracle.fill_of(meta))
    array[0, 0] = np.ones((), array.dtype)  # one shard has one chunk
    oracle.write(tmp_path, meta, array)
    assert_reads(tmp_path, meta, array)
    if array.dtype.kind != "c":
        np.testing.assert_equal(held_band(open_array(tmp_path)).GetNoDataValue(), nodata)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_bare_tokens_that_are_no_json_are_tolerated_as_fill_value(tmp_path, token):
    meta = array_meta((6, 8), "float32", fill_value=float(token))
    assert '"fill_value": %s' % token in json.dumps(meta)
    oracle.write(tmp_path, meta)
    assert_reads(tmp_path, meta, np.full((6, 8), float(token), "float32"))


def test_negative_zero_is_not_taken_for_zero(tmp_path):
    array = np.full((6, 8), -0.0, "float32")
    write_and_check(tmp_path, array_meta((6, 8), "float32", (4, 4), [sharding((2, 2))]), array)


# -------------------------------------------------------------------------------------------------- windows of fractions

@pytest.mark.parametrize("access", [gdal.OF_READONLY, gdal.OF_UPDATE], ids=["read", "update"])
@pytest.mark.parametrize("kind", ["dataset", "band", "mask", "overview"])
def test_a_window_of_fractions_reads_the_pixels_that_gdals_memory_driver_reads(tmp_path, kind, access):
    rng, (height, width) = np.random.default_rng(60), (60, 90)
    memory = gdal.GetDriverByName("MEM").Create("", width, height, 2, gdal.GDT_UInt16)
    memory.WriteArray(rng.integers(1, 60000, (2, height, width)).astype("uint16"))
    if kind == "mask":
        memory.CreateMaskBand(gdal.GMF_PER_DATASET)
        memory.GetRasterBand(1).GetMaskBand().WriteArray((rng.integers(0, 3, (height, width)) > 0).astype("uint8") * 255)
    if kind == "overview":
        memory.BuildOverviews("NEAREST", [2])
    path = str(tmp_path / "a.zarr")
    driver().CreateCopy(path, memory, options=["CHUNK_SHAPE=16", "RESAMPLING=NEAREST", "OVERVIEWS=" + ("2" if kind == "overview" else "NONE")])
    ours = gdal.OpenEx(path, gdal.OF_RASTER | access)
    choose = {"dataset": lambda d: d, "band": lambda d: d.GetRasterBand(2), "mask": lambda d: d.GetRasterBand(1).GetMaskBand(),
              "overview": lambda d: d.GetRasterBand(2).GetOverview(0)}[kind]
    if kind == "overview":
        height, width = height // 2, width // 2
    for turn in range(120):
        w, h = rng.uniform(0.6, width), rng.uniform(0.6, height)
        if turn % 3 == 0:
            w, h = rng.uniform(0.6, 8), rng.uniform(0.6, 8)
        x, y = width - w if turn % 7 == 0 else rng.uniform(0, width - w), rng.uniform(0, height - h)
        size = dict(zip(("buf_xsize", "buf_ysize"), map(int, rng.integers(1, 70, 2))))
        found, expected = (choose(d).ReadAsArray(x, y, w, h, resample_alg=[0, 0, 1, 5][turn % 4], **size) for d in (ours, memory))
        np.testing.assert_array_equal(found, expected, str((x, y, w, h, size)))


@pytest.mark.parametrize("layout", [["TILED=YES", "BLOCKXSIZE=64", "BLOCKYSIZE=64"], ["INTERLEAVE=BAND"]], ids=["tiles", "strips"])
@pytest.mark.parametrize("resampling", [gdal.GRIORA_NearestNeighbour, gdal.GRIORA_Bilinear], ids=["nearest", "bilinear"])
def test_a_window_of_fractions_in_a_buffer_of_its_rounded_size_reads_what_a_tiff_reads(tmp_path, resampling, layout):
    """As rasterio's read(window=from_bounds(...)) asks. MEM alone takes the rounded window."""
    rng, (height, width) = np.random.default_rng(61), (150, 200)
    memory = source(rng.integers(1, 60000, (2, height, width)).astype("uint16"))
    tiff = gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / "a.tif"), memory, options=layout)
    driver().CreateCopy(str(tmp_path / "a.zarr"), memory, options=["CHUNK_SHAPE=64", "OVERVIEWS=NONE"])
    ours = open_ours(str(tmp_path / "a.zarr"))
    for turn in range(200):
        w, h = (rng.uniform(1, width / 2) if turn % 2 else float(rng.integers(1, width // 2))), rng.uniform(1, height / 2)
        window, size = (rng.uniform(0, width - w - 1), rng.uniform(0, height - h - 1), w, h), dict(buf_xsize=int(w + 0.5), buf_ysize=int(h + 0.5))
        for one, other in [(ours, tiff), (ours.GetRasterBand(2), tiff.GetRasterBand(2))]:
            np.testing.assert_array_equal(*(d.ReadAsArray(*window, resample_alg=resampling, **size) for d in (one, other)), str(window))


# ------------------------------------------------------------------------------------------------------------ progress

def moves(dataset, array):
    """{name: a function that reads or writes all of a dataset of bands, and tells a callback}"""
    band = dataset.GetRasterBand(1)
    size = dict(buf_xsize=array.shape[2] // 2, buf_ysize=array.shape[1] // 2)
    return {"read a band": lambda told: band.ReadAsArray(callback=told),
            "read bands": lambda told: dataset.ReadAsArray(callback=told),
            "read fewer pixels": lambda told: dataset.ReadAsArray(callback=told, **size),
            "write a band": lambda told: band.WriteArray(array[0], callback=told),
            "write bands": lambda told: dataset.WriteArray(array, callback=told)}


@pytest.mark.parametrize("name", ["read a band", "read bands", "read fewer pixels", "write a band", "write bands"])
def test_progress_is_told_the_end_of_a_window_and_can_refuse_it(tmp_path, name):
    array = np.random.default_rng(5).integers(1, 60000, (3, 300, 70)).astype("uint16")
    path = created(tmp_path / "a.zarr", array, CHUNK_SHAPE=16, SHARD_SHAPE=64, INTERLEAVE="BAND")
    access = gdal.OF_UPDATE if name.startswith("write") else gdal.OF_READONLY
    seen = []
    dataset = gdal.OpenEx(path, gdal.OF_RASTER | access)
    result = moves(dataset, array)[name](lambda done, *_: seen.append(done) or 1)
    assert seen == [1]
    if name == "read bands":
        np.testing.assert_array_equal(result, array)
    if name == "read a band":
        np.testing.assert_array_equal(result, array[0])
    dataset = None
    np.testing.assert_array_equal(open_ours(path).ReadAsArray(), array)
    dataset = gdal.OpenEx(path, gdal.OF_RASTER | access)
    del seen[:]
    assert "terminated" in error_of(moves(dataset, array)[name], lambda done, *_: seen.append(done) or 0)
    assert len(seen) == 1
    dataset = None
