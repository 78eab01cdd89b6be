"""Chunk grids whose edges differ: rectilinear (zarr-extensions), and rectangular (ZEP 3)."""
import json
import re
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import BIG, GZIP, array_meta, counting, group_meta, random_chain, random_values, sharding
from support import as_raster, assert_pixels, assert_reads, error_of, held_band, need_zarr_python_34, open_array, random_window, read_all, run_peer
from test_update import update
from test_validate import assert_clean
from writing import document


STORES = 24  # of zarr-python


def rectilinear(*shapes):
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": list(shapes)}}


def rectangular(*shape):
    return {"name": "rectangular", "configuration": {"chunk_shape": list(shape)}}


def grid_meta(shape, grid, *codecs, data_type="uint16", **members):
    return array_meta(shape, data_type, codecs=list(codecs) or [BIG], chunk_grid=grid, **members)


def random_edges(rng, size, unit, exact):
    """One dimension in any of its forms, as multiples of `unit`: a length, lengths, runs of lengths; those beyond the array too."""
    if rng.random() < 0.2:
        return int(rng.integers(1, 5)) * unit
    entries, total = [], 0
    while total < size:
        edge, count = int(rng.integers(1, 6)) * unit, int(rng.integers(1, 4))
        if exact:
            edge, count = min(edge, size - total), 1
        entries.append([edge, count] if not exact and rng.random() < 0.4 else edge)
        total += edge * (count if isinstance(entries[-1], list) else 1)
    return entries + ([unit * 3, [unit, 2]] if not exact and rng.random() < 0.2 else [])


def random_grid_store(seed):
    """(zarr.json, values, layout), the same for the same seed: any chain of codecs behind any grid."""
    rng = np.random.default_rng(seed)
    data_type = str(rng.choice(["uint8", "int16", "uint32", "float32", "float64", "bool"]))
    ndim = int(rng.choice([1, 2, 2, 3]))
    shape = [int(rng.integers(1, {1: 40, 2: 24, 3: 9}[ndim])) for _ in range(ndim)]
    is_sharded, exact = bool(rng.random() < 0.6), bool(rng.random() < 0.2)
    unit = [int(rng.integers(1, 5)) if is_sharded and not exact else 1 for _ in shape]
    edges = [random_edges(rng, s, u, exact) for s, u in zip(shape, unit)]
    codecs = random_chain(rng, oracle.dtype_of(data_type), unit, int(rng.integers(0, 2)), is_sharded)
    meta = grid_meta(shape, (rectangular if exact else rectilinear)(*edges), *codecs, data_type=data_type)
    layout = oracle.Layout(order=str(rng.choice(["c", "random"])), leave_out_chunks=bool(rng.integers(2)),
                           leave_out_shards=bool(rng.integers(2)), beyond=str(rng.choice(["fill", "garbage"])), seed=seed)
    values = random_values(rng, data_type, shape)
    values[tuple(slice(0, int(rng.integers(0, s + 1))) for s in shape)] = oracle.fill_of(meta)
    return meta, values, layout


# --------------------------------------------------------------------------------------------------------------- reading

@pytest.mark.parametrize("seeds", range(0, 60, 20))
def test_random_grids_read_as_they_were_written(tmp_path, seeds):
    for seed in range(seeds, seeds + 20):
        meta, values, layout = random_grid_store(seed)
        path = tmp_path / str(seed)
        oracle.write(path, meta, values, layout)
        try:
            assert_reads(path, meta, values, seed)
        except (AssertionError, RuntimeError) as error:
            raise AssertionError("seed %d: %s: %s" % (seed, json.dumps(meta), error)) from error


@pytest.fixture(scope="module")
def of_zarr_python(tmp_path_factory):
    need_zarr_python_34()
    folder = tmp_path_factory.mktemp("grids")
    run_peer("zarr_python_grids.py", folder, 0, STORES)
    return folder


def test_random_grids_of_zarr_python_read_as_their_values(of_zarr_python):
    sharded = 0
    for seed in range(STORES):
        values = np.load(of_zarr_python / ("%d.npy" % seed))
        path = of_zarr_python / ("%d.zarr" % seed)
        assert_pixels(open_array(path), as_raster(values, str(values.dtype)), seed)
        meta = json.loads((path / "zarr.json").read_text())
        assert meta["chunk_grid"]["name"] == "rectilinear"
        sharded += oracle.sharding_of(meta["codecs"]) is not None
    assert 0 < sharded < STORES


def test_forms_of_the_same_edges_read_the_same(tmp_path):
    values = counting((6, 6)) + 1
    forms = [4, [4, 4], [[4, 2]], [4, 4, 4], [[4, 3]], [4, [4, 5]]]
    for i, form in enumerate(forms):
        meta = grid_meta((6, 6), rectilinear(form, [[1, 3], 3]))
        oracle.write(tmp_path / str(i), meta, values)
        assert sorted(p.name for p in (tmp_path / str(i) / "c").iterdir()) == ["0", "1"]
        assert_reads(tmp_path / str(i), meta, values)


def test_a_regular_grid_with_a_list_for_a_dimension_is_read_as_zarr_python_reads_it(tmp_path):
    values = counting((30, 40))
    meta = grid_meta((30, 40), rectilinear([10, 20], 15), sharding([5, 5]))
    oracle.write(tmp_path / "a", meta, values)
    listed = document(tmp_path / "a")
    listed["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [[10, 20], 15]}}
    oracle.put(tmp_path / "a", {"zarr.json": listed})
    assert_pixels(open_array(tmp_path / "a"), as_raster(values, "uint16"))
    listed["chunk_grid"]["configuration"]["chunk_shape"] = [[10, 10], 15]
    oracle.put(tmp_path / "a", {"zarr.json": listed})
    assert "chunk_shape[0]: expected lengths that add up to at least 30" in error_of(open_array, tmp_path / "a")


def test_chunks_of_nothing_are_read_where_the_dimension_is_empty(tmp_path):
    meta = array_meta((0, 40), "uint16", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 10]}}, codecs=[BIG])
    oracle.put(tmp_path / "s", {"zarr.json": group_meta(), "a/zarr.json": meta, "b/zarr.json": dict(meta, shape=[4, 40])})
    opened = gdal.OpenEx(str(tmp_path / "s"), gdal.OF_MULTIDIM_RASTER, allowed_drivers=["ShardedZarr"])
    root = opened.GetRootGroup()
    assert root.OpenMDArray("a").GetDimensions()[0].GetSize() == 0
    assert "chunk_shape[0]: expected an integer of 1" in error_of(open_array, tmp_path / "s", "/b")


# -------------------------------------------------------------------------------------------------------------- updating

@pytest.mark.parametrize("seeds", range(200, 230, 10))
def test_windows_written_into_random_grids_change_nothing_else(tmp_path, seeds):
    for seed in range(seeds, seeds + 10):
        meta, values, layout = random_grid_store(seed)
        if meta["data_type"] == "bool":
            continue
        path, rng = tmp_path / str(seed), np.random.default_rng(seed)
        oracle.write(path, meta, values, layout)
        expected = as_raster(values, meta["data_type"]).copy()
        dataset = update(path)
        for _ in range(4):
            x, y, w, h = random_window(rng, expected.shape[2], expected.shape[1])
            band = int(rng.integers(expected.shape[0]))
            new = random_values(rng, meta["data_type"], (h, w)).astype(expected.dtype)
            dataset.GetRasterBand(band + 1).WriteArray(new, x, y)
            expected[band, y:y + h, x:x + w] = new
            if rng.random() < 0.3:
                dataset.FlushCache()
        np.testing.assert_array_equal(read_all(dataset), expected, err_msg="seed %d, before the close" % seed)
        dataset = None
        found = as_raster(oracle.read(path)[1], meta["data_type"])
        np.testing.assert_array_equal(found, expected, err_msg="seed %d: %s" % (seed, json.dumps(meta)))
        assert json.loads((path / "zarr.json").read_text())["chunk_grid"] == meta["chunk_grid"]


def test_zarr_python_reads_what_was_updated(of_zarr_python, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(of_zarr_python, changed)
    for seed in range(STORES):
        values = np.load(changed / ("%d.npy" % seed))
        rows = as_raster(values, str(values.dtype)).copy()
        dataset = update(changed / ("%d.zarr" % seed))
        rows[:, rows.shape[1] // 2:, :] += 1
        dataset.WriteArray(rows if rows.shape[0] > 1 else rows[0])
        dataset = None
        np.save(changed / ("%d.npy" % seed), rows.reshape(values.shape))
    run_peer("zarr_python_grids_check.py", changed)


def test_overviews_are_those_of_a_regular_grid(tmp_path):
    values = counting((90, 70))
    oracle.write(tmp_path / "a/v", grid_meta(values.shape, rectilinear([40, 60], [[20, 2], 40]), sharding((10, 20), BIG, GZIP)), values)
    oracle.write(tmp_path / "plain/v", grid_meta(values.shape, rectilinear([40, 50], 30), BIG), values)
    oracle.write(tmp_path / "b/v", array_meta(values.shape, "uint16", (40, 40), [sharding((10, 20), BIG)]), values)
    levels = []
    for name in ("a", "plain", "b"):
        oracle.write(tmp_path / name, group_meta())
        dataset = update(tmp_path / name, "v")
        assert dataset.BuildOverviews("AVERAGE", [2, 4]) == 0
        dataset = None
        band = held_band(open_array(tmp_path / name, "v"))
        assert band.GetOverviewCount() == 2
        levels.append([band.GetOverview(i).ReadAsArray() for i in range(2)])
        assert_clean(tmp_path / name)
    for level in levels[:2]:
        for i in range(2):
            np.testing.assert_array_equal(level[i], levels[2][i])


# ---------------------------------------------------------------------------------------------------------------- hostile

HOSTILE = [
    (rectilinear(4), r"chunk_shapes: expected 2 entries.* found 1"),
    (rectilinear([4, 0], 4), r"chunk_shapes\[0\]\[1\]: expected an integer of 1 to .* found 0"),
    (rectilinear(4, [4, -2]), r"chunk_shapes\[1\]\[1\]: .* found -2"),
    (rectilinear(4, [4, 1.5]), r"chunk_shapes\[1\]\[1\]: .* found 1.5"),
    (rectilinear(4, [4, "x"]), r"chunk_shapes\[1\]\[1\]: .* found .x"),
    (rectilinear(4, None), r"chunk_shapes\[1\]: .* found null"),
    (rectilinear(4, []), r"chunk_shapes\[1\]: expected at least one length"),
    (rectilinear(4, [[4]]), r"chunk_shapes\[1\]\[0\]: expected a length, or a length and a count, found a list of 1"),
    (rectilinear(4, [[4, 0]]), r"chunk_shapes\[1\]\[0\]\[1\]: expected an integer of 1"),
    (rectilinear(4, [[[4, 2], 2]]), r"chunk_shapes\[1\]\[0\]\[0\]: expected an integer of 1"),
    (rectilinear([4, 5], 4), r"chunk_shapes\[0\]: expected lengths that add up to at least 10, .* found 9"),
    (rectilinear([[2**40, 2**40]], 4), r"chunk_shapes\[0\]\[0\]: .* fewer than 2\^64 elements"),
    (rectilinear([[2**63, 1], [2**63, 1]], 4), r"chunk_shapes\[0\]\[1\]: .* fewer than 2\^64 elements"),
    (rectilinear([2**62, 1], [2**62, 1]), r"chunk_grid: expected chunks of fewer than 2\^64 bytes"),
    (rectilinear([2**40, 1], 4), r"chunks of at most \d+ bytes"),
    ({"name": "rectilinear", "configuration": {"kind": "outline", "chunk_shapes": [4, 4]}}, r"kind: expected .inline., found .outline"),
    ({"name": "rectilinear", "configuration": {"chunk_shapes": [4, 4]}}, r"kind: expected .inline., found no such member"),
    ({"name": "rectilinear", "configuration": {"kind": "inline"}}, r"configuration.chunk_shapes, found no such member"),
    ("rectilinear", r"kind: expected"),
    (rectangular([4, 5], 4), r"chunk_shape\[0\]: expected lengths that add up to 10, .* found 9"),
    (rectangular([4, 7], 4), r"chunk_shape\[0\]: expected lengths that add up to 10, .* found 11"),
    (rectangular([[5, 2]], 4), r"chunk_shape\[0\]\[0\]: expected an integer"),
    ({"name": "hexagonal", "configuration": {}}, r"chunk_grid .hexagonal. is not supported"),
]


@pytest.mark.parametrize("grid,message", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_configuration_is_refused_by_its_member(tmp_path, grid, message):
    oracle.put(tmp_path / "a", {"zarr.json": grid_meta((10, 10), grid)})
    found = error_of(lambda: open_array(tmp_path / "a"))
    assert re.search(message, found), found


def test_shards_that_are_no_whole_chunks_are_refused(tmp_path):
    for shape, edge in [(4, 6), (3, 4)]:
        oracle.put(tmp_path / "a", {"zarr.json": grid_meta((10, 10), rectilinear([4, 6], 12), sharding((shape, 4), BIG))})
        found = error_of(lambda: open_array(tmp_path / "a"))
        assert re.search("sharding_indexed.*chunk_shape.*divisor.*%d.*%d|sharding_indexed.*chunk_shape.*divisor.*%d.*%d"
                         % (shape, edge, edge, shape), found), found


def test_a_run_of_2_to_the_40_chunks_beyond_the_array_costs_nothing(tmp_path):
    values = counting((3, 3)) + 1
    oracle.put(tmp_path / "a", {"zarr.json": grid_meta((3, 3), rectilinear([2, [1, 2**40]], 2)), "c/0/0": values[:2, :2].astype(">u2").tobytes()})
    np.testing.assert_array_equal(open_array(tmp_path / "a").ReadAsArray(0, 0, 2, 2), values[:2, :2])
    assert_clean(tmp_path / "a")
