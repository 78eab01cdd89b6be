/* shardedzarr-validate: the program. Exit status as zs_validate_exit_code(). */
#define _GNU_SOURCE /* sigaction() */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>
#include <gdal.h>

#include "validate/validate.h"

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

struct output {
    const char *store;
    bool is_quiet;
    int percent; /* of progress that is shown */
};

static void print_and_free(char *text)
{
    puts(text != NULL ? text : "no memory for a text");
    free(text);
}

static void print_finding(void *ctx, const struct zs_finding *finding)
{
    const struct output *out = ctx;
    if (finding->severity != ZS_SEVERITY_NOTE || !out->is_quiet)
        print_and_free(zs_finding_text(finding, out->store));
}

static bool print_progress(void *ctx, double done)
{
    struct output *out = ctx;
    if (!out->is_quiet)
        zs_validate_show_progress(done, &out->percent);
    return !is_interrupted;
}

static int print_usage(FILE *to)
{
    fputs("Usage: shardedzarr-validate [--quiet] [--metadata-only] [--threads N] [--memory MB] [--config NAME "
          "VALUE]... STORE...\n\n"
          "Checks sharded Zarr v3 stores, each a path in any of GDAL's virtual file systems: documents, shard "
          "indexes, every chunk,\n"
          "consolidated metadata, levels, and what belongs to nothing. Prints what, where, expected and found, a line "
          "each.\n\n"
          "  --quiet          errors and warnings only, without notes, progress and summary\n"
          "  --metadata-only  documents only, no chunks\n"
          "  --threads N      that decode; default: one per processor\n"
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

/* The number of an option; 0, and a message, when it is none that makes sense. */
static long parse_number(const char *option, const char *text, long most)
{
    char *end = NULL, expected[64];
    const long number = text == NULL ? 0 : strtol(text, &end, 10);
    if (end != NULL && end != text && *end == '\0' && number >= 1 && number <= most)
        return number;
    (void)snprintf(expected, sizeof expected, "%s: expected a number from 1 to %ld", option, most);
    (void)refuse(expected, text);
    return 0;
}

static int validate(const char *store, struct zs_validate_options *options, struct output *out)
{
    struct zs_validate_summary s;
    struct zs_error err;
    out->store = store;
    out->percent = -1;
    options->ctx = out;
    const enum zs_status status = zs_validate(store, options, &s, &err);
    if (status == ZS_OK)
        (void)print_progress(out, 1);
    if (status != ZS_OK)
        fprintf(stderr, "shardedzarr-validate: %s\n", err.message);
    if (!out->is_quiet)
        print_and_free(zs_validate_summary_text(&s, store));
    fflush(stdout);
    if (status != ZS_OK && s.errors == 0)
        return 2;
    return zs_validate_exit_code(&s);
}

static int run(int argc, char **argv)
{
    struct output out = {0};
    struct zs_validate_options options = {.report = print_finding, .progress = print_progress};
    long number;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--quiet") == 0) {
            out.is_quiet = true;
        } else if (strcmp(argv[i], "--metadata-only") == 0) {
            options.metadata_only = true;
        } else if (strcmp(argv[i], "--threads") == 0) {
            if ((number = parse_number("--threads", argv[++i], 1024)) == 0)
                return 2;
            options.threads = (int)number;
        } else if (strcmp(argv[i], "--memory") == 0) {
            if ((number = parse_number("--memory", argv[++i], INT32_MAX)) == 0)
                return 2;
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
    for (; i < argc && !is_interrupted; i++) {
        const int one = validate(argv[i], &options, &out);
        result = one == 1 || result == 1 ? 1 : one != 0 ? one : result;
    }
    return is_interrupted ? 128 + SIGINT : result;
}

int main(int argc, char **argv)
{
    /* A second Ctrl-C ends it at once. */
    struct sigaction action = {.sa_handler = interrupt};
    action.sa_flags |= (int)SA_RESETHAND;
    (void)sigaction(SIGINT, &action, NULL);
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
