#include "codec/terms.h"

#include <string.h>

#include "codec/bytes.h"
#include "codec/codec.h"
#include "zarr/extension.h"

/* One list of codecs. Returns that of a shard's chunks; NULL where there are none. */
static const zs_json *read_list(const zs_json *codecs, const struct zs_array_meta *meta, struct zs_terms *terms)
{
    size_t compressors = 0;
    const zs_json *inner = NULL;
    for (const zs_json *c = zs_json_first(codecs); c != NULL && inner == NULL; c = zs_json_next(c)) {
        const zs_json *configuration;
        const struct zs_codec *codec;
        const char *name = zs_extension_name(c, &configuration);
        if (name == NULL || zs_codec_find(name, &codec, NULL) != ZS_OK) {
            terms->is_all = false;
        } else if (codec->kind == ZS_BYTES_TO_BYTES) {
            terms->compressor = compressors++ == 0 ? c : NULL;
        } else if (codec->arrange != NULL) {
            inner = codec->kind == ZS_ARRAY_TO_BYTES ? zs_json_get(configuration, "codecs") : NULL;
        } else if (strcmp(codec->name, "bytes") == 0) {
            terms->has_endian = meta->dtype.swap_unit > 1 && meta->dtype.small == NULL &&
                                zs_endian_parse(configuration, &terms->is_big_endian, NULL) == ZS_OK;
        } else {
            terms->is_all = false;
        }
    }
    terms->is_all = terms->is_all && (inner != NULL || compressors < 2);
    return inner;
}

void zs_terms_find(const struct zs_array_meta *meta, struct zs_terms *terms)
{
    *terms = (struct zs_terms){.is_all = true};
    for (const zs_json *list = meta->codecs; list != NULL;)
        list = read_list(list, meta, terms);
}
