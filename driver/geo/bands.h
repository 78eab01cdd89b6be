/* geo/bands.h: what the bands of one array mean, where they differ. Arrays of (band, y, x) are one array with one set
 * of attributes, GDAL's bands each have their own description, scale, colours ... So:
 *
 *   - what is common to all bands is in the array's attributes, as zs_write_meaning() puts it there;
 *   - what differs is in the attribute `gdal:bands`: a list of one object per band, slowest dimension first where
 * several were flattened to bands, empty where the band has nothing of its own. Members: description, unit, scale,
 * offset, nodata (as `fill_value` is written; null: the band has none), categories (list of names by value),
 *     color_interpretation (GDAL's name), color_table (list of [r, g, b, a]), metadata (object of strings),
 * metadata_domains (domains.h);
 *   - `long_name` as a list of names is rioxarray's way to describe bands: read, and written when all bands have one.
 */
#ifndef ZS_GEO_BANDS_H
#define ZS_GEO_BANDS_H

#include "geo/meaning.h"

#define ZS_BANDS_ATTRIBUTE "gdal:bands"

/* Reads what band number `band` (from 0, of `bands` in all) means. `base` is what zs_meaning_read() gave for the array;
 * the result has it all, but for the description, metadata and domains, with the band's own in its place; its
 * description, metadata and domains are the band's own alone, NULL when it has none (those of the array speak of the
 * whole). Members that are odd are passed over, and a list of another length than `bands` is not for these bands.
 * ZS_NO_MEMORY only. Release with zs_meaning_clear(). */
enum zs_status zs_band_meaning_read(const struct zs_node *node, uint64_t band, uint64_t bands,
                                    const struct zs_meaning *base, struct zs_meaning *meaning,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Writes what `count` bands mean into the attributes of their array (of type `dtype`), common and different sorted out
 * here, replacing what is there of that kind. The array's own description and metadata are another matter: they are
 * left as they are (zs_write_meaning() of a meaning with only these writes them), unless all bands have a description,
 * which becomes long_name (a list, or one name for one band). Metadata of bands are always theirs alone. Nodata: only
 * what differs between bands is written here; the array's is zs_write_nodata()'s, the same for all. */
enum zs_status zs_write_band_meanings(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_meaning *bands,
                                      size_t count, struct zs_error *err) ZS_MUST_CHECK;

/* Whether the attributes of an array have statistics of GDAL's (STATISTICS_MINIMUM ...), of it or of one of its bands;
 * and taking these away. */
bool zs_has_statistics(const zs_json *attributes);
void zs_remove_statistics(zs_json *attributes);

#endif
