/* store/lease.h: what zs_mark_hold() (mark.h) leaves in a store, for its commits. Not for C++, which has other
 * atomics. */
#pragma once

#include <stdatomic.h>

#include "store/mark.h"

/* One for a store and those that it stands before; the first owns it. */
struct zs_lease {
    struct zs_store *store;
    char *key;
    atomic_int_least64_t seen; /* seconds since 1970: when the mark was ours, or something was committed */
};
/* Call it before a commit: see zs_mark_hold(). NULL: ZS_OK. */
enum zs_status zs_lease_check(struct zs_lease *lease, struct zs_error *err);
void zs_lease_renew(struct zs_lease *lease); /* after one; NULL is allowed */
void zs_lease_free(struct zs_lease *lease);  /* NULL is allowed */
