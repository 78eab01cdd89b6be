/* store/http.h: objects read by plain GET requests. VSI's files ask for the size first (HEAD) and have no word for "the
 * last n bytes"; a GET with `Range: bytes=-n` brings both in one round trip, since Content-Range tells the size (RFC
 * 9110, 14.4). */
#ifndef ZS_STORE_HTTP_H
#define ZS_STORE_HTTP_H

#include "store/store.h"

/* Puts plain GET requests before a store in GDAL's virtual file systems (vsi.h) that can be read so, and takes it over,
 * also on failure; else *store = vsi. That store is the road that always works: writing, listing and removing go there,
 * and so does reading as soon as a server shows that it does not play along. */
enum zs_status zs_store_over_http(struct zs_store *vsi, struct zs_store **store, struct zs_error *err) ZS_MUST_CHECK;

#endif
