/* zarr/edit_journal.h: the journal of a flush or a rename, from which the next writer finishes it (editing.h). It is
 * put, read and removed under the lock of the root's document. A JSON object:
 *
 *   "changes"     {path: {"before": document, "own": document, "after": document}}: edits. "own" is there where
 *                 "before" comes from consolidated metadata, and is the zarr.json itself
 *   "new"         {path: document}: new nodes
 *   "made"        [path]: those of them of which the store had nothing
 *   "beside"      as "changes": edits that belong to the new nodes
 *   "removed"     {path: document as it was removed}, nodes before the groups above them
 *   "root"        version of the root's document before all this
 *   "from", "to"  paths of a rename
 *
 * "beside" and "removed" apply only if the documents of all new nodes are stored. Else those of "made" are removed. */
#pragma once

#include "zarr/editing.h"

/* A journal in memory: the members of the JSON object, which are borrowed from `json`; NULL where they are absent or
 * not of that type. */
struct zs_edit_journal {
    zs_json *json;
    zs_json *changes, *added, *made, *beside, *removed;
    uint64_t root_version;
    bool has_root_version;
    const char *from, *to;
};

/* Puts a journal of the pending changes, where one is needed: of stored documents that change in more than attributes
 * or several at once, of new documents that others refer to, and of documents that are to be removed (`removed`: keys
 * of all objects that are, each document before those of nodes below). */
enum zs_status zs_edit_journal_put(const struct zs_hierarchy *hierarchy, const struct zs_names *removed, bool *is_put,
                                   struct zs_error *err);
enum zs_status zs_edit_journal_put_rename(struct zs_store *store, const char *from, const char *to,
                                          struct zs_error *err);
/* Reads the journal. *is_there is false when there is none. One that is not JSON has no members. Released with
 * zs_edit_journal_clear(). */
enum zs_status zs_edit_journal_read(struct zs_store *store, bool *is_there, struct zs_edit_journal *journal,
                                    struct zs_error *err);
void zs_edit_journal_clear(struct zs_edit_journal *journal);
enum zs_status zs_edit_journal_remove(struct zs_store *store, struct zs_error *err);
