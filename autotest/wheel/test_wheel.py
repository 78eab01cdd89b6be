"""The Python wheel beside rasterio's own: each test is a program of a user, in a process of its own, that prints nothing on stderr.

WHEEL_VENVS is a folder of venvs, which autotest/wheel_tests.sh makes.
"""
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

VENVS = Path(os.environ["WHEEL_VENVS"])

# Of every program: a raster with coordinates that differ everywhere.
BEGIN = """
    import os, sys
    import numpy as np
    PIXELS = np.arange(3 * 300 * 260, dtype="uint32").reshape(3, 300, 260)
    def write(path="a.zarr", driver="ShardedZarr", **more):
        import rasterio
        profile = dict(driver=driver, width=260, height=300, count=3, dtype="uint32", crs="EPSG:32633",
                       transform=rasterio.Affine(10, 0, 500000, 0, -10, 5000000), nodata=9)
        with rasterio.open(path, "w", **{**profile, **more}) as made:
            made.write(PIXELS)
        return path
"""


class Python:
    """The Python of a venv; its programs run in a folder of the test."""

    def __init__(self, name, folder):
        self.bin, self.folder = VENVS / name / "bin", folder
        self.environ = {**os.environ, "GDAL_PAM_ENABLED": "NO"}
        self.environ.pop("GDAL_DRIVER_PATH", None)

    def run(self, *command, code=0, stderr="", **environ):
        done = subprocess.run(command, cwd=self.folder, env={**self.environ, **environ}, text=True, capture_output=True)
        assert done.returncode == code, done.stdout + done.stderr
        if stderr is not None:
            assert done.stderr == stderr
        return done

    def __call__(self, program, *arguments, **more):
        """What a program printed."""
        text = textwrap.dedent(BEGIN) + textwrap.dedent(program)
        return self.run(self.bin / "python", "-W", "ignore", "-c", text, *arguments, **more).stdout


@pytest.fixture(params=sorted(path.name for path in VENVS.iterdir()))
def python(request, tmp_path):
    return Python(request.param, tmp_path)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_stores_of_zarr_python_are_read_equal(python, first):
    python("""
        import rasterio, shardedzarr, zarr
        from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
        for seed in range(%d, %d):
            random = np.random.default_rng(seed)
            dtype = random.choice("uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64 complex64".split())
            shape = (*random.integers(1, 5, random.integers(0, 2)), *random.integers(1, 150, 2))
            chunks = [int(random.integers(1, min(40, length) + 1)) for length in shape]
            shards = [chunk * int(random.integers(1, 5)) for chunk in chunks]
            pixels = random.integers(0, 120, shape).astype(dtype)
            pixels[..., : shape[-1] // 3] = 7
            codec = random.choice([None, GzipCodec(level=2), ZstdCodec(level=1), BloscCodec(cname="lz4", shuffle="shuffle")])
            path = "%%d.zarr" %% seed
            array = zarr.create_array(path, shape=shape, chunks=chunks, shards=shards, dtype=dtype, fill_value=7, compressors=codec,
                                      dimension_names=["z", "y", "x"][-len(shape):])
            array[...] = pixels
            with rasterio.open(path) as dataset:
                assert dataset.driver == "ShardedZarr" and dataset.dtypes[0] == dtype, (seed, dataset.dtypes)
                expected = pixels.reshape(-1, *shape[-2:])
                assert np.array_equal(dataset.read(), expected), seed
                y, x = shape[-2] // 3, shape[-1] // 4
                assert np.array_equal(dataset.read(1, window=((y, y + 9), (x, x + 5))), expected[0, y:y + 9, x:x + 5]), seed
    """ % (first, first + 20))


def test_what_is_written_is_read_back_with_overviews_and_updated(python):
    python("""
        import rasterio, shardedzarr
        from rasterio.vrt import WarpedVRT
        with rasterio.open(write(blockxsize=64, blockysize=64, tiled=True, compress="zstd")) as dataset:
            assert np.array_equal(dataset.read(), PIXELS) and dataset.crs.to_epsg() == 32633 and dataset.nodata == 9
            assert dataset.overviews(1)[0] == 2 and dataset.block_shapes[0] == (64, 64)
        with rasterio.open("a.zarr", "r+") as dataset:
            dataset.write(PIXELS[0, :50, :40] + 1, 1, window=((100, 150), (200, 240)))
            dataset.update_tags(by="a test")
            dataset.build_overviews([2, 4], rasterio.enums.Resampling.nearest)
        expected = PIXELS.copy()
        expected[0, 100:150, 200:240] = PIXELS[0, :50, :40] + 1
        with rasterio.open("a.zarr") as dataset:
            assert np.array_equal(dataset.read(), expected) and dataset.tags()["by"] == "a test"
            assert dataset.overviews(1)[:2] == [2, 4] and np.array_equal(dataset.read(out_shape=(3, 150, 130)), expected[:, ::2, ::2])
            with WarpedVRT(dataset, crs="EPSG:4326", resampling=rasterio.enums.Resampling.nearest) as warped:
                of_store = warped.read()
        write("a.tif", "GTiff")
        with rasterio.open("a.tif", "r+") as dataset:
            dataset.write(expected)
        with rasterio.open("a.tif") as dataset, WarpedVRT(dataset, crs="EPSG:4326", resampling=rasterio.enums.Resampling.nearest) as warped:
            assert np.array_equal(warped.read(), of_store)
    """)


@pytest.mark.parametrize("order", ["""
        import shardedzarr, rasterio""", """
        import rasterio, shardedzarr""", """
        import rasterio
        with rasterio.Env():
            rasterio.drivers.raster_driver_extensions()
            import shardedzarr""", """
        import rasterio, rasterio.io
        with rasterio.io.MemoryFile() as memory:
            write(memory.name, "GTiff")
            with rasterio.open(memory.name) as other:
                import shardedzarr
                assert np.array_equal(other.read(), PIXELS)"""], ids=["before", "after", "in an Env", "with a dataset open"])
def test_the_driver_comes_before_zarr_in_whatever_order_is_imported(python, order):
    python(order + """
        import ctypes, rasterio
        with rasterio.open(write()) as dataset:
            assert dataset.driver == "ShardedZarr" and np.array_equal(dataset.read(), PIXELS)
        gdal = shardedzarr._gdal(shardedzarr._gdals()[0])
        gdal.GDALGetDriver.restype = ctypes.c_void_p
        drivers = [gdal.GDALGetDriver(number) for number in range(gdal.GDALGetDriverCount())]
        places = [drivers.index(gdal.GDALGetDriverByName(name)) for name in (b"ShardedZarr", b"Zarr")]
        assert places[0] < places[1], places
    """)


def test_an_error_of_the_driver_is_an_exception_with_its_text(python):
    python("""
        import rasterio, shardedzarr
        import glob
        shard = next(path for path in glob.glob(write() + "/**", recursive=True) if path.endswith("c/0/0/0"))
        os.truncate(shard, os.path.getsize(shard) - 1)
        def message(call):
            try:
                call()
            except rasterio.errors.RasterioIOError as error:
                return "; ".join(str(one) for one in (error, error.__cause__) if one)
        with rasterio.open("a.zarr") as dataset:
            assert "shard" in message(dataset.read), message(dataset.read)
        assert 'no array or group "none"' in message(lambda: rasterio.open("SHARDEDZARR:a.zarr:/none"))
    """)


def test_nothing_is_logged_and_no_file_stays_open(python):
    """stderr is empty in every test; here GDAL's log is shown, and files are counted."""
    python("""
        import logging
        logging.basicConfig(level=logging.WARNING)
        import rasterio
        files = os.listdir("/proc/self/fd")
        import shardedzarr
        assert os.listdir("/proc/self/fd") == files
        write()
        for _ in range(20):
            with rasterio.open("a.zarr") as dataset:
                dataset.read()
        assert len(os.listdir("/proc/self/fd")) <= len(files) + 1, os.listdir("/proc/self/fd")
    """)


def test_other_processes_need_an_import_and_no_more(python):
    (python.folder / "work.py").write_text(textwrap.dedent("""
        import rasterio, shardedzarr
        def total(path):
            with rasterio.open(path) as dataset:
                return dataset.driver, int(dataset.read().sum())
    """))
    python("""
        sys.path.insert(0, "")
        import multiprocessing, rasterio, shardedzarr
        from distributed import Client, LocalCluster
        from work import total
        expected = ("ShardedZarr", int(PIXELS.sum()))
        write()
        for how in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(how).Pool(2) as pool:
                assert pool.map(total, ["a.zarr"] * 4) == [expected] * 4, how
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
            assert client.gather(client.map(total, [os.path.abspath("a.zarr")] * 4, pure=False)) == [expected] * 4
    """, stderr=None, PYTHONPATH=str(python.folder))


def test_a_store_behind_http_is_read_by_the_wheels_own_curl(python):
    sys.path.insert(0, str(Path(__file__).parent.parent / "gdrivers"))
    from webserver import RangeServer
    python("import shardedzarr; write()")
    with RangeServer(python.folder) as server:
        python("""
            import rasterio, shardedzarr
            for name in (sys.argv[1], "SHARDEDZARR:" + sys.argv[1]):
                with rasterio.open(name + "/zarr.json") as dataset:
                    assert dataset.driver == "ShardedZarr" and np.array_equal(dataset.read(), PIXELS)
        """, server.vsi("a.zarr"))


def test_two_gdals_in_a_process_each_have_the_driver(python):
    """pyogrio brings a GDAL of its own, which may be the later one."""
    python("""
        import rasterio, shardedzarr
        one, = shardedzarr._registered
        import pyogrio
        shardedzarr.register()
        assert len(shardedzarr._registered) == 2 and one in shardedzarr._registered
        shardedzarr.register()
        import json
        json.dump({"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": {}}, open("a.geojson", "w"))
        assert pyogrio.read_info("a.geojson")["features"] == 1
        with rasterio.open(write()) as dataset:
            assert np.array_equal(dataset.read(), PIXELS)
    """)


def test_a_gdal_without_plugin_is_named(python):
    """Here the plugins are those of another version."""
    packages = python.run(python.bin / "python", "-c", "import shardedzarr; print(shardedzarr.__path__[0])").stdout.strip()
    os.makedirs(python.folder / "shardedzarr/plugins/3.7")
    for name in ("__init__.py", "__main__.py"):
        (python.folder / "shardedzarr" / name).write_bytes(Path(packages, name).read_bytes())
    failed = python.run(python.bin / "python", "-c", "import shardedzarr", code=1, stderr=None).stderr.splitlines()[-1]
    assert re.match(r"ImportError: no ShardedZarr in /.*libgdal.*: there is no plugin for GDAL 3\.\d+(-manylinux2014)?, only for 3\.7;", failed), failed
    reported = python.run(python.bin / "python", "-m", "shardedzarr", code=1, stderr=None)
    assert "plugin for GDAL 3.7: " in reported.stdout and "ImportError" not in reported.stderr and failed.endswith(reported.stderr.strip())


def test_without_any_gdal_it_says_what_to_install(python):
    failed = python("""
        sys.modules["rasterio"] = None
        import shardedzarr
    """, code=1, stderr=None)
    assert failed == ""
    done = python.run(python.bin / "python", "-c", "import sys; sys.modules['rasterio'] = None; import shardedzarr", code=1, stderr=None)
    assert done.stderr.splitlines()[-1].startswith("ImportError: no GDAL is loaded, and rasterio is not there: pip install rasterio")


def test_python_m_shardedzarr_reports_what_serves_what(python):
    report = python.run(python.bin / "python", "-m", "shardedzarr").stdout
    assert re.search(r"^shardedzarr \d+\.\d+\.\d+, Python 3", report) and "\nplugin for GDAL 3.10: /" in report
    assert re.search(r"\nGDAL 3\.\d+\.\d+: /.*rasterio\.libs/libgdal.*\n  ShardedZarr .*\(rw\+vs\): Sharded Zarr v3, version \d", report), report


def test_plugin_path_is_the_folder_for_the_gdal_that_is_there(python):
    python("""
        import rasterio, shardedzarr
        minor = rasterio.__gdal_version__.rpartition(".")[0] + ("-manylinux2014" if rasterio.__version__ < "1.4.4" else "")
        assert shardedzarr.plugin_path() == shardedzarr.plugin_path(minor) and minor in shardedzarr.minors()
        assert os.listdir(shardedzarr.plugin_path()) == ["gdal_ShardedZarr.so"]
    """)


def test_the_validator_is_a_program_of_the_wheel(python):
    python("import shardedzarr; write()")
    whole = python.run(python.bin / "shardedzarr-validate", "a.zarr")
    assert whole.stdout.startswith("a.zarr: 0 errors, 0 warnings")
    shard = max((path for path in (python.folder / "a.zarr").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    shard.write_bytes(shard.read_bytes()[:-3])
    assert "error" in python.run(python.bin / "shardedzarr-validate", "a.zarr", code=1, stderr=None).stdout


def test_the_versions_are_one(python):
    expected = re.search(r"project\(ShardedZarr VERSION ([\d.]+)", (Path(__file__).parents[2] / "CMakeLists.txt").read_text())[1]
    report = python.run(python.bin / "python", "-m", "shardedzarr").stdout
    assert report.startswith("shardedzarr %s," % expected) and ", version %s," % expected in report
    assert python.run(python.bin / "shardedzarr-validate", "--version").stdout.startswith("shardedzarr-validate %s, GDAL" % expected)


def fences():
    """[(the commands, what they print or None)] of the pages, for this file"""
    root = Path(__file__).parents[2]
    text = (root / "README.md").read_text() + (root / "driver/doc/python.md").read_text()
    return re.findall(r"^```sh autotest/wheel_tests.sh\n(.*?)^```$(?:\n\n?```text\n(.*?)^```$)?", text, re.M | re.S)


@pytest.mark.parametrize("commands, printed", fences(), ids=lambda text: re.sub(r"\W.*", "", text or "", flags=re.S))
def test_the_commands_of_the_pages_print_what_is_shown(python, commands, printed):
    """But those that make and install the wheel, which wheel.sh and wheel_tests.sh do."""
    python("import shardedzarr; write('scene.zarr', overviews='2')")
    lines = [line for line in commands.splitlines() if not line.startswith(("sh autotest/wheel.sh", "pip install"))]
    assert lines
    if "gdalinfo" in commands and "GDAL 3.6" not in subprocess.run(["gdalinfo", "--version"], text=True, capture_output=True).stdout:
        pytest.skip("the page speaks of Debian 12")
    done = python.run("sh", "-eu", "-c", "\n".join(lines), PATH="%s:%s" % (python.bin, os.environ["PATH"]))
    expected = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in printed.splitlines())
    assert re.fullmatch(expected, done.stdout) if printed else "Driver: ShardedZarr/" in done.stdout, done.stdout
