"""GDAL's driver ShardedZarr, for the GDAL of this process: `import shardedzarr` makes it known there.

A plugin is linked with one libgdal, by name, and in a wheel that name has a hash. The plugins in this package need a
library whose name is as long as a path may be. A copy in memory gets in its place the path of the libgdal that is
loaded. Nothing of that GDAL becomes visible to others, so that several may live in a process.
"""
import ctypes
import glob
import os
import re
import sys
import warnings

_PLUGINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugins")
_registered = {}  # path of a libgdal: the plugin that serves it
_loaded = []  # libraries, which stay


def _gdals():
    """The paths of the libgdals of this process."""
    if sys.platform != "linux":
        raise ImportError("shardedzarr is for Linux with glibc; elsewhere build the driver with your GDAL's headers")
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        paths = [line.split(None, 5)[5].rstrip("\n") for line in maps if re.search(r"/libgdal[-.][^/]*so", line)]
    return [path for path in dict.fromkeys(paths) if not path.startswith(_PLUGINS)]


def _gdal(path):
    """A libgdal that is loaded, as ctypes has it."""
    library = ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW)
    library.GDALVersionInfo.restype = library.GDALGetMetadataItem.restype = ctypes.c_char_p
    library.GDALGetDriverByName.restype = ctypes.c_void_p
    library.GDALGetMetadataItem.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    library.GDALRegisterDriver.argtypes = library.GDALDeregisterDriver.argtypes = [ctypes.c_void_p]
    return library


def _version(gdal):
    return gdal.GDALVersionInfo(b"RELEASE_NAME").decode()


def minors():
    """The minor versions of GDAL that this package has plugins for, as "3.10"."""
    return sorted(glob.glob("3.*", root_dir=_PLUGINS), key=lambda minor: [int(digits) for digits in re.findall(r"\d+", minor)])


def _minor(gdal):
    """A minor version; with "-manylinux2014" behind where std::string is that of before C++11, as in wheels for that."""
    is_older = hasattr(gdal, "_ZNK17GDALIHasAttribute12GetAttributeERKSs")  # GetAttribute(const std::string &)
    return _version(gdal).rpartition(".")[0] + ("-manylinux2014" if is_older else "")


def plugin_path(minor=None):
    """The folder of the plugin for a minor version of GDAL, as "3.10", or for the GDAL of this process. It is for
    GDAL_DRIVER_PATH of programs that are linked with libgdal."""
    minor = minor or _minor(_gdal(_gdals()[0]))
    if minor not in minors():
        raise ImportError("there is no plugin for GDAL %s, only for %s; build the driver with the headers of that GDAL"
                          % (minor, ", ".join(minors()) or "none"))
    return os.path.join(_PLUGINS, minor)


def _bind(module, gdal):
    """Loads a copy of a module of this package that uses the libgdal of a path."""
    if not _loaded:  # what travels in the wheel: a copy in memory has no folder to look in
        _loaded.extend(map(ctypes.CDLL, glob.glob(os.path.join(_PLUGINS, "..", "..", "shardedzarr.libs", "*.so*"))))
    name, = map(os.fsencode, glob.glob("libgdal*", root_dir=_PLUGINS))
    path = os.fsencode(gdal if len(os.fsencode(gdal)) <= len(name) else os.path.basename(gdal))
    with open(os.path.join(_PLUGINS, module), "rb") as file:
        code = file.read().replace(name, path.ljust(len(name), b"\0"))
    with os.fdopen(os.memfd_create(os.path.basename(module)), "wb", buffering=0) as copy:
        copy.write(code)
        # By the same name the linker would take the copy before this one: each is spelt its own way.
        _loaded.append(ctypes.CDLL("/proc/self/" + "./" * len(_loaded) + "fd/%d" % copy.fileno()))
    return _loaded[-1]


def _register(path):
    gdal = _gdal(path)
    plugin = os.path.join(plugin_path(_minor(gdal)), "gdal_ShardedZarr.so")
    library = _bind(plugin, path)
    older = gdal.GDALGetDriverByName(b"ShardedZarr")
    if older:  # of a plugin that GDAL found elsewhere
        gdal.GDALDeregisterDriver(older)
    library.GDALRegister_ShardedZarr()
    if not gdal.GDALGetDriverByName(b"ShardedZarr"):
        raise ImportError("GDAL did not take %s" % plugin)
    zarr = gdal.GDALGetDriverByName(b"Zarr")
    if zarr:  # GDAL asks drivers in the order in which they came
        gdal.GDALDeregisterDriver(zarr)
        gdal.GDALRegisterDriver(zarr)
    _registered[path] = plugin


def register():
    """Makes the driver known to each GDAL of this process that does not know it yet. `import shardedzarr` calls it.
    Call it again for a GDAL that was loaded since. Imports rasterio where there is none."""
    if not _gdals():
        try:
            import rasterio  # noqa: F401
        except ImportError:
            raise ImportError("no GDAL is loaded, and rasterio is not there: pip install rasterio, or import first "
                              "what brings your GDAL") from None
    missed = []
    for path in _gdals():
        try:
            if path not in _registered:
                _register(path)
        except (ImportError, OSError, AttributeError) as error:
            missed.append("no ShardedZarr in %s: %s" % (path, error))
    if missed and not _registered:
        raise ImportError("; ".join(missed))
    for text in missed:
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _validate():
    """The program shardedzarr-validate, with rasterio's GDAL."""
    import rasterio
    arguments = [os.fsencode(text) for text in sys.argv] + [None]
    with rasterio.Env():  # which knows where PROJ's data are
        program = _bind(os.path.join("any", "validate.so"), next(iter(_registered)))
        return program.main(len(sys.argv), (ctypes.c_char_p * len(arguments))(*arguments))


if sys.orig_argv[-2:] != ["-m", "shardedzarr"]:  # which reports what is wrong itself
    register()
