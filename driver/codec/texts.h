/* codec/texts.h: arrays of text as arrays of pointers. An element in memory is a `const unsigned char *` to what is
 * stored of a text: dtype.text_size bytes, code points of UTF-32 as little-endian uint32; or, of texts of any length,
 * a little-endian uint32 and as many bytes of UTF-8. So elements of any length are copied, merged and compared with
 * the fill value as others are; only these codecs, and who makes texts of them (array/strings.c), follow the pointer.
 * An element that equals the fill value is that pointer. */
#pragma once

#include "base/checked.h"
#include "codec/codec.h"

/* Bytes that are stored of a text. */
static inline size_t zs_text_stored_size(const struct zs_dtype *dtype, const unsigned char *stored)
{
    return dtype->text_size != 0 ? dtype->text_size : 4 + (size_t)zs_load_le32(stored);
}

/* Whether two texts of an array are stored alike. */
bool zs_text_equals(const struct zs_dtype *dtype, const unsigned char *a, const unsigned char *b);

/* Sets *codec to the one that encodes texts under the same name; transposes, shards and codecs of bytes stay.
 * ZS_UNSUPPORTED for codecs of numbers, ZS_INVALID for one that is not of this type of text. */
enum zs_status zs_codec_of_texts(const struct zs_dtype *dtype, const struct zs_codec **codec, struct zs_error *err);

/* What elements of decoded chunks point to. NULL without memory; freed with free() after zs_texts_drop(). */
struct zs_kept_texts *zs_kept_texts_create(void);
/* Takes over the memory of `bytes`. Thread-safe. */
enum zs_status zs_texts_keep(struct zs_kept_texts *kept, struct zs_buffer *bytes, struct zs_error *err);
/* Frees all; no such element is used any more. NULL is allowed. */
void zs_texts_drop(struct zs_kept_texts *kept);
