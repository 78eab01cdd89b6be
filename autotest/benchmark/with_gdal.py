"""Contenders that read and write through GDAL: this driver, GDAL's own Zarr driver, COG."""
import os

import numpy as np
from osgeo import gdal, gdal_array

import rasters

gdal.UseExceptions()


class Raster:
    """An opened dataset. Windows come in buffers that are used again, as a program that is in a hurry would do."""

    def __init__(self, name, driver):
        self.dataset = gdal.OpenEx(name, gdal.OF_RASTER)
        assert self.dataset.GetDriver().ShortName == driver, name
        self.band, self.bands = self.dataset.GetRasterBand(1), self.dataset.RasterCount
        self.height, self.width = self.dataset.RasterYSize, self.dataset.RasterXSize
        self.block_width, self.block_height = self.band.GetBlockSize()
        self.dtype = np.dtype(gdal_array.GDALTypeCodeToNumericTypeCode(self.band.DataType))
        self.buffers = {}

    @property
    def parts(self):
        return [self]

    def buffer(self, *shape):
        if shape not in self.buffers:
            self.buffers[shape] = np.empty(shape, self.dtype)
        return self.buffers[shape]

    def whole(self):
        return self.dataset.ReadAsArray()

    def window(self, x, y, width, height):
        if self.bands == 1:
            return self.band.ReadRaster(x, y, width, height, buf_obj=self.buffer(height, width))
        return self.dataset.ReadRaster(x, y, width, height, buf_obj=self.buffer(self.bands, height, width))

    def slice(self, number, x, y, width, height):
        return self.dataset.GetRasterBand(number + 1).ReadRaster(x, y, width, height, buf_obj=self.buffer(height, width))

    def slice_reduced(self, number, width, height):
        return self.dataset.GetRasterBand(number + 1).ReadRaster(0, 0, self.width, self.height, width, height,
                                                                 buf_obj=self.buffer(height, width))

    def block(self, column, row):
        block = self.band.ReadBlock(column, row, buf_obj=self.buffer(self.block_height, self.block_width))
        return block[:self.height - row * self.block_height, :self.width - column * self.block_width]

    def reduced(self, width, height):
        return self.band.ReadRaster(0, 0, self.width, self.height, width, height, buf_obj=self.buffer(height, width))

    def checksum(self):
        return self.band.Checksum()


class Parts:
    """The bands of a composite, each a raster of its own."""

    def __init__(self, parts):
        self.parts, self.height, self.width = parts, parts[0].height, parts[0].width


class Gdal:
    """GDAL's own Zarr driver."""
    driver, prefix = "Zarr", "ZARR"
    needs_prefix = True  # where a directory cannot be listed, as over HTTP

    def open(self, base, name, prefixed=False):
        path, arrays = base + rasters.file_name(name) + self.ending(name), rasters.LAYOUTS[name].arrays if name in rasters.LAYOUTS else 1
        if arrays > 1:
            return Parts([Raster('%s:"%s":/data_%d' % (self.prefix, path, i + 1), self.driver) for i in range(arrays)])
        prefixed = prefixed or self.needs_prefix and base.startswith("/vsicurl/")
        return Raster('%s:"%s"' % (self.prefix, path) if prefixed else path, self.driver)

    def ending(self, name):
        return ".zarr"

    def options(self, layout, scale):
        shard, chunk = rasters.scaled(layout.shard, scale), rasters.chunk_of(layout, scale)
        return ["FORMAT=ZARR_V3", "COMPRESS=ZSTD", "ZSTD_LEVEL=3", "BLOCKSIZE=%d,%d" % (shard, shard),
                "SHARD_CHUNK_SHAPE=%d,%d" % (chunk, chunk)]

    def create(self, source, target, layout, scale, way="copy"):
        options, source = self.options(layout, scale), gdal.Open(source)
        gdal.PushErrorHandler("CPLQuietErrorHandler")  # Zarr's SHARD_CHUNK_SHAPE is not declared
        if way == "copy":
            gdal.GetDriverByName(self.driver).CreateCopy(target, source, strict=0, options=options)
        elif way == "warp":
            gdal.Warp(target, source, format=self.driver, creationOptions=options, xRes=11, yRes=11)
        else:
            self.write_blocks(source, target, options, rasters.chunk_of(layout, scale))
        gdal.PopErrorHandler()

    def write_blocks(self, source, target, options, chunk):
        band, pixels = source.GetRasterBand(1), source.ReadAsArray()
        target = gdal.GetDriverByName(self.driver).Create(target, band.XSize, band.YSize, 1, band.DataType, options)
        for y in range(0, band.YSize, chunk):
            for x in range(0, band.XSize, chunk):
                target.GetRasterBand(1).WriteArray(pixels[y:y + chunk, x:x + chunk], x, y)

    def open_created(self, target):
        return Raster(target, self.driver)


class Ours(Gdal):
    driver, prefix, needs_prefix = "ShardedZarr", "SHARDEDZARR", False

    def ending(self, name):
        return ".icechunk" if name in rasters.REPOSITORIES else ".zarr"

    def options(self, layout, scale):
        return rasters.our_options(layout, scale)

    def create_series(self, target, steps, maps, filled):
        """`filled` of the steps have pixels: the maps, and then again the last one."""
        side = maps.shape[1]
        options = ["CHUNK_SHAPE=1,%d,%d" % (side, side), "SHARD_SHAPE=%d,%d,%d" % (steps, side, side), "ARRAY_NAME=data", "OVERVIEWS=NONE",
                   "COMPRESS=" + ("ZSTD" if filled < steps else "NONE")]
        dataset = gdal.GetDriverByName(self.driver).Create(target, side, side, steps, gdal.GDT_UInt16, options)
        for step in range(filled):
            dataset.GetRasterBand(step + 1).WriteArray(maps[min(step, len(maps) - 1)])

    def add_map(self, target, update, step, pixels):
        dataset = gdal.OpenEx(target, gdal.OF_RASTER | gdal.OF_UPDATE, open_options=["UPDATE=" + update])
        dataset.GetRasterBand(step + 1).WriteArray(pixels)


class Plain(Ours):
    def ending(self, name):
        return ".zarr"


class Cog(Gdal):
    driver = "COG"

    def open(self, base, name, prefixed=False):
        path, arrays = base + rasters.file_name(name), rasters.LAYOUTS[name].arrays
        if arrays > 1:
            return Parts([Raster("%s_%d.tif" % (path, i + 1), "GTiff") for i in range(arrays)])
        return Raster(path + ".tif", "GTiff")

    def options(self, layout, scale):
        return rasters.cog_options(layout, scale)

    def open_created(self, target):
        return Raster(target, "GTiff")


class GTiff(Cog):
    driver = "GTiff"

    def options(self, layout, scale):
        return rasters.gtiff_options(layout, scale)


CONTENDERS = {"ours": Ours, "before": Ours, "plain": Plain, "gdal": Gdal, "cog": Cog, "gtiff": GTiff}
assert os.environ["GDAL_NUM_THREADS"]
