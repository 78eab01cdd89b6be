/* installed STORE ARRAY VALUE: reads an array of bytes with the C API as it is installed, outside of this build
 * (package.sh): every one is VALUE. */
#include <shardedzarr.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct zs_error err;
    struct zs_array *array;
    if (argc != 4 || zs_array_open_path(argv[1], argv[2], NULL, &array, &err) != ZS_OK) {
        puts(argc == 4 ? err.message : "usage: installed STORE ARRAY VALUE");
        return 1;
    }
    const struct zs_array_info info = zs_array_get_info(array);
    const uint64_t start[2] = {0, 0};
    const size_t n = info.ndim == 2 ? (size_t)(info.shape[0] * info.shape[1]) : 0;
    unsigned char *pixels = malloc(n);
    size_t same = 0;
    if (pixels == NULL || zs_array_read(array, start, info.shape, pixels, &err) != ZS_OK)
        puts(err.message);
    else
        for (size_t i = 0; i < n; i++)
            same += pixels[i] == atoi(argv[3]);
    printf("%zu of %zu bytes are %s\n", same, n, argv[3]);
    free(pixels);
    zs_array_close(array);
    return n > 0 && same == n ? 0 : 1;
}
