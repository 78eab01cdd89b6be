"""zagg's stores of many leaves (morton-hive): one map, whose leaves are found from their numbers and never listed as a whole."""
import json
import os

import numpy as np
import oracle
import pytest
from osgeo import gdal

from stores import group_meta
from support import error_of, fixture_path, held_band, open_array, open_ours, subdatasets
from test_healpix import WGS84, face_cells, morton, plane_cells, put_values, to_raster
from writing import driver

STAMP = {"morton_hive_commit": {"spec": "morton-hive/1", "complete": True}}


def decimal(order, number):
    """(sign and base, digits) of a cell."""
    face = number >> 2 * order
    base = str(face + 1) if face < 6 else str(5 - face)
    return base, "".join(str((number >> 2 * i & 3) + 1) for i in range(order - 1, -1, -1))


def leaf_of(order, number, version=1, grouping=1, name=None):
    base, digits = decimal(order, number)
    parts = [base] + [digits[i:i + grouping] for i in range(0, order, grouping)]
    return "/".join(parts + [name or ("all.zarr" if version == 3 else base + digits + ".zarr")])


def put_leaf(root, path, order, cells, arrays, stamp=STAMP):
    oracle.put(root, {path + "/zarr.json": group_meta(stamp), "%s/%d/zarr.json" % (path, order): group_meta({"dggs": {
        "name": "morton", "refinement_level": order, "spatial_dimension": "cells", "ellipsoid": WGS84, "compression": "none", "coordinate": "morton",
        "latitude": "authalic-wgs84"}})})
    for name, values in {"morton": morton(order, cells), **arrays}.items():
        put_values("%s/%s/%d/%s" % (root, path, order, name), values, chunk=min(len(values), 4), shard=len(values))


def put_hive(path, order=4, shard=2, leaves=None, version=1, grouping=1, pyramid=None, **manifest):
    """A hive whose values are their cells; returns (root, the values of all cells, -1 where no leaf is)."""
    root = str(path)
    os.makedirs(root, exist_ok=True)
    said = {"spec": "morton-hive/%d" % version, "cell_order": order, "shard_order": shard, "path_grouping": grouping, "pyramid": pyramid, **manifest}
    with open(root + "/morton_hive.json", "w") as file:
        json.dump({name: value for name, value in said.items() if value is not None}, file)
    values, n = np.full(12 * 4**min(order, 10), -1, "int64"), 4**(order - shard)
    for number in range(12 * 4**shard) if leaves is None else leaves:
        cells = np.arange(n) + number * n
        values[cells] = cells
        put_leaf(root, leaf_of(shard, number, version, grouping), order, cells, {"v": cells.astype("int64")})
    return root, values


def same(dataset, values, order):
    assert np.array_equal(dataset.ReadAsArray(), to_raster(values, order, -1))


@pytest.mark.parametrize("version, grouping, order, shard", [(1, 1, 4, 2), (1, 2, 5, 3), (2, 3, 3, 2), (3, 1, 3, 3), (3, 2, 2, 0), (1, 24, 4, 3)])
def test_all_shards_of_a_hive_are_one_map(tmp_path, version, grouping, order, shard):
    root, values = put_hive(tmp_path / "h", order, shard, version=version, grouping=grouping)
    dataset = open_ours(root)
    assert (dataset.RasterXSize, held_band(dataset).GetNoDataValue()) == (5 << order, -1)
    same(dataset, values, order)
    assert dataset.GetFileList() == [root + "/morton_hive.json"]
    same(open_ours(root + "/morton_hive.json"), values, order)
    same(open_array(root, "/%d/v" % order), values, order)


@pytest.mark.parametrize("seed", range(4))
def test_absent_hive_shards_are_nodata(tmp_path, seed):
    rng = np.random.default_rng(seed)
    leaves = sorted(rng.permutation(12 * 4**2)[:rng.integers(1, 40)].tolist())
    root, values = put_hive(tmp_path / "h", 4, 2, leaves)
    same(open_ours(root), values, 4)
    for _ in range(20):
        x, y = rng.integers(0, 79, 2).tolist()
        width, height = int(rng.integers(1, 81 - x)), int(rng.integers(1, 81 - y))
        assert np.array_equal(open_ours(root).ReadAsArray(x, y, width, height), to_raster(values, 4, -1)[y:y + height, x:x + width])


def test_hive_shards_without_a_stamp_are_unfinished(tmp_path):
    root, values = put_hive(tmp_path / "h", 3, 1, [0, 7, 40])
    first, last = leaf_of(1, 0), leaf_of(1, 40)
    oracle.put(root, {first + "/zarr.json": group_meta(), last + "/zarr.json": group_meta({"other": 1})})
    values[:16] = values[40 * 16:41 * 16] = -1
    same(open_ours(root), values, 3)  # and the document is that of another leaf
    oracle.put(root, {leaf_of(1, 7) + "/zarr.json": group_meta()})
    assert "finished leaf" in error_of(open_ours, root)


@pytest.mark.parametrize("name", ["zarr.json", "3/v/c/0"])
def test_hive_object_that_cannot_be_read_is_an_error_and_not_absent(tmp_path, name):
    root, _ = put_hive(tmp_path / "h", 3, 1, [0, 7])
    name = os.path.join(root, leaf_of(1, 7), name)
    os.remove(name)
    os.symlink(name, name)  # leads nowhere, which is not the same as not being there
    assert leaf_of(1, 7) in error_of(open_ours(root).ReadAsArray)


@pytest.mark.parametrize("member, value", [
    ("data_type", "uint64"), ("fill_value", 7), ("codecs", [{"name": "bytes", "configuration": {"endian": "big"}}]), ("shape", [32]),
    ("storage_transformers", [{"name": "other"}]), ("attributes", {"scale_factor": 0.5}), ("attributes", {"_FillValue": 3})])
def test_hive_shard_with_a_differing_array_is_an_error(tmp_path, member, value):
    """They would be decoded as those of the first leaf are."""
    root, values = put_hive(tmp_path / "h", 3, 1, [0, 7, 40])
    name = "%s/%s/3/v/zarr.json" % (root, leaf_of(1, 7))
    with open(name) as file:
        document = json.load(file)
    with open(name, "w") as file:
        json.dump({**document, member: value}, file)
    dataset = open_ours(root)
    message = error_of(dataset.ReadAsArray)
    assert leaf_of(1, 7) + "/3/v/zarr.json" in message and '"%s"' % next(iter(value if member == "attributes" else [member])) in message
    face = held_band(open_array(root, "/3/v:face=10"))  # where no part of it lies
    assert np.array_equal(np.sort(face.ReadAsArray(), axis=None), np.sort(values[10 * 64:11 * 64]))


def test_hive_shard_documents_are_compared_by_meaning(tmp_path):
    """By another version of a library: members in another order, empty or left out, attributes that tell of a leaf."""
    root, values = put_hive(tmp_path / "h", 3, 1, [0, 7])
    name = "%s/%s/3/v/zarr.json" % (root, leaf_of(1, 7))
    with open(name) as file:
        document = json.load(file)
    assert not document.pop("attributes", None)

    def turned(value):
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    with open(name, "w") as file:
        json.dump({"attributes": {"granules": 3}, "storage_transformers": [], **turned(document)}, file)
    same(open_ours(root), values, 3)


def test_hive_shard_without_the_array_is_nodata(tmp_path):
    root, values = put_hive(tmp_path / "h", 3, 1, [0, 7])
    os.remove("%s/%s/3/v/zarr.json" % (root, leaf_of(1, 7)))
    values[7 * 16:8 * 16] = -1
    same(open_ours(root), values, 3)


def test_coarser_orders_are_overviews(tmp_path):
    pyramid = {"spec": "zagg-pyramid/2", "overviews": [{"node": 2, "cells": [3]}, {"node": 1, "cells": [2]}, {"node": 0, "cells": [1]}, {"node": 0, "cells": [7]}, 3]}
    root, values = put_hive(tmp_path / "h", 4, 2, pyramid=pyramid)
    for node, order in ((2, 3), (1, 2)):
        for number in range(12 * 4**node):
            if number == 5:
                continue
            cells = np.arange(4**(order - node)) + number * 4**(order - node)
            put_leaf(root, leaf_of(node, number, name="all.pyramid.zarr"), order, cells, {"v": (cells + 1000).astype("int64")})
    dataset = open_ours(root)
    band = held_band(dataset)
    assert [band.GetOverview(i).XSize for i in range(band.GetOverviewCount())] == [40, 20]
    same(dataset, values, 4)
    for i, (node, order) in enumerate(((2, 3), (1, 2))):
        coarse = np.arange(12 * 4**order) + 1000
        coarse[5 * 4**(order - node):6 * 4**(order - node)] = -1
        assert np.array_equal(band.GetOverview(i).ReadAsArray(), to_raster(coarse, order, -1))


def test_arrays_of_other_shapes_and_kinds(tmp_path):
    """Several arrays are bands of their group, and listed where they are of two kinds; times before the cells, which differ between leaves, are
    left out."""
    root, values = put_hive(tmp_path / "h", 3, 1, [3])
    for name, array in (("w", np.arange(16, dtype="float32")), ("times", np.arange(32, dtype="int16").reshape(2, 16))):
        put_values("%s/%s/3/%s" % (root, leaf_of(1, 3), name), array)
    assert list(subdatasets(open_ours(root))) == ["/3/v", "/3/w"]
    dataset = open_array(root, "/3")
    assert [dataset.GetRasterBand(i + 1).GetDescription() for i in range(dataset.RasterCount)] == ["v", "w"]
    expected = np.full(12 * 64, np.nan, "float32")
    expected[48:64] = np.arange(16)
    assert np.array_equal(open_array(root, "/3/w").ReadAsArray(), to_raster(expected, 3, np.nan), equal_nan=True)


@pytest.mark.parametrize("manifest, message", [
    ({"temporal": {"schedule": "yearly"}}, "time windows"), ({"cell_order": 1}, "cell_order"), ({"shard_order": 99}, "shard_order"),
    ({"path_grouping": 0}, "path_grouping"), ({"spec": "morton-hive/4"}, "morton-hive/1 to 3"), ({"spec": 7}, "morton-hive/1 to 3")])
def test_manifests_that_are_not_understood_say_why(tmp_path, manifest, message):
    root, _ = put_hive(tmp_path / "h", 3, 2, [0], **manifest)
    assert message in error_of(open_ours, root)


def test_an_array_that_is_asked_for_without_its_order_is_named_with_it(tmp_path):
    root, _ = put_hive(tmp_path / "h", 3, 1, [3])
    message = error_of(lambda: gdal.Open('SHARDEDZARR:"%s":/v' % root))
    assert '"v"; they list "3/v"' in message


def test_hive_is_read_only(tmp_path):
    root, values = put_hive(tmp_path / "h", 3, 1, [3])
    assert "only read" in error_of(gdal.OpenEx, root, gdal.OF_RASTER | gdal.OF_UPDATE)
    before = sorted(os.walk(root))
    with pytest.raises(RuntimeError):
        driver().Create(root, 4, 4)
    with pytest.raises(RuntimeError):
        driver().CreateCopy(root, open_ours(root))
    assert sorted(os.walk(root)) == before
    driver().CreateCopy(str(tmp_path / "copy.zarr"), open_ours(root), options=["HEALPIX=3"])
    same(open_ours(str(tmp_path / "copy.zarr")), values, 3)


def test_hive_of_a_fine_order_opens_fast_and_windows_read_only_their_shards(tmp_path):
    """Order 19: 3 x 10^12 cells, of which one leaf is there."""
    number = 5 * 4**17 + 4**16
    root, _ = put_hive(tmp_path / "h", 19, 17, [])
    put_leaf(root, leaf_of(17, number), 19, number * 16 + np.arange(16), {"v": np.arange(16)})
    dataset = open_ours(root)
    assert dataset.RasterXSize == 5 << 19
    face = held_band(open_array(root, "/19/v:face=5"))
    pixels = face.ReadAsArray((1 << 18) - 2, (1 << 19) - 6, 8, 6)  # 4^16 is 2^16 nodes to the east, of 4 cells each
    expected = np.full((6, 8), -1)
    expected[2:, 2:6] = face_cells(2, 0)
    assert np.array_equal(pixels, expected)


@pytest.mark.parametrize("name", ["minimal", "column", "flux", "temporal", "kitchen_sink"])
def test_hives_written_by_zagg_read_as_expected(name):
    root = fixture_path("zagg", name)
    with open(fixture_path("zagg", name + ".expected.json")) as file:
        expected = json.load(file)
    pixels = open_array(root, "/6/count").ReadAsArray()
    by_cell = {((int(c["morton"]) >> 60) - 1) * 4**6 + ((int(c["morton"]) >> 6 & (1 << 54) - 1) >> 2 * 21): c["count"] for c in expected["cells"]}
    assert by_cell and {k: int(pixels[plane_cells(6) == k][0]) for k in by_cell} == by_cell
    assert not pixels[~np.isin(plane_cells(6), list(by_cell))].any()
    band = held_band(open_array(root, "/6/count"))
    assert band.GetOverview(0).XSize == 5 << 5 and band.GetOverview(0).ReadAsArray().sum() > 0


def test_hive_shards_with_differing_times_open_one_by_one():
    root = fixture_path("zagg", "raster_toc")
    leaf = "SHARDEDZARR:%s/1/1/2/1/3/11213.zarr" % root
    assert leaf in error_of(open_ours, root)
    with open(fixture_path("zagg", "raster_toc.expected.json")) as file:
        expected = json.load(file)
    pixels = open_array("%s/1/1/2/1/3/11213.zarr" % root, "/6/red").ReadAsArray()
    numbers = [((int(w) >> 60) - 1) * 4**6 + ((int(w) >> 6 & (1 << 54) - 1) >> 2 * 21) for w in expected["morton"]]
    for time, values in enumerate(expected["bands"]["red"]):
        assert [int(pixels[time][plane_cells(6) == n][0]) for n in numbers] == values


def test_a_hive_over_http_asks_for_what_a_window_needs(tmp_path, server):
    root, values = put_hive(tmp_path / "h.zarr", 4, 2, [0, 1, 2, 100])
    assert "list" in error_of(open_ours, "SHARDEDZARR:" + server.vsi("h.zarr")).lower()
