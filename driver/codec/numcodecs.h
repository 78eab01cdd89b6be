/* codec/numcodecs.h: what the codecs of the numcodecs library, as zarr-python names and configures them, have in
 * common. */
#ifndef ZS_CODEC_NUMCODECS_H
#define ZS_CODEC_NUMCODECS_H

#include "codec/codec.h"

/* Reads a data type as numpy or Zarr names it: "<i4", "|u1", "f8", "int32". Numbers only, not big-endian, which
 * numcodecs itself gets wrong. Where it is missing: `standard`, or ZS_INVALID when that is NULL. */
enum zs_status zs_numcodecs_dtype(const struct zs_codec *codec, const zs_json *configuration, const char *member,
                                  const struct zs_dtype *standard, struct zs_dtype *dtype,
                                  struct zs_error *err) ZS_MUST_CHECK;

/* The same for `dtype`, which must be what the codec receives. */
enum zs_status zs_numcodecs_check_input(const struct zs_stage *stage, const zs_json *configuration, const char *member,
                                        bool is_required, struct zs_error *err) ZS_MUST_CHECK;

#endif
