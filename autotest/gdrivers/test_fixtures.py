"""Every array in ../shared/fixtures/gdal: it reads as the oracle reads it, or is refused with a reason."""
import glob
import json
import os
import re

import pytest

import oracle
from support import FIXTURES, as_raster, assert_pixels, error_of, fixture_path, open_array, open_ours

ROOT = os.path.join(FIXTURES, "gdal")
REFUSED = {  # {array: what the error must say}
    "sharing_too_small_data_file/ar": "c/0",  # six bytes where an index of 32 belongs
    "sharded_null_terminated_bytes.zarr/ar": "null_terminated_bytes",
}
OF_STRINGS = ("fixed_length_utf32", "null_terminated_bytes", "string")


def arrays(sharded):
    """The arrays below ROOT, by their path in it."""
    found = []
    for name in sorted(glob.glob(os.path.join(ROOT, "**", "zarr.json"), recursive=True)):
        with open(name) as file:
            meta = json.load(file)
        if meta.get("node_type") == "array" and bool(oracle.sharding_of(meta.get("codecs", []))) == sharded:
            found.append(os.path.relpath(os.path.dirname(name), ROOT))
    return found or ["simple_sharding.zarr"]  # where the fixtures are absent, one test to say so


@pytest.mark.parametrize("name", arrays(sharded=True))
def test_sharded_array_of_gdal_reads_as_the_oracle_reads_it(name):
    path = fixture_path("gdal", name)
    if name in REFUSED:
        assert re.search(REFUSED[name], error_of(lambda: open_array(path).ReadAsArray()))
        return
    meta, array = oracle.read(path)
    expected = as_raster(array, meta["data_type"])
    assert_pixels(open_ours(path), expected)
    assert_pixels(open_array(path), expected, seed=1)


@pytest.mark.parametrize("name", arrays(sharded=False))
def test_unsharded_array_of_gdal_reads_with_our_prefix(name):
    path = fixture_path("gdal", name)
    with open(os.path.join(path, "zarr.json")) as file:
        meta = json.load(file)
    kind = meta["data_type"]["name"] if isinstance(meta["data_type"], dict) else meta["data_type"]
    if kind in OF_STRINGS:
        assert error_of(open_array, path)
        return
    meta, array = oracle.read(path)
    assert_pixels(open_array(path), as_raster(array, meta["data_type"]))
