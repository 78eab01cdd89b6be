"""Icechunk repositories: GDAL's own fixtures, good ones and those that are broken in one way each, and repositories that Icechunk writes."""
import glob
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal

from support import FIXTURES, error_of, fixture_path

ROOT = os.path.join(FIXTURES, "icechunk")
MULTI = np.ones((11, 7), "uint8")
MULTI[1, 2], MULTI[9, 6] = 2, 3
GOOD = {  # {repository: {path of an array: what it holds}}, as GDAL's autotest wrote them
    "empty_repo": {}, "empty_repo_uncompressed_repofile": {}, "minimum": {}, "multi_chunks": {"my_array": MULTI},
    "path_sorting": {"a-b": np.array([2], "uint8"), "a/b": np.array([1], "uint8")}, "physical_chunks": {"my_array": np.array([1, 2, 3, 4], "uint8")},
    "regular_array_v1": {"my_array": np.ones((2, 3), "int32")}, "scalar_array": {"my_array": np.int32(1)}, "scalar_array_v1": {"my_array": np.int32(1)},
    "sparse": {"my_array": np.array([10, 20, 123, 123, 50, 60], "uint8")}, "tag_selection": {"my_array": np.arange(30, 34, dtype="int32")},
    "test_icechunk_clunky_scalar_array": {"my_array": np.uint8(0)}}
VIRTUAL = {"missing_virtual_ref", "virtual_ref_compressed", "virtual_ref_uncompressed"}  # of buckets on a network
BROKEN = sorted(name for name in map(os.path.basename, glob.glob(ROOT + "/*"))
                if name not in GOOD and name not in VIRTUAL and "last_modified" not in name)


def open_mdim(name, **options):
    dataset = gdal.OpenEx(str(name), gdal.OF_MULTIDIM_RASTER, **options)
    assert dataset.GetDriver().ShortName == "ShardedZarr"
    return dataset


def read_all(dataset):
    """{path: values} of all arrays."""
    def below(group, path):
        found = {path + name: group.OpenMDArray(name).ReadAsArray() for name in group.GetMDArrayNames() or []}
        for name in group.GetGroupNames() or []:
            found.update(below(group.OpenGroup(name), path + name + "/"))
        return found
    return below(dataset.GetRootGroup(), "")


def checked_all(name):
    """The same in raster mode's way of failing: Python's bindings of old GDAL give an array of anything where a read failed."""
    gdal.ErrorReset()
    found = read_all(open_mdim(name))
    if gdal.GetLastErrorType() == gdal.CE_Failure:
        raise RuntimeError(gdal.GetLastErrorMsg())
    return found


def same(found, expected):
    assert set(found) == set(expected)
    for path, values in expected.items():
        assert found[path].dtype == values.dtype and np.array_equal(found[path], values), path


@pytest.mark.parametrize("name", sorted(GOOD))
def test_good_repositories_read_as_they_were_written(name):
    same(checked_all(fixture_path("icechunk", name)), GOOD[name])


def test_a_repository_is_opened_by_the_object_at_its_root_too():
    same(checked_all(fixture_path("icechunk", "sparse") + "/repo"), GOOD["sparse"])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_repositories_are_errors_that_name_the_object(name):
    message = error_of(checked_all, fixture_path("icechunk", name))
    assert name in message
    if "_manifest_" in name and "snapshot" not in name:
        assert "/manifests/" in message or "/my_array/c/0" in message
    elif "_snapshot_" in name and "repo_" not in name:
        assert "/snapshots/" in message


def test_nothing_is_put_into_a_repository(tmp_path):
    source = fixture_path("icechunk", "regular_array_v1")
    copy = str(tmp_path / "r")
    shutil.copytree(source, copy)
    before = sorted(glob.glob(copy + "/**", recursive=True))
    message = error_of(gdal.OpenEx, copy, gdal.OF_UPDATE)
    assert "only read" in message and "gdalmdimtranslate" in message
    dataset = gdal.Open(copy)
    assert dataset.GetRasterBand(1).ComputeStatistics(False)[0] == 1
    dataset = None
    assert sorted(glob.glob(copy + "/**", recursive=True)) == before
