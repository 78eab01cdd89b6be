/* replay.c: runs a fuzz target on files, and on all files of directories: a main() for builds without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 0;
    }
    /* Of the exact size, so that a sanitizer sees a read beyond the end. */
    (void)fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    const int ok = size >= 0 && data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    (void)fclose(file);
    if (ok)
        (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return ok;
}

static int replay(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return replay_file(path);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char file[4096];
        (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        struct stat st;
        if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
            count += replay_file(file);
    }
    (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
