"""Memory: what reading takes, however many, large or small the chunks are. Each reads in a process of its own, whose peak is looked at."""
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import GZIP, LITTLE, array_meta, sharding
from support import name_of, peak_memory

PICTURE = """
ds = gdal.OpenEx(sys.argv[1])
out = ds.ReadRaster(0, 0, ds.RasterXSize, ds.RasterYSize, 64, 64)
print(len(out), set(out))
"""

@pytest.mark.parametrize("side, codecs", [(16000, [sharding((1, 1))]), (30000, [sharding((1, 1))]),
                                          (30000, [sharding((100, 100), sharding((1, 1)))])])
def test_a_picture_of_chunks_of_one_pixel_takes_little_memory(tmp_path, side, codecs):
    oracle.write(tmp_path, array_meta((side, side), "uint8", (1000, 1000), codecs, fill_value=7))
    printed, megabytes = peak_memory(PICTURE, name_of(tmp_path), GDAL_CACHEMAX="64")
    assert printed == "4096 {7}" and megabytes < 200


# --------------------------------------------------------------------------------------------------------------- budgets

def write_repeated(path, shape, chunk, data_type="uint32", codecs=(LITTLE, GZIP)):
    """An array each of whose chunks, a shard of its own, holds the same: few bytes that decode to many."""
    meta = array_meta(shape, data_type, chunk, [sharding(chunk, *codecs)])
    values = np.broadcast_to(np.arange(chunk[-1], dtype=data_type), chunk)
    shard = oracle.Encoder(meta).chain(meta["codecs"], values)
    cells = np.ndindex(*(-(-s // c) for s, c in zip(shape, chunk)))
    return oracle.put(path, {"zarr.json": meta, **{"/".join(["c", *map(str, cell)]): shard for cell in cells}})


LINES = """
ds = gdal.OpenEx(sys.argv[1])
band = ds.GetRasterBand(1)
lines = {bytes(band.ReadRaster(0, y, ds.RasterXSize, 1)) for y in range(0, ds.RasterYSize)}
print(len(lines), len(lines.pop()))
"""


def test_a_row_of_chunks_larger_than_the_budget_takes_no_more_than_the_budget(tmp_path):
    write_repeated(tmp_path, (128, 262144), (128, 4096))  # a row of 128 MB
    printed, megabytes = peak_memory(LINES, name_of(tmp_path), GDAL_CACHEMAX="64", GDAL_NUM_THREADS="2")
    assert printed == "1 1048576" and megabytes < 140


PARTS = """
held = []
for name in sys.argv[1:]:
    ds = gdal.OpenEx(name)
    for x in range(0, ds.RasterXSize, 512):
        for y in range(0, ds.RasterYSize, 512):
            ds.ReadRaster(x, y, 8, 8)
    held.append(ds)
print(len(held))
"""


def test_datasets_share_one_budget(tmp_path):
    names = [name_of(write_repeated(tmp_path / str(i), (2048, 4096), (512, 512))) for i in range(12)]  # 32 MB each
    printed, megabytes = peak_memory(PARTS, *names, GDAL_CACHEMAX="64", GDAL_NUM_THREADS="2")
    assert printed == "12" and megabytes < 140


# ----------------------------------------------------------------------------------------------------------------- bombs

PIXEL = """
try:
    ds = gdal.OpenEx(sys.argv[1], open_options=sys.argv[2:])
    print(list(ds.ReadRaster(70, 1, 1, 1)))
except RuntimeError as error:
    print(error)
"""


def test_a_chunk_of_a_gibibyte_is_refused_for_one_pixel_unless_the_option_allows_it(tmp_path):
    write_repeated(tmp_path / "small", (8192, 8192), (8192, 8192), "uint8")  # 64 MB
    assert peak_memory(PIXEL, name_of(tmp_path / "small"))[0] == "[70]"
    message, megabytes = peak_memory(PIXEL, name_of(tmp_path / "small"), "MAX_CHUNK_SIZE=16", GDAL_CACHEMAX="64")
    assert "c/0/0, inner chunk [0,0]" in message and "16777216" in message and "67108864" in message
    assert "MAX_CHUNK_SIZE" in message and megabytes < 100

    meta = array_meta((32768, 32768), "uint8", (32768, 32768), [sharding((32768, 32768), LITTLE, GZIP)])
    shard = (tmp_path / "small" / "c" / "0" / "0").read_bytes()
    name = name_of(oracle.put(tmp_path / "large", {"zarr.json": meta, "c/0/0": shard}))
    message, megabytes = peak_memory(PIXEL, name, GDAL_CACHEMAX="64")
    assert "MAX_CHUNK_SIZE" in message and "1073741824" in message and megabytes < 100
    assert "MAX_CHUNK_SIZE" not in peak_memory(PIXEL, name, "MAX_CHUNK_SIZE=1024", GDAL_CACHEMAX="64")[0]  # there is less in it


# ---------------------------------------------------------------------------------------------------- far apart in memory

FAR_APART = """
import mmap, struct
far, item = int(sys.argv[2]), gdal.GetDataTypeSize(int(sys.argv[3])) // 8
memory = mmap.mmap(-1, 2 * abs(far) + 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
ds = gdal.OpenEx(sys.argv[1])
ds.ReadRaster(1, 2, 1, 1, buf_type=int(sys.argv[3]), buf_band_space=far, buf_obj=memory)
print([struct.unpack_from({4: "f", 8: "d"}[item], memory, b * far)[0] for b in range(3)])
"""


@pytest.mark.skipif(sys.maxsize < 2**32, reason="needs addresses of 64 bits")
@pytest.mark.parametrize("data_type", ["uint16", "float16", "int8"])
@pytest.mark.parametrize("far", [2**31 + 4096, 2**32 + 8])
def test_band_spacing_of_more_than_2_gigabytes(tmp_path, data_type, far):
    values = np.arange(3 * 4 * 4).reshape(3, 4, 4).astype(data_type)
    oracle.write(tmp_path, array_meta((3, 4, 4), data_type, (4, 4, 4), [sharding((4, 4, 4))]), values)
    printed, megabytes = peak_memory(FAR_APART, name_of(tmp_path), far, gdal.GDT_Float32)
    assert printed == str([float(v) for v in values[:, 2, 1]]) and megabytes < 200
