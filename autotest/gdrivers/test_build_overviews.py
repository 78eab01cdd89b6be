"""BuildOverviews and gdaladdo: every level right to the last pixel, sharded as the base is, replaced and removed when asked for."""
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import BIG, array_meta, group_meta, plain_meta, random_values, sharding, transpose
from support import assert_same, error_of, name_of, open_array, open_ours, read_all, warnings_of
from writing import UTM, arrays, check_consolidated, copy, created, document, driver, files_of, shards, snapshot, source

RESAMPLINGS = ["NEAREST", "AVERAGE", "RMS", "BILINEAR", "CUBIC", "CUBICSPLINE", "LANCZOS", "GAUSS", "MODE"]


def build(path, how, *factors):
    dataset = gdal.OpenEx(str(path), gdal.OF_RASTER | gdal.OF_UPDATE)
    assert dataset.GetDriver().ShortName == "ShardedZarr"
    assert dataset.BuildOverviews(how, list(factors)) == 0
    return dataset


def levels(dataset, band=1):
    band = dataset.GetRasterBand(band)
    return [band.GetOverview(i).ReadAsArray() for i in range(band.GetOverviewCount())]


def gdals_own(array, how, *factors, nodata=None):
    """[level][band]: what GDAL makes of the raster itself, in memory."""
    reference = source(array, nodata=nodata)
    reference.BuildOverviews(how, list(factors))
    return list(zip(*(levels(reference, number) for number in range(1, reference.RasterCount + 1))))


def terrain(shape, data_type, seed=0):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:shape[-2], :shape[-1]]
    smooth = 100 + 50 * np.sin(x / 9) * np.cos(y / 7) + rng.normal(0, 5, shape)
    return np.broadcast_to(smooth, shape).astype(data_type)


def close(actual, *expected, rounding=1):
    """Equal to one of those: GDAL's level from the full resolution, or from its level before; integers may be rounded otherwise."""
    differences = []
    for wanted in expected:
        assert actual.shape == wanted.shape and actual.dtype == wanted.dtype
        difference = np.abs(actual.astype("float64") - wanted.astype("float64"))
        differences.append(difference.max() if actual.dtype.kind in "iu" else (difference / np.maximum(1, np.abs(wanted))).max() * 1e4)
    assert min(differences) <= rounding, differences


# ------------------------------------------------------------------------------------------------------------------ values

@pytest.mark.parametrize("how", RESAMPLINGS)
@pytest.mark.parametrize("data_type, shape", [("uint8", (1, 64, 96)), ("int16", (3, 67, 101)), ("float32", (2, 61, 33)), ("uint16", (1, 9, 130))])
def test_levels_equal_those_of_gdal(tmp_path, how, data_type, shape):
    array = terrain(shape, data_type)
    copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16, SHARD_SHAPE=32)
    build(tmp_path / "a.zarr", how, 2, 4)
    dataset = open_ours(str(tmp_path / "a.zarr"))
    second = gdals_own(np.stack(gdals_own(array, how, 2)[0]), how, 2)[0]
    for i, factor in enumerate((2, 4)):
        for band, alone in enumerate(gdals_own(array, how, factor)[0]):
            if i == 0 or how in ("NEAREST", "MODE"):
                close(levels(dataset, band + 1)[i], alone, rounding=int(how == "AVERAGE"))
            else:
                close(levels(dataset, band + 1)[i], alone, second[band])
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("how", ["NEAREST", "AVERAGE", "BILINEAR", "MODE", "CUBIC"])
@pytest.mark.parametrize("nodata", [0, 77])
def test_nodata_is_not_mixed_in(tmp_path, how, nodata):
    array = terrain((1, 67, 101), "uint8")
    array[np.random.default_rng(1).random(array.shape) < 0.3] = nodata
    array[:, :20, :40] = nodata
    copy(tmp_path / "a.zarr", source(array, nodata=nodata), CHUNK_SHAPE=16)
    dataset = build(tmp_path / "a.zarr", how, 2, 3)
    for i, factor in enumerate((2, 3)):
        close(levels(dataset)[i], gdals_own(array, how, factor, nodata=nodata)[0][0], rounding=0)
    assert dataset.GetRasterBand(1).GetOverview(0).GetNoDataValue() == nodata


def exact_mean(values, nodata, most):
    """Of Python's integers of any size, halves away from zero."""
    valid = [int(value) for value in values if nodata is None or int(value) != nodata]
    if not valid:
        return nodata
    quotient, rest = divmod(abs(sum(valid)), len(valid))
    mean = (quotient + (2 * rest >= len(valid))) * (-1 if sum(valid) < 0 else 1)
    return mean if mean != nodata else nodata + (-1 if nodata == most else 1)


@pytest.mark.parametrize("data_type, low, high, nodata", [
    ("int64", -2**63, 2**63, 2**53 + 1), ("int64", -2**63, 2**63, None), ("int64", -2**63, 2**63, -2**63), ("int64", -9, 9, 2**63 - 2),
    *[(name, *limits) for name, least, most in (("uint8", 0, 255), ("uint16", 0, 65535), ("int16", -32768, 32767)) for limits in (
        (least, most + 1, None), (least, most + 1, least), (least, most + 1, most), (max(least, -5), 6, 1), (max(least, -5), 6, 0), (most - 3, most + 1, most),
        (least, least + 3, least))],
    ("uint64", 0, 2**64, 2**64 - 2), ("uint64", 2**63, 2**63 + 9, 2**53 + 1), ("int32", -9, 9, -2**31 + 1), ("int32", -2**31, 2**31, 16777217)])
def test_averages_of_integers_are_exact_and_nodata_stays_nodata(tmp_path, data_type, low, high, nodata):
    rng = np.random.default_rng(5)
    array = rng.integers(low, high, (1, 64, 160), data_type)
    if nodata is not None:
        array[rng.random(array.shape) < 0.3] = nodata
        array[:, :4, :4] = nodata
    raster = source(array)
    if nodata is not None:
        raster.GetRasterBand(1).SetNoDataValue(nodata)
    copy(tmp_path / "a.zarr", raster, CHUNK_SHAPE=32)
    found = levels(build(tmp_path / "a.zarr", "AVERAGE", 2))[0]
    blocks = array.reshape(32, 2, 80, 2).swapaxes(1, 2).reshape(32, 80, 4)
    assert found.tolist() == [[exact_mean(block, nodata, np.iinfo(data_type).max) for block in row] for row in blocks]
    assert_same(levels(build(tmp_path / "a.zarr", "NEAREST", 2))[0], array[0, ::2, ::2])


@pytest.mark.parametrize("how", ["BILINEAR", "CUBIC", "MODE", "RMS"])
def test_a_resampling_that_would_change_nodata_is_refused(tmp_path, how):
    raster = source(np.full((1, 8, 8), 2**53 + 1, "int64"))
    raster.GetRasterBand(1).SetNoDataValue(2**53 + 1)
    copy(tmp_path / "a.zarr", raster, CHUNK_SHAPE=8)
    with pytest.raises(RuntimeError, match="expected NEAREST or AVERAGE"):
        build(tmp_path / "a.zarr", how, 2)
    assert open_ours(str(tmp_path / "a.zarr")).GetRasterBand(1).GetOverviewCount() == 0
    with pytest.raises(RuntimeError, match="b.zarr: overviews of integers.*expected NEAREST or AVERAGE"):
        driver().CreateCopy(str(tmp_path / "b.zarr"), raster, options=["OVERVIEWS=2", "RESAMPLING=" + how])
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.parametrize("data_type, values", [("int32", (20000001, -20000003)), ("uint32", (4000000001, 7)), ("float64", (1 / 3, 1e300)), ("uint64", (2**63 + 5, 3))])
def test_nearest_pixels_are_those_of_the_raster_to_the_last_digit(tmp_path, data_type, values):
    """GDAL before 3.10 takes them as floats."""
    array = np.array(values, data_type)[np.random.default_rng(0).integers(0, 2, (1, 64, 96))]
    expected = [array[0, ::step, ::step] for step in (2, 4, 8)]
    for size in (16, 15):  # chunks of 15 pixels have no cells of 2 x 2: levels are made of what is stored
        path = tmp_path / ("%d.zarr" % size)
        made = copy(path, source(array), CHUNK_SHAPE=size, OVERVIEWS="2,4,8", RESAMPLING="NEAREST")
        for dataset in (made, build(path, "NEAREST", 2, 4, 8)):
            assert all((level == wanted).all() for level, wanted in zip(levels(dataset), expected))


@pytest.mark.parametrize("data_type", ["complex64", "complex128"])
def test_overviews_of_complex_numbers_keep_both_parts(tmp_path, data_type):
    rng = np.random.default_rng(8)
    array = (rng.integers(-9, 9, (1, 8, 8)) + 1j * rng.integers(-9, 9, (1, 8, 8))).astype(data_type)
    copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=4)
    assert_same(levels(build(tmp_path / "a.zarr", "NEAREST", 2))[0], array[0, ::2, ::2])
    assert_same(levels(build(tmp_path / "a.zarr", "AVERAGE", 2))[0], array[0].reshape(4, 2, 4, 2).mean(axis=(1, 3)).astype(data_type))
    with pytest.raises(RuntimeError):
        build(tmp_path / "a.zarr", "BILINEAR", 2)


@pytest.mark.parametrize("factors", [(2,), (3,), (2, 4, 8, 16), (5, 7), (8, 2), (2, 3, 6, 9)], ids=str)
@pytest.mark.parametrize("size", [(64, 64), (67, 101), (1, 200), (200, 1), (17, 13)], ids=str)
def test_ragged_sizes_are_right_to_the_last_pixel(tmp_path, factors, size):
    array = random_values(np.random.default_rng(2), "uint8", (1,) + size)
    copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=8, SHARD_SHAPE=24)
    build(tmp_path / "a.zarr", "NEAREST", *factors)
    found = {level.shape: level for level in levels(open_ours(str(tmp_path / "a.zarr")))}
    for factor in factors:
        expected = gdals_own(array, "NEAREST", factor)[0][0]
        if expected.shape != size:
            assert found[expected.shape].any()
            if expected.any():  # in memory, GDAL leaves some very small levels empty
                assert_same(found[expected.shape], expected)


@pytest.mark.parametrize("codecs", [[sharding((1, 8, 8), BIG)], [sharding((2, 8, 16), BIG, location="start")],
                                    [transpose(2, 1, 0), sharding((8, 8, 2), BIG)], [sharding((2, 8, 8), sharding((1, 4, 4), BIG))]], ids=range(4))
def test_arrays_of_others_get_overviews_with_their_own_codecs(tmp_path, codecs):
    array = terrain((4, 67, 51), "uint16")
    path = oracle.write(tmp_path / "a.zarr", group_meta())
    meta = array_meta(array.shape, "uint16", [2, 16, 32], codecs, dimension_names=["time", "y", "x"])
    oracle.write(path + "/v", meta, array)
    build(name_of(path, "/v"), "AVERAGE", 2)
    dataset, expected = open_array(path, "/v"), gdals_own(array, "AVERAGE", 2)[0]
    for band in range(4):
        close(levels(dataset, band + 1)[0], expected[band], rounding=0)
    (name, level), = [(n, m) for n, m in arrays(path).items() if n != "v"]
    assert level["codecs"] == meta["codecs"] and level["dimension_names"] == ["time", "y_2x", "x_2x"]
    assert_same(oracle.read(path + "/" + name)[1], np.stack([levels(dataset, b + 1)[0] for b in range(4)]))


# ------------------------------------------------------------------------------------------------------------------- store

def test_overviews_built_again_show_changed_pixels(tmp_path):
    array = terrain((1, 64, 96), "uint8")
    copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16, OVERVIEWS="2,4", ARRAY_NAME="v")
    dataset = gdal.Open(str(tmp_path / "a.zarr"), gdal.GA_Update)
    dataset.GetRasterBand(1).WriteArray(255 - array[0])
    dataset.BuildOverviews("NEAREST", [2, 4])
    dataset = None
    again = open_ours(str(tmp_path / "a.zarr"))
    assert len(levels(again)) == 2
    for i, factor in enumerate((2, 4)):
        assert_same(levels(again)[i], gdals_own(255 - array, "NEAREST", factor)[0][0])
    layout = document(tmp_path / "a.zarr")["attributes"]["multiscales"]["layout"]
    assert [entry["asset"] for entry in layout] == ["v", "ovr_2x", "ovr_4x"]
    check_consolidated(tmp_path / "a.zarr")


def test_a_new_level_is_added_to_existing_levels(tmp_path):
    array = terrain((1, 64, 96), "uint8")
    copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16, OVERVIEWS="2", ARRAY_NAME="v")
    build(tmp_path / "a.zarr", "NEAREST", 8)
    again = open_ours(str(tmp_path / "a.zarr"))
    assert [level.shape for level in levels(again)] == [(32, 48), (8, 12)]
    layout = document(tmp_path / "a.zarr")["attributes"]["multiscales"]["layout"]
    assert [entry["asset"] for entry in layout] == ["v", "ovr_2x", "ovr_8x"]


def test_cleaning_removes_overviews_and_keeps_the_base(tmp_path):
    array = terrain((2, 64, 96), "uint8")
    copy(tmp_path / "a.zarr", source(array, UTM, "EPSG:32633"), CHUNK_SHAPE=16, ARRAY_NAME="v")
    before = {name: (tmp_path / "a.zarr" / name).read_bytes() for name in files_of(tmp_path / "a.zarr")}
    build(tmp_path / "a.zarr", "AVERAGE", 2, 4)
    dataset = gdal.Open(str(tmp_path / "a.zarr"), gdal.GA_Update)
    dataset.BuildOverviews("NONE", [])
    assert dataset.GetRasterBand(1).GetOverviewCount() == 0
    dataset = None
    assert files_of(tmp_path / "a.zarr") == sorted(before) and not os.path.exists(tmp_path / "a.zarr" / "ovr_2x")
    assert {n: (tmp_path / "a.zarr" / n).read_bytes() for n in before if "/c/" in n} == {n: b for n, b in before.items() if "/c/" in n}
    assert "multiscales" not in document(tmp_path / "a.zarr")["attributes"]
    assert_same(read_all(open_ours(str(tmp_path / "a.zarr"))), array)
    check_consolidated(tmp_path / "a.zarr")


def test_level_of_another_size_is_replaced(tmp_path):
    array = terrain((1, 65, 97), "uint8")
    path = copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16, ARRAY_NAME="v", OVERVIEWS="4") and str(tmp_path / "a.zarr")
    oracle.write(path + "/ovr_2x", group_meta())  # rounded down
    oracle.write(path + "/ovr_2x/v", {**document(path, "v"), "shape": [32, 48]}, array[0, :64:2, :96:2])
    oracle.consolidate(path)
    with pytest.raises(RuntimeError):
        gdal.Open(path, gdal.GA_Update).BuildOverviews("NEAREST", [2], callback=lambda done, text, data: 0)
    assert gdal.Open(path).GetRasterBand(1).GetOverviewCount() == 1  # nobody read the other
    build(path, "NEAREST", 2)
    assert [level.shape for level in levels(open_ours(path))] == [(33, 49), (17, 25)]
    assert [n for n in sorted(os.listdir(path)) if n.startswith("ovr")] == ["ovr_2x", "ovr_4x"]
    assert_same(levels(open_ours(path))[0], gdals_own(array, "NEAREST", 2)[0][0])
    check_consolidated(path)
    build(path, "AVERAGE", 2)
    gdal.Open(path, gdal.GA_Update).BuildOverviews("NONE", [])
    assert not [n for n in os.listdir(path) if n.startswith("ovr")]


TEXTS = {**plain_meta((4,), "uint8"), "data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]}


@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("name, meta", [("ovr_2x", TEXTS), ("ovr_2x/v", group_meta()), ("ovr_2x/v", TEXTS), ("ovr_2x/v", plain_meta((32, 48), "int16"))],
                         ids=["texts", "a group", "texts as level", "another type"])
def test_what_others_have_at_the_path_of_a_level_stays(tmp_path, name, meta, consolidated):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path + "/v", array_meta((64, 96), "uint8"), terrain((64, 96), "uint8"))
    if consolidated:  # whose metadata do not list it
        oracle.consolidate(path)
    oracle.put(path, {"ovr_2x/zarr.json": group_meta()})
    oracle.put(os.path.join(path, name), {"zarr.json": meta, "c/0/0": b"theirs"})
    before = snapshot(path)
    assert name in error_of(gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE).BuildOverviews, "NEAREST", [2])
    assert snapshot(path) == before


def test_others_of_a_group_stay_when_a_level_comes_to_it_and_when_it_goes(tmp_path):
    path = created(tmp_path / "a.zarr", terrain((1, 64, 96), "uint8"), CHUNK_SHAPE=16, ARRAY_NAME="v")
    oracle.put(path, {"ovr_2x/zarr.json": group_meta({"theirs": 1}), "ovr_2x/notes.txt": b"mine"})
    oracle.write(path + "/ovr_2x/b", array_meta((32, 48), "int16"), np.ones((32, 48), "int16"))
    before = snapshot(path + "/ovr_2x")
    build(path, "NEAREST", 2)
    found = snapshot(path + "/ovr_2x")
    assert {name: found[name] for name in before if name != "zarr.json"} == {k: v for k, v in before.items() if k != "zarr.json"}
    assert document(path, "ovr_2x")["attributes"]["theirs"] == 1 and len(levels(open_array(path, "/v"))) == 1
    gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE).BuildOverviews("NONE", [])
    found = snapshot(path + "/ovr_2x")
    assert {name: found[name] for name in before if name != "zarr.json"} == {k: v for k, v in before.items() if k != "zarr.json"}
    assert "v" not in found and document(path, "ovr_2x")["attributes"]["theirs"] == 1


def test_building_is_refused_read_only_and_for_unknown_resamplings(tmp_path):
    copy(tmp_path / "a.zarr", source(terrain((2, 64, 96), "uint8")), CHUNK_SHAPE=16, ARRAY_NAME="v")
    before = files_of(tmp_path / "a.zarr")
    read_only = open_array(str(tmp_path / "a.zarr"), "/v")
    assert "update" in error_of(read_only.BuildOverviews, "AVERAGE", [2])
    dataset = gdal.Open(str(tmp_path / "a.zarr"), gdal.GA_Update)
    assert error_of(dataset.BuildOverviews, "NONSENSE", [2])
    dataset = None
    assert files_of(tmp_path / "a.zarr") == before


def test_cancelled_building_keeps_the_former_overviews(tmp_path):
    array = terrain((2, 64, 96), "uint8")
    copy(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16, OVERVIEWS="2", ARRAY_NAME="v")
    before = files_of(tmp_path / "a.zarr")
    dataset = gdal.Open(str(tmp_path / "a.zarr"), gdal.GA_Update)
    with pytest.raises(RuntimeError):
        assert dataset.BuildOverviews("AVERAGE", [4, 8], callback=lambda done, text, data: int(done < 0.5)) == 0
    dataset = None
    after = files_of(tmp_path / "a.zarr")
    assert set(before) <= set(after) and all("/c/" in name for name in set(after) - set(before))
    again = open_ours(str(tmp_path / "a.zarr"))
    assert len(levels(again)) == 1


def test_no_overviews_are_made_of_pixels_that_could_not_be_written(tmp_path):
    """Before 3.7 flushing tells nobody that it failed: it was taken for done."""
    path = created(tmp_path / "a.zarr", np.zeros((1, 64, 64), "uint8"), CHUNK_SHAPE=16, SHARD_SHAPE=64, ARRAY_NAME="v")
    assert not shards(path, "v")  # zeros are not stored
    dataset = gdal.OpenEx(str(path), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.WriteArray(np.full((20, 20), 7, "uint8"))
    os.makedirs(os.path.join(str(path), "v", "c", "0", "0", "0", "in the way"))
    with pytest.raises(RuntimeError, match="c/0/0"):
        assert dataset.BuildOverviews("NEAREST", [2]) == 0
    assert not os.path.exists(os.path.join(str(path), "ovr_2x"))
    try:
        dataset = None
    except RuntimeError:
        pass  # it cannot be written then, either


def test_a_raster_of_one_pixel_gets_no_level(tmp_path):
    path = str(tmp_path / "a.zarr")
    copy(path, source(np.full((1, 1), 3, "uint8")))
    gdal.Open(path, gdal.GA_Update).BuildOverviews("NEAREST", [2, 4])
    dataset = open_ours(path)
    assert dataset.RasterCount == 1 and dataset.GetRasterBand(1).GetOverviewCount() == 0 and dataset.ReadAsArray().tolist() == [[3]]


@pytest.mark.parametrize("then, warns", [("pixels", True), ("nothing", False), ("metadata", False), ("overviews", False), ("one of them", True), ("a level", False), ("remove", False)])
def test_closing_a_raster_of_which_pixels_were_written_warns_of_old_overviews_once(tmp_path, then, warns):
    levels = "2,4" if then == "one of them" else "2"
    copy(tmp_path / "a.zarr", source(np.full((1, 128, 128), 7, "uint8")), CHUNK_SHAPE=32, OVERVIEWS=levels)
    held = [gdal.Open(str(tmp_path / "a.zarr"), gdal.GA_Update)]
    if then == "metadata":
        held[0].SetMetadataItem("a", "b")
    elif then != "nothing":
        held[0].GetRasterBand(1).Fill(9)
    if then in ("overviews", "one of them", "remove"):
        held[0].BuildOverviews("NEAREST", [] if then == "remove" else [2])
    if then == "a level":
        held[0].GetRasterBand(1).GetOverview(0).Fill(9)
    held[0].FlushCache()
    messages = warnings_of(held.clear)[1]
    assert [("gdaladdo" in m and "a.zarr" in m) for m in messages] == [True] * warns
