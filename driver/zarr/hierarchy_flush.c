/* Writes pending changes. Each zarr.json is read again, and only the changed members are merged into it
 * (pending_changes.c); other members, also those that another writer added meanwhile, stay. All documents are built
 * before the first one is written, so that a document that cannot be written, or that another writer changed, is found
 * while the store is unchanged. Writers that use this library take the lock of the root's document. Changes of other
 * writers, and of all writers where there are no locks, are detected by comparing documents. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* Like zs_document_load(); unless `etag` is NULL it also returns the ETag, "" when there is no document. */
static enum zs_status load_tagged(struct zs_store *store, const char *path, zs_json **document, char **etag,
                                  struct zs_error *err)
{
    *document = NULL;
    char *key = zs_document_key(path);
    if (key == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = zs_document_get_tagged(store, key, document, etag, err);
    free(key);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document, struct zs_error *err)
{
    return load_tagged(store, path, document, NULL, err);
}

/* ---- Consolidated metadata ---- */

/* A member of consolidated metadata: its name and its new document, borrowed. A NULL document removes the member. */
struct member {
    const char *name;
    const zs_json *document;
    const zs_json *nested; /* consolidated metadata that it has there, of a group; borrowed; NULL: none */
};

static int compare_members(const void *a, const void *b)
{
    return zs_path_compare(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static const char *name_of(const void *member)
{
    return ((const struct member *)member)->name;
}

/* The new members of the consolidated metadata of a group. */
struct members {
    struct member *list; /* the present members, sorted, then new ones */
    size_t count, old;
    size_t n;                 /* length of the group's path, with the slash behind it */
    bool has_full;            /* a member has nested consolidated metadata that list nodes */
    bool is_changed, is_last; /* is_last: no member is left, and none is about to come */
};

/* Whether nested consolidated metadata list nodes. zarr-python nests empty ones in each group that it lists: the nodes
 * below are listed beside it. */
static bool is_full(const zs_json *nested)
{
    return zs_json_size(zs_json_get(nested, "metadata")) > 0;
}

/* A document without consolidated metadata: itself, or *own, which is to be freed. */
static const zs_json *without_consolidated(const zs_json *document, zs_json **own)
{
    *own = zs_json_get(document, "consolidated_metadata") != NULL ? zs_document_own(document) : NULL;
    return *own != NULL ? *own : document;
}

/* Returns whether `listed`, from consolidated metadata, equals a document, both without consolidated metadata of their
 * own. */
static bool is_listed_so(const zs_json *listed, const zs_json *document)
{
    zs_json *a, *b;
    const bool is_same = zs_json_is_same(without_consolidated(listed, &a), without_consolidated(document, &b));
    zs_json_free(a);
    zs_json_free(b);
    return is_same;
}

/* A copy of a member's document, with the nested consolidated metadata that were listed; NULL without memory. */
static zs_json *listed_document(const struct member *m)
{
    if (zs_json_get(m->document, "consolidated_metadata") == m->nested)
        return zs_json_copy(m->document);
    zs_json *copy = zs_document_own(m->document);
    if (copy == NULL || m->nested == NULL ||
        zs_json_add(copy, "consolidated_metadata", zs_json_copy(m->nested)) != NULL)
        return copy;
    zs_json_free(copy);
    return NULL;
}

/* Builds the JSON object of the members; NULL without memory. */
static zs_json *members_object(const struct members *m)
{
    zs_json *object = zs_json_new_object();
    for (size_t i = 0; i < m->count && object != NULL; i++) {
        if (m->list[i].document == NULL)
            continue;
        if (zs_json_add(object, m->list[i].name, listed_document(&m->list[i])) == NULL) {
            zs_json_free(object);
            object = NULL;
        }
    }
    return object;
}

/* Reads a written document again when the consolidated metadata list neither that document nor the one it was made
 * from: without locks, another writer may have written both since, and the listed one is then newer. *needs_update is
 * set when the document is yet to be written. */
static enum zs_status reload_if_newer(const struct zs_hierarchy *h, const zs_json *listed, struct zs_change *change,
                                      bool *needs_update, struct zs_error *err)
{
    if (change->written == NULL || is_listed_so(listed, change->written) ||
        (change->loaded == NULL ? listed == NULL : is_listed_so(listed, change->loaded)) ||
        !zs_store_has_conditions(h->store))
        return ZS_OK;
    *needs_update = *needs_update || !change->is_put;
    if (!change->is_put)
        return ZS_OK;
    zs_json *now;
    ZS_TRY(zs_document_load(h->store, change->path, &now, err));
    zs_json_free(change->written);
    change->written = now; /* NULL: the writer that removed it updates the listing */
    return ZS_OK;
}

/* Notes that what is listed of a node changes. Nested consolidated metadata of the groups above that list nodes are
 * left out from now on: they would be older than what is listed beside them. */
static void note_changed(struct members *m, const char *name)
{
    m->is_changed = true;
    for (size_t i = 0; i < m->old && m->has_full; i++)
        if (is_full(m->list[i].nested) && strcmp(name, m->list[i].name) != 0 &&
            zs_path_is_within(name, m->list[i].name))
            m->list[i].nested = NULL;
}

/* The empty nested consolidated metadata of a listed group that has another path now. */
static const zs_json *nested_of_moved(const struct zs_hierarchy *h, const char *path)
{
    const struct zs_node *node = zs_hierarchy_known(h, path);
    const zs_json *nested = node != NULL ? zs_json_get(node->document, "consolidated_metadata") : NULL;
    return is_full(nested) ? NULL : nested;
}

static enum zs_status merge_change(const struct zs_hierarchy *h, struct members *m, struct zs_change *change,
                                   bool *needs_update, struct zs_error *err)
{
    const char *name = change->path + m->n;
    size_t at = zs_path_position(m->list, m->old, sizeof *m->list, name_of, name);
    const bool is_listed = at < m->old && strcmp(m->list[at].name, name) == 0;
    ZS_TRY(reload_if_newer(h, is_listed ? m->list[at].document : NULL, change, needs_update, err));
    /* Removals come first: a node may have been added again at a removed path. */
    for (size_t i = at; change->was_removed && i < m->old && zs_path_is_within(m->list[i].name, name); i++)
        m->list[i].document = m->list[i].nested = NULL;
    if (change->was_removed)
        note_changed(m, name);
    m->is_last &= change->kind != ZS_CHANGE_UNLISTED && change->written == NULL;
    if (change->written == NULL)
        return ZS_OK;
    if (!is_listed) {
        at = m->count++;
        m->list[at] = (struct member){.name = name, .nested = nested_of_moved(h, change->path)};
    }
    if (!is_listed_so(m->list[at].document, change->written))
        note_changed(m, name);
    m->list[at].document = change->written;
    return ZS_OK;
}

/* Updates the inline consolidated metadata of the group at `path` with the changes below it. Empty metadata count as
 * unused, and stay empty unless they were used until now: a first entry would hide all nodes that they do not list.
 * *needs_update: call again when all documents below are written. */
static enum zs_status update_consolidated(const struct zs_hierarchy *h, const char *path, zs_json *document,
                                          bool *is_changed, bool *needs_update, struct zs_error *err)
{
    zs_json *consolidated = zs_json_get_mutable(document, "consolidated_metadata");
    const zs_json *metadata = zs_json_get(consolidated, "metadata");
    const bool was_used = path[0] == '\0' && h->is_consolidated;
    if (!zs_json_is_object(metadata) || (zs_json_size(metadata) == 0 && !was_used))
        return ZS_OK;
    size_t first, end;
    zs_changes_within(&h->pending, path, &first, &end);
    struct members m = {.n = path[0] != '\0' ? strlen(path) + 1 : 0, .is_last = true};
    m.list = zs_calloc(zs_json_size(metadata) + (end - first) + 1, sizeof *m.list);
    if (m.list == NULL)
        return zs_fail_memory(err);
    for (const zs_json *c = zs_json_first(metadata); c != NULL; c = zs_json_next(c)) {
        const zs_json *nested = zs_json_get(c, "consolidated_metadata");
        m.has_full = m.has_full || is_full(nested);
        m.list[m.old++] = (struct member){zs_json_name(c), c, nested};
    }
    if (m.old > 1)
        qsort(m.list, m.old, sizeof *m.list, compare_members);
    m.count = m.old;
    enum zs_status status = ZS_OK;
    for (size_t i = first; i < end && status == ZS_OK; i++)
        if (strlen(h->pending.list[i]->path) > m.n)
            status = merge_change(h, &m, h->pending.list[i], needs_update, err);
    zs_json *object = status == ZS_OK && m.is_changed ? members_object(&m) : NULL;
    free(m.list);
    if (status != ZS_OK || !m.is_changed)
        return status;
    *is_changed = true;
    if (m.is_last && object != NULL && zs_json_size(object) == 0) { /* other readers take empty metadata as complete,
                                                                       and would not see nodes added later */
        zs_json_free(object);
        zs_json_remove(document, "consolidated_metadata");
        return ZS_OK;
    }
    if (object == NULL || zs_json_set(consolidated, "metadata", object) == NULL ||
        !zs_document_sort_consolidated(consolidated))
        return zs_fail_memory(err);
    return ZS_OK;
}

/* ---- One document ---- */

/* A document that the flush may write. */
struct outgoing {
    char *path;
    size_t depth;             /* number of names in the path */
    char *text;               /* NULL: unchanged, not written */
    char *etag;               /* of the document that was read, "" when there was none; NULL: unknown */
    struct zs_change *change; /* pending change of the node, borrowed; NULL: only its consolidated metadata may
                                 change */
    bool needs_update; /* other writers changed what it consolidates: build it again before writing */
};

/* Fails where the root's document is gone that was there: what is added to a deleted store is in none. */
static enum zs_status check_root(const struct zs_hierarchy *h, const struct outgoing *o, struct zs_error *err)
{
    const struct zs_node *root = o->path[0] == '\0' && o->change == NULL ? zs_hierarchy_known(h, "") : NULL;
    if (root == NULL || root->document == NULL || root->is_implicit)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID, "%s: another writer removed this store meanwhile: nothing is added to it",
                   h->store->root);
}

/* Reads the stored document, merges the change of the node and the changes below it, and prints the result. */
static enum zs_status prepare(struct zs_hierarchy *h, struct outgoing *o, struct zs_error *err)
{
    const struct zs_node *node =
        o->change != NULL && !zs_change_is_removal(o->change) ? zs_hierarchy_known(h, o->path) : NULL;
    zs_json *document = NULL;
    bool is_changed = false;
    enum zs_status status = ZS_OK;
    free(o->etag);
    o->etag = NULL;
    o->needs_update = false;
    if (!zs_hierarchy_root_is_pending(h) || (o->change != NULL && o->change->kind == ZS_CHANGE_EDIT))
        status = load_tagged(h->store, o->path, &document, &o->etag, err);
    if (status == ZS_OK && document == NULL)
        status = check_root(h, o, err);
    if (status == ZS_OK && o->change != NULL) {
        zs_json_free(o->change->loaded);
        o->change->loaded = document != NULL ? zs_document_own(document) : NULL;
    }
    if (status == ZS_OK && node != NULL)
        status = zs_change_merge(&document, node, o->change, &is_changed, err);
    if (status == ZS_OK && document != NULL)
        status = update_consolidated(h, o->path, document, &is_changed, &o->needs_update, err);
    free(o->text);
    o->text = NULL;
    if (status == ZS_OK && is_changed)
        status = zs_document_print(h->store, o->path, document, &o->text, err);
    if (status == ZS_OK && node != NULL) { /* groups above, written later, list it in this form */
        zs_json_free(o->change->written);
        o->change->written = document;
        document = NULL;
    }
    zs_json_free(document);
    return status;
}

/* Writes a document over the version that was read; where another writer was faster, builds it again from the newer
 * version. */
static enum zs_status put_text(struct zs_hierarchy *h, struct outgoing *o, bool *has_conflict, struct zs_error *err)
{
    const bool expects = o->text != NULL && !zs_hierarchy_root_is_pending(h) && zs_store_has_conditions(h->store);
    for (int tries = 0;;) {
        const char *etag = expects ? zs_store_expected(h->store, o->etag) : NULL;
        const enum zs_status status =
            o->text != NULL ? zs_document_put_text(h->store, o->path, etag, o->text, err) : ZS_OK;
        if (o->change != NULL && status != ZS_CONFLICT)
            o->change->is_sent = true;
        if (status != ZS_CONFLICT || !zs_conflict_again(&tries))
            return status;
        *has_conflict = true;
        ZS_TRY(prepare(h, o, err));
    }
}

static enum zs_status put(struct zs_hierarchy *h, struct outgoing *o, bool *has_conflict, struct zs_error *err)
{
    /* the root, by which a store opens, and edited documents are written after the objects they refer to */
    if (o->path[0] == '\0' || o->change == NULL || o->change->kind != ZS_CHANGE_NEW)
        ZS_TRY(zs_store_wait_commits(h->store, err));
    if (o->needs_update || *has_conflict) /* the consolidated documents are not the written ones */
        ZS_TRY(prepare(h, o, err));
    if (o->text == NULL)
        return ZS_OK;
    ZS_TRY(put_text(h, o, has_conflict, err));
    if (o->change != NULL)
        o->change->is_put = o->change->is_stored = true;
    return ZS_OK;
}

/* Whether the document is new, and not the root's, by which the store opens. */
static bool is_new(const struct outgoing *o)
{
    return o->change != NULL && o->change->kind == ZS_CHANGE_NEW && o->path[0] != '\0';
}

/* Orders new documents before those that refer to them, then deeper ones first, so that a group follows its members,
 * then by their rank. */
static int compare_order(const void *a, const void *b)
{
    const struct outgoing *x = a, *y = b;
    if (is_new(x) != is_new(y))
        return is_new(x) ? -1 : 1;
    if (x->depth != y->depth)
        return y->depth < x->depth ? -1 : 1;
    const int x_rank = x->change != NULL ? x->change->rank : 0, y_rank = y->change != NULL ? y->change->rank : 0;
    return x_rank != y_rank ? x_rank - y_rank : zs_path_compare(y->path, x->path);
}

static size_t depth_of(const char *path)
{
    size_t depth = path[0] != '\0';
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/* All documents of a flush, in the order of writing: of changed nodes, and of all groups above them. */
struct outgoings {
    struct outgoing *list;
    size_t count, capacity;
};

static void free_documents(struct outgoings *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].path);
        free(all->list[i].text);
        free(all->list[i].etag);
    }
    free(all->list);
}

/* Takes over the path. */
static bool add_document(const struct zs_hierarchy *h, struct outgoings *all, char *path)
{
    struct outgoing *grown = path != NULL ? zs_grow(all->list, all->count, &all->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(path);
        return false;
    }
    all->list = grown;
    all->list[all->count++] =
        (struct outgoing){.path = path, .depth = depth_of(path), .change = zs_changes_find(&h->pending, path)};
    return true;
}

static enum zs_status list_documents(const struct zs_hierarchy *h, struct outgoings *all, struct zs_error *err)
{
    bool ok = true;
    for (size_t i = 0; i < h->pending.count && ok; i++) {
        ok = add_document(h, all, zs_strdup(h->pending.list[i]->path));
        while (ok && all->list[all->count - 1].path[0] != '\0')
            ok = add_document(h, all, zs_path_parent(all->list[all->count - 1].path));
    }
    if (!ok)
        return zs_fail_memory(err);
    qsort(all->list, all->count, sizeof *all->list, compare_order); /* duplicate paths are neighbours now */
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (kept > 0 && strcmp(all->list[kept - 1].path, all->list[i].path) == 0)
            free(all->list[i].path);
        else
            all->list[kept++] = all->list[i];
    }
    all->count = kept;
    return ZS_OK;
}

/* Finds the objects of a removed node and of all nodes below it, without files of others. In a store that cannot be
 * listed, only the document is found. */
static enum zs_status find_tree(struct zs_store *store, const char *path, struct zs_contents *removed,
                                struct zs_error *err)
{
    const enum zs_status status = zs_contents_find_below(store, path, removed, err);
    return status == ZS_UNSUPPORTED ? zs_names_add(&removed->own, zs_document_key(path), err) : status;
}

static int by_falling_number(const void *a, const void *b)
{
    const size_t x = (*(struct zs_change *const *)a)->number, y = (*(struct zs_change *const *)b)->number;
    return (x < y) - (x > y);
}

/* Finds the objects of all removed nodes, the node removed last first: an array before its overviews, so that it exists
 * with all of them or not at all. */
static enum zs_status find_removed(const struct zs_hierarchy *h, struct zs_contents *removed, struct zs_error *err)
{
    struct zs_change **list = zs_calloc(h->pending.count, sizeof(struct zs_change *));
    enum zs_status status = list != NULL ? ZS_OK : zs_fail_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < h->pending.count && status == ZS_OK; i++)
        if (h->pending.list[i]->kind == ZS_CHANGE_REMOVED)
            list[n++] = h->pending.list[i];
    if (n > 1)
        qsort(list, n, sizeof *list, by_falling_number);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        status = find_tree(h->store, list[i]->path, removed, err);
    free(list);
    return status;
}

/* Upper limit of the chunks that are removed: coordinates have one or a few. */
#define MOST_CHUNKS 100000

enum zs_status zs_hierarchy_remove_chunks(const struct zs_hierarchy *h, const struct zs_node *node,
                                          struct zs_error *err)
{
    struct zs_names keys = {0};
    enum zs_status status = ZS_OK;
    if (node->array->ndim != 1)
        return ZS_OK;
    const uint64_t length = node->array->chunk_shape[0], all = node->array->shape[0];
    for (uint64_t i = 0; i < MOST_CHUNKS && all > 0 && i <= (all - 1) / length && status == ZS_OK; i++)
        status = zs_names_add(&keys, zs_chunk_key(node->array, node->path, &i), err);
    if (status == ZS_OK && keys.count > 0)
        status = zs_store_remove_all(h->store, (const char *const *)keys.list, keys.count, err);
    char *folder = zs_path_join(node->path, "c");
    if (status == ZS_OK && folder != NULL && !h->store->is_remote)
        zs_store_remove_directory(h->store, folder);
    free(folder);
    zs_names_free(keys.list);
    return status;
}

/* Removes the chunks of a replaced array. */
static enum zs_status remove_replaced(const struct zs_hierarchy *h, const struct zs_change *change,
                                      struct zs_error *err)
{
    const struct zs_node *node = zs_hierarchy_known(h, change->path);
    return node != NULL && zs_change_has_new_keys(change, node) ? zs_hierarchy_remove_chunks(h, change->replaced, err)
                                                                : ZS_OK;
}

/* ---- The flush ---- */

bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *h)
{
    const struct zs_change *root = zs_changes_find(&h->pending, "");
    return root != NULL && root->kind == ZS_CHANGE_NEW;
}

/* Returns whether the documents of an edit have an order: removals then follow the documents that replace the removed
 * objects. */
static bool has_order(const struct zs_pending_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i]->rank != 0)
            return true;
    return false;
}

/* Writes the documents, and removes objects. Without consolidated metadata, and on object stores, the documents of
 * removed nodes go first, one by one: where a server refuses to remove the first of them, nothing has changed, and a
 * node that went in part is still listed, under whose name it can be removed again. On a local disk, where a kill is
 * likelier than a refusal, no listed node lacks its document. Chunks go when no document refers to them. */
static enum zs_status put_and_remove(struct zs_hierarchy *h, struct outgoings *all, struct zs_contents *removed,
                                     struct zs_error *err)
{
    bool has_conflict = false;
    if ((!h->is_consolidated || h->store->is_remote) && !has_order(&h->pending))
        ZS_TRY(zs_contents_remove_documents(h->store, removed, err));
    for (size_t i = 0; i < all->count; i++)
        ZS_TRY(put(h, &all->list[i], &has_conflict, err));
    ZS_TRY(zs_store_wait_commits(h->store, err));
    ZS_TRY(zs_contents_remove(h->store, removed, err));
    for (size_t i = 0; i < h->pending.count; i++)
        ZS_TRY(remove_replaced(h, h->pending.list[i], err));
    return ZS_OK;
}

/* Keeps what a flush that failed tried to store of each edit, and of each new document that it has sent: some may be
 * stored, and the next writer may finish the others. Returns false without memory. */
static bool note_tried(struct zs_hierarchy *h)
{
    for (size_t i = 0; i < h->pending.count; i++) {
        struct zs_change *change = h->pending.list[i];
        const struct zs_node *node = zs_hierarchy_known(h, change->path);
        if ((change->kind != ZS_CHANGE_EDIT && !change->is_sent) || node == NULL)
            continue;
        zs_json_free(change->tried);
        change->tried = zs_document_own(node->document);
        if (change->tried == NULL)
            return false;
    }
    return true;
}

static enum zs_status put_all(struct zs_hierarchy *h, struct outgoings *all, struct zs_error *err)
{
    struct zs_contents removed = {0};
    enum zs_status status = find_removed(h, &removed, err); /* when a listing fails, nothing has changed yet */
    if (status == ZS_OK) {
        status = put_and_remove(h, all, &removed, err);
        if (status != ZS_OK && !note_tried(h))
            status = ZS_NO_MEMORY;
    }
    zs_contents_clear(&removed);
    return status;
}

enum zs_status zs_hierarchy_flush_locked(struct zs_hierarchy *h, struct zs_error *err)
{
    struct outgoings all = {0};
    enum zs_status status = zs_store_wait_commits(h->store, err); /* the chunks that the documents refer to */
    for (size_t i = 0; i < h->pending.count; i++)
        h->pending.list[i]->is_put = false;
    if (status == ZS_OK)
        status = list_documents(h, &all, err);
    for (size_t i = 0; i < all.count && status == ZS_OK; i++)
        status = prepare(h, &all.list[i], err);
    if (status == ZS_OK)
        status = put_all(h, &all, err);
    free_documents(&all);
    if (status == ZS_OK) { /* after a failure all stays pending: writing a document twice is harmless */
        zs_changes_clear(&h->pending);
        zs_savepoint_forget(h);
    }
    return status;
}

/* Whether a document that was there is changed. */
static bool has_put_edit(const struct zs_pending_changes *changes)
{
    bool has = false;
    for (size_t i = 0; i < changes->count && !has; i++)
        has = changes->list[i]->is_put && changes->list[i]->kind == ZS_CHANGE_EDIT;
    return has;
}

/* Like zs_hierarchy_flush_locked(), with a journal, from which the next writer finishes the flush if this one is
 * killed, or fails when some documents are changed. A flush that failed before, or among new documents, is not finished
 * later: it returned the error. */
static enum zs_status flush_safely(struct zs_hierarchy *h, struct zs_error *err)
{
    bool has_journal;
    ZS_TRY(zs_hierarchy_recover_locked(h->store, err));
    ZS_TRY(zs_recovery_note_changes(h, &has_journal, err));
    const enum zs_status status = zs_hierarchy_flush_locked(h, err);
    if (!has_journal || (status != ZS_OK && has_put_edit(&h->pending)))
        return status;
    if (status == ZS_OK)
        return zs_recovery_done(h->store, err);
    const enum zs_status ignored = zs_recovery_done(h->store, NULL);
    (void)ignored;
    return status;
}

static enum zs_status lock_and_flush(struct zs_hierarchy *h, struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    if (!zs_hierarchy_root_is_pending(h))
        ZS_TRY(zs_store_lock(h->store, "zarr.json", &lock, err));
    const enum zs_status status = lock != NULL ? flush_safely(h, err) : zs_hierarchy_flush_locked(h, err);
    zs_store_unlock(h->store, lock);
    return status;
}

enum zs_status zs_hierarchy_flush(struct zs_hierarchy *h, struct zs_error *err)
{
    if (h->is_deferred)
        return ZS_OK;
    const enum zs_status status = h->pending.count > 0 ? lock_and_flush(h, err) : ZS_OK;
    if (status == ZS_OK)
        zs_hierarchy_remove_marks(h);
    return status;
}

/* Returns the pending removal of a path or of a group above it; NULL when there is none, or without memory. */
static const struct zs_change *removal_of(const struct zs_pending_changes *changes, const char *path)
{
    const struct zs_change *removal = NULL;
    char *above = changes->count > 0 ? zs_strdup(path) : NULL;
    while (above != NULL && removal == NULL) {
        const struct zs_change *change = zs_changes_find(changes, above);
        removal = change != NULL && change->kind == ZS_CHANGE_REMOVED ? change : NULL;
        char *next = zs_path_parent(above);
        free(above);
        above = next;
    }
    free(above);
    return removal;
}

enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    const struct zs_change *removal = removal_of(&h->pending, path);
    if (removal == NULL || zs_hierarchy_root_is_pending(h))
        return ZS_OK;
    struct zs_pending_changes all = h->pending;
    const size_t noted = h->undo_count; /* other changes stay pending, and can be undone */
    h->pending = (struct zs_pending_changes){0};
    h->undo_count = 0;
    struct zs_change *alone = zs_changes_note(&h->pending, removal->path);
    enum zs_status status = alone != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK) {
        alone->kind = ZS_CHANGE_REMOVED;
        alone->was_removed = true;
        status = lock_and_flush(h, err);
    }
    zs_changes_clear(&h->pending);
    h->pending = all;
    h->undo_count = noted;
    if (status == ZS_OK) {
        zs_savepoint_forget_within(h, removal->path);
        zs_changes_forget(&h->pending, removal->path);
    }
    return status;
}
