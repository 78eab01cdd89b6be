/* tree.h: a store as one fuzz input: files one after another, each "@@PATH", a newline, its bytes up to the next
 * newline and "@@". Text, so that a fuzzer and a person can both change it. */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include "fuzz.h"

#define TREE_FILES 24
#define TREE_PATH 120

/* Borrowed from the input. */
struct tree_file {
    char path[TREE_PATH]; /* relative, of harmless names: what leads outside must come from the documents */
    const uint8_t *data;
    size_t size;
};
struct tree {
    struct tree_file files[TREE_FILES];
    size_t count;
};

/* Splits an input; files of unusable paths, and those beyond the limit, are left out. */
void tree_parse(const uint8_t *data, size_t size, struct tree *tree);

#endif
