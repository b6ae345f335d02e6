/* Passes every file of a folder to a fuzz target, so that bugs the fuzzer once
 * found stay fixed. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    uint8_t *data;
    size_t n;

    if (!file || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    data = malloc((size_t)info.st_size + 1);
    n = data ? fread(data, 1, (size_t)info.st_size, file) : 0;
    printf("%s: %zu bytes\n", path, n);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    int n = 0, n_failed = 0;

    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder)) != NULL) {
        char path[1024];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        n_failed += replay(path);
        n++;
    }
    closedir(folder);
    printf("%d files replayed\n", n);
    return n_failed || n == 0;
}
