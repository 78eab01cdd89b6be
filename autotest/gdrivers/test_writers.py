"""Several writers of one store on an object store: what one publishes is made again over what the others did meanwhile."""
import json

import numpy as np
import pytest
from osgeo import gdal

import objectstore
import writers
from objectstore import GoogleStore, etag_of
from support import assert_same, close, error_of, warnings_of, open_array, read_all
from writing import copy, driver, source

PATH = "/vsis3/bucket/a.zarr"
NAME = 'SHARDEDZARR:"%s":/v' % PATH


def update(*options):
    return gdal.OpenEx(NAME, gdal.OF_RASTER | gdal.OF_UPDATE, open_options=list(options))


def made(size=64, **options):
    copy(PATH, source(np.zeros((1, size, size), "uint8")), ARRAY_NAME="v", CHUNK_SHAPE=16, OVERVIEWS="NONE",
         **{"SHARD_SHAPE": size, **options}).FlushCache()


def wrote(value, x=0, y=0, side=16):
    """A session that wrote a square of one value, which is pending."""
    dataset = update()
    dataset.GetRasterBand(1).WriteArray(np.full((side, side), value, "uint8"), x, y)
    return dataset


def stored():
    gdal.VSICurlClearCache()
    return read_all(open_array(PATH))[0]


@pytest.fixture
def meets(s3):
    """Calls what it is given between the reading and the putting of an object whose name ends so, once."""
    def arrange(name, act):
        done = []

        def fault(method, key, query):
            if method == "PUT" and key.endswith(name) and not done:
                done.append(key)
                act()
        s3.fault = fault
        return done
    return arrange


@pytest.mark.parametrize("at", [4, 20], ids=["one chunk", "two"])
@pytest.mark.parametrize("options", [{}, {"SHARD_SHAPE": 16}, {"COMPRESS": "NONE", "INDEX_LOCATION": "START"}], ids=["shard", "chunk", "index first"])
def test_concurrent_writes_into_one_object_are_both_stored(s3, meets, options, at):
    """Which is not there before: all is fill value."""
    made(**options)
    ours = wrote(1, side=2)
    done = meets("v/c/0/0", lambda: wrote(2, at, at, side=2).FlushCache())
    ours.FlushCache()
    ours = None
    assert done
    expected = np.zeros((64, 64), "uint8")
    expected[:2, :2], expected[at:at + 2, at:at + 2] = 1, 2
    assert_same(stored(), expected)


@pytest.mark.parametrize("at", [45, 50], ids=["chunk", "shard"])
@pytest.mark.parametrize("where", ["local", "s3"])
def test_creator_of_an_array_merges_shards_of_other_writers_after_publishing(request, tmp_path, where, at):
    """Its maker does not know of shards of others unless it looks for them."""
    path = str(tmp_path / "a.zarr")
    if where == "s3":
        request.getfixturevalue("s3")
        path = PATH
    name = 'SHARDEDZARR:"%s":/v' % path
    maker = driver().CreateMultiDimensional(path)
    root = maker.GetRootGroup()
    array = root.CreateMDArray("v", [root.CreateDimension(axis, None, None, 64) for axis in "yx"], gdal.ExtendedDataType.Create(gdal.GDT_Byte),
                               ["CHUNK_SHAPE=16,16", "SHARD_SHAPE=32,32"])
    maker.FlushCache()
    other = gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE)
    other.GetRasterBand(1).WriteArray(np.full((4, 4), 7, "uint8"), 40, 40)
    other.FlushCache()
    other = None
    array.Write(np.full((2, 2), 9, "uint8"), array_start_idx=[at, at], count=[2, 2])
    del array, root
    maker.FlushCache()
    maker = None
    gdal.VSICurlClearCache()
    pixels = gdal.OpenEx(name).ReadAsArray()
    assert pixels[40, 40] == 7 and pixels[at, at] == 9


@pytest.mark.skipif(not hasattr(gdal.MDArray, "Resize"), reason="GDAL 3.7 has MDArray.Resize()")
@pytest.mark.parametrize("shard", [64, 48, 16])
def test_writing_edge_chunks_of_an_array_that_grew_meanwhile_is_an_error(s3, shard):
    """Beyond the edge that he knows are pixels of the other."""
    maker = driver().CreateMultiDimensional(PATH)
    root = maker.GetRootGroup()
    array = root.CreateMDArray("v", [root.CreateDimension(axis, None, None, 40) for axis in "yx"], gdal.ExtendedDataType.Create(gdal.GDT_Byte),
                               ["CHUNK_SHAPE=16,16", "SHARD_SHAPE=%d,%d" % (shard, shard)])
    array.Write(np.full((40, 40), 1, "uint8"))
    del array, root
    maker = None

    def opened():
        return gdal.OpenEx(PATH, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE, allowed_drivers=["ShardedZarr"])
    ours, theirs = opened(), opened()
    mine, other = ours.GetRootGroup().OpenMDArray("v"), theirs.GetRootGroup().OpenMDArray("v")
    other.Resize([60, 60])
    other.Write(np.full((20, 60), 7, "uint8"), array_start_idx=[40, 0], count=[20, 60])
    del other
    theirs.Close()

    def write():
        mine.Write(np.full((40, 40), 2, "uint8"))
        ours.FlushCache()
    assert '"shape" changed since this array was opened' in error_of(write)
    gdal.VSICurlClearCache()
    pixels = gdal.OpenEx(PATH, gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("v").ReadAsArray()
    assert (pixels[40:] == 7).all()


@pytest.mark.parametrize("status", [409, 503])
@pytest.mark.parametrize("name", ["v/c/0/0", "v/zarr.json", "a.zarr/zarr.json"])
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "over another"])
def test_refused_commit_without_effect_is_retried(s3, is_there, name, status):
    """S3 answers 409 while another commit of the object is under way, which GDAL takes for a failure."""
    made()
    if is_there:
        wrote(9, 40, 40).FlushCache()
    ours, refused = wrote(1, side=2), []
    ours.SetMetadataItem("ours", "1")

    def fault(method, key, query):
        if method == "PUT" and key.endswith(name) and len(refused) < 2:
            refused.append(key)
            return status
    s3.fault = fault
    ours.FlushCache()
    ours = None
    assert len(refused) == 2
    assert stored()[0, 0] == 1 and gdal.OpenEx(NAME).GetMetadataItem("ours") == "1"


def test_writing_into_a_removed_store_is_an_error_and_leaves_nothing(s3):
    """Its shard is absent then, and so it may be in a store that is there."""
    made()
    wrote(9, 40, 40).FlushCache()
    ours = update()
    s3.objects.clear()
    ours.GetRasterBand(1).WriteArray(np.full((2, 2), 1, "uint8"), 4, 4)
    assert "this array was removed after it was opened" in error_of(ours.FlushCache)
    assert s3.objects == {}
    with pytest.raises(RuntimeError):
        close(ours) if hasattr(ours, "Close") else gdal.Dataset.__swig_destroy__(ours)
    assert s3.objects == {}


def test_an_append_to_a_store_that_is_removed_meanwhile_is_an_error_and_makes_no_store(s3):
    made()
    removed = []

    def fault(method, key, query):
        if method == "PUT" and not removed:
            removed.append(key)
            s3.objects.clear()
    s3.fault = fault
    with pytest.raises(RuntimeError):
        copy(PATH, source(np.ones((1, 64, 64), "uint8")), ARRAY_NAME="w", APPEND_SUBDATASET="YES", CHUNK_SHAPE=16, SHARD_SHAPE=32)
    assert removed and s3.objects and not [name for name in s3.objects if name.endswith("zarr.json")]  # pixels of no store


def test_writing_fill_over_an_absent_chunk_does_not_remove_one_put_meanwhile(s3):
    s3.objects["bucket/a.zarr/zarr.json"] = b'{"zarr_format": 3, "node_type": "group"}'
    s3.objects["bucket/a.zarr/v/zarr.json"] = json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [64, 64], "data_type": "uint8", "fill_value": 0, "codecs": [{"name": "bytes"}],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16, 16]}}, "chunk_key_encoding": {"name": "default"}}).encode()
    for number in range(1, 9):
        s3.objects.pop("bucket/a.zarr/v/c/0/0", None)
        asked, ours = [], wrote(0, side=2)

        def fault(method, key, query):
            if key.endswith(("c/0/0", "bucket/")):
                asked.append(method)
                if len(asked) == number:
                    wrote(number, 4, 4, side=2).FlushCache()
        s3.fault = fault
        ours.FlushCache()
        ours = None
        s3.fault = lambda method, key, query: None
        gdal.VSICurlClearCache()
        assert len(asked) < number or gdal.OpenEx(NAME).ReadAsArray()[4, 4] == number, asked


def test_concurrent_text_writes_are_both_stored(s3):
    made()
    maker = gdal.OpenEx(PATH, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE, allowed_drivers=["ShardedZarr"])
    root = maker.GetRootGroup()
    texts = root.CreateMDArray("t", [root.CreateDimension("n", None, None, 8)], gdal.ExtendedDataType.CreateString(),
                              ["CHUNK_SHAPE=2", "SHARD_SHAPE=8"])
    texts.Write(list("abcdefgh"))
    del texts, root
    maker = None

    def write(at, text):
        gdal.VSICurlClearCache()
        dataset = gdal.OpenEx(PATH, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE, allowed_drivers=["ShardedZarr"])
        dataset.GetRootGroup().OpenMDArray("t").Write([text], array_start_idx=[at], count=[1])
    met = []
    for number in range(1, 6):  # before the first request for the object, the second, and so on
        asked = []

        def fault(method, key, query):
            if "/t/c/" in key:
                asked.append(method)
                if len(asked) == number:
                    met.append(method)
                    write(1, "other%d" % number)
        s3.fault = fault
        write(0, "ours%d" % number)
        s3.fault = lambda method, key, query: None
        gdal.VSICurlClearCache()
        array = gdal.OpenEx(PATH, gdal.OF_MULTIDIM_RASTER).GetRootGroup().OpenMDArray("t")
        assert array.Read()[:3] == ["ours%d" % number, "other%d" % len(met), "c"]
    assert set(met) == {"GET", "PUT"}, met


@pytest.mark.parametrize("at", ["/v/zarr.json", "a.zarr/zarr.json"])
def test_consolidated_metadata_have_the_last_document_of_two_writers(s3, meets, at):
    """The other comes before the document of the array is put, or between that and the root's: the root has what the array's own says."""
    made()
    ours = update()
    ours.SetMetadataItem("ours", "1")

    def other():
        theirs = update()
        theirs.SetMetadataItem("theirs", "2")
        theirs.FlushCache()
    done = meets(at, other)
    ours.FlushCache()
    ours = None
    assert done
    own, root = (json.loads(s3.objects["bucket/a.zarr/" + name]) for name in ("v/zarr.json", "zarr.json"))
    assert own["attributes"]["ours"] == "1" and own["attributes"]["theirs"] == "2"
    assert root["consolidated_metadata"]["metadata"]["v"]["attributes"] == own["attributes"]


def test_lost_answer_of_a_completed_put_is_no_failure(s3):
    made()
    lost = []

    def after(method, key):
        if method == "PUT" and len(lost) < 3:
            lost.append(key)
            return True
    s3.loses = after
    ours = update()
    ours.GetRasterBand(1).WriteArray(np.full((2, 2), 1, "uint8"), 0, 0)
    ours.SetMetadataItem("ours", "1")
    ours.FlushCache()
    ours = None
    s3.loses = lambda method, key: False
    assert len(lost) == 3  # the shard, and two documents
    assert stored()[0, 0] == 1 and gdal.OpenEx(NAME).GetMetadataItem("ours") == "1"


def test_endless_conflicts_are_an_error_that_keeps_pending_writes(s3):
    made()
    ours = update()
    ours.GetRasterBand(1).WriteArray(np.full((2, 2), 1, "uint8"), 0, 0)
    s3.fault = lambda method, key, query: 412 if method == "PUT" and key.endswith("c/0/0") else None
    refused = s3.objects["bucket/a.zarr/v/c/0/0"] if "bucket/a.zarr/v/c/0/0" in s3.objects else None
    assert "writing failed" in error_of(ours.FlushCache)  # nobody else was there: the server refuses for no reason
    assert s3.objects.get("bucket/a.zarr/v/c/0/0") == refused
    s3.fault = lambda method, key, query: None
    ours.FlushCache()
    ours = None
    assert stored()[0, 0] == 1


@pytest.mark.parametrize("times", [(0, 1, 2, 3, 4, 5, 0, 1), (0, 0, 8, 0, 0, 0, 0, 0), (0,) * 8], ids=["some", "one again and again", "none"])
def test_shards_that_are_replaced_while_they_are_read_are_read_again(s3, times):
    """Each of eight shards is replaced so many times between the reading of its index and that of its pixels."""
    path, versions = "/vsis3/bucket/replaced%d.zarr" % sum(times), []  # of which nothing is remembered
    for value in (1, 2):
        pixels = np.random.default_rng(value).integers(1, 200, (1, 1024, 8192)).astype("uint8")
        copy(path, source(pixels), ARRAY_NAME="v", CHUNK_SHAPE=256, SHARD_SHAPE=1024, COMPRESS="NONE", OVERVIEWS="NONE").FlushCache()
        versions.append((pixels[0], dict(s3.objects)))
    s3.objects.clear()
    s3.objects.update(versions[0][1])
    now, asked, replaced = [0] * 8, [0] * 8, []
    gdal.VSICurlClearCache()
    dataset = gdal.OpenEx('SHARDEDZARR:"%s":/v' % path, open_options=["MERGE_GAP=0"])

    def fault(method, key, query):
        if "/c/0/" not in key:
            return
        shard = int(key.rpartition("/")[2])
        asked[shard] += 1
        if asked[shard] % 2 == 0 and asked[shard] // 2 <= times[shard]:
            now[shard] = 1 - now[shard]
            replaced.append(shard)
            s3.objects[key] = versions[now[shard]][1][key]
    s3.fault = fault
    found = dataset.ReadAsArray(0, 256, 8192, 256)
    assert len(replaced) == sum(times)
    for shard in range(8):
        columns = slice(1024 * shard, 1024 * shard + 1024)
        assert_same(found[:, columns], versions[now[shard]][0][256:512, columns])
    assert sum(asked) <= 16 * (1 + max(times))


# ------------------------------------------------------------------------------------------------- conditions

@pytest.mark.parametrize("options", [{}, {"SHARD_SHAPE": 16}], ids=["shard", "chunk"])
@pytest.mark.parametrize("times", [1, 2])
def test_signed_urls_that_are_refused_for_a_moment_lose_nothing(s3, meets, options, times):
    """As those of credentials that end just then, which GDAL's own requests find anew."""
    made(**options)
    wrote(9, 8, 8, side=2).FlushCache()
    arranged, refused = meets("v/c/0/0", lambda: wrote(2, 4, 4, side=2).FlushCache()), []
    meet = s3.fault

    def fault(method, key, query):
        if "X-Amz-Signature" in query and len(refused) < times:
            refused.append(key)
            return 403
        return meet(method, key, query)
    s3.fault = fault
    gdal.VSICurlClearCache()
    ours = wrote(1, side=2)
    ours.SetMetadataItem("ours", "1")
    assert warnings_of(ours.FlushCache)[1] == []
    ours = None
    assert refused and arranged
    pixels = stored()
    assert pixels[0, 0] == 1 and pixels[4, 4] == 2 and gdal.OpenEx(NAME).GetMetadataItem("ours") == "1"


def test_a_proxy_that_compresses_hides_no_version(s3, meets):
    made()
    wrote(9, 40, 40).FlushCache()
    s3.compresses = True
    ours = wrote(1, side=2)
    ours.SetMetadataItem("ours", "1")

    def other():
        theirs = wrote(2, 4, 4, side=2)
        theirs.SetMetadataItem("theirs", "2")
        theirs.FlushCache()
    done = meets("v/zarr.json", other)
    assert warnings_of(ours.FlushCache)[1] == []
    ours = None
    assert done
    items = gdal.OpenEx(NAME).GetMetadata()
    assert (items.get("ours"), items.get("theirs")) == ("1", "2")


def test_versions_of_objects_that_were_sent_in_parts_are_expected_as_they_are(s3, monkeypatch):
    """Their ETags are no checksums: "abc-3"."""
    plain = objectstore.etag_of
    monkeypatch.setattr(objectstore, "etag_of", lambda data: plain(data)[:-1] + '-3"')
    made()
    ours, theirs = wrote(1, side=2), wrote(2, 2, 0, 2)
    ours.FlushCache()
    theirs.FlushCache()
    ours = theirs = None
    assert stored()[0, 0] == 1 and stored()[0, 2] == 2


def test_headers_of_the_user_go_beside_the_condition(s3, config, meets):
    made()
    wrote(9, 40, 40).FlushCache()
    config("GDAL_HTTP_HEADERS", "X-Ours: a,X-Other: b")
    seen = []
    s3.sees = lambda headers: seen.append([headers.get_all(name) for name in ("X-Ours", "X-Other", "If-Match")])
    ours = wrote(1, side=2)
    meets("v/c/0/0", lambda: wrote(2, 4, 4, side=2).FlushCache())
    assert warnings_of(ours.FlushCache)[1] == []
    ours = None
    assert len(seen) == 3 and all(mine == ["a"] and other == ["b"] and len(condition) == 1 for mine, other, condition in seen), seen
    pixels = stored()
    assert pixels[0, 0] == 1 and pixels[4, 4] == 2


@pytest.mark.parametrize("setting, option, is_sent", [("NO", None, False), ("YES", "NO", False), ("NO", "YES", True), (None, None, True)])
def test_conditions_are_sent_unless_the_configuration_or_before_it_the_open_option_says_no(s3, config, setting, option, is_sent):
    made()
    conditions = []
    s3.sees = lambda headers: conditions.append("If-Match" in headers or "If-None-Match" in headers)
    config("SHARDEDZARR_CONDITIONAL_PUT", setting)
    s3.log.clear()
    ours = update(*["CONDITIONAL_PUT=" + option] if option else [])
    ours.SetMetadataItem("k", "1")
    ours.FlushCache()
    ours = None
    assert conditions == [is_sent] * 3 and sum(method == "PUT" for method, _ in s3.log) == 3  # the journal first


# ------------------------------------------------------------------------------------------------- Google's

@pytest.fixture
def google(config):
    """A bucket of a server that knows Google's conditions and no others, /vsigs/bucket."""
    with GoogleStore() as store:
        for key, value in store.settings().items():
            config(key, value)
        gdal.VSICurlClearCache()
        yield store
    gdal.VSICurlClearCache()


@pytest.mark.parametrize("options", [{}, {"SHARD_SHAPE": 16}], ids=["shards", "chunks"])
def test_two_writers_of_a_store_of_google_lose_nothing_of_each_other(google, options):
    path = "/vsigs/bucket/%d.zarr" % len(options)
    name = 'SHARDEDZARR:"%s":/v' % path
    copy(path, source(np.zeros((1, 64, 64), "uint8")), ARRAY_NAME="v", CHUNK_SHAPE=16, **{"SHARD_SHAPE": 64, **options}).FlushCache()
    conditions = []
    google.sees = lambda headers: conditions.append([key.lower() for key in headers if "-match" in key.lower()])

    def write():
        gdal.VSICurlClearCache()
        sessions = [gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE) for _ in range(3)]
        for number, session in enumerate(sessions, 1):
            session.GetRasterBand(1).WriteArray(np.full((2, 2), number, "uint8"), 4 * number, 20)
            session.SetMetadataItem("k%d" % number, "1")
        for session in sessions + sessions:  # the second time over what they know of it
            session.FlushCache()
            session.GetRasterBand(1).WriteArray(np.full((1, 1), 9, "uint8"), 40, 40)
        del session
        sessions.clear()
    assert warnings_of(write)[1] == []
    assert conditions and all(condition == ["x-goog-if-generation-match"] for condition in conditions)
    gdal.VSICurlClearCache()
    dataset = gdal.OpenEx(name)
    pixels = dataset.ReadAsArray()
    assert [pixels[20, 4 * number] for number in (1, 2, 3)] == [1, 2, 3] and pixels[40, 40] == 9
    assert {"k1", "k2", "k3"} <= set(dataset.GetMetadata())


# ------------------------------------------------------------------------------------------------- many at once

def test_many_processes_lose_nothing_beside_kills_and_lost_answers(s3, tmp_path):
    counts = writers.run(s3.host, "bucket", processes=4, seconds=8, latency=0.005, lose=0.02, kill=2.5, seed=7, folder=str(tmp_path))
    assert counts["lost"] == [] and [line for line in counts["reader"] if line.startswith("back")] == [], counts
    assert counts["pixels"] > 20 and counts["conflicts"] > 0 and counts["killed"] > 0, counts
