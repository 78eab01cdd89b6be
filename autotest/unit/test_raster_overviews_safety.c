/* Overviews are made and removed without harm to what readers see meanwhile and to what others put beside them:
 * whatever call of the store fails, and when the process ends there. */
#include "fault_store.h"
#include "raster/overviews.h"
#include "geo_store.h"
#include "zarr/document.h"

static const struct zs_axes yx = {1, 0};
static bool is_there(struct zs_store *store, const char *key)
{
    struct zs_error err;
    struct zs_buffer b = {0};
    const enum zs_status status = zs_store_get(store, key, 1 << 20, &b, &err);
    zs_buffer_free(&b);
    return status == ZS_OK;
}

/* A 20 x 30 array `a` of uint8 with coordinate variables x and y, with or without consolidated metadata. */
static void put_base(struct geo_store *s, bool is_consolidated)
{
    put_group(s, "", "{}");
    put_array(s, "a", "[20,30]", "['y','x']", "uint8", "0", "{}");
    put_axis(s, "x", "x", 30, 5, 10, "{'units':'m','standard_name':'projection_x_coordinate'}");
    put_axis(s, "y", "y", 20, 95, -10, "{'units':'m','standard_name':'projection_y_coordinate'}");
    if (!is_consolidated)
        return;
    static const char *const paths[] = {"a", "x", "y"};
    struct zs_listed list[3] = {{0}};
    bool is_changed = false;
    struct zs_error err = {""};
    struct zs_hierarchy *h = NULL;
    CHECK_OK(zs_hierarchy_open(s->store, false, &h, &err), &err);
    for (int i = 0; i < 3; i++) {
        const struct zs_node *node = NULL;
        CHECK_OK(zs_hierarchy_node(h, paths[i], &node, &err), &err);
        list[i] = (struct zs_listed){.name = paths[i], .document = node->document};
    }
    zs_json *root = zs_group_document();
    CHECK_OK(zs_document_consolidate(root, list, 3, &is_changed, &err), &err);
    char *text = NULL;
    CHECK_OK(zs_document_print(s->store, "", root, &text, &err), &err);
    CHECK_OK(zs_document_put_text(s->store, "", NULL, text, &err), &err);
    free(text);
    zs_json_free(root);
    zs_hierarchy_free(h);
}

/* Makes the level of factor 2, of pixels of that value. */
static enum zs_status build(struct zs_store *store, uint8_t value, struct zs_error *err)
{
    static const int two = 2;
    struct zs_hierarchy *h = NULL;
    struct zs_overviews *o = NULL;
    const struct zs_node *a = NULL;
    uint8_t pixels[10 * 15];
    memset(pixels, value, sizeof pixels);
    enum zs_status status = zs_hierarchy_recover(store, err); /* as whoever opens a store to change it */
    if (status == ZS_OK)
        status = zs_hierarchy_open(store, true, &h, err);
    if (status == ZS_OK)
        status = zs_hierarchy_node(h, "a", &a, err);
    if (status == ZS_OK)
        status = zs_overviews_create(h, a, yx, &two, 1, "average", 0, NULL, &o, err);
    if (status == ZS_OK) {
        struct zs_window w = {.count = {10, 15}, .data = pixels, .stride = {15, 1}};
        status = zs_array_write_windows(zs_overviews_array(o, 0), &w, 1, 1, NULL, NULL, err);
    }
    if (status == ZS_OK)
        status = zs_overviews_publish(o, err);
    zs_overviews_free(o);
    zs_hierarchy_free(h);
    return status;
}

static enum zs_status clean(struct zs_store *store, struct zs_error *err)
{
    struct zs_hierarchy *h = NULL;
    const struct zs_node *a = NULL;
    enum zs_status status = zs_hierarchy_recover(store, err); /* as whoever opens a store to change it */
    if (status == ZS_OK)
        status = zs_hierarchy_open(store, true, &h, err);
    if (status == ZS_OK)
        status = zs_hierarchy_node(h, "a", &a, err);
    if (status == ZS_OK)
        status = zs_overviews_take_out(h, a, yx, err);
    if (status == ZS_OK)
        status = zs_hierarchy_flush(h, err);
    zs_hierarchy_free(h);
    return status;
}

/* What a reader finds: the number of levels, each of which must be of one value, that its width tells. */
static size_t check_levels(struct zs_store *store, bool use_consolidated, const uint8_t *value_of_width)
{
    struct zs_error err = {""};
    struct zs_hierarchy *h = NULL;
    const struct zs_node *a = NULL;
    struct zs_levels levels = {.count = 0};
    CHECK_OK(zs_hierarchy_open(store, use_consolidated, &h, &err), &err);
    CHECK_OK(zs_hierarchy_node(h, "a", &a, &err), &err);
    CHECK_OK(zs_overviews_find(h, a, yx, &levels, &err), &err);
    for (size_t i = 0; i < levels.count; i++) {
        const struct zs_node *level = levels.list[i];
        struct zs_array *array = NULL;
        uint8_t pixels[20 * 30] = {0};
        const uint64_t zero[2] = {0, 0};
        CHECK_OK(zs_array_open_node(h, level, NULL, &array, &err), &err);
        CHECK_OK(zs_array_read(array, zero, level->array->shape, pixels, &err), &err);
        for (uint64_t k = 0; k < level->array->shape[0] * level->array->shape[1]; k++)
            if (!CHECK(pixels[k] == value_of_width[level->array->shape[1]])) {
                fprintf(stderr, "%s: %d\n", level->path, pixels[k]);
                break;
            }
        zs_array_close(array);
    }
    zs_hierarchy_free(h);
    return levels.count;
}

static bool lists(struct zs_store *store, const char *path)
{
    struct zs_error err = {""};
    struct zs_hierarchy *h = NULL;
    const struct zs_node *node = NULL;
    CHECK_OK(zs_hierarchy_open(store, true, &h, &err), &err);
    const enum zs_status status = zs_hierarchy_node(h, path, &node, &err);
    zs_hierarchy_free(h);
    return status == ZS_OK;
}

/* ---- Removing ---- */

TEST(test_removing_that_is_killed_leaves_no_level_or_a_whole_one)
{
    for (int how = 0; how < 4; how++) { /* with consolidated metadata or without; one call fails, or all from one on */
        bool done = false;
        for (long n = 1; !done && CHECK(n < 1000); n++) {
            struct geo_store s = {0};
            struct zs_error err = {""};
            struct fault_store faults;
            put_base(&s, how % 2 == 1);
            CHECK_OK(build(s.store, 1, &err), &err);
            put(&s, "ovr_2x/notes.txt", "mine", 4);
            fault_store_init(&faults, s.store);
            faults.fail_at = n;
            faults.fail_on = how / 2 == 1;
            const bool failed = clean(&faults.base, &err) != ZS_OK;
            done = faults.calls < n;
            CHECK(!failed || !done);
            CHECK(failed || done || !faults.fail_on); /* what is asked again may fail once */
            const size_t levels = check_levels(s.store, true, (uint8_t[31]){[15] = 1});
            CHECK(is_there(s.store, "ovr_2x/notes.txt") && is_there(s.store, "a/zarr.json") && (failed || levels == 0));
            CHECK_OK(clean(s.store, &err), &err); /* and it can be done again */
            CHECK(check_levels(s.store, true, (uint8_t[31]){0}) == 0 &&
                  check_levels(s.store, false, (uint8_t[31]){0}) == 0);
            close_store(&s);
        }
    }
}

/* ---- Making anew ---- */

/* An outdated level, 9 x 14 pixels of 7, of a base that was smaller. */
static void put_outdated_level(struct geo_store *s, bool is_consolidated)
{
    unsigned char pixels[9 * 14];
    struct zs_error err = {""};
    struct zs_hierarchy *h = NULL;
    const struct zs_node *node = NULL;
    zs_json *attributes = NULL, *layout = NULL;
    memset(pixels, 7, sizeof pixels);
    put_base(s, is_consolidated);
    put_group(s, "ovr_2x", "{}");
    put_array(s, "ovr_2x/a", "[9,14]", "['y','x']", "uint8", "0", "{}");
    put(s, "ovr_2x/a/c/0/0", pixels, sizeof pixels);
    static const char *const listed[] = {"ovr_2x", "ovr_2x/a"};
    CHECK_OK(zs_hierarchy_open(s->store, true, &h, &err), &err);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(zs_hierarchy_occupant(h, listed[i], &node, &err), &err);
        CHECK_OK(zs_hierarchy_edit(h, node, &attributes, &err), &err);
    }
    CHECK_OK(zs_hierarchy_node(h, "", &node, &err), &err);
    CHECK_OK(zs_hierarchy_edit(h, node, &attributes, &err), &err);
    const char text[] = "{\"layout\":[{\"asset\":\"a\"},{\"asset\":\"ovr_2x\",\"derived_from\":\"a\"}],\"theirs\":1}";
    CHECK_OK(zs_json_parse(text, sizeof text - 1, &layout, &err), &err);
    CHECK(zs_json_add(attributes, "multiscales", layout) != NULL);
    CHECK_OK(zs_hierarchy_flush(h, &err), &err);
    zs_hierarchy_free(h);
}

TEST(test_an_outdated_level_is_not_read_and_goes_before_the_new_one)
{
    const uint8_t new[31] = {[15] = 5};
    for (int how = 0; how < 4; how++) { /* with consolidated metadata or without; one call fails, or all from one on */
        bool done = false;
        for (long n = 1; !done && CHECK(n < 1000); n++) {
            struct geo_store s = {0};
            struct zs_error err = {""};
            struct fault_store faults;
            put_outdated_level(&s, how % 2 == 1);
            CHECK(lists(s.store, "ovr_2x/a") && check_levels(s.store, true, (uint8_t[31]){0}) == 0);
            fault_store_init(&faults, s.store);
            faults.fail_at = n;
            faults.fail_on = how / 2 == 1;
            const bool failed = build(&faults.base, 5, &err) != ZS_OK;
            done = faults.calls < n;
            CHECK(!failed || !done);
            CHECK(failed || done || !faults.fail_on); /* what is asked again may fail once */
            CHECK(check_levels(s.store, true, new) <= 1 && check_levels(s.store, false, new) <= 1);
            CHECK(failed || check_levels(s.store, true, new) == 1);
            CHECK_OK(build(s.store, 6, &err), &err); /* the next one comes to its end, and leaves one level */
            CHECK(check_levels(s.store, true, (uint8_t[31]){[15] = 6}) == 1);
            CHECK(check_levels(s.store, false, (uint8_t[31]){[15] = 6}) == 1);
            CHECK_OK(clean(s.store, &err), &err);
            CHECK(check_levels(s.store, true, (uint8_t[31]){0}) == 0);
            close_store(&s);
        }
    }
}
