/* Decides which filling a root gets, and which stores stand before it. */
#include <stdlib.h>
#include <string.h>

#include "store/http.h"
#include "store/local.h"
#include "store/vsi.h"

static enum zs_status open_at(const char *path, const struct zs_path_kind *kind, struct zs_store **store,
                              struct zs_error *err)
{
    if (kind->is_local)
        return zs_store_open_local(path, store, err);
    ZS_TRY(zs_store_open_vsi(path, kind, store, err));
    ZS_TRY(zs_store_open_http(*store, store, err));
    if (!kind->is_remote)
        return ZS_OK;
    ZS_TRY(zs_store_open_uploads(*store, store, err));
    (*store)->lists_all = kind->page_option != NULL; /* OpenStack's listings are behind, and have no page to compare */
    return ZS_OK;
}

enum zs_status zs_store_open(const char *root, struct zs_store **store, struct zs_error *err)
{
    const struct zs_path_kind kind = zs_path_kind_of(root);
    char *path = zs_strdup(root);
    zs_vsi_hand_down_settings();
    ZS_TRY_MEMORY(path, err);
    /* A trailing slash would double in every path, which object stores take literally. */
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    const enum zs_status status = open_at(path, &kind, store, err);
    free(path);
    return status;
}
