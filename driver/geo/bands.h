/* geo/bands.h: what the bands of one array mean, where they differ. Arrays of (band, y, x) are one array with one set
 * of attributes, GDAL's bands each have their own description, scale, colours ... So:
 *
 *   - what is common to all bands is in the array's attributes, as zs_write_band_properties() puts it there;
 *   - what differs is in the attribute `gdal:bands`: a list of one object per band, slowest dimension first where
 *     several were flattened to bands, empty where the band has nothing of its own. Members: description, unit, scale,
 *     offset, nodata (as `fill_value` is written), categories (list of names by value), color_interpretation (GDAL's
 *     name), color_table (list of [r, g, b, a]), each null where the band has none though the array has one; metadata
 *     (object of strings), metadata_domains (band_properties.h). Along an only dimension of bands the list may be
 *     shorter than that: who makes an array longer need not know of it;
 *   - `long_name` as a list of names is rioxarray's way to describe bands: read, and written when all bands have one.
 */
#pragma once

#include "geo/axes.h"
#include "geo/band_properties.h"

#define ZS_BANDS_ATTRIBUTE "gdal:bands"

/* Attribute `name` where it is a list of `bands` elements; NULL otherwise. Borrowed. */
const zs_json *zs_list_of_bands(const zs_json *attributes, const char *name, uint64_t bands);

/* Reads the properties of bands [first, first + count), of `bands` in all, into list[count]: walks the lists once.
 * `base` is what zs_band_properties_read() gave for the array: it holds for a band that has nothing of its own, but for
 * description, metadata and domains, which are the band's own or NULL (those of the array speak of the whole). Odd
 * members are ignored, and so is a list longer than `bands`, which belongs to other bands.
 * ZS_NO_MEMORY only, and then nothing is held. Release each with zs_band_properties_clear(). */
enum zs_status zs_bands_read_some(const struct zs_node *node, uint64_t first, uint64_t count, uint64_t bands,
                                  const struct zs_band_properties *base, struct zs_band_properties *list,
                                  struct zs_error *err);

/* Like zs_bands_read_some(), for all bands: a list of `bands` elements, freed with zs_bands_free(). */
enum zs_status zs_bands_read(const struct zs_node *node, uint64_t bands, const struct zs_band_properties *base,
                             struct zs_band_properties **list, struct zs_error *err);
void zs_bands_free(struct zs_band_properties *list, uint64_t bands);

/* Writes properties `which` of all bands into the attributes of their array of type `dtype`. A property that is the
 * same for all bands becomes the array's own attribute; scale and offset go together, as readers of CF take them. Where
 * bands differ, the array's attribute stays, for readers that do not know gdal:bands, and a band's entry has what
 * differs from it. Descriptions, where all bands have one, become long_name (a list, or a name for one band), unless
 * that is already a name of the whole array. Metadata of bands are always in their entries; the array's own metadata
 * are zs_write_band_properties()'s. Nodata: only values that differ between bands are written here; one for all is
 * zs_write_nodata()'s. is_new: the array does not exist yet; `meta` is NULL, and each nodata value goes into its band's
 * entry unless all are the same. ZS_INVALID where gdal:bands belongs to another program. */
enum zs_status zs_bands_write(zs_json *attributes, const struct zs_dtype *dtype, const struct zs_array_meta *meta,
                              bool is_new, const struct zs_band_properties *bands, size_t count, unsigned which,
                              struct zs_error *err);

/* Removes GDAL's statistics (STATISTICS_MINIMUM ...) from attributes of an array: its own and those of its bands. */
void zs_remove_statistics(zs_json *attributes);

/* ---- Lists of a group, and lists that grow The attribute gdal:bands of a group names its arrays in the
 * order of bands, each an object with a `name`, or that name alone ---- */

/* Most slices with an element each in the two lists: together half of the values of a document (ZS_JSON_MAX_VALUES). */
#define ZS_MOST_LISTED_SLICES ((uint64_t)1 << 20)

/* Position of a name in the list; SIZE_MAX where the list lacks it or is absent. */
size_t zs_band_list_position(const zs_json *attributes, const char *name);

/* ZS_NO_MEMORY only. */
enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n, struct zs_error *err);

/* Grows an array to `shape` (no size may shrink; zs_array_update_document()), and in the same change the lists in its
 * attributes with an element for each slice along X and Y (gdal:bands, a list as long_name): elements stay with their
 * slices, new slices get an empty one. Lists of another length stay. ZS_UNSUPPORTED where a list would exceed
 * ZS_MOST_LISTED_SLICES elements. On failure nothing is changed. */
enum zs_status zs_array_grow(struct zs_hierarchy *hierarchy, const struct zs_node *node, const uint64_t *shape,
                             struct zs_error *err);
/* Makes a copy of attributes with the lists grown, freed with zs_json_free(); *grown is NULL where nothing changes.
 * Sizes `from` and `to` are of all ndim dimensions. */
enum zs_status zs_band_lists_grow(const zs_json *attributes, int ndim, struct zs_axes axes, const uint64_t *from,
                                  const uint64_t *to, zs_json **grown, struct zs_error *err);
