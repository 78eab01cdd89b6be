/* Merging what two sessions changed of one object. */

#include "zarr/json.h"

/* A value on each side; NULL: the side has none. */
struct sides {
    const zs_json *before, *mine, *now;
};

static bool merge_any(struct sides s, zs_json **merged);

/* Whether an object has a type and parts: it is one value (PROJJSON, GeoJSON, a transformation), and half of one with
 * half of another is neither. Lists of names and texts, which have no parts, may have a "type". */
static bool is_whole(const zs_json *object)
{
    const char *type;
    bool has_parts = false;
    for (const zs_json *m = zs_json_first(object); m != NULL && !has_parts; m = zs_json_next(m))
        has_parts = zs_json_is_object(m) || zs_json_is_array(m);
    return has_parts && zs_json_string(zs_json_get(object, "type"), &type);
}

static bool is_mixable(const zs_json *value)
{
    return zs_json_is_object(value) && !is_whole(value);
}

/* Adds the merged value, unless it is removed. `name` is NULL in a list. */
static bool add_merged(zs_json *parent, const char *name, struct sides s)
{
    zs_json *value;
    return merge_any(s, &value) && (value == NULL || zs_json_add(parent, name, value) != NULL);
}

/* Returns what was built, or frees it. */
static bool done(zs_json *built, bool ok, zs_json **merged)
{
    if (!ok)
        zs_json_free(built);
    *merged = ok ? built : NULL;
    return ok;
}

/* ---- Objects ---- */

static bool merge_members(struct sides s, zs_json **merged)
{
    zs_json *object = zs_json_new_object();
    bool ok = object != NULL;
    for (const zs_json *m = zs_json_first(s.now); m != NULL && ok; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        ok = add_merged(object, name, (struct sides){zs_json_get(s.before, name), zs_json_get(s.mine, name), m});
    }
    for (const zs_json *m = zs_json_first(s.mine); m != NULL && ok; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if (zs_json_get(s.now, name) == NULL)
            ok = add_merged(object, name, (struct sides){zs_json_get(s.before, name), m, NULL});
    }
    return done(object, ok, merged);
}

/* ---- Lists of objects, and of texts ---- */

/* Members that identify elements of a list: levels of a pyramid, conventions. */
static const char *const keys[] = {"asset", "path", "uuid", "id"};

/* Whether all elements of a list are objects, and each has the key, or with NULL none has any. */
static bool have_key(const zs_json *list, const char *key)
{
    const char *text;
    for (const zs_json *e = zs_json_first(list); e != NULL; e = zs_json_next(e)) {
        if (!zs_json_is_object(e) || (key != NULL && !zs_json_string(zs_json_get(e, key), &text)))
            return false;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0] && key == NULL; k++)
            if (zs_json_get(e, keys[k]) != NULL)
                return false;
    }
    return true;
}

static const zs_json *find_element(const zs_json *list, const char *key, const zs_json *like)
{
    const zs_json *e = zs_json_first(list);
    while (e != NULL && !zs_json_is_same(zs_json_get(e, key), zs_json_get(like, key)))
        e = zs_json_next(e);
    return e;
}

static bool merge_by_key(struct sides s, const char *key, zs_json **merged)
{
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (const zs_json *e = zs_json_first(s.now); e != NULL && ok; e = zs_json_next(e))
        ok = add_merged(list, NULL, (struct sides){find_element(s.before, key, e), find_element(s.mine, key, e), e});
    for (const zs_json *e = zs_json_first(s.mine); e != NULL && ok; e = zs_json_next(e))
        if (find_element(s.now, key, e) == NULL)
            ok = add_merged(list, NULL, (struct sides){find_element(s.before, key, e), e, NULL});
    return done(list, ok, merged);
}

/* Merges lists of one length, element by element; a missing list counts as as many empty objects. */
static bool merge_by_index(struct sides s, zs_json **merged)
{
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    struct sides e = {zs_json_first(s.before), zs_json_first(s.mine), zs_json_first(s.now)};
    while ((e.mine != NULL || e.now != NULL) && ok) {
        const size_t count = zs_json_size(list);
        ok = add_merged(list, NULL, e) && (zs_json_size(list) > count || zs_json_add_object(list, NULL) != NULL);
        e = (struct sides){zs_json_next(e.before), zs_json_next(e.mine), zs_json_next(e.now)};
    }
    return done(list, ok, merged);
}

/* The key that identifies elements in the lists of all sides; NULL: none. */
static const char *common_key(struct sides s)
{
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (have_key(s.before, keys[k]) && have_key(s.mine, keys[k]) && have_key(s.now, keys[k]))
            return keys[k];
    return NULL;
}

/* Whether all elements of a list are texts: names, of bands for example. Numbers may belong together, as those of a
 * transform do. */
static bool are_texts(const zs_json *list)
{
    const char *text;
    const zs_json *e = zs_json_first(list);
    while (e != NULL && zs_json_string(e, &text))
        e = zs_json_next(e);
    return e == NULL;
}

/* Whether lists are merged element by element: of objects that no key identifies, or, where no side lacks it, of
 * texts. */
static bool are_of_one_length(struct sides s)
{
    const size_t n = zs_json_size(s.now != NULL ? s.now : s.mine);
    const zs_json *list[] = {s.before, s.mine, s.now};
    bool are_objects = true, have_texts = true;
    for (size_t i = 0; i < 3; i++) {
        if (list[i] != NULL && zs_json_size(list[i]) != n)
            return false;
        are_objects = are_objects && (list[i] == NULL || have_key(list[i], NULL));
        have_texts = have_texts && list[i] != NULL && are_texts(list[i]);
    }
    return are_objects || have_texts;
}

/* ---- The rule ---- */

static bool are_all(bool (*is)(const zs_json *), struct sides s)
{
    return (s.before == NULL || is(s.before)) && (s.mine == NULL || is(s.mine)) && (s.now == NULL || is(s.now));
}

/* Merges a value that both sides changed. */
static bool merge_both(struct sides s, zs_json **merged)
{
    if (are_all(is_mixable, s))
        return merge_members(s, merged);
    const bool are_lists = are_all(zs_json_is_array, s);
    const char *key = are_lists && s.mine != NULL && s.now != NULL ? common_key(s) : NULL;
    if (key != NULL)
        return merge_by_key(s, key, merged);
    if (are_lists && are_of_one_length(s))
        return merge_by_index(s, merged);
    *merged = s.mine != NULL ? zs_json_copy(s.mine) : NULL;
    return s.mine == NULL || *merged != NULL;
}

/* Whether nothing is in an object, or in those of a list. */
static bool is_empty(const zs_json *value)
{
    for (const zs_json *c = zs_json_first(value); c != NULL; c = zs_json_next(c))
        if (zs_json_is_object(value) || !zs_json_is_object(c) || zs_json_size(c) > 0)
            return false;
    return zs_json_is_object(value) || zs_json_is_array(value);
}

/* *merged is NULL where there is to be nothing. Returns false without memory. */
static bool merge_any(struct sides s, zs_json **merged)
{
    const bool is_kept = zs_json_is_same(s.mine, s.before) || zs_json_is_same(s.mine, s.now);
    const zs_json *chosen = is_kept ? s.now : s.mine;
    if (!is_kept && !zs_json_is_same(s.now, s.before)) {
        const bool ok = merge_both(s, merged);
        if ((s.mine == NULL || s.now == NULL) && is_empty(*merged)) { /* one side removed it, and nothing replaced it */
            zs_json_free(*merged);
            *merged = NULL;
        }
        return ok;
    }
    *merged = chosen != NULL ? zs_json_copy(chosen) : NULL;
    return chosen == NULL || *merged != NULL;
}

zs_json *zs_json_merge(const zs_json *before, const zs_json *mine, const zs_json *now)
{
    zs_json *merged;
    return merge_members((struct sides){before, mine, now}, &merged) ? merged : NULL;
}
