/* gdal/raster/group.h: a group whose arrays lie on one grid as one dataset. */
#ifndef ZS_GDAL_GROUP_H
#define ZS_GDAL_GROUP_H

#include "dataset.h"

extern "C"
{
#include "raster/groups.h"
}

/* Such groups of a store. */
class ZSRasterGroups
{
    struct zs_raster_groups m_groups = {};

  public:
    ZSRasterGroups() = default;
    ~ZSRasterGroups()
    {
        zs_raster_groups_clear(&m_groups);
    }
    ZSRasterGroups(const ZSRasterGroups &) = delete;
    ZSRasterGroups &operator=(const ZSRasterGroups &) = delete;

    /* Among rasters[count], of which all that can be a dataset count. False, with the reason in err, without memory. */
    bool Find(const ZSStore &store, const struct zs_node *const *rasters, size_t count, const ZSOpenOptions &options,
              struct zs_error *err);
    const struct zs_raster_group *begin() const
    {
        return m_groups.list;
    }
    const struct zs_raster_group *end() const
    {
        return m_groups.list + m_groups.count;
    }
    /* Null where it is none of them. */
    const struct zs_raster_group *Of(const struct zs_node *group) const;
};

/* The dataset, with a band for each slice of its arrays, or for those that the connection chooses; none of arrays of a
 * kind that cannot be read, for each of which `missing` gets a line. Null, with the reason in err, when that cannot
 * be. */
std::unique_ptr<ShardedZarrDataset> zsOpenRasterGroup(const std::shared_ptr<ZSStore> &store,
                                                      const ZSConnection &connection,
                                                      const struct zs_raster_group &group,
                                                      const ZSOpenOptions &options, GDALAccess access,
                                                      std::vector<std::string> &missing, struct zs_error *err);

/* "[4x10980x10980] b02, b03, b04, b08 (UInt16)" */
std::string zsDescribeGroup(const struct zs_raster_group &group);

#endif
