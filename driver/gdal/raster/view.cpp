#include "view.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <ogr_spatialref.h>

#include "gdal/compat.h"
#include "gdal/guard.h"
#include "gdal/types.h"

extern "C"
{
#include "raster/healpix.h"
}

/* ---- Slices ---- */

bool ZSView::FindSlices(size_t source, uint64_t before, struct zs_error *err)
{
    const ZSArray &opened = Array(source);
    const struct zs_array_info info = Info(source);
    struct zs_band_array &bands = m_slices[source];
    const auto fail = [err, &opened](const std::string &message)
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: %s", opened.node->path, message.c_str());
        return false;
    };
    const int x = opened.axes.x, y = opened.axes.y;
    if ((info.shape[x] > INT_MAX && !opened.isHealpix) || (y >= 0 && info.shape[y] > INT_MAX))
        return fail("expected at most 2147483647 columns and rows, found more");
    if (info.shape[x] == 0 || (y >= 0 && info.shape[y] == 0))
        return fail("a raster needs at least one row and one column");
    const auto &selections = sources[source].selections;
    bands.array = opened.array;
    bands.first = before;
    struct zs_error reason;
    if (zs_slices_find(info.ndim, info.shape, opened.axes, selections.data(), selections.size(), &bands.slices,
                       &reason) !=
        ZS_OK)
        return fail(reason.message);
    const uint64_t count = bands.slices.count;
    if (count <= ZS_MOST_BANDS - before)
        return true;
    std::string names;
    for (int i = 0; i < bands.slices.dim_count; i++)
        names += (i > 0 ? ", " : "; select of ") + zsDimensionName(opened.node, bands.slices.dims[i]);
    return fail("expected at most " + std::to_string(ZS_MOST_BANDS) + " bands, found " +
                (count == UINT64_MAX ? "more than 1e19" : std::to_string(count)) +
                (before > 0 ? " behind " + std::to_string(before) + " of other arrays" : "") + names);
}

/* All are as large as the first, and of one grid. */
bool ZSView::CheckSize(size_t source, struct zs_error *err)
{
    const ZSArray &opened = Array(source), &first = Array(0);
    const struct zs_array_info info = Info(source);
    const struct zs_axes axes = opened.axes;
    const int64_t side =
        opened.isHealpix ? zs_healpix_side(sources[source].shown) * (int64_t{1} << opened.healpix.order) : 0;
    if (side > INT_MAX)
    {
        zs_fail(err, ZS_ARGUMENT,
                "array /%s: cells of order %d are more than 2147483647 columns; a face opens by itself, as :face=0",
                opened.node->path, opened.healpix.order);
        return false;
    }
    const auto columns = static_cast<int>(opened.isHealpix ? side : static_cast<int64_t>(info.shape[axes.x]));
    const auto rows = opened.isHealpix ? columns : axes.y >= 0 ? static_cast<int>(info.shape[axes.y]) : 1;
    const bool isOfGrid = opened.isHealpix == first.isHealpix &&
                          (!opened.isHealpix || zs_healpix_is_same(&opened.healpix, &first.healpix));
    if (source > 0 && (columns != width || rows != height || !isOfGrid))
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: it is not as large as those before it", opened.node->path);
        return false;
    }
    width = columns;
    height = rows;
    return true;
}

bool ZSView::Make(struct zs_error *err)
{
    m_slices.resize(sources.size());
    m_properties.resize(sources.size());
    m_maps.resize(IsHealpix() ? sources.size() : 0);
    uint64_t count = 0;
    for (size_t i = 0; i < sources.size(); i++)
    {
        if (!FindSlices(i, count, err) || !CheckSize(i, err))
            return false;
        count += Slices(i).count;
    }
    for (size_t i = 0; i < m_maps.size(); i++)
    {
        const auto &healpix = Array(i).healpix;
        m_maps[i].order = healpix.order;
        m_maps[i].shown = sources[i].shown;
        m_maps[i].is_ring = healpix.is_ring;
        m_slices[i].cells = &m_maps[i];
    }
    return true;
}

bool ZSView::IsSelection() const
{
    return std::any_of(sources.begin(), sources.end(),
                       [](const ZSBandSource &source) { return !source.selections.empty(); });
}

std::string ZSView::Name() const
{
    std::string name = IsGroup() ? group->path : Array(0).node->path;
    for (const auto &source : sources)
    {
        for (const auto &c : source.selections)
        {
            name += c.kind == ZS_SELECT_ALL ? ":*" : ":" + std::to_string(c.first);
            name += c.kind == ZS_SELECT_RANGE ? ".." + std::to_string(c.first + c.count - 1) : "";
        }
    }
    if (sources[0].shown >= 0)
        name += ":face=" + std::to_string(sources[0].shown);
    return name;
}

size_t ZSView::SourceOf(int band) const
{
    size_t source = 0;
    uint64_t slice;
    const struct zs_bands bands = Bands();
    if (sources.size() > 1)
        zs_band_find(&bands, band, &source, &slice);
    return source;
}

std::vector<uint64_t> ZSView::BandPosition(int band) const
{
    const struct zs_band_array &source = m_slices[SourceOf(band)];
    std::vector<uint64_t> position(static_cast<size_t>(source.slices.dim_count));
    zs_slice_position(&source.slices, static_cast<uint64_t>(band - 1) - source.first, position.data());
    return position;
}

uint64_t ZSView::SliceOf(int band) const
{
    const size_t source = SourceOf(band);
    const struct zs_slices &slices = Slices(source);
    const struct zs_array_info info = Info(source);
    const auto position = BandPosition(band);
    uint64_t slice = 0;
    for (int d = 0, i = 0; d < slices.ndim; d++)
    {
        if (d == slices.axes.x || d == slices.axes.y)
            continue;
        const bool differs = i < slices.dim_count && slices.dims[i] == d;
        slice = slice * info.shape[d] + slices.first[d] + (differs ? position[static_cast<size_t>(i)] : 0);
        i += differs;
    }
    return slice;
}

uint64_t ZSView::SliceCount(size_t source) const
{
    const struct zs_slices &slices = Slices(source);
    const struct zs_array_info info = Info(source);
    uint64_t count = 1;
    for (int d = 0; d < slices.ndim; d++)
    {
        if (d != slices.axes.x && d != slices.axes.y)
            count = count > UINT64_MAX / info.shape[d] ? UINT64_MAX : count * info.shape[d];
    }
    return count;
}

void ZSView::ListArrays(std::vector<const struct zs_node *> &nodes, std::vector<struct zs_axes> &axes) const
{
    for (const auto &source : sources)
    {
        nodes.push_back(source.array->node);
        axes.push_back(source.array->axes);
    }
}

void ZSView::ReplaceArray(size_t source, const std::shared_ptr<ZSArray> &array)
{
    sources[source].array = array;
    m_slices[source].array = array->array;
}

/* ---- Properties and labels ---- */

/* NaN counts as nodata, whatever the store declares, so that pixels on no face are nodata. */
static void addNaN(struct zs_band_properties &properties, const struct zs_array_info &info)
{
    const bool isReal = info.data_type >= ZS_FLOAT16 && info.data_type <= ZS_FLOAT64;
    const ZSNodata nan(std::numeric_limits<double>::quiet_NaN());
    if (!properties.has_nodata && isReal)
        properties.has_nodata = nan.ToElement(info.data_type, info.item_size, properties.nodata);
}

const struct zs_band_properties &ZSView::Properties(size_t source)
{
    auto &properties = m_properties[source];
    if (properties == nullptr)
    {
        properties = std::make_unique<ZSProperties>();
        struct zs_error err;
        if (zs_band_properties_read(Array(source).node, properties.get(), &err) != ZS_OK)
            zsReport(err);
        if (IsHealpix())
            addNaN(*properties, Info(source));
    }
    return *properties;
}

/* Whether the slices of two arrays are the same positions in dimensions of the same names. (Arrays of one group share
 * the coordinates.) */
static bool haveSameDimensions(const ZSArray &a, const struct zs_slices &s, const ZSArray &b, const struct zs_slices &t)
{
    bool same = s.dim_count == t.dim_count;
    for (int i = 0; i < s.dim_count && same; i++)
    {
        const char *p = zs_dimension_name(a.node, s.dims[i]), *q = zs_dimension_name(b.node, t.dims[i]);
        same = p != nullptr && q != nullptr && strcmp(p, q) == 0 && s.sizes[i] == t.sizes[i] &&
               s.first[s.dims[i]] == t.first[t.dims[i]];
    }
    return same;
}

static std::shared_ptr<const ZSLabels> readLabels(const ZSStore &store, const ZSArray &array,
                                                  const struct zs_slices &slices)
{
    auto made = std::make_shared<ZSLabels>();
    for (int i = 0; i < slices.dim_count; i++)
    {
        const std::shared_ptr<struct zs_labels> labels(new zs_labels{}, [](struct zs_labels *l) {
            zs_labels_clear(l);
            delete l;
        });
        struct zs_error err;
        const int d = slices.dims[i];
        if (zs_labels_read(store.hierarchy, array.node, d, slices.first[d], slices.sizes[i], labels.get(), &err) !=
            ZS_OK)
            zsReport(err);
        made->push_back(labels);
    }
    return made;
}

const ZSLabels &ZSView::Labels(size_t source) const
{
    for (size_t other = 0; other < source && Slices(source).dim_count > 0; other++)
    {
        if (haveSameDimensions(Array(other), Slices(other), Array(source), Slices(source)))
            return Labels(other);
    }
    ZSArray &array = *sources[source].array;
    const std::lock_guard<std::mutex> guard(array.lock);
    if (array.labels == nullptr)
        array.labels = readLabels(*store, array, Slices(source));
    return *array.labels;
}

/* ---- HEALPix cells ---- */

enum zs_status ZSView::PrepareCells(size_t source, const struct zs_band_properties &properties, struct zs_error *err)
{
    ZSArray &array = *sources[source].array;
    ZS_TRY(array.ReadCells(*store, err));
    struct zs_healpix_map &map = m_maps[source];
    const bool isListed = array.healpix.coordinate != nullptr && !array.cells.is_all;
    map.cells = isListed ? &array.cells : nullptr;
    const struct zs_array_info info = Info(source);
    memcpy(map.empty, properties.has_nodata ? static_cast<const void *>(properties.nodata) : info.fill_value,
           info.item_size);
    return ZS_OK;
}

/* ---- HEALPix cells as a map ---- */

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

/* ---- Georeferencing ---- */

/* Half the side of a face, as this PROJ has it: how far the point in the middle between two faces of the belt, 45
 * degrees from the middle of the plane, is from that in x and in y. 0 where it is unknown. */
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
    georef.srs = zs_healpix_crs(&healpix, centralMeridian);
    const double side = georef.srs != nullptr ? 2 * halfSide(georef.srs, centralMeridian) : 0;
    const double pixel = side / static_cast<double>(static_cast<int64_t>(1) << healpix.order);
    constexpr double MIDDLE = ZS_HEALPIX_SIDE / 2.0;
    const double transform[6] = {(column - MIDDLE) * side, pixel, 0, (MIDDLE - row) * side, 0, -pixel};
    std::copy(transform, transform + 6, georef.transform);
    georef.has_transform = side > 0;
    if (side <= 0)
        CPLError(CE_Warning, CPLE_AppDefined, "PROJ cannot transform the centres of HEALPix cells");
}
