"""IMAGE_STRUCTURE: what a store says of how its bands lie and are compressed, and what GDAL's programs make of it."""
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import GZIP, LITTLE, ZSTD, array_meta, blosc, counting, group_meta, sharding, spatial_proj
from support import assert_same, name_of, open_array, open_ours, read_all
from writing import UTM, source


def structure(dataset):
    found = dataset.GetMetadata("IMAGE_STRUCTURE")
    assert "IMAGE_STRUCTURE" in dataset.GetMetadataDomainList()
    assert all(dataset.GetMetadataItem(key, "IMAGE_STRUCTURE") == value for key, value in found.items())
    return found.get("INTERLEAVE"), found.get("COMPRESSION")


def write(path, shape, chunk, *codecs, shard=None):
    oracle.write(path, array_meta(shape, "uint8", shard, [sharding(chunk, *codecs)]), counting(shape, "uint8"))
    return path


@pytest.mark.parametrize("shape, chunk, expected", [
    ((4, 6), (2, 2), "BAND"), ((4, 4, 6), (1, 2, 2), "BAND"), ((4, 4, 6), (4, 2, 2), "PIXEL"), ((4, 4, 6), (2, 4, 6), "PIXEL"),
    ((2, 4, 4, 6), (1, 2, 2, 2), "PIXEL"), ((2, 4, 4, 6), (1, 1, 4, 6), "BAND"), ((1, 4, 6), (1, 2, 2), "BAND")])
def test_chunks_of_several_bands_are_interleaved_by_pixel(tmp_path, shape, chunk, expected):
    assert structure(open_array(write(tmp_path, shape, chunk))) == (expected, None)


def test_interleaving_of_a_selection_is_that_of_its_bands(tmp_path):
    path = write(tmp_path, (2, 4, 4, 6), (1, 4, 2, 2))
    assert structure(open_array(path, "/", 1)) == ("PIXEL", None)
    assert structure(open_array(path, "/", 1, 2)) == ("BAND", None)
    assert structure(open_ours("SHARDEDZARR:%s:/:dim1=2" % path)) == ("BAND", None)
    assert structure(open_ours("SHARDEDZARR:%s:/:dim1=2..3" % path)) == ("PIXEL", None)


@pytest.mark.parametrize("codecs, expected", [
    ([LITTLE], None), ([LITTLE, ZSTD], "ZSTD"), ([LITTLE, GZIP], "DEFLATE"), ([LITTLE, blosc("zstd", typesize=1)], "ZSTD"),
    ([LITTLE, blosc("zlib", typesize=1)], "DEFLATE"), ([LITTLE, blosc("lz4", typesize=1)], None), ([LITTLE, {"name": "numcodecs.bz2"}], None),
    ([sharding((1, 2, 2), LITTLE, ZSTD)], "ZSTD"), ([LITTLE, {"name": "numcodecs.zlib", "configuration": {"level": 1}}], "DEFLATE")])
def test_the_compressor_is_called_as_in_other_drivers(tmp_path, codecs, expected):
    oracle.put(tmp_path, {"zarr.json": array_meta((4, 4, 6), "uint8", (4, 4, 6), [sharding((2, 4, 6), *codecs)])})
    assert structure(open_array(tmp_path)) == ("PIXEL" if codecs[0] == LITTLE else "BAND", expected)


def test_shard_shape_item_has_the_form_of_the_option(tmp_path):
    shape = lambda path: open_array(path).GetMetadataItem("SHARD_SHAPE", "IMAGE_STRUCTURE")  # noqa: E731
    assert shape(write(tmp_path / "a", (4, 4, 6), (1, 2, 2), shard=(2, 4, 6))) == "2,4,6"
    oracle.write(tmp_path / "b", array_meta((4, 6), "uint8", (2, 2), [LITTLE]), counting((4, 6), "uint8"))
    dataset = gdal.OpenEx("SHARDEDZARR:%s:/" % (tmp_path / "b"))
    assert dataset.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE") == "BAND"
    assert dataset.GetMetadataItem("SHARD_SHAPE", "IMAGE_STRUCTURE") is None


# ------------------------------------------------------------------------------------------------------------------- copies

def tiff(path, pixels, **options):
    gdal.GetDriverByName("GTiff").CreateCopy(str(path), source(pixels, UTM, "EPSG:32633"), options=["%s=%s" % o for o in options.items()])
    return gdal.Open(str(path))


@pytest.mark.parametrize("interleave", ["BAND", "PIXEL"])
@pytest.mark.parametrize("compress, name", [("ZSTD", "ZSTD"), ("DEFLATE", "DEFLATE"), ("GZIP", "DEFLATE"), ("BLOSC", "ZSTD"), ("NONE", None)])
def test_interleaving_and_compressor_survive_conversion_through_geotiff(tmp_path, interleave, compress, name):
    pixels = counting((5, 40, 50), "uint8")
    before = tiff(tmp_path / "a.tif", pixels, INTERLEAVE="PIXEL")
    gdal.Translate(str(tmp_path / "a.zarr"), before, format="ShardedZarr",
                   creationOptions=["INTERLEAVE=" + interleave, "COMPRESS=" + compress, "CHUNK_SHAPE=16"])
    ours = gdal.Open(str(tmp_path / "a.zarr"))
    assert structure(ours) == (interleave, name)
    again = gdal.Translate(str(tmp_path / "b.tif"), ours)
    assert_same(again.ReadAsArray(), pixels)
    assert again.GetMetadataItem("COMPRESSION", "IMAGE_STRUCTURE") is None
    assert again.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE") == interleave  # GTiff takes that of its source
    back = gdal.Translate(str(tmp_path / "c.zarr"), again, format="ShardedZarr", creationOptions=["CHUNK_SHAPE=16"])
    assert_same(read_all(back), pixels)
    assert structure(back)[0] == interleave  # GDAL itself hands on that of the source


# Tessera's layout: all 128 bands of 32 x 32 pixels in a chunk.
BANDS, SIZE = 128, 256


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    """(folder with the store, its pixels, encoded bytes). Chunks do not fit the caches together that the tests have."""
    path = tmp_path_factory.mktemp("tessera")
    pixels = np.random.default_rng(3).integers(0, 256, (1, BANDS, SIZE, SIZE)).astype("uint8")
    oracle.write(path / "t.zarr", group_meta())
    oracle.write(path / "t.zarr/e", array_meta(pixels.shape, "uint8", (1, BANDS, 128, 128), [sharding((1, BANDS, 32, 32), LITTLE, GZIP)],
                                               dimension_names=["time", "band", "y", "x"],
                                               attributes=spatial_proj([10, 0, 500000, 0, -10, 5000000], "EPSG:32633")), pixels)
    stored = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path) for file in files if file != "zarr.json")
    assert stored > 0.9 * pixels.size
    return path, pixels[0], stored


def test_a_copy_fetches_each_chunk_of_many_bands_once(tmp_path, embeddings, server):
    path, pixels, stored = embeddings
    server.root = str(path)
    before = gdal.GetCacheMax()  # a quarter of it holds decoded chunks: half of them
    gdal.SetCacheMax(16 << 20)
    try:
        gdal.Translate(str(tmp_path / "copy.tif"), name_of(server.vsi("t.zarr"), "/e"))
    finally:
        gdal.SetCacheMax(before)
    assert_same(gdal.Open(str(tmp_path / "copy.tif")).ReadAsArray(), pixels)
    fetched = sum(request.sent for request in server.log if "/c/" in request.path)
    assert fetched < 1.1 * stored, "%.1f times" % (fetched / stored)
