"""What the tests of writing share: sources, copies, and what then lies in a store."""
import json
import os

import numpy as np
from osgeo import gdal, gdal_array, osr

import oracle
from support import open_ours, warnings_of

UTM = (500000, 10, 0, 5000000, 0, -10)


def driver():
    return gdal.GetDriverByName("ShardedZarr")


def pairs(options):
    return ["%s=%s" % option for option in options.items()]


def source(array, transform=None, crs=None, nodata=None):
    """A raster in memory, of (bands, rows, columns) or (rows, columns), with pixels of its own."""
    array = np.asarray(array)
    array = array if array.ndim == 3 else array[np.newaxis]
    code = gdal_array.NumericTypeCodeToGDALTypeCode(array.dtype)
    dataset = gdal.GetDriverByName("MEM").Create("", array.shape[2], array.shape[1], array.shape[0], code)
    for number, band in enumerate(array):
        dataset.GetRasterBand(number + 1).WriteArray(band)
        if nodata is not None:
            dataset.GetRasterBand(number + 1).SetNoDataValue(nodata)
    if transform:
        dataset.SetGeoTransform(transform)
    if crs:
        srs = osr.SpatialReference()
        srs.SetFromUserInput(crs)
        dataset.SetSpatialRef(srs)
    return dataset


def copy(path, dataset, **options):
    """Copies without a single warning, closes, and opens what was written. Small rasters: no overviews unless asked for."""
    options.setdefault("OVERVIEWS", "NONE")
    made, messages = warnings_of(lambda: driver().CreateCopy(str(path), dataset, options=pairs(options)))
    assert made is not None and messages == [], messages
    del made
    return open_ours(str(path))


def created(path, array, **options):
    """A store that Create() made, filled with (bands, rows, columns) and closed. No overviews unless asked for, as above."""
    options.setdefault("OVERVIEWS", "NONE")
    code = gdal_array.NumericTypeCodeToGDALTypeCode(array.dtype)
    dataset = driver().Create(str(path), array.shape[2], array.shape[1], array.shape[0], code, options=pairs(options))
    for number, band in enumerate(array):
        dataset.GetRasterBand(number + 1).WriteArray(band)
    dataset = None
    return str(path)


def document(path, *node):
    with open(os.path.join(str(path), *node, "zarr.json")) as file:
        return json.load(file)


def change_document(path, *node, **members):
    oracle.put(os.path.join(str(path), *node), {"zarr.json": {**document(path, *node), **members}})


def arrays(path):
    """{path of the array: its zarr.json} of all sharded arrays of a store, overviews too."""
    found = {}
    for folder, folders, names in os.walk(str(path)):
        folders.sort()
        meta = document(folder) if "zarr.json" in names else {"node_type": ""}
        if meta["node_type"] == "array" and oracle.sharding_of(meta["codecs"]):
            found[os.path.relpath(folder, str(path))] = meta
    return found


def only_array(path):
    """(name, zarr.json, values as the oracle reads them) of the one full-resolution array of a store."""
    names = [name for name in arrays(path) if not name.startswith("ovr_")]
    assert len(names) == 1, names
    return (names[0], *oracle.read(os.path.join(str(path), names[0])))


def shards(path, name=""):
    """{key: bytes} of the chunk objects of an array."""
    root, found = os.path.join(str(path), name), {}
    for folder, _, names in os.walk(root):
        for file in names:
            if file != "zarr.json":
                with open(os.path.join(folder, file), "rb") as opened:
                    found[os.path.relpath(os.path.join(folder, file), root)] = opened.read()
    return found


def chunks_of(meta, data):
    """{cell: encoded bytes} of the chunks that a shard stores."""
    conf = oracle.sharding_of(meta["codecs"])
    inner, codecs = conf["chunk_shape"], oracle._index_codecs(conf)
    shape = [s // c for s, c in zip(oracle.chunk_shape_of(meta), inner)] + [2]
    size = 8 * int(np.prod(shape)) + 4 * sum(oracle.named(c)[0] == "crc32c" for c in codecs)
    encoded = data[:size] if conf.get("index_location", "end") == "start" else data[len(data) - size:]
    index = oracle.decode(codecs, encoded, tuple(shape), np.dtype("uint64"), oracle.EMPTY)
    return {cell: data[int(index[cell][0]):int(index[cell][0] + index[cell][1])] for cell in np.ndindex(*shape[:-1])
            if int(index[cell][1]) != oracle.EMPTY}


def files_of(path):
    """All files below a directory, as relative names."""
    return sorted(os.path.relpath(os.path.join(folder, name), str(path)) for folder, _, names in os.walk(str(path)) for name in names)


def snapshot(path, *without):
    """{name below: its bytes, the target of a link, or None for a folder} of all that is there, but for some folders."""
    found = {}
    for at, folders, names in os.walk(str(path)):
        folders[:] = [name for name in folders if os.path.relpath(os.path.join(at, name), str(path)) not in without]
        for name in folders + names:
            full = os.path.join(at, name)
            if os.path.islink(full):
                found[os.path.relpath(full, str(path))] = os.readlink(full)
            else:
                found[os.path.relpath(full, str(path))] = None if os.path.isdir(full) else open(full, "rb").read()
    return found


def check_consolidated(path):
    """The inline consolidated metadata of the root are exactly what the nodes' own documents say."""
    nodes = {os.path.dirname(name): document(path, os.path.dirname(name)) for name in files_of(path)
             if os.path.basename(name) == "zarr.json" and name != "zarr.json"}
    inline = document(path)["consolidated_metadata"]["metadata"]
    without = lambda meta: {k: v for k, v in meta.items() if k != "consolidated_metadata"}  # noqa: E731
    assert {k: without(v) for k, v in inline.items()} == {k: without(v) for k, v in nodes.items()}


def check_not_consolidated(path):
    """Each document of a store speaks for itself alone."""
    nodes = [os.path.dirname(name) for name in files_of(path) if os.path.basename(name) == "zarr.json"]
    assert len(nodes) > 1 and not [node for node in nodes if "consolidated_metadata" in document(path, node)]
