#include "store/http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/checked.h"
#include "store/vsi.h"
#include "base/map.h"

struct http_store {
    struct zs_store base;
    struct zs_http_client *client;
    atomic_bool use_vsi;     /* plain requests fail; VSI may do better */
    atomic_int refusals;     /* that made it so */
    atomic_bool no_ranges;   /* the server sends whole objects only */
    atomic_bool proven;      /* a plain request succeeded */
    atomic_bool no_suffix;   /* the server supports ranges, but not "the last n bytes" */
    atomic_bool no_if_match; /* the server denied an ETag that it had sent itself */
};

struct http_object {
    struct zs_object base;
    char *key;
    char *generation;
    char *tag; /* ETag or Last-Modified; NULL when the server sent neither */
    bool is_strong_etag;
    pthread_mutex_t lock;
    struct zs_object *twin; /* the same object through VSI, once that is needed */
    struct zs_http_answer whole; /* the whole object, once it is needed and fits the process's budget; else empty */
};

/* ---- What this process remembers of remote objects ----
 *
 * Their first or last bytes, where shard indexes are: programs open the same store again and again (QGIS for every
 * thread that draws), and an index costs a round trip. Only objects with a strong ETag are remembered. Later reads send
 * it along (If-Match), so that bytes of another object never pass for it. */

/* Indexes of 2000 shards of 1024 chunks. */
#define MEMORY_BYTES ((uint64_t)32 << 20)

struct remembered {
    uint64_t size; /* of the object */
    const char *etag, *generation; /* "": none */
    const unsigned char *bytes; /* n of them */
};

/* One end of an object. The key of the cache is a hash of the name, so the name itself is compared as well. */
struct memory {
    struct remembered what;
    size_t n;
    char *name; /* root, 0, key; then etag, then generation, then bytes */
    size_t name_size;
    unsigned char data[];
};

static struct zs_cache *cache;

static struct zs_cache *the_cache(void)
{
    return zs_cache_once(&cache, MEMORY_BYTES, free);
}

static struct zs_cache_key key_of(const char *root, const char *key, bool tail)
{
    const uint64_t of_root = zs_hash(ZS_HASH, root, strlen(root) + 1);
    return (struct zs_cache_key){tail, zs_hash(of_root, key, strlen(key) + 1)};
}

static bool is_named(const struct memory *m, const char *root, const char *key)
{
    const size_t r = strlen(root) + 1, k = strlen(key) + 1;
    return m->name_size == r + k && memcmp(m->name, root, r) == 0 && memcmp(m->name + r, key, k) == 0;
}

static void remembered_release(void *entry)
{
    zs_cache_release(cache, entry);
}

/* Finds the first (or last, `tail`) n bytes of the object `key` below `root`. *found is valid until *entry is released.
 * False where nothing is remembered. */
static bool remembered_find(const char *root, const char *key, bool tail, size_t n, struct remembered *found,
                            void **entry)
{
    *entry = the_cache() != NULL ? zs_cache_get(cache, key_of(root, key, tail)) : NULL;
    if (*entry == NULL)
        return false;
    const struct memory *m = zs_cache_value(*entry);
    if (m->n == n && is_named(m, root, key)) {
        *found = m->what;
        return true;
    }
    remembered_release(*entry);
    return false;
}

/* Remembers the first (or last, `tail`) n bytes of an object with a strong ETag, all copied. Does nothing without
 * memory. */
static void remembered_put(const char *root, const char *key, bool tail, size_t n, const struct remembered *what)
{
    const size_t r = strlen(root) + 1, k = strlen(key) + 1, e = strlen(what->etag) + 1;
    const size_t g = strlen(what->generation) + 1, size = sizeof(struct memory) + r + k + e + g + n;
    if (the_cache() == NULL || n > MEMORY_BYTES / 8)
        return;
    struct memory *m = malloc(size);
    if (m == NULL)
        return; /* the next opening requests it again */
    unsigned char *at = m->data;
    m->n = n;
    m->name_size = r + k;
    m->name = memcpy(at, root, r);
    memcpy(at + r, key, k);
    at += r + k;
    m->what = (struct remembered){what->size, memcpy(at, what->etag, e), memcpy(at + e, what->generation, g),
                                  memcpy(at + e + g, what->bytes, n)};
    struct zs_cache_entry *entry = zs_cache_put(cache, key_of(root, key, tail), m, size);
    if (entry != NULL)
        zs_cache_release(cache, entry);
    else
        free(m);
}

void zs_store_forget_all(void)
{
    if (the_cache() != NULL)
        zs_cache_clear(cache);
}

static void remembered_forget(const char *root, const char *key)
{
    for (int tail = 0; tail < 2 && the_cache() != NULL; tail++)
        zs_cache_remove(cache, key_of(root, key, tail));
}

/* ---- Requests ---- */

static enum zs_status request(struct http_store *h, const char *key, const char *range, const char *etag, size_t limit,
                              struct zs_http_answer *a, struct zs_error *err)
{
    ZS_TRY(zs_http_get(h->client, key, range, etag, limit, a, err));
    if (a->kind == ZS_HTTP_PART || a->kind == ZS_HTTP_WHOLE)
        atomic_store(&h->proven, true);
    return ZS_OK;
}

/* Whether VSI must read from this store, since plain requests are refused. */
static bool must_use_vsi(struct http_store *h, const struct zs_http_answer *a)
{
    /* VSI does more than a signed URL: it follows buckets to their regions, and finds credentials anew. */
    if (a->kind == ZS_HTTP_REFUSED && zs_http_client_signs(h->client) && !atomic_load(&h->proven)) {
        atomic_fetch_add(&h->refusals, 1);
        atomic_store(&h->use_vsi, true);
    }
    return atomic_load(&h->use_vsi);
}

/* So many refusals are not of the moment, as those of credentials are that end just then. */
#define MOST_REFUSALS 3

/* Tries plain requests once more, for a writer: what VSI reads has no version that a commit could expect. */
static void try_plain_again(struct http_store *h)
{
    if (atomic_load(&h->refusals) < MOST_REFUSALS)
        atomic_store(&h->use_vsi, false);
}

static enum zs_status fail_absent(const struct http_store *h, const char *key, struct zs_error *err)
{
    return zs_fail(err, ZS_NOT_FOUND, "%s/%s: there is no such object", h->base.root, key);
}

static enum zs_status fail_answer(const struct http_store *h, const char *key, const char *expected,
                                  const struct zs_http_answer *a, struct zs_error *err)
{
    return zs_fail(err, ZS_IO, "%s/%s: expected %s, found %s", h->base.root, key, expected, a->found);
}

/* Returns the status of the same request through VSI. If that failed as well, reports the server's own words rather
 * than VSI's. */
static enum zs_status after_vsi(const struct http_store *h, const char *key, const char *expected,
                                const struct zs_http_answer *a, enum zs_status status, struct zs_error *err)
{
    const bool is_known = status == ZS_OK || status == ZS_NO_MEMORY || (status == ZS_NOT_FOUND && !a->lacks_bucket);
    return is_known || !a->has_reason ? status : fail_answer(h, key, expected, a, err);
}

/* ---- Opening ---- */

static void http_close(struct zs_object *object)
{
    struct http_object *o = (struct http_object *)object;
    zs_object_close(o->twin);
    if (o->whole.result != NULL)
        zs_budget_give(o->whole.size);
    zs_http_answer_free(&o->whole);
    pthread_mutex_destroy(&o->lock);
    free(o->key);
    free(o->tag);
    free(o->generation);
    free(o);
}

static enum zs_status object_new(struct http_store *h, const char *key, uint64_t size, const char *tag,
                                 bool is_strong_etag, struct zs_object **object, struct zs_error *err)
{
    struct http_object *o = zs_calloc(1, sizeof *o);
    if (o != NULL) {
        pthread_mutex_init(&o->lock, NULL);
        o->key = zs_strdup(key);
        o->tag = tag != NULL ? zs_strdup(tag) : NULL;
    }
    if (o == NULL || o->key == NULL || (tag != NULL && o->tag == NULL)) {
        if (o != NULL)
            http_close(&o->base);
        return zs_fail_memory(err);
    }
    o->is_strong_etag = is_strong_etag;
    o->base.store = &h->base;
    o->base.size = size;
    o->base.version = zs_hash(ZS_HASH ^ size, o->tag, tag != NULL ? strlen(tag) : 0);
    o->base.is_versioned = tag != NULL && is_strong_etag;
    o->base.etag = is_strong_etag ? o->tag : NULL;
    *object = &o->base;
    return ZS_OK;
}

/* Notes the generation of an object, "" for none. Without memory it has none, and no commit expects it. */
static void keep_generation(struct zs_object *object, const char *generation)
{
    struct http_object *o = (struct http_object *)object;
    o->generation = generation[0] != '\0' ? zs_strdup(generation) : NULL;
    object->generation = o->generation;
}

/* Copies tag and generation from an answer to the object. */
static void describe(struct zs_object *object, const struct zs_http_answer *a)
{
    object->etag = a->is_etag ? ((const struct http_object *)object)->tag : NULL;
    keep_generation(object, a->generation);
}

/* Makes an object of the answer to a request for its first (or last) n bytes; copies them if it has so many. */
static enum zs_status object_from_answer(struct http_store *h, const char *key, bool tail, size_t n, void *data,
                                         const struct zs_http_answer *a, struct zs_object **object,
                                         struct zs_error *err)
{
    if (a->kind == ZS_HTTP_BEYOND && a->total == 0)
        return object_new(h, key, 0, a->tag, a->is_strong_etag, object, err);
    const uint64_t size = a->kind == ZS_HTTP_WHOLE ? a->size : a->total;
    if (a->kind == ZS_HTTP_PART) {
        const uint64_t wanted = n < size ? n : size;
        const uint64_t first = tail ? size - wanted : 0;
        if (size == UINT64_MAX || a->first != first || a->size != wanted)
            return fail_answer(h, key, tail ? "the last bytes, and the size" : "the first bytes, and the size", a, err);
    }
    ZS_TRY(object_new(h, key, size, a->tag, a->is_strong_etag, object, err));
    describe(*object, a);
    if (size < n)
        return ZS_OK;
    memcpy(data, a->kind == ZS_HTTP_WHOLE && tail ? a->bytes + (a->size - n) : a->bytes, n);
    if (n > 0 && a->is_strong_etag && !atomic_load(&h->no_if_match))
        remembered_put(h->base.path, key, tail, n, &(struct remembered){size, a->tag, a->generation, data});
    return ZS_OK;
}

/* Requests all of an object, from a server that sends nothing less. `was_there`: it was found before. */
static enum zs_status ask_whole(struct http_store *h, const char *key, const char *etag, bool was_there,
                                struct zs_http_answer *a, struct zs_error *err)
{
    const uint64_t limit = zs_min_u64(zs_budget(), ZS_HTTP_MAX_ANSWER_BYTES);
    ZS_TRY(request(h, key, NULL, etag, (size_t)limit, a, err));
    if (a->kind == ZS_HTTP_WHOLE && a->size <= limit)
        return ZS_OK;
    enum zs_status status;
    if (a->kind == ZS_HTTP_WHOLE || a->kind == ZS_HTTP_TOO_LONG)
        status = zs_fail(err, ZS_IO,
                         "%s/%s: expected a server that knows byte ranges, found one that sends all of an object, "
                         "and this has more than %llu bytes, the budget for that (a quarter of GDAL_CACHEMAX)",
                         h->base.root, key, (unsigned long long)limit);
    else if (a->kind == ZS_HTTP_ABSENT && !was_there)
        status = fail_absent(h, key, err);
    else
        status = fail_answer(h, key, "the object", a, err);
    zs_http_answer_free(a);
    return status;
}

/* Keeps all of an object if there is room; else each read requests it again. */
static void keep_whole(struct http_object *o, struct zs_http_answer *a)
{
    if (o->whole.result == NULL && zs_budget_take(a->size)) {
        o->whole = *a;
    } else {
        if (o->whole.result == NULL)
            zs_budget_give(a->size);
        zs_http_answer_free(a);
    }
}

static enum zs_status open_whole(struct http_store *h, const char *key, bool was_there, bool tail, size_t n,
                                 void *data, struct zs_object **object, struct zs_error *err)
{
    struct zs_http_answer a;
    ZS_TRY(ask_whole(h, key, NULL, was_there, &a, err));
    atomic_store(&h->no_ranges, true);
    char none;
    const enum zs_status status = object_from_answer(h, key, tail, n, n == 0 ? &none : data, &a, object, err);
    if (status == ZS_OK)
        keep_whole((struct http_object *)*object, &a);
    else
        zs_http_answer_free(&a);
    return status;
}

/* Opens an object whose first (or last) n bytes are remembered; *object is NULL where they are not. */
static enum zs_status object_from_memory(struct http_store *h, const char *key, bool tail, size_t n, void *data,
                                         struct zs_object **object, struct zs_error *err)
{
    struct remembered found;
    void *entry;
    *object = NULL;
    if (n == 0 || atomic_load(&h->no_if_match) ||
        !remembered_find(h->base.path, key, tail, n, &found, &entry))
        return ZS_OK;
    const enum zs_status status = object_new(h, key, found.size, found.etag, true, object, err);
    if (status == ZS_OK) {
        (*object)->is_remembered = true;
        keep_generation(*object, found.generation);
        memcpy(data, found.bytes, n);
    }
    remembered_release(entry);
    return status;
}

static enum zs_status open_head(struct http_store *h, const char *key, size_t n, void *head,
                                struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(object_from_memory(h, key, false, n, head, object, err));
    if (*object != NULL)
        return ZS_OK;
    if (atomic_load(&h->no_ranges))
        return open_whole(h, key, false, false, n, head, object, err);
    char byte, range[64];
    const size_t part = n == 0 ? 1 : n < ZS_HTTP_MAX_ANSWER_BYTES ? n : ZS_HTTP_MAX_ANSWER_BYTES;
    snprintf(range, sizeof range, "0-%zu", part - 1);
    struct zs_http_answer a;
    ZS_TRY(request(h, key, range, NULL, part, &a, err));
    enum zs_status status;
    if (a.kind == ZS_HTTP_ABSENT)
        status = fail_absent(h, key, err);
    else if (a.kind == ZS_HTTP_PART || a.kind == ZS_HTTP_WHOLE || (a.kind == ZS_HTTP_BEYOND && a.total == 0))
        status = object_from_answer(h, key, false, part, n == 0 ? &byte : head, &a, object, err);
    else if (a.kind == ZS_HTTP_TOO_LONG)
        status = open_whole(h, key, true, false, n, head, object, err);
    else if (must_use_vsi(h, &a))
        status = after_vsi(h, key, "the first bytes", &a, zs_object_open_head(h->base.inner, key, n, head, object, err),
                           err);
    else
        status = fail_answer(h, key, "the first bytes", &a, err);
    zs_http_answer_free(&a);
    if (status == ZS_OK && n > part && zs_object_size(*object) >= n) {
        status = zs_object_read(*object, part, n - part, (char *)head + part, err);
        if (status != ZS_OK) {
            zs_object_close(*object);
            *object = NULL;
        }
    }
    return status;
}

static enum zs_status open_tail_in_two(struct http_store *h, const char *key, size_t n, void *tail,
                                       struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(open_head(h, key, 0, NULL, object, err));
    const uint64_t size = zs_object_size(*object);
    const enum zs_status status = size < n ? ZS_OK : zs_object_read(*object, size - n, n, tail, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

static enum zs_status open_tail(struct http_store *h, const char *key, size_t n, void *tail,
                                struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(object_from_memory(h, key, true, n, tail, object, err));
    if (*object != NULL)
        return ZS_OK;
    if (atomic_load(&h->no_ranges))
        return open_whole(h, key, false, true, n, tail, object, err);
    if (n == 0 || n > ZS_HTTP_MAX_ANSWER_BYTES || atomic_load(&h->no_suffix))
        return open_tail_in_two(h, key, n, tail, object, err);
    char range[32];
    snprintf(range, sizeof range, "-%zu", n);
    struct zs_http_answer a;
    ZS_TRY(request(h, key, range, NULL, n, &a, err));
    enum zs_status status;
    bool other_way = false;
    if (a.kind == ZS_HTTP_ABSENT) {
        status = fail_absent(h, key, err);
    } else if (a.kind == ZS_HTTP_PART || a.kind == ZS_HTTP_WHOLE || (a.kind == ZS_HTTP_BEYOND && a.total == 0)) {
        /* Some take "-20" for "0-20". */
        other_way = a.kind == ZS_HTTP_PART && a.total != UINT64_MAX && a.first == 0 && a.total > n;
        status = other_way ? ZS_IO : object_from_answer(h, key, true, n, tail, &a, object, err);
    } else {
        status = fail_answer(h, key, "the last bytes", &a, err);
        other_way = a.kind != ZS_HTTP_FAILED;
    }
    zs_http_answer_free(&a);
    if (other_way) { /* if something else is wrong, the plainer requests fail as well */
        status = open_tail_in_two(h, key, n, tail, object, err);
        if (status == ZS_OK)
            atomic_store(&h->no_suffix, true);
    }
    return status;
}

/* Makes an object from the answer to a range request. *other_way: the server did not answer as expected, but simpler
 * requests may work. */
static enum zs_status object_from_range(struct http_store *h, const char *key, uint64_t offset, size_t n, void *data,
                                        const struct zs_http_answer *a, bool *other_way, struct zs_object **object,
                                        struct zs_error *err)
{
    const uint64_t total = a->kind == ZS_HTTP_WHOLE ? a->size : a->total;
    const bool has_bytes = a->kind == ZS_HTTP_WHOLE || a->kind == ZS_HTTP_PART;
    if (a->kind == ZS_HTTP_ABSENT)
        return fail_absent(h, key, err);
    if ((has_bytes || a->kind == ZS_HTTP_BEYOND) && total != UINT64_MAX && (offset > total || n > total - offset))
        return zs_fail(err, ZS_CORRUPT, "%s/%s: expected %zu bytes at offset %llu, found an object of %llu bytes",
                       h->base.root, key, n, (unsigned long long)offset, (unsigned long long)total);
    *other_way = !has_bytes || total == UINT64_MAX || (a->kind == ZS_HTTP_PART && (a->first != offset || a->size != n));
    if (*other_way)
        return ZS_IO;
    ZS_TRY(object_new(h, key, total, a->tag, a->is_strong_etag, object, err));
    describe(*object, a);
    memcpy(data, a->kind == ZS_HTTP_WHOLE ? a->bytes + offset : a->bytes, n);
    return ZS_OK;
}

static enum zs_status open_range(struct http_store *h, const char *key, uint64_t offset, size_t n, void *data,
                                 struct zs_object **object, struct zs_error *err)
{
    bool other_way = atomic_load(&h->no_ranges) || n == 0 || n > ZS_HTTP_MAX_ANSWER_BYTES;
    enum zs_status status = ZS_OK;
    if (!other_way) {
        char range[64];
        struct zs_http_answer a;
        snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + n - 1));
        ZS_TRY(request(h, key, range, NULL, n, &a, err));
        status = object_from_range(h, key, offset, n, data, &a, &other_way, object, err);
        zs_http_answer_free(&a);
    }
    if (!other_way)
        return status;
    ZS_TRY(open_head(h, key, 0, NULL, object, err));
    status = zs_object_read(*object, offset, n, data, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

/* Opens an object and reads all of it. */
static enum zs_status open_all(struct http_store *h, const char *key, struct zs_first_read *first,
                               struct zs_object **object, struct zs_error *err)
{
    struct zs_http_answer a;
    ZS_TRY(request(h, key, NULL, NULL, (size_t)zs_min_u64(first->n, ZS_HTTP_MAX_ANSWER_BYTES), &a, err));
    enum zs_status status;
    if (a.kind == ZS_HTTP_TOO_LONG && first->n > ZS_HTTP_MAX_ANSWER_BYTES) {
        status = zs_object_open_first(h->base.inner, key, first, object, err);
        if (status == ZS_NOT_FOUND) /* it was there */
            status = fail_answer(h, key, "the object", &a, err);
    } else if (a.kind == ZS_HTTP_TOO_LONG || (a.kind == ZS_HTTP_WHOLE && a.size > first->n)) {
        status = zs_fail(err, ZS_INVALID, "%s/%s: expected at most %zu bytes, found more", h->base.root, key, first->n);
    } else if (a.kind == ZS_HTTP_WHOLE) {
        status = zs_buffer_reset(first->all, a.size, err);
        if (status == ZS_OK && a.size > 0)
            memcpy(first->all->data, a.bytes, a.size);
        if (status == ZS_OK) {
            first->all->size = a.size;
            status = object_new(h, key, a.size, a.tag, a.is_strong_etag, object, err);
        }
        if (status == ZS_OK)
            describe(*object, &a);
    } else if (a.kind == ZS_HTTP_ABSENT) {
        status = fail_absent(h, key, err);
    } else if (must_use_vsi(h, &a)) {
        status = after_vsi(h, key, "the object", &a, zs_object_open_first(h->base.inner, key, first, object, err), err);
    } else {
        status = fail_answer(h, key, "the object", &a, err);
    }
    zs_http_answer_free(&a);
    return status;
}

static enum zs_status http_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                struct zs_object **object, struct zs_error *err)
{
    struct http_store *h = (struct http_store *)store;
    if (atomic_load(&h->use_vsi))
        return zs_object_open_first(store->inner, key, first, object, err);
    enum zs_status status;
    if (first->kind == ZS_READ_ALL)
        status = open_all(h, key, first, object, err);
    else if (first->kind == ZS_READ_RANGE)
        status = open_range(h, key, first->offset, first->n, first->data, object, err);
    else if (first->kind == ZS_READ_TAIL)
        status = open_tail(h, key, first->n, first->data, object, err);
    else
        status = open_head(h, key, first->n, first->data, object, err);
    first->is_read = status == ZS_OK;
    return status;
}

/* ---- Reading ---- */

static enum zs_status fail_replaced(struct http_object *o, struct zs_error *err)
{
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return zs_fail(err, ZS_IO, "%s/%s: the object was replaced while it was read", o->base.store->root, o->key);
}

static enum zs_status read_through_vsi(struct http_object *o, uint64_t offset, size_t n, void *data,
                                       struct zs_error *err)
{
    struct http_store *h = (struct http_store *)o->base.store;
    enum zs_status status = ZS_OK;
    if (o->base.is_remembered)
        return fail_replaced(o, err); /* or not: VSI does not compare ETags */
    pthread_mutex_lock(&o->lock);
    if (o->twin == NULL)
        status = zs_object_open(h->base.inner, o->key, &o->twin, err);
    pthread_mutex_unlock(&o->lock);
    if (status == ZS_NOT_FOUND || (status == ZS_OK && zs_object_size(o->twin) != o->base.size))
        return fail_replaced(o, err);
    return status == ZS_OK ? zs_object_read(o->twin, offset, n, data, err) : status;
}

/* Whether an answer has bytes of another object than the one that was opened. */
static bool is_other(const struct http_object *o, const struct zs_http_answer *a)
{
    const uint64_t total = a->kind == ZS_HTTP_WHOLE ? a->size : a->total;
    return (total != UINT64_MAX && total != o->base.size) ||
           (a->tag != NULL && o->tag != NULL && strcmp(a->tag, o->tag) != 0) ||
           (a->tag == NULL && o->base.is_remembered);
}

static const char *expected_etag(const struct http_object *o)
{
    const struct http_store *h = (const struct http_store *)o->base.store;
    return o->is_strong_etag && !atomic_load(&h->no_if_match) ? o->tag : NULL;
}

/* Reads from the whole object: one thread requests it, the others find it kept. */
static enum zs_status read_from_whole(struct http_object *o, uint64_t offset, size_t n, void *data,
                                      struct zs_error *err)
{
    struct http_store *h = (struct http_store *)o->base.store;
    struct zs_http_answer a;
    enum zs_status status = ZS_OK;
    pthread_mutex_lock(&o->lock);
    if (o->whole.result != NULL) {
        memcpy(data, o->whole.bytes + offset, n);
    } else {
        status = ask_whole(h, o->key, expected_etag(o), true, &a, err);
        if (status == ZS_OK && is_other(o, &a)) {
            zs_http_answer_free(&a);
            status = fail_replaced(o, err);
        } else if (status == ZS_OK) {
            memcpy(data, a.bytes + offset, n);
            keep_whole(o, &a);
        }
    }
    pthread_mutex_unlock(&o->lock);
    return status;
}

static enum zs_status read_part(struct http_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_store *h = (struct http_store *)o->base.store;
    char range[64], expected[80];
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + n - 1));
    snprintf(expected, sizeof expected, "bytes %s", range);
    struct zs_http_answer a;
    ZS_TRY(request(h, o->key, range, expected_etag(o), n, &a, err));
    enum zs_status status = ZS_OK;
    if (a.kind == ZS_HTTP_REPLACED)
        atomic_store(&h->no_if_match, true); /* ETags of answers are compared all the same */
    if (a.kind == ZS_HTTP_ABSENT || a.kind == ZS_HTTP_REPLACED || a.kind == ZS_HTTP_BEYOND ||
        ((a.kind == ZS_HTTP_PART || a.kind == ZS_HTTP_WHOLE) && is_other(o, &a)))
        status = fail_replaced(o, err);
    else if (a.kind == ZS_HTTP_PART && a.first == offset && a.size == n)
        memcpy(data, a.bytes, n);
    else if (a.kind == ZS_HTTP_WHOLE)
        memcpy(data, a.bytes + offset, n);
    else if (a.kind == ZS_HTTP_TOO_LONG)
        status = read_from_whole(o, offset, n, data, err);
    else if (must_use_vsi(h, &a))
        status = after_vsi(h, o->key, expected, &a, read_through_vsi(o, offset, n, data, err), err);
    else
        status = fail_answer(h, o->key, expected, &a, err);
    zs_http_answer_free(&a);
    return status;
}

static enum zs_status http_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_object *o = (struct http_object *)object;
    struct http_store *h = (struct http_store *)object->store;
    while (n > 0) {
        if (atomic_load(&h->use_vsi))
            return read_through_vsi(o, offset, n, data, err);
        if (atomic_load(&h->no_ranges))
            return read_from_whole(o, offset, n, data, err);
        const size_t part = n < ZS_HTTP_MAX_ANSWER_BYTES ? n : ZS_HTTP_MAX_ANSWER_BYTES;
        ZS_TRY(read_part(o, offset, part, data, err));
        offset += part;
        data = (char *)data + part;
        n -= part;
    }
    return ZS_OK;
}

/* ---- The store ---- */

static enum zs_status http_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    return store->inner->ops->list(store->inner, prefix, names, err); /* with temporary files */
}

static void http_forget(struct zs_store *store, const char *key)
{
    remembered_forget(store->path, key);
    try_plain_again((struct http_store *)store);
}

static void http_free(struct zs_store *store)
{
    struct http_store *h = (struct http_store *)store;
    zs_http_client_free(h->client);
    zs_store_free(h->base.inner);
    free(h->base.root);
    free(h);
}

/* GDAL's directories of object stores cost requests, and nothing needs them. */
static const struct zs_directory_ops no_directories;
static const struct zs_store_ops ops = {.open = http_open,
                                        .read = http_read,
                                        .close = http_close,
                                        .list = http_list,
                                        .free = http_free,
                                        .directories = &no_directories,
                                        .forget = http_forget};

enum zs_status zs_store_open_http(struct zs_store *vsi, struct zs_store **store, struct zs_error *err)
{
    struct zs_http_client *client;
    enum zs_status status = zs_http_client_create(vsi, &client, err);
    if (status == ZS_OK && client == NULL) {
        *store = vsi;
        return ZS_OK;
    }
    char *root = zs_strdup(vsi->root);
    struct http_store *h = zs_calloc(1, sizeof *h);
    if (status == ZS_OK && (h == NULL || root == NULL))
        status = zs_fail_memory(err);
    if (status != ZS_OK) {
        if (client != NULL)
            zs_http_client_free(client);
        zs_store_free(vsi);
        free(root);
        free(h);
        return status;
    }
    h->base = (struct zs_store){.ops = &ops, .inner = vsi, .root = root, .path = vsi->path, .is_remote = true};
    h->base.max_batch = vsi->max_batch;
    h->base.can_expect = zs_vsi_kind(vsi)->sends_conditions;
    h->base.has_generations = zs_vsi_kind(vsi)->has_generations;
    h->base.sends_conditions = vsi->sends_conditions;
    h->client = client;
    *store = &h->base;
    return ZS_OK;
}
