/* Tells what a copy loses of its source, in one list, and finds names and tables that it keeps. */
#include "copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "gdal/guard.h"
#include "gdal/raster/dataset.h"

extern "C"
{
#include "geo/conventions.h"
#include "geo/variables.h"
}

/* ---- What a virtual source is read from ---- */

/* The element of a band or an array, whose path is seen from the group that holds the nodes; null: there is none. */
static const CPLXMLNode *findElement(const CPLXMLNode *node, const std::string &path)
{
    const CPLXMLNode *found = nullptr;
    for (; node != nullptr && found == nullptr; node = node->psNext)
    {
        if (node->eType != CXT_Element)
            continue;
        const bool isGroup = EQUAL(node->pszValue, "Group"), isBand = EQUAL(node->pszValue, "VRTRasterBand");
        const std::string name = CPLGetXMLValue(node, isBand ? "band" : "name", ""), above = name + "/";
        if ((isBand || EQUAL(node->pszValue, "Array")) && name == path)
            found = node;
        else if (EQUAL(node->pszValue, "VRTDataset") || (isGroup && name == "/"))
            found = findElement(node->psChild, path);
        else if (isGroup && path.compare(0, above.size(), above) == 0)
            found = findElement(node->psChild, path.substr(above.size()));
    }
    return found;
}

/* The name of a source that is relative to the folder of a virtual dataset; from GDAL 3.8 on also one within a name of
 * a subdataset. */
static std::string fromFolder(const std::string &folder, const std::string &name)
{
    const auto project = [&folder](const char *path) { return CPLProjectRelativeFilename(folder.c_str(), path); };
#if ZS_GDAL_AT_LEAST(8)
    const ZSOwned<GDALSubdatasetInfo> info(GDALGetSubdatasetInfo(name.c_str()), GDALDestroySubdatasetInfo);
    if (info != nullptr)
    {
        const ZSOwned<char> path(GDALSubdatasetInfoGetPathComponent(info.get()), [](char *p) { CPLFree(p); });
        const std::string full = project(path.get());
        const ZSOwned<char> changed(GDALSubdatasetInfoModifyPathComponent(info.get(), full.c_str()),
                                    [](char *p) { CPLFree(p); });
        return changed.get();
    }
#endif
    return project(name.c_str());
}

bool zsFirstSource(GDALDataset &ds, const std::string &path, std::string &file, std::string &part)
{
    const auto xml = ds.GetMetadata("xml:VRT");
    if (xml == nullptr || xml[0] == nullptr)
        return false;
    const ZSOwned<CPLXMLNode> tree(CPLParseXMLString(xml[0]), CPLDestroyXMLNode);
    const CPLXMLNode *element = findElement(tree.get(), path);
    const CPLXMLNode *source = element != nullptr ? element->psChild : nullptr;
    while (source != nullptr && CPLGetXMLValue(source, "SourceFilename", nullptr) == nullptr)
        source = source->psNext;
    if (source == nullptr)
        return false;
    file = CPLGetXMLValue(source, "SourceFilename", "");
    if (CPLTestBool(CPLGetXMLValue(source, "SourceFilename.relativeToVRT", "0")))
        file = fromFolder(CPLGetPath(ds.GetDescription()), file);
    part = CPLGetXMLValue(source, "SourceArray", CPLGetXMLValue(source, "SourceBand", "1"));
    return true;
}

/* ---- What a copy declares ---- */

bool zsImpliesNodata(GDALRasterBand &band, const struct zs_raster_spec &spec, int depth)
{
    constexpr int MOST_DEEP = 16; // more than any made by hand
    unsigned char element[ZS_MAX_ITEM_SIZE] = {};
    std::string file, part;
    if (auto own = dynamic_cast<ShardedZarrRasterBand *>(&band))
        return own->ImpliesNodata() && ZSNodata(band).ToElement(spec.dtype.type, spec.dtype.size, element) &&
               memcmp(element, spec.nodata, spec.dtype.size) == 0;
    GDALDataset *virtualRaster = band.GetDataset();
    const ZSQuiet quiet;
    if (virtualRaster == nullptr || depth == MOST_DEEP ||
        !zsFirstSource(*virtualRaster, std::to_string(band.GetBand()), file, part))
        return false;
    const std::unique_ptr<GDALDataset> source(GDALDataset::Open(file.c_str(), GDAL_OF_RASTER));
    GDALRasterBand *below = source != nullptr ? source->GetRasterBand(atoi(part.c_str())) : nullptr;
    return below != nullptr && zsImpliesNodata(*below, spec, depth + 1);
}

/* The variable with an attribute of one of these values among netCDF's items, "" where there is none. */
static std::string variableWith(GDALDataset &source, const std::set<std::string> &attributes)
{
    CSLConstList items = source.GetMetadata();
    for (int i = 0; i < CSLCount(items); i++)
    {
        const char *hash = strchr(items[i], '#');
        if (hash != nullptr && attributes.count(hash + 1) > 0)
            return std::string(items[i], hash);
    }
    return "";
}

bool zsPlaneNames(GDALDataset &source, std::string &x, std::string &y)
{
    const auto own = dynamic_cast<ShardedZarrDataset *>(&source);
    if (own == nullptr)
    {
        x = variableWith(source, {"axis=X", "standard_name=longitude", "standard_name=projection_x_coordinate"});
        y = variableWith(source, {"axis=Y", "standard_name=latitude", "standard_name=projection_y_coordinate"});
    }
    else if (!own->View().IsHealpix() && own->View().Array(0).axes.y >= 0)
    {
        const ZSArray &array = own->View().Array(0);
        const char *names[] = {zs_dimension_name(array.node, array.axes.x),
                               zs_dimension_name(array.node, array.axes.y)};
        x = names[0] != nullptr ? names[0] : "";
        y = names[1] != nullptr ? names[1] : "";
    }
    return !x.empty() && !y.empty();
}

bool zsArePlaneNames(const std::string &x, const std::string &y)
{
    return x != y && zsIsArrayName(x) && zsIsArrayName(y) && zs_name_axis(x.c_str()) != 'Y' &&
           zs_name_axis(y.c_str()) != 'X';
}

/* The attribute table of a band that a store does not keep: its categories say all that is in the others. */
static const GDALRasterAttributeTable *tableBeside(GDALRasterBand &band)
{
    const GDALRasterAttributeTable *table = band.GetDefaultRAT();
    const auto own = dynamic_cast<ShardedZarrRasterBand *>(&band);
    const bool isKept = own != nullptr && own->IsTableInCategories();
    return table != nullptr && table->GetRowCount() > 0 && !isKept ? table : nullptr;
}

void zsCopyTables(GDALDataset &source, GDALDataset &copy)
{
    for (int b = 1; b <= std::min(source.GetRasterCount(), copy.GetRasterCount()); b++)
    {
        const auto table = tableBeside(*source.GetRasterBand(b));
        if (table != nullptr && copy.GetRasterBand(b)->SetDefaultRAT(table) != CE_None)
            CPLError(CE_Warning, CPLE_AppDefined, "%s: the attribute table of band %d is lost",
                     zsShown(copy.GetDescription()).c_str(), b);
    }
}

/* ---- What a copy would lose ---- */

namespace
{
/* A list in words, each once. */
struct Losses
{
    std::string text;

    void Add(bool isLost, const std::string &what)
    {
        if (isLost && ("; " + text + "; ").find("; " + what + "; ") == std::string::npos)
            text += (text.empty() ? "" : "; ") + what;
    }
};
} // namespace

static void addDomains(GDALMajorObject &object, Losses &losses)
{
    const CPLStringList domains(object.GetMetadataDomainList());
    for (int i = 0; i < domains.size(); i++)
        losses.Add(zsIsLostDomain(domains[i]) && CSLCount(object.GetMetadata(domains[i])) > 0,
                   std::string("metadata domain ") + domains[i]);
}

static void addBand(GDALRasterBand &band, GDALRasterBand &first, bool hasOneMask, bool hasSideCar, Losses &losses)
{
    int hasScale = FALSE, hasOffset = FALSE;
    const double scale = band.GetScale(&hasScale), offset = band.GetOffset(&hasOffset);
    const GDALColorTable *colours = band.GetColorTable();
    losses.Add((hasScale && !std::isfinite(scale)) || (hasOffset && !std::isfinite(offset)),
               "scale or offset that is not finite");
    losses.Add(colours != nullptr && colours->GetColorEntryCount() == 0, "colour table without entries");
    losses.Add(colours != nullptr && colours->GetPaletteInterpretation() != GPI_RGB, "colour table that is not of RGB");
#if !ZS_GDAL_AT_LEAST(7) // which has a type of its own
    const char *sign = band.GetMetadataItem("PIXELTYPE", "IMAGE_STRUCTURE");
    losses.Add(sign != nullptr && EQUAL(sign, "SIGNEDBYTE"),
               "PIXELTYPE=SIGNEDBYTE (bytes are written without a sign)");
#endif
    losses.Add(!hasOneMask && zsHasMask(band), "masks that are not one for all bands");
    addDomains(band, losses);
    losses.Add(!hasSideCar && tableBeside(band) != nullptr, "raster attribute table");
    losses.Add(band.GetRasterDataType() != first.GetRasterDataType(),
               "data types that differ between bands (all become one that holds them)");
    losses.Add(ZSNodata(band).Text() != ZSNodata(first).Text(),
               "nodata values that differ between bands (that of band 1 is written)");
}

/* Scalar coordinates, and texts along bands, which are descriptions: a raster has no other place for these. */
static void addScalars(const ZSView &view, Losses &losses)
{
    const struct zs_node *node = view.Array(0).node;
    struct zs_scope scope;
    zs_scope_find(view.store->hierarchy, node, &scope);
    const char *rest = zs_json_text(node->attributes, "coordinates", nullptr);
    const char *mapping = zs_json_text(node->attributes, "grid_mapping", nullptr);
    char word[256];
    while (rest != nullptr && (rest = zs_next_word(rest, word, sizeof word)) != nullptr)
    {
        const struct zs_node *variable = zs_scope_array(view.store->hierarchy, &scope, nullptr, word);
        losses.Add(variable != nullptr && variable->type == ZS_NODE_ARRAY &&
                       zs_json_size(zs_json_get(variable->document, "shape")) == 0 &&
                       strcmp(word, ZS_GRID_MAPPING) != 0 && !zs_has_word(mapping, word, true),
                   std::string("scalar coordinate ") + word + " (gdalmdimtranslate keeps it)");
    }
    for (int d = 0; node->array != nullptr && d < node->array->ndim; d++)
    {
        const char *name = zs_dimension_name(node, d);
        const struct zs_node *texts = name != nullptr ? zs_sibling(view.store->hierarchy, node, name) : nullptr;
        if (texts != nullptr && texts->is_text)
            losses.Add(true, std::string("texts of the coordinate ") + name +
                                 " but as descriptions (gdalmdimtranslate keeps them)");
    }
}

/* A value that is missing beside the nodata value: a band has one of these. */
static void addMissing(const ZSView &view, GDALRasterBand &band, Losses &losses)
{
    double missing;
    const zs_json *value = zs_json_get(view.Array(0).node->attributes, "missing_value");
    losses.Add(zs_json_double(value, &missing) && !std::isnan(missing) && missing != band.GetNoDataValue(),
               "missing_value beside another nodata value (gdalmdimtranslate keeps it)");
}

/* Whether items tell a scale that the band does not have: zsPropertiesOf() leaves them out. */
static bool hasItemsOfScale(GDALRasterBand &band)
{
    int hasScale = FALSE, hasOffset = FALSE;
    const bool isScaled = (band.GetScale(&hasScale) != 1 && hasScale) || (band.GetOffset(&hasOffset) != 0 && hasOffset);
    CSLConstList items = band.GetMetadata();
    return !isScaled &&
           (zsItemValue(items, "scale_factor") != nullptr || zsItemValue(items, "add_offset") != nullptr);
}

bool zsCheckLosses(const char *name, GDALDataset &source, bool hasSideCar, bool areCells, bool strict)
{
    Losses losses;
    losses.Add(!ZSGcps(source.GetGCPCount(), source.GetGCPs(), nullptr).isKept,
               "ground control points (more than 65536, or not finite)");
    const OGRSpatialReference *srs = source.GetSpatialRef(); // of which only WKT or code is written
    losses.Add(srs != nullptr && srs->GetCoordinateEpoch() > 0, "coordinate epoch of the CRS");
    double transform[6];
    losses.Add(zsReadTransform(source, transform) && !zs_transform_is_valid(transform),
               "geotransform that cannot be inverted");
    addDomains(source, losses);
    std::string x, y;
    losses.Add(zsPlaneNames(source, x, y) && !zsArePlaneNames(x, y), "the names of X and Y, " + x + " and " + y);
    const auto own = dynamic_cast<ShardedZarrDataset *>(&source);
    if (own != nullptr)
    {
        addScalars(own->View(), losses);
        addMissing(own->View(), *source.GetRasterBand(1), losses);
        losses.Add(own->HasIrregularAxes(),
                   "coordinates of X or Y that are not regular (gdalmdimtranslate keeps them)");
    }
    const bool hasOneMask = zsHasOneMask(source);
    losses.Add(areCells && hasOneMask && !(own != nullptr && own->HasAllCells()), "the mask, of HEALPix cells");
    bool hasItems = false;
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        addBand(*source.GetRasterBand(b), *source.GetRasterBand(1), hasOneMask, hasSideCar, losses);
        hasItems = hasItems || hasItemsOfScale(*source.GetRasterBand(b));
    }
    if (hasItems) // not a loss where the pixels are unscaled, which no one can tell
        CPLError(CE_Warning, CPLE_AppDefined,
                 "%s: left out are the items scale_factor and add_offset of bands without a scale: readers apply them",
                 zsShown(name).c_str());
    if (losses.text.empty())
        return true;
    if (strict)
        return zsRefuse(CPLE_NotSupported, "%s: not copied, because strict, and this would be lost: %s",
                        zsShown(name).c_str(), losses.text.c_str());
    CPLError(CE_Warning, CPLE_NotSupported, "%s: lost in the copy: %s", zsShown(name).c_str(), losses.text.c_str());
    return true;
}
