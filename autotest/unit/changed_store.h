/* changed_store.h: for tests that change a store: what is there now, as somebody sees it who comes now. */
#ifndef CHANGED_STORE_H
#define CHANGED_STORE_H

#include "geo_store.h"

static inline void check_ok(enum zs_status status, const struct zs_error *err)
{
    if (!CHECK(status == ZS_OK))
        fprintf(stderr, "%s\n", err->message);
}

/* The store as somebody sees it who comes now, with and without consolidated metadata; and without what this reader
 * believes first, so that CF has to say the same. */
static inline struct zs_hierarchy *reopen(struct geo_store *s, bool use_consolidated)
{
    struct zs_error err = {""};
    struct zs_hierarchy *h = NULL;
    check_ok(zs_hierarchy_open(s->store, use_consolidated, &h, &err), &err);
    return h;
}

static inline zs_json *document(struct geo_store *s, const char *key)
{
    struct zs_error err = {""};
    struct zs_buffer text = {0};
    zs_json *json = NULL;
    check_ok(zs_store_get(s->store, key, ZS_JSON_MAX_BYTES, &text, &err), &err);
    check_ok(zs_json_parse((const char *)text.data, text.size, &json, &err), &err);
    zs_buffer_free(&text);
    return json;
}

static inline bool is_there(struct geo_store *s, const char *key)
{
    struct zs_error err;
    struct zs_buffer b = {0};
    const enum zs_status status = zs_store_get(s->store, key, ZS_JSON_MAX_BYTES, &b, &err);
    zs_buffer_free(&b);
    return status == ZS_OK;
}

/* Inline consolidated metadata of the root as zarr-python writes them. */
static inline void consolidate(struct geo_store *s, const char *const *paths, size_t n)
{
    zs_json *root = document(s, "zarr.json");
    zs_json *c = zs_json_add_object(root, "consolidated_metadata");
    zs_json_add_string(c, "kind", "inline");
    zs_json_add_bool(c, "must_understand", false);
    zs_json *metadata = zs_json_add_object(c, "metadata");
    for (size_t i = 0; i < n; i++) {
        char *key = zs_format("%s/zarr.json", paths[i]);
        zs_json_add(metadata, paths[i], document(s, key));
        free(key);
    }
    char *text = zs_json_print(root);
    zs_json_free(root);
    put(s, "zarr.json", text, strlen(text));
    free(text);
}

#endif
