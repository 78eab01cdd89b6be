/* gdal/raster/container.h: datasets of no bands that list others: the arrays of a store, the slices of an array. */
#ifndef ZS_GDAL_CONTAINER_H
#define ZS_GDAL_CONTAINER_H

#include "dataset.h"

class ShardedZarrContainer final : public GDALDataset
{
    CPLStringList m_subdatasets;
    std::shared_ptr<ZSStore> m_store;

  public:
    /* With the metadata of `group`, if it is not null. */
    ShardedZarrContainer(const std::shared_ptr<ZSStore> &store, const struct zs_node *group);
    void Add(const std::string &name, const std::string &description);
    char **GetFileList() override;
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;
};

/* MULTIBAND=NO: each slice of an array of more than two dimensions is a subdataset, named by its indices. */
std::unique_ptr<GDALDataset> zsListSlices(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                          const struct zs_node *node, const struct zs_slices &slices);

/* For an array of more slices than a dataset has bands: its slowest dimensions become subdatasets until the rest fits.
 * One for each index; where these would be more than can be listed, for ranges of the last of those dimensions. */
std::unique_ptr<GDALDataset> zsListParts(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                         const struct zs_node *node, const struct zs_slices &slices);

/* Lists of more arrays tell no times, nor those of remote stores: each costs a look at a coordinate variable. */
constexpr size_t ZS_MOST_TIMES = 64;

/* "[720x600x600] 2 metre temperature (K) (Float32), time 2026-05-01..2026-05-30", as far as it is known. With `times`
 * the coordinates of the extra dimensions are looked at. In a list it follows the name and " - ": QGIS calls a layer by
 * what is before that. */
/* With `slices`, the shape is that of these: of each dimension in which they differ, and of the raster. */
std::string zsDescribe(const ZSStore &store, const struct zs_node *node, bool times,
                       const struct zs_slices *slices = nullptr);

#endif
