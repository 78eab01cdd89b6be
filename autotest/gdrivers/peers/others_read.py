"""Reads arrays with another library, for answers.py; zarr-python and zarrs also list the `members` of the store with their attributes.

    python others_read.py zarr|zarrs|tensorstore DIR
"""
import functools
import sys

from answers import answer

library, folder = sys.argv[1:]
if library == "tensorstore":
    import tensorstore
else:
    import zarr
if library == "zarrs":
    import zarrs  # noqa: F401
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})  # rather an error than zarr-python's codecs


@functools.lru_cache(1)
def members_of(store):
    group = zarr.open_group(store, mode="r")
    assert group.metadata.consolidated_metadata is not None
    return dict(group.members(max_depth=None))  # lists all, through the consolidated metadata


def read(store, path):
    if library == "tensorstore":
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": "%s/%s/" % (store, path)}}
        return [tensorstore.open(spec, open=True).result().read().result()], {}
    members = members_of(store)
    return [members[path][...]], {"members": {key: dict(node.attrs) for key, node in members.items()}}


answer(folder, library, read)
