"""The ways in which GDAL asks for pixels: blocks, lines, other buffer types, resampling, warping; and what is kept between two requests."""
import os

import numpy as np
import pytest
from osgeo import gdal, gdal_array

import oracle
from stores import GZIP, LITTLE, array_meta, counting, group_meta, random_values, sharding, spatial_proj
from support import assert_same, held_band, open_array

SHAPE = (3, 50, 61)


@pytest.fixture
def cube(tmp_path):
    """(path, values) of three bands; every chunk holds parts of two of them."""
    array = random_values(np.random.default_rng(1), "uint16", SHAPE)
    meta = array_meta(SHAPE, "uint16", (4, 32, 32), [sharding((2, 16, 8), LITTLE, GZIP)])
    return oracle.write(tmp_path / "cube.zarr", meta, array), array


@pytest.fixture
def twin(cube):
    """(our dataset, the same pixels in GDAL's memory driver)."""
    path, array = cube
    return open_array(path), gdal_array.OpenArray(array)


# ---------------------------------------------------------------------------------------------------------- how to ask

def test_blocks_hold_the_pixels(cube):
    path, array = cube
    band = held_band(open_array(path), 2)
    width, height = band.GetBlockSize()
    for y in range(-(-SHAPE[1] // height)):
        for x in range(-(-SHAPE[2] // width)):
            block = np.frombuffer(band.ReadBlock(x, y), "uint16").reshape(height, width)
            part = array[1, y * height:(y + 1) * height, x * width:(x + 1) * width]
            np.testing.assert_array_equal(block[:part.shape[0], :part.shape[1]], part)


@pytest.mark.parametrize("bands", [[1, 2, 3], [3, 1], [2, 2, 2], [1]])
@pytest.mark.parametrize("interleave", ["band", "pixel"])
def test_band_lists_and_interleaving(twin, bands, interleave):
    pixel, line, space = (2 * len(bands), 2 * len(bands) * 20, 2) if interleave == "pixel" else (None, None, None)
    raw = [ds.ReadRaster(7, 9, 20, 30, band_list=bands, buf_pixel_space=pixel, buf_line_space=line, buf_band_space=space) for ds in twin]
    assert raw[0] == raw[1]


BUFFERS = [gdal.GDT_Byte, gdal.GDT_UInt16, gdal.GDT_Int16, gdal.GDT_UInt32, gdal.GDT_Int32, gdal.GDT_UInt64, gdal.GDT_Int64, gdal.GDT_Float32,
           gdal.GDT_Float64, gdal.GDT_CFloat64]


@pytest.mark.parametrize("buffer", BUFFERS, ids=gdal.GetDataTypeName)
@pytest.mark.parametrize("data_type", ["uint8", "int16", "uint16", "int32", "uint32", "uint64", "float32", "float64", "complex128"])
def test_other_buffer_types_are_converted_as_gdal_converts(tmp_path, data_type, buffer):
    array = random_values(np.random.default_rng(BUFFERS.index(buffer)), data_type, (20, 60))
    array[:2] = (counting((2, 60), "float64") * 13 - 700).clip(0 if data_type[0] == "u" else -700, 255)
    oracle.write(tmp_path, array_meta((20, 60), data_type, (16, 64), [sharding((4, 32))]), array)
    size = gdal.GetDataTypeSize(buffer) // 8
    for x, y, width, height in ((0, 0, 60, 20), (3, 5, 21, 13), (1, 0, 59, 1)):
        raw = [bytes(ds.ReadRaster(x, y, width, height, buf_type=buffer)) for ds in (open_array(tmp_path), gdal_array.OpenArray(array))]
        assert raw[0] == raw[1]
        spread = open_array(tmp_path).ReadRaster(x, y, width, height, buf_type=buffer, buf_pixel_space=2 * size)
        assert b"".join(spread[at:at + size] for at in range(0, len(spread), 2 * size)) == raw[1]


@pytest.mark.parametrize("method", [gdal.GRIORA_NearestNeighbour, gdal.GRIORA_Bilinear, gdal.GRIORA_Average])
@pytest.mark.parametrize("window, size", [((0, 0, 61, 50), (20, 10)), ((5, 7, 30, 20), (60, 40)), ((0, 0, 61, 50), (1, 1))])
def test_resampling_is_gdals(twin, method, window, size):
    results = [ds.ReadAsArray(*window, buf_xsize=size[0], buf_ysize=size[1], resample_alg=method) for ds in twin]
    np.testing.assert_array_equal(*results)


def test_warping_and_translating_give_the_same_as_from_memory(tmp_path):
    array = random_values(np.random.default_rng(4), "uint16", (90, 80))
    transform = (500000, 10, 0, 5000000, 0, -10)
    oracle.write(tmp_path, group_meta())
    attributes = spatial_proj([10, 0, 500000, 0, -10, 5000000], "EPSG:32631")
    oracle.write(tmp_path / "data", array_meta(array.shape, shard=(64, 64), codecs=[sharding((16, 16))], attributes=attributes,
                                               dimension_names=["y", "x"], fill_value=0), array)
    ours, memory = open_array(tmp_path, "/data"), gdal_array.OpenArray(array)
    memory.SetGeoTransform(transform)
    memory.SetProjection(ours.GetProjection())
    memory.GetRasterBand(1).SetNoDataValue(0)
    assert ours.GetGeoTransform() == transform
    for make in (lambda ds: gdal.Warp("", ds, format="MEM", dstSRS="EPSG:4326", xRes=1e-4, yRes=1e-4),
                 lambda ds: gdal.Translate("", ds, format="MEM", srcWin=[11, 13, 50, 40], width=25, height=20)):
        np.testing.assert_array_equal(make(ours).ReadAsArray(), make(memory).ReadAsArray())


# ------------------------------------------------------------------------------------------------- what is kept between two

def blank(path):
    """Overwrites the chunk data of a store with zeros, in place: what is read again is wrong or an error."""
    for folder, _, names in os.walk(path):
        for name in names:
            if name != "zarr.json":
                with open(os.path.join(folder, name), "r+b") as file:
                    file.write(bytes(os.path.getsize(file.name)))


@pytest.mark.parametrize("options", [[], ["CACHE_SIZE=1"]], ids=["default budget", "smallest budget"])
def test_a_row_of_chunks_is_decoded_once_line_by_line(cube, options):
    path, array = cube
    band = held_band(open_array(path, options=options))
    first = band.ReadAsArray(0, 16, SHAPE[2], 1)
    blank(path)
    lines = [first] + [band.ReadAsArray(0, y, SHAPE[2], 1) for y in range(17, 32)]
    assert_same(np.concatenate(lines), array[0, 16:32])


@pytest.mark.parametrize("request_first", [lambda ds: ds.ReadAsArray(4, 4, 12, 15), lambda ds: ds.GetRasterBand(1).ReadBlock(0, 0),
                                           lambda ds: ds.GetRasterBand(2).ReadAsArray(3, 3, 2, 2)], ids=["window", "block", "other band"])
def test_a_chunk_that_was_used_in_part_is_not_decoded_again(cube, request_first):
    path, array = cube
    dataset = open_array(path)
    request_first(dataset)
    blank(path)
    assert_same(dataset.GetRasterBand(1).ReadAsArray(2, 1, 6, 13), array[0, 1:14, 2:8])
    assert_same(dataset.GetRasterBand(2).ReadAsArray(0, 0, 8, 16), array[1, :16, :8])


def test_nested_shards_are_read_in_part_at_every_level(tmp_path, server):
    """A small window of a large nested shard fetches about the chunk that it needs, not the inner shard."""
    shape = (512, 512)
    array = random_values(np.random.default_rng(3), "uint32", shape)
    chain = [sharding((256, 256), sharding((32, 32)))]
    oracle.write(tmp_path / "n.zarr", array_meta(shape, "uint32", shape, chain), array)
    dataset = open_array(server.vsi("n.zarr"))
    assert_same(dataset.ReadAsArray(300, 40, 20, 20), array[40:60, 300:320])
    assert server.bytes_sent("/c/") < 200000, "a megabyte is the shard, a quarter of it one inner shard"
