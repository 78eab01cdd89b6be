"""What a process may take: with few descriptors everything is read and written, and nothing is lost."""
import resource

import numpy as np
import pytest

import oracle
from stores import array_meta, group_meta, sharding
from support import in_process, name_of

# Writes the upper chunks of all shards of all arrays, then the lower ones: meanwhile all shards are incomplete.
WRITE = """
import resource
import numpy as np
limit, width, datasets = int(sys.argv[1]), int(sys.argv[2]), []
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
for name in sys.argv[3:]:
    datasets.append(gdal.OpenEx(name, gdal.OF_RASTER | gdal.OF_UPDATE, open_options=["FSYNC=NO"]))
for top in (0, 8):
    for dataset in datasets:
        for number in range(dataset.RasterCount):
            rows = np.arange(top * width, (top + 8) * width).reshape(8, width) + number
            dataset.GetRasterBand(number + 1).WriteArray(rows.astype("uint16"), 0, top)
while datasets:
    datasets[0].FlushCache()
    del datasets[0]
"""

READ = """
import resource
import numpy as np
limit, width, datasets = int(sys.argv[1]), int(sys.argv[2]), []
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
for name in sys.argv[3:]:
    datasets.append(gdal.OpenEx(name))
for turn in range(2):
    for dataset in datasets:
        for number in range(dataset.RasterCount):
            found = dataset.GetRasterBand(number + 1).ReadAsArray(0, 8 * turn, width, 8)
            assert (found == np.arange(8 * turn * width, 8 * (turn + 1) * width).reshape(8, width) + number).all()
"""


@pytest.mark.parametrize("limit, shards", [(1024, 110), (64, 12)])  # side by side, of 16 x 8, of two chunks each
@pytest.mark.parametrize("groups, arrays", [(1, 13), (10, 1)], ids=["13 arrays", "10 datasets"])
def test_few_descriptors_are_enough_for_many_arrays(tmp_path, limit, shards, groups, arrays):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < limit:
        pytest.skip("fewer are allowed here")
    names, shape = [], (16, 8 * shards)
    for group in range(groups):
        path = tmp_path / str(group)
        oracle.write(path, group_meta())
        for number in range(arrays):
            oracle.write(path / ("v%02d" % number), array_meta(shape, shard=(16, 8), codecs=[sharding((8, 8))]))
        names.append(name_of(path))
    in_process(WRITE, limit, shape[1], *names)
    for group in range(groups):
        for number in range(arrays):
            _, found = oracle.read(str(tmp_path / str(group) / ("v%02d" % number)))
            np.testing.assert_array_equal(found, np.arange(16 * shape[1]).reshape(shape) + number)
    in_process(READ, limit, shape[1], *names)
