/* Which elements a chunk spans, and which chunk an element lies in. */
#include "array/grid.h"
#include "array_store.h"

#define SHARDS(shape, codecs) \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':" shape ",'codecs':" codecs "}}]"
#define RECTILINEAR(shapes) "{'name':'rectilinear','configuration':{'kind':'inline','chunk_shapes':" shapes "}}"
#define RECTANGULAR(shape) "{'name':'rectangular','configuration':{'chunk_shape':" shape "}}"
#define REGULAR(shape) "{'name':'regular','configuration':{'chunk_shape':" shape "}}"

/* An array of two dimensions, and the edges of its chunks written out; edges[level][dimension], 0 ends them. */
static const struct layout {
    const char *shape, *grid, *codecs;
    uint64_t size[2];
    uint64_t edges[3][2][24];
} layouts[] = {
    {"[10,7]", REGULAR("[4,3]"), "['bytes']", {10, 7}, {{{4, 4, 4}, {3, 3, 3}}}},
    {"[3,8]", REGULAR("[5,4]"), "['bytes']", {3, 8}, {{{5}, {4, 4}}}},
    {"[10,7]",
     REGULAR("[4,6]"),
     SHARDS("[2,2]", "['bytes']"),
     {10, 7},
     {{{4, 4, 4}, {6, 6}}, {{2, 2, 2, 2, 2}, {2, 2, 2, 2}}}},
    {"[10,7]", RECTILINEAR("[4,[3,2,[1,4]]]"), "['bytes']", {10, 7}, {{{4, 4, 4}, {3, 2, 1, 1}}}},
    {"[10,7]", RECTILINEAR("[[[3,2],9,5],[[7,1]]]"), "['bytes']", {10, 7}, {{{3, 3, 9}, {7}}}},
    {"[6,8]", RECTANGULAR("[[1,5],3]"), "['bytes']", {6, 8}, {{{1, 5}, {3, 3, 3}}}},
    {"[11,7]",
     RECTILINEAR("[[2,6,4],[[4,2]]]"),
     SHARDS("[2,2]", "['bytes']"),
     {11, 7},
     {{{2, 6, 4}, {4, 4}}, {{2, 2, 2, 2, 2, 2}, {2, 2, 2, 2}}}},
    {"[9,13]",
     RECTILINEAR("[[4,8],[6,[12,4]]]"),
     SHARDS("[4,6]", SHARDS("[1,2]", "['bytes']")),
     {9, 13},
     {{{4, 8}, {6, 12}}, {{4, 4, 4}, {6, 6, 6}}, {{1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2, 2}}}},
    {"[9,13]",
     REGULAR("[4,12]"),
     SHARDS("[4,6]", SHARDS("[1,2]", "['bytes']")),
     {9, 13},
     {{{4, 4, 4}, {12, 12}}, {{4, 4, 4}, {6, 6, 6}}, {{1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2, 2}}}},
};
#define LAYOUTS (sizeof layouts / sizeof layouts[0])

struct opened {
    zs_json *document;
    struct zs_array_meta *meta;
    struct zs_chain chain;
    struct zs_grid grid;
};

static void open_layout(const struct layout *l, struct opened *o)
{
    struct zs_error err;
    char *text =
        zs_format("{'zarr_format':3,'node_type':'array','shape':%s,'data_type':'uint8','fill_value':0,'chunk_grid':%s,"
                  "'chunk_key_encoding':'default','codecs':%s}",
                  l->shape, l->grid, l->codecs);
    o->document = json_of(text);
    free(text);
    must(zs_array_meta_parse(o->document, ZS_META_ARRAY, &o->meta, &err), &err);
    must(zs_chain_compile(o->meta, &o->chain, &err), &err);
    must(zs_grid_init(&o->grid, o->meta, &o->chain, &err), &err);
}

static void close_layout(struct opened *o)
{
    zs_chain_clear(&o->chain);
    zs_array_meta_free(o->meta);
    zs_json_free(o->document);
}

static void check_axis(const struct opened *o, const struct layout *l, int k, int d)
{
    uint64_t start = 0, at = 0;
    for (; start < l->size[d]; start += l->edges[k][d][at++]) {
        const struct zs_span s = zs_grid_span(&o->grid, k, d, at);
        CHECK_EQ_U64(s.start, start);
        CHECK_EQ_U64(s.length, l->edges[k][d][at]);
        for (uint64_t i = start; i < start + s.length && i < l->size[d]; i++)
            CHECK_EQ_U64(zs_grid_find(&o->grid, k, d, i), at);
    }
    CHECK_EQ_U64(o->grid.count[k][d], at);
    CHECK_EQ_U64(l->edges[k][d][at], 0); /* none that begins beyond the array */
}

TEST(test_grid_positions_agree_with_explicit_edges)
{
    for (size_t i = 0; i < LAYOUTS; i++) {
        struct opened o;
        open_layout(&layouts[i], &o);
        for (int k = 0; k < o.chain.count; k++)
            for (int d = 0; d < 2; d++)
                check_axis(&o, &layouts[i], k, d);
        close_layout(&o);
    }
}

/* Each leaf lies in the shard that its first element lies in, at a number of its own; those of all levels are counted,
 * none is missed. */
TEST(test_inner_chunks_are_numbered_within_their_shard)
{
    for (size_t i = 0; i < LAYOUTS; i++) {
        struct opened o;
        open_layout(&layouts[i], &o);
        const int leaf = o.chain.count - 1;
        uint64_t leaves[64] = {0}, elements = 0;
        bool taken[64][64] = {{false}};
        for (uint64_t n = 0; n < o.grid.count[leaf][0] * o.grid.count[leaf][1]; n++) {
            uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], around[ZS_MAX_NDIM];
            zs_grid_extent(&o.grid, leaf, n, start, length);
            for (int d = 0; d < 2; d++)
                around[d] = zs_grid_find(&o.grid, 0, d, start[d]);
            const uint64_t shard = zs_grid_number(&o.grid, 0, around), number = zs_grid_number_in_shard(&o.grid, n);
            CHECK_EQ_U64(zs_grid_shard(&o.grid, n), shard);
            if (!CHECK(shard < 64 && number < 64))
                break;
            CHECK(!taken[shard][number]);
            taken[shard][number] = true;
            leaves[shard]++;
            elements += zs_grid_elements(&o.grid, leaf, n);
        }
        for (uint64_t s = 0; s < o.grid.count[0][0] * o.grid.count[0][1]; s++)
            CHECK_EQ_U64(zs_grid_chunks_in_shard(&o.grid, s), leaves[s]);
        CHECK_EQ_U64(elements, layouts[i].size[0] * layouts[i].size[1]);
        close_layout(&o);
    }
}

TEST(test_2_to_the_40_chunks_are_one_run)
{
    static const struct layout many = {
        "[1099511627776,1]", RECTILINEAR("[[2,[1,2199023255552]],1]"), "['bytes']", {0, 0}, {{{0}}}};
    const uint64_t size = (uint64_t)1 << 40;
    struct opened o;
    open_layout(&many, &o);
    CHECK_EQ_U64(o.grid.count[0][0], size - 1);
    CHECK_EQ_U64(zs_grid_find(&o.grid, 0, 0, size - 1), size - 2);
    CHECK_EQ_U64(zs_grid_span(&o.grid, 0, 0, size - 2).start, size - 1);
    CHECK_EQ_U64(zs_chunk_count(o.meta, 0), 2 * size + 1);
    close_layout(&o);
}
