/* gdal/multidim/mdim.h: the multidimensional face: groups, arrays, dimensions and attributes of a store. A thin layer:
 * geo/ reads and writes metadata, array/ reads and writes elements. An object has the handle of a node and asks the
 * hierarchy for the node each time. Several threads may read one object at once; only one may write. */
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gdal/connection.h"
#include "gdal/create/creation_options.h"
#include "gdal/create/target.h"
#include "gdal/handles.h"
#include "gdal/types.h"

extern "C"
{
#include "array/array.h"
#include "geo/attributes.h"
#include "raster/overviews.h"
}

/* ---- Elements of arrays: windows with steps and strides, read and written (mdim_elements.cpp) ---- */

/* The arguments of GDALAbstractMDArray::IRead(). */
using ZSMdimRequest = struct zs_stepped_window;

/* The request for elements of `size` bytes, steps made positive. GDAL has checked that it lies in the array. */
ZSMdimRequest zsMdimRequest(size_t ndim, const GUInt64 *start, const size_t *count, const GInt64 *step,
                            const GPtrDiff_t *stride, size_t size, const void *data);

/* A value of GDAL's memory as text. False where it cannot be converted, which GDAL has reported. */
bool zsMdimTextOf(const void *value, const GDALExtendedDataType &type, std::string &text);

/* Read and write elements as those of a type: numbers of an array that is open (with a numeric type), or texts of one
 * that is null, whose writes go to the store at once. ZS_ARGUMENT and ZS_UNSUPPORTED: what was asked for cannot be. The
 * message is empty where GDAL has reported why a text cannot be converted. */
class ZSMdimStore;
enum zs_status zsMdimRead(const ZSMdimStore &store, const struct zs_node *node, struct zs_array *array,
                          const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err);
enum zs_status zsMdimWrite(const ZSMdimStore &store, const struct zs_node *node, struct zs_array *array,
                           const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err);

/* ---- What the objects of one store share ---- */

/* The handle of a node, shared by its live objects. They find the node through it, so a rename, a new shape or a
 * deletion changes the handle alone. */
struct ZSMdimNode
{
    std::string path;
    bool isThere = true; /* false: it was deleted */

    /* Arrays that are kept open: those of one dimension (coordinates), which are read again and again, and those of a
     * store that is changed. Where it is reset, the array is reopened lazily. */
    std::shared_ptr<struct zs_array> opened;
    bool isMade = false;  /* in this session: its CRS is written with the documents */
    bool isBlank = false; /* made, and nothing is written to it: its fill value may change */
    int chunkOrder = 0;   /* of new shards */

    /* What the next flush writes of an array: its CRS, and the type of the dimension it is the variable of. */
    bool isSrsSet = false;
    std::shared_ptr<OGRSpatialReference> srs;
    std::string dimensionType;

    std::weak_ptr<GDALMDArray> array; /* of a store that is changed: its one live object */
};

/* A live object of GDAL's user: an array, a group, a dimension or an attribute. The store knows those that it may
 * change (Follow()), and keeps none of them. */
class ZSMdimObject
{
  protected:
    const std::shared_ptr<ZSMdimStore> m_store; /* null: of a dimension that was made */
    const std::shared_ptr<ZSMdimNode> m_handle; /* null: of a dimension */

    ZSMdimObject(const std::shared_ptr<ZSMdimStore> &store, const std::shared_ptr<ZSMdimNode> &handle)
        : m_store(store), m_handle(handle)
    {
    }
    /* The node as it is by now; null (CPLError emitted) where it was deleted. */
    const struct zs_node *Node() const;

  public:
    virtual ~ZSMdimObject() = default;
    /* Takes over what GDAL keeps in the object itself, its names and sizes, from the node, if that is still there. */
    virtual void Refresh() = 0;
};

/* The state that all objects of one opened store share. Each but a made dimension holds it, so it outlives
 * the dataset. */
class ZSMdimStore final : public std::enable_shared_from_this<ZSMdimStore>
{
    const std::shared_ptr<ZSStore> m_store;
    const ZSOpenOptions m_options;
    const std::string m_shown; /* path of what GDAL's root group shows: a group, or an array alone */
    const std::string m_root;  /* path of that group, or of the one that the array is in */

    std::mutex m_lock; /* of the next two, and of arrays that are being opened */
    std::map<std::string, std::shared_ptr<ZSMdimNode>> m_nodes; /* by path; destroyed before m_store */
    std::vector<std::weak_ptr<ZSMdimObject>> m_live;

    std::unique_ptr<ZSNewStore> m_target; /* of a new store, until it is published */
    bool m_isAbandoned = false;           /* see Abandon() */

    bool Publish();

  public:
    struct zs_hierarchy *const hierarchy;
    struct zs_store *const store;
    const std::shared_ptr<GDALPamMultiDim> pam; /* statistics; null for remote stores, and for those that are made */
    const bool isUpdatable;

    /* Of a store that is made: its root gets consolidated metadata, and options for all of its arrays. */
    bool consolidates = false;
    CPLStringList arrayOptions;

    GDALDataset *source = nullptr; /* what is being copied into the store; or null */
    bool isLenient = false;        /* see Complain() */
    /* Elements could not be written, or a node of a copy not be made: this store must not replace another. (A request
     * that was refused loses none.) */
    bool isLost = false;

    /* `shown` is a group, or an array alone. A store that is made has its root alone, and waits in the target. */
    ZSMdimStore(const std::shared_ptr<ZSStore> &opened, const ZSOpenOptions &options, const struct zs_node *shown,
                GDALAccess access, std::unique_ptr<ZSNewStore> target = nullptr);
    ~ZSMdimStore();
    ZSMdimStore(const ZSMdimStore &) = delete;
    ZSMdimStore &operator=(const ZSMdimStore &) = delete;

    /* Bytes of the largest decoded chunk of text. */
    size_t MaxTextChunk() const
    {
        const uint64_t most = m_options.max_chunk_bytes;
        return most != 0 ? static_cast<size_t>(most) : ZS_STRINGS_MAX_CHUNK;
    }
    /* GDAL's name of the group at a path of the store: "/" for the root group. */
    std::string GroupName(const std::string &path) const;
    /* GDAL's name of the group that the node at a path is in, the node's own, and what is in a group of that name. */
    std::string ParentName(const std::string &path) const;
    std::string NodeName(const std::string &path) const;
    static std::string FullName(const std::string &group, const std::string &name)
    {
        return (group == "/" ? "" : group) + "/" + name;
    }
    /* File name of a node's document, which need not exist yet. */
    std::string DocumentName(const std::string &path) const;

    /* The handle of a path. */
    std::shared_ptr<ZSMdimNode> Handle(const std::string &path);
    /* The node as it is by now; null (CPLError emitted) where it was deleted. */
    const struct zs_node *Node(const ZSMdimNode &handle) const;
    /* The core's array; null with the message in err. */
    std::shared_ptr<struct zs_array> Open(ZSMdimNode &handle, struct zs_error *err);
    /* The array as GDAL sees it; null with the message in err. That of a store that is changed is one object while it
     * lives, so that what is set is seen. `made`: the dimensions that it was made of, if it was. */
    std::shared_ptr<GDALMDArray> Array(const std::string &path, struct zs_error *err,
                                       const std::vector<std::shared_ptr<GDALDimension>> &made = {});
    /* Groups; the root group shows an array alone where that was opened, and is not changed then. */
    std::shared_ptr<GDALGroup> RootGroup();
    std::shared_ptr<GDALGroup> Group(const std::string &path);
    /* The dimensions of an array; false with the message in err. */
    bool Dimensions(const struct zs_node *node, std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                    struct zs_error *err);

    /* ---- Writing; CPLError is emitted on failure ---- */

    /* False where it is only read, or was abandoned. */
    bool CheckUpdatable() const;
    /* Has an object refreshed after changes of nodes. */
    void Follow(const std::shared_ptr<ZSMdimObject> &object);
    void Refresh();
    /* Calls f(hierarchy, err), which changes documents. Where it fails after a change nothing more is written. */
    template <class F> bool Edit(F &&f)
    {
        struct zs_error err;
        if (!CheckUpdatable())
            return false;
        ZSWholeEdit edit(hierarchy);
        if (f(hierarchy, &err) != ZS_OK)
            return zsReport(err);
        edit.Keep();
        return true;
    }
    /* Finds the paths of an array's overviews by zs_overviews_find() or zs_overviews_own(). None in a new store,
     * and of a node that is no raster. */
    bool FindLevels(const struct zs_node *node, decltype(zs_overviews_find) *find, struct zs_axes &axes,
                    std::vector<std::string> &levels) const;
    /* Removes a node and all below it, with its overviews; at once where the store is in its place. */
    bool Remove(const struct zs_node *node);
    /* Renames a node at once. */
    bool Rename(const ZSMdimNode &handle, const std::string &name);
    /* The array that becomes the one of that path in a copy; null where the source has none, or none that opens. */
    std::shared_ptr<GDALMDArray> SourceArray(const std::string &path) const;
    /* The same below a virtual dataset, where that is the source. */
    std::shared_ptr<GDALMDArray> FirstSourceArray(const std::string &path) const;
    /* Reports a property of a source that cannot be stored: an error, or a warning where the copy goes on without
     * it. */
    void Complain(const std::string &what) const;
    /* Whether a new node may have this name; else complains. */
    bool CheckName(const std::string &name) const;

    /* Brings what was written to one array to the store. */
    bool FlushArray(const ZSMdimNode &handle);
    /* Writes all pending changes, metadata last, and then publishes a new store. */
    bool Flush(bool isLast);
    /* Drops what was not flushed, and a new store that is not published. */
    void Abandon();
};

/* A dimension: that an array of the store has, or that GDAL's user made in a group, for arrays of that group. */
class ZSMdimDimension final : public GDALDimension, public ZSMdimObject
{
    using Use = std::pair<std::shared_ptr<ZSMdimNode>, int>; /* an array that has it, as which of its dimensions */

    const std::weak_ptr<ZSMdimStore> m_owner;  /* of a made one: programs keep lists of them, and close the store */
    const std::shared_ptr<ZSMdimNode> m_group; /* in which it was made; null: it was found in an array */
    std::vector<Use> m_arrays;

    /* The last of the arrays that are there; null: there is none. */
    const Use *Owner() const;
    /* Finds its node, and what that says of the dimension; false without one, or where that cannot be read. */
    bool Find(ZSMdimStore &store, const struct zs_node *&node, struct zs_dimension &own) const;
    std::shared_ptr<GDALMDArray> CoordinatesOfTransform(ZSMdimStore &store, const struct zs_node *node,
                                                        int number) const;

  public:
    ZSMdimDimension(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &name,
                    const std::string &type, const std::string &direction, GUInt64 size,
                    const std::shared_ptr<ZSMdimNode> &group)
        : GDALDimension(parent, name, type, direction, size), ZSMdimObject(group == nullptr ? store : nullptr, nullptr),
          m_owner(store), m_group(group)
    {
    }
    void AddArray(const std::shared_ptr<ZSMdimNode> &array, int number)
    {
        m_arrays.emplace_back(array, number);
    }
    bool IsMadeIn(const std::shared_ptr<ZSMdimNode> &group) const
    {
        return m_group == group;
    }
    void Refresh() override;
    std::shared_ptr<GDALMDArray> GetIndexingVariable() const override;
    bool SetIndexingVariable(std::shared_ptr<GDALMDArray> variable) override;
#if ZS_GDAL_AT_LEAST(8)
    bool Rename(const std::string &name) override;
#endif
};

/* Path of the group that a node is in; that of the root, "", has none. */
inline std::string zsParentPath(const std::string &path)
{
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/* Path of the node of a name in a group. */
inline std::string zsPathIn(const std::string &group, const std::string &name)
{
    return (group.empty() ? "" : group + "/") + name;
}

/* ---- mdim_dimension.cpp; CPLError is emitted on failure ---- */

/* Changes the sizes (empty: they stay) of an array's dimensions, and the name of one (-1: of none), in all arrays that
 * share these, or in none. */
bool zsMdimChangeDimensions(ZSMdimStore &store, const ZSMdimNode &handle, const std::vector<GUInt64> &sizes,
                            int renamed, const char *name);

/* ---- mdim_attribute.cpp ---- */

/* The attributes of a node, but with `properties` those that GDAL shows in another way. */
std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const std::shared_ptr<ZSMdimNode> &handle,
                                                             const struct zs_band_properties *properties, bool hasSrs);
/* A new one of a node, which is there once it is written. Null (CPLError emitted) for what JSON has not. */
std::shared_ptr<GDALAttribute> zsMdimNewAttribute(const std::shared_ptr<ZSMdimStore> &store,
                                                  const std::shared_ptr<ZSMdimNode> &handle, const std::string &name,
                                                  const std::vector<GUInt64> &dimensions,
                                                  const GDALExtendedDataType &type);
/* False (CPLError emitted) where there is none of that name. */
bool zsMdimDeleteAttribute(ZSMdimStore &store, const ZSMdimNode &handle, const std::string &name);

/* ---- mdim_create.cpp ---- */

/* A new array in a group; null (CPLError emitted). */
std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const std::string &group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList options);
