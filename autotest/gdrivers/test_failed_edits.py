"""Edits that fail: what was there stays, and the next edit is whole."""
import json
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
from support import assert_same, error_of, open_array, read_all
from writing import UTM, check_consolidated, copy, document, driver, source

PATH = "/vsis3/bucket/a.zarr"
PIXELS = np.random.default_rng(1).integers(0, 256, (2, 200, 180)).astype("uint8")


def made(path, consolidated="YES"):
    """A store of one array."""
    options = ["ARRAY_NAME=v", "CHUNK_SHAPE=64", "SHARD_SHAPE=128", "OVERVIEWS=NONE", "CREATE_CONSOLIDATED_METADATA=" + consolidated]
    driver().CreateCopy(str(path), source(PIXELS, UTM, "EPSG:32633"), options=options).FlushCache()


def update(path=PATH):
    gdal.VSICurlClearCache()
    return gdal.OpenEx('SHARDEDZARR:"%s":/v' % path, gdal.OF_RASTER | gdal.OF_UPDATE)


def build(path=PATH, factors=(2, 4)):
    """gdaladdo; what it fails with, or None."""
    try:
        dataset = update(path)
        dataset.BuildOverviews("AVERAGE", list(factors))
        dataset = None
    except RuntimeError as error:
        return str(error)
    return None


def levels(path=PATH):
    gdal.VSICurlClearCache()
    dataset = open_array(path, "/v")
    bands = [dataset.GetRasterBand(number + 1) for number in range(dataset.RasterCount)]
    return [np.stack([band.GetOverview(i).ReadAsArray() for band in bands]) for i in range(bands[0].GetOverviewCount())]


class Nth:
    """The nth request of a kind fails alone, with a status."""

    def __init__(self, s3, nth, kinds, status=503):
        self.seen, self.nth, self.kinds, self.status = [], nth, kinds, status
        s3.fault = self.fault
        gdal.VSICurlClearCache()

    def fault(self, method, key, query):
        if method in self.kinds:
            self.seen.append((method, key))
            if len(self.seen) == self.nth + 1:
                return self.status
        return None


def assert_whole(s3, tmp_path, expected, consolidated):
    """The pixels are those of an undisturbed store, each level is found, and what is consolidated is what there is."""
    found = levels()
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert_same(one, other)
    shutil.rmtree(tmp_path / "s3", ignore_errors=True)
    oracle.put(tmp_path / "s3", {key[len("bucket/"):]: data for key, data in s3.objects.items()})
    if consolidated == "YES":
        check_consolidated(tmp_path / "s3" / "a.zarr")


@pytest.mark.parametrize("kinds", [("PUT",), ("GET", "HEAD"), ("DELETE", "POST")], ids=["PUT", "GET", "DELETE"])
@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_after_a_failed_request_the_next_gdaladdo_makes_whole_overviews(s3, tmp_path, consolidated, kinds):
    made(PATH, consolidated)
    before = dict(s3.objects)
    assert build() is None
    expected, failed = levels(), 0
    for nth in range(200):
        s3.objects = dict(before)
        fault = Nth(s3, nth, kinds)
        told = build()
        if len(fault.seen) <= nth:
            break
        failed += told is not None
        s3.fault = lambda *request: None
        assert build() is None, (fault.seen[nth], told)
        assert_whole(s3, tmp_path, expected, consolidated)
    assert failed > 3 or kinds[0] == "DELETE"
