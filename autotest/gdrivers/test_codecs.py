"""Codecs beyond the core specification, against plain numpy: what is stored is written by the oracle as integers, or read by it, and the codecs
between are in zarr.json alone."""
import json
import os
import re
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
import stores
from stores import LITTLE, codec
from support import assert_pixels, error_of, name_of, open_ours, run_peer

NAN_AS_0 = {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}
EOPF = [codec("scale_offset", offset=-0.1, scale=10000.0), codec("cast_value", data_type="uint16", scalar_map=NAN_AS_0)]
PLACES = ["inside", "before", "plain", "nested"]


def chain_of(filters, place, *more):
    """The filters before the shard, in its chunks, in those of the shards in it, or without one; chunks are 4 x 6."""
    last = [LITTLE, *more]
    if place == "before":
        return filters + [stores.sharding([4, 6], *last)]
    if place == "nested":
        return [stores.sharding([4, 12], *filters[:1], stores.sharding([4, 6], *filters[1:], *last))]
    return filters + last if place == "plain" else [stores.sharding([4, 6], *filters, *last)]


def stored_meta(shape, data_type, place, *more, fill=0):
    chunk = [4, 6] if place == "plain" else [8, 12]
    return stores.array_meta(shape, data_type, chunk, chain_of([], place, *more), fill_value=fill)


def write(path, stored, filters, data_type, fill=0, place="inside", *more, stored_fill=0):
    """A store whose chunks hold `stored`; with codecs in its zarr.json that make another array of them."""
    meta = stored_meta(stored.shape, str(stored.dtype), place, *more, fill=stored_fill)
    oracle.write(path, meta, stored)
    meta.update(data_type=data_type, fill_value=fill, codecs=chain_of(filters, place, *more))
    (path / "zarr.json").write_text(json.dumps(meta))
    return meta


def stored_in(path, data_type, place="inside", *more, fill=0):
    """What the chunks hold, codecs left aside."""
    meta = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps(stored_meta(meta["shape"], data_type, place, *more, fill=fill)))
    _, array = oracle.read(str(path))
    (path / "zarr.json").write_text(json.dumps(meta))
    return array


def read(path):
    return open_ours(name_of(str(path))).ReadAsArray()


def update(path, values, x=0, y=0):
    dataset = gdal.OpenEx(name_of(str(path)), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.WriteArray(values, x, y)
    dataset.FlushCache()


def same(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("place", PLACES)
def test_codec_chain_of_eopf_reads_at_any_level_of_the_shard(tmp_path, place):
    stored = np.arange(19 * 27).reshape(19, 27).astype("uint16") * 111
    stored[0:8, 0:12] = 0  # a shard that is not there
    stored[9, 7] = 65535
    write(tmp_path, stored, EOPF, "float32", "NaN", place, stores.ZSTD)
    expected = stored.astype("float32") / np.float32(10000) + np.float32(-0.1)
    expected[stored == 0] = np.nan
    assert_pixels(open_ours(name_of(str(tmp_path))), expected[None])


@pytest.mark.parametrize("place", PLACES)
def test_codec_chain_of_eopf_is_written_and_other_pixels_stay(tmp_path, place):
    stored = (np.arange(19 * 27).reshape(19, 27) % 65536).astype("uint16")
    write(tmp_path, stored, EOPF, "float32", "NaN", place)
    new = np.array([[0.5, np.nan, -0.1], [1.23456, 6.4, 0.00004]], "float32")
    update(tmp_path, new, 10, 5)
    stored[5:7, 10:13] = [[6000, 0, 0], [13346, 65000, 1000]]
    same(stored_in(tmp_path, "uint16", place), stored)


INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("rounding, rounded", [
    ("nearest-even", np.rint), ("towards-zero", np.trunc), ("towards-positive", np.ceil), ("towards-negative", np.floor),
    ("nearest-away", lambda v: np.copysign(np.floor(np.abs(v) + 0.5), v))])
@pytest.mark.parametrize("data_type", INTEGERS)
def test_every_rounding_to_every_integer(tmp_path, rounding, rounded, data_type):
    values = np.array([[0.5, 1.5, 2.5, 0.49, 0.51, 3, 100.5, 126.75, -0.0, 0.25, 7.75, 99]], "float64")
    if data_type[0] == "i":
        values = np.concatenate([values, -values])
    filters = [codec("cast_value", data_type=data_type, rounding=rounding)]
    write(tmp_path, np.zeros(values.shape, data_type), filters, "float64", 0.0)
    update(tmp_path, values)
    same(stored_in(tmp_path, data_type), rounded(values).astype(data_type))
    same(read(tmp_path), rounded(values) + 0.0)


@pytest.mark.parametrize("data_type", INTEGERS)
def test_out_of_range_is_an_error_or_clamped_or_wrapped(tmp_path, data_type):
    limits = np.iinfo(data_type)
    bits = limits.bits
    values = np.array([[float(limits.max) * 2 + 2, float(limits.min) - 2.0**bits, 2.0**bits + 5, 1.5e300, -3.0 - 2.0**bits]], "float64")
    for name, expected in [
            ("clamp", [limits.max, limits.min, limits.max, limits.max, limits.min]),
            ("wrap", [int(v) % 2**bits - (2**bits if data_type[0] == "i" and int(v) % 2**bits >= 2**(bits - 1) else 0) for v in np.rint(values[0])])]:
        write(tmp_path / name, np.zeros(values.shape, data_type), [codec("cast_value", data_type=data_type, out_of_range=name)], "float64", 0.0)
        update(tmp_path / name, values)
        same(stored_in(tmp_path / name, data_type), np.array([expected], dtype=data_type))
    for k in range(values.size):
        path = tmp_path / str(k)
        write(path, np.zeros((1, 5), data_type), [codec("cast_value", data_type=data_type)], "float64", 0.0)
        assert "has no value in %s" % data_type in error_of(update, path, values[:, k:k + 1])
        same(stored_in(path, data_type), np.zeros((1, 5), data_type))


def test_a_scalar_map_is_looked_at_first_and_its_first_match_counts(tmp_path):
    map_ = {"encode": [["NaN", 255], ["Infinity", 254], ["-Infinity", 253], [0.0, 7], [0.0, 8], [300.0, 9]],
            "decode": [[255, "NaN"], [254, "Infinity"], [253, "-Infinity"], [7, 0.0], [9, 300.0], [9, 301.0]]}
    write(tmp_path, np.full((1, 8), 7, "uint8"), [codec("cast_value", data_type="uint8", scalar_map=map_)], "float32", 0.0, stored_fill=7)
    values = np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0, 300, 4, 250]], "float32")
    update(tmp_path, values)
    same(stored_in(tmp_path, "uint8", fill=7), np.array([[255, 254, 253, 7, 7, 9, 4, 250]], "uint8"))
    same(read(tmp_path), values + 0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_without_a_map_are_not_written_as_integers(tmp_path, value):
    write(tmp_path, np.ones((4, 6), "int16"), [codec("cast_value", data_type="int16", out_of_range="clamp")], "float32", 0.0)
    assert "has no value in int16" in error_of(update, tmp_path, np.full((1, 1), value, "float32"))


@pytest.mark.parametrize("data_type", ["float32", "float64"] + INTEGERS)
def test_scale_offset_alone_is_in_the_arithmetic_of_the_type(tmp_path, data_type):
    stored = (np.arange(8 * 12).reshape(8, 12) % 40 * 3).astype(data_type)
    write(tmp_path, stored, [codec("scale_offset", offset=2, scale=3)], data_type, 2)
    expected = stored // 3 + 2 if data_type[0] in "iu" else stored / np.dtype(data_type).type(3) + np.dtype(data_type).type(2)
    same(read(tmp_path), expected.astype("float64" if data_type[3:] == "64" and gdal.VersionInfo() < "3050000" else data_type)
         if data_type != "int8" else expected.astype(read(tmp_path).dtype))


def test_scale_offset_of_integers_is_exact_or_an_error(tmp_path):
    write(tmp_path, np.full((4, 6), 10, "uint8"), [codec("scale_offset", scale=3)], "uint8", 0)
    assert 'codec "scale_offset": the stored 10 gives no uint8' in error_of(read, tmp_path)
    write(tmp_path / "far", np.full((4, 6), 250, "uint8"), [codec("scale_offset", offset=100)], "uint8", 100)
    assert 'codec "scale_offset"' in error_of(read, tmp_path / "far")
    write(tmp_path / "new", np.full((4, 6), 5, "uint8"), [codec("scale_offset", offset=100)], "uint8", 100)
    same(read(tmp_path / "new"), np.full((4, 6), 105, "uint8"))
    assert "out of the range of uint8" in error_of(update, tmp_path / "new", np.array([[99]], "uint8"))


def test_an_update_that_would_change_other_pixels_is_refused(tmp_path):
    """42 becomes 0.42, and 0.42 becomes 41.99 and then 41: the neighbours of what is written would drift with every update."""
    filters = [codec("scale_offset", scale=100.0), codec("cast_value", data_type="uint8", rounding="towards-zero")]
    stored = np.arange(24).reshape(4, 6).astype("uint8") + 30
    write(tmp_path, stored, filters, "float32", 0.0)
    message = error_of(update, tmp_path, np.ones((1, 1), "float32"))
    assert "pixels that are not written would change" in message and "scale_offset" in message
    same(stored_in(tmp_path, "uint8"), stored)


def test_bitround_rounds_half_to_even_and_reads_stored_bits_unchanged(tmp_path):
    values = np.array([[0, 0.1, 1.2, 12.3, 123.4, 1234.5, np.nan, np.inf, -np.inf, -0.1]], "float32")
    write(tmp_path, values, [codec("bitround", keepbits=3)], "float32", 0.0)
    same(read(tmp_path), values)  # whoever wrote it
    write(tmp_path, np.zeros_like(values), [codec("bitround", keepbits=3)], "float32", 0.0)
    update(tmp_path, values)  # the sample of the specification
    same(read(tmp_path), np.array([[0, 0.1015625, 1.25, 12, 120, 1280, np.nan, np.inf, -np.inf, -0.1015625]], "float32"))
    write(tmp_path / "lost", values, [codec("bitround", keepbits=3)], "float32", 0.1)
    assert "do not give the fill_value back" in error_of(update, tmp_path / "lost", values)


@pytest.mark.parametrize("filters, words", [
    ([codec("cast_value", data_type="uint16", rounding="up")], 'cast_value": rounding: expected "nearest-even", "towards-zero", "towards-positive", "towards-negative" or "nearest-away", found "up"'),
    ([codec("cast_value", data_type="uint16", out_of_range="saturate")], 'cast_value": out_of_range: expected "clamp" or "wrap", found "saturate"'),
    ([codec("cast_value", data_type="float64", out_of_range="wrap")], "is for integers, found float64"),
    ([codec("cast_value", data_type="complex64")], "expected integers or floats"),
    ([codec("cast_value", data_type="uint16", scale=1)], 'unknown member "scale"'),
    ([codec("cast_value")], 'cast_value": data_type is missing'),
    ([codec("cast_value", data_type="uint16", scalar_map=[])], "scalar_map: expected an object"),
    ([codec("cast_value", data_type="uint16", scalar_map={"encode": [[1]]})], "scalar_map: encode: expected pairs"),
    ([codec("cast_value", data_type="uint16", scalar_map={"decode": [[1, None]]})], "scalar_map: decode: expected pairs"),
    ([codec("cast_value", data_type="uint16", scalar_map={"decode": [[-1, 1]]})], "scalar_map: decode: fill_value of uint16"),
    ([codec("cast_value", data_type="uint16", scalar_map={"decode": [[k, k] for k in range(300)]})], "at most 256 pairs, found 300"),
    ([codec("scale_offset", scale=0)], 'scale_offset": scale: expected another number than 0'),
    ([codec("scale_offset", offset="Infinity")], 'scale_offset": offset: expected a finite number'),
    ([codec("scale_offset", factor=2)], 'unknown member "factor"'),
    ([codec("bitround", keepbits=24)], 'bitround": keepbits: expected an integer from 0 to 23'),
    ([codec("bitround")], 'bitround": keepbits'),
])
def test_a_wrong_configuration_is_refused_and_names_the_member(tmp_path, filters, words):
    write(tmp_path, np.zeros((8, 12), "float32"), filters, "float32", 0.0)
    assert words in error_of(open_ours, name_of(str(tmp_path)))


def at_its_place(meta, extension):
    """The metadata of an array with an extension in place of what is there of its kind."""
    name, inner = extension["name"], meta["codecs"][0]["configuration"]
    if name in ("regular", "rectilinear", "rectangular"):
        meta["chunk_grid"] = extension
    elif name in ("default", "v2"):
        meta["chunk_key_encoding"] = extension
    elif name.startswith("numpy."):
        meta["data_type"] = extension
    elif name == "sharding_indexed":
        meta["codecs"] = [extension]
    elif name == "crc32c":
        inner["index_codecs"] = [LITTLE, extension]
    elif name in ("bytes", "packbits"):
        inner["codecs"] = [extension]
    else:
        inner["codecs"] = [extension, LITTLE] if name in ("transpose", "scale_offset", "cast_value") else [LITTLE, extension]
    return meta


@pytest.mark.parametrize("extension", [
    codec("regular", chunk_shape=[8, 12]), codec("rectilinear", kind="inline", chunk_shapes=[8, 12]), codec("rectangular", chunk_shape=[8, 12]),
    codec("default", separator="/"), codec("v2", separator="."), codec("numpy.datetime64", unit="s"), stores.sharding([4, 6]),
    codec("crc32c"), codec("bytes", endian="little"), codec("packbits"), codec("transpose", order=[1, 0]), codec("scale_offset", scale=2),
    codec("cast_value", data_type="int32"), codec("gzip", level=1), codec("zstd", level=1), codec("blosc", cname="lz4", typesize=8),
    codec("numcodecs.lz4"), codec("numcodecs.shuffle", elementsize=4), codec("numcodecs.fletcher32")], ids=lambda extension: extension["name"])
def test_an_unknown_member_of_any_configuration_is_refused_by_its_name(tmp_path, extension):
    known = extension.get("configuration", {})
    for value, is_refused in [([[[1, 1]]], True), ({"a": 1}, True), ({"must_understand": False}, False)]:
        changed = {**extension, "configuration": {**known, "encoded_chunk_shapes": value}}
        oracle.put(tmp_path, {"zarr.json": at_its_place(stores.array_meta((8, 12), "int64", [8, 12]), changed)})
        if is_refused:
            message = error_of(open_ours, name_of(str(tmp_path)))
            assert 'unknown member "encoded_chunk_shapes"' in message and extension["name"] in message
        else:
            open_ours(name_of(str(tmp_path)))


def test_a_fill_value_that_cannot_be_stored_is_refused(tmp_path):
    write(tmp_path, np.zeros((8, 12), "uint16"), EOPF, "float32", -9999.0)
    assert "fill_value" in error_of(open_ours, name_of(str(tmp_path)))
    write(tmp_path, np.zeros((8, 12), "uint8"), [codec("cast_value", data_type="uint8")], "float32", 0.25, "before")
    assert 'codec "cast_value" before "sharding_indexed": it does not give the fill_value back' in error_of(open_ours, name_of(str(tmp_path)))


# ------------------------------------------------------------------------------------------- what zarr-python writes

REFUSED = re.compile(r'does not give the fill_value back|numcodecs.shuffle: expected a multiple|"numcodecs.delta" before "sharding_indexed"|"transpose" behind|has no value in|'
                     r'do not give the fill_value back|pixels that are not written would change|out of the range of|are only read')


@pytest.fixture(scope="module")
def random_filters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    run_peer("zarr_python_filters.py", folder, 0, 200)
    return folder


def values_of(path, dtype):
    """What we read, in the type and shape of the array; the refusal where it is one."""
    try:
        values = read(path)
    except RuntimeError as error:
        assert REFUSED.search(str(error)), error
        return None
    shape = json.loads((path / "zarr.json").read_text())["shape"]
    return values.reshape(shape).astype("uint8" if dtype == "bool" else dtype)


def test_random_stores_with_other_codecs_read_as_zarr_python_reads_them(random_filters):
    chains, equal, names = json.loads((random_filters / "stores.json").read_text()), 0, set()
    for seed, chain in chains.items():
        expected = np.load(random_filters / (seed + ".npy"))
        values = values_of(random_filters / (seed + ".zarr"), expected.dtype)
        if values is not None:
            np.testing.assert_array_equal(values, expected, err_msg="%s %s" % (seed, chain))
            equal += 1
            names.update(re.findall(r"numcodecs\.\w+|cast_value|scale_offset", str(chain)))
    assert equal > 0.85 * len(chains) > 100
    assert len(names) >= 18, names


def test_random_stores_with_other_codecs_are_updated_and_zarr_python_reads_them(random_filters, tmp_path):
    chains, updated = json.loads((random_filters / "stores.json").read_text()), []
    for seed in list(chains)[::2]:
        path = tmp_path / (seed + ".zarr")
        shutil.copytree(random_filters / (seed + ".zarr"), path)
        dtype = np.load(random_filters / (seed + ".npy")).dtype
        before = values_of(path, dtype)
        if before is None:
            continue
        raster = read(path)
        try:
            update(path, np.roll(raster, 1, -1)[..., :1, :])
        except RuntimeError as error:
            assert REFUSED.search(str(error)), error
            continue
        after = values_of(path, dtype)
        if after.ndim > 1:
            np.testing.assert_array_equal(after[..., 1:, :], before[..., 1:, :], err_msg="%s %s" % (seed, chains[seed]))
        updated.append((seed + ".zarr", after))
    assert len(updated) > 40
    for name in set(os.listdir(tmp_path)) - {name for name, _ in updated}:
        shutil.rmtree(tmp_path / name)
    run_peer("zarr_python_read.py", tmp_path)
    for name, after in updated:
        np.testing.assert_array_equal(np.load(str(tmp_path / name) + ".npy").astype(after.dtype), after, err_msg=name)
