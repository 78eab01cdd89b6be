"""HEALPix cells as a map: each place has the value of its cell, whichever way a store says what its cells are."""
import json

import numpy as np
import pytest
from osgeo import gdal, osr

import oracle
from stores import LITTLE, MULTISCALES, array_meta, convention, default_fill, group_meta, plain_meta, sharding
from support import error_of, fixture_path, geotransform, held_band, name_of, open_array, open_ours, run_peer, subdatasets

DGGS = "7b255807-140c-42ca-97f6-7a1cfecdbc38"
WGS84 = {"name": "WGS84", "semimajor_axis": 6378137.0, "inverse_flattening": 298.257223563}
PLACES = 100000
# Which face stands in which square of the plane, rows from the north.
PLANE = [[6, 2, -1, -1, -1], [10, 7, 3, -1, -1], [-1, 11, 4, 0, -1], [-1, -1, 8, 5, 1], [-1, -1, -1, 9, 6]]


# ----------------------------------------------------------------------------------------------------- an oracle of our own

def spread(n):
    """Numbers 0 to n - 1 with their bits in even places."""
    values = np.arange(n, dtype="uint64")
    return sum(((values >> np.uint64(b)) & np.uint64(1)) << np.uint64(2 * b) for b in range(max(1, int(n).bit_length())))


def face_cells(order, face):
    """Nested numbers of a face, as its raster shows them."""
    n = 1 << order
    return (np.uint64(face) << np.uint64(2 * order)) + spread(n)[None, :] + (spread(n) << np.uint64(1))[::-1, None]


def plane_cells(order):
    """Nested numbers of the whole plane; -1 where there is no cell."""
    n = 1 << order
    empty = np.full((n, n), -1, dtype="int64")
    return np.block([[face_cells(order, f).astype("int64") if f >= 0 else empty for f in row] for row in PLANE])


def to_raster(values, order, empty):
    """What the raster of nested values is."""
    cells = plane_cells(order)
    return np.where(cells < 0, np.asarray(empty, values.dtype), values[np.maximum(cells, 0)])


# ------------------------------------------------------------------------------------------------------------------ stores

def dggs(order, scheme="nested", **more):
    """Attributes of a group by the dggs convention, on WGS 84."""
    return {"zarr_conventions": [convention(DGGS, "dggs")],
            "dggs": {"name": "healpix", "refinement_level": order, "indexing_scheme": scheme, "spatial_dimension": "cells", "ellipsoid": WGS84, **more}}


def put_values(path, values, chunk=None, shard=None, fill=None, **members):
    members.setdefault("dimension_names", ["time", "level", "cells"][3 - values.ndim:] if values.ndim != 2 else ["time", "cells"])
    length = values.shape[-1]
    chunk = chunk or min(length, 1024)
    shard = shard or min(4 * chunk, -(-length // chunk) * chunk)
    lead = [1] * (values.ndim - 1)
    fill = (-1 if values.dtype.kind == "i" else "NaN" if values.dtype.kind == "f" else default_fill(str(values.dtype))) if fill is None else fill
    meta = array_meta(values.shape, str(values.dtype), lead + [shard], [sharding(lead + [chunk], LITTLE)], fill_value=fill, **members)
    oracle.write(path, meta, values)
    return values


def put_store(path, order, values=None, scheme="nested", name="v", **said):
    """A store of one array of all cells, by default each with its own number."""
    values = np.arange(12 * 4**order, dtype="int64") if values is None else values
    oracle.put(path, {"zarr.json": group_meta(dggs(order, scheme, **said))})
    put_values("%s/%s" % (path, name), values)
    return str(path)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """{order: places and their cells as healpix-geo has them}"""
    folder = tmp_path_factory.mktemp("places")
    run_peer("healpix_cells.py", folder, PLACES, 0, 3, 8, 13)
    return {order: np.load(str(folder / ("%d.npz" % order))) for order in (0, 3, 8, 13)}


def pixels_of(dataset, lon, lat):
    """Columns and rows of places, as gdallocationinfo -wgs84 finds them."""
    wgs84 = osr.SpatialReference()
    wgs84.ImportFromEPSG(4326)
    wgs84.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    to_plane = osr.CoordinateTransformation(wgs84, dataset.GetSpatialRef())
    xy = np.array(to_plane.TransformPoints(np.stack([lon, lat], 1)))
    inverse = gdal.InvGeoTransform(dataset.GetGeoTransform())
    return (np.floor(inverse[0] + inverse[1] * xy[:, 0]).astype(int), np.floor(inverse[3] + inverse[5] * xy[:, 1]).astype(int))


def values_at(dataset, lon, lat):
    columns, rows = pixels_of(dataset, lon, lat)
    return dataset.ReadAsArray()[rows, columns]


# ------------------------------------------------------------------------------------------------- each place has its cell

@pytest.mark.parametrize("scheme", ["nested", "ring"])
@pytest.mark.parametrize("order", [0, 3, 8])
def test_locations_have_the_value_of_their_cell(tmp_path, places, order, scheme):
    dataset = open_array(put_store(tmp_path / "s.zarr", order, scheme=scheme), "/v")
    assert (dataset.RasterXSize, dataset.RasterYSize) == (5 << order, 5 << order)
    p = places[order]
    cells = p["wgs84" if scheme == "nested" else "wgs84_ring"].astype("int64")
    assert np.array_equal(values_at(dataset, p["lon"], p["lat"]), cells)


@pytest.mark.parametrize("order", [0, 3, 8])
def test_warped_to_longitude_and_latitude_each_pixel_has_its_cell(tmp_path, order):
    dataset = open_array(put_store(tmp_path / "s.zarr", order), "/v")
    warped = gdal.Warp("", dataset, format="MEM", dstSRS="EPSG:4326", outputBounds=(-180, -90, 180, 90), width=400, height=200, errorThreshold=0)
    lon, lat = np.meshgrid(np.arange(400) * 0.9 - 179.55, 89.55 - np.arange(200) * 0.9)
    assert np.array_equal(warped.ReadAsArray().ravel(), values_at(dataset, lon.ravel(), lat.ravel()))
    assert (warped.ReadAsArray() >= 0).all()


# ------------------------------------------------------------------------------------------------------------------ windows

@pytest.mark.parametrize("scheme", ["nested", "ring"])
def test_any_window_is_that_of_the_whole(tmp_path, scheme):
    order = 6
    rng = np.random.default_rng(1)
    dataset = open_array(put_store(tmp_path / "s.zarr", order, rng.normal(size=12 * 4**order).astype("float32"), scheme), "/v")
    whole = dataset.ReadAsArray()
    band = held_band(dataset)
    for _ in range(200):
        x, y = rng.integers(0, 5 << order, 2)
        width, height = rng.integers(1, (5 << order) - x + 1), rng.integers(1, (5 << order) - y + 1)
        if rng.random() < 0.5:
            width, height = min(width, 9), min(height, 9)
        window = band.ReadAsArray(int(x), int(y), int(width), int(height))
        assert np.array_equal(window, whole[y:y + height, x:x + width], equal_nan=True)


def test_reading_as_another_type_with_strides(tmp_path):
    values = (np.arange(12 * 4**4) % 251).astype("uint8")
    dataset = open_array(put_store(tmp_path / "s.zarr", 4, values), "/v")
    data = dataset.ReadRaster(buf_type=gdal.GDT_Float64, buf_pixel_space=16, buf_line_space=16 * 80)
    got = np.frombuffer(data, "float64", count=80 * 160 - 1)
    assert np.array_equal(np.append(got, 0).reshape(80, 80, 2)[:, :, 0], to_raster(values, 4, 0))


def test_other_dimensions_are_bands(tmp_path):
    order = 4
    values = np.arange(3 * 2 * 12 * 4**order, dtype="int32").reshape(3, 2, -1)
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta(dggs(order))})
    put_values(tmp_path / "s.zarr/v", values)
    dataset = open_array(str(tmp_path / "s.zarr"), "/v")
    expected = np.stack([to_raster(v, order, -1) for v in values.reshape(6, -1)])
    assert dataset.RasterCount == 6
    assert np.array_equal(dataset.ReadAsArray(), expected)
    assert np.array_equal(dataset.ReadAsArray(30, 20, 11, 40, band_list=[5, 1, 2]), expected[[4, 0, 1], 20:60, 30:41])
    part = open_ours(name_of(str(tmp_path / "s.zarr"), "/v:time=1"))
    assert np.array_equal(part.ReadAsArray(), expected[2:4])


def test_arrays_of_the_same_cells_are_one_dataset(tmp_path):
    order = 3
    n = 12 * 4**order
    path = put_store(tmp_path / "s.zarr", order, np.arange(n, dtype="int32"), name="a")
    b = put_values(tmp_path / "s.zarr/b", np.arange(2 * n, dtype="float32").reshape(2, n))
    assert len(open_ours(name_of(path)).GetSubDatasets()) == 2
    dataset = open_array(path, "/")
    assert dataset.RasterCount == 3
    assert held_band(dataset, 1).GetDescription() == "a"
    expected = np.stack([to_raster(np.arange(n, dtype="float64"), order, -1)] + [to_raster(v.astype("float64"), order, np.nan) for v in b])
    assert np.array_equal(dataset.ReadAsArray().astype("float64"), expected, equal_nan=True)


# ------------------------------------------------------------------------------------------------------- what a raster says

def test_scale_unit_and_nodata_are_those_of_the_array(tmp_path):
    order = 2
    path = tmp_path / "s.zarr"
    oracle.put(path, {"zarr.json": group_meta(dggs(order))})
    put_values(path / "v", np.arange(12 * 4**order, dtype="int16"),
               attributes={"scale_factor": 0.5, "add_offset": 3.0, "units": "K", "_FillValue": 7})
    band = held_band(open_array(str(path), "/v"))
    assert (band.GetScale(), band.GetOffset(), band.GetUnitType(), band.GetNoDataValue()) == (0.5, 3.0, "K", 7)
    assert band.ReadAsArray(19, 0, 1, 1)[0, 0] == 7


def test_without_nodata_a_mask_marks_pixels_without_a_cell(tmp_path):
    order = 3
    path = tmp_path / "s.zarr"
    oracle.put(path, {"zarr.json": group_meta(dggs(order))})
    put_values(path / "v", np.arange(12 * 4**order, dtype="int16"), attributes={"gdal:no_nodata": True})
    put_values(path / "f", np.arange(12 * 4**order, dtype="float32"), fill=0.0, attributes={"gdal:no_nodata": True})
    band = held_band(open_array(str(path), "/v"))
    assert band.GetNoDataValue() is None and band.GetMaskFlags() == gdal.GMF_PER_DATASET
    assert np.array_equal(band.GetMaskBand().ReadAsArray(), np.where(plane_cells(order) >= 0, 255, 0))
    band = held_band(open_array(str(path), "/f"))
    assert np.isnan(band.GetNoDataValue())
    assert np.array_equal(np.isnan(band.ReadAsArray()), plane_cells(order) < 0)


# ------------------------------------------------------------------------------------------------------------------- faces

def test_faces_open_by_name_and_are_not_listed(tmp_path, places):
    """QGIS and rioxarray would take the twelve, and not the map."""
    order = 8
    path = put_store(tmp_path / "s.zarr", order)
    assert open_ours(path).RasterCount == open_array(path, "/v").RasterCount == 1
    assert open_ours(path).GetSubDatasets() == open_array(path, "/v").GetSubDatasets() == []
    names = [name_of(path, "/v:face=%d" % face) for face in range(12)]
    p = places[order]
    cells = p["wgs84"].astype("int64")
    for face, name in enumerate(names):
        one = open_ours(name)
        assert (one.RasterXSize, one.RasterYSize) == (256, 256)
        assert np.array_equal(one.ReadAsArray(), face_cells(order, face))
        here = cells // 4**order == face
        columns, rows = pixels_of(one, p["lon"][here], p["lat"][here])
        assert np.array_equal(one.ReadAsArray()[rows, columns], cells[here])


def test_slices_of_a_face_are_listed(tmp_path):
    path = put_store(tmp_path / "s.zarr", 1, np.arange(96).reshape(2, 1, 48))
    found = subdatasets(open_ours(name_of(path, "/v:face=3"), ["MULTIBAND=NO"]))
    assert np.array_equal(open_ours(found["/v:1:0:face=3"][0]).ReadAsArray(), 48 + face_cells(1, 3).astype("int64")) and len(found) == 2


def test_absent_face_is_an_error(tmp_path):
    path = put_store(tmp_path / "s.zarr", 1)
    for wrong in ("12", "-1", "x", ""):
        assert "face=0 to face=11" in error_of(lambda: open_ours(name_of(path, "/v:face=" + wrong)))


# ------------------------------------------------------------------------------------------------- other ways to say it

def put_mapped(path, mapping, order, dimension="cell", **members):
    oracle.put(path, {"zarr.json": group_meta()})
    oracle.write(path / "crs", plain_meta([], "int32", attributes=mapping, dimension_names=[]), np.zeros((), "int32"))
    put_values(path / "v", np.arange(12 * 4**order, dtype="int32"), dimension_names=[dimension], **members)
    return str(path)


@pytest.mark.parametrize("scheme", ["nest", "ring"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_grid_mapping_of_easygems(tmp_path, places, scheme, is_named):
    path = put_mapped(tmp_path / "s.zarr", {"grid_mapping_name": "healpix", "healpix_nside": 8, "healpix_order": scheme}, 3,
                      attributes={"grid_mapping": "crs"} if is_named else {})
    p = places[3]
    cells = p["sphere" if scheme == "nest" else "sphere_ring"].astype("int32")
    dataset = open_array(path, "/v")
    assert np.array_equal(values_at(dataset, p["lon"], p["lat"]), cells)
    assert dataset.GetSpatialRef().GetSemiMajor() == 6370997


def test_a_grid_mapping_of_cf_113(tmp_path, places):
    path = put_mapped(tmp_path / "s.zarr", {"grid_mapping_name": "healpix", "refinement_level": 3, "indexing_scheme": "nested",
                                            "semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563}, 3, "x", attributes={"grid_mapping": "crs"})
    p = places[3]
    assert np.array_equal(values_at(open_array(path, "/v"), p["lon"], p["lat"]), p["wgs84"].astype("int32"))


# --------------------------------------------------------------------------------------------------------- hostile, and large

@pytest.mark.parametrize("said, length", [
    ({"refinement_level": 40}, 768), ({"refinement_level": -1}, 768), ({"refinement_level": None}, 768), ({"refinement_level": 3}, 767),
    ({"refinement_level": 3.5}, 768), ({"indexing_scheme": "zuniq"}, 768), ({"spatial_dimension": "nowhere"}, 768), ({"coordinate": "nothing"}, 768),
    ({"ellipsoid": {"semimajor_axis": -1}}, 768), ({"ellipsoid": {"semimajor_axis": "x"}}, 768), ({"compression": "zip"}, 768), ({"coordinate": "v"}, 768)])
def test_inconsistent_healpix_attributes_open_as_one_row(tmp_path, said, length):
    path = put_store(tmp_path / "s.zarr", 3, np.arange(length, dtype="int32"), **said)
    dataset = open_array(path, "/v")
    assert (dataset.RasterXSize, dataset.RasterYSize) == (length, 1)


def test_healpix_no_opens_a_row(tmp_path):
    path = put_store(tmp_path / "s.zarr", 3)
    dataset = open_array(path, "/v", options=["HEALPIX=NO"])
    assert (dataset.RasterXSize, dataset.RasterYSize) == (768, 1)
    assert np.array_equal(dataset.ReadAsArray()[0], np.arange(768))


def test_a_map_numbered_by_rings_is_read_only(tmp_path):
    path = put_store(tmp_path / "s.zarr", 3, scheme="ring")
    assert "HEALPIX=NO" in error_of(lambda: gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE))
    assert gdal.OpenEx(name_of(path, "/v"), gdal.OF_RASTER | gdal.OF_UPDATE, open_options=["HEALPIX=NO"]).RasterYSize == 1


@pytest.mark.parametrize("order", [19, 28])
def test_fine_orders_open_and_read(tmp_path, order):
    path = tmp_path / "s.zarr"
    oracle.put(path, {"zarr.json": group_meta(dggs(order))})
    oracle.put(path / "v", {"zarr.json": array_meta([12 * 4**order], "uint8", [4**12], [sharding([4**9], LITTLE)], fill_value=3, dimension_names=["cells"])})
    dataset = open_array(str(path), "/v")
    assert dataset.RasterXSize == 5 << order
    assert (held_band(dataset).ReadAsArray((5 << order) // 2 - 50, (5 << order) // 2 - 50, 100, 100) == 3).all()
    assert np.isfinite(geotransform(dataset)).all()


# --------------------------------------------------------------------------------------------------------- some cells, listed

def put_cells(path, order, cells, coordinate=None, scheme="nested", data_type="uint64", chunk=512, **said):
    """A store of some cells, each with its own number, and their coordinate."""
    cells = np.asarray(cells)
    coordinate = cells if coordinate is None else np.asarray(coordinate)
    oracle.put(path, {"zarr.json": group_meta(dggs(order, scheme, coordinate="cell_ids", **said))})
    put_values("%s/v" % path, cells.astype("int64"), chunk=chunk)
    oracle.write("%s/cell_ids" % path, array_meta(coordinate.shape, data_type, coordinate.shape, [LITTLE], dimension_names=["cells", "ends"][:coordinate.ndim]),
                 coordinate.astype(data_type))
    return str(path)


def region(order, seed=0, share=0.3):
    """Some cells, growing: whole squares, and single ones."""
    rng = np.random.default_rng(seed)
    n = 12 * 4**order
    chosen = np.repeat(rng.random(n // 16) < share, 16) | (rng.random(n) < 0.02)
    return np.nonzero(chosen)[0]


@pytest.mark.parametrize("data_type", ["uint64", "int64", "int32"])
@pytest.mark.parametrize("arranged", ["sorted", "shuffled", "reversed"])
def test_cells_that_a_coordinate_lists(tmp_path, arranged, data_type):
    order = 5
    cells = region(order)
    cells = {"sorted": cells, "shuffled": np.random.default_rng(1).permutation(cells), "reversed": cells[::-1]}[arranged]
    dataset = open_array(put_cells(tmp_path / "s.zarr", order, cells, data_type=data_type), "/v")
    everywhere = plane_cells(order)
    whole = np.where(np.isin(everywhere, cells), everywhere, -1)
    assert np.array_equal(dataset.ReadAsArray(), whole)
    rng = np.random.default_rng(2)
    for _ in range(60):
        x, y = (int(v) for v in rng.integers(0, 5 << order, 2))
        width, height = int(rng.integers(1, min(40, (5 << order) - x) + 1)), int(rng.integers(1, min(40, (5 << order) - y) + 1))
        assert np.array_equal(dataset.ReadAsArray(x, y, width, height), whole[y:y + height, x:x + width])


@pytest.mark.parametrize("is_inclusive", [False, True])
def test_ranges_of_cells(tmp_path, is_inclusive):
    order = 5
    cells = region(order)
    first = np.nonzero(np.diff(np.append(-2, cells)) > 1)[0]
    last = np.append(first[1:], len(cells)) - 1
    rows = np.stack([cells[first], cells[last] + (not is_inclusive)], 1)
    path = put_cells(tmp_path / "s.zarr", order, cells, rows, compression="ranges")
    everywhere = plane_cells(order)
    assert np.array_equal(open_array(path, "/v").ReadAsArray(), np.where(np.isin(everywhere, cells), everywhere, -1))


def zuniq(order, cell):
    return (2 * cell + 1) << 2 * (29 - order)


def test_compacted_cells_as_healpix_geo_writes_them(tmp_path):
    order = 5
    cells = region(order)
    np.save(tmp_path / "cells.npy", cells)
    run_peer("healpix_compacted.py", order, tmp_path / "cells.npy", tmp_path / "compacted.npy")
    compacted = np.load(tmp_path / "compacted.npy")
    assert len(compacted) < len(cells)
    path = put_cells(tmp_path / "s.zarr", order, cells, compacted, compression="compacted")
    everywhere = plane_cells(order)
    assert np.array_equal(open_array(path, "/v").ReadAsArray(), np.where(np.isin(everywhere, cells), everywhere, -1))


@pytest.mark.parametrize("compacted", [[zuniq(4, 0)] * 8, [zuniq(2, 1), zuniq(3, 0)], [zuniq(1, 0)], [2], [0], [2**64 - 1], [zuniq(2, 0), zuniq(3, 2)]],
                         ids=["finer", "too many", "one too coarse", "no zuniq", "zero", "no face", "five of eight"])
def test_compacted_cells_that_do_not_fit_are_errors(tmp_path, compacted):
    path = put_cells(tmp_path / "s.zarr", 3, np.arange(8), compacted, compression="compacted", chunk=8)
    assert "/cell_ids" in error_of(open_array(path, "/v").ReadAsArray)


@pytest.mark.parametrize("cells, message", [([0, 5, 12 * 4**3], "order 3 has 768 cells"), ([3, 1, 3], "cell 3 is there twice"),
                                            ([-1, 2, 3], "order 3 has 768 cells"), ([2**63 - 1, 2, 3], "order 3 has 768 cells")])
def test_numbers_of_no_cell_are_errors(tmp_path, cells, message):
    dataset = open_array(put_cells(tmp_path / "s.zarr", 3, cells, data_type="int64", chunk=2), "/v")
    assert message in error_of(dataset.ReadAsArray)


def test_a_damaged_coordinate_is_an_error(tmp_path):
    path = put_cells(tmp_path / "s.zarr", 3, np.arange(8), chunk=8)
    with open(path + "/cell_ids/c/0", "wb") as file:
        file.write(b"short")
    assert "cell_ids" in error_of(open_array(path, "/v").ReadAsArray)


# -------------------------------------------------------------------------------------------------------------------- zagg

def morton(order, cells):
    """zagg's packed words; the last digits of orders 28 and 29 are told by the suffix."""
    def word(cell):
        base, path = divmod(cell, 4**order)
        if order <= 27:
            suffix, path = order, path << 2 * (27 - order)
        elif order == 28:
            suffix, path = 28 + path % 4 * 5, path >> 2
        else:
            suffix, path = 28 + path // 4 % 4 * 5 + path % 4 + 1, path >> 4
        return base + 1 << 60 | path << 6 | suffix
    return np.array([word(int(c)) for c in cells], "uint64")


def test_shard_group_of_zagg_is_a_healpix_map():
    path = fixture_path("zagg", "minimal", "1", "1", "2", "1", "3", "11213.zarr")
    with open(fixture_path("zagg", "minimal.expected.json")) as file:
        expected = json.load(file)
    dataset = open_array(path, "/6/count")
    assert dataset.RasterXSize == 5 << 6
    pixels = dataset.ReadAsArray()
    by_cell = {}
    for cell in expected["cells"]:
        word = int(cell["morton"])
        by_cell[((word >> 60) - 1) * 4**6 + ((word >> 6 & (1 << 54) - 1) >> 2 * 21)] = cell["count"]
    assert by_cell and {k: int(pixels[plane_cells(6) == k][0]) for k in by_cell} == by_cell
    assert not pixels[~np.isin(plane_cells(6), list(by_cell))].any()


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_flat_store_of_zagg(tmp_path, places, is_whole):
    order = 3
    cells = np.arange(12 * 4**order) if is_whole else np.append(np.random.default_rng(0).permutation(12 * 4**order)[:300], 0)
    words = morton(order, cells)
    words[-1] = 0  # not written
    cells = cells[:-1] if not is_whole else cells
    n = len(words)
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta(), "3/zarr.json": group_meta({"dggs": {
        "name": "morton", "refinement_level": order, "spatial_dimension": "cells", "ellipsoid": WGS84, "compression": "none", "coordinate": "morton"}})})
    values = np.append(cells, 4000)[:n].astype("int64")
    put_values(tmp_path / "s.zarr/3/v", values, chunk=64)
    put_values(tmp_path / "s.zarr/3/morton", words, chunk=64)
    p = places[order]
    found = p["sphere"].astype("int64")  # without a word of latitudes these are taken for a sphere's
    dataset = open_array(str(tmp_path / "s.zarr"), "/3/v")
    assert np.array_equal(values_at(dataset, p["lon"], p["lat"]), np.where(np.isin(found, cells), found, -1))


def test_a_word_of_another_order_is_an_error(tmp_path):
    oracle.put(tmp_path / "s.zarr", {"zarr.json": group_meta({"dggs": {
        "name": "morton", "refinement_level": 3, "spatial_dimension": "cells", "coordinate": "morton"}})})
    put_values(tmp_path / "s.zarr/v", np.arange(4, dtype="int64"))
    put_values(tmp_path / "s.zarr/morton", morton(4, [1, 2, 3, 4]))
    assert "no cell of order 3" in error_of(open_array(str(tmp_path / "s.zarr"), "/v").ReadAsArray)


# ----------------------------------------------------------------------------------------------------------- coarser orders

def put_orders(path, orders, links=None):
    """Groups called by their order, as zagg has them, each value the order and the cell."""
    oracle.put(path, {"zarr.json": group_meta(links)})
    for order in orders:
        oracle.put(path, {"%d/zarr.json" % order: group_meta(dggs(order))})
        put_values("%s/%d/v" % (path, order), np.arange(12 * 4**order, dtype="int64") + 10**9 * order)
    return str(path)


def test_coarser_orders_beside_it_are_overviews(tmp_path):
    path = put_orders(tmp_path / "s.zarr", [6, 5, 4, 2])
    dataset = open_array(path, "/6/v")
    band = held_band(dataset)
    assert [(band.GetOverview(i).XSize, band.GetOverview(i).YSize) for i in range(band.GetOverviewCount())] == [(160, 160), (80, 80)]
    for i, order in enumerate((5, 4)):
        assert np.array_equal(band.GetOverview(i).ReadAsArray(), to_raster(np.arange(12 * 4**order) + 10**9 * order, order, -1))
    assert np.array_equal(dataset.ReadAsArray(buf_xsize=80, buf_ysize=80), to_raster(np.arange(12 * 4**4) + 4 * 10**9, 4, -1))
    face = held_band(open_ours(name_of(path, "/6/v:face=6")))
    assert face.GetOverviewCount() == 2 and np.array_equal(face.GetOverview(1).ReadAsArray(), face_cells(4, 6).astype("int64") + 4 * 10**9)


def test_levels_of_multiscales_are_overviews(tmp_path):
    path = tmp_path / "s.zarr"
    layout = [{"asset": "fine"}, {"asset": "coarse", "derived_from": "fine", "transform": {"scale": [2.0]}}]
    oracle.put(path, {"zarr.json": group_meta({"zarr_conventions": [convention(MULTISCALES)], "multiscales": {"layout": layout}})})
    for name, order in (("fine", 5), ("coarse", 3)):
        oracle.put(path, {name + "/zarr.json": group_meta(dggs(order))})
        put_values(path / name / "v", np.arange(12 * 4**order, dtype="int32"))
    band = held_band(open_array(str(path), "/fine/v"))
    assert band.GetOverviewCount() == 1 and np.array_equal(band.GetOverview(0).ReadAsArray(), to_raster(np.arange(12 * 4**3), 3, -1))


def test_orders_of_a_shard_group_of_zagg_are_overviews():
    pyramid = fixture_path("zagg", "minimal", "1", "1", "2", "1", "3", "all.pyramid.zarr")
    dataset = gdal.OpenEx(name_of(pyramid, "/5/count"))
    assert dataset.RasterXSize == 5 << 5
    assert held_band(dataset).GetOverview(0).XSize == 5 << 4
    assert dataset.ReadAsArray().sum() == held_band(dataset).GetOverview(0).ReadAsArray().sum() > 0
