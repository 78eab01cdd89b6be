/* gdal/dataset.h: an array of a store as a dataset: two dimensions are the raster, the others are flattened to bands. */
#ifndef ZS_GDAL_DATASET_H
#define ZS_GDAL_DATASET_H

#include <memory>
#include <string>
#include <vector>

#include "compat.h"
#include "connection.h"
#include "types.h"

extern "C"
{
#include "array/array.h"
#include "geo/axes.h"
#include "geo/georef.h"
#include "geo/meaning.h"
}

/* An opened store, shared by the datasets made of it (subdatasets, overviews). */
struct ZSStore
{
    struct zs_store *store = nullptr;
    struct zs_hierarchy *hierarchy = nullptr;

    ZSStore() = default;
    ~ZSStore();
    ZSStore(const ZSStore &) = delete;
    ZSStore &operator=(const ZSStore &) = delete;
};

/* What the open options ask for. */
struct ZSOpenOptions
{
    int threads = 0;
    uint64_t cache_bytes = 0;
    bool use_consolidated = true;
    bool multiband = true;
    std::string dim_x, dim_y; /* "" when not given */

    /* Reads GDAL's list; false (CPLError emitted) when a value is not allowed. */
    bool Parse(CSLConstList options);
};

class ShardedZarrDataset final : public GDALPamDataset
{
    friend class ShardedZarrRasterBand;

    std::shared_ptr<ZSStore> m_store;
    const struct zs_node *m_node = nullptr; /* of m_store's hierarchy */
    struct zs_array *m_array = nullptr;
    struct zs_axes m_axes = {-1, -1};
    ZSOpenOptions m_options;

    std::vector<int> m_bandDims;         /* dimensions flattened to bands, slowest first */
    std::vector<uint64_t> m_fixed;       /* per dimension: the index of dimensions that a slice fixes */

    /* Read when first asked for: each may cost requests. */
    bool m_georefRead = false;
    struct zs_georef m_georef = {};
    bool m_meaningRead = false;
    struct zs_meaning m_meaning = {};
    bool m_labelsRead = false;
    std::vector<std::vector<std::string>> m_labels; /* per band dimension: a text per index, or none */
    std::vector<std::string> m_labelUnits;
    bool m_overviewsFound = false;
    std::vector<std::unique_ptr<ShardedZarrDataset>> m_overviews;
    bool m_geolocationAdded = false;
    bool m_isOverview = false;

    void ReadGeoref();
    const struct zs_meaning &Meaning();
    void ReadLabels();
    void FindOverviews();
    void AddGeolocation();

    /* Position of a band (from 1) in each of m_bandDims. */
    std::vector<uint64_t> BandPosition(int band) const;

    /* Reads a window of bands into a buffer, as one plan. */
    CPLErr ReadWindow(int x, int y, int width, int height, void *data, GDALDataType type, const std::vector<int> &bands,
                      GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace);

  protected:
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace,
                     GSpacing bandSpace, GDALRasterIOExtraArg *extra) override;

  public:
    ShardedZarrDataset() = default;
    ~ShardedZarrDataset() override;

    /* Makes a dataset of the array `node`. `indices` fix the first of its extra dimensions. Null, with the message in err
     * (status ZS_ARGUMENT and friends), when that is not possible. */
    static std::unique_ptr<ShardedZarrDataset> OpenArray(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                                         const std::vector<uint64_t> &indices, const ZSOpenOptions &options,
                                                         struct zs_error *err);
    /* Attaches side-car metadata (statistics), for file systems where looking for them costs nothing. */
    void AttachPam(const ZSConnection &connection, const char *description);

    const OGRSpatialReference *GetSpatialRef() const override;
    CPLErr GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST override;
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;
    const char *GetMetadataItem(const char *name, const char *domain = "") override;
    char **GetFileList() override;
};

class ShardedZarrRasterBand final : public GDALPamRasterBand
{
    friend class ShardedZarrDataset;

    bool m_metadataAdded = false;
    char **m_categories = nullptr;

    ShardedZarrDataset &Dataset() const
    {
        return *static_cast<ShardedZarrDataset *>(poDS);
    }
    void AddMetadata();
    const void *Nodata(bool &has) const;

  protected:
    CPLErr IReadBlock(int column, int row, void *data) override;
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra) override;

  public:
    ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth, int blockHeight);

    double GetNoDataValue(int *has = nullptr) override;
    int64_t GetNoDataValueAsInt64(int *has = nullptr) override;
    uint64_t GetNoDataValueAsUInt64(int *has = nullptr) override;
    double GetScale(int *has = nullptr) override;
    double GetOffset(int *has = nullptr) override;
    const char *GetUnitType() override;
    char **GetCategoryNames() override;
    GDALColorInterp GetColorInterpretation() override;
    const char *GetDescription() const override;
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;
    const char *GetMetadataItem(const char *name, const char *domain = "") override;
    int GetOverviewCount() override;
    GDALRasterBand *GetOverview(int i) override;
};

/* Emits the message of a core error as one CPLError. */
void zsReport(const struct zs_error &err);

#endif
