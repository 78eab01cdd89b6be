"""Edits that fail: what was there stays, and the next edit is whole."""
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
from support import STEP, assert_same, error_of, levels_of, open_array, read_all
from writing import UTM, check_consolidated, driver, files_of, source

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
        update(path).BuildOverviews("AVERAGE", list(factors))
    except RuntimeError as error:
        return str(error)
    return None


def levels(path=PATH):
    gdal.VSICurlClearCache()
    return levels_of(open_array(path, "/v"))[1:]


class Nth:
    """The nth request of a kind fails with 503, alone or with all later ones."""

    def __init__(self, s3, nth, kinds, and_later=False):
        self.seen, self.nth, self.kinds, self.and_later = [], nth, kinds, and_later
        s3.fault = self.fault
        gdal.VSICurlClearCache()

    def fault(self, method, key, query):
        if method in self.kinds:
            self.seen.append((method, key))
            if len(self.seen) == self.nth + 1 or (self.and_later and len(self.seen) > self.nth):
                return 503
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


@pytest.mark.parametrize("consolidated, kinds, and_later", [
    ("YES", ("PUT",), False), ("YES", ("PUT",), True), ("NO", ("PUT",), True), ("YES", ("GET", "HEAD"), False), ("NO", ("DELETE", "POST"), False)],
    ids=["PUT", "all later PUT", "all later PUT, not consolidated", "GET", "DELETE"])
def test_after_a_failed_request_the_next_gdaladdo_makes_whole_overviews(s3, tmp_path, consolidated, kinds, and_later):
    made(PATH, consolidated)
    before = dict(s3.objects)
    assert build() is None
    expected, failed = levels(), 0
    for nth in range(0, 200, STEP):
        s3.objects = dict(before)
        fault = Nth(s3, nth, kinds, and_later)
        told = build()
        if len(fault.seen) <= nth:
            break
        failed += told is not None
        s3.fault = lambda *request: None
        assert build() is None, (fault.seen[nth], told)
        assert_whole(s3, tmp_path, expected, consolidated)
    is_lone_put = kinds == ("PUT",) and not and_later  # which is sent again
    assert failed == 0 if is_lone_put else failed > 3 or kinds[0] == "DELETE"


@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_chunks_of_a_gdaladdo_that_failed_do_not_show_in_the_next(s3, consolidated):
    """Which stores none where the pixels are by now the fill value."""
    made(PATH, consolidated)
    before = dict(s3.objects)
    for nth in range(0, 40, 3):
        s3.objects = dict(before)
        fault = Nth(s3, nth, ("PUT",), and_later=True)
        told = build()
        if len(fault.seen) <= nth:
            break
        assert told
        s3.fault = lambda *request: None
        dataset = update()
        for band in (1, 2):
            dataset.GetRasterBand(band).Fill(0)
        dataset = None
        assert build() is None
        found = levels()
        assert len(found) == 2 and not any(level.any() for level in found)


# -------------------------------------------------------------------------------------------------- pages for listings

PAGES = {"HTML": b"<html><body><p>Log in</p></body></html>", "broken HTML": b"<!DOCTYPE html><html><br><p>Log in</html>", "text": b"Log in", "nothing": b""}


def replace(value, name):
    raster = gdal.GetDriverByName("MEM").Create("", 8, 8)
    raster.GetRasterBand(1).Fill(value)
    driver().CreateCopy(PATH, raster, options=["OVERWRITE=YES", "ARRAY_NAME=" + name]).FlushCache()


def is_listing(method, query):
    return method == "GET" and ("prefix" in query or "delimiter" in query)


@pytest.mark.parametrize("page", PAGES)
def test_html_answer_to_a_listing_is_an_error_and_no_empty_store(s3, page):
    """A proxy's, with status 200, once: a replacement is the old or the new store, and says so."""
    replace(2, "a")
    before = dict(s3.objects)
    replace(1, "v")
    after, told = dict(s3.objects), []
    for nth in range(100):
        s3.objects, seen = dict(before), []

        def fault(method, key, query):
            if is_listing(method, query):
                seen.append(query.get("prefix"))
                return PAGES[page] if len(seen) == nth + 1 else None
        s3.fault = fault
        gdal.VSICurlClearCache()
        try:
            replace(1, "v")
            told.append(None)
        except RuntimeError as error:
            told.append(str(error))
        if len(seen) <= nth:
            break
        assert s3.objects == (after if told[-1] is None else before), (nth, seen[nth], told[-1])
    assert len(told) > 10


def test_a_folder_that_is_an_object_is_an_empty_group(s3):
    s3.objects.update({"bucket/a.zarr/zarr.json": b'{"zarr_format": 3, "node_type": "group", "attributes": {}}', "bucket/a.zarr/folder/": b""})
    group = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    assert not group.GetMDArrayNames()
    s3.fault = lambda method, key, query: PAGES["HTML"] if is_listing(method, query) and query.get("prefix") else None
    gdal.VSICurlClearCache()
    assert "cannot be listed" in error_of(lambda: gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_MULTIDIM_RASTER).GetRootGroup().GetMDArrayNames())


# ------------------------------------------------------------------------------------------------------ temporary files

def test_upload_leaves_no_temporary_file_on_the_disk_when_killed(s3, tmp_path, config):
    config("CPL_TMPDIR", str(tmp_path))
    made(PATH)
    assert_same(read_all(open_array(PATH, "/v")), PIXELS)
    assert not os.listdir(tmp_path)


# -------------------------------------------------------------------------------------------------------------- removing

def outcome(action):
    try:
        return None if action() in (None, True, 0) else "failed"
    except RuntimeError as error:
        return str(error)


def deleted():
    gdal.VSICurlClearCache()
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
    return dataset.GetRootGroup().DeleteMDArray("v")


@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_a_node_whose_document_is_damaged_is_not_renamed(tmp_path, consolidated):
    if not hasattr(gdal.MDArray, "Rename"):
        pytest.skip("this GDAL renames no arrays")
    path = tmp_path / "a.zarr"
    made(path, consolidated)
    (path / "v" / "zarr.json").write_bytes(b'{"zarr_format": 3, ')
    before = {name: (path / name).read_bytes() for name in files_of(path)}

    def rename():
        dataset = gdal.OpenEx(str(path), gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
        return dataset.GetRootGroup().OpenMDArray("v").Rename("w")
    assert "zarr.json" in error_of(rename)
    assert {name: (path / name).read_bytes() for name in files_of(path)} == before


def seen_by_others():
    """Levels of the array, None where there is none, and the arrays that its group shows."""
    try:
        return len(levels())
    except RuntimeError:
        return None


@pytest.mark.parametrize("refused", [("PUT",), ("DELETE", "POST"), ("LIST",)], ids=["PUT", "DELETE", "LIST"])
@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_failed_deletion_keeps_the_array_with_its_overviews_or_removes_both(s3, consolidated, refused):
    if not hasattr(gdal.Group, "DeleteMDArray"):
        pytest.skip("this GDAL deletes no arrays")
    made(PATH, consolidated)
    assert build() is None
    before, told = dict(s3.objects), []
    for nth in range(0, 100, STEP):
        s3.objects, seen = dict(before), []

        def fault(method, key, query):
            if ("LIST" if is_listing(method, query) else method) in refused:
                seen.append(key)
                return 403 if len(seen) > nth else None
        s3.fault = fault
        told.append(outcome(deleted))
        s3.fault = lambda *request: None
        if len(seen) <= nth:
            break
        # Of what could not be removed the journal tells the next writer; an empty journal that stays is no failure. Documents that
        # are not consolidated go one after the other.
        assert refused[0] == "DELETE" or told[-1] and seen_by_others() in ((2, None) if consolidated == "YES" else (2, 0, None)), (nth, seen)
        if nth == 0:
            assert seen_by_others() == 2 or refused[0] == "DELETE" or (refused[0] == "PUT" and consolidated == "NO")
        if seen_by_others() is not None:  # what the journal tells is done by the next writer
            assert outcome(deleted) is None and not [key for key in s3.objects if "/v/" in key], (nth, seen)
    assert told[0] and told[-1] is None and seen_by_others() is None and not [key for key in s3.objects if "/c/" in key and "/v/" in key]
