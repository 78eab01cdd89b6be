/* validate/validate.h: checks whether a store agrees with its metadata: documents, consolidated metadata, levels that
 * are listed, shard indexes, every chunk, and what belongs to nothing. A program over the rooms, and the library that
 * it is made of.
 *
 * Readers look at what they are asked for, and pass over much that is odd. This looks at everything, and reports what
 * another reader, or this one at another window, would stumble over. Nothing is changed. What it cannot find: bytes
 * that were changed and still decode where neither the codecs nor the chunks carry a checksum (blosc, zstd by default,
 * raw bytes). */
#pragma once

#include "base/status.h"

enum zs_severity {
    ZS_SEVERITY_NOTE,      /* as it may be, and good to know: dead bytes */
    ZS_SEVERITY_WARNING,   /* odd, or in the way; pixels and metadata read as they should */
    /* could not be looked at: refused, of a kind that this build does not handle, too large for the budget */
    ZS_SEVERITY_UNCHECKED,
    ZS_SEVERITY_ERROR      /* against the specification or a convention, or contradicts something else in the store */
};

struct zs_validate_options {
    uint64_t memory;    /* bytes for encoded and decoded chunks. A chunk of more is not checked */
    bool metadata_only; /* documents alone */
    bool is_quiet;      /* notes and the summary are not printed */
};

/* Checks the store at `path` (any GDAL virtual file system path), and prints a line for each finding, and a summary.
 * Returns the exit code for scripts: 1 when there are errors (that there is no store is one), else 2 when something
 * could not be checked, else 0. Warnings do not count. */
int zs_validate(const char *path, const struct zs_validate_options *options);
