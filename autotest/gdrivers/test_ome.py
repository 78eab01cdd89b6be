"""Images of OME-NGFF: their group names the dimensions of arrays that name none, and their channels."""
import os

import pytest
from osgeo import gdal

import oracle
from stores import array_meta, counting, group_meta
from support import name_of, open_ours
from writing import document

TYPES = {"t": "time", "c": "channel"}
SHAPE = (2, 3, 4, 6)
CHANNELS = [{"label": "DAPI", "color": "0000FF"}, {"label": "488", "color": "00ff00"}]


def axes_of(names):
    return [{"name": n, "type": TYPES.get(n, "space")} for n in names]


def image(paths=("0",), **members):
    scale = [{"type": "scale", "scale": [1.0] * len(SHAPE)}]
    return {"datasets": [{"path": p, "coordinateTransformations": scale} for p in paths], **members}


def attributes_of(version, level="0", channels=CHANNELS, axes=None):
    """What a group says of an image with one level."""
    axes = axes or axes_of("czyx")
    omero = {"channels": channels}
    if version == "0.4":
        return {"multiscales": [image([level], axes=axes)], "omero": omero}
    if version == "0.5":
        return {"ome": {"version": "0.5", "multiscales": [image([level], axes=axes)], "omero": omero}}
    systems = [{"name": "other", "axes": axes_of("hgfe")}, {"name": "own", "axes": axes}]
    datasets = [{"path": level, "coordinateTransformations": [
        {"type": "scale", "scale": [1.0] * 4, "input": {"path": level}, "output": {"name": "own"} if version == "0.6" else "own"}]}]
    return {"ome": {"version": "0.6", "multiscales": [{"coordinateSystems": systems, "datasets": datasets}], "omero": omero}}


def write(path, version="0.5", level="0", **options):
    oracle.write(path, group_meta(attributes_of(version, level, **options)))
    if "/" in level:
        oracle.write("%s/%s" % (path, os.path.dirname(level)), group_meta())
    oracle.write("%s/%s" % (path, level), array_meta(list(SHAPE)), counting(SHAPE))
    return str(path)


def read(path, node):
    return open_ours(name_of(path, node)).ReadAsArray().squeeze()


def dimensions(path, array="0"):
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER, allowed_drivers=["ShardedZarr"])
    return [d.GetName() for d in dataset.GetRootGroup().OpenMDArrayFromFullname("/" + array).GetDimensions()]


@pytest.mark.parametrize("is_consolidated", [False, True], ids=["walked", "consolidated"])
@pytest.mark.parametrize("version, level", [("0.4", "0"), ("0.5", "0"), ("0.5", "scale0/image"), ("0.6", "0"), ("0.6rc", "0")])
def test_axes_of_an_image_name_the_dimensions_of_its_arrays(tmp_path, version, level, is_consolidated):
    path = write(tmp_path, version, level)
    if is_consolidated:
        oracle.consolidate(path)
    assert dimensions(path, level) == ["c", "z", "y", "x"]
    assert (read(path, "/%s:c=1:z=2" % level) == counting(SHAPE)[1, 2]).all()
    assert open_ours(name_of(path, "/" + level)).GetRasterBand(5).GetMetadataItem("DIM_z_INDEX") == "1"


@pytest.mark.parametrize("axes", [axes_of("zyx"), axes_of("cyyx"), [{"name": n} for n in (1, 2, 3, 4)], "czyx", [{}] * 4], ids=str)
def test_axes_that_cannot_be_names_name_nothing(tmp_path, axes):
    path = write(tmp_path, axes=axes)
    assert not set(dimensions(path)) & set("czyx")
    assert (open_ours(name_of(path, "/0")).ReadAsArray() == counting(SHAPE).reshape(6, 4, 6)).all()


def test_names_of_the_array_count_before_those_of_its_group(tmp_path):
    path = write(tmp_path)
    oracle.write(tmp_path / "0", array_meta(list(SHAPE), dimension_names=["a", "b", "y", "x"]), counting(SHAPE))
    assert dimensions(path) == ["a", "b", "y", "x"]


def test_overviews_of_an_image_without_names_are_found(tmp_path):
    path = write(tmp_path)
    dataset = gdal.OpenEx(name_of(path, "/0"), gdal.OF_UPDATE)
    assert dataset.BuildOverviews("NEAREST", [2]) == 0
    dataset = None
    dataset = open_ours(name_of(path, "/0"))
    band = dataset.GetRasterBand(1)
    assert band.GetOverviewCount() == 1 and (band.GetOverview(0).ReadAsArray() == counting(SHAPE)[0, 0, ::2, ::2]).all()


def test_levels_of_an_image_are_listed_with_those_that_are_made(tmp_path):
    path = str(tmp_path)
    oracle.write(path, group_meta({"ome": {"version": "0.5", "multiscales": [image("012", axes=axes_of("czyx"))]}}))
    for level in range(3):
        shape = [2, 3, 32 >> level, 64 >> level]
        oracle.write("%s/%d" % (path, level), array_meta(shape), counting(shape))
    for factors, expected in (([2, 8], [".", "1", "2", "ovr_8x"]), ([], [".", "1", "2"])):
        dataset = gdal.OpenEx(name_of(path, "/0"), gdal.OF_UPDATE)
        assert dataset.BuildOverviews("NEAREST" if factors else "NONE", factors) == 0
        dataset = None
        layout = document(path)["attributes"]["multiscales"]["layout"]
        assert [entry["asset"] for entry in layout] == expected


def test_channels_are_chosen_by_label_else_by_index(tmp_path):
    path = write(tmp_path)
    for chosen, index in (("DAPI", 0), ("488", 1), ("0", 0), ("1", 1)):
        assert (read(path, "/0:c=%s:z=2" % chosen) == counting(SHAPE)[index, 2]).all()
    for wrong in ("GFP", "2"):
        with pytest.raises(RuntimeError, match="c: "):
            read(path, "/0:c=%s" % wrong)


def test_channels_name_and_colour_bands(tmp_path):
    path = write(tmp_path)
    dataset = open_ours(name_of(path, "/0:z=1"))
    bands = [dataset.GetRasterBand(i) for i in (1, 2)]
    assert [b.GetDescription() for b in bands] == ["DAPI", "488"]
    assert [b.GetColorInterpretation() for b in bands] == [gdal.GCI_BlueBand, gdal.GCI_GreenBand]
    assert [b.GetMetadataItem("DIM_c_COLOR") for b in bands] == ["0000FF", "00ff00"]
    assert open_ours(name_of(path, "/0")).GetRasterBand(5).GetDescription() == "c=488, z=1"
    assert open_ours(name_of(path, "/0:c=1")).GetMetadataItem("DIM_c_VALUE") == "488"


@pytest.mark.parametrize("channels", [[], CHANNELS[:1], [{}, {}], "DAPI", [{"label": 5, "color": "red"}, 7]], ids=str)
def test_channels_that_are_not_those_of_the_array_name_nothing(tmp_path, channels):
    dataset = open_ours(name_of(write(tmp_path, channels=channels), "/0:z=1"))
    bands = [dataset.GetRasterBand(i) for i in (1, 2)]
    assert [b.GetDescription() for b in bands] == ["", ""]
    assert [b.GetColorInterpretation() for b in bands] == [gdal.GCI_Undefined] * 2
