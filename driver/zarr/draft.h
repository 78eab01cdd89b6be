/* zarr/draft.h: stores of the draft of Zarr v3 that was implemented from 2021 to 2024, before there was a codec for
 * sharding: by GDAL 3.4 to 3.7, and by zarr-python 2.13 to 2.18 with ZARR_V3_EXPERIMENTAL_API=1, whose arrays may have
 * the sharding storage transformer.
 *
 *   zarr.json                       zarr_format is a URL; metadata_key_suffix is that of the others
 *   meta/root/g.group.json          a group: attributes; often left out
 *   meta/root/g/a.array.json        an array; of the root, meta/root.array.json
 *   data/root/g/a/c0/3              its chunks, or its shards
 *
 * What is read is translated to the words of the specification that came after, and the rest of the driver knows no
 * other: the storage transformer as sharding_indexed, the memory layout F as a transpose, the compressor and numcodecs'
 * filters as codecs. Such stores are only read.
 */
#ifndef ZS_ZARR_DRAFT_H
#define ZS_ZARR_DRAFT_H

#include "store/store.h"
#include "zarr/node.h"

/* Longest metadata_key_suffix; everybody's is ".json". */
#define ZS_DRAFT_MAX_SUFFIX 32

struct zs_draft {
    char suffix[ZS_DRAFT_MAX_SUFFIX + 1];
};

/* Whether a zarr.json is the entry point of a store of the draft. */
bool zs_draft_is_entry(const zs_json *document);

/* The members of the entry point (the root's zarr.json). ZS_UNSUPPORTED for metadata that are no JSON and for
 * extensions that must be understood, ZS_INVALID for a suffix that cannot end a name. */
enum zs_status zs_draft_parse(const zs_json *entry, struct zs_draft *draft, struct zs_error *err) ZS_MUST_CHECK;

/* The node at a clean path (name.h): two requests at most. ZS_NOT_FOUND where there is no document. An array that
 * cannot be read is a node all the same, as in zs_node_create(). */
enum zs_status zs_draft_load(const struct zs_draft *draft, struct zs_store *store, const char *path,
                             struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;

/* Names of what may be nodes directly below a path, in order, each once and with a "/" behind it; else as
 * zs_store_list(). */
enum zs_status zs_draft_list(const struct zs_draft *draft, struct zs_store *store, const char *path, char ***names,
                             struct zs_error *err) ZS_MUST_CHECK;

/* Translates a document of an array to a zarr.json (draft_array.c); release it with zs_json_free(). Chunk keys are not
 * translated. ZS_INVALID or ZS_UNSUPPORTED with the member; members that both formats share are left to
 * zs_array_meta_parse(). */
enum zs_status zs_draft_array_document(const zs_json *draft, zs_json **document, struct zs_error *err) ZS_MUST_CHECK;

/* Whether the document of an array, readable or not, names the sharding storage transformer. */
bool zs_draft_is_sharded(const zs_json *draft);

/* Fails for an extension that must be understood: none is known. */
enum zs_status zs_draft_check_extensions(const zs_json *draft, struct zs_error *err) ZS_MUST_CHECK;

#endif
