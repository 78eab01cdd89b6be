"""What the tests share on the GDAL side: names, opening, what a raster must look like, and what a test cannot do without."""
import atexit
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from osgeo import gdal, gdal_array, osr

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
FIXTURES = os.path.join(os.path.dirname(PROJECT), "shared", "fixtures")
GDAL = int(gdal.VersionInfo("VERSION_NUM"))
EGM96 = "/usr/share/proj/egm96_15.gtx"
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
STEP = 3 if os.environ.get("PYTEST_CASES") else 1  # of loops over alike cases within a test: where few cases are asked for, one of three runs


# ------------------------------------------------------------------------------------------------- what may be missing

def need(what, present):
    """Skips the test where something it cannot do without is absent; in CI (CI=true) that is a failure."""
    if not present:
        message = "%s is not here" % what
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)


def need_zarr_python_34():
    """Skips where Python is too old for zarr-python 3.4 (`scale_offset`, `cast_value`, rectilinear grids): in Debian 12. CI has newer Debians."""
    if sys.version_info < (3, 12):
        pytest.skip("zarr-python 3.4 takes Python 3.12")


def fixture_path(*parts):
    path = os.path.join(FIXTURES, *parts)
    need(path, os.path.exists(path))
    return path


class Forks:
    """A process that has imported zarr, xarray, ..., and forks one for each script: most of what a script takes is to import them."""
    running = None

    def __init__(self, python):
        script = os.path.join(HERE, "peers", "forks.py")
        self.process = subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "GDAL_DRIVER_PATH": "disable"})
        atexit.register(self.end)

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    @classmethod
    def run(cls, python, script, arguments, environment):
        """(exit status, what it said on stderr)"""
        if cls.running is None or cls.running.process.poll() is not None:
            cls.running = cls(python)
        pipe = cls.running.process
        environment = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}  # the sanitizers are not for the peers
        pipe.stdin.write(json.dumps([script, arguments, os.getcwd(), environment]) + "\n")
        pipe.stdin.flush()
        return json.loads(pipe.stdout.readline())


ALONE = ("second_gdal.py", "zarr_python_zfp.py")  # see to what is imported, and how


def run_peer(script, *arguments, python=None, **environment):
    """Runs a script of peers/ with the other Zarr libraries that autotest/peers.sh installed, or with another Python."""
    peers = os.environ.get("SHARDEDZARR_PEERS", "")
    need("SHARDEDZARR_PEERS, which runs scripts with zarr, tensorstore, zarrs, zarrita, ...,", os.path.exists(python or peers))
    path, arguments, environment = os.path.join(HERE, "peers", script), [*map(str, arguments)], {**os.environ, **environment}
    if python or script in ALONE or not script.endswith(".py") or script.startswith("zarr_draft_"):
        done = subprocess.run([python or peers, path, *arguments], capture_output=True, text=True, env=environment)
        status, said = done.returncode, done.stderr
    else:
        status, said = Forks.run(peers, path, arguments, environment)
    if status:
        missing = re.search(r"ModuleNotFoundError.*|\[ERR_MODULE_NOT_FOUND\].*|.*node: not found.*", said)
        need("a library that %s needs (%s)" % (script, missing and missing.group()), not missing)
        pytest.fail("%s: %s" % (script, said[-2000:]))


PEERS = {  # {peer: (the script that reads with it, as in peers/answers.py, and its first arguments)}
    "zarr": ("others_read.py", "zarr"), "zarrs": ("others_read.py", "zarrs"), "tensorstore": ("others_read.py", "tensorstore"),
    "zarrita": ("zarrita_read.mjs",), "xarray": ("xarray_read.py",), "datatree": ("xarray_tree.py",), "gdal": ("gdal_read.py",)}


def ask_peer(peer, folder, asked):
    """What a peer makes of arrays, [(store in the folder, path in the store)]: for each its answer as in peers/answers.py, with arrays as
    `values`. GDAL's own driver is asked in a process without our plugin."""
    with open(os.path.join(folder, "arrays.json"), "w") as file:
        json.dump(asked, file)
    run_peer(*PEERS[peer], folder, **({"python": sys.executable, "GDAL_DRIVER_PATH": "disable"} if peer == "gdal" else {}))
    with open(os.path.join(folder, peer + ".json")) as file:
        answers = json.load(file)
    assert len(answers) == len(asked)
    with open(os.path.join(folder, peer + ".bin"), "rb") as file:
        for answer in answers:
            answer["values"] = [np.frombuffer(file.read(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)
                                for dtype, shape in answer.get("values", [])]
    return answers


def need_codecs(meta):
    """Asks for the libraries behind the codecs of a zarr.json."""
    for name in re.findall(r'"(zstd|blosc)"', str(meta).replace("'", '"')):
        need("lib%s.so.1" % name, oracle.available(name))


def killed(seconds, code, *arguments, done=0):
    """Runs a writer and kills it so many seconds after it said that it is ready, and "done" so many times: at any moment."""
    with subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE) as writer:
        assert [writer.stdout.readline() for _ in range(done + 1)] == [b"ready\n"] + done * [b"done\n"]
        time.sleep(seconds)
        writer.kill()


# ------------------------------------------------------------------------------------------------------------- opening

def name_of(path, array=None, *indices, prefix="SHARDEDZARR"):
    """The connection string of an array, or of a slice of it: SHARDEDZARR:"path":/array:i:j."""
    return '%s:"%s"' % (prefix, path) + (":%s" % array if array else "") + "".join(":%d" % i for i in indices)


def open_array(path, array=None, *indices, options=()):
    """Opens with the driver's own prefix, and only with this driver."""
    return open_ours(name_of(path, array, *indices), options)


def open_ours(name, options=()):
    """Opens a name as GDAL would, and checks that it was this driver that took it."""
    dataset = gdal.OpenEx(name, gdal.OF_RASTER, open_options=list(options))
    assert dataset.GetDriver().ShortName == "ShardedZarr", name
    return dataset


def tried(name, drivers, flags=gdal.OF_RASTER, options=()):
    """(which of these drivers, or of all, opens a name, the messages that they left). Asked as for a mere try: GDAL does not say that none did."""
    messages = []
    gdal.DontUseExceptions()
    gdal.ErrorReset()
    gdal.PushErrorHandler(lambda level, number, message: messages.append(message))
    try:
        silent = getattr(gdal, "OF_SILENT_ERROR", 0)  # 3.14's bindings ask for messages otherwise
        dataset = gdal.OpenEx(name, flags | silent, allowed_drivers=drivers, open_options=list(options))
        last = gdal.GetLastErrorMsg()
    finally:
        gdal.PopErrorHandler()
        gdal.UseExceptions()
    return dataset and dataset.GetDriver().ShortName, messages + [last] * bool(last)


def declined(name, flags=gdal.OF_RASTER, options=()):
    """(whether our driver leaves a name to GDAL's own Zarr driver, the messages of both if ours left any). That driver is then asked and
    answers as if ours were not there."""
    need("GDAL's Zarr driver", gdal.GetDriverByName("Zarr") is not None)
    opened, messages = tried(name, ["ShardedZarr", "Zarr"], flags, options)
    without = tried(name, ["Zarr"], flags, options)
    assert opened in ("ShardedZarr", without[0])
    return opened != "ShardedZarr", [] if messages == without[1] else messages


def held_band(dataset, number=1):
    """A band that keeps its dataset open, for where nothing else does."""
    band = dataset.GetRasterBand(number)
    band.keep = dataset
    return band


def error_of(action, *arguments, **options):
    """The message with which a call fails. Not by pytest.raises(), whose answer and this frame hold each other, and with them what the
    call had in its hands: a dataset would then be closed, and fail, in some later test."""
    try:
        action(*arguments, **options)
    except RuntimeError as error:
        return str(error)
    pytest.fail("expected an error of %r" % (action,))


def warnings_of(action):
    """(result, the messages that were issued meanwhile)."""
    messages = []
    gdal.PushErrorHandler(lambda level, number, message: messages.append(message))
    try:
        return action(), messages
    finally:
        gdal.PopErrorHandler()


def subdatasets(dataset):
    """{array, group or slice, as in the connection string: (name, description)} of a dataset of several rasters."""
    found = {}
    for name, description in dataset.GetSubDatasets():
        key = re.fullmatch(r"SHARDEDZARR:[^\"].*:(/.*)", name)
        assert key, name
        found[key.group(1)] = (name, description)
    assert dataset.RasterCount == 0
    return found


# -------------------------------------------------------------------------------------------------- what it must look like

def raster_dtype(data_type):
    """The numpy type in which this version of GDAL hands out a Zarr data type."""
    dtype = oracle.dtype_of(data_type)
    if dtype == np.bool_:
        return np.dtype("uint8")
    if dtype == np.int8 and GDAL < 3070000:
        return np.dtype("int16")
    if dtype == np.float16 and GDAL < 3110000:
        return np.dtype("float32")
    return dtype


def bands_of(array, y=-2, x=-1):
    """An array as (bands, rows, columns): the extra dimensions flattened in C order, a single dimension as one row."""
    if array.ndim == 1:
        array = array[np.newaxis]
    array = np.moveaxis(array, (y, x), (-2, -1))
    return array.reshape((-1,) + array.shape[-2:])


def as_raster(array, data_type, y=-2, x=-1):
    """What the bands of an array must read as."""
    with np.errstate(invalid="ignore"):
        return bands_of(array, y, x).astype(raster_dtype(data_type))


def assert_same(actual, expected, what=""):
    """Equal in type, shape and value; to the bit, unless GDAL had to convert halves to floats."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, (what, actual.dtype, actual.shape, expected.shape)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        np.testing.assert_array_equal(actual, expected, err_msg=str(what))
    if not (GDAL < 3110000 and actual.dtype == np.float32):
        assert actual.tobytes() == expected.tobytes(), "%s: equal in value, not in bits" % (what,)


def read_all(dataset):
    """All bands as (bands, rows, columns)."""
    pixels = dataset.ReadAsArray()
    return pixels if pixels.ndim == 3 else pixels[np.newaxis]


def levels_of(dataset):
    """[level][band], the base first."""
    bands = [dataset.GetRasterBand(number + 1) for number in range(dataset.RasterCount)]
    assert len({band.GetOverviewCount() for band in bands}) == 1
    return [read_all(dataset)] + [np.stack([band.GetOverview(i).ReadAsArray() for band in bands]) for i in range(bands[0].GetOverviewCount())]


def random_window(rng, width, height):
    """(x, y, width, height) anywhere in a raster."""
    x, y = int(rng.integers(width)), int(rng.integers(height))
    return x, y, int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1))


def assert_pixels(dataset, expected, seed=0, windows=6):
    """The raster equals (bands, rows, columns): whole, and through windows, of one band and of all, that begin and end anywhere."""
    count, height, width = expected.shape
    assert (dataset.RasterCount, dataset.RasterYSize, dataset.RasterXSize) == expected.shape
    band_type = gdal_array.GDALTypeCodeToNumericTypeCode(dataset.GetRasterBand(1).DataType)
    assert np.dtype(band_type) == expected.dtype
    rng = np.random.default_rng(seed)
    for number in range(windows):  # first, so that nothing is in a cache from reading the whole
        x, y, w, h = random_window(rng, width, height)
        if number % 2:
            actual, part = dataset.ReadAsArray(x, y, w, h), expected[:, y:y + h, x:x + w]
            actual = actual.reshape(part.shape)
        else:
            band = int(rng.integers(count))
            actual, part = dataset.GetRasterBand(band + 1).ReadAsArray(x, y, w, h), expected[band, y:y + h, x:x + w]
        assert_same(actual, part, "window %s" % [x, y, w, h])
    assert_same(read_all(dataset), expected, "whole")


def assert_reads(path, meta, array, seed=0, y=-2, x=-1, options=()):
    """A store with this zarr.json opens with our prefix and reads as the array."""
    dataset = open_array(path, options=options)
    assert_pixels(dataset, as_raster(array, meta["data_type"], y, x), seed)


def same_crs(dataset, wanted):
    """Whether the CRS is the one that a user writes as `wanted` (EPSG:n, WKT), whatever the order of the data's axes."""
    actual = dataset.GetSpatialRef()
    expected = osr.SpatialReference()
    expected.SetFromUserInput(wanted)
    return actual is not None and bool(actual.IsSame(expected, ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", "CRITERION=EQUIVALENT"]))


def srs_of(code):
    """The CRS of an EPSG code, with X before Y."""
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(code)
    srs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return srs


def geotransform(dataset):
    """The geotransform, or None where there is none."""
    return dataset.GetGeoTransform(can_return_null=True)


def close(dataset):
    """Close(); when that fails, GDAL 3.10's Python would close again what is no more."""
    try:
        dataset.Close()
    finally:
        if dataset.this is not None:
            dataset.thisown = False
            dataset.this = None


def in_process(code, *arguments, **environment):
    """Runs `code`, which finds `arguments` in sys.argv[1:] and `gdal` imported, in a process of its own: the lines that it prints, also
    before it kills itself."""
    program = "import os, sys\nfrom osgeo import gdal\ngdal.UseExceptions()\n" + code
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONUNBUFFERED": "1", **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().split("\n")


# What code of in_process() begins with that is to run in the folder sys.argv[1] without root's permissions.
AS_NOBODY = '''
def become_nobody():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
os.chdir(sys.argv[1])
'''


def reads_of(action, what="syscr"):
    """How many times this process reads from files meanwhile; with "rchar" how many bytes."""
    def count():
        with open("/proc/self/io") as file:
            return int(dict(line.split(": ") for line in file)[what])
    before = count()
    action()
    return count() - before


def peak_memory(code, *arguments, **environment):
    """in_process(): (what it prints, peak MB). Under ASan, which takes memory of its own and gives none back for a while, the peak says
    nothing and is 0."""
    code += "\nprint(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    *output, kilobytes = in_process(code, *arguments, **environment)
    return "\n".join(output), 0 if SANITIZED else int(kilobytes) / 1024
