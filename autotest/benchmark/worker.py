"""One run in a process of its own: worker.py CONTENDER CASE BASE SCALE [check], printing JSON.

seconds    from the first access (from opening, where the case is about that) to the last value; imports are not counted
cpu        processor seconds meanwhile, of all threads: what is left to compare when others use the machine too
megabytes  peak memory of the process. VmHWM, since the maximum of getrusage counts what the process was forked from
crc        of all values, with "check"
size       of what was written, when something was
written    bytes that were handed to the system meanwhile, of a series
"""
import json
import os
import shutil
import sys
import time
import zlib

import numpy as np

import cases
import rasters


def contender_of(name):
    if name in cases.VIA_GDAL:
        import with_gdal
        return with_gdal.CONTENDERS[name]()
    import with_zarr
    return with_zarr.CONTENDERS[name]()


def clocks():
    return time.perf_counter(), time.process_time()


def since(start):
    end = clocks()
    return {"seconds": end[0] - start[0], "cpu": end[1] - start[1]}


def drain(pieces, crc):
    """Runs a case to its end; `crc` None: without looking at the values."""
    for piece in pieces:
        if crc is not None:
            crc = zlib.crc32(np.ascontiguousarray(piece), crc)
    return crc


def read(contender, case, base, scale, check):
    crc = 0 if check else None
    if case.warm:
        drain(case.read(contender.open(base, case.data, case.prefixed), scale), None)
    start = clocks()
    raster = contender.open(base, case.data, case.prefixed)
    if not case.opening:
        start = clocks()
    crc = drain(case.read(raster, scale), crc)
    return {**since(start), "crc": crc}


def create(contender, name, case, base, scale, check):
    target = "%scase_%s_%s.%s" % (base, rasters.file_name(case.name), name, "tif" if name in ("cog", "gtiff") else "zarr")
    shutil.rmtree(target, ignore_errors=True)
    start = clocks()
    contender.create(rasters.source_path(base, case.data), target, case.layout, scale, *([case.way] if case.way else []))
    result = {**since(start), "megabytes": peak_megabytes(), "size": size_of(target)}
    if check:
        result["crc"] = drain([contender.open_created(target).whole()], 0)
    shutil.rmtree(target) if os.path.isdir(target) else os.remove(target)
    return result


def written_bytes():
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("wchar"))


def grow(contender, case, base, scale):
    """A map a day, each in a session of its own, into a shard of 1440 days of which 360 are there. For IN_PLACE room was made for all of them,
    and they are not compressed."""
    side, steps, first, days = rasters.scaled(256, scale), 1440, 360, 30
    maps = np.random.default_rng(1).integers(1, 4096, (first + days, side, side)).astype("uint16")
    target = "%scase_%s.zarr" % (base, rasters.file_name(case.name))
    shutil.rmtree(target, ignore_errors=True)
    contender.create_series(target, steps, maps[:first], steps if case.update == "IN_PLACE" else first)
    start, before = clocks(), written_bytes()
    for day in range(first, first + days):
        contender.add_map(target, case.update, day, maps[day])
    result = {**since(start), "written": written_bytes() - before, "megabytes": peak_megabytes(), "size": size_of(target)}
    found = contender.open_created(target).whole()
    assert np.array_equal(found[:first + days], maps), "the maps differ"
    shutil.rmtree(target)
    return {**result, "crc": 0}


def with_cube(contender, name, case, base, scale, check):
    import cubes
    target = "%scase_%s_%s.%s" % (base, rasters.file_name(case.name), name, "nc" if case.cube == "into_netcdf" else "zarr")
    cubes.clear(target)
    start = clocks()
    found = getattr(cubes, case.cube)(contender.driver, base, target, scale)
    result = {**since(start), "megabytes": peak_megabytes()}
    if os.path.exists(target):
        result["size"] = size_of(target)
    if check:
        result["crc"] = drain([found()], 0)
    cubes.clear(target)
    return result


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def peak_megabytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def main(name, case, base, scale, check=""):
    case, contender = cases.CASES[case], contender_of(name)
    if case.cube:
        result = with_cube(contender, name, case, base, int(scale), bool(check))
    elif case.update:
        result = grow(contender, case, base, int(scale))
    elif case.layout:
        result = create(contender, name, case, base, int(scale), bool(check))
    else:
        result = read(contender, case, base, int(scale), bool(check))
    print(json.dumps({"megabytes": peak_megabytes(), **result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
