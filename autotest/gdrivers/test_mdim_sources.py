"""Copies of what other formats hold, through the multidimensional API: netCDF with groups, times and texts, the same file as HDF5, and GRIB."""
import shutil

import numpy as np
import pytest
from osgeo import gdal, osr

from mdim import attributes_of, root_of
from support import need, warnings_of
from writing import check_consolidated

TEXT = gdal.ExtendedDataType.CreateString()


def number(code):
    return gdal.ExtendedDataType.Create(code)


def told(thing, **attributes):
    for name, value in attributes.items():
        kind = TEXT if isinstance(value, str) else number(gdal.GDT_Float64)
        thing.CreateAttribute(name, [len(value)] if isinstance(value, list) else [], kind).Write(value)


def make_netcdf(path):
    """Groups in groups, an unlimited time in a calendar of its own, packed integers with a CRS, texts, and what is never written."""
    dataset = gdal.GetDriverByName("netCDF").CreateMultiDimensional(str(path), [], ["FORMAT=NC4"])
    root = dataset.GetRootGroup()
    time = root.CreateDimension("time", "TEMPORAL", None, 3, ["UNLIMITED=YES"])
    y, x = (root.CreateDimension(name, "HORIZONTAL_" + name.upper(), None, size) for name, size in (("y", 6), ("x", 7)))
    times = root.CreateMDArray("time", [time], number(gdal.GDT_Float64))
    told(times, calendar="noleap")
    times.SetUnit("hours since 2020-01-01")
    times.Write(np.array([0, 6, 12.5]))
    for dimension, name, n in ((y, "latitude", 6), (x, "longitude", 7)):
        variable = root.CreateMDArray(dimension.GetName(), [dimension], number(gdal.GDT_Float32))
        told(variable, standard_name=name, long_name=name)
        variable.SetUnit("degrees_north" if name == "latitude" else "degrees_east")
        variable.Write(np.arange(n, dtype="float32")[::1 if n == 7 else -1].copy())
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(4326)
    srs.SetDataAxisToSRSAxisMapping([2, 3])
    v = root.CreateMDArray("v", [time, y, x], number(gdal.GDT_Int16))
    v.SetNoDataValueDouble(-99)
    v.SetScale(0.5)
    v.SetOffset(3)
    v.SetUnit("K")
    v.SetSpatialRef(srs)
    told(v, long_name="packed", valid_range=[0.0, 90.0])
    v.Write(np.arange(126, dtype="int16").reshape(3, 6, 7))
    station = root.CreateMDArray("station", [root.CreateDimension("s", None, None, 4)], TEXT)
    station.Write(["a", "bé", "", "long text"])
    run = root.CreateGroup("model").CreateGroup("run")
    told(run, note="in a group")
    q = run.CreateMDArray("q", [run.CreateDimension("z", None, None, 3), y], number(gdal.GDT_Byte))
    told(q, flag_meanings="one two")
    q.Write(np.arange(18, dtype="uint8").reshape(3, 6))
    run.CreateMDArray("once", [], number(gdal.GDT_Float64)).Write(np.array(7.5))


def all_arrays(group):
    """{full name: array} of a group and those below."""
    found = {array.GetFullName(): array for array in map(group.OpenMDArray, group.GetMDArrayNames() or [])}
    for name in group.GetGroupNames() or []:
        found.update(all_arrays(group.OpenGroup(name)))
    return found


def said(array):
    """All that an array says of itself, and its elements."""
    text = array.GetDataType().GetClass() == gdal.GEDTC_STRING
    srs = array.GetSpatialRef()
    return {"type": "text" if text else array.GetDataType().GetNumericDataType(), "values": array.Read() if text else bytes(array.Read()),
            "dimensions": [(d.GetName(), d.GetSize()) for d in array.GetDimensions()], "nodata": array.GetNoDataValueAsDouble() if not text else None,
            "scale": array.GetScale(), "offset": array.GetOffset(), "unit": array.GetUnit(), "attributes": attributes_of(array),
            "srs": srs and srs.GetAuthorityCode(None)}


def check_same(before, after, passed_over=()):
    """That all arrays of a group are in another, and say the same; `passed_over`: what the other's format cannot have."""
    before, after = all_arrays(before), all_arrays(after)
    assert len(before) >= 6 and set(before) - {"/crs"} <= set(after)
    for name in set(before) - {"/crs"}:
        old, new = said(before[name]), said(after[name])
        for key in passed_over:
            old.pop(key), new.pop(key)
        assert old == new, name


@pytest.fixture(scope="module")
def netcdf(tmp_path_factory):
    need("GDAL's netCDF driver", gdal.GetDriverByName("netCDF"))
    path = tmp_path_factory.mktemp("sources") / "a.nc"
    make_netcdf(path)
    return path


def translated(source, target, driver):
    opened = gdal.OpenEx(str(source), gdal.OF_MULTIDIM_RASTER, allowed_drivers=[driver])
    copy, messages = warnings_of(lambda: gdal.MultiDimTranslate(str(target), opened, format="ShardedZarr", creationOptions=["COMPRESS=ZSTD"]))
    copy.FlushCache()
    assert not [message for message in messages if "array crs: text" not in message]  # HDF5 has the netCDF's grid mapping as one text
    return opened


def test_netcdf_of_groups_times_and_texts_is_copied_and_copied_back(netcdf, tmp_path):
    source = translated(netcdf, tmp_path / "a.zarr", "netCDF")
    check_same(source.GetRootGroup(), root_of(tmp_path / "a.zarr"))
    check_consolidated(tmp_path / "a.zarr")
    assert attributes_of(root_of(tmp_path / "a.zarr").OpenGroup("model").OpenGroup("run")) == {"note": "in a group"}
    gdal.MultiDimTranslate(str(tmp_path / "b.nc"), str(tmp_path / "a.zarr"), format="netCDF")
    check_same(source.GetRootGroup(), gdal.OpenEx(str(tmp_path / "b.nc"), gdal.OF_MULTIDIM_RASTER).GetRootGroup())


def test_hdf5_is_copied(netcdf, tmp_path):
    need("GDAL's HDF5 driver", gdal.GetDriverByName("HDF5"))
    shutil.copy(netcdf, tmp_path / "a.h5")  # which netCDF 4 is; the HDF5 driver goes by the name
    source = translated(tmp_path / "a.h5", tmp_path / "a.zarr", "HDF5")
    # HDF5 has no words for these, and attributes of its own
    check_same(source.GetRootGroup(), root_of(tmp_path / "a.zarr"), ("attributes", "scale", "offset", "unit", "nodata", "srs"))


def test_grib_is_copied(tmp_path):
    need("GDAL's GRIB driver", gdal.GetDriverByName("GRIB"))
    memory = gdal.GetDriverByName("MEM").Create("", 60, 40, 3, gdal.GDT_Float64)
    memory.SetGeoTransform([-10, 0.5, 0, 60, 0, -0.5])
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(4326)
    memory.SetSpatialRef(srs)
    for i in range(3):
        band = memory.GetRasterBand(i + 1)
        band.WriteArray(np.random.default_rng(i).normal(280, 5, (40, 60)))
        band.SetMetadataItem("GRIB_IDS", "CENTER=7(US-NCEP) SUBCENTER=0 MASTER_TABLE=2 LOCAL_TABLE=1 SIGNF_REF_TIME=1(Start_of_Forecast) "
                                         "REF_TIME=2020-01-0%dT00:00:00Z PROD_STATUS=0(Operational) TYPE=1(Forecast)" % (i + 1))
    gdal.PushErrorHandler("CPLQuietErrorHandler")  # of its tables
    gdal.GetDriverByName("GRIB").CreateCopy(str(tmp_path / "a.grb"), memory)
    source = gdal.OpenEx(str(tmp_path / "a.grb"), gdal.OF_MULTIDIM_RASTER)
    gdal.MultiDimTranslate(str(tmp_path / "a.zarr"), source, format="ShardedZarr").FlushCache()
    before, after = all_arrays(source.GetRootGroup()), all_arrays(root_of(tmp_path / "a.zarr"))
    gdal.PopErrorHandler()
    assert len(before) == 4 and set(after) == {*before, "/spatial_ref"}
    for name, array in before.items():
        old, new = said(array), said(after[name])
        assert old["attributes"].items() <= new["attributes"].items(), name  # with the `axis` of the dimension's type
        assert {**old, "attributes": 0} == {**new, "attributes": 0}, name
    times = [d for d in after[max(before, key=lambda n: len(before[n].GetDimensions()))].GetDimensions() if d.GetName() == "TIME"]
    assert [d.GetType() for d in times] == ["TEMPORAL"]


def test_dimensions_of_size_0_are_copied(tmp_path):
    """A series that has not begun: an unlimited dimension of no element."""
    need("GDAL's netCDF driver", gdal.GetDriverByName("netCDF"))
    dataset = gdal.GetDriverByName("ShardedZarr").CreateMultiDimensional(str(tmp_path / "a.zarr"))
    root = dataset.GetRootGroup()
    dims = [root.CreateDimension("t", None, None, 0), root.CreateDimension("x", None, None, 3)]
    root.CreateMDArray("v", dims, number(gdal.GDT_Float32)).SetUnit("K")
    del root, dims
    dataset = None
    gdal.MultiDimTranslate(str(tmp_path / "b.zarr"), str(tmp_path / "a.zarr"), format="ShardedZarr").FlushCache()
    array = root_of(tmp_path / "b.zarr").OpenMDArray("v")
    assert [d.GetSize() for d in array.GetDimensions()] == [0, 3] and array.GetUnit() == "K"
