"""GDAL's programs, and what they do with files: copy, delete, rename, append, archives, memory, object stores, progress and cancel."""
import os
import shutil
import subprocess

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, random_values
from support import (assert_same, error_of, geotransform, need, open_array, open_ours, read_all, same_crs, subdatasets)
from writing import UTM, arrays, check_consolidated, copy, created, driver, files_of, only_array, pairs, source


def run(*command, cwd=None):
    """Runs one of GDAL's programs, which must print no error."""
    program = str(command[0])
    need(program, shutil.which(program))
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}, cwd=cwd)
    assert done.returncode == 0 and "ERROR" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def tiff(tmp_path):
    array = np.random.default_rng(5).integers(1, 5000, (3, 90, 120)).astype("uint16")
    gdal.Translate(str(tmp_path / "in.tif"), source(array, UTM, "EPSG:32633", 7), format="GTiff")
    return str(tmp_path / "in.tif"), array


def same_as_tiff(tmp_path, arguments, tiff):
    """gdal_translate with these arguments gives the same in both formats."""
    run("gdal_translate", "-q", *arguments, tiff, tmp_path / "out.tif")
    run("gdal_translate", "-q", "-of", "ShardedZarr", *arguments, tiff, tmp_path / "out.zarr")
    ours, theirs = open_ours(str(tmp_path / "out.zarr")), gdal.Open(str(tmp_path / "out.tif"))
    assert_same(read_all(ours), read_all(theirs))
    assert ours.GetGeoTransform() == pytest.approx(theirs.GetGeoTransform()) and same_crs(ours, theirs.GetProjection())
    assert ours.GetRasterBand(1).GetNoDataValue() == theirs.GetRasterBand(1).GetNoDataValue()
    assert_same(only_array(tmp_path / "out.zarr")[2].reshape(read_all(theirs).shape), read_all(theirs))


@pytest.mark.parametrize("arguments", [["-srcwin", 10, 20, 50, 40], ["-b", 3, "-b", 1], ["-outsize", 240, 180, "-r", "bilinear"],
                                       ["-scale", 0, 5000, 0, 255, "-ot", "Byte"], ["-b", 2, "-a_nodata", 0]], ids=str)
def test_translate(tmp_path, tiff, arguments):
    same_as_tiff(tmp_path, arguments, tiff[0])


def test_warp_into_a_new_and_into_an_existing_store(tmp_path, tiff):
    warp = ["-q", "-t_srs", "EPSG:32633", "-r", "near", "-te", 500000, 4998800, 501400, 5000200, "-tr", 10, 10]
    run("gdalwarp", *warp, tiff[0], tmp_path / "out.tif")
    run("gdalwarp", *warp, "-of", "ShardedZarr", "-co", "CHUNK_SHAPE=16", tiff[0], tmp_path / "out.zarr")
    expected = gdal.Open(str(tmp_path / "out.tif"))
    found = open_ours(str(tmp_path / "out.zarr"))
    assert_same(read_all(found), read_all(expected))
    assert found.GetGeoTransform() == expected.GetGeoTransform() and same_crs(found, "EPSG:32633")
    assert found.GetRasterBand(1).GetNoDataValue() == 7
    found = None
    other = source(np.full((3, 10, 10), 77, "uint16"), (500500, 10, 0, 4999500, 0, -10), "EPSG:32633")
    gdal.Translate(str(tmp_path / "other.tif"), other)
    for target in ("out.tif", "out.zarr"):
        run("gdalwarp", "-q", tmp_path / "other.tif", tmp_path / target)
    pixels = read_all(open_ours(str(tmp_path / "out.zarr")))
    assert_same(pixels, read_all(gdal.Open(str(tmp_path / "out.tif"))))
    assert (pixels == 77).sum() >= 300
    run("gdalwarp", "-q", "-of", "ShardedZarr", "-t_srs", "EPSG:4326", tiff[0], tmp_path / "geo.zarr")
    assert same_crs(open_ours(str(tmp_path / "geo.zarr")), "EPSG:4326")


def test_calc_edit_addo_buildvrt_manage(tmp_path, tiff):
    path, array = str(tmp_path / "a.zarr"), tiff[1]
    run("gdal_translate", "-q", "-of", "ShardedZarr", "-co", "CHUNK_SHAPE=16", "-co", "OVERVIEWS=NONE", tiff[0], path)
    run("gdaladdo", "-q", "-r", "nearest", path, 2, 4)
    dataset = open_ours(path)
    assert [dataset.GetRasterBand(3).GetOverview(i).XSize for i in range(2)] == [60, 30]
    dataset = None
    run("gdaladdo", "-q", "-clean", path)
    assert not [name for name in arrays(path) if "ovr_" in name]
    run("gdal_edit.py", "-a_srs", "EPSG:3857", "-a_ullr", 0, 90, 120, 0, "-mo", "KEY=value", "-a_nodata", 9, path)
    dataset = open_ours(path)
    assert geotransform(dataset) == (0, 1, 0, 90, 0, -1) and same_crs(dataset, "EPSG:3857") and dataset.GetMetadataItem("KEY") == "value"
    assert dataset.GetRasterBand(2).GetNoDataValue() == 9
    run("gdalbuildvrt", "-q", tmp_path / "a.vrt", path)
    assert_same(read_all(gdal.Open(str(tmp_path / "a.vrt"))), array)
    run("gdal_calc.py", "--quiet", "--calc=A+1", "--format=ShardedZarr", "-A", path, "--A_band=2", "--outfile=%s" % (tmp_path / "b.zarr"))
    valid = array[1] != 9
    assert_same(open_ours(str(tmp_path / "b.zarr")).ReadAsArray()[valid], array[1][valid] + np.uint16(1))
    assert "ShardedZarr" in run("gdalmanage", "identify", path)
    run("gdalmanage", "copy", path, tmp_path / "c.zarr")
    assert_same(read_all(open_ours(str(tmp_path / "c.zarr"))), array)
    run("gdalmanage", "rename", tmp_path / "c.zarr", tmp_path / "d.zarr")
    assert not os.path.exists(tmp_path / "c.zarr") and files_of(path) == files_of(tmp_path / "d.zarr")
    run("gdalmanage", "delete", tmp_path / "d.zarr")
    assert not os.path.exists(tmp_path / "d.zarr") and os.path.exists(path)


# ------------------------------------------------------------------------------------------------------------------- files

@pytest.mark.parametrize("name, other", [("a.zarr/", "b.zarr/"), ("./a.zarr", "sub/b.zarr"), ("sub/../a.zarr", "b.zarr"), ("a.zarr/zarr.json", "b.zarr")])
def test_a_store_is_copied_renamed_and_deleted_by_a_name_without_a_folder(tmp_path, monkeypatch, name, other):
    (tmp_path / "sub").mkdir()
    array = np.random.default_rng(5).integers(1, 5000, (2, 90, 120)).astype("uint16")
    store = tmp_path / name.split("/zarr.json")[0]
    copy(store, source(array, UTM, "EPSG:32633"), CHUNK_SHAPE=16, OVERVIEWS="2")
    before = {file: (store / file).read_bytes() for file in files_of(store)}

    def same(path):
        return {file: (tmp_path / path / file).read_bytes() for file in files_of(tmp_path / path)} == before
    run("gdalmanage", "copy", name, other, cwd=str(tmp_path))
    assert same(other) and same(store)
    run("gdalmanage", "rename", other, "renamed.zarr", cwd=str(tmp_path))
    assert same("renamed.zarr") and not os.path.exists(tmp_path / other)
    run("gdalmanage", "delete", "renamed.zarr", cwd=str(tmp_path))
    assert not os.path.exists(tmp_path / "renamed.zarr")
    monkeypatch.chdir(tmp_path)  # as rasterio.shutil.copyfiles() and delete() do
    assert driver().CopyFiles(other, name) == 0 and same(other)
    assert driver().Rename("renamed.zarr", other) == 0 and same("renamed.zarr")
    assert driver().Delete("renamed.zarr") == 0 and same(store)
    assert sorted(os.listdir(str(tmp_path))) == sorted({"sub", name.split("/zarr.json")[0].strip("./").replace("sub/../", "")})

def test_files_and_folders_that_are_no_stores_are_never_touched(tmp_path):
    folder = tmp_path / "photos"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("precious")
    (tmp_path / "file.zarr").write_text("a file")
    pixels = source(np.ones((20, 30), "uint8"))
    for place in (folder, tmp_path / "file.zarr"):
        error_of(driver().CreateCopy, str(place), pixels)
        error_of(driver().Create, str(place), 10, 10, 1)
        error_of(driver().Delete, str(place))
        error_of(driver().Rename, str(tmp_path / "new"), str(place))
        created(tmp_path / "ok.zarr", np.ones((1, 20, 30), "uint8"))
        error_of(driver().Rename, str(place), str(tmp_path / "ok.zarr"))
        error_of(driver().CopyFiles, str(place), str(tmp_path / "ok.zarr"))
    assert (folder / "sub" / "a.txt").read_text() == "precious" and (tmp_path / "file.zarr").read_text() == "a file"
    assert open_ours(str(tmp_path / "ok.zarr")).ReadAsArray().all() and not os.path.exists(tmp_path / "new")


def test_a_raster_is_appended_as_a_group_of_its_own(tmp_path):
    first, second = random_values(np.random.default_rng(1), "uint8", (2, 40, 50)), random_values(np.random.default_rng(2), "float32", (1, 30, 20))
    path = str(tmp_path / "a.zarr")
    copy(path, source(first, UTM, "EPSG:32633"), ARRAY_NAME="one", CHUNK_SHAPE=8)
    before = {name: (tmp_path / "a.zarr" / name).read_bytes() for name in files_of(path) if name != "zarr.json"}
    append = pairs(dict(APPEND_SUBDATASET="YES", ARRAY_NAME="two", CHUNK_SHAPE=8, OVERVIEWS="2"))
    driver().CreateCopy(path, source(second, (0, 1, 0, 0, 0, -1), "EPSG:3857"), options=append)
    found = subdatasets(open_ours(path))
    assert len(found) == 2
    for name, pixels, code in (("one", first, "EPSG:32633"), ("two", second, "EPSG:3857")):
        key, = [key for key in found if key.split("/")[-1] == name]
        dataset = open_array(path, key)
        assert_same(read_all(dataset), pixels)
        assert same_crs(dataset, code) and dataset.GetRasterBand(1).GetOverviewCount() == (name == "two")
    assert {name: (tmp_path / "a.zarr" / name).read_bytes() for name in before} == before
    check_consolidated(path)
    assert "two" in error_of(driver().CreateCopy, path, source(second), options=append)
    check_consolidated(path)


@pytest.mark.parametrize("name", ["two", "c"])  # "c" is where the chunks of the root array are
@pytest.mark.parametrize("options", [{}, {"SINGLE_ARRAY": "NO"}], ids=str)
def test_appending_to_a_store_whose_root_is_an_array_is_refused(tmp_path, options, name):
    path = oracle.write(tmp_path / "a.zarr", array_meta((4, 6)), counting((4, 6)))
    before = {file: (tmp_path / "a.zarr" / file).read_bytes() for file in files_of(path)}
    options = pairs({"APPEND_SUBDATASET": "YES", "ARRAY_NAME": name, **options})
    attempts = [lambda: driver().CreateCopy(path, source(counting((2, 4, 6)).astype("uint8")), options=options)]
    if "SINGLE_ARRAY=NO" not in options:
        attempts.append(lambda: driver().Create(path, 6, 4, 1, options=options))
    for attempt in attempts:
        message = error_of(attempt)  # of "c" alone: there are files that are no store
        assert "expected a group as the root" in message or (name == "c" and "a.zarr/c: is not overwritten" in message)
        assert {file: (tmp_path / "a.zarr" / file).read_bytes() for file in files_of(path)} == before
    assert sorted(os.listdir(path)) == ["c", "zarr.json"]


def test_appending_that_is_cancelled_leaves_the_store_as_it_was(tmp_path):
    path = str(tmp_path / "a.zarr")
    copy(path, source(np.ones((40, 50), "uint8")), ARRAY_NAME="one")
    append = pairs(dict(APPEND_SUBDATASET="YES", ARRAY_NAME="two", CHUNK_SHAPE=8, OVERVIEWS="2,4"))
    for stop in (0.1, 0.8, 0.99):
        with pytest.raises(RuntimeError):
            driver().CreateCopy(path, source(np.ones((40, 50), "uint8")), options=append, callback=lambda done, *_: int(done < stop))
        check_consolidated(path)
        assert list(arrays(path)) == ["one"] and open_ours(path).ReadAsArray().all()
    assert error_of(driver().CreateCopy, str(tmp_path / "no.zarr"), source(np.ones((4, 5), "uint8")), options=append)
    assert not os.path.exists(tmp_path / "no.zarr")


# ------------------------------------------------------------------------------------------------------------ other places

def test_a_store_in_memory(tmp_path):
    array = random_values(np.random.default_rng(1), "int16", (2, 70, 101))
    try:
        assert_same(copy("/vsimem/sz/a.zarr", source(array), CHUNK_SHAPE=16, OVERVIEWS="2").ReadAsArray(), array)
        dataset = gdal.Open("/vsimem/sz/a.zarr", gdal.GA_Update)
        dataset.GetRasterBand(1).WriteArray(array[1], 0, 0)
        dataset = None
        assert_same(open_ours("/vsimem/sz/a.zarr").ReadAsArray(), array[[1, 1]])
        driver().Rename("/vsimem/sz/b.zarr", "/vsimem/sz/a.zarr")
        driver().CopyFiles("/vsimem/sz/c.zarr", "/vsimem/sz/b.zarr")
        driver().Delete("/vsimem/sz/b.zarr")
        assert gdal.VSIStatL("/vsimem/sz/b.zarr") is None
        assert_same(open_ours("/vsimem/sz/c.zarr").ReadAsArray(), array[[1, 1]])
    finally:
        gdal.RmdirRecursive("/vsimem/sz")


def unloaded(store, folder):
    oracle.put(folder, {key[len("bucket/"):]: data for key, data in store.objects.items()})
    return os.path.join(str(folder), "a.zarr")


def test_an_object_store_that_uploads_whole_objects(tmp_path, s3):
    array = random_values(np.random.default_rng(1), "int16", (2, 70, 101))
    assert_same(copy("/vsis3/bucket/a.zarr", source(array, UTM, "EPSG:32633"), CHUNK_SHAPE=16, SHARD_SHAPE=32, OVERVIEWS="2").ReadAsArray(), array)
    assert_same(only_array(unloaded(s3, tmp_path / "1"))[2], array)
    check_consolidated(tmp_path / "1" / "a.zarr")
    gdal.VSICurlClearCache()
    s3.log.clear()
    dataset = gdal.Open("/vsis3/bucket/a.zarr", gdal.GA_Update)
    dataset.GetRasterBand(1).WriteArray(array[1, :8, :8], 40, 40)
    dataset = None
    array[0, 40:48, 40:48] = array[1, :8, :8]
    uploads = [key for method, key in s3.log if method in ("PUT", "POST")]
    assert set(uploads) == {"bucket/a.zarr/a/c/0/1/1"}
    assert_same(only_array(unloaded(s3, tmp_path / "2"))[2], array)
    assert not [key for key in s3.objects if "tmp" in key]
