"""The codecs zfp and numcodecs.zfpy: stores that zfpy wrote, through zarr-python, and what is changed in them."""
import json
import os
import shutil

import numpy as np
import pytest
from osgeo import gdal

from support import as_raster, assert_pixels, error_of, name_of, need, open_array, read_all, run_peer


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zfp")
    run_peer("zarr_python_zfp.py", "write", folder)
    names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".zarr"))
    try:
        open_array(folder / "0.zarr")
    except RuntimeError as error:
        need("libzfp", "which this build does not have" not in str(error))
    return folder, names


def codec_of(folder, name):
    """(name, configuration) of the array-to-bytes codec."""
    text = (folder / (name + ".zarr/zarr.json")).read_text()
    codecs = json.loads(text)["codecs"]
    if codecs[0]["name"] == "sharding_indexed":
        codecs = codecs[0]["configuration"]["codecs"]
    return next((c["name"], c["configuration"]) for c in codecs if "zfp" in c["name"])


def test_streams_of_zfpy_read_to_the_bit_as_zarr_python_reads_them(stores):
    folder, names = stores
    modes = set()
    for name in names:
        expected = np.load(folder / (name + ".npy"))
        assert_pixels(open_array(folder / (name + ".zarr")), as_raster(expected, expected.dtype.name))
        modes.add(codec_of(folder, name)[0] + str(codec_of(folder, name)[1].get("mode")))
    assert len(names) >= 60 and len(modes) == 8, modes


def is_exact(folder, name):
    codec, configuration = codec_of(folder, name)
    return configuration.get("mode") in ("reversible", 5) or configuration == {}


def update(path, values, x, y):
    dataset = gdal.OpenEx(name_of(str(path)), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.WriteArray(values[0] if len(values) == 1 else values, x, y)
    dataset.FlushCache()


def test_parts_of_reversible_chunks_are_written_and_others_stay(stores, tmp_path):
    folder, names = stores
    written = {}
    for name in [name for name in names if is_exact(folder, name)]:
        path = tmp_path / (name + ".zarr")
        shutil.copytree(folder / (name + ".zarr"), path)
        values = read_all(open_array(path))
        values[..., 3:9, 4:12] = np.arange(48).reshape(6, 8) + 70
        update(path, values[:, 3:9, 4:12], 4, 3)
        np.testing.assert_array_equal(read_all(open_array(path)), values)
        written[name] = values
    assert len(written) >= 12
    run_peer("zarr_python_zfp.py", "read", tmp_path)
    for name, values in written.items():
        now = np.load(tmp_path / (name + ".now.npy"))
        np.testing.assert_array_equal(as_raster(now, now.dtype.name), values)


def test_lossy_chunks_are_only_read(stores, tmp_path):
    folder, names = stores
    name = next(name for name in names if codec_of(folder, name) == ("zfp", {"mode": "fixed_accuracy", "tolerance": 0.05}))
    shutil.copytree(folder / (name + ".zarr"), tmp_path / "a.zarr")
    before = read_all(open_array(tmp_path / "a.zarr"))
    assert "chunks are only read" in error_of(update, tmp_path / "a.zarr", before + 3, 0, 0)
    np.testing.assert_array_equal(read_all(open_array(tmp_path / "a.zarr")), before)


def test_a_damaged_chunk_is_an_error_that_names_it(stores, tmp_path):
    folder, names = stores
    name = next(name for name in names if codec_of(folder, name)[0] == "numcodecs.zfpy" and (folder / (name + ".zarr/c/0/0")).exists())
    shutil.copytree(folder / (name + ".zarr"), tmp_path / "a.zarr")
    chunk = tmp_path / "a.zarr/c/0/0"
    content = chunk.read_bytes()
    for damaged, words in ((content + bytes(8), "expected a chunk of"), (b"zfp\x09" + content[4:], "expected a header of zfp"), (b"", "header")):
        chunk.write_bytes(damaged)
        message = error_of(open_array(tmp_path / "a.zarr").ReadAsArray)
        assert "c/0/0" in message
        assert words in message or "crc32c" in message or "inner chunk" in message, message
