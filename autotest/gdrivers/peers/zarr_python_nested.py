"""What zarr-python nests in consolidated metadata.

    python zarr_python_nested.py make DIR: DIR/a.zarr, consolidated, with groups of which one is empty
    python zarr_python_nested.py read DIR: the members of each group into DIR/members.json, without a listing
"""
import json
import sys
import warnings

import zarr
from zarr.storage import LocalStore


class Unlisted(LocalStore):
    """As over HTTP: what consolidated metadata do not tell is not to be found out."""
    supports_listing = False

    def list_dir(self, prefix):
        raise RuntimeError("listed: " + prefix)

    list_prefix = list_dir


def make(folder):
    root = zarr.create_group(folder + "/a.zarr", attributes={"of": "root"})
    for name in ("g", "g/empty", "g/full"):
        root.create_group(name, attributes={"of": name})
    for name in ("a", "g/full/v"):
        root.create_array(name, shape=(8, 8), chunks=(4, 4), shards=(8, 8), dtype="u1", dimension_names=("y", "x"))[...] = 7
    zarr.consolidate_metadata(folder + "/a.zarr")


def read(folder):
    root = zarr.open_group(Unlisted(folder + "/a.zarr"), mode="r", use_consolidated=True)
    members = {"": sorted(root.keys())}
    for path, node in root.members(max_depth=None):
        if isinstance(node, zarr.Group):
            members[path] = sorted(node.keys())
    with open(folder + "/members.json", "w") as file:
        json.dump(members, file)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # consolidated metadata are not in the specification
    {"make": make, "read": read}[sys.argv[1]](sys.argv[2])
