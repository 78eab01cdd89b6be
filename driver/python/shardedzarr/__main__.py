"""python -m shardedzarr: the GDALs of a process with rasterio, and which plugin serves each, for a report of a bug."""
import importlib.metadata
import sys

import shardedzarr


def _line(item):
    """The driver as `gdalinfo --formats` prints it, and its version."""
    flags = {"w": "DCAP_CREATECOPY", "+": "DCAP_CREATE", "v": "DCAP_VIRTUALIO", "s": "DMD_SUBDATASETS"}
    return "ShardedZarr -raster,multidimensional raster- (r%s): %s, version %s" % (
        "".join(letter for letter, name in flags.items() if item(name)), item("DMD_LONGNAME"), item("VERSION"))


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
            items = lambda name: (gdal.GDALGetMetadataItem(driver, name.encode(), None) or b"").decode()  # noqa: E731
            print("  %s, by %s" % (_line(items), shardedzarr._registered.get(path)))
    return None


sys.exit(report())
