"""Writing to an object store: how many requests it takes, which of them go side by side, and what is there when one fails."""
import threading

import numpy as np
import pytest
from osgeo import gdal

import oracle
from objectstore import _Handler
from support import assert_same, error_of, levels_of, open_array, read_all, warnings_of
from test_documents import PERFORMANCE, table
from writing import UTM, check_consolidated, copy, created, driver, source

PATH = "/vsis3/bucket/a.zarr"
MOST = 16  # requests side by side


def noise(*shape):
    return np.random.default_rng(1).integers(0, 256, shape).astype("uint8")


def puts_shards(method, key, query):
    return method == "PUT" and "/c/" in key


def asked(s3):
    """Keys of the requests, in their order."""
    return [key for _, key in s3.log]


def changed(s3, array, x, y, size):
    """The requests of changing a box of a store, of which `array` has the pixels."""
    gdal.VSICurlClearCache()
    s3.log.clear()
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_RASTER | gdal.OF_UPDATE)
    array[0, y:y + size, x:x + size] ^= 255
    dataset.GetRasterBand(1).WriteArray(array[0, y:y + size, x:x + size], x, y)
    dataset = None
    log = list(s3.log)
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), array)
    return log


def test_deleting_an_absent_or_unreachable_store_is_an_error(s3):
    assert PATH + ": cannot be deleted: it is not there, or cannot be reached" in error_of(driver().Delete, PATH)
    dead = "/vsicurl/http://127.0.0.1:9/a.zarr"
    assert dead + ": cannot be deleted: it is not there, or cannot be reached" in error_of(driver().Delete, dead)
    array = noise(1, 64, 64)  # and a new store is not warned of
    copy(PATH, source(array), ARRAY_NAME="v").FlushCache()
    assert_same(read_all(open_array(PATH)), array)


def store_of_5000(s3):
    driver().Create(PATH, 4640, 4640, 1, gdal.GDT_Byte, ["ARRAY_NAME=v", "CHUNK_SHAPE=64", "SHARD_SHAPE=64"])
    s3.objects.update({"bucket/a.zarr/v/c/%d/%d" % (y, x): b"x" for y in range(72) for x in range(70)})
    gdal.VSICurlClearCache()
    s3.log.clear()
    s3.removed.clear()  # the mark of Create()


def test_deleting_5000_objects_lists_their_folders_side_by_side_and_takes_one_request_for_each(s3):
    """The documents go first."""
    store_of_5000(s3)
    s3.gather(8, lambda method, key, query: len(query.get("prefix", "")) > len("a.zarr/v/c/"))
    assert driver().Delete(PATH) == gdal.CE_None
    assert not s3.objects and s3.removed[:2] == ["bucket/a.zarr/zarr.json", "bucket/a.zarr/v/zarr.json"]
    assert len(s3.log) <= 5200 and s3.most >= 8


def test_a_folder_that_cannot_be_listed_is_named_and_nothing_is_deleted(s3):
    store_of_5000(s3)
    before = dict(s3.objects)
    s3.fault = lambda method, key, query: 403 if query.get("prefix", "").startswith("a.zarr/v/c/33") else None
    message = error_of(driver().Delete, PATH)
    assert "a.zarr/v/c/33: cannot be listed" in message
    assert s3.objects == before


@pytest.mark.parametrize("key", ["v/c/33/12", "v/zarr.json"])
def test_an_object_that_cannot_be_deleted_is_named_and_the_next_deletion_does_the_rest(s3, key):
    store_of_5000(s3)
    kept = "bucket/a.zarr/" + key
    s3.refuse = lambda method, key: method == "POST" or (method == "DELETE" and key == kept)
    message = error_of(driver().Delete, PATH)
    assert "a.zarr/%s: cannot be removed" % key in message
    s3.refuse = lambda method, key: False
    gdal.VSICurlClearCache()
    assert kept in s3.objects
    assert driver().Delete(PATH) == gdal.CE_None and not s3.objects


# ------------------------------------------------------------------------------------------------------------ changes

@pytest.mark.parametrize("size", [64, 20], ids=["a chunk", "a part of one"])
def test_changing_a_block_is_the_metadata_the_index_the_neighbours_and_the_upload(s3, size):
    array = noise(1, 512, 512)
    copy(PATH, source(array, UTM, "EPSG:32633"), CHUNK_SHAPE=64, SHARD_SHAPE=512, ARRAY_NAME="v").FlushCache()
    log = changed(s3, array, 192, 256, size)
    shard = "bucket/a.zarr/v/c/0/0"
    of_the_chunk = [("GET", shard)] * (size < 64)
    assert log == [("GET", "bucket/a.zarr/zarr.json"), ("GET", shard)] + of_the_chunk + [("GET", shard), ("PUT", shard)]


def test_a_shard_of_64_mib_comes_in_one_request_and_goes_in_one(s3):
    array = noise(1, 7168, 7168)
    copy(PATH, source(array), CHUNK_SHAPE=512, SHARD_SHAPE=7168, COMPRESS="NONE", ARRAY_NAME="v").FlushCache()
    log = changed(s3, array, 4096, 4096, 512)
    assert [method for method, key in log] == ["GET", "GET", "GET", "PUT"]  # metadata, index, neighbours


def opened(path=PATH):
    gdal.VSICurlClearCache()
    return gdal.OpenEx('SHARDEDZARR:"%s"' % path, gdal.OF_RASTER | gdal.OF_UPDATE)


def test_shards_that_are_changed_go_side_by_side_and_their_neighbours_come_so(s3):
    array = noise(1, 1024, 1024)
    copy(PATH, source(array), CHUNK_SHAPE=64, SHARD_SHAPE=128, ARRAY_NAME="v").FlushCache()
    s3.log.clear()
    dataset = opened()
    s3.gather(8, puts_shards)
    array[:, 100:500, 100:900] ^= 255  # 3 x 7 shards of which it is all, and a frame of those of which it is a part
    dataset.GetRasterBand(1).WriteArray(array[0, 100:500, 100:900], 100, 100)
    dataset = None
    assert 8 <= s3.most <= MOST and [key for method, key in s3.log if method == "PUT"].count("bucket/a.zarr/v/c/1/1") == 1
    assert len([key for method, key in s3.log if method == "PUT"]) == 4 * 8
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), array)


def test_failed_upload_among_parallel_ones_is_kept_for_the_next_flush(s3):
    array = noise(1, 1024, 1024)
    copy(PATH, source(array), CHUNK_SHAPE=64, SHARD_SHAPE=128, ARRAY_NAME="v").FlushCache()
    dataset = opened()
    before = array.copy()
    s3.gather(4, puts_shards)
    s3.refuse = lambda method, key: method == "PUT" and key.endswith(("/v/c/1/3", "/v/c/7/7"))
    array ^= 255

    def write():
        dataset.GetRasterBand(1).WriteArray(array[0])
        dataset.FlushCache()

    assert "/vsis3/bucket/a.zarr/v/c/" in error_of(write)
    gdal.VSICurlClearCache()
    expected = array.copy()
    for y, x in ((1, 3), (7, 7)):
        box = (0, slice(128 * y, 128 * y + 128), slice(128 * x, 128 * x + 128))
        expected[box] = before[box]
    assert_same(read_all(open_array(PATH)), expected)
    s3.refuse = lambda method, key: False
    s3.log.clear()
    dataset.FlushCache()
    dataset = None
    assert sorted(key for method, key in s3.log if method == "PUT") == ["bucket/a.zarr/v/c/1/3", "bucket/a.zarr/v/c/7/7"]
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), array)


def test_overviews_of_a_store_that_is_there_go_side_by_side(s3):
    array = noise(3, 600, 500)
    made(array, OVERVIEWS="NONE")
    made(array, "/vsimem/a.zarr", OVERVIEWS="2,4,8", RESAMPLING="AVERAGE")
    dataset = opened()
    s3.log.clear()
    s3.gather(4, puts_shards)
    assert dataset.BuildOverviews("AVERAGE", [2, 4, 8]) == 0
    dataset = None
    assert 4 <= s3.most <= MOST
    put = [key for method, key in s3.log if method == "PUT"]
    assert len(put) == len(set(put)) and put[-1] == "bucket/a.zarr/zarr.json"
    is_document = [key.endswith("zarr.json") for key in put]
    assert is_document == sorted(is_document), "documents come after the chunks that they speak of"
    for actual, expected in zip(levels(PATH), levels("/vsimem/a.zarr")):
        assert_same(actual, expected)
    gdal.RmdirRecursive("/vsimem/a.zarr")


# --------------------------------------------------------------------------------------------------------- new stores

def made(array, path=PATH, **options):
    """Makes a store of an array, without a warning, and closes it."""
    copy(path, source(array, UTM, "EPSG:32633"), ARRAY_NAME="v", CHUNK_SHAPE=64, SHARD_SHAPE=128, **options).FlushCache()


def requests_of_new(s3, array, **options):
    """The requests of making one, from the first upload behind the mark to that of the root's metadata."""
    gdal.VSICurlClearCache()
    s3.log.clear()
    made(array, **options)
    first = next(i for i, (method, key) in enumerate(s3.log) if method == "PUT" and not key.endswith("/.unfinished"))
    return s3.log[first:s3.log.index(("PUT", "bucket/a.zarr/zarr.json")) + 1]


def levels(path):
    return levels_of(open_array(path, "/v"))[1:]


@pytest.mark.parametrize("resampling", ["AVERAGE", "NEAREST", "MODE", "CUBIC"])
def test_a_new_store_with_overviews_puts_each_object_once(s3, tmp_path, resampling):
    array = noise(3, 500, 400)
    log = requests_of_new(s3, array, OVERVIEWS="2,4,8", RESAMPLING=resampling)
    put = [key for method, key in log if method == "PUT"]
    assert len(put) == len(set(put)) and set(put) == set(s3.objects)
    made(array, tmp_path / "a.zarr", OVERVIEWS="2,4,8", RESAMPLING=resampling)
    actual, expected = levels(PATH), levels(tmp_path / "a.zarr")
    assert len(actual) == len(expected) == 3
    for number in range(3):
        assert_same(actual[number], expected[number])
    oracle.put(tmp_path / "s3", {key[len("bucket/"):]: data for key, data in s3.objects.items()})
    check_consolidated(tmp_path / "s3" / "a.zarr")


def test_shards_of_a_new_store_go_side_by_side(s3):
    s3.gather(4, puts_shards)
    log = requests_of_new(s3, noise(1, 1024, 1024))
    assert len([key for _, key in log if "/v/c/" in key]) == 64 and 4 <= s3.most <= MOST


@pytest.mark.parametrize("refused", ["/v/c/3/0", "/v/c/7/7", "/ovr_2x/v/c/3/3", "/ovr_2x/v/zarr.json", "/x/c/0"])
def test_an_upload_that_fails_among_others_is_an_error_and_leaves_nothing(s3, refused):
    s3.gather(4, puts_shards)
    s3.refuse = lambda method, key: method == "PUT" and key == "bucket/a.zarr" + refused
    message = error_of(made, noise(1, 1000, 1000), OVERVIEWS="2").split("\nMay be caused by: ")[0]
    assert "/vsis3/bucket/a.zarr%s: writing failed: " % refused in message and "CPL_DEBUG=ON" in message
    assert s3.objects == {}


def append():
    copy(PATH, source(noise(1, 64, 64), UTM, "EPSG:32633"), ARRAY_NAME="w", APPEND_SUBDATASET="YES").FlushCache()


def copy_arrays():
    gdal.MultiDimTranslate(PATH, "/vsimem/from.zarr", format="ShardedZarr")


WRITING = {"copy": lambda: made(noise(1, 300, 300), OVERVIEWS="2"), "create": lambda: created(PATH, noise(1, 300, 300), ARRAY_NAME="v", OVERVIEWS="2"),
           "append": append, "arrays": copy_arrays, "replacement": lambda: made(noise(1, 300, 300), OVERVIEWS="2", OVERWRITE="YES")}


@pytest.mark.parametrize("way", ["lost", 503])
@pytest.mark.parametrize("how", WRITING)
def test_puts_of_new_arrays_whose_answers_are_lost_or_refused_once_are_sent_again(s3, how, way):
    """Each of them: those of an update were, a copy failed by one."""
    made(noise(1, 64, 64), "/vsimem/from.zarr")
    if how in ("append", "replacement"):
        made(noise(1, 200, 200))
    before = dict(s3.objects)
    WRITING[how]()
    expected, tried = s3.objects, set()
    s3.objects = dict(before)
    gdal.VSICurlClearCache()

    def is_first(method, key):
        is_new = method == "PUT" and key not in tried
        tried.update([key] if is_new else [])
        return is_new
    if way == "lost":
        s3.loses = is_first
    else:
        s3.fault = lambda method, key, query: way if is_first(method, key) else None
    WRITING[how]()
    assert tried > set(expected) - set(before) and s3.objects == expected
    gdal.RmdirRecursive("/vsimem/from.zarr")


@pytest.mark.parametrize("fails", [0, 1, 99], ids=["made", "not at first", "not made"])
def test_an_upload_in_parts_that_the_server_does_not_complete_is_an_error_though_it_answers_200(s3, config, fails):
    """As S3 does where it fails after it has begun to answer. GDAL does not look at the body. It is sent again."""
    config("VSIS3_CHUNK_SIZE", "5")
    array = noise(1, 2560, 2560)
    answer = b"<Error><Code>InternalError</Code><Message>We encountered an internal error. Please try again.</Message></Error>"
    failed = []

    def fault(method, key, query):
        if method == "POST" and "uploadId" in query and len(failed) < fails:
            failed.append(key)
            return answer
    s3.fault = fault

    def run():
        copy(PATH, source(array), ARRAY_NAME="v", CHUNK_SHAPE=512, SHARD_SHAPE=2560, COMPRESS="NONE").FlushCache()
    if fails > 1:
        assert "the server took all parts, and has not made the object" in error_of(run)
        assert s3.objects == {}
    else:
        run()
        assert ("POST", "bucket/a.zarr/v/c/0/0") in s3.log and len(failed) == fails
        gdal.VSICurlClearCache()
        assert_same(read_all(open_array(PATH, "/v")), array)


class Chunked(_Handler):
    """Sends the bodies of its answers in chunks, without their length."""
    def answer(self, status, headers={}, body=b"", sent=None):
        if self.command == "HEAD" or status == 204:
            return super().answer(status, headers, body, sent)
        self.send_response(status)
        for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        for at in range(0, len(body), 1000):
            part = body[at:at + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")


class Closing(_Handler):
    """Closes the connection behind each answer."""
    def answer(self, status, headers={}, body=b"", sent=None):
        self.close_connection = True
        super().answer(status, {**headers, "Connection": "close"}, body, sent)


@pytest.mark.parametrize("handler", [Chunked, Closing])
def test_store_is_made_changed_replaced_and_deleted_whatever_the_answers_are(s3, handler):
    s3._server.RequestHandlerClass = handler
    array = noise(1, 200, 200)
    made(array, OVERVIEWS="2")
    changed(s3, array, 100, 100, 60)
    append()
    assert_same(read_all(open_array(PATH, "/w")), noise(1, 64, 64))
    made(noise(1, 150, 150), OVERWRITE="YES")
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), noise(1, 150, 150))
    driver().Delete(PATH)
    assert s3.objects == {}


def test_shards_of_create_are_uploaded_in_parallel_before_the_metadata(s3, tmp_path):
    array = noise(3, 600, 500)
    gdal.VSICurlClearCache()
    dataset = driver().Create(PATH, 500, 600, 3, gdal.GDT_Byte, ["ARRAY_NAME=v", "CHUNK_SHAPE=64", "SHARD_SHAPE=128", "OVERVIEWS=2,4"])
    dataset.SetGeoTransform(UTM)
    dataset.SetProjection(source(array, UTM, "EPSG:32633").GetProjection())
    s3.log.clear()
    s3.gather(8, puts_shards)
    for y in range(0, 600, 50):  # as gdalwarp writes
        dataset.WriteArray(array[:, y:y + 50], 0, y)
    dataset = None
    put = [key for method, key in s3.log if method == "PUT"]
    assert 8 <= s3.most <= MOST and put[-1] == "bucket/a.zarr/zarr.json" and put.count(put[-1]) == 1  # overviews are there
    assert len([key for key in put if key.startswith("bucket/a.zarr/v/c/")]) == 3 * 5 * 4
    is_document = [key.endswith("zarr.json") for key in put if not key.startswith(("bucket/a.zarr/x/", "bucket/a.zarr/y/"))]
    assert is_document == sorted(is_document)
    oracle.put(tmp_path, {key[len("bucket/"):]: data for key, data in s3.objects.items()})
    check_consolidated(tmp_path / "a.zarr")
    made(array, "/vsimem/a.zarr", OVERVIEWS="2,4")
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH, "/v")), array)
    for actual, expected in zip(levels(PATH), levels("/vsimem/a.zarr")):
        assert_same(actual, expected)
    gdal.RmdirRecursive("/vsimem/a.zarr")


def test_a_raster_that_took_the_place_of_another_goes_on_there(s3):
    made(noise(1, 40, 50))
    array = noise(1, 60, 70)
    dataset = driver().Create(PATH, 70, 60, 1, gdal.GDT_Byte, ["ARRAY_NAME=v", "CHUNK_SHAPE=32", "OVERVIEWS=NONE"])
    dataset.GetRasterBand(1).WriteArray(array[0])
    dataset.FlushCache()
    assert_same(read_all(dataset), array)
    array[0, 5:20, 3:40] += 1
    dataset.GetRasterBand(1).WriteArray(array[0, 5:20, 3:40], 3, 5)
    dataset = None
    gdal.VSICurlClearCache()
    assert_same(read_all(open_array(PATH)), array)
    assert not [key for key in s3.objects if not key.startswith("bucket/a.zarr/")]


# ------------------------------------------------------------------------------------------------------------ reading

@pytest.mark.parametrize("interleaved", [False, True], ids=["a shard per band", "a shard of all bands"])
@pytest.mark.parametrize("how", [gdal.GRIORA_NearestNeighbour, gdal.GRIORA_Bilinear])
def test_a_thumbnail_is_the_metadata_and_then_the_shards_of_its_level_side_by_side(s3, interleaved, how):
    array = noise(3, 600, 500)
    options = {"CHUNK_SHAPE": "3,64,64", "SHARD_SHAPE": "3,128,128"} if interleaved else {"CHUNK_SHAPE": 64, "SHARD_SHAPE": 128}
    copy(PATH, source(array, UTM, "EPSG:32633"), ARRAY_NAME="v", OVERVIEWS="2,4,8", RESAMPLING="AVERAGE", **options).FlushCache()
    gdal.VSICurlClearCache()
    s3.log.clear()
    shards = ["bucket/a.zarr/ovr_8x/v/c/%d/0/0" % band for band in range(1 if interleaved else 3)]
    s3.gather(len(shards), lambda method, key, query: key in shards)
    pixels = open_array(PATH, "/v").ReadAsArray(buf_xsize=63, buf_ysize=75, resample_alg=how)
    assert asked(s3)[0] == "bucket/a.zarr/zarr.json" and sorted(asked(s3)[1:]) == shards and s3.most == len(shards)
    dataset = open_array(PATH, "/v")
    for number in range(3):
        assert_same(pixels[number], dataset.GetRasterBand(number + 1).ReadAsArray(buf_xsize=63, buf_ysize=75, resample_alg=how))


# ------------------------------------------------------------------------------------------------------------ what it costs

def kind_of(method, key):
    """The column of a request: servers charge for those that read, for those that write or list, and for none that removes."""
    is_listing = method == "GET" and "/" not in key.rstrip("/")
    return {"DELETE": 2, "PUT": 1, "POST": 1}.get(method, int(is_listing))


def test_operations_cost_the_requests_that_performance_md_says(s3, config):
    """Each on a copy of the objects under a name that the process has not seen."""
    config("GDAL_NUM_THREADS", "1")  # which of two threads asks for an index first is chance
    counts, objects, looks = {}, {}, []
    # Newer GDALs list zarr.json/ to find out that it is no folder.
    s3.fault = lambda method, key, query: looks.append(key) if query.get("prefix", "").endswith("/zarr.json/") else None

    def costs(what, function, store=None):
        name = "/vsis3/bucket/cost%d.zarr" % len(counts)
        s3.objects = {key.replace("bucket/cost0.zarr", name[len("/vsis3/"):]): data for key, data in objects.get(store, {}).items()}
        gdal.VSICurlClearCache()
        s3.log.clear()
        looks.clear()
        function(name)
        counts[what] = [str(sum(kind_of(*request) == column for request in s3.log) - len(looks) * (column == 1)) for column in range(3)]

    def opened(name, access=gdal.OF_READONLY):
        return gdal.OpenEx('SHARDEDZARR:"%s"' % name, gdal.OF_RASTER | access)

    def window(x, y, width, height, bands=None):
        return lambda name: opened(name).ReadAsArray(x, y, width, height, band_list=bands)

    def change(name):
        dataset = opened(name, gdal.OF_UPDATE)
        dataset.GetRasterBand(1).WriteArray(np.ones((256, 256), "uint16"), 512, 512)
        dataset.FlushCache()

    def add_overviews(name):
        opened(name, gdal.OF_UPDATE).BuildOverviews("AVERAGE", [2, 4, 8, 16])

    def copies(array, **options):
        def run(name):
            driver().CreateCopy(name, source(array, UTM, "EPSG:32633"), options=["%s=%s" % option for option in options.items()])
        return run
    pixels = np.random.default_rng(1).integers(1, 4000, (1, 4096, 4096)).astype("uint16")
    copies(np.resize(pixels, (48, 256, 256)), CHUNK_SHAPE="12,64,64", SHARD_SHAPE="48,256,256", OVERVIEWS="NONE", ARRAY_NAME="v")("/vsis3/bucket/cost0.zarr")
    objects["cube"], s3.objects = s3.objects, {}
    copies(pixels, CHUNK_SHAPE=256, SHARD_SHAPE=1024, OVERVIEWS="NONE", ARRAY_NAME="v")("/vsis3/bucket/cost0.zarr")
    objects["plain"], s3.objects = s3.objects, {}
    costs("copy", copies(pixels, CHUNK_SHAPE=256, SHARD_SHAPE=1024, ARRAY_NAME="v"))
    objects["scene"] = s3.objects
    costs("open", opened, "scene")
    costs("small window", window(1100, 1100, 100, 100), "scene")
    costs("window", window(1400, 1400, 200, 200), "scene")
    costs("large window", window(1000, 1000, 2000, 2000), "scene")
    costs("map", window(0, 0, 256, 256, [20]), "cube")
    costs("series", window(100, 100, 1, 1), "cube")
    costs("change", change, "scene")
    costs("overviews", add_overviews, "plain")
    costs("delete", driver().Delete, "scene")
    assert counts == table(PERFORMANCE, "operation")


# ------------------------------------------------------------------------------------------------------------- sparse

MANY = 6000  # pixels along a raster of 47 x 47 shards


def mostly_empty():
    """A raster of which 100 x 100 pixels are stored."""
    shape = ["CHUNK_SHAPE=64", "SHARD_SHAPE=128"]
    dataset = driver().Create(PATH, MANY, MANY, 1, gdal.GDT_Byte, ["ARRAY_NAME=v", "COMPRESS=NONE", "OVERVIEWS=NONE", *shape])
    dataset.GetRasterBand(1).WriteArray(np.full((100, 100), 7, "uint8"), 2000, 4000)
    dataset = None
    gdal.VSICurlClearCache()


@pytest.mark.parametrize("kind", ["GLACIER", "DEEP_ARCHIVE"])
def test_an_archived_shard_is_an_error_and_not_absent(s3, kind):
    """GDAL's listings leave it out, and a GET is refused."""
    mostly_empty()
    archived = next(key for key in s3.objects if "/v/c/31/" in key)  # of two in that folder
    s3.classes, s3.refuse = {archived: kind}, lambda method, key: key == archived
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH)
    assert "403" in error_of(dataset.ReadAsArray)
    dataset = None
    s3.refuse = lambda method, key: False
    driver().Delete(PATH)
    assert s3.objects == {}


@pytest.mark.skipif(not hasattr(gdal.MDArray, "Rename"), reason="GDAL has no Rename() before 3.8")
def test_a_rename_is_refused_before_anything_is_written(s3):
    made(noise(1, 100, 100))
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
    array = dataset.GetRootGroup().OpenMDArray("v")
    s3.log.clear()
    assert "could be renamed" in error_of(array.Rename, "w")
    array = dataset = None
    assert not [key for method, key in s3.log if method != "GET" and method != "HEAD"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the close says it again
def test_an_array_that_is_added_to_a_store_that_was_deleted_meanwhile_is_an_error(s3):
    made(noise(1, 100, 100))
    dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE)
    root = dataset.GetRootGroup()
    root.CreateMDArray("n", [root.CreateDimension("d", None, None, 4)], gdal.ExtendedDataType.Create(gdal.GDT_Byte))
    s3.objects.clear()
    gdal.VSICurlClearCache()
    assert "meanwhile" in error_of(dataset.FlushCache)
    root = dataset = None
    assert not [key for key in s3.objects if key.endswith("zarr.json")]


@pytest.mark.parametrize("answer", [403, 503])
def test_unreachable_store_is_not_reported_absent(s3, answer):
    copy(PATH, source(noise(1, 64, 64)), ARRAY_NAME="a")
    before = dict(s3.objects)
    s3.fault = lambda method, key, query: answer if key == "bucket/a.zarr/zarr.json" or "prefix" in query else None
    gdal.VSICurlClearCache()
    said = error_of(copy, PATH, source(noise(1, 64, 64)), ARRAY_NAME="b", APPEND_SUBDATASET="YES")
    assert str(answer) in said and "no Zarr store" not in said
    assert "cannot be reached" in error_of(driver().Delete, PATH)
    assert s3.objects == before


@pytest.mark.parametrize("way", ["Create", "update"])
def test_a_server_that_died_before_it_is_written_to_is_the_reason_of_the_error(s3, way):
    dataset = driver().Create(PATH, 256, 256, 1, gdal.GDT_Byte)
    if way == "update":
        del dataset
        dataset = gdal.OpenEx('SHARDEDZARR:"%s"' % PATH, gdal.OF_RASTER | gdal.OF_UPDATE)
    s3.die()

    def write():
        dataset.GetRasterBand(1).Fill(9)
        dataset.FlushCache()
    message = error_of(write)
    assert message.count(PATH) == 1 and "(curl error " in message


def dies_at(s3, has_come):
    """The server ends when it gets such a request."""
    ended = []

    def fault(method, key, query):
        if has_come(method, key, query) and not ended:
            ended.append(threading.Thread(target=s3.die))
            ended[0].start()
            ended[0].join(5)
    s3.fault = fault


@pytest.mark.parametrize("request_for", ["v/c/", "ovr_2x/v/c/", "v/zarr.json"])
def test_a_copy_to_a_server_that_dies_tells_one_error(s3, request_for):
    dies_at(s3, lambda method, key, query: method == "PUT" and request_for in key)
    gdal.DontUseExceptions()
    try:
        result, messages = warnings_of(lambda: driver().CreateCopy(
            PATH, source(noise(1, 1024, 1024)), options=["ARRAY_NAME=v", "CHUNK_SHAPE=64", "SHARD_SHAPE=256"]))
    finally:
        gdal.UseExceptions()
    assert result is None and len(messages) == 1 and messages[0].count(PATH) == 1 and "(curl error " in messages[0], messages
