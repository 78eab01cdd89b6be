"""GDAL's thread-safe datasets: many threads read one dataset, each through a clone of it, and share what can be shared."""
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta, random_values, sharding, spatial_proj, write_coordinate
from support import GDAL, assert_same, error_of, name_of, random_window
from test_overviews import entry, multiscales

pytestmark = pytest.mark.skipif(GDAL < 3100000, reason="GDAL has thread-safe datasets since 3.10")

THREADS = 8
SHAPE, SHARD, CHUNK = (3, 96, 128), (1, 48, 64), (1, 16, 16)
VALUES = random_values(np.random.default_rng(7), "uint16", SHAPE)
SMALL = VALUES[:, ::2, ::2] + 1


def write_pyramid(path, consolidated=False):
    """/a/v with an overview /b/v, both with coordinates: what is known of them is spread over many documents."""
    oracle.write(path, group_meta(multiscales(entry("a"), entry("b", "a"))))
    for group, values in (("a", VALUES), ("b", SMALL)):
        n = values.shape
        oracle.write(path / group, group_meta({"title": "of " + group, **spatial_proj(code="EPSG:32632")}))
        attributes = {"units": "K", "_FillValue": 0, "standard_name": "air_temperature"}
        oracle.write(path / group / "v", array_meta(n, "uint16", SHARD, [sharding(CHUNK)], dimension_names=["time", "y", "x"],
                                                    attributes=attributes), values)
        write_coordinate(path / group, "time", np.arange(3), {"units": "days since 2024-05-01", "standard_name": "time"})
        write_coordinate(path / group, "y", 5000 - np.arange(n[1]) * 20.0, {"standard_name": "projection_y_coordinate"})
        write_coordinate(path / group, "x", np.arange(n[2]) * 20.0, {"standard_name": "projection_x_coordinate"})
    if consolidated:
        oracle.consolidate(path)


def open_thread_safe(path, *array, options=()):
    dataset = gdal.OpenEx(name_of(path, *array), gdal.OF_RASTER | gdal.OF_THREAD_SAFE, open_options=list(options))
    assert dataset.IsThreadSafe(gdal.OF_RASTER)
    return dataset


def in_threads(action, count=THREADS):
    """What action(0), action(1), ... return, begun at the same time in threads of their own, whose clones end with them."""
    begin = threading.Barrier(count)

    def run(number):
        begin.wait()
        return action(number)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def assert_windows(dataset, values, seed, windows=12):
    """Windows that begin and end anywhere equal (bands, rows, columns)."""
    rng = np.random.default_rng(seed)
    for _ in range(windows):
        x, y, w, h = random_window(rng, dataset.RasterXSize, dataset.RasterYSize)
        band = int(rng.integers(len(values)))
        assert_same(dataset.GetRasterBand(band + 1).ReadAsArray(x, y, w, h), values[band, y:y + h, x:x + w], [x, y, w, h])
        pixels = dataset.ReadAsArray(x, y, w, h)
        assert_same(pixels.reshape((-1, h, w)), values[:, y:y + h, x:x + w], [x, y, w, h])


def known_of(dataset):
    """What a dataset says of its pixels, but for the names of bands, which GDAL does not ask its clones for."""
    bands = [dataset.GetRasterBand(b + 1) for b in range(dataset.RasterCount)]
    return (dataset.GetGeoTransform(), dataset.GetSpatialRef().ExportToWkt(), dataset.GetMetadata(), dataset.GetDescription(),
            dataset.GetDriver().ShortName, dataset.GetFileList(),
            [(b.GetNoDataValue(), b.GetUnitType(), b.GetScale(), b.GetMetadata(), b.GetColorInterpretation(), b.GetMaskFlags(),
              b.GetBlockSize(), [(o.XSize, o.YSize, o.GetNoDataValue(), o.GetMetadata()) for o in map(b.GetOverview, range(b.GetOverviewCount()))])
             for b in bands])


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("cache", ["0", "64"])
def test_windows_are_the_same_in_every_thread(tmp_path, threads, cache):
    write_pyramid(tmp_path)
    dataset = open_thread_safe(tmp_path, "/a/v", options=["NUM_THREADS=" + threads, "CACHE_SIZE=" + cache])
    in_threads(lambda seed: assert_windows(dataset, VALUES, seed))


def test_overviews_and_masks_are_the_same_in_every_thread(tmp_path):
    write_pyramid(tmp_path)
    dataset = open_thread_safe(tmp_path, "/a/v")

    def read(number):
        band = dataset.GetRasterBand(number % 3 + 1)
        assert_same(band.GetOverview(0).ReadAsArray(), SMALL[number % 3])
        assert_same(band.ReadAsArray(buf_xsize=64, buf_ysize=48), SMALL[number % 3])
        np.testing.assert_array_equal(band.GetMaskBand().ReadAsArray(), (VALUES[number % 3] != 0) * 255)
        np.testing.assert_array_equal(band.GetOverview(0).GetMaskBand().ReadAsArray(), (SMALL[number % 3] != 0) * 255)
        return gdal.Translate("", dataset, format="MEM", width=50, resampleAlg="cubic").ReadAsArray().tobytes()
    assert len(set(in_threads(read))) == 1


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("options", [[], ["MERGE_GAP=0"]], ids=["whole", "ranges"])
def test_all_threads_together_request_each_object_once(tmp_path, server, consolidated, options):
    write_pyramid(tmp_path / "s.zarr", consolidated)
    dataset = open_thread_safe(server.vsi("s.zarr"), "/a/v", options=options)
    server.latency = 0.02  # so that they all ask before the first is answered

    def read(seed):
        known_of(dataset)
        assert_same(dataset.ReadAsArray(), VALUES)
        assert_windows(dataset, VALUES, seed)
        assert_same(dataset.GetRasterBand(1).GetOverview(0).ReadAsArray(), SMALL[0])
    in_threads(read)
    asked = [(request.path, request.range) for request in server.log]
    assert {path for path, _ in asked if "/a/v/c/" in path} == {"s.zarr/a/v/c/%d/%d/%d" % i for i in np.ndindex(3, 2, 2)}
    whole = [path for path, bytes_ in asked if "/v/c/" in path and bytes_ is None]
    indexes = [path for path, bytes_ in asked if "/v/c/" in path and bytes_ is not None and bytes_.startswith("bytes=-")]
    assert len(whole) == len(set(whole)) and len(indexes) == len(set(indexes))
    assert len(indexes) > 0 if options else len(whole) == 12 + 1
    assert len([1 for path, _ in asked if path.endswith("zarr.json")]) == len({path for path, _ in asked if path.endswith("zarr.json")})
    coordinates = [request for request in asked if "/v/" not in request[0] and "/c/" in request[0]]
    assert len(coordinates) == len(set(coordinates))


def test_error_is_raised_in_every_thread(tmp_path):
    write_pyramid(tmp_path)
    (tmp_path / "a/v/c/0/0/0").write_bytes(b"spoilt")
    dataset = open_thread_safe(tmp_path, "/a/v")
    assert all("c/0/0/0" in message for message in in_threads(lambda _: error_of(dataset.GetRasterBand(1).ReadAsArray)))
    in_threads(lambda _: assert_same(dataset.GetRasterBand(2).ReadAsArray(), VALUES[1]))


def test_in_update_mode_threads_read_what_is_stored(tmp_path):
    """They have datasets of their own then, as of any other driver: what is being written is nobody else's."""
    oracle.write(tmp_path, array_meta((32, 32), "uint16", (16, 16), [sharding((8, 8))]), counting((32, 32)))
    writer = gdal.OpenEx(name_of(tmp_path), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset = writer.GetThreadSafeDataset(gdal.OF_RASTER)
    writer.GetRasterBand(1).WriteArray(counting((32, 32)) + 1)
    writer.FlushCache()
    in_threads(lambda _: assert_same(dataset.GetRasterBand(1).ReadAsArray(), counting((32, 32)) + 1))
