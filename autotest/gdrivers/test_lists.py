"""The list of a store's arrays, as gdalinfo and QGIS show it: what each array is, not only its name."""
import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta
from support import name_of, subdatasets

SHAPE = (30, 6, 8)


def put_array(path, name, shape=SHAPE, **attributes):
    meta = array_meta(shape, "float32", dimension_names=["time", "y", "x"][-len(shape):], attributes=attributes)
    oracle.write("%s/%s" % (path, name), meta, np.zeros(shape, "float32"))


@pytest.fixture
def store(tmp_path):
    path = oracle.write(tmp_path / "a.zarr", group_meta())
    put_array(path, "t2m", long_name="2 metre temperature", units="K")
    put_array(path, "tp", standard_name="precipitation_amount")
    put_array(path, "mask", SHAPE[1:])
    return path


@pytest.mark.parametrize("consolidated", [False, True])
def test_subdataset_descriptions_have_name_size_long_name_and_unit(store, consolidated):
    if consolidated:
        oracle.consolidate(store)
    listed = {key: description for key, (_, description) in subdatasets(gdal.Open(store)).items()}
    assert listed == {"/t2m": "t2m - [30x6x8] 2 metre temperature (K) (Float32)", "/tp": "tp - [30x6x8] (Float32)", "/mask": "mask - [6x8] (Float32)"}


def test_a_remote_list_costs_no_requests_for_its_arrays(store, server, tmp_path):
    oracle.consolidate(store)
    listed = subdatasets(gdal.Open(name_of(server.vsi("a.zarr"))))
    assert listed["/t2m"][1] == "t2m - [30x6x8] 2 metre temperature (K) (Float32)"
    assert [request.path for request in server.log] == ["a.zarr/zarr.json"]
