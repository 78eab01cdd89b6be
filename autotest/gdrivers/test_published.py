"""Published stores, by their metadata: the templates of dynamical.org and a Sentinel-2 product of EOPF Explorer.

Their chunks are not here, so that pixels are fill values. The coordinates, where a test needs them, are written as they are published.
"""
import glob
import json
import os

import numpy as np
import pytest

import oracle
from stores import group_meta
from support import FIXTURES, fixture_path, geotransform, held_band, need_codecs, open_array, same_crs

def sharded_templates():
    """The names of the templates that have sharded arrays; where the fixtures are absent, one name to say so."""
    names = [name for name in sorted(glob.glob(os.path.join(FIXTURES, "dynamical", "*.json"))) if "sharding_indexed" in open(name).read()]
    return [os.path.basename(name)[:-5] for name in names] or ["noaa_gfs_analysis"]


TEMPLATES = sharded_templates()
PRODUCT = "S2A_MSIL2A_20251008T100041_N0511_R122_T32TQM_20251008T122613"


def template(path, name):
    """Writes a template of dynamical.org as a store; returns the metadata of its arrays."""
    with open(fixture_path("dynamical", name + ".json")) as file:
        root = json.load(file)
    oracle.put(path, {"zarr.json": root})
    return {key: node for key, node in root["consolidated_metadata"]["metadata"].items() if node["node_type"] == "array"}


def sharded_arrays(arrays):
    return {"/" + key: node for key, node in arrays.items() if oracle.sharding_of(node["codecs"])}


def write_axes(path, arrays):
    """Writes the one-dimensional coordinates of the plane, rows from north to south, as their statistics say: {name: values}."""
    axes = {}
    for name in ("latitude", "longitude", "y", "x"):
        if len(arrays.get(name, {}).get("shape", [])) == 1:
            limits = arrays[name]["attributes"]["statistics_approximate"]
            ends = (limits["max"], limits["min"]) if name in ("latitude", "y") else (limits["min"], limits["max"])
            need_codecs(arrays[name])
            axes[name] = np.linspace(*ends, arrays[name]["shape"][0])
            oracle.write(os.path.join(str(path), name), arrays[name], axes[name])
    return axes


@pytest.mark.parametrize("name", TEMPLATES)
def test_dynamical_opens_with_shape_bands_crs_and_fill(tmp_path, name):
    arrays = template(tmp_path, name)
    wanted = sharded_arrays(arrays)
    for key in sorted(wanted)[::8]:
        node = wanted[key]
        dataset = open_array(tmp_path, key)
        *extra, height, width = node["shape"]
        assert (dataset.RasterCount, dataset.RasterYSize, dataset.RasterXSize) == (int(np.prod(extra)), height, width)
        mapping = arrays[os.path.join(os.path.dirname(key), "spatial_ref").lstrip("/")]["attributes"]
        assert same_crs(dataset, mapping["crs_wkt"])
        given = mapping.get("GeoTransform")
        assert geotransform(dataset) == (tuple(map(float, given.split())) if given else None)
        pixels = dataset.GetRasterBand(dataset.RasterCount).ReadAsArray(width - 9, height - 7, 9, 7)
        np.testing.assert_array_equal(pixels, np.full((7, 9), oracle.fill_of(node)))
        if node["attributes"].get("_FillValue"):
            assert np.isnan(dataset.GetRasterBand(1).GetNoDataValue())


@pytest.mark.parametrize("name", ["noaa_gfs_analysis", "noaa_mrms_conus_analysis_hourly", "dwd_icon_eu_forecast_5_day",
                                  "nasa_imerg_analysis_late", "contrib_nasa_smap_level3_36km_v9", "contrib_noaa_ndvi_cdr_analysis",
                                  "ecmwf_aifs_single_forecast"])
def test_dynamical_has_the_geotransform_of_its_coordinates(tmp_path, name):
    arrays = template(tmp_path, name)
    axes = write_axes(tmp_path, arrays)
    y, x = axes.get("latitude", axes.get("y")), axes.get("longitude", axes.get("x"))
    dx, dy = (x[-1] - x[0]) / (len(x) - 1), (y[-1] - y[0]) / (len(y) - 1)
    dataset = open_array(tmp_path, sorted(sharded_arrays(arrays))[0])
    assert geotransform(dataset) == pytest.approx((x[0] - dx / 2, dx, 0, y[0] - dy / 2, 0, dy), rel=1e-6)


def test_dynamical_forecast_describes_its_bands_by_time(tmp_path):
    arrays = template(tmp_path, "noaa_hrrr_forecast_48_hour")
    for name, values in (("init_time", [1533081600]), ("lead_time", 3600.0 * np.arange(49))):
        need_codecs(arrays[name])
        oracle.write(tmp_path / name, arrays[name], np.array(values))
    dataset = open_array(tmp_path, "/temperature_2m")
    band = dataset.GetRasterBand(7)
    assert (band.GetMetadataItem("DIM_init_time_INDEX"), band.GetMetadataItem("DIM_lead_time_INDEX")) == ("0", "6")
    assert float(band.GetMetadataItem("DIM_lead_time_VALUE")) == 6 * 3600
    assert "2018-08-01T00:00:00" in band.GetDescription()


# ------------------------------------------------------------------------------------------------------------------ EOPF

def write_members(path, node):
    """Writes a tree of {"members": {name: node}} as the zarr.json files of a store."""
    oracle.put(path, {"zarr.json": {key: value for key, value in node.items() if key != "members"}})
    for name, member in node.get("members", {}).items():
        write_members(os.path.join(str(path), name), member)


@pytest.fixture
def product(tmp_path):
    """The reflectances of a Sentinel-2 product, with x and y of 10, 20 and 60 m, in a store like the published ones."""
    with open(fixture_path("eopf", "optimized_geozarr_examples", PRODUCT + ".json")) as file:
        root = json.load(file)
    measurements = root["members"]["measurements"]
    write_members(tmp_path / "s2.zarr", {**group_meta(), "members": {"measurements": measurements}})
    for step in (10, 20, 60, 120):
        level = tmp_path / "s2.zarr/measurements/reflectance" / ("r%dm" % step)
        for name, first in (("x", 699960 + step / 2), ("y", 4700040 - step / 2)):
            meta = json.loads((level / name / "zarr.json").read_text())
            sign = 1 if name == "x" else -1
            oracle.write(level / name, meta, (first + sign * step * np.arange(meta["shape"][0])).astype(meta["data_type"]))
    oracle.consolidate(tmp_path / "s2.zarr")
    return tmp_path / "s2.zarr"


@pytest.mark.parametrize("level, band, size", [("r10m", "b02", 10980), ("r20m", "b05", 5490), ("r60m", "b01", 1830), ("r120m", "b02", 915)])
def test_eopf_reflectance_opens_with_georeferencing(product, level, band, size):
    dataset = open_array(product, "/measurements/reflectance/%s/%s" % (level, band))
    step = int(level[1:-1])
    assert (dataset.RasterXSize, dataset.RasterYSize, dataset.RasterCount) == (size, size, 1)
    assert geotransform(dataset) == (699960, step, 0, 4700040, 0, -step)
    assert same_crs(dataset, "EPSG:32632")
    assert np.isnan(dataset.GetRasterBand(1).GetNoDataValue())
    assert np.isnan(dataset.ReadAsArray(size - 20, size - 10, 20, 10)).all()


@pytest.mark.parametrize("level, band, overviews", [("r10m", "b02", [5490, 1830, 915, 305, 152]), ("r20m", "b05", [1830, 915, 305, 152])])
def test_eopf_levels_are_overviews_of_one_another(product, level, band, overviews):
    found = held_band(open_array(product, "/measurements/reflectance/%s/%s" % (level, band)))
    assert [found.GetOverview(i).XSize for i in range(found.GetOverviewCount())] == overviews
