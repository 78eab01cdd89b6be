/* Bands of several arrays, read side by side and written. */
#include <pthread.h>
#include <time.h>

#include "array_store.h"
#include "fault_store.h"
#include "raster/pixels.h"

#define ARRAYS 3
#define SIZE 16
#define PIXELS ((size_t)SIZE * SIZE)

/* Arrays of (2, y, x), (y, x) and (2, y, x), each in a store of its own; five bands. */
struct several {
    struct zs_store *memory[ARRAYS];
    struct fault_store stores[ARRAYS];
    struct zs_node *nodes[ARRAYS];
    struct zs_band_array arrays[ARRAYS];
    struct zs_bands bands;
    pthread_mutex_t lock;
    pthread_cond_t came;
    int waiting, most;
    atomic_int reads;
};

static void open_arrays(struct several *s)
{
    struct zs_error err;
    *s = (struct several){
        .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER, .bands = {s->arrays, ARRAYS}};
    uint64_t first = 0;
    for (size_t k = 0; k < ARRAYS; k++) {
        const bool is_flat = k == 1;
        const char *type = k == 2 ? "uint8" : "uint16"; /* types may differ */
        s->memory[k] = memory_store();
        s->nodes[k] =
            array_node(is_flat ? "[16,16]" : "[2,16,16]", is_flat ? "[8,8]" : "[2,8,8]", type, "0", "['bytes']");
        fault_store_init(&s->stores[k], s->memory[k]);
        s->stores[k].ctx = s;
        struct zs_band_array *a = &s->arrays[k];
        a->array = open_node(&s->stores[k].base, s->nodes[k], 2, 0);
        a->first = first;
        const struct zs_array_meta *meta = s->nodes[k]->array;
        must(zs_slices_find(meta->ndim, meta->shape, (struct zs_axes){meta->ndim - 1, meta->ndim - 2}, NULL, 0,
                            &a->slices, &err),
             &err);
        first += a->slices.count;
    }
}

static void close_arrays(struct several *s)
{
    for (size_t k = 0; k < ARRAYS; k++) {
        zs_array_close(s->arrays[k].array);
        zs_node_free(s->nodes[k]);
        zs_store_free(s->memory[k]);
    }
}

/* What was written goes to the stores, and the arrays know nothing of it any more. */
static void reopen_arrays(struct several *s)
{
    struct zs_error err;
    for (size_t k = 0; k < ARRAYS; k++) {
        struct zs_band_array *a = &s->arrays[k];
        must(zs_array_flush(a->array, &err), &err);
        zs_array_close(a->array);
        a->array = open_node(&s->stores[k].base, s->nodes[k], 2, 0);
    }
}

/* Between the 16-bit elements of the caller and those of the last array. */
static void narrow(void *ctx, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        uint16_t value;
        memcpy(&value, (const char *)src + i * sizeof value, sizeof value);
        *((unsigned char *)dst + (ptrdiff_t)i * dst_stride) = (unsigned char)value;
    }
}

static void widen(void *ctx, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        const uint16_t value = ((const unsigned char *)src)[i];
        memcpy((char *)dst + (ptrdiff_t)i * dst_stride, &value, sizeof value);
    }
}

static const struct zs_conversion narrowing[ARRAYS] = {{0}, {0}, {narrow, NULL}},
                                  widening[ARRAYS] = {{0}, {0}, {widen, NULL}};

static uint16_t value_of(int band, size_t pixel)
{
    return (uint16_t)((size_t)band * 40 + pixel % 37 + 1);
}

static struct zs_band_window whole_of(const int *list, size_t n, uint16_t *pixels)
{
    return (struct zs_band_window){.width = SIZE,
                                   .height = SIZE,
                                   .bands = list,
                                   .band_count = n,
                                   .data = pixels,
                                   .pixel_space = 2,
                                   .line_space = 2 * SIZE,
                                   .band_space = 2 * (ptrdiff_t)PIXELS};
}

static const int all[5] = {1, 2, 3, 4, 5};

static void write_all(struct several *s)
{
    struct zs_error err;
    static uint16_t pixels[5 * PIXELS];
    for (size_t i = 0; i < 5 * PIXELS; i++)
        pixels[i] = value_of(all[i / PIXELS], i % PIXELS);
    const struct zs_band_window w = whole_of(all, 5, pixels);
    must(zs_pixels_write(&s->bands, &w, 2, narrowing, &err), &err);
    reopen_arrays(s);
}

static void test_bands_of_several_arrays_come_back_in_any_order(void)
{
    struct several s;
    struct zs_error err;
    static uint16_t pixels[4 * PIXELS];
    const int list[4] = {5, 1, 3, 2};
    open_arrays(&s);
    write_all(&s);
    const struct zs_band_window w = whole_of(list, 4, pixels);
    must(zs_pixels_read(&s.bands, &w, widening, &err), &err);
    for (size_t i = 0; i < 4 * PIXELS; i++)
        if (!CHECK_EQ_U64(pixels[i], value_of(list[i / PIXELS], i % PIXELS)))
            break;
    close_arrays(&s);
}

static void count_reads(struct fault_store *store, enum fault_call call, void *ctx)
{
    (void)store;
    if (call == FAULT_READ)
        atomic_fetch_add(&((struct several *)ctx)->reads, 1);
}

/* Bands of a chunk that are written together make it whole: what was there is not read. */
static void test_whole_chunks_of_several_bands_are_written_without_a_read(void)
{
    struct several s;
    open_arrays(&s);
    write_all(&s);
    s.stores[0].before = count_reads;
    s.reads = 0;
    write_all(&s);
    CHECK_EQ_I64(s.reads, 0);
    close_arrays(&s);
}

/* Waits until all arrays are being asked, or for a while. */
static void wait_for_others(struct fault_store *store, enum fault_call call, void *ctx)
{
    struct several *s = ctx;
    struct timespec until;
    (void)store;
    if (call != FAULT_OPEN)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&s->lock);
    s->waiting++;
    s->most = s->waiting > s->most ? s->waiting : s->most;
    pthread_cond_broadcast(&s->came);
    while (s->most < ARRAYS && pthread_cond_timedwait(&s->came, &s->lock, &until) == 0)
        ;
    s->waiting--;
    pthread_mutex_unlock(&s->lock);
}

static void test_arrays_are_asked_side_by_side(void)
{
    for (int prefetches = 0; prefetches < 2; prefetches++) {
        struct several s;
        struct zs_error err;
        static uint16_t pixels[5 * PIXELS];
        open_arrays(&s);
        write_all(&s);
        for (size_t k = 0; k < ARRAYS; k++)
            s.stores[k].before = wait_for_others;
        struct zs_band_window w = whole_of(all, 5, pixels);
        w.height = 8; /* two objects of each array */
        must(prefetches ? zs_pixels_prefetch(&s.bands, &w, &err) : zs_pixels_read(&s.bands, &w, widening, &err), &err);
        CHECK(s.most >= ARRAYS);
        close_arrays(&s);
    }
}

static void test_an_error_of_one_array_is_that_of_the_read(void)
{
    struct several s;
    struct zs_error err;
    static uint16_t pixels[5 * PIXELS];
    open_arrays(&s);
    write_all(&s);
    s.stores[1].fail_at = s.stores[1].calls + 1;
    s.stores[1].fail_on = true;
    const struct zs_band_window w = whole_of(all, 5, pixels);
    CHECK(zs_pixels_read(&s.bands, &w, widening, &err) == ZS_IO);
    CHECK_CONTAINS(err.message, "was told to fail");
    close_arrays(&s);
}

int main(void)
{
    RUN(test_bands_of_several_arrays_come_back_in_any_order);
    RUN(test_whole_chunks_of_several_bands_are_written_without_a_read);
    RUN(test_arrays_are_asked_side_by_side);
    RUN(test_an_error_of_one_array_is_that_of_the_read);
    return check_result();
}
