/* store/listing.h: the list of names that zs_store_list() gives, while it grows. */
#ifndef ZS_STORE_LISTING_H
#define ZS_STORE_LISTING_H

#include "store/store.h"

/* Zero-initialise. */
struct zs_names {
    char **list;
    size_t count, capacity;
};
/* Adds n bytes of a name, and "/" behind that of a prefix. */
enum zs_status zs_names_add(struct zs_names *names, const char *name, size_t n, bool is_prefix,
                            struct zs_error *err) ZS_MUST_CHECK;
/* Hands the list over when `status` is ZS_OK, and else frees it; gives that status on. */
enum zs_status zs_names_finish(struct zs_names *names, enum zs_status status, char ***list,
                               struct zs_error *err) ZS_MUST_CHECK;

#endif
