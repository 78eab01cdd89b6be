/* shardedzarr-validate: the program. Exit status as zs_validate(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>
#include <gdal.h>

#include "validate/validate.h"

#define DEFAULT_MEMORY ((uint64_t)1 << 30)

static int print_usage(FILE *to)
{
    fputs("Usage: shardedzarr-validate [--quiet] [--metadata-only] [--memory MB] [--config NAME VALUE]... "
          "STORE...\n\n"
          "Checks sharded Zarr v3 stores, each a path in any of GDAL's virtual file systems: documents, shard "
          "indexes, every chunk,\n"
          "consolidated metadata, levels, and what belongs to nothing. Prints what, where, expected and found, a line "
          "each.\n\n"
          "  --quiet          errors and warnings only, without notes and summary\n"
          "  --metadata-only  documents only, no chunks\n"
          "  --memory MB      for chunks; default 1024. Larger chunks are not checked\n\n"
          "Exit status: 0 no errors (warnings do not count), 1 errors, 2 something could not be checked.\n",
          to);
    return to == stdout ? 0 : 2;
}

static int refuse(const char *what, const char *found)
{
    fprintf(stderr, "shardedzarr-validate: %s, found %s\n\n", what, found != NULL ? found : "nothing");
    return print_usage(stderr);
}

static int run(int argc, char **argv)
{
    struct zs_validate_options options = {.memory = DEFAULT_MEMORY};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--quiet") == 0) {
            options.is_quiet = true;
        } else if (strcmp(argv[i], "--metadata-only") == 0) {
            options.metadata_only = true;
        } else if (strcmp(argv[i], "--memory") == 0) {
            char *end = NULL;
            const char *text = argv[++i];
            const long long number = text != NULL ? strtoll(text, &end, 10) : 0;
            if (number < 1 || number > INT32_MAX || *end != '\0')
                return refuse("--memory: expected a number of MB", text);
            options.memory = (uint64_t)number << 20;
        } else if (strcmp(argv[i], "--help") == 0) {
            return print_usage(stdout);
        } else {
            return refuse("expected an option that there is", argv[i]);
        }
    }
    if (i == argc)
        return refuse("expected a store", NULL);
    int result = 0; /* errors before what could not be checked */
    for (; i < argc; i++) {
        const int one = zs_validate(argv[i], &options);
        result = one == 1 || result == 1 ? 1 : one != 0 ? one : result;
    }
    return result;
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* findings are in a pipe as they come */
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("shardedzarr-validate %s, %s\n", ZS_VERSION, GDALVersionInfo("--version"));
        return 0;
    }
    argc = GDALGeneralCmdLineProcessor(argc, &argv, 0); /* --config, --debug */
    if (argc < 1)
        return -argc;
    const int result = run(argc, argv);
    CSLDestroy(argv);
    return result;
}
