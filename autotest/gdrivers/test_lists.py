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


def put_time(path, values, units):
    oracle.write(path + "/time", array_meta((len(values),), "int64", dimension_names=["time"], attributes={"units": units}),
                 np.array(values, "int64"))


@pytest.fixture
def store(tmp_path):
    path = oracle.write(tmp_path / "a.zarr", group_meta())
    put_array(path, "t2m", long_name="2 metre temperature", units="K")
    put_array(path, "tp", standard_name="precipitation_amount")
    put_array(path, "mask", SHAPE[1:])
    put_time(path, range(30), "days since 2026-05-01")
    return path


@pytest.mark.parametrize("consolidated", [False, True])
def test_subdataset_descriptions_have_name_size_long_name_unit_and_times(store, consolidated):
    if consolidated:
        oracle.consolidate(store)
    listed = {key: description for key, (_, description) in subdatasets(gdal.Open(store)).items()}
    assert listed == {"/t2m": "t2m - [30x6x8] 2 metre temperature (K) (Float32), time 2026-05-01..2026-05-30",
                      "/tp": "tp - [30x6x8] (Float32), time 2026-05-01..2026-05-30", "/mask": "mask - [6x8] (Float32)"}


@pytest.mark.parametrize("values, units, text", [
    (range(30), "hours since 2026-05-01T00:00:00", ", time 2026-05-01..2026-05-02T05:00:00"), (range(30), "m", ""), (range(30), "nonsense since ever", "")])
def test_listed_times_have_the_precision_of_their_values(store, values, units, text):
    put_time(store, values, units)
    assert subdatasets(gdal.Open(store))["/t2m"][1] == "t2m - [30x6x8] 2 metre temperature (K) (Float32)" + text


def test_a_remote_list_costs_no_requests_for_its_arrays(store, server, tmp_path):
    oracle.consolidate(store)
    listed = subdatasets(gdal.Open(name_of(server.vsi("a.zarr"))))
    assert listed["/t2m"][1] == "t2m - [30x6x8] 2 metre temperature (K) (Float32)"
    assert [request.path for request in server.log] == ["a.zarr/zarr.json"]
