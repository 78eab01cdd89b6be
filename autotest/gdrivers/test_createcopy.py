"""CreateCopy in its plain form: the pixels, the layout that was asked for, nodata and georeferencing."""
import glob
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import array_meta, group_meta, plain_meta, random_values
from support import EGM96, GDAL, assert_same, error_of, geotransform, held_band, need, open_array, open_ours, peak_memory, same_crs, warnings_of
from option_cases import TYPES
from writing import arrays, copy, document, driver, only_array, shards, source

ODD = (3, 70, 101)


def create(path, dataset, **options):
    """Copies without a single warning, closes, and opens what was written."""
    made, messages = warnings_of(lambda: gdal.GetDriverByName("ShardedZarr").CreateCopy(
        str(path), dataset, options=["%s=%s" % option for option in options.items()]))
    assert made is not None and messages == []
    del made
    return open_ours(str(path))


def check(path, dataset, array):
    """Our driver and the oracle both read the array from what was written; returns its zarr.json."""
    pixels = dataset.ReadAsArray()
    assert_same(pixels.reshape(array.shape), array)
    _, meta, again = only_array(path)
    assert_same(again.reshape(array.shape), array)
    return meta


# ---------------------------------------------------------------------------------------------------------- the main job

def test_egm96_geoid(tmp_path):
    need(EGM96, os.path.exists(EGM96))
    path = str(tmp_path / "egm96.zarr")
    gdal.Translate(path, EGM96, format="ShardedZarr")
    geoid, copy = gdal.Open(EGM96), open_ours(path)
    check(path, copy, geoid.ReadAsArray())
    assert geotransform(copy) == pytest.approx(geoid.GetGeoTransform(), abs=1e-12)
    assert same_crs(copy, geoid.GetProjection())
    assert copy.GetRasterBand(1).GetNoDataValue() == np.float32(geoid.GetRasterBand(1).GetNoDataValue())
    assert copy.GetRasterBand(1).Checksum() == geoid.GetRasterBand(1).Checksum()


# ---------------------------------------------------------------------------------------------------------------- pixels

@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("shape", [(41, 67), ODD], ids=["one band", "three bands"])
def test_every_type_round_trips(tmp_path, data_type, shape):
    array = random_values(np.random.default_rng(1), data_type, shape)
    dataset = create(tmp_path / "a.zarr", source(array), CHUNK_SHAPE=16)
    assert dataset.RasterCount == (shape[0] if len(shape) == 3 else 1)
    assert check(tmp_path / "a.zarr", dataset, array)["data_type"] == data_type


def test_without_options_the_chunk_is_512_in_a_larger_shard(tmp_path):
    array = np.arange(1100 * 1200, dtype="uint32").reshape(1100, 1200)
    meta = check(tmp_path / "a.zarr", create(tmp_path / "a.zarr", source(array)), array)
    shard, chunk = oracle.chunk_shape_of(meta), oracle.sharding_of(meta["codecs"])["chunk_shape"]
    assert chunk[-2:] == [512, 512] and all(s % c == 0 for s, c in zip(shard, chunk)) and shard[-1] > 512


# ---------------------------------------------------------------------------------------------------------------- nodata

@pytest.mark.parametrize("data_type", ["uint8", "int32", "uint64", "int64", "float32"])
def test_without_nodata_the_fill_value_is_0(tmp_path, data_type):
    create(tmp_path / "a.zarr", source(np.ones((3, 20, 30), data_type))).FlushCache()
    document = json.loads((tmp_path / "a.zarr" / "a" / "zarr.json").read_text())
    assert document["fill_value"] == 0 and "_FillValue" not in document["attributes"]


# ------------------------------------------------------------------------------------------------------- georeferencing

TRANSFORMS = {"north-up": (500000, 10, 0, 5000000, 0, -10), "south-up": (0, 0.5, 0, -45, 0, 0.25),
              "rotated": (500000, 10, 2.5, 5000000, -1.25, -10)}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("crs", ["EPSG:32633", "EPSG:4326", "+proj=laea +lat_0=10 +lon_0=20 +R=6370997", None])
@pytest.mark.parametrize("shape", [(20, 30), (2, 20, 30)], ids=["one band", "two bands"])
def test_georeferencing_round_trips(tmp_path, transform, crs, shape):
    dataset = create(tmp_path / "a.zarr", source(np.ones(shape, "uint8"), transform, crs))
    assert geotransform(dataset) == pytest.approx(transform, rel=1e-14)
    assert dataset.GetSpatialRef() is None if crs is None else same_crs(dataset, crs)


# ------------------------------------------------------------------------------------------------------------- as a tool

def test_a_source_that_cannot_be_read_is_an_error(tmp_path):
    array = random_values(np.random.default_rng(8), "uint16", (100, 100))
    gdal.Translate(str(tmp_path / "a.tif"), source(array))
    os.truncate(tmp_path / "a.tif", 10000)
    assert error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "a.zarr"), gdal.Open(str(tmp_path / "a.tif")))


# ------------------------------------------------------------------------------------------------------- what cannot be kept

def with_geolocation(dataset):
    dataset.SetMetadata({"X_DATASET": "x.tif", "Y_DATASET": "y.tif"}, "GEOLOCATION")


def with_table(dataset):
    table = gdal.RasterAttributeTable()
    table.CreateColumn("value", gdal.GFT_Integer, gdal.GFU_MinMax)
    table.SetRowCount(2)
    dataset.GetRasterBand(1).SetDefaultRAT(table)


def with_epoch(dataset):
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(9000)  # ITRF2014, which is dynamic
    srs.SetCoordinateEpoch(2021.3)
    dataset.SetSpatialRef(srs)


LOSSES = {"scale or offset that is not finite": lambda dataset: dataset.GetRasterBand(1).SetScale(float("nan")),
          "geotransform that cannot be inverted": lambda dataset: dataset.SetGeoTransform((1, 0, 0, 2, 0, 0)),
          "colour table that is not of RGB": lambda dataset: dataset.GetRasterBand(1).SetColorTable(gdal.ColorTable(gdal.GPI_Gray)),
          "colour table without entries": lambda dataset: dataset.GetRasterBand(1).SetColorTable(gdal.ColorTable()),
          **({"PIXELTYPE=SIGNEDBYTE": lambda dataset: dataset.GetRasterBand(1).SetMetadataItem("PIXELTYPE", "SIGNEDBYTE", "IMAGE_STRUCTURE")}
             if GDAL < 3070000 else {}),
          "coordinate epoch": with_epoch, "metadata domain GEOLOCATION": with_geolocation,
          "raster attribute table": with_table,
          "masks that are not one for all bands": lambda dataset: dataset.GetRasterBand(1).CreateMaskBand(0),
          "nodata values that differ between bands": lambda dataset: dataset.GetRasterBand(2).SetNoDataValue(3),
          "data types that differ between bands": lambda dataset: dataset.AddBand(gdal.GDT_Float64)}


@pytest.mark.parametrize("what", LOSSES)
def test_lossy_copy_is_an_error_when_strict_else_a_warning(tmp_path, what):
    values = np.arange(72, dtype="uint8").reshape(2, 6, 6)
    dataset = gdal.GetDriverByName("MEM").CreateCopy("", source(values))
    LOSSES[what](dataset)
    path = tmp_path / "a.zarr"
    driver = gdal.GetDriverByName("ShardedZarr")
    assert what in error_of(driver.CreateCopy, str(path), dataset, strict=1)
    assert not path.exists()
    made, messages = warnings_of(lambda: driver.CreateCopy(str(path), dataset, strict=0))
    assert len(messages) == 1 and what in messages[0]
    assert np.array_equal(made.ReadAsArray()[:2], values)


def test_a_source_without_bands_is_refused_and_its_subdatasets_are_pointed_to(tmp_path):
    dataset = gdal.GetDriverByName("MEM").Create("", 20, 30, 0)
    refused = "a.zarr: a source without bands cannot be copied"
    assert error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "a.zarr"), dataset).endswith(refused)
    dataset.SetMetadata({"SUBDATASET_1_NAME": "x", "SUBDATASET_1_DESC": "x"}, "SUBDATASETS")
    assert refused + "; gdalinfo lists its subdatasets" in error_of(gdal.GetDriverByName("ShardedZarr").CreateCopy, str(tmp_path / "a.zarr"), dataset)
    assert not os.path.exists(tmp_path / "a.zarr")


def test_translate_of_a_whole_raster_is_silent_and_strict(tmp_path):
    _, messages = warnings_of(lambda: gdal.Translate(str(tmp_path / "a.zarr"), source(np.arange(36, dtype="uint8").reshape(6, 6)),
                                                     options="-of ShardedZarr -strict -a_nodata 3 -mo a=b"))
    assert messages == []


# ---------------------------------------------------------------------------------------------------------------- memory

WIDE_STRIP = """
import os, sys
from osgeo import gdal
gdal.UseExceptions()
path, threads = sys.argv[1:]
width, height = 60000, 1100  # a row of chunks has 61 MB
if not os.path.exists(path + ".raw"):
    with open(path + ".raw", "wb") as file:
        for row in range(height):
            file.write(os.urandom(width // 8) * 16)
    with open(path + ".hdr", "w") as file:
        file.write("ENVI\\nsamples = %d\\nlines = %d\\nbands = 1\\ndata type = 12\\ninterleave = bsq\\n" % (width, height))
options = ["ARRAY_NAME=v", "CHUNK_SHAPE=512", "SHARD_SHAPE=2048", "OVERVIEWS=NONE", "NUM_THREADS=" + threads]
gdal.GetDriverByName("ShardedZarr").CreateCopy(path + threads, gdal.Open(path + ".raw"), options=options)
"""


@pytest.mark.parametrize("shape, chunk", [((64, 512, 512), "1,512,512"), ((1, 32768, 512), "512,512"), ((64, 500, 500), "2,250,500")])
def test_a_copy_reads_enough_chunks_at_once_for_all_threads(tmp_path, shape, chunk):
    """A chunk is encoded by one thread: where a row of chunks has only one, several rows or bands are taken at once."""
    array, steps = random_values(np.random.default_rng(1), "uint16", shape), []
    for threads in (1, 4):
        seen, options = set(), ["CHUNK_SHAPE=" + chunk, "OVERVIEWS=NONE", "ARRAY_NAME=data", "NUM_THREADS=%d" % threads]
        gdal.GetDriverByName("ShardedZarr").CreateCopy(str(tmp_path / str(threads)), source(array), options=options,
                                                       callback=lambda done, *_: seen.add(done) or 1)
        steps.append(len(seen))
        assert_same(open_ours(str(tmp_path / str(threads))).ReadAsArray().reshape(shape), array)
    assert steps[1] < steps[0]
    assert shards(tmp_path / "4") == shards(tmp_path / "1")


def test_a_row_of_chunks_of_a_wide_raster_goes_by_boxes_that_take_less_memory(tmp_path):
    """With many threads it goes whole, so that all have something to do. The stores are the same."""
    path = str(tmp_path / "a")
    small, large = (peak_memory(WIDE_STRIP, path, threads, GDAL_CACHEMAX="256")[1] for threads in ("1", "256"))
    assert small == large == 0 or small < large - 60
    shards = sorted(os.path.relpath(shard, path + "1") for shard in glob.glob(path + "1/v/c/*/*"))
    assert len(shards) == 30
    for shard in shards:
        with open(os.path.join(path + "1", shard), "rb") as one, open(os.path.join(path + "256", shard), "rb") as other:
            assert one.read() == other.read()
    assert open_array(path + "1", "/v").GetRasterBand(1).Checksum() == gdal.Open(path + ".raw").GetRasterBand(1).Checksum()


LARGE_BLOCK = """
import resource, sys
from osgeo import gdal
gdal.UseExceptions()
path, most = sys.argv[1:]
small = gdal.GetDriverByName("MEM").Create("", 60, 60)
small.WriteRaster(0, 0, 60, 60, bytes(range(1, 61)) * 60)
gdal.GetDriverByName("GTiff").CreateCopy(path + ".tif", small)
source = gdal.Open('<VRTDataset rasterXSize="6000" rasterYSize="6000"><VRTRasterBand dataType="Float64" band="1" blockXSize="6000" '
                   'blockYSize="6000"><SimpleSource><SourceFilename>%s.tif</SourceFilename><SrcRect xOff="0" yOff="0" xSize="60" ySize="60"/>'
                   '<DstRect xOff="0" yOff="0" xSize="6000" ySize="6000"/></SimpleSource></VRTRasterBand></VRTDataset>' % path)
assert source.GetRasterBand(1).GetBlockSize() == [6000, 6000]  # 288 MB
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most) << 20, int(most) << 20))
try:
    made = gdal.GetDriverByName("ShardedZarr").CreateCopy(path, source, options=["OVERVIEWS=NONE"])
    print(made.GetRasterBand(1).Checksum() == source.GetRasterBand(1).Checksum())
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("most, expected", [(400, "True"), (100, "scratch file of a copy")])
def test_a_block_too_large_for_a_step_goes_through_a_scratch_file_whose_failure_is_an_error(tmp_path, most, expected):
    done = subprocess.run([sys.executable, "-c", LARGE_BLOCK, str(tmp_path / "a.zarr"), str(most)], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "GDAL_CACHEMAX": "64", "TMPDIR": str(tmp_path)})
    assert done.returncode == 0 and expected in done.stdout


def test_appended_array_without_a_name_is_named_after_its_source(tmp_path):
    """And a number where that is taken; also by Create(), which has no source."""
    store, pixels = str(tmp_path / "a.zarr"), np.arange(80, dtype="uint8").reshape(8, 10)
    for name in ("first", "second"):
        gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / (name + ".tif")), source(pixels[np.newaxis]))
    for name in ("first", "second", "first"):
        subprocess.run(["gdal_translate", "-q", "-of", "ShardedZarr", "-co", "APPEND_SUBDATASET=%s" % ("YES" if os.path.exists(store) else "NO"),
                        str(tmp_path / (name + ".tif")), store], check=True)
    gdal.GetDriverByName("ShardedZarr").Create(store, 10, 8, 1, gdal.GDT_Byte, ["APPEND_SUBDATASET=YES"]).WriteArray(pixels)
    assert sorted(arrays(store)) == ["a", "a_2/a_2", "first/first", "second/second"]
    for name in arrays(store):
        assert_same(open_array(store, "/" + name).ReadAsArray(), pixels)


@pytest.mark.parametrize("options", [[], ["APPEND_SUBDATASET=YES", "ARRAY_NAME=more"]], ids=str)
def test_attribute_tables_go_into_the_side_car_of_a_copy(tmp_path, config, options):
    config("GDAL_PAM_ENABLED", "YES")
    driver = gdal.GetDriverByName("ShardedZarr")
    dataset = source(np.arange(72, dtype="uint8").reshape(2, 6, 6), (-180, 60, 0, 90, 0, -30), "EPSG:4326")
    with_table(dataset)
    path = str(tmp_path / "a.zarr")
    if "ARRAY_NAME=more" in options:
        driver.CreateCopy(path, source(np.zeros((6, 6), "uint8")))
    made, messages = warnings_of(lambda: driver.CreateCopy(path, dataset, strict=1, options=options))
    assert made is not None and messages == []
    del made
    assert (tmp_path / "a.zarr" / "zarr.json.aux.xml").exists()
    found = open_array(path, "/more/more") if "ARRAY_NAME=more" in options else open_ours(path)
    expected, table = held_band(dataset).GetDefaultRAT(), held_band(found).GetDefaultRAT()
    cells = lambda table: [[table.GetValueAsString(row, c) for c in range(table.GetColumnCount())] for row in range(table.GetRowCount())]
    assert cells(table) == cells(expected) and table.GetRowCount() > 0


def test_attribute_tables_without_a_side_car_are_lost_by_name(tmp_path, config):
    config("GDAL_PAM_ENABLED", "YES")
    dataset = source(np.arange(72, dtype="uint8").reshape(2, 6, 6))
    with_table(dataset)
    copy = lambda strict: driver().CreateCopy(str(tmp_path / "a.zarr"), dataset, strict=strict, options=["SINGLE_ARRAY=NO"])
    assert "raster attribute table" in error_of(copy, 1)
    made, messages = warnings_of(lambda: copy(0))
    assert made is not None and len(messages) == 1 and "raster attribute table" in messages[0]


# ------------------------------------------------------------------------------------------------- names and coordinates

def test_a_copy_has_the_names_of_x_and_y_of_its_source(tmp_path):
    array = np.arange(12, dtype="int16").reshape(3, 4)
    copy(tmp_path / "a.zarr", source(array), DIM_NAMES="lat,lon", ARRAY_NAME="v")
    made = copy(tmp_path / "b.zarr", open_ours(str(tmp_path / "a.zarr")), ARRAY_NAME="v")
    assert document(tmp_path / "b.zarr", "v")["dimension_names"] == ["lat", "lon"] and (made.ReadAsArray() == array).all()
    netcdf = source(array)
    netcdf.SetMetadata({"latitude#standard_name": "latitude", "longitude#standard_name": "longitude"})
    copy(tmp_path / "c.zarr", netcdf, ARRAY_NAME="v")
    assert document(tmp_path / "c.zarr", "v")["dimension_names"] == ["latitude", "longitude"]
    copy(tmp_path / "d.zarr", netcdf, ARRAY_NAME="v", DIM_NAMES="y,x")
    assert document(tmp_path / "d.zarr", "v")["dimension_names"] == ["y", "x"]


def test_a_copy_tells_scalar_coordinates_that_it_loses(tmp_path):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path + "/v", array_meta((3, 4), "int16", dimension_names=["y", "x"], attributes={"coordinates": "height spatial_ref"}), np.ones((3, 4), "int16"))
    oracle.write(path + "/height", array_meta((), "float64"), np.array(2.0))
    oracle.write(path + "/spatial_ref", array_meta((), "int64", attributes={"crs_wkt": "x"}), np.array(0))
    dataset = open_array(path, "/v")
    _, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "b.zarr"), dataset, False))
    assert len(messages) == 1 and "scalar coordinate height" in messages[0]
    assert "scalar coordinate height" in error_of(driver().CreateCopy, str(tmp_path / "c.zarr"), dataset, True)


def test_a_copy_tells_a_missing_value_beside_another_nodata_value(tmp_path):
    path = str(tmp_path / "a.zarr")
    for value, is_lost in ((-9, True), (-1, False)):
        oracle.write(path, array_meta((3, 4), "int16", attributes={"_FillValue": -1, "missing_value": value}), np.ones((3, 4), "int16"))
        message = error_of(driver().CreateCopy, str(tmp_path / "b.zarr"), open_array(path, "/a"), True, ["OVERWRITE=YES"]) if is_lost else ""
        assert ("missing_value" in message) == is_lost
        _, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "b.zarr"), open_array(path, "/a"), False, ["OVERWRITE=YES"]))
        assert any("missing_value" in m for m in messages) == is_lost


def test_a_copy_tells_texts_of_a_coordinate_that_only_descriptions_keep(tmp_path):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path + "/v", array_meta((2, 3, 4), "int16", dimension_names=["band", "y", "x"]), np.ones((2, 3, 4), "int16"))
    texts = {**plain_meta((2,), dimension_names=["band"]), "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 16}}, "fill_value": ""}
    oracle.put(path, {"band/zarr.json": texts,
                      "band/c/0": "".join(name.ljust(4, chr(0)) for name in ("red", "nir")).encode("utf-32-le")})
    dataset = open_array(path, "/v")
    assert [dataset.GetRasterBand(b).GetDescription() for b in (1, 2)] == ["band=red", "band=nir"]
    assert "texts of the coordinate band" in error_of(driver().CreateCopy, str(tmp_path / "c.zarr"), dataset, True)
    made, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "b.zarr"), dataset, False))
    assert len(messages) == 1 and made.GetRasterBand(2).GetDescription() == "band=nir"
