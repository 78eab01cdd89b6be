"""Data types that numpy and GDAL do not have, and packed bits, as others write them; and types that are refused by name."""
import json
import shutil

import numpy as np
import pytest
from osgeo import gdal

import oracle
import stores
from stores import codec
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
    for data, words in [(b"\1\2\3\5", "expected 0 bits of padding, found 5"), (b"\1\2\3", "expected 4 bytes"), (b"\1\2\3\0\0", "at most 4 bytes")]:
        (tmp_path / "c" / "0" / "0").write_bytes(data)
        assert words in error_of(read, tmp_path)
