"""Makes Icechunk repositories, with the icechunk of the peers: repository.py copy STORE.zarr OUT.icechunk, object by object the same;
repository.py million DIRECTORY OUT.icechunk SIDE, an array `data` of SIDE x SIDE virtual chunks of 2 x 2 pixels, in files of which the one exists that the middle is
in: one manifest of a million references."""
import os
import sys

import icechunk
import zarr


def created(out, config=None):
    return icechunk.Repository.create(icechunk.local_filesystem_storage(out), config=config)


def copy(source, out):
    repo = created(out)
    session = repo.writable_session("main")
    keys = [os.path.relpath(os.path.join(folder, name), source) for folder, _, names in os.walk(source) for name in names]
    for key in sorted(keys, key=lambda key: (not key.endswith("zarr.json"), key.count("/"), key)):  # groups, arrays, chunks
        with open(os.path.join(source, key), "rb") as file:
            data = zarr.core.buffer.cpu.Buffer.from_bytes(file.read())
        zarr.core.sync.sync(session.store.set(key, data))
    session.commit("copied")


def million(directory, out, side):
    side, prefix = int(side), "file://" + os.path.abspath(directory) + "/"
    config = icechunk.RepositoryConfig.default()
    config.manifest = icechunk.ManifestConfig(splitting=icechunk.ManifestSplittingConfig.from_dict(
        {icechunk.ManifestSplitCondition.AnyArray(): {icechunk.ManifestSplitDimCondition.Any(): 10**7}}))
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(directory)))
    repo = created(out, config)
    session = repo.writable_session("main")
    zarr.open_group(session.store).create_array("data", shape=(2 * side, 2 * side), chunks=(2, 2), dtype="uint16", compressors=None, fill_value=0)
    session.store.set_virtual_refs("/data", [
        icechunk.VirtualChunkSpec(index=[i, j], location="%syear=%d/file%05d.bin" % (prefix, i // 10, i), offset=8 * j, length=8)
        for i in range(side) for j in range(side)], validate_containers=False)
    session.commit("virtual")
    middle = os.path.join(directory, "year=%d" % (side // 2 // 10))
    os.makedirs(middle, exist_ok=True)
    with open(os.path.join(middle, "file%05d.bin" % (side // 2)), "wb") as file:
        file.write(bytes(range(1, 9)) * side)


if __name__ == "__main__":
    {"copy": copy, "million": million}[sys.argv[1]](*sys.argv[2:])
