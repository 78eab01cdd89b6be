"""What the scripts that write random stores have in common, whatever writes them: values, fill values, and where they go."""
import json

import numpy as np

UNITS = ["s", "ms", "us", "ns", "D", "h"]


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def random_parts(rng, shape):
    """Slices of one or two windows; where they are not all of it, chunks and shards stay absent."""
    for _ in range(pick(rng, [1, 1, 2])):
        begin = [int(rng.integers(0, s)) for s in shape]
        part = tuple(slice(b, int(rng.integers(b, s)) + 1) for b, s in zip(begin, shape))
        if rng.random() < 0.5:
            part = tuple(slice(0, s) for s in shape)
        yield part


def random_values(rng, dtype, shape):
    """Some smooth, some noise, some of the type's extremes; NaN, infinities and NaT among the types that have them."""
    size = int(np.prod(shape))
    kind = pick(rng, ["smooth", "noise", "bits"])
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind == "bits" and dtype.kind in "iumM":
        return rng.integers(0, 256, size * dtype.itemsize, "uint8").view(dtype).reshape(shape)
    if kind == "smooth":
        values = np.arange(size).reshape(shape) % 100
    else:
        values = rng.integers(0, 120, shape)
    if dtype.kind in "mM":
        return values.astype("int64").view(dtype)
    if dtype.kind == "c":
        return (values + 1j * rng.integers(-50, 50, shape)).astype(dtype)
    values = values.astype(dtype)
    if dtype.kind == "f":
        values = values / dtype.type(8)
        values[rng.random(shape) < 0.05] = pick(rng, [np.nan, np.inf, -np.inf, -0.0])
    return values


def random_fill(rng, dtype):
    if dtype.kind == "b":
        return bool(rng.integers(2))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return pick(rng, [0, 1, 7, limits.max, limits.min, limits.max - 1])
    if dtype.kind == "f":
        return pick(rng, [0.0, -1.5, np.nan, np.inf, -np.inf, float(np.finfo(dtype).max)])
    if dtype.kind == "c":
        return pick(rng, [0j, 1.5 - 2j, complex(np.nan, 0), complex(np.inf, -np.inf)])
    return np.array(pick(rng, [0, 1000, np.iinfo("int64").min]), "int64").view(dtype)[()]


def save_stores(out, first, count, random_store):
    stores = {}
    for seed in range(int(first), int(first) + int(count)):
        expected = random_store("%s/%d.zarr" % (out, seed), seed)
        np.save("%s/%d.npy" % (out, seed), expected)
        stores[seed] = "%s %s" % (expected.dtype, list(expected.shape))
    with open("%s/stores.json" % out, "w") as file:
        json.dump(stores, file, indent=1)
