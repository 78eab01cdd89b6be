"""Writes Icechunk repositories with PyPI's icechunk and zarr-python.

    python icechunk_write.py OUT SPEC_VERSION

OUT/repo.icechunk has three commits of a sharded array `v` (time, y, x) with coordinates, of an array `split` whose manifests are many, of `inline`,
`scalar` and `group/deep`; a tag `first` of the first commit, `gone`, which is deleted, and a branch `dev` with a commit of its own.
OUT/virtual.icechunk has virtual chunks `file` and `s3`, which lie elsewhere, and the texts `names`. OUT/info.json tells ids and times of commits; OUT/NAME-COMMIT.npy what an array holds.
"""
import json
import os
import sys
import time

import icechunk
import numpy as np
import zarr

out, version = sys.argv[1], int(sys.argv[2])
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

config = icechunk.RepositoryConfig.default()
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("file://%s/" % out, icechunk.local_filesystem_store(out)))
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("s3://bucket/", icechunk.s3_store(region="us-east-1", anonymous=True)))
repo = icechunk.Repository.create(icechunk.local_filesystem_storage(out + "/virtual.icechunk"), config=config, **KIND)
session = repo.writable_session("main")
root = zarr.open_group(session.store)
for name, location in {"file": "file://%s/raw.bin" % out, "s3": "s3://bucket/a b/raw.bin"}.items():
    root.create_array(name, shape=(10,), chunks=(10,), dtype="uint16", fill_value=0, compressors=None)
    session.store.set_virtual_ref(name + "/c/0", location, offset=2, length=20)
root.create_array("names", shape=(3,), chunks=(2,), dtype=str)[...] = np.array(["Zürich", "", "Bern"], dtype=object)
session.commit("virtual")
with open(out + "/info.json", "w") as file:
    json.dump(info, file)
