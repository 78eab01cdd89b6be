/* zarr/draft.h: stores of the draft of Zarr v3 that GDAL 3.4 to 3.7, and zarr-python 2.13 to 2.18 with
 * ZARR_V3_EXPERIMENTAL_API=1, wrote from 2021 to 2024, before there was a codec for sharding. Arrays of zarr-python may
 * have the sharding storage transformer.
 *
 *   zarr.json                       zarr_format is a URL; metadata_key_suffix ends the other documents' names
 *   meta/root/g.group.json          a group: attributes; often left out
 *   meta/root/g/a.array.json        an array; where the root is an array, meta/root.array.json
 *   data/root/g/a/c0/3              its chunks, or its shards
 *
 * Documents are translated to the final specification, the only one in the rest of the driver: the storage
 * transformer to sharding_indexed, the memory layout F to a transpose, the compressor and numcodecs' filters to codecs.
 * Such stores are only read. */
#pragma once

#include "store/store.h"
#include "zarr/node.h"

/* Longest metadata_key_suffix; all known writers use ".json". */
#define ZS_DRAFT_MAX_SUFFIX 32
/* In the URL that zarr_format is. */
#define ZS_DRAFT_FORMAT "purl.org/zarr/spec/protocol/core/3.0"

struct zs_draft {
    char suffix[ZS_DRAFT_MAX_SUFFIX + 1];
};

/* Whether a zarr.json is the entry point of a store of the draft. */
bool zs_draft_is_entry(const zs_json *document);

/* Parses the entry point (the root's zarr.json). ZS_UNSUPPORTED for metadata that are not JSON and for extensions that
 * must be understood, ZS_INVALID for a suffix that cannot end a name. */
enum zs_status zs_draft_parse(const zs_json *entry, struct zs_draft *draft, struct zs_error *err);

/* Reads the node at a clean path (name.h), with two requests at most. ZS_NOT_FOUND when there is no document. An array
 * that cannot be read is a node all the same, as in zs_node_create(). */
enum zs_status zs_draft_load(const struct zs_draft *draft, struct zs_store *store, const char *path,
                             struct zs_node **node, struct zs_error *err);

/* Lists, like zs_store_list(), the names of possible nodes directly below a path: sorted, each once, with "/" at the
 * end. */
enum zs_status zs_draft_list(const struct zs_draft *draft, struct zs_store *store, const char *path, char ***names,
                             struct zs_error *err);
