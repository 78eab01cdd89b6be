/* gdal/raster/dataset_items.h: the metadata of a dataset: items and domains of the array and the group above it, or of
 * a group's arrays, are read, merged and written here. They are kept in GDAL's own object; those of a side-car file go
 * before. */
#ifndef ZS_GDAL_DATASET_ITEMS_H
#define ZS_GDAL_DATASET_ITEMS_H

#include <functional>
#include <memory>

#include "items.h"
#include "view.h"

class ZSItems : public ZSDatasetPart
{
  public:
    using Georef = std::function<const struct zs_georef &()>;

  private:
    const Georef m_georef; /* for AREA_OR_POINT */
    bool m_isRead = false, m_netcdfRead = false, m_domainsRead = false;
    CPLStringList m_fromStore; /* the store's items: a side-car file does not repeat them */
    struct zs_domains m_domains = {};
    CPLStringList m_structure; /* the domain IMAGE_STRUCTURE, once it was asked for */
    bool m_isPending = false;

    void KeepDomains();
    void AddFixedPlace(CPLStringList &md, size_t source, int dim);
    void AddAxisItems(CPLStringList &md, size_t source);
    CPLStringList AxisItems();
    /* Coordinates of the only band dimension as the netCDF driver tells them, which rioxarray and that driver's copies
     * understand. */
    CPLStringList NetcdfItems();
    enum zs_status RemoveItemsAbove(struct zs_error *err);
    const char *StoredRegistration();

  protected:
    GDALPamDataset &m_dataset;
    ZSView &m_view;
    bool m_domainsChanged = false;

    /* The group directly above the arrays, null where there is none; and its items. */
    const struct zs_node *GroupAbove() const;
    CPLStringList ItemsAbove() const;
    /* The items to write: without those of axes, unless changed, and without AREA_OR_POINT where a convention declares
     * it. */
    CPLStringList ItemsToWrite();
    /* The items that are equal in all arrays. */
    virtual CPLStringList CommonItems();
    virtual enum zs_status WriteItems(struct zs_error *err);
    virtual bool WritesDomains() const
    {
        return true;
    }

  public:
    ZSItems(GDALPamDataset &dataset, ZSView &view, Georef georef)
        : m_georef(std::move(georef)), m_dataset(dataset), m_view(view)
    {
    }
    ~ZSItems() override
    {
        zs_domains_clear(&m_domains);
    }
    /* Makes the items of an array, or of a group's arrays. */
    static std::unique_ptr<ZSItems> Of(GDALPamDataset &dataset, ZSView &view, Georef georef);

    /* Gives the dataset the items of the default domain, or of another (NULL: of all), unless it has them. */
    void Read();
    /* Reads NETCDF_DIM_ items, too, which takes reading coordinates: for callers that ask for these or for all. */
    void ReadAll();
    void ReadDomains(const char *domain);
    /* IMAGE_STRUCTURE: whether the bands of a pixel lie in a chunk together, how chunks are compressed, what shape
     * shards have. Of the array as it is, and nothing that a side-car file should repeat. */
    CPLStringList &Structure();

    /* They are set in the dataset, in update mode. */
    void SetChanged(const char *domain);
    void ForgetStructure()
    {
        m_structure.Clear();
    }

    /* Items of an array that its bands show in a group's dataset. The dataset itself shows the items that all arrays
     * have alike. */
    virtual const CPLStringList &OwnItems(size_t source);
    /* Removes the array's items that none of its bands shows any more; new and changed items are written to the
     * band. */
    virtual enum zs_status WriteOwnItems(size_t source, const std::function<bool(const char *)> &isShown,
                                         struct zs_error *err);

    /* Calls f() while the dataset has only items that are not in the store. */
    template <class F> auto WithoutStored(const F &f)
    {
        const CPLStringList all(CSLDuplicate(m_dataset.GDALMajorObject::GetMetadata()));
        m_dataset.GDALMajorObject::SetMetadata(zsItemsNotIn(all.List(), m_fromStore.List()).List());
        KeepDomains();
        const ZSDomainsAside aside(m_dataset, m_domains);
        const auto result = f();
        m_dataset.GDALMajorObject::SetMetadata(const_cast<char **>(all.List()));
        return result;
    }

    bool IsPending() const override
    {
        return m_isPending;
    }
    enum zs_status Flush(struct zs_error *err) override;
    void SetPublished() override;
};

#endif
