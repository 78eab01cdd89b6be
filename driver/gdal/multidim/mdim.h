/* gdal/multidim/mdim.h: the multidimensional face: groups, arrays, dimensions and attributes of a store. A thin layer:
 * geo/ reads and writes metadata, array/ reads and writes elements. An object has the handle of a node and asks the
 * hierarchy for the node each time. Several threads may read one object at once; only one may write. */
#pragma once

#include <algorithm>
#include <map>
#include <set>
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
}

/* ---- Elements of arrays: windows with steps and strides, read, written and copied (mdim_elements.cpp) ---- */

/* The arguments of GDALAbstractMDArray::IRead(). */
using ZSMdimRequest = struct zs_stepped_window;

/* The request for elements of `size` bytes, steps made positive. GDAL has checked that it lies in the array. */
ZSMdimRequest zsMdimRequest(size_t ndim, const GUInt64 *start, const size_t *count, const GInt64 *step,
                            const GPtrDiff_t *stride, size_t size, const void *data);

/* Reads elements as `type`, of which those of the array are `own` to GDAL. */
enum zs_status zsMdimRead(struct zs_array *array, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                          const GDALExtendedDataType &type, struct zs_error *err);

/* Writes elements of a numeric type. ZS_ARGUMENT and ZS_UNSUPPORTED: what was asked for cannot be. */
enum zs_status zsMdimWrite(struct zs_array *array, const ZSMdimRequest &request, GDALDataType type,
                           struct zs_error *err);

/* The same for arrays of text, whose writes go to the store at once. The message is empty where GDAL has reported why
 * a text cannot be converted. `most`: bytes of the largest decoded chunk. */
enum zs_status zsMdimReadTexts(struct zs_hierarchy *hierarchy, const struct zs_node *node, size_t most,
                               const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err);
enum zs_status zsMdimWriteTexts(struct zs_hierarchy *hierarchy, const struct zs_node *node, size_t most,
                                const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err);

/* Copies all elements of an array to another of its shape, in pieces as GDAL has them. Whatever fails is a failure
 * (CPLError emitted). */
bool zsMdimCopyValues(GDALMDArray &to, const GDALMDArray &from, GUInt64 &cost, GUInt64 totalCost,
                      GDALProgressFunc progress, void *progressData);

/* ---- What the objects of one store share ---- */

class ZSMdimDimension;
class ZSMdimStore;

/* A live object of GDAL's user: an array, a group, or a dimension. */
class ZSMdimObject
{
  public:
    virtual ~ZSMdimObject() = default;
    /* Takes over what GDAL keeps in the object itself, its names and sizes, from the node, if that is still there. */
    virtual void Refresh(const ZSMdimStore &store) = 0;
};

/* The handle of a node, shared by its live objects. They find the node through it, so a rename, a new shape or a
 * deletion changes the handle alone. */
struct ZSMdimNode
{
    std::string path;
    bool isThere = true; /* false: it was deleted */

    std::weak_ptr<struct zs_array> opened;
    /* Keeps arrays open that are read again and again: those of one dimension (coordinates), and those with writes. */
    std::shared_ptr<struct zs_array> kept;
    bool isMade = false;  /* in this session: its CRS is written with the documents */
    bool isBlank = false; /* made, and nothing is written to it: its fill value may change */
    int chunkOrder = 0;   /* of new shards */
    bool isSrsSet = false; /* the array's CRS is set and still pending */
    std::shared_ptr<OGRSpatialReference> srs;

    /* A node has at most one live object. The root group has none here. */
    std::weak_ptr<GDALMDArray> array;
    std::weak_ptr<GDALGroup> group;
    std::vector<std::shared_ptr<ZSMdimDimension>> made; /* dimensions that were made in the group */

    /* Closes the array; it is reopened lazily. */
    void Close()
    {
        opened.reset();
        kept.reset();
    }
};

/* An array and its dimensions. */
struct ZSMdimFound
{
    const struct zs_node *node;
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count;
};

/* The state that all objects of one opened store share. Each of them holds it, so it outlives the dataset. */
class ZSMdimStore final : public std::enable_shared_from_this<ZSMdimStore>
{
    std::shared_ptr<ZSStore> m_store;
    ZSOpenOptions m_options;
    const struct zs_node *m_group; /* shown as GDAL's root group; null: only m_only is shown */
    const struct zs_node *m_only;  /* the only array that is shown; null: all arrays */
    std::string m_root;            /* path of the group */
    std::shared_ptr<GDALPamMultiDim> m_pam; /* statistics; null for remote stores, and for those that are made */

    std::mutex m_lock; /* of the two maps, and of arrays that are being opened */
    std::map<std::string, std::shared_ptr<ZSMdimNode>> m_nodes;         /* by path; destroyed before m_store */
    std::map<std::string, std::weak_ptr<ZSMdimDimension>> m_dimensions; /* by DimensionKey() */

    bool m_isUpdatable = false;
    bool m_isLost = false;      /* elements could not be written: this store must not replace another */
    bool m_isAbandoned = false; /* see Abandon() */
    GDALDataset *m_source = nullptr; /* what is being copied into the store; or null */
    bool m_isLenient = false;            /* see Complain() */
    bool m_consolidates = false; /* a new store gets consolidated metadata; one that is there keeps what it has */
    CPLStringList m_arrayOptions;         /* for all arrays that are made */
    std::unique_ptr<ZSTarget> m_target;   /* of a new store, until it is published */

    using Shapes = std::map<std::string, std::vector<uint64_t>>; /* of arrays, by path */

    std::vector<std::shared_ptr<ZSMdimNode>> HandlesWithin(const std::string &path) const;
    std::shared_ptr<ZSMdimDimension> MadeDimension(const std::string &path, const std::string &name,
                                                   GUInt64 size) const;
    bool FlushArrays();
    bool WriteDocuments();

    /* ---- mdim_change.cpp ---- */

    bool FindAll(std::vector<ZSMdimFound> &all, struct zs_error *err) const;
    bool IsShared(const ZSMdimFound &array, int number, const ZSMdimFound &other, int others) const;
    bool PlanResize(const struct zs_node *node, const std::vector<GUInt64> &sizes, Shapes &shapes,
                    struct zs_error *err) const;
    void LeaveOverviews(Shapes &shapes) const;
    bool CloseArray(const std::string &path);
    void Refresh();
    void ForgetRemoved();
    bool MoveNode(const std::string &from, const std::string &name);

  public:
    ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options, const struct zs_node *group,
                const struct zs_node *only, GDALAccess access);
    /* A store that is made: its root is, in `store`, and it waits in the target. */
    ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options, const struct zs_node *root,
                std::unique_ptr<ZSTarget> target, bool consolidates, CSLConstList arrayOptions);
    ~ZSMdimStore();
    ZSMdimStore(const ZSMdimStore &) = delete;
    ZSMdimStore &operator=(const ZSMdimStore &) = delete;

    std::shared_ptr<GDALGroup> RootGroup();

    struct zs_hierarchy *Hierarchy() const
    {
        return m_store->hierarchy;
    }
    struct zs_store *Store() const
    {
        return m_store->store;
    }
    /* Bytes of the largest decoded chunk of text. */
    size_t MaxTextChunk() const
    {
        const uint64_t most = m_options.max_chunk_bytes;
        return most != 0 ? static_cast<size_t>(most) : ZS_STRINGS_MAX_CHUNK;
    }
    const std::shared_ptr<GDALPamMultiDim> &Pam() const
    {
        return m_pam;
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
    /* The core's array, opened once for all; null with the message in err. */
    std::shared_ptr<struct zs_array> Open(ZSMdimNode &handle, struct zs_error *err);
    /* The array and the group as GDAL sees them, one object while it lives; null with the message in err. */
    std::shared_ptr<GDALMDArray> Array(const std::string &path, struct zs_error *err);
    std::shared_ptr<GDALGroup> Group(const std::string &path);
    /* Its dimensions, each the same object for all arrays of a group that have it; false with the message in err. */
    bool Dimensions(const struct zs_node *node, std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                    struct zs_error *err);
    /* "" for a dimension without a name, which belongs to one array alone. */
    static std::string DimensionKey(const struct zs_node *node, const struct zs_dimension &from);

    /* ---- Writing; CPLError is emitted on failure ---- */

    bool IsUpdatable() const
    {
        return m_isUpdatable;
    }
    /* False where it is only read, or was abandoned. */
    bool CheckUpdatable() const;
    /* Calls f(hierarchy, err), which changes documents. Where it fails after a change nothing more is written. */
    template <class F> bool Edit(F &&f)
    {
        struct zs_error err;
        if (!CheckUpdatable())
            return false;
        ZSWholeEdit edit(Hierarchy());
        if (f(Hierarchy(), &err) != ZS_OK)
            return zsReport(err);
        edit.Keep();
        return true;
    }
    CSLConstList ArrayOptions() const
    {
        return m_arrayOptions.List();
    }
    /* Makes an array, and all that share a dimension with it, longer. */
    bool Resize(const ZSMdimNode &handle, const std::vector<GUInt64> &sizes);
    /* Finds the overview levels that belong to an array alone and are renamed or removed with it, by their paths; none
     * for a node that is no such array. */
    bool OwnLevels(const struct zs_node *node, struct zs_axes &axes, std::vector<std::string> &levels);
    /* Removes a node and all below it, with its overviews; at once where the store is in its place. */
    bool Remove(const struct zs_node *node);
    /* Renames a node at once, with its overviews. */
    bool Rename(const ZSMdimNode &handle, const std::string &name);
    /* Renames a dimension in all arrays that share it, or in none: the one that an array (null: none) has as its
     * number-th, and that is called `before`, or was made so in a group. */
    bool RenameDimension(const ZSMdimNode *array, int number, const std::string &group, const std::string &before,
                         const std::string &name);
    std::shared_ptr<GDALDimension> MakeDimension(const std::shared_ptr<ZSMdimNode> &group, const std::string &name,
                                                 const std::string &type, const std::string &direction, GUInt64 size);
    /* Notes that writing elements failed, so that some are lost. (A request that was refused loses none.) */
    void MarkLost()
    {
        m_isLost = true;
    }
    /* Notes that an array or a group could not be made: a copy is incomplete. */
    void MarkRefused()
    {
        m_isLost = m_isLost || IsCopying();
    }
    bool HasLosses() const
    {
        return m_isLost;
    }
    /* Begins and ends a copy of another root group. */
    void StartCopy(GDALDataset *source, bool isLenient)
    {
        m_source = source;
        m_isLenient = isLenient;
    }
    bool IsCopying() const
    {
        return m_source != nullptr;
    }
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

/* A dimension: that an array of the store has, or that GDAL's user made. */
class ZSMdimDimension final : public GDALDimension, public ZSMdimObject
{
    std::weak_ptr<ZSMdimStore> m_store;
    std::shared_ptr<ZSMdimStore> m_kept; /* the same; null for one that was made, which the store keeps */
    std::weak_ptr<ZSMdimNode> m_group;   /* in which it was made, and which holds it; empty: it was found in an array */
    std::shared_ptr<ZSMdimNode> m_array; /* one that has the dimension, as its m_number-th; null: none yet */
    int m_number = 0;

    bool Find(const ZSMdimStore &store, const struct zs_node *&node, struct zs_dimension &own) const;
    std::shared_ptr<GDALMDArray> MadeVariable(ZSMdimStore &store) const;
    std::shared_ptr<GDALMDArray> CoordinatesOfTransform(struct zs_hierarchy *hierarchy,
                                                        const struct zs_node *node) const;

  public:
    ZSMdimDimension(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &name,
                    const std::string &type, const std::string &direction, GUInt64 size,
                    const std::shared_ptr<ZSMdimNode> &group)
        : GDALDimension(parent, name, type, direction, size), m_store(store),
          m_kept(group == nullptr ? store : nullptr), m_group(group)
    {
    }
    /* Notes an array of the same store that has it; the first one counts. */
    void SetArray(const std::shared_ptr<ZSMdimNode> &array, int number)
    {
        if (m_array != nullptr && m_array->isThere)
            return;
        m_array = array;
        m_number = number;
    }
    bool IsOf(const ZSMdimStore &store) const
    {
        return m_store.lock().get() == &store;
    }
    /* Key in the store by now; "" where nothing has it. */
    std::string Key(const ZSMdimStore &store) const;
    void Refresh(const ZSMdimStore &store) override;
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

/* Name of a dimension of an array, "" where it has none. */
inline std::string zsMdimNameOf(const struct zs_dimension &dim)
{
    return dim.name != nullptr ? dim.name : "";
}

/* ---- mdim_group.cpp ---- */

/* The group of a handle; null where there is none, and `only` is the one array it is to show. */
std::shared_ptr<GDALGroup> zsMdimGroup(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent,
                                       const std::string &name, const std::shared_ptr<ZSMdimNode> &handle,
                                       const struct zs_node *only);

/* A dataset of the store's root group; closing it flushes the store. */
std::unique_ptr<GDALDataset> zsMdimDataset(const std::shared_ptr<ZSMdimStore> &store, GDALAccess access);
/* Returns the hierarchy behind a dataset of this face, borrowed; null for another driver's dataset. */
struct zs_hierarchy *zsMdimHierarchy(GDALDataset *dataset);

/* ---- mdim_attribute.cpp ---- */

/* The attributes of a node as zs_attributes_read() has them. `owner` is the full name of the node. */
std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const std::shared_ptr<ZSMdimNode> &handle,
                                                             const std::string &owner,
                                                             const struct zs_band_properties *properties, bool hasSrs);
/* A new one of a node, which is there once it is written. Null (CPLError emitted) for what JSON has not. */
std::shared_ptr<GDALAttribute> zsMdimNewAttribute(const std::shared_ptr<ZSMdimStore> &store,
                                                  const std::shared_ptr<ZSMdimNode> &handle, const std::string &owner,
                                                  const std::string &name, const std::vector<GUInt64> &dimensions,
                                                  const GDALExtendedDataType &type);
/* False (CPLError emitted) where there is none of that name. */
bool zsMdimDeleteAttribute(ZSMdimStore &store, const ZSMdimNode &handle, const std::string &owner,
                           const std::string &name);

/* ---- mdim_create.cpp ---- */

/* A new array in a group; null (CPLError emitted). */
std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const std::string &group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList options);

/* ---- mdim_array.cpp ---- */

/* The array at a node; null with the message in err. `made`: the dimensions that it was made of, if it was. */
std::shared_ptr<GDALMDArray> zsMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                         const std::vector<std::shared_ptr<GDALDimension>> &made,
                                         struct zs_error *err);
