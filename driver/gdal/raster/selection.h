/* gdal/raster/selection.h: the selection in the name of a dataset: slices of an array, or a group whose arrays lie on
 * one grid. */
#ifndef ZS_GDAL_SELECTION_H
#define ZS_GDAL_SELECTION_H

#include "gdal/connection.h"
#include "view.h"

extern "C"
{
#include "raster/listing.h"
}

class ShardedZarrDataset;

/* Groups whose arrays lie on one grid, of a store. */
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

/* Name of dimension `dim` of an array in names of datasets and in metadata. */
std::string zsDimensionName(const struct zs_node *node, int dim);

/* Finds the selection that a connection makes in the dimensions other than X and Y, in their order; empty when it
 * selects all. Reads coordinates only of dimensions that are selected by value. False, with the reason in err, when
 * there is no such selection. */
bool zsSelect(const ZSStore &store, const struct zs_node *node, const struct zs_axes &axes,
              const ZSConnection &connection, std::vector<struct zs_selection> &selections, struct zs_error *err);

/* The selection as text, the key under which a side-car file keeps its metadata: ":3", ":*:0..24". */
std::string zsSelectionText(const std::vector<struct zs_selection> &selections);

/* ":name=", behind which a value or a range follows. */
std::string zsNamedSelection(const struct zs_node *node, int dim);

#endif
