#define _GNU_SOURCE /* strptime(), timegm() */
/* Which commit of an Icechunk repository a name asks for. Branches, tags and commits are in one object (version 2), or
 * in one for each (version 1). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "icechunk/icechunk_private.h"
#include "store/vsi.h"
#include "zarr/name.h"

/* A commit, of the list in a repository's object (version 2) or of its own file (version 1). */
struct snapshot {
    const unsigned char *id;
    uint64_t parent, flushed_at; /* parent: its number in the list */
};

/* Feature flags that are known: moving nodes, making and removing tags. None of them changes what is read. */
#define FIRST_FLAG 3
#define LAST_FLAG 5
/* The repository can be written, or is only read. */
#define MOST_AVAILABILITY 1
#define NO_PARENT UINT32_MAX
/* Most commits that are read in search of a time: of version 1 each is a request. */
#define MOST_COMMITS 10000
#define MAX_REF_BYTES ((size_t)65536)

/* ---- Points in time ---- */

/* Microseconds since 1970 of a time as in ISO 8601, UTC by default. */
static bool parse_time(const char *text, uint64_t *out)
{
    struct tm t = {0};
    int64_t micro = 0, unit = 100000;
    const char *p = strptime(text, "%Y-%m-%d", &t);
    if (p != NULL && (*p == 'T' || *p == 't' || *p == ' ')) {
        p = strptime(p + 1, "%H:%M", &t);
        if (p != NULL && *p == ':')
            p = strptime(p, ":%S", &t);
        if (p != NULL && *p == '.')
            for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
                micro += unit * (*p - '0');
        if (p != NULL && (*p == 'Z' || *p == 'z'))
            p++;
        else if (p != NULL && *p != '\0')
            p = strptime(p, "%z", &t);
    }
    const struct tm given = t; /* timegm() makes a day or a second that is not there another */
    const int64_t seconds = (int64_t)timegm(&t) - given.tm_gmtoff;
    *out = (uint64_t)(seconds * 1000000 + micro);
    return p != NULL && *p == '\0' && t.tm_mday == given.tm_mday && t.tm_sec == given.tm_sec && seconds >= 0;
}

/* ---- What is asked for ---- */

enum word { BRANCH, TAG, SNAPSHOT, AS_OF, WORDS };
static const char *const words[WORDS] = {"branch=", "tag=", "snapshot=", "as_of="};

struct selector {
    const char *value[WORDS]; /* NULL: not asked for */
    uint64_t time;            /* as_of, as a number */
    char *text;               /* what the values lie in */
};

/* Which word a text begins with; WORDS where it is none. */
static size_t word_of(const char *text)
{
    size_t i = 0;
    while (i < WORDS && strncasecmp(text, words[i], strlen(words[i])) != 0)
        i++;
    return i;
}

enum zs_status zs_icechunk_split(const char *path, char **root, char **commit, struct zs_error *err)
{
    const char *query = strrchr(path, '?');
    const bool is_asked = query != NULL && word_of(query + 1) < WORDS &&
                          (zs_path_is_remote(path) || !zs_vsi_exists(path)); /* else a file has that name */
    *root = zs_strndup(path, is_asked ? (size_t)(query - path) : strlen(path));
    *commit = zs_strdup(is_asked ? query + 1 : "");
    if (*root != NULL && *commit != NULL)
        return ZS_OK;
    free(*root);
    free(*commit);
    *root = *commit = NULL; /* the caller frees them, too */
    return zs_fail_memory(err);
}

/* Parses what stands behind "?" in the path of a store. Free selector->text also on failure. */
static enum zs_status parse_selector(const char *wanted, struct selector *selector, struct zs_error *err)
{
    const char **value = selector->value;
    *selector = (struct selector){.text = zs_strdup(wanted)};
    ZS_TRY_MEMORY(selector->text, err);
    for (char *word = selector->text, *next; word != NULL && *word != '\0'; word = next) {
        next = strchr(word, '&');
        if (next != NULL)
            *next++ = '\0';
        const size_t which = word_of(word);
        if (which == WORDS || value[which] != NULL)
            return zs_fail(err, ZS_ARGUMENT, "expected branch=, tag=, snapshot= or as_of=, each once, found %.100s",
                           word);
        zs_unescape(word);
        value[which] = word + strlen(words[which]);
    }
    if ((value[BRANCH] != NULL || value[AS_OF] != NULL) + (value[TAG] != NULL) + (value[SNAPSHOT] != NULL) > 1)
        return zs_fail(err, ZS_ARGUMENT, "expected one of branch, tag and snapshot, and as_of with a branch alone");
    if (value[AS_OF] != NULL && !parse_time(value[AS_OF], &selector->time))
        return zs_fail(err, ZS_ARGUMENT, "as_of: expected a time like 2026-09-01T00:00:00Z, found %.100s",
                       value[AS_OF]);
    if (value[BRANCH] == NULL && value[TAG] == NULL && value[SNAPSHOT] == NULL)
        value[BRANCH] = "main";
    return ZS_OK;
}

/* ---- The history: one object (version 2), or one for each name and commit (version 1) ---- */

struct history {
    const struct zs_icechunk_files *files;
    struct zs_icechunk_file *info; /* NULL: version 1 */
    struct zs_flat_vector lists[AS_OF]; /* of branches, tags and snapshots */
    uint64_t at;                        /* number of the snapshot that was found last */
};

/* Reads the table Repo, and checks that the repository may be read. */
static enum zs_status read_info(struct history *h, struct zs_error *err)
{
    struct zs_flat_table root = zs_flat_root(&h->info->flat), status = zs_flat_table(&root, 5);
    const struct zs_flat_vector flags[] = {zs_flat_vector(&root, 10, 2, false),  /* enabled */
                                           zs_flat_vector(&root, 11, 2, false)}; /* disabled */
    const uint64_t availability = zs_flat_number(&status, 0, 1);
    h->lists[TAG] = zs_flat_vector(&root, 1, 4, true);
    h->lists[BRANCH] = zs_flat_vector(&root, 2, 4, true);
    h->lists[SNAPSHOT] = zs_flat_vector(&root, 4, 4, true);
    ZS_TRY(zs_flat_check(&root, err));
    ZS_TRY(zs_flat_check(&status, err));
    for (int i = 0; i < 2; i++)
        for (const unsigned char *f = flags[i].data; f != NULL && f < flags[i].data + 2 * flags[i].count; f += 2)
            if (f[0] < FIRST_FLAG || f[0] > LAST_FLAG || f[1] != 0)
                return zs_fail(err, ZS_UNSUPPORTED, "expected feature flags %d to %d, found %d", FIRST_FLAG, LAST_FLAG,
                               f[0] | f[1] << 8);
    return availability <= MOST_AVAILABILITY ? ZS_OK : zs_fail(err, ZS_UNSUPPORTED, "the repository is offline");
}

/* Reads commit `number` of the list, a table SnapshotInfo. */
static enum zs_status read_listed(const struct history *h, uint64_t number, struct snapshot *snapshot,
                                  struct zs_error *err)
{
    const struct zs_flat_vector *list = &h->lists[SNAPSHOT];
    if (number >= list->count)
        return zs_fail(err, ZS_CORRUPT, "expected one of %zu snapshots, found number %llu", list->count,
                       (unsigned long long)number);
    struct zs_flat_table t = zs_flat_element(list, (size_t)number);
    snapshot->id = zs_flat_struct(&t, 0, ZS_ICECHUNK_ID_BYTES, true);
    snapshot->parent = zs_flat_number(&t, 1, 4);
    snapshot->flushed_at = zs_flat_number(&t, 2, 8);
    return zs_flat_check(&t, err);
}

/* Reads the name of a branch or tag, a table Ref, and the number of its commit in the list. */
static enum zs_status read_ref(const struct history *h, enum word what, size_t i, struct zs_flat_vector *name,
                               uint64_t *number, struct zs_error *err)
{
    struct zs_flat_table t = zs_flat_element(&h->lists[what], i);
    *name = zs_flat_vector(&t, 0, 1, true);
    *number = zs_flat_number(&t, 1, 4);
    return zs_flat_check(&t, err);
}

/* Finds the commit of a branch or tag in the list, or, for SNAPSHOT, of an id. ZS_NOT_FOUND. */
static enum zs_status find_listed(struct history *h, enum word what, const char *name, char *id,
                                  struct zs_error *err)
{
    for (size_t i = 0; i < h->lists[what].count; i++) {
        struct snapshot snapshot;
        struct zs_flat_vector found = {0};
        h->at = i;
        if (what != SNAPSHOT)
            ZS_TRY(read_ref(h, what, i, &found, &h->at, err));
        if (what != SNAPSHOT && (found.count != strlen(name) || memcmp(found.data, name, found.count) != 0))
            continue;
        ZS_TRY(read_listed(h, h->at, &snapshot, err));
        zs_icechunk_id_print(snapshot.id, id);
        if (what != SNAPSHOT || strcmp(id, name) == 0)
            return ZS_OK;
    }
    return ZS_NOT_FOUND;
}

/* The id of the snapshot that the branch or tag in a folder is of. A tag that was deleted is still there, and its
 * tombstone beside it: ZS_NOT_FOUND. */
static enum zs_status find_in_folder(struct zs_store *store, const char *folder, char id[ZS_ICECHUNK_ID_TEXT],
                                     struct zs_error *err)
{
    char *key = zs_format("refs/%s/ref.json", folder), *tombstone = zs_format("refs/%s/ref.json.deleted", folder);
    struct zs_buffer text = {0};
    struct zs_object *deleted = NULL;
    zs_json *document = NULL;
    enum zs_status status = key != NULL && tombstone != NULL ? zs_store_get(store, key, MAX_REF_BYTES, &text, err)
                                                             : zs_fail_memory(err);
    if (status == ZS_OK) {
        status = zs_json_parse((const char *)text.data, text.size, &document, err);
        const char *found = zs_json_text(document, "snapshot", "");
        if (status == ZS_OK && !zs_icechunk_is_id(found))
            status = zs_fail(err, ZS_INVALID, "snapshot: expected the id of a snapshot, found \"%.100s\"", found);
        if (status == ZS_OK)
            memcpy(id, found, ZS_ICECHUNK_ID_TEXT);
        else
            status = zs_fail_in(err, status, "%s/%s", store->root, key);
    }
    if (status == ZS_OK && strncmp(folder, "tag.", strlen("tag.")) == 0) {
        const enum zs_status gone = zs_object_open(store, tombstone, &deleted, err);
        status = gone == ZS_OK ? ZS_NOT_FOUND : gone == ZS_NOT_FOUND ? ZS_OK : gone;
        zs_object_close(deleted);
    }
    zs_json_free(document);
    zs_buffer_free(&text);
    free(key);
    free(tombstone);
    return status;
}

/* Finds the commit of a branch or tag, or, for SNAPSHOT, of an id. ZS_NOT_FOUND. */
static enum zs_status find_named(struct history *h, enum word what, const char *name, char *id,
                                 struct zs_error *err)
{
    if (h->info != NULL)
        return find_listed(h, what, name, id, err);
    if (what == SNAPSHOT) {
        struct zs_cache_entry *entry = NULL; /* cached for opening it */
        if (!zs_icechunk_is_id(name))
            return ZS_NOT_FOUND;
        ZS_TRY(zs_icechunk_file_get(h->files, ZS_ICECHUNK_SNAPSHOT, name, ZS_NOT_FOUND, &entry, err));
        zs_cache_release(entry);
        memcpy(id, name, ZS_ICECHUNK_ID_TEXT);
        return ZS_OK;
    }
    char *folder = zs_format("%.*s.%s", (int)strlen(words[what]) - 1, words[what], name);
    ZS_TRY_MEMORY(folder, err);
    const enum zs_status status =
        zs_is_inside_name(folder) ? find_in_folder(h->files->store, folder, id, err) : ZS_NOT_FOUND;
    free(folder);
    return status;
}

/* Reads the time of a commit, and the id of its parent, "" of the first. */
static enum zs_status read_commit(struct history *h, const char *id, struct snapshot *commit,
                                  char parent[ZS_ICECHUNK_ID_TEXT], struct zs_error *err)
{
    struct zs_cache_entry *entry = NULL;
    parent[0] = '\0';
    if (h->info != NULL) {
        struct snapshot before;
        ZS_TRY(read_listed(h, h->at, commit, err));
        if (commit->parent == NO_PARENT)
            return ZS_OK;
        h->at = commit->parent;
        ZS_TRY(read_listed(h, h->at, &before, err));
        zs_icechunk_id_print(before.id, parent);
        return ZS_OK;
    }
    ZS_TRY(zs_icechunk_file_get(h->files, ZS_ICECHUNK_SNAPSHOT, id, ZS_CORRUPT, &entry, err));
    struct zs_flat_table root = zs_flat_root(&((const struct zs_icechunk_file *)zs_cache_value(entry))->flat);
    const unsigned char *before = zs_flat_struct(&root, 1, ZS_ICECHUNK_ID_BYTES, false);
    commit->flushed_at = zs_flat_number(&root, 3, 8);
    const enum zs_status status = zs_flat_check(&root, err);
    if (status == ZS_OK && before != NULL)
        zs_icechunk_id_print(before, parent);
    zs_cache_release(entry);
    return status;
}

/* Walks back from a commit to the first at or before a time. */
static enum zs_status walk_back(struct history *h, const struct selector *selector, char *id, struct zs_error *err)
{
    const size_t most = h->info != NULL ? h->lists[SNAPSHOT].count : MOST_COMMITS;
    for (size_t steps = 0; steps < most; steps++) {
        struct snapshot commit = {0};
        char parent[ZS_ICECHUNK_ID_TEXT];
        ZS_TRY(read_commit(h, id, &commit, parent, err));
        if (commit.flushed_at <= selector->time)
            return ZS_OK;
        if (parent[0] == '\0')
            return zs_fail(err, ZS_ARGUMENT, "there is no commit at or before %s: this is older than the first",
                           selector->value[AS_OF]);
        memcpy(id, parent, sizeof parent);
    }
    return zs_fail(err, ZS_UNSUPPORTED, "expected a commit at or before %s among the last %zu, found none",
                   selector->value[AS_OF], most);
}

/* Fails for a name that is not there, with those that are. ZS_NOT_FOUND: there is no repository. */
static enum zs_status fail_unnamed(struct history *h, enum word what, const char *name, struct zs_error *err)
{
    const int n = (int)strlen(words[what]) - 1;
    char id[ZS_ICECHUNK_ID_TEXT] = "unknown";
    const enum zs_status found = find_named(h, BRANCH, "main", id, err);
    if (found != ZS_OK && h->info == NULL) /* each repository of version 1 has this branch */
        return found;
    if (what == SNAPSHOT)
        return zs_fail(err, ZS_ARGUMENT, "there is no snapshot \"%.100s\"; that of the branch main is %s", name, id);
    char *all = zs_format("there is no %.*s \"%.100s\"", n, words[what], name);
    for (size_t i = 0; i < h->lists[what].count && all != NULL && strlen(all) < 400; i++) {
        struct zs_flat_vector other;
        uint64_t number;
        char *text = read_ref(h, what, i, &other, &number, NULL) == ZS_OK ? zs_icechunk_text(&other) : NULL;
        char *longer = zs_format("%s%s%s", all, i == 0 ? "; there are " : ",", text != NULL ? text : "?");
        free(all);
        free(text);
        all = longer;
    }
    (void)zs_fail(err, ZS_ARGUMENT, "%.500s", all != NULL ? all : name);
    free(all);
    return ZS_ARGUMENT;
}

static enum zs_status find_commit(struct history *h, const struct selector *selector,
                                  struct zs_icechunk_commit *commit, struct zs_error *err)
{
    const enum word what = selector->value[SNAPSHOT] != NULL ? SNAPSHOT : selector->value[TAG] != NULL ? TAG : BRANCH;
    enum zs_status status = find_named(h, what, selector->value[what], commit->id, err);
    const bool is_empty = h->info != NULL && h->lists[BRANCH].count == 0 && h->lists[SNAPSHOT].count == 0;
    if (status == ZS_NOT_FOUND && what == BRANCH && is_empty) {
        commit->id[0] = '\0'; /* nothing was committed */
        status = ZS_OK;
    } else if (status == ZS_NOT_FOUND) {
        status = fail_unnamed(h, what, selector->value[what], err);
    } else if (status == ZS_OK && selector->value[AS_OF] != NULL) {
        status = walk_back(h, selector, commit->id, err);
    }
    if (status != ZS_OK || what == SNAPSHOT)
        return status;
    const char *const name = what == TAG ? "TAG" : "BRANCH";
    return zs_names_add(&commit->items, zs_format("%s=%s", name, selector->value[what]), err);
}

enum zs_status zs_icechunk_find(const struct zs_icechunk_files *files, const char *wanted,
                                struct zs_icechunk_commit *commit, struct zs_error *err)
{
    struct history h = {.files = files};
    struct selector selector;
    const char *root = files->store->root;
    enum zs_status status = parse_selector(wanted, &selector, err);
    if (status == ZS_OK)
        status = zs_icechunk_file_read(files->store, ZS_ICECHUNK_REPOSITORY, ZS_ICECHUNK_INFO, &h.info, err);
    commit->has_info = h.info != NULL;
    if (status == ZS_OK) {
        status = read_info(&h, err);
        if (status == ZS_OK)
            status = find_commit(&h, &selector, commit, err);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s/" ZS_ICECHUNK_REPOSITORY, root);
    } else if (status == ZS_NOT_FOUND && (status = find_commit(&h, &selector, commit, err)) == ZS_ARGUMENT) {
        status = zs_fail_in(err, status, "%s", root);
    }
    zs_icechunk_file_free(h.info);
    free(selector.text);
    return status;
}
