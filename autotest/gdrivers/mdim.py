"""What the tests of the multidimensional face share."""
import numpy as np
from osgeo import gdal

from support import raster_dtype


def open_mdim(name, options=()):
    """Opens a name as GDAL would, and checks that it was this driver that took it."""
    dataset = gdal.OpenEx(str(name), gdal.OF_MULTIDIM_RASTER, open_options=list(options))
    assert dataset.GetDriver().ShortName == "ShardedZarr", name
    return dataset


def root_of(path, options=()):
    """The root group of a store, opened by the driver's own prefix; it keeps what it needs."""
    return open_mdim('SHARDEDZARR:"%s"' % path, options).GetRootGroup()


def only_array(path, options=()):
    """The array of a store that is one."""
    root = root_of(path, options)
    name, = root.GetMDArrayNames()
    return root.OpenMDArray(name)


def as_mdim(array, data_type):
    """What an array must read as."""
    with np.errstate(invalid="ignore"):
        return np.asarray(array).astype(raster_dtype(data_type))


def random_steps(rng, shape):
    """(start, count, step, the same as an index of numpy) of elements anywhere in an array, steps of either sign among them."""
    start, count, step, index = [], [], [], []
    for size in shape:
        a, n = int(rng.integers(size)), 1
        by = int(rng.choice([1, 1, 2, 3, 5, 11, size, -1, -1, -2, -7]))
        room = a if by < 0 else size - 1 - a
        n = int(rng.integers(1, room // abs(by) + 2))
        start.append(a), count.append(n), step.append(by)
        index.append(a + np.arange(n) * by)
    return start, count, step, np.ix_(*index) if index else ()


def attributes_of(thing):
    """{name: value} as Python has them."""
    return {a.GetName(): a.Read() for a in thing.GetAttributes()}
