/* store/names.h: how objects are named: to GDAL, to servers, and in messages. */
#ifndef ZS_STORE_NAMES_H
#define ZS_STORE_NAMES_H

#include "store/store.h"

/* The name of an object in GDAL's virtual file systems, "" for the root. In a URL the key is percent-encoded and stands
 * before the query of the root, which often is a signature; so in the URL that is an option of /vsicurl?. NULL without
 * memory, freed with free(). */
char *zs_vsi_path(const struct zs_store *store, const char *key);

/* The URL under which a plain GET finds an object of a network's file system, signed where its settings ask for that.
 * NULL when GDAL cannot tell, and without memory; freed with free(). */
char *zs_vsi_object_url(const char *path);

/* A root as messages may show it: without "user:password@", without the query of a URL and without the options of a
 * prefix, which hold signatures, headers and keys. NULL without memory, freed with free(). */
char *zs_path_shown(const char *path);
/* The same of every URL and path of GDAL's in a text of others. */
char *zs_text_shown(const char *text);

#endif
