#!/usr/bin/python3
"""Many rasters of any format become one sharded Zarr mosaic with overviews, by many workers (Dask), each task a shard.

  python3 data/mosaic.py mosaic.zarr scenes/*.tif --t_srs EPSG:3857 --tr 10 10 --resampling bilinear --workers 4
  python3 data/mosaic.py /vsis3/bucket/mosaic.zarr @names.txt --scheduler tcp://10.0.0.1:8786     (a name a line)

The pixels are those of `gdalwarp -et 0` with the same arguments, the overviews those of the driver.
The array and its overviews are made first, as metadata alone. A task makes the window of one shard in memory and writes it; no other task
writes there, so nothing is locked. A shard is there whole or not at all, and what is there is done: with the same
arguments a run that was stopped goes on where it was, and tasks of a worker that dies run again on others. Whether a
shard is there is asked by its name; nothing is ever listed. A shard of nodata alone is no object: those that an input
touches and leaves empty are looked at again by the next run. An input that has changed changes no shard that is there.

Unless pixels become clearly smaller, gdalwarp takes the radius of bilinear, cubic, ... from each window that it works on, so
that windows of another size differ a little (by 1 or 2 in 2 % of the pixels, say). Equal pixels, and no seams, then need a
fixed scale, the same in both: --wo XSCALE=1 --wo YSCALE=1 where their size stays about the same, 0.5 where it doubles.
"""
import argparse
import collections
import hashlib
import itertools
import json
import logging
import os
import re
import sys
import xml.etree.ElementTree

try:
    import numpy as np
    from distributed import Client, as_completed
    from osgeo import gdal, gdal_array, osr
except ImportError as error:
    raise SystemExit("%s: Debian's packages python3-gdal and python3-distributed have it" % error) from None

gdal.UseExceptions()

RESAMPLINGS = {name[len("GRIORA_"):].upper(): getattr(gdal, name) for name in dir(gdal) if name.startswith("GRIORA_")}

WARPS = "near bilinear cubic cubicspline lanczos average rms mode max min med q1 q3 sum".split()  # of gdalwarp -r

MARGIN = 8  # pixels around a window of an overview: more than the radius of any resampling
IN_FLIGHT = 10000  # tasks that the scheduler knows of at a time
# A level of the pyramid, the first the mosaic itself: path of its array, ..., number of the level that it is made from.
Level = collections.namedtuple("Level", "path factor width height source")


def work(function, *call):
    """A task of any worker, which need not have run the lines above: errors are exceptions."""
    gdal.UseExceptions()
    return function(*call)


def look_at(name, srs):
    """An input's (name, extent, pixel size) in the mosaic's CRS."""
    warped = gdal.AutoCreateWarpedVRT(gdal.Open(name), None, srs, gdal.GRA_NearestNeighbour, 0)
    left, step_x, _, top, _, step_y = warped.GetGeoTransform()
    return name, (left, top + step_y * warped.RasterYSize, left + step_x * warped.RasterXSize, top), (step_x, -step_y)


def warp(plan, x, y, width, height, inputs):
    """A window of the mosaic, from the inputs that touch it."""
    left, step_x, _, top, _, step_y = plan["transform"]
    part = gdal.GetDriverByName("MEM").Create("", width, height, len(plan["interpretations"]), plan["type"])
    part.SetGeoTransform((left + x * step_x, step_x, 0, top + y * step_y, 0, step_y))
    part.SetProjection(plan["srs"])
    for number, interpretation in enumerate(plan["interpretations"], 1):
        band = part.GetRasterBand(number)
        band.SetColorInterpretation(interpretation)
        if plan["nodata"] is not None:
            band.SetNoDataValue(plan["nodata"])
            band.Fill(plan["nodata"])
    gdal.Warp(part, inputs, resampleAlg=plan["resampling"], dstNodata=plan["nodata"], errorThreshold=0, warpOptions=plan["wo"])
    return part.ReadAsArray()


def open_level(plan, level, options, access=gdal.OF_READONLY):
    return gdal.OpenEx('SHARDEDZARR:"%s":/%s' % (plan["out"], level.path), gdal.OF_RASTER | access, open_options=options)


def nearest(band, columns, rows):
    """Pixels at these columns and rows, read in strips that fit in memory."""
    left, width = int(columns[0]), int(columns[-1] - columns[0]) + 1
    strips = np.array_split(rows, min(len(rows), 1 + width * int(rows[-1] - rows[0]) // (1 << 24)))
    return np.concatenate([band.ReadAsArray(left, int(strip[0]), width, int(strip[-1] - strip[0]) + 1)[
        np.ix_(strip - strip[0], columns - left)] for strip in strips])


def shrink(plan, level, x, y, width, height):
    """A window of an overview, from the level that it is made from, as GDAL makes the whole."""
    source = plan["levels"][level.source]
    alone = "OVERVIEW_LEVEL=" + ("%donly" % (level.source - 1) if level.source else "NONE")
    dataset = open_level(plan, plan["levels"][0], [alone])
    bands = [dataset.GetRasterBand(number + 1) for number in range(dataset.RasterCount)]
    across, down = source.width / level.width, source.height / level.height
    if plan["overview_resampling"] == "NEAREST":  # not RasterIO()'s: of 2 x 2 pixels an overview has the first
        columns, rows = ((0.5 + (first + np.arange(count)) * step).astype(int)
                         for first, count, step in ((x, width, across), (y, height, down)))
        return np.stack([nearest(band, columns, rows) for band in bands])
    # With pixels around, because the first and last of a window do not see what they see of the whole.
    left, top = max(0, x - MARGIN), max(0, y - MARGIN)
    size = min(level.width, x + width + MARGIN) - left, min(level.height, y + height + MARGIN) - top
    window = (left * across, top * down, min(size[0] * across, source.width - left * across),
              min(size[1] * down, source.height - top * down))
    how = RESAMPLINGS[plan["overview_resampling"]]
    wider = np.stack([band.ReadAsArray(*window, *size, resample_alg=how) for band in bands])
    return wider[:, y - top:y - top + height, x - left:x - left + width]


def is_there(name):
    """Whether a file or object is there. Opened, with this setting: else GDAL lists the directory of one that is not."""
    gdal.SetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    file = gdal.VSIFOpenL(name, "rb")
    gdal.SetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", None)
    if file is not None:
        gdal.VSIFCloseL(file)
    return file is not None


def put(plan, level, x, y, pixels):
    """Writes pixels of all bands at a column and row of a level; they are stored when it returns."""
    target = open_level(plan, level, [], gdal.OF_UPDATE)
    target.WriteArray(pixels if target.RasterCount > 1 else pixels.reshape(pixels.shape[-2:]), x, y)
    target.FlushCache()
    # Its close warns of overviews, which are made next.
    gdal.PushErrorHandler(lambda level, number, text: level == gdal.CE_Warning or print(text, file=sys.stderr))
    target = None
    gdal.PopErrorHandler()


def make_shard(plan, number, row, column, inputs):
    """The task: makes a shard of a level, unless it is there. Returns whether it had to."""
    level, side = plan["levels"][number], plan["shard"]
    position = (0,) * (len(plan["interpretations"]) > 1) + (row, column)
    if is_there("/".join([plan["out"], level.path, "c", *map(str, position)])):
        return False
    x, y = column * side, row * side
    window = x, y, min(side, level.width - x), min(side, level.height - y)
    pixels = warp(plan, *window, inputs) if number == 0 else shrink(plan, level, *window)
    fill = plan["nodata"] or 0
    if np.all((pixels == fill) | ((pixels != pixels) & (fill != fill))):
        return True  # no object
    put(plan, level, x, y, pixels)
    return True


def grid(arguments, inputs):
    """(transform, width, height), from --te, --tr and the inputs as gdalwarp does."""
    _, extents, steps = zip(*inputs)
    sides = zip((min, min, max, max), zip(*extents))
    left, bottom, right, top = arguments.te or [choose(side) for choose, side in sides]
    step_x, step_y = map(min, zip(*steps))
    width, height = int((right - left) / step_x + 0.5), int((top - bottom) / step_y + 0.5)
    if arguments.te and not arguments.tr:
        expect(width >= 1 and height >= 1, "--te", "an extent of a pixel and more", arguments.te)
        step_x, step_y = (right - left) / width, (top - bottom) / height
    elif arguments.tr:
        if not arguments.te:  # gdalwarp begins with whole pixels of the inputs' size
            right, bottom = left + width * step_x, top - height * step_y
        step_x, step_y = arguments.tr
        width, height = int((right - left) / step_x + 0.5), int((top - bottom) / step_y + 0.5)
    expect(width >= 1 and height >= 1, "--tr", "pixels that are smaller than the mosaic", arguments.tr)
    return (left, step_x, 0, top, 0, -step_y), width, height


def pyramid(name, width, height, chunk, overviews, resampling):
    """The levels, from large to small: the driver's OVERVIEWS, each from the one that the driver would make it from."""
    factors, side = [], min(width, height)
    while overviews == "AUTO" and side >= chunk and side > 1 and max(width, height) > chunk:
        factors.append(2 << len(factors))
        side = (side + 1) // 2
    if overviews not in ("AUTO", "NONE"):
        factors = sorted(set(map(int, overviews.split(","))))
    levels = [Level(name, 1, width, height, None)]
    for factor in factors:
        columns, rows, source = -(-width // factor), -(-height // factor), 0
        for number, level in enumerate(levels[1:], 1):
            times, rest = divmod(factor, level.factor)
            # Means of means are means; the nearest of the nearest is the nearest where it is in steps of whole pixels.
            is_nearest = resampling == "NEAREST" and (columns * times, rows * times) == (level.width, level.height)
            if rest == 0 and (is_nearest or resampling not in ("NEAREST", "MODE")):
                source = number
        levels.append(Level("ovr_%dx/%s" % (factor, name), factor, columns, rows, source))
    return levels


def touched(plan, inputs):
    """{(row, column): names of the inputs that touch that shard of the mosaic}."""
    left, step_x, _, top, _, step_y = plan["transform"]
    shards = collections.defaultdict(list)
    for name, (west, south, east, north), _ in inputs:
        # A bit more than its extent: an edge may be bent between the points that were looked at.
        more_x, more_y = 0.05 * (east - west) + 8 * step_x, 0.05 * (north - south) - 8 * step_y
        for shard in shards_of(plan, 0, (west - more_x - left) / step_x, (north + more_y - top) / step_y,
                               (east + more_x - left) / step_x, (south - more_y - top) / step_y):
            shards[shard].append(name)
    return shards


def shards_of(plan, number, left, top, right, bottom):
    """(row, column) of all shards of a level that such a window touches."""
    level, side = plan["levels"][number], plan["shard"]
    rows, columns = (range(int(max(0, low) // side), int(min(high, size - 1) // side) + 1)
                     for low, high, size in ((top, bottom, level.height), (left, right, level.width)))
    return itertools.product(rows, columns)


def shrunk(plan, number, shards):
    """The shards of an overview to which those of its source contribute: {(row, column): no inputs}."""
    level, side = plan["levels"][number], plan["shard"]
    source = plan["levels"][level.source]
    across, down = side * level.width / source.width, side * level.height / source.height
    return {shard: () for row, column in shards for shard in shards_of(
        plan, number, column * across - MARGIN, row * down - MARGIN,
        (column + 1) * across + MARGIN, (row + 1) * down + MARGIN)}


def expect(condition, what, expected, found):
    if not condition:
        raise SystemExit("%s: expected %s, found %s" % (what, expected, found))


def check_output(arguments):
    """Refuses, before anything is made, an output that is a file (GDAL would delete it) or is to be read."""
    out = arguments.out
    expect(out and full_name(out) not in map(full_name, arguments.inputs), out or "output", "the store that is made, then its inputs",
           "one of the inputs" if out else "no name")
    is_file = is_there(out) if out.startswith("/vsi") else os.path.lexists(out) and not os.path.isdir(out)
    expect(not is_file, out, "nothing, or a mosaic of these inputs and arguments", "a file")


def check_arguments(arguments):
    """Refuses, before anything is made, what no mosaic can be made with."""
    for name in ("chunk", "shard", "workers"):
        expect(getattr(arguments, name) >= 1, "--" + name, "a number from 1", getattr(arguments, name))
    expect(arguments.shard % arguments.chunk == 0, "--shard", "a multiple of --chunk %d" % arguments.chunk, arguments.shard)
    expect(all(0 < step < float("inf") for step in arguments.tr or ()), "--tr", "sizes above 0", arguments.tr)
    if arguments.te:
        left, bottom, right, top = arguments.te
        expect(left < right and bottom < top, "--te", "XMIN YMIN XMAX YMAX, the smaller ones first", arguments.te)
    expect(arguments.resampling.lower() in WARPS, "--resampling", "one of " + ", ".join(WARPS), arguments.resampling)
    declared = xml.etree.ElementTree.fromstring(gdal.GetDriverByName("ShardedZarr").GetMetadataItem("DMD_CREATIONOPTIONLIST"))
    known = {option.get("name"): [value.text for value in option.iter("Value")] for option in declared.iter("Option")}
    for option in arguments.co:
        name, equals, value = option.partition("=")
        expect(equals and name in known, "--co", "NAME=VALUE, of a creation option of the driver", option)
        values = known[name]
        expect(not values or value.upper() in map(str.upper, values), "--co " + name, "one of " + ", ".join(values), value)
        if name == "OVERVIEWS":
            factors = [int(factor) for factor in re.findall(r"\d+", value)] if re.fullmatch(r"\d+(,\d+)*", value) else [0]
            expect(value.upper() in ("AUTO", "NONE") or min(factors) > 1, "--co OVERVIEWS", "AUTO, NONE, or factors from 2", value)
    for option in arguments.wo:
        expect("=" in option, "--wo", "NAME=VALUE", option)


def crs_of(first, given):
    """That of the mosaic."""
    srs = osr.SpatialReference(first.GetProjection())
    if given:
        try:
            known = srs.SetFromUserInput(given) == 0
        except RuntimeError:
            known = False
        expect(known, "--t_srs", "a CRS", given)
    return srs


def check_nodata(nodata, data_type):
    if nodata is None:
        return
    held = np.zeros(1, gdal_array.GDALTypeCodeToNumericTypeCode(data_type)).dtype
    limits = np.iinfo(held) if held.kind in "iu" else None
    expect(limits is None or (nodata.is_integer() and limits.min <= nodata <= limits.max), "--nodata",
           "a value of %s, the pixels' type" % gdal.GetDataTypeName(data_type), nodata)


def full_name(name):
    return name.rstrip("/") if name.startswith("/vsi") else os.path.realpath(name)


def mark_of(plan):
    """The MOSAIC of the store that is there; None where it has no such array."""
    try:
        return open_level(plan, plan["levels"][0], []).GetMetadataItem("MOSAIC")
    except RuntimeError:
        return None


def create(plan, inputs, options, colors):
    """Makes the store, metadata alone, unless it is there, of the same inputs and arguments."""
    mark = hashlib.sha256(json.dumps([plan, inputs, options], sort_keys=True).encode()).hexdigest()
    base, *overviews = plan["levels"]
    if is_there(plan["out"] + "/zarr.json"):
        if mark_of(plan) != mark:
            raise SystemExit(plan["out"] + ": expected nothing, or a mosaic of these inputs and arguments")
        return
    driver = gdal.GetDriverByName("ShardedZarr")
    try:
        store = driver.Create(plan["out"], base.width, base.height, len(plan["interpretations"]), plan["type"], options)
    except RuntimeError as error:  # such as a folder with files of others
        raise SystemExit(str(error)) from None
    store.SetGeoTransform(plan["transform"])
    store.SetProjection(plan["srs"])
    for number, interpretation in enumerate(plan["interpretations"], 1):
        store.GetRasterBand(number).SetColorInterpretation(interpretation)
        if plan["nodata"] is not None:
            store.GetRasterBand(number).SetNoDataValue(plan["nodata"])
    if colors is not None:
        store.GetRasterBand(1).SetColorTable(colors)
    if overviews:
        store.BuildOverviews("NONE", [level.factor for level in overviews])
    store.SetMetadataItem("MOSAIC", mark)  # last: a store that has it is complete
    store.FlushCache()


def run(client, what, function, calls):
    """[function(*call) for call in calls] by the workers, with a progress bar."""
    print("%s: %d tasks" % (what, len(calls)), flush=True)
    results, left, places, flying = [None] * len(calls), iter(enumerate(calls)), {}, as_completed()
    for done in range(1, len(calls) + 1):
        for place, call in itertools.islice(left, IN_FLIGHT - len(places)):
            future = client.submit(work, function, *call, pure=False, retries=2)
            places[future] = place
            flying.add(future)
        future = next(flying)
        results[places.pop(future)] = future.result()
        future.release()  # else a worker that is lost now has its result made again by another
        gdal.TermProgress_nocb(done / len(calls))
    return results


def mosaic(client, arguments):
    names = [os.path.abspath(name) if os.path.exists(name) else name for name in arguments.inputs]
    first = gdal.Open(names[0])
    bands = [first.GetRasterBand(number + 1) for number in range(first.RasterCount)]
    colors = bands[0].GetColorTable()
    srs = crs_of(first, arguments.t_srs)
    check_nodata(arguments.nodata, bands[0].DataType)
    inputs = run(client, "inputs", look_at, [(name, srs.ExportToWkt()) for name in names])
    transform, width, height = grid(arguments, inputs)
    options = dict(option.split("=", 1) for option in arguments.co)
    array = options.setdefault("ARRAY_NAME", os.path.basename(arguments.out.rstrip("/")).split(".")[0])
    resampling = options.pop("RESAMPLING", "AVERAGE" if colors is None else "NEAREST").upper()
    overviews = options.pop("OVERVIEWS", "AUTO").upper()
    plan = {"out": arguments.out if arguments.out.startswith("/vsi") else os.path.abspath(arguments.out),
            "srs": srs.ExportToWkt(), "transform": transform, "type": bands[0].DataType,
            "interpretations": [band.GetColorInterpretation() for band in bands],
            "nodata": bands[0].GetNoDataValue() if arguments.nodata is None else arguments.nodata,
            "shard": arguments.shard, "resampling": arguments.resampling, "wo": arguments.wo,
            "overview_resampling": resampling,
            "levels": pyramid(array, width, height, arguments.chunk, overviews, resampling)}
    shape = [len(bands)] * (len(bands) > 1) + [arguments.shard, arguments.shard]
    options.update(OVERVIEWS="NONE", CHUNK_SHAPE=arguments.chunk, SHARD_SHAPE=",".join(map(str, shape)))
    shards = [touched(plan, inputs)]
    expect(shards[0], "--te", "an extent that an input touches", arguments.te)
    create(plan, inputs, ["%s=%s" % pair for pair in sorted(options.items())], colors)
    for number, level in enumerate(plan["levels"]):
        if number > 0:
            shards.append(shrunk(plan, number, shards[level.source]))
        calls = [(plan, number, *shard, sources) for shard, sources in sorted(shards[number].items())]
        made = sum(run(client, "%d x %d pixels" % (level.width, level.height), make_shard, calls))
        print("%d shards made, %d were there" % (made, len(calls) - made))


def main():
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style, fromfile_prefix_chars="@")
    add = parser.add_argument
    add("out", help="store that is made, or gone on with")
    add("inputs", nargs="+", help="rasters in any format of GDAL, of which the last wins; @FILE: a name a line")
    add("--t_srs", help="CRS of the mosaic; default: that of the first input")
    add("--te", nargs=4, type=float, metavar=("XMIN", "YMIN", "XMAX", "YMAX"), help="extent; default: of all inputs")
    add("--tr", nargs=2, type=float, metavar=("X", "Y"), help="pixel size; default: the smallest of the inputs")
    add("--resampling", default="near", help="of the warp, as gdalwarp -r; default: near")
    add("--nodata", type=float, help="default: that of the first input")
    add("--chunk", type=int, default=512, help="pixels along a chunk; default: 512")
    add("--shard", type=int, default=4096, help="pixels along a shard, which has all bands; default: 4096")
    add("--workers", type=int, default=os.cpu_count(), help="processes on this machine; default: one for each core")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster, instead of workers on this machine")
    add("--wo", action="append", default=[], metavar="NAME=VALUE", help="warp option, as gdalwarp -wo")
    add("--co", action="append", default=[], metavar="NAME=VALUE",
        help="creation option of the driver; OVERVIEWS, and RESAMPLING for them, as well")
    arguments = parser.parse_args()
    if gdal.GetDriverByName("ShardedZarr") is None:
        raise SystemExit("GDAL has no driver ShardedZarr: see GDAL_DRIVER_PATH")
    check_output(arguments)
    check_arguments(arguments)
    try:
        gdal.Open(arguments.inputs[0])
        here = {"n_workers": arguments.workers, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
        with Client(**({"address": arguments.scheduler} if arguments.scheduler else here)) as client:
            mosaic(client, arguments)
    except RuntimeError as error:  # of GDAL, here or in a task
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
