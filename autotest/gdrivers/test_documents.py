"""README.md and driver/manual.md say what is so: every command runs as it stands, every option of the driver is there, and no other.

Commands are those in fences marked ```sh, and the examples in tables. A fence marked ```sh FILE is tested by that file instead. What stands for
a host, a bucket and the user's own files is here: see the fixture `place`."""
import glob
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest
from osgeo import gdal

import oracle
from objectstore import ObjectStore
from option_cases import is_alias
from stores import LITTLE, array_meta, group_meta, plain_meta, random_values, sharding
from support import PROJECT, need
from webserver import RangeServer
from writing import UTM, driver, source

README, MANUAL = "README.md", "driver/manual.md"
PLUGINS = os.environ["GDAL_DRIVER_PATH"]


def read(document):
    with open(os.path.join(PROJECT, document)) as file:
        return file.read()


def fences(document):
    """[(what is said behind ```sh, the commands)]"""
    return re.findall(r"^```sh *([^\n]*)\n(.*?)^```$", read(document), re.M | re.S)


def commands(document):
    return [line for said, text in fences(document) for line in text.splitlines() if not said and line and not line.startswith("#")]


def table(document, heading):
    """The rows of the table whose first column has this heading: {code in it: the other columns}."""
    rows = re.search(r"^\| *%s *\|.*\n\|[-|]+\n((?:\|.*\n)+)" % re.escape(heading), read(document), re.M).group(1)
    found = {}
    for row in rows.splitlines():
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        for name in re.findall(r"`([^`]*)`", cells[0]):
            assert name not in found, name
            found[name] = cells[1:]
    return found


# ------------------------------------------------------------------------------------------------------------- commands

def make_forecast(path):
    """A store with an array of (time, step, y, x), and its coordinates."""
    shape = (2, 8, 60, 70)
    oracle.write(path, group_meta())
    names = ["time", "step", "y", "x"]
    meta = array_meta(shape, "float32", (2, 8, 64, 96), [sharding((1, 1, 32, 32))], dimension_names=names)
    oracle.write(path + "/temperature_2m", meta, random_values(np.random.default_rng(1), "float32", shape))
    for name, size in zip(names, shape):
        attributes = {"units": "days since 2026-05-01"} if name == "time" else {}
        oracle.write(path + "/" + name, plain_meta((size,), dimension_names=[name], attributes=attributes), np.arange(float(size)))


def make_product(path):
    """A store whose group measurements/reflectance/r10m has two arrays of one grid."""
    for group in ("", "/measurements", "/measurements/reflectance", "/measurements/reflectance/r10m"):
        oracle.write(path + group, group_meta())
    for name in ("b02", "b03"):
        oracle.write(path + group + "/" + name, array_meta((60, 70), dimension_names=["y", "x"]), np.zeros((60, 70)))


def make_repository(path):
    """An Icechunk repository with an array of one row, a branch and a tag: what the fuzz target of such files begins with."""
    for name, key in [("repo", "repo"), ("snapshot", "snapshots/041061050R3GG28A1C60"), ("manifest", "manifests/4GJ2CB1N6WQGQ8HJ6D30")]:
        with open(os.path.join(PROJECT, "autotest", "fuzz", "corpus", "icechunk", name), "rb") as file:
            oracle.put(path, {key: file.read()[1:]})
    oracle.put(path, {"chunks/00000000000000000000": bytes(range(100, 105))})


def make_sphere(path):
    """A store of HEALPix cells of order 3, by the dggs convention."""
    said = {"name": "healpix", "refinement_level": 3, "indexing_scheme": "nested", "spatial_dimension": "cells"}
    oracle.write(path, group_meta({"dggs": said}))
    meta = array_meta((768,), "float32", [256], [sharding([64], LITTLE)], fill_value="NaN", dimension_names=["cells"])
    oracle.write(path + "/v", meta, np.arange(768, dtype="float32"))


@pytest.fixture
def place(tmp_path):
    """A function that runs a command in a folder with scene.tif, scene.zarr, forecast.zarr, forecast.icechunk, healpix.zarr and scenes/;
    https://example.com/ is a server of that folder, /vsis3/bucket/ an object store, and our programs are found. It gives what is printed, and the requests to the server."""
    pixels = np.add.outer(np.arange(3) * 1000, np.add.outer(np.arange(610), np.arange(640))).astype("uint16")
    scene = source(pixels, UTM, "EPSG:32633", 0)
    gdal.Translate(str(tmp_path / "scene.tif"), scene)
    gdal.Translate(str(tmp_path / "scene.zarr"), scene, format="ShardedZarr")
    (tmp_path / "scenes").mkdir()
    for number in range(2):
        gdal.Translate(str(tmp_path / "scenes" / ("%d.tif" % number)), scene, srcWin=[200 * number, 0, 400, 300])
    make_forecast(str(tmp_path / "forecast.zarr"))
    make_product(str(tmp_path / "s2.zarr"))
    make_sphere(str(tmp_path / "healpix.zarr"))
    make_repository(str(tmp_path / "forecast.icechunk"))
    (tmp_path / "data").symlink_to(os.path.join(PROJECT, "data"))
    bin = tmp_path / "bin"
    bin.mkdir()
    for program in (sys.executable, os.path.realpath(os.path.join(PLUGINS, "..", "shardedzarr-validate"))):
        (bin / ("python3" if program == sys.executable else "shardedzarr-validate")).symlink_to(program)
    with RangeServer(tmp_path) as server, ObjectStore() as s3:
        for name in glob.glob(str(tmp_path / "scene.zarr" / "**"), recursive=True):
            if os.path.isfile(name):
                with open(name, "rb") as file:
                    s3.objects["bucket/" + os.path.relpath(name, tmp_path)] = file.read()
        environment = {**os.environ, "PATH": "%s:%s" % (bin, os.environ["PATH"]), "AWS_S3_ENDPOINT": s3.host, "AWS_HTTPS": "NO",
                       "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
                       "LC_ALL": "C.UTF-8"}

        def run(command):
            program = command.split()[0]
            need(program, shutil.which(program, path=environment["PATH"]))
            server.log.clear()
            done = subprocess.run(["sh", "-c", command.replace("https://example.com/", "http://%s/" % server.host)], cwd=tmp_path, text=True,
                                  capture_output=True, env=environment, stdin=subprocess.DEVNULL)
            assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-2000:])
            assert not re.search(r"^(ERROR|Warning) \d+:", done.stderr, re.M), (command, done.stderr)  # GDAL's; Dask has some of its own
            return done.stdout, list(server.log)
        yield run


@pytest.mark.parametrize("document", [README, MANUAL])
def test_every_command_runs_as_it_stands(place, document):
    found = commands(document)
    assert len(found) >= 6
    for command in found:
        if "mosaic.py" in command and "libasan" in os.environ.get("LD_PRELOAD", ""):
            continue  # as in test_mosaic.py
        place(command)


@pytest.mark.no_driver
def test_what_tests_the_other_commands_is_there():
    for document in (README, MANUAL):
        for said, _ in fences(document):
            assert not said or os.path.exists(os.path.join(PROJECT, said)), said


@pytest.mark.parametrize("section, around", [("Open options", "gdalinfo %s scene.zarr"), ("Configuration options", "gdalinfo %s scene.zarr"),
                                             ("Creation options", "gdal_translate -q -of ShardedZarr %s scene.tif new.zarr")])
def test_every_option_has_an_example_that_runs(place, section, around):
    for option, (*_, example) in options_of_manual(section).items():
        assert re.search(r"(-oo|-co|--config) %s[= ]" % option, example), option
        if option == "APPEND_SUBDATASET":
            place(around % "")
        elif "-of" in around:
            place("rm -rf new.zarr")
        asks_history = option in ("BRANCH", "TAG", "SNAPSHOT", "AS_OF")
        output, _ = place((around.replace("scene.zarr", "forecast.icechunk") if asks_history else around) % example.strip("`"))
        assert "-of" in around or "ShardedZarr" in output


def test_reading_costs_the_requests_that_are_said(place):
    rows = table(MANUAL, "command")
    assert len(rows) >= 3
    for command, (said,) in rows.items():
        requests = place(command)[1]
        assert 1 <= len(requests) <= int(re.match(r"\d+", said).group()), (command, [(r.method, r.path, r.range) for r in requests])


# -------------------------------------------------------------------------------------------------------------- options

def options_of_manual(section):
    text = read(MANUAL).split("\n## %s\n" % section)[1].split("\n## ")[0]
    found = {}
    for row in re.findall(r"^\| `([A-Z0-9_]+)` \| (.*) \|$", text, re.M):
        assert row[0] not in found
        found[row[0]] = row[1].split(" | ")
    return found


def declared(item):
    """{option: the values that its declaration names, its default}"""
    return {option.get("name"): [value.text for value in option.iter("Value")] + [option.get("default")] * (option.get("default") is not None)
            for option in xml.etree.ElementTree.fromstring(driver().GetMetadataItem(item)).iter("Option")
            if not is_alias(option)}


@pytest.mark.parametrize("item, section, heading", [("DMD_OPENOPTIONLIST", "Open options", "open option"),
                                                    ("DMD_CREATIONOPTIONLIST", "Creation options", "creation option")])
def test_the_options_are_those_of_the_driver(item, section, heading):
    options = declared(item)
    for rows in (options_of_manual(section), table(README, heading)):
        assert set(rows) == set(options)
    for option, values in options.items():
        said = " ".join(options_of_manual(section)[option])
        for value in values:
            assert re.search(r"(?<!\w)%s(?!\w)" % re.escape(value), said), (option, value)


@pytest.mark.no_driver
def test_the_configuration_options_are_those_in_the_sources():
    sources = "".join(open(name).read() for name in glob.glob(os.path.join(PROJECT, "driver", "**", "*.c*"), recursive=True))
    asked = set(re.findall(r'ConfigOption\(\s*"([A-Z0-9_]+)"', sources))
    said = set(options_of_manual("Configuration options"))
    assert asked and asked <= said
    assert all(option in sources for option in said), "that nothing asks for"
