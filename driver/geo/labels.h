/* geo/labels.h: elements of a coordinate variable as labels, numbers and times. Internal to the room. */
#pragma once

#include "geo/axes.h"
#include "geo/band_properties.h"
#include "geo/cf_time.h"

/* Longest text of an element, with its end. */
#define ZS_LABEL_SIZE 64

struct zs_label_source {
    const struct zs_dtype *dtype; /* borrowed from the node */
    void *elements; /* `count` of them, or NULL where the variable is of a kind that is not read */
    uint64_t count;
    bool is_time;
    struct zs_time_unit unit; /* where it is */
    struct zs_band_properties properties;
    bool masks;      /* properties.nodata marks missing elements */
    bool has_values; /* there are values, and not only what a store without its chunks looks like */
};

/* Reads elements [first, first + count) of the coordinate variable `coordinate`, which is of numbers or times: see
 * zs_labels_read(). Released with zs_label_source_clear(), on failure nothing is held. */
enum zs_status zs_label_source_read(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate, uint64_t first,
                                    uint64_t count, struct zs_label_source *source, struct zs_error *err);
void zs_label_source_clear(struct zs_label_source *source);

/* Whether the elements of a coordinate variable have labels: numbers, times, truths. */
bool zs_has_labels(const struct zs_node *coordinate);

/* The element at `index` as its label, as a number (NaN where it is missing), and as an instant, where it is one. */
void zs_label_print(const struct zs_label_source *source, uint64_t index, char *out, size_t capacity);
double zs_label_number(const struct zs_label_source *source, uint64_t index);
bool zs_label_instant(const struct zs_label_source *source, uint64_t index, struct zs_instant *instant);
