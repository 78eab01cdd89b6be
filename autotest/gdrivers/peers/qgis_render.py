"""What QGIS makes of rasters that are loaded by their names: whether each is a layer, how it is drawn, and the picture.

    QT_QPA_PLATFORM=offscreen python3 qgis_render.py DIR

DIR/layers.json is a list of names; DIR/answers.json has for each an object: `valid`, `renderer`, `bands`, `sublayers` as [name, description, URI],
`times` of the bands by the expression to_datetime(@band_description);
DIR/<number>.png is the picture of a valid one.
"""
import json
import sys

from qgis.core import (QgsApplication, QgsExpression, QgsExpressionContext, QgsExpressionContextScope, QgsMapRendererParallelJob, QgsMapSettings,
                       QgsProviderRegistry, QgsRasterLayer)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor


def picture(layer, path):
    """Draws a layer with the style that QGIS gives it."""
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(layer.crs())
    settings.setExtent(layer.extent())
    settings.setOutputSize(QSize(200, 150))
    settings.setBackgroundColor(QColor(255, 0, 255))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    job.renderedImage().save(path, "PNG")


def times(layer):
    """What the dialog for a fixed time range per band makes of its bands; None before QGIS 3.38, which has no such dialog."""
    if not hasattr(layer.dataProvider(), "bandDescription"):
        return None
    answers = []
    for band in range(1, layer.bandCount() + 1):
        scope = QgsExpressionContextScope()
        scope.setVariable("band_description", layer.dataProvider().bandDescription(band))
        value = QgsExpression("to_datetime(@band_description)").evaluate(QgsExpressionContext([scope]))
        answers.append(value.toString("yyyy-MM-ddTHH:mm:ss") if value is not None else None)
    return answers


def look(number, name):
    sublayers = [[s.name(), s.description(), s.uri()] for s in QgsProviderRegistry.instance().querySublayers(name)]
    layer = QgsRasterLayer(name, "layer", "gdal")
    if not layer.isValid():
        return {"valid": False, "sublayers": sublayers}
    picture(layer, "%s/%d.png" % (sys.argv[1], number))
    renderer = layer.renderer()
    return {"valid": True, "renderer": renderer.type(), "bands": renderer.usesBands(), "sublayers": sublayers, "crs": layer.crs().authid(),
            "times": times(layer), "temporal": layer.dataProvider().temporalCapabilities().hasTemporalCapabilities()}


application = QgsApplication([], False)
application.initQgis()
with open(sys.argv[1] + "/layers.json") as file:
    names = json.load(file)
answers = [look(number, name) for number, name in enumerate(names)]
with open(sys.argv[1] + "/answers.json", "w") as file:
    json.dump(answers, file)
application.exitQgis()
