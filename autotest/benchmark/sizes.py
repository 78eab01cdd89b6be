"""How small and how quick copies of different rasters are: this driver's filters of BLOSC (BLOSC_SHUFFLE), its levels, and COG's predictors.

  GDAL_DRIVER_PATH=build/gdalplugins python3 autotest/benchmark/sizes.py [SIDE]     prints two tables, in a few minutes (SIDE: 4096)

The rasters are made: scenes of the benchmark (rasters.py), fractal terrain, and what is derived from them. EGM96 is PROJ's."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from osgeo import gdal

from rasters import Landscape

gdal.UseExceptions()
TYPES = {"u1": gdal.GDT_Byte, "u2": gdal.GDT_UInt16, "i2": gdal.GDT_Int16, "f4": gdal.GDT_Float32, "f8": gdal.GDT_Float64}
EGM96 = "/usr/share/proj/egm96_15.gtx"
BLOCKS = ["TILED=YES", "BLOCKXSIZE=512", "BLOCKYSIZE=512"]
ROUNDS = 3


def terrain(side, rng):
    """Fractal heights in metres."""
    waves = np.fft.rfft2(rng.normal(size=(side, side)))
    far = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None, :])
    far[0, 0] = 1
    heights = np.fft.irfft2(waves * far ** -1.8, s=(side, side))
    return 1200 + 600 * (heights - heights.mean()) / heights.std()


def rasters(side):
    """(name, values) of each raster."""
    rng, landscape = np.random.default_rng(3), Landscape(side, 7)
    scene = np.concatenate([landscape.rows(y, min(512, side - y)) for y in range(0, side, 512)])
    dem = terrain(side, rng)
    yield "scene, uint16", scene
    yield "scene x 0.0001, float32", (scene * np.float32(1e-4)).astype("f4")
    yield "scene x 0.0001, float64", scene * 1e-4
    yield "scene, uint8", (scene // 40).astype("u1")
    yield "classes, uint8", (scene // 900 * 7).astype("u1")
    yield "mask, uint8", np.where(scene > 4000, 255, 0).astype("u1")
    yield "terrain, float32", dem.astype("f4")
    yield "terrain in cm, float32", (np.round(dem * 100) / 100).astype("f4")
    yield "terrain, int16", np.round(dem).astype("i2")
    yield "terrain with sea, float32", np.where(dem < 1500, -9999, dem).astype("f4")
    times = np.stack([280 + terrain(side // 8, rng) / 60 + 0.2 * rng.normal(size=(side // 8, side // 8)) for _ in range(24)])
    yield "temperatures x 0.01, float32", (np.round(times * 100) * np.float32(0.01)).astype("f4")
    yield "temperatures, int16", np.round((times - 273.15) * 100).astype("i2")
    if os.path.exists(EGM96):
        yield "EGM96 geoid, float32", gdal.Open(EGM96).ReadAsArray()


def save(path, values):
    values = values if values.ndim == 3 else values[None]
    dataset = gdal.GetDriverByName("GTiff").Create(path, *values.shape[:0:-1], len(values), TYPES[values.dtype.str[1:]], BLOCKS)
    for number, plane in enumerate(values):
        dataset.GetRasterBand(number + 1).WriteArray(plane)


def bytes_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def measured(command):
    """Median seconds of both processors; None where the command fails."""
    seconds = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if subprocess.run(command, capture_output=True).returncode:
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(seconds)


def copied(source, path, form, *options):
    """(bytes, seconds) of a copy."""
    remove = "OVERWRITE=YES" if form == "ShardedZarr" else "BIGTIFF=NO"
    listed = [word for option in ("OVERVIEWS=NONE", "NUM_THREADS=2", remove, *options) for word in ("-co", option)]
    seconds = measured(["gdal_translate", "-q", "-of", form, *listed, source, path])
    return (bytes_of(path), seconds) if seconds is not None else None


def cell(result):
    return "%.1f MB %.2f s" % (result[0] / 1e6, result[1]) if result else ""


def main():
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    with tempfile.TemporaryDirectory() as folder:
        source, store, cog = (os.path.join(folder, name) for name in ("source.tif", "a.zarr", "cog.tif"))
        levels = []
        print("raster | AUTO | " + " | ".join(("NONE", "BYTE", "BIT")) + " | COG | COG, predictor 2 | COG, predictor 3 | AUTO / smallest COG")
        for name, values in rasters(side):
            save(source, values)
            ours = [copied(source, store, "ShardedZarr", "BLOSC_SHUFFLE=" + shuffle) for shuffle in ("AUTO", "NONE", "BYTE", "BIT")]
            cogs = [copied(source, cog, "COG", "COMPRESS=ZSTD", "LEVEL=3", "PREDICTOR=" + predictor) for predictor in ("NO", "STANDARD", "FLOATING_POINT")]
            ratio = ours[0][0] / min(result[0] for result in cogs if result)
            print(" | ".join([name, *map(cell, ours + cogs), "%.2f" % ratio]), flush=True)
            if name in ("scene, uint16", "scene x 0.0001, float32", "terrain, float32"):
                for level in range(1, 10):
                    made = copied(source, store, "ShardedZarr", "LEVEL=%d" % level)
                    levels.append("%s | %d | %s | read %.2f s" % (name, level, cell(made), measured(["gdalinfo", "-checksum", store])))
        print("\nraster | level | made | read\n" + "\n".join(levels))


if __name__ == "__main__":
    main()
