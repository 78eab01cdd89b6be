"""Layouts that others publish (FORMATS 7.1, 10.1): what they ask of a reader, through the driver."""
import json

import numpy as np
import pytest

import oracle
from stores import LITTLE, array_meta, codec, group_meta, sharding, write_coordinate
from support import as_raster, assert_pixels, error_of, geotransform, open_array, open_ours, read_all, run_peer, same_crs, subdatasets

ZAGG = {"crs": "EPSG:3031", "resolution": [100.0, 200.0], "bounds": [-1000.0, -2000.0, -50.0, 600.0]}
ZAGG_GT = (-1000, 100, 0, 600, 0, -200)


def write_zagg(path):
    """A rectilinear product as zagg writes it: 16 x 12 pixels in shards of 8 x 12, chunks of 4 x 6, companions of a value per chunk."""
    values = np.arange(16 * 12, dtype="float32").reshape(16, 12)
    group = path / "rectilinear"
    oracle.write(path, group_meta())
    oracle.write(group, group_meta(ZAGG))
    oracle.write(group / "h", array_meta((16, 12), "float32", (8, 12), [sharding((4, 6), LITTLE)], fill_value="NaN",
                                         dimension_names=["y", "x"]), values)
    xy = {"units": "m"}
    write_coordinate(group, "x", -950 + 100.0 * np.arange(12), {**xy, "standard_name": "projection_x_coordinate"})
    write_coordinate(group, "y", 500 - 200.0 * np.arange(16), {**xy, "standard_name": "projection_y_coordinate"})
    slope = np.arange(8, dtype="float32").reshape(4, 2)
    oracle.write(group / "slope", array_meta((4, 2), "float32", (1, 1), [LITTLE], dimension_names=["chunk_y", "chunk_x"]), slope)
    histogram = np.arange(40, dtype="int32").reshape(4, 2, 5)
    oracle.write(group / "histogram", array_meta((4, 2, 5), "int32", (1, 1, 5), [LITTLE],
                                                 dimension_names=["chunk_y", "chunk_x", "bin"]), histogram)
    return values, slope, histogram


def test_zagg_products_and_companions_have_the_georeferencing_of_their_group(tmp_path):
    values, slope, histogram = write_zagg(tmp_path)
    pixels = open_array(tmp_path, "/rectilinear/h")
    np.testing.assert_array_equal(pixels.ReadAsArray(), values)
    assert geotransform(pixels) == ZAGG_GT and same_crs(pixels, "EPSG:3031")
    companion = open_array(tmp_path, "/rectilinear/slope")
    np.testing.assert_array_equal(companion.ReadAsArray(), slope)
    assert geotransform(companion) == (-1000, 600, 0, 600, 0, -800) and same_crs(companion, "EPSG:3031")
    vectors = open_array(tmp_path, "/rectilinear/histogram")
    assert (vectors.RasterCount, vectors.RasterYSize, vectors.RasterXSize) == (5, 4, 2)
    np.testing.assert_array_equal(vectors.ReadAsArray(), np.moveaxis(histogram, 2, 0))
    assert geotransform(vectors) == geotransform(companion)
    assert list(subdatasets(open_ours("SHARDEDZARR:" + str(tmp_path)))) == ["/rectilinear/h", "/rectilinear/histogram", "/rectilinear/slope"]


# ------------------------------------------------------------------------------------------------------ Tessera, GLW4

@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    run_peer("zarr_python_layouts.py", folder)
    return folder


ZONES = {"utm33": ("EPSG:32633", 400000, 5200000), "utm56": ("EPSG:32656", 300000, -3700000)}  # south of the equator less than 0


@pytest.mark.parametrize("bands, name", [(128, "embeddings"), (16, "embeddings_d16"), (4, "embeddings_d4")])
@pytest.mark.parametrize("zone", ZONES)
def test_tessera_embeddings_have_values_and_georeferencing(published, zone, bands, name):
    code, west, north = ZONES[zone]
    values = np.load(published / (zone + "_embeddings.npy"))[:, :bands]
    dataset = open_array(published / "tessera.zarr", "/%s/%s" % (zone, name))
    assert_pixels(dataset, as_raster(values, "int8"))
    assert geotransform(dataset) == (west, 10, 0, north, 0, -10) and same_crs(dataset, code)
    last = dataset.GetRasterBand(bands + 3).GetMetadata()
    dim = "band" if bands == 128 else "band_d%d" % bands
    assert (last["DIM_time_VALUE"], last["DIM_%s_INDEX" % dim], last.get("DIM_%s_VALUE" % dim)) == ("2024", "2", "2" if bands == 128 else None)
    np.testing.assert_array_equal(open_array(published / "tessera.zarr", "/%s/%s" % (zone, name), 1, 2).ReadAsArray(), values[1, 2])


@pytest.mark.parametrize("zone", ZONES)
def test_tessera_scales_distinguish_water_from_unwritten_pixels(published, zone):
    code, west, north = ZONES[zone]
    values = np.load(published / (zone + "_scales.npy"))
    dataset = open_array(published / "tessera.zarr", "/%s/scales" % zone)
    assert_pixels(dataset, as_raster(values, "float32"))
    assert dataset.GetRasterBand(1).GetNoDataValue() == np.inf
    assert geotransform(dataset) == (west, 10, 0, north, 0, -10) and same_crs(dataset, code)
    assert dataset.GetRasterBand(2).GetMaskBand().ReadAsArray(60, 60, 8, 8)[:4, :4].max() == 0
    assert dataset.GetRasterBand(2).GetMaskBand().ReadAsArray(66, 66, 8, 8).min() == 255


def test_glw4_opens_with_a_band_for_each_species(published):
    values = np.load(published / "glw4.npy")
    dataset = open_ours(str(published / "glw4.zarr"))
    assert_pixels(dataset, values)
    assert geotransform(dataset) == (-180, 1, 0, 90, 0, -1) and same_crs(dataset, "EPSG:4326")
    assert np.isnan(dataset.GetRasterBand(1).GetNoDataValue())
    for number, species in enumerate(["buffalo", "cattle", "goat", "pig", "sheep"], 1):
        assert species in dataset.GetRasterBand(number).GetDescription()
    assert dataset.GetRasterBand(1).GetBlockSize() == [90, 90]


# --------------------------------------------------------------------------------------------------------------- others

def test_levels_of_ndpyramid_are_groups_and_overviews(tmp_path):
    rng = np.random.default_rng(5)
    levels = [rng.random((3, 32 >> k, 64 >> k)).astype("float32") for k in range(3)]
    oracle.write(tmp_path, group_meta({"multiscales": [{"datasets": [
        {"path": "0", "pixels_per_tile": 16, "crs": "EPSG:3857"}, {"path": "1"}, {"path": "2"}], "type": "reduce", "metadata": {}}]}))
    for k, values in enumerate(levels):
        oracle.write(tmp_path / str(k), group_meta())
        oracle.write(tmp_path / str(k) / "climate", array_meta(values.shape, "float32", dimension_names=["month", "y", "x"]), values)
    dataset = open_ours("SHARDEDZARR:" + str(tmp_path)) # the levels are no rasters of their own
    band = dataset.GetRasterBand(2)
    assert (dataset.RasterCount, band.GetOverviewCount()) == (3, 2)
    for k in (1, 2):
        np.testing.assert_array_equal(band.GetOverview(k - 1).ReadAsArray(), levels[k][1])


@pytest.mark.parametrize("plain", [True, False])
def test_scale_offset_takes_plain_numbers_as_well_as_fill_values(tmp_path, plain):
    """zarr-extensions #52: numbers of JSON, where the fill value of a float may be a string."""
    scale, offset = (2, 0.5) if plain else ("0x40000000", "0x3f000000")
    stored = np.arange(24, dtype="float32").reshape(4, 6)
    meta = array_meta((4, 6), "float32", (4, 6), [sharding((2, 3), LITTLE)])
    oracle.write(tmp_path, meta, stored)
    meta["codecs"][0]["configuration"]["codecs"].insert(0, codec("scale_offset", scale=scale, offset=offset))
    with open(tmp_path / "zarr.json", "w") as file:
        json.dump(meta, file)
    np.testing.assert_array_equal(read_all(open_ours("SHARDEDZARR:" + str(tmp_path))).reshape(4, 6), stored / 2 + np.float32(0.5))


@pytest.mark.parametrize("change, what", [
    ({"chunk_key_encoding": {"name": "fanout", "configuration": {"max_files": 100}}}, "fanout"),
    ({"chunk_key_encoding": {"name": "suffix", "configuration": {"suffix": ".tiff"}}}, "suffix"),
    ({"codecs": [{"name": "pad"}, {"name": "bytes"}]}, "pad"),
    ({"codecs": [{"name": "concat-parts"}]}, "concat-parts"),
    ({"data_type": {"name": "fixed_size_list", "configuration": {}}}, "fixed_size_list"),
    ({"data_type": {"name": "struct", "configuration": {"fields": []}}}, "struct"),
    ({"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}}, "fixed_length_utf32"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 6]}}}, "chunk_shape"),
])
def test_unsupported_draft_features_are_named_and_hide_no_other_array(tmp_path, change, what):
    oracle.write(tmp_path, group_meta())
    oracle.write(tmp_path / "fine", array_meta((4, 6)), np.zeros((4, 6)))
    oracle.write(tmp_path / "new", {**array_meta((4, 6)), **change})
    assert what in error_of(open_array, tmp_path, "/new")
    assert open_array(tmp_path, "/fine").RasterCount == 1
    whole = open_ours("SHARDEDZARR:" + str(tmp_path)) # codecs are looked at when an array is opened: till then it is listed
    assert list(subdatasets(whole)) == ["/fine", "/new"] if "codecs" in change else whole.RasterCount == 1


@pytest.mark.parametrize("change, what", [
    ({"index_location": "configuration", "predefined_index": []}, "index_location"),
    ({"chunk_shape": [3, 4]}, "chunk_shape"),  # 1.1 would clip the last of a shard of 4 x 6
])
def test_sharding_1_1_features_are_refused_by_name(tmp_path, change, what):
    meta = array_meta((4, 6), shard=(4, 6), codecs=[sharding((2, 3), LITTLE)])
    meta["codecs"][0]["configuration"].update(change)
    oracle.write(tmp_path, meta)
    assert what in error_of(open_ours, "SHARDEDZARR:" + str(tmp_path))
