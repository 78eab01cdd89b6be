"""A process with two GDALs: a rasterio from PyPI brings one, and loads a plugin that was linked with the system's."""
import json
import subprocess
import sys

import numpy as np
import pytest
from osgeo import gdal

from support import SANITIZED, run_peer
from writing import source


@pytest.mark.skipif(SANITIZED, reason="a plugin with ASan cannot be loaded by Python without")
def test_a_second_libgdal_in_the_process_goes_on_without_the_driver(tmp_path):
    gdal.Translate(str(tmp_path / "a.tif"), source(np.ones((20, 30), "uint8")))
    run_peer("second_gdal.py", tmp_path)
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert len(answer["libraries"]) == 2 and answer["messages"] == []
    assert answer["drivers"] == [] and answer["pixels"] == [600, 600]  # all else goes on


@pytest.mark.parametrize("command", [["gdalinfo", "--format", "ShardedZarr"], [
    sys.executable, "-c", "from osgeo import gdal, ogr; gdal.AllRegister(); gdal.AllRegister(); print(gdal.GetDriverByName('ShardedZarr').LongName)"]])
def test_single_libgdal_gives_no_warning(command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert "Sharded Zarr v3" in done.stdout and done.stderr == ""
