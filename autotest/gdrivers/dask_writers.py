"""Four workers of Dask write blocks, which fit neither shards nor chunks, into one mosaic as tasks of data/mosaic.py write. As a program:

    python3 autotest/gdrivers/dask_writers.py STORE
"""
import importlib.util
import logging
import os
import random
import subprocess
import sys

import numpy as np

import writers
from support import need

BANDS, SIZE, CHUNK, SHARD, WORKERS = 2, 256, 32, 128, 4  # four shards, of sixteen chunks for each band
ROUNDS = [((70, 50), 1.0), ((45, 60), 0.6)]  # (rows, columns) of a block; how many of the blocks are written
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")


def blocks(number):
    """[(x, y, pixels)] of a round, in the order in which they are written; none touches another."""
    (height, width), written = ROUNDS[number]
    values, chance = np.random.default_rng(number), random.Random(number)
    found = [(x, y, values.integers(1, 60000, (BANDS, min(height, SIZE - y), min(width, SIZE - x))).astype("uint16"))
             for y in range(0, SIZE, height) for x in range(0, SIZE, width)]
    return chance.sample(found, round(written * len(found)))


def expected():
    """What the store must hold when all rounds are over."""
    array = np.zeros((BANDS, SIZE, SIZE), "uint16")
    for number in range(len(ROUNDS)):
        for x, y, pixels in blocks(number):
            array[:, y:y + pixels.shape[1], x:x + pixels.shape[2]] = pixels
    return array


def run(store, **environment):
    """Runs it in a process of its own, with these variables: a failed task is an error."""
    need("python3-distributed", importlib.util.find_spec("distributed"))
    done = subprocess.run([sys.executable, os.path.abspath(__file__), store], stderr=subprocess.PIPE, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": DATA, "GDAL_NUM_THREADS": "1", **environment})
    assert done.returncode == 0, done.stderr[-3000:]


def run_on(host):
    """Runs it on an object store, into /vsis3/bucket/m.zarr, with answers that wait. Returns how many commits met another's."""
    proxy = writers.Proxy(host, 0.005, 0, 1)
    run("/vsis3/bucket/m.zarr", **writers.settings(proxy.host))
    return proxy.statuses.get(b"412", 0)


def main(store):
    import mosaic
    from distributed import Client
    base = mosaic.Level("v", 1, SIZE, SIZE, None)
    plan = {"out": store, "srs": "", "transform": (0, 1, 0, 0, 0, -1), "type": mosaic.gdal.GDT_UInt16, "interpretations": [0] * BANDS,
            "nodata": 0, "levels": [base]}
    mosaic.create(plan, [], ["ARRAY_NAME=v", "OVERVIEWS=NONE", "CHUNK_SHAPE=%d" % CHUNK, "SHARD_SHAPE=%d,%d,%d" % (BANDS, SHARD, SHARD)], None)
    with Client(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL) as client:
        for number in range(len(ROUNDS)):
            client.gather([client.submit(mosaic.work, mosaic.put, plan, base, *block, pure=False) for block in blocks(number)])


if __name__ == "__main__":
    main(sys.argv[1])
