"""The cube of the multidimensional cases, 1000 maps of 512 x 512 in chunks of (10, 128, 128): as netCDF and as a store of this driver; and what is
done with it. Contenders are given the same creation options, in the words of GDAL's own driver."""
import os
import shutil

import numpy as np
from osgeo import gdal

import rasters

gdal.UseExceptions()
FULL, SHARD, CHUNK = (1000, 512, 512), (100, 512, 512), (10, 128, 128)


def sizes(shape, scale):
    """All but the chunk is smaller in tests."""
    return [rasters.scaled(size, scale) for size in shape]


def words(shape):
    return ",".join(map(str, shape))


def options(scale):
    shard = [max(size, chunk) // chunk * chunk for size, chunk in zip(sizes(SHARD, scale), CHUNK)]
    return ["FORMAT=ZARR_V3", "ARRAY:IF(DIM=3):COMPRESS=ZSTD", "ARRAY:IF(DIM=3):ZSTD_LEVEL=3", "ARRAY:IF(DIM=3):BLOCKSIZE=" + words(shard),
            "ARRAY:IF(DIM=3):SHARD_CHUNK_SHAPE=" + words(CHUNK)]


def make(directory, scale):
    """cube.nc and cube.zarr. Values change slowly, with noise: what weather models and sensors give."""
    steps, height, width = sizes(FULL, scale)
    dataset = gdal.GetDriverByName("netCDF").CreateMultiDimensional(os.path.join(directory, "cube.nc"))
    root, rng = dataset.GetRootGroup(), np.random.default_rng(1)
    dims = [root.CreateDimension(name, None, None, size) for name, size in zip(("time", "y", "x"), (steps, height, width))]
    array = root.CreateMDArray("data", dims, gdal.ExtendedDataType.Create(gdal.GDT_Int16))
    y, x = np.mgrid[:height, :width]
    for step in range(steps):
        field = 3000 * np.sin((x + step) / 40) * np.cos(y / 60) + rng.integers(0, 16, (height, width))
        array.Write(field.astype("int16").tobytes(), [step, 0, 0], [1, height, width])
    del array, dims, root
    dataset = None
    gdal.MultiDimTranslate(os.path.join(directory, "cube.zarr"), os.path.join(directory, "cube.nc"), format="ShardedZarr",
                           creationOptions=options(scale)).FlushCache()


def opened(path, driver):
    """(dataset, the array)"""
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER, allowed_drivers=[driver])
    return dataset, dataset.GetRootGroup().OpenMDArray("data")


def values(array, *arguments):
    return np.frombuffer(array.Read(*arguments), "int16")


def into_store(driver, base, target, scale):
    gdal.MultiDimTranslate(target, base + "cube.nc", format=driver, creationOptions=options(scale)).FlushCache()
    return lambda: values(opened(target, driver)[1])


def into_netcdf(driver, base, target, scale):
    source = opened(base + "cube.zarr", driver)[0]
    gdal.MultiDimTranslate(target, source, format="netCDF").FlushCache()
    return lambda: values(opened(target, "netCDF")[1])


def into_memory(driver, base, target, scale):
    source = opened(base + "cube.zarr", driver)[0]
    copy = gdal.MultiDimTranslate("", source, format="MEM")
    return lambda: values(copy.GetRootGroup().OpenMDArray("data"))


def strided(driver, base, target, scale):
    dataset, array = opened(base + "cube.zarr", driver)
    steps = [4, 8, 8]
    found = values(array, [0, 0, 0], [-(-size // step) for size, step in zip(sizes(FULL, scale), steps)], steps)
    return lambda: found


def backwards(driver, base, target, scale):
    """Every second map, the last first."""
    dataset, array = opened(base + "cube.zarr", driver)
    steps, height, width = sizes(FULL, scale)
    found = values(array, [steps - 1, 0, 0], [(steps + 1) // 2, height, width], [-2, 1, 1])
    return lambda: found


def transposed(driver, base, target, scale):
    """Series of an eighth of the rows, the time being the fastest."""
    dataset, array = opened(base + "cube.zarr", driver)
    steps, height, width = sizes(FULL, scale)
    found = values(array.Transpose([1, 2, 0]), [0, 0, 0], [height // 8, width, steps])
    return lambda: found


def clear(target):
    if os.path.isdir(target):
        shutil.rmtree(target)
    elif os.path.exists(target):
        os.remove(target)
