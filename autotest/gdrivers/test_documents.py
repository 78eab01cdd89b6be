"""README.md and the pages in driver/doc say what is so: every command runs as it stands and prints what is shown, every option of the driver
is there, and no other; what is named is there.

Commands are those in fences marked ```sh and ```python, and the examples of options. A fence ```text behind one is what it prints, where `...`
stands for anything (a line of `...` for any lines). A fence ```sh FILE is tested by that file instead; ```python xarray runs with the
libraries that autotest/peers.sh installs. What stands for a host, a bucket and the user's own files is here: see the fixture `place`."""
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

import oracle
from objectstore import ObjectStore
from stores import LITTLE, array_meta, group_meta, plain_meta, random_values, sharding
from support import PROJECT, SANITIZED, need
from webserver import RangeServer
from writing import UTM, driver, source

DOC = os.path.join("driver", "doc")
PAGES = ["README.md"] + sorted(os.path.relpath(name, PROJECT) for name in glob.glob(os.path.join(PROJECT, DOC, "*.md")))
REFERENCE, PERFORMANCE = os.path.join(DOC, "shardedzarr.md"), os.path.join(DOC, "performance.md")
PLUGINS = os.environ["GDAL_DRIVER_PATH"]


def read(document):
    with open(os.path.join(PROJECT, document)) as file:
        return file.read()


def fences(document):
    """[(language, what is said behind it, the lines, what is printed: None where that is not shown)]"""
    found = re.findall(r"^```(sh|python) *([^\n]*)\n(.*?)^```$(?:\n\n?```text\n(.*?)^```$)?", read(document), re.M | re.S)
    return [(*fence, printed or None) for *fence, printed in found]


def commands(fence):
    """The commands of a fence, each as it is given to a shell"""
    language, said, text, _ = fence
    if said and said != "xarray":
        return []
    if language == "python":
        return ["%s - <<'END'\n%sEND" % (os.environ.get("SHARDEDZARR_PEERS", "peers.sh") if said == "xarray" else "python3", text)]
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def shown(text):
    """A regular expression of what is shown"""
    lines = [r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(re.escape("..."), ".*") + r" *\n" for line in text.splitlines()]
    return "".join(lines)


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
    """A function that runs a command in a folder with scene.tif, world.tif, scene.zarr, forecast.zarr, forecast.icechunk, healpix.zarr and scenes/;
    https://example.com/ is a server of that folder, /vsis3/bucket/ an object store, and our programs are found. It gives what is printed, and the requests to the server."""
    pixels = np.add.outer(np.arange(3) * 1000, np.add.outer(np.arange(610), np.arange(640))).astype("uint16")
    scene = source(pixels, UTM, "EPSG:32633", 0)
    gdal.Translate(str(tmp_path / "scene.tif"), scene)
    gdal.Translate(str(tmp_path / "scene.zarr"), scene, format="ShardedZarr")
    world = source(np.add.outer(np.arange(180), np.arange(360)).astype("int16")[np.newaxis], (-180, 1, 0, 90, 0, -1), "EPSG:4326")
    gdal.Translate(str(tmp_path / "world.tif"), world)
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
            if program == os.environ.get("SHARDEDZARR_PEERS"):
                imports = "\n".join(["import zarr", *re.findall("^import .*", command, re.M)])
                need(imports, subprocess.run([program, "-c", imports], capture_output=True).returncode == 0)
            environment["GDAL_DRIVER_PATH"] = "disable" if program == os.environ.get("SHARDEDZARR_PEERS") else PLUGINS  # it has a GDAL of its own
            done = subprocess.run(["sh", "-c", command.replace("https://example.com/", "http://%s/" % server.host)], cwd=tmp_path, text=True,
                                  capture_output=True, env=environment, stdin=subprocess.DEVNULL)
            assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-2000:])
            assert not re.search(r"^(ERROR|Warning) \d+:", done.stderr, re.M), (command, done.stderr)  # GDAL's; Dask has some of its own
            return done.stdout, list(server.log)
        yield run


@pytest.mark.parametrize("document", PAGES)
def test_every_command_runs_as_it_stands_and_prints_what_is_shown(place, document):
    for fence in fences(document):
        printed = "".join(place(command)[0] for command in commands(fence) if not is_slow_here(command))
        if commands(fence) and fence[-1] is not None:
            assert re.fullmatch(shown(fence[-1]), printed), "%s: after\n%s\nexpected\n%s\nfound\n%s" % (document, *fence[2:], printed)


def is_slow_here(command):
    """Whether it makes or reads a mosaic, under ASan: as in test_mosaic.py."""
    return "mosaic" in command and SANITIZED


@pytest.mark.no_driver
def test_the_lines_in_r_run_as_they_stand(place):
    if not shutil.which("Rscript") or subprocess.run(["Rscript", "-e", "library(terra)"], capture_output=True).returncode != 0:
        pytest.skip("R and terra are not here (Debian's r-cran-terra), nor in CI")
    for lines in re.findall(r"^```r\n(.*?)^```$", read(REFERENCE), re.M | re.S):
        place("Rscript - <<'END'\n%sEND" % lines)


def test_commands_that_are_not_run_name_an_existing_test():
    for document in PAGES:
        for language, said, *_ in fences(document):
            assert not said or (language, said) == ("python", "xarray") or os.path.exists(os.path.join(PROJECT, said)), said


@pytest.mark.no_driver
@pytest.mark.parametrize("document", PAGES)
def test_files_and_links_named_on_pages_exist(document):
    """Files in `code`, with the folder or without it, and links with the heading that they lead to."""
    text = re.sub(r"^```.*?^```$", "", read(document), flags=re.M | re.S)
    for name in re.findall(r"`([\w./-]+\.(?:c|h|cpp|py|sh|md|cmake))`", text):
        homes = ["", "driver", "include", "autotest/unit", "autotest/gdrivers", "autotest", DOC, os.path.dirname(document)]
        assert any(os.path.exists(os.path.join(PROJECT, home, name)) for home in homes), name
    for target, _, heading in re.findall(r"\]\(([^)#:]*)(#([^)]*))?\)", text):
        path = os.path.normpath(os.path.join(os.path.dirname(document), target)) if target else document
        assert os.path.exists(os.path.join(PROJECT, path)), target
        assert not heading or heading in headings(path), "%s#%s" % (path, heading)


def headings(document):
    """The names by which links lead to the headings of a page"""
    text = re.sub(r"^```.*?^```$", "", read(document), flags=re.M | re.S)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)]


@pytest.mark.no_driver
def test_the_readme_is_short_and_begins_with_its_two_commands():
    assert len(read("README.md").splitlines()) <= 110
    first = [line.split("#")[0].strip() for line in re.search(r"^```.*?\n(.*?)^```", read("README.md"), re.M | re.S)[1].splitlines()]
    assert first == ["sh data/egm96.sh", "sh autotest/run.sh"]
    assert all(os.path.getsize(name) <= 100000 for name in glob.glob(os.path.join(PROJECT, DOC, "*.png")))


def test_request_counts_on_pages_are_true(place):
    rows = table(PERFORMANCE, "command")
    assert len(rows) >= 3
    for command, (said,) in rows.items():
        requests = place(command)[1]
        assert 1 <= len(requests) <= int(re.match(r"\d+", said).group()), (command, [(r.method, r.path, r.range) for r in requests])


# ------------------------------------------------------------------------------------------------------------- messages

@pytest.mark.no_driver
def test_the_messages_that_are_explained_are_those_of_the_sources():
    """Each heading of troubleshooting.md that is code is a message, with `...` for what differs."""
    sources = "".join(open(name).read() for name in glob.glob(os.path.join(PROJECT, "driver", "**", "*.c*"), recursive=True))
    sources = re.sub(r'"\s*\n\s*"', "", sources)
    explained = re.findall(r"^### `(.*)`$", read(os.path.join(DOC, "troubleshooting.md")), re.M)
    assert len(explained) >= 10
    for message in explained:
        for words in filter(None, (words.strip() for words in message.split("..."))):
            assert words.replace('"', '\\"') in sources, words


# -------------------------------------------------------------------------------------------------------------- options

@pytest.fixture(scope="module")
def options():
    """The module driver/doc/options.py"""
    spec = importlib.util.spec_from_file_location("options", os.path.join(PROJECT, DOC, "options.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entries(section):
    """{option: its example} of the section of the reference, and of the other pages, that begins with this heading"""
    found = {}
    for page in PAGES:
        for text in re.findall(r"^## %s.*?\n(.*?)(?=^## |\Z)" % section, read(page), re.M | re.S):
            for name, body in re.findall(r"^#### (\w+)\n(.*?)(?=^#|\Z)", text, re.M | re.S):
                assert name not in found
                found[name] = re.search(r"^Example: `(.*)`$", body, re.M)[1]
    return found


SECTIONS = [("Open options", "-oo", "gdalinfo %s scene.zarr"), ("Configuration options", "--config", "gdalinfo %s scene.zarr"),
            ("Creation options", "-co", "gdal_translate -q -of ShardedZarr %s scene.tif new.zarr")]


@pytest.mark.parametrize("section, argument, around", SECTIONS)
def test_every_option_has_an_example_that_runs(place, section, argument, around):
    for option, example in entries(section).items():
        assert re.search(r"%s %s[= ]" % (argument, option), example), option
        if "-of" in around:
            place("rm -rf new.zarr")
        if option == "APPEND_SUBDATASET":
            place(around % "")
        command = around
        if option == "HEALPIX" and "-of" in around:
            command = around.replace("scene.tif", "cells.vrt")
            place("gdalwarp -q -of VRT -overwrite -ts 320 320 -t_srs '+proj=healpix +rot_xy=45 +ellps=WGS84' "
                  "-te -17691024.439365 -17691024.439365 17691024.439365 17691024.439365 scene.tif cells.vrt")
        asks_history = option in ("BRANCH", "TAG", "SNAPSHOT", "AS_OF")
        output, _ = place((command.replace("scene.zarr", "forecast.icechunk") if asks_history else command) % example)
        assert "-of" in around or "ShardedZarr" in output


def test_the_options_are_those_of_the_driver(options):
    assert set(entries("Open options")) == set(options.declared(driver(), options.OPEN))
    assert set(entries("Creation options")) == set(options.declared(driver(), options.CREATION))


def test_option_facts_on_pages_are_those_of_the_driver(options):
    """`python3 driver/doc/options.py` writes it anew."""
    for page in options.PAGES:
        text = read(os.path.join(DOC, page))
        assert options.generated(text, driver()) == text, page


@pytest.mark.no_driver
def test_the_configuration_options_are_those_in_the_sources():
    sources = "".join(open(name).read() for name in glob.glob(os.path.join(PROJECT, "driver", "**", "*.c*"), recursive=True))
    asked = set(re.findall(r'ConfigOption\(\s*"([A-Z0-9_]+)"', sources))
    said = set(entries("Configuration options"))
    assert asked and asked <= said
    assert all(option in sources for option in said), "that nothing asks for"
