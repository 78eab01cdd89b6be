"""The codecs zfp and numcodecs.zfpy: stores that zfpy wrote, through zarr-python. They are only read."""
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
    run_peer("zarr_python_zfp.py", folder)
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


def test_chunks_are_only_read(stores, tmp_path):
    folder, names = stores
    for codec in ("zfp", "numcodecs.zfpy"):
        name, path = next(name for name in names if codec_of(folder, name)[0] == codec), tmp_path / (codec + ".zarr")
        shutil.copytree(folder / (name + ".zarr"), path)
        before = read_all(open_array(path))
        dataset = gdal.OpenEx(name_of(str(path)), gdal.OF_RASTER | gdal.OF_UPDATE)

        def write():
            dataset.WriteArray(before[0] + 3)
            dataset.FlushCache()

        assert 'chunks of codec "%s" are only read' % codec in error_of(write)
        dataset = None
        np.testing.assert_array_equal(read_all(open_array(path)), before)


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
    document = json.loads((tmp_path / "a.zarr/zarr.json").read_text())
    document["data_type"] = "int64" if document["data_type"] != "int64" else "float32"
    (tmp_path / "a.zarr/zarr.json").write_text(json.dumps(document))
    chunk.write_bytes(content)
    assert "the header has another type or shape than the chunk" in error_of(open_array(tmp_path / "a.zarr").ReadAsArray)
