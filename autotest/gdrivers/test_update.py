"""GA_Update: a store that is there, ours or another's, is changed where it was asked for and nowhere else."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import BIG, CRC32C, GZIP, LITTLE, array_meta, group_meta, random_values, sharding, transpose
from support import AS_NOBODY, assert_same, error_of, in_process, name_of, open_array, open_ours, raster_dtype, read_all, \
    same_crs, srs_of
from writing import UTM, change_document, check_consolidated, chunks_of, copy, created, document, only_array, shards, source


def update(path, array=None):
    return gdal.OpenEx(name_of(path, array), gdal.OF_RASTER | gdal.OF_UPDATE)


def stat(path):
    """{file: (mtime in ns, inode)}: what is rewritten changes."""
    found = {}
    for folder, _, names in os.walk(str(path)):
        for name in names:
            info = os.stat(os.path.join(folder, name))
            found[os.path.relpath(os.path.join(folder, name), str(path))] = (info.st_mtime_ns, info.st_ino)
    return found


# --------------------------------------------------------------------------------------------------------- pixels of others

STORES = {
    "sharded": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8))]),
    "unsharded": array_meta((40, 50), shard=[16, 32], codecs=[BIG, GZIP]),
    "big endian": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG, index=(BIG, CRC32C))]),
    "index at start": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG, GZIP, location="start")]),
    "no index checksum": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG, index=(BIG,))]),
    "nested": array_meta((40, 50), shard=[32, 32], codecs=[sharding((16, 16), sharding((8, 4), BIG, CRC32C), GZIP)]),
    "nested twice": array_meta((40, 50), shard=[32, 32], codecs=[sharding((16, 16), sharding((8, 8), sharding((4, 4), BIG), location="start"))]),
    "outer codecs": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG), GZIP, CRC32C]),
    "transposed inside": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 4), transpose(1, 0), BIG)]),
    "transposed outside": array_meta((40, 50), shard=[16, 32], codecs=[transpose(1, 0), sharding((8, 4), BIG)]),
    "three dimensions": array_meta((4, 40, 50), shard=[4, 16, 32], codecs=[sharding((2, 8, 8), BIG)]),
    "keys v2": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG)], chunk_key_encoding={"name": "v2", "configuration": {"separator": "."}}),
    "fill 7": array_meta((40, 50), shard=[16, 32], codecs=[sharding((8, 8), BIG)], fill_value=7),
}


# -------------------------------------------------------------------------------------------------- only what is touched

@pytest.fixture
def scene(tmp_path):
    """16 shards of 16 chunks, all different."""
    array = np.random.default_rng(3).integers(1, 60000, (1, 128, 128)).astype("uint16")
    path = created(tmp_path / "a.zarr", array, CHUNK_SHAPE=8, SHARD_SHAPE=32, ARRAY_NAME="v")
    return path, array[0]


def test_only_touched_shards_are_rewritten_and_neighbours_keep_their_bytes(scene):
    path, array = scene
    before, files = shards(path, "v"), stat(path)
    dataset = update(path)
    dataset.GetRasterBand(1).WriteArray(np.full((4, 4), 5, "uint16"), 34, 66)  # in chunk (0, 0) of shard (2, 1)
    dataset = None
    after = shards(path, "v")
    assert {name for name, value in stat(path).items() if files.get(name) != value} == {"v/c/2/1"} and after.keys() == before.keys()
    meta = document(path, "v")
    old, new = chunks_of(meta, before["c/2/1"]), chunks_of(meta, after["c/2/1"])
    assert {cell for cell in old if old[cell] != new[cell]} == {(0, 0)} and old.keys() == new.keys()
    array[66:70, 34:38] = 5
    assert_same(only_array(path)[2], array)


OPENED_BY_NOBODY = AS_NOBODY + '''
gdal.AllRegister()
become_nobody()
for name in sys.argv[2:]:
    try:
        print(gdal.OpenEx(name, gdal.OF_UPDATE).RasterCount, gdal.OpenEx(name, gdal.OF_UPDATE | gdal.OF_MULTIDIM_RASTER) is not None)
    except RuntimeError as error:
        print(error)
    print(gdal.OpenEx(name).RasterCount)
'''


@pytest.mark.parametrize("closed", ["", "v"])
def test_array_that_cannot_be_written_does_not_open_for_update(tmp_path, closed):
    path = tmp_path / "a.zarr"
    copy(path, source(np.ones((1, 8, 8), "uint8")), ARRAY_NAME="v")
    for folder in (path, *(folder for folder in path.rglob("*") if folder.is_dir())):
        folder.chmod(0o777)
    tmp_path.chmod(0o777)
    names = ["a.zarr", "SHARDEDZARR:a.zarr", "SHARDEDZARR:a.zarr:/v"]
    assert in_process(OPENED_BY_NOBODY, tmp_path, *names) == ["1 True", "1"] * 3
    (path / closed).chmod(0o555)
    asked = names if closed == "" else names[2:]
    answers = in_process(OPENED_BY_NOBODY, tmp_path, *asked)
    assert answers[1::2] == ["1"] * len(asked)
    assert all("cannot be written to: Permission denied" in answer for answer in answers[::2]), answers


def test_a_garbled_shard_is_an_error_and_not_overwritten(scene):
    path, _ = scene
    name = os.path.join(path, "v", "c", "2", "1")
    with open(name, "r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"xyz")
    broken = open(name, "rb").read()
    dataset = update(path)

    def write():
        dataset.GetRasterBand(1).WriteRaster(34, 66, 1, 1, b"\5\0")
        dataset.FlushCache()
    assert "c/2/1" in error_of(write)
    dataset = None
    assert open(name, "rb").read() == broken


@pytest.mark.parametrize("codecs", [[sharding((8, 8))], [LITTLE]], ids=["sharded", "unsharded"])
def test_pixels_are_written_beside_attributes_that_another_changed(tmp_path, codecs):
    oracle.write(tmp_path, group_meta())
    meta = array_meta((64, 64), "uint16", (32, 32), codecs)
    oracle.write(tmp_path / "v", meta, np.ones((64, 64), "uint16"))
    dataset = update(tmp_path, "/v")
    for value in (5, 6):
        change_document(tmp_path, "v", attributes={"a": value}, dimension_names=["y", "x"])
        dataset.GetRasterBand(1).WriteArray(np.full((64, 64), value, "uint16"))
        dataset.FlushCache()
        assert (read_all(open_array(tmp_path, "/v")) == value).all()


WRITERS = """
import random, sys
import numpy as np
from osgeo import gdal
gdal.UseExceptions()
path, number, count, side, seed = sys.argv[1], *map(int, sys.argv[2:])
blocks = [(y, x) for y in range(0, 64, side) for x in range(0, 64, side)]
random.Random(seed).shuffle(blocks)
rng = random.Random(100 * seed + number)
dataset = None
for y, x in blocks[number::count]:
    dataset = dataset or gdal.Open(path, gdal.GA_Update)
    dataset.GetRasterBand(1).WriteArray(np.full((side, side), 1 + y * 64 + x, "uint16"), x, y)
    if rng.random() < 0.3:
        dataset = None
"""


@pytest.mark.parametrize("count, side", [(4, 16), (6, 4)])  # chunks; quarters of one
@pytest.mark.parametrize("kind", ["sharded", "nested", "outer codecs", "unsharded"])
def test_many_processes_writing_into_the_same_shards_lose_no_block(tmp_path, kind, count, side):
    meta = dict(STORES[kind], shape=[64, 64])
    path = str(tmp_path / "a.zarr")
    oracle.write(path, meta, np.repeat(np.arange(64)[:, None] % 48 // 16, 64, 1).astype("uint16"))  # some shards are not there
    seed = side * count
    running = [subprocess.Popen([sys.executable, "-c", WRITERS, name_of(path)] + [str(i) for i in (number, count, side, seed)])
               for number in range(count)]
    assert [process.wait() for process in running] == [0] * count
    expected = np.kron(np.arange(64 // side)[:, None] * side * 64 + np.arange(64 // side) * side + 1, np.ones((side, side))).astype("uint16")
    assert_same(read_all(open_array(path))[0], expected)
    assert not [name for _, _, names in os.walk(path) for name in names if name.startswith(".") or "lock" in name]


# ----------------------------------------------------------------------------------------------------- what is known of it

def test_georeferencing_and_metadata_are_updated_for_all_readers(tmp_path):
    path, array = str(tmp_path / "a.zarr"), random_values(np.random.default_rng(4), "int16", (2, 70, 101))
    copy(path, source(array, UTM, "EPSG:32633", -1), CHUNK_SHAPE=16, OVERVIEWS="2,4", ARRAY_NAME="v")
    pixels = {name: value for name, value in stat(path).items() if name.startswith(("v/c", "ovr_2x/v/c"))}
    dataset, moved = gdal.Open(path, gdal.GA_Update), (10, 0.5, 0, 50, 0, -0.25)
    dataset.SetGeoTransform(moved)
    dataset.SetSpatialRef(srs_of(4326))
    dataset.SetMetadata({"AUTHOR": "me"})
    for number in (1, 2):
        band = dataset.GetRasterBand(number)
        band.SetNoDataValue(-5)
        band.SetDescription("d%d" % number)
        band.SetOffset(number * 1.5)
    dataset = None
    again = open_ours(path)
    assert again.GetGeoTransform() == pytest.approx(moved) and same_crs(again, "EPSG:4326") and again.GetMetadata()["AUTHOR"] == "me"
    for number in (1, 2):
        for band in (again.GetRasterBand(number), again.GetRasterBand(number).GetOverview(1)):
            assert (band.GetNoDataValue(), band.GetOffset()) == (-5, number * 1.5)
    assert again.GetRasterBand(2).GetDescription() == "d2" and again.GetRasterBand(1).GetOverviewCount() == 2
    assert_same(read_all(again), array)
    check_consolidated(path)
    assert {name: value for name, value in stat(path).items() if name in pixels} == pixels
    texts = json.dumps([document(path), document(path, "v"), document(path, "spatial_ref")])
    assert "32633" not in texts and "500000" not in texts
    assert oracle.read(tmp_path / "a.zarr" / "x")[1][:2] == pytest.approx([10.25, 10.75])
    assert oracle.read(tmp_path / "a.zarr" / "ovr_2x" / "y_2x")[1][0] == pytest.approx(50 - 0.25 * 70 / 35 / 2)


def test_reals_are_rounded_into_int8(tmp_path):
    """Before GDAL 3.7 they were cut off, and NaN was 127."""
    path = str(tmp_path / "a.zarr")
    oracle.write(path, array_meta((1, 6), "int8"), np.zeros((1, 6), "int8"))
    dataset = update(path)
    dataset.GetRasterBand(1).WriteArray(np.array([[1.6, -1.6, 2.5, np.nan, 200, -200]], "float32"))
    dataset = None
    assert oracle.read(path)[1].tolist() == [[2, -2, 3, 0, 127, -128]]


# -------------------------------------------------------------------------------------------------- signed types that are unsigned

@pytest.mark.parametrize("data_type,nodata", [("int8", 255), ("int16", 65535), ("int32", 4294967295)])
def test_integers_with_the_unsigned_attribute_read_unsigned_and_keep_it(tmp_path, data_type, nodata):
    values = np.array([[0, 1, 127, -128], [-2, -1, 5, 6]], data_type)
    unsigned = values.view("u" + data_type)
    meta = array_meta((2, 4), data_type, fill_value=-1, dimension_names=["y", "x"],
                      attributes={"_Unsigned": "true", "_FillValue": -1, "valid_range": [0, -2]})
    oracle.write(tmp_path / "a.zarr", meta, values)
    dataset = update(tmp_path / "a.zarr")
    band = dataset.GetRasterBand(1)
    assert gdal.GetDataTypeName(band.DataType) == raster_dtype("u" + data_type).name.replace("uint8", "Byte").replace("uint", "UInt")
    assert_same(band.ReadAsArray(), unsigned)
    assert band.GetNoDataValue() == nodata and "_Unsigned" not in dataset.GetMetadata()
    band.SetNoDataValue(nodata - 1)
    dataset.SetMetadata({"mine": "1"})
    band.WriteArray(unsigned[::-1])
    dataset = band = None
    attributes = document(tmp_path / "a.zarr")["attributes"]
    assert attributes["_Unsigned"] == "true" and attributes["_FillValue"] == -2
    assert document(tmp_path / "a.zarr")["data_type"] == data_type
    assert_same(oracle.read(tmp_path / "a.zarr")[1], values[::-1])
    array = gdal.OpenEx(name_of(tmp_path / "a.zarr"), gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    array = array.OpenMDArray(array.GetMDArrayNames()[0])
    assert_same(array.ReadAsArray(), unsigned[::-1])
    assert array.GetNoDataValueAsDouble() == nodata - 1


def test_statistics_in_update_mode_go_to_the_store(scene):
    path, array = scene
    dataset = gdal.Open(path, gdal.GA_Update)
    dataset.GetRasterBand(1).ComputeStatistics(False)
    dataset = None
    again = open_ours(path)
    found = again.GetRasterBand(1).GetMetadata()
    assert float(found["STATISTICS_MAXIMUM"]) == array.max()
    assert not os.path.exists(path + ".aux.xml") and not os.path.exists(path + "/zarr.json.aux.xml")
