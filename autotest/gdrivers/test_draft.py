"""Stores of the 2022 draft of Zarr v3: metadata below meta/root, chunks or shards below data/root. Written by zarr-python 2, by GDAL 3.4 to 3.7, and here."""
import glob
import gzip
import json
import os
import pathlib
import sys

import numpy as np
import pytest
from osgeo import gdal, osr

from support import GDAL, as_raster, assert_pixels, declined, error_of, fixture_path, name_of, open_array, open_ours, run_peer, subdatasets

SEEDS = range(0, 64)
CORE = "https://purl.org/zarr/spec/protocol/core/3.0"
SHARDING = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0"
MAX = 2 ** 64 - 1
ENTRY = {"zarr_format": CORE, "metadata_encoding": CORE, "metadata_key_suffix": ".json", "extensions": []}


# ------------------------------------------------------------------------------------- the draft, as its text has it

def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def write_draft(root, name, values, chunk, per_shard=None, order="C", separator="/", level=None, entry=ENTRY, **members):
    """An array of a store. Chunks of zeros are not stored. `members` replace those of its document, or remove them (None)."""
    meta = {"shape": list(values.shape), "data_type": values.dtype.str.replace("|", ""), "fill_value": 0, "chunk_memory_layout": order,
            "chunk_grid": {"type": "regular", "chunk_shape": list(chunk), "separator": separator}, "extensions": [], "attributes": {}}
    if level is not None:
        meta["compressor"] = {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": level}}
    if per_shard:
        meta["storage_transformers"] = [{"extension": SHARDING, "type": "indexed", "configuration": {"chunks_per_shard": list(per_shard)}}]
    meta.update(members)
    put(root + "/zarr.json", entry)
    put(root + "/meta/root%s.array.json" % (name and "/" + name), {k: v for k, v in meta.items() if v is not None})
    objects = {}
    for at in np.ndindex(*[-(-s // c) for s, c in zip(values.shape, chunk)]):
        full = np.zeros(chunk, values.dtype)
        part = values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(at, chunk))]
        full[tuple(slice(0, s) for s in part.shape)] = part
        encoded = gzip.compress(full.tobytes(order)) if level is not None else full.tobytes(order)
        if full.any():
            shard = tuple(i // p for i, p in zip(at, per_shard)) if per_shard else at
            objects.setdefault(shard, {})[tuple(i % p for i, p in zip(at, per_shard)) if per_shard else ()] = encoded
    for at, chunks in objects.items():
        content = chunks.get((), b"")
        if per_shard:
            index = np.full(tuple(per_shard) + (2,), MAX, "<u8")
            for inner in reversed(sorted(chunks)):  # any order will do
                index[inner] = len(content), len(chunks[inner])
                content += chunks[inner]
            content += index.tobytes()
        put("%s/data/root%s/c%s" % (root, name and "/" + name, separator.join(map(str, at)) or "0"), content)


def counting(shape, dtype="<u2"):
    return np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)


def test_a_number_is_read_from_its_only_chunk(tmp_path):
    write_draft(str(tmp_path / "a.zr3"), "n", np.full((), 41, "<u2"), ())  # zarr-python 2.18 and GDAL 3.6 give its chunk the key c0
    array = gdal.OpenEx(str(tmp_path / "a.zr3"), gdal.OF_MULTIDIM_RASTER, allowed_drivers=["ShardedZarr"]).GetRootGroup().OpenMDArray("n")
    assert array.Read() in (41, np.array(41, "<u2").tobytes()), array.Read()


def a_store(tmp_path, name="a", **options):
    """A sharded array of 9 x 13 at `name`."""
    root = str(tmp_path / "draft.zr3")
    write_draft(root, name, counting((9, 13)), (2, 3), (2, 2), **options)
    return root


def assert_same(dataset, values, seed):
    assert_pixels(dataset, as_raster(values.astype(values.dtype.newbyteorder("=")), values.dtype.name), seed)


def utm():
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(32631)
    return srs


def content_of(root):
    """Every file of a store."""
    return {str(p.relative_to(root)): p.read_bytes() for p in pathlib.Path(root).rglob("*") if p.is_file()}


# ----------------------------------------------------------------------------------------------------- what others wrote

@pytest.fixture(scope="module")
def random_stores(tmp_path_factory):
    if sys.version_info >= (3, 12):
        pytest.skip("zarr-python 2 takes an older numcodecs than there is for this Python; CI has Debian 12's")
    folder = tmp_path_factory.mktemp("zarr-python-2")
    run_peer("zarr_draft_random.py", folder, SEEDS[0], len(SEEDS))
    return folder


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_store_of_zarr_python_2_reads_equal_whole_and_by_windows(random_stores, seed):
    root = str(random_stores / ("%d.zarr" % seed))
    array = np.load(random_stores / ("%d.npy" % seed))
    document, = glob.glob(root + "/meta/**/*.array.json", recursive=True)
    name = os.path.relpath(document, root + "/meta")[:-len(".array.json")][len("root"):]
    if array.ndim == 0:
        assert "has no dimension to be X" in error_of(open_array, root, name or None)
        return
    expected = as_raster(array, "bool" if array.dtype.kind == "b" else array.dtype.name)
    assert_pixels(open_array(root, name or None), expected, seed)
    with open(document) as file:
        is_sharded = "storage_transformers" in json.load(file)
    if array.ndim > 1 and is_sharded:
        assert_pixels(open_ours(root), expected, seed)
        assert_pixels(open_ours(root + "/zarr.json"), expected, seed)


def test_the_store_in_the_fixtures():
    root = fixture_path("legacy2022.zr3")
    assert set(subdatasets(open_ours(root))) == {"/g/plain", "/gz"}
    plain = np.arange(35).reshape(5, 7)
    assert (open_array(root, "/g/plain").ReadAsArray() == plain).all()
    assert open_array(root, "/g/plain").GetRasterBand(1).GetUnitType() == "m"
    assert np.nansum(open_array(root, "/gz").ReadAsArray()) == 6 and open_array(root, "/dot").RasterXSize == 3


@pytest.mark.skipif(GDAL >= 3080000, reason="GDAL writes what came after the draft")
@pytest.mark.parametrize("options", [[], ["CHUNK_MEMORY_LAYOUT=F"]] + [["COMPRESS=" + c] for c in ("GZIP", "ZLIB", "BLOSC", "LZ4", "LZMA", "ZSTD")])
def test_draft_store_of_gdal_opens_by_prefix_with_georeferencing(tmp_path, options):
    root = str(tmp_path / "gdal.zarr")
    source = gdal.GetDriverByName("MEM").Create("", 50, 40, 2, gdal.GDT_Float32)
    source.SetGeoTransform([500000, 10, 0, 4000000, 0, -10])
    source.SetSpatialRef(utm())
    values = np.random.default_rng(1).integers(0, 99, (2, 40, 50)).astype("float32")
    values[:, :16, :20] = 0  # a chunk that GDAL does not store; its fill_value is null
    source.WriteArray(values)
    gdal.GetDriverByName("Zarr").CreateCopy(root, source, options=["FORMAT=ZARR_V3", "BLOCKSIZE=16,20"] + options)
    assert open_ours("SHARDEDZARR:" + root).RasterCount == 2
    for i in range(2):
        band = open_array(root, "/Band%d" % (i + 1))
        assert_same(band, values[i], i)
        assert band.GetGeoTransform() == (500000, 10, 0, 4000000, 0, -10)
        assert band.GetSpatialRef().GetAuthorityCode(None) == "32631"


# ----------------------------------------------------------------------------------------------------- what the text allows

@pytest.mark.parametrize("dtype", ["<i2", ">f8"])
@pytest.mark.parametrize("options", [
    {}, {"order": "F"}, {"separator": "."}, {"level": 5}, {"per_shard": (2, 2)}, {"per_shard": (3, 1), "order": "F", "level": 1},
    {"per_shard": (1, 4), "separator": "."}], ids=str)
def test_types_layouts_and_separators(tmp_path, dtype, options):
    root = str(tmp_path / "draft")
    values = counting((9, 13), dtype)
    values[2:6] = 0  # chunks that are not stored
    write_draft(root, "g/a", values, (2, 3), **options)
    assert_same(open_array(root, "/g/a"), values, 1)
    assert_same(open_ours(root), values, 1)


def test_draft_cube_has_dimensions_and_georeferencing(tmp_path):
    root = str(tmp_path / "draft")
    cube = counting((3, 6, 8), ">f4")
    write_draft(root, "a", cube, (1, 2, 3), (2, 2, 2), attributes={"_ARRAY_DIMENSIONS": ["time", "y", "x"], "grid_mapping": "crs"})
    write_draft(root, "y", 100 - 10 * np.arange(6, dtype="<f8"), (6,), attributes={"_ARRAY_DIMENSIONS": ["y"]})
    write_draft(root, "x", 10 * np.arange(8, dtype="<f8"), (8,), attributes={"_ARRAY_DIMENSIONS": ["x"]})
    write_draft(root, "time", np.arange(3, dtype="<i8"), (3,), attributes={"_ARRAY_DIMENSIONS": ["time"], "units": "days since 2020-01-01"})
    write_draft(root, "crs", np.zeros((), "<i4"), (), attributes={"crs_wkt": utm().ExportToWkt()})
    ds = open_ours(root)
    assert_same(ds, cube, 2)
    assert ds.GetGeoTransform() == (-5, 10, 0, 105, 0, -10) and ds.GetSpatialRef().GetAuthorityCode(None) == "32631"
    assert ds.GetRasterBand(2).GetMetadataItem("DIM_time_VALUE") == "2020-01-02T00:00:00"


def test_a_chunk_that_is_damaged_is_an_error_and_an_absent_one_is_fill(tmp_path):
    root = a_store(tmp_path, fill_value=7)
    shard = root + "/data/root/a/c0/0"
    content = pathlib.Path(shard).read_bytes()
    put(shard, content[:-64] + np.array([MAX, MAX, 0, 12, 0, 2 ** 40, 5, MAX], "<u8").tobytes())
    ds = open_array(root, "/a")
    assert (ds.ReadAsArray(0, 0, 3, 2) == 7).all()
    assert "data/root/a/c0/0, inner chunk [1,0]" in error_of(ds.ReadAsArray, 0, 2, 3, 2)
    assert "data/root/a/c0/0, inner chunk [1,1]" in error_of(ds.ReadAsArray, 3, 2, 3, 2)
    put(shard, content[:40])
    assert "data/root/a/c0/0" in error_of(open_array(root, "/a").ReadAsArray)


# ----------------------------------------------------------------------------------------------------- only read

@pytest.mark.parametrize("per_shard", [(2, 2), None])
def test_draft_store_is_read_only(tmp_path, per_shard):
    root = str(tmp_path / "draft.zr3")
    write_draft(root, "a", counting((9, 13)), (2, 3), per_shard)
    before = content_of(root)
    only_read = "is a store of the 2022 draft of Zarr v3, which is only read"
    ours = gdal.GetDriverByName("ShardedZarr")
    source = gdal.GetDriverByName("MEM").Create("", 20, 20)
    for name in [root] * bool(per_shard) + [name_of(root), name_of(root, "/a")]:
        assert only_read in error_of(gdal.OpenEx, name, gdal.OF_RASTER | gdal.OF_UPDATE)
    assert only_read in error_of(ours.CreateCopy, root, source, options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=b"])
    for options in ([], ["OVERWRITE=YES"]):
        assert "is not overwritten" in error_of(ours.CreateCopy, root, source, options=options)
    assert "it holds files that are not of the store" in error_of(ours.Delete, root)
    assert content_of(root) == before
    # Beside it there is room.
    assert gdal.OpenEx(name_of(root)).BuildOverviews("AVERAGE", [2]) == 0
    assert open_ours(name_of(root)).GetRasterBand(1).GetOverviewCount() == 1
    assert content_of(root) == before


# ----------------------------------------------------------------------------------------------------- what strangers may write

@pytest.mark.parametrize("members, message", [
    ({"data_type": "<u3"}, 'root/bad.array.json: data_type: expected one that is supported, found "<u3"'),
    ({"data_type": {"extension": "x", "type": "|O", "fallback": None}}, "data_type: expected one that is supported"),
    ({"data_type": None}, "data_type is missing"),
    ({"shape": "9"}, "shape: expected an array"),
    ({"chunk_grid": {"type": "irregular"}}, 'chunk_grid "irregular" is not supported'),
    ({"chunk_grid": {"type": "regular", "chunk_shape": [0, 3]}}, "chunk_grid \"regular\": chunk_shape[0]: expected an integer of 1 to 18446744073709551615, found 0"),
    ({"chunk_grid": {"type": "regular", "chunk_shape": [2, 3], "separator": "/../"}}, 'expected "/" or "." as separator'),
    ({"chunk_memory_layout": "Z"}, 'chunk_memory_layout: expected "C" or "F", found "Z"'),
    ({"compressor": {"codec": "https://purl.org/zarr/spec/codec/", "configuration": {}}}, 'compressor "https://purl.org/zarr/spec/codec/" is not supported'),
    ({"compressor": {"codec": "https://purl.org/zarr/spec/codec/lzma/1.0", "configuration": {"format": 3}}}, "format: expected 1, found 3"),
    ({"attributes": {"filters": [{"id": "delta", "dtype": "<u2"}]}}, 'filter "delta" of numcodecs is not supported in the draft'),
    ({"extensions": [{"extension": "https://x.org/y", "must_understand": True}]}, "extensions: expected none, found"),
    ({"chunk_grid": {"type": "regular", "chunk_shape": [2, 3], "offset": [1, 1]}}, 'chunk_grid: unknown member "offset" must be understood'),
    ({"storage_transformers": [{"extension": SHARDING, "type": "indexed", "configuration": {"chunks_per_shard": [1, 1], "order": "F"}}]},
     'storage_transformers: unknown member "order" must be understood'),
    ({"codecs": []}, 'member "codecs" must be understood'),
    ({"fill_value": 70000}, "fill_value of uint16: expected an integer of 0 to 65535, found 70000"),
    ({"storage_transformers": [{"extension": "https://x.org/y", "type": "z"}]}, 'the type "indexed", found [{"extension":"https://x.org/y","type":"z"}]'),
    ({"storage_transformers": [{"extension": SHARDING, "type": "indexed"}]}, "bad.array.json: storage_transformers: chunks_per_shard is missing"),
    ({"storage_transformers": [{"extension": SHARDING, "type": "indexed", "configuration": {"chunks_per_shard": [2 ** 63, 1]}}]},
     "chunks_per_shard[0]: the size of a shard does not fit 64 bits"),
    ({"storage_transformers": [{"extension": SHARDING, "type": "indexed", "configuration": {"chunks_per_shard": [1, 1]}}] * 2}, 'the type "indexed", found [{'),
], ids=str)
def test_unsupported_draft_array_is_named_and_others_are_listed(tmp_path, members, message):
    root = a_store(tmp_path)
    write_draft(root, "bad", counting((9, 13)), (2, 3), **members)
    assert message in error_of(open_array, root, "/bad")
    assert_same(open_array(root, "/a"), counting((9, 13)), 1)


@pytest.mark.parametrize("member, value, message", [
    ("metadata_key_suffix", "/../../x", 'zarr.json: metadata_key_suffix: expected ".json", found "/../../x"'),
    ("metadata_encoding", "https://x.org/xml", "metadata_encoding: expected"),
    ("extensions", [{"extension": "https://x.org/y"}], "extensions: expected none, found"),
    ("zarr_format", "https://x.org/zarr", "zarr_format: expected 3"),
])
def test_an_entry_point_that_is_not_understood(tmp_path, member, value, message):
    root = a_store(tmp_path)
    put(root + "/zarr.json", dict(ENTRY, **{member: value}))
    assert message in error_of(open_array, root, "/a")
    assert declined(root) == (True, [])


def test_names_lead_to_nothing_outside_of_the_store(tmp_path):
    root = a_store(tmp_path)
    for name in ("/../../data/root/a", "/a/../a", "/./a", "/a%2f..%2fa"):
        assert error_of(open_array, root, name)
    put(root + "/meta/root/...array.json", {})
    put(root + "/meta/root/.array.json", {})
    assert_same(open_ours(root), counting((9, 13)), 1)
