"""Icechunk repositories: GDAL's own fixtures, good ones and those that are broken in one way each, and repositories that Icechunk writes."""
import datetime
import glob
import json
import os
import shutil
import sys

import numpy as np
import pytest
from osgeo import gdal

from support import FIXTURES, error_of, fixture_path, open_ours, run_peer, subdatasets
from webserver import RangeServer

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
HARMLESS = {"test_icechunk_manifest_array_id_non_increasing", "test_icechunk_manifest_inconsistent_chunk_ref_count",
            "repo_tag_referring_invalid_snapshot",  # which nothing asks for
            "test_icechunk_manifest_inconsistent_chunk_ref_checksum_last_modified"}  # which virtual chunks alone have
BROKEN = sorted(name for name in map(os.path.basename, glob.glob(ROOT + "/*")) if name not in {*GOOD, *VIRTUAL, *HARMLESS})


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


@pytest.mark.parametrize("name", BROKEN)
def test_broken_repositories_are_errors_that_name_the_object(name):
    message = error_of(checked_all, fixture_path("icechunk", name))
    assert name in message
    if "_manifest_" in name and "snapshot" not in name and "location" not in name:
        assert "/manifests/" in message or "/my_array/c/0" in message
    elif "_snapshot_" in name and "repo_" not in name:
        assert "/snapshots/" in message or "/zarr.json: not JSON" in message


# ---------------------------------------------------------------------------------- repositories that Icechunk writes

class Written:
    """What peers/icechunk_write.py wrote."""

    def __init__(self, root, version):
        self.root, self.version = root, version
        with open(root / "info.json") as file:
            self.commits = json.load(file)["commits"]

    def repo(self, query=""):
        return str(self.root / "repo.icechunk") + query

    def values(self, commit):
        """{path: values} as Icechunk reads them."""
        names = {"v": "v", "split": "split", "inline": "inline", "scalar": "scalar", "group_deep": "group/deep"}
        files = {path: self.root / ("%s-%d.npy" % (name, commit)) for name, path in names.items()}
        return {path: np.load(file) for path, file in files.items() if file.exists()}


@pytest.fixture(scope="module", params=[1, 2])
def written(request, tmp_path_factory):
    if request.param == 2 and sys.version_info < (3, 12):
        pytest.skip("icechunk 2 takes Python 3.12")  # in Debian 12; CI has newer Debians
    root = tmp_path_factory.mktemp("icechunk%d" % request.param)
    run_peer("icechunk_write.py", root, request.param)
    yield Written(root, request.param)
    shutil.rmtree(root)


def same_as_commit(name, written, commit, **options):
    found = read_all(open_mdim(name, **options))
    expected = written.values(commit)
    assert set(expected) <= set(found) and ("group/deep" in found) == ("group/deep" in expected)
    same({path: found[path] for path in expected}, expected)


def after(commit):
    time = datetime.datetime.fromtimestamp(commit["time"] + 0.5, datetime.timezone.utc)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_the_newest_commit_of_main_is_opened(written):
    same_as_commit(written.repo(), written, 3)


def test_names_of_branches_tags_snapshots_and_times_open_their_commits(written):
    commits = written.commits
    for query, commit in [("?branch=main", 3), ("?branch=dev", 2), ("?tag=first", 0), ("?snapshot=" + commits[1]["id"], 1),
                          ("?as_of=" + after(commits[0]), 0), ("?as_of=" + after(commits[1]), 1), ("?branch=dev&as_of=" + after(commits[2]), 2),
                          ("?as_of=2100-01-01", 3), ("?as_of=2100-01-01T00:00:00+02:00&branch=dev", 2)]:
        same_as_commit(written.repo(query), written, commit)


@pytest.mark.parametrize("time", ["2026-02-29", "2026-04-31T00:00:00Z", "2026-09-01T24:00", "2026-09-01T", "now"])
def test_times_that_do_not_exist_are_errors(written, time):
    assert "expected a time like" in error_of(open_mdim, written.repo("?as_of=" + time))


def test_open_options_choose_the_commit_as_names_do(written):
    commits = written.commits
    for option, commit in [("BRANCH=dev", 2), ("TAG=first", 0), ("SNAPSHOT=" + commits[1]["id"], 1), ("AS_OF=" + after(commits[0]), 0)]:
        same_as_commit(written.repo(), written, commit, open_options=[option])
    assert "as in the name" in error_of(open_mdim, written.repo("?branch=dev"), open_options=["BRANCH=main"])
    listed = subdatasets(gdal.OpenEx(written.repo(), open_options=["TAG=first"]))
    assert listed and all("?tag=first:/" in name for name, _ in listed.values())


def test_names_that_are_not_there_are_errors_that_list_what_there_is(written):
    for query, expected in [("?branch=x", "dev,main"), ("?tag=x", "first"), ("?tag=gone", "first"), ("?snapshot=nope", written.commits[3]["id"]),
                            ("?as_of=2001-01-01", "2001-01-01"), ("?as_of=soon", "2026-09-01T00:00:00Z"), ("?branch=dev&tag=first", "one of branch")]:
        message = error_of(open_mdim, written.repo(query))
        assert (expected if written.version == 2 or expected not in ("dev,main", "first") else "there is no") in message and "gone;" not in message, message


def test_a_plain_store_has_no_history(tmp_path):
    gdal.GetDriverByName("ShardedZarr").Create(str(tmp_path / "s.zarr"), 10, 10, 1)
    for name in ("%s/s.zarr?branch=main", "%s/none.icechunk?tag=x", "SHARDEDZARR:%s/none?as_of=2026-01-01"):
        assert "expected an Icechunk repository" in error_of(gdal.Open, name % tmp_path)
    assert "expected an Icechunk repository" in error_of(gdal.Open, "ICECHUNK:%s/none?foo=bar" % tmp_path)


def test_subdatasets_name_the_commit_and_open_again(written):
    for query in ("", "?tag=first", "?as_of=" + after(written.commits[1])):
        listed = subdatasets(gdal.Open(written.repo(query)))
        name = listed["/v"][0]
        assert name == "SHARDEDZARR:%s:/v" % written.repo(query)
        dataset = open_ours(name)
        assert (dataset.RasterXSize, dataset.RasterYSize, dataset.RasterCount) == (50, 40, 6)
        assert dataset.GetGeoTransform() == (-0.125, 0.25, 0, 50.125, 0, -0.25)
        commit = {"": 3, "?tag=first": 0}.get(query, 1)
        assert np.array_equal(dataset.ReadAsArray(), written.values(commit)["v"])


def test_gdals_own_spelling_of_a_repository_opens(written):
    for name in ("ICECHUNK:%s:/v", 'ICECHUNK:"%s":/v'):
        dataset = open_ours(name % written.repo("?tag=first"))
        assert np.array_equal(dataset.ReadAsArray(), written.values(0)["v"])
    same_as_commit("ICECHUNK:" + written.repo(), written, 3)


def test_an_open_dataset_stays_at_its_commit_and_a_new_one_sees_the_next(written, tmp_path):
    copy = str(tmp_path / "r.icechunk")
    shutil.copytree(written.repo(), copy)
    main = copy + "/refs/branch.main/ref.json"
    dataset = open_mdim(copy)
    if not os.path.exists(main):
        pytest.skip("what changes in version 2 is one object that Icechunk alone writes")
    with open(main, "w") as file:
        json.dump({"snapshot": written.commits[0]["id"]}, file)
    same({path: values for path, values in read_all(dataset).items() if path == "v"}, {"v": written.values(3)["v"]})
    same_as_commit(copy, written, 0)


def test_absent_referenced_object_of_a_repository_is_an_error(written, tmp_path):
    for folder in ("chunks", "manifests", "snapshots"):
        copy = str(tmp_path / folder)
        shutil.copytree(written.repo(), copy)
        shutil.rmtree(copy + "/" + folder)
        message = error_of(checked_all, copy)
        assert "/%s/" % folder in message and "not there" in message


def test_chunks_that_are_cut_short_are_errors(written, tmp_path):
    copy = str(tmp_path / "r")
    shutil.copytree(written.repo(), copy)
    for name in glob.glob(copy + "/chunks/*"):
        os.truncate(name, os.path.getsize(name) - 1)
    assert "/chunks/" in error_of(checked_all, copy)


def test_metadata_domain_names_the_opened_commit(written):
    for query, commit, named in [("", 3, {"BRANCH": "main"}), ("?tag=first", 0, {"TAG": "first"}), ("?snapshot=" + written.commits[1]["id"], 1, {})]:
        for dataset in (gdal.Open(written.repo(query)), gdal.Open("SHARDEDZARR:%s:/v" % written.repo(query)), open_mdim(written.repo(query))):
            items = dataset.GetMetadata("ICECHUNK")
            time = datetime.datetime.strptime(items.pop("TIME"), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc).timestamp()
            assert abs(time - written.commits[commit]["time"]) < 1
            assert items == {"SNAPSHOT": written.commits[commit]["id"], "MESSAGE": written.commits[commit]["message"], **named}


# --------------------------------------------------------------------------------------------------------- over a network

@pytest.fixture
def remote(written, config):
    config("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    gdal.VSICurlClearCache()
    with RangeServer(written.root) as server:  # of another port: of this one the driver remembers nothing
        yield server


def asked(server):
    """The objects that were asked for since the last call, each with its range."""
    found = [(request.path.replace("repo.icechunk/", ""), request.range) for request in server.log]
    server.log.clear()
    return found


def test_a_repository_on_a_plain_server_is_read(written, remote):
    same_as_commit(remote.vsi("repo.icechunk"), written, 3)
    same_as_commit(remote.vsi("repo.icechunk?tag=first"), written, 0)
    assert "no tag" in error_of(gdal.Open, remote.vsi("repo.icechunk?tag=nope"))


def test_the_query_of_a_url_is_its_own_and_an_option_says_the_commit(written, remote):
    same_as_commit(remote.vsi("repo.icechunk") + "?key=a%2Fb", written, 2, open_options=["BRANCH=dev"])
    assert {request.query for request in remote.requests("/(repo|refs|snapshots|manifests|chunks)")} == {"key=a%2Fb"}


def test_only_what_is_needed_is_asked_for(written, remote):
    name = "SHARDEDZARR:%s:/v" % remote.vsi("repo.icechunk")
    dataset = open_ours(name, ["MERGE_GAP=0"])
    found = [("repo", None)] + [("refs/branch.main/ref.json", None)] * os.path.exists(written.repo("/refs"))  # one more of version 1
    assert asked(remote) == found + [("snapshots/" + written.commits[3]["id"], None)]
    assert np.array_equal(dataset.GetRasterBand(2).ReadAsArray(0, 0, 10, 10), written.values(3)["v"][1, :10, :10])
    (manifest, _), (index, index_range), (chunk, chunk_range) = asked(remote)
    assert manifest.startswith("manifests/") and index.startswith("chunks/") and chunk == index and index_range != chunk_range
    assert index_range == "bytes=-%d" % (2 * 2 * 3 * 16 + 4)  # exactly the index
    dataset.GetRasterBand(2).ReadAsArray(10, 0, 10, 10)
    assert len(asked(remote)) == 1  # the index is known, and so is the manifest
    # Again in the process: of what never changes only the chunk is asked for.
    dataset = open_ours(name, ["MERGE_GAP=0"])
    assert asked(remote) == found
    dataset.GetRasterBand(2).ReadAsArray(0, 0, 10, 10)
    assert asked(remote) == [(chunk, chunk_range)]


def test_refused_request_of_a_repository_is_an_error_and_not_fill_value(written, remote):
    dataset = open_ours("SHARDEDZARR:%s:/v" % remote.vsi("repo.icechunk"))
    dataset.GetRasterBand(1).ReadAsArray(0, 0, 10, 10)
    chunks = ["repo.icechunk/chunks/" + os.path.basename(name) for name in glob.glob(written.repo("/chunks/*"))]
    for fault in (403, 404, 500, "short"):
        remote.faults = {chunk: fault for chunk in chunks}
        message = error_of(dataset.GetRasterBand(5).ReadAsArray)
        assert "/chunks/" in message


def test_writing_to_a_repository_is_refused_with_the_tool_to_use(written, tmp_path):
    copy = str(tmp_path / "r.icechunk")
    shutil.copytree(written.repo(), copy)
    before = {name: os.path.getmtime(name) for name in glob.glob(copy + "/**", recursive=True)}
    memory, ours = gdal.GetDriverByName("MEM").Create("", 10, 10), gdal.GetDriverByName("ShardedZarr")
    for attempt in (
            lambda: ours.CreateCopy(copy, memory), lambda: ours.CreateMultiDimensional(copy), lambda: ours.Create(copy, 10, 10),
            lambda: ours.CreateCopy(copy, memory, options=["OVERWRITE=YES"]), lambda: ours.CreateCopy(copy + "?branch=main", memory),
            lambda: ours.CreateCopy(copy, memory, options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=new"]),
            lambda: ours.Delete(copy), lambda: ours.Rename(copy + "2", copy),
            lambda: gdal.OpenEx(copy, gdal.OF_UPDATE), lambda: open_ours_for_update("SHARDEDZARR:%s:/v" % copy)):
        message = error_of(attempt)
        assert "only read" in message and "gdalmdimtranslate" in message, message
    assert {name: os.path.getmtime(name) for name in glob.glob(copy + "/**", recursive=True)} == before


def test_repository_in_a_bucket_is_read_only(written, s3):
    for name in glob.glob(written.repo("/**"), recursive=True):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                s3.objects["bucket/repo.icechunk/" + os.path.relpath(name, written.repo())] = s3.objects["bucket/r/" + os.path.relpath(name, written.repo())] = file.read()
    before, memory, ours = dict(s3.objects), gdal.GetDriverByName("MEM").Create("", 10, 10), gdal.GetDriverByName("ShardedZarr")
    for attempt in (lambda: ours.CreateCopy("/vsis3/bucket/repo.icechunk", memory), lambda: ours.CreateCopy("/vsis3/bucket/r", memory),
                    lambda: ours.Delete("/vsis3/bucket/r"), lambda: ours.CreateMultiDimensional("/vsis3/bucket/r")):
        assert "a Zarr store" in error_of(attempt)
    assert s3.objects == before
    ours.CreateCopy("/vsis3/bucket/new.zarr", memory)
    assert "bucket/new.zarr/zarr.json" in s3.objects


def open_ours_for_update(name):
    return gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE)


# ------------------------------------------------------------------------------------------------------- virtual chunks

@pytest.mark.parametrize("name, url", [("file", "raw.bin"), ("s3", "s3://bucket/")])
def test_a_virtual_chunk_is_an_error_that_names_its_url(written, name, url):
    root = open_mdim(written.root / "virtual.icechunk").GetRootGroup()
    message = error_of(root.OpenMDArray(name).ReadAsArray)
    assert "virtual chunk" in message and url in message
    assert root.OpenMDArray("names").Read() == ["Zürich", "", "Bern"]


def test_a_repository_is_read_from_a_bucket(written, s3):
    for name in glob.glob(str(written.root / "repo.icechunk/**"), recursive=True):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                s3.objects["bucket/" + os.path.relpath(name, written.root)] = file.read()
    same_as_commit("/vsis3/bucket/repo.icechunk", written, 3)
    same_as_commit("/vsis3/bucket/repo.icechunk?as_of=" + after(written.commits[0]), written, 0)
