/* store/uploads.h: objects on their way to a remote store, several at once, beside the caller's work. For stores that
 * nobody looks at before they are complete: see zs_store_overlap(). What is under way is read here, and for a while
 * after, from the local file that was sent. */
#ifndef ZS_STORE_UPLOADS_H
#define ZS_STORE_UPLOADS_H

#include "store/store.h"

struct zs_uploads;

enum zs_status zs_uploads_create(struct zs_uploads **uploads, struct zs_error *err) ZS_MUST_CHECK;
/* Waits for all of them. Nobody may have an object of zs_uploads_open() any more. NULL is allowed. */
void zs_uploads_free(struct zs_uploads *uploads);

/* Sends what was written, and takes the writer over, also on failure. Waits while too many or too large ones are under
 * way, and for an older one of that key. Once one failed, so does this, and nothing more is sent. */
enum zs_status zs_uploads_send(struct zs_uploads *uploads, const char *key, struct zs_writer *writer,
                               struct zs_error *err) ZS_MUST_CHECK;

/* Waits for all that was sent so far: the first failure of any, from then on. */
enum zs_status zs_uploads_settle(struct zs_uploads *uploads, struct zs_error *err) ZS_MUST_CHECK;

/* Whether bytes that were sent under that key are still here, and an object that reads them: *object is NULL where they
 * are not. */
bool zs_uploads_has(struct zs_uploads *uploads, const char *key);
enum zs_status zs_uploads_open(struct zs_uploads *uploads, const char *key, struct zs_object **object,
                               struct zs_error *err) ZS_MUST_CHECK;

/* Waits for that key, and lets go of its bytes. */
void zs_uploads_forget(struct zs_uploads *uploads, const char *key);

#endif
