/* Metadata files of an Icechunk repository: a header, and a FlatBuffer that is compressed, or not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "codec/codec.h"
#include "icechunk/icechunk_private.h"

/* The header: magic, name of the writer, version, type, compression. */
#define HEADER_BYTES 39
#define VERSION_AT 36
#define TYPE_AT 37
#define COMPRESSION_AT 38

/* Largest file, stored and decoded. A manifest of a million references has 94 MB. */
#define MAX_FILE_BYTES ((size_t)1 << 30)

static const unsigned char magic[ZS_ICECHUNK_MAGIC_BYTES] = {0x49, 0x43, 0x45, 0xF0, 0x9F, 0xA7,
                                                             0x8A, 0x43, 0x48, 0x55, 0x4E, 0x4B};

bool zs_icechunk_is_file(const void *bytes, size_t n)
{
    return n >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* ---- Names ---- */

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void zs_icechunk_id_print(const unsigned char id[ZS_ICECHUNK_ID_BYTES], char text[ZS_ICECHUNK_ID_TEXT])
{
    unsigned bits = 0, count = 0;
    char *p = text;
    for (int i = 0; i < ZS_ICECHUNK_ID_BYTES; i++) {
        bits = bits << 8 | id[i];
        for (count += 8; count >= 5; count -= 5)
            *p++ = digits[bits >> (count - 5) & 31];
    }
    *p++ = digits[bits << (5 - count) & 31];
    *p = '\0';
}

bool zs_icechunk_is_id(const char *text)
{
    return strlen(text) == ZS_ICECHUNK_ID_TEXT - 1 && strspn(text, digits) == ZS_ICECHUNK_ID_TEXT - 1;
}

char *zs_icechunk_text(const struct zs_flat_vector *vector)
{
    bool is_text = vector->of != NULL && zs_utf8_check((const char *)vector->data, vector->count, NULL);
    for (size_t i = 0; i < vector->count && is_text; i++)
        is_text = vector->data[i] >= 0x20 && vector->data[i] != 0x7F;
    return is_text ? zs_strndup((const char *)vector->data, vector->count) : NULL;
}

enum zs_status zs_icechunk_fail_broken(const char *what, struct zs_error *err)
{
    return zs_fail(err, ZS_CORRUPT, "expected the FlatBuffer of a %s, found offsets that lead elsewhere", what);
}

/* ---- Reading ---- */

void zs_icechunk_file_free(void *file)
{
    struct zs_icechunk_file *f = file;
    if (f == NULL)
        return;
    zs_buffer_free(&f->bytes);
    free(f->name);
    free(f);
}

/* Checks the header of a file, f->bytes, and decodes the FlatBuffer behind it, whose bytes replace f->bytes. */
static enum zs_status take_content(struct zs_icechunk_file *f, enum zs_icechunk_type type,
                                   struct zs_error *err)
{
    const unsigned char *b = f->bytes.data;
    if (f->bytes.size < HEADER_BYTES)
        return zs_fail(err, ZS_CORRUPT, "expected a header of %d bytes, found a file of %zu", HEADER_BYTES,
                       f->bytes.size);
    if (!zs_icechunk_is_file(b, f->bytes.size))
        return zs_fail(err, ZS_CORRUPT, "expected the magic bytes of an Icechunk file, found others");
    if (b[VERSION_AT] != 1 && b[VERSION_AT] != 2)
        return zs_fail(err, ZS_UNSUPPORTED, "expected version 1 or 2 of Icechunk's specification, found %d",
                       b[VERSION_AT]);
    if (b[TYPE_AT] != type)
        return zs_fail(err, ZS_CORRUPT, "expected a file of type %d, found %d", type, b[TYPE_AT]);
    if (b[COMPRESSION_AT] > 1)
        return zs_fail(err, ZS_UNSUPPORTED, "expected compression 0 or 1 (zstd), found %d", b[COMPRESSION_AT]);
    f->version = b[VERSION_AT];
    f->flat = (struct zs_flat){b + HEADER_BYTES, f->bytes.size - HEADER_BYTES, false};
    if (b[COMPRESSION_AT] == 0)
        return ZS_OK;
    struct zs_buffer decoded = {0};
    const enum zs_status status = zs_zstd_decode(NULL, 0, f->flat.data, f->flat.size, MAX_FILE_BYTES, &decoded, err);
    zs_buffer_free(&f->bytes);
    f->bytes = decoded;
    f->flat = (struct zs_flat){decoded.data, decoded.size, false};
    return status;
}

enum zs_status zs_icechunk_file_read(const struct zs_icechunk_files *files, const char *key,
                                     enum zs_icechunk_type type, struct zs_icechunk_file **file, struct zs_error *err)
{
    struct zs_icechunk_file *f = zs_calloc(1, sizeof *f);
    ZS_TRY_MEMORY(f, err);
    enum zs_status status = zs_store_get(files->store, key, MAX_FILE_BYTES, &f->bytes, err);
    if (status == ZS_OK) {
        status = take_content(f, type, err);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s/%s", files->store->root, key);
    }
    if (status == ZS_OK)
        *file = f;
    else
        zs_icechunk_file_free(f);
    return status;
}

/* ---- What the process remembers ---- */

static struct zs_cache *cache;

static void cache_create(void)
{
    cache = zs_cache_create(UINT64_MAX, zs_icechunk_file_free);
    if (cache != NULL)
        zs_cache_share_budget(cache, 0);
}

enum zs_status zs_icechunk_files_init(struct zs_icechunk_files *files, struct zs_store *store, struct zs_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_uint_least64_t number;
    (void)pthread_once(&once, cache_create);
    files->store = store;
    /* Local files are not remembered: they may be replaced, and reading them is fast. */
    files->name = store->is_remote ? zs_strdup(store->path != NULL ? store->path : store->root)
                                   : zs_format("%llu", (unsigned long long)atomic_fetch_add(&number, 1));
    return cache != NULL && files->name != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Reads the file with this name in the cache. Checks that it has the id that it is called by, and a manifest's
 * references. */
static enum zs_status load(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                           const char *name, struct zs_icechunk_file **file, struct zs_error *err)
{
    const char *key = name + strlen(files->name) + 1;
    char found[ZS_ICECHUNK_ID_TEXT] = "none";
    ZS_TRY(zs_icechunk_file_read(files, key, type, file, err));
    const struct zs_flat_table root = zs_flat_root(&(*file)->flat);
    const unsigned char *bytes = zs_flat_struct(&root, 0, ZS_ICECHUNK_ID_BYTES);
    if (bytes != NULL)
        zs_icechunk_id_print(bytes, found);
    enum zs_status status = ZS_OK;
    if (strcmp(found, id) != 0)
        status = zs_fail(err, ZS_CORRUPT, "expected the id %s, found %s", id, found);
    else if (type == ZS_ICECHUNK_MANIFEST)
        status = zs_icechunk_manifest_check(*file, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/%s", files->store->root, key);
    (*file)->name = zs_strdup(name);
    return (*file)->name != NULL ? ZS_OK : zs_fail_memory(err);
}

static const char *folder_of(enum zs_icechunk_type type)
{
    return type == ZS_ICECHUNK_SNAPSHOT ? "snapshots" : "manifests";
}

/* Gets a file by its name in the cache, or loads it into the cache. */
static enum zs_status get(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                          const char *name, struct zs_cache_entry **entry, struct zs_error *err)
{
    const size_t n = strlen(name);
    const struct zs_cache_key key = {zs_hash(ZS_HASH, name, n), zs_hash(0x9E3779B97F4A7C15u, name, n)};
    bool must_load;
    while ((*entry = zs_cache_get_or_load(cache, key, &must_load)) != NULL) {
        if (strcmp(zs_icechunk_file_of(*entry)->name, name) == 0)
            return ZS_OK;
        zs_cache_release(cache, *entry); /* a file of another name with the same hashes */
        zs_cache_remove(cache, key);
    }
    struct zs_icechunk_file *file = NULL;
    const enum zs_status status = load(files, type, id, name, &file, err);
    if (status == ZS_OK)
        *entry = zs_cache_put(cache, key, file, ZS_CACHE_ENTRY_BYTES + sizeof *file + file->bytes.capacity);
    if (*entry != NULL)
        return ZS_OK;
    zs_cache_abandon(cache, key);
    zs_icechunk_file_free(file);
    return status != ZS_OK ? status : zs_fail_memory(err);
}

enum zs_status zs_icechunk_file_find(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                                     struct zs_cache_entry **entry, struct zs_error *err)
{
    char *name = zs_format("%s/%s/%s", files->name, folder_of(type), id);
    const enum zs_status status = name != NULL ? get(files, type, id, name, entry, err) : zs_fail_memory(err);
    free(name);
    return status;
}

enum zs_status zs_icechunk_file_get(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                                    struct zs_cache_entry **entry, struct zs_error *err)
{
    const enum zs_status status = zs_icechunk_file_find(files, type, id, entry, err);
    return status != ZS_NOT_FOUND
               ? status
               : zs_fail(err, ZS_CORRUPT, "%s/%s/%s: the repository refers to this object, which is not there",
                         files->store->root, folder_of(type), id);
}

struct zs_icechunk_file *zs_icechunk_file_of(const struct zs_cache_entry *entry)
{
    return zs_cache_value(entry);
}

void zs_icechunk_file_pin(struct zs_cache_entry *entry)
{
    zs_cache_pin(cache, entry);
}

void zs_icechunk_file_release(struct zs_cache_entry *entry)
{
    if (entry != NULL)
        zs_cache_release(cache, entry);
}

void zs_icechunk_forget_all(void)
{
    if (cache != NULL)
        zs_cache_clear(cache);
}
