#include "dataset.h"

#include <algorithm>
#include <climits>

extern "C"
{
#include "base/parallel.h"
#include "geo/overviews.h"
}

ZSStore::~ZSStore()
{
    zs_hierarchy_free(hierarchy);
    zs_store_free(store);
}

void zsReport(const struct zs_error &err)
{
    CPLError(CE_Failure, CPLE_AppDefined, "ShardedZarr: %s", err.message);
}

ShardedZarrDataset::~ShardedZarrDataset()
{
    GDALPamDataset::FlushCache(true);
    m_overviews.clear();
    zs_georef_clear(&m_georef);
    zs_meaning_clear(&m_meaning);
    zs_array_close(m_array);
}

/* ---- Opening ---- */

/* More than GDAL's own limit of bands cannot be made. */
constexpr uint64_t MAX_BANDS = 65536;

/* The budget of the decoded-chunk cache never falls below one row of chunks: else reading line by line would decode every
 * chunk of the row again for each line. */
static uint64_t oneRowOfChunks(const struct zs_array_info &info, int x)
{
    uint64_t bytes = info.item_size;
    for (int d = 0; d < info.ndim; d++)
        bytes *= info.chunk_shape[d]; /* fits: a decoded chunk is below 2 GiB */
    const uint64_t chunks = (info.shape[x] + info.chunk_shape[x] - 1) / info.chunk_shape[x];
    return bytes * std::min<uint64_t>(chunks, UINT64_MAX / (bytes + 1024)) + 1024 * chunks;
}

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::OpenArray(const std::shared_ptr<ZSStore> &store,
                                                                  const struct zs_node *node,
                                                                  const std::vector<uint64_t> &indices,
                                                                  const ZSOpenOptions &options, struct zs_error *err)
{
    auto ds = std::make_unique<ShardedZarrDataset>();
    ds->m_store = store;
    ds->m_node = node;
    ds->m_options = options;
    struct zs_array_options arrayOptions = {options.threads, options.cache_bytes};
    if (arrayOptions.cache_bytes == 0)
        arrayOptions.cache_bytes = static_cast<uint64_t>(GDALGetCacheMax64()) / 4;
    if (zs_array_open_node(store->hierarchy, node, &arrayOptions, &ds->m_array, err) != ZS_OK ||
        zs_axes_find(store->hierarchy, node, options.dim_x.empty() ? nullptr : options.dim_x.c_str(),
                     options.dim_y.empty() ? nullptr : options.dim_y.c_str(), &ds->m_axes, err) != ZS_OK)
        return nullptr;
    const struct zs_array_info info = zs_array_get_info(ds->m_array);
    const char *path = node->path;
    const auto fail = [err, path](const std::string &message)
    {
        snprintf(err->message, sizeof err->message, "array /%s: %s", path, message.c_str());
        return nullptr;
    };

    const GDALDataType type = zsGDALType(info.data_type, info.item_size);
    if (type == GDT_Unknown)
        return fail("elements of " + std::to_string(info.item_size) + " opaque bytes have no GDAL data type");
    const int x = ds->m_axes.x, y = ds->m_axes.y;
    if (info.shape[x] > INT_MAX || (y >= 0 && info.shape[y] > INT_MAX))
        return fail("expected at most 2147483647 columns and rows, found more");
    if (info.shape[x] == 0 || (y >= 0 && info.shape[y] == 0))
        return fail("a raster needs at least one row and one column");
    ds->nRasterXSize = static_cast<int>(info.shape[x]);
    ds->nRasterYSize = y >= 0 ? static_cast<int>(info.shape[y]) : 1;

    std::vector<int> extraDims;
    for (int d = 0; d < info.ndim; d++)
    {
        if (d != x && d != y)
            extraDims.push_back(d);
    }
    if (indices.size() > extraDims.size())
        return fail("expected at most " + std::to_string(extraDims.size()) + " indices, found " + std::to_string(indices.size()));
    ds->m_fixed.assign(static_cast<size_t>(info.ndim), 0);
    for (size_t i = 0; i < indices.size(); i++)
    {
        const int d = extraDims[i];
        if (indices[i] >= info.shape[d])
            return fail("index " + std::to_string(indices[i]) + " is out of range: dimension " + std::to_string(d) + " has " +
                        std::to_string(info.shape[d]) + " elements");
        ds->m_fixed[static_cast<size_t>(d)] = indices[i];
    }
    ds->m_bandDims.assign(extraDims.begin() + static_cast<ptrdiff_t>(indices.size()), extraDims.end());
    uint64_t bands = 1;
    for (const int d : ds->m_bandDims)
    {
        if (info.shape[d] == 0)
            return fail("a dimension of no elements gives no band");
        bands = info.shape[d] > MAX_BANDS ? MAX_BANDS + 1 : std::min(bands * info.shape[d], MAX_BANDS + 1);
    }
    if (bands > MAX_BANDS)
    {
        std::string slice;
        for (size_t i = 0; i < extraDims.size(); i++)
            slice += ":0";
        return fail("its extra dimensions give more than " + std::to_string(MAX_BANDS) + " bands; open a slice by indices, as in " +
                    "SHARDEDZARR:\"" + store->store->root + "\":/" + path + slice);
    }

    zs_array_raise_cache(ds->m_array, oneRowOfChunks(info, x));
    const int blockWidth = static_cast<int>(std::min(info.chunk_shape[x], info.shape[x]));
    const int blockHeight = y >= 0 ? static_cast<int>(std::min(info.chunk_shape[y], info.shape[y])) : 1;
    for (int b = 1; b <= static_cast<int>(bands); b++)
        ds->SetBand(b, new ShardedZarrRasterBand(ds.get(), b, type, blockWidth, blockHeight));
    return ds;
}

void ShardedZarrDataset::AttachPam(const ZSConnection &connection, const char *description)
{
    SetDescription(description);
    if (zsIsRemote(connection.store))
    {
        nPamFlags |= GPF_NOSAVE;
        return;
    }
    SetPhysicalFilename((connection.store + "/zarr.json").c_str());
    if (m_node->path[0] != '\0')
        SetSubdatasetName(m_node->path);
    TryLoadXML();
}

/* ---- Reading pixels ---- */

std::vector<uint64_t> ShardedZarrDataset::BandPosition(int band) const
{
    const struct zs_array_info info = zs_array_get_info(m_array);
    std::vector<uint64_t> position(m_bandDims.size());
    auto rest = static_cast<uint64_t>(band - 1);
    for (size_t i = m_bandDims.size(); i-- > 0;)
    {
        position[i] = rest % info.shape[m_bandDims[i]];
        rest /= info.shape[m_bandDims[i]];
    }
    return position;
}

CPLErr ShardedZarrDataset::ReadWindow(int x, int y, int width, int height, void *data, GDALDataType type,
                                      const std::vector<int> &bands, GSpacing pixelSpace, GSpacing lineSpace,
                                      GSpacing bandSpace)
{
    const struct zs_array_info info = zs_array_get_info(m_array);
    std::vector<struct zs_window> windows;
    for (size_t i = 0, run; i < bands.size(); i += run)
    {
        // Bands that follow each other along the last band dimension are one window.
        const auto position = BandPosition(bands[i]);
        const uint64_t room = m_bandDims.empty() ? 1 : info.shape[m_bandDims.back()] - position.back();
        for (run = 1; i + run < bands.size() && bands[i + run] == bands[i] + static_cast<int>(run) && run < room;)
            run++;
        struct zs_window w = {};
        for (int d = 0; d < info.ndim; d++)
        {
            w.start[d] = m_fixed[static_cast<size_t>(d)];
            w.count[d] = 1;
        }
        for (size_t k = 0; k < m_bandDims.size(); k++)
            w.start[m_bandDims[k]] = position[k];
        if (!m_bandDims.empty())
        {
            w.count[m_bandDims.back()] = run;
            w.stride[m_bandDims.back()] = static_cast<ptrdiff_t>(bandSpace);
        }
        w.start[m_axes.x] = static_cast<uint64_t>(x);
        w.count[m_axes.x] = static_cast<uint64_t>(width);
        w.stride[m_axes.x] = static_cast<ptrdiff_t>(pixelSpace);
        if (m_axes.y >= 0)
        {
            w.start[m_axes.y] = static_cast<uint64_t>(y);
            w.count[m_axes.y] = static_cast<uint64_t>(height);
            w.stride[m_axes.y] = static_cast<ptrdiff_t>(lineSpace);
        }
        w.data = static_cast<char *>(data) + static_cast<ptrdiff_t>(bandSpace) * static_cast<ptrdiff_t>(i);
        windows.push_back(w);
    }
    ZSConversion conversion{info.data_type, info.item_size, type};
    struct zs_error err;
    const enum zs_status status = zs_array_read_windows(m_array, windows.data(), windows.size(),
                                                        conversion.IsIdentity() ? nullptr : zsConvert, &conversion, &err);
    if (status == ZS_OK)
        return CE_None;
    zsReport(err);
    return CE_Failure;
}

CPLErr ShardedZarrDataset::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                     int bufHeight, GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace,
                                     GSpacing lineSpace, GSpacing bandSpace, GDALRasterIOExtraArg *extra)
{
    if (flag == GF_Read && width == bufWidth && height == bufHeight)
        return ReadWindow(x, y, width, height, data, type, std::vector<int>(bands, bands + bandCount), pixelSpace, lineSpace,
                          bandSpace);
    return GDALPamDataset::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, bandCount, bands, pixelSpace,
                                     lineSpace, bandSpace, extra);
}

/* ---- Georeferencing ---- */

void ShardedZarrDataset::ReadGeoref()
{
    if (m_georefRead)
        return;
    m_georefRead = true;
    struct zs_error err;
    if (zs_georef_read(m_store->hierarchy, m_node, m_axes, &m_georef, &err) != ZS_OK)
        zsReport(err);
    if (m_georef.pixel_is_point)
        GDALPamDataset::SetMetadataItem(GDALMD_AREA_OR_POINT, GDALMD_AOP_POINT);
}

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    const_cast<ShardedZarrDataset *>(this)->ReadGeoref();
    if (m_georef.srs != nullptr)
        return OGRSpatialReference::FromHandle(m_georef.srs);
    return GDALPamDataset::GetSpatialRef();
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    const_cast<ShardedZarrDataset *>(this)->ReadGeoref();
    if (!m_georef.has_transform)
        return GDALPamDataset::GetGeoTransform(transform);
    for (int i = 0; i < 6; i++)
        transform[i] = m_georef.transform[i];
    return CE_None;
}

/* Two-dimensional coordinates, as GDAL's warper reads them. */
void ShardedZarrDataset::AddGeolocation()
{
    if (m_geolocationAdded)
        return;
    m_geolocationAdded = true;
    ReadGeoref();
    if (m_georef.geolocation_x == nullptr || m_georef.geolocation_y == nullptr)
        return;
    ZSConnection c;
    c.store = m_store->store->root;
    CPLStringList md;
    md.SetNameValue("X_DATASET", c.SubdatasetName(m_georef.geolocation_x).c_str());
    md.SetNameValue("X_BAND", "1");
    md.SetNameValue("Y_DATASET", c.SubdatasetName(m_georef.geolocation_y).c_str());
    md.SetNameValue("Y_BAND", "1");
    md.SetNameValue("PIXEL_OFFSET", "0");
    md.SetNameValue("PIXEL_STEP", "1");
    md.SetNameValue("LINE_OFFSET", "0");
    md.SetNameValue("LINE_STEP", "1");
    md.SetNameValue("GEOREFERENCING_CONVENTION", "PIXEL_CENTER");
    char *wkt = nullptr;
    if (m_georef.srs != nullptr && OSRExportToWkt(m_georef.srs, &wkt) == OGRERR_NONE)
        md.SetNameValue("SRS", wkt);
    else
        md.SetNameValue("SRS", SRS_WKT_WGS84_LAT_LONG);
    CPLFree(wkt);
    GDALMajorObject::SetMetadata(md.List(), "GEOLOCATION");
}

/* ---- Metadata ---- */

const struct zs_meaning &ShardedZarrDataset::Meaning()
{
    if (!m_meaningRead)
    {
        m_meaningRead = true;
        struct zs_error err;
        if (zs_meaning_read(m_node, &m_meaning, &err) != ZS_OK)
            zsReport(err);
    }
    return m_meaning;
}

void ShardedZarrDataset::ReadLabels()
{
    if (m_labelsRead)
        return;
    m_labelsRead = true;
    const struct zs_array_info info = zs_array_get_info(m_array);
    m_labels.resize(m_bandDims.size());
    m_labelUnits.resize(m_bandDims.size());
    for (size_t i = 0; i < m_bandDims.size(); i++)
    {
        const int d = m_bandDims[i];
        struct zs_labels labels = {};
        struct zs_error err;
        if (zs_labels_read(m_store->hierarchy, m_node, d, 0, info.shape[d], &labels, &err) != ZS_OK)
            zsReport(err);
        else if (labels.values != nullptr)
            m_labels[i].assign(labels.values, labels.values + labels.count);
        if (labels.unit != nullptr)
            m_labelUnits[i] = labels.unit;
        zs_labels_clear(&labels);
    }
}

char **ShardedZarrDataset::GetMetadataDomainList()
{
    AddGeolocation();
    return GDALPamDataset::GetMetadataDomainList();
}

static bool isDefault(const char *domain)
{
    return domain == nullptr || domain[0] == '\0';
}

ZSMetadata ShardedZarrDataset::GetMetadata(const char *domain)
{
    if (isDefault(domain))
        ReadGeoref(); // AREA_OR_POINT
    else if (EQUAL(domain, "GEOLOCATION"))
        AddGeolocation();
    return GDALPamDataset::GetMetadata(domain);
}

const char *ShardedZarrDataset::GetMetadataItem(const char *name, const char *domain)
{
    if (isDefault(domain) && EQUAL(name, GDALMD_AREA_OR_POINT))
        ReadGeoref();
    else if (!isDefault(domain) && EQUAL(domain, "GEOLOCATION"))
        AddGeolocation();
    return GDALPamDataset::GetMetadataItem(name, domain);
}

char **ShardedZarrDataset::GetFileList()
{
    const std::string root = m_store->store->root;
    CPLStringList files;
    files.AddString((root + "/zarr.json").c_str());
    if (m_node->path[0] != '\0' && !zs_hierarchy_is_consolidated(m_store->hierarchy))
        files.AddString((root + "/" + m_node->path + "/zarr.json").c_str());
    return files.StealList();
}

/* ---- Overviews ---- */

void ShardedZarrDataset::FindOverviews()
{
    if (m_overviewsFound || m_isOverview)
        return;
    m_overviewsFound = true;
    char **paths = nullptr;
    size_t count = 0;
    struct zs_error err;
    if (zs_overviews_find(m_store->hierarchy, m_node, m_axes, &paths, &count, &err) != ZS_OK)
    {
        zsReport(err);
        return;
    }
    std::vector<uint64_t> indices;
    const struct zs_array_info info = zs_array_get_info(m_array);
    for (int d = 0; d < info.ndim; d++)
    {
        if (d != m_axes.x && d != m_axes.y && std::find(m_bandDims.begin(), m_bandDims.end(), d) == m_bandDims.end())
            indices.push_back(m_fixed[static_cast<size_t>(d)]);
    }
    ZSOpenOptions options = m_options;
    options.dim_x = std::to_string(m_axes.x);
    options.dim_y = m_axes.y >= 0 ? std::to_string(m_axes.y) : "";
    for (size_t i = 0; i < count; i++)
    {
        const struct zs_node *node = nullptr;
        std::unique_ptr<ShardedZarrDataset> overview;
        if (zs_hierarchy_node(m_store->hierarchy, paths[i], &node, &err) == ZS_OK)
            overview = OpenArray(m_store, node, indices, options, &err);
        if (overview == nullptr || overview->nBands != nBands)
        {
            CPLDebug("ShardedZarr", "overview /%s is left out: %s", paths[i], overview == nullptr ? err.message : "other bands");
            continue;
        }
        overview->m_isOverview = true;
        overview->nPamFlags |= GPF_NOSAVE;
        m_overviews.push_back(std::move(overview));
    }
    zs_paths_free(paths, count);
}
