"""Data types that numpy and GDAL do not have, and packed bits, as others write them; and types that are refused by name."""
import json
import re
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
import stores
from stores import LITTLE, codec
from support import error_of, name_of, open_ours, run_peer, warnings_of


def read(path):
    return open_ours(name_of(str(path))).ReadAsArray()


def update(path, values, x=0, y=0):
    dataset = gdal.OpenEx(name_of(str(path)), gdal.OF_UPDATE)
    dataset.WriteArray(values, x, y)
    dataset.FlushCache()


@pytest.fixture(scope="module")
def bfloats(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bfloats")
    run_peer("bfloat16.py", "write", folder)
    return folder


def test_every_bfloat16_reads_as_ml_dtypes_and_tensorstore_have_it(bfloats):
    names = sorted(bfloats.glob("*.npy"))
    assert len(names) == 3
    for name in names:
        found = read(name.with_suffix(".zarr"))
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found.astype("float64"), np.load(name), err_msg=name.stem)


def test_bfloat16_is_updated_and_tensorstore_reads_it(bfloats, tmp_path):
    shutil.copytree(bfloats / "ts.zarr", tmp_path / "ts.zarr")
    values = read(tmp_path / "ts.zarr")
    values[3:7, 2:9] = values[10:14, 6:13]
    update(tmp_path / "ts.zarr", values[3:7, 2:9], 2, 3)
    run_peer("bfloat16.py", "read", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "ts.now.npy"), values.astype("float64"))


def bfloat_meta(codecs, data_type="bfloat16", shape=(8, 12)):
    return {**stores.array_meta(shape, "uint8", shape, codecs), "data_type": data_type, "fill_value": 1}


def test_values_that_bfloat16_lacks_are_refused(tmp_path):
    oracle.put(str(tmp_path), {"zarr.json": bfloat_meta([stores.sharding([4, 6])])})
    update(tmp_path, np.full((2, 2), 1))
    opened = [gdal.OpenEx(name_of(str(tmp_path)), gdal.OF_UPDATE)]
    opened[0].WriteArray(np.full((1, 1), 3.4e38, "float32"))
    gdal.DontUseExceptions()  # one would keep the dataset for the garbage collector, which is no place to fail
    try:
        for action in (lambda: opened[0].FlushCache(), opened.clear):  # and closed
            assert "has no value in bfloat16" in "".join(warnings_of(action)[1])
    finally:
        gdal.UseExceptions()


def test_overviews_have_the_bfloat16_of_their_base(tmp_path):
    oracle.put(str(tmp_path), {"zarr.json": stores.group_meta(), "a/zarr.json": bfloat_meta([stores.sharding([4, 6], codec("packbits"))])})
    dataset = gdal.OpenEx(name_of(str(tmp_path), "/a"), gdal.OF_UPDATE)
    dataset.WriteArray(np.full((8, 12), 13, "uint8"))
    dataset.BuildOverviews("AVERAGE", [2])
    dataset = None
    dataset = gdal.OpenEx(name_of(str(tmp_path), "/a"))
    np.testing.assert_array_equal(dataset.GetRasterBand(1).GetOverview(0).ReadAsArray(), np.full((4, 6), 13))


# ------------------------------------------------------------------------------------------------------------ packbits

def test_packed_bits_are_exchanged_with_zarrs(tmp_path):
    run_peer("zarrs_packbits.py", "write", tmp_path)
    names = sorted(tmp_path.glob("*.npy"))
    assert len(names) == 14
    for name in names:
        path, expected = name.with_suffix(".zarr"), np.load(name)
        codecs = json.loads((path / "zarr.json").read_text())["codecs"]
        np.testing.assert_array_equal(read(path).astype(expected.dtype), expected, err_msg=codecs)
        changed = expected.copy()
        changed[3:17, 2:20] = expected[5:19, 4:22]
        pixels = changed[3:17, 2:20]
        update(path, pixels.astype({"bool": "uint8", "int8": "int16"}.get(pixels.dtype.name, pixels.dtype)), 2, 3)  # as old GDALs have them
        np.testing.assert_array_equal(read(path).astype(expected.dtype), changed, err_msg=codecs)
        np.save(name, changed)
    run_peer("zarrs_packbits.py", "read", tmp_path)
    for name in names:
        if "first_bit" not in (name.with_suffix(".zarr") / "zarr.json").read_text():  # zarrs does not shift what it decodes of a part of a chunk
            np.testing.assert_array_equal(np.load(name.with_suffix(".now.npy")), np.load(name), err_msg=name.stem)


def test_damaged_bits_are_refused(tmp_path):
    oracle.put(str(tmp_path), {"zarr.json": stores.array_meta((4, 6), "bool", (4, 6), [codec("packbits", padding_encoding="last_byte")], fill_value=False)})
    (tmp_path / "c" / "0").mkdir(parents=True)
    (tmp_path / "c" / "0" / "0").write_bytes(b"\1\2\3\0")
    assert read(tmp_path).sum() == 4
    for data, words in [(b"\1\2\3\5", "expected 0 bits of padding, found 5"), (b"\1\2\3", "expected 4 bytes"), (b"\1\2\3\0\0", "expected 4 bytes")]:
        (tmp_path / "c" / "0" / "0").write_bytes(data)
        assert words in error_of(read, tmp_path)


# ------------------------------------------------------------------------------------------------------------ refused

@pytest.mark.parametrize("data_type, fill, words", [
    ({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int8"}]}}, {"a": 0}, '"struct" is not supported'),
    ({"name": "structured", "configuration": {"fields": [["a", "int8"]]}}, "AA==", '"structured" is not supported'),
    ({"name": "optional", "configuration": {"name": "uint8", "configuration": {}}}, None, '"optional" is not supported'),
    ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, "AAAA", '"raw_bytes" is not supported'),
    ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}, "", '"null_terminated_bytes" is text'),
    ("variable_length_bytes", "", '"variable_length_bytes" is not supported'),
    ("complex_float8_e5m2", [0, 0], '"complex_float8_e5m2" is not supported'),
    ("int4", 0, '"int4" is not supported'), ("uint2", 0, '"uint2" is not supported'), ("float8_e4m3", 0, '"float8_e4m3" is not supported'),
    ({"name": "bfloat16", "configuration": {"bits": 3}}, 0, '"bfloat16" with a configuration is not supported'),
    ("string", "", "text"), ("r256", [0] * 32, "r256"),
])
def test_types_without_numbers_are_refused_by_name_and_hide_nothing(tmp_path, data_type, fill, words):
    other = {**bfloat_meta([LITTLE], data_type), "fill_value": fill}
    oracle.write(tmp_path / "b", stores.array_meta((8, 12)), stores.counting((8, 12)))
    oracle.put(str(tmp_path), {"zarr.json": stores.group_meta(), "a/zarr.json": other})
    assert re.search(re.escape(words), error_of(gdal.OpenEx, name_of(str(tmp_path), "/a")))
    dataset = gdal.OpenEx(name_of(str(tmp_path)))
    if dataset.RasterCount == 0:
        assert any("b" in name for name, _ in dataset.GetSubDatasets())
    np.testing.assert_array_equal(gdal.OpenEx(name_of(str(tmp_path), "/b")).ReadAsArray(), stores.counting((8, 12)))


@pytest.mark.parametrize("filters, words", [
    ([codec("scale_offset", scale=2)], 'codec "scale_offset" with data type bfloat16 is not supported'),
    ([codec("cast_value", data_type="int8")], 'codec "cast_value" with data type bfloat16 is not supported'),
    ([codec("bitround", keepbits=3)], 'codec "bitround" with data type bfloat16 is not supported'),
])
def test_arithmetic_of_bfloat16_is_refused_by_name(tmp_path, filters, words):
    oracle.put(str(tmp_path), {"zarr.json": bfloat_meta(filters + [LITTLE])})
    assert words in error_of(read, tmp_path)
