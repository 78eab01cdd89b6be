"""Writes Icechunk repositories with PyPI's icechunk and zarr-python.

    python icechunk_write.py OUT SPEC_VERSION URL

OUT/repo.icechunk has three commits of a sharded array `v` (time, y, x) with coordinates, of an array `split` whose manifests are many, of `inline`,
`scalar` and `group/deep`; a tag `first` of the first commit, `gone`, which is deleted, and a branch `dev` with a commit of its own.
OUT/virtual.icechunk has virtual chunks in OUT/raw.bin by `file` (its path), `http` (URL, that of OUT) and, with version 2, `named` (vcc://);
`names` are texts, `plus` is in `b+c/raw.bin`, `folders` has each chunk in one of 300 folders; `stale` says that the file was changed since, `tagged` has the
ETag that webserver.py gives the file, `retagged` another. A bucket is `s3`; `open` is one whose requests are not signed, at URL. OUT/info.json tells ids and times of commits; OUT/NAME-COMMIT.npy what an array holds.
"""
import datetime
import json
import os
import sys
import time

import icechunk
import numpy as np
import zarr

out, version, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
KIND = {"spec_version": version} if int(icechunk.__version__.split(".")[0]) > 1 else {}
if version == 2 and not KIND:
    raise ModuleNotFoundError("No module named 'icechunk 2'")
info = {"commits": []}


def manifest_config(**more):
    split = icechunk.ManifestSplittingConfig.from_dict(
        {icechunk.ManifestSplitCondition.name_matches("split"): {icechunk.ManifestSplitDimCondition.Any(): 3}})
    return icechunk.ManifestConfig(splitting=split, **more)


def commit(repo, branch, message, change):
    session = repo.writable_session(branch)
    change(zarr.open_group(session.store))
    id = session.commit(message)
    info["commits"].append({"id": id, "branch": branch, "message": message, "time": time.time()})
    root = zarr.open_group(repo.readonly_session(snapshot_id=id).store, mode="r")
    for path in ("v", "split", "inline", "scalar", "group/deep"):
        if path in root:
            np.save("%s/%s-%d.npy" % (out, path.replace("/", "_"), len(info["commits"]) - 1), root[path][...])
    time.sleep(1.1)


def fill(root):
    rng = np.random.default_rng(1)
    v = root.create_array("v", shape=(6, 40, 50), chunks=(1, 10, 10), shards=(2, 20, 30), dtype="float32", fill_value=-9,
                          dimension_names=("time", "y", "x"))
    v[:4] = rng.random((4, 40, 50))
    for name, values in {"time": np.arange(6) * 3, "y": 50 - np.arange(40) * 0.25, "x": np.arange(50) * 0.25}.items():
        root.create_array(name, shape=values.shape, dtype="float64", dimension_names=(name,))[:] = values
    root["time"].attrs["units"] = "hours since 2026-01-01"
    root["y"].attrs.update(units="degrees_north", standard_name="latitude")
    root["x"].attrs.update(units="degrees_east", standard_name="longitude")
    root.create_array("split", shape=(11, 13), chunks=(1, 2), dtype="int32", fill_value=7)[:9] = np.arange(9 * 13).reshape(9, 13)
    root.create_array("inline", shape=(5,), chunks=(2,), dtype="uint8")[:] = np.arange(5)
    root.create_array("scalar", shape=(), dtype="int16")[...] = -3
    root.create_group("group").create_array("deep", shape=(30, 40), chunks=(10, 10), shards=(20, 20), dtype="uint16")[:] = 5


def change(root):
    root["v"][4, 5:25, 7] = 77
    root["split"][2, 3] = -1


def change_more(root):
    root["v"][0] = 3
    del root["group/deep"]


def develop(root):
    root["inline"][1] = 200


storage = icechunk.local_filesystem_storage(out + "/repo.icechunk")
repo = icechunk.Repository.create(storage, config=icechunk.RepositoryConfig(manifest=manifest_config(), inline_chunk_threshold_bytes=64), **KIND)
time.sleep(1.1)
commit(repo, "main", "first", fill)
repo.create_tag("first", snapshot_id=info["commits"][0]["id"])
repo.create_tag("gone", snapshot_id=info["commits"][0]["id"])
repo.delete_tag("gone")
commit(repo, "main", "second", change)
repo.create_branch("dev", snapshot_id=info["commits"][1]["id"])
commit(repo, "dev", "of dev", develop)
commit(repo, "main", "third", change_more)

with open(out + "/raw.bin", "wb") as file:
    file.write(np.arange(100, dtype="<u2").tobytes())
os.utime(out + "/raw.bin", (10**9, 10**9))
config = icechunk.RepositoryConfig.default()
containers = {"file://%s/" % out: icechunk.local_filesystem_store(out), url + "/": icechunk.http_store()}
for n, (prefix, store) in enumerate(containers.items()):
    named = {"name": "here"} if n == 1 and version == 2 else {}
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store, **named))
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("s3://bucket/", icechunk.s3_store(region="us-east-1", anonymous=True)))
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(
    "s3://open/", icechunk.s3_store(region="us-east-1", anonymous=True, endpoint_url=url, allow_http=True, force_path_style=True)))
repo = icechunk.Repository.create(icechunk.local_filesystem_storage(out + "/virtual.icechunk"), config=config, **KIND)
session = repo.writable_session("main")
root = zarr.open_group(session.store)
locations = {"file": "file://%s/raw.bin" % out, "stale": "file://%s/raw.bin" % out, "absent": "file://%s/no.bin" % out}
if KIND:  # icechunk 1 forgets the port of a URL
    locations.update(http=url + "/raw.bin", tagged=url + "/raw.bin", retagged=url + "/raw.bin")
CHECKSUMS = {"stale": datetime.datetime.fromtimestamp(5 * 10**8, datetime.timezone.utc), "tagged": '"%x"' % (10**18 ^ 200), "retagged": '"abc"'}
if version == 2:
    os.makedirs(out + "/open")
    os.link(out + "/raw.bin", out + "/open/raw.bin")
    locations["open"] = "s3://open/raw.bin"
locations["s3"] = "s3://bucket/a b/raw.bin"
os.makedirs(out + "/b+c")
os.link(out + "/raw.bin", out + "/b+c/raw.bin")
locations["plus"] = "s3://bucket/b+c/raw.bin"
if version == 2:
    locations["named"] = "vcc://here/raw.bin"
for name, location in locations.items():
    root.create_array(name, shape=(40,), chunks=(10,), dtype="uint16", fill_value=0, compressors=None)
    for i in range(3):
        session.store.set_virtual_ref("%s/c/%d" % (name, i), location, offset=20 * i + 2, length=20,
                                      **({"checksum": CHECKSUMS[name]} if name in CHECKSUMS else {}))
root.create_array("names", shape=(3,), chunks=(2,), dtype=str)[...] = np.array(["Zürich", "", "Bern"], dtype=object)
root.create_array("folders", shape=(300,), chunks=(1,), dtype="uint16", fill_value=0, compressors=None)
for i in range(300):
    os.makedirs("%s/folders/%d" % (out, i))
    os.link(out + "/raw.bin", "%s/folders/%d/raw.bin" % (out, i))
    session.store.set_virtual_ref("folders/c/%d" % i, "file://%s/folders/%d/raw.bin" % (out, i), offset=2 * (i % 100), length=2)
session.commit("virtual")
with open(out + "/info.json", "w") as file:
    json.dump(info, file)
