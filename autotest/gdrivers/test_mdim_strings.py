"""Arrays of text through the multidimensional API."""
import pytest
from osgeo import gdal

from mdim import attributes_of, root_of
from support import error_of, run_peer

NAMES = ["", "a", "Zürich", "a b", "日本", "x" * 20, "end", "", ""]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    run_peer("mdim_strings.py", folder)
    return folder / "names.zarr"


@pytest.mark.parametrize("kind", ["variable", "fixed", "bytes"])
@pytest.mark.parametrize("sharded", ["sharded", "plain"])
def test_texts_of_every_type_are_read(names, kind, sharded):
    array = root_of(names).OpenMDArray("%s_%s" % (kind, sharded))
    assert array.GetDataType().GetClass() == gdal.GEDTC_STRING
    assert array.Read() == NAMES
    assert array.Read([2], [3]) == NAMES[2:5]
    assert array.Read([6], [3], [-3]) == NAMES[6::-3]
    assert array.GetStructuralInfo()["CODECS"]


def test_texts_are_the_variable_of_their_dimension(names):
    root = root_of(names)
    name = root.OpenMDArray("value").GetDimensions()[0].GetIndexingVariable()
    assert (name.GetFullName(), name.Read(), attributes_of(name)) == ("/name", NAMES, {"long_name": "names"})
    assert root.OpenMDArray("value").GetView("[4,2]").Read() is not None


def test_texts_of_more_dimensions_are_refused_by_name(names):
    assert "one dimension, not of 2" in error_of(root_of(names).OpenMDArray, "square")


def test_texts_outside_are_refused(names):
    with pytest.raises(RuntimeError):
        root_of(names).OpenMDArray("variable_sharded").Read([8], [2])
