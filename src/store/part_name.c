/* store/part_name.c - what a run file is called until it is finished:
 * "run.assay.1234-abcdef.part", with the process and letters of its own. */
#include "store/writer_internal.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void part_suffix_make(char suffix[PART_SUFFIX])
{
    char letters[PART_LETTERS + 1];

    file_random_letters(letters, PART_LETTERS);
    snprintf(suffix, PART_SUFFIX, ".%ld-%s" STORE_PART_SUFFIX, (long)getpid(),
             letters);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
}

bool part_suffix_reads(const char *suffix, pid_t *pid)
{
    char *end;
    long number;

    if (suffix[0] != '.' || suffix[1] < '1' || suffix[1] > '9')
        return false;
    errno = 0;
    number = strtol(suffix + 1, &end, 10);
    if (errno || number > INT32_MAX || *end++ != '-')
        return false;
    for (int i = 0; i < PART_LETTERS; i++) {
        if (!is_letter(*end++))
            return false;
    }
    *pid = (pid_t)number;
    return strcmp(end, STORE_PART_SUFFIX) == 0;
}

static void cut(const char *path, size_t *n, const char *ending)
{
    size_t n_ending = strlen(ending);

    if (*n > n_ending && memcmp(path + *n - n_ending, ending, n_ending) == 0)
        *n -= n_ending;
}

size_t store_stem(const char *path)
{
    size_t n = strlen(path), n_name = n;
    pid_t pid;

    /* The suffix of a part has two dots, one before the number. */
    for (size_t dots = 0; n_name > 0 && path[n_name - 1] != '/';) {
        dots += path[--n_name] == '.';
        if (dots == 2)
            break;
    }
    if (part_suffix_reads(path + n_name, &pid))
        n = n_name;
    else
        cut(path, &n, STORE_PART_SUFFIX);
    cut(path, &n, STORE_SUFFIX);
    return n;
}
