"""Stores that are damaged, hostile or unreachable: a clear error that says where, never a crash, never a wrong pixel."""
import copy
import functools
import json
import re
import struct

import numpy as np
import pytest

import oracle
from stores import BIG, CRC32C, GZIP, LITTLE, ZSTD, array_meta, blosc, codec, counting, group_meta, sharding, transpose
from support import as_raster, assert_pixels, declined, error_of, held_band, name_of, need_codecs, open_array, peak_memory, read_all

SHAPE, SHARD, CHUNK = (16, 16), (8, 8), (4, 4)
VALUES = counting(SHAPE) + 1
DAMAGED = "c/0/1"  # the shard that is damaged; the others stay


def write_store(path, codecs=None, layout=None):
    meta = array_meta(SHAPE, "uint16", SHARD, codecs or [sharding(CHUNK)])
    need_codecs(meta)
    oracle.write(path, meta, VALUES, layout)
    return path / DAMAGED


def check_refused(path, *words, window=(8, 0, 8, 8)):
    """What lies in the damaged shard cannot be read, and the error says where; what lies elsewhere can."""
    for action in (lambda: read_all(open_array(path)), lambda: held_band(open_array(path)).ReadAsArray(*window)):
        message = error_of(action)
        for word in (DAMAGED,) + words:
            assert re.search(word, message, re.IGNORECASE), (word, message)
    assert error_of(held_band(open_array(path)).Checksum)
    np.testing.assert_array_equal(open_array(path).ReadAsArray(0, 0, 8, 16), VALUES[:, :8])


# --------------------------------------------------------------------------------------------------- the index of a shard

def edit_index(shard, change, location="end", checksum=True, endian="<"):
    """Applies `change` to the index, an array of [y, x, 2], of a shard of 2 x 2 chunks, and mends the checksum."""
    data, size = bytearray(shard.read_bytes()), 64 + 4 * checksum
    begin = 0 if location == "start" else len(data) - size
    index = np.frombuffer(data[begin:begin + 64], endian + "u8").reshape(2, 2, 2).copy()
    change(index)
    encoded = index.tobytes()
    data[begin:begin + size] = encoded + (struct.pack("<I", oracle.crc32c(encoded)) if checksum else b"")
    shard.write_bytes(data)


def setting(field, value):
    def change(index):
        index[0, 1, field] = value
    return change



@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("index", [LITTLE, BIG], ids=["little", "big"])
def test_an_entry_that_overlaps_the_index_is_refused(tmp_path, checksum, index):
    codecs, endian = [index] + [CRC32C] * checksum, "<" if index is LITTLE else ">"
    shard = write_store(tmp_path, [sharding(CHUNK, index=codecs)])
    edit_index(shard, setting(0, 4 * 32 - 8), "end", checksum, endian)
    check_refused(tmp_path, r"chunk\W*\d")
    shard = write_store(tmp_path, [sharding(CHUNK, index=codecs, location="start")])
    edit_index(shard, setting(0, 64 + 4 * checksum - 1), "start", checksum, endian)
    check_refused(tmp_path, r"chunk\W*\d")


@pytest.mark.parametrize("codecs", [[sharding(CHUNK, location="start"), CRC32C], [sharding(CHUNK), GZIP], [sharding(CHUNK), GZIP, CRC32C]],
                         ids=["crc32c", "gzip", "gzip and crc32c"])
@pytest.mark.parametrize("at", [-1, 12, 40])
def test_damage_under_an_outer_codec_is_refused(tmp_path, codecs, at):
    shard = write_store(tmp_path, codecs)
    data = bytearray(shard.read_bytes())
    data[at] ^= 0x40
    shard.write_bytes(data)
    check_refused(tmp_path)


# ---------------------------------------------------------------------------------------------------------------- chunks

def encode(codecs, values):
    return oracle.Encoder(array_meta(values.shape)).chain(codecs, values)


def replace_chunk(shard, encoded):
    """Stores these bytes as the second chunk of a shard of 2 x 2, at the end of the data."""
    data = bytearray(shard.read_bytes())
    index = np.frombuffer(data[-68:-4], "<u8").reshape(2, 2, 2).copy()
    index[0, 1] = (len(data) - 68, len(encoded))
    shard.write_bytes(bytes(data[:-68]) + encoded + index.tobytes() + struct.pack("<I", oracle.crc32c(index.tobytes())))


COMPRESSIONS = {"none": [], "gzip": [GZIP], "zstd": [ZSTD], "blosc": [blosc()], "crc32c": [CRC32C], "gzip and crc32c": [GZIP, CRC32C]}


@pytest.mark.parametrize("compression", COMPRESSIONS.values(), ids=COMPRESSIONS)
@pytest.mark.parametrize("size", [0, 2, 30, 31, 33, 34, 64, 10000])
def test_a_chunk_of_the_wrong_length_is_refused(tmp_path, compression, size):
    shard = write_store(tmp_path, [sharding(CHUNK, LITTLE, *compression)])
    replace_chunk(shard, encode([codec("bytes"), *compression], np.resize(np.arange(200, dtype="uint8"), size)))
    check_refused(tmp_path, r"chunk\W*\d")


@pytest.mark.parametrize("compression", [GZIP, ZSTD, blosc(), CRC32C], ids=lambda c: c["name"])
@pytest.mark.parametrize("damage", [b"", b"\0", b"\0" * 40, b"\xff" * 40, bytes(range(40)), "cut", "cut to one", "head only"], ids=str)
def test_a_chunk_of_damaged_bytes_is_refused(tmp_path, compression, damage):
    shard = write_store(tmp_path, [sharding(CHUNK, LITTLE, compression)])
    if isinstance(damage, str):
        encoded = encode([LITTLE, compression], VALUES[:4, 12:])
        damage = encoded[:{"cut": -3, "cut to one": 1, "head only": 16}[damage]]
    replace_chunk(shard, damage)
    check_refused(tmp_path, r"chunk\W*\d")


READ = """
try:
    ds = gdal.OpenEx(sys.argv[1])
    assert ds.GetDriver().ShortName == 'ShardedZarr'
    ds.ReadRaster(0, 0, 16, 16)
    print('read')
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["gzip", "zstd", "blosc"])
def test_a_chunk_that_would_decode_to_gigabytes_takes_no_memory(tmp_path, name):
    compression = {"gzip": GZIP, "zstd": ZSTD, "blosc": blosc()}[name]
    shard = write_store(tmp_path, [sharding(CHUNK, LITTLE, compression)])
    bomb = encode([codec("bytes"), compression], np.zeros(256 << 20, "uint8"))
    if name == "blosc":  # it says 2 GB and holds little
        bomb = bytearray(bomb[:4096])
        bomb[4:8], bomb[12:16] = struct.pack("<I", 0x7fffff00), struct.pack("<I", len(bomb))
    replace_chunk(shard, bytes(bomb))
    output, megabytes = peak_memory(READ, name_of(tmp_path), GDAL_CACHEMAX="64")
    assert DAMAGED in output and megabytes < 200


def test_an_index_that_would_take_terabytes_takes_no_memory(tmp_path):
    meta = array_meta((2**20, 2**20), "uint8", (2**20, 2**20), [sharding((1, 1))])
    oracle.put(oracle.write(tmp_path, meta), {"c/0/0": b"short"})
    output, megabytes = peak_memory(READ, name_of(tmp_path), GDAL_CACHEMAX="64")
    assert output != "read" and megabytes < 200


# -------------------------------------------------------------------------------------------------------------- metadata

def changed(**members):
    return {**array_meta(SHAPE, "uint16", SHARD, [sharding(CHUNK)]), **members}


def with_shard(*codecs, **configuration):
    shard = copy.deepcopy(sharding(CHUNK))
    shard["configuration"].update(configuration)
    return changed(codecs=list(codecs) + [shard])


def grid(chunk_shape):
    return codec("regular", chunk_shape=chunk_shape)


REFUSED = {  # {case: (zarr.json, what the error must name)}
    "unknown codec": (changed(codecs=[{"name": "acme.lossy"}, sharding(CHUNK)]), "acme.lossy"),
    "unknown codec inside": (changed(codecs=[sharding(CHUNK, LITTLE, {"name": "acme.lossy"})]), "acme.lossy"),
    "unknown codec of the index": (with_shard(index_codecs=[LITTLE, {"name": "acme.lossy"}]), "acme.lossy"),
    "unknown codec as a bare string": (changed(codecs=["acme.lossy", sharding(CHUNK)]), "acme.lossy"),
    "unknown type": (changed(data_type="float7"), "float7"), "unknown object type": (changed(data_type={"name": "acme.t"}), "acme.t"),
    "string type": (changed(data_type="string", fill_value=""), "string"),
    "unknown grid": (changed(chunk_grid={"name": "hexagonal", "configuration": {}}), "hexagonal"),
    "unknown key encoding": (changed(chunk_key_encoding="runes"), "runes"),
    "unknown member": (changed(novelty={"a": 1}), "novelty"),
    "unknown member to understand": (changed(new={"must_understand": True}), "new"),
    "unknown plain member": (changed(novelty=5), "novelty"),
    "storage transformer": (changed(storage_transformers=[{"name": "acme.t"}]), "acme.t|storage_transformers"),
    "unknown index location": (with_shard(index_location="middle"), "middle"),
    "unknown endianness": (changed(codecs=[sharding(CHUNK, codec("bytes", endian="middle"))]), "middle"),
    "unknown separator": (changed(chunk_key_encoding=codec("default", separator="..")), "separator"),
    "chunks that do not divide": (changed(codecs=[sharding((3, 4))]), "chunk_shape|divide"),
    "chunks of nothing": (changed(codecs=[sharding((0, 4))]), "chunk_shape"),
    "chunks below nothing": (changed(codecs=[sharding((-4, 4))]), "chunk_shape"),
    "chunks larger than the shard": (changed(codecs=[sharding((16, 4))]), "chunk_shape|divide"),
    "chunks of other dimensions": (changed(codecs=[sharding((4,))]), "chunk_shape|dimension"),
    "chunks that divide only before the transpose": (
        array_meta(SHAPE, "uint16", (8, 6), [transpose(1, 0), sharding((4, 3))]), "chunk_shape|divide"),
    "shards of nothing": (changed(chunk_grid=grid([0, 8])), "chunk_shape"),
    "shards of other dimensions": (changed(chunk_grid=grid([8])), "chunk_shape|dimension"),
    "fractions": (changed(chunk_grid=grid([8.5, 8])), "chunk_shape"), "negative shape": (changed(shape=[-1, 16]), "shape"),
    "shape of text": (changed(shape=["16", 16]), "shape"), "shape beyond 2^64": (changed(shape=[2**64, 16]), "shape"),
    "no bytes codec": (changed(codecs=[transpose(1, 0)]), "codecs"), "no codecs": (changed(codecs=[]), "codecs"),
    "two bytes codecs": (changed(codecs=[LITTLE, sharding(CHUNK)]), "codec"),
    "order of codecs": (changed(codecs=[GZIP, sharding(CHUNK)]), "codec"),
    "transpose that repeats": (with_shard(transpose(0, 0)), "order"), "transpose too long": (with_shard(transpose(0, 1, 2)), "order"),
    "transpose out of range": (with_shard(transpose(0, 2)), "order"),
    "index that is transposed": (with_shard(index_codecs=[transpose(2, 1, 0), LITTLE]), "transpose"),
    "index of unknown size": (with_shard(index_codecs=[LITTLE, GZIP]), "index_codecs|index"),
    "dimension names too few": (changed(dimension_names=["x"]), "dimension_names"),
    "fill of text": (changed(fill_value="full"), "fill_value"), "fill out of range": (changed(fill_value=65536), "fill_value"),
    "fill below range": (changed(fill_value=-1), "fill_value"), "fill with a fraction": (changed(fill_value=0.5), "fill_value"),
    "hex fill too long": (changed(data_type="float32", fill_value="0x7fc0000000"), "fill_value"),
    "rows and columns beyond int": (array_meta([2**33, 2**33], "uint8", [2**10, 2**10], [sharding((8, 8))]), "shape|size|large|dimension"),
    "bytes of a chunk that overflow": (array_meta(SHAPE, "float64", [2**31] * 2, [sharding([2**31] * 2)]), "chunk|large|overflow"),
    "elements of a chunk that overflow": (array_meta(SHAPE, "uint8", [2**40] * 2, [sharding([2**40] * 2)]), "chunk|large|overflow"),
    "chunks in a shard that overflow": (array_meta(SHAPE, "uint8", [2**40] * 2, [sharding([1] * 2)]), "chunk|large|overflow"),
    "bytes of an index that overflow": (array_meta(SHAPE, "uint8", [2**31] * 2, [sharding([1] * 2)]), "chunk|large|overflow"),
    "number of elements that overflows": (array_meta([2**40] * 5, "uint8", [1] * 5, [sharding([1] * 5)]), "."),
    "transpose behind bytes": (changed(codecs=[LITTLE, transpose(0, 1)]), '"transpose".*stands behind'),
    "shards behind bytes": (changed(codecs=[LITTLE, sharding(CHUNK)]), '"sharding_indexed".*stands behind'),
    "bytes behind shards": (changed(codecs=[sharding(CHUNK), LITTLE]), '"bytes".*stands behind'),
    "a number as a codec": (changed(codecs=[17]), "codecs.*name"), "a codec of Zarr v2": (changed(codecs=[LITTLE, {"id": "zlib"}]), "codecs.*name"),
    "no codecs inside": (with_shard(codecs=[]), '"sharding_indexed".*at least one'), "text as codecs": (with_shard(codecs="bytes"), '"sharding_indexed".*codecs'),
    "no codec of the index": (with_shard(index_codecs=[]), "index_codecs"), "a number as codec of the index": (with_shard(index_codecs=[3]), "not a codec"),
    "checksum before the index": (with_shard(index_codecs=[CRC32C, LITTLE]), '"sharding_indexed".*crc32c'),
    "shards nested too deep": (changed(codecs=[functools.reduce(lambda inner, _: sharding(CHUNK, inner), range(12), LITTLE)]), "sharding_indexed"),
}
WRONG = [("gzip", "level", (10, -1, "9")), ("zstd", "level", (23, 1.5)), ("blosc", "cname", ("quick",)), ("blosc", "clevel", (10,)),
         ("blosc", "shuffle", ("both", 1)), ("blosc", "typesize", (0,)), ("blosc", "blocksize", (-1,)), ("numcodecs.bz2", "level", (0,)),
         ("numcodecs.lzma", "format", (3,)), ("numcodecs.crc32", "location", ("middle",)), ("numcodecs.shuffle", "elementsize", (0,)),
         ("numcodecs.jenkins_lookup3", "initval", (-1,)), ("numcodecs.jenkins_lookup3", "prefix", ([1],)), ("numcodecs.blosc", "shuffle", (3,))]
REFUSED.update({"%s of %s: %s" % (member, name, value): (changed(codecs=[sharding(CHUNK, LITTLE, codec(name, **{member: value}))]), name + ".*" + member)
                for name, member, values in WRONG for value in values})


@pytest.mark.parametrize("meta, word", REFUSED.values(), ids=REFUSED)
def test_an_array_that_cannot_be_right_is_not_opened(tmp_path, meta, word):
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "bad", meta)
    oracle.write(tmp_path / "good", array_meta(SHAPE), VALUES)
    message = error_of(lambda: open_array(tmp_path, "/bad").ReadAsArray(0, 0, 1, 1))
    assert re.search(word, message) and "bad" in message, message
    assert_pixels(open_array(tmp_path, "/good"), as_raster(VALUES, "uint16"), windows=1)


@pytest.mark.parametrize("member", ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "chunk_shape", "codecs"])
def test_a_missing_member_is_named(tmp_path, member):
    meta = changed()
    del (meta if member not in ("chunk_shape", "codecs") else meta["codecs"][0]["configuration"])[member]
    assert member in error_of(open_array, oracle.write(tmp_path, meta))


def write_text(path, text):
    path.mkdir(exist_ok=True)
    (path / "zarr.json").write_bytes(text)
    return path


VALID = json.dumps(changed()).encode()
TEXTS = {"cut": VALID[:-40], "empty": b"", "no object": b"[]", "number": b"3", "binary": bytes(range(256)),
         "nested a thousand deep": VALID[:-1] + b', "attributes": ' + b'{"a":' * 1000 + b"1" + b"}" * 1000 + b"}",
         "nested a million deep": b"[" * 1000000, "zero byte": VALID[:50] + b"\0" + VALID[50:], "trailing garbage": VALID + b"}"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_metadata_that_is_no_json_is_an_error_with_our_prefix_and_silence_without(tmp_path, text):
    path = write_text(tmp_path / "broken.zarr", text)
    assert "zarr.json" in error_of(open_array, path)
    refused, messages = declined(str(path))
    assert refused and (messages == [] or b"sharding_indexed" in text), "what may be ours may be complained about"


def test_consolidated_metadata_of_too_many_groups_are_refused(tmp_path):
    """Those that are implied by the names of others, too."""
    listed = {"%d/a" % number: group_meta() for number in range(20001)}
    oracle.write(tmp_path, group_meta(consolidated_metadata={"kind": "inline", "must_understand": False, "metadata": listed}))
    assert "at most 20000 groups" in error_of(open_array, tmp_path)


def test_metadata_of_200_megabytes_takes_no_memory(tmp_path):
    text = VALID[:-1] + b', "attributes": {"a": [' + b"0," * (100 * 1000 * 1000) + b"]}}"
    path = write_text(tmp_path / "large.zarr", text)
    code = "try:\n    gdal.OpenEx(sys.argv[1])\nexcept RuntimeError as error:\n    print(error)"
    output, megabytes = peak_memory(code, name_of(path), GDAL_CACHEMAX="64")
    assert "zarr.json" in output and megabytes < 200
