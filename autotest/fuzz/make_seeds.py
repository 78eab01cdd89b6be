#!/usr/bin/env python3
"""Writes the first inputs of each fuzz target to corpus/: valid ones, from which a fuzzer finds its way."""
import bz2
import gzip
import json
import lzma
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).parent / "corpus"
EMPTY = 2**64 - 1


def save(target, name, data):
    (HERE / target).mkdir(parents=True, exist_ok=True)
    (HERE / target / name).write_bytes(data)


def shard(chunks, start=False, checksum=0):
    """Chunks (None is empty) and their index, little-endian, with so many bytes for a checksum, all of them 0."""
    index, body, at = b"", b"", 16 * len(chunks) + checksum if start else 0
    for chunk in chunks:
        index += struct.pack("<QQ", EMPTY, EMPTY) if chunk is None else struct.pack("<QQ", at + len(body), len(chunk))
        body += chunk or b""
    index += bytes(checksum)
    return index + body if start else body + index


def zipped(data):
    return gzip.compress(data, mtime=0)


def pixels(n, first=1):
    return b"".join(struct.pack("<H", first + i) for i in range(n))


def grid(name, **configuration):
    return {"chunk_grid": {"name": name, "configuration": configuration}}


def array(shape, chunk, dtype, fill, codecs, **more):
    return json.dumps({"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype, "fill_value": fill, "codecs": codecs,
                       "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
                       "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, **more}).encode()


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


little = codec("bytes", endian="little")
inner = codec("sharding_indexed", chunk_shape=[2, 2], codecs=[little, codec("zstd", level=3, checksum=False)],
              index_codecs=[little, "crc32c"], index_location="end")
save("chain", "sharded", array([100, 100], [8, 8], "uint16", 7, [inner]))
save("chain", "nested", array([9, 9], [8, 8], "float32", "NaN", [codec("sharding_indexed", chunk_shape=[4, 4], codecs=[inner]), "crc32c"],
                              dimension_names=["y", None], attributes={"_FillValue": 1}))
save("chain", "transposed", array([3, 4, 5], [2, 2, 2], "complex64", [0.5, "-Infinity"],
                                  [codec("transpose", order=[2, 0, 1]), codec("bytes", endian="big"), codec("gzip", level=5)]))
save("chain", "rectilinear", array([9, 20], None, "uint16", 7, [inner],
                                   **grid("rectilinear", kind="inline", chunk_shapes=[4, [2, [4, 3], [2, 2]]])))
save("chain", "rectangular", array([9, 20], None, "int16", 7, [little], **grid("rectangular", chunk_shape=[[4, 5], 3])))
save("chain", "blosc", array([3], [2], "int64", -9223372036854775808, [little, codec("blosc", cname="lz4", clevel=5, shuffle="bitshuffle",
                                                                                    typesize=8, blocksize=0)]))
eopf = [codec("scale_offset", offset=-0.1, scale=10000.0),
        codec("cast_value", data_type="uint16", rounding="nearest-away", out_of_range="clamp", scalar_map={"encode": [["NaN", 0]], "decode": [[0, "NaN"]]})]
save("chain", "eopf", array([9, 9], [8, 8], "float32", "NaN", [codec("sharding_indexed", chunk_shape=[4, 4], codecs=eopf + [little, "crc32c"],
                                                                     index_codecs=[little, "crc32c"])]))
save("chain", "cast_before", array([9], [8], "int16", 5, [codec("cast_value", data_type="int8", out_of_range="wrap"), codec("bitround", keepbits=3),
                                                          codec("sharding_indexed", chunk_shape=[4], codecs=[little], index_codecs=[little])]))
save("chain", "numcodecs", array([9, 9], [8, 8], "float32", 0, [codec("numcodecs.quantize", digits=2, dtype="<f4"),
                                                                codec("numcodecs.fixedscaleoffset", offset=1, scale=10.5, dtype="<f4", astype="|u1"),
                                                                codec("numcodecs.delta", dtype="|u1", astype="<i2"), little, codec("numcodecs.shuffle"),
                                                                codec("numcodecs.blosc", cname="lz4", clevel=5, shuffle=-1), codec("numcodecs.crc32")]))
save("chain", "packbits", array([9], [8], "bool", False, [codec("numcodecs.packbits"), "bytes", codec("numcodecs.lzma"), codec("numcodecs.bz2", level=1)]))
save("chain", "scalar", array([], [], "bool", True, ["bytes"], storage_transformers=[]))
save("chain", "group", b'{"zarr_format":3,"node_type":"group","attributes":{},"consolidated_metadata":null}')

save("chain", "small", array([9], [8], "bfloat16", "0x7fc0", [codec("sharding_indexed", chunk_shape=[4], codecs=[codec("bytes", endian="big"), "crc32c"],
                                                                     index_codecs=[little])]))
save("chain", "packed", array([9], [8], "int8", -8, [codec("packbits", padding_encoding="last_byte", first_bit=1, last_bit=None)]))


def stages(name, data, *more, **less):
    save("stages", name, array(*more, **less) + b"\0" + data)


def flags(configuration, data, dtype="uint8", n=8):
    stages("packbits_%s_%d" % (dtype, len(configuration)), data, [n], [n], dtype, 0, [codec("packbits", **configuration)])


stages("eopf", pixels(8), [8], [8], "float32", "NaN", eopf + [little])
flags({}, b"\x35", "bool")
flags({"padding_encoding": "first_byte"}, b"\6\xff\3", "bool", 10)
flags({"padding_encoding": "last_byte", "last_bit": 2}, b"\1\2\3\0")
flags({"first_bit": 3, "last_bit": 12, "padding_encoding": "none"}, bytes(range(10)), "int16")
flags({}, bytes(range(64)), "complex64")
stages("bfloat16", bytes(range(0, 200, 12)), [8], [8], "bfloat16", 1, [codec("bytes", endian="big")])
# Streams of zfp, from zfpy
stages("zfpy", bytes.fromhex("7a66700546000040000020cb056dd1181959415b04545555d0e08461072d0000"),
       [5, 5], [5, 5], "float32", 0, [codec("numcodecs.zfpy", mode=4, tolerance=0.5)])
stages("zfp_reversible", bytes.fromhex("01b020c0118440060300000000000000"),
       [3, 3], [3, 3], "float64", 0, [codec("zfp", mode="reversible")])
stages("zfp_rate", bytes.fromhex("0b0000800b0000a8"), [8], [8], "uint16", 0, [codec("zfp", mode="fixed_rate", rate=8)])
stages("zfp_expert", bytes(range(40)), [2, 3, 5], [2, 3, 5], "int64", 0, [codec("zfp", mode="expert", minbits=1, maxbits=99, maxprec=64, minexp=-1074)])
stages("fixed", pixels(8), [8], [8], "float64", 1, [codec("numcodecs.fixedscaleoffset", offset=1, scale=10.5, dtype="<f8", astype="<i2"), little])
stages("delta", pixels(8), [8], [8], "int32", 1, [codec("numcodecs.delta", dtype="<i4", astype="<i2"), little])
stages("offset", pixels(8), [8], [8], "uint16", 7, [codec("scale_offset", offset=7), codec("cast_value", data_type="int16", out_of_range="wrap"), little])
stages("halves", pixels(8), [8], [8], "float64", 0, [codec("cast_value", data_type="float16", rounding="towards-zero"), codec("bytes", endian="big")])

quarter = [pixels(16, 100 * i) for i in range(4)]
chunk8 = [pixels(4, 10 * i) for i in range(8)]
save("shard", "plain", b"\0\0" + shard(quarter))
save("shard", "in_place", b"\x18\x09" + shard(quarter))
save("shard", "start", b"\1\x09" + shard([quarter[0], None, quarter[2], None], start=True))
save("shard", "gzip", b"\2\x12" + shard([zipped(c) for c in quarter]))
save("shard", "nested", b"\4\x21" + shard([shard(chunk8), shard(chunk8[::-1])]))
save("shard", "nested_gzip", b"\5\x3f" + shard([zipped(shard(chunk8, start=True)), None]))
save("shard", "outer_gzip", b"\6\x30" + zipped(shard(quarter)))
save("shard", "three_levels", b"\7\x05" + shard([shard([shard([pixels(2)] * 4)] * 4), None]))
save("shard", "transposed", b"\x08\x11" + shard([pixels(8, 100 * i) for i in range(8)]))
save("shard", "unsharded", b"\x0a\x11" + pixels(64))



def journal(first, more, chunks, start=False, torn=b"half"):
    """A shard that was being appended to when its writer was killed, and its journal: checksums are put in by the target."""
    whole = shard(chunks, start, 4)
    index = whole[:16 * len(chunks) + 4] if start else whole[-16 * len(chunks) - 4:]
    head = struct.pack("<QQI", len(whole), len(whole) - (len(index) if start else 0), 0)
    torn = b"?" * len(index) + whole[len(index):] + torn if start else whole + torn
    save("journal", more, bytes([first, 0x09, len(torn)]) + torn + b"ZSUNDO01" + head + index + b"\0\0\0\0")


ORDER = 7 * 3 * 4  # all three checksums
journal(ORDER + 4, "append", [pixels(16, 100), None, None, None])
journal(ORDER + 5, "start", [pixels(16, 100) + b"\0\0\0\0", None, None, None], True)
journal(ORDER + 2, "gzip", [zipped(pixels(16, 100 * i)) for i in range(2)] + [None] * 2)
journal(ORDER + 11, "nested", [shard([pixels(8), None]), None, None, None], True)
journal(4, "no_checksums", [pixels(16, 100), None, None, None])
text = b"sharded " * 20
save("codec", "gzip", b"\0" + struct.pack("<H", len(text)) + zipped(text))
save("codec", "zstd", b"\1" + struct.pack("<H", 13) + bytes.fromhex("28b52ffd200d690000") + b"sharded zarr!")
save("codec", "blosc", b"\2" + struct.pack("<H", 8) + bytes.fromhex("020102010800000008000000180000007368617264656420"))
# 1100 numbers of two bytes, in blocks, by c-blosc 1.21.3
save("blocks", "lz4", struct.pack("<H", 2200) + bytes.fromhex(
    "020121029808000098080000bc00000014000000910000001f000100141f010100141f020100141f030100141f040100141f050100141f060100141f070100141f080100141f"
    "090100141f0a0100141f0b0100141f0c0100141f0d0100141f0e0100141f0f0100141f100100141f110100141f120100141f130100141f140100141f150100141f160100141f"
    "170100141f180100141f190100141f1a0100141a1b0100501b1b1b1b1b0f0000001f000100ffffffff37500000000000"))
save("blocks", "zstd", struct.pack("<H", 2200) + bytes.fromhex(
    "020194029808000000040000a30000001c00000050000000880000003000000028b52ffd600003350100500000000000ffffff00ff0ca030b93950039107ed2a08aa81962b58"
    "92645fbc74817d5da70c3400000028b52ffd6000035501004000ff0000ffffff0010a0507b10839adbbc50858b4c60a11b9a48460571d7a9af0bc414a63ad756250317000000"
    "28b52ffd20987500002019001a1b030040290cd09be8b0"))
save("blocks", "zlib", struct.pack("<H", 2200) + bytes.fromhex(
    "0201600198080000980800005d0000001400000045000000785eadc1b50180300000b0e24e71fdff4f5e6048128295e0299ee1395ee0255ee135dee02ddee13d3ee0231ef109"
    "9ff1055ff10ddff1033ff10bbff1077f7ffe006b1c38f5"))
save("blocks", "plain", struct.pack("<H", 48) + struct.pack("<4B3I", 2, 1, 2, 1, 48, 48, 64) + bytes(range(48)))


save("codec", "zlib", b"\6" + struct.pack("<H", len(text)) + zlib.compress(text))
save("codec", "bz2", b"\7" + struct.pack("<H", len(text)) + bz2.compress(text))
save("codec", "lz4", b"\x08" + struct.pack("<H", 5) + struct.pack("<I", 5) + b"\x50shard")
save("codec", "lzma", b"\x09" + struct.pack("<H", len(text)) + lzma.compress(text))


def tree(name, files, target="open"):
    """A store as one input: autotest/fuzz/tree.h."""
    save(target, name, b"\n".join(b"@@" + path.encode() + b"\n" + (data if isinstance(data, bytes) else json.dumps(data).encode()) for path, data in files))


def node(shape, chunk, dtype, names, attributes, codecs=None, fill=0):
    return json.loads(array(shape, chunk, dtype, fill, codecs or ["bytes"], dimension_names=names, attributes=attributes))


def group(attributes, nodes=None):
    more = {"consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": nodes}} if nodes else {}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes, **more}


sharded = [codec("sharding_indexed", chunk_shape=[2, 2], codecs=[little], index_codecs=[little])]
image = shard([pixels(4, 10), None, pixels(4, 30), pixels(4, 40)])
spatial = {"spatial:dimensions": ["y", "x"], "spatial:transform": [10, 0, 500000, 0, -10, 4000000], "proj:code": "EPSG:32632"}
wkt = 'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]'

tree("root_array", [("zarr.json", node([4, 4], [4, 4], "uint16", ["y", "x"], spatial, sharded)), ("c/0/0", image)])
pyramid = {"data": node([4, 4], [4, 4], "uint16", ["y", "x"], {**spatial, "scale_factor": 0.1, "units": "m", "_FillValue": 0}, sharded),
           "ovr_2x": group({}), "ovr_2x/data": node([2, 2], [2, 2], "uint16", ["y", "x"], spatial, sharded)}
layout = {"multiscales": {"layout": [{"asset": "data"}, {"asset": "ovr_2x", "derived_from": "data", "transform": {"scale": [2, 2], "translation": [0, 0]},
                                                         "spatial:shape": [2, 2]}], "resampling_method": "average"}}
tree("pyramid", [("zarr.json", group({**layout, **spatial}, pyramid))] + [(path + "/zarr.json", document) for path, document in pyramid.items()] +
     [("data/c/0/0", image), ("ovr_2x/data/c/0/0", shard([pixels(4)]))])
cf = {"t2m": node([2, 4, 4], [1, 4, 4], "int16", ["time", "latitude", "longitude"],
                  {"coordinates": "spatial_ref", "grid_mapping": "spatial_ref", "long_name": "temperature", "ancillary_variables": "quality"},
                  [codec("sharding_indexed", chunk_shape=[1, 2, 2], codecs=[little], index_codecs=[little], index_location="start")], -1),
      "time": node([2], [2], "int64", ["time"], {"units": "days since 2000-01-01", "calendar": "standard", "standard_name": "time"}, [little]),
      "latitude": node([4], [4], "float64", ["latitude"], {"units": "degrees_north", "standard_name": "latitude"}, [little]),
      "longitude": node([4], [4], "float64", ["longitude"], {"units": "degrees_east", "axis": "X"}, [little]),
      "spatial_ref": node([], [], "int64", [], {"crs_wkt": wkt, "GeoTransform": "0 1 0 4 0 -1"}),
      "quality": node([2, 4, 4], [2, 4, 4], "uint8", ["time", "latitude", "longitude"], {"flag_values": [0, 1], "flag_meanings": "good bad"})}
tree("cf", [("zarr.json", group({"Conventions": "CF-1.8"}))] + [(path + "/zarr.json", document) for path, document in cf.items()] +
     [("t2m/c/0/0/0", shard([pixels(4), None, pixels(4), pixels(4)], start=True)), ("time/c/0", struct.pack("<qq", 5, 6)),
      ("latitude/c/0", struct.pack("<4d", 3.5, 2.5, 1.5, 0.5)), ("longitude/c/0", struct.pack("<4d", 0.5, 1.5, 2.5, 3.5))])
ome = {"version": "0.5", "multiscales": [{"axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space", "unit": "micrometer"},
                                                   {"name": "x", "type": "space", "unit": "micrometer"}],
                                          "datasets": [{"path": path, "coordinateTransformations": [{"type": "scale", "scale": [1, s, s]}]}
                                                       for path, s in (("0", 0.5), ("1", 1))]}]}
planes = [codec("sharding_indexed", chunk_shape=[1, 2, 2], codecs=[little, codec("gzip", level=1)], index_codecs=[little])]
tree("ome", [("zarr.json", group({"ome": ome})), ("0/zarr.json", node([2, 4, 4], [2, 4, 4], "uint16", ["c", "y", "x"], {}, planes)),
             ("1/zarr.json", node([2, 2, 2], [2, 2, 2], "uint16", ["c", "y", "x"], {}, planes)), ("0/c/0/0/0", shard([zipped(pixels(4))] * 8))])
core = "https://purl.org/zarr/spec/protocol/core/3.0"
tree("draft", [
    ("zarr.json", {"zarr_format": core, "metadata_encoding": core, "metadata_key_suffix": ".json", "extensions": []}),
    ("meta/root/g.group.json", {"attributes": {}}),
    ("meta/root/g/a.array.json", {
        "shape": [4, 4], "data_type": ">u2", "chunk_grid": {"type": "regular", "chunk_shape": [2, 2], "separator": "/"}, "chunk_memory_layout": "F",
        "fill_value": 0, "extensions": [], "attributes": {"filters": [{"id": "delta", "dtype": ">u2", "astype": ">u2"}, {"id": "shuffle", "elementsize": 2}]},
        "storage_transformers": [{"extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0", "type": "indexed",
                                  "configuration": {"chunks_per_shard": [2, 2]}}]}),
    ("data/root/g/a/c0/0", image),
    ("meta/root/b.array.json", {
        "shape": [4, 4], "data_type": {"extension": "datetime", "type": "<M8[10us]", "fallback": None}, "chunk_memory_layout": "C", "fill_value": None,
        "chunk_grid": {"type": "regular", "chunk_shape": [4, 4], "separator": "."}, "extensions": [], "attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]},
        "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}}}),
    ("data/root/b/c0.0", zipped(pixels(64)))])
projjson = {"type": "GeographicCRS", "name": "WGS 84", "datum": {"type": "GeodeticReferenceFrame", "name": "World Geodetic System 1984",
            "ellipsoid": {"name": "WGS 84", "semi_major_axis": 6378137, "inverse_flattening": 298.257223563}},
            "coordinate_system": {"subtype": "ellipsoidal", "axis": [{"name": n, "abbreviation": n, "direction": d, "unit": "degree"}
                                                                     for n, d in (("Lat", "north"), ("Lon", "east"))]}}
tree("gdal", [("zarr.json", group({})), ("a/zarr.json", node([4, 4], [4, 4], "float32", ["Y", "X"], {
    "_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/4326", "wkt": wkt, "projjson": projjson}, "gdal:geotransform": [1, 2, 0, 3, 0, -2]}, sharded, "NaN")),
    ("X/zarr.json", node([4], [4], "float64", ["X"], {}, [little])), ("X/c/0", struct.pack("<4d", 1, 2, 3, 4))])
grid = {"crs": "EPSG:3031", "resolution": [100, 200], "bounds": [-1000, -2000, -650, -1200]}
tree("zagg", [("zarr.json", group({"multiscales": [{"datasets": [{"path": "r"}, {"path": "1"}]}]})), ("r/zarr.json", group(grid)),
              ("r/h/zarr.json", node([4, 4], [4, 4], "uint16", ["y", "x"], {}, sharded)), ("r/h/c/0/0", image),
              ("r/slope/zarr.json", node([2, 2], [1, 1], "uint16", ["chunk_y", "chunk_x"], {}, [little])), ("r/slope/c/0/1", pixels(1)),
              ("r/x/zarr.json", node([4], [4], "float64", ["x"], {}, [little])), ("r/x/c/0", struct.pack("<4d", -950, -850, -750, -650)),
              ("r/y/zarr.json", node([4], [4], "float64", ["y"], {}, [little])), ("r/y/c/0", struct.pack("<4d", -1300, -1500, -1700, -1900)),
              ("1/zarr.json", group({})), ("1/h/zarr.json", node([2, 2], [2, 2], "uint16", ["y", "x"], {}, sharded))])

line = node([4], [2], "uint8", ["t"], {"k": 1})
longer = {**line, "shape": [6]}


def recover(name, journal, documents, consolidated=True):
    """A store whose writer was killed, with its journal; the root is the first object, and of version 1."""
    nodes = {"g": group({}), "g/a": line, "g/b": line}
    tree(name, [("zarr.json", group({}, nodes if consolidated else None))] + [(path + "/zarr.json", document) for path, document in documents.items()] +
         [(path + "/c/0", b"ab") for path, document in documents.items() if "shape" in document] + [(".shardedzarr-zarr.json.journal", journal)], "recover")


old = {"g": group({}), "g/a": line, "g/b": line}
edited = {"before": line, "after": {**line, "attributes": {"k": 2}}}
recover("changes", {"changes": {path: {"before": line, "after": longer} for path in ("g/a", "g/b")}}, {**old, "g/a": longer})
recover("attributes", {"changes": {"g/a": edited, "": {"before": group({}), "after": group({"j": 1})}}}, old)
new = {"changes": {}, "new": {"g/n": line, "g/m": group({})}, "made": ["g/n", "g/m"], "beside": {"g/a": edited}}
recover("new_there", new, {**old, "g/n": line, "g/m": group({})})
recover("new_in_part", new, {**old, "g/n": line})
recover("new_not_listed", new, {**old, "g/n": line}, False)
removed = {"changes": {}, "removed": {"g/a": line, "g/b": line, "g": group({})}, "root": 1}
recover("removed", removed, {"g": group({}), "g/b": line})
recover("removed_not_all", {**removed, "root": 2}, {**old, "g/x": line})
recover("lists", {"changes": [1], "new": [2], "made": {}, "beside": [3], "removed": [4]}, {"g": group({})})
recover("renamed", {"from": "g", "to": "h"}, {"h": group({}), "h/a": line, "h/b": line})
