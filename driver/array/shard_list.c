#include "array/array_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

/* So many absent shards are looked up, with a request each, before the store is listed for the first time. */
#define LEAST_MISSED 32
/* Names of a page. */
#define NAMES_OF_A_REQUEST 1000
/* Numbers that are kept, 32 MB: arrays of more shards are not mostly empty. */
#define MOST_NUMBERS ((size_t)4 << 20)
/* A list is used for so many seconds: others may add shards meanwhile. */
#define LIFETIME 5

static const struct zs_cache_key list_key = {ZS_SPACE_SHARD_LIST, 0};

struct listing {
    const struct zs_array *array;
    const char *folder;
    char **folders;        /* of one level, "" or with "/" at their ends: listed side by side */
    uint64_t cost, most;   /* in requests, as a guess; at most */
    uint64_t each;         /* requests of one folder at most */
    pthread_mutex_t lock;  /* of what follows */
    struct zs_names below; /* folders of the next level */
    uint64_t *numbers;
    size_t count, room;
};

/* ---- Listing ---- */

static enum zs_status add_number(struct listing *listing, const char *key, struct zs_error *err)
{
    const struct zs_array *array = listing->array;
    uint64_t position[ZS_MAX_NDIM];
    if (!zs_chunk_key_parse(array->meta, key, position))
        return ZS_OK;
    for (int d = 0; d < array->meta->ndim; d++)
        if (position[d] >= array->grid.count[0][d])
            return ZS_OK;
    if (listing->count == MOST_NUMBERS)
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: has too many shards to list", array->node->path);
    ZS_TRY_GROW(listing->numbers, listing->count, &listing->room, err);
    listing->numbers[listing->count++] = zs_grid_number(&array->grid, 0, position);
    return ZS_OK;
}

/* Adds names directly below `key`: shards to the numbers, folders to those of the next level. */
static enum zs_status add_names(struct listing *listing, const char *key, char **names, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (char **name = names; *name != NULL && status == ZS_OK; name++) {
        char *below = zs_format("%s%s", key, *name);
        ZS_TRY_MEMORY(below, err);
        if (zs_prefix_length(*name) == 0)
            status = add_number(listing, below, err);
        else if (key[0] != '\0' || (*name)[0] == 'c' || listing->array->meta->key_is_v2) {
            status = zs_names_add(&listing->below, below, err);
            below = NULL;
        }
        free(below);
    }
    return status;
}

static enum zs_status list_folder(void *ctx, size_t item, struct zs_error *err)
{
    struct listing *listing = ctx;
    const char *key = listing->folders[item];
    char **names = NULL;
    char *prefix = zs_format("%s%s%s", listing->folder, listing->folder[0] != '\0' && key[0] != '\0' ? "/" : "", key);
    ZS_TRY_MEMORY(prefix, err);
    if (prefix[0] != '\0' && prefix[strlen(prefix) - 1] == '/')
        prefix[strlen(prefix) - 1] = '\0';
    enum zs_status status = zs_store_list(listing->array->store, prefix, &names, err);
    free(prefix);
    ZS_TRY(status);
    if (names[0] == NULL) { /* an array's folder has its document, another a name: a proxy answered, or it is gone */
        zs_names_free(names);
        return zs_fail(err, ZS_IO, "array /%s: expected names in a listing, found none", listing->array->node->path);
    }
    (void)pthread_mutex_lock(&listing->lock);
    status = add_names(listing, key, names, err);
    (void)pthread_mutex_unlock(&listing->lock);
    zs_names_free(names);
    return status;
}

/* Lists level by level; keys have one for each dimension at most, and one for the `c` before them. */
static enum zs_status list_levels(struct listing *listing, struct zs_error *err)
{
    ZS_TRY(zs_names_add(&listing->below, zs_strdup(""), err));
    for (int level = 0; level <= listing->array->meta->ndim && listing->below.count > 0; level++) {
        const size_t n = listing->below.count;
        if ((listing->most - listing->cost) / n < listing->each)
            return zs_fail(err, ZS_UNSUPPORTED, "array /%s: look-ups are cheaper", listing->array->node->path);
        listing->cost += n * listing->each;
        listing->folders = listing->below.list;
        listing->below = (struct zs_names){0};
        const enum zs_status status = zs_parallel_for(listing->array->fetch_threads, n, list_folder, listing, err);
        zs_names_free(listing->folders);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Requests that listing one folder takes at most: of all shards, or of those along one dimension. */
static uint64_t most_requests(const struct zs_array *array)
{
    uint64_t names = 1;
    for (int d = 0; d < array->meta->ndim; d++) {
        const uint64_t n = array->grid.count[0][d];
        names = array->meta->key_separator == '/' ? zs_max_u64(names, n) : names * n; /* all numbers fit */
    }
    return 1 + names / NAMES_OF_A_REQUEST;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* NULL when listing failed, or would cost more requests than `most`. *cost: the requests that it took. */
static struct zs_shard_list *list_shards(const struct zs_array *array, uint64_t most, uint64_t *cost)
{
    struct zs_error ignored;
    struct zs_shard_list *list = NULL;
    const int64_t began = (int64_t)time(NULL);
    struct listing listing = {.array = array, .folder = array->node->path, .most = most, .each = most_requests(array)};
    (void)pthread_mutex_init(&listing.lock, NULL);
    if (list_levels(&listing, &ignored) == ZS_OK)
        list = malloc(sizeof *list + listing.count * sizeof *listing.numbers);
    if (list != NULL) {
        *list = (struct zs_shard_list){.made = began, .until = (int64_t)time(NULL) + LIFETIME, .count = listing.count};
        if (listing.count > 0)
            memcpy(list->numbers, listing.numbers, listing.count * sizeof *listing.numbers);
        qsort(list->numbers, list->count, sizeof *list->numbers, compare_numbers);
    }
    (void)pthread_mutex_destroy(&listing.lock);
    *cost = listing.cost;
    zs_names_free(listing.below.list);
    free(listing.numbers);
    return list;
}

/* ---- Keeping ---- */

/* The list that is kept, pinned; NULL: there is none. */
static const struct zs_shard_list *get_list(struct zs_array *array, struct zs_cache_entry **entry)
{
    *entry = array->store->lists_all ? zs_cache_get(array->indexes, list_key) : NULL;
    if (*entry == NULL)
        return NULL;
    const struct zs_shard_list *list = zs_cache_value(*entry);
    const int64_t now = (int64_t)time(NULL);
    if (now >= list->made && now <= list->until)
        return list;
    zs_cache_release(array->indexes, *entry);
    zs_shard_list_forget(array);
    return NULL;
}

static bool is_due(const struct zs_array *array)
{
    const uint64_t due = atomic_load(&array->list_due);
    return atomic_load(&array->missed) >= (due == 0 ? LEAST_MISSED : due);
}

/* Lists, while others wait. The next listing is due after as many look-ups as this one cost. */
static struct zs_cache_entry *make_list(struct zs_array *array)
{
    const uint64_t missed = atomic_load(&array->missed);
    uint64_t cost;
    struct zs_shard_list *list = list_shards(array, missed, &cost);
    struct zs_cache_entry *entry =
        list != NULL ? zs_cache_put(array->indexes, list_key, list,
                                    ZS_CACHE_ENTRY_BYTES + sizeof *list + list->count * sizeof *list->numbers)
                     : NULL;
    if (entry == NULL) {
        free(list);
        zs_cache_abandon(array->indexes, list_key);
    }
    atomic_store(&array->list_due, entry != NULL ? zs_max_u64(1, cost) : 2 * missed);
    if (entry != NULL)
        atomic_store(&array->missed, 0);
    return entry;
}

void zs_shard_list_note_missed(struct zs_array *array)
{
    bool must_load;
    if (!array->store->lists_all)
        return;
    atomic_fetch_add(&array->missed, 1);
    if (!is_due(array))
        return;
    struct zs_cache_entry *entry = zs_cache_get_or_load(array->indexes, list_key, &must_load);
    if (entry == NULL && is_due(array)) /* no other thread tried while this one waited */
        entry = make_list(array);
    else if (entry == NULL)
        zs_cache_abandon(array->indexes, list_key);
    if (entry != NULL)
        zs_cache_release(array->indexes, entry);
}

bool zs_shard_list_lacks(struct zs_array *array, uint64_t shard)
{
    struct zs_cache_entry *entry;
    const struct zs_shard_list *list = get_list(array, &entry);
    if (list == NULL)
        return false;
    const size_t at = zs_find_u64(list->numbers, list->count, shard);
    const bool lacks = at == list->count || list->numbers[at] != shard;
    zs_cache_release(array->indexes, entry);
    return lacks;
}

void zs_shard_list_forget(struct zs_array *array)
{
    zs_cache_remove(array->indexes, list_key);
}
