"""The oracle: Zarr v3 arrays, sharded or not, written and read with plain numpy and the standard library.

Straight from the specification, simple and slow, and sharing no line with the driver that it judges. `zstd` and `blosc` are called
through ctypes in the libraries that GDAL itself depends on; `available()` says which codecs can be used here.

    files = Encoder(meta, Layout(order="random", gap=3)).encode(array)   # {"c/0/0": bytes, ...}; meta is the dict of zarr.json
    write(path, meta, array, layout)                                     # the same, to a directory, with zarr.json
    meta, array = read(path)

Arrays come in the in-memory type of `dtype_of(meta["data_type"])`: datetime64 and timedelta64 as int64, r8 as uint8.
"""
import base64
import ctypes
import gzip
import itertools
import json
import os
import struct
from dataclasses import dataclass

import numpy as np

EMPTY = 2**64 - 1  # both fields of an index entry without a chunk


class OracleError(ValueError):
    """The store breaks the specification."""


# ---------------------------------------------------------------------------------------------------------- data types

def dtype_of(data_type):
    """The numpy type, in native byte order, that holds elements of a Zarr `data_type`."""
    name = data_type["name"] if isinstance(data_type, dict) else data_type
    if name in ("numpy.datetime64", "numpy.timedelta64"):
        return np.dtype("int64")
    if name == "r8":
        return np.dtype("uint8")
    if name == "bool" or name.startswith(("int", "uint", "float", "complex")):
        return np.dtype(name)
    raise OracleError("data type %s is not known here" % name)


def _real_from_json(value, dtype):
    """A float from a number, "NaN", "Infinity", "-Infinity" or the bits as "0x...". NaN is the one of the specification."""
    if isinstance(value, str) and value.startswith("0x"):
        return np.array(int(value, 16), "u%d" % dtype.itemsize).view(dtype)
    if isinstance(value, str):
        value = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}[value]
    return np.array(value, dtype)


def fill_of(meta):
    """The fill value as an array of no dimensions. Missing: zero. Null: NaN of floats, else zero."""
    dtype, value = dtype_of(meta["data_type"]), meta.get("fill_value")
    if value is None:
        return np.array(np.nan if dtype.kind == "f" and "fill_value" in meta else 0, dtype)
    if dtype.kind == "f":
        return _real_from_json(value, dtype)
    if dtype.kind == "c":
        part = np.dtype("f%d" % (dtype.itemsize // 2))
        return np.array([_real_from_json(v, part) for v in value], part).view(dtype)[0]
    if meta["data_type"] == "r8" and not isinstance(value, int):
        return np.array(base64.b64decode(value)[0] if isinstance(value, str) else value[0], dtype)
    if value == "NaT":
        return np.array(np.iinfo("int64").min, dtype)
    return np.array(value, dtype)


# --------------------------------------------------------------------------------------------------- bytes-to-bytes codecs

def _crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_CRC32C = _crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _library(name, **results):
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return None
    for function, result in results.items():
        getattr(library, function).restype = result
    return library


_size, _pointer = ctypes.c_size_t, ctypes.c_void_p
_zstd = _library("libzstd.so.1", ZSTD_createCCtx=_pointer, ZSTD_compressBound=_size, ZSTD_compress2=_size, ZSTD_decompress=_size,
                 ZSTD_CCtx_setParameter=_size)
_blosc = _library("libblosc.so.1", blosc_compress_ctx=ctypes.c_int, blosc_decompress_ctx=ctypes.c_int,
                  blosc_list_compressors=ctypes.c_char_p)
_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}


def zstd_compress(data, level=0, checksum=False, content_size=True):
    context = _pointer(_zstd.ZSTD_createCCtx())
    for parameter, value in ((100, level), (200, content_size), (201, checksum)):
        _zstd.ZSTD_CCtx_setParameter(context, parameter, int(value))
    out = ctypes.create_string_buffer(_zstd.ZSTD_compressBound(_size(len(data))))
    size = _zstd.ZSTD_compress2(context, out, _size(len(out)), data, _size(len(data)))
    _zstd.ZSTD_freeCCtx(context)
    return out.raw[:size]


def zstd_decompress(data):
    capacity = 4096
    while capacity < 1 << 31:
        out = ctypes.create_string_buffer(capacity)
        size = _zstd.ZSTD_decompress(out, _size(capacity), data, _size(len(data)))
        if not _zstd.ZSTD_isError(_size(size)):
            return out.raw[:size]
        capacity *= 4  # the frame need not say its size
    raise OracleError("not a zstd frame")


def blosc_compress(data, cname, clevel, shuffle, typesize=1, blocksize=0):
    out = ctypes.create_string_buffer(len(data) + 16)
    size = _blosc.blosc_compress_ctx(clevel, _SHUFFLES[shuffle], _size(typesize), _size(len(data)), data, out, _size(len(out)),
                                     cname.encode(), _size(blocksize), 1)
    if size <= 0:
        raise OracleError("blosc cannot compress with %s" % cname)
    return out.raw[:size]


def blosc_decompress(data):
    size = struct.unpack_from("<I", data, 4)[0]
    out = ctypes.create_string_buffer(size + 1)
    if _blosc.blosc_decompress_ctx(data, out, _size(size), 1) != size:
        raise OracleError("not a blosc frame")
    return out.raw[:size]


def available(codec):
    """Whether this codec, by its Zarr name, or this compressor of blosc, as "blosc:snappy", can be used on this machine."""
    if codec == "zstd":
        return _zstd is not None
    if codec.startswith("blosc"):
        return _blosc is not None and (":" not in codec or codec[6:] in _blosc.blosc_list_compressors().decode().split(","))
    return codec in ("gzip", "crc32c")


def _to_bytes(name, conf, data, layout):
    if name == "crc32c":
        return data + struct.pack("<I", crc32c(data))
    if name == "gzip":
        cut = len(data) // 2 if layout.gzip_members == 2 else len(data)
        parts = [data[:cut], data[cut:]][:layout.gzip_members]
        return b"".join(gzip.compress(part, conf.get("level", 5)) for part in parts)
    if name == "zstd":
        return zstd_compress(data, conf.get("level", 0), conf.get("checksum", False), layout.zstd_content_size)
    if name == "blosc":
        return blosc_compress(data, **conf)
    raise OracleError("codec %s is not known here" % name)


def _from_bytes(name, data):
    if name == "crc32c":
        if len(data) < 4 or struct.unpack("<I", data[-4:])[0] != crc32c(data[:-4]):
            raise OracleError("crc32c does not match")
        return data[:-4]
    if name == "gzip":
        return gzip.decompress(data)
    if name == "zstd":
        return zstd_decompress(data)
    if name == "blosc":
        return blosc_decompress(data)
    raise OracleError("codec %s is not known here" % name)


# -------------------------------------------------------------------------------------------------------------- metadata

def named(extension):
    """(name, configuration) of a codec, a chunk grid or a chunk key encoding, which may also be a bare string."""
    if isinstance(extension, str):
        return extension, {}
    return extension["name"], extension.get("configuration") or {}


def chunk_key(meta, cell):
    name, conf = named(meta.get("chunk_key_encoding", "default"))
    if name == "v2":
        return conf.get("separator", ".").join(map(str, cell)) or "0"
    return conf.get("separator", "/").join(["c"] + [str(i) for i in cell])


def chunk_shape_of(meta):
    """The shape of what one object holds (of a shard, where the array is sharded), in a regular grid."""
    name, conf = named(meta["chunk_grid"])
    if name != "regular":
        raise OracleError("chunks of the grid %s have no one shape" % name)
    return tuple(conf["chunk_shape"])


def edges_of(meta):
    """How long the stored objects are along each dimension, those that begin in the array."""
    name, conf = named(meta["chunk_grid"])
    member = {"regular": "chunk_shape", "rectilinear": "chunk_shapes", "rectangular": "chunk_shape"}.get(name)
    if member is None:
        raise OracleError("chunk grid %s is not known here" % name)
    grid = []
    for size, form in zip(meta["shape"], conf[member]):
        edges, entries = [], itertools.cycle([form]) if isinstance(form, int) else iter(form)
        while sum(edges) < size:
            entry = next(entries)
            edges += [entry[0]] * entry[1] if isinstance(entry, list) else [entry]
        grid.append([edge for i, edge in enumerate(edges) if sum(edges[:i]) < size])
    return grid


def _objects(meta):
    """(cell, window in the array, shape) of all stored objects."""
    grid = edges_of(meta)
    for cell in itertools.product(*(range(len(edges)) for edges in grid)):
        shape = tuple(edges[i] for i, edges in zip(cell, grid))
        start = [sum(edges[:i]) for i, edges in zip(cell, grid)]
        yield cell, tuple(slice(a, a + n) for a, n in zip(start, shape)), shape


def sharding_of(codecs):
    """The configuration of the outermost sharding_indexed in a codec chain, or None."""
    return next((conf for name, conf in map(named, codecs) if name == "sharding_indexed"), None)


def _cells(shape, chunk):
    return itertools.product(*(range(-(-s // c)) for s, c in zip(shape, chunk)))


def _window(cell, chunk):
    return tuple(slice(i * c, (i + 1) * c) for i, c in zip(cell, chunk))


def _index_codecs(conf):
    return conf.get("index_codecs", [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])


def _stored_dtype(dtype, conf):
    return dtype.newbyteorder(">" if conf.get("endian") == "big" else "<")


# --------------------------------------------------------------------------------------------------------------- writing

@dataclass
class Layout:
    """The freedoms that a writer has under one and the same zarr.json."""

    order: str = "c"  # of the chunks in a shard: "c", "reversed" or "random"
    gap: int = 0  # bytes of garbage before each chunk and after the last
    leave_out_chunks: bool = True  # chunks that are equal to the fill value become empty entries
    leave_out_shards: bool = True  # objects of nothing but fill value are not written
    beyond: str = "fill"  # what lies beyond the edge of the array: "fill" or "garbage"
    share: bool = False  # chunks of equal bytes are stored once
    gzip_members: int = 1  # 2: the stream is cut in two members
    zstd_content_size: bool = True  # False: frames do not say how long they become
    seed: int = 0


class Encoder:
    """Turns an array into the objects of a store, as its zarr.json (`meta`) says and `layout` pleases."""

    def __init__(self, meta, layout=None):
        self.meta, self.layout = meta, layout or Layout()
        self.rng = np.random.default_rng(self.layout.seed)
        self.dtype, self.fill = dtype_of(meta["data_type"]), fill_of(meta)

    def encode(self, array):
        """All chunk objects of the array: {key: bytes}."""
        array = np.asarray(array, self.dtype)
        assert list(array.shape) == list(self.meta["shape"])
        objects = {}
        for cell, window, shape in _objects(self.meta):
            part = array[window]
            chunk = self._padding(shape)
            chunk[tuple(slice(0, s) for s in part.shape)] = part
            if not (self.layout.leave_out_shards and self._is_fill(part)):
                objects[chunk_key(self.meta, cell)] = self.chain(self.meta["codecs"], chunk)
        return objects

    def chain(self, codecs, chunk):
        """One chunk through a chain of codecs."""
        data = None
        for name, conf in map(named, codecs):
            if name == "transpose":
                chunk = chunk.transpose(conf["order"])
            elif name in ("bytes", "endian"):
                data = chunk.astype(_stored_dtype(chunk.dtype, conf)).tobytes()
            elif name == "sharding_indexed":
                data = self.shard(conf, chunk)
            else:
                data = _to_bytes(name, conf, data, self.layout)
        return data

    def shard(self, conf, shard):
        inner = conf["chunk_shape"]
        if len(inner) != shard.ndim or any(s % c for s, c in zip(shard.shape, inner)):
            raise OracleError("chunks of %s do not divide a shard of %s" % (inner, shard.shape))
        index = np.full([s // c for s, c in zip(shard.shape, inner)] + [2], EMPTY, "uint64")
        at_start = conf.get("index_location", "end") == "start"
        base = len(self.chain(_index_codecs(conf), index)) if at_start else 0
        body, stored = bytearray(), {}
        for cell in self._ordered(_cells(shard.shape, inner)):
            chunk = shard[_window(cell, inner)]
            if self.layout.leave_out_chunks and self._is_fill(chunk):
                continue
            data = self.chain(conf["codecs"], chunk)
            if not (self.layout.share and data in stored):
                body += self.rng.bytes(self.layout.gap)
                stored[data] = (base + len(body), len(data))
                body += data
            index[cell] = stored[data]
        body += self.rng.bytes(self.layout.gap)
        encoded = self.chain(_index_codecs(conf), index)
        return encoded + bytes(body) if at_start else bytes(body) + encoded

    def _ordered(self, cells):
        cells = list(cells)
        if self.layout.order == "reversed":
            cells.reverse()
        elif self.layout.order == "random":
            self.rng.shuffle(cells)
        return map(tuple, cells)

    def _padding(self, shape):
        chunk = np.full(shape, self.fill)
        if self.layout.beyond == "garbage":
            garbage = self.rng.integers(0, 256, chunk.nbytes, "uint8")
            if self.dtype.kind == "b":
                garbage &= 1
            chunk = garbage.view(self.dtype).reshape(shape)
        return chunk

    def _is_fill(self, chunk):
        return chunk.tobytes() == np.full(chunk.shape, self.fill).tobytes()


def put(path, objects):
    """Writes {key: bytes or dict} under a directory; a dict becomes JSON."""
    for key, value in objects.items():
        name = os.path.join(str(path), key)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(json.dumps(value).encode() if isinstance(value, dict) else value)
    return str(path)


def write(path, meta, array=None, layout=None):
    """Writes zarr.json of an array or a group and, where an array is given, its chunks. Returns the path."""
    objects = {} if array is None else Encoder(meta, layout).encode(array)
    return put(path, {**objects, "zarr.json": meta})


def consolidate(path):
    """Puts the metadata of all nodes below a group into its zarr.json, as zarr-python does."""
    nodes = {}
    for folder, folders, names in os.walk(str(path)):
        folders.sort()
        if "zarr.json" in names and folder != str(path):
            with open(os.path.join(folder, "zarr.json")) as file:
                nodes[os.path.relpath(folder, str(path))] = json.load(file)
    with open(os.path.join(str(path), "zarr.json")) as file:
        root = json.load(file)
    root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": nodes}
    put(path, {"zarr.json": root})


# --------------------------------------------------------------------------------------------------------------- reading

def decode(codecs, data, shape, dtype, fill):
    """One chunk back from its bytes."""
    codecs = [named(codec) for codec in codecs]
    orders = [conf["order"] for name, conf in codecs if name == "transpose"]
    for order in orders:
        shape = tuple(shape[i] for i in order)
    for name, conf in reversed(codecs):
        if name in ("bytes", "endian"):
            stored = _stored_dtype(dtype, conf)
            if len(data) != int(np.prod(shape, dtype=object)) * dtype.itemsize:
                raise OracleError("a chunk of %s %s has %d bytes" % (shape, dtype, len(data)))
            array = np.frombuffer(data, stored).reshape(shape).astype(dtype)
        elif name == "sharding_indexed":
            array = decode_shard(conf, data, shape, dtype, fill)
        elif name != "transpose":
            data = _from_bytes(name, data)
    for order in reversed(orders):
        array = array.transpose(np.argsort(order))
    return array


def decode_shard(conf, data, shape, dtype, fill):
    inner, codecs = tuple(conf["chunk_shape"]), _index_codecs(conf)
    index_shape = [s // c for s, c in zip(shape, inner)] + [2]
    size = 16 * int(np.prod(index_shape[:-1], dtype=object)) + 4 * sum(named(c)[0] == "crc32c" for c in codecs)
    if size > len(data):
        raise OracleError("an index of %d bytes in a shard of %d" % (size, len(data)))
    at_start = conf.get("index_location", "end") == "start"
    encoded = data[:size] if at_start else data[len(data) - size:]
    index = decode(codecs, encoded, tuple(index_shape), np.dtype("uint64"), EMPTY)
    chunks = (size, len(data)) if at_start else (0, len(data) - size)
    array = np.full(shape, fill)
    for cell in _cells(shape, inner):
        offset, length = (int(v) for v in index[cell])
        if (offset, length) == (EMPTY, EMPTY):
            continue
        if offset < chunks[0] or offset + length > chunks[1]:
            raise OracleError("chunk %s lies at %d+%d, outside of the chunks" % (cell, offset, length))
        array[_window(cell, inner)] = decode(conf["codecs"], data[offset:offset + length], inner, dtype, fill)
    return array


def decode_array(meta, get):
    """The whole array; `get(key)` returns the bytes of an object, or None where there is none."""
    dtype, fill = dtype_of(meta["data_type"]), fill_of(meta)
    array = np.full(meta["shape"], fill)
    for cell, window, shape in _objects(meta):
        data = get(chunk_key(meta, cell))
        if data is not None:
            part = array[window]
            chunk = decode(meta.get("codecs", ["bytes"]), data, shape, dtype, fill)
            array[window] = chunk[tuple(slice(0, s) for s in part.shape)]
    return array


def read(path):
    """(zarr.json, array) of the array in a directory."""
    def get(key):
        try:
            with open(os.path.join(str(path), key), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
    meta = json.loads(get("zarr.json"))
    return meta, decode_array(meta, get)
