/* store/store.h: where bytes live: named objects of bytes below one root. One table of functions, filled by local.c
 * (directories) and vsi.c (every GDAL virtual file system, by plain GET requests where it can). A store that is only
 * read may stand before another, and show a format of its own as Zarr.
 *
 * Keys are relative to the root, with "/" between components and none at either end. No component is "", "." or "..",
 * or has a control character: whatever a file may have named, such a key is ZS_ARGUMENT and nothing is done. Absent is
 * ZS_NOT_FOUND and nothing else is: a refused, broken or short answer is ZS_IO. Messages begin with the object's full
 * name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

struct zs_store;
struct zs_object;
struct zs_writer;
struct zs_file;

/* ---- Stores ---- */

/* Opens a directory, or a URL or archive in any GDAL virtual file system. Requests nothing yet. Copies `root`. */
enum zs_status zs_store_open(const char *root, struct zs_store **store, struct zs_error *err);
void zs_store_free(struct zs_store *store); /* NULL is allowed */
/* Whether reading below this path may wait for a network, by its prefix or that of the file an archive lies in. */
bool zs_path_is_remote(const char *path);

/* When committed objects are flushed to a local disk (fsync). EACH, the default: before the object appears under its
 * key, and its folder when the commit returns. LATER: at zs_store_sync(), which costs less than one by one, for stores
 * that are not read before they are complete. */
enum zs_sync { ZS_SYNC_EACH, ZS_SYNC_LATER, ZS_SYNC_NO };
void zs_store_set_sync(struct zs_store *store, enum zs_sync sync);
enum zs_status zs_store_sync(struct zs_store *store, struct zs_error *err);
/* Makes commits to a remote store return before the object is sent: several objects are sent at once, beside the
 * caller's work, and a later commit may report the failure of an earlier one. For stores that are not read before they
 * are complete. Reading, removing and listing through this store wait for what they need. Returns false when nothing
 * changes: commits overlap already, or the store is not remote. */
bool zs_store_overlap(struct zs_store *store);
bool zs_store_overlaps(const struct zs_store *store); /* whether commits overlap now */
/* Whether a key is that of a node's document: its last name is zarr.json. */
bool zs_is_document(const char *key);
/* Waits for all commits and returns the first failure. Call it before committing an object that refers to others. */
enum zs_status zs_store_wait_commits(struct zs_store *store, struct zs_error *err);
/* Likewise, and makes commits wait again. */
enum zs_status zs_store_overlap_end(struct zs_store *store, struct zs_error *err);
/* Call it when the directory of the store was renamed to `root`. No other thread may use the store meanwhile. */
enum zs_status zs_store_moved(struct zs_store *store, const char *root, struct zs_error *err);

/* Reads the whole object into `out`, from its start. ZS_INVALID, before allocating, when it has more than max_bytes. */
enum zs_status zs_store_get(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                            struct zs_error *err);
/* Publishes an object from memory, whole or not at all. */
enum zs_status zs_store_put(struct zs_store *store, const char *key, const void *data, size_t n, struct zs_error *err);
/* zs_store_get(), and the ETag that a later commit can expect: "" with ZS_NOT_FOUND, NULL where the store has none;
 * freed with free(), whatever the status. */
enum zs_status zs_store_get_tagged(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                                   char **etag, struct zs_error *err);
/* zs_store_put() over the object that has this ETag, or, with "", where there is none: see zs_writer_expect(). NULL
 * expects nothing. */
enum zs_status zs_store_put_over(struct zs_store *store, const char *key, const char *etag, const void *data, size_t n,
                                 struct zs_error *err);
/* Removes an object, or a symbolic link itself; an absent one is fine. */
enum zs_status zs_store_remove(struct zs_store *store, const char *key, struct zs_error *err);
/* Removes n objects; absent ones are fine. Removes those called zarr.json first, in their order and one by one, so that
 * chunks never vanish before their document. Removes the others of a remote store side by side. */
enum zs_status zs_store_remove_all(struct zs_store *store, const char *const *keys, size_t n, struct zs_error *err);
/* Lists the names directly below `prefix` ("" is the root) of objects and, with a trailing "/", of prefixes of further
 * objects: NULL-terminated, freed with zs_names_free(). Leaves out temporary files, and names that no key can have.
 * ZS_UNSUPPORTED where the file system has no listings (a web server); ZS_IO where a listing failed or is not complete;
 * ZS_NOT_FOUND, or an empty list, where nothing is there. */
enum zs_status zs_store_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err);
/* Like zs_store_list(), with temporary files, for callers that account for everything. */
enum zs_status zs_store_list_all(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err);
/* The length of a listed name without the slash of a prefix; 0 for the name of an object. */
size_t zs_prefix_length(const char *name);
/* Whether this is the name of an unfinished file or a journal of this driver, whose writer may be at work or dead. */
bool zs_is_temporary_name(const char *name);
/* Renames the directory of a prefix; an absent one is fine. ZS_UNSUPPORTED where prefixes are no directories,
 * ZS_ARGUMENT where something has the new name. */
enum zs_status zs_store_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err);
/* Removes the directory of a prefix if it is empty, where prefixes are directories. Reports no failure. */
void zs_store_remove_directory(struct zs_store *store, const char *prefix);
/* Whether `prefix` is a symbolic link, to whatever; a LOOP is one to a folder on its own path. */
enum zs_link { ZS_LINK_NONE, ZS_LINK, ZS_LINK_LOOP };
enum zs_status zs_store_is_link(struct zs_store *store, const char *prefix, enum zs_link *link, struct zs_error *err);

/* ZS_UNSUPPORTED for a store that is only read. */
enum zs_status zs_store_check_writable(const struct zs_store *store, struct zs_error *err);
/* Like zs_store_check_writable(), before a session that writes below `prefix`: also ZS_UNSUPPORTED in an archive, and
 * ZS_IO where the operating system lets nothing be written. Makes no request: of a remote store nothing is known
 * before. */
enum zs_status zs_store_check_access(struct zs_store *store, const char *prefix, struct zs_error *err);

/* Whether the root is now another store than the opened one, or none. False where this is unknown. */
bool zs_store_is_replaced(const struct zs_store *store);

/* ---- Objects opened for reading, from many threads at once ---- */

/* Opens an object. ZS_NOT_FOUND when it is absent, ZS_ARGUMENT for an invalid key, else ZS_IO. */
enum zs_status zs_object_open(struct zs_store *store, const char *key, struct zs_object **object, struct zs_error *err);
/* Opens an object and reads its last n bytes, or its first, into `data`, in one request where the transport can. Leaves
 * `data` alone when the object has fewer than n bytes: compare its size. */
enum zs_status zs_object_open_end(struct zs_store *store, const char *key, bool is_tail, size_t n, void *data,
                                  struct zs_object **object, struct zs_error *err);
/* Drops what this process remembers of an object; of all objects of all stores. */
void zs_store_forget(struct zs_store *store, const char *key);
void zs_store_forget_all(void);
/* Reads exactly n bytes. ZS_CORRUPT for a range beyond the end. ZS_IO for a short answer, and where the object under
 * the key is no longer the one that was opened: zs_object_is_stale() is true from then on. */
enum zs_status zs_object_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err);
/* Whether a read found another object under the key. Opening the key again gives that one. */
bool zs_object_is_stale(const struct zs_object *object);
/* Whether what failed with this status failed because the object was replaced while it was read. NULL: was absent. */
bool zs_object_is_overtaken(const struct zs_object *object, enum zs_status status);
void zs_object_close(struct zs_object *object); /* NULL is allowed */

/* ---- Objects being written, by one thread at a time ----
 *
 * An object appears whole under its key at commit, replacing an older one, or not at all. A symbolic link at the key
 * itself is replaced. Through a link that leads out of the store nothing is written, listed for removal, or removed:
 * ZS_UNSUPPORTED. Reading follows links. */

/* Begins an object of no bytes yet; each write appends n bytes. End with commit or abort. ZS_UNSUPPORTED for a store
 * that is only read. */
enum zs_status zs_store_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                               struct zs_error *err);
enum zs_status zs_writer_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err);
/* These replace bytes written before, and read them back: offset + n must not exceed what was written. */
enum zs_status zs_writer_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                               struct zs_error *err);
enum zs_status zs_writer_read(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err);
/* Publishes the object and releases the writer, also on failure. In a remote store a commit whose answer was lost has
 * succeeded if the store has its bytes, and one that failed is sent again, ZS_MOST_REFUSALS times, while nothing is
 * under its key: another object stays, of whomever it is. */
enum zs_status zs_writer_commit(struct zs_writer *writer, struct zs_error *err);
/* Like zs_writer_commit(), but when it sets *is_kept after a failure, the writer still has all that was written: it can
 * be read back, and be committed again. */
enum zs_status zs_writer_try_commit(struct zs_writer *writer, bool *is_kept, struct zs_error *err);
/* Drops the object and releases the writer. NULL is allowed. */
void zs_writer_abort(struct zs_writer *writer);

/* ---- Commits that expect a version (vsi_write.c) ----
 *
 * Object stores have no locks. Many of them refuse a commit instead, unless the object under its key is still the one
 * that was read: If-Match and If-None-Match of RFC 9110 with its ETag. Google's takes these for reading alone, and
 * x-goog-if-generation-match with the generation of the object for a PUT: there that number is the "ETag". */

/* Whether commits carry what they expect: those that can (/vsis3/, /vsigs/) unless store->sends_conditions is false,
 * which the configuration option SHARDEDZARR_CONDITIONAL_PUT sets for a path. Then, and where a server gives no version
 * or takes such a PUT without a look at its condition, two writers may lose changes of each other. */
bool zs_store_has_conditions(const struct zs_store *store);
/* Has the commit of a writer replace the object that has this ETag, or, with "", make one where there is none.
 * Otherwise the commit is ZS_CONFLICT, and zs_writer_try_commit() keeps the writer. One that failed and left the store
 * as it was is sent again. Does nothing in stores of which zs_store_has_conditions() is false. */
enum zs_status zs_writer_expect(struct zs_writer *writer, const char *etag, struct zs_error *err);
/* Whether a change that ended with ZS_CONFLICT is to be made again, over what is there by now: false after
 * ZS_MOST_CONFLICTS. *tries is 0 at first. Waits before: longer each time, a second at most, and for a random part of
 * that, so that writers that met do not meet again. */
bool zs_conflict_again(int *tries);

/* ---- Objects changed in place, by the holder of their lock ----
 *
 * No change is atomic: a kill leaves the bytes written until then, a power failure any of those written since the last
 * flush. Readers that have the object open see the new bytes; those that open it again also see another version. */

/* Whether objects of this store can be changed in place at all. */
bool zs_store_has_files(struct zs_store *store);
/* ZS_UNSUPPORTED where the object must be replaced instead: it is not on a local disk, has several names (hard links:
 * one may be a backup), is a symbolic link, or cannot be opened for writing. */
enum zs_status zs_file_open(struct zs_store *store, const char *key, struct zs_file **file, struct zs_error *err);
enum zs_status zs_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n, struct zs_error *err);
enum zs_status zs_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err);
/* Flushes to the disk, unless ZS_SYNC_NO. */
enum zs_status zs_file_flush(struct zs_file *file, struct zs_error *err);
void zs_file_close(struct zs_file *file);

/* Key of an object's journal: a file beside it by which an unfinished change of documents is finished, and one of a
 * shard undone. zs_is_temporary_name() recognises it. NULL without memory; freed with free(). */
char *zs_journal_key(const char *key);

/* Whether an object was changed in place since it was opened or, with or_recently, shortly before. Then bytes that look
 * broken may be partly old: open the object and read them again. */
bool zs_object_is_changed(const struct zs_object *object, bool or_recently);

/* ---- Two writers of one object ---- */

/* Locks an object: waits for other writers, in this process and others. ZS_OK with *lock NULL where the file system has
 * no locks. A thread must not hold two locks (deadlock). */
struct zs_lock;
enum zs_status zs_store_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err);
void zs_store_unlock(struct zs_store *store, struct zs_lock *lock); /* NULL is allowed */

/* ---- What a filling provides ---- */

/* Bytes that are read with the opening of an object, in one request where the transport can. */
struct zs_first_read {
    enum { ZS_READ_NONE, ZS_READ_HEAD, ZS_READ_TAIL, ZS_READ_RANGE, ZS_READ_ALL } kind;
    uint64_t offset;       /* of a range, which is known to be there: ZS_CORRUPT where the object is shorter */
    size_t n;              /* bytes; of ZS_READ_ALL the most that there may be */
    void *data;            /* where they go; untouched when HEAD or TAIL is more than the object has */
    struct zs_buffer *all; /* where those of ZS_READ_ALL go */
    bool is_read;          /* set by a filling that read them; else store.c does so */
};
/* Opens an object and reads `first`: zs_object_open(), zs_object_open_end() and zs_store_get() call this. */
enum zs_status zs_object_open_first(struct zs_store *store, const char *key, struct zs_first_read *first,
                                    struct zs_object **object, struct zs_error *err);

/* What a store does that can be written to. Optional ones are NULL where there is nothing of the kind. */
struct zs_writing_ops {
    enum zs_status (*create)(struct zs_store *s, const char *key, struct zs_writer **writer, struct zs_error *err);
    /* Writes at or before the end. */
    enum zs_status (*write)(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                            struct zs_error *err);
    enum zs_status (*read_back)(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err);
    enum zs_status (*commit)(struct zs_writer *writer, struct zs_error *err); /* publishes what is written */
    bool commits_again; /* ... of a remote store also after a failure */
    void (*abort)(struct zs_writer *writer); /* releases the writer, and drops what is not published */
    enum zs_status (*remove)(struct zs_store *s, const char *key, struct zs_error *err);
    /* Optional: zs_store_check_access(). */
    enum zs_status (*check)(struct zs_store *s, const char *prefix, struct zs_error *err);
    /* Optional: where there is a disk. */
    enum zs_status (*sync)(struct zs_store *s, struct zs_error *err);
    enum zs_status (*lock)(struct zs_store *s, const char *key, struct zs_lock **lock, struct zs_error *err);
    void (*unlock)(struct zs_store *s, struct zs_lock *lock);

    /* Optional: zs_file_open() and what follows it; is_changed() where readers find out. */
    enum zs_status (*open_file)(struct zs_store *s, const char *key, struct zs_file **file, struct zs_error *err);
    enum zs_status (*write_file)(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                 struct zs_error *err);
    enum zs_status (*truncate_file)(struct zs_file *file, uint64_t size, struct zs_error *err);
    enum zs_status (*flush_file)(struct zs_file *file, struct zs_error *err);
    void (*close_file)(struct zs_file *file);
    bool (*is_changed)(const struct zs_object *object, bool or_recently);

    /* Optional, each: prefixes that are directories, and symbolic links. */
    void (*remove_directory)(struct zs_store *s, const char *prefix); /* an empty one; failing is no matter */
    enum zs_status (*rename)(struct zs_store *s, const char *from, const char *to, struct zs_error *err);
    enum zs_status (*is_link)(struct zs_store *s, const char *prefix, enum zs_link *link, struct zs_error *err);
    bool (*is_replaced)(const struct zs_store *s); /* the root can be distinguished from another of its name */
};

struct zs_store_ops {
    enum zs_status (*open)(struct zs_store *s, const char *key, struct zs_first_read *first, struct zs_object **object,
                           struct zs_error *err);
    enum zs_status (*read)(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err);
    void (*close)(struct zs_object *object);
    /* *names, NULL before, may stay so where nothing is there; it is freed by the caller, also on failure. */
    enum zs_status (*list)(struct zs_store *s, const char *prefix, char ***names, struct zs_error *err);
    void (*free)(struct zs_store *s);

    /* Optional. */
    const struct zs_writing_ops *writing;
    void (*forget)(struct zs_store *s, const char *key);
};

/* The first member of every filling's own structures. */
struct zs_store {
    const struct zs_store_ops *ops;
    struct zs_store *inner; /* the store that this one reads; owned; NULL: none */
    char *root; /* for messages: without credentials and queries (vsi.h) */
    char *path; /* what opens it; NULL where that is no path */
    enum zs_sync sync;
    bool is_remote; /* a round trip costs more than reading some more bytes */
    /* The object at the root that describes a store of another layout; NULL: Zarr's own. Static. */
    const char *manifest;
    const char *read_only; /* why nothing can be written, behind "root: "; NULL where it can. Static. */
    bool is_snapshot; /* it shows one of many states of its root: nothing about its content is kept beside it */
    bool can_expect;  /* objects have versions, and a commit can carry a condition */
    bool sends_conditions; /* ... and does */
    struct zs_uploads *uploads; /* of zs_store_overlap(); NULL: it was never called */
};
struct zs_object {
    struct zs_store *store;
    uint64_t size;    /* bytes, when it was opened */
    uint64_t version; /* differs, as far as is known, when the object under this key was replaced */
    bool is_versioned; /* another `version` proves that it was replaced; else it is a guess */
    /* Its head or tail was remembered by this process and not requested. A further read finds out whether the object
     * was replaced; without one, call zs_store_forget() and open it again. */
    bool is_remembered;
    bool is_stale;    /* set by reads, in any thread: see zs_object_is_stale() */
    const char *etag; /* by which a commit can expect this object; NULL where the store has none */
};
struct zs_file {
    struct zs_store *store;
    uint64_t size, version; /* when it was opened */
};
struct zs_writer {
    struct zs_store *store;
    uint64_t size;
    char *key; /* set by zs_store_create() */
    char *expected; /* the ETag of the object that the commit expects to replace; NULL: whatever is there */
    bool may_be_lost; /* set by a commit that succeeded, as far as it knows */
};

/* Sends a commit to a remote store: see zs_writer_commit() and zs_writer_expect(). The writer is kept. */
enum zs_status zs_writer_send(struct zs_writer *writer, struct zs_error *err);

/* Whether the commit of a writer is sent beside the caller's work (zs_store_overlap()), and sends it so: takes it over,
 * also on failure. Waits for the oldest while too many or too large objects are under way, and for an older one of that
 * key. Once one that was waited for has failed, all later calls fail and nothing more is sent. */
bool zs_writer_overlaps(const struct zs_writer *writer);
enum zs_status zs_writer_send_later(struct zs_writer *writer, struct zs_error *err);
/* Waits for the commit of a key. */
void zs_store_wait_commit(struct zs_store *store, const char *key);
void zs_uploads_free(struct zs_store *store); /* waits for them */
