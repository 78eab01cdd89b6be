#include "shard/writer.h"

#include <stdlib.h>
#include <string.h>

#include "shard/ahead.h"
#include "shard/order.h"
#include "shard/present.h"

#define COPY_BYTES ((size_t)1 << 20)
#define REMOTE_COPY_BYTES ((size_t)16 << 20) /* what is too large to be fetched ahead: a round trip each */

/* A shard of any level of which some chunks were put or asked for. */
struct part {
    const struct zs_level *level;
    struct part *outer; /* NULL: the object itself */
    uint64_t number;    /* in the outer one */
    uint64_t put_count; /* different leaf chunks put, in inner shards too */
    bool is_opened;     /* `present` is what the store has */
    struct zs_present present;
    /* Of leaf chunks: what was put, offsets in temp. */
    struct zs_shard_index *fresh;
    unsigned char *was_put;
    /* Of inner shards: NULL until touched. */
    struct part **inner;
};

struct zs_shard_writer {
    struct zs_store *store;
    char *key;
    enum zs_chunk_order order;

    struct zs_writer *temp; /* made at the first chunk with bytes; with the index at the start, its room is kept free */
    uint64_t temp_size;
    uint64_t replaced; /* chunks put more than once with bytes: their first bytes are waste */
    bool is_broken;    /* a write failed: what temp holds from temp_size on is not known */
    bool is_lost;      /* publishing failed after temp was given away */

    struct part *root;
    struct zs_object *object;
    uint64_t memory; /* bytes of zs_present.decoded */
    struct zs_ahead ahead; /* of a remote object, while the shard is built */
};

/* ---- Parts ---- */

static void close_present(struct zs_shard_writer *w, struct part *p)
{
    w->memory -= p->present.decoded.capacity;
    zs_present_clear(&p->present);
    p->is_opened = false;
}

static void part_free(struct zs_shard_writer *w, struct part *p)
{
    if (p == NULL)
        return;
    for (uint64_t i = 0; p->inner != NULL && i < p->level->inner_count; i++)
        part_free(w, p->inner[i]);
    close_present(w, p);
    free(p->inner);
    free(p->fresh);
    free(p->was_put);
    free(p);
}

static struct part *part_create(const struct zs_level *level, struct part *outer, uint64_t number)
{
    struct part *p = zs_calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (struct part){.level = level, .outer = outer, .number = number};
    if (level[1].is_shard) {
        p->inner = zs_calloc((size_t)level->inner_count, sizeof *p->inner);
    } else {
        p->fresh = zs_shard_index_alloc(level);
        p->was_put = zs_calloc((size_t)level->inner_count, 1);
    }
    if (level[1].is_shard ? p->inner == NULL : p->fresh == NULL || p->was_put == NULL) {
        free(p->inner);
        free(p->fresh);
        free(p->was_put);
        free(p);
        return NULL;
    }
    for (uint64_t i = 0; p->fresh != NULL && i < 2 * p->fresh->count; i++)
        p->fresh->entries[i] = ZS_INDEX_EMPTY;
    return p;
}

static enum zs_status fail_in_object(const struct zs_shard_writer *w, enum zs_status status, struct zs_error *err)
{
    return zs_fail_in(err, status, "%s/%s", w->store->root, w->key);
}

/* Reads what the store has of a part, from the outermost in. */
static enum zs_status open_present(struct zs_shard_writer *w, struct part *p, struct zs_error *err)
{
    if (p->is_opened)
        return ZS_OK;
    struct zs_bytes bytes = {.object = w->object, .size = w->object != NULL ? zs_object_size(w->object) : 0};
    bool is_empty = w->object == NULL;
    if (p->outer != NULL) {
        ZS_TRY(open_present(w, p->outer, err));
        const enum zs_status status = zs_present_chunk(p->outer->level, &p->outer->present, p->number, &is_empty, &bytes, err);
        if (status != ZS_OK)
            return fail_in_object(w, status, err);
    }
    const enum zs_status status = is_empty ? ZS_OK : zs_present_open(p->level, &bytes, &p->present, err);
    if (status != ZS_OK)
        return fail_in_object(w, status, err);
    w->memory += p->present.decoded.capacity;
    p->is_opened = true;
    return ZS_OK;
}

/* Whether inner chunk `number` is another than the store has. */
static bool is_changed(const struct part *p, uint64_t number)
{
    return p->inner != NULL ? p->inner[number] != NULL && p->inner[number]->put_count > 0 : p->was_put[number] != 0;
}

/* Leaf chunks in one chunk of the level inside of this one. */
static uint64_t leaves_per_chunk(const struct zs_level *level)
{
    uint64_t n = 1; /* the leaves of a shard have numbers that fit 64 bits: all its elements have */
    for (level++; level->is_shard; level++)
        n *= level->inner_count;
    return n;
}

/* The innermost shard of leaf `number`, which becomes its number in there. With make false: NULL where it was not touched. */
static struct part *find_part(const struct zs_shard_writer *w, uint64_t *number, bool make)
{
    struct part *p = w->root;
    while (p != NULL && p->inner != NULL) {
        const uint64_t leaves = leaves_per_chunk(p->level), i = *number / leaves;
        if (p->inner[i] == NULL && make)
            p->inner[i] = part_create(p->level + 1, p, i);
        p = p->inner[i];
        *number %= leaves;
    }
    return p;
}

static enum zs_status touch_part(const struct zs_shard_writer *w, uint64_t *number, struct part **part, struct zs_error *err)
{
    *part = find_part(w, number, true);
    return *part != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard");
}

enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_index *base, struct zs_object *object,
                                      struct zs_shard_writer **writer, struct zs_error *err)
{
    struct zs_shard_writer *w = zs_calloc(1, sizeof *w);
    if (w != NULL) {
        w->store = store;
        w->order = order;
        w->key = zs_strdup(key);
        w->root = part_create(level, NULL, 0);
    }
    if (w == NULL || w->key == NULL || w->root == NULL) {
        zs_shard_writer_free(w);
        free(base);
        zs_object_close(object);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard of %llu chunks", (unsigned long long)level->inner_count);
    }
    const enum zs_status status = zs_shard_writer_rebase(w, base, object, err);
    if (status != ZS_OK)
        zs_shard_writer_free(w);
    else
        *writer = w;
    return status;
}

void zs_shard_writer_free(struct zs_shard_writer *w)
{
    if (w == NULL)
        return;
    zs_writer_abort(w->temp);
    zs_ahead_clear(&w->ahead);
    part_free(w, w->root);
    zs_object_close(w->object);
    free(w->key);
    free(w);
}

static void close_all(struct zs_shard_writer *w, struct part *p)
{
    close_present(w, p);
    for (uint64_t i = 0; p->inner != NULL && i < p->level->inner_count; i++)
        if (p->inner[i] != NULL)
            close_all(w, p->inner[i]);
}

enum zs_status zs_shard_writer_rebase(struct zs_shard_writer *w, struct zs_shard_index *base, struct zs_object *object,
                                      struct zs_error *err)
{
    close_all(w, w->root);
    zs_object_close(w->object);
    w->object = object;
    if (base == NULL)
        return open_present(w, w->root, err);
    w->root->present.index = base;
    if (object != NULL)
        w->root->present.bytes = (struct zs_bytes){.object = object, .size = zs_object_size(object)};
    w->root->is_opened = true;
    return ZS_OK;
}

const struct zs_object *zs_shard_writer_object(const struct zs_shard_writer *w)
{
    return w->object;
}

bool zs_shard_writer_will_read(const struct zs_shard_writer *w)
{
    const struct zs_shard_index *index = w->root->present.index;
    if (index == NULL || index->is_absent || w->root->level->bytes_codec_count > 0)
        return false;
    for (uint64_t i = 0; i < index->count; i++)
        if (!is_changed(w->root, i) && index->entries[2 * i] != ZS_INDEX_EMPTY)
            return true;
    return false;
}

bool zs_shard_writer_is_broken(const struct zs_shard_writer *w)
{
    return w->is_broken;
}

uint64_t zs_shard_writer_memory(const struct zs_shard_writer *w)
{
    return w->memory;
}

uint64_t zs_shard_writer_most_bytes(const struct zs_shard_writer *w)
{
    return w->temp_size + (w->object != NULL ? zs_object_size(w->object) : 0);
}

/* ---- Bytes going out ---- */

/* Where a shard is built: in an object, or in memory when it is encoded as a whole. */
struct sink {
    struct zs_writer *out;
    struct zs_buffer *memory;
    uint64_t size;
};

static enum zs_status sink_write(struct sink *s, const void *data, size_t n, struct zs_error *err)
{
    ZS_TRY(s->out != NULL ? zs_writer_write(s->out, data, n, err) : zs_buffer_append(s->memory, data, n, err));
    s->size += n;
    return ZS_OK;
}

static enum zs_status sink_patch(struct sink *s, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    if (s->out != NULL)
        return zs_writer_patch(s->out, offset, data, n, err);
    memcpy(s->memory->data + offset, data, n);
    return ZS_OK;
}

/* Room for an index in front, to be filled when it is known. */
static enum zs_status reserve_index(const struct zs_level *level, struct sink *s, struct zs_error *err)
{
    unsigned char *zeros = zs_calloc((size_t)level->index_size, 1);
    if (zeros == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an index of %llu bytes", (unsigned long long)level->index_size);
    const enum zs_status status = sink_write(s, zeros, (size_t)level->index_size, err);
    free(zeros);
    return status;
}

/* `start`: where the shard begins. */
static enum zs_status write_index(const struct zs_level *level, const struct zs_shard_index *index, uint64_t start, struct sink *s,
                                  struct zs_error *err)
{
    void *bytes = malloc((size_t)level->index_size);
    if (bytes == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an index of %llu bytes", (unsigned long long)level->index_size);
    zs_shard_index_encode(level, index, bytes);
    const enum zs_status status = level->index_at_start ? sink_patch(s, start, bytes, (size_t)level->index_size, err)
                                                        : sink_write(s, bytes, (size_t)level->index_size, err);
    free(bytes);
    return status;
}

/* ---- Putting and getting ---- */

static enum zs_status prepare_temp(struct zs_shard_writer *w, struct zs_error *err)
{
    if (w->is_broken || w->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key);
    if (w->temp != NULL)
        return ZS_OK;
    const struct zs_level *level = w->root->level;
    ZS_TRY(zs_store_create(w->store, w->key, &w->temp, err));
    if (level->index_at_start && w->root->inner == NULL && level->bytes_codec_count == 0) {
        struct sink s = {.out = w->temp};
        const enum zs_status status = reserve_index(level, &s, err);
        if (status != ZS_OK) {
            zs_writer_abort(w->temp);
            w->temp = NULL;
            return status;
        }
        w->temp_size = level->index_size;
    }
    return ZS_OK;
}

enum zs_status zs_shard_writer_put(struct zs_shard_writer *w, uint64_t number, const void *data, size_t n,
                                   struct zs_error *err)
{
    struct part *p;
    ZS_TRY(touch_part(w, &number, &p, err));
    if (data != NULL) {
        ZS_TRY(prepare_temp(w, err));
        const enum zs_status status = zs_writer_write(w->temp, data, n, err);
        w->is_broken = status != ZS_OK;
        ZS_TRY(status);
    }
    uint64_t *entry = &p->fresh->entries[2 * number];
    if (entry[0] != ZS_INDEX_EMPTY)
        w->replaced++;
    entry[0] = data != NULL ? w->temp_size : ZS_INDEX_EMPTY;
    entry[1] = data != NULL ? n : ZS_INDEX_EMPTY;
    if (data != NULL)
        w->temp_size += n;
    for (struct part *q = p; q != NULL && !p->was_put[number]; q = q->outer)
        q->put_count++;
    p->was_put[number] = 1;
    return ZS_OK;
}

uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *w)
{
    return w->root->put_count;
}

bool zs_shard_writer_has(const struct zs_shard_writer *w, uint64_t number)
{
    const struct part *p = find_part(w, &number, false);
    return p != NULL && p->was_put[number] != 0;
}

enum zs_status zs_shard_writer_get_present(struct zs_shard_writer *w, uint64_t number, bool *is_empty, struct zs_buffer *out,
                                           struct zs_error *err)
{
    struct part *p;
    struct zs_bytes bytes;
    ZS_TRY(touch_part(w, &number, &p, err));
    ZS_TRY(open_present(w, p, err));
    enum zs_status status = zs_present_chunk(p->level, &p->present, number, is_empty, &bytes, err);
    if (status == ZS_OK && bytes.size > zs_level_bound(&p->level[1]) && !*is_empty)
        status = zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu",
                         zs_level_bound(&p->level[1]), (unsigned long long)bytes.size);
    if (status == ZS_OK && !*is_empty)
        status = zs_buffer_reset(out, (size_t)bytes.size, err);
    if (status == ZS_OK && !*is_empty)
        status = zs_bytes_read(&bytes, 0, (size_t)bytes.size, out->data, err);
    if (status != ZS_OK)
        return fail_in_object(w, status, err);
    out->size = *is_empty ? 0 : (size_t)bytes.size;
    return ZS_OK;
}

enum zs_status zs_shard_writer_get(struct zs_shard_writer *w, uint64_t number, bool *is_empty, struct zs_buffer *out,
                                   struct zs_error *err)
{
    uint64_t inside = number;
    const struct part *p = find_part(w, &inside, false);
    if (p == NULL || !p->was_put[inside])
        return zs_shard_writer_get_present(w, number, is_empty, out, err);
    const uint64_t *entry = &p->fresh->entries[2 * inside];
    out->size = 0;
    *is_empty = entry[0] == ZS_INDEX_EMPTY;
    if (*is_empty)
        return ZS_OK;
    if (w->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key);
    ZS_TRY(zs_buffer_reset(out, (size_t)entry[1], err));
    ZS_TRY(zs_writer_read(w->temp, entry[0], (size_t)entry[1], out->data, err));
    out->size = (size_t)entry[1];
    return ZS_OK;
}

/* ---- Publishing ---- */

static enum zs_status is_all_empty(struct zs_shard_writer *w, struct part *p, bool *all_empty, struct zs_error *err)
{
    ZS_TRY(open_present(w, p, err));
    *all_empty = true;
    for (uint64_t i = 0; i < p->level->inner_count && *all_empty; i++) {
        struct zs_bytes bytes;
        if (!is_changed(p, i)) {
            const enum zs_status status = zs_present_chunk(p->level, &p->present, i, all_empty, &bytes, err);
            if (status != ZS_OK)
                return fail_in_object(w, status, err);
        } else if (p->inner != NULL) {
            ZS_TRY(is_all_empty(w, p->inner[i], all_empty, err));
        } else {
            *all_empty = p->fresh->entries[2 * i] == ZS_INDEX_EMPTY;
        }
    }
    return ZS_OK;
}

/* Whether temp, but for its index, is the shard: nothing to take from elsewhere, nothing wasted, all in the wanted order. */
static bool temp_is_final(const struct zs_shard_writer *w, const uint64_t *numbers)
{
    const struct part *p = w->root;
    if (w->replaced != 0 || w->is_broken || p->inner != NULL || p->level->bytes_codec_count > 0)
        return false;
    const struct zs_shard_index *base = p->present.index;
    for (uint64_t i = 0; base != NULL && !base->is_absent && i < p->level->inner_count; i++) {
        const uint64_t *entry = &base->entries[2 * i];
        if (!p->was_put[i] && (entry[0] != ZS_INDEX_EMPTY || entry[1] != ZS_INDEX_EMPTY))
            return false;
    }
    return zs_chunks_lie_in(p->fresh->entries, numbers, p->level->inner_count);
}

/* Fetches the unchanged chunks from place `first` of a shard on, as many as there is room for. */
static enum zs_status fetch_ahead(struct zs_shard_writer *w, const struct part *p, const uint64_t *numbers, uint64_t first,
                                  struct zs_error *err)
{
    const uint64_t room = zs_ahead_room();
    struct zs_range *ranges = zs_calloc((size_t)(p->level->inner_count - first), sizeof *ranges);
    enum zs_status status = ranges != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot plan for the chunks of a shard");
    size_t n = 0;
    uint64_t total = 0;
    for (uint64_t i = first; i < p->level->inner_count && status == ZS_OK; i++) {
        struct zs_bytes bytes;
        bool is_empty = true;
        if (is_changed(p, numbers[i]))
            continue;
        status = zs_present_chunk(p->level, &p->present, numbers[i], &is_empty, &bytes, err);
        if (is_empty)
            continue;
        if (bytes.size > room - total)
            break;
        total += bytes.size;
        ranges[n++] = (struct zs_range){.offset = bytes.offset, .size = bytes.size};
    }
    if (status == ZS_OK && n > 0)
        status = zs_ahead_fetch(&w->ahead, w->object, ranges, n, err);
    free(ranges);
    return status == ZS_OK ? ZS_OK : fail_in_object(w, status, err);
}

/* Copies `size` bytes from temp, or with `from` from there. */
static enum zs_status copy_bytes(struct zs_shard_writer *w, const struct zs_bytes *from, uint64_t offset, uint64_t size, struct sink *s,
                                 struct zs_error *err)
{
    const bool is_remote = from != NULL && from->memory == NULL && from->object->store->is_remote;
    const unsigned char *here = is_remote ? zs_ahead_find(&w->ahead, from->offset + offset, size) : NULL;
    if (here != NULL)
        return sink_write(s, here, (size_t)size, err);
    struct zs_buffer buffer = {0};
    enum zs_status status = ZS_OK;
    const size_t most = is_remote ? REMOTE_COPY_BYTES : COPY_BYTES;
    while (size > 0 && status == ZS_OK) {
        const size_t part = size < most ? (size_t)size : most;
        status = zs_buffer_reset(&buffer, part, err);
        if (status == ZS_OK)
            status = from != NULL ? zs_bytes_read(from, offset, part, buffer.data, err)
                                  : zs_writer_read(w->temp, offset, part, buffer.data, err);
        if (status == ZS_OK)
            status = sink_write(s, buffer.data, part, err);
        offset += part;
        size -= part;
    }
    zs_buffer_free(&buffer);
    return status;
}

static enum zs_status build(struct zs_shard_writer *w, struct part *p, struct sink *s, struct zs_error *err);

/* A shard that its bytes codecs encode as a whole. */
static enum zs_status build_encoded(struct zs_shard_writer *w, struct part *p, struct sink *s, struct zs_error *err)
{
    struct zs_buffer plain = {0};
    struct sink memory = {.memory = &plain};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const void *encoded;
    size_t n;
    enum zs_status status = scratch != NULL ? build(w, p, &memory, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    if (status == ZS_OK)
        status = zs_bytes_encode(p->level->bytes_codecs, p->level->bytes_codec_count, scratch, plain.data, plain.size, &encoded, &n, err);
    if (status == ZS_OK)
        status = sink_write(s, encoded, n, err);
    zs_scratch_release(scratch);
    zs_buffer_free(&plain);
    return status;
}

/* Writes the inner chunk at `place` of the order as it shall be; nothing when it is empty, which *is_empty tells. */
static enum zs_status build_chunk(struct zs_shard_writer *w, struct part *p, const uint64_t *numbers, uint64_t place, bool *is_empty,
                                  struct sink *s, struct zs_error *err)
{
    const uint64_t number = numbers[place];
    struct zs_bytes bytes;
    if (!is_changed(p, number)) {
        const enum zs_status status = zs_present_chunk(p->level, &p->present, number, is_empty, &bytes, err);
        if (status != ZS_OK)
            return fail_in_object(w, status, err);
        if (!*is_empty && bytes.memory == NULL && bytes.object->store->is_remote &&
            zs_ahead_find(&w->ahead, bytes.offset, bytes.size) == NULL)
            ZS_TRY(fetch_ahead(w, p, numbers, place, err));
        return *is_empty ? ZS_OK : copy_bytes(w, &bytes, 0, bytes.size, s, err);
    }
    if (p->inner == NULL) {
        const uint64_t *entry = &p->fresh->entries[2 * number];
        *is_empty = entry[0] == ZS_INDEX_EMPTY;
        return *is_empty ? ZS_OK : copy_bytes(w, NULL, entry[0], entry[1], s, err);
    }
    ZS_TRY(is_all_empty(w, p->inner[number], is_empty, err));
    if (*is_empty)
        return ZS_OK;
    return (p->inner[number]->level->bytes_codec_count > 0 ? build_encoded : build)(w, p->inner[number], s, err);
}

/* Writes a shard, its chunks in the wanted order, as it is before its own bytes codecs. */
static enum zs_status build(struct zs_shard_writer *w, struct part *p, struct sink *s, struct zs_error *err)
{
    const struct zs_level *level = p->level;
    const uint64_t start = s->size;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    struct zs_shard_index *index = zs_shard_index_alloc(level);
    enum zs_status status = numbers != NULL && index != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot order the chunks of a shard");
    if (status == ZS_OK)
        status = zs_chunk_order_list(level, w->order, numbers, err);
    if (status == ZS_OK)
        status = open_present(w, p, err);
    if (status == ZS_OK && level->index_at_start)
        status = reserve_index(level, s, err);
    for (uint64_t i = 0; i < level->inner_count && status == ZS_OK; i++) {
        const uint64_t at = s->size;
        uint64_t *entry = &index->entries[2 * numbers[i]];
        bool is_empty = false;
        status = build_chunk(w, p, numbers, i, &is_empty, s, err);
        entry[0] = is_empty ? ZS_INDEX_EMPTY : at - start;
        entry[1] = is_empty ? ZS_INDEX_EMPTY : s->size - at;
    }
    if (status == ZS_OK)
        status = write_index(level, index, start, s, err);
    free(index);
    free(numbers);
    return status;
}

static enum zs_status publish_copy(struct zs_shard_writer *w, struct zs_error *err)
{
    struct sink s = {0};
    ZS_TRY(zs_store_create(w->store, w->key, &s.out, err));
    const enum zs_status status = (w->root->level->bytes_codec_count > 0 ? build_encoded : build)(w, w->root, &s, err);
    zs_ahead_clear(&w->ahead);
    if (status == ZS_OK)
        return zs_writer_commit(s.out, err);
    zs_writer_abort(s.out);
    return status;
}

static enum zs_status publish_temp(struct zs_shard_writer *w, struct zs_error *err)
{
    struct sink s = {.out = w->temp, .size = w->temp_size};
    const enum zs_status status = write_index(w->root->level, w->root->fresh, 0, &s, err);
    w->is_broken = true; /* behind the index no chunk can be put, if this fails */
    ZS_TRY(status);
    bool is_kept;
    const enum zs_status committed = zs_writer_try_commit(s.out, &is_kept, err);
    if (!is_kept)
        w->temp = NULL;
    w->is_lost = committed != ZS_OK && !is_kept; /* it was given away */
    return committed;
}

enum zs_status zs_shard_writer_publish(struct zs_shard_writer *w, bool *is_lost, struct zs_error *err)
{
    *is_lost = w->is_lost;
    if (w->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key);
    bool all_empty;
    ZS_TRY(is_all_empty(w, w->root, &all_empty, err));
    if (all_empty)
        return zs_store_remove(w->store, w->key, err);
    const struct zs_level *level = w->root->level;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    if (numbers == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot order the chunks of a shard");
    enum zs_status status = zs_chunk_order_list(level, w->order, numbers, err);
    if (status == ZS_OK)
        status = w->temp != NULL && temp_is_final(w, numbers) ? publish_temp(w, err) : publish_copy(w, err);
    free(numbers);
    *is_lost = w->is_lost;
    return status;
}
