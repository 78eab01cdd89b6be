"""Create() and writing in any order: what was written is what is read, meanwhile and afterwards, by us and by the oracle."""
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal, gdal_array, osr

from option_cases import TYPES
from stores import random_values
from support import SANITIZED, assert_same, error_of, open_ours, peak_memory, random_window, read_all, same_crs
from writing import UTM, chunks_of, check_consolidated, copy, created, driver, only_array, pairs, shards, source



def create(path, shape, data_type="uint16", **options):
    options = {"CHUNK_SHAPE": 16, "SHARD_SHAPE": 48, **options}
    code = gdal_array.NumericTypeCodeToGDALTypeCode(np.dtype(data_type))
    return driver().Create(str(path), shape[2], shape[1], shape[0], code, options=pairs(options))


@pytest.fixture(params=[None, 20000], ids=["usual cache", "cache of 20 kB"])
def cache(request):
    """GDAL's block cache, as it is and so small that blocks are written again and again."""
    before = gdal.GetCacheMax()
    if request.param:
        gdal.SetCacheMax(request.param)
    yield
    gdal.SetCacheMax(before)


@pytest.mark.parametrize("ends", ["flushed", "closed"])
def test_a_new_raster_appears_when_it_is_flushed_or_closed_all_zero_and_without_a_shard(tmp_path, ends):
    dataset = create(tmp_path / "a.zarr", (2, 70, 101))
    assert dataset.RasterCount == 2 and not read_all(dataset).any()
    assert not (tmp_path / "a.zarr").exists()
    if ends == "flushed":
        dataset.FlushCache()
    else:
        dataset = None
    another = open_ours(str(tmp_path / "a.zarr"))
    assert not read_all(another).any() and another.GetRasterBand(1).GetNoDataValue() is None
    dataset = None
    name, meta, array = only_array(tmp_path / "a.zarr")
    assert not array.any() and shards(tmp_path / "a.zarr", name) == {}
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("data_type", TYPES)
def test_every_type_is_written(tmp_path, data_type):
    array = random_values(np.random.default_rng(1), data_type, (2, 41, 67))
    created(tmp_path / "a.zarr", array, CHUNK_SHAPE=16)
    assert_same(read_all(open_ours(str(tmp_path / "a.zarr"))), array)
    assert_same(only_array(tmp_path / "a.zarr")[2], array)


def write_at_random(dataset, expected, rng, steps):
    """Writes windows by every road that GDAL has, and reads between."""
    bands, height, width = expected.shape
    for _ in range(steps):
        band = int(rng.integers(bands))
        x, y, w, h = random_window(rng, width, height)
        w, h = min(w, 40), min(h, 40)
        target, road = dataset.GetRasterBand(band + 1), int(rng.integers(6))
        part = random_values(rng, expected.dtype.name, (h, w))
        if rng.random() < 0.2:
            part[:] = 0
        if road == 0:
            target.WriteArray(part, x, y)
            expected[band, y:y + h, x:x + w] = part
        elif road == 1:  # all bands
            parts = random_values(rng, expected.dtype.name, (bands, h, w))
            dataset.WriteArray(parts if bands > 1 else parts[0], x, y)
            expected[:, y:y + h, x:x + w] = parts
        elif road == 2:  # a block
            bw, bh = target.GetBlockSize()
            i, j = int(rng.integers(-(-width // bw))), int(rng.integers(-(-height // bh)))
            block = random_values(rng, expected.dtype.name, (bh, bw))
            target.WriteRaster(i * bw, j * bh, min(bw, width - i * bw), min(bh, height - j * bh),
                               np.ascontiguousarray(block[:height - j * bh, :width - i * bw]).tobytes())
            view = expected[band, j * bh:(j + 1) * bh, i * bw:(i + 1) * bw]
            view[:] = block[:view.shape[0], :view.shape[1]]
        elif road == 3:  # twice as large as what is given: through the block cache
            small = random_values(rng, expected.dtype.name, (max(1, h // 2), max(1, w // 2)))
            w, h = small.shape[1] * 2, small.shape[0] * 2
            if x + w <= width and y + h <= height:
                target.WriteRaster(x, y, w, h, small.tobytes(), small.shape[1], small.shape[0], target.DataType)
                expected[band, y:y + h, x:x + w] = small.repeat(2, axis=0).repeat(2, axis=1)
        elif road == 4:
            assert_same(target.ReadAsArray(x, y, w, h), expected[band, y:y + h, x:x + w], "read between")
        elif rng.random() < 0.8:
            dataset.FlushCache()
        else:
            target.Fill(3)
            expected[band] = 3
    return dataset


@pytest.mark.parametrize("seed", range(12))
def test_windows_written_in_any_order(tmp_path, cache, seed):
    rng = np.random.default_rng(seed)
    data_type, bands = ["uint8", "int16", "float32", "complex64"][seed % 4], [1, 3][seed // 4 % 2]
    shape = (bands, int(rng.integers(50, 120)), int(rng.integers(50, 120)))
    options = {"INTERLEAVE": "PIXEL", "SHARD_SHAPE": "AUTO"} if bands > 1 and seed % 3 == 0 else {}
    dataset = create(tmp_path / "a.zarr", shape, data_type, INDEX_LOCATION=["START", "END"][seed % 2],
                     CHUNK_ORDER=["ROW_MAJOR", "MORTON", "HILBERT"][seed % 3], **options)
    expected = np.zeros(shape, data_type)
    write_at_random(dataset, expected, rng, 40)
    assert_same(read_all(dataset), expected, "before closing")
    dataset = None
    assert_same(read_all(open_ours(str(tmp_path / "a.zarr"))), expected, "after closing")
    assert_same(only_array(tmp_path / "a.zarr")[2].reshape(shape), expected, "by the oracle")


def test_chunk_overwritten_with_fill_values_is_removed(tmp_path):
    dataset = create(tmp_path / "a.zarr", (1, 96, 96), ARRAY_NAME="v")
    band = dataset.GetRasterBand(1)
    band.WriteArray(np.ones((96, 96), "uint16"))
    dataset.FlushCache()
    band.WriteArray(np.zeros((64, 96), "uint16"))
    dataset = None
    _, meta, array = only_array(tmp_path / "a.zarr")
    assert not array[:64].any() and array[64:].all()
    stored = shards(tmp_path / "a.zarr", "v")
    assert sorted(stored) == ["c/1/0", "c/1/1"] and sorted(chunks_of(meta, stored["c/1/0"])) == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]


def test_all_is_set_before_the_first_pixel(tmp_path):
    dataset = create(tmp_path / "a.zarr", (2, 70, 101), "int16")
    srs = osr.SpatialReference()
    srs.ImportFromEPSG(32633)
    dataset.SetGeoTransform(UTM)
    dataset.SetSpatialRef(srs)
    dataset.SetMetadataItem("AUTHOR", "somebody")
    for number in (1, 2):
        band = dataset.GetRasterBand(number)
        band.SetNoDataValue(-1)
        band.SetDescription("b%d" % number)
        band.SetScale(2.0 * number)
        band.SetColorInterpretation([gdal.GCI_RedBand, gdal.GCI_AlphaBand][number - 1])
        band.WriteArray(np.full((70, 101), number, "int16"))
    dataset = None
    again = open_ours(str(tmp_path / "a.zarr"))
    assert again.GetGeoTransform() == UTM and same_crs(again, "EPSG:32633") and again.GetMetadataItem("AUTHOR") == "somebody"
    for number in (1, 2):
        band = again.GetRasterBand(number)
        assert (band.GetNoDataValue(), band.GetDescription(), band.GetScale()) == (-1, "b%d" % number, 2.0 * number)
        assert band.GetColorInterpretation() == [gdal.GCI_RedBand, gdal.GCI_AlphaBand][number - 1]
        assert (band.ReadAsArray() == number).all()
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("flushed", [False, True])
def test_unwritten_pixels_read_as_nodata(tmp_path, flushed):
    dataset = create(tmp_path / "a.zarr", (2, 70, 101), "int16")
    for nodata in (-1, 7):
        for number in (1, 2):
            dataset.GetRasterBand(number).SetNoDataValue(nodata)
        assert (read_all(dataset) == nodata).all() and dataset.GetRasterBand(2).ReadRaster(3, 4, 1, 1) == np.int16(nodata).tobytes()
    if flushed:
        dataset.FlushCache()
    dataset.GetRasterBand(1).WriteArray(np.full((2, 3), 5, "int16"), 1, 1)
    expected = np.full((2, 70, 101), 7)
    expected[0, 1:3, 1:4] = 5
    assert (read_all(dataset) == expected).all()
    dataset = None
    assert (read_all(open_ours(str(tmp_path / "a.zarr"))) == expected).all()
    check_consolidated(tmp_path / "a.zarr")


def colours(dataset):
    return [gdal.GetColorInterpretationName(dataset.GetRasterBand(number + 1).GetColorInterpretation()) for number in range(dataset.RasterCount)]


@pytest.mark.parametrize("bands", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", [gdal.GDT_Byte, gdal.GDT_UInt16, gdal.GDT_Float32, gdal.GDT_CFloat32], ids=gdal.GetDataTypeName)
def test_new_bands_have_the_colours_that_gtiff_gives_them(tmp_path, bands, kind):
    expected = colours(gdal.GetDriverByName("GTiff").Create("/vsimem/colours.tif", 5, 4, bands, kind))
    gdal.Unlink("/vsimem/colours.tif")
    made = driver().Create(str(tmp_path / "a.zarr"), 5, 4, bands, kind)
    assert colours(made) == expected
    made = None
    assert colours(open_ours(str(tmp_path / "a.zarr"))) == expected


@pytest.mark.parametrize("single", ["YES", "NO"])
@pytest.mark.parametrize("declared, expected", [({}, ["Red", "Green", "Blue", "Undefined"]), ({1: "Gray"}, ["Gray", "Undefined", "Undefined", "Undefined"]),
                                                ({4: "Alpha"}, ["Undefined", "Undefined", "Undefined", "Alpha"])], ids=str)
def test_colours_of_a_copy_are_those_that_are_declared_or_all_by_names(tmp_path, declared, expected, single):
    """A GeoTIFF of four bands is gray and three times undefined, whatever the bands are called."""
    mem = source(np.ones((4, 8, 10), "uint16"))
    for number, name in enumerate(["red", "green", "blue", "nir"]):
        mem.GetRasterBand(number + 1).SetDescription(name)
    for number, colour in declared.items():
        mem.GetRasterBand(number).SetColorInterpretation({"Gray": gdal.GCI_GrayIndex, "Alpha": gdal.GCI_AlphaBand}[colour])
    assert colours(copy(tmp_path / "a.zarr", mem, SINGLE_ARRAY=single)) == expected
    assert colours(copy(tmp_path / "b.zarr", open_ours(str(tmp_path / "a.zarr")), SINGLE_ARRAY=single)) == expected


def test_a_band_that_is_set_to_no_colour_has_none_whatever_its_name(tmp_path):
    mem = source(np.ones((2, 8, 10), "uint16"))
    for number, name in enumerate(["red", "green"]):
        mem.GetRasterBand(number + 1).SetDescription(name)
    assert colours(copy(tmp_path / "a.zarr", mem)) == ["Red", "Green"]
    dataset = gdal.OpenEx(str(tmp_path / "a.zarr"), gdal.OF_RASTER | gdal.OF_UPDATE)
    dataset.GetRasterBand(1).SetColorInterpretation(gdal.GCI_Undefined)
    assert colours(dataset) == ["Undefined", "Green"]
    dataset = None
    assert colours(open_ours(str(tmp_path / "a.zarr"))) == ["Undefined", "Green"]


@pytest.mark.parametrize("format", ["GTiff", "ShardedZarr"])
def test_a_band_that_gets_a_colour_table_is_a_palette(tmp_path, format):
    dataset = gdal.GetDriverByName(format).Create(str(tmp_path / "a"), 50, 40, 1)
    table = gdal.ColorTable()
    table.SetColorEntry(1, (9, 8, 7, 255))
    dataset.GetRasterBand(1).SetColorInterpretation(gdal.GCI_GrayIndex)
    dataset.GetRasterBand(1).SetColorTable(table)
    assert colours(dataset) == ["Palette"]
    dataset = None
    again = gdal.Open(str(tmp_path / "a"))
    assert colours(again) == ["Palette"] and again.GetRasterBand(1).GetColorTable().GetColorEntry(1) == (9, 8, 7, 255)


def test_pending_chunks_stay_within_the_cache_budget(tmp_path):
    """Random writing of 200 MB into one shard, with a cache of 16 MB."""
    if SANITIZED:
        pytest.skip("ASan takes memory of its own")
    code = ("import numpy as np\nd = gdal.GetDriverByName('ShardedZarr').Create(sys.argv[1], 8192, 8192, 1, gdal.GDT_UInt16, "
            "['SHARD_SHAPE=8192', 'CHUNK_SHAPE=512', 'COMPRESS=NONE'])\nb = d.GetRasterBand(1)\nrng = np.random.default_rng(0)\n"
            "for k in rng.permutation(256):\n    b.WriteArray(np.full((512, 512), k + 1, 'uint16'), int(k % 16) * 512, int(k // 16) * 512)\n"
            "d.FlushCache()\nprint(sorted(set(int(b.ReadAsArray(int(k % 16) * 512 + 99, int(k // 16) * 512 + 7, 1, 1)[0, 0]) - k - 1 "
            "for k in range(256))))")
    printed, megabytes = peak_memory(code, tmp_path / "a.zarr", GDAL_CACHEMAX="16")
    assert printed == "[0]" and megabytes < 150


def test_create_refuses_an_array_per_band_for_several_bands(tmp_path):
    path = str(tmp_path / "a.zarr")
    make = gdal.GetDriverByName("ShardedZarr").Create
    assert "SINGLE_ARRAY=NO" in error_of(make, path, 6, 5, 2, gdal.GDT_Byte, ["SINGLE_ARRAY=NO"])
    assert not (tmp_path / "a.zarr").exists()
    made = make(path, 6, 5, 1, gdal.GDT_Byte, ["SINGLE_ARRAY=NO"])
    made.GetRasterBand(1).Fill(7)
    made = None
    assert gdal.Open(path).ReadAsArray().tolist() == [[7] * 6] * 5


MAKER = '''
path, appends = sys.argv[1], sys.argv[2] == "append"
made = gdal.GetDriverByName("ShardedZarr").Create(
    path, 500, 400, 1, gdal.GDT_UInt16, ["CHUNK_SHAPE=64", "SHARD_SHAPE=128", "ARRAY_NAME=c"] + ["APPEND_SUBDATASET=YES"] * appends)
made.GetRasterBand(1).Fill(7)
made.GetRasterBand(1).FlushCache()  # its pixels are on the disk
print("written", flush=True)
sys.stdin.read()
'''


@pytest.mark.parametrize("how", ["new", "over", "append"])
def test_a_raster_that_a_program_was_making_when_it_was_killed_is_not_there(tmp_path, how):
    path, former = tmp_path / "a.zarr", np.arange(12, dtype="uint16").reshape(1, 3, 4)
    if how != "new":
        copy(path, source(former), ARRAY_NAME="former")
    with subprocess.Popen([sys.executable, "-c", "import sys\nfrom osgeo import gdal\ngdal.UseExceptions()\n" + MAKER, str(path), how],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as maker:
        assert maker.stdout.readline() == b"written\n"
        if how == "new":
            assert not path.exists()
        else:
            assert_same(read_all(open_ours(str(path))), former)
        maker.kill()
    if how != "new":
        assert_same(read_all(open_ours(str(path))), former)
        check_consolidated(path)
    made = driver().Create(str(path), 5, 4, 1, options=["ARRAY_NAME=c"] + ["APPEND_SUBDATASET=YES"] * (how == "append"))
    made = None
    assert os.listdir(tmp_path) == ["a.zarr"]  # the hidden folder of the killed one went, though its c/ might be chunks
    assert not read_all(open_ours("SHARDEDZARR:%s:/c%s" % (path, "/c" * (how == "append")))).any()


@pytest.mark.parametrize("command", [["gdalwarp", "-q", "-t_srs", "EPSG:3857"], ["gdaldem", "hillshade", "-q"], ["gdal_rasterize", "-q", "-ts", "900", "900", "-burn", "3"]],
                         ids=lambda command: command[0])
def test_a_raster_for_which_the_disk_has_no_room_is_not_there(tmp_path, command):
    pixels = np.random.default_rng(1).integers(0, 9999, (1, 600, 700)).astype("uint16")
    if command[0] == "gdal_rasterize":
        (tmp_path / "source").write_text('{"type":"Polygon","coordinates":[[[0,0],[9,0],[0,9],[0,0]]]}')
    else:
        gdal.GetDriverByName("GTiff").CreateCopy(str(tmp_path / "source"), source(pixels, UTM, "EPSG:32633"))
    command = [*command, "-of", "ShardedZarr", "-co", "COMPRESS=NONE", "-co", "SHARD_SHAPE=1024", str(tmp_path / "source"), str(tmp_path / "a.zarr")]

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert "it is not made" in done.stderr and sorted(os.listdir(tmp_path)) == ["source"], done.stderr
    assert subprocess.run(command).returncode == 0
    assert open_ours(str(tmp_path / "a.zarr")).GetRasterBand(1).Checksum() > 0


@pytest.mark.parametrize("over", [False, True], ids=["new", "over another"])
def test_a_raster_in_memory_goes_on_where_its_flush_has_put_it(over):
    path, first, second = "/vsimem/goes_on.zarr", np.full((50, 100), 3, "uint8"), np.full((10, 10), 9, "uint8")
    if over:
        created(path, np.ones((1, 5, 5), "uint8"))
    made = driver().Create(path, 100, 50, 1, gdal.GDT_Byte, ["CHUNK_SHAPE=16"])
    made.WriteArray(first)
    made.FlushCache()
    assert_same(made.ReadAsArray(), first)
    made.WriteArray(second)
    made.SetMetadataItem("a", "b")
    made.BuildOverviews("NEAREST", [2])
    made = None
    first[:10, :10] = second
    found = open_ours(path)
    assert_same(found.ReadAsArray(), first)
    assert (found.GetMetadataItem("a"), found.GetRasterBand(1).GetOverviewCount()) == ("b", 1)
    assert not [name for name in gdal.ReadDir("/vsimem/") if name.startswith(".goes_on")]
    gdal.RmdirRecursive(path)
