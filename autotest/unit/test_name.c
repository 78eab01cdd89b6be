/* What may be a name in a store, and what may be a path. */
#include "check.h"

#include <stdlib.h>

#include "zarr/name.h"

TEST(test_names_leading_outside_are_invalid)
{
    static const char *const names[] = {"",    ".",      "..",   "....",  "/",         "a/b",    "/a",   "a/",
                                        "\\",  "..\\a",  "C:",   "z:",    "zarr.json", "a\nb",   "\x7f", "\x01",
                                        "%2e", "%2E%2e", ".%2e", "a%2fb", "a%2Fb",     "..%5cb", "a%00", "%0a"};
    CHECK(!zs_is_inside_name(NULL));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *clean = NULL;
        CHECK(!zs_is_inside_name(names[i]));
        char path[64];
        snprintf(path, sizeof path, "group/%s/array", names[i]);
        const bool is_two = strcmp(names[i], "a/b") == 0;
        CHECK(zs_path_clean(path, &clean, NULL) == (is_two ? ZS_OK : ZS_INVALID));
        CHECK(zs_path_is_clean(path) == is_two);
        free(clean);
    }
}

TEST(test_names_inside)
{
    static const char *const names[] = {
        "a",   "t:0",      "a\"b",          "..a", "a..", ".hidden", "%", "%2", "100%",  "%zz",
        "%41", "\xc3\xa9", "zarr.json.old", "CC:", "1:",  "a b",     " ", "c",  "ovr_2x", "__x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *clean = NULL;
        CHECK(zs_is_inside_name(names[i]));
        CHECK(zs_path_clean(names[i], &clean, NULL) == ZS_OK);
        CHECK(zs_path_is_clean(names[i]));
        CHECK_EQ_STR(clean, names[i]);
        free(clean);
    }
}

TEST(test_paths_have_one_spelling)
{
    static const char *const paths[][2] = {{"", ""},         {"/", ""},      {"///", ""},       {"a", "a"},
                                           {"/a/b/", "a/b"}, {"//a//", "a"}, {"__x/y", "__x/y"}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char *clean = NULL;
        CHECK(zs_path_clean(paths[i][0], &clean, NULL) == ZS_OK);
        CHECK_EQ_STR(clean, paths[i][1]);
        CHECK(zs_path_is_clean(paths[i][0]) == (clean[0] != '\0' && strcmp(paths[i][0], clean) == 0));
        free(clean);
    }
}
