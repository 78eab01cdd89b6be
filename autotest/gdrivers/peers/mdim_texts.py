"""write: makes OUT/texts.zarr with zarr-python: texts of ranks 0 to 6 of each type, sharded, transposed, or neither, with chunks that are missing; and
OUT/NAME.npy, what they are, as fixed-length texts. read STORE: puts what each array of text of a store reads as into OUT/NAME.read.npy.

    python mdim_texts.py OUT write | read STORE
"""
import sys
import warnings

import numpy as np
import zarr

SHAPE, CHUNK, SHARD = (5, 7, 4, 6, 2, 3), (2, 3, 2, 4, 1, 2), (4, 6, 2, 8, 2, 2)
WORDS = np.array(["", "a", "Zürich", "a b", "日本", "x" * 12, "end"])



def read(out, store):
    for name, array in zarr.open_group(store, mode="r").arrays():
        if array.dtype.kind in "biufc":
            continue
        found = np.asarray(array[...])
        if array.dtype.kind == "S":
            found = np.char.decode(found.astype("S14"), "utf-8")
        np.save("%s/%s.read.npy" % (out, name), found.astype("U14"))


def write(out):
    rng = np.random.default_rng(1313)
    root = zarr.open_group(out + "/texts.zarr", mode="w")
    for rank in range(7):
        shape, chunks, shards = SHAPE[:rank], CHUNK[:rank], SHARD[:rank]
        layouts = {"plain": {"chunks": chunks}}
        if rank > 1:
            order = (rank - 1, *range(rank - 1))
            layouts["transposed"] = {"chunks": chunks, "filters": [zarr.codecs.TransposeCodec(order=order)]}
        if rank > 0:
            layouts["sharded"] = {"chunks": chunks, "shards": shards}
            inner = zarr.codecs.ShardingCodec(chunk_shape=chunks, codecs=[zarr.codecs.VLenUTF8Codec(), zarr.codecs.ZstdCodec()])
            layouts["nested"] = {"chunks": tuple(2 * n for n in shards), "compressors": zarr.codecs.GzipCodec(),
                                 "serializer": zarr.codecs.ShardingCodec(chunk_shape=shards, codecs=[inner])}
        for layout, options in layouts.items():
            for kind, dtype, fill in (("variable", str, "missing"), ("fixed", "<U12", "none"), ("big", ">U12", ""), ("bytes", "S14", b"-")):
                if layout == "nested" and kind != "variable":
                    continue
                name = "%s_%s_%d" % (kind, layout, rank)
                array = root.create_array(name, shape=shape, dtype=dtype, fill_value=fill, **options)
                words = np.asarray(WORDS[rng.integers(len(WORDS), size=shape)])
                if rank:
                    window = (slice(1, 4),) + tuple(slice(0, n - 1) for n in shape[1:])
                else:
                    window = ()
                values = np.char.encode(words, "utf-8") if kind == "bytes" else words
                array[window if rank else ...] = np.asarray(values[window]).astype(object if kind == "variable" else dtype)
                found = np.asarray(array[...])
                if kind == "bytes":
                    found = np.char.decode(found.astype("S14"), "utf-8")
                np.save("%s/%s.npy" % (out, name), found.astype("U14"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    read(sys.argv[1], sys.argv[3]) if sys.argv[2] == "read" else write(sys.argv[1])
