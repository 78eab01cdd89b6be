/* Reading chunks block by block, where little is wanted of them and their codecs can (codec/codec.c).
 *
 * Which blocks a chunk has is in its table (struct zs_blocks), which its codec reads from the chunk's first bytes, and
 * which is cached. Tables are found side by side for the chunks that may gain; one that must be fetched is only where
 * blocks of the usual size would gain. Then the wanted blocks of each chunk become items of the plan, unless they are
 * more than half of it. */
#include <stdlib.h>

#include "array/array_private.h"
#include "array/plan.h"
#include "base/parallel.h"

/* Bytes that must be saved for the round trip that reads an unknown table. */
#define ROUND_TRIP_COST ((uint64_t)1 << 20)
/* The first bytes that are fetched for a table: more than 1000 blocks. */
#define HEAD_BYTES 4096
/* Chunks without compression are read by pages: a map of 100 x 100 pixels of four bytes is ten pages. */
#define PAGE_BYTES ((uint64_t)4096)
#define REMOTE_PAGE_BYTES ((uint64_t)8 << 10)
/* Blocks as large as any are, to see whether it is worth asking for a table. */
#define USUAL_BLOCK ((uint64_t)128 << 10)

static const struct zs_level *level_of(const struct zs_array *array, const struct zs_planned *planned,
                                       struct zs_level *room)
{
    return zs_grid_level(&array->grid, array->chain.count - 1, planned->where.chunk, room);
}

/* ---- Which blocks are wanted ---- */

/* A set of a chunk's blocks. */
struct block_set {
    unsigned char *bits; /* freed with free() */
    size_t count;        /* blocks of the chunk */
    size_t size;         /* blocks in the set */
};

static bool has_block(const struct block_set *set, size_t block)
{
    return (set->bits[block / 8] >> block % 8 & 1) != 0;
}

static void add_blocks(struct block_set *set, uint64_t first, uint64_t last)
{
    for (size_t i = (size_t)first; i <= last; i++) {
        set->size += !has_block(set, i);
        set->bits[i / 8] |= (unsigned char)(1u << i % 8);
    }
}

/* Adds the blocks, of `each` elements, that hold what one window wants of a chunk. Elements are numbered as they are
 * stored: those that are wanted make runs, which are added one after another. */
static void add_window(const struct zs_plan *plan, const struct zs_planned *planned, const struct zs_window *window,
                       uint64_t each, struct block_set *set)
{
    const struct zs_array *array = plan->array;
    const int ndim = array->meta->ndim, *axis = array->innermost->axis;
    struct zs_extent chunk, wanted;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], stride[ZS_MAX_NDIM], size = 1, run = 1;
    int outer = ndim; /* dimensions, as stored, before those that make a run */
    zs_whole_chunk(array, planned->where.chunk, &chunk);
    zs_chunk_overlap(array, array->chain.count - 1, planned->where.chunk, window, wanted.start, wanted.count);
    for (int j = ndim - 1; j >= 0; j--) {
        const int d = axis[j];
        at[j] = low[j] = wanted.start[d] - chunk.start[d];
        high[j] = low[j] + wanted.count[d];
        stride[j] = size;
        if (run == size) { /* all is wanted of the dimensions behind this one */
            run *= wanted.count[d];
            outer = j;
        }
        size *= chunk.count[d];
    }
    do {
        uint64_t first = 0;
        for (int j = 0; j < ndim; j++)
            first += at[j] * stride[j];
        add_blocks(set, first / each, (first + run - 1) / each);
    } while (set->size < set->count && zs_next_position(outer, at, low, high));
}

/* Finds which of a chunk's `count` blocks, of `each` elements, hold what the windows want. */
static enum zs_status find_wanted(const struct zs_plan *plan, const struct zs_planned *planned, size_t count,
                                  uint64_t each, struct block_set *wanted, struct zs_error *err)
{
    *wanted = (struct block_set){.bits = zs_calloc(count / 8 + 1, 1), .count = count};
    ZS_TRY_MEMORY(wanted->bits, err);
    for (size_t i = 0; i < planned->overlap_count && wanted->size < count; i++)
        add_window(plan, planned, zs_planned_window(plan, planned, i), each, wanted);
    return ZS_OK;
}

/* ---- Tables ---- */

/* A hash that differs between versions of a chunk's bytes. */
static uint64_t tag_of(const struct zs_location *where)
{
    const uint64_t parts[] = {where->kind == ZS_LOCATION_MEMORY, where->bytes.version, where->bytes.offset,
                              where->bytes.size};
    return zs_hash(ZS_HASH, parts, sizeof parts);
}

/* Pins the table of a chunk if it is cached. */
static bool take_cached_table(struct zs_array *array, struct zs_planned *planned)
{
    if (planned->where.kind == ZS_LOCATION_OBJECT)
        return false;
    planned->table = zs_cache_get(&array->indexes, (struct zs_cache_key){ZS_SPACE_TABLES, planned->where.chunk});
    if (planned->table == NULL ||
        ((const struct zs_blocks *)zs_cache_value(planned->table))->tag == tag_of(&planned->where))
        return planned->table != NULL;
    zs_cache_release(planned->table);
    planned->table = NULL;
    return false;
}

/* Caches the table of a chunk, which it takes, and pins it. */
static enum zs_status keep_table(struct zs_array *array, struct zs_planned *planned, struct zs_blocks *blocks,
                                 struct zs_error *err)
{
    blocks->tag = tag_of(&planned->where);
    planned->table = zs_cache_put(&array->indexes, (struct zs_cache_key){ZS_SPACE_TABLES, planned->where.chunk}, blocks,
                                  ZS_CACHE_ENTRY_BYTES + zs_blocks_memory(blocks));
    return planned->table != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Whether it may pay to read the table of a chunk: whether it would with blocks of the usual size. */
static enum zs_status is_worth_asking(const struct zs_plan *plan, const struct zs_planned *planned,
                                      const struct zs_level *level, bool *is_worth, struct zs_error *err)
{
    const struct zs_array *array = plan->array;
    const uint64_t each = USUAL_BLOCK / level->item_size, elements = level->decoded_size / level->item_size;
    struct block_set wanted;
    ZS_TRY(find_wanted(plan, planned, (size_t)((elements + each - 1) / each), each, &wanted, err));
    free(wanted.bits);
    *is_worth = wanted.size * 2 <= wanted.count;
    if (array->store->is_remote && planned->where.kind == ZS_LOCATION_RANGE) {
        const uint64_t saved = planned->where.bytes.size / wanted.count * (wanted.count - wanted.size);
        *is_worth = *is_worth && saved > ROUND_TRIP_COST;
    }
    return ZS_OK;
}

/* The first bytes of a chunk, `have` of them. */
struct head {
    const unsigned char *data; /* in a shard in memory, or in what follows */
    size_t have;
    struct zs_buffer more; /* where HEAD_BYTES are not enough */
    unsigned char fetched[HEAD_BYTES];
};

/* Fetches the first n bytes of a chunk. */
static enum zs_status fetch_head(struct zs_object *object, const struct zs_location *where, size_t n,
                                 struct head *head, struct zs_error *err)
{
    unsigned char *to = head->fetched;
    if (n > sizeof head->fetched) {
        ZS_TRY(zs_buffer_reset(&head->more, n, err));
        to = head->more.data;
    }
    ZS_TRY(zs_object_read(object, where->bytes.offset, n, to, err));
    head->data = to;
    head->have = n;
    return ZS_OK;
}

/* Reads the table of a chunk from its first bytes, and fetches more of them as needed. */
static enum zs_status read_table(const struct zs_array *array, const struct zs_location *where,
                                 const struct zs_level *level, struct zs_object *object, struct head *head,
                                 struct zs_blocks **blocks, struct zs_error *err)
{
    const uint64_t size = where->bytes.size, page = array->store->is_remote ? REMOTE_PAGE_BYTES : PAGE_BYTES;
    size_t need;
    ZS_TRY(zs_chunk_read_blocks(level, head->data, head->have, size, page, &need, blocks, err));
    while (*blocks == NULL) {
        const size_t n = head->have == 0 ? (size_t)zs_min_u64(size, sizeof head->fetched) : need;
        ZS_TRY(fetch_head(object, where, n, head, err));
        ZS_TRY(zs_chunk_read_blocks(level, head->data, head->have, size, page, &need, blocks, err));
    }
    return ZS_OK;
}

/* Reads the table of a chunk from its own bytes, and caches it. */
static enum zs_status ask_table(struct zs_plan *plan, struct zs_planned *planned, const struct zs_level *level,
                                struct head *head, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    const struct zs_location *where = &planned->where;
    struct zs_cache_entry *entry = NULL;
    struct zs_object *object = NULL;
    struct zs_blocks *blocks = NULL;
    enum zs_status status = ZS_OK;
    bool is_stale = false;
    if (where->kind == ZS_LOCATION_MEMORY) {
        head->data = where->bytes.memory;
        head->have = (size_t)where->bytes.size;
    } else {
        status = zs_shard_object_of(array, where->shard, where->bytes.version, &entry, &is_stale, err);
        object = status == ZS_OK ? zs_cache_value(entry) : NULL;
    }
    /* Blocks of two versions must never be mixed: no blocks where versions may not differ visibly. */
    if (status == ZS_OK && (object == NULL || object->is_versioned))
        status = read_table(array, where, level, object, head, &blocks, err);
    if (is_stale || zs_object_is_overtaken(object, status))
        status = ZS_OK; /* it is read whole, and found replaced */
    zs_cache_release(entry);
    return status == ZS_OK && blocks != NULL ? keep_table(array, planned, blocks, err) : status;
}

/* ---- Chunks that are objects of their own ---- */

/* Opens the object that a chunk is. A remote one comes with its first bytes. */
static enum zs_status open_object(struct zs_array *array, uint64_t chunk, struct head *head, struct zs_object **object,
                                  struct zs_error *err)
{
    const bool is_remote = array->store->is_remote;
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    const enum zs_status status =
        is_remote ? zs_object_open_end(array->store, key, false, sizeof head->fetched, head->fetched, object, err)
                  : zs_object_open(array->store, key, object, err);
    free(key);
    if (status == ZS_OK && is_remote && (*object)->size >= sizeof head->fetched) {
        head->data = head->fetched;
        head->have = sizeof head->fetched;
    }
    return status;
}

static void set_range(struct zs_location *where, const struct zs_object *object)
{
    where->kind = ZS_LOCATION_RANGE;
    where->bytes.offset = 0;
    where->bytes.size = object->size;
    where->bytes.version = object->version;
}

/* Opens the object that a chunk is, and makes the chunk's location the range of its bytes, or empty. The location stays
 * an object where the store does not tell versions apart: then all must come in one request. */
static enum zs_status locate_object(struct zs_array *array, struct zs_location *where, const struct zs_level *level,
                                    struct head *head, struct zs_error *err)
{
    struct zs_object *object;
    /* Locally it is opened each time, since it may have been replaced; over a network the next read detects that. */
    struct zs_cache_entry *entry =
        array->store->is_remote ? zs_cache_get(&array->objects, (struct zs_cache_key){0, where->shard}) : NULL;
    if (entry == NULL) {
        const enum zs_status status = open_object(array, where->shard, head, &object, err);
        if (status == ZS_NOT_FOUND) {
            where->kind = ZS_LOCATION_EMPTY;
            return ZS_OK;
        }
        ZS_TRY(status);
        if (!object->is_versioned || object->size > zs_level_bound(level)) {
            zs_object_close(object);
            return ZS_OK;
        }
        ZS_TRY(zs_shard_keep_object(array, where->shard, object, &entry, err));
    }
    set_range(where, zs_cache_value(entry));
    zs_cache_release(entry);
    return ZS_OK;
}

/* ---- Tables of all chunks that may gain ---- */

struct candidates {
    struct zs_plan *plan;
    size_t *chunks; /* of the plan, that may be read block by block */
    size_t count;
};

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

/* Pins the table of a chunk, if finding it may pay. */
static enum zs_status find_table(struct zs_plan *plan, struct zs_planned *planned, struct head *head,
                                 struct zs_error *err)
{
    struct zs_array *array = plan->array;
    struct zs_location *where = &planned->where;
    struct zs_level room;
    const struct zs_level *level = level_of(array, planned, &room);
    bool is_worth = true;
    if (take_cached_table(array, planned))
        return ZS_OK;
    if (level->bytes_codec_count > 0 || where->kind == ZS_LOCATION_OBJECT) /* else no bytes are needed for it */
        ZS_TRY(is_worth_asking(plan, planned, level, &is_worth, err));
    if (is_worth && where->kind == ZS_LOCATION_OBJECT) {
        ZS_TRY(locate_object(array, where, level, head, err));
        is_worth = where->kind == ZS_LOCATION_RANGE && !take_cached_table(array, planned);
    }
    return is_worth ? ask_table(plan, planned, level, head, err) : ZS_OK;
}

static enum zs_status find_candidate_table(void *ctx, size_t item, struct zs_error *err)
{
    const struct candidates *candidates = ctx;
    struct zs_plan *plan = candidates->plan;
    struct zs_planned *planned = &plan->chunks[candidates->chunks[item]];
    struct head head; /* set member by member: the bytes need not be */
    head.data = NULL;
    head.have = 0;
    head.more = (struct zs_buffer){0};
    const enum zs_status status = find_table(plan, planned, &head, err);
    zs_buffer_free(&head.more);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(plan->array, planned->where.chunk, status, err);
}

/* Finds the tables of all chunks that may gain. */
static enum zs_status find_tables(struct zs_plan *plan, struct zs_error *err)
{
    struct candidates candidates = {.plan = plan, .chunks = zs_calloc(plan->chunk_count, sizeof *candidates.chunks)};
    ZS_TRY_MEMORY(candidates.chunks, err);
    for (size_t i = 0; i < plan->chunk_count; i++)
        if (is_candidate(plan, &plan->chunks[i]))
            candidates.chunks[candidates.count++] = i;
    /* Locally a table is read in microseconds. */
    const int threads = plan->array->store->is_remote ? plan->array->fetch_threads : 1;
    const enum zs_status status = zs_parallel_for(threads, candidates.count, find_candidate_table, &candidates, err);
    free(candidates.chunks);
    return status;
}

/* ---- Blocks, or the whole chunk ---- */

/* Pins a block of a chunk if it is cached, and of this table. */
static struct zs_cache_entry *take_cached_block(struct zs_array *array, const struct zs_planned *planned, size_t block,
                                                uint64_t tag)
{
    struct zs_cache_entry *entry =
        zs_cache_get(&array->chunks, (struct zs_cache_key){ZS_SPACE_BLOCKS + block, planned->where.chunk});
    if (entry == NULL || ((const struct zs_blob *)zs_cache_value(entry))->version == tag)
        return entry;
    zs_cache_release(entry);
    return NULL;
}

/* Adds an item for each wanted block of a chunk with a table. Where they are more than half, drops the table: the chunk
 * is read whole. */
static enum zs_status add_items(struct zs_plan *plan, struct zs_planned *planned, struct zs_error *err)
{
    const struct zs_blocks *blocks = zs_cache_value(planned->table);
    struct block_set wanted = {0};
    if (blocks->count > 1 && zs_block_decoded(blocks, 0) <= plan->array->max_chunk) {
        uint64_t first, each;
        zs_chunk_block_elements(plan->array->innermost, blocks, 0, &first, &each);
        ZS_TRY(find_wanted(plan, planned, blocks->count, each, &wanted, err));
    }
    if (wanted.size * 2 > wanted.count || wanted.count == 0) {
        free(wanted.bits);
        zs_cache_release(planned->table);
        planned->table = NULL;
        return ZS_OK;
    }
    struct zs_item *items = zs_grow_by(plan->items, plan->item_count, wanted.size, &plan->item_room, sizeof *items);
    plan->items = items != NULL ? items : plan->items;
    planned->first_item = plan->item_count;
    for (size_t i = 0; i < blocks->count && items != NULL; i++)
        if (has_block(&wanted, i))
            items[plan->item_count++] = (struct zs_item){
                .chunk = (size_t)(planned - plan->chunks),
                .block = i,
                .kept = take_cached_block(plan->array, planned, i, blocks->tag),
            };
    planned->item_count = plan->item_count - planned->first_item;
    free(wanted.bits);
    return items != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_plan_blocks(struct zs_plan *plan, struct zs_error *err)
{
    if (plan->shard_count == 0 || !zs_chunk_has_blocks(plan->array->innermost))
        return ZS_OK;
    ZS_TRY(find_tables(plan, err));
    for (size_t i = 0; i < plan->chunk_count; i++)
        if (plan->chunks[i].table != NULL)
            ZS_TRY(add_items(plan, &plan->chunks[i], err));
    return ZS_OK;
}

/* ---- Delivering a block ---- */

void zs_block_scatter(const struct zs_plan *plan, const struct zs_item *item)
{
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    const struct zs_blob *blob = zs_cache_value(item->kept);
    uint64_t first, count;
    zs_chunk_block_elements(plan->array->innermost, zs_cache_value(planned->table), item->block, &first, &count);
    zs_scatter_run(plan, planned, first, count, blob->data);
}

enum zs_status zs_block_deliver(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                const void *src, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    const struct zs_blocks *blocks = zs_cache_value(planned->table);
    struct zs_level room;
    const struct zs_level *level = level_of(array, planned, &room);
    uint64_t first, count;
    zs_chunk_block_elements(level, blocks, item->block, &first, &count);
    /* Not from a pool: a read needs a few dozen blocks, and populating the rest of a slab took a fifth of its time. */
    struct zs_blob *blob = zs_blob_alloc(NULL, (size_t)count * level->item_size);
    ZS_TRY_MEMORY(blob, err);
    const enum zs_status status = zs_chunk_decode_block(level, scratch, blocks, item->block, src, blob->data, err);
    if (status != ZS_OK) {
        zs_blob_free(blob);
        return status;
    }
    zs_scatter_run(plan, planned, first, count, blob->data);
    blob->version = blocks->tag;
    const struct zs_cache_key key = {ZS_SPACE_BLOCKS + item->block, planned->where.chunk};
    zs_cache_release(zs_cache_put(&array->chunks, key, blob, ZS_CACHE_ENTRY_BYTES + sizeof *blob + blob->size));
    return ZS_OK;
}
