#include "array/plan.h"

#include <stdlib.h>
#include <string.h>

#include "array/indexes.h"
#include "array/shard_list.h"
#include "base/parallel.h"

/* ---- What it costs ----
 *
 * In bytes: those that are fetched, those that are decoded, and max_gap for each request, as where ranges are merged
 * (shard/range_plan.h). */

/* Besides decoding it, the cost of a block: finding it in the cache, memory, keeping it there. */
#define BLOCK_COST 4096
/* The cost of a round trip before all others, to read an unknown table. */
#define ROUND_TRIP_COST ((uint64_t)1 << 20)
/* The first bytes that are fetched for a table: more than 1000 blocks. */
#define HEAD_BYTES 4096
/* Chunks without compression are read by pages: a map of 100 x 100 pixels of four bytes is ten pages. */
#define PAGE_BYTES ((uint64_t)4096)
#define REMOTE_PAGE_BYTES ((uint64_t)8 << 10)
/* Blocks as large as any are, to see whether it is worth asking. */
#define USUAL_BLOCK ((uint64_t)128 << 10)

static uint64_t page_bytes(const struct zs_array *array)
{
    return array->store->is_remote ? REMOTE_PAGE_BYTES : PAGE_BYTES;
}

/* ---- Which blocks ---- */

/* A set of a chunk's blocks. */
struct marks {
    unsigned char *bits;
    size_t count, marked;
};

static enum zs_status marks_init(struct marks *m, size_t count, struct zs_error *err)
{
    *m = (struct marks){.bits = zs_calloc(count / 8 + 1, 1), .count = count};
    return m->bits != NULL ? ZS_OK : zs_fail_memory(err);
}

static bool is_marked(const struct marks *m, size_t index)
{
    return (m->bits[index / 8] >> index % 8 & 1) != 0;
}

static void mark(struct marks *m, uint64_t first, uint64_t last)
{
    for (size_t i = (size_t)first; i <= last; i++) {
        m->marked += !is_marked(m, i);
        m->bits[i / 8] |= (unsigned char)(1u << i % 8);
    }
}

/* Marks the blocks of `each` elements that hold what one window wants of the chunk, run by run as it is stored. */
static void mark_window(const struct zs_plan *plan, const struct zs_planned *planned, const struct zs_window *w,
                        uint64_t each, struct marks *m)
{
    const struct zs_array *array = plan->array;
    const int n = array->meta->ndim, *axis = array->innermost->axis;
    struct zs_extent chunk, extent;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], stride[ZS_MAX_NDIM], run = 1;
    zs_whole_chunk(array, planned->where.chunk, &chunk);
    zs_chunk_overlap(array, array->chain.count - 1, planned->where.chunk, w, extent.start, extent.count);
    int outer = n; /* dimensions, as stored, before those that make a run */
    for (uint64_t size = 1; outer > 0 && run == size; outer--) {
        run *= extent.count[axis[outer - 1]];
        size *= chunk.count[axis[outer - 1]];
    }
    uint64_t s = 1;
    for (int j = n - 1; j >= 0; j--) {
        at[j] = low[j] = extent.start[axis[j]] - chunk.start[axis[j]];
        high[j] = low[j] + extent.count[axis[j]];
        stride[j] = s;
        s *= chunk.count[axis[j]];
    }
    do {
        uint64_t first = 0;
        for (int j = 0; j < n; j++)
            first += at[j] * stride[j];
        mark(m, first / each, (first + run - 1) / each);
    } while (m->marked < m->count && zs_next_position(outer, at, low, high));
}

static void mark_wanted(const struct zs_plan *plan, const struct zs_planned *planned, uint64_t each, struct marks *m)
{
    for (size_t i = 0; i < planned->overlap_count && m->marked < m->count; i++)
        mark_window(plan, planned, &plan->windows[plan->overlaps[planned->first_overlap + i].window], each, m);
}

/* ---- Tables ---- */

struct search {
    struct zs_plan *plan;
    size_t *chunks; /* that may be read block by block */
    size_t count;
};

/* A hash that differs between versions of a chunk's bytes. */
static uint64_t tag_of(const struct zs_location *location)
{
    const uint64_t of[] = {location->kind == ZS_LOCATION_MEMORY, location->bytes.version, location->bytes.offset,
                           location->bytes.size};
    uint64_t tag = 0;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        tag = (tag ^ of[i]) * 0x9E3779B97F4A7C15u;
        tag ^= tag >> 32;
    }
    return tag;
}

static const struct zs_level *level_of(const struct zs_array *array, const struct zs_planned *planned,
                                       struct zs_level *room)
{
    return zs_grid_level(&array->grid, array->chain.count - 1, planned->where.chunk, room);
}

/* Pins the object that has a chunk's bytes. Sets p->stale when it is not the one that its index was read from. */
static enum zs_status object_of(struct zs_plan *plan, const struct zs_planned *planned, struct zs_cache_entry **entry,
                                struct zs_error *err)
{
    enum zs_status status = zs_shard_object(plan->array, planned->where.shard, entry, err);
    if (status == ZS_OK &&
        ((const struct zs_object *)zs_cache_value(*entry))->version != planned->where.bytes.version) {
        zs_cache_release(plan->array->objects, *entry);
        status = ZS_NOT_FOUND;
    }
    if (status != ZS_NOT_FOUND)
        return status;
    plan->stale = true; /* it was there when its index was read */
    return zs_fail(err, ZS_IO, "the shard was replaced while it was read");
}

/* The first bytes of a chunk, `have` of them. */
struct head {
    const unsigned char *data;
    size_t have;
    unsigned char fetched[HEAD_BYTES];
};

/* Opens the object that a chunk is, and makes the chunk's location the range of its bytes. The location stays an object
 * where the store does not tell versions apart: then all must come in one request. */
static enum zs_status open_whole(struct zs_plan *plan, struct zs_planned *planned, const struct zs_level *level,
                                 struct head *head, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    const struct zs_cache_key key = {0, planned->where.shard};
    /* Locally it is opened each time, since it may have been replaced; over a network the next read detects that. */
    struct zs_cache_entry *entry = array->store->is_remote ? zs_cache_get(array->objects, key) : NULL;
    if (entry == NULL && zs_shard_list_lacks(array, planned->where.shard)) {
        planned->where.kind = ZS_LOCATION_EMPTY;
        return ZS_OK;
    }
    if (entry == NULL) {
        char *name;
        struct zs_object *object = NULL;
        ZS_TRY(zs_shard_key(array, planned->where.shard, &name, err));
        if (array->distrusts_memory)
            zs_store_forget(array->store, name);
        const enum zs_status status =
            array->store->is_remote
                ? zs_object_open_head(array->store, name, sizeof head->fetched, head->fetched, &object, err)
                : zs_object_open(array->store, name, &object, err);
        free(name);
        if (status == ZS_NOT_FOUND) {
            zs_shard_list_note_missed(array);
            planned->where.kind = ZS_LOCATION_EMPTY;
            return ZS_OK;
        }
        ZS_TRY(status);
        if (!object->is_versioned || zs_object_size(object) > zs_level_bound(level)) {
            zs_object_close(object);
            return ZS_OK;
        }
        if (array->store->is_remote && zs_object_size(object) >= sizeof head->fetched) {
            head->data = head->fetched;
            head->have = sizeof head->fetched;
        }
        entry = zs_cache_put(array->objects, key, object, 1);
        if (entry == NULL) {
            zs_object_close(object);
            return zs_fail_memory(err);
        }
    }
    const struct zs_object *object = zs_cache_value(entry);
    planned->where.kind = ZS_LOCATION_RANGE;
    planned->where.bytes.offset = 0;
    planned->where.bytes.size = zs_object_size(object);
    planned->where.bytes.version = object->version;
    zs_cache_release(array->objects, entry);
    return ZS_OK;
}

/* Reads the table of a chunk from its first bytes, and fetches more of them as needed. */
static enum zs_status read_table(struct zs_plan *plan, const struct zs_planned *planned, const struct zs_level *level,
                                 struct head *head, struct zs_object *object, struct zs_blocks **blocks,
                                 struct zs_error *err)
{
    const struct zs_location *w = &planned->where;
    const uint64_t page = page_bytes(plan->array);
    struct zs_buffer more = {0};
    size_t need;
    enum zs_status status =
        zs_chunk_read_blocks(level, head->data, head->have, w->bytes.size, page, &need, blocks, err);
    while (status == ZS_OK && *blocks == NULL) {
        const size_t n = head->have == 0 ? (size_t)zs_min_u64(w->bytes.size, sizeof head->fetched) : need;
        if (n > sizeof head->fetched)
            status = zs_buffer_reset(&more, n, err);
        unsigned char *to = n > sizeof head->fetched ? more.data : head->fetched;
        if (status == ZS_OK)
            status = zs_object_read(object, w->bytes.offset, n, to, err);
        head->data = to;
        head->have = n;
        if (status == ZS_OK)
            status = zs_chunk_read_blocks(level, to, n, w->bytes.size, page, &need, blocks, err);
    }
    zs_buffer_free(&more);
    if (zs_object_is_overtaken(object, status))
        plan->stale = true;
    return status;
}

static enum zs_status keep_table(struct zs_array *array, struct zs_planned *planned, struct zs_blocks *blocks,
                                 struct zs_error *err)
{
    blocks->tag = tag_of(&planned->where);
    planned->table = zs_cache_put(array->indexes, (struct zs_cache_key){ZS_SPACE_TABLES, planned->where.chunk}, blocks,
                                  ZS_CACHE_ENTRY_BYTES + zs_blocks_memory(blocks));
    if (planned->table != NULL)
        return ZS_OK;
    free(blocks);
    return zs_fail_memory(err);
}

/* Whether it may pay to read the table of a chunk: whether it would with blocks of the usual size. */
static enum zs_status is_worth_asking(const struct zs_plan *plan, const struct zs_planned *planned,
                                      const struct zs_level *level, bool *is_worth, struct zs_error *err)
{
    const struct zs_array *array = plan->array;
    struct marks m;
    const uint64_t each = USUAL_BLOCK / level->item_size, n = level->decoded_size / level->item_size;
    ZS_TRY(marks_init(&m, (size_t)((n + each - 1) / each), err));
    mark_wanted(plan, planned, each, &m);
    free(m.bits);
    *is_worth = m.marked * 2 <= m.count;
    if (array->store->is_remote && planned->where.kind == ZS_LOCATION_RANGE)
        *is_worth = *is_worth && planned->where.bytes.size / m.count * (m.count - m.marked) > ROUND_TRIP_COST;
    return ZS_OK;
}

/* Pins the table of a chunk if it is cached. */
static bool is_table_known(struct zs_array *array, struct zs_planned *planned)
{
    if (planned->where.kind == ZS_LOCATION_OBJECT)
        return false;
    planned->table = zs_cache_get(array->indexes, (struct zs_cache_key){ZS_SPACE_TABLES, planned->where.chunk});
    if (planned->table == NULL ||
        ((const struct zs_blocks *)zs_cache_value(planned->table))->tag == tag_of(&planned->where))
        return planned->table != NULL;
    zs_cache_release(array->indexes, planned->table);
    planned->table = NULL;
    return false;
}

/* Reads the table of a chunk from its own bytes, and caches it. */
static enum zs_status ask_table(struct zs_plan *plan, struct zs_planned *planned, const struct zs_level *level,
                                struct head *head, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    struct zs_cache_entry *object = NULL;
    struct zs_blocks *blocks = NULL;
    if (planned->where.kind == ZS_LOCATION_MEMORY) {
        head->data = planned->where.bytes.memory;
        head->have = (size_t)planned->where.bytes.size;
    } else {
        ZS_TRY(object_of(plan, planned, &object, err));
    }
    /* Blocks of two versions must never be mixed: no blocks where versions may not differ visibly. */
    const bool is_sure = object == NULL || ((const struct zs_object *)zs_cache_value(object))->is_versioned;
    enum zs_status status = ZS_OK;
    if (is_sure)
        status = read_table(plan, planned, level, head, object != NULL ? zs_cache_value(object) : NULL, &blocks, err);
    if (object != NULL)
        zs_cache_release(array->objects, object);
    return status == ZS_OK && is_sure ? keep_table(array, planned, blocks, err) : status;
}

/* Finds the table of one chunk, if that may pay. */
static enum zs_status find_table(void *ctx, size_t item, struct zs_error *err)
{
    const struct search *s = ctx;
    struct zs_array *array = s->plan->array;
    struct zs_planned *c = &s->plan->chunks[s->chunks[item]];
    struct zs_level room;
    const struct zs_level *level = level_of(array, c, &room);
    struct head head;
    bool is_worth = true;
    head.data = NULL;
    head.have = 0;
    if (is_table_known(array, c))
        return ZS_OK;
    if (level->bytes_codec_count > 0 || c->where.kind == ZS_LOCATION_OBJECT)
        ZS_TRY(is_worth_asking(s->plan, c, level, &is_worth, err));
    if (!is_worth)
        return ZS_OK;
    enum zs_status status = ZS_OK;
    if (c->where.kind == ZS_LOCATION_OBJECT)
        status = open_whole(s->plan, c, level, &head, err);
    if (status == ZS_OK && c->where.kind != ZS_LOCATION_OBJECT && c->where.kind != ZS_LOCATION_EMPTY &&
        !is_table_known(array, c))
        status = ask_table(s->plan, c, level, &head, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(array, c->where.chunk, status, err);
}

/* ---- Blocks, or the whole chunk ---- */

/* Whether at most half of a chunk is wanted, and its bytes can be read in parts. */
static bool is_candidate(const struct zs_plan *plan, const struct zs_planned *planned)
{
    struct zs_level room;
    const enum zs_location_kind kind = planned->where.kind;
    if (zs_is_at_hand(planned) ||
        (kind != ZS_LOCATION_RANGE && kind != ZS_LOCATION_MEMORY && kind != ZS_LOCATION_OBJECT))
        return false;
    const struct zs_level *level = level_of(plan->array, planned, &room);
    return level->decoded_size >= plan->array->block_threshold &&
           zs_elements_used(plan, planned) <= level->decoded_size / level->item_size / 2;
}

/* Pins a block of a chunk if it is cached, and of this table. */
static struct zs_cache_entry *block_at_hand(struct zs_array *array, const struct zs_planned *planned, size_t block,
                                            uint64_t tag)
{
    struct zs_cache_entry *e =
        zs_cache_get(array->chunks, (struct zs_cache_key){ZS_SPACE_BLOCKS + block, planned->where.chunk});
    if (e == NULL || ((const struct zs_blob *)zs_cache_value(e))->version == tag)
        return e;
    zs_cache_release(array->chunks, e);
    return NULL;
}

/* The cost, in bytes, of reading the blocks of a chunk that are not cached (at least one). */
static enum zs_status cost_of(const struct zs_plan *plan, const struct zs_planned *planned, const struct zs_blocks *b,
                              uint64_t *cost, struct zs_error *err)
{
    struct zs_range *ranges = zs_calloc(planned->item_count, sizeof *ranges);
    struct zs_range_group *groups = zs_calloc(planned->item_count, sizeof *groups);
    size_t n = 0;
    *cost = 0;
    for (size_t i = 0; i < planned->item_count && ranges != NULL; i++) {
        const struct zs_item *it = &plan->items[planned->first_item + i];
        if (it->kept != NULL)
            continue;
        zs_block_range(b, it->block, &ranges[n].offset, &ranges[n].size);
        n++;
        *cost += BLOCK_COST + zs_block_decoded(b, it->block);
    }
    const bool has_memory = ranges != NULL && groups != NULL;
    const size_t count = has_memory ? zs_range_plan(ranges, n, plan->array->ranges, groups) : 0;
    for (size_t g = 0; g < count && planned->where.kind == ZS_LOCATION_RANGE; g++)
        *cost += groups[g].size + plan->array->ranges.max_gap;
    free(ranges);
    free(groups);
    return has_memory ? ZS_OK : zs_fail_memory(err);
}

static void release_items(struct zs_plan *plan, struct zs_planned *planned)
{
    for (size_t i = planned->first_item; i < planned->first_item + planned->item_count; i++)
        if (plan->items[i].kept != NULL)
            zs_cache_release(plan->array->chunks, plan->items[i].kept);
    plan->item_count = planned->first_item;
    planned->item_count = 0;
    zs_cache_release(plan->array->indexes, planned->table);
    planned->table = NULL;
}

/* Adds items for the wanted blocks of a chunk with a table. Drops its table where reading the whole chunk costs
 * less. */
static enum zs_status choose(struct zs_plan *plan, struct zs_planned *planned, struct zs_error *err)
{
    const struct zs_array *array = plan->array;
    const struct zs_blocks *b = zs_cache_value(planned->table);
    struct zs_level room;
    const struct zs_level *level = level_of(array, planned, &room);
    struct marks m;
    uint64_t first, each, cost = 0;
    size_t missing = 0;
    planned->first_item = plan->item_count;
    if (b->count < 2 || zs_block_decoded(b, 0) > array->max_chunk) {
        release_items(plan, planned);
        return ZS_OK;
    }
    zs_chunk_block_elements(level, b, 0, &first, &each);
    ZS_TRY(marks_init(&m, b->count, err));
    mark_wanted(plan, planned, each, &m);
    struct zs_item *items = zs_grow_by(plan->items, plan->item_count, m.marked, &plan->item_room, sizeof *items);
    if (items == NULL) {
        free(m.bits);
        return zs_fail_memory(err);
    }
    plan->items = items;
    for (size_t i = 0; i < b->count; i++)
        if (is_marked(&m, i)) {
            plan->items[plan->item_count++] = (struct zs_item){.chunk = (size_t)(planned - plan->chunks),
                                                               .block = i,
                                                               .kept = block_at_hand(plan->array, planned, i, b->tag)};
            missing += plan->items[plan->item_count - 1].kept == NULL;
            planned->item_count++;
        }
    free(m.bits);
    const enum zs_status status = missing > 0 ? cost_of(plan, planned, b, &cost, err) : ZS_OK;
    const uint64_t whole =
        level->decoded_size +
        (planned->where.kind == ZS_LOCATION_RANGE ? planned->where.bytes.size + array->ranges.max_gap : 0);
    if (status == ZS_OK && cost > whole / 4 * 3)
        release_items(plan, planned);
    return status;
}

enum zs_status zs_plan_blocks(struct zs_plan *plan, struct zs_error *err)
{
    struct search s = {.plan = plan};
    plan->decode_slots = plan->array->decode_slots;
    if (plan->shard_count == 0 || !zs_chunk_has_blocks(plan->array->innermost))
        return ZS_OK;
    s.chunks = zs_calloc(plan->chunk_count, sizeof *s.chunks);
    if (s.chunks == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < plan->chunk_count; i++)
        if (is_candidate(plan, &plan->chunks[i]))
            s.chunks[s.count++] = i;
    const int threads =
        plan->array->store->is_remote ? plan->array->fetch_threads : 1; /* a table is read in microseconds */
    enum zs_status status = zs_parallel_for(threads, s.count, find_table, &s, err);
    uint64_t largest = 0; /* block */
    size_t in_blocks = 0, others = 0;
    for (size_t i = 0; i < s.count && status == ZS_OK; i++) {
        struct zs_planned *c = &plan->chunks[s.chunks[i]];
        if (c->table != NULL)
            status = choose(plan, c, err);
        in_blocks += c->table != NULL;
        if (c->table != NULL)
            largest = zs_max_u64(largest, zs_block_decoded(zs_cache_value(c->table), 0));
    }
    for (size_t i = 0; i < plan->chunk_count; i++)
        others += !zs_is_at_hand(&plan->chunks[i]) && plan->chunks[i].where.kind != ZS_LOCATION_EMPTY;
    if (in_blocks > 0 && in_blocks == others)
        plan->decode_slots =
            (int)zs_max_u64(1, zs_min_u64((uint64_t)plan->array->threads, plan->array->max_chunk / largest));
    free(s.chunks);
    return status;
}

/* ---- Blocks ---- */

static void scatter_block(const struct zs_plan *plan, const struct zs_item *item, const unsigned char *data)
{
    const struct zs_planned *c = &plan->chunks[item->chunk];
    uint64_t first, count;
    zs_chunk_block_elements(plan->array->innermost, zs_cache_value(c->table), item->block, &first, &count);
    zs_scatter_run(plan, c, first, count, data);
}

void zs_block_scatter(const struct zs_plan *plan, const struct zs_item *item)
{
    scatter_block(plan, item, ((const struct zs_blob *)zs_cache_value(item->kept))->data);
}

enum zs_status zs_block_deliver(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                const void *src, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    const struct zs_planned *c = &plan->chunks[item->chunk];
    const struct zs_blocks *b = zs_cache_value(c->table);
    struct zs_level room;
    const struct zs_level *level = level_of(array, c, &room);
    uint64_t first, count;
    zs_chunk_block_elements(level, b, item->block, &first, &count);
    /* Not from a pool: a read needs a few dozen blocks, and populating the rest of a slab took a fifth of its time. */
    struct zs_blob *blob = zs_blob_alloc(NULL, (size_t)count * level->item_size);
    if (blob == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = zs_chunk_decode_block(level, scratch, b, item->block, src, blob->data, err);
    if (status != ZS_OK) {
        zs_blob_free(blob);
        return status;
    }
    zs_scatter_run(plan, c, first, count, blob->data);
    blob->version = b->tag;
    struct zs_cache_entry *entry =
        zs_cache_put(array->chunks, (struct zs_cache_key){ZS_SPACE_BLOCKS + item->block, c->where.chunk}, blob,
                     ZS_CACHE_ENTRY_BYTES + sizeof *blob + blob->size);
    if (entry != NULL)
        zs_cache_release(array->chunks, entry);
    else
        zs_blob_free(blob); /* it is decoded again when it is wanted */
    return ZS_OK;
}
