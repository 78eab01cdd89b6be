/* gdal/multidim/mdim.h: the multidimensional face: groups, arrays, dimensions and attributes of a store. A thin layer:
 * geo/ reads and writes metadata, array/ reads and writes elements. Several threads may read one object at once; only
 * one may write. */
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
                            const GPtrDiff_t *stride, size_t size, void *data);

/* Reads elements as `type`, of which those of the array are `own` to GDAL. */
bool zsMdimRead(struct zs_array *array, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type, struct zs_error *err);

/* Writes elements of a numeric type. ZS_ARGUMENT and ZS_UNSUPPORTED: what was asked for cannot be. */
enum zs_status zsMdimWrite(struct zs_array *array, const ZSMdimRequest &request, GDALDataType type,
                           struct zs_error *err);

/* Copies all elements of an array to another of its shape, in pieces as GDAL has them. Whatever fails is a failure
 * (CPLError emitted). */
bool zsMdimCopyValues(GDALMDArray &to, const GDALMDArray &from, GUInt64 &cost, GUInt64 totalCost,
                      GDALProgressFunc progress, void *progressData);

/* An opened array of the core. */
struct ZSMdimOpened
{
    std::unique_ptr<struct zs_array, decltype(&zs_array_close)> array{nullptr, zs_array_close};
    bool isBlank = false; /* made here, and nothing is written to it: its fill value may change */

    struct zs_array *Get() const
    {
        return array.get();
    }
};

/* A dimension whose size may change. */
class ZSMdimSized : public GDALDimension
{
  public:
    using GDALDimension::GDALDimension;
    /* Switches to the new path of its group. */
    virtual void SetGroup(const std::string &)
    {
    }
    virtual void SetSize(GUInt64 size)
    {
        m_nSize = size;
    }
#if ZS_GDAL_AT_LEAST(8)
    /* Switches to its new name in the store. */
    virtual void SetName(const std::string &name)
    {
        BaseRename(name);
    }
#endif
};

/* A live object of GDAL's user, whose node may be replaced. */
class ZSMdimFollower
{
  public:
    virtual ~ZSMdimFollower() = default;
    /* Switches to another node and closes what is open of the old one. False with the message in err. */
    virtual bool Follow(const struct zs_node *node, struct zs_error *err) = 0;
};

/* The handle of a node, shared by its live objects (array, group, attributes, dimensions). They find the node through
 * it, so a rename, a new shape or a deletion changes the handle alone. */
struct ZSMdimNode
{
    std::string path;
    bool isThere = true;                /* false: it was deleted */
    std::map<std::string, int> deleted; /* by name of an attribute: how often it was deleted or renamed */

    std::weak_ptr<ZSMdimOpened> opened;
    /* Keeps arrays open that are read again and again: those of one dimension (coordinates), and those with writes. */
    std::shared_ptr<ZSMdimOpened> kept;
    /* In an updatable store each node has at most one live object. The root group has none here. */
    std::weak_ptr<GDALMDArray> array;
    std::weak_ptr<GDALGroup> group;
    std::vector<std::shared_ptr<GDALDimension>> made; /* dimensions that were made in the group */
    bool isSrsSet = false;                            /* the array's CRS is set and still pending */
    std::shared_ptr<OGRSpatialReference> srs;

    /* Closes the array; it is reopened lazily. */
    void Close()
    {
        opened.reset();
        kept.reset();
    }
    /* False (CPLError emitted) when it was deleted. */
    bool CheckThere() const
    {
        if (!isThere)
            CPLError(CE_Failure, CPLE_AppDefined, "/%s was deleted", path.c_str());
        return isThere;
    }
};

/* An array and its dimensions; one that shares a dimension, and the numbers which that has there. */
struct ZSMdimFound
{
    const struct zs_node *node;
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count;
};
struct ZSMdimHaving
{
    ZSMdimFound array;
    std::vector<int> numbers;
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

    std::mutex m_lock;
    std::map<std::string, std::shared_ptr<ZSMdimNode>> m_nodes;       /* by path; destroyed before m_store */
    std::map<std::string, std::weak_ptr<GDALDimension>> m_dimensions; /* by DimensionKey() */

    /* ---- Writing (mdim_store.cpp) ---- */

    bool m_isUpdatable = false;
    bool m_isLost = false;      /* elements could not be written: this store must not replace another */
    bool m_isAbandoned = false; /* see Abandon() */
    bool m_hasRefused = false;  /* an array or a group was not made, for its options or for what the disk says */
    GDALDataset *m_source = nullptr; /* what is being copied into the store; or null */
    bool m_isLenient = false;            /* see Complain() */
    bool m_consolidates = false; /* a new store gets consolidated metadata; one that is there keeps what it has */
    CPLStringList m_arrayOptions;         /* for all arrays that are made */
    std::unique_ptr<ZSTarget> m_target;   /* of a new store, until it is published */

    /* Returns the handle of a path; of all nodes at and below a path. */
    std::shared_ptr<ZSMdimNode> Handle(const std::string &path);
    std::vector<std::shared_ptr<ZSMdimNode>> HandlesWithin(const std::string &path) const;
    std::shared_ptr<ZSMdimOpened> OpenCore(const struct zs_node *node, struct zs_error *err);
    std::shared_ptr<GDALDimension> MadeDimension(const std::string &path, const std::string &name, GUInt64 size) const;
    static std::string DimensionKey(const struct zs_node *node, const struct zs_dimension &from);
    bool FlushArrays();
    bool WriteDocuments();

    bool FollowNode(const struct zs_node *node, struct zs_error *err);

    /* ---- Arrays that become longer (mdim_change.cpp) ---- */

    using Shapes = std::map<std::string, std::vector<uint64_t>>; /* of arrays, by path */

    bool CheckSizes(const ZSMdimFound &array, const std::vector<GUInt64> &sizes, struct zs_error *err) const;
    bool PlanResize(const struct zs_node *node, const std::vector<GUInt64> &sizes, std::vector<ZSMdimHaving> &arrays,
                    Shapes &shapes, struct zs_error *err) const;
    void LeaveOverviews(std::vector<ZSMdimHaving> &arrays, Shapes &shapes) const;

    /* ---- What is renamed or deleted (mdim_change.cpp) ---- */

    bool IsShared(const struct zs_node *node, const struct zs_dimension &dim, const struct zs_node *other,
                  const struct zs_dimension &others) const;
    std::vector<ZSMdimHaving> AllWith(const std::vector<ZSMdimFound> &all, const struct zs_node *node,
                                      const struct zs_dimension &dim) const;
    std::vector<std::shared_ptr<ZSMdimSized>> LiveDimensions(const ZSMdimFound &array, int number);
    bool HasDimension(const std::vector<ZSMdimFound> &all, const std::set<std::string> &groups,
                      const std::string &name) const;
    bool FollowAll(const std::vector<ZSMdimHaving> &arrays, struct zs_error *err);
    void Forget(const std::string &path);
    bool RemoveLevels(const std::string &path);
    bool MoveNode(const std::string &from, const std::string &name);
    bool FollowMove(const std::string &from, const std::string &to);
    template <class Object> bool Follow(const std::shared_ptr<Object> &object, const std::string &path);

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
    /* GDAL's name of the group that a node is in, and the node's own. */
    std::string ParentName(const struct zs_node *node) const;
    std::string NodeName(const struct zs_node *node) const;
    /* File name of a node's document, which need not exist yet. */
    std::string DocumentName(const struct zs_node *node) const;

    /* The core's array, opened once for all; null with the message in err. */
    std::shared_ptr<ZSMdimOpened> Open(const struct zs_node *node, struct zs_error *err);
    /* The array as GDAL sees it; null with the message in err. */
    std::shared_ptr<GDALMDArray> Array(const struct zs_node *node, struct zs_error *err);
    /* Its dimensions, each the same object for all arrays of a group that have it; false with the message in err. */
    bool Dimensions(const struct zs_node *node, std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                    struct zs_error *err);

    /* ---- Writing; CPLError is emitted on failure ---- */

    bool IsUpdatable() const
    {
        return m_isUpdatable;
    }
    /* False where it is only read, or was abandoned. */
    bool CheckUpdatable() const;
    /* The handle of a node that may be changed; null where nothing is. */
    std::shared_ptr<ZSMdimNode> Changeable(const std::string &path)
    {
        return m_isUpdatable ? Handle(path) : nullptr;
    }
    /* The node at a path as it is by now: another fill value makes another node. */
    const struct zs_node *Node(const std::string &path) const;
    /* Calls f(hierarchy, node, err), which changes the node at a path; where it fails nothing is changed. */
    template <class F> bool Change(const std::string &path, F &&f)
    {
        struct zs_error err;
        const struct zs_node *node = CheckUpdatable() ? Node(path) : nullptr;
        if (node == nullptr)
            return false;
        ZSSavepoint edit(Hierarchy());
        if (f(Hierarchy(), node, &err) == ZS_OK)
        {
            edit.Keep();
            return true;
        }
        return zsReport(err);
    }
    CSLConstList ArrayOptions() const
    {
        return m_arrayOptions.List();
    }
    /* Opens an array that is new. */
    std::shared_ptr<ZSMdimOpened> OpenNew(const struct zs_node *node, int chunkOrder, struct zs_error *err);
    /* Opens an array again whose node was replaced. */
    std::shared_ptr<ZSMdimOpened> OpenAgain(const struct zs_node *node, const ZSMdimOpened &old, struct zs_error *err);
    /* Makes an array, and all that share a dimension with it, longer; all of them or none. */
    bool Resize(const struct zs_node *node, const std::vector<GUInt64> &sizes);
    /* Finds the overview levels that belong to an array alone and are renamed or removed with it, by their paths; none
     * for a node that is no such array. */
    bool OwnLevels(const std::string &path, struct zs_axes &axes, std::vector<std::string> &levels);
    /* Removes a node and all below it, with its overviews and the references to it; at once where the store is in its
     * place. */
    bool Remove(const std::string &path);
    /* Removes an array that was added and then could not be made. */
    void Unmake(const struct zs_node *node);
    /* Renames a node at once, with its overviews and all references to it. */
    bool Rename(const std::string &path, const std::string &name);
    /* Renames a dimension in all arrays that share it, or in none: the one that the array at a path has as its
     * number-th, or (path null) one that was made in a group. */
    bool RenameDimension(const std::shared_ptr<ZSMdimSized> &self, const char *path, int number,
                         const std::string &group, const std::string &name);
    /* Updates names of live objects below a group after a rename. */
    void AnnounceNames(const std::string &path);
    /* The group of a node, one object while it lives. */
    std::shared_ptr<GDALGroup> Group(const struct zs_node *node);
    /* Registers an array that was made. */
    void AddArray(const std::string &path, const std::shared_ptr<GDALMDArray> &array)
    {
        Handle(path)->array = array;
    }
    std::shared_ptr<GDALDimension> MakeDimension(const std::string &path, const std::string &name,
                                                 const std::string &type, const std::string &direction, GUInt64 size);
    std::vector<std::shared_ptr<GDALDimension>> MadeDimensions(const std::string &path) const
    {
        const auto found = m_nodes.find(path);
        return m_isUpdatable && found != m_nodes.end() ? found->second->made
                                                       : std::vector<std::shared_ptr<GDALDimension>>();
    }
    void SetSpatialRef(const std::string &path, const std::shared_ptr<OGRSpatialReference> &srs)
    {
        const auto handle = Handle(path);
        handle->srs = srs;
        handle->isSrsSet = true;
    }
    /* Notes that writing elements failed, so that some are lost. (A request that was refused loses none.) */
    void MarkLost()
    {
        m_isLost = true;
    }
    /* Notes that an array or a group could not be made: the copy is incomplete. */
    void MarkRefused()
    {
        m_hasRefused = true;
    }
    bool HasLosses() const
    {
        return m_isLost || m_hasRefused;
    }
    /* Begins and ends a copy of another root group. */
    void StartCopy(GDALDataset *source, bool isLenient)
    {
        m_source = source;
        m_isLenient = isLenient;
    }
    void EndCopy()
    {
        StartCopy(nullptr, false);
    }
    bool IsCopying() const
    {
        return m_source != nullptr;
    }
    /* The array that becomes the one of that path in a copy; null where the source has none, or none that opens. */
    std::shared_ptr<GDALMDArray> SourceArray(const std::string &path) const;
    /* Likewise; of a virtual dataset the first array that the one at the path is made of. */
    std::shared_ptr<GDALMDArray> FirstSourceArray(const std::string &path) const;
    /* Reports a property of a source that cannot be stored: an error, or a warning where the copy goes on without
     * it. */
    void Complain(const std::string &what) const;
    /* Whether a new node may have this name; else complains. */
    bool CheckName(const std::string &name) const;

    /* Brings what was written to one array to the store. */
    bool FlushArray(const std::string &path);
    /* Writes all pending changes, metadata last, and then publishes a new store. */
    bool Flush(bool isLast);
    /* Drops what was not flushed, and a new store that is not published. */
    void Abandon();
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

/* A group that is not the root. */
std::shared_ptr<GDALGroup> zsMdimSubgroup(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node);

/* The group at `node`; null where there is none, and `only` is the one array it is to show. */
std::shared_ptr<GDALGroup> zsMdimGroup(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                       const struct zs_node *only);

/* ---- mdim_attribute.cpp ---- */

/* The attributes of a node as zs_attributes_read() has them. `owner` is the full name of the node. */
std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const struct zs_node *node, const std::string &owner,
                                                             const struct zs_band_properties *properties, bool hasSrs);
/* A new one of the node at a path, which is there once it is written. Null (CPLError emitted) for what JSON has not. */
std::shared_ptr<GDALAttribute> zsMdimNewAttribute(const std::shared_ptr<ZSMdimStore> &store, const std::string &path,
                                                  const std::string &owner, const std::string &name,
                                                  const std::vector<GUInt64> &dimensions,
                                                  const GDALExtendedDataType &type);
/* False (CPLError emitted) where there is none of that name. */
bool zsMdimDeleteAttribute(const std::shared_ptr<ZSMdimStore> &store, const std::string &path, const std::string &owner,
                           const std::string &name);

/* ---- mdim_elements.cpp ---- */

/* Adds what GetStructuralInfo() lists beside the codecs: the unit of times, the shape of shards. */
void zsMdimTellStructure(const struct zs_node *node, const struct zs_array_info &info, CPLStringList &list);

/* ---- mdim_create.cpp ---- */

/* A new array in a group; null (CPLError emitted). */
std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList options);

/* ---- mdim_array.cpp ---- */

/* An array that was made and opened. */
std::shared_ptr<GDALMDArray> zsMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                         const std::shared_ptr<ZSMdimOpened> &opened,
                                         const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                         struct zs_error *err);

/* ---- mdim_strings.cpp ---- */

/* An array of text; null with the message in err. `made`: the dimensions that it was made of, if it was. */
std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           const std::vector<std::shared_ptr<GDALDimension>> &made,
                                           struct zs_error *err);

/* ---- mdim_group.cpp ---- */

/* A dataset of the store's root group; closing it flushes the store. */
std::unique_ptr<GDALDataset> zsMdimDataset(const std::shared_ptr<ZSMdimStore> &store, GDALAccess access);
/* Returns the hierarchy behind a dataset of this face, borrowed; null for another driver's dataset. */
struct zs_hierarchy *zsMdimHierarchy(GDALDataset *dataset);
