"""Cells of one order as healpix-geo compacts them: each four that are all cells of a coarser one become that, in zuniq.

    python healpix_compacted.py ORDER CELLS.npy OUT.npy
"""
import sys

import numpy as np
from healpix_geo.nested import RangeMOCIndex

cells = np.load(sys.argv[2]).astype("uint64")
np.save(sys.argv[3], RangeMOCIndex.from_cell_ids(int(sys.argv[1]), cells).compacted_cell_ids())
