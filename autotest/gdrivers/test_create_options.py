"""Every creation option: what it does to the store, and that the pixels are right all the same. Combinations are in test_write_peers.py."""
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import random_values
from support import ask_peer, assert_same, error_of, geotransform, need, open_array, open_ours, same_crs, srs_of, warnings_of
from writing import UTM, check_consolidated, check_not_consolidated, chunks_of, copy, created, document, driver, only_array, pairs, shards, source


def smooth(shape, data_type="uint16", seed=0):
    """Values that compress: a random walk along the columns."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.integers(0, 3, shape), axis=-1).astype(data_type)


def written(path, shape=(70, 101), data_type="uint16", **options):
    """(name, zarr.json) of a raster that was copied and read equal by us and by the oracle."""
    array = smooth(shape, data_type)
    assert_same(copy(path, source(array, UTM, "EPSG:32633"), **options).ReadAsArray(), array)
    name, meta, again = only_array(path)
    assert_same(again, array)
    check_consolidated(path)
    return name, meta


def inner(meta):
    return oracle.sharding_of(meta["codecs"])


# ----------------------------------------------------------------------------------------------------------------- alone

@pytest.mark.parametrize("shape, chunk, shard, expected", [
    ((70, 101), "16", "32", ([16, 16], [32, 32])), ((70, 101), "16,32", "48,64", ([16, 32], [48, 64])),
    ((3, 70, 101), "16", "64", ([1, 16, 16], [1, 64, 64])), ((3, 70, 101), "2,16,8", "4,16,16", ([2, 16, 8], [4, 16, 16])),
    ((3, 70, 101), "3,16,16", None, ([3, 16, 16], [3, 128, 112])), ((70, 101), "16", "AUTO", ([16, 16], [80, 112]))], ids=str)
def test_shapes_are_as_asked_for(tmp_path, shape, chunk, shard, expected):
    options = {"CHUNK_SHAPE": chunk, **({"SHARD_SHAPE": shard} if shard else {})}
    _, meta = written(tmp_path / "a.zarr", shape, **options)
    assert inner(meta)["chunk_shape"] == expected[0]
    found = list(oracle.chunk_shape_of(meta))
    if shard not in (None, "AUTO"):
        assert found == expected[1]
    assert all(s % c == 0 for s, c in zip(found, expected[0]))


@pytest.mark.parametrize("shape, data_type, shard", [
    ((32, 201, 201), "float32", (32, 201, 201)), ((3, 700, 1100), "uint8", (3, 1024, 1536)), ((500, 201, 201), "float32", (256, 201, 201)),
    ((2, 6000, 100), "uint16", (2, 6144, 100)), ((2, 6000, 6000), "uint8", (1, 6144, 6144))], ids=str)
def test_usual_shards_have_about_64_mib_along_all_dimensions(tmp_path, shape, data_type, shard):
    """A cube of 32 maps is one object, by every way in: a copy, Create(), the multidimensional face."""
    pixels = np.ones(shape, data_type)
    copy(tmp_path / "copied.zarr", source(pixels), OVERVIEWS="NONE")
    created(tmp_path / "created.zarr", pixels, OVERVIEWS="NONE")
    root = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(tmp_path / "mdim.zarr")).GetRootGroup()
    sizes = [root.CreateDimension(name, None, None, size) for name, size in zip(("t", "y", "x"), shape)]
    root.CreateMDArray("mdim", sizes, gdal.ExtendedDataType.Create(gdal.GetDataTypeByName({"uint8": "Byte", "uint16": "UInt16"}.get(data_type, "Float32"))))
    del root
    for name in ("copied", "created", "mdim"):
        assert tuple(oracle.chunk_shape_of(document(tmp_path / (name + ".zarr"), name))) == shard, name
    assert len(shards(tmp_path / "copied.zarr", "copied")) == int(np.prod([-(-n // s) for n, s in zip(shape, shard)]))


@pytest.mark.parametrize("options, codecs", [
    ({"COMPRESS": "NONE"}, []), ({"COMPRESS": "GZIP"}, [("gzip", {"level": 6})]), ({"COMPRESS": "GZIP", "LEVEL": 0}, [("gzip", {"level": 0})]),
    ({"COMPRESS": "ZSTD"}, [("zstd", {"level": 3})]), ({"COMPRESS": "ZSTD", "LEVEL": -7}, [("zstd", {"level": -7})]),
    ({"COMPRESS": "ZSTD", "LEVEL": 22}, [("zstd", {"level": 22})]),
    ({}, [("blosc", {"cname": "zstd", "typesize": 2, "blocksize": 262144})]),
    ({"BLOSC_SHUFFLE": "BIT"}, [("blosc", {"clevel": 1, "cname": "zstd"})]), ({"BLOSC_SHUFFLE": "BYTE"}, [("blosc", {"clevel": 2, "cname": "zstd"})]),
    ({"LEVEL": 2, "BLOSC_SHUFFLE": "BIT"}, [("blosc", {"clevel": 2, "cname": "zstd"})]),
    ({"LEVEL": 1}, [("blosc", {"clevel": 1, "cname": "zstd", "blocksize": 262144})]),
    ({"LEVEL": 3}, [("blosc", {"clevel": 3, "cname": "zstd", "blocksize": 262144})]),
    ({"BLOSC_BLOCKSIZE": 65536}, [("blosc", {"cname": "zstd", "blocksize": 65536})]),
    ({"BLOSC_CNAME": "lz4"}, [("blosc", {"cname": "lz4", "clevel": 3, "blocksize": 0})]),
    ({"COMPRESS": "BLOSC", "LEVEL": 9, "BLOSC_CNAME": "lz4"}, [("blosc", {"cname": "lz4", "clevel": 9})]),
    ({"BLOSC_CNAME": "lz4hc", "BLOSC_SHUFFLE": "BYTE"}, [("blosc", {"cname": "lz4hc", "shuffle": "shuffle"})]),
    ({"BLOSC_CNAME": "blosclz", "BLOSC_SHUFFLE": "NONE"}, [("blosc", {"cname": "blosclz", "shuffle": "noshuffle"})]),
    ({"BLOSC_CNAME": "zlib", "BLOSC_SHUFFLE": "BIT"}, [("blosc", {"cname": "zlib", "shuffle": "bitshuffle"})]),
    ({"BLOSC_CNAME": "snappy"}, [("blosc", {"cname": "snappy"})]),
    ({"COMPRESS": "NONE", "CHUNK_CHECKSUM": "YES"}, [("crc32c", {})]),
    ({"COMPRESS": "GZIP", "CHUNK_CHECKSUM": "YES"}, [("gzip", {}), ("crc32c", {})])], ids=str)
def test_the_codecs_are_as_asked_for(tmp_path, options, codecs):
    for name, conf in codecs:
        need(name, oracle.available("blosc:" + conf["cname"] if name == "blosc" else name))
    _, meta = written(tmp_path / "a.zarr", CHUNK_SHAPE=16, SHARD_SHAPE=32, **options)
    found = [oracle.named(c) for c in inner(meta)["codecs"]]
    assert [name for name, _ in found] == ["bytes"] + [name for name, _ in codecs]
    for (_, conf), (_, expected) in zip(found[1:], codecs):
        assert {k: conf[k] for k in expected} == expected


def surface(side, seed=1):
    """Values of a surface with some noise, -1 to 1."""
    y, x = np.mgrid[:side, :side] / side
    return np.sin(7 * x + 3 * y) * np.cos(5 * y) + np.random.default_rng(seed).normal(size=(side, side)) * 0.001


KINDS = {"scene": lambda s: (s * 4000 + 4500).astype("uint16"), "terrain": lambda s: (s * 900).astype("float32"),
         "scaled": lambda s: np.round(s * 500).astype("float32") * np.float32(0.01), "scaled double": lambda s: np.round(s * 500) * 0.01,
         "classes": lambda s: (s * 3).astype("int8").astype("uint8"), "valid": lambda s: np.where(s > 0.2, 255, 0).astype("uint8"),
         "constant": lambda s: np.full(s.shape, 7, "uint8"), "complex": lambda s: (s + 1j * s).astype("complex64"),
         "with nodata": lambda s: np.where(s < 0.3, np.float32(-9999), np.round(s * 200)).astype("float32")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["copy", "strips"])
def test_blosc_filter_is_chosen_by_compressed_size(tmp_path, kind, way):
    need("blosc", oracle.available("blosc:zstd"))
    pixels, sizes = KINDS[kind](surface(600)), {}
    if way == "strips":
        given = gdal.Translate(str(tmp_path / "a.tif"), source(pixels), creationOptions=["BLOCKYSIZE=7"])
    else:
        given = source(pixels)
    for filter in ("NONE", "BYTE", "BIT", None, "AUTO"):
        path, options = tmp_path / ("%s.zarr" % filter), {"OVERVIEWS": "NONE", **({"BLOSC_SHUFFLE": filter} if filter else {})}
        copy(path, given, **options)
        np.testing.assert_array_equal(open_ours(str(path)).ReadAsArray(), pixels)
        sizes[filter] = sum(map(len, shards(path, filter or "None").values()))
    chosen = open_ours(str(path)).GetMetadataItem("BLOSC_SHUFFLE", "IMAGE_STRUCTURE")
    assert sizes[None] == sizes["AUTO"] == sizes[chosen] <= 1.03 * min(sizes[f] for f in ("NONE", "BYTE", "BIT"))


def physical_order(path, meta, name="a"):
    """Cells of the first shard in the order in which their bytes lie."""
    data = shards(path, name)["c/0/0"]
    found = chunks_of(meta, data)
    return sorted(found, key=lambda cell: data.index(found[cell]))


def test_chunks_lie_in_the_order_asked_for(tmp_path):
    options = dict(CHUNK_SHAPE=4, SHARD_SHAPE=32, COMPRESS="NONE", ARRAY_NAME="a")
    array = np.arange(32 * 32, dtype="uint32").reshape(32, 32)
    order = {}
    for name in ("ROW_MAJOR", "MORTON", "HILBERT"):
        path = tmp_path / (name + ".zarr")
        assert_same(copy(path, source(array + 1), CHUNK_ORDER=name, **options).ReadAsArray(), array + 1)
        order[name] = physical_order(path, only_array(path)[1])
    assert order["ROW_MAJOR"] == list(np.ndindex(8, 8))
    assert order["MORTON"] == sorted(np.ndindex(8, 8), key=lambda c: sum(((c[d] >> b) & 1) << (2 * b + 1 - d) for b in range(3) for d in range(2)))
    steps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in zip(order["HILBERT"], order["HILBERT"][1:])]
    assert sorted(order["HILBERT"]) == order["ROW_MAJOR"] and set(steps) == {1}


@pytest.mark.parametrize("options, levels", [({}, [(51, 35), (26, 18), (13, 9)]), ({"OVERVIEWS": "AUTO"}, [(51, 35), (26, 18), (13, 9)]),
                                             ({"OVERVIEWS": "NONE"}, []), ({"OVERVIEWS": "2"}, [(51, 35)]),
                                             ({"OVERVIEWS": "3,5"}, [(34, 24), (21, 14)]), ({"OVERVIEWS": "8,2"}, [(51, 35), (13, 9)])],
                         ids=str)
def test_overviews_are_those_asked_for(tmp_path, options, levels):
    made = driver().CreateCopy(str(tmp_path / "a.zarr"), source(smooth((70, 101))), options=pairs({"CHUNK_SHAPE": 16, **options}))
    for dataset in (made, open_ours(str(tmp_path / "a.zarr"))):
        band = dataset.GetRasterBand(1)
        assert [(band.GetOverview(i).XSize, band.GetOverview(i).YSize) for i in range(band.GetOverviewCount())] == levels


@pytest.mark.parametrize("how", ["NEAREST", "AVERAGE", "RMS", "BILINEAR", "CUBIC", "CUBICSPLINE", "LANCZOS", "GAUSS", "MODE"])
def test_overviews_are_resampled_as_asked_for(tmp_path, how):
    array = random_values(np.random.default_rng(4), "uint8", (64, 96))
    ours = copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16, OVERVIEWS=2, RESAMPLING=how)
    theirs = source(array)
    theirs.BuildOverviews(how, [2])
    expected = theirs.GetRasterBand(1).GetOverview(0).ReadAsArray().astype(int)
    assert np.abs(ours.GetRasterBand(1).GetOverview(0).ReadAsArray().astype(int) - expected).max() <= 1
    assert how.lower() in str(document(tmp_path / "a.zarr")["attributes"]["multiscales"]).lower()


def test_level_and_sparseness_of_geotiffs_are_accepted(tmp_path):
    """Without a warning, which would say that a store cannot be sparse."""
    options = {"COMPRESS": "DEFLATE", "ZLEVEL": 9, "SPARSE_OK": "TRUE"}
    _, messages = warnings_of(lambda: created(tmp_path / "a.zarr", np.zeros((1, 40, 40), "uint16"), CHUNK_SHAPE=16, **options))
    assert not messages
    name, meta, _ = only_array(tmp_path / "a.zarr")
    codecs = {codec["name"]: codec.get("configuration") for codec in meta["codecs"][0]["configuration"]["codecs"]}
    assert codecs["gzip"] == {"level": 9} and not shards(tmp_path / "a.zarr", name)


def test_categories_get_nearest_overviews(tmp_path):
    array = random_values(np.random.default_rng(4), "uint8", (64, 96)) % 2 * 9
    dataset = source(array)
    table = gdal.ColorTable()
    for value in (0, 9):
        table.SetColorEntry(value, (value, 2, 3, 255))
    dataset.GetRasterBand(1).SetColorTable(table)
    made = copy(tmp_path / "a.zarr", dataset, CHUNK_SHAPE=16, OVERVIEWS=2)
    level = made.GetRasterBand(1).GetOverview(0).ReadAsArray()
    assert set(np.unique(level)) == {0, 9}


def test_the_array_has_the_name_asked_for_or_that_of_the_store(tmp_path):
    assert written(tmp_path / "scene.zarr")[0] == "scene"
    assert written(tmp_path / "b.zarr", ARRAY_NAME="red edge")[0] == "red edge"
    assert written(tmp_path / "x.zarr")[0] not in ("x", "y", "spatial_ref")
    assert written(tmp_path / "zarr.json.zarr")[0] != "zarr.json"
    assert written(tmp_path / "lat.zarr", DIM_NAMES="lat,lon")[0] not in ("lat", "lon")


def test_dimensions_have_the_names_asked_for(tmp_path):
    assert written(tmp_path / "a.zarr")[1]["dimension_names"] == ["y", "x"]
    assert written(tmp_path / "b.zarr", (2, 20, 30))[1]["dimension_names"] == ["band", "y", "x"]
    assert written(tmp_path / "c.zarr", DIM_NAMES="lat,lon")[1]["dimension_names"] == ["lat", "lon"]
    assert written(tmp_path / "d.zarr", (2, 20, 30), DIM_NAMES="t,r,c")[1]["dimension_names"] == ["t", "r", "c"]
    assert document(tmp_path / "c.zarr", "lat")["shape"] == [70]


def test_an_array_per_band_is_one_raster_and_read(tmp_path):
    array = smooth((3, 70, 101))
    dataset = source(array, UTM, "EPSG:32633")
    dataset.GetRasterBand(2).SetDescription("nir")
    dataset.GetRasterBand(3).SetDescription("x")  # is taken
    made = driver().CreateCopy(str(tmp_path / "a.zarr"), dataset, options=["SINGLE_ARRAY=NO", "CHUNK_SHAPE=16", "OVERVIEWS=2"])
    assert made is not None
    del made
    names = {"/a_1": 0, "/nir": 1, "/a_3": 2}
    whole = open_ours(str(tmp_path / "a.zarr"))
    assert [whole.GetRasterBand(b).GetDescription() for b in (1, 2, 3)] == ["a_1", "nir", "a_3"]
    for name, band in names.items():
        part = open_array(str(tmp_path / "a.zarr"), name)
        assert_same(part.ReadAsArray(), array[band])
        assert geotransform(part) == UTM and same_crs(part, "EPSG:32633") and part.GetRasterBand(1).GetOverviewCount() == 1
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("by", ["CreateCopy", "Create"])
def test_a_store_without_consolidated_metadata_is_made_and_stays_without(tmp_path, by):
    array, options = smooth((70, 101)), ["CREATE_CONSOLIDATED_METADATA=NO", "CHUNK_SHAPE=16", "OVERVIEWS=2,4", "ARRAY_NAME=v", "RESAMPLING=NEAREST"]
    path, dataset = tmp_path / "a.zarr", source(array, UTM, "EPSG:32633")
    if by == "Create":
        made = driver().Create(str(path), 101, 70, 1, gdal.GDT_UInt16, options)
        made.SetGeoTransform(UTM)
        made.SetSpatialRef(dataset.GetSpatialRef())
        made.WriteArray(array)
    else:
        made = driver().CreateCopy(str(path), dataset, options=options)
    made = None
    check_not_consolidated(path)
    copy(path, dataset, APPEND_SUBDATASET="YES", ARRAY_NAME="w", OVERVIEWS="2", CHUNK_SHAPE=16)
    gdal.OpenEx('SHARDEDZARR:"%s":/v' % path, gdal.OF_UPDATE).BuildOverviews("NEAREST", [8])
    check_not_consolidated(path)
    for name, levels in (("/v", 3), ("/w/w", 1)):
        part = open_array(str(path), name)
        assert_same(part.ReadAsArray(), array)
        assert geotransform(part) == UTM and same_crs(part, "EPSG:32633") and part.GetRasterBand(1).GetOverviewCount() == levels
    for level, of in (("ovr_2x/v", 2), ("ovr_4x/v", 4), ("ovr_8x/v", 8)):
        assert oracle.read(path / level)[1].shape == (-(-70 // of), -(-101 // of))
    for answer in ask_peer("tensorstore", tmp_path, [("a.zarr", "v"), ("a.zarr", "w/w")]):
        assert_same(answer["values"][0], array)


@pytest.mark.parametrize("profile, chunk", [
    ("BLOCKXSIZE=32 BLOCKYSIZE=16 TILED=YES INTERLEAVE=pixel", (3, 16, 32)), ("BLOCKXSIZE=32 BLOCKYSIZE=16 INTERLEAVE=line", (1, 16, 32)),
    ("BLOCKXSIZE=101 BLOCKYSIZE=1 TILED=False INTERLEAVE=band", (1, 70, 101)), ("BLOCKYSIZE=32", (1, 70, 101)),
    ("BLOCKXSIZE=101 BLOCKYSIZE=63 INTERLEAVE=band", (1, 70, 101)), ("BLOCKXSIZE=101 BLOCKYSIZE=16 TILED=YES", (1, 16, 101)),
    ("BLOCKXSIZE=32 BLOCKYSIZE=32 TILED=NO", (1, 70, 101)), ("BLOCKXSIZE=256 BLOCKYSIZE=256 TILED=TRUE", (1, 70, 101)),
    ("BLOCKXSIZE=32 BLOCKYSIZE=32 TILED=YES CHUNK_SHAPE=8", (1, 8, 8))])
@pytest.mark.parametrize("by", ["CreateCopy", "Create"])
def test_blocks_of_other_formats_are_taken_for_chunks_without_a_warning(tmp_path, profile, chunk, by):
    """As rasterio hands on the profile of a GeoTIFF."""
    path, array, options = str(tmp_path / "a.zarr"), np.ones((3, 70, 101), "uint8"), profile.split()
    if by == "Create":
        made, messages = warnings_of(lambda: driver().Create(path, 101, 70, 3, gdal.GDT_Byte, options))
        made.WriteArray(array)
    else:
        made, messages = warnings_of(lambda: driver().CreateCopy(path, source(array), options=options))
    assert messages == []
    made = None
    _, meta, values = only_array(path)
    assert tuple(oracle.sharding_of(meta["codecs"])["chunk_shape"]) == chunk and (values == 1).all()


@pytest.mark.parametrize("style", ["ALL", "SPATIAL_PROJ", "CF"])
@pytest.mark.parametrize("by", ["CreateCopy", "Create"])
def test_only_the_conventions_asked_for_are_written(tmp_path, style, by):
    path, pixels = str(tmp_path / "a.zarr"), source(np.ones((70, 101), "uint8"))
    dataset = pixels if by == "CreateCopy" else driver().Create(path, 101, 70, options=["GEOREFERENCING=" + style])
    dataset.SetGeoTransform(UTM), dataset.SetSpatialRef(srs_of(32633)), dataset.SetMetadataItem("AREA_OR_POINT", "Point")
    dataset = copy(path, dataset, GEOREFERENCING=style) if by == "CreateCopy" else None
    dataset, meta = open_ours(path), document(path, "a")
    assert geotransform(dataset) == pytest.approx(UTM) and same_crs(dataset, "EPSG:32633") and dataset.GetMetadataItem("AREA_OR_POINT") == "Point"
    texts = str(document(tmp_path / "a.zarr")["attributes"]) + str(meta["attributes"])
    assert ("spatial:transform" in texts) == ("proj:code" in texts) == (style != "CF")
    assert os.path.exists(tmp_path / "a.zarr" / "spatial_ref") == ("grid_mapping" in meta["attributes"]) == (style != "SPATIAL_PROJ")


# --------------------------------------------------------------------------------------------------------- wrong values

WRONG = [("CHUNK_SHAPE", "0", "positive"), ("CHUNK_SHAPE", "-4", "positive"), ("CHUNK_SHAPE", "a", "positive"), ("CHUNK_SHAPE", "16,", "positive"),
         ("CHUNK_SHAPE", "1,2,3,4", "2"), ("CHUNK_SHAPE", "4000000000", "1 GiB"), ("CHUNK_SHAPE", "99999999999999999999", "positive"),
         ("SHARD_SHAPE", "40", "32"), ("SHARD_SHAPE", "8", "16"), ("SHARD_SHAPE", "16,16,16", "2"), ("SHARD_SHAPE", "160000000", "1048576"),
         ("COMPRESS", "LZW", "ZSTD"), ("COMPRESS", "", "ZSTD"), ("LEVEL", "10", "9"), ("LEVEL", "high", "integer"), ("LEVEL", "1.5", "integer"),
         ("BLOSC_CNAME", "brotli", "lz4"), ("BLOSC_SHUFFLE", "MAYBE", "BIT"), ("INDEX_LOCATION", "MIDDLE", "START"),
         ("CHUNK_ORDER", "PEANO", "HILBERT"), ("CHUNK_CHECKSUM", "perhaps", "YES"), ("OVERVIEWS", "1", "2"), ("OVERVIEWS", "2,x", "factors from 2"),
         ("RESAMPLING", "BEST", "CUBIC"), ("ARRAY_NAME", "a/b", "/"), ("ARRAY_NAME", "..", "dots"), ("ARRAY_NAME", ".zarray", ".z"),
         ("ARRAY_NAME", "x", "name"), ("ARRAY_NAME", "spatial_ref", "name"), ("ARRAY_NAME", "ovr_2x", "name"),
         ("SINGLE_ARRAY", "perhaps", "YES"), ("INTERLEAVE", "TILE", "PIXEL"), ("BLOCKXSIZE", "0", "from 1"), ("BLOCKYSIZE", "big", "from 1"), ("TILED", "perhaps", "YES"), ("APPEND_SUBDATASET", "perhaps", "YES"),
         ("GEOREFERENCING", "NONE", "CF"), ("NUM_THREADS", "0", "1024"), ("NUM_THREADS", "many", "ALL_CPUS"), ("NUM_THREADS", "2x", "ALL_CPUS"),
         ("DIM_NAMES", "a", "2 names"), ("DIM_NAMES", "a,b,c", "2 names"), ("DIM_NAMES", "a,a", "differ"), ("DIM_NAMES", "a/b,c", "/")]


@pytest.mark.parametrize("option, value, would_do", WRONG)
@pytest.mark.parametrize("by", ["CreateCopy", "Create"])
def test_wrong_option_value_is_refused_with_valid_ones_and_leaves_nothing(tmp_path, option, value, would_do, by):
    path, options = str(tmp_path / "a.zarr"), pairs({"CHUNK_SHAPE": 16, option: value})
    if by == "Create":
        message = error_of(driver().Create, path, 101, 70, 1, gdal.GDT_Byte, options)
    else:
        message = error_of(driver().CreateCopy, path, source(smooth((70, 101), "uint8")), options=options)
    assert option in message and would_do in message
    assert not os.path.exists(path)


def test_types_that_zarr_lacks_are_refused(tmp_path):
    message = error_of(driver().Create, str(tmp_path / "a.zarr"), 10, 10, 1, gdal.GDT_CInt16)
    assert "CFloat32" in message and not os.path.exists(tmp_path / "a.zarr")
    error_of(driver().Create, str(tmp_path / "a.zarr"), 10, 10, 0, gdal.GDT_Byte)
    assert not os.path.exists(tmp_path / "a.zarr")


@pytest.mark.parametrize("names", ["lon,lat", "x,y", "longitude,row", "a,northing"])
def test_names_of_dimensions_in_the_order_of_x_and_y_are_refused(tmp_path, names):
    """The copy would open transposed."""
    message = error_of(copy, tmp_path / "a.zarr", source(np.ones((2, 3), "uint8")), DIM_NAMES=names)
    assert "DIM_NAMES" in message and "the name of Y before that of X" in message and not (tmp_path / "a.zarr").exists()


@pytest.mark.parametrize("made", ["created", "updated"])
def test_pixels_counted_from_the_corner_are_a_transform_where_there_is_none(tmp_path, made):
    path, pixels = str(tmp_path / "a.zarr"), (0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    dataset = driver().Create(path, 8, 8)
    if made == "updated":
        dataset = None
        dataset = gdal.Open(path, gdal.GA_Update)
    dataset.SetGeoTransform(pixels)
    dataset = None
    assert gdal.Open(path).GetGeoTransform(can_return_null=True) == pixels
