"""What stops a new user, and what the driver says then: the message names what the user gave, what is there, and what to do."""
import os
import shutil
import subprocess

import numpy as np
import pytest
from osgeo import gdal

import objectstore
import oracle
from support import AS_NOBODY, GDAL, error_of, in_process, name_of, need, open_ours
from writing import UTM, copy, document, driver, files_of, source

RASTER, MULTIDIM = gdal.OF_RASTER, gdal.OF_MULTIDIM_RASTER


def program(*command, cwd=None, **environment):
    """(exit status, all that was printed) of one of GDAL's programs."""
    need(command[0], shutil.which(command[0]))
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": "", **environment})
    return done.returncode, done.stdout + done.stderr


def run(*command):
    """What a program prints, which must not fail."""
    status, printed = program(*command)
    assert status == 0, printed
    return printed


# ----------------------------------------------------------------------------------------------------------------- Zarr v2

ARRAY_V2 = {"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C", "filters": None}


def old_store(folder, kind):
    """A store of Zarr v2: an array, a group with one, or one with nothing but consolidated metadata at its root."""
    below = "" if kind == "array" else "t/"
    files = {below + ".zarray": ARRAY_V2, below + ".zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"]}, below + "0.0": b"\1\2\3\4"}
    if kind != "array":
        files[".zgroup" if kind == "group" else ".zmetadata"] = {"zarr_format": 2} if kind == "group" else {"zarr_consolidated_format": 1, "metadata": {}}
    oracle.put(folder / "old.zarr", files)
    return str(folder / "old.zarr")


@pytest.mark.parametrize("kind", ["array", "group", "consolidated"])
def test_store_of_zarr_v2_is_named_in_the_error(tmp_path, server, kind):
    path = old_store(tmp_path, kind)
    said = "expected Zarr v3, found Zarr v2, which GDAL's own driver Zarr reads; gdalmdimtranslate -of ShardedZarr copies it to Zarr v3"
    for flags in (RASTER, MULTIDIM, RASTER | gdal.OF_UPDATE):
        for name in (name_of(path), "SHARDEDZARR:" + path, name_of(path, "/t")):
            assert error_of(gdal.OpenEx, name, flags) == "ShardedZarr: %s: %s" % (path, said)
        assert error_of(gdal.OpenEx, path, flags, ["ShardedZarr"]) == "ShardedZarr: %s: %s" % (path, said)
    assert error_of(gdal.OpenEx, name_of(server.vsi("old.zarr")), RASTER).endswith(said)
    pixels = source(np.ones((1, 5, 5), "uint8"))
    before = files_of(path)
    assert error_of(driver().CreateCopy, path, pixels, options=["APPEND_SUBDATASET=YES"]) == path + ": " + said
    for options in ([], ["OVERWRITE=YES"]) if GDAL < 3080000 or kind == "consolidated" else []:  # GDAL 3.13 deletes what its own driver knows
        assert "exists and is a store of Zarr v2; it is not overwritten" in error_of(driver().CreateCopy, path, pixels, options=options)
    assert error_of(driver().Rename, str(tmp_path / "new.zarr"), path) == path + ": " + said
    assert files_of(path) == before
    status, printed = program("shardedzarr-validate", path) if shutil.which("shardedzarr-validate") else (1, said)
    assert status == 1 and said in printed


def test_command_in_the_zarr_v2_error_copies_the_store(tmp_path):
    need("GDAL's Zarr driver", gdal.GetDriverByName("Zarr") is not None)
    path = old_store(tmp_path, "group")
    run("gdalmdimtranslate", "-of", "ShardedZarr", path, tmp_path / "new.zarr")
    assert open_ours(name_of(tmp_path / "new.zarr", "/t")).ReadAsArray().tolist() == [[1, 2], [3, 4]]


def test_file_given_as_a_store_is_reported_as_a_file(tmp_path):
    gdal.Translate(str(tmp_path / "a.tif"), source(np.ones((1, 5, 5), "uint8")))
    said = "ShardedZarr: %s: is a file, expected the folder of a store"
    assert error_of(gdal.OpenEx, "SHARDEDZARR:%s" % (tmp_path / "a.tif"), RASTER) == said % (tmp_path / "a.tif")
    assert error_of(gdal.OpenEx, str(tmp_path / "a.tif"), RASTER, ["ShardedZarr"]) == said % (tmp_path / "a.tif")
    copy(tmp_path / "b.zarr", source(np.ones((1, 5, 5), "uint8")))
    shutil.make_archive(str(tmp_path / "b"), "zip", str(tmp_path / "b.zarr"))
    assert error_of(gdal.OpenEx, "SHARDEDZARR:%s" % (tmp_path / "b.zip"), RASTER) == \
        said % (tmp_path / "b.zip") + "; in an archive it is /vsizip/%s" % (tmp_path / "b.zip")
    assert open_ours("SHARDEDZARR:/vsizip/%s" % (tmp_path / "b.zip")).RasterCount == 1


# ---------------------------------------------------------------------------------------------------------------- archives

def archive(folder):
    copy(folder / "made.zarr", source(np.arange(40000, dtype="uint16").reshape(1, 200, 200), UTM, "EPSG:32633"), ARRAY_NAME="v")
    shutil.make_archive(str(folder / "a.zarr"), "zip", str(folder / "made.zarr"))
    return folder / "a.zarr.zip"


def damaged(path, how):
    data = path.read_bytes()
    path.write_bytes({"cut": data[:len(data) // 2], "empty": b"", "text": b"no archive", "end": data[:-30]}[how])


@pytest.mark.parametrize("how", ["cut", "empty", "text", "end"])
def test_damaged_archive_is_reported_as_damaged(tmp_path, how):
    path = archive(tmp_path)
    damaged(path, how)
    for name in ("SHARDEDZARR:%s" % path, "SHARDEDZARR:/vsizip/%s" % path, name_of("/vsizip/{%s}" % path)):
        message = error_of(gdal.OpenEx, name, RASTER)
        assert "the archive is not there, cannot be opened, or is cut or damaged" in message and "a.zarr.zip" in message, message
    assert "or is cut or damaged" in error_of(gdal.OpenEx, str(path), RASTER, ["ShardedZarr"])


def test_refusals_of_archives_name_the_archive_and_no_temporary_path(tmp_path):
    path = archive(tmp_path)
    before, pixels = path.read_bytes(), source(np.ones((1, 5, 5), "uint8"))
    for name in (str(path), "/vsizip/%s" % path, str(tmp_path / "new.zarr.zip")):
        for make in (lambda: driver().CreateCopy(name, pixels), lambda: driver().Create(name, 5, 5), lambda: driver().CreateMultiDimensional(name),
                     lambda: gdal.OpenEx(str(path), gdal.OF_UPDATE)):
            assert "what is in an archive is written once: pack a finished store" in error_of(make)
    assert not (tmp_path / "new.zarr.zip").exists()
    for command in (["gdaladdo", path, "2"], ["gdal_edit.py", "-mo", "A=b", path]):
        status, printed = program(*command)
        assert "a.zarr.zip" in printed and ".tmp" not in printed, printed
    assert path.read_bytes() == before


# ------------------------------------------------------------------------------------------------------------- permissions

BY_NOBODY = AS_NOBODY + '''
gdal.AllRegister()
become_nobody()
gdal.PushErrorHandler("CPLQuietErrorHandler")
ours = gdal.GetDriverByName("ShardedZarr")
pixels = gdal.GetDriverByName("MEM").Create("", 60, 60)
for action in (lambda: ours.Delete("a.zarr"), lambda: ours.CreateCopy("a.zarr", pixels), lambda: ours.Create("a.zarr", 5, 5)):
    try:
        print(action())
    except RuntimeError as error:
        print(error)
print(sorted(os.listdir(".")))
'''


@pytest.mark.parametrize("closed", ["", "v", "v/c/0"])
def test_a_store_that_may_not_be_removed_is_neither_deleted_nor_replaced_and_the_message_names_it(tmp_path, closed):
    path = tmp_path / "a.zarr"
    copy(path, source(np.ones((1, 60, 60), "uint8")), ARRAY_NAME="v", CHUNK_SHAPE=16, SHARD_SHAPE=32)
    for folder in (tmp_path, path, *(folder for folder in path.rglob("*") if folder.is_dir())):
        folder.chmod(0o777)
    (path / closed).chmod(0o555)
    if os.geteuid() == 0:
        for item in (path, *path.rglob("*")):
            os.chown(str(item), 65534, 65534)
    before = files_of(path)
    answers = in_process(BY_NOBODY, tmp_path)
    assert answers == ["ShardedZarr: a.zarr%s: cannot be written to: Permission denied" % (closed and "/" + closed)] * 3 + ["['a.zarr']"]
    assert files_of(path) == before and open_ours(str(path)).ReadAsArray().all()


OVERVIEWS_BY_NOBODY = AS_NOBODY + '''
import shutil, subprocess
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, preexec_fn=become_nobody)
print(done.returncode, (done.stdout + done.stderr).replace("\\n", " "))
'''


@pytest.mark.parametrize("above, overviews", [(0o777, "2"), (0o555, "2")])
def test_gdaladdo_without_write_permission_is_an_error_that_says_so(tmp_path, above, overviews):
    need("gdaladdo", shutil.which("gdaladdo"))
    path = tmp_path / "a.zarr"
    copy(path, source(np.ones((1, 60, 60), "uint8")), ARRAY_NAME="v", CHUNK_SHAPE=16, OVERVIEWS=overviews)
    for folder in (path, *(folder for folder in path.rglob("*") if folder.is_dir())):
        folder.chmod(0o555)
    tmp_path.chmod(above)
    answer, = in_process(OVERVIEWS_BY_NOBODY, tmp_path, shutil.which("gdaladdo"), "a.zarr", "2")
    assert not answer.startswith("0 ") and "a.zarr: cannot be written to: Permission denied" in answer, answer


# -------------------------------------------------------------------------------------------- what a target's name may be

def test_array_name_as_target_is_refused_with_the_options_to_use(tmp_path):
    path, picture = str(tmp_path / "a.zarr"), str(tmp_path / "new.tif")
    pixels = source(np.full((1, 40, 40), 7, "uint8"))
    copy(path, pixels)
    gdal.GetDriverByName("GTiff").CreateCopy(picture, pixels).FlushCache()
    status, printed = program("gdal_translate", "-q", "-of", "ShardedZarr", picture, name_of(path, "/red"))
    assert status != 0 and "the target %s, with APPEND_SUBDATASET=YES and ARRAY_NAME=red" % path in printed and "stays until" not in printed
    run("gdal_translate", "-q", "-of", "ShardedZarr", "-co", "APPEND_SUBDATASET=YES", "-co", "ARRAY_NAME=red", picture, path)
    assert open_ours(name_of(path, "/red")).ReadAsArray().tolist() == [[7] * 40] * 40


# ------------------------------------------------------------------------------------------------- a store that is read is not deleted

def test_a_store_that_this_program_has_open_is_not_deleted(tmp_path):
    path, other = str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")
    for name in (path, other):
        copy(name, source(np.full((1, 40, 40), 7, "uint8")))
    os.symlink(path, tmp_path / "link.zarr")
    before = files_of(path)
    for reader in (lambda: gdal.Open(path), lambda: gdal.OpenEx(path, MULTIDIM), lambda: gdal.Open(str(tmp_path / "link.zarr"))):
        opened = reader()
        said = error_of(driver().Delete, path)
        assert said == path + ": is not deleted: this program has it open; close it first"
        assert files_of(path) == before and opened is not None
        opened = None
    assert driver().Delete(str(tmp_path / "link.zarr")) == 0 and files_of(path) == before  # the link alone
    opened = gdal.Open(other)
    assert driver().Delete(path) == 0 and not os.path.exists(path)
    assert opened is not None


def test_a_store_is_not_copied_or_renamed_over_another(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.zarr", "b.zarr")]
    for path in paths:
        copy(path, source(np.full((1, 40, 40), 7, "uint8")))
    before = [files_of(path) for path in paths]
    for change in (driver().CopyFiles, driver().Rename):
        assert error_of(change, paths[1], paths[0]) == paths[1] + ": exists already; it is not overwritten: delete it first"
    assert [files_of(path) for path in paths] == before


@pytest.mark.skipif(GDAL < 3110000, reason="GDAL 3.11 has the program gdal")
@pytest.mark.parametrize("command", [("convert",), ("reproject", "--dst-crs", "EPSG:4326")], ids=lambda command: command[0])
def test_the_program_gdal_does_not_delete_the_store_that_it_reads(tmp_path, command):
    path = str(tmp_path / "a.zarr")
    copy(path, source(np.full((1, 40, 40), 7, "uint8"), UTM, "EPSG:32633"))
    before = files_of(path)
    status, printed = program("gdal", "raster", *command, "-q", "--of", "ShardedZarr", "--overwrite", path, path)
    assert status != 0 and printed.strip() and files_of(path) == before


# ------------------------------------------------------------------------------------------- what S3 says while a store is made

@pytest.mark.parametrize("how", ["copy", "create", "multidimensional"])
def test_creating_in_an_absent_bucket_names_the_bucket(s3, monkeypatch, how):
    monkeypatch.setitem(objectstore.REASONS, 404, (b"NoSuchBucket", b"The specified bucket does not exist"))
    s3.fault = lambda method, key, query: 404
    name = "/vsis3/bucket/a.zarr"
    said = error_of({"copy": lambda: driver().CreateCopy(name, source(np.ones((1, 5, 5), "uint8"))), "create": lambda: driver().Create(name, 5, 5),
                     "multidimensional": lambda: driver().CreateMultiDimensional(name)}[how])
    assert "The specified bucket does not exist" in said and said.count(name) == 1


def test_creating_on_an_unreachable_server_names_the_server(s3, config):
    config("AWS_S3_ENDPOINT", "127.0.0.1:1")
    gdal.VSICurlClearCache()
    said = error_of(driver().Create, "/vsis3/bucket/a.zarr", 5, 5)
    assert "/vsis3/bucket/a.zarr: cannot be listed: " in said and "connect" in said.lower()


# -------------------------------------------------------------------------------------------------------- scales and nodata

def test_pixels_that_gdal_unscaled_do_not_take_the_scale_along(tmp_path):
    need("GDAL's netCDF driver", gdal.GetDriverByName("netCDF") is not None)
    values = source(np.array([[[100, 200, -1]]], "int16"), UTM, "EPSG:32633")
    band = values.GetRasterBand(1)
    band.SetScale(0.01)
    band.SetOffset(5)
    band.SetMetadata({"valid_min": "0", "note": "kept"})
    gdal.GetDriverByName("netCDF").CreateCopy(str(tmp_path / "a.nc"), values)
    run("gdal_translate", "-q", "-of", "ShardedZarr", "-unscale", "-ot", "Float32", tmp_path / "a.nc", tmp_path / "a.zarr")
    found = open_ours(str(tmp_path / "a.zarr"))
    np.testing.assert_allclose(found.ReadAsArray(), [[6, 7, 4.99]], rtol=1e-6)
    band = found.GetRasterBand(1)
    assert not {"scale_factor", "add_offset", "valid_min"} & set(band.GetMetadata()) and band.GetMetadataItem("note") == "kept"
    assert band.GetScale() in (None, 1) and band.GetOffset() in (None, 0)
    attributes = {**document(tmp_path / "a.zarr", "a")["attributes"], **document(tmp_path / "a.zarr")["attributes"]}
    assert not [key for key in attributes if key.endswith(("scale_factor", "add_offset", "_FillValue")) and key != "_FillValue"], attributes
    run("gdal_translate", "-q", "-of", "ShardedZarr", tmp_path / "a.nc", tmp_path / "b.zarr")
    attributes = document(tmp_path / "b.zarr", "b")["attributes"]
    assert attributes["scale_factor"] == 0.01 and attributes["add_offset"] == 5, "which GDAL has not applied"
