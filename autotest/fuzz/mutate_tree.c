/* mutate_tree.c: how libFuzzer changes a store: mostly one value of one zarr.json, by one that such documents have, so
 * that what it makes is JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tree.h"
#include "zarr/json.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static const char *const values[] = {
    "0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "8",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "0.5",
    "NaN",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[1]",
    "[0,0]",
    "[2,2]",
    "[4,4]",
    "[1,0]",
    "\"\"",
    "\".\"",
    "\"..\"",
    "\"../bait\"",
    "\"/vsimem/fuzz/bait\"",
    "\"../../ovr_2x\"",
    "\"zarr.json\"",
    "\"a/b\"",
    "\"c\"",
    "\"x\"",
    "\"y\"",
    "\"band\"",
    "\"time\"",
    "\"data\"",
    "\"ovr_2x\"",
    "\"spatial_ref\"",
    "\"NaN\"",
    "\"Infinity\"",
    "\"0x7fc00000\"",
    "\"bytes\"",
    "\"gzip\"",
    "\"zstd\"",
    "\"blosc\"",
    "\"crc32c\"",
    "\"transpose\"",
    "\"start\"",
    "\"end\"",
    "\"big\"",
    "\"uint8\"",
    "\"int64\"",
    "\"float32\"",
    "\"complex64\"",
    "\"r16\"",
    "\"string\"",
    "\"array\"",
    "\"group\"",
    "\"EPSG:4326\"",
    "\"seconds since 1970-01-01\"",
    "\"degrees_east\"",
    "\"http://127.0.0.1:9/a\"",
    "\"/vsicurl/http://127.0.0.1:9/a\"",
    "\"C:\"",
    "\"__x\"",
    "\"F\"",
    "\"<i2\"",
    "\">f8\"",
    "\"<M8[10us]\"",
    "\"<U4\"",
    "\"|O\"",
    "\".json\"",
    "\"g\"",
    "\"g/a\"",
    "\"g/n\"",
    "\"../x\"",
};
enum { VALUES = sizeof values / sizeof values[0] };

static unsigned state;

static unsigned below(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return n > 0 ? (state >> 8) % n : 0;
}

static unsigned count_nodes(const zs_json *node)
{
    unsigned n = 1;
    for (const zs_json *c = zs_json_first(node); c != NULL; c = zs_json_next(c))
        n += count_nodes(c);
    return n;
}

static const zs_json *node_number(const zs_json *node, unsigned *number)
{
    if ((*number)-- == 0)
        return node;
    for (const zs_json *c = zs_json_first(node); c != NULL; c = zs_json_next(c)) {
        const zs_json *found = node_number(c, number);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* A copy of `node` in which `target` is left out, doubled, or is another value. */
static zs_json *changed_copy(const zs_json *root, const zs_json *node, const zs_json *target)
{
    const bool is_object = zs_json_is_object(node);
    if (!is_object && !zs_json_is_array(node))
        return zs_json_copy(node);
    zs_json *copy = is_object ? zs_json_new_object() : zs_json_new_array();
    for (const zs_json *c = zs_json_first(node); c != NULL; c = zs_json_next(c)) {
        const char *name = is_object ? zs_json_name(c) : NULL;
        if (c != target) {
            (void)zs_json_add(copy, name, changed_copy(root, c, target));
            continue;
        }
        unsigned number = below(count_nodes(root));
        switch (below(8)) {
        case 0: /* left out */
            break;
        case 1: /* twice */
            (void)zs_json_add(copy, name, zs_json_copy(c));
            (void)zs_json_add(copy, name, zs_json_copy(c));
            break;
        case 2: /* by another of the same document */
        case 3:
            (void)zs_json_add(copy, name, zs_json_copy(node_number(root, &number)));
            break;
        case 4: /* under another name */
            (void)zs_json_add_raw(copy, is_object ? "renamed" : NULL, values[below(VALUES)]);
            break;
        default:
            (void)zs_json_add_raw(copy, name, values[below(VALUES)]);
        }
    }
    return copy;
}

static char *changed_document(const struct tree_file *f)
{
    zs_json *root;
    if (zs_json_parse((const char *)f->data, f->size, &root, NULL) != ZS_OK)
        return NULL;
    unsigned number = 1 + below(count_nodes(root) - 1);
    const zs_json *target = node_number(root, &number);
    zs_json *copy = target != NULL ? changed_copy(root, root, target) : NULL;
    char *text = copy != NULL ? zs_json_print(copy) : NULL;
    zs_json_free(copy);
    zs_json_free(root);
    return text;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct tree tree;
    state = seed;
    tree_parse(data, size, &tree);
    if (tree.count == 0 || below(8) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t chosen = below((unsigned)tree.count);
    char *text = changed_document(&tree.files[chosen]);
    if (text == NULL) /* a chunk, or no JSON any more */
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t length = strlen(text), before = (size_t)(tree.files[chosen].data - data),
                 after = before + tree.files[chosen].size;
    size_t total = before + length + (size - after);
    if (total <= max_size) {
        memmove(data + before + length, data + after, size - after);
        memcpy(data + before, text, length);
    } else {
        total = LLVMFuzzerMutate(data, size, max_size);
    }
    free(text);
    return total;
}
