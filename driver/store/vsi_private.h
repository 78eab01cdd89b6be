/* store/vsi_private.h: what the fillings of a store share; vsi.c and place.c alone know cpl_vsi.h. */
#ifndef ZS_STORE_VSI_PRIVATE_H
#define ZS_STORE_VSI_PRIVATE_H

#include "store/store.h"

/* What kind of place a path is: see place.c. */
struct zs_place {
    bool is_local;    /* a path of the operating system, not of a virtual file system */
    bool is_memory;   /* /vsimem/ */
    bool is_archive;  /* in an archive, wherever that lies */
    bool is_remote;   /* behind a network */
    bool speaks_http; /* ... and failures come with the status of an answer */
};
struct zs_place zs_place_of(const char *path);

/* GDAL's error state and settings around our calls into it: nothing is printed, and no error is left behind. */
struct zs_vsi_quiet {
    int type, number;
    char *message;
    bool readdir_set; /* a thread-local setting to take back */
};
void zs_vsi_quiet_begin(struct zs_vsi_quiet *q, const struct zs_store *store);
void zs_vsi_quiet_end(struct zs_vsi_quiet *q);

/* The name of an object in GDAL's virtual file systems; NULL without memory, freed with free(). */
char *zs_vsi_path(const struct zs_store *store, const char *key);

/* What GDAL was told for this path or for all: GDAL_HTTP_HEADERS and the like. NULL when nothing; borrowed, for now. */
const char *zs_vsi_option(const char *path, const char *name);

/* The URL under which a plain GET finds an object of /vsis3/, /vsigs/ or /vsiaz/, signed where its settings ask for that. NULL when
 * GDAL cannot tell, and without memory; freed with free(). */
char *zs_vsi_object_url(const char *path);

/* A list of names that grows; zero-initialise. */
struct zs_names {
    char **list;
    size_t count, capacity;
};
/* Adds n bytes of a name, and "/" behind that of a prefix. */
enum zs_status zs_names_add(struct zs_names *names, const char *name, size_t n, bool is_prefix, struct zs_error *err) ZS_MUST_CHECK;
/* Hands the list over when `status` is ZS_OK, and else frees it; gives that status on. */
enum zs_status zs_names_finish(struct zs_names *names, enum zs_status status, char ***list, struct zs_error *err) ZS_MUST_CHECK;

/* lock.c: what zs_store_lock() is; *lock is NULL before. A directory of the operating system is locked for all that is in it: an object that is
 * renamed into place is another file each time, and a file beside it would be left behind. Where it cannot be opened, or its file system
 * has no locks (some network ones), *lock stays NULL. */
enum zs_status zs_lock_directory(const char *path, struct zs_lock **lock, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_lock_memory(struct zs_lock **lock, struct zs_error *err) ZS_MUST_CHECK; /* of all files in /vsimem/ */
void zs_lock_release(struct zs_store *store, struct zs_lock *lock);

/* local.c: a directory of the operating system, which need not exist. */
enum zs_status zs_store_open_local(const char *root, struct zs_store **store, struct zs_error *err) ZS_MUST_CHECK;

/* http.c: puts plain GET requests before a store of vsi.c that can be read so, and takes it over; else *store = vsi. */
enum zs_status zs_store_over_http(struct zs_store *vsi, struct zs_store **store, struct zs_error *err) ZS_MUST_CHECK;

#endif
