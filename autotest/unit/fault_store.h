/* fault_store.h: a store over one in memory that counts calls, fails the one it is told to, and calls back before
 * each. */
#ifndef FAULT_STORE_H
#define FAULT_STORE_H

#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "store/store.h"

enum fault_call {
    FAULT_OPEN,
    FAULT_READ,
    FAULT_CREATE,
    FAULT_WRITE,
    FAULT_PATCH,
    FAULT_READ_BACK,
    FAULT_COMMIT,
    FAULT_REMOVE,
    FAULT_RENAME,
    FAULT_FILE,
    FAULT_FLUSH,
    FAULT_LOCK /* never fails, and is not counted */
};

struct fault_store {
    struct zs_store base;
    struct zs_store *inner; /* borrowed */
    atomic_long calls;
    atomic_ullong bytes_read; /* of what read() was asked for */
    long fail_at; /* number of the call that fails, from 1; 0: none */
    bool fail_on; /* ... and all after it */
    uint64_t replaced_below; /* reads at smaller offsets find that the object was replaced ... */
    int replaced_times;      /* ... so many times */
    bool half_written; /* a write that fails has written half of its bytes */
    bool has_committed; /* a commit that fails has stored the object */
    void (*before)(struct fault_store *s, enum fault_call call, void *ctx);
    void *ctx;
};

struct fault_object {
    struct zs_object base;
    struct zs_object *inner;
};

struct fault_writer {
    struct zs_writer base;
    struct zs_writer *inner;
};

static inline bool fault_now(struct zs_store *store, enum fault_call call, struct zs_error *err)
{
    struct fault_store *s = (struct fault_store *)store;
    if (s->before != NULL)
        s->before(s, call, s->ctx);
    const long number = atomic_fetch_add(&s->calls, 1) + 1;
    if (s->fail_at == 0 || number < s->fail_at || (number > s->fail_at && !s->fail_on))
        return false;
    (void)zs_fail(err, ZS_IO, "fault/a: call %ld was told to fail", number);
    return true;
}

static inline enum zs_status fault_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                        struct zs_object **object, struct zs_error *err)
{
    (void)first;
    if (fault_now(store, FAULT_OPEN, err))
        return ZS_IO;
    struct fault_object *o = calloc(1, sizeof *o);
    const enum zs_status status = zs_object_open(((struct fault_store *)store)->inner, key, &o->inner, err);
    if (status != ZS_OK) {
        free(o);
        return status;
    }
    o->base = (struct zs_object){
        .store = store, .size = o->inner->size, .version = o->inner->version, .is_versioned = o->inner->is_versioned};
    *object = &o->base;
    return ZS_OK;
}

static inline enum zs_status fault_read(struct zs_object *object, uint64_t offset, size_t n, void *data,
                                        struct zs_error *err)
{
    struct fault_store *s = (struct fault_store *)object->store;
    if (fault_now(object->store, FAULT_READ, err))
        return ZS_IO;
    if (offset < s->replaced_below && s->replaced_times > 0) {
        s->replaced_times--;
        __atomic_store_n(&object->is_stale, true, __ATOMIC_RELAXED);
        return zs_fail(err, ZS_IO, "fault/a: was replaced");
    }
    atomic_fetch_add(&s->bytes_read, n);
    return zs_object_read(((struct fault_object *)object)->inner, offset, n, data, err);
}

static inline void fault_close(struct zs_object *object)
{
    zs_object_close(((struct fault_object *)object)->inner);
    free(object);
}

static inline enum zs_status fault_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                                          struct zs_error *err)
{
    if (fault_now(store, FAULT_CREATE, err))
        return ZS_IO;
    struct fault_writer *w = calloc(1, sizeof *w);
    const enum zs_status status = zs_store_create(((struct fault_store *)store)->inner, key, &w->inner, err);
    if (status != ZS_OK) {
        free(w);
        return status;
    }
    w->base.store = store;
    *writer = &w->base;
    return ZS_OK;
}

static inline enum zs_status fault_write(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                                         struct zs_error *err)
{
    struct zs_writer *inner = ((struct fault_writer *)writer)->inner;
    const bool is_patch = offset < writer->size;
    if (!fault_now(writer->store, is_patch ? FAULT_PATCH : FAULT_WRITE, err))
        return is_patch ? zs_writer_patch(inner, offset, data, n, err) : zs_writer_write(inner, data, n, err);
    struct zs_error ignored;
    if (!is_patch && ((struct fault_store *)writer->store)->half_written)
        CHECK(zs_writer_write(inner, data, n / 2, &ignored) == ZS_OK);
    return ZS_IO;
}

static inline enum zs_status fault_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data,
                                             struct zs_error *err)
{
    return fault_now(writer->store, FAULT_READ_BACK, err)
               ? ZS_IO
               : zs_writer_read(((struct fault_writer *)writer)->inner, offset, n, data, err);
}

static inline void fault_abort(struct zs_writer *writer)
{
    zs_writer_abort(((struct fault_writer *)writer)->inner);
    free(writer);
}

static inline enum zs_status fault_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct fault_writer *w = (struct fault_writer *)writer;
    const bool fails = fault_now(writer->store, FAULT_COMMIT, err);
    if (fails && !((struct fault_store *)writer->store)->has_committed)
        return ZS_IO;
    struct zs_error ignored;
    const enum zs_status status = zs_writer_commit(w->inner, fails ? &ignored : err);
    w->inner = NULL;
    return fails ? ZS_IO : status;
}

/* ---- Objects changed where they are ---- */

struct fault_file {
    struct zs_file base;
    struct zs_file *inner;
};

static inline enum zs_status fault_file_open(struct zs_store *store, const char *key, struct zs_file **file,
                                             struct zs_error *err)
{
    if (fault_now(store, FAULT_FILE, err))
        return ZS_IO;
    struct fault_file *f = calloc(1, sizeof *f);
    const enum zs_status status = zs_file_open(((struct fault_store *)store)->inner, key, &f->inner, err);
    if (status != ZS_OK) {
        free(f);
        return status;
    }
    f->base = (struct zs_file){.store = store, .size = f->inner->size, .version = f->inner->version};
    *file = &f->base;
    return ZS_OK;
}

static inline enum zs_status fault_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                              struct zs_error *err)
{
    struct zs_file *inner = ((struct fault_file *)file)->inner;
    if (!fault_now(file->store, FAULT_FILE, err))
        return zs_file_write(inner, offset, data, n, err);
    struct zs_error ignored;
    if (((struct fault_store *)file->store)->half_written)
        CHECK(zs_file_write(inner, offset, data, n / 2, &ignored) == ZS_OK);
    return ZS_IO;
}

static inline enum zs_status fault_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
{
    return fault_now(file->store, FAULT_FILE, err) ? ZS_IO
                                                   : zs_file_truncate(((struct fault_file *)file)->inner, size, err);
}

static inline enum zs_status fault_file_flush(struct zs_file *file, struct zs_error *err)
{
    return fault_now(file->store, FAULT_FLUSH, err) ? ZS_IO : zs_file_flush(((struct fault_file *)file)->inner, err);
}

static inline void fault_file_close(struct zs_file *file)
{
    zs_file_close(((struct fault_file *)file)->inner);
    free(file);
}

static inline enum zs_status fault_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    return fault_now(store, FAULT_REMOVE, err) ? ZS_IO
                                               : zs_store_remove(((struct fault_store *)store)->inner, key, err);
}

static inline enum zs_status fault_rename(struct zs_store *store, const char *from, const char *to,
                                          struct zs_error *err)
{
    return fault_now(store, FAULT_RENAME, err) ? ZS_IO
                                               : zs_store_rename(((struct fault_store *)store)->inner, from, to, err);
}

static inline enum zs_status fault_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    return zs_store_list(((struct fault_store *)store)->inner, prefix, names, err);
}

static inline enum zs_status fault_lock(struct zs_store *store, const char *key, struct zs_lock **lock,
                                        struct zs_error *err)
{
    struct fault_store *s = (struct fault_store *)store;
    if (s->before != NULL)
        s->before(s, FAULT_LOCK, s->ctx);
    return zs_store_lock(s->inner, key, lock, err);
}

static inline void fault_unlock(struct zs_store *store, struct zs_lock *lock)
{
    zs_store_unlock(((struct fault_store *)store)->inner, lock);
}

static inline void fault_free(struct zs_store *store)
{
    (void)store; /* belongs to the test */
}

static inline void fault_store_init(struct fault_store *s, struct zs_store *inner)
{
    static char root[] = "fault";
    static const struct zs_writing_ops writing = {.create = fault_create,
                                                  .write = fault_write,
                                                  .read_back = fault_read_back,
                                                  .commit = fault_commit,
                                                  .abort = fault_abort,
                                                  .remove = fault_remove,
                                                  .lock = fault_lock,
                                                  .unlock = fault_unlock,
                                                  .open_file = fault_file_open,
                                                  .write_file = fault_file_write,
                                                  .truncate_file = fault_file_truncate,
                                                  .flush_file = fault_file_flush,
                                                  .close_file = fault_file_close,
                                                  .rename = fault_rename};
    static const struct zs_store_ops ops = {.open = fault_open,
                                            .read = fault_read,
                                            .close = fault_close,
                                            .list = fault_list,
                                            .free = fault_free,
                                            .writing = &writing};
    *s = (struct fault_store){.base = {.ops = &ops, .root = root}, .inner = inner};
    atomic_init(&s->calls, 0);
}

#endif
