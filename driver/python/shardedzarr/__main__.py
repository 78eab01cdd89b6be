"""python -m shardedzarr: which GDALs are in a process with rasterio, and which plugin serves each: for a report of a bug."""
import importlib.metadata
import sys

import shardedzarr


def _flags(item):
    """As `gdalinfo --formats` prints them."""
    return "r" + "".join(letter for letter, name in (("w", b"DCAP_CREATECOPY"), ("+", b"DCAP_CREATE"), ("v", b"DCAP_VIRTUALIO"),
                                                     ("s", b"DMD_SUBDATASETS")) if item(name))


def report():
    print("shardedzarr %s, Python %s" % (importlib.metadata.version("shardedzarr"), sys.version.split()[0]))
    for minor in shardedzarr.minors():
        print("plugin for GDAL %s: %s" % (minor, shardedzarr.plugin_path(minor)))
    try:
        shardedzarr.register()
    except ImportError as error:
        return str(error)
    for path in shardedzarr._gdals():
        gdal = shardedzarr._gdal(path)
        print("GDAL %s: %s" % (shardedzarr._version(gdal), path))
        driver = gdal.GDALGetDriverByName(b"ShardedZarr")
        if driver:
            item = lambda name: gdal.GDALGetMetadataItem(driver, name, None)  # noqa: E731
            print("  ShardedZarr -raster,multidimensional raster- (%s): %s, version %s, by %s" % (
                _flags(item), item(b"DMD_LONGNAME").decode(), item(b"VERSION").decode(), shardedzarr._registered.get(path)))
    return None


sys.exit(report())
