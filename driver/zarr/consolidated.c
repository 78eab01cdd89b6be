/* Updates inline consolidated metadata: replaces the listed documents of changed nodes by the present ones. */
#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* A member of consolidated metadata. */
struct member {
    const char *name;        /* path relative to the group; borrowed */
    const zs_json *document; /* what is to be listed; borrowed; NULL: the member goes */
    const zs_json *nested;   /* consolidated metadata in it, of a group; borrowed; NULL: none */
};

/* The members of the consolidated metadata of a group. */
struct listing {
    const struct zs_hierarchy *hierarchy;
    struct member *members; /* the present ones, sorted, then new ones */
    size_t present, count;
    size_t prefix;   /* length of the group's path, with the slash behind it */
    bool has_nested; /* a member has nested consolidated metadata that list nodes */
    bool is_changed;
    bool is_last; /* no member is left, and none is about to come */
};

static int compare_members(const void *a, const void *b)
{
    return zs_path_compare(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static const char *name_of(const void *member)
{
    return ((const struct member *)member)->name;
}

/* Whether nested consolidated metadata list nodes. zarr-python nests empty ones in each group that it lists: the nodes
 * below are listed beside it. */
static bool lists_nodes(const zs_json *nested)
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
    zs_json *own_listed, *own;
    const bool is_same =
        zs_json_is_same(without_consolidated(listed, &own_listed), without_consolidated(document, &own));
    zs_json_free(own_listed);
    zs_json_free(own);
    return is_same;
}

/* ---- Merging the changes ---- */

/* Reads a written document again when the consolidated metadata list neither that document nor the one it was made
 * from: without locks, another writer may have written both since, and the listed one is then newer. *needs_update is
 * set when the document is yet to be written. */
static enum zs_status reload_if_newer(struct zs_store *store, const zs_json *listed, struct zs_change *change,
                                      bool *needs_update, struct zs_error *err)
{
    if (change->written == NULL || is_listed_so(listed, change->written) ||
        (change->loaded == NULL ? listed == NULL : is_listed_so(listed, change->loaded)) ||
        !zs_store_has_conditions(store))
        return ZS_OK;
    *needs_update = *needs_update || !change->is_put;
    if (!change->is_put)
        return ZS_OK;
    zs_json *now;
    ZS_TRY(zs_document_load(store, change->path, &now, err));
    zs_json_free(change->written);
    change->written = now; /* NULL: the writer that removed it updates the listing */
    return ZS_OK;
}

/* Notes that what is listed of a node changes. Nested consolidated metadata of the groups above that list nodes are
 * left out from now on: they would be older than what is listed beside them. */
static void note_changed(struct listing *listing, const char *name)
{
    listing->is_changed = true;
    for (size_t i = 0; i < listing->present && listing->has_nested; i++) {
        struct member *above = &listing->members[i];
        if (lists_nodes(above->nested) && strcmp(name, above->name) != 0 && zs_path_is_within(name, above->name))
            above->nested = NULL;
    }
}

/* The empty nested consolidated metadata of a listed group that has another path now. */
static const zs_json *nested_of_moved(const struct zs_hierarchy *hierarchy, const char *path)
{
    const struct zs_node *node = zs_hierarchy_known(hierarchy, path);
    const zs_json *nested = node != NULL ? zs_json_get(node->document, "consolidated_metadata") : NULL;
    return lists_nodes(nested) ? NULL : nested;
}

static enum zs_status merge_change(struct listing *listing, struct zs_change *change, bool *needs_update,
                                   struct zs_error *err)
{
    struct member *members = listing->members;
    const char *name = change->path + listing->prefix;
    size_t at = zs_path_position(members, listing->present, sizeof *members, name_of, name);
    const bool is_listed = at < listing->present && strcmp(members[at].name, name) == 0;
    ZS_TRY(reload_if_newer(listing->hierarchy->store, is_listed ? members[at].document : NULL, change, needs_update,
                           err));
    /* Removals come first: a node may have been added again at a removed path. */
    for (size_t i = at; change->was_removed && i < listing->present && zs_path_is_within(members[i].name, name); i++)
        members[i].document = members[i].nested = NULL;
    if (change->was_removed)
        note_changed(listing, name);
    listing->is_last &= change->kind != ZS_CHANGE_UNLISTED && change->written == NULL;
    if (change->written == NULL)
        return ZS_OK;
    if (!is_listed) {
        at = listing->count++;
        members[at] = (struct member){.name = name, .nested = nested_of_moved(listing->hierarchy, change->path)};
    }
    if (!is_listed_so(members[at].document, change->written))
        note_changed(listing, name);
    members[at].document = change->written;
    return ZS_OK;
}

static enum zs_status merge_all(struct listing *listing, size_t first, size_t end, bool *needs_update,
                                struct zs_error *err)
{
    const struct zs_pending_changes *pending = &listing->hierarchy->pending;
    for (size_t i = first; i < end; i++)
        if (strlen(pending->list[i]->path) > listing->prefix)
            ZS_TRY(merge_change(listing, pending->list[i], needs_update, err));
    return ZS_OK;
}

/* ---- From JSON and back ---- */

/* Sets the present members; false without memory. Room for `more` new ones is left. */
static bool read_members(struct listing *listing, const zs_json *metadata, size_t more)
{
    listing->members = zs_calloc(zs_json_size(metadata) + more + 1, sizeof *listing->members);
    if (listing->members == NULL)
        return false;
    for (const zs_json *member = zs_json_first(metadata); member != NULL; member = zs_json_next(member)) {
        const zs_json *nested = zs_json_get(member, "consolidated_metadata");
        listing->has_nested = listing->has_nested || lists_nodes(nested);
        listing->members[listing->present++] = (struct member){zs_json_name(member), member, nested};
    }
    if (listing->present > 1)
        qsort(listing->members, listing->present, sizeof *listing->members, compare_members);
    listing->count = listing->present;
    return true;
}

/* A copy of a member's document, with the nested consolidated metadata that were listed; NULL without memory. */
static zs_json *listed_document(const struct member *member)
{
    if (zs_json_get(member->document, "consolidated_metadata") == member->nested)
        return zs_json_copy(member->document);
    zs_json *copy = zs_document_own(member->document);
    if (copy == NULL || member->nested == NULL ||
        zs_json_add(copy, "consolidated_metadata", zs_json_copy(member->nested)) != NULL)
        return copy;
    zs_json_free(copy);
    return NULL;
}

/* Builds the JSON object of the members; NULL without memory. */
static zs_json *members_object(const struct listing *listing)
{
    zs_json *object = zs_json_new_object();
    for (size_t i = 0; i < listing->count && object != NULL; i++) {
        const struct member *member = &listing->members[i];
        if (member->document != NULL && zs_json_add(object, member->name, listed_document(member)) == NULL) {
            zs_json_free(object);
            object = NULL;
        }
    }
    return object;
}

/* Stores the members in the document of the group. When none is left, it has no consolidated metadata: other readers
 * take empty ones as complete, and would not see nodes that are added later. */
static enum zs_status set_members(zs_json *document, zs_json *consolidated, const struct listing *listing,
                                  struct zs_error *err)
{
    zs_json *object = members_object(listing);
    if (listing->is_last && object != NULL && zs_json_size(object) == 0) {
        zs_json_free(object);
        zs_json_remove(document, "consolidated_metadata");
        return ZS_OK;
    }
    if (object == NULL || zs_json_set(consolidated, "metadata", object) == NULL ||
        !zs_document_sort_consolidated(consolidated))
        return zs_fail_memory(err);
    return ZS_OK;
}

enum zs_status zs_consolidated_update(const struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                                      bool *is_changed, bool *needs_update, struct zs_error *err)
{
    zs_json *consolidated = zs_json_get_mutable(document, "consolidated_metadata");
    const zs_json *metadata = zs_json_get(consolidated, "metadata");
    const bool was_used = path[0] == '\0' && hierarchy->is_consolidated;
    if (!zs_json_is_object(metadata) || (zs_json_size(metadata) == 0 && !was_used))
        return ZS_OK;
    size_t first, end;
    zs_changes_within(&hierarchy->pending, path, &first, &end);
    struct listing listing = {
        .hierarchy = hierarchy, .prefix = path[0] != '\0' ? strlen(path) + 1 : 0, .is_last = true};
    if (!read_members(&listing, metadata, end - first))
        return zs_fail_memory(err);
    enum zs_status status = merge_all(&listing, first, end, needs_update, err);
    if (status == ZS_OK && listing.is_changed) {
        *is_changed = true;
        status = set_members(document, consolidated, &listing, err);
    }
    free(listing.members);
    return status;
}
