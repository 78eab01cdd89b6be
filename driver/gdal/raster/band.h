/* gdal/raster/band.h: a slice of an array as a band. */
#ifndef ZS_GDAL_BAND_H
#define ZS_GDAL_BAND_H

#include <functional>
#include <memory>
#include <string>

#include <gdal_rat.h>

#include "gdal/compat.h"
#include "items.h"
#include "view.h"

extern "C"
{
#include "geo/bands.h"
#include "geo/meaning.h"
#include "raster/pixels.h"
}

class ShardedZarrDataset;
struct ZSMask;

class ShardedZarrRasterBand : public GDALPamRasterBand
{
    friend class ShardedZarrDataset;
    friend class ZSBandProperties;

    /* Read when it is first asked for, which for most bands of a long series is never. */
    ZSMeaning m_meaning;
    std::unique_ptr<GDALColorTable> m_colorTable;
    bool m_metadataAdded = false;
    bool m_domainsAdded = false;
    CPLStringList m_fromStore; /* metadata that the store tells: a side-car file does not repeat them */
    bool m_sideCarHasStatistics = false;
    bool m_isDescribedBeside = false; /* the description is a side-car file's, not the store's */
    bool m_statisticsSet = false; /* since the dataset was opened */
    unsigned m_changed = 0;       /* which properties were set and are pending: ZS_BAND_UNIT ... */
    std::unique_ptr<GDALRasterBand> m_cellMask;
    bool m_flagsRead = false, m_hasMaskedFlags = false;
    std::unique_ptr<GDALRasterAttributeTable> m_flagTable; /* made of the flags; null where there are none */
    std::unique_ptr<GDALRasterBand> m_derivedMask; /* of a level whose mask has none, or of one that cannot be read */

    ShardedZarrDataset &Dataset() const;
    ZSView &View() const;
    size_t Source() const
    {
        return View().SourceOf(nBand);
    }
    struct zs_meaning &Meaning();
    void ReadMeanings();
    struct zs_band_window BlockWindow(int column, int row, void *data) const;
    void AddMetadata();
    /* Where the band is in the extra dimensions: DIM_time_INDEX=0, DIM_time_VALUE=2024-05-01T00:00:00; and in words. */
    CPLStringList PlaceItems(std::string &place);
    void AddDomains(const char *domain);
    /* The mask of the store, where that counts for this band. */
    const ZSMask *StoredMask();
    bool IsMaskedOtherwise();
    /* Whether pixels that are not stored are what GDAL takes for none: the nodata value, or 0 where there is none. */
    bool FillIsEmpty();
    /* Brings m_meaning up to what was set, for writing. */
    const struct zs_meaning &CurrentMeaning();
    CPLErr SetNodata(const void *element);
    /* Before a property (ZS_BAND_UNIT ...) is set: it is written at the next flush. Fails (CPLError emitted) where the
     * store has no place for it. */
    CPLErr WillChange(unsigned property);
    /* What a side-car file says of a property, which goes before the store. */
    void DropFromSideCar(unsigned property);
    bool IsInSideCar(unsigned property) const;
    template <class T> bool GetWideNodata(GDALDataType type, int *has, T &value);
    template <class T>
    CPLErr SetNodata(T value, const std::string &text,
                     bool (*toElement)(T, enum zs_data_type, size_t, unsigned char *));
    template <class Beside, class InStore>
    CPLErr Set(unsigned property, const Beside &beside, const InStore &inStore);
    /* Whether pixels that are no HEALPix cell have no value of their own. */
    bool HasCellMask();
    GDALRasterBand *CellMaskBand();

  protected:
    CPLXMLNode *SerializeToXML(const char *path) override;
    CPLErr XMLInit(ZSPamTree tree, const char *path) override;
    CPLErr IReadBlock(int column, int row, void *data) override;
    CPLErr IWriteBlock(int column, int row, void *data) override;
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra) override;

  public:
    ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth, int blockHeight);

    /* For levels of overviews while they are made: what they mean is what the base means. */
    void TakeMeaning(ShardedZarrRasterBand &other);
    /* Pixels are written: statistics that were known are not true any more. Blocks may come late, after statistics of
     * them were set. */
    void DropStatistics(bool isBlock);
    /* In update mode, GDAL's block cache must not hold what is read or written past it. */
    CPLErr SettleBlocks();

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
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;
    const char *GetMetadataItem(const char *name, const char *domain = "") override;
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain = "") override;
    CPLErr SetMetadataItem(const char *name, const char *value, const char *domain = "") override;
    int GetOverviewCount() override;
    GDALRasterBand *GetOverview(int i) override;
    GDALRasterAttributeTable *GetDefaultRAT() override;
    /* Whether the attribute table says no more than the names of categories do. */
    bool IsTableInCategories();
    GDALRasterBand *GetMaskBand() override;
    int GetMaskFlags() override;
    CPLErr ComputeStatistics(int approximate, double *min, double *max, double *mean, double *deviation,
                             GDALProgressFunc progress, void *progressData ZS_STATISTICS_OPTIONS) override;
    CPLErr GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                        int approximate, GDALProgressFunc progress, void *progressData) override;
    CPLErr GetDefaultHistogram(double *min, double *max, int *buckets, GUIntBig **histogram, int force,
                               GDALProgressFunc progress, void *progressData) override;
    CPLErr SetDefaultHistogram(double min, double max, int buckets, GUIntBig *histogram) override;
    /* Whether histograms go to the store. */
    bool KeepsHistogram();
    CPLErr AddHistogram(GDALProgressFunc progress, void *progressData);
    bool IsMaskBand() const override;
    GDALMaskValueRange GetMaskValueRange() const override;
    CPLErr CreateMaskBand(int flags) override;
    int IGetDataCoverageStatus(int x, int y, int width, int height, int stopFlags, double *percent) override;
};

/* What was set of bands, among what is said of all slices of their arrays. */
class ZSBandProperties : public ZSDatasetPart
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isPending = false;

    enum zs_status FlushOf(size_t source, struct zs_error *err);

  public:
    ZSBandProperties(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }
    void SetChanged()
    {
        m_isPending = true;
    }
    bool IsPending() const override
    {
        return m_isPending;
    }
    enum zs_status Flush(struct zs_error *err) override;
    void SetPublished() override;
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

/* What a band of any driver means, as the core keeps it; released with zs_meaning_clear(). Nodata is left out. */
struct zs_meaning zsMeaningOf(GDALRasterBand &band);

/* Puts a copy of a text, as the core owns it, in the place of one; null for an empty one. */
void zsReplaceText(char *&text, const char *by);

/* A list of strings as the core owns them; null for an empty one. */
char **zsCopyList(CSLConstList list);

#endif
