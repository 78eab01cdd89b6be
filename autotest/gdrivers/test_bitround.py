"""What is stored of a value: BITROUND, and arrays of other writers whose chunks are cast to integers."""
import numpy as np
import pytest
from osgeo import gdal

import oracle
from support import ask_peer, error_of, open_ours
from writing import UTM, change_document, copy, document, driver, pairs, source


def test_only_what_integers_of_other_writers_hold_is_set_as_nodata(tmp_path):
    path = tmp_path / "a.zarr"
    driver().Create(str(path), 3, 1, 1, gdal.GDT_Float32, pairs({"OVERVIEWS": "NONE", "CHUNK_SHAPE": "3"}))
    meta = document(path, "a")
    inner = oracle.sharding_of(meta["codecs"])
    inner["codecs"].insert(0, {"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": "clamp"}})
    change_document(path, "a", codecs=meta["codecs"])
    change_document(path, consolidated_metadata=None)
    dataset = gdal.OpenEx(str(path), gdal.OF_UPDATE)
    dataset.WriteArray(np.array([[300, -1, 7]], "float32"))
    assert "nodata value -9999 is stored as another one" in error_of(dataset.GetRasterBand(1).SetNoDataValue, -9999)
    assert dataset.GetRasterBand(1).GetNoDataValue() is None and dataset.GetRasterBand(1).SetNoDataValue(7) == 0
    dataset = None
    assert open_ours(str(path)).ReadAsArray().tolist() == [[255, 0, 7]]


@pytest.mark.parametrize("data_type, digits", [("uint16", "5"), ("float32", "24"), ("float32", "0")])
def test_bitround_that_a_type_does_not_have_is_refused(tmp_path, data_type, digits):
    assert "BITROUND: expected" in error_of(copy, tmp_path / "a.zarr", source(np.ones((4, 6), data_type)), BITROUND=digits)
    assert not (tmp_path / "a.zarr").exists()


def rounded(values, keepbits):
    bits = values.view("uint32")
    cut = 23 - keepbits
    return values if cut == 0 else ((bits + ((1 << cut - 1) - 1) + (bits >> cut & 1)) >> cut << cut).view("float32")


def test_bitround_keeps_that_many_digits_for_others_too(tmp_path):
    values = np.random.default_rng(3).normal(280, 9, (1, 100, 100)).astype("float32")
    size = {}
    for keep in (7, 23):
        path = tmp_path / ("k%d.zarr" % keep)
        dataset = copy(path, source(values, UTM, "EPSG:32633"), BITROUND=str(keep), OVERVIEWS="2")
        np.testing.assert_array_equal(dataset.ReadAsArray(), rounded(values, keep)[0])
        for node in ([path.stem], ["ovr_2x", path.stem]):
            assert oracle.sharding_of(document(path, *node)["codecs"])["codecs"][0] == {
                "name": "numcodecs.bitround", "configuration": {"keepbits": keep}}
        size[keep] = sum(f.stat().st_size for f in (path / path.stem / "c").rglob("*") if f.is_file())
    assert size[7] < 0.6 * size[23]
    (found,) = ask_peer("zarr", tmp_path, [("k7.zarr", "k7")])
    np.testing.assert_array_equal(found["values"][-1], rounded(values, 7)[0])
