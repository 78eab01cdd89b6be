"""What a raster means survives the copy: nodata, scale, names, categories, colours, metadata, statistics; and fill is not stored."""
import json
import os

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import array_meta, group_meta, plain_meta, random_values
from support import assert_same, error_of, name_of, open_array, open_ours, subdatasets, warnings_of
from writing import UTM, check_consolidated, copy, document, driver, only_array, source


def values(shape, data_type="uint8", seed=0):
    return random_values(np.random.default_rng(seed), data_type, shape)


def properties(band):
    """All that GDAL says of a band, but for what is of the driver: DIM_* metadata and the description of unnamed bands."""
    table, statistics = band.GetColorTable(), band.GetStatistics(False, False)
    return {"nodata": band.GetNoDataValue(), "scale": band.GetScale(), "offset": band.GetOffset(), "unit": band.GetUnitType(),
            "categories": band.GetCategoryNames(), "colour": band.GetColorInterpretation(), "description": band.GetDescription(),
            "table": table and [table.GetColorEntry(i) for i in range(table.GetCount())], "statistics": statistics,
            "metadata": {k: v for k, v in band.GetMetadata().items() if not k.startswith(("DIM_", "STATISTICS_"))}}


def dressed(array, **more):
    """A raster whose bands differ in all that bands may differ in."""
    dataset = source(array, UTM, "EPSG:32633", **more)
    dataset.SetMetadata({"AUTHOR": "somebody", "text": 'with "quotes", = and\nlines', "TIFFTAG_DATETIME": "2024:01:02", "empty": "", "ü": "ö"})
    for number in range(1, dataset.RasterCount + 1):
        band = dataset.GetRasterBand(number)
        band.SetDescription("band number %d" % number)
        band.SetScale(0.5 * number)
        band.SetOffset(-100.25 * number)
        band.SetUnitType("m" if number % 2 else "K")
        band.SetColorInterpretation([gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand, gdal.GCI_AlphaBand][number - 1])
        band.SetMetadata({"wavelength": "%d" % (400 + number), "common": "yes"})
    return dataset


@pytest.mark.parametrize("bands", [1, 3, 4])
@pytest.mark.parametrize("options", [{}, {"INTERLEAVE": "PIXEL"}, {"GEOREFERENCING": "CF"}, {"GEOREFERENCING": "SPATIAL_PROJ"}], ids=str)
def test_band_properties_survive_a_copy(tmp_path, bands, options):
    before = dressed(values((bands, 30, 40), "int16"), nodata=-1)
    after = copy(tmp_path / "a.zarr", before, **options)
    for number in range(1, bands + 1):
        assert properties(after.GetRasterBand(number)) == properties(before.GetRasterBand(number))
    expected, found = before.GetMetadata(), after.GetMetadata()
    assert {k: found.get(k) for k in expected} == expected
    check_consolidated(tmp_path / "a.zarr")
    again = copy(tmp_path / "b.zarr", after, **options)
    assert again.GetMetadata() == found
    assert [properties(again.GetRasterBand(b)) for b in range(1, bands + 1)] == [properties(after.GetRasterBand(b)) for b in range(1, bands + 1)]


def test_array_per_band_keeps_its_metadata(tmp_path):
    before = dressed(values((2, 30, 40), "int16"))
    driver().CreateCopy(str(tmp_path / "a.zarr"), before, options=["SINGLE_ARRAY=NO", "OVERVIEWS=NONE"])
    parts = [band["name"] for band in document(tmp_path / "a.zarr")["attributes"]["gdal:bands"]]
    assert len(parts) == 2
    for number, name in enumerate(parts, 1):
        opened = open_array(tmp_path / "a.zarr", "/" + name)
        assert properties(opened.GetRasterBand(1)) == properties(before.GetRasterBand(number))


@pytest.mark.parametrize("count", [3, 256])
def test_a_colour_table_survives(tmp_path, count):
    before, table = source((values((30, 40)).astype(int) % count).astype("uint8")), gdal.ColorTable()
    for i in range(count):
        table.SetColorEntry(i, (i % 256, 255 - i, (7 * i) % 256, 255 if i else 0))
    before.GetRasterBand(1).SetColorTable(table)
    after = copy(tmp_path / "a.zarr", before)
    expected = properties(before.GetRasterBand(1))
    expected["table"] += [(0, 0, 0, 255)] * (256 - count)  # as GTiff has it of bytes
    assert properties(after.GetRasterBand(1)) == expected
    assert after.GetRasterBand(1).GetColorInterpretation() == gdal.GCI_PaletteIndex


def statistics_in(path):
    """Those that a store holds, by band: [(minimum, maximum, mean, standard deviation) or None]."""
    keys = ["STATISTICS_" + key for key in ("MINIMUM", "MAXIMUM", "MEAN", "STDDEV")]
    store = open_ours(str(path))
    datasets = [open_ours(name) for name, _ in subdatasets(store).values()] if store.GetSubDatasets() else [store]
    found = [dataset.GetRasterBand(band + 1).GetMetadata() for dataset in datasets for band in range(dataset.RasterCount)]
    assert not [name for name in os.listdir(str(path.parent)) + os.listdir(str(path)) if name.endswith(".aux.xml")]
    return [tuple(float(one[key]) for key in keys) if keys[0] in one else None for one in found]


def with_a_hole():
    """Three bands: one with nodata in it, one of nodata alone, one without."""
    array = np.random.default_rng(3).integers(1, 200, (3, 60, 70)).astype("int16")
    array[0, 10:30], array[1] = 0, 0
    valid = [band[band != 0] for band in array]
    return array, [(band.min(), band.max(), band.mean(), band.std()) if band.size else None for band in valid]


def assert_statistics(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one == (other and pytest.approx(other))


@pytest.mark.parametrize("options", [{}, {"SINGLE_ARRAY": "NO"}])
def test_statistics_that_are_asked_for_are_in_the_store(tmp_path, options):
    array, expected = with_a_hole()
    seen = []
    _, messages = warnings_of(lambda: driver().CreateCopy(
        str(tmp_path / "a.zarr"), source(array, nodata=0), callback=lambda done, *_: seen.append(done) or 1,
        options=["STATISTICS=YES", "CHUNK_SHAPE=16"] + ["%s=%s" % option for option in options.items()]))
    assert messages == [] and seen == sorted(seen) and seen[-1] == 1
    assert_statistics(statistics_in(tmp_path / "a.zarr"), expected)
    check_consolidated(tmp_path / "a.zarr")


@pytest.mark.parametrize("data_type, nodata", [("uint8", 0), ("uint8", 255), ("int16", -32768), ("uint16", 65535), ("uint32", 2**32 - 1),
                                               ("float32", float("nan")), ("float64", -9999.5), ("float32", float("inf")), ("float32", float("-inf")),
                                               ("uint64", 2**64 - 1), ("int64", -2**63), ("int64", 2**53 + 1), ("float64", -1.7976931348623157e308)])
def test_nodata_is_fill_value_and_attribute(tmp_path, data_type, nodata):
    array = values((2, 30, 40), data_type)
    array[:, :16] = nodata
    dataset = copy(tmp_path / "a.zarr", source(array, nodata=nodata), CHUNK_SHAPE=8, SHARD_SHAPE=16)
    found = [dataset.GetRasterBand(b).GetNoDataValue() for b in (1, 2)]
    assert found == [nodata] * 2 or np.isnan(found).all() and np.isnan(nodata)
    _, meta, again = only_array(tmp_path / "a.zarr")
    assert_same(again, array)
    assert np.array_equal(oracle.fill_of(meta), np.array(nodata, data_type), equal_nan=np.isnan(nodata))
    assert "_FillValue" in meta["attributes"]


def test_a_nodata_value_that_the_type_cannot_hold_is_left_out_with_a_warning(tmp_path):
    array = values((30, 40))
    dataset, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "a.zarr"), source(array, nodata=-9999)))
    assert len(messages) == 1 and "-9999" in messages[0]
    assert dataset.GetRasterBand(1).GetNoDataValue() is None
    assert_same(dataset.ReadAsArray(), array)


# -------------------------------------------------------------------------------------------------------------- documents

def test_documents_are_strict_json_and_name_their_conventions(tmp_path):
    array = values((2, 30, 40), "float32")
    copy(tmp_path / "a.zarr", dressed(array, nodata=float("nan")), CHUNK_SHAPE=8, OVERVIEWS="2")

    def refuse(token):
        raise AssertionError("%s is no JSON" % token)
    for name in (tmp_path / "a.zarr").rglob("zarr.json"):
        meta = json.loads(name.read_text(), parse_constant=refuse)
        assert meta["zarr_format"] == 3 and meta["node_type"] in ("group", "array")
    conventions = document(tmp_path / "a.zarr")["attributes"]["zarr_conventions"]
    assert {c["name"].rstrip(":") for c in conventions} == {"spatial", "proj", "multiscales"} and all(c["uuid"] for c in conventions)


def test_irregular_coordinates_without_a_transform_are_warned_of(tmp_path):
    oracle.put(tmp_path / "in.zarr", {"zarr.json": group_meta()})
    oracle.write(tmp_path / "in.zarr" / "a", plain_meta((6, 8), "float32", dimension_names=["lat", "lon"]), np.ones((6, 8), "float32"))
    for name, unit, places in (("lat", "degrees_north", [60, 50, 45, 30, 28, 1]), ("lon", "degrees_east", range(8))):
        oracle.write(tmp_path / "in.zarr" / name, plain_meta((len(places),), attributes={"units": unit}, dimension_names=[name]), np.array(places, "float64"))
    irregular = open_ours(name_of(tmp_path / "in.zarr", "/a"))
    _, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "out.zarr"), irregular, strict=0))
    assert any("coordinates of X or Y that are not regular" in message for message in messages)
    assert "not regular" in error_of(lambda: driver().CreateCopy(str(tmp_path / "strict.zarr"), irregular, strict=1))
    assert not (tmp_path / "strict.zarr").exists()


@pytest.mark.parametrize("data_type, fill, declared", [
    ("uint8", 0, None), ("int32", 7, None), ("float32", 0.0, None), ("float64", "NaN", None), ("int16", 0, 0), ("int16", 0, -9)])
def test_a_copy_declares_a_fill_value_where_its_source_does(tmp_path, data_type, fill, declared):
    """xarray masks what is declared: zeros, False and first dates became missing."""
    attributes = {} if declared is None else {"_FillValue": declared}
    oracle.put(str(tmp_path / "s.zarr"), {"zarr.json": group_meta()})
    array = values((6, 8), data_type)
    oracle.write(str(tmp_path / "s.zarr/v"), array_meta((6, 8), data_type, (3, 4), fill_value=fill, attributes=attributes), array)
    gdal.Translate(str(tmp_path / "r.zarr"), open_ours(str(tmp_path / "s.zarr")), format="ShardedZarr", creationOptions=["ARRAY_NAME=v"])
    gdal.MultiDimTranslate(str(tmp_path / "m.zarr"), gdal.OpenEx(str(tmp_path / "s.zarr"), gdal.OF_MULTIDIM_RASTER), format="ShardedZarr")
    for name in ("r.zarr", "m.zarr"):
        found = document(tmp_path / name, "v")
        assert ("_FillValue" in found["attributes"]) == (declared is not None)
        assert open_ours(str(tmp_path / name)).GetRasterBand(1).GetNoDataValue() == pytest.approx(
            open_ours(str(tmp_path / "s.zarr")).GetRasterBand(1).GetNoDataValue(), nan_ok=True)


LATIN_1 = {
    "items": ('<Metadata><MDI key="größe">Müller</MDI></Metadata>', ""),
    "domains": ('<Metadata domain="Höhe"><MDI key="A">Müller</MDI></Metadata>', ""),
    "CRS": ('<SRS>LOCAL_CS["Straße",UNIT["metre",1]]</SRS><GeoTransform>0,1,0,0,0,-1</GeoTransform>', ""),
    "points": ('<GCPList Projection="LOCAL_CS[&quot;Straße&quot;,UNIT[&quot;metre&quot;,1]]"><GCP Pixel="0" Line="0" X="1" Y="2"/></GCPList>', ""),
    "bands": ("", '<Description>Höhe</Description><UnitType>°C</UnitType><Metadata><MDI key="größe">é</MDI></Metadata>'
                  "<CategoryNames><Category>Wälder</Category></CategoryNames>"),
    "dimensions": ('<Metadata><MDI key="größe#units">°C</MDI></Metadata>', '<Metadata><MDI key="NETCDF_DIM_größe">%d</MDI></Metadata>'),
}


def latin_1_vrt(path, texts):
    dataset, band = texts
    bands = "".join('<VRTRasterBand dataType="Byte" band="%d">%s</VRTRasterBand>' % (n, band.replace("%d", str(n))) for n in (1, 2))
    path.write_bytes(('<VRTDataset rasterXSize="20" rasterYSize="10">%s%s</VRTDataset>' % (dataset, bands)).encode("latin-1"))
    return gdal.Open(str(path))


def all_documents(path):
    return [json.loads(file.read_bytes().decode("utf-8")) for file in path.rglob("zarr.json")]


@pytest.mark.parametrize("kind", LATIN_1)
def test_latin_1_texts_are_copied_as_utf_8_with_one_warning(tmp_path, kind):
    before = latin_1_vrt(tmp_path / "a.vrt", LATIN_1[kind])
    made, messages = warnings_of(lambda: driver().CreateCopy(str(tmp_path / "a.zarr"), before, options=["OVERVIEWS=NONE"]))
    assert made is not None and len(messages) == 1 and "Latin-1" in messages[0], messages
    del made
    written = json.dumps(all_documents(tmp_path / "a.zarr"), ensure_ascii=False)
    words = [word for word in ("größe", "Müller", "Höhe", "Straße", "°C", "Wälder") if word in "".join(LATIN_1[kind])]
    assert [word for word in words if word not in written] == []


@pytest.mark.parametrize("data_type, fill, attributes", [("uint8", 0, {}), ("float32", "NaN", {}), ("int64", 9, {"_FillValue": 3})])
def test_a_copy_through_virtual_datasets_declares_a_fill_value_where_its_source_does(tmp_path, data_type, fill, attributes):
    path = str(tmp_path / "a.zarr")
    oracle.put(path, {"zarr.json": group_meta()})
    meta = array_meta((2, 4, 5), data_type, fill_value=fill, attributes=attributes, dimension_names=["t", "y", "x"])
    for name in ("v", "g/v"):
        oracle.write(os.path.join(path, name), meta, np.full((2, 4, 5), 1, data_type))
    oracle.put(path, {"g/zarr.json": group_meta()})
    whole = open_array(path, "/v")
    gdal.Translate(str(tmp_path / "one.vrt"), whole, bandList=[2], format="VRT")
    gdal.Translate(str(tmp_path / "two.vrt"), str(tmp_path / "one.vrt"), format="VRT", width=10, height=8)
    copies = {"a band of it": gdal.Translate("", whole, format="VRT", bandList=[2]), "one": gdal.Open(str(tmp_path / "one.vrt")), "two": gdal.Open(str(tmp_path / "two.vrt"))}
    for name, dataset in copies.items():
        gdal.Translate(str(tmp_path / name), dataset, format="ShardedZarr", creationOptions=["ARRAY_NAME=v"])
        assert ("_FillValue" in document(tmp_path / name, "v")["attributes"]) == bool(attributes), name
    for name in ("v", "g/v"):
        made = str(tmp_path / name.replace("/", ""))
        gdal.MultiDimTranslate(made, 'SHARDEDZARR:"%s"' % path, format="ShardedZarr", arraySpecs=["name=/%s,dstname=v,view=[1:2,...]" % name])
        found, = [meta for meta in all_documents(tmp_path / name.replace("/", "")) if len(meta.get("shape", [])) == 3]
        assert ("_FillValue" in found["attributes"]) == bool(attributes), name
