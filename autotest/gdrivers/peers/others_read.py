"""Reads the arrays NAME in DIR/*.zarr with another library: DIR/STORE.zarr becomes DIR/STORE.zarr.LIBRARY.npy.

    python others_read.py zarr|zarrs|tensorstore DIR NAME

tensorstore knows neither nested sharding nor codecs around shards: it passes over stores named nested* and outer*.
"""
import glob
import json
import sys
import warnings

import numpy as np

library, folder, name = sys.argv[1:]
warnings.simplefilter("ignore")
if library == "tensorstore":
    import tensorstore
else:
    import zarr
if library == "zarrs":
    import zarrs  # noqa: F401
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
for path in sorted(glob.glob(folder + "/*.zarr")):
    if library == "tensorstore":
        if "/nested" in path or "/outer" in path:
            continue
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": "%s/%s/" % (path, name)}}
        values = np.asarray(tensorstore.open(spec, open=True).result().read().result())
    else:
        group = zarr.open_group(path, mode="r")
        assert group.metadata.consolidated_metadata is not None
        members = dict(group.members(max_depth=None))  # lists all, through the consolidated metadata
        values = members[name][...]
        with open(path + ".members.json", "w") as file:
            json.dump({key: dict(node.attrs) for key, node in members.items()}, file)
    np.save("%s.%s.npy" % (path, library), values)
