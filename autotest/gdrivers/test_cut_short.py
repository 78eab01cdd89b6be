"""Edits that are cut short on a local disk: killed, or without room for all they write."""
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

from support import geotransform, in_process, name_of, open_ours, srs_of
from test_edits import everything
from writing import UTM, check_consolidated, copy, source

MOVED = (600000.0, 20.0, 0.0, 4000000.0, 0.0, -20.0)
PIXELS = np.random.default_rng(1).integers(0, 256, (1, 200, 180)).astype("uint8")
# No file grows beyond a size: writing more fails as on a full disk.
LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def attempt(action, most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), resource.RLIM_INFINITY))
    try:
        action()
        print("done")
    except RuntimeError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
# Moves the array, and ends without closing it.
MOVED_AND_KILLED = LIMITED + """
def edit():
    dataset = gdal.OpenEx(sys.argv[1], gdal.OF_UPDATE)
    dataset.SetGeoTransform(eval(sys.argv[2]))
    dataset.SetProjection(sys.argv[3])
    dataset.FlushCache()
attempt(edit, sys.argv[4])
os._exit(0)
"""
# Consolidated metadata are longer than this, the documents of v are shorter.
MOST = 100000


def made(path, consolidated="YES"):
    """A raster with overviews beside another one with a long attribute, which consolidated metadata have, too."""
    options = dict(ARRAY_NAME="v", CHUNK_SHAPE=64, SHARD_SHAPE=128, OVERVIEWS=2, CREATE_CONSOLIDATED_METADATA=consolidated)
    copy(str(path), source(PIXELS, UTM, "EPSG:32633"), **options)
    copy(str(path), source(PIXELS, UTM, "EPSG:32633"), ARRAY_NAME="w", APPEND_SUBDATASET="YES", OVERVIEWS="NONE")
    gdal.OpenEx(name_of(str(path), "/w/w"), gdal.OF_UPDATE).SetMetadataItem("note", MOST * "x")
    return str(path)


def append(path):
    return copy(path, source(PIXELS, UTM, "EPSG:32633"), ARRAY_NAME="third", APPEND_SUBDATASET="YES")


def next_edit(path):
    gdal.OpenEx(name_of(path, "/v"), gdal.OF_UPDATE).SetMetadataItem("later", "1")
    assert not [name for name in os.listdir(path) if name.endswith(".journal")]


def test_an_edit_that_could_not_write_all_its_documents_is_finished_by_the_next_writer(tmp_path):
    path = made(tmp_path / "a.zarr")
    told, = in_process(MOVED_AND_KILLED, name_of(path, "/v"), MOVED, srs_of(32634).ExportToWkt(), MOST)
    assert "zarr.json" in told
    next_edit(path)
    check_consolidated(path)
    seen = open_ours(name_of(path, "/v"))
    assert geotransform(seen) == MOVED and seen.GetSpatialRef().GetAuthorityCode(None) == "32634"
    assert seen.GetMetadataItem("later") == "1"


def place_of(path):
    """Where v lies: as it says itself, and by the coordinates alone."""
    seen = open_ours(name_of(path, "/v"))
    root = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    x, y = (root.OpenMDArray(name).ReadAsArray() for name in "xy")
    by_axes = (x[0] - (x[1] - x[0]) / 2, x[1] - x[0], 0, y[0] - (y[1] - y[0]) / 2, 0, y[1] - y[0])
    return geotransform(seen), by_axes, seen.GetSpatialRef().GetAuthorityCode(None)


@pytest.mark.parametrize("most", [1000, 1500, 2000, 4000, 20000, MOST])
@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_a_transform_that_does_not_fit_on_the_disk_is_made_whole_or_not_at_all(tmp_path, consolidated, most):
    path = made(tmp_path / "a.zarr", consolidated)
    told, = in_process(MOVED_AND_KILLED, name_of(path, "/v"), MOVED, srs_of(32634).ExportToWkt(), most)
    has_journal = ".shardedzarr-zarr.json.journal" in os.listdir(path)
    expected = (MOVED, MOVED, "32634") if has_journal or told == "done" else (UTM, UTM, "32633")
    if not has_journal:
        assert place_of(path) == expected
    next_edit(path)
    assert place_of(path) == expected
    level = open_ours(name_of(path, "/ovr_2x/v"))
    assert geotransform(level) == tuple(value * factor for value, factor in zip(expected[0], (1, 2, 1, 1, 1, 2)))


def document_of(path, name):
    with open(os.path.join(path, name, "zarr.json")) as file:
        return json.load(file)


def test_failed_edit_that_wrote_no_document_changes_nothing(tmp_path):
    path = made(tmp_path / "a.zarr")
    before = everything(path)
    told, = in_process(LIMITED + """
def edit():
    dataset = gdal.OpenEx(sys.argv[1], gdal.OF_UPDATE)
    dataset.SetMetadataItem("a", 2000 * "b")
    dataset.FlushCache()
attempt(edit, 1000)
os._exit(0)
""", name_of(path, "/v"))
    assert "journal" in told
    assert everything(path) == before
    next_edit(path)
    assert open_ours(name_of(path, "/v")).GetMetadataItem("a") is None


@pytest.mark.parametrize("consolidated", ["YES", "NO"])
def test_a_raster_whose_creation_failed_is_whole_or_not_there(tmp_path, consolidated):
    path = made(tmp_path / "a.zarr", consolidated)
    told, = in_process(LIMITED + """
options = ["ARRAY_NAME=third", "APPEND_SUBDATASET=YES"]
create = gdal.GetDriverByName("ShardedZarr").Create
attempt(lambda: create(sys.argv[1], 200, 180, 1, options=options).FlushCache(), sys.argv[2])
os._exit(0)
""", path, MOST if consolidated == "YES" else 400)
    assert "third" in told or "zarr.json" in told
    next_edit(path)
    is_there = "third" in subdatasets(path)
    if not is_there:
        append(path)
    assert open_ours(name_of(path, "/third")).RasterXSize == (200 if is_there else 180)
    if consolidated == "YES":
        check_consolidated(path)


def subdatasets(path):
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER)
    group = dataset.GetRootGroup()
    return list(group.GetGroupNames() or []) + list(group.GetMDArrayNames() or [])


# -------------------------------------------------------------------------------------- kills

# The kernel kills a process that makes a file longer than it may be.
KILLED = """
import os, resource, signal, sys
from osgeo import gdal
gdal.UseExceptions()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
"""


def kill_in(code, most, *arguments):
    done = subprocess.run([sys.executable, "-c", KILLED + code, str(most), *arguments], capture_output=True, text=True)
    assert done.returncode == -signal.SIGXFSZ, done.stderr


def levels_of(path):
    return sorted(name for name in os.listdir(path) if name.startswith("ovr_"))


CLEAN = """
dataset = gdal.OpenEx(sys.argv[2], gdal.OF_UPDATE)
dataset.BuildOverviews("NEAREST", [])
dataset.FlushCache()
"""


def test_overviews_whose_remover_was_killed_before_the_listing_go_with_the_next_writer(tmp_path):
    path = made(tmp_path / "a.zarr")
    assert levels_of(path)
    kill_in(CLEAN, MOST, name_of(path, "/v"))
    assert levels_of(path)
    next_edit(path)
    assert not levels_of(path)
    check_consolidated(path)
    assert open_ours(name_of(path, "/v")).GetRasterBand(1).GetOverviewCount() == 0


# -------------------------------------------------------------------------------------- documents that others spell otherwise

@pytest.mark.parametrize("edit", ["item", "pixels", "transform", "overviews"])
def test_a_store_that_zarr_python_consolidated_is_edited(tmp_path, edit):
    """It spells out what our documents leave to a default."""
    path = made(tmp_path / "a.zarr")
    root, own = document_of(path, ""), document_of(path, "v")
    own["codecs"][0]["configuration"].pop("index_location", None)  # as tensorstore writes it
    with open(path + "/v/zarr.json", "w") as file:
        json.dump(own, file)
    root["consolidated_metadata"]["metadata"]["v"]["codecs"][0]["configuration"]["index_location"] = "end"
    for document in root["consolidated_metadata"]["metadata"].values():
        if document["node_type"] == "array":
            assert document["chunk_key_encoding"] == {"name": "default"}
            document["chunk_key_encoding"]["configuration"] = {"separator": "/"}
            assert "storage_transformers" not in document
            document["storage_transformers"] = []
    with open(path + "/zarr.json", "w") as file:
        json.dump(root, file)
    dataset = gdal.OpenEx(name_of(path, "/v"), gdal.OF_UPDATE)
    {"item": lambda: dataset.SetMetadataItem("k", "1"), "pixels": lambda: dataset.GetRasterBand(1).Fill(3),
     "transform": lambda: dataset.SetGeoTransform(MOVED), "overviews": lambda: dataset.BuildOverviews("NEAREST", [4])}[edit]()
    dataset = None
    seen = open_ours(name_of(path, "/v"))
    assert {"item": seen.GetMetadataItem("k") == "1", "pixels": (seen.ReadAsArray() == 3).all(), "transform": geotransform(seen) == MOVED,
            "overviews": seen.GetRasterBand(1).GetOverviewCount() == 2}[edit]
    validator = os.path.join(os.environ["GDAL_DRIVER_PATH"], os.pardir, "shardedzarr-validate")
    done = subprocess.run([validator, "--quiet", path], capture_output=True, text=True)
    assert "chunk_key_encoding" not in done.stdout
