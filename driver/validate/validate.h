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

/* The texts are valid during the call. */
struct zs_finding {
    enum zs_severity severity;
    /* key of the object in the store, the chunk in it: "red/c/0/1, inner chunk [2,3]"; "" is the store itself */
    const char *where;
    const char *what;     /* the member, entry or bytes, and what is the matter */
    const char *expected; /* NULL, together with `found`, where `what` is enough */
    const char *found;
};

struct zs_validate_options {
    int threads;        /* that decode; 0: one per processor */
    uint64_t memory;    /* bytes for encoded and decoded chunks; 0: 1 GiB. A chunk of more is not checked */
    bool metadata_only; /* documents alone */

    /* Called by one thread at a time, though not always the same one. Either may be NULL. */
    void (*report)(void *ctx, const struct zs_finding *finding);
    bool (*progress)(void *ctx, double done); /* 0 to 1, while chunks are checked; false asks to stop */
    void *ctx;
};

struct zs_validate_summary {
    uint64_t errors, warnings, unchecked; /* findings by severity; notes are not counted */
    uint64_t groups, arrays;              /* that have a zarr.json */
    uint64_t objects, chunks;             /* stored objects read; innermost chunks decoded */
    uint64_t bytes;                       /* that these chunks have decoded */
    uint64_t dead_bytes;                  /* in shards, of no index and of no chunk that one names */
};

/* Checks the store at `path` (any GDAL virtual file system path). ZS_OK when all was gone through, whatever was found;
 * that there is no store is an error that was found. Else what was in the way: ZS_IO, ZS_CANCELLED, ZS_NO_MEMORY;
 * *summary then counts what was checked until then. */
enum zs_status zs_validate(const char *path, const struct zs_validate_options *options,
                           struct zs_validate_summary *summary, struct zs_error *err);

/* A finding and a summary as a line of text for people, with `store` in front of the key, without its end of line; NULL
 * without memory, freed with free(). Control characters, which names may hold, are shown as "?", and so is what is not
 * UTF-8. */
char *zs_finding_text(const struct zs_finding *finding, const char *store);
char *zs_validate_summary_text(const struct zs_validate_summary *summary, const char *store);

/* Shows progress (0 to 1) to who sits at a terminal, in stderr: stdout has findings alone. *shown is the percentage
 * that is shown, -1 at first. */
void zs_validate_show_progress(double done, int *shown);

/* The exit code for scripts: 1 when there are errors, else 2 when something could not be checked, else 0. Warnings do
 * not count. */
int zs_validate_exit_code(const struct zs_validate_summary *summary);
