/* Metadata files of an Icechunk repository: a header, and a FlatBuffer that is compressed, or not. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
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
    bool is_text = vector->of != NULL && zs_utf8_length((const char *)vector->data, vector->count) == vector->count;
    for (size_t i = 0; i < vector->count && is_text; i++)
        is_text = vector->data[i] >= 0x20 && vector->data[i] != 0x7F;
    return is_text ? zs_strndup((const char *)vector->data, vector->count) : NULL;
}

/* ---- Reading ---- */

void zs_icechunk_file_free(void *file)
{
    struct zs_icechunk_file *f = file;
    if (f == NULL)
        return;
    zs_buffer_free(&f->bytes);
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
    f->flat = (struct zs_flat){b + HEADER_BYTES, f->bytes.size - HEADER_BYTES};
    if (b[COMPRESSION_AT] == 0)
        return ZS_OK;
    struct zs_buffer decoded = {0};
    const enum zs_status status = zs_zstd_decode(f->flat.data, f->flat.size, MAX_FILE_BYTES, &decoded, err);
    zs_buffer_free(&f->bytes);
    f->bytes = decoded;
    f->flat = (struct zs_flat){decoded.data, decoded.size};
    return status;
}

enum zs_status zs_icechunk_file_read(struct zs_store *store, const char *key, enum zs_icechunk_type type,
                                     struct zs_icechunk_file **file, struct zs_error *err)
{
    struct zs_icechunk_file *f = zs_calloc(1, sizeof *f);
    ZS_TRY_MEMORY(f, err);
    enum zs_status status = zs_store_get(store, key, MAX_FILE_BYTES, &f->bytes, err);
    if (status == ZS_OK) {
        status = take_content(f, type, err);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s/%s", store->root, key);
    }
    if (status == ZS_OK)
        *file = f;
    else
        zs_icechunk_file_free(f);
    return status;
}

/* ---- What the process remembers: snapshots and manifests, which never change ---- */

static struct zs_cache cache = {.destroy = zs_icechunk_file_free};

void zs_icechunk_files_init(struct zs_icechunk_files *files, struct zs_store *store)
{
    static atomic_uint_least64_t number;
    const char *path = store->path != NULL ? store->path : store->root;
    files->store = store;
    /* Local files are not remembered: they may be replaced, and reading them is fast. */
    files->space = store->is_remote ? zs_hash(ZS_HASH, path, strlen(path)) : atomic_fetch_add(&number, 1);
}

/* Checks that a file has the id that it is called by. */
static enum zs_status check_id(const struct zs_icechunk_file *file, const char *id, struct zs_error *err)
{
    struct zs_flat_table root = zs_flat_root(&file->flat);
    const unsigned char *bytes = zs_flat_struct(&root, 0, ZS_ICECHUNK_ID_BYTES, true);
    char found[ZS_ICECHUNK_ID_TEXT];
    ZS_TRY(zs_flat_check(&root, err));
    zs_icechunk_id_print(bytes, found);
    return strcmp(found, id) == 0 ? ZS_OK : zs_fail(err, ZS_CORRUPT, "expected the id %s, found %s", id, found);
}

enum zs_status zs_icechunk_file_get(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                                    enum zs_status absent, struct zs_cache_entry **entry, struct zs_error *err)
{
    char key[48];
    (void)snprintf(key, sizeof key, "%s/%s", type == ZS_ICECHUNK_SNAPSHOT ? "snapshots" : "manifests", id);
    const struct zs_cache_key name = {zs_hash(files->space, key, strlen(key)), zs_hash(~files->space, id, strlen(id))};
    if ((*entry = zs_cache_get_or_load(&cache, name)) != NULL)
        return ZS_OK;
    struct zs_icechunk_file *file = NULL;
    enum zs_status status = zs_icechunk_file_read(files->store, key, type, &file, err);
    if (status == ZS_OK) {
        status = check_id(file, id, err);
        if (status == ZS_OK && type == ZS_ICECHUNK_MANIFEST)
            status = zs_icechunk_manifest_check(file, err);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s/%s", files->store->root, key);
    } else if (status == ZS_NOT_FOUND) {
        status = zs_fail(err, absent, "%s/%s: this object of the repository is not there", files->store->root, key);
    }
    if (status == ZS_OK) {
        *entry = zs_cache_put(&cache, name, file, ZS_CACHE_ENTRY_BYTES + sizeof *file + file->bytes.capacity);
        return *entry != NULL ? ZS_OK : zs_fail_memory(err);
    }
    zs_cache_remove(&cache, name);
    zs_icechunk_file_free(file);
    return status;
}

void zs_icechunk_forget_all(void)
{
    zs_cache_clear(&cache);
}
