"""What others make of what we write, every creation option alone and in random combinations: zarr-python, zarrs, tensorstore, zarrita, xarray,
rioxarray, and GDAL's own Zarr driver (3.13 and later, in a process without our plugin); and what we make of what they wrote."""
import collections
import re
import warnings

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from option_cases import ELSEWHERE, FREE, base_of, cases, declared, level_of, write
from stores import random_values
from support import GDAL, ask_peer, assert_same, geotransform, name_of, open_array, read_all, run_peer, same_crs
from writing import UTM, check_consolidated, copy, document, source

DIFFERS = "the values differ"


def sharding(array):
    return oracle.sharding_of(array.meta["codecs"])


def configuration(array, codec):
    """How the inner chunks of an array are encoded by this codec, {} where they are not."""
    return dict(map(oracle.named, sharding(array)["codecs"])).get(codec, {})


# What a peer cannot do: (peer, why, of which arrays, how it shows). Of these arrays each must be read right or fail just so; with zarrita, whose
# version is pinned, some must fail.
CANNOT = [
    ("zarr", "numcodecs is built without snappy", lambda a: configuration(a, "blosc").get("cname") == "snappy", "error during blosc decompression"),
    ("xarray", "as zarr", lambda a: configuration(a, "blosc").get("cname") == "snappy", "error during blosc decompression"),
    ("xarray", "rioxarray knows the conventions from 0.22 on, which PyPI has not for the Python of Debian 12",
     lambda a: a.options.get("GEOREFERENCING") == "SPATIAL_PROJ", "^no CRS, no transform$"),
    ("zarrita", "looks for the index at the end of a shard wherever it is", lambda a: sharding(a)["index_location"] == "start",
     "RangeError|via codec \"crc32c\"|" + DIFFERS),
    ("zarrita", "reads chunks that are transposed as if they were not", lambda a: bool(configuration(a, "transpose")), DIFFERS),
    ("zarrita", "has no complex types", lambda a: a.values.dtype.kind == "c", "Unknown or unsupported dataType: complex"),
    ("zarrita", "reads the fill value as a float of 64 bits",
     lambda a: a.values.dtype.kind in "iu" and int(float(a.nodata or 0)) != (a.nodata or 0), DIFFERS),
    ("gdal", "takes no level below 0 for zstd", lambda a: configuration(a, "zstd").get("level", 0) < 0, "Codec zstd: invalid value for level"),
    ("gdal", "of coordinates of one element it makes no transform", lambda a: a.options.get("GEOREFERENCING") == "CF" and 1 in a.values.shape[-2:],
     "^transform None$"),
    ("gdal", "its JSON has no integer above 2**63 - 1, so that the fill value is another", lambda a: (a.nodata or 0) > 2**63 - 1,
     "nodata 9223372036854775807, not|" + DIFFERS),
    ("gdal", "with consolidated metadata it does not find the group `.`, as the base of several arrays' overviews is called",
     lambda a: a.options.get("SINGLE_ARRAY") == "NO" and a.level == 0, r"^overviews \[\], not \[\(")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(directory, the arrays in its stores)"""
    folder = tmp_path_factory.mktemp("written")
    return folder, [array for case in cases() for array in write(folder, case)]


@pytest.fixture(scope="module")
def answers(written):
    """A function that gives the answers of a peer, which is asked once."""
    asked = {}

    def ask(peer):
        if peer not in asked:
            asked[peer] = ask_peer(peer, written[0], [(array.store, array.path) for array in written[1]])
        return asked[peer]
    return ask


def fault_of_values(found, expected):
    """The type, the shape, or the bits that differ; None where none do."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return "%s of %s, not %s of %s" % (found.dtype, found.shape, expected.dtype, expected.shape)
    return None if found.tobytes() == expected.tobytes() else DIFFERS


def check_answers(peer, arrays, answers, fault_of):
    """Every answer is right, but for what the peer is known not to do."""
    known, faults, shown = [row[1:] for row in CANNOT if row[0] == peer], {}, collections.Counter()
    for array, answer in zip(arrays, answers):
        fault = answer.get("error") or fault_of(array, answer)
        why = [why for why, applies, how in known if applies(array) and fault and re.search(how, fault)]
        shown.update(why)
        if fault and not why:
            faults["%s/%s" % (array.store, array.path)] = fault
    assert not faults, "%d of %d" % (len(faults), len(arrays))
    for why, applies, _ in known:
        if not shown[why] and any(map(applies, arrays)):
            assert peer != "zarrita", "can do it now: " + why
            warnings.warn("%s can do it now: %s" % (peer, why))


def missing_of(array):
    """Where there is no value: nodata, and NaN."""
    missing = np.isnan(array.values) if array.values.dtype.kind in "fc" else np.zeros(array.values.shape, bool)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return missing if array.nodata is None else missing | (array.values == array.values.dtype.type(array.nodata))


def is_number(text, expected):
    """Whether a number, as str() wrote it, is the expected one; as a float that nearest to it. None is None."""
    if text is None or expected is None:
        return text is expected
    if re.fullmatch(r"-?\d+", text):
        return int(text) == expected
    return complex(text) == complex(expected) or np.isnan(complex(text)) and np.isnan(expected)


def smaller_levels(array, arrays):
    """The overviews of an array; of an overview those that are smaller."""
    return [other for other in arrays if other.store == array.store and other.level > array.level and base_of(other.path) == base_of(array.path)]


# -------------------------------------------------------------------------------------------------------------------- ours

def test_every_option_and_value_has_a_test_case(written):
    given = {(option, str(value)) for array in written[1] for option, value in array.options.items()}
    for option, choice in declared().items():
        for value in choice or FREE[option] if option not in ELSEWHERE else []:
            assert (option, value) in given or option == "BLOSC_CNAME" and not oracle.available("blosc:" + value), (option, value)


def test_driver_and_oracle_read_equal_values(written):
    folder, arrays = written
    for array in arrays:
        path, options, what = str(folder / array.store), array.options, (array.store, array.path)
        assert_same(oracle.read("%s/%s" % (path, array.path))[1], array.values, what)
        dataset = open_array(path, "/" + array.path)
        assert_same(read_all(dataset).reshape(array.values.shape), array.values, what)
        assert same_crs(dataset, "EPSG:%d" % array.epsg), what
        assert geotransform(dataset) == (array.transform and pytest.approx(array.transform)), what
        assert is_number(None if array.nodata is None else str(dataset.GetRasterBand(1).GetNoDataValue()), array.nodata), what
        check_consolidated(path)
        conf = sharding(array)
        assert conf.get("index_location", "end").upper() == options.get("INDEX_LOCATION", "END"), what
        if array.level == 0 and "CHUNK_SHAPE" in options and "," in str(options["CHUNK_SHAPE"]):
            assert conf["chunk_shape"][-2:] == [int(c) for c in options["CHUNK_SHAPE"].split(",")[-2:]], what


# ------------------------------------------------------------------------------------------------------------------ values

@pytest.mark.parametrize("peer", ["zarr", "zarrs", "tensorstore", "zarrita"])
def test_other_libraries_read_equal_values(written, answers, peer):
    check_answers(peer, written[1], answers(peer), lambda array, answer: fault_of_values(answer["values"][0], array.values))


def test_zarr_python_lists_all_nodes_through_the_consolidated_metadata(written, answers):
    folder, arrays = written
    for array, answer in zip(arrays, answers("zarrs")):
        members = answer["members"]
        assert array.path in members and array.path.rpartition("/")[0] in ["", *members]
        assert members == {name: document(folder / array.store, name).get("attributes", {}) for name in members}


# ------------------------------------------------------------------------------------------------------------------ xarray

def dimensions_of(array, has_bands):
    """The names of an array's dimensions: those of an overview tell its factor, those of an array beside which is another of that name tell both."""
    names = ["band", "y", "x"] if has_bands else ["y", "x"]
    if array.options.get("APPEND_SUBDATASET") == "YES":
        names[-2:] = ["%s_%s" % (name, array.path.partition("/")[0]) for name in names[-2:]]
    names = array.options["DIM_NAMES"].split(",") if "DIM_NAMES" in array.options else names
    return [*names[:-2], *(name + ("_%dx" % level_of(array.path) if array.level else "") for name in names[-2:])]


def fault_of_xarray(array, answer):
    raw, decoded = answer["values"]
    fault = fault_of_values(raw, array.values)
    if fault:
        return fault
    missing, bands = missing_of(array), array.values.ndim == 3
    if not np.array_equal(np.isnan(decoded) if decoded.dtype.kind in "fc" else np.zeros(raw.shape, bool), missing):
        return "the mask differs"
    if not np.array_equal(decoded[~missing], raw[~missing].astype(decoded.dtype)):
        return "the decoded values differ"
    if not is_number(answer["nodata"], array.nodata):
        return "nodata %s, not %s" % (answer["nodata"], array.nodata)
    names = dimensions_of(array, bands)
    height, width = array.values.shape[-2:]
    if (answer["dims"], answer["size"]) != (names, [width, height]):
        return "%s of %s" % (answer["dims"], answer["size"])
    a, b, c, d, e, f = answer["transform"]
    if (answer["crs"], (c, a, b, f, d, e)) == (None, (0, 1, 0, 0, 0, 1)):
        return "no CRS, no transform"
    if answer["epsg"] != array.epsg:
        return "EPSG %s" % answer["epsg"]
    x, a, b, y, d, e = array.transform or (0, 1, 0, 0, 0, 1)  # rioxarray's own when it finds none
    if answer["transform"] != pytest.approx([a, b, x, d, e, y]):
        return "transform %s" % answer["transform"]
    if array.transform and array.options.get("GEOREFERENCING") != "SPATIAL_PROJ":
        centres = {names[-1]: x + a * (np.arange(width) + 0.5), names[-2]: y + e * (np.arange(height) + 0.5)}
        if any(answer["coordinates"].get(name) != pytest.approx(list(values)) for name, values in centres.items()):
            return "coordinates %s" % answer["coordinates"]
    elif answer["told"] != (None if names[-1] == "x" else names[-2:]):
        return "told %s" % answer["told"]
    return None


def test_xarray_and_rioxarray_see_values_mask_and_georeferencing(written, answers):
    check_answers("xarray", written[1], answers("xarray"), fault_of_xarray)


def test_xarray_applies_scale_and_offset(tmp_path):
    before = source(np.arange(600, dtype="int16").reshape(20, 30), UTM, "EPSG:32633", 5)
    before.GetRasterBand(1).SetScale(0.5)
    before.GetRasterBand(1).SetOffset(100)
    copy(tmp_path / "a.zarr", before, ARRAY_NAME="v")
    answer, = ask_peer("xarray", tmp_path, [("a.zarr", "v")])
    expected = np.arange(600).reshape(20, 30) * 0.5 + 100
    expected[0, 5] = np.nan
    np.testing.assert_array_equal(answer["values"][1], expected)


# ------------------------------------------------------------------------------------------------------- GDAL's own driver

def fault_of_gdal(array, answer, arrays):
    values, *found = answer["values"]
    fault = fault_of_values(values, array.values)
    if fault:
        return fault
    if answer["driver"] != "Zarr" or answer["messages"]:
        return "%s: %s" % (answer["driver"], answer["messages"])
    if (answer["transform"] and pytest.approx(answer["transform"])) != array.transform:
        return "transform %s" % answer["transform"]
    srs, wanted = osr.SpatialReference(), osr.SpatialReference()
    wanted.ImportFromEPSG(array.epsg)
    if not answer["crs"] or srs.ImportFromWkt(answer["crs"]) or not srs.IsSame(wanted, ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES",
                                                                                        "CRITERION=EQUIVALENT"]):
        return "CRS %s" % answer["crs"]
    if not is_number(answer["nodata"], array.nodata or 0):  # it takes the fill value for nodata, which is 0 where there is none
        return "nodata %s, not %s" % (answer["nodata"], array.nodata)
    levels = smaller_levels(array, arrays)
    if array.level > 0:  # of an overview those are found that were made from it
        levels = [level for level in levels if level.values.shape[-2:] in [values.shape for values in found]]
    expected = [level.values if level.values.ndim == 2 else level.values[0] for level in levels]
    if [values.shape for values in found] != [values.shape for values in expected]:
        return "overviews %s, not %s" % ([values.shape for values in found], [values.shape for values in expected])
    return next(filter(None, map(fault_of_values, found, expected)), None)


def test_gdals_own_driver_reads_pixels_and_metadata(written, answers):
    if GDAL < 3130000:
        pytest.skip("GDAL's own driver knows sharding from 3.13 on")
    folder, arrays = written
    check_answers("gdal", arrays, answers("gdal"), lambda array, answer: fault_of_gdal(array, answer, arrays))
    alone = [answer["whole"] == array.values[..., 0, 0].size for array, answer in zip(arrays, answers("gdal"))
             if array.level == 0 and array.path.count("/") == 0 and array.options.get("SINGLE_ARRAY") != "NO" and "whole" in answer]
    assert len(alone) > 50 and all(alone)  # by the name of the store, too


# ------------------------------------------------------------------------------------------------------ stores of others

def test_stores_of_zarr_python_are_updated_in_place(tmp_path):
    run_peer("zarr_python_update_sources.py", tmp_path)
    expected, rng = {}, np.random.default_rng(3)
    for path in sorted(tmp_path.glob("*.zarr")):
        array = np.load(str(path)[:-5] + ".npy")
        dataset = gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE)
        for _ in range(5):
            x, y, w, h = int(rng.integers(80)), int(rng.integers(60)), int(rng.integers(1, 11)), int(rng.integers(1, 11))
            array[y:y + h, x:x + w] = part = random_values(rng, "uint16", (h, w))
            dataset.GetRasterBand(1).WriteArray(part, x, y)
        array[32:64, :32] = 7
        dataset.GetRasterBand(1).WriteArray(array[32:64, :32], 0, 32)
        dataset.SetMetadataItem("ours", "yes")
        dataset.SetGeoTransform(UTM)
        dataset = None
        expected[path.name] = array
        assert_same(oracle.read(path / "v")[1], array, path)
    for peer in ("zarr", "zarrs", "tensorstore"):
        for (path, array), answer in zip(expected.items(), ask_peer(peer, tmp_path, [(path, "v") for path in expected])):
            if peer == "tensorstore" and path in ("nested.zarr", "outer.zarr"):  # knows neither nested sharding nor codecs around shards
                assert "codec" in answer["error"], path
            else:
                assert_same(answer["values"][0], array, (peer, path))
            if peer == "zarr":
                attributes = answer["members"]["v"]
                assert attributes["ours"] == "yes" and attributes["keep"] == [1, {"a": None}]
    for path in expected:
        attributes = document(tmp_path / path)["attributes"]
        assert attributes["title"] == "theirs" and attributes["count"] == 1.5
