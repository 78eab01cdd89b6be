"""second_gdal.py FOLDER: what a rasterio that brings its own GDAL makes of the plugin in GDAL_DRIVER_PATH: the lines on stderr, by twice
entering an environment and opening FOLDER/a.tif; and whether it has the driver. Into FOLDER/answer.json."""
import json
import os
import sys
import warnings

import rasterio

said = open(sys.argv[1] + "/stderr", "w+")
stderr = os.dup(2)
os.dup2(said.fileno(), 2)

warnings.simplefilter("ignore")
drivers, pixels = [], []
for _ in range(2):
    with rasterio.Env() as env:
        drivers += [name for name in env.drivers() if name == "ShardedZarr"]
        with rasterio.open(sys.argv[1] + "/a.tif") as dataset:
            pixels.append(int(dataset.read().sum()))
os.dup2(stderr, 2)
said.seek(0)
messages = said.read().splitlines()
with open("/proc/self/maps") as file:
    libraries = sorted({line.split()[-1] for line in file if "libgdal" in line})
with open(sys.argv[1] + "/answer.json", "w") as file:
    json.dump({"version": rasterio.__gdal_version__, "messages": messages, "drivers": drivers, "pixels": pixels, "libraries": libraries}, file)
