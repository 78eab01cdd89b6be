"""Metadata domains: those of a source are the copy's, what is set is in the store, and a side-car file does not repeat it."""

import numpy as np
import pytest
from osgeo import gdal

from support import open_ours
from writing import check_consolidated, copy, document, driver, source

XMP = '<?xpacket begin="" id="x"?>\n<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>1 = 2</a></x:xmpmeta>'
RPC = {"LINE_OFF": "3", "SAMP_OFF": "4", "LAT_OFF": "0", "LONG_OFF": "0", "HEIGHT_OFF": "0", "LINE_SCALE": "5", "SAMP_SCALE": "5", "LAT_SCALE": "1",
       "LONG_SCALE": "1", "HEIGHT_SCALE": "1", "LINE_NUM_COEFF": "0 0 1" + " 0" * 17, "LINE_DEN_COEFF": "1" + " 0" * 19,
       "SAMP_NUM_COEFF": "0 1" + " 0" * 18, "SAMP_DEN_COEFF": "1" + " 0" * 19}


def raster(bands=2):
    return source(np.arange(bands * 60, dtype="uint8").reshape(bands, 6, 10))


def dressed():
    dataset = raster()
    dataset.SetMetadata({"a": "1", "with space": "x=y", "ü": "ö\n"}, "mine")
    dataset.SetMetadata([XMP], "xml:XMP")
    dataset.SetMetadata(['{"a": [1, "=2"]}'], "json:own")
    dataset.SetMetadata(RPC, "RPC")
    dataset.GetRasterBand(2).SetMetadata({"wavelength": "500"}, "spectral")
    dataset.GetRasterBand(2).SetMetadata([XMP], "xml:band")
    return dataset


def check(made):
    assert made.GetMetadata("mine") == {"a": "1", "with space": "x=y", "ü": "ö\n"} and made.GetMetadataItem("a", "mine") == "1"
    assert made.GetMetadata_List("xml:XMP") == [XMP] and made.GetMetadata_List("json:own") == ['{"a": [1, "=2"]}']
    assert made.GetMetadata("RPC") == RPC
    assert made.GetRasterBand(2).GetMetadata("spectral") == {"wavelength": "500"} and made.GetRasterBand(2).GetMetadata_List("xml:band") == [XMP]
    assert not made.GetRasterBand(1).GetMetadata("spectral")
    assert {"mine", "xml:XMP", "json:own", "RPC"} <= set(made.GetMetadataDomainList())
    assert {"spectral", "xml:band"} <= set(made.GetRasterBand(2).GetMetadataDomainList())
    assert not any("domain" in key for key in (made.GetMetadata() or {}))


@pytest.mark.parametrize("options", [{}, {"INTERLEAVE": "PIXEL"}, {"OVERVIEWS": "2"}], ids=str)
def test_domains_of_a_source_are_those_of_its_copy_and_of_the_copy_of_that(tmp_path, options):
    first = copy(tmp_path / "a.zarr", dressed(), **options)
    check(first)
    check(copy(tmp_path / "b.zarr", first, **options))
    check_consolidated(tmp_path / "a.zarr")
    assert "a=1" in document(tmp_path / "a.zarr", "a")["attributes"]["gdal:metadata_domains"]["mine"]


def test_rpc_items_of_a_copy_georeference_it(tmp_path):
    made = copy(tmp_path / "a.zarr", dressed())
    transformers = [gdal.Transformer(dataset, None, ["METHOD=RPC"]) for dataset in (made, dressed())]
    assert transformers[0].TransformPoint(0, 3, 2) == transformers[1].TransformPoint(0, 3, 2)


@pytest.mark.parametrize("when", ["made", "updated"])
def test_domains_that_are_set_are_in_the_store(tmp_path, config, when):
    config("GDAL_PAM_ENABLED", "YES")
    path = str(tmp_path / "a.zarr")
    made = driver().Create(path, 10, 6, 2, gdal.GDT_Byte, ["ARRAY_NAME=v", "OVERVIEWS=NONE"])
    if when == "updated":
        made = None
        made = gdal.Open(path, gdal.GA_Update)
    from_raster = dressed()
    for domain in ("mine", "RPC"):
        made.SetMetadata(from_raster.GetMetadata(domain), domain)
    made.SetMetadata([XMP], "xml:XMP")
    made.SetMetadata(['{"a": [1, "=2"]}'], "json:own")
    made.GetRasterBand(2).SetMetadataItem("wavelength", "500", "spectral")
    made.GetRasterBand(2).SetMetadata([XMP], "xml:band")
    made = None
    check(open_ours(path))
    check_consolidated(path)
    assert not list(tmp_path.rglob("*.aux.xml"))


def test_a_domain_is_changed_and_removed_and_others_stay(tmp_path):
    path = str(tmp_path / "a.zarr")
    copy(path, dressed(), ARRAY_NAME="v")
    made = gdal.Open(path, gdal.GA_Update)
    made.SetMetadataItem("a", "2", "mine")
    made.SetMetadata([], "RPC")
    made.GetRasterBand(1).SetMetadataItem("b", "3", "spectral")
    made = None
    made = open_ours(path)
    assert made.GetMetadata("mine") == {"a": "2", "with space": "x=y", "ü": "ö\n"} and not made.GetMetadata("RPC")
    assert made.GetMetadata_List("xml:XMP") == [XMP]
    assert [made.GetRasterBand(n).GetMetadata("spectral") for n in (1, 2)] == [{"b": "3"}, {"wavelength": "500"}]
