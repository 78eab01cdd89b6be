#include <algorithm>
#include <cmath>
#include <utility>

#include "dataset.h"
#include "gdal/connection.h"

extern "C"
{
#include "geo/variables.h"
#include "raster/update.h"
}

/* What of georeferencing was set. */
constexpr unsigned TRANSFORM = 1, CRS = 2, REGISTRATION = 4, POINTS = 8;

/* ---- Transform and CRS ---- */

void ShardedZarrDataset::ReadGeoref() const
{
    if (m_view.IsHealpix()) // order and ellipsoid of the cells give it
        return zsHealpixGeoref(m_view.Array(0).healpix, m_view.sources[0].shown, m_georef);
    ZSArray &first = *m_view.sources.front().array; // the other arrays have the same georeferencing
    const std::lock_guard<std::mutex> guard(first.lock);
    const auto &shared = first.georef;
    struct zs_error err;
    if (!first.georefRead)
        first.georefFailed =
            zs_georef_read(m_view.store->hierarchy, first.node, first.axes, &first.georef, &err) != ZS_OK;
    if (!first.georefRead && first.georefFailed)
        zsReport(err);
    if (!first.georefRead && shared.no_crs != nullptr)
        CPLError(CE_Warning, CPLE_AppDefined, "%s", shared.no_crs);
    if (!first.georefRead && !first.georefFailed)
        CPLDebug("ShardedZarr", "/%s: the transform is by %s, the CRS by %s", first.node->path,
                 shared.has_transform ? shared.transform_by : "none", shared.srs != nullptr ? shared.crs_by : "none");
    first.georefRead = true;
    // A copy for each dataset: an OGRSpatialReference is for one thread at a time, even when it is only read.
    m_georef = shared;
    m_georef.srs = shared.srs != nullptr ? OSRClone(shared.srs) : nullptr;
    m_georef.no_crs = nullptr;
}

const struct zs_georef &ShardedZarrDataset::Georef() const
{
    if (!m_isGeorefRead)
        ReadGeoref();
    m_isGeorefRead = true;
    return m_georef;
}

bool ShardedZarrDataset::HasIrregularAxes()
{
    const ZSArray &array = m_view.Array(0);
    const auto has = [&](int dim)
    { return dim >= 0 && zs_coordinate_find(m_view.store->hierarchy, array.node, dim) != nullptr; };
    return !m_view.IsHealpix() && !Georef().has_transform && (has(array.axes.x) || has(array.axes.y));
}

/* Of cells only the ellipsoid can be changed. */
CPLErr ShardedZarrDataset::SetSrsOfCells(const OGRSpatialReference *srs)
{
    ZSArray &array = *m_view.sources[0].array;
    bool isPlane;
    struct zs_healpix wanted = zsHealpixTarget(array.healpix.order, srs, &isPlane);
    const bool isSame = wanted.is_wgs84 ? array.healpix.is_wgs84 : zs_healpix_is_same(&wanted, &array.healpix);
    if (isPlane && m_view.IsWholeSphere() && isSame)
        return CE_None;
    if (!isPlane || !m_view.IsWholeSphere())
        return zsRefuse(CPLE_NotSupported,
                        "%s: HEALPix cells lie in +proj=healpix +rot_xy=45, and no other coordinate reference system",
                        zsShown(m_view.store->name).c_str());
    array.healpix.semi_major = wanted.semi_major;
    array.healpix.inverse_flattening = wanted.inverse_flattening;
    array.healpix.is_wgs84 = wanted.is_wgs84;
    zs_georef_clear(&m_georef);
    m_georef = {};
    m_isGeorefRead = false;
    m_georefChanged |= CRS;
    return CE_None;
}

CPLErr ShardedZarrDataset::SetSrs(const OGRSpatialReference *srs)
{
    Georef();
    OSRDestroySpatialReference(m_georef.srs);
    m_georef.srs = srs != nullptr && !srs->IsEmpty() ? OGRSpatialReference::ToHandle(srs->Clone()) : nullptr;
    m_georefChanged |= CRS;
    return CE_None;
}

/* Whether a transform that is set means that there is none: zeros, or, where there is one, pixels counted from the
 * corner. gdal_edit.py -unsetgt sets either, as the format is. */
static bool isNone(const double *transform, bool isThere)
{
    static const double zeros[6] = {}, pixels[6] = {0, 1, 0, 0, 0, 1};
    return std::equal(transform, transform + 6, zeros) || (isThere && std::equal(transform, transform + 6, pixels));
}

CPLErr ShardedZarrDataset::SetTransform(const double *transform)
{
    const struct zs_healpix &healpix = m_view.Array(0).healpix;
    if (m_view.IsHealpix() && (!m_view.IsWholeSphere() || !zsIsHealpixTransform(healpix, transform)))
        return zsRefuse(CPLE_NotSupported,
                        "%s: pixels that are HEALPix cells of order %d lie where gdalwarp %s has them",
                        zsShown(m_view.store->name).c_str(), healpix.order, zsHealpixArguments(healpix).c_str());
    if (m_view.IsHealpix())
        return CE_None;
    Georef();
    const bool isTransform = !isNone(transform, m_georef.has_transform);
    if (isTransform && !zs_transform_is_valid(transform))
        return zsRefuse(CPLE_IllegalArg,
                        "%s: expected a geotransform that can be inverted, found [%g, %g, %g, %g, %g, %g]",
                        zsShown(m_view.store->name).c_str(), transform[0], transform[1], transform[2], transform[3],
                        transform[4], transform[5]);
    std::copy(transform, transform + 6, m_georef.transform);
    m_georef.has_transform = isTransform;
    m_georefChanged |= TRANSFORM;
    if (!isTransform || StoredGCPs().empty() || !m_gcpsAreDeclared)
        return CE_None;
    KeepGCPs({});
    m_georefChanged |= POINTS;
    CPLError(CE_Warning, CPLE_AppDefined,
             "%s: the ground control points are removed, because there is a geotransform now",
             zsShown(m_view.store->name).c_str());
    return CE_None;
}

CPLErr ShardedZarrDataset::SetRegistration(const char *value)
{
    const bool isPoint = EQUAL(value, GDALMD_AOP_POINT);
    if (!isPoint && !EQUAL(value, GDALMD_AOP_AREA))
        return zsRefuse(CPLE_IllegalArg, "%s: AREA_OR_POINT: expected Area or Point, found \"%.100s\"",
                        zsShown(m_view.store->name).c_str(), value);
    if (isPoint != Georef().pixel_is_point)
        m_georefChanged |= REGISTRATION;
    m_georef.is_area_declared = m_georef.is_area_declared && !isPoint;
    m_georef.pixel_is_point = isPoint;
    return CE_None;
}

/* ---- What GDAL asks: of a side-car file first, then of the store ---- */

bool ShardedZarrDataset::MayKeepBeside()
{
    PamInitialize();
    if (!IsUpdate() || (nPamFlags & (GPF_DISABLED | GPF_NOSAVE)) == 0) // of what is only read, GDAL keeps it for now
        return true;
    return zsRefuse(CPLE_NotSupported, "%s: this georeferencing goes into a side-car file, and there can be none here",
                    zsShown(GetDescription()).c_str());
}

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    return zsGuard([&] {
        const struct zs_georef &stored = Georef();
        const OGRSpatialReference *beside = GDALPamDataset::GetSpatialRef();
        return beside != nullptr ? beside : OGRSpatialReference::FromHandle(stored.srs);
    });
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *given)
{
    return zsGuard([&]() -> CPLErr {
        if (IsKeptBeside())
            return MayKeepBeside() ? GDALPamDataset::SetSpatialRef(given) : CE_Failure;
        if (GDALPamDataset::GetSpatialRef() != nullptr)
            GDALPamDataset::SetSpatialRef(nullptr);
        const auto srs = zsStoredSrs(given, GetDescription());
        return m_view.IsHealpix() ? SetSrsOfCells(srs.get()) : SetSrs(srs.get());
    });
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    return zsGuard([&]() -> CPLErr {
        if (GDALPamDataset::GetGeoTransform(transform) == CE_None)
            return CE_None;
        const struct zs_georef &stored = Georef();
        // Regular times of rows and ranges of columns give a transform, too, but no georeferencing: control points do.
        if (!stored.has_transform || (m_georefChanged == 0 && HasGCPs() && !m_gcpsAreDeclared))
            return GDALPamDataset::GetGeoTransform(transform);
        for (int i = 0; i < 6; i++)
            transform[i] = stored.transform[i];
        return CE_None;
    });
}

CPLErr ShardedZarrDataset::SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform)
{
    return zsGuard([&] {
        if (IsKeptBeside())
            return MayKeepBeside() ? GDALPamDataset::SetGeoTransform(transform) : CE_Failure;
        DeleteGeoTransform();
        double numbers[6];
        for (int i = 0; i < 6; i++)
            numbers[i] = transform[i];
        return SetTransform(numbers);
    });
}

bool ShardedZarrDataset::HasGCPs() const
{
    return !IsOverview() && !m_isMask && !StoredGCPs().empty();
}

int ShardedZarrDataset::GetGCPCount()
{
    return zsGuard([&] {
        const int beside = GDALPamDataset::GetGCPCount();
        return beside > 0 || !HasGCPs() ? beside : static_cast<int>(StoredGCPs().size());
    });
}

const OGRSpatialReference *ShardedZarrDataset::GetGCPSpatialRef() const
{
    return zsGuard([&]() -> const OGRSpatialReference * {
        const bool isBeside = const_cast<ShardedZarrDataset *>(this)->GDALPamDataset::GetGCPCount() > 0;
        if (isBeside || !HasGCPs())
            return GDALPamDataset::GetGCPSpatialRef();
        return m_gcpSrs.IsEmpty() ? nullptr : &m_gcpSrs;
    });
}

const GDAL_GCP *ShardedZarrDataset::GetGCPs()
{
    return zsGuard([&] {
        return GDALPamDataset::GetGCPCount() > 0 || !HasGCPs() ? GDALPamDataset::GetGCPs() : StoredGCPs().data();
    });
}

CPLErr ShardedZarrDataset::SetGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs)
{
    return zsGuard([&]() -> CPLErr {
        if (IsKeptBeside() || m_view.IsHealpix() || IsOverview() || m_isMask)
            return MayKeepBeside() ? GDALPamDataset::SetGCPs(count, list, srs) : CE_Failure;
        if (GDALPamDataset::GetGCPCount() > 0)
            GDALPamDataset::SetGCPs(0, nullptr, static_cast<const OGRSpatialReference *>(nullptr));
        return SetStoredGCPs(count, list, srs);
    });
}

/* ---- Flushing ---- */

/* Writes the ellipsoid of cells, which their group declares by the dggs convention. */
static enum zs_status writeCells(const ZSView &view, struct zs_error *err)
{
    const struct zs_healpix &healpix = view.Array(0).healpix;
    const struct zs_node *node = view.Array(0).node, *group;
    zs_json *attributes;
    const std::unique_ptr<char, decltype(&free)> path(zs_path_parent(node->path), free);
    const char *dimension = zs_dimension_name(node, healpix.dim);
    if (path == nullptr || dimension == nullptr)
        return zs_fail(err, ZS_ARGUMENT, "/%s: cells without a group", node->path);
    ZS_TRY(zs_hierarchy_node(view.store->hierarchy, path.get(), &group, err));
    ZS_TRY(zs_hierarchy_edit(view.store->hierarchy, group, &attributes, err));
    return zs_write_dggs(attributes, &healpix, dimension,
                         healpix.coordinate != nullptr ? zs_path_name(healpix.coordinate->path) : nullptr, err);
}

enum zs_status ShardedZarrDataset::FlushGeoref(struct zs_error *err)
{
    const unsigned changed = std::exchange(m_georefChanged, 0);
    const ZSArray &first = m_view.Array(0);
    if (changed != 0 && m_view.IsHealpix())
        return writeCells(m_view, err);
    if (changed != 0 && first.georefFailed) // what was not set would be removed
        return zs_fail(err, ZS_IO, "/%s: georeferencing that could not be read is not changed", first.node->path);
    if ((changed & POINTS) != 0)
        ZS_TRY(FlushGCPs(err));
    if ((changed & (TRANSFORM | CRS | REGISTRATION)) == 0)
        return ZS_OK;
    struct zs_georef now; // what was not set is as others may have written it meanwhile
    ZS_TRY(zs_georef_read(m_view.store->hierarchy, first.node, first.axes, &now, err));
    const ZSOwned<struct zs_georef> cleared(&now, zs_georef_clear);
    struct zs_georef wanted = now;
    if ((changed & TRANSFORM) != 0)
    {
        wanted.has_transform = m_georef.has_transform;
        std::copy(m_georef.transform, m_georef.transform + 6, wanted.transform);
    }
    if ((changed & CRS) != 0)
        wanted.srs = m_georef.srs;
    if ((changed & REGISTRATION) != 0)
        wanted.pixel_is_point = m_georef.pixel_is_point;
    std::vector<const struct zs_node *> nodes;
    std::vector<struct zs_axes> axes;
    bool isAside;
    m_view.ListArrays(nodes, axes);
    ZS_TRY(zs_update_georefs(m_view.store->hierarchy, nodes.data(), axes.data(), nodes.size(), &now, &wanted,
                             m_style, &isAside, err));
    if (isAside)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "%s: other arrays use the coordinates or the grid mapping of /%s, which stay: its new "
                 "georeferencing is in its own attributes (spatial:, proj:). Readers of CF alone see the former one",
                 zsShown(m_view.store->name).c_str(), first.node->path);
    return ZS_OK;
}

/* ---- Ground control points (geo/gcps.c), and two-dimensional coordinates ---- */

/* Takes over points, which get their numbers for names, as those of a GeoTIFF do. */
void ShardedZarrDataset::KeepGCPs(const struct zs_gcps &gcps) const
{
    static char noText[1] = {};
    m_gcpsRead = false; // without memory they are read again
    m_gcps.resize(gcps.count);
    m_gcpNames.resize(gcps.count);
    for (size_t i = 0; i < gcps.count; i++)
    {
        const struct zs_gcp &p = gcps.list[i];
        m_gcpNames[i] = std::to_string(i + 1);
        m_gcps[i] = {m_gcpNames[i].data(), noText, p.pixel, p.line, p.x, p.y, p.z};
    }
    m_gcpsAreDeclared = gcps.is_declared;
    m_gcpSrs.Clear();
    if (gcps.crs != nullptr && m_gcpSrs.importFromWkt(gcps.crs) != OGRERR_NONE)
        m_gcpSrs.Clear();
    m_gcpSrs.SetAxisMappingStrategy(OAMS_TRADITIONAL_GIS_ORDER);
    m_gcpsRead = true;
}

const std::vector<GDAL_GCP> &ShardedZarrDataset::StoredGCPs() const
{
    if (m_gcpsRead || m_view.IsHealpix())
        return m_gcps;
    struct zs_error err;
    struct zs_gcps gcps;
    if (zs_gcps_read(m_view.store->hierarchy, m_view.Array(0).node, &gcps, &err) != ZS_OK)
        zsReport(err);
    const std::unique_ptr<struct zs_gcp, decltype(&free)> freed(gcps.list, free);
    KeepGCPs(gcps);
    return m_gcps;
}

CPLErr ShardedZarrDataset::SetStoredGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs)
{
    const ZSGcps gcps(count, list, srs);
    if (!gcps.isKept)
        return zsRefuse(CPLE_NotSupported, "%s: expected at most %d ground control points, all finite; found %d",
                        zsShown(m_view.store->name).c_str(), ZS_MOST_GCPS, count);
    KeepGCPs(gcps.Get());
    m_georefChanged |= POINTS;
    if (count == 0)
        return CE_None;
    const bool hasTransform = Georef().has_transform;
    static const char *const anyOrder[] = {"IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", nullptr};
    const auto *own = OGRSpatialReference::FromHandle(m_georef.srs);
    const bool hasSrs = own != nullptr && (srs == nullptr || srs->IsSame(own, anyOrder) == 0);
    if (hasTransform || hasSrs)
        CPLError(CE_Warning, CPLE_AppDefined, "%s: the %s removed, because there are ground control points now",
                 zsShown(m_view.store->name).c_str(),
                 !hasSrs ? "geotransform is" : hasTransform ? "geotransform and the CRS are" : "CRS is");
    m_georefChanged |= hasTransform ? TRANSFORM : 0;
    m_georef.has_transform = false;
    return hasSrs ? SetSrs(nullptr) : CE_None;
}

enum zs_status ShardedZarrDataset::FlushGCPs(struct zs_error *err)
{
    const ZSGcps gcps(static_cast<int>(m_gcps.size()), m_gcps.data(), &m_gcpSrs);
    const struct zs_gcps kept = gcps.Get();
    for (const auto &source : m_view.sources)
    {
        zs_json *attributes;
        ZS_TRY(zs_hierarchy_edit(m_view.store->hierarchy, source.array->node, &attributes, err));
        ZS_TRY(zs_gcps_write(attributes, &kept, err));
    }
    return ZS_OK;
}

ZSGcps::ZSGcps(int count, const GDAL_GCP *points, const OGRSpatialReference *srs) : isKept(count <= ZS_MOST_GCPS)
{
    for (int i = 0; i < count && isKept; i++)
    {
        const GDAL_GCP &p = points[i];
        list.push_back({p.dfGCPPixel, p.dfGCPLine, p.dfGCPX, p.dfGCPY, p.dfGCPZ});
        isKept = std::isfinite(p.dfGCPPixel + p.dfGCPLine + p.dfGCPX + p.dfGCPY + p.dfGCPZ);
    }
    if (!isKept)
        list.clear();
    static const char *const version[] = {"FORMAT=WKT2_2019", nullptr};
    char *wkt = nullptr;
    if (srs != nullptr && !srs->IsEmpty() && srs->exportToWkt(&wkt, version) == OGRERR_NONE)
        crs = zsUtf8(wkt);
    CPLFree(wkt);
}

/* The name of a dataset with the values of a coordinate array: GDAL's warper knows no scale, so what is packed is named
 * as a VRT. */
static std::string valuesName(const ZSStore &store, const struct zs_node *node)
{
    ZSConnection c;
    c.store = store.name;
    const std::string name = c.SubdatasetName(node->path);
    ZSProperties p;
    struct zs_error err;
    if (zs_band_properties_read(node, &p, &err) != ZS_OK)
        zsReport(err);
    // A fill value of 0 is a coordinate, unless an attribute declares it missing.
    const double missing = p.has_nodata ? zs_dtype_to_double(&node->array->dtype, p.nodata) : 0;
    const bool masks = p.has_nodata && !(p.nodata_is_implied && missing == 0);
    double scale = 1, offset = 0;
    const bool hasScale = zs_json_double(zs_band_member(&p, "scale"), &scale);
    const bool isPacked = zs_json_double(zs_band_member(&p, "offset"), &offset) || hasScale;
    char *escaped = CPLEscapeString(name.c_str(), -1, CPLES_XML);
    CPLString vrt;
    vrt.Printf(
        "<VRTDataset rasterXSize=\"%llu\" rasterYSize=\"%llu\"><VRTRasterBand dataType=\"Float64\" band=\"1\">"
        "<NoDataValue>-9999</NoDataValue><ComplexSource><SourceFilename>%s</SourceFilename><SourceBand>1</SourceBand>"
        "<ScaleOffset>%.17g</ScaleOffset><ScaleRatio>%.17g</ScaleRatio>%s</ComplexSource></VRTRasterBand></VRTDataset>",
        static_cast<unsigned long long>(node->array->shape[1]), static_cast<unsigned long long>(node->array->shape[0]),
        escaped, offset, scale,
        masks ? std::string(CPLSPrintf("<NODATA>%.17g</NODATA>", missing)).c_str() : "");
    CPLFree(escaped);
    return isPacked ? vrt : name;
}

CPLStringList ShardedZarrDataset::Geolocation()
{
    CPLStringList md;
    const struct zs_georef &georef = Georef();
    if (georef.geolocation_x == nullptr)
        return md;
    md.SetNameValue("X_DATASET", valuesName(*m_view.store, georef.geolocation_x).c_str());
    md.SetNameValue("Y_DATASET", valuesName(*m_view.store, georef.geolocation_y).c_str());
    for (const char *item : {"X_BAND=1", "Y_BAND=1", "PIXEL_OFFSET=0", "PIXEL_STEP=1", "LINE_OFFSET=0", "LINE_STEP=1",
                             "GEOREFERENCING_CONVENTION=PIXEL_CENTER"})
        md.AddString(item);
    // The arrays hold longitudes and latitudes, whatever the projection of the raster.
    const std::unique_ptr<OGRSpatialReference> geographic(
        georef.srs != nullptr ? OGRSpatialReference::FromHandle(georef.srs)->CloneGeogCS() : nullptr);
    char *wkt = nullptr;
    if (geographic != nullptr && geographic->exportToWkt(&wkt) == OGRERR_NONE)
        md.SetNameValue("SRS", wkt);
    else
        md.SetNameValue("SRS", SRS_WKT_WGS84_LAT_LONG);
    CPLFree(wkt);
    return md;
}
