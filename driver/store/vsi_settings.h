/* store/vsi_settings.h: GDAL's error state, settings and names, for whoever calls into it here. */
#ifndef ZS_STORE_VSI_SETTINGS_H
#define ZS_STORE_VSI_SETTINGS_H

#include "store/names.h"

/* GDAL's error state and settings around our calls into it: nothing is printed, and no error is left behind. */
struct zs_vsi_quiet {
    int type, number;
    char *message;
    bool readdir_set; /* a thread-local setting to take back */
};
void zs_vsi_quiet_begin(struct zs_vsi_quiet *q, const struct zs_store *store);
void zs_vsi_quiet_end(struct zs_vsi_quiet *q);

/* Why the last call failed, as far as GDAL says it, without what zs_text_shown() leaves out. Valid until the next calls
 * into GDAL. */
const char *zs_vsi_reason(void);

/* From now on threads of base/parallel.h have the thread-local settings of the one that asked. */
void zs_vsi_hand_down_settings(void);

/* What GDAL was told for this path or for all: GDAL_HTTP_HEADERS and the like. NULL when nothing; borrowed, for now. */
const char *zs_vsi_option(const char *path, const char *name);

#endif
