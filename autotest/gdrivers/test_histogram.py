"""Histograms live in the store: computed in update mode or asked for with STATISTICS=YES, and stale with the first write."""
import os

import numpy as np
import pytest
from osgeo import gdal

from support import error_of, held_band, open_ours, read_all
from writing import copy, created, driver, source

RNG = np.random.default_rng(12)
ARRAYS = {"uint8": RNG.integers(0, 200, (2, 70, 90)).astype("uint8"), "int16": RNG.integers(-3000, 3000, (1, 70, 90)).astype("int16"),
          "float32": RNG.normal(5, 2, (1, 70, 90)).astype("float32")}


def buckets_of(values):
    """As GDAL's default: 256 of which the middle of the first is the least, and that of the last the greatest."""
    if values.dtype == "uint8":
        return np.histogram(values, 256, (-0.5, 255.5))
    low, high = float(values.min()), float(values.max())
    half = (high - low) / 510
    return np.histogram(values.astype("float64"), 256, (low - half, high + half))


def same(histogram, values):
    low, high, buckets, counts = histogram
    wanted, edges = buckets_of(values)
    assert buckets == 256 and (low, high) == pytest.approx((edges[0], edges[-1]), rel=1e-12)
    # A value at an edge falls to either side, as numbers are rounded.
    assert sum(counts) == values.size and np.abs(np.cumsum(counts) - np.cumsum(wanted)).max() <= (0 if values.dtype == "uint8" else 2)


def update(path):
    return gdal.OpenEx(str(path), gdal.OF_RASTER | gdal.OF_UPDATE)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("how", ["asked for", "update", "create"])
def test_histograms_are_in_the_store(tmp_path, array, how):
    path = tmp_path / "a.zarr"
    copy(path, source(array), CHUNK_SHAPE=32, **({"STATISTICS": "YES"} if how == "asked for" else {}))
    if how == "create":
        made = driver().Create(str(path), 90, 70, len(array), gdal.GetDataTypeByName("Byte" if array.dtype == "uint8" else str(array.dtype).capitalize()), ["STATISTICS=YES"])
        made.WriteArray(array if len(array) > 1 else array[0])
        made = None
    if how == "update":
        dataset = update(path)
        for band in range(1, len(array) + 1):
            same(dataset.GetRasterBand(band).GetDefaultHistogram(force=1), array[band - 1])
        band = dataset = None
    assert not os.path.exists(str(path) + "/zarr.json.aux.xml")
    dataset = open_ours(str(path))
    for band in range(1, len(array) + 1):
        same(dataset.GetRasterBand(band).GetDefaultHistogram(force=0), array[band - 1])
    assert not os.path.exists(str(path) + "/zarr.json.aux.xml")


@pytest.mark.parametrize("beside", [False, True])
def test_writing_pixels_makes_histograms_stale(tmp_path, beside, config):
    """Those in a side-car file, too, of which GDAL itself would go on to tell."""
    path = created(tmp_path / "a.zarr", ARRAYS["uint8"], CHUNK_SHAPE=32, STATISTICS="NO" if beside else "YES")
    config("GDAL_PAM_ENABLED", "YES")
    if beside:
        dataset = open_ours(str(path))
        dataset.GetRasterBand(1).GetDefaultHistogram(force=1)
        dataset = None
        assert os.path.exists(str(path) + "/zarr.json.aux.xml")
    dataset = update(path)
    dataset.GetRasterBand(1).WriteArray(np.full((5, 5), 250, "uint8"))
    dataset = None
    dataset = open_ours(str(path))
    values = read_all(dataset)[0]
    assert (values == 250).sum() == 25
    assert dataset.GetRasterBand(1).GetDefaultHistogram(force=0) is None
    assert not [item for item in dataset.GetRasterBand(1).GetMetadata() if item.startswith("STATISTICS_HISTO")]
    same(dataset.GetRasterBand(1).GetDefaultHistogram(force=1), values)
    if not beside:
        same(held_band(open_ours(str(path)), 2).GetDefaultHistogram(force=0), ARRAYS["uint8"][1])  # nobody wrote there


def test_set_histogram_is_stored_and_malformed_ones_are_ignored(tmp_path):
    path = created(tmp_path / "a.zarr", ARRAYS["uint8"], CHUNK_SHAPE=32)
    dataset = update(path)
    dataset.GetRasterBand(1).SetDefaultHistogram(0, 100, [1, 2 ** 40, 3, 4])
    for name, value in (("STATISTICS_HISTOBINVALUES", "1|x|3|"), ("STATISTICS_HISTOMIN", "0"), ("STATISTICS_HISTOMAX", "9")):
        dataset.GetRasterBand(2).SetMetadataItem(name, value)
    dataset = None
    dataset = open_ours(str(path))
    assert list(dataset.GetRasterBand(1).GetDefaultHistogram(force=0)) == [0.0, 100.0, 4, [1, 2 ** 40, 3, 4]]
    same(dataset.GetRasterBand(2).GetDefaultHistogram(force=1), ARRAYS["uint8"][1])


def test_the_names_are_those_of_gdals_driver_for_imagine(tmp_path):
    """A store's histogram and that of an .img file, read by that driver's names, are one."""
    if gdal.GetDriverByName("HFA") is None:
        pytest.skip("no HFA")
    image = gdal.GetDriverByName("HFA").CreateCopy(str(tmp_path / "a.img"), source(ARRAYS["uint8"]), options=["STATISTICS=YES"])
    image = None
    image = gdal.Open(str(tmp_path / "a.img"))
    histogram = image.GetRasterBand(1).GetDefaultHistogram(force=0)
    if histogram is None:
        pytest.skip("this GDAL's HFA writes none")
    driver().CreateCopy(str(tmp_path / "a.zarr"), image, strict=0)  # HFA has an attribute table, too
    ours = held_band(open_ours(str(tmp_path / "a.zarr"))).GetDefaultHistogram(force=0)
    assert ours[2:] == histogram[2:] and ours[:2] == pytest.approx(histogram[:2])


def test_band_without_histogram_buckets_has_statistics_only(tmp_path):
    array = ARRAYS["float32"].copy()
    array[0, 3, 4] = np.inf
    copy(tmp_path / "a.zarr", source(array), STATISTICS="YES")
    band = held_band(open_ours(str(tmp_path / "a.zarr")))
    assert float(band.GetMetadataItem("STATISTICS_MINIMUM")) == pytest.approx(array.min()) and band.GetMetadataItem("STATISTICS_HISTOMIN") is None
    band = held_band(update(tmp_path / "a.zarr"))
    assert "infinite" in error_of(band.GetDefaultHistogram, force=1)
    copy(tmp_path / "b.zarr", source(np.full((1, 4, 5), 7, "int16")), STATISTICS="YES")
    low, high, buckets, counts = held_band(open_ours(str(tmp_path / "b.zarr"))).GetDefaultHistogram(force=0)
    assert low < 7 < high and sum(counts) == max(counts) == 20
    copy(tmp_path / "c.zarr", source(np.full((1, 4, 5), 7 + 1j, "complex64")), STATISTICS="YES")
    assert np.array_equal(read_all(open_ours(str(tmp_path / "c.zarr"))), np.full((1, 4, 5), 7 + 1j))


@pytest.mark.parametrize("part", ["/t:1", "/t:time=1", "/t:time=1..2", "/:time=1"])
def test_writing_a_selection_makes_histograms_of_the_array_stale(tmp_path, part):
    path = str(tmp_path / "a.zarr")
    values = RNG.integers(0, 99, (3, 40, 50)).astype("int16")
    created(path, values, CHUNK_SHAPE=32, STATISTICS="YES", OVERVIEWS="NONE", ARRAY_NAME="t", DIM_NAMES="time,y,x")
    assert "STATISTICS_MAXIMUM" in held_band(open_ours(path), 2).GetMetadata()
    dataset = gdal.OpenEx('SHARDEDZARR:"%s":%s' % (path, part), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.GetRasterBand(1).WriteArray(np.full((3, 3), 5000, "int16"))
    dataset = None
    band = held_band(open_ours(path), 2)
    assert band.ReadAsArray().max() == 5000 and "STATISTICS" not in str(band.GetMetadata()) and band.GetDefaultHistogram(force=0) is None


def test_writing_through_the_multidimensional_api_makes_histograms_stale(tmp_path):
    path = str(tmp_path / "a.zarr")
    created(path, ARRAYS["int16"], CHUNK_SHAPE=32, STATISTICS="YES", OVERVIEWS="NONE", ARRAY_NAME="t")
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
    array = dataset.GetRootGroup().OpenMDArray("t")
    array.Write(np.full((1, 1), 5000, "int16"), [3, 3])
    array = dataset = None
    band = held_band(open_ours(path))
    assert band.ReadAsArray().max() == 5000 and "STATISTICS" not in str(band.GetMetadata()) and band.GetDefaultHistogram(force=0) is None
