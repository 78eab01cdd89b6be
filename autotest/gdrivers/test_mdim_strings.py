"""Arrays of text through the multidimensional API: what zarr-python wrote, and what it reads of what was written."""
import ctypes
import gzip
import json
import re
import shutil
import struct
import zlib

import numpy as np
import pytest
from osgeo import gdal

from mdim import attributes_of, random_steps, root_of
from support import error_of, run_peer
from test_mdim_write import dimensions, made, updated
from writing import check_consolidated, files_of

NAMES = ["", "a", "Zürich", "a b", "日本", "x" * 20, "end", "", ""]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    run_peer("mdim_strings.py", folder)
    return folder / "names.zarr"


def test_texts_are_the_variable_of_their_dimension(names):
    root = root_of(names)
    name = root.OpenMDArray("value").GetDimensions()[0].GetIndexingVariable()
    assert (name.GetFullName(), name.Read(), attributes_of(name)) == ("/name", NAMES, {"long_name": "names"})
    assert root.OpenMDArray("value").GetView("[4,2]").Read() is not None
    assert name.GetStructuralInfo()["CODECS"]


# ------------------------------------------------------------------------------------------------------ of any rank

RANKS = range(7)
WORDS = np.array(["", "a", "Zürich", "a b", "日本", "x" * 12, "end"])
TEXT = gdal.ExtendedDataType.CreateString()


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    run_peer("mdim_texts.py", folder, "write")
    return folder


@pytest.fixture
def own_texts(texts, tmp_path):
    """A copy for a test that changes them."""
    shutil.copytree(texts, tmp_path, dirs_exist_ok=True)
    return tmp_path


def in_c(call, array, values, start, count, step=None, stride=None):
    """GDALMDArrayRead or GDALMDArrayWrite, which Python's functions do not do for texts of every rank: `values` is an array of char *."""
    with open("/proc/self/maps") as maps:
        library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libgdal.so" in line))

    def numbers(kind, list_of):
        return (kind * max(1, len(count)))(*map(int, list_of)) if list_of is not None else None
    return getattr(library, call)(
        ctypes.c_void_p(int(array.this)), numbers(ctypes.c_uint64, start), numbers(ctypes.c_size_t, count), numbers(ctypes.c_int64, step),
        numbers(ctypes.c_ssize_t, stride), ctypes.c_void_p(int(TEXT.this)), values, None, ctypes.c_size_t(0))


def write_texts(array, values, start, count, step=None):
    flat = [str(v).encode() for v in np.asarray(values).ravel()]
    assert in_c("GDALMDArrayWrite", array, (ctypes.c_char_p * len(flat))(*flat), start, count, step) == 1, gdal.GetLastErrorMsg()


def read_texts(array, shape):
    return np.array(array.Read(), "U14").reshape(shape)


def assert_texts(path, content):
    """That this driver and zarr-python find it in the store, however it is cut."""
    root = root_of(path)
    run_peer("mdim_texts.py", path.parent, "read", path)
    for name, expected in content.items():
        np.testing.assert_array_equal(read_texts(root.OpenMDArray(name), expected.shape), expected, name)
        np.testing.assert_array_equal(np.load(path.parent / (name + ".read.npy")), expected, name)


@pytest.mark.parametrize("rank", RANKS)
def test_any_start_count_and_step_of_texts_of_every_rank_type_and_layout(texts, rank):
    root, rng = root_of(texts / "texts.zarr"), np.random.default_rng(rank)
    names = [name for name in root.GetMDArrayNames() if name.endswith("_%d" % rank)]
    assert len(names) >= 4
    for name in names:
        array, expected = root.OpenMDArray(name), np.load(texts / (name + ".npy"))
        assert array.GetShape() == expected.shape if rank else array.GetDimensionCount() == 0
        np.testing.assert_array_equal(read_texts(array, expected.shape), expected, name)
        for _ in range(8 * (rank > 0)):
            start, count, step, index = random_steps(rng, expected.shape)
            found = np.array(array.Read(start, count, step), "U14").reshape(count)
            np.testing.assert_array_equal(found, expected[index], "%s %s %s %s" % (name, start, count, step))


@pytest.mark.parametrize("options", [
    (), ("CHUNK_SHAPE=3",), ("CHUNK_SHAPE=2", "SHARD_SHAPE=4", "COMPRESS=ZSTD", "CHUNK_CHECKSUM=YES", "INDEX_LOCATION=START"),
    ("CHUNK_SHAPE=2", "SHARD_SHAPE=4", "COMPRESS=GZIP", "CHUNK_MEMORY_LAYOUT=F", "DIM_SEPARATOR=.")])
def test_texts_of_every_rank_are_written_in_random_windows(tmp_path, options):
    rng, content = np.random.default_rng(len(options)), {}
    dataset, root = made(tmp_path / "a.zarr")
    for rank in range(5):
        shape = (5, 7, 4, 3)[:rank]
        dims = dimensions(root, **{"d%d_%d" % (rank, d): n for d, n in enumerate(shape)})
        array = root.CreateMDArray("t%d" % rank, dims, TEXT, list(options) if rank else [])
        values = np.full(shape, "", "U14")
        for _ in range(5):
            start, count, step, index = random_steps(rng, shape)
            window = np.asarray(WORDS[rng.integers(len(WORDS), size=count)])
            write_texts(array, window, start, count, step)
            values[index] = window
        np.testing.assert_array_equal(read_texts(array, shape), values)
        content["t%d" % rank] = values
    del array, dims, root
    dataset = None
    assert_texts(tmp_path / "a.zarr", content)
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_texts_of_zarr_python_are_updated(own_texts, rank):
    dataset, root = updated(own_texts / "texts.zarr")
    rng, content = np.random.default_rng(rank), {}
    for name in [name for name in root.GetMDArrayNames() if name.endswith("_%d" % rank)]:
        array, values = root.OpenMDArray(name), np.load(own_texts / (name + ".npy"))
        for _ in range(3):
            start, count, step, index = random_steps(rng, values.shape)
            window = np.asarray(WORDS[rng.integers(len(WORDS), size=count)])
            write_texts(array, window, start, count, step)
            values[index] = window
        content[name] = values
    del array, root
    dataset = None
    assert_texts(own_texts / "texts.zarr", content)


def test_too_long_text_is_refused_and_changes_nothing(own_texts):
    before = files_of(own_texts / "texts.zarr")
    dataset, root = updated(own_texts / "texts.zarr")
    for name, words in (("fixed_sharded_1", [b"x" * 13]), ("bytes_plain_1", ["日本日本日".encode()])):
        array = root.OpenMDArray(name)
        assert in_c("GDALMDArrayWrite", array, (ctypes.c_char_p * 1)(*words), [1], [1]) == 0
        assert "at most" in gdal.GetLastErrorMsg()
    del array, root
    dataset = None
    assert files_of(own_texts / "texts.zarr") == before


@pytest.mark.parametrize("kind", ["fixed_sharded_1", "variable_plain_1", "variable_sharded_1"])
def test_latin_1_text_is_stored_as_utf_8(own_texts, kind):
    dataset, root = updated(own_texts / "texts.zarr")
    array = root.OpenMDArray(kind)
    assert in_c("GDALMDArrayWrite", array, (ctypes.c_char_p * 1)(b"gr\xf6\xdfe"), [1], [1]) != 0
    assert "Latin-1" in gdal.GetLastErrorMsg()
    del array, root
    dataset = None
    assert updated(own_texts / "texts.zarr")[1].OpenMDArray(kind).Read()[1] == "größe"


def test_text_chunk_with_inconsistent_lengths_is_an_error(own_texts):
    chunk = own_texts / "texts.zarr" / "variable_plain_2" / "c" / "0" / "0"
    meta = json.loads((own_texts / "texts.zarr" / "variable_plain_2" / "zarr.json").read_text())
    meta["codecs"] = [{"name": "vlen-utf8"}]
    meta.pop("consolidated_metadata", None)
    (own_texts / "texts.zarr" / "variable_plain_2" / "zarr.json").write_text(json.dumps(meta))
    six, no_utf_8 = b"\6\0\0\0", (b"\1\0\0\0\xff", b"\4\0\0\0ok\xc0\x80", b"\3\0\0\0\xed\xa0\x80", b"\3\0\0\0a\0b")
    for broken in (b"", b"\6\0\0", six, b"\xff\xff\xff\xff", b"\7\0\0\0" + bytes(28), six + bytes(20), six + bytes(25),
                   six + b"\xff\xff\xff\xff" + bytes(20), *(six + text + bytes(20) for text in no_utf_8)):
        chunk.write_bytes(broken)
        array = root_of(own_texts / "texts.zarr").OpenMDArray("variable_plain_2")
        assert "variable_plain_2/c/0/0" in error_of(array.Read, [0, 0], [2, 3]), broken


@pytest.mark.parametrize("points", [(0xD800, 0), (0x110000, 0), (ord("a"), 0xFFFFFFFF), (0, ord("a"))], ids=str)
def test_text_of_no_code_points_is_an_error(own_texts, points):
    folder = own_texts / "texts.zarr" / "fixed_plain_1"
    meta = json.loads((folder / "zarr.json").read_text())
    (folder / "zarr.json").write_text(json.dumps({**meta, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}))
    (folder / "c" / "0").write_bytes(struct.pack("<24I", *points, *(0,) * 22))
    assert "fixed_plain_1/c/0" in error_of(root_of(own_texts / "texts.zarr").OpenMDArray("fixed_plain_1").Read, [0], [2])


def test_texts_in_gzip_of_several_members_are_read_and_cut_or_endless_ones_are_errors(own_texts):
    folder = own_texts / "texts.zarr" / "variable_plain_2"
    chunk = folder / "c" / "0" / "0"

    def read(codec, *options):
        meta = json.loads((folder / "zarr.json").read_text())
        meta["codecs"] = [{"name": "vlen-utf8"}, {"name": codec, "configuration": {"level": 1}}]
        meta.update(shape=[2, 3], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 3]}})
        (folder / "zarr.json").write_text(json.dumps(meta))
        return root_of(own_texts / "texts.zarr", options).OpenMDArray("variable_plain_2").Read()
    words = ["", "short", "x" * 3000000, "日本", "", "end"]
    stored = struct.pack("<I", 6) + b"".join(struct.pack("<I", len(word.encode())) + word.encode() for word in words)
    members = b"".join(gzip.compress(stored[at:end]) for at, end in ((0, 3), (3, 3), (3, 2000000), (2000000, None)))
    chunk.write_bytes(members)
    assert read("gzip") == words
    chunk.write_bytes(zlib.compress(stored))
    assert read("numcodecs.zlib") == words
    chunk.write_bytes(members[:-1])
    assert re.search(r"variable_plain_2/c/0/0.*gzip: the \d+ bytes at offset \d+ are not a valid stream", error_of(lambda: read("gzip")))
    endless = zlib.compressobj(9, wbits=31)
    chunk.write_bytes(b"".join(endless.compress(bytes(1 << 20)) for _ in range(4)) + endless.flush())
    assert re.search("variable_plain_2/c/0/0.*gzip: decodes to more than the expected 1048576 bytes",
                     error_of(lambda: read("gzip", "MAX_CHUNK_SIZE=1")))
