"""Every creation option alone, and random combinations from seeds: what is written with them, and what must be read from it."""
import collections
import os
import re
import xml.etree.ElementTree

import numpy as np

import oracle
from stores import random_values
from support import GDAL, held_band, open_array
from writing import UTM, arrays, copy, driver, source

TYPES = ["uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex64", "complex128"]
TYPES += ["int8"] * (GDAL >= 3070000) + ["float16"] * (GDAL >= 3110000)
SEEDS = range(100)
PLACES = [(UTM, 32633), (UTM, 3857), ((10, 0.25, 0, 50, 0, -0.5), 4326), ((0, 10, 0, 0, 0, 20), 32733),
          (None, 25832)]  # the last but one is south up

# A store to be written, with what it is written from: pixels as (bands, rows, columns). `beside`: whether another array is there first.
Case = collections.namedtuple("Case", "name pixels transform epsg nodata options beside", defaults=[False])

# An array to be read: where it is in the store, its zarr.json, what it holds, its place, and for overviews which of them it is.
Array = collections.namedtuple("Array", "store path meta values transform epsg nodata level options")


# ----------------------------------------------------------------------------------------------------------------- alone

FREE = {  # values of the options that are no choice; those of three numbers or names are for three bands
    "CHUNK_SHAPE": ["8", "16,32", "2,16,8", "100,200", "1,3"], "SHARD_SHAPE": ["AUTO", "16", "48,64", "2,32,16"],
    "LEVEL": ["0", "3", "9"], "OVERVIEWS": ["AUTO", "NONE", "2", "7,3"], "ARRAY_NAME": ["pixels", "red edge"],
    "NUM_THREADS": ["1", "3", "ALL_CPUS"], "DIM_NAMES": ["lat,lon", "t,v,u"],
    "BLOSC_BLOCKSIZE": ["0", "4096"], "DIM_SEPARATOR": ["/", "."], "BLOCKXSIZE": ["32", "1"], "BLOCKYSIZE": ["16", "100"]}
LEVELS = [("ZSTD", "-7"), ("ZSTD", "22"), ("GZIP", "0"), ("GZIP", "9")]  # what LEVEL may be depends on COMPRESS
CHUNKS = {"CHUNK_SHAPE": "16"}  # given beside an option so that there are several
# pixels become others (test_bitround.py, test_healpix_write.py), or peers find nodes in other ways (test_create_options.py)
ELSEWHERE = ["BITROUND", "HEALPIX", "CREATE_CONSOLIDATED_METADATA"]
BESIDE = {"RESAMPLING": {**CHUNKS, "OVERVIEWS": "2"}, "BLOCKXSIZE": {"BLOCKYSIZE": "16"}, "BLOCKYSIZE": {"BLOCKXSIZE": "32"}}


def is_alias(option):
    """Whether it is GDAL's own Zarr driver's word for another."""
    return option.get("description").startswith("As other drivers of GDAL call it")


def declared():
    """{creation option: its values, None where it is no choice} as the driver declares them."""
    found = {}
    for option in xml.etree.ElementTree.fromstring(driver().GetMetadataItem("DMD_CREATIONOPTIONLIST")).iter("Option"):
        if is_alias(option):
            continue
        choice = [value.text for value in option.iter("Value")] or None
        found[option.get("name")] = ["YES", "NO"] if option.get("type") == "boolean" else choice
    return found


def alone():
    """Cases of one option each, every value of those that are a choice."""
    given = [("CHUNK_SHAPE", value, {}) for value in FREE["CHUNK_SHAPE"]]
    for option, choice in declared().items():
        for value in choice or FREE[option] if option not in ELSEWHERE else []:
            if option != "CHUNK_SHAPE" and (option != "BLOSC_CNAME" or oracle.available("blosc:" + value)):
                given.append((option, value, BESIDE.get(option, CHUNKS)))
    given += [("LEVEL", level, {**CHUNKS, "COMPRESS": compress}) for compress, level in LEVELS
              if compress == "GZIP" or oracle.available(compress.lower())]
    for option, value, beside in given:
        bands = 3 if option in ("SINGLE_ARRAY", "INTERLEAVE") or value.count(",") == 2 else 1
        pixels = np.cumsum(np.random.default_rng(7).integers(0, 3, (bands, 40, 61)), axis=-1).astype("uint16")  # compresses
        pixels[:, 5:25, 7:33] = 9
        name = re.sub("[, /-]", "_", "_".join([option, value, beside.get("COMPRESS", "")]))
        yield Case(name, pixels, UTM, 32633, 9, {**beside, option: value}, (option, value) == ("APPEND_SUBDATASET", "YES"))


# --------------------------------------------------------------------------------------------------------- combinations

def random_options(rng, bands, shape):
    """Options that go together, about two in three of them given."""
    pick = lambda *values: str(rng.choice(values))  # noqa: E731
    single = bands == 1 or rng.random() < 0.8
    chunk = [int(rng.integers(1, s + 6)) for s in shape]
    lead = [int(rng.integers(1, bands + 2))] if bands > 1 and single and rng.random() < 0.5 else []
    shard = [c * int(rng.integers(1, 5)) for c in lead + chunk]
    compress = pick("NONE", "GZIP", *["ZSTD"] * oracle.available("zstd"), *["BLOSC"] * 2 * oracle.available("blosc"))
    low, high = {"NONE": (0, 0), "ZSTD": (-10, 12), "GZIP": (0, 9), "BLOSC": (0, 9)}[compress]
    cnames = [c for c in ("zstd", "lz4", "lz4hc", "blosclz", "zlib", "snappy") if oracle.available("blosc:" + c)]
    options = {"CHUNK_SHAPE": ",".join(map(str, lead + chunk)), "SHARD_SHAPE": ",".join(map(str, shard)), "COMPRESS": compress,
               "LEVEL": int(rng.integers(low, high + 1)), "BLOSC_SHUFFLE": pick("NONE", "BYTE", "BIT"), "BLOSC_CNAME": pick(*cnames or ["lz4"]),
               "INDEX_LOCATION": pick("START", "END"), "CHUNK_ORDER": pick("ROW_MAJOR", "MORTON", "HILBERT"), "CHUNK_CHECKSUM": pick("YES", "NO"),
               "OVERVIEWS": pick("NONE", "2", "AUTO", "3,4"), "RESAMPLING": pick("NEAREST", "AVERAGE"), "ARRAY_NAME": "pixels",
               "GEOREFERENCING": pick("ALL", "SPATIAL_PROJ", "CF"), "NUM_THREADS": pick("1", "3"),
               "DIM_NAMES": ("b,v,u" if bands > 1 and single else "v,u"), "APPEND_SUBDATASET": pick("YES", "NO", "NO")}
    if not lead:
        options["INTERLEAVE"] = pick("BAND", "PIXEL")
        if options["INTERLEAVE"] == "PIXEL" and bands > 1 and single:
            del options["SHARD_SHAPE"]
    for name in list(options):
        if rng.random() < 0.35 and name != "CHUNK_SHAPE":
            options.pop(name)
    if not single:
        options["SINGLE_ARRAY"] = "NO"
    if "COMPRESS" not in options:
        options.pop("LEVEL", None)
    if lead and "SHARD_SHAPE" not in options:
        options["CHUNK_SHAPE"] = ",".join(map(str, chunk))
    return options


def random_case(seed):
    """The same for the same seed; every TYPES-th seed has the same data type."""
    rng = np.random.default_rng(seed)
    data_type, bands, shape = TYPES[seed % len(TYPES)], int(rng.choice([1, 1, 2, 4])), [int(n) for n in rng.integers(1, 60, 2)]
    pixels = random_values(rng, data_type, [bands] + shape)
    if rng.random() < 0.5:
        pixels[:, :shape[0] // 2] = 0
    limits = np.iinfo(data_type) if pixels.dtype.kind in "iu" else None
    choice = [0, 7, int(limits.min), int(limits.max)] if limits else [0.0, -999.5, -1.0, float("nan")]
    nodata = choice[rng.integers(4)] if rng.random() < 0.5 else None
    if nodata is not None:
        pixels[rng.random(pixels.shape) < 0.4] = nodata
    options = random_options(rng, bands, shape)
    return Case("seed_%d" % seed, pixels, *PLACES[rng.integers(len(PLACES))], nodata, options, options.get("APPEND_SUBDATASET") == "YES")


def edges():
    """Cases that chance seldom makes: chunks that are not stored because they hold the largest number of the type, and single rows and
    columns, whose coordinates do not tell how large a pixel is."""
    for data_type in ("int64", "uint64"):
        nodata = int(np.iinfo(data_type).max)
        pixels = np.arange(40 * 50, dtype=data_type).reshape(1, 40, 50)
        pixels[:, :20, :30] = nodata
        yield Case("large_" + data_type, pixels, UTM, 32633, nodata, {"CHUNK_SHAPE": "8"})
    for style in ("ALL", "SPATIAL_PROJ", "CF"):
        for height, width in ((1, 30), (20, 1), (1, 1)):
            pixels = np.arange(height * width, dtype="int16").reshape(1, height, width)
            yield Case("thin_%s_%d_%d" % (style, height, width), pixels, PLACES[-2][0], 32733, -1, {"CHUNK_SHAPE": "8", "GEOREFERENCING": style})


def cases():
    return [*alone(), *edges(), *(random_case(seed) for seed in SEEDS)]


# -------------------------------------------------------------------------------------------------------- what is written

def level_of(path):
    """The factor of an overview, 1 for the full resolution."""
    found = re.search(r"(?:^|/)ovr_(\d+)x/", path)
    return int(found.group(1)) if found else 1


def base_of(path):
    """The array of which an array is an overview, or itself."""
    return re.sub(r"(^|/)ovr_\d+x/", r"\1", path)


def at_size(transform, pixels, values):
    """The transform of an overview: the same place in fewer pixels."""
    y, x = pixels.shape[-2] / values.shape[-2], pixels.shape[-1] / values.shape[-1]
    return transform and tuple(number * factor for number, factor in zip(transform, (1, x, y, 1, x, y)))


def write(folder, case):
    """Writes a store; gives its arrays, those of overviews as our driver reads them."""
    path = str(folder / (case.name + ".zarr"))
    if case.beside:
        copy(path, source(np.ones((4, 5), "uint8")), ARRAY_NAME="beside")
    copy(path, source(case.pixels, case.transform, "EPSG:%d" % case.epsg, case.nodata), **case.options)
    found = {name: meta for name, meta in arrays(path).items() if name != "beside"}
    full = sorted(name for name in found if level_of(name) == 1)
    single = case.options.get("SINGLE_ARRAY") != "NO"
    assert len(full) == (1 if single else len(case.pixels)), found
    for number, name in enumerate(full):
        pixels = case.pixels if single else case.pixels[number:number + 1]
        dataset = open_array(path, "/" + name)
        bands = [held_band(dataset, b + 1) for b in range(len(pixels))]
        levels = sorted((level_of(other), other) for other in found if base_of(other) == name)
        assert len(levels) == 1 + bands[0].GetOverviewCount(), (name, levels)
        for level, (_, other) in enumerate(levels):
            values = pixels if level == 0 else np.stack([band.GetOverview(level - 1).ReadAsArray() for band in bands])
            yield Array(os.path.basename(path), other, found[other], values if len(pixels) > 1 else values[0],
                        at_size(case.transform, pixels, values), case.epsg, case.nodata, level, case.options)
