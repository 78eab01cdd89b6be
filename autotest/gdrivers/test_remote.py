"""Stores behind HTTP: how many requests a read costs, which servers it copes with, and what it sends and tells."""
import os
import re
import urllib.parse

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import LITTLE, array_meta, counting, sharding
import support
from support import as_raster, assert_pixels, error_of, read_all
from writing import copy, source

SHAPE, SHARD, CHUNK = (64, 64), (32, 32), (8, 8)
VALUES = counting(SHAPE) + 1
EXPECTED = as_raster(VALUES, "uint16")
PARTS = (8, 8, 48, 48)  # a window of nine chunks of each shard
INDEX = 16 * 16 + 4  # bytes of the index of a shard: 16 chunks


def write_store(path, **options):
    oracle.write(path, array_meta(SHAPE, "uint16", SHARD, [sharding(CHUNK, **options)]), VALUES)


def open_array(path, array=None, options=("MERGE_GAP=0",)):
    """By default such that these small shards are read as large ones are: the index, then ranges."""
    return support.open_array(path, array, options=options)


def asked(server, pattern="/c/"):
    """The ranges that were asked for."""
    return [request.range for request in server.requests(pattern)]


# ---------------------------------------------------------------------------------------------------------- round trips

def test_opening_with_the_prefix_is_one_request(tmp_path, server):
    write_store(tmp_path / "s.zarr")
    open_array(server.vsi("s.zarr"))
    assert [(r.method, r.path) for r in server.log] == [("GET", "s.zarr/zarr.json")]


def test_opening_by_plain_name_adds_only_gdals_own_request(tmp_path, server, config):
    config("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    write_store(tmp_path / "s.zarr")
    assert gdal.Open(server.vsi("s.zarr")).GetDriver().ShortName == "ShardedZarr"
    assert [(r.method, r.path) for r in server.log] == [("HEAD", "s.zarr"), ("GET", "s.zarr/zarr.json")]


def write_scene(path):
    """A scene of Sentinel-2 with its overviews, six levels, of no pixels to speak of; returns the size of its metadata."""
    dataset = gdal.GetDriverByName("ShardedZarr").Create(str(path), 10980, 10980, 1, gdal.GDT_UInt16)
    dataset.SetGeoTransform((399960, 10, 0, 5600040, 0, -10))
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(32632)
    dataset.SetSpatialRef(srs)
    dataset = None
    gdal.Open(str(path), gdal.GA_Update).BuildOverviews("NONE", [2, 4, 8, 16, 32])
    return (path / "zarr.json").stat().st_size


def check_scene(server, name, requests):
    """gdalinfo asks for no more than these, (method, path)."""
    info = gdal.Info(server.vsi(name), format="json")
    assert info["driverShortName"] == "ShardedZarr" and info["size"] == [10980, 10980] and len(info["bands"][0]["overviews"]) == 5
    assert info["geoTransform"][:2] == [399960, 10] and 'ID["EPSG",32632]]' in info["coordinateSystem"]["wkt"]
    assert [(r.method, r.path) for r in server.log] == requests


def test_a_scene_with_overviews_opens_by_its_plain_url_in_two_requests(tmp_path, server, config):
    """As a COG does: all its metadata are in what GDAL reads of any file, and are not asked for again."""
    config("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    size = write_scene(tmp_path / "s2.zarr")
    assert size < 16384 - 500, "with room for metadata"
    check_scene(server, "s2.zarr/zarr.json", [("HEAD", "s2.zarr/zarr.json"), ("GET", "s2.zarr/zarr.json")])
    server.log.clear()
    check_scene(server, "s2.zarr", [("HEAD", "s2.zarr"), ("GET", "s2.zarr/zarr.json")])


def test_an_update_of_what_is_behind_an_url_is_refused_when_it_is_opened(tmp_path, server):
    """GDAL 3.6 asks drivers after its own error: gdal_edit.py would set something, and end with 0."""
    write_store(tmp_path / "s.zarr")
    for name in (server.vsi("s.zarr"), server.vsi("s.zarr/zarr.json"), 'SHARDEDZARR:"%s"' % server.vsi("s.zarr")):
        assert "is only read" in error_of(lambda: gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE, ["ShardedZarr"]))


@pytest.mark.parametrize("location, index", [("end", "bytes=-%d" % INDEX), ("start", "bytes=0-%d" % (INDEX - 1))])
def test_a_chunk_costs_one_request_for_the_index_and_one_for_its_bytes(tmp_path, server, location, index):
    write_store(tmp_path / "s.zarr", location=location)
    dataset = open_array(server.vsi("s.zarr"))
    np.testing.assert_array_equal(dataset.ReadAsArray(9, 9, 3, 3), VALUES[9:12, 9:12])
    assert {r.method for r in server.log} == {"GET"}
    assert len(asked(server)) == 2 and asked(server)[0] == index
    np.testing.assert_array_equal(dataset.ReadAsArray(17, 9, 3, 3), VALUES[9:12, 17:20])
    assert len(asked(server)) == 3, "the index is kept"


@pytest.mark.parametrize("location", ["end", "start"])
def test_a_small_shard_that_is_wanted_whole_is_one_request(tmp_path, server, location):
    values = VALUES.copy()
    values[:32, 32:] = 0
    oracle.write(tmp_path / "s.zarr", array_meta((61, 64), "uint16", SHARD, [sharding(CHUNK, location=location)]), values[:61])
    dataset = open_array(server.vsi("s.zarr"))
    for _ in range(2):
        np.testing.assert_array_equal(dataset.ReadAsArray(), values[:61])
    assert sorted((r.path[-5:], r.range, r.status) for r in server.requests("/c/")) == [
        ("c/0/0", None, 200), ("c/0/1", None, 404), ("c/1/0", None, 200), ("c/1/1", None, 200)]
    np.testing.assert_array_equal(dataset.ReadAsArray(*PARTS), values[8:56, 8:56])  # and by ranges, if it must be
    assert {"bytes=-%d" % INDEX, "bytes=0-%d" % (INDEX - 1)} & set(asked(server))


def test_all_shards_of_a_window_are_asked_at_the_same_time(tmp_path, server):
    write_store(tmp_path / "s.zarr")
    dataset = open_array(server.vsi("s.zarr"))
    server.gather(4, lambda *request: True)
    server.log.clear()
    np.testing.assert_array_equal(dataset.ReadAsArray(24, 24, 16, 16), VALUES[24:40, 24:40])
    assert len(server.log) == 8
    assert [r.startswith("bytes=-") for r in asked(server)] == [True] * 4 + [False] * 4


@pytest.mark.parametrize("gap, requests", [("0", 4), ("0.3", 4), ("0.4", 1)])
def test_chunks_with_little_between_them_are_one_request(tmp_path, server, gap, requests):
    write_store(tmp_path / "s.zarr")  # rows of 4 chunks of 128 bytes: between two columns of them lie 384
    dataset = open_array(server.vsi("s.zarr"), options=["MERGE_GAP=" + gap])
    np.testing.assert_array_equal(dataset.ReadAsArray(0, 0, 8, 32), VALUES[:32, :8])
    assert len(asked(server)) == 1 + requests


def test_advise_read_fetches_what_several_maps_of_deep_chunks_need(tmp_path, server):
    values = counting((16, 64, 64)) + 1
    oracle.write(tmp_path / "s.zarr", array_meta((16, 64, 64), "uint16", (16, 32, 32), [sharding((16, 8, 8))]), values)
    dataset = open_array(server.vsi("s.zarr"))
    maps = list(range(4, 12))
    server.log.clear()
    assert dataset.AdviseRead(0, 0, 64, 64, None, None, None, maps) == gdal.CE_None
    asked_for = len(server.log)
    for number in maps:
        np.testing.assert_array_equal(dataset.GetRasterBand(number).ReadAsArray(), values[number - 1])
    assert 4 <= asked_for == len(server.log)


@pytest.mark.parametrize("compress, cache, fits", [("BLOSC", "4", True), ("NONE", "4", True), ("ZSTD", "4", False), ("ZSTD", "64", True)])
def test_advise_read_counts_what_it_decodes_of_deep_chunks(tmp_path, server, compress, cache, fits):
    """Four chunks of 4 MB, of which maps want 32 KB each: blocks are enough where the codec has them."""
    values = np.random.default_rng(1).integers(0, 1000, (512, 128, 128)).astype("uint16")
    copy(tmp_path / "s.zarr", source(values), CHUNK_SHAPE="512,64,64", SHARD_SHAPE="512,128,128", COMPRESS=compress, ARRAY_NAME="v",
         **{"BLOSC_BLOCKSIZE": 16384} if compress == "BLOSC" else {})
    dataset = open_array(server.vsi("s.zarr"), "/v", ["CACHE_SIZE=" + cache])
    server.log.clear()
    assert dataset.AdviseRead(0, 0, 128, 128, None, None, None, [50, 51, 52, 53]) == gdal.CE_None
    asked_for = len(server.requests("/c/"))
    for number in (50, 51, 52, 53):
        np.testing.assert_array_equal(dataset.GetRasterBand(number).ReadAsArray(), values[number - 1])
    assert (asked_for > 0) == fits and (len(server.requests("/c/")) == asked_for) == fits


def test_connections_are_used_again(tmp_path, server):
    write_store(tmp_path / "s.zarr")
    dataset = open_array(server.vsi("s.zarr"))
    for i in range(0, 64, 8):
        dataset.ReadAsArray(i, i, 2, 2)
    assert len(server.log) > 8 and server.connections == 1


@pytest.mark.parametrize("location", ["end", "start"])
def test_empty_and_truncated_objects_are_errors_that_name_the_shard(tmp_path, server, location):
    write_store(tmp_path / "s.zarr", location=location)
    for content in (b"", b"x"):
        (tmp_path / "s.zarr" / "c" / "0" / "1").write_bytes(content)
        assert "c/0/1" in error_of(read_all, open_array(server.vsi("s.zarr")))


def test_names_with_spaces_and_signs_are_found(tmp_path, server):
    write_store(tmp_path / "a b" / "100%.zarr")
    name = server.vsi("a%20b/100%25.zarr")
    assert_pixels(open_array(name), EXPECTED, windows=1)
    oracle.write(tmp_path / "g.zarr" / "x#1 ?y", array_meta(SHAPE, "uint16", SHARD, [sharding(CHUNK)]), VALUES)
    oracle.put(tmp_path / "g.zarr", {"zarr.json": b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'})
    assert_pixels(open_array(server.vsi("g.zarr"), "/x#1 ?y"), EXPECTED, windows=1)


# ------------------------------------------------------------------------------------------------- servers as they are

@pytest.mark.parametrize("answer", [200, 400, 405, 416, 501])
@pytest.mark.parametrize("location", ["end", "start"])
def test_a_server_without_suffix_ranges_is_asked_in_plain_ones(tmp_path, server, answer, location):
    write_store(tmp_path / "s.zarr", location=location)
    server.ranges, server.no_suffix = "plain", answer
    dataset = open_array(server.vsi("s.zarr"), options=["NUM_THREADS=1", "MERGE_GAP=0"])
    for i in range(0, 64, 8):
        np.testing.assert_array_equal(dataset.ReadAsArray(i, i, 8, 8), VALUES[i:i + 8, i:i + 8])
    assert_pixels(dataset, EXPECTED)
    if location == "end" and answer != 200:
        assert len([r for r in asked(server) if r and r.startswith("bytes=-")]) == 1, "it is told once"


def write_large(path):
    values = np.random.default_rng(1).integers(0, 60000, (1024, 1024), "uint16")
    oracle.write(path, array_meta(values.shape, "uint16", (1024, 1024), [sharding((256, 256))]), values)
    return values


@pytest.mark.parametrize("large", [False, True])
def test_a_server_that_ignores_ranges_gives_the_pixels_or_an_error(tmp_path, server, large):
    if large:
        values = write_large(tmp_path / "s.zarr")
    else:
        values = VALUES
        write_store(tmp_path / "s.zarr")
    server.ranges = "none"
    try:
        pixels = read_all(open_array(server.vsi("s.zarr")))[0]
    except RuntimeError as error:
        assert "c/0/0" in str(error)
    else:
        np.testing.assert_array_equal(pixels, values)


@pytest.mark.parametrize("kind", ["sharded", "unsharded"])
@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503, "short"])
def test_a_refusal_names_the_object_and_the_status(tmp_path, server, kind, status):
    codecs = [sharding(CHUNK)] if kind == "sharded" else [LITTLE]
    oracle.write(tmp_path / "s.zarr", array_meta(SHAPE, "uint16", SHARD, codecs), VALUES)
    server.faults["s.zarr/c/0/1"] = status
    message = error_of(read_all, open_array(server.vsi("s.zarr")))
    assert "s.zarr/c/0/1" in message and (status == "short" or str(status) in message), message


@pytest.mark.parametrize("fault", [500, 503, 429])
def test_requests_are_retried_as_gdal_is_configured(tmp_path, server, config, fault):
    write_store(tmp_path / "s.zarr")
    server.faults.update({"s.zarr/zarr.json": [fault], "s.zarr/c/0/1": [fault, fault]})
    config("GDAL_HTTP_MAX_RETRY", "2")
    config("GDAL_HTTP_RETRY_DELAY", "0.05")
    np.testing.assert_array_equal(open_array(server.vsi("s.zarr")).ReadAsArray(*PARTS), VALUES[8:56, 8:56])
    assert [r.status for r in server.requests("c/0/1")][:3] == [fault, fault, 206]


@pytest.mark.parametrize("allowed", [".tif", "zarr.json", ".json", ".tif,.zarr"])
def test_store_opens_despite_curl_allowed_extensions(tmp_path, server, config, allowed):
    """CPL_VSIL_CURL_ALLOWED_EXTENSIONS keeps GDAL from looking for side-car files; names of chunks have no extension."""
    config("CPL_VSIL_CURL_ALLOWED_EXTENSIONS", allowed)
    write_store(tmp_path / "s.zarr")
    assert_pixels(open_array(server.vsi("s.zarr")), EXPECTED, windows=1)
    write_large(tmp_path / "l.zarr")  # and through GDAL's own files
    url = urllib.parse.quote("http://%s/l.zarr" % server.host, safe="")
    message = error_of(lambda: open_array("/vsicurl?use_head=no&url=" + url).ReadAsArray(300, 300, 9, 9))
    assert "CPL_VSIL_CURL_ALLOWED_EXTENSIONS" in message and "l.zarr/" in message, message


def test_metadata_that_are_too_long_are_refused_before_they_are_downloaded(tmp_path, server):
    write_store(tmp_path / "s.zarr")
    with open(tmp_path / "s.zarr" / "zarr.json", "ab") as file:
        file.truncate((64 << 20) + 1)
    assert "zarr.json" in error_of(open_array, server.vsi("s.zarr"))


# -------------------------------------------------------------------------------------- what the process remembers of shards

def first_then_another_dataset(server, window):
    """Opens and reads a window, and gives another dataset of the same store and an empty log."""
    open_array(server.vsi("s.zarr")).ReadAsArray(*window)
    dataset = open_array(server.vsi("s.zarr"))
    server.log.clear()
    return dataset


@pytest.mark.parametrize("location", ["end", "start"])
def test_another_dataset_of_the_store_does_not_ask_for_the_index_again(tmp_path, server, location):
    write_store(tmp_path / "s.zarr", location=location)
    dataset = first_then_another_dataset(server, (3, 3, 2, 2))
    np.testing.assert_array_equal(dataset.ReadAsArray(9, 9, 3, 3), VALUES[9:12, 9:12])
    assert len(asked(server)) == 1 and asked(server)[0] not in ("bytes=-%d" % INDEX, "bytes=0-%d" % (INDEX - 1))


@pytest.mark.parametrize("preconditions", [True, False])
def test_replaced_shards_are_detected_by_etag(tmp_path, server, preconditions):
    write_store(tmp_path / "s.zarr")
    server.preconditions = preconditions
    dataset = first_then_another_dataset(server, (0, 0, 64, 64))
    oracle.write(tmp_path / "s.zarr", array_meta(SHAPE, "uint16", SHARD, [sharding(CHUNK)]), VALUES + 1000, oracle.Layout(gap=5))
    np.testing.assert_array_equal(dataset.ReadAsArray(), VALUES + 1000)


def test_a_chunk_that_was_added_since_is_found(tmp_path, server):
    """Nothing is read of a chunk that is not there, so that no ETag would tell."""
    values = VALUES.copy()
    values[8:16, 8:16] = 0
    meta = array_meta(SHAPE, "uint16", SHARD, [sharding(CHUNK)])
    oracle.write(tmp_path / "s.zarr", meta, values)
    dataset = first_then_another_dataset(server, (3, 3, 2, 2))
    oracle.write(tmp_path / "s.zarr", meta, VALUES)
    np.testing.assert_array_equal(dataset.ReadAsArray(9, 9, 3, 3), VALUES[9:12, 9:12])
    assert asked(server)[0] == "bytes=-%d" % INDEX
    np.testing.assert_array_equal(dataset.ReadAsArray(), VALUES)


# --------------------------------------------------------------------------------- an object that changes while it is read

def replace_between_index_and_data(server, path, times, values):
    """Puts another shard in place after its index was answered; its chunks lie elsewhere."""
    state = {"left": times, "index_read": False}
    meta = array_meta(SHAPE, "uint16", SHARD, [sharding(CHUNK)])

    def before(method, asked_path, headers):
        if asked_path != "s.zarr/c/0/0":
            return
        if headers["Range"].startswith("bytes=-"):
            state["index_read"] = True
        elif state["index_read"] and state["left"]:
            state["left"] -= 1
            state["index_read"] = False
            other = path.parent / "other"
            oracle.write(other, meta, values, oracle.Layout(gap=7 * (state["left"] % 2)))
            shard = path / "c" / "0" / "0"
            status = os.stat(shard)
            os.replace(other / "c" / "0" / "0", shard)
            os.utime(shard, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    server.before = before


@pytest.mark.parametrize("preconditions", [True, False])
def test_a_shard_that_is_replaced_between_index_and_data_is_read_anew(tmp_path, server, preconditions):
    """Whether the server obeys If-Match, or only tells another ETag."""
    write_store(tmp_path / "s.zarr")
    server.preconditions = preconditions
    dataset = open_array(server.vsi("s.zarr"))
    replace_between_index_and_data(server, tmp_path / "s.zarr", 1, VALUES + 1000)
    np.testing.assert_array_equal(dataset.ReadAsArray(3, 3, 4, 4), VALUES[3:7, 3:7] + 1000)
    assert (412 in [r.status for r in server.log]) == preconditions


def test_a_shard_that_changes_all_the_time_is_an_error(tmp_path, server):
    write_store(tmp_path / "s.zarr")
    dataset = open_array(server.vsi("s.zarr"))
    replace_between_index_and_data(server, tmp_path / "s.zarr", 100, VALUES)
    assert re.search("c/0/0.*replaced", error_of(dataset.ReadAsArray, 3, 3, 4, 4))


# ------------------------------------------------------------------------------------------- what is sent, what is told

@pytest.mark.parametrize("headers", ["Foo: bar", "Foo: bar,X-Other: \"quoted, value\"", "Foo: bar\r\nX-Other: 1"])
def test_headers_of_the_user_are_sent_once_beside_ours(tmp_path, server, config, headers):
    if "\r\n" in headers and int(gdal.VersionInfo("VERSION_NUM")) < 3070000:
        pytest.skip("that form came later")
    write_store(tmp_path / "s.zarr")
    config("GDAL_HTTP_HEADERS", headers)
    open_array(server.vsi("s.zarr")).ReadAsArray(*PARTS)
    for request in server.log:
        assert [value for name, value in request.headers if name == "Foo"] == ["bar"]
        assert "X-Other" not in headers or "X-Other" in dict(request.headers)
    assert len(asked(server)) > 4 and all(asked(server))


def test_options_for_a_path_alone_are_obeyed(tmp_path, server):
    if not hasattr(gdal, "SetPathSpecificOption"):
        pytest.skip("this GDAL's Python has no path specific options")
    write_store(tmp_path / "s.zarr")
    gdal.SetPathSpecificOption(server.vsi("s.zarr"), "GDAL_HTTP_HEADERS", "Foo: bar")
    try:
        read_all(open_array(server.vsi("s.zarr")))
    finally:
        gdal.ClearPathSpecificOptions(server.vsi("s.zarr"))
    assert all(("Foo", "bar") in request.headers for request in server.log)


def test_thread_local_credentials_reach_every_request(tmp_path, server):
    write_store(tmp_path / "s.zarr")
    gdal.SetThreadLocalConfigOption("GDAL_HTTP_USERPWD", "user:secret")
    try:
        open_array(server.vsi("s.zarr")).ReadAsArray(*PARTS)
    finally:
        gdal.SetThreadLocalConfigOption("GDAL_HTTP_USERPWD", None)
    assert len(server.log) >= 9 and all("Authorization" in dict(request.headers) for request in server.log)


def test_nothing_is_printed_and_no_error_is_left(tmp_path, server, config):
    write_store(tmp_path / "s.zarr")
    server.faults["s.zarr/c/0/1"] = [500, 404]
    config("GDAL_HTTP_MAX_RETRY", "1")
    config("GDAL_HTTP_RETRY_DELAY", "0.05")
    messages = []
    gdal.PushErrorHandler(lambda level, number, message: messages.append(message))
    try:
        dataset = open_array(server.vsi("s.zarr"))
        gdal.ErrorReset()
        read_all(dataset)
        assert gdal.GetLastErrorMsg() == ""
    finally:
        gdal.PopErrorHandler()
    assert messages == []


# ---------------------------------------------------------------------------------------------------------- object stores

@pytest.fixture
def s3(server, config):
    for name, value in {"AWS_S3_ENDPOINT": server.host, "AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_REGION": "eu-west-3",
                        "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "topsecret"}.items():
        config(name, value)
    return server


def test_objects_of_s3_are_read_through_signed_urls(tmp_path, s3):
    write_store(tmp_path / "bucket" / "s.zarr")
    assert_pixels(open_array("/vsis3/bucket/s.zarr"), EXPECTED)
    assert all(r.method == "GET" and "X-Amz-Signature=" in r.query for r in s3.log)
    s3.faults["bucket/s.zarr/c/0/0"] = 403
    message = error_of(read_all, open_array("/vsis3/bucket/s.zarr"))
    assert "/vsis3/bucket/s.zarr/c/0/0" in message and "Signature" not in message and "403" in message


def refusal(code, message):
    return '<?xml version="1.0"?>\n<Error><Code>%s</Code><Message>%s</Message><RequestId>1</RequestId></Error>' % (code, message)


@pytest.mark.parametrize("proven", [False, True])
@pytest.mark.parametrize("status, code, message", [(403, "AccessDenied", "Access Denied"), (404, "NoSuchBucket", "The specified bucket does not exist"),
                                                   (403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")])
def test_reason_of_an_s3_refusal_is_in_the_message(tmp_path, s3, status, code, message, proven):
    write_store(tmp_path / "bucket" / "s.zarr")
    s3.faults["bucket/s.zarr/" + ("c/0/0" if proven else "zarr.json")] = (status, refusal(code, message))
    said = error_of(lambda: read_all(open_array("/vsis3/bucket/s.zarr")))
    assert code in said and message in said and "/vsis3/bucket/s.zarr/" in said and str(status) in said


def test_an_object_that_s3_does_not_have_is_fill(tmp_path, s3):
    write_store(tmp_path / "bucket" / "s.zarr")
    s3.faults["bucket/s.zarr/c/1/0"] = (404, refusal("NoSuchKey", "The specified key does not exist."))
    expected = EXPECTED.copy()
    expected[:, 32:, :32] = 0
    assert_pixels(open_array("/vsis3/bucket/s.zarr"), expected)


def test_public_objects_of_s3_are_read_unsigned(tmp_path, s3, config):
    config("AWS_NO_SIGN_REQUEST", "YES")
    write_store(tmp_path / "bucket" / "s.zarr")
    assert_pixels(open_array("/vsis3/bucket/s.zarr"), EXPECTED)
    assert all(r.method == "GET" and r.query == "" for r in s3.log)


def test_a_store_that_refuses_signed_urls_is_read_through_vsi(tmp_path, s3):
    write_store(tmp_path / "bucket" / "s.zarr")
    s3.before = lambda method, path, headers: None if "Authorization" in headers else 403
    assert_pixels(open_array("/vsis3/bucket/s.zarr"), EXPECTED, windows=1)
    assert len([r for r in s3.log if r.status == 403 and r.query]) == 2, "it is tried twice"
