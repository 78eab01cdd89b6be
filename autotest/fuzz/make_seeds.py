#!/usr/bin/env python3
"""Writes the first inputs of each fuzz target to corpus/: valid ones, from which a fuzzer finds its way."""
import gzip
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).parent / "corpus"
EMPTY = 2**64 - 1


def save(target, name, data):
    (HERE / target).mkdir(parents=True, exist_ok=True)
    (HERE / target / name).write_bytes(data)


def shard(chunks, start=False):
    """Chunks (None is empty) and their index, little-endian, without a checksum."""
    index, body, at = b"", b"", 16 * len(chunks) if start else 0
    for chunk in chunks:
        index += struct.pack("<QQ", EMPTY, EMPTY) if chunk is None else struct.pack("<QQ", at + len(body), len(chunk))
        body += chunk or b""
    return index + body if start else body + index


def zipped(data):
    return gzip.compress(data, mtime=0)


def pixels(n, first=1):
    return b"".join(struct.pack("<H", first + i) for i in range(n))


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
save("chain", "blosc", array([3], [2], "int64", -9223372036854775808, [little, codec("blosc", cname="lz4", clevel=5, shuffle="bitshuffle",
                                                                                    typesize=8, blocksize=0)]))
save("chain", "scalar", array([], [], "bool", True, ["bytes"], storage_transformers=[]))
save("chain", "group", b'{"zarr_format":3,"node_type":"group","attributes":{},"consolidated_metadata":null}')

quarter = [pixels(16, 100 * i) for i in range(4)]
chunk8 = [pixels(4, 10 * i) for i in range(8)]
save("shard", "plain", b"\0\0" + shard(quarter))
save("shard", "start", b"\1\x09" + shard([quarter[0], None, quarter[2], None], start=True))
save("shard", "gzip", b"\2\x12" + shard([zipped(c) for c in quarter]))
save("shard", "nested", b"\4\x21" + shard([shard(chunk8), shard(chunk8[::-1])]))
save("shard", "nested_gzip", b"\5\x3f" + shard([zipped(shard(chunk8, start=True)), None]))
save("shard", "outer_gzip", b"\6\x30" + zipped(shard(quarter)))
save("shard", "three_levels", b"\7\x05" + shard([shard([shard([pixels(2)] * 4)] * 4), None]))
save("shard", "transposed", b"\x08\x11" + shard([pixels(8, 100 * i) for i in range(8)]))
save("shard", "unsharded", b"\x0a\x11" + pixels(64))

text = b"sharded " * 20
save("codec", "gzip", b"\0" + struct.pack("<H", len(text)) + zipped(text))
save("codec", "zstd", b"\1" + struct.pack("<H", 13) + bytes.fromhex("28b52ffd200d690000") + b"sharded zarr!")
save("codec", "blosc", b"\2" + struct.pack("<H", 8) + bytes.fromhex("020102010800000008000000180000007368617264656420"))
