"""Contenders that know Zarr without GDAL: zarr-python, the same with zarrs as its codec pipeline, tensorstore."""
import os

import numpy as np

import rasters

THREADS = int(os.environ["GDAL_NUM_THREADS"])


def shapes(layout, scale):
    """(shape, dtype, shard, chunk) of a source of one band in this layout."""
    source = rasters.SOURCES[layout.source]
    size, shard, chunk = rasters.scaled(source.size, scale), rasters.scaled(layout.shard, scale), rasters.chunk_of(layout, scale)
    return (size, size), source.dtype, (shard, shard), (chunk, chunk)


class Raster:
    """An array whose last two dimensions are Y and X; `get` turns an indexed array into one of numpy."""

    def __init__(self, array, chunk, get):
        self.array, self.get, self.parts = array, get, [self]
        self.height, self.width = array.shape[-2:]
        self.block_height, self.block_width = chunk[-2:]

    def whole(self):
        return self.get(self.array[...])

    def window(self, x, y, width, height):
        return self.get(self.array[..., y:y + height, x:x + width])

    def slice(self, number, x, y, width, height):
        return self.get(self.array[number, y:y + height, x:x + width])

    def block(self, column, row):
        x, y = column * self.block_width, row * self.block_height
        return self.window(x, y, min(self.block_width, self.width - x), min(self.block_height, self.height - y))


class Parts:
    def __init__(self, parts):
        self.parts, self.height, self.width = parts, parts[0].height, parts[0].width


class ZarrPython:
    def __init__(self):
        import zarr
        self.zarr = zarr
        zarr.config.set({"threading.max_workers": THREADS})

    def open(self, base, name, prefixed=False):
        path = base + rasters.file_name(name) + ".zarr/data"
        arrays = rasters.LAYOUTS[name].arrays if name in rasters.LAYOUTS else 1
        parts = [self.open_created(path + suffix) for suffix in ([""] if arrays == 1 else ["_%d" % (i + 1) for i in range(arrays)])]
        return parts[0] if arrays == 1 else Parts(parts)

    def open_created(self, target):
        array = self.zarr.open_array(target, mode="r")
        return Raster(array, array.chunks, np.asarray)

    def create(self, source, target, layout, scale):
        shape, dtype, shard, chunk = shapes(layout, scale)
        array = self.zarr.create_array(target, shape=shape, dtype=dtype, shards=shard, chunks=chunk, fill_value=0,
                                       compressors=self.zarr.codecs.ZstdCodec(level=3))
        array[...] = np.memmap(source, dtype, "r", shape=shape)


class Icechunk(ZarrPython):
    def open(self, base, name, prefixed=False):
        import icechunk
        path = base + rasters.file_name(name) + ".icechunk"
        storage = icechunk.http_storage(path) if path.startswith("http") else icechunk.local_filesystem_storage(path)
        array = self.zarr.open_array(icechunk.Repository.open(storage).readonly_session("main").store, path="data", mode="r")
        return Raster(array, array.chunks, np.asarray)


class Zarrs(ZarrPython):
    def __init__(self):
        super().__init__()
        self.zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})


class Tensorstore(ZarrPython):
    def __init__(self):
        import tensorstore
        self.ts = tensorstore
        # A cache, as GDAL has one: without it each of 512 lines would decode its chunk anew.
        self.context = {"data_copy_concurrency": {"limit": THREADS}, "file_io_concurrency": {"limit": THREADS},
                        "cache_pool": {"total_bytes_limit": 1 << 30}}

    def open_created(self, target):
        store = {"driver": "http", "base_url": target} if target.startswith("http") else {"driver": "file", "path": target}
        array = self.ts.open({"driver": "zarr3", "kvstore": store, "context": self.context, "open": True,
                              "recheck_cached_data": "open", "recheck_cached_metadata": "open"}).result()
        return Raster(array, array.chunk_layout.read_chunk.shape, lambda part: part.read().result())

    def create(self, source, target, layout, scale):
        shape, dtype, shard, chunk = shapes(layout, scale)
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        sharding = {"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunk, "codecs": [little, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
            "index_codecs": [little, {"name": "crc32c"}]}}
        array = self.ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": target}, "create": True, "context": {
            "data_copy_concurrency": {"limit": THREADS}}, "metadata": {
                "shape": shape, "data_type": dtype, "codecs": [sharding],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}}}}).result()
        array.write(np.memmap(source, dtype, "r", shape=shape)).result()


CONTENDERS = {"zarr-python": ZarrPython, "icechunk": Icechunk, "zarrs": Zarrs, "tensorstore": Tensorstore}
