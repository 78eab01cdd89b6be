"""shardedzarr-validate: clean stores pass, and every kind of damage is found and named."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest
from osgeo import gdal

import oracle
from option_cases import cases, write
from stores import LITTLE, CRC32C, GZIP, array_meta, codec, counting, group_meta, random_store, sharding
from test_peers import PEERS, stores_of  # noqa: F401
from support import STEP, run_peer
from writing import UTM, change_document, copy, document, source

PROGRAM = os.path.join(os.environ["GDAL_DRIVER_PATH"], "..", "shardedzarr-validate")
SUMMARY = re.compile(r".*: (\d+) errors, (\d+) warnings, (\d+) not checked; (\d+) groups, (\d+) arrays, (\d+) objects, (\d+) chunks")

Answer = collections.namedtuple("Answer", "status findings summary")


def validate(*stores, options=(), **environment):
    """Runs the program: (exit status, [(severity, where below the store, the rest)], the numbers of the last summary)."""
    done = subprocess.run([PROGRAM, *options, *map(str, stores)], capture_output=True, text=True, env={**os.environ, **environment})
    findings, summary = [], None
    for line in done.stdout.splitlines():
        line = re.sub(r"^[0-9.]*( - done\.)?", "", line)
        if re.match("(error|warning|unchecked): ", line):
            severity, rest = line.split(": ", 1)
            store = max((str(store) for store in stores if rest.startswith(str(store))), key=len)
            where, rest = rest[len(store):].lstrip("/").split(": ", 1)
            findings.append((severity, where, rest))
        elif SUMMARY.match(line):
            summary = list(map(int, SUMMARY.match(line).groups()))
    assert done.returncode in (0, 1, 2) and not (done.returncode == 0 and done.stderr), done.stderr
    assert done.returncode != 1 or findings, done.stderr  # a sanitizer's status is 1 too
    return Answer(done.returncode, findings, summary)


def assert_clean(path, options=()):
    answer = validate(path, options=options)
    assert (answer.status, answer.findings) == (0, []), path
    return answer.summary


def assert_found(path, severity, where, what, status=None, options=()):
    """Exactly one finding, of this severity, there, and of which these words say what."""
    answer = validate(path, options=options)
    assert len(answer.findings) == 1, answer.findings
    found = answer.findings[0]
    assert found[:2] == (severity, where) and re.search(what, found[2]), found
    assert answer.status == (status if status is not None else {"error": 1, "unchecked": 2, "warning": 0}[severity])


def patch(path, offset, data):
    with open(str(path), "r+b") as file:
        file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
        file.write(data)


def truncate(path, size):
    os.truncate(str(path), size)


def flip(path, offset, bit=0):
    with open(str(path), "rb") as file:
        file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
        byte = file.read(1)[0]
    patch(path, offset, bytes([byte ^ 1 << bit]))


@pytest.fixture
def simple(tmp_path):
    """A sharded array at the root: 2 x 2 shards of 2 x 2 chunks of 4 x 4 uint16, in the order of their numbers, indexes without checksum."""
    meta = array_meta((16, 16), shard=(8, 8), codecs=[sharding((4, 4), index=(LITTLE,))])
    oracle.write(str(tmp_path / "simple.zarr"), meta, counting((16, 16)) + 1)
    return tmp_path / "simple.zarr"


# ------------------------------------------------------------------------------------------------------------ clean stores

def test_stores_of_every_creation_option_are_clean(tmp_path):
    for case in cases():
        list(write(tmp_path, case))
    stores = sorted(os.listdir(tmp_path))
    answer = validate(*(tmp_path / name for name in stores))
    assert (answer.status, answer.findings) == (0, [])


def test_random_stores_of_the_oracle_are_clean(tmp_path):
    for seed in range(200):
        oracle.write(str(tmp_path / str(seed)), *random_store(seed))
    answer = validate(*(tmp_path / str(seed) for seed in range(200)))
    assert answer.status == 0 and {finding[2] for finding in answer.findings} == {
        'codecs: expected "bytes", as the codec is called since 2023, found "endian"'}


@pytest.mark.parametrize("peer", PEERS)
def test_stores_of_peers_are_clean(stores_of, peer):  # noqa: F811
    seeds = PEERS[peer][2] if STEP == 1 else PEERS[peer][2][:20]
    answer = validate(*(stores_of(peer, seed) / ("%d.zarr" % seed) for seed in seeds))
    assert (answer.status, answer.findings) == (0, [])


def test_summary_counts_nodes_chunks_and_bytes(simple):
    assert assert_clean(simple) == [0, 0, 0, 0, 1, 4, 16]
    assert assert_clean(simple, options=["--metadata-only"]) == [0, 0, 0, 0, 1, 0, 0]


def test_a_store_in_a_zip_file_and_one_over_http(tmp_path, simple, zipped, server):
    flip(simple / "c" / "0" / "1", -1, 7)
    found = [("error", "c/0/1, inner chunk [1,1]", validate(simple).findings[0][2])]
    assert validate(zipped(str(simple))).findings == found
    answer = validate(server.vsi("simple.zarr"))
    assert (answer.status, answer.findings) == (1, found)
    assert answer.summary[5] == 4


# ------------------------------------------------------------------------------------------------------------------ shards

@pytest.mark.parametrize("entry, where, what", [  # the last of an index
    (None, "", "expected at least the 64 bytes of its index, found 20"),
    ((96, 33), ", inner chunk [1,1]", "entry 3: expected bytes within 0 to 128 of the shard, found offset 96 and size 33"),
    ((90, 32), "", "entry 3 overlaps another: expected .* entry 2, 64 to 96, found 90 to 122"),
    ((96, 30), ", inner chunk [1,1]", "expected 32 bytes after decoding, found 30")])
def test_a_shard_that_is_cut_or_has_another_entry(simple, entry, where, what):
    shard = simple / "c" / "0" / "0"
    patch(shard, -16, struct.pack("<QQ", *entry)) if entry else truncate(shard, 20)
    assert_found(simple, "error", "c/0/0" + where, what)


def test_bytes_that_no_entry_names_are_noted_and_no_finding(tmp_path, simple):
    assert "16 chunks of 0.0 MB, 0 dead bytes" in subprocess.run([PROGRAM, simple], capture_output=True, text=True).stdout
    meta = array_meta((16, 16), shard=(8, 8), codecs=[sharding((4, 4))])
    oracle.write(str(tmp_path / "a.zarr"), meta, counting((16, 16)) + 1, oracle.Layout(gap=5))
    assert_clean(tmp_path / "a.zarr")
    done = subprocess.run([PROGRAM, tmp_path / "a.zarr"], capture_output=True, text=True)
    size = 4 * (32 + 5) + 5 + 4 * 16 + 4  # chunks with a gap before each, one after the last, the index
    for shard in ("c/0/0", "c/0/1", "c/1/0", "c/1/1"):
        assert "note: %s/a.zarr/%s: 25 of %d bytes are dead" % (tmp_path, shard, size) in done.stdout
    assert ", 100 dead bytes" in done.stdout
    quiet = subprocess.run([PROGRAM, "--quiet", tmp_path / "a.zarr"], capture_output=True, text=True)
    assert (quiet.returncode, quiet.stdout) == (0, "")


def test_a_broken_index_checksum_and_a_broken_chunk_checksum(tmp_path):
    oracle.write(str(tmp_path), array_meta((16, 16), shard=(8, 8), codecs=[sharding((4, 4), LITTLE, CRC32C)]), counting((16, 16)) + 1)
    flip(tmp_path / "c" / "0" / "0", 5)
    assert_found(tmp_path, "error", "c/0/0, inner chunk [0,0]", "crc32c checksum: expected 0x[0-9a-f]+, found 0x")
    flip(tmp_path / "c" / "0" / "0", 5)
    flip(tmp_path / "c" / "0" / "0", -3)
    assert_found(tmp_path, "error", "c/0/0", "shard index: expected the crc32c checksum 0x[0-9a-f]+, found 0x")


def test_a_chunk_of_an_array_that_is_not_sharded(tmp_path):
    oracle.write(str(tmp_path), array_meta((8, 8), shard=(4, 4), codecs=[LITTLE, GZIP]), counting((8, 8)) + 1)
    assert assert_clean(tmp_path)[5:] == [4, 4]
    truncate(tmp_path / "c" / "1" / "1", 12)
    assert_found(tmp_path, "error", "c/1/1", "gzip")


# ------------------------------------------------------------------------------------------------ what belongs to nothing

def test_stray_objects_are_warned_of(simple):
    (simple / "c" / "0" / "2").write_bytes(b"x")
    left = ".shardedzarr-%032x.tmp" % 7
    (simple / "c" / "0" / left).write_bytes(b"x")
    (simple / "c" / "0" / "01").write_bytes(b"x")
    (simple / "notes.txt").write_bytes(b"x")
    (simple / "lost+found").mkdir()
    answer = validate(simple)
    assert answer.status == 0
    assert sorted(answer.findings) == [
        ("warning", "c/0/" + left, "temporary file of a writer, which was killed unless it is at work now"),
        ("warning", "c/0/01", "object below an array that is none of its chunks"),
        ("warning", "c/0/2", "chunk outside of the grid: number in dimension 1: expected 1, found 2"),
        ("warning", "lost+found", "folder below an array in which no chunk of it can be"),
        ("warning", "notes.txt", "object below an array that is none of its chunks")]


def test_chunks_of_an_array_without_a_document_are_warned_of(tmp_path):
    path = tmp_path / "a.zarr"
    copy(path, source(counting((1, 40, 40))), CHUNK_SHAPE="16", ARRAY_NAME="v")
    shutil.copytree(path / "v" / "c", path / "w" / "c")
    assert_found(path, "warning", "w", "folder with objects that belong to no node")


# ------------------------------------------------------------------------------------------------------------ exit status

def test_a_store_that_is_not_there_is_one_error(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("absent.zarr", "empty"):
        done = subprocess.run([PROGRAM, tmp_path / name], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr == "" and done.stdout.count("error: ") == 1 and "1 errors" in done.stdout
        assert "error: %s/zarr.json: there is no such file\n" % (tmp_path / name) in done.stdout


def test_unchecked_findings_exit_with_2(tmp_path, simple):
    change_document(simple, codecs=[codec("bytes", endian="little"), codec("numcodecs.pcodec")])
    assert_found(simple, "unchecked", "zarr.json", '"numcodecs.pcodec" is not supported')


def test_a_shard_that_is_encoded_as_a_whole_is_checked_where_it_fits_the_memory(tmp_path):
    meta = array_meta((2000, 2000), shard=(2000, 2000), codecs=[sharding((500, 500), index=(LITTLE,)), GZIP])
    oracle.write(str(tmp_path), meta, counting((2000, 2000)) + 1)
    assert_clean(tmp_path, options=["--memory", "8"])
    answer = validate(tmp_path, options=["--memory", "4"])
    assert answer.status == 2 and [finding[:2] for finding in answer.findings] == [("unchecked", "c/0/0")]


def test_an_unreadable_shard_is_not_checked_and_no_error(tmp_path, simple, server):
    server.faults["simple.zarr/c/0/1"] = 403
    answer = validate(server.vsi("simple.zarr"))
    assert answer.status == 2 and [f[:2] for f in answer.findings] == [("unchecked", "c/0/1")]


# --------------------------------------------------------------------------------------------------------------- documents

DOCUMENTS = [  # (members that replace those of an array, severity, what is said)
    ({"fill_value": None}, "error", "fill_value: expected a value of the data type, found null"),
    ({"shape": [16]}, "error", "chunk_shape: expected 1 entries"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8], "x": 1}}}, "unchecked", 'unknown member "x" must be understood'),
    ({"chunk_grid": {"name": "rectilinear"}}, "error", "kind: expected \"inline\", found no such member"),
    ({"data_type": "uint15"}, "unchecked", "uint15"),
    ({"codecs": [codec("bytes")]}, "error", "endian, for elements of more than one byte"),
    ({"codecs": [codec("endian", endian="little")]}, "warning", '"bytes", as the codec is called'),
    ({"new_member": 1}, "unchecked", 'unknown member "new_member" must be understood'),
    ({"zarr_format": 4}, "unchecked", "zarr_format: expected 3, found 4"),
    ({"node_type": "grid"}, "error", "node_type"),
]


@pytest.mark.parametrize("members, severity, what", DOCUMENTS)
def test_a_document_that_breaks_the_specification(tmp_path, members, severity, what):
    oracle.put(str(tmp_path), {"zarr.json": {**array_meta((16, 16), shard=(8, 8), codecs=[LITTLE]), **members}})
    assert_found(tmp_path, severity, "zarr.json", what)


def test_invalid_json_is_reported(tmp_path):
    text = json.dumps(array_meta((4, 4)))
    (tmp_path / "zarr.json").write_text(text[:-1])
    assert_found(tmp_path, "error", "zarr.json", "JSON")
    (tmp_path / "zarr.json").write_text(text[:-1] + ', "attributes": {"valid_min": NaN}}')
    assert_found(tmp_path, "warning", "zarr.json", "valid_min: expected a number of JSON, or a string, found NaN")


# ----------------------------------------------------------------------------------------------------- consolidated metadata

@pytest.fixture
def grouped(tmp_path):
    """A store of ours with consolidated metadata: an array `v`, coordinates, overviews."""
    path = tmp_path / "grouped.zarr"
    copy(path, source(counting((1, 60, 40)) + 1, UTM, "EPSG:32633"), CHUNK_SHAPE="16", ARRAY_NAME="v", OVERVIEWS="2,4", CHUNK_CHECKSUM="YES")
    assert_clean(path)
    return path


def test_stale_consolidated_metadata(grouped):
    meta = document(grouped, "v")
    change_document(grouped, "v", attributes={**meta["attributes"], "units": "m"})
    assert_found(grouped, "error", "zarr.json", 'consolidated metadata of "v": attributes.units: expected "m", found no such member')
    change_document(grouped, "v", attributes=meta["attributes"])
    root = document(grouped)
    root["consolidated_metadata"]["metadata"]["v"]["shape"][1] = 41
    change_document(grouped, **root)
    assert_found(grouped, "error", "zarr.json", r'consolidated metadata of "v": shape: expected \[60,40\], found \[60,41\]')


SPELLINGS = [  # (data type, members of an array's own document, how they are listed, where they differ; None: they say the same)
    ("float32", {"fill_value": "NaN"}, {"fill_value": "0x7fc00000"}, None),
    ("float32", {"fill_value": "0xffc00000"}, {"fill_value": "NaN"}, None),
    ("float32", {"fill_value": 1.0}, {"fill_value": "0x3f800000"}, None),
    ("float32", {"fill_value": 0.1}, {"fill_value": 0.10000000149011612}, None),
    ("float32", {"fill_value": "NaN"}, {"fill_value": 0}, "fill_value"),
    ("float32", {"fill_value": 0.0}, {"fill_value": -0.0}, "fill_value"),
    ("complex64", {"fill_value": [0, "NaN"]}, {"fill_value": [0.0, "0x7fc00000"]}, None),
    ("complex64", {"fill_value": ["NaN", 1.0]}, {"fill_value": ["NaN", 2.0]}, "fill_value"),
    ("uint64", {"fill_value": 2**64 - 1}, {"fill_value": 2**64 - 2}, "fill_value"),
    ("uint16", {"chunk_key_encoding": {"name": "default"}},
     {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}, None),
    ("uint16", {"chunk_key_encoding": "default"}, {"chunk_key_encoding": {"name": "default", "configuration": {}}}, None),
    ("uint16", {"chunk_key_encoding": {"name": "v2"}}, {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}}},
     "chunk_key_encoding"),
    ("uint16", {"dimension_names": [None, None]}, {}, None),
    ("uint16", {"dimension_names": [None, "x"]}, {}, "dimension_names"),
    ("uint16", {"data_type": {"name": "uint16"}}, {}, None),
    ("numpy.datetime64", {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "\u03bcs"}}, "fill_value": "NaT"},
     {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 1}}, "fill_value": -2**63}, None),
    ("uint16", {"codecs": [LITTLE, codec("zstd")]}, {"codecs": [LITTLE, codec("zstd", level=0, checksum=False)]}, None),
    ("uint16", {"codecs": [LITTLE, codec("gzip", level=1)]}, {"codecs": [LITTLE, codec("gzip", level=2)]}, "codecs"),
    ("uint16", {"codecs": [LITTLE, codec("blosc", cname="lz4", clevel=5, shuffle="shuffle")]},
     {"codecs": [LITTLE, codec("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)]}, None),
    ("uint16", {"codecs": [LITTLE, codec("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)]},
     {"codecs": [LITTLE, codec("blosc", cname="zlib", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)]}, "codecs"),
    ("uint8", {"codecs": [codec("bytes", endian="big")]}, {"codecs": ["bytes"]}, None),
    ("uint16", {"codecs": [codec("bytes", endian="big")]}, {"codecs": [LITTLE]}, "codecs"),
    ("uint8", {"codecs": [sharding((4, 4), "bytes")]}, {"codecs": [sharding((4, 4), "bytes", index=(codec("bytes", endian="big"), CRC32C))]},
     "codecs"),
    ("uint16", {"codecs": [codec("sharding_indexed", chunk_shape=[4, 4], codecs=[LITTLE])]}, {"codecs": [sharding((4, 4))]}, None),
    ("uint16", {"codecs": [codec("sharding_indexed", chunk_shape=[4, 4], codecs=[LITTLE])]}, {"codecs": [sharding((4, 4), location="start")]},
     "codecs"),
    ("uint16", {"attributes": {"a": [1.0, 1e3], "b": {}}}, {"attributes": {"b": {}, "a": [1, 1000]}}, None),
    ("uint16", {"attributes": {"a": {}}}, {}, "attributes.a"),
]


@pytest.mark.parametrize("data_type, own, listed, where", SPELLINGS)
def test_consolidated_metadata_are_compared_by_value(tmp_path, data_type, own, listed, where):
    plain = {**array_meta((8, 8), data_type, (8, 8), [LITTLE]), "fill_value": 0}
    entry = {**plain, **listed}
    root = {**group_meta(), "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {"v": entry}}}
    oracle.put(str(tmp_path), {"zarr.json": root, "v/zarr.json": {**plain, **own}})
    found = [finding for finding in validate(tmp_path, options=["--metadata-only"]).findings if finding[1] == "zarr.json"]
    assert [re.sub(': expected.*', '', finding[2]) for finding in found] == ['consolidated metadata of "v": %s' % where] * (where is not None)


def test_a_store_of_tensorstore_that_zarr_python_consolidated_is_clean(tmp_path):
    path = tmp_path / "a.zarr"
    run_peer("tensorstore_consolidated.py", path)
    root = document(path)
    listed = root["consolidated_metadata"]["metadata"]
    assert len(listed) > 10 and [name for name in listed if listed[name]["codecs"] != document(path, name)["codecs"]]
    assert_clean(path)
    for name in listed:
        dataset = gdal.OpenEx('SHARDEDZARR:"%s":/%s' % (path, name), gdal.OF_RASTER | gdal.OF_UPDATE)
        dataset.GetRasterBand(1).WriteArray(np.ones((8, 8)))
        dataset.SetMetadataItem("k", name)
        dataset = None
    assert_clean(path)
    root = document(path)
    root["consolidated_metadata"]["metadata"]["uint16_zstd"]["codecs"][0]["configuration"]["index_location"] = "start"
    change_document(path, **root)
    assert_found(path, "error", "zarr.json", '"uint16_zstd": codecs: expected')


def test_entries_without_nodes_and_unlisted_nodes_are_reported(grouped):
    shutil.copytree(grouped / "x", grouped / "z")
    assert_found(grouped, "error", "zarr.json", 'consolidated metadata: "z" is not listed')
    shutil.rmtree(grouped / "z")
    root = document(grouped)
    root["consolidated_metadata"]["metadata"]["gone"] = document(grouped, "x")
    change_document(grouped, **root)
    assert_found(grouped, "error", "zarr.json", 'consolidated metadata of "gone": expected a node that is there, found no zarr.json')
    root["consolidated_metadata"]["metadata"].pop("gone")
    for key in ("/x", "../x", "x/"):
        root["consolidated_metadata"]["metadata"][key] = document(grouped, "x")
        change_document(grouped, **root)
        assert_found(grouped, "error", "zarr.json", re.escape(key))
        root["consolidated_metadata"]["metadata"].pop(key)
    root["consolidated_metadata"]["must_understand"] = True
    change_document(grouped, **root)
    assert_found(grouped, "error", "zarr.json", "must_understand: expected false")


def test_a_store_that_cannot_be_listed_is_known_by_its_consolidated_metadata(grouped, server, tmp_path):
    assert_clean(server.vsi("grouped.zarr"))
    truncate(grouped / "ovr_2x" / "v" / "c" / "0" / "0", 30)
    assert validate(server.vsi("grouped.zarr")).findings[0][:2] == ("error", "ovr_2x/v/c/0/0")
    root = document(grouped)
    root.pop("consolidated_metadata")
    oracle.put(str(grouped), {"zarr.json": root})
    answer = validate(server.vsi("grouped.zarr"))
    assert answer.status == 2 and "cannot be listed" in answer.findings[0][2]


# ------------------------------------------------------------------------------------------------------------------ levels

def test_a_listed_level_that_is_absent(grouped):
    shutil.rmtree(grouped / "ovr_4x")
    answer = validate(grouped)
    assert answer.status == 1
    assert ("error", "zarr.json", 'multiscales: level "ovr_4x": expected a node that is there, found none') in answer.findings
