#include "array/place.h"

#include "base/strided.h"

static void piece_box(const struct zs_plan *p, const struct zs_planned *c, const struct zs_window *w, uint64_t *start,
                      uint64_t *count)
{
    zs_piece_box(p->a, p->a->chain.count - 1, c->where.leaf, w, start, count);
}

static char *place_in_window(int ndim, const struct zs_window *w, const uint64_t *start)
{
    char *dst = w->data;
    for (int d = 0; d < ndim; d++)
        dst += (ptrdiff_t)(start[d] - w->start[d]) * w->stride[d];
    return dst;
}

/* Elements of a box of the array, which are of `size` bytes where they come from, to their window. */
struct handing {
    const struct zs_plan *p;
    size_t size;
    zs_convert_fn convert;
    void *ctx;
};

static void hand_over(const struct handing *h, const struct zs_window *w, const uint64_t *start, const uint64_t *count,
                      const void *src, const ptrdiff_t *stride)
{
    const int n = h->p->a->meta->ndim;
    if (h->p->take != NULL)
        h->p->take(h->p->ctx, w->data, start, count, src, stride);
    else
        zs_copy_strided(n, count, src, stride, place_in_window(n, w, start), w->stride, h->size, h->convert, h->ctx);
}

static struct handing handing_of(const struct zs_plan *p)
{
    return (struct handing){p, p->a->meta->dtype.size, p->convert, p->ctx};
}

void zs_whole_chunk(const struct zs_array *a, uint64_t leaf, struct zs_part *part)
{
    zs_grid_box(&a->grid, a->chain.count - 1, leaf, part->start, part->count);
}

const unsigned char *zs_element_at(int ndim, const unsigned char *decoded, const struct zs_part *part,
                                   const uint64_t *at, const ptrdiff_t *stride)
{
    for (int d = 0; d < ndim; d++)
        decoded += (ptrdiff_t)(at[d] - part->start[d]) * stride[d];
    return decoded;
}

/* Elements of a chunk on their way to windows. */
struct elements {
    const unsigned char *at;
    struct zs_part part; /* which they are */
    ptrdiff_t stride[ZS_MAX_NDIM];
    struct handing handing;
};

static void place_elements(const struct zs_plan *p, const struct zs_planned *c, const struct elements *e)
{
    const int n = p->a->meta->ndim;
    for (size_t i = 0; i < c->piece_count; i++) {
        const struct zs_window *w = &p->windows[p->pieces[c->first_piece + i].window];
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        piece_box(p, c, w, start, count);
        hand_over(&e->handing, w, start, count, zs_element_at(n, e->at, &e->part, start, e->stride), e->stride);
    }
}

void zs_place(const struct zs_plan *p, const struct zs_planned *c, const unsigned char *decoded,
              const struct zs_part *part)
{
    const struct zs_array *a = p->a;
    struct elements e = {.at = decoded, .handing = handing_of(p)};
    if (p->is_prefetch)
        return;
    if (part != NULL)
        e.part = *part;
    else
        zs_whole_chunk(a, c->where.leaf, &e.part);
    if (decoded != NULL)
        zs_part_strides(a->leaf, e.part.count, e.stride);
    else
        e.at = a->meta->fill_value; /* which all strides of 0 repeat */
    place_elements(p, c, &e);
}

void zs_place_stored(const struct zs_plan *p, const struct zs_planned *c, const void *stored)
{
    const struct zs_array *a = p->a;
    const size_t size = zs_lookup_stored_size(a->leaf->lookup);
    struct elements e = {.at = stored, .handing = {p, size, zs_lookup_convert, a->leaf->lookup}};
    zs_whole_chunk(a, c->where.leaf, &e.part);
    zs_part_strides(a->leaf, e.part.count, e.stride);
    for (int d = 0; d < a->meta->ndim; d++)
        e.stride[d] = e.stride[d] / (ptrdiff_t)a->leaf->item_size * (ptrdiff_t)size;
    place_elements(p, c, &e);
}

void zs_place_gap(const struct zs_plan *p, const struct zs_gap *g)
{
    const struct zs_array *a = p->a;
    const struct zs_window *w = &p->windows[g->window];
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    const ptrdiff_t still[ZS_MAX_NDIM] = {0};
    zs_piece_box(a, g->level, g->number, w, start, count);
    const struct handing handing = handing_of(p);
    hand_over(&handing, w, start, count, a->meta->fill_value, still);
}

uint64_t zs_elements_used(const struct zs_plan *p, const struct zs_planned *c)
{
    const struct zs_array *a = p->a;
    uint64_t used = 0;
    for (size_t i = 0; i < c->piece_count; i++) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], size = 1;
        piece_box(p, c, &p->windows[p->pieces[c->first_piece + i].window], start, count);
        for (int d = 0; d < a->meta->ndim; d++)
            size *= count[d];
        used += size;
    }
    return used;
}

bool zs_is_wholly_used(const struct zs_plan *p, const struct zs_planned *c)
{
    return zs_elements_used(p, c) >= zs_grid_elements(&p->a->grid, p->a->chain.count - 1, c->where.leaf);
}

void *zs_direct_destination(const struct zs_plan *p, const struct zs_planned *c)
{
    const struct zs_array *a = p->a;
    if (c->piece_count != 1 || p->convert != NULL || p->take != NULL || p->is_prefetch)
        return NULL;
    const struct zs_window *w = &p->windows[p->pieces[c->first_piece].window];
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    struct zs_part chunk;
    ptrdiff_t stride[ZS_MAX_NDIM];
    piece_box(p, c, w, start, count);
    zs_whole_chunk(a, c->where.leaf, &chunk);
    zs_part_strides(a->leaf, chunk.count, stride);
    for (int d = 0; d < a->meta->ndim; d++)
        if (count[d] != chunk.count[d] || (count[d] > 1 && stride[d] != w->stride[d]))
            return NULL;
    return place_in_window(a->meta->ndim, w, start);
}

/* ---- A run of elements ---- */

/* Elements of a chunk that follow each other as they are stored. */
struct run {
    const struct zs_plan *p;
    const struct zs_planned *c;
    const unsigned char *data; /* of the first of them */
    uint64_t first;
    struct zs_part chunk;
    ptrdiff_t stride[ZS_MAX_NDIM]; /* of the chunk */
};

/* Copies what windows want of a box of the chunk, which is all in the run: in elements of the array. */
static void place_box(const struct run *r, const struct zs_part *box)
{
    const struct zs_array *a = r->p->a;
    const int n = a->meta->ndim;
    for (size_t i = 0; i < r->c->piece_count; i++) {
        const struct zs_window *w = &r->p->windows[r->p->pieces[r->c->first_piece + i].window];
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        ptrdiff_t at = -(ptrdiff_t)(r->first * a->leaf->item_size);
        bool is_apart = false;
        for (int d = 0; d < n && !is_apart; d++) {
            const uint64_t end = zs_min_u64(box->start[d] + box->count[d], w->start[d] + w->count[d]);
            start[d] = zs_max_u64(box->start[d], w->start[d]);
            is_apart = start[d] >= end;
            count[d] = is_apart ? 0 : end - start[d];
            at += is_apart ? 0 : (ptrdiff_t)(start[d] - r->chunk.start[d]) * r->stride[d];
        }
        const struct handing handing = handing_of(r->p);
        if (!is_apart)
            hand_over(&handing, w, start, count, r->data + at, r->stride);
    }
}

/* The run as boxes: of the stored dimensions before j one position each, which the box has; of the others `count`
 * elements from `first` on. */
static void place_below(const struct run *r, int j, struct zs_part *box, uint64_t first, uint64_t count)
{
    const struct zs_array *a = r->p->a;
    const int n = a->meta->ndim, *axis = a->leaf->axis;
    uint64_t inner = 1; /* elements at one position of dimension j */
    for (int k = j + 1; k < n; k++)
        inner *= r->chunk.count[axis[k]];
    const int d = axis[j];
    const uint64_t head = first % inner != 0 ? zs_min_u64(count, inner - first % inner) : 0;
    if (head > 0) {
        box->start[d] = r->chunk.start[d] + first / inner;
        box->count[d] = 1;
        place_below(r, j + 1, box, first % inner, head);
        first += head;
        count -= head;
    }
    if (count >= inner) {
        box->start[d] = r->chunk.start[d] + first / inner;
        box->count[d] = count / inner;
        for (int k = j + 1; k < n; k++) {
            box->start[axis[k]] = r->chunk.start[axis[k]];
            box->count[axis[k]] = r->chunk.count[axis[k]];
        }
        place_box(r, box);
        first += count / inner * inner;
        count %= inner;
    }
    if (count > 0) {
        box->start[d] = r->chunk.start[d] + first / inner;
        box->count[d] = 1;
        place_below(r, j + 1, box, 0, count);
    }
}

void zs_place_run(const struct zs_plan *p, const struct zs_planned *c, uint64_t first, uint64_t count,
                  const unsigned char *data)
{
    struct run r = {.p = p, .c = c, .data = data, .first = first};
    struct zs_part box;
    if (p->is_prefetch)
        return;
    zs_whole_chunk(p->a, c->where.leaf, &r.chunk);
    zs_part_strides(p->a->leaf, r.chunk.count, r.stride);
    place_below(&r, 0, &box, first, count);
}
