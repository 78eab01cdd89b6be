#define _GNU_SOURCE /* timegm() */
/* Which commit of an Icechunk repository a name asks for. Branches, tags and commits are in one object (version 2), or
 * in one for each (version 1). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "icechunk/icechunk_private.h"
#include "store/vsi.h"
#include "zarr/name.h"

/* Fields of the tables Repo, Ref, SnapshotInfo, RepoStatus and Snapshot. */
enum { REPO_VERSION, REPO_TAGS, REPO_BRANCHES, REPO_SNAPSHOTS = 4, REPO_STATUS, REPO_ENABLED = 10, REPO_DISABLED };
enum { REF_NAME, REF_SNAPSHOT };
enum { INFO_ID, INFO_PARENT, INFO_FLUSHED_AT };
enum { STATUS_AVAILABILITY };
enum { SNAPSHOT_PARENT_ID = 1, SNAPSHOT_FLUSHED_AT = 3 };

/* Feature flags that are known: moving nodes, making and removing tags. None of them changes what is read. */
#define FIRST_FLAG 3
#define LAST_FLAG 5
/* The repository can be written, or is only read. */
#define MOST_AVAILABILITY 1
#define NO_PARENT UINT32_MAX
/* Most commits of version 1 that are read in search of a time: each is a request. */
#define MOST_COMMITS 10000
#define MAX_REF_BYTES ((size_t)65536)

void zs_icechunk_commit_clear(struct zs_icechunk_commit *commit)
{
    free(commit->branch);
    free(commit->tag);
    free(commit->branches);
    free(commit->tags);
    *commit = (struct zs_icechunk_commit){0};
}

/* ---- Points in time ---- */

/* Microseconds since 1970 of a time as in ISO 8601, UTC by default. */
static bool parse_time(const char *text, uint64_t *out)
{
    struct tm t = {0};
    char sign[2] = "";
    int n = 0, hours = 0, minutes = 0;
    int64_t micro = 0, unit = 100000;
    const char *p = text;
    if (sscanf(p, "%4d-%2d-%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &n) != 3)
        return false;
    p += n;
    if (*p == 'T' || *p == 't' || *p == ' ') {
        if (sscanf(p + 1, "%2d:%2d%n:%2d%n", &t.tm_hour, &t.tm_min, &n, &t.tm_sec, &n) < 2)
            return false;
        p += 1 + n;
        if (*p == '.')
            for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
                micro += unit * (*p - '0');
        if (sscanf(p, "%1[+-]%2d%n:%2d%n", sign, &hours, &n, &minutes, &n) >= 2)
            p += n;
        else if (*p == 'Z' || *p == 'z')
            p++;
    }
    t.tm_year -= 1900;
    t.tm_mon--;
    struct tm same = t; /* unless there is no such day or hour: then timegm() makes it another */
    const int64_t seconds = (int64_t)timegm(&same) - (sign[0] == '-' ? -60 : 60) * (60 * hours + minutes);
    const bool is_there = same.tm_mday == t.tm_mday && same.tm_mon == t.tm_mon && same.tm_hour == t.tm_hour &&
                          same.tm_min == t.tm_min && same.tm_sec == t.tm_sec;
    if (*p != '\0' || !is_there || seconds < 0)
        return false;
    *out = (uint64_t)(seconds * 1000000 + micro);
    return true;
}

char *zs_icechunk_time_print(uint64_t time)
{
    const time_t seconds = (time_t)(time / 1000000u);
    struct tm t = {0};
    (void)gmtime_r(&seconds, &t);
    return zs_format("%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec, (int)(time % 1000000u));
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

/* Splits a path whose query begins at `query`: the words that name a commit go to `commit`, all else to `left`; there
 * is room for both. */
static void split_query(const char *path, const char *query, char *left, char *commit, size_t size)
{
    size_t at = (size_t)(query - path);
    char *const ends[] = {left, commit};
    left[at] = '\0';
    for (const char *word = query, *next; word != NULL; word = next) { /* with the '?' or '&' before it */
        next = strchr(word + 1, '&');
        const int n = next != NULL ? (int)(next - word) - 1 : (int)strlen(word + 1);
        const bool is_commit = word_of(word + 1) < WORDS;
        char *const out = ends[is_commit];
        const size_t used = strlen(out), begin = is_commit ? 0 : at;
        const char *before = used > begin ? "&" : is_commit ? "" : "?";
        (void)snprintf(out + used, size - used, "%s%.*s", before, n, word + 1);
    }
}

enum zs_status zs_icechunk_split(const char *path, char **root, char **commit, struct zs_error *err)
{
    const size_t size = strlen(path) + 1;
    const char *query = strrchr(path, '?');
    *root = zs_strdup(path);
    *commit = zs_calloc(1, size);
    if (*root == NULL || *commit == NULL) {
        free(*root);
        free(*commit);
        return zs_fail_memory(err);
    }
    if (query != NULL && (zs_path_is_remote(path) || !zs_vsi_exists(path))) /* else a file has that name */
        split_query(path, query, *root, *commit, size);
    return ZS_OK;
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
    if ((value[BRANCH] != NULL) + (value[TAG] != NULL) + (value[SNAPSHOT] != NULL) > 1)
        return zs_fail(err, ZS_ARGUMENT, "expected one of branch, tag and snapshot, found several");
    if (value[AS_OF] != NULL && (value[TAG] != NULL || value[SNAPSHOT] != NULL))
        return zs_fail(err, ZS_ARGUMENT, "expected as_of alone or with a branch, found it with a tag or a snapshot");
    if (value[AS_OF] != NULL && !parse_time(value[AS_OF], &selector->time))
        return zs_fail(err, ZS_ARGUMENT, "as_of: expected a time like 2026-09-01T00:00:00Z, found %.100s",
                       value[AS_OF]);
    if (value[BRANCH] == NULL && value[TAG] == NULL && value[SNAPSHOT] == NULL)
        value[BRANCH] = "main";
    return ZS_OK;
}

/* `names`: those that there are, with commas between; NULL: not known. */
static enum zs_status fail_unnamed(enum word what, const char *name, const char *names, struct zs_error *err)
{
    const int n = (int)strlen(words[what]) - 1;
    if (names == NULL || names[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "there is no %.*s \"%.100s\"%s", n, words[what], name,
                       names != NULL ? "; there is none" : "");
    return zs_fail(err, ZS_ARGUMENT, "there is no %.*s \"%.100s\"; there are %.300s", n, words[what], name, names);
}

static enum zs_status fail_no_snapshot(const char *wanted, const char *main_id, struct zs_error *err)
{
    return zs_fail(err, ZS_ARGUMENT, "there is no snapshot \"%.100s\"; that of the branch main is %s", wanted, main_id);
}

static enum zs_status fail_too_early(const struct selector *selector, struct zs_error *err)
{
    return zs_fail(err, ZS_ARGUMENT, "there is no commit at or before %s: this is older than the first",
                   selector->value[AS_OF]);
}

/* Appends a name to a list with commas between; a NULL list has failed. */
static void add_name(char **names, const char *name)
{
    char *longer = *names != NULL ? zs_format("%s%s%s", *names, (*names)[0] != '\0' ? "," : "", name) : NULL;
    free(*names);
    *names = longer;
}

/* ---- Version 2: one object ---- */

struct info {
    const struct zs_flat *flat;
    struct zs_flat_vector tags, branches, snapshots;
};

/* A branch or tag. */
struct ref {
    struct zs_flat_vector name;
    uint64_t snapshot;
};

static struct ref ref_at(const struct zs_flat_vector *refs, size_t index)
{
    const struct zs_flat_table t = zs_flat_element(refs, index);
    return (struct ref){zs_flat_vector(&t, REF_NAME, 1), zs_flat_number(&t, REF_SNAPSHOT, 4)};
}

/* Checks that names increase, and that each leads to a snapshot of the list. */
static enum zs_status check_refs(const struct info *info, const struct zs_flat_vector *refs, const char *what,
                                 struct zs_error *err)
{
    struct zs_flat_vector before = {0};
    for (size_t i = 0; i < refs->count; i++) {
        const struct ref ref = ref_at(refs, i);
        if (info->flat->is_broken || ref.name.of == NULL)
            return zs_icechunk_fail_broken("repository", err);
        const size_t n = ref.name.count < before.count ? ref.name.count : before.count;
        const int order = n > 0 ? memcmp(before.data, ref.name.data, n) : 0;
        if (i > 0 && (order > 0 || (order == 0 && before.count >= ref.name.count)))
            return zs_fail(err, ZS_CORRUPT, "%s %zu: expected names that increase, found one that does not", what, i);
        if (ref.snapshot >= info->snapshots.count)
            return zs_fail(err, ZS_CORRUPT, "%s %zu: expected one of %zu snapshots, found number %llu", what, i,
                           info->snapshots.count, (unsigned long long)ref.snapshot);
        before = ref.name;
    }
    return ZS_OK;
}

static enum zs_status read_info(struct zs_icechunk_file *file, struct info *info, struct zs_error *err)
{
    const struct zs_flat_table root = zs_flat_root(&file->flat), status = zs_flat_table(&root, REPO_STATUS);
    const int version = (int)zs_flat_number(&root, REPO_VERSION, 1),
              availability = (int)zs_flat_number(&status, STATUS_AVAILABILITY, 1);
    *info = (struct info){&file->flat, zs_flat_vector(&root, REPO_TAGS, 4), zs_flat_vector(&root, REPO_BRANCHES, 4),
                          zs_flat_vector(&root, REPO_SNAPSHOTS, 4)};
    if (file->flat.is_broken || status.of == NULL || info->tags.of == NULL || info->branches.of == NULL ||
        info->snapshots.of == NULL)
        return zs_icechunk_fail_broken("repository", err);
    if (version != file->version)
        return zs_fail(err, ZS_CORRUPT, "expected version %d of the specification, as in the header, found %d",
                       file->version, version);
    for (unsigned field = REPO_ENABLED; field <= REPO_DISABLED; field++) {
        const struct zs_flat_vector flags = zs_flat_vector(&root, field, 2);
        for (const unsigned char *f = flags.data; f != NULL && f < flags.data + 2 * flags.count; f += 2)
            if (f[0] < FIRST_FLAG || f[0] > LAST_FLAG || f[1] != 0)
                return zs_fail(err, ZS_UNSUPPORTED, "expected feature flags %d to %d, found %d", FIRST_FLAG, LAST_FLAG,
                               f[0] | f[1] << 8);
    }
    if (availability > MOST_AVAILABILITY)
        return zs_fail(err, ZS_UNSUPPORTED, "the repository is offline");
    ZS_TRY(check_refs(info, &info->tags, "tag", err));
    return check_refs(info, &info->branches, "branch", err);
}

static char *names_of(const struct zs_flat_vector *refs)
{
    char *names = zs_strdup("");
    for (size_t i = 0; i < refs->count; i++) {
        const struct ref ref = ref_at(refs, i);
        char *name = zs_icechunk_text(&ref.name);
        if (name != NULL)
            add_name(&names, name);
        free(name);
    }
    return names;
}

static bool find_ref(const struct zs_flat_vector *refs, const char *wanted, uint64_t *snapshot)
{
    for (size_t i = 0; i < refs->count; i++) {
        const struct ref ref = ref_at(refs, i);
        *snapshot = ref.snapshot;
        if (ref.name.count == strlen(wanted) && memcmp(ref.name.data, wanted, ref.name.count) == 0)
            return true;
    }
    return false;
}

/* Prints the id of a snapshot of the list; "" where it is broken. */
static void print_id(const struct info *info, uint64_t index, char text[ZS_ICECHUNK_ID_TEXT])
{
    const struct zs_flat_table t = zs_flat_element(&info->snapshots, (size_t)index);
    const unsigned char *id = zs_flat_struct(&t, INFO_ID, ZS_ICECHUNK_ID_BYTES);
    text[0] = '\0';
    if (id != NULL)
        zs_icechunk_id_print(id, text);
}

static enum zs_status find_snapshot(const struct info *info, const char *wanted, uint64_t *at, struct zs_error *err)
{
    char text[ZS_ICECHUNK_ID_TEXT] = "unknown";
    for (*at = 0; *at < info->snapshots.count; ++*at) {
        print_id(info, *at, text);
        if (strcmp(text, wanted) == 0)
            return ZS_OK;
    }
    if (find_ref(&info->branches, "main", at))
        print_id(info, *at, text);
    return fail_no_snapshot(wanted, text, err);
}

/* Walks back from snapshot *at to the first at or before a time. */
static enum zs_status walk_back(const struct info *info, const struct selector *selector, uint64_t *at,
                                struct zs_error *err)
{
    for (size_t steps = 0; steps <= info->snapshots.count; steps++) {
        const struct zs_flat_table t = zs_flat_element(&info->snapshots, (size_t)*at);
        if (t.of == NULL || zs_flat_number(&t, INFO_FLUSHED_AT, 8) <= selector->time)
            return ZS_OK;
        *at = zs_flat_number(&t, INFO_PARENT, 4);
        if (*at == NO_PARENT)
            return fail_too_early(selector, err);
        if (*at >= info->snapshots.count)
            return zs_fail(err, ZS_CORRUPT, "expected a parent among %zu snapshots, found number %llu",
                           info->snapshots.count, (unsigned long long)*at);
    }
    return zs_fail(err, ZS_CORRUPT, "expected snapshots with a first, found a circle of parents");
}

static enum zs_status find_in_info(struct zs_icechunk_file *file, const struct selector *selector,
                                   struct zs_icechunk_commit *commit, struct zs_error *err)
{
    struct info info;
    uint64_t at = 0;
    const char *const *value = selector->value;
    ZS_TRY(read_info(file, &info, err));
    commit->branches = names_of(&info.branches);
    commit->tags = names_of(&info.tags);
    if (commit->branches == NULL || commit->tags == NULL)
        return zs_fail_memory(err);
    if (value[SNAPSHOT] != NULL)
        ZS_TRY(find_snapshot(&info, value[SNAPSHOT], &at, err));
    else if (value[TAG] != NULL && !find_ref(&info.tags, value[TAG], &at))
        return fail_unnamed(TAG, value[TAG], commit->tags, err);
    else if (value[TAG] == NULL && info.snapshots.count == 0 && info.branches.count == 0)
        return ZS_OK; /* nothing was committed */
    else if (value[TAG] == NULL && !find_ref(&info.branches, value[BRANCH], &at))
        return fail_unnamed(BRANCH, value[BRANCH], commit->branches, err);
    if (value[AS_OF] != NULL)
        ZS_TRY(walk_back(&info, selector, &at, err));
    print_id(&info, at, commit->id);
    return info.flat->is_broken || commit->id[0] == '\0' ? zs_icechunk_fail_broken("repository", err) : ZS_OK;
}

/* ---- Version 1: an object for each name ---- */

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

/* A name as the object_store of Rust spells it in a key: some characters, and all beyond ASCII, as %XX. Icechunk has it
 * for all but S3. NULL without memory. */
static char *spell(const char *name)
{
    char *out = malloc(3 * strlen(name) + 1), *to = out;
    for (const char *c = name; out != NULL && *c != '\0'; c++) {
        const bool is_plain = *c >= 0x20 && *c < 0x7F && strchr("\\{}^%`[]\"><~#|*?", *c) == NULL;
        to += is_plain ? (*to = *c, 1) : snprintf(to, 4, "%%%02X", (unsigned char)*c);
    }
    if (out != NULL)
        *to = '\0';
    return out;
}

static enum zs_status find_named(struct zs_store *store, enum word what, const char *name, char *id,
                                 struct zs_error *err)
{
    char *folder = zs_format("%.*s.%s", (int)strlen(words[what]) - 1, words[what], name),
         *spelt = folder != NULL ? spell(folder) : NULL;
    enum zs_status status = spelt != NULL ? ZS_NOT_FOUND : zs_fail_memory(err);
    if (spelt != NULL && zs_is_inside_name(folder))
        status = find_in_folder(store, folder, id, err);
    if (status == ZS_NOT_FOUND && strcmp(spelt, folder) != 0)
        status = find_in_folder(store, spelt, id, err);
    free(folder);
    free(spelt);
    return status;
}

/* The names of a kind, as they are asked for, where the store can be listed; else NULL. */
static char *list_names(struct zs_store *store, enum word what)
{
    char **list = NULL, id[ZS_ICECHUNK_ID_TEXT], *names = NULL;
    const size_t n = strlen(words[what]) - 1;
    if (zs_store_list(store, "refs", &list, NULL) != ZS_OK)
        return NULL;
    names = zs_strdup("");
    zs_names_sort(list);
    for (char **name = list; *name != NULL; name++) {
        const size_t length = zs_prefix_length(*name);
        if (length <= n || strncmp(*name, words[what], n) != 0 || (*name)[n] != '.')
            continue;
        (*name)[length] = '\0';
        if (find_in_folder(store, *name, id, NULL) != ZS_OK) /* what was deleted may leave its folder */
            continue;
        zs_unescape(*name);
        add_name(&names, *name + n + 1);
    }
    zs_names_free(list);
    return names;
}

static enum zs_status walk_back_in_files(const struct zs_icechunk_files *files, const struct selector *selector,
                                         char id[ZS_ICECHUNK_ID_TEXT], struct zs_error *err)
{
    for (int steps = 0; steps < MOST_COMMITS; steps++) {
        struct zs_cache_entry *entry;
        ZS_TRY(zs_icechunk_file_get(files, ZS_ICECHUNK_SNAPSHOT, id, &entry, err));
        struct zs_flat flat = zs_icechunk_file_of(entry)->flat;
        const struct zs_flat_table root = zs_flat_root(&flat);
        const unsigned char *parent = zs_flat_struct(&root, SNAPSHOT_PARENT_ID, ZS_ICECHUNK_ID_BYTES);
        const bool is_early = zs_flat_number(&root, SNAPSHOT_FLUSHED_AT, 8) <= selector->time;
        if (parent != NULL && !is_early)
            zs_icechunk_id_print(parent, id);
        zs_icechunk_file_release(entry);
        if (flat.is_broken)
            return zs_icechunk_fail_broken("snapshot", err);
        if (is_early)
            return ZS_OK;
        if (parent == NULL)
            return fail_too_early(selector, err);
    }
    return zs_fail(err, ZS_UNSUPPORTED, "expected a commit at or before %s among the last %d, found none",
                   selector->value[AS_OF], MOST_COMMITS);
}

/* Finds a commit by its name; of a snapshot first the branch main, which every repository has. */
static enum zs_status find_in_files(const struct zs_icechunk_files *files, const struct selector *selector,
                                    struct zs_icechunk_commit *commit, struct zs_error *err)
{
    const char *wanted = selector->value[SNAPSHOT];
    const enum word what = selector->value[TAG] != NULL ? TAG : BRANCH;
    const char *name = wanted != NULL ? "main" : selector->value[what];
    char id[ZS_ICECHUNK_ID_TEXT];
    enum zs_status status = find_named(files->store, what, name, commit->id, err);
    if (status == ZS_NOT_FOUND) {
        ZS_TRY(find_named(files->store, BRANCH, "main", id, err)); /* ZS_NOT_FOUND: there is no repository */
        char *names = list_names(files->store, what);
        status = fail_unnamed(what, name, names, err);
        free(names);
    }
    if (status == ZS_OK && wanted != NULL) {
        struct zs_cache_entry *entry = NULL; /* cached for opening it */
        status = zs_icechunk_is_id(wanted) ? zs_icechunk_file_find(files, ZS_ICECHUNK_SNAPSHOT, wanted, &entry, err)
                                           : ZS_NOT_FOUND;
        zs_icechunk_file_release(entry);
        if (status == ZS_NOT_FOUND)
            status = fail_no_snapshot(wanted, commit->id, err);
        else
            memcpy(commit->id, wanted, sizeof commit->id);
    }
    if (status == ZS_OK && selector->value[AS_OF] != NULL)
        status = walk_back_in_files(files, selector, commit->id, err);
    if (status == ZS_OK && !files->store->is_remote) { /* there, listing takes requests */
        commit->branches = list_names(files->store, BRANCH);
        commit->tags = list_names(files->store, TAG);
    }
    return status;
}

/* ---- Either ---- */

enum zs_status zs_icechunk_find(const struct zs_icechunk_files *files, const char *wanted,
                                struct zs_icechunk_commit *commit, struct zs_error *err)
{
    struct zs_icechunk_file *file = NULL;
    struct selector selector;
    enum zs_status status = parse_selector(wanted, &selector, err);
    if (status == ZS_OK) {
        status = zs_icechunk_file_read(files, ZS_ICECHUNK_REPOSITORY, ZS_ICECHUNK_INFO, &file, err);
        commit->has_info = status != ZS_NOT_FOUND;
        if (status == ZS_OK && (status = find_in_info(file, &selector, commit, err)) != ZS_OK)
            status = zs_fail_in(err, status, "%s/" ZS_ICECHUNK_REPOSITORY, files->store->root);
        else if (status == ZS_NOT_FOUND && (status = find_in_files(files, &selector, commit, err)) == ZS_ARGUMENT)
            status = zs_fail_in(err, status, "%s", files->store->root);
    }
    for (enum word w = BRANCH; w <= TAG && status == ZS_OK; w++) {
        char **name = w == BRANCH ? &commit->branch : &commit->tag;
        if (selector.value[w] != NULL && (*name = zs_strdup(selector.value[w])) == NULL)
            status = zs_fail_memory(err);
    }
    zs_icechunk_file_free(file);
    free(selector.text);
    return status;
}
