/* store/vsi_private.h: what vsi.c and vsi_write.c share. */
#ifndef ZS_STORE_VSI_PRIVATE_H
#define ZS_STORE_VSI_PRIVATE_H

#include "store/place.h"
#include "store/vsi.h"
#include "store/vsi_settings.h"

struct vsi_store {
    struct zs_store base;
    struct zs_scatter place;
    char *path; /* base.path */
};

/* vsi_write.c: the writing half of the table of operations. */
enum zs_status zs_vsi_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                             struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_vsi_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_vsi_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                            struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_vsi_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data,
                                struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_vsi_commit(struct zs_writer *writer, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_vsi_send(struct zs_writer *writer, struct zs_error *err) ZS_MUST_CHECK;
void zs_vsi_abort(struct zs_writer *writer);

/* vsi_list.c */
enum zs_status zs_vsi_list(struct zs_store *store, const char *prefix, char ***names,
                           struct zs_error *err) ZS_MUST_CHECK;

#endif
