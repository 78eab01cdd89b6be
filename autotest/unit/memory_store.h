/* memory_store.h: a store of objects in memory, empty at first: the plain model of a store. An object that is open keeps
 * its bytes when it is replaced. */
#ifndef MEMORY_STORE_H
#define MEMORY_STORE_H

#include "store/store.h"

enum zs_status zs_store_open_memory(struct zs_store **store, struct zs_error *err);

/* Removes every object below a prefix of any store, if there are; of symbolic links themselves, not what they lead to.
 * Ends the test where it cannot. */
void remove_tree(struct zs_store *store, const char *prefix);

#endif
