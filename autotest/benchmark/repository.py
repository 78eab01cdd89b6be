"""Makes an Icechunk repository, with the icechunk of the peers: repository.py STORE.zarr OUT.icechunk, object by object the same."""
import os
import sys

import icechunk
import zarr


def copy(source, out):
    repo = icechunk.Repository.create(icechunk.local_filesystem_storage(out))
    session = repo.writable_session("main")
    keys = [os.path.relpath(os.path.join(folder, name), source) for folder, _, names in os.walk(source) for name in names]
    for key in sorted(keys, key=lambda key: (not key.endswith("zarr.json"), key.count("/"), key)):  # groups, arrays, chunks
        with open(os.path.join(source, key), "rb") as file:
            data = zarr.core.buffer.cpu.Buffer.from_bytes(file.read())
        zarr.core.sync.sync(session.store.set(key, data))
    session.commit("copied")


if __name__ == "__main__":
    copy(*sys.argv[1:])
