/* store/vsi.h: a store in GDAL's virtual file systems. The way that always works. */
#ifndef ZS_STORE_VSI_H
#define ZS_STORE_VSI_H

#include "store/place.h"
#include "store/store.h"

/* `root` is of that kind of place; copied. */
enum zs_status zs_store_open_vsi_place(const char *root, const struct zs_scatter *place, struct zs_store **store,
                                       struct zs_error *err) ZS_MUST_CHECK;

#endif
