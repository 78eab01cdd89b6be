"""Memory: what reading takes, however many, large or small the chunks are. Each reads in a process of its own, whose peak is looked at."""
import pytest

import oracle
from stores import array_meta, sharding
from support import name_of, peak_memory

PICTURE = """
ds = gdal.OpenEx(sys.argv[1])
out = ds.ReadRaster(0, 0, ds.RasterXSize, ds.RasterYSize, 64, 64)
print(len(out), set(out))
"""

ALL = """
ds = gdal.OpenEx(sys.argv[1])
out = ds.GetRasterBand(1).ReadRaster(0, 0, ds.RasterXSize, ds.RasterYSize)
print(len(out), out.count(out[:1]) == len(out))
"""


@pytest.mark.parametrize("side, codecs", [(16000, [sharding((1, 1))]), (30000, [sharding((1, 1))]),
                                          (30000, [sharding((100, 100), sharding((1, 1)))])])
def test_a_picture_of_chunks_of_one_pixel_takes_little_memory(tmp_path, side, codecs):
    oracle.write(tmp_path, array_meta((side, side), "uint8", (1000, 1000), codecs, fill_value=7))
    printed, megabytes = peak_memory(PICTURE, name_of(tmp_path), GDAL_CACHEMAX="64")
    assert printed == "4096 {7}" and megabytes < 200


def test_all_of_an_empty_array_of_chunks_of_one_pixel_takes_what_its_pixels_take(tmp_path):
    oracle.write(tmp_path, array_meta((8000, 8000), "uint8", (1000, 1000), [sharding((1, 1))], fill_value=7))
    printed, megabytes = peak_memory(ALL, name_of(tmp_path), GDAL_CACHEMAX="64")
    assert printed == "64000000 True" and megabytes < 200
