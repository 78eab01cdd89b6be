/* The history of an Icechunk repository: branches, tags and commits, in one object (version 2) or in one for each
 * (version 1). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "icechunk/icechunk_private.h"
#include "zarr/name.h"

/* Fields of the tables Repo, Ref, SnapshotInfo, RepoStatus and Snapshot. */
enum {
    REPO_VERSION,
    REPO_TAGS,
    REPO_BRANCHES,
    REPO_DELETED_TAGS,
    REPO_SNAPSHOTS,
    REPO_STATUS,
    REPO_ENABLED_FLAGS = 10,
    REPO_DISABLED_FLAGS = 11
};
enum { REF_NAME, REF_SNAPSHOT };
enum { INFO_ID, INFO_PARENT, INFO_FLUSHED_AT };
enum { STATUS_AVAILABILITY = 0, STATUS_REASON = 2 };
enum { SNAPSHOT_PARENT_ID = 1, SNAPSHOT_FLUSHED_AT = 3 };

/* Feature flags that are known: moving nodes, making and removing tags. None of them changes what is read. */
#define FIRST_FLAG 3
#define LAST_FLAG 5
#define OFFLINE 2
#define NO_PARENT UINT32_MAX
/* Names that a message lists. */
#define MOST_NAMES 10
/* Most commits of version 1 that are read in search of a time: each is a request. */
#define MOST_COMMITS 10000
#define MAX_REF_BYTES ((size_t)65536)

void zs_icechunk_commit_clear(struct zs_icechunk_commit *commit)
{
    free(commit->branch);
    free(commit->tag);
    zs_json_free(commit->branches);
    zs_json_free(commit->tags);
    *commit = (struct zs_icechunk_commit){0};
}

/* ---- Points in time ---- */

static bool two_digits(const char **text, char before, int low, int high, int *out)
{
    const char *s = *text + (before != '\0');
    if ((before != '\0' && **text != before) || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
        return false;
    *out = 10 * (s[0] - '0') + s[1] - '0';
    *text = s + 2;
    return *out >= low && *out <= high;
}

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t days_of(int year, int month, int day)
{
    const int64_t y = year - (month <= 2), m = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool is_day(int year, int month, int day)
{
    const int next = month == 12 ? 1 : month + 1;
    return day <= days_of(year + (next == 1), next, 1) - days_of(year, month, 1);
}

/* Microseconds since 1970 of a time as in ISO 8601, UTC by default. */
static bool parse_time(const char *text, uint64_t *out)
{
    int century, year, month, day, hour = 0, minute = 0, second = 0, zone_hour = 0, zone_minute = 0, zone = 0;
    int64_t micro = 0;
    const char *p = text;
    if (!two_digits(&p, '\0', 19, 99, &century) || !two_digits(&p, '\0', 0, 99, &year) ||
        !two_digits(&p, '-', 1, 12, &month) || !two_digits(&p, '-', 1, 31, &day) ||
        !is_day(100 * century + year, month, day))
        return false;
    if (*p == 'T' || *p == 't' || *p == ' ') {
        if (!two_digits(&p, *p, 0, 23, &hour) || !two_digits(&p, ':', 0, 59, &minute) ||
            (*p == ':' && !two_digits(&p, ':', 0, 60, &second)))
            return false;
        int64_t unit = 100000;
        if (*p == '.')
            for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
                micro += unit * (*p - '0');
        if (*p == '+' || *p == '-') {
            zone = *p == '+' ? 1 : -1;
            if (!two_digits(&p, *p, 0, 23, &zone_hour) || (*p == ':' && p++ == NULL) ||
                (*p != '\0' && !two_digits(&p, '\0', 0, 59, &zone_minute)))
                return false;
        } else if (*p == 'Z' || *p == 'z') {
            p++;
        }
    }
    const int64_t minutes = (int64_t)hour * 60 + minute - zone * (zone_hour * 60 + zone_minute);
    const int64_t seconds = days_of(100 * century + year, month, day) * 86400 + minutes * 60 + second;
    if (*p != '\0' || seconds < 0)
        return false;
    *out = (uint64_t)(seconds * 1000000 + micro);
    return true;
}

void zs_icechunk_time_print(uint64_t time, char text[ZS_ICECHUNK_TIME_TEXT])
{
    const int64_t days = (int64_t)(time / 86400000000u), second = (int64_t)(time / 1000000u % 86400);
    int year = (int)(1970 + days / 366), month = 12; /* or later */
    while (year < 9999 && days_of(year + 1, 1, 1) <= days)
        year++;
    while (month > 1 && days_of(year, month, 1) > days)
        month--;
    snprintf(text, ZS_ICECHUNK_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", year > 9999 ? 9999 : year, month,
             (int)((days - days_of(year, month, 1)) % 100 + 1), (int)(second / 3600), (int)(second / 60 % 60),
             (int)(second % 60), (int)(time % 1000000u));
}

/* ---- Version 2: one object ---- */

struct info {
    struct zs_flat_table root;
    struct zs_flat_vector tags, branches, snapshots;
};

static enum zs_status fail_broken(struct zs_error *err)
{
    return zs_fail(err, ZS_CORRUPT, "expected the FlatBuffer of a repository, found offsets that lead elsewhere");
}

static enum zs_status check_flags(const struct zs_flat_table *root, unsigned field, struct zs_error *err)
{
    struct zs_flat_vector flags;
    if (!zs_flat_vector(root, field, 2, &flags))
        return fail_broken(err);
    for (size_t i = 0; i < flags.count; i++) {
        const int flag = flags.data[2 * i] | flags.data[2 * i + 1] << 8;
        if (flag < FIRST_FLAG || flag > LAST_FLAG)
            return zs_fail(err, ZS_UNSUPPORTED, "expected feature flags %d to %d, found %d", FIRST_FLAG, LAST_FLAG,
                           flag);
    }
    return ZS_OK;
}

static enum zs_status check_availability(const struct zs_flat_table *root, struct zs_error *err)
{
    struct zs_flat_table status;
    struct zs_flat_vector reason;
    uint64_t availability;
    char *text = NULL;
    if (!zs_flat_table(root, REPO_STATUS, &status) || status.of == NULL ||
        !zs_flat_number(&status, STATUS_AVAILABILITY, 1, 0, &availability) ||
        !zs_flat_vector(&status, STATUS_REASON, 1, &reason))
        return fail_broken(err);
    if (availability < OFFLINE)
        return ZS_OK;
    if (availability > OFFLINE)
        return zs_fail(err, ZS_UNSUPPORTED, "expected an availability from 0 to %d, found %d", OFFLINE,
                       (int)availability);
    const bool has_reason = zs_icechunk_text(&reason, &text) && text != NULL;
    const enum zs_status offline = zs_fail(err, ZS_UNSUPPORTED, "the repository is offline%s%.300s",
                                           has_reason ? ": " : "", has_reason ? text : "");
    free(text);
    return offline;
}

static bool ref_at(const struct zs_flat_vector *refs, size_t index, struct zs_flat_vector *name, uint64_t *snapshot)
{
    struct zs_flat_table t;
    return zs_flat_vector_table(refs, index, &t) && zs_flat_vector(&t, REF_NAME, 1, name) && name->of != NULL &&
           zs_flat_number(&t, REF_SNAPSHOT, 4, 0, snapshot);
}

static bool is_named(const struct zs_flat_vector *name, const char *text)
{
    return name->count == strlen(text) && memcmp(name->data, text, name->count) == 0;
}

/* Checks that names increase, and that each leads to a snapshot of the list. */
static enum zs_status check_refs(const struct info *info, const struct zs_flat_vector *refs, const char *what,
                                 struct zs_error *err)
{
    struct zs_flat_vector name, before = {0};
    uint64_t snapshot;
    for (size_t i = 0; i < refs->count; i++) {
        if (!ref_at(refs, i, &name, &snapshot))
            return fail_broken(err);
        const size_t n = name.count < before.count ? name.count : before.count;
        const int order = i > 0 && n > 0 ? memcmp(before.data, name.data, n) : 0;
        if (i > 0 && (order > 0 || (order == 0 && before.count >= name.count)))
            return zs_fail(err, ZS_CORRUPT, "%s %zu: expected names that increase, found %s", what, i,
                           order == 0 && before.count == name.count ? "one twice" : "one that does not");
        if (snapshot >= info->snapshots.count)
            return zs_fail(err, ZS_CORRUPT, "%s %zu: expected one of %zu snapshots, found number %llu", what, i,
                           info->snapshots.count, (unsigned long long)snapshot);
        before = name;
    }
    return ZS_OK;
}

static bool snapshot_at(const struct info *info, size_t index, const unsigned char **id, uint64_t *parent,
                        uint64_t *flushed_at)
{
    struct zs_flat_table t;
    return zs_flat_vector_table(&info->snapshots, index, &t) && zs_flat_struct(&t, INFO_ID, ZS_ICECHUNK_ID_BYTES, id) &&
           *id != NULL && zs_flat_number(&t, INFO_PARENT, 4, 0, parent) &&
           zs_flat_number(&t, INFO_FLUSHED_AT, 8, 0, flushed_at);
}

static enum zs_status read_info(const struct zs_icechunk_file *file, struct info *info, struct zs_error *err)
{
    uint64_t version;
    struct zs_flat_table *root = &info->root;
    if (!zs_flat_root(&file->flat, root) || !zs_flat_number(root, REPO_VERSION, 1, 0, &version) ||
        !zs_flat_vector(root, REPO_TAGS, 4, &info->tags) || info->tags.of == NULL ||
        !zs_flat_vector(root, REPO_BRANCHES, 4, &info->branches) || info->branches.of == NULL ||
        !zs_flat_vector(root, REPO_SNAPSHOTS, 4, &info->snapshots) || info->snapshots.of == NULL)
        return fail_broken(err);
    if (version != (uint64_t)file->version)
        return zs_fail(err, ZS_CORRUPT, "expected version %d of the specification, as in the header, found %d",
                       file->version, (int)version);
    ZS_TRY(check_flags(root, REPO_ENABLED_FLAGS, err));
    ZS_TRY(check_flags(root, REPO_DISABLED_FLAGS, err));
    ZS_TRY(check_availability(root, err));
    ZS_TRY(check_refs(info, &info->tags, "tag", err));
    return check_refs(info, &info->branches, "branch", err);
}

/* The names of a list; NULL without memory. */
static zs_json *names_of(const struct zs_flat_vector *refs)
{
    zs_json *names = zs_json_new_array();
    bool ok = names != NULL;
    for (size_t i = 0; i < refs->count && ok; i++) {
        struct zs_flat_vector name;
        uint64_t snapshot;
        char *text = NULL;
        if (ref_at(refs, i, &name, &snapshot) && zs_icechunk_text(&name, &text))
            ok = text != NULL && zs_json_add_string(names, NULL, text) != NULL;
        free(text);
    }
    if (ok)
        return names;
    zs_json_free(names);
    return NULL;
}

/* Prints "; there are a, b" for a list of names, nothing for NULL (unknown names). Freed with free(). */
static char *print_names(const zs_json *names)
{
    const zs_json *first = zs_json_first(names);
    const bool more = first != NULL && zs_json_next(first) != NULL;
    const char *begin = first == NULL ? "; there is none" : more ? "; there are " : "; there is ";
    char *out = zs_strdup(names != NULL ? begin : "");
    int count = 0;
    for (const zs_json *n = first; n != NULL && out != NULL && count <= MOST_NAMES; n = zs_json_next(n)) {
        const char *name = "";
        (void)zs_json_string(n, &name);
        char *longer = zs_format("%s%s%.60s", out, count > 0 ? ", " : "", count < MOST_NAMES ? name : "...");
        free(out);
        out = longer;
        count++;
    }
    return out;
}

static enum zs_status fail_unnamed(const char *what, const char *name, const zs_json *names, struct zs_error *err)
{
    char *there = print_names(names);
    const enum zs_status status =
        zs_fail(err, ZS_ARGUMENT, "there is no %s \"%.100s\"%s", what, name, there != NULL ? there : "");
    free(there);
    return status;
}

static enum zs_status find_ref(const struct zs_flat_vector *refs, const char *what, const char *wanted, size_t *at,
                               struct zs_error *err)
{
    for (size_t i = 0; i < refs->count; i++) {
        struct zs_flat_vector name;
        uint64_t snapshot;
        if (!ref_at(refs, i, &name, &snapshot))
            return fail_broken(err);
        if (is_named(&name, wanted)) {
            *at = (size_t)snapshot;
            return ZS_OK;
        }
    }
    zs_json *names = names_of(refs);
    const enum zs_status status = fail_unnamed(what, wanted, names, err);
    zs_json_free(names);
    return status;
}

static enum zs_status fail_too_early(const char *as_of, struct zs_error *err)
{
    return zs_fail(err, ZS_ARGUMENT, "there is no commit at or before %s: this is older than the first", as_of);
}

/* Walks back from snapshot *at to the first at or before a time. */
static enum zs_status walk_back(const struct info *info, const char *as_of, uint64_t time, size_t *at,
                                struct zs_error *err)
{
    for (size_t steps = 0; steps <= info->snapshots.count; steps++) {
        const unsigned char *id;
        uint64_t parent, flushed_at;
        if (!snapshot_at(info, *at, &id, &parent, &flushed_at))
            return fail_broken(err);
        if (flushed_at <= time)
            return ZS_OK;
        if (parent == NO_PARENT)
            return fail_too_early(as_of, err);
        if (parent >= info->snapshots.count)
            return zs_fail(err, ZS_CORRUPT, "snapshot %zu: expected a parent among %zu, found number %llu", *at,
                           info->snapshots.count, (unsigned long long)parent);
        *at = (size_t)parent;
    }
    return zs_fail(err, ZS_CORRUPT, "expected snapshots with a first, found a circle of parents");
}

static enum zs_status find_snapshot(const struct info *info, const char *wanted, size_t *at, struct zs_error *err)
{
    zs_json *ids = zs_json_new_array();
    for (*at = 0; *at < info->snapshots.count; ++*at) {
        const unsigned char *id;
        uint64_t parent, flushed_at;
        char text[ZS_ICECHUNK_ID_TEXT];
        const bool is_read = snapshot_at(info, *at, &id, &parent, &flushed_at);
        if (is_read)
            zs_icechunk_id_print(id, text);
        if (!is_read || strcmp(text, wanted) == 0) {
            zs_json_free(ids);
            return is_read ? ZS_OK : fail_broken(err);
        }
        if (*at <= MOST_NAMES)
            (void)zs_json_add_string(ids, NULL, text);
    }
    const enum zs_status status = fail_unnamed("snapshot", wanted, ids, err);
    zs_json_free(ids);
    return status;
}

/* A selector that was checked, and its time as a number. */
struct selector {
    const char *branch, *tag, *snapshot, *as_of;
    uint64_t time;
};

static enum zs_status find_in_info(const struct info *info, const struct selector *selector,
                                   struct zs_icechunk_commit *commit, struct zs_error *err)
{
    size_t at = 0;
    const unsigned char *id = NULL;
    uint64_t parent, flushed_at;
    if (selector->snapshot != NULL)
        ZS_TRY(find_snapshot(info, selector->snapshot, &at, err));
    else if (selector->tag != NULL)
        ZS_TRY(find_ref(&info->tags, "tag", selector->tag, &at, err));
    else if (info->snapshots.count == 0 && info->branches.count == 0)
        return ZS_OK; /* nothing was committed */
    else
        ZS_TRY(find_ref(&info->branches, "branch", selector->branch, &at, err));
    if (selector->as_of != NULL)
        ZS_TRY(walk_back(info, selector->as_of, selector->time, &at, err));
    if (!snapshot_at(info, at, &id, &parent, &flushed_at))
        return fail_broken(err);
    zs_icechunk_id_print(id, commit->id);
    return ZS_OK;
}

/* ---- Version 1: an object for each name ---- */

static enum zs_status get_ref(struct zs_store *store, const char *key, char id[ZS_ICECHUNK_ID_TEXT],
                              struct zs_error *err)
{
    struct zs_buffer text = {0};
    zs_json *document = NULL;
    const char *found;
    enum zs_status status = zs_store_get(store, key, MAX_REF_BYTES, &text, err);
    if (status == ZS_OK) {
        status = zs_json_parse((const char *)text.data, text.size, &document, err);
        if (status == ZS_OK &&
            (!zs_json_string(zs_json_get(document, "snapshot"), &found) || !zs_icechunk_is_id(found)))
            status = zs_fail_found(err, ZS_INVALID, zs_json_get(document, "snapshot"),
                                   "snapshot: expected the id of a snapshot");
        else if (status == ZS_OK)
            memcpy(id, found, ZS_ICECHUNK_ID_TEXT);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s/%s", store->root, key);
    }
    zs_json_free(document);
    zs_buffer_free(&text);
    return status;
}

/* Whether an object is there: ZS_OK or ZS_NOT_FOUND. */
static enum zs_status check_there(struct zs_store *store, const char *folder, const char *name, struct zs_error *err)
{
    struct zs_object *object = NULL;
    char *key = zs_format("refs/%s/%s", folder, name);
    const enum zs_status status = key != NULL ? zs_object_open(store, key, &object, err) : zs_fail_memory(err);
    zs_object_close(object);
    free(key);
    return status;
}

/* The id of the snapshot that the branch or tag in a folder is of. A tag that was deleted is still there, and its
 * tombstone beside it: ZS_NOT_FOUND. */
static enum zs_status find_in_folder(struct zs_store *store, const char *folder, char id[ZS_ICECHUNK_ID_TEXT],
                                     struct zs_error *err)
{
    char *key = zs_format("refs/%s/ref.json", folder);
    enum zs_status status = key != NULL ? get_ref(store, key, id, err) : zs_fail_memory(err);
    free(key);
    if (status != ZS_OK || strncmp(folder, "tag.", strlen("tag.")) != 0)
        return status;
    status = check_there(store, folder, "ref.json.deleted", err);
    return status == ZS_OK ? ZS_NOT_FOUND : status == ZS_NOT_FOUND ? ZS_OK : status;
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

/* The names of a kind, as they are asked for, where the store can be listed; NULL or released with zs_json_free(). */
static zs_json *list_names(struct zs_store *store, const char *what)
{
    char **names = NULL, id[ZS_ICECHUNK_ID_TEXT];
    const size_t n = strlen(what);
    if (zs_store_list(store, "refs", &names, NULL) != ZS_OK)
        return NULL;
    zs_json *out = zs_json_new_array();
    zs_names_sort(names);
    for (char **name = names; *name != NULL; name++) {
        const size_t length = strlen(*name);
        if (strncmp(*name, what, n) != 0 || (*name)[n] != '.' || (*name)[length - 1] != '/')
            continue;
        (*name)[length - 1] = '\0';
        if (find_in_folder(store, *name, id, NULL) != ZS_OK) /* what was deleted may leave its folder */
            continue;
        zs_unescape(*name);
        (void)zs_json_add_string(out, NULL, *name + n + 1);
    }
    zs_names_free(names);
    return out;
}

static enum zs_status find_named(struct zs_store *store, const char *what, const char *name,
                                 char id[ZS_ICECHUNK_ID_TEXT], struct zs_error *err)
{
    char *folder = zs_format("%s.%s", what, name), *spelt = folder != NULL ? spell(folder) : NULL;
    enum zs_status status = ZS_NOT_FOUND;
    if (spelt == NULL)
        status = zs_fail_memory(err);
    else if (zs_is_inside_name(folder))
        status = find_in_folder(store, folder, id, err);
    if (status == ZS_NOT_FOUND && spelt != NULL && strcmp(spelt, folder) != 0)
        status = find_in_folder(store, spelt, id, err);
    free(folder);
    free(spelt);
    return status;
}

/* Fails with a list of the names that there are; ZS_NOT_FOUND where there is no repository. */
static enum zs_status fail_unlisted(struct zs_store *store, const char *what, const char *name, struct zs_error *err)
{
    char main_id[ZS_ICECHUNK_ID_TEXT];
    ZS_TRY(find_named(store, "branch", "main", main_id, err));
    zs_json *names = list_names(store, what);
    const enum zs_status status = fail_unnamed(what, name, names, err);
    zs_json_free(names);
    return zs_fail_in(err, status, "%s", store->root);
}

static enum zs_status walk_back_in_files(const struct zs_icechunk_files *files, const struct selector *selector,
                                         char id[ZS_ICECHUNK_ID_TEXT], struct zs_error *err)
{
    for (int steps = 0; steps < MOST_COMMITS; steps++) {
        struct zs_cache_entry *entry;
        struct zs_flat_table root;
        const unsigned char *parent = NULL;
        uint64_t flushed_at = 0;
        ZS_TRY(zs_icechunk_file_get(files, ZS_ICECHUNK_SNAPSHOT, id, &entry, err));
        const bool is_read = zs_flat_root(&zs_icechunk_file_of(entry)->flat, &root) &&
                             zs_flat_struct(&root, SNAPSHOT_PARENT_ID, ZS_ICECHUNK_ID_BYTES, &parent) &&
                             zs_flat_number(&root, SNAPSHOT_FLUSHED_AT, 8, 0, &flushed_at);
        char next[ZS_ICECHUNK_ID_TEXT] = "";
        if (is_read && parent != NULL)
            zs_icechunk_id_print(parent, next);
        zs_icechunk_file_release(entry);
        if (!is_read)
            return fail_broken(err);
        if (flushed_at <= selector->time)
            return ZS_OK;
        if (next[0] == '\0')
            return fail_too_early(selector->as_of, err);
        memcpy(id, next, sizeof next);
    }
    return zs_fail(err, ZS_UNSUPPORTED, "expected a commit at or before %s among the last %d, found none",
                   selector->as_of, MOST_COMMITS);
}

/* Finds a snapshot by its id. Its file is read here and cached for opening it. */
static enum zs_status find_snapshot_file(const struct zs_icechunk_files *files, const char *wanted,
                                         const char *main_id, struct zs_icechunk_commit *commit, struct zs_error *err)
{
    struct zs_cache_entry *entry = NULL;
    enum zs_status status = ZS_NOT_FOUND;
    if (zs_icechunk_is_id(wanted))
        status = zs_icechunk_file_find(files, ZS_ICECHUNK_SNAPSHOT, wanted, &entry, err);
    zs_icechunk_file_release(entry);
    if (status == ZS_NOT_FOUND)
        return zs_fail(err, ZS_ARGUMENT, "%s: there is no snapshot \"%.100s\"; that of the branch main is %s",
                       files->store->root, wanted, main_id);
    if (status == ZS_OK)
        memcpy(commit->id, wanted, sizeof commit->id);
    return status;
}

/* The branch or tag that is read first: of a snapshot that is asked for by its id the branch main, which every
 * repository has. */
struct first_ref {
    struct zs_store *store;
    const char *what, *name;
    char id[ZS_ICECHUNK_ID_TEXT];
};

static struct first_ref first_ref_of(struct zs_store *store, const struct selector *selector)
{
    return (struct first_ref){store, selector->tag != NULL ? "tag" : "branch",
                              selector->tag != NULL        ? selector->tag
                              : selector->snapshot != NULL ? "main"
                                                           : selector->branch,
                              ""};
}

static enum zs_status load_first_ref(void *ctx, size_t item, struct zs_error *err)
{
    struct first_ref *ref = ctx;
    (void)item;
    return find_named(ref->store, ref->what, ref->name, ref->id, err);
}

static enum zs_status find_in_files(const struct zs_icechunk_files *files, const struct selector *selector,
                                    const struct first_ref *ref, enum zs_status status,
                                    struct zs_icechunk_commit *commit, struct zs_error *err)
{
    if (status == ZS_NOT_FOUND && selector->snapshot == NULL)
        return fail_unlisted(files->store, ref->what, ref->name, err);
    ZS_TRY(status);
    if (selector->snapshot != NULL)
        return find_snapshot_file(files, selector->snapshot, ref->id, commit, err);
    memcpy(commit->id, ref->id, sizeof commit->id);
    if (selector->as_of != NULL && (status = walk_back_in_files(files, selector, commit->id, err)) != ZS_OK)
        status = zs_fail_in(err, status, "%s", files->store->root);
    return status;
}

/* ---- Either ---- */

static enum zs_status check_selector(const struct zs_icechunk_selector *asked, struct selector *selector,
                                     struct zs_error *err)
{
    *selector = (struct selector){asked->branch, asked->tag, asked->snapshot, asked->as_of, 0};
    if ((selector->branch != NULL) + (selector->tag != NULL) + (selector->snapshot != NULL) > 1)
        return zs_fail(err, ZS_ARGUMENT, "expected one of branch, tag and snapshot, found several");
    if (selector->as_of != NULL && (selector->tag != NULL || selector->snapshot != NULL))
        return zs_fail(err, ZS_ARGUMENT, "expected as_of alone or with a branch, found it with a tag or a snapshot");
    if (selector->as_of != NULL && !parse_time(selector->as_of, &selector->time))
        return zs_fail(err, ZS_ARGUMENT, "as_of: expected a time like 2026-09-01T00:00:00Z, found %.100s",
                       selector->as_of);
    if (selector->branch == NULL)
        selector->branch = "main";
    return ZS_OK;
}

/* Reads the object of version 2, or, where there is none, the first reference of version 1. Over a network both are
 * asked for at once, since only the answers show its version: *ref_status is then that of the reference. */
static enum zs_status read_first(const struct zs_icechunk_files *files, struct zs_icechunk_file **file,
                                 struct first_ref *ref, enum zs_status *ref_status, struct zs_error *err)
{
    struct zs_async *async = files->store->is_remote ? zs_async_start(load_first_ref, ref) : NULL;
    struct zs_error ref_error;
    const bool is_asked = async != NULL;
    const enum zs_status status = zs_icechunk_file_read(files, ZS_ICECHUNK_REPOSITORY, ZS_ICECHUNK_INFO, file, err);
    *ref_status = zs_async_wait(async, &ref_error);
    if (status == ZS_NOT_FOUND && !is_asked)
        *ref_status = load_first_ref(ref, 0, err);
    else if (status == ZS_NOT_FOUND && *ref_status != ZS_OK)
        *err = ref_error;
    return status;
}

/* Reads the repository object of version 2. */
static enum zs_status find_in_file(const struct zs_icechunk_files *files, const struct zs_icechunk_file *file,
                                   const struct selector *selector, struct zs_icechunk_commit *commit,
                                   struct zs_error *err)
{
    struct info info;
    commit->has_info = true;
    enum zs_status status = read_info(file, &info, err);
    if (status == ZS_OK)
        status = find_in_info(&info, selector, commit, err);
    if (status == ZS_OK && ((commit->branches = names_of(&info.branches)) == NULL ||
                            (commit->tags = names_of(&info.tags)) == NULL))
        status = zs_fail_memory(err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/" ZS_ICECHUNK_REPOSITORY, files->store->root);
}

/* Remembers by which name the commit was found. */
static enum zs_status keep_name(const struct selector *selector, struct zs_icechunk_commit *commit,
                                struct zs_error *err)
{
    const char *branch = selector->tag == NULL && selector->snapshot == NULL ? selector->branch : NULL;
    commit->branch = branch != NULL ? zs_strdup(branch) : NULL;
    commit->tag = selector->tag != NULL ? zs_strdup(selector->tag) : NULL;
    if ((branch == NULL || commit->branch != NULL) && (selector->tag == NULL || commit->tag != NULL))
        return ZS_OK;
    zs_icechunk_commit_clear(commit);
    return zs_fail_memory(err);
}

enum zs_status zs_icechunk_find(const struct zs_icechunk_files *files, const struct zs_icechunk_selector *asked,
                                struct zs_icechunk_commit *commit, struct zs_error *err)
{
    struct zs_icechunk_file *file = NULL;
    struct selector selector;
    enum zs_status ref_status;
    ZS_TRY(check_selector(asked, &selector, err));
    struct first_ref ref = first_ref_of(files->store, &selector);
    enum zs_status status = read_first(files, &file, &ref, &ref_status, err);
    if (status == ZS_OK) {
        status = find_in_file(files, file, &selector, commit, err);
    } else if (status == ZS_NOT_FOUND) {
        status = find_in_files(files, &selector, &ref, ref_status, commit, err);
        if (status == ZS_OK && !files->store->is_remote) {
            commit->branches = list_names(files->store, "branch");
            commit->tags = list_names(files->store, "tag");
        }
    }
    zs_icechunk_file_free(file);
    return status == ZS_OK ? keep_name(&selector, commit, err) : status;
}
