/* zarr/draft.h: stores of the draft of Zarr v3 that GDAL 3.4 to 3.7, and zarr-python 2.13 to 2.18 with
 * ZARR_V3_EXPERIMENTAL_API=1, wrote from 2021 to 2024, before there was a codec for sharding. Arrays of zarr-python may
 * have the sharding storage transformer.
 *
 *   zarr.json                       zarr_format is a URL
 *   meta/root/g.group.json          a group: attributes; often left out
 *   meta/root/g/a.array.json        an array; where the root is an array, meta/root.array.json
 *   data/root/g/a/c0/3              its chunks, or its shards
 *
 * A store before such a one shows it as the final specification has it, the only one in the rest of the driver: the
 * storage transformer becomes sharding_indexed, the memory layout F a transpose, the compressor a codec. It is only
 * read, and lists nodes, but no chunks. Arrays with filters of numcodecs cannot be opened. */
#pragma once

#include "store/store.h"
#include "zarr/node.h"

/* In the URL that zarr_format is. */
#define ZS_DRAFT_FORMAT "purl.org/zarr/spec/protocol/core/3.0"

/* Whether a zarr.json is the entry point of a store of the draft. */
bool zs_draft_is_entry(const zs_json *document);

/* Makes a store before one of the draft, which stays the caller's, with this zarr.json. ZS_UNSUPPORTED for metadata
 * that are not JSON and for extensions that must be understood. A node that cannot be translated cannot be opened, with
 * the reason in the message. */
enum zs_status zs_draft_open(struct zs_store *draft, const zs_json *entry, struct zs_store **store,
                             struct zs_error *err);
