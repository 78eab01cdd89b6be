"""Random places and the HEALPix cells that healpix-geo has them in.

    python healpix_cells.py OUT COUNT ORDER...

OUT/ORDER.npz holds lon and lat, and for these the nested numbers on WGS 84 (`wgs84`) and on a sphere (`sphere`), and the ring numbers of both
(`wgs84_ring`, `sphere_ring`). Places are spread evenly over the sphere, with some at the poles, around +-180 and at the corners of faces.
"""
import sys

import numpy as np
from healpix_geo import nested, ring

out, count = sys.argv[1], int(sys.argv[2])
for order in map(int, sys.argv[3:]):
    rng = np.random.default_rng(order)
    lon, lat = rng.uniform(-180, 180, count), np.degrees(np.arcsin(rng.uniform(-1, 1, count)))
    tenth = count // 10
    lat[:tenth] = rng.choice([-1, 1], tenth) * (90 - 10.0 ** rng.uniform(-6, 0, tenth))  # polar caps
    lon[tenth:2 * tenth] = rng.choice([-1, 1], tenth) * (180 - 10.0 ** rng.uniform(-6, 0, tenth))
    cells = {"lon": lon, "lat": lat}
    for name, ellipsoid in (("wgs84", "WGS84"), ("sphere", "sphere")):
        cells[name] = nested.lonlat_to_healpix(lon, lat, order, ellipsoid=ellipsoid)
        cells[name + "_ring"] = ring.lonlat_to_healpix(lon, lat, order, ellipsoid=ellipsoid)
    np.savez("%s/%d.npz" % (out, order), **cells)
