/* gdal/mdim.h: the multidimensional face: groups, arrays, dimensions and attributes of a store, for reading. Thin: what
 * they mean is found in geo/, elements are read by array/. All of it may be used by several threads at once. */
#ifndef ZS_GDAL_MDIM_H
#define ZS_GDAL_MDIM_H

#include <map>

#include "dataset.h"

extern "C"
{
#include "geo/attributes.h"
#include "geo/dimensions.h"
}

/* An opened array of the core. */
class ZSMdimOpened
{
    struct zs_array *m_array;

  public:
    explicit ZSMdimOpened(struct zs_array *array) : m_array(array)
    {
    }
    ~ZSMdimOpened()
    {
        zs_array_close(m_array);
    }
    ZSMdimOpened(const ZSMdimOpened &) = delete;
    ZSMdimOpened &operator=(const ZSMdimOpened &) = delete;
    struct zs_array *Get() const
    {
        return m_array;
    }
};

/* What the objects of one opened store share. Each of them holds it, so that it outlives the dataset. */
class ZSMdimStore final : public std::enable_shared_from_this<ZSMdimStore>
{
    std::shared_ptr<ZSStore> m_store;
    ZSOpenOptions m_options;
    const struct zs_node *m_group; /* that GDAL's root group is; null: none, only m_only */
    const struct zs_node *m_only;  /* the one array that it shows; null: all */
    std::string m_root;            /* path of the group */
    std::shared_ptr<GDALPamMultiDim> m_pam; /* statistics; null for remote stores */

    std::mutex m_lock;
    /* By path; the second keeps those of one dimension, which are coordinates and read again and again. Closed before
     * the store. */
    std::map<std::string, std::weak_ptr<ZSMdimOpened>> m_opened;
    std::vector<std::shared_ptr<ZSMdimOpened>> m_kept;
    std::map<std::string, std::weak_ptr<GDALDimension>> m_dimensions;

  public:
    ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options, const struct zs_node *group,
                const struct zs_node *only);

    std::shared_ptr<GDALGroup> RootGroup();

    struct zs_hierarchy *Hierarchy() const
    {
        return m_store->hierarchy;
    }
    const struct zs_store *Store() const
    {
        return m_store->store;
    }
    const std::shared_ptr<GDALPamMultiDim> &Pam() const
    {
        return m_pam;
    }
    /* GDAL's name of the group at a path of the store: "/" for the root group. */
    std::string GroupName(const std::string &path) const;
    /* GDAL's name of the group that a node is in, and the node's own. */
    std::string ParentName(const struct zs_node *node) const;
    std::string NodeName(const struct zs_node *node) const;
    /* Where a node's document is. */
    std::string DocumentName(const struct zs_node *node) const;

    /* The core's array, opened once for all; null with the message in err. */
    std::shared_ptr<ZSMdimOpened> Open(const struct zs_node *node, struct zs_error *err);
    /* The array as GDAL sees it; null with the message in err. */
    std::shared_ptr<GDALMDArray> Array(const struct zs_node *node, struct zs_error *err);
    /* Its dimensions, each the same object for all arrays of a group that have it; false with the message in err. */
    bool Dimensions(const struct zs_node *node, std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                    struct zs_error *err);
};

/* ---- mdim_group.cpp ---- */

/* The group at `node`; null where there is none, and `only` is the one array it is to show. */
std::shared_ptr<GDALGroup> zsMdimGroup(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                       const struct zs_node *only);

/* ---- mdim_attribute.cpp ---- */

/* The attributes of a node as zs_attributes_read() has them. `owner` is the full name of the node. */
std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const struct zs_node *node, const std::string &owner,
                                                             const struct zs_meaning *meaning, bool hasSrs);
/* An attribute of one text. */
std::shared_ptr<GDALAttribute> zsMdimTextAttribute(const std::string &owner, const std::string &name,
                                                   const std::string &value);

/* ---- mdim_strings.cpp ---- */

/* An array of text; null with the message in err. */
std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           struct zs_error *err);

/* ---- mdim_read.cpp ---- */

/* What GDALAbstractMDArray::IRead() is asked for, in bytes. */
struct ZSMdimRequest
{
    int ndim;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], step[ZS_MAX_NDIM];
    ptrdiff_t stride[ZS_MAX_NDIM];
    char *data;
};

/* The request for elements of `size` bytes of an array of that shape, steps made positive; false with the message in
 * err where it does not lie in the array. */
bool zsMdimRequest(int ndim, const uint64_t *shape, const GUInt64 *start, const size_t *count, const GInt64 *step,
                   const GPtrDiff_t *stride, size_t size, void *data, ZSMdimRequest &request, struct zs_error *err);

/* Reads elements as `type`, of which those of the array are `own` to GDAL. */
bool zsMdimRead(struct zs_array *array, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type, struct zs_error *err);

/* Copies elements that lie densely at `src` to where the request wants them: start and step are those in `src`, whose
 * shape is given. */
bool zsMdimCopy(const uint64_t *shape, const void *src, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type);

/* ---- mdim_open.cpp ---- */

/* The dataset of a group, or of one array. Null, with the message in err. */
std::unique_ptr<GDALDataset> zsMdimOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                        const ZSConnection &connection, const ZSOpenOptions &options,
                                        GDALAccess access, struct zs_error *err);

#endif
