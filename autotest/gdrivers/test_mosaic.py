"""data/mosaic.py: many rasters become one store by many workers, as gdalwarp and this driver would have made it."""
import collections
import glob
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from osgeo import gdal, osr

import dask_writers
from objectstore import ObjectStore
from support import PROJECT, SANITIZED, assert_same, need, open_ours, read_all
from writing import copy

# What the driver does for it is tested there with ASan too; a scheduler and workers of Python take minutes with it.
pytestmark = pytest.mark.skipif(SANITIZED, reason="takes too long with ASan")

SCRIPT = os.path.join(PROJECT, "data", "mosaic.py")
TARGET = ["--t_srs", "EPSG:3857", "--tr", "15", "15", "--chunk", "32", "--shard", "64"]
# The same, whose workers append "process level row column made" to the file TOLD after each task.
TELLING = """
import os, sys
sys.path.insert(0, %r)
import mosaic
of_mosaic = mosaic.make_shard
def make_shard(plan, *shard_and_inputs):
    made = of_mosaic(plan, *shard_and_inputs)
    with open(os.environ["TOLD"], "a") as file:
        file.write("%%d %%d %%d %%d %%d\\n" %% (os.getpid(), *shard_and_inputs[:3], made))
    return made
mosaic.make_shard = make_shard
if __name__ == "__main__":
    mosaic.main()
""" % os.path.dirname(SCRIPT)


def crs(code):
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(code)
    srs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return srs


def make_inputs(folder, count, size=60):
    """Rasters of two bands with holes, that overlap, every other in the CRS of the next zone."""
    rng, names = np.random.default_rng(count), []
    for number in range(count):
        srs = crs(32632 + number % 2)
        east, north, _ = osr.CoordinateTransformation(crs(32633), srs).TransformPoint(*(rng.random(2) * 4000 + (400000, 5000000)))
        names.append(str(folder / ("%03d.tif" % number)))
        dataset = gdal.GetDriverByName("GTiff").Create(names[-1], size, size, 2, gdal.GDT_Int16)
        dataset.SetGeoTransform((round(east), 20, 0, round(north), 0, -20))
        dataset.SetProjection(srs.ExportToWkt())
        for band in range(2):
            pixels = rng.integers(0, 1000, (size, size))
            pixels[rng.random((size, size)) < 0.1] = -1
            dataset.GetRasterBand(band + 1).SetNoDataValue(-1)
            dataset.GetRasterBand(band + 1).WriteArray(pixels)
    return names


def start(*arguments, script=SCRIPT, **environment):
    need("python3-distributed", importlib.util.find_spec("distributed"))
    return subprocess.Popen([sys.executable, script, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "GDAL_NUM_THREADS": "1", **environment})


def finish(process):
    """What it printed."""
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-3000:]
    return output


def counts(output):
    """[shards made], [shards that were there] of all levels."""
    found = re.findall(r"(\d+) shards made, (\d+) were there", output)  # in a pipe GDAL's bar ends after what Python prints
    return [int(made) for made, _ in found], [int(there) for _, there in found]


def told_by_others(told, killed):
    """{(level, row, column)} that workers which were not killed made, and that they found there. None made what another did."""
    rows = [tuple(map(int, line.split())) for line in told.read_text().splitlines()]
    made, found = ([row[1:4] for row in rows if row[0] != killed and row[4] == how] for how in (1, 0))
    assert len(made) == len(set(made))
    return set(made), set(found)


def shards_of(store):
    """{shard: when it was written} of all levels."""
    found = glob.glob(os.path.join(store, "m", "c", "0", "*", "*")) + glob.glob(os.path.join(store, "ovr_*", "m", "c", "0", "*", "*"))
    return {name: os.stat(name).st_mtime_ns for name in found}


def assert_is_what_gdal_makes(store, names, folder, how):
    """Pixels as of gdalwarp to the bit; overviews as of the driver, but for the rounding of means, which GDAL's code makes here."""
    expected = gdal.Warp("", names, format="MEM", dstSRS="EPSG:3857", xRes=15, yRes=15, resampleAlg="bilinear", errorThreshold=0)
    found = open_ours(store)
    assert found.GetGeoTransform() == expected.GetGeoTransform() and found.GetRasterBand(1).GetNoDataValue() == -1
    assert_same(read_all(found), read_all(expected))
    whole = copy(folder / "whole.zarr", expected, CHUNK_SHAPE=32, OVERVIEWS="AUTO", RESAMPLING=how)
    assert whole.GetRasterBand(1).GetOverviewCount() == found.GetRasterBand(1).GetOverviewCount() > 2
    for level in range(whole.GetRasterBand(1).GetOverviewCount()):
        for band in (1, 2):
            a, b = (dataset.GetRasterBand(band).GetOverview(level).ReadAsArray().astype(int) for dataset in (found, whole))
            assert np.abs(a - b).max() <= (how == "AVERAGE") and np.mean(a != b) < 0.001, (level, band)


def test_mosaic_of_workers_equals_gdalwarp_though_one_is_killed(tmp_path):
    """24 rasters, 3 workers, one of them killed; then what is missing, and only that, is made."""
    names, store = make_inputs(tmp_path, 24), str(tmp_path / "m.zarr")
    arguments = [store, *names, *TARGET, "--resampling", "bilinear", "--workers", 3]
    (tmp_path / "telling.py").write_text(TELLING)
    process = start(*arguments, script=str(tmp_path / "telling.py"), TOLD=str(tmp_path / "told"))
    while not shards_of(store) and process.poll() is None:
        time.sleep(0.02)
    children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout.splitlines()
    killed = next(int(child.split()[0]) for child in children if "spawn_main" in child)
    os.kill(killed, signal.SIGKILL)
    early = len(shards_of(store))
    made, there = counts(finish(process))
    assert made[0] > early + 10 and len(made) > 3
    # What the killed one wrote and had not yet told: its tasks run again on others. (At the end the last result may be
    # asked for once more, while workers leave one by one: that one was made by others.)
    by_others, found = told_by_others(tmp_path / "told", killed)
    assert sum(there) == len(found - by_others) <= early
    assert_is_what_gdal_makes(store, names, tmp_path, "AVERAGE")
    subprocess.run([os.path.join(os.path.dirname(os.environ["GDAL_DRIVER_PATH"]), "shardedzarr-validate"), store], check=True)

    before = shards_of(store)
    gone = sorted(before)[3::5]
    for name in gone:
        os.remove(name)
    finish(start(*arguments))
    after = shards_of(store)
    assert sorted(after) == sorted(before)
    assert [name for name in after if after[name] != before[name]] == [name for name in after if name in gone]
    assert_is_what_gdal_makes(store, names, tmp_path, "AVERAGE")

    process = start(store, *names[1:], *TARGET)
    assert "these inputs and arguments" in process.communicate(timeout=300)[1] and process.returncode != 0
    assert shards_of(store) == after


def refusal(*arguments):
    """The one line of an error."""
    process = start(*arguments)
    output, errors = process.communicate(timeout=300)
    assert process.returncode not in (0, None) and errors.count("\n") == 1, (output, errors)
    return errors


def test_an_output_that_is_a_file_or_an_input_is_refused(tmp_path):
    """mosaic.py scenes/*.tif, with the output forgotten, leaves the first scene as it is."""
    names = make_inputs(tmp_path, 3, 8)
    before = [open(name, "rb").read() for name in names]
    assert "found a file" in refusal(*names)
    assert "one of the inputs" in refusal(names[0], *names)
    assert [open(name, "rb").read() for name in names] == before and len(list(tmp_path.iterdir())) == 3


def test_mosaic_on_an_object_store_lists_nothing(tmp_path):
    """Per shard: its name is asked for, metadata are read, the shard is written, each once. The array's document is read, too: another
    program may have removed the store, of which a shard that is not there says nothing."""
    names = make_inputs(tmp_path, 8)
    with ObjectStore() as s3:
        made, _ = counts(finish(start("/vsis3/bucket/m.zarr", *names, *TARGET, "--workers", 1, "--co", "OVERVIEWS=2", **s3.settings())))
        shards = [key for key in s3.objects if "/m/c/" in key]
        assert len(shards) > 5 and sum(made) >= len(shards)
        tasks = s3.log[next(i for i, (_, key) in enumerate(s3.log) if "/m/c/" in key):]
        assert not [key for _, key in tasks if "/" not in key.rstrip("/")] and ("PUT", "bucket/m.zarr/zarr.json") not in tasks
        requests = collections.Counter(tasks)
        assert {requests["PUT", key] for key in shards} == {1}
        base = tasks[:next(i for i, (_, key) in enumerate(tasks) if "/ovr_2x/m/c/" in key)]
        documents = base.count(("GET", "bucket/m.zarr/m/zarr.json"))
        assert documents <= len([key for key in shards if "/ovr_" not in key]) and len(base) - documents <= 4 * made[0]


def test_workers_whose_blocks_fit_no_shard_lose_nothing_on_an_object_store(s3):
    assert dask_writers.run_on(s3.host) > 0
    assert_same(read_all(open_ours("/vsis3/bucket/m.zarr")), dask_writers.expected())
