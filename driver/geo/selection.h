/* geo/selection.h: which elements of a dimension are read, named by an index or a value of its coordinate variable. */
#ifndef ZS_GEO_SELECTION_H
#define ZS_GEO_SELECTION_H

#include "geo/axes.h"

enum zs_selection_kind { ZS_SELECT_ALL, ZS_SELECT_ONE, ZS_SELECT_RANGE };

/* The selected elements of one dimension. */
struct zs_selection {
    enum zs_selection_kind kind;
    uint64_t first, count; /* elements; count is 1 of one, at least 1 of a range, and ignored for all */
};

/* The one element of dimension `dim` whose value is `text`, after the type of the coordinate variable:
 * - a time in ISO 8601, which may be shortened ("2026-05-01", "2026-05-01T00") to what but one element lies in;
 * - a number: 850, 850.0 and 8.5e2 are the same;
 * - a text, exactly.
 * Where several elements are meant, the one whose label (zs_labels_read()) is `text`, if one is. In a dimension without
 * a coordinate variable: an index. Reads the coordinate variable, if there is one. ZS_ARGUMENT when no element is
 * meant (names the two nearest), or several (says how many and names the first), or the variable cannot be read or is
 * longer than ZS_LABELS_MAX. */
enum zs_status zs_select_value(struct zs_hierarchy *h, const struct zs_node *node, int dim, const char *text,
                               struct zs_selection *selection, struct zs_error *err) ZS_MUST_CHECK;

/* Elements from one to another, both included; NULL is the first or the last. Ends that are whole numbers without a
 * sign are indices, whatever the coordinate variable says; else they are times as above, all of which is included
 * ("2026-05-07" ends with that day): both ends are of one kind. The variable is read for times alone, which must be in
 * increasing order. ZS_ARGUMENT for ends that are reversed, outside of the dimension, of two kinds or of neither, and
 * where no element lies between them. */
enum zs_status zs_select_range(struct zs_hierarchy *h, const struct zs_node *node, int dim, const char *from,
                               const char *to, struct zs_selection *selection, struct zs_error *err) ZS_MUST_CHECK;

#endif
