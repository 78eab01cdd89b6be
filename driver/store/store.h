/* store/store.h: where bytes live: named objects of bytes below one root. One table of functions, filled by local.c
 * (directories), vsi.c (every GDAL virtual file system) and http.c (before vsi.c where objects can be had by plain GET
 * requests; open.c decides).
 *
 * Keys are relative to the root, with "/" between components and none at either end. No component is "", "." or "..",
 * or has a control character: whatever a file may have named, such a key is ZS_ARGUMENT and nothing is done. Absent is
 * ZS_NOT_FOUND and nothing else is: a refused, broken or short answer is ZS_IO. Messages begin with the object's full
 * name.
 */
#ifndef ZS_STORE_STORE_H
#define ZS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

struct zs_store;
struct zs_object;
struct zs_writer;
struct zs_file;
struct zs_uploads; /* store/uploads.h */

/* ---- Stores ---- */

/* A directory, or a URL or archive in any GDAL virtual file system. Nothing is opened or requested yet. `root` is
 * copied. */
enum zs_status zs_store_open(const char *root, struct zs_store **store, struct zs_error *err) ZS_MUST_CHECK;
void zs_store_free(struct zs_store *store); /* NULL is allowed */
/* Whether reading below this path may mean waiting for a network: by its prefix, or that of the file an archive lies
 * in. */
bool zs_path_is_remote(const char *path);

/* When what is committed is put on the disk (fsync). EACH, at first: before it appears under its key, and its folder
 * when the commit returns. LATER, where nobody looks at the store before it is complete: at zs_store_sync(), which
 * costs less than one by one. Of no consequence where there is no local disk. */
enum zs_sync { ZS_SYNC_EACH, ZS_SYNC_LATER, ZS_SYNC_NO };
void zs_store_set_sync(struct zs_store *store, enum zs_sync sync);
enum zs_status zs_store_sync(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;
/* From now on what is committed to a remote store is sent beside the caller's work, several objects at once, and a
 * commit that failed may be told by a later one: for stores that nobody looks at before they are complete. Reading,
 * removing and listing through this store see all that was committed. zs_store_settle() waits for it, and says of the
 * first failure: before something is committed that speaks of it. */
enum zs_status zs_store_overlap(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_store_settle(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;
/* Waits likewise; commits are one by one from now on. No object may be open that was opened since they were not. */
enum zs_status zs_store_overlap_end(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;
/* The store's directory was renamed to `root`. Nobody else may use the store during the call. */
enum zs_status zs_store_moved(struct zs_store *store, const char *root, struct zs_error *err) ZS_MUST_CHECK;

/* The whole object into `out` (from its start). ZS_INVALID when it has more than max_bytes, before anything is
 * allocated for them. */
enum zs_status zs_store_get(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                            struct zs_error *err) ZS_MUST_CHECK;
/* Publishes an object from memory, whole or not at all. */
enum zs_status zs_store_put(struct zs_store *store, const char *key, const void *data, size_t n,
                            struct zs_error *err) ZS_MUST_CHECK;
/* Removes an object; one that is absent is fine. Of a symbolic link, the link. */
enum zs_status zs_store_remove(struct zs_store *store, const char *key, struct zs_error *err) ZS_MUST_CHECK;
/* Removes n objects; absent ones are fine. Those called zarr.json go first, in their order and one by one: so chunks
 * never vanish before their document. In a remote store the others go side by side, many with one request where the
 * store can. */
enum zs_status zs_store_remove_all(struct zs_store *store, const char *const *keys, size_t n,
                                   struct zs_error *err) ZS_MUST_CHECK;
/* Names directly below `prefix` ("" is the root) of objects and, with a trailing "/", of prefixes of further objects.
 * NULL-terminated, freed with zs_names_free(). Without temporary files, and what no key can name. ZS_UNSUPPORTED where
 * the file system has no listings (a web server); ZS_IO where one failed, or not all pages of it came; ZS_NOT_FOUND
 * where nothing is there, or an empty list. */
enum zs_status zs_store_list(struct zs_store *store, const char *prefix, char ***names,
                             struct zs_error *err) ZS_MUST_CHECK;
/* The same with temporary files, for those who account for everything. */
enum zs_status zs_store_list_all(struct zs_store *store, const char *prefix, char ***names,
                                 struct zs_error *err) ZS_MUST_CHECK;
/* Whether a file of that name is an unfinished one or a journal of this driver, whose writer may be at work or dead. */
bool zs_is_temporary_name(const char *name);
/* Gives the directory of a prefix another name; one that is not there is fine. ZS_UNSUPPORTED where prefixes are no
 * directories, ZS_ARGUMENT where something has the new name. */
enum zs_status zs_store_rename(struct zs_store *store, const char *from, const char *to,
                               struct zs_error *err) ZS_MUST_CHECK;
/* Removes every object below `prefix` (not ""), those directly in it before those in what is below: so a Zarr node
 * loses its metadata before its chunks, and never reads as fill value. Nothing there is fine. ZS_UNSUPPORTED where
 * listing is impossible. A symbolic link goes, and what it leads to stays. Temporary files go as well. */
enum zs_status zs_store_remove_tree(struct zs_store *store, const char *prefix, struct zs_error *err) ZS_MUST_CHECK;
/* Whether what is at `prefix` is a symbolic link, to whatever. */
enum zs_status zs_store_is_link(struct zs_store *store, const char *prefix, bool *is_link,
                                struct zs_error *err) ZS_MUST_CHECK;
/* Removes what is at `prefix` if that is a symbolic link, which *was_link tells, and else does nothing. */
enum zs_status zs_store_remove_link(struct zs_store *store, const char *prefix, bool *was_link,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* ZS_UNSUPPORTED for a store that is only read. */
enum zs_status zs_store_check_writable(const struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;

/* Where the bytes of an object are, which is elsewhere where a store stands before others: the store, borrowed, the key
 * in it, freed with free(), and the offset there. *inner is NULL where they are in no object of their own. */
enum zs_status zs_store_locate(struct zs_store *store, const char *key, struct zs_store **where, char **inner,
                               uint64_t *offset, struct zs_error *err) ZS_MUST_CHECK;

/* Whether another store, or none, has taken the place of the one that was opened. False where nobody can tell. */
bool zs_store_is_replaced(const struct zs_store *store);

/* ---- Objects opened for reading, from many threads at once ---- */

enum zs_status zs_object_open(struct zs_store *store, const char *key, struct zs_object **object,
                              struct zs_error *err) ZS_MUST_CHECK;
/* The same, and reads the object's last n bytes into `tail`, in one request where the transport can. When the object
 * has fewer than n bytes (see its size) `tail` is not filled. */
enum zs_status zs_object_open_tail(struct zs_store *store, const char *key, size_t n, void *tail,
                                   struct zs_object **object, struct zs_error *err) ZS_MUST_CHECK;
/* The same for the first n bytes. */
enum zs_status zs_object_open_head(struct zs_store *store, const char *key, size_t n, void *head,
                                   struct zs_object **object, struct zs_error *err) ZS_MUST_CHECK;
/* The same for the n bytes at `offset`, which are known to be there: ZS_CORRUPT where the object is shorter. */
enum zs_status zs_object_open_range(struct zs_store *store, const char *key, uint64_t offset, size_t n, void *data,
                                    struct zs_object **object, struct zs_error *err) ZS_MUST_CHECK;
/* Whether what the first two brought was remembered by this process and not asked for: reading on finds out if the
 * object was replaced, but whoever does not need to read on should zs_store_forget() it and open it again. */
bool zs_object_is_remembered(const struct zs_object *object);
void zs_store_forget(struct zs_store *store, const char *key);
/* Forgets what this process remembers of all stores. */
void zs_store_forget_all(void);
uint64_t zs_object_size(const struct zs_object *object);
/* Reads exactly n bytes. A range beyond the end is ZS_CORRUPT, a short answer ZS_IO, and so is finding that the object
 * is no longer the one that was opened, which zs_object_is_stale() tells from then on. */
enum zs_status zs_object_read(struct zs_object *object, uint64_t offset, size_t n, void *data,
                              struct zs_error *err) ZS_MUST_CHECK;
/* Whether a read found that another object has taken its place. Opening it anew gives that one. */
bool zs_object_is_stale(const struct zs_object *object);
void zs_object_close(struct zs_object *object); /* NULL is allowed */

/* ---- Objects being written, by one thread at a time: appears whole under its key at commit, replacing an older one,
 * or not at all ----
 *
 * Where there are symbolic links, one at the key itself is replaced; through one that leads out of the store nothing is
 * written, listed for removal, or removed: ZS_UNSUPPORTED. Reading follows links. */

enum zs_status zs_store_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                               struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_writer_write(struct zs_writer *writer, const void *data, size_t n,
                               struct zs_error *err) ZS_MUST_CHECK;
/* Replaces bytes written before, and reads them back: offset + n must not exceed what was written. */
enum zs_status zs_writer_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                               struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_writer_read(struct zs_writer *writer, uint64_t offset, size_t n, void *data,
                              struct zs_error *err) ZS_MUST_CHECK;
/* releases it, also on failure */
enum zs_status zs_writer_commit(struct zs_writer *writer, struct zs_error *err) ZS_MUST_CHECK;
/* The same, but where it says *is_kept after a failure the writer is there with all that was written: it can be read
 * back, and be committed again. */
enum zs_status zs_writer_try_commit(struct zs_writer *writer, bool *is_kept, struct zs_error *err) ZS_MUST_CHECK;
/* releases it; NULL is allowed */
void zs_writer_abort(struct zs_writer *writer);

/* ---- Objects changed where they are, by who holds their lock ----
 *
 * Nothing of it is whole or not at all: a kill leaves what was written by then, a power failure any of what was written
 * since the last flush. Who has the object open sees the new bytes; who opens it anew also another version. */

/* ZS_UNSUPPORTED where an object must be replaced instead: other than on a local disk, of what has several names (hard
 * links: one may be a backup) or is a symbolic link, and where it cannot be opened for writing. */
enum zs_status zs_file_open(struct zs_store *store, const char *key, struct zs_file **file,
                            struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                             struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err) ZS_MUST_CHECK;
/* What was written is on the disk, unless ZS_SYNC_NO. */
enum zs_status zs_file_flush(struct zs_file *file, struct zs_error *err) ZS_MUST_CHECK;
void zs_file_close(struct zs_file *file);

/* The key of a file beside an object that tells how a change of it is undone: zs_is_temporary_name() knows it. NULL
 * without memory, freed with free(). */
char *zs_journal_key(const char *key);

/* Whether an object was changed where it is since it was opened; with or_recently also whether it was so a moment
 * before. Then bytes that were found broken may be of two times, and opening it anew and reading again tells. */
bool zs_object_is_changed(const struct zs_object *object, bool or_recently);

/* ---- Two writers of one object ---- */

/* Waits until no other writer, in this process or another, holds the lock of this object, and holds it. Where a file
 * system has no locks that is ZS_OK with *lock NULL. Nobody who holds one may ask for another. */
struct zs_lock;
enum zs_status zs_store_lock(struct zs_store *store, const char *key, struct zs_lock **lock,
                             struct zs_error *err) ZS_MUST_CHECK;
void zs_store_unlock(struct zs_store *store, struct zs_lock *lock); /* NULL is allowed */

/* ---- What a filling provides ---- */

struct zs_store_ops {
    enum zs_status (*open)(struct zs_store *s, const char *key, struct zs_object **object, struct zs_error *err);
    enum zs_status (*read)(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err);
    void (*close)(struct zs_object *object);
    enum zs_status (*create)(struct zs_store *s, const char *key, struct zs_writer **writer, struct zs_error *err);
    enum zs_status (*write)(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err);
    enum zs_status (*patch)(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                            struct zs_error *err);
    enum zs_status (*read_back)(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err);
    enum zs_status (*commit)(struct zs_writer *writer, struct zs_error *err);
    void (*abort)(struct zs_writer *writer);
    enum zs_status (*remove)(struct zs_store *s, const char *key, struct zs_error *err);
    enum zs_status (*list)(struct zs_store *s, const char *prefix, char ***names, struct zs_error *err);
    void (*free)(struct zs_store *s);
    /* Optional (NULL: made of the ones above): where one request does it all. */
    enum zs_status (*open_tail)(struct zs_store *s, const char *key, size_t n, void *tail, struct zs_object **object,
                                struct zs_error *err);
    enum zs_status (*open_head)(struct zs_store *s, const char *key, size_t n, void *head, struct zs_object **object,
                                struct zs_error *err);
    enum zs_status (*open_range)(struct zs_store *s, const char *key, uint64_t offset, size_t n, void *data,
                                 struct zs_object **object, struct zs_error *err);
    enum zs_status (*get)(struct zs_store *s, const char *key, size_t max_bytes, struct zs_buffer *out,
                          struct zs_error *err);
    /* Optional: the commit of a remote store in two, of which `abort` is the second. */
    enum zs_status (*send)(struct zs_writer *writer, struct zs_error *err);
    /* Optional: of a store before others. */
    enum zs_status (*locate)(struct zs_store *s, const char *key, struct zs_store **where, char **inner,
                             uint64_t *offset, struct zs_error *err);
    /* Optional: where objects are remembered. */
    void (*forget)(struct zs_store *s, const char *key);
    /* Optional, where is max_batch: removes up to so many objects with one request, and tells in `gone` which. */
    enum zs_status (*remove_batch)(struct zs_store *s, const char *const *keys, size_t n, bool *gone,
                                   struct zs_error *err);
    /* Optional: removes the empty directory of a prefix, where prefixes are directories; failing is no matter. */
    void (*remove_directory)(struct zs_store *s, const char *prefix);
    /* Optional: where prefixes are directories. */
    enum zs_status (*rename)(struct zs_store *s, const char *from, const char *to, struct zs_error *err);
    /* Optional: where a root can be told from another that has its name. */
    bool (*is_replaced)(const struct zs_store *s);
    /* Optional: after `root` changed. */
    void (*moved)(struct zs_store *s);
    /* Optional: where there is a disk. */
    enum zs_status (*sync)(struct zs_store *s, struct zs_error *err);
    /* Optional: where there are symbolic links. */
    enum zs_status (*is_link)(struct zs_store *s, const char *prefix, bool *is_link, struct zs_error *err);
    enum zs_status (*remove_link)(struct zs_store *s, const char *prefix, bool *was_link, struct zs_error *err);
    /* Optional, all or none: where objects can be changed where they are. */
    enum zs_status (*file_open)(struct zs_store *s, const char *key, struct zs_file **file, struct zs_error *err);
    enum zs_status (*file_write)(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                 struct zs_error *err);
    enum zs_status (*file_truncate)(struct zs_file *file, uint64_t size, struct zs_error *err);
    enum zs_status (*file_flush)(struct zs_file *file, struct zs_error *err);
    void (*file_close)(struct zs_file *file);
    /* Optional: ... and who reads finds out. */
    bool (*is_changed)(const struct zs_object *object, bool or_recently);
    /* Optional, both or none: where there are locks. */
    enum zs_status (*lock)(struct zs_store *s, const char *key, struct zs_lock **lock, struct zs_error *err);
    void (*unlock)(struct zs_store *s, struct zs_lock *lock);
};

/* What every filling's own structures begin with. */
struct zs_store {
    const struct zs_store_ops *ops;
    char *root;       /* for messages: without credentials and queries (names.h) */
    const char *path; /* ... and what opens it, where that is a path; may be `root` itself */
    enum zs_sync sync;
    bool is_remote; /* a round trip costs more than reading some more bytes */
    size_t max_batch; /* of remove_batch(); 0: objects are removed one by one */
    /* The object at the root that describes a store of another layout; NULL: Zarr's own. Static. */
    const char *manifest;
    const char *read_only; /* why nothing can be written, behind "root: "; NULL where it can. Static. */
    bool is_snapshot; /* it shows one of many states that its root has: nothing is kept beside it that tells of one */
    struct zs_uploads *uploads; /* NULL: commits are not overlapped */
};
struct zs_object {
    struct zs_store *store;
    uint64_t size;
    uint64_t version; /* differs, as far as can be told, when the object under this key was replaced */
    bool is_versioned; /* ... and surely so */
    bool is_remembered; /* opened by what this process knew of it; reads find out when that is no longer true */
    bool is_stale;    /* set by reads, in any thread: see zs_object_is_stale() */
    uint64_t modified; /* seconds since 1970; 0 where that is not told */
    const char *etag;  /* as its server says; NULL likewise. It belongs to the object */
};
struct zs_file {
    struct zs_store *store;
    uint64_t size, version; /* when it was opened */
};
struct zs_writer {
    struct zs_store *store;
    uint64_t size;
    struct zs_uploads *uploads; /* that it is handed to, under this key */
    char *key;
};

#endif
