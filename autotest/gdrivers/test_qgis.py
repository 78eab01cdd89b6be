"""What a user of QGIS sees who adds a layer by its name: the same picture as of a GeoTIFF, and a list of a store's arrays by their names."""
import json
import os
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta, write_coordinate
from support import GDAL, need, run_peer
from writing import UTM, copy, source


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    """A function that gives what QGIS makes of names: [(its answer, the picture's pixels)]. The suite installs QGIS in Debian 13 alone, which
    has one of long-term support; the tests also pass with QGIS 3.22 of Debian 12, where python3-qgis is installed by hand."""
    has_qgis = os.path.isdir("/usr/lib/python3/dist-packages/qgis")
    if not has_qgis and not 3100000 <= GDAL < 3110000:
        pytest.skip("QGIS is tested with GDAL 3.10, in Debian 13")
    need("python3-qgis", has_qgis)

    def ask(*names):
        folder = tmp_path_factory.mktemp("qgis")
        (folder / "layers.json").write_text(json.dumps([str(name) for name in names]))
        run_peer("qgis_render.py", folder, python=sys.executable, QT_QPA_PLATFORM="offscreen", HOME=str(folder), XDG_RUNTIME_DIR=str(folder),
                 GDAL_PAM_ENABLED="NO")
        answers = json.loads((folder / "answers.json").read_text())
        pictures = [folder / ("%d.png" % number) for number in range(len(names))]
        return [(answer, gdal.Open(str(path)).ReadAsArray() if path.exists() else None) for answer, path in zip(answers, pictures)]
    return ask


def scene(bands, data_type="uint8"):
    """Hills, with a hole."""
    y, x = np.mgrid[:150, :200]
    pixels = np.stack([100 + 60 * np.sin(x / (9 + band)) * np.cos(y / 7) for band in range(bands)]).astype(data_type)
    pixels[:, 20:40, 30:60] = 0
    return pixels


def twins(tmp_path, name, pixels, **options):
    """(store, GeoTIFF) of the same pixels in the same place."""
    before = source(pixels, UTM, "EPSG:32633", 0)
    if len(pixels) == 3:
        for number, color in enumerate((gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand)):
            before.GetRasterBand(number + 1).SetColorInterpretation(color)
    tif = str(tmp_path / (name + ".tif"))
    gdal.GetDriverByName("GTiff").CreateCopy(tif, before).FlushCache()
    copy(tmp_path / (name + ".zarr"), before, CHUNK_SHAPE=64, **options)
    return str(tmp_path / (name + ".zarr")), tif


def assert_same_layer(ours, theirs):
    (answer, picture), (expected, reference) = ours, theirs
    assert answer["valid"] and expected["valid"]
    assert {key: answer[key] for key in ("renderer", "bands", "crs")} == {key: expected[key] for key in ("renderer", "bands", "crs")}
    assert picture.shape[1:] == (150, 200) and len(np.unique(picture[:3].reshape(3, -1), axis=1).T) > 50  # something is drawn
    np.testing.assert_array_equal(picture, reference)


def test_layers_look_as_those_of_a_geotiff(look, tmp_path):
    gray, color = twins(tmp_path, "gray", scene(1, "int16")), twins(tmp_path, "color", scene(3))
    looks = look(*gray, *color, gray[0] + "/zarr.json", "SHARDEDZARR:" + color[0])
    assert [answer["renderer"] for answer, _ in looks] == ["singlebandgray"] * 2 + ["multibandcolor"] * 2 + ["singlebandgray", "multibandcolor"]
    for ours, theirs in [(0, 1), (2, 3), (4, 1), (5, 3)]:
        assert_same_layer(looks[ours], looks[theirs])
    assert looks[0][0]["sublayers"][0][0] == "gray" and looks[4][0]["sublayers"][0][0] == "zarr"  # the first is the better name


def test_arrays_of_a_store_are_offered_by_their_names(look, tmp_path):
    path, tif = twins(tmp_path, "height", scene(1, "int16"))
    for name in ("slope", "aspect"):
        driver = gdal.GetDriverByName("ShardedZarr")
        driver.CreateCopy(path, gdal.Open(tif), options=["APPEND_SUBDATASET=YES", "ARRAY_NAME=" + name, "CHUNK_SHAPE=64", "OVERVIEWS=NONE"])
    (answer, _), = look(path)
    assert [name for name, _, _ in answer["sublayers"]] == ["aspect/aspect", "height", "slope/slope"]
    *ours, theirs = look(*(uri for _, _, uri in answer["sublayers"]), tif)
    for layer in ours:
        assert_same_layer(layer, theirs)


def test_each_time_is_offered_as_a_layer(look, tmp_path):
    """Of a series QGIS draws the first three bands as colours, whatever colours they are said to be: of a GeoTIFF as of a store."""
    pixels = scene(4, "int16")
    series, tif = twins(tmp_path, "series", pixels, DIM_NAMES="time,y,x")
    _, one = twins(tmp_path, "one", pixels[2:3])
    (listed, _), *whole = look(series + "|option:MULTIBAND=NO", series, tif)
    assert_same_layer(*whole)
    assert [name for name, _, _ in listed["sublayers"]] == ["series:%d" % number for number in range(4)]
    slice_, reference = look(listed["sublayers"][2][2], one)
    assert slice_[0]["renderer"] == "singlebandgray"
    assert_same_layer(slice_, reference)


def test_qgis_reads_the_times_of_bands_from_their_descriptions(look, tmp_path):
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta()})
    oracle.write(tmp_path / "s.zarr" / "t2m", array_meta((3, 150, 200), "int16", dimension_names=["time", "y", "x"]), scene(3, "int16"))
    write_coordinate(tmp_path / "s.zarr", "time", [0, 6, 30], {"units": "hours since 2026-05-01"}, "int64")
    (answer, _), = look("SHARDEDZARR:%s:/t2m" % (tmp_path / "s.zarr"))
    if answer["times"] is None:
        pytest.skip("QGIS shows descriptions of bands to expressions from 3.38 on")
    assert answer["times"] == ["2026-05-01T00:00:00", "2026-05-01T06:00:00", "2026-05-02T06:00:00"]
