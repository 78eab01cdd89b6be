"""Failures of servers: what is refused, broken, or cannot be told is an error, and never an absent object."""
import json
import os
import re
import urllib.parse

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import CRC32C, LITTLE, array_meta, counting, group_meta, sharding
import support
from support import assert_pixels, as_raster, error_of, held_band, read_all, warnings_of
import webserver

SHAPE, SHARD, CHUNK = (64, 64), (32, 32), (8, 8)
VALUES = counting(SHAPE) + 1
EXPECTED = as_raster(VALUES, "uint16")


def write_store(path, shape=SHAPE, shard=SHARD, chunk=CHUNK, values=VALUES):
    oracle.write(path, array_meta(shape, "uint16", shard, [sharding(chunk)]), values)


def write_large(path):
    values = np.random.default_rng(1).integers(0, 60000, (1024, 1024), "uint16")
    write_store(path, values.shape, values.shape, (256, 256), values)
    return values


def open_array(path):
    return support.open_array(path, options=["MERGE_GAP=0"])


def by_option(server, path):
    """The name that is read through GDAL's own files."""
    return "/vsicurl?use_head=no&url=" + urllib.parse.quote("http://%s/%s" % (server.host, path), safe="")


@pytest.mark.parametrize("name", [by_option, lambda server, path: server.vsi(path)], ids=["by GDAL's files", "plain"])
def test_a_server_on_a_port_with_404_that_dies_gives_an_error_and_no_zeros(tmp_path, config, name):
    write_store(tmp_path / "s.zarr")
    gdal.VSICurlClearCache()
    with webserver.RangeServer(tmp_path, range(40400, 40500)) as server:
        assert ":404" in server.host
        dataset = open_array(name(server, "s.zarr"))
        server.die()
        assert "s.zarr/c/" in error_of(read_all, dataset)


@pytest.mark.parametrize("status", [404, 503])
def test_the_body_of_a_refusal_is_no_chunk_where_a_kept_connection_was_reset(tmp_path, server, status):
    """curl then asks again by itself, and GDAL's client does not tell the status of that answer."""
    oracle.write(tmp_path / "s.zarr", array_meta((2, 8), "uint8", (1, 8), [LITTLE]), counting((2, 8)) + 1)
    server.faults["s.zarr/c/1/0"] = ["idle", (status, "<Error/>"), (status, "<Error/>")]
    dataset = open_array(server.vsi("s.zarr"))
    assert dataset.ReadAsArray(0, 0, 8, 1).tolist() == [list(range(1, 9))]  # leaves a connection
    if status == 404:
        assert dataset.ReadAsArray(0, 1, 8, 1).tolist() == [[0] * 8]
    else:
        assert "s.zarr/c/1/0" in error_of(dataset.ReadAsArray, 0, 1, 8, 1)
    assert len(server.faults["s.zarr/c/1/0"]) < 2


@pytest.mark.parametrize("status", [400, 401, 403, 500, 503])
def test_through_gdals_files_only_a_404_is_absent(tmp_path, server, status):
    write_store(tmp_path / "s.zarr")
    server.faults["s.zarr/c/1/0"] = status
    assert "s.zarr/c/1/0" in error_of(read_all, open_array(by_option(server, "s.zarr")))
    gdal.VSICurlClearCache()
    server.faults["s.zarr/c/1/0"] = 404
    expected = EXPECTED.copy()
    expected[:, 32:, :32] = 0
    assert_pixels(open_array(by_option(server, "s.zarr")), expected, windows=1)


# --------------------------------------------------------------------------------------------------- URLs and ranges

@pytest.mark.parametrize("name", [by_option, lambda server, path: server.vsi(path)], ids=["by GDAL's files", "plain"])
def test_the_query_of_a_root_stays_behind_every_key(tmp_path, server, name):
    write_store(tmp_path / "s.zarr")
    dataset = open_array(name(server, "s.zarr?token=abc"))
    assert_pixels(dataset, EXPECTED, windows=1)
    assert {r.query for r in server.requests("zarr.json|/c/")} == {"token=abc"}


def test_without_ranges_a_shard_is_an_error_that_says_so(tmp_path, server):
    write_large(tmp_path / "s.zarr")
    server.ranges = "none"
    message = error_of(open_array(server.vsi("s.zarr")).ReadAsArray, 300, 300, 9, 9)
    assert "s.zarr/c/0/0" in message and "Content-Range: none: the server knows no byte ranges" in message, message


@pytest.mark.parametrize("ranges", [(0, -7), (1, 0), (-1, -1)], ids=["short", "late", "shifted"])
def test_another_range_than_was_asked_for_is_an_error_and_no_pixels(tmp_path, server, ranges):
    """206, and Content-Range says so. The dataset reads on when the server is well again."""
    values = write_large(tmp_path / "s.zarr")
    dataset = open_array(server.vsi("s.zarr"))
    server.ranges = ranges
    assert "with Content-Range: bytes" in error_of(dataset.ReadAsArray, 300, 300, 9, 9)
    server.ranges = "all"
    np.testing.assert_array_equal(dataset.ReadAsArray(), values)


class _Redirector(webserver.Handler):
    """Sends everything elsewhere, with headers that are of the redirection alone."""
    def do_GET(self):
        owner = self.server.owner
        owner.count += 1
        self.answer(302, {"ETag": '"redirection-%d"' % owner.count, "Last-Modified": "Mon, 01 Jan 2024 00:00:0%d GMT" % (owner.count % 10),
                          "Location": "http://%s%s" % (owner.target, self.path)}, b"elsewhere")

    do_HEAD = do_GET


class Redirector(webserver.Server):
    def __init__(self, target):
        self.target, self.count = target, 0
        super().__init__(_Redirector)


def test_ranges_are_read_behind_a_redirection(tmp_path, server):
    values = write_large(tmp_path / "s.zarr")
    with Redirector(server.host) as front:
        dataset = open_array("/vsicurl/http://%s/s.zarr" % front.host)
        np.testing.assert_array_equal(dataset.ReadAsArray(300, 300, 9, 9), values[300:309, 300:309])
        assert any("If-Match" in dict(r.headers) for r in server.requests("/c/")), "the ETag of the answer is known"
        assert not any("redirection" in dict(r.headers).get("If-Match", "") for r in server.log)


# ----------------------------------------------------------------------------------------------------------- listings

BUCKET = "/vsis3/bucket/g.zarr"


def put_group(s3, names):
    """A group of arrays without consolidated metadata."""
    s3.objects["bucket/g.zarr/zarr.json"] = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'
    document = json.dumps(array_meta((4, 4), "uint16", (4, 4), [LITTLE])).encode()
    for name in names:
        s3.objects["bucket/g.zarr/%s/zarr.json" % name] = document


def group(path, update=False):
    return gdal.OpenEx('SHARDEDZARR:"%s"' % path, gdal.OF_MULTIDIM_RASTER | (gdal.OF_UPDATE if update else 0)).GetRootGroup()


def is_listing(query):
    return "prefix" in query or "delimiter" in query


@pytest.mark.parametrize("status", [403, 503])
@pytest.mark.parametrize("prefix", ["", "g.zarr/", "g.zarr/sub/"])
def test_a_listing_that_is_refused_is_an_error_and_not_an_empty_group(s3, prefix, status):
    put_nested(s3)
    fail_below(s3, prefix, status)
    assert "cannot be listed" in error_of(lambda: group(BUCKET).OpenGroup("sub").GetMDArrayNames())
    fail_below(s3, "nothing", status)
    assert group(BUCKET).OpenGroup("sub").GetMDArrayNames() == ["b"]


@pytest.mark.parametrize("times, retries", [(99, 2), (1, 0)])
def test_a_listing_that_fails_is_an_error_after_as_many_requests_as_the_options_say(s3, config, times, retries):
    put_group(s3, ["a", "b"])
    config("GDAL_HTTP_MAX_RETRY", str(retries))
    config("GDAL_HTTP_RETRY_DELAY", "0.01")
    refused = []

    def fault(method, key, query):
        if is_listing(query) and len(refused) < times:
            refused.append(query)
            return 503
    opened = group(BUCKET)
    s3.fault = fault
    assert "cannot be listed" in error_of(opened.GetMDArrayNames) and len(refused) <= 2 * (retries + 1)


def test_a_listing_whose_second_page_fails_is_an_error(s3, config):
    names = ["a%03d" % i for i in range(150)]
    put_group(s3, names)
    config("AWS_MAX_KEYS", "100")
    assert sorted(group(BUCKET).GetMDArrayNames()) == names
    gdal.VSICurlClearCache()
    s3.fault = lambda method, key, query: 503 if "marker" in query or "continuation-token" in query else None
    assert "cannot be listed" in error_of(lambda: group(BUCKET).GetMDArrayNames())


def make_array(name):
    root = group(BUCKET, update=True)
    dimension = root.CreateDimension(name + "_x", None, None, 4)
    array = root.CreateMDArray(name, [dimension], gdal.ExtendedDataType.Create(gdal.GDT_UInt16))
    assert array.Write(np.arange(4, dtype="uint16")) == gdal.CE_None
    del array, root


def fail_below(s3, prefix, status):
    s3.fault = lambda method, key, query: status if is_listing(query) and query.get("prefix", "").startswith(prefix) else None
    gdal.VSICurlClearCache()


def put_nested(s3, names=("a", "sub/b")):
    put_group(s3, names)
    s3.objects["bucket/g.zarr/sub/zarr.json"] = s3.objects["bucket/g.zarr/zarr.json"]
    for name in names:
        s3.objects["bucket/g.zarr/%s/c/0/0" % name] = bytes(32)
    return dict(s3.objects)


def append_array(name):
    gdal.GetDriverByName("ShardedZarr").Create(BUCKET, 8, 8, 1, options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=" + name]).FlushCache()


@pytest.mark.parametrize("status", [403, 503])
@pytest.mark.parametrize("make, leftover", [(make_array, "new/c/7"), (append_array, "new/new/c/0/0")])
def test_no_array_is_made_where_listing_its_chunks_alone_fails(s3, make, leftover, status):
    put_group(s3, ["a"])
    s3.objects["bucket/g.zarr/" + leftover] = b"leftover"
    before = dict(s3.objects)
    fail_below(s3, "g.zarr/new/", status)
    assert "cannot be listed" in error_of(make, "new")
    assert s3.objects == before
    fail_below(s3, "nothing", status)
    make("new")
    assert s3.objects.get("bucket/g.zarr/" + leftover) != b"leftover" and s3.objects != before


# ----------------------------------------------------------------------------------------------------------- removing

def put_chunks(s3, array, n):
    for i in range(n):
        s3.objects["bucket/g.zarr/%s/c/%d/%d" % (array, i // 1000, i % 1000)] = b"x"


def test_a_store_of_many_objects_is_removed_with_documents_first(s3):
    put_group(s3, ["a"])
    put_chunks(s3, "a", 2500)
    gdal.GetDriverByName("ShardedZarr").Delete(BUCKET)
    assert not s3.objects
    documents = [i for i, key in enumerate(s3.removed) if key.endswith("zarr.json")]
    chunks = [i for i, key in enumerate(s3.removed) if "/c/" in key]
    assert max(documents) < min(chunks) and s3.removed[0] == "bucket/g.zarr/zarr.json"


@pytest.mark.parametrize("status", [403, 503])
def test_a_store_of_which_a_part_cannot_be_listed_is_not_deleted(s3, status):
    before = put_nested(s3, ["sub/b"])
    for prefix in ["g.zarr/", "g.zarr/sub/", "g.zarr/sub/b/", "g.zarr/sub/b/c/0/"]:
        fail_below(s3, prefix, status)
        assert "sub/b and" not in error_of(gdal.GetDriverByName("ShardedZarr").Delete, BUCKET)
        assert s3.objects == before


def replace(value, name):
    source = gdal.GetDriverByName("MEM").Create("", 8, 8)
    source.GetRasterBand(1).Fill(value)
    gdal.GetDriverByName("ShardedZarr").CreateCopy(BUCKET, source, options=["OVERWRITE=YES", "ARRAY_NAME=" + name]).FlushCache()


def put_arrays(s3):
    replace(2, "a")
    append_array("b")
    return dict(s3.objects)


def test_a_replacement_with_a_listing_that_fails_is_the_old_or_the_new_store_and_says_so(s3):
    before = put_arrays(s3)
    replace(1, "v")
    after = dict(s3.objects)
    assert "bucket/g.zarr/v/c/0/0" in after and not [key for key in after if "/a/" in key or "/b/" in key]
    for nth in range(1000):
        s3.objects = dict(before)
        listings = []

        def fault(method, key, query):
            if method == "GET" and is_listing(query):
                listings.append(query.get("prefix"))
                return 503 if len(listings) == nth + 1 else None
        s3.fault = fault
        gdal.VSICurlClearCache()
        try:
            replace(1, "v")
            assert s3.objects == after
        except RuntimeError:
            assert s3.objects == before
        if len(listings) <= nth:  # there are no more, and none failed
            break
    assert nth


@pytest.mark.parametrize("failing", ["v/c/0/0", "v/zarr.json", "zarr.json"])
def test_unpublished_replacement_stays_complete_at_the_path_in_the_error(s3, failing):
    before = put_arrays(s3)
    s3.fault = lambda method, key, query: 500 if method == "PUT" and key == "bucket/g.zarr/" + failing else None
    message = error_of(replace, 1, "v")
    hidden = re.search(r"what is complete is at (/vsis3/bucket/[^\s,;]*)", message).group(1)
    s3.fault = lambda *request: None
    gdal.VSICurlClearCache()
    assert (gdal.Open(hidden).ReadAsArray() == 1).all() and "bucket/g.zarr/zarr.json" not in s3.objects
    assert len(before) > 0 and error_of(gdal.Open, BUCKET)
    replace(3, "v")
    assert (gdal.Open(BUCKET).ReadAsArray() == 3).all()


# ------------------------------------------------------------------------------------------------------------- secrets

@pytest.mark.parametrize("form", ["/vsicurl/http://user:hidden@%s/s.zarr?X-Amz-Signature=topsecret",
                                  "/vsicurl?header.Authorization=hidden&use_head=no&url=http%%3A%%2F%%2Fuser%%3Ahidden%%40%s%%2Fs.zarr%%3Fsig%%3Dtopsecret",
                                  "/vsicurl_streaming/http://user:hidden@%s/s.zarr?X-Amz-Signature=topsecret",
                                  "/vsizip/{/vsicurl/http://user:hidden@%s/s.zip?sig=topsecret}/s.zarr"])
def test_messages_hide_credentials(tmp_path, server, form):
    write_store(tmp_path / "s.zarr")
    server.faults.update({"s.zarr/c/0/1": 403, "s.zip": 403})
    name = form % server.host
    messages = []
    gdal.PushErrorHandler(lambda level, number, message: messages.append(message))
    try:
        for action in (lambda: read_all(open_array(name)), lambda: gdal.GetDriverByName("ShardedZarr").Delete(name),
                       lambda: gdal.GetDriverByName("ShardedZarr").Create(name, 8, 8), lambda: group(name).GetMDArrayNames(),
                       lambda: open_array(name).BuildOverviews("NEAREST", [2])):
            try:
                action()
            except RuntimeError as error:
                messages.append(str(error))
            except AttributeError:
                pass  # nothing was opened
    finally:
        gdal.PopErrorHandler()
    ours = [message for message in messages if not message.startswith("/vsi")] or messages
    assert any("s.z" in message for message in ours)
    assert not [message for message in messages if "hidden" in message or "topsecret" in message]


# --------------------------------------------------------------------------------------------- coordinates

def write_with_coordinates(path, codecs=(LITTLE, CRC32C)):
    """One raster of three bands with coordinates of all its dimensions."""
    oracle.write(path, group_meta())
    oracle.write("%s/data" % path, array_meta((3, 4, 6), dimension_names=["time", "y", "x"]), counting((3, 4, 6)))
    for name, values in (("time", [3, 5, 9]), ("y", [3, 2, 1, 0]), ("x", range(6))):
        meta = array_meta([len(values)], "float64", [len(values)], list(codecs), dimension_names=[name])
        oracle.write("%s/%s" % (path, name), meta, np.array(values, "float64"))
    return str(path)


def break_object(path, way):
    with open(path, "rb") as file:
        there = file.read()
    broken = {"html": b"<html></html>", "empty": b"", "short": there[:len(there) // 2], "changed": b"\x55" + there[1:]}
    with open(path, "wb") as file:
        file.write(broken[way])


@pytest.mark.parametrize("level", ["ovr_2x/zarr.json", "ovr_2x/a/zarr.json"])
@pytest.mark.parametrize("fault", [503, 403, "short"])
def test_overviews_that_cannot_be_asked_for_are_an_error_and_found_later(tmp_path, server, level, fault):
    source = gdal.GetDriverByName("MEM").Create("", 64, 64)
    options = ["ARRAY_NAME=a", "CHUNK_SHAPE=16", "OVERVIEWS=2,4", "CREATE_CONSOLIDATED_METADATA=NO"]
    assert gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / "s.zarr"), source, options=options)
    server.faults["s.zarr/" + level] = fault
    band = held_band(gdal.Open("SHARDEDZARR:%s:/a" % server.vsi("s.zarr")))
    assert level in error_of(band.GetOverviewCount)
    server.faults.clear()
    assert band.GetOverviewCount() == 2


BROKEN = [(name, way) for name in ("x/c/0", "time/c/0", "x/zarr.json", "y/zarr.json", "time/zarr.json")
          for way in ("html", "empty", "short", "changed") if way != "changed" or "/c/" in name]


@pytest.mark.parametrize("broken, way", BROKEN)
def test_a_broken_coordinate_is_an_error_that_names_its_object(tmp_path, broken, way):
    path = write_with_coordinates(tmp_path / "s.zarr")
    break_object(os.path.join(path, broken), way)
    dataset, messages = warnings_of(lambda: support.open_array(path, "/data"))
    assert messages == []
    if broken.startswith("time"):
        assert "s.zarr/" + broken in error_of(lambda: held_band(dataset, 2).GetDescription())
        assert dataset.GetGeoTransform() == (-0.5, 1, 0, 3.5, 0, -1)
    else:
        assert "s.zarr/" + broken in error_of(dataset.GetGeoTransform)
        assert warnings_of(lambda: dataset.GetGeoTransform(can_return_null=True)) == (None, [])  # it is said once
    np.testing.assert_array_equal(dataset.ReadAsArray(), counting((3, 4, 6)))


@pytest.mark.parametrize("way", ["html", "empty"])
@pytest.mark.parametrize("broken", ["b", "x", "spatial_ref", "ovr_2x", "ovr_2x/a"])
def test_broken_document_is_never_taken_for_an_absent_node(tmp_path, way, broken):
    """Bands are not renumbered, copies leave nothing out, and what does not need the document is read."""
    path, driver = str(tmp_path / "s.zarr"), gdal.GetDriverByName("ShardedZarr")
    source = gdal.GetDriverByName("MEM").Create("", 64, 64, 3)
    source.SetGeoTransform((1, 1, 0, 1, 0, -1))
    source.SetSpatialRef(osr.SpatialReference('LOCAL_CS["here",UNIT["metre",1]]'))
    for i, name in enumerate("abc"):
        source.GetRasterBand(i + 1).SetDescription(name)
    options = ["SINGLE_ARRAY=NO", "CHUNK_SHAPE=16", "OVERVIEWS=2", "CREATE_CONSOLIDATED_METADATA=NO"]
    assert driver.CreateCopy(path, source, options=options)
    assert gdal.OpenEx("SHARDEDZARR:%s:/" % path).RasterCount == 3
    break_object(os.path.join(path, broken, "zarr.json"), way)
    where = broken + "/zarr.json"
    for name in ("SHARDEDZARR:" + path, "SHARDEDZARR:%s:/" % path):
        assert where in error_of(gdal.OpenEx, name)
    assert where in error_of(lambda: gdal.OpenEx("SHARDEDZARR:" + path, gdal.OF_MULTIDIM_RASTER).GetRootGroup().GetMDArrayNames())
    for strict in (True, False):
        of_arrays = gdal.OpenEx("SHARDEDZARR:" + path, gdal.OF_MULTIDIM_RASTER)
        assert where in error_of(lambda: driver.CreateCopy(str(tmp_path / "copy.zarr"), of_arrays, strict))
        assert not os.path.exists(str(tmp_path / "copy.zarr"))
    if broken == "b":
        assert support.open_array(path, "/a").ReadAsArray().shape == (64, 64)


DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "driver")
BY_TEXT = re.compile(r"\b(?:strstr|strcasestr|strn?cmp|strn?casecmp|EQUALN?|STARTS_WITH(?:_CI)?|sscanf|find)\s*\("
                     r"[^;{]*?(?:ErrorMsg\(\)|\bmessage\b(?! \+)|pszErrBuf|strerror)"
                     r"|\b(?:message|ErrorMsg\(\)\)?)\.r?find\(", re.IGNORECASE)
ONLY_SAID = {"status.c", "validate.c"}  # what is said is cut or left out by its text; nothing else follows from it
THE_STATUS = ["http.c: sscanf(result->pszErrBuf"]  # where GDAL's client has it, and nowhere else


def test_no_decision_is_made_from_the_text_of_a_message():
    found = []
    for folder, _, files in os.walk(DRIVER):
        for name in sorted(set(files) - ONLY_SAID):
            if name.endswith((".c", ".cpp", ".h")):
                with open(os.path.join(folder, name)) as file:
                    text = file.read()
                found += ["%s: %s" % (name, " ".join(match.group().split())) for match in BY_TEXT.finditer(text)]
    assert found == THE_STATUS
