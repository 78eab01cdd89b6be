"""The driver under test, and the fixtures that more than one file uses.

GDAL_DRIVER_PATH says where the plugin is; by default it is where `cmake --build build` leaves it. Set before GDAL is first imported.
"""
import gc
import os
import shutil
import subprocess
import zipfile
from collections import defaultdict

import pytest

os.environ.setdefault("GDAL_DRIVER_PATH", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "gdalplugins"))
os.environ.setdefault("GDAL_PAM_ENABLED", "NO")  # no .aux.xml beside a store

from osgeo import gdal  # noqa: E402

from objectstore import ObjectStore  # noqa: E402
from webserver import RangeServer  # noqa: E402

gdal.UseExceptions()


def pytest_configure(config):
    config.addinivalue_line("markers", "no_driver: the test is of the test's own tools and does not need the plugin")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Nearly all objects of which 7,000 cases are made stay: to look for garbage among them took a third of the time of finding the tests."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config, items):
    """With PYTEST_CASES=n at most n cases of each test, from the first to the last."""
    most, tests = int(os.environ.get("PYTEST_CASES") or 0), defaultdict(list)
    if most < 2:
        return
    for item in items:
        tests[item.nodeid.split("[")[0]].append(item)
    kept = {cases[number * (len(cases) - 1) // (most - 1)] if len(cases) > most else case
            for cases in tests.values() for number, case in enumerate(cases[:most])}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


@pytest.fixture(autouse=True)
def driver(request):
    """The driver; without it every test fails that is not marked no_driver."""
    found = gdal.GetDriverByName("ShardedZarr")
    if found is None and not request.node.get_closest_marker("no_driver"):
        pytest.fail("GDAL did not find the plugin in GDAL_DRIVER_PATH=%s" % os.environ["GDAL_DRIVER_PATH"])
    return found


@pytest.fixture
def tmp_path(tmp_path):
    """pytest's, removed after the test: of all tests together they take 3 GB, and pytest keeps those of three runs."""
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def server(tmp_path):
    """An HTTP server over tmp_path, and GDAL with an empty HTTP cache."""
    gdal.VSICurlClearCache()
    with RangeServer(tmp_path) as running:
        yield running
    gdal.VSICurlClearCache()


@pytest.fixture
def s3():
    """A bucket of an object store that knows whole objects alone, /vsis3/bucket, and GDAL with an empty HTTP cache."""
    with ObjectStore() as store:
        settings = {**store.settings(), "GDAL_HTTP_MAX_RETRY": "0"}
        for key, value in settings.items():
            gdal.SetConfigOption(key, value)
        gdal.VSICurlClearCache()
        yield store
        for key in settings:
            gdal.SetConfigOption(key, None)
        gdal.VSICurlClearCache()


@pytest.fixture
def vsimem():
    """A function that copies a directory into a new place under /vsimem/, removed after the test."""
    root = "/vsimem/shardedzarr_test"

    def copy(path, name):
        for folder, _, names in os.walk(path):
            target = os.path.normpath(os.path.join(root, name, os.path.relpath(folder, path)))
            gdal.MkdirRecursive(target, 0o755)
            for file in names:
                with open(os.path.join(folder, file), "rb") as opened:
                    gdal.FileFromMemBuffer("%s/%s" % (target, file), opened.read())
        return "%s/%s" % (root, name)
    yield copy
    gdal.RmdirRecursive(root)


@pytest.fixture
def zipped(tmp_path):
    """A function that puts a directory into a zip file, under a folder of that name or at its root, and names it for /vsizip/."""
    def pack(path, folder=""):
        archive = str(tmp_path / "packed.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as opened:
            for directory, _, names in os.walk(path):
                for file in names:
                    source = os.path.join(directory, file)
                    opened.write(source, os.path.join(folder, os.path.relpath(source, path)))
        return "/vsizip/" + os.path.join(archive, folder)
    return pack


@pytest.fixture
def config():
    """A function that sets a configuration option until the end of the test."""
    names = []

    def put(name, value):
        names.append(name)
        gdal.SetConfigOption(name, value)
    yield put
    for name in names:
        gdal.SetConfigOption(name, None)
