"""What GDAL's own Zarr driver makes of arrays, for answers.py: the values, those of the overviews of band 1, and what they mean. For a Python
that has GDAL 3.13 or later, in an environment without our plugin.

    python gdal_read.py DIR
"""
import sys

from answers import answer
from osgeo import gdal

gdal.UseExceptions()
assert gdal.GetDriverByName("ShardedZarr") is None


def read(store, path):
    messages = []
    gdal.PushErrorHandler(lambda level, number, message: messages.append(message))
    try:
        dataset = gdal.Open('ZARR:"%s":/%s' % (store, path))
        band, srs = dataset.GetRasterBand(1), dataset.GetSpatialRef()
        levels = [band.GetOverview(i) for i in range(band.GetOverviewCount())]
        values = [dataset.ReadAsArray()] + [level.ReadAsArray() for level in levels]
    finally:
        gdal.PopErrorHandler()
    try:
        whole = gdal.Open(store).RasterCount
    except RuntimeError as error:
        whole = str(error)
    nodata = band.GetNoDataValue()
    return values, {"transform": dataset.GetGeoTransform(can_return_null=True), "crs": srs and srs.ExportToWkt(), "whole": whole,
                    "nodata": None if nodata is None else str(nodata), "driver": dataset.GetDriver().ShortName, "messages": messages}


answer(sys.argv[1], "gdal", read)
