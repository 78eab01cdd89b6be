#include "healpix_map.h"

#include <algorithm>
#include <climits>

#include "gdal/compat.h"

extern "C"
{
#include "raster/healpix.h"
}

#include <ogr_spatialref.h>

static constexpr const char *FACE = "face";

/* ---- Faces ---- */

bool zsTakeFace(const ZSArray &array, ZSConnection &connection, int &shown, struct zs_error *err)
{
    shown = ZS_HEALPIX_SPHERE;
    const struct zs_node *node = array.node;
    for (int d = 0; d < node->array->ndim; d++)
    {
        const char *name = zs_dimension_name(node, d);
        if (!array.isHealpix || (name != nullptr && strcmp(name, FACE) == 0))
            return true;
    }
    auto &named = connection.named;
    const auto wanted = std::find_if(named.begin(), named.end(),
                                     [](const std::pair<std::string, std::string> &n) { return n.first == FACE; });
    if (wanted == named.end())
        return true;
    const std::string &text = wanted->second;
    if (text.empty() || text.size() > 2 || text.find_first_not_of("0123456789") != std::string::npos ||
        atoi(text.c_str()) >= ZS_HEALPIX_FACES)
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: expected face=0 to face=11, found face=%s", node->path, text.c_str());
        return false;
    }
    shown = atoi(text.c_str());
    named.erase(wanted);
    return true;
}

void zsListFaces(CPLStringList &list, const std::string &name, const std::string &title)
{
    for (int face = 0; face < ZS_HEALPIX_FACES; face++)
    {
        const std::string key = "SUBDATASET_" + std::to_string(list.size() / 2 + 1), number = std::to_string(face);
        list.AddString((key + "_NAME=" + name + ":" + FACE + "=" + number).c_str());
        list.AddString((key + "_DESC=" + title + " - face " + number).c_str());
    }
}

void zsListFaces(CPLStringList &list, const ZSConnection &connection, const std::string &path)
{
    std::string name = connection.SubdatasetName(path);
    if (!connection.indices.empty())
        return; // which are not mixed with names
    for (const auto &choice : connection.named)
        name += ":" + zsEscapedWord(choice.first) + "=" + choice.second;
    zsListFaces(list, name, path.empty() ? "/" : path);
}

/* ---- Size ---- */

bool zsHealpixSize(const ZSArray &array, int shown, int &width, int &height, struct zs_error *err)
{
    int columns = 0, rows = 0;
    const int64_t side = static_cast<int64_t>(1) << array.healpix.order;
    zs_healpix_size(shown, &columns, &rows);
    if (std::max(columns, rows) * side > INT_MAX)
    {
        zs_fail(err, ZS_ARGUMENT,
                "array /%s: cells of order %d are more than 2147483647 columns; a face opens by itself, as :face=0",
                array.node->path, array.healpix.order);
        return false;
    }
    width = static_cast<int>(columns * side);
    height = static_cast<int>(rows * side);
    return true;
}

int zsHealpixBlock(const ZSArray &array)
{
    constexpr int LEAST = 64, MOST = 2048;
    const uint64_t chunk = zs_array_get_info(array.array).chunk_shape[array.axes.x];
    uint64_t side = 1;
    while (4 * side * side <= chunk && side < MOST)
        side *= 2;
    return static_cast<int>(
        std::min(std::max<uint64_t>(side, LEAST), static_cast<uint64_t>(1) << array.healpix.order));
}

/* ---- Place ---- */

/* Half the side of a face, as this PROJ has it: how far the point in the middle between two faces of the belt, 45
 * degrees from the middle of the plane, is from that in x and in y. 0 where it cannot tell. */
static double halfSide(OGRSpatialReferenceH plane, double centralMeridian)
{
    const auto &srs = *OGRSpatialReference::FromHandle(plane);
    const std::unique_ptr<OGRSpatialReference> geographic(srs.CloneGeogCS());
    if (geographic == nullptr)
        return 0;
    geographic->SetAxisMappingStrategy(OAMS_TRADITIONAL_GIS_ORDER);
    const std::unique_ptr<OGRCoordinateTransformation> toPlane(
        OGRCreateCoordinateTransformation(geographic.get(), &srs));
    double x = centralMeridian > 0 ? centralMeridian - 315 : 45, y = 0; // within -180 to 180
    return toPlane != nullptr && toPlane->Transform(1, &x, &y) && x > 0 ? x : 0;
}

void zsHealpixGeoref(const struct zs_healpix &healpix, int shown, struct zs_georef &georef)
{
    // Face 6 is whole only where 180 degrees are in the middle.
    const bool isTurned = shown == ZS_HEALPIX_SPLIT_FACE;
    const double centralMeridian = isTurned ? 180 : 0;
    int column = 0, row = 0;
    if (shown >= 0)
        zs_healpix_square_of(isTurned ? ZS_HEALPIX_MIDDLE_FACE : shown, &column, &row);
    georef.srs = shown == ZS_HEALPIX_COLUMN ? nullptr : zs_healpix_crs(&healpix, centralMeridian);
    const double side = georef.srs != nullptr ? 2 * halfSide(georef.srs, centralMeridian) : 0;
    const double pixel = side / static_cast<double>(static_cast<int64_t>(1) << healpix.order);
    constexpr double MIDDLE = ZS_HEALPIX_SIDE / 2.0;
    const double transform[6] = {(column - MIDDLE) * side, pixel, 0, (MIDDLE - row) * side, 0, -pixel};
    std::copy(transform, transform + 6, georef.transform);
    georef.has_transform = side > 0;
    if (side <= 0 && shown != ZS_HEALPIX_COLUMN)
        CPLError(CE_Warning, CPLE_AppDefined, "PROJ does not tell where HEALPix cells lie");
}
