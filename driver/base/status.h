/* base/status.h: how every function of the core says what went wrong.
 *
 * A function that can fail returns an enum zs_status and takes, last, a struct zs_error owned by the caller. On
 * anything but ZS_OK the message says what, where, what was expected and what was found, in one sentence without a
 * final dot. The core never prints; gdal/ turns one error into one CPLError(). */
#pragma once

#include "shardedzarr.h" /* enum zs_status, struct zs_error: part of the public API */

#define ZS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets the message (cut at the capacity, never overflowing). `err` may be NULL. */
void zs_error_set(struct zs_error *err, const char *format, ...) ZS_PRINTF(2, 3);
/* Puts "context: " before the message already there, for a caller that has the file or the chunk. A path that
 * the message begins with is not repeated. */
void zs_error_prefix(struct zs_error *err, const char *format, ...) ZS_PRINTF(2, 3);

/* `return zs_fail(err, ZS_CORRUPT, "...")`: sets the message; the value is `status`. Macros, so that a compiler sees
 * that it is not ZS_OK. */
#define zs_fail(err, status, ...) (zs_error_set((err), __VA_ARGS__), (enum zs_status)(status))
#define zs_fail_in(err, status, ...) (zs_error_prefix((err), __VA_ARGS__), (enum zs_status)(status))

/* Fails for lack of memory. */
#define zs_fail_memory(err) zs_fail((err), ZS_NO_MEMORY, "not enough memory")

/* Returns from the enclosing function with the status of `expr` unless that is ZS_OK. */
#define ZS_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        const enum zs_status zs_try_status_ = (expr);                                                                  \
        if (zs_try_status_ != ZS_OK)                                                                                   \
            return zs_try_status_;                                                                                     \
    } while (0)

/* Returns ZS_NO_MEMORY from the enclosing function where `allocated` is NULL. */
#define ZS_TRY_MEMORY(allocated, err) ZS_TRY((allocated) != NULL ? ZS_OK : zs_fail_memory(err))
