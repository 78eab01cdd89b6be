#include "new_store.h"

#include "gdal/guard.h"

extern "C"
{
#include "raster/create.h"
}

bool ZSNewStore::Publish()
{
    struct zs_error err;
    zs_hierarchy_defer(store->hierarchy, false);
    if (zs_hierarchy_flush(store->hierarchy, &err) != ZS_OK || zs_store_sync(store->store, &err) != ZS_OK)
        return zsReport(err);
    if (IsAppended() && zs_raster_finish(store->store, group.c_str(), &err) != ZS_OK)
        CPLError(CE_Warning, CPLE_FileIO, "%s; the raster is whole, and this mark can be deleted by hand", err.message);
    if (!IsAppended() && !zsPublishTarget(target, store->store))
        return false;
    m_isPublished = true;
    return true;
}

/* Removes what was appended, and nothing that somebody else put into the group meanwhile. The store is opened anew: the
 * uploads of the other one have failed. */
static void removeAppended(const ZSStore &made, const std::string &group)
{
    ZSStore again;
    struct zs_error err;
    if (zs_store_open(made.store->root, &again.store, &err) != ZS_OK ||
        zs_raster_take_back(made.hierarchy, again.store, group.c_str(), &err) != ZS_OK)
        CPLDebug("ShardedZarr", "/%s is not removed: %s", group.c_str(), err.message);
}

ZSNewStore::~ZSNewStore()
{
    struct zs_error err;
    if (m_isPublished || store->store == nullptr)
        return;
    // An upload that is under way would end after the removal.
    if (zs_store_wait_commits(store->store, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
    if (isClaimed && store->hierarchy != nullptr)
        removeAppended(*store, group);
}
