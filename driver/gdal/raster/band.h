/* gdal/raster/band.h: a slice of an array as a band. */
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gdal_rat.h>

#include "gdal/types.h"
#include "items.h"
#include "view.h"

extern "C"
{
#include "geo/bands.h"
#include "raster/pixels.h"
}

class ShardedZarrDataset;
struct ZSMask;

/* Reads a window of a mask, 0 and 255. */
using ZSReadMask =
    std::function<CPLErr(int x, int y, int width, int height, unsigned char *mask, int lineSpace)>;

class ShardedZarrRasterBand : public ZSWithMetadata<GDALPamRasterBand>
{
    friend class ShardedZarrDataset;

    ZSProperties *m_properties = nullptr; /* of the dataset, read when first asked for */
    CPLStringList m_categories;           /* of these */
    std::unique_ptr<GDALColorTable> m_colorTable;
    static constexpr unsigned ITEMS = 1, POSITION = 2, DESCRIPTION = 4, DOMAINS = 8; /* parts that are read */
    std::string m_description; /* of the store; one in a side-car file goes before it */
    unsigned m_changed = 0;       /* which properties were set and are pending: ZS_BAND_UNIT ... */
    std::unique_ptr<GDALRasterBand> m_ownMask; /* that is no band of a dataset */
    bool m_flagsRead = false, m_hasMaskedFlags = false;
    std::unique_ptr<GDALRasterAttributeTable> m_flagTable; /* made of the flags; null where there are none */

    ShardedZarrDataset &Dataset() const;
    ZSView &View() const;
    size_t Source() const
    {
        return View().SourceOf(nBand);
    }
    const struct zs_band_properties &GuardedProperties();
    /* The colour that the names of band, label or array imply, as GDAL names it; null: none. */
    const char *ColorOfNames();
    struct zs_band_window BlockWindow(int column, int row, void *data) const;
    void ReadDescription();
    /* The band's position in the extra dimensions: as items (DIM_time_INDEX=0, DIM_time_VALUE=2024-05-01T00:00:00), and
     * in words. */
    CPLStringList PositionItems(std::string &words);
    bool ReadDomain(const char *domain, const char *name) override;
    CPLErr WillSetDomain(const char *domain, const char *name, CPLStringList &list, bool &isStored) override;
    /* The mask in the store, when it counts for this band; else null. */
    const ZSMask *StoredMask();
    bool IsMaskedOtherwise();
    /* Whether a pixel that is not stored reads as what GDAL calls empty: the nodata value, or 0 without one. */
    bool FillIsEmpty();
    /* Makes the metadata that are shown those that are written. */
    void TakeMetadata();
    void DropIdentity();
    CPLErr SetElementOfNodata(const void *element);
    /* Before a property (ZS_BAND_UNIT ...) is set: it is written at the next flush. Fails (CPLError emitted) where the
     * store cannot hold it. */
    CPLErr WillChange(unsigned property);
    /* A property from the side-car file, which goes before the store's. */
    void DropFromSideCar(unsigned property);
    bool IsInSideCar(unsigned property) const;
    bool HasNodataBeside();
    bool IsFromStore(bool isThere, unsigned property, int *has = nullptr) const;
    template <class T> bool GetWideNodata(GDALDataType type, int *has, T &value);
    CPLErr SetNodata(const ZSNodata &value);
    template <class Beside, class InStore>
    CPLErr Set(unsigned property, const Beside &beside, const InStore &inStore);
    template <class Beside>
    CPLErr SetNumber(unsigned property, const char *name, double value, const Beside &beside);
    /* Whether pixels outside of all HEALPix cells need a mask, because no value marks them. */
    bool HasCellMask();
    /* The mask that the function reads, which is made at the first call. */
    GDALRasterBand *OwnMask(const ZSReadMask &read);

  protected:
    CPLXMLNode *SerializeToXML(const char *path) override;
    CPLErr XMLInit(ZSPamTree tree, const char *path) override;
    CPLErr IReadBlock(int column, int row, void *data) override;
    CPLErr IWriteBlock(int column, int row, void *data) override;
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra) override;

  public:
    /* The band's properties, read from the store at the first call. */
    ZSProperties &Properties();
    ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth, int blockHeight);

    /* Whether the fill value alone implies this nodata value, an element of `size` bytes: copies do not declare it. */
    bool ImpliesNodata()
    {
        return Properties().has_nodata && Properties().nodata_is_implied;
    }
    /* Writes and empties GDAL's block cache, in update mode, before pixels are read or written past it. */
    CPLErr EmptyBlockCache();

    double GetNoDataValue(int *has = nullptr) override;
    int64_t GetNoDataValueAsInt64(int *has = nullptr) override;
    uint64_t GetNoDataValueAsUInt64(int *has = nullptr) override;
    CPLErr SetNoDataValue(double value) override;
    CPLErr SetNoDataValueAsInt64(int64_t value) override;
    CPLErr SetNoDataValueAsUInt64(uint64_t value) override;
    CPLErr DeleteNoDataValue() override;
    double GetScale(int *has = nullptr) override;
    CPLErr SetScale(double scale) override;
    double GetOffset(int *has = nullptr) override;
    CPLErr SetOffset(double offset) override;
    const char *GetUnitType() override;
    CPLErr SetUnitType(const char *unit) override;
    char **GetCategoryNames() override;
    CPLErr SetCategoryNames(char **names) override;
    GDALColorInterp GetColorInterpretation() override;
    CPLErr SetColorInterpretation(GDALColorInterp interpretation) override;
    GDALColorTable *GetColorTable() override;
    CPLErr SetColorTable(GDALColorTable *table) override;
    const char *GetDescription() const override;
    void SetDescription(const char *description) override;
    int GetOverviewCount() override;
    GDALRasterBand *GetOverview(int i) override;
    GDALRasterAttributeTable *GetDefaultRAT() override;
    /* Whether the attribute table holds no more than the category names. */
    bool IsTableInCategories();
    GDALRasterBand *GetMaskBand() override;
    int GetMaskFlags() override;
    bool IsMaskBand() const override;
    GDALMaskValueRange GetMaskValueRange() const override;
    CPLErr CreateMaskBand(int flags) override;
    int IGetDataCoverageStatus(int x, int y, int width, int height, int stopFlags, double *percent) override;
};

/* A window of bands (from 1) in the terms of RasterIO(). */
inline struct zs_band_window zsBandWindow(int x, int y, int width, int height, void *data, const int *bands,
                                          int bandCount, GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace)
{
    return {static_cast<uint64_t>(x),
            static_cast<uint64_t>(y),
            static_cast<uint64_t>(width),
            static_cast<uint64_t>(height),
            bands,
            static_cast<size_t>(bandCount),
            data,
            static_cast<ptrdiff_t>(pixelSpace),
            static_cast<ptrdiff_t>(lineSpace),
            static_cast<ptrdiff_t>(bandSpace)};
}

/* The properties of a band of any driver, as the core keeps them, without nodata. */
ZSProperties zsPropertiesOf(GDALRasterBand &band);
