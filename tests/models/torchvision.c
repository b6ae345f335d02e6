/* tests/models/torchvision.c - see torchvision.h. */
#include "torchvision.h"

#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { no_torch = 77, no_python = 127 }; /* what the shell exits with */

static struct error err;

static bool answers_are_kept(void)
{
    return getenv("ASSAY_TEST_ANSWERS") != NULL;
}

/* Where the answers to these words are kept: a name made of a hash (FNV-1a). */
static void kept_path(char *path, size_t size, const char *name,
                      const char *script, const char *arguments)
{
    const char *words[] = {script, arguments};
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (const char *at = words[i]; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    }
    snprintf(path, size, "%s/%s-%016" PRIx64, getenv("ASSAY_TEST_ANSWERS"),
             name, hash);
}

static void ask(const char *folder, const char *script, const char *arguments)
{
    const char *python = getenv("ASSAY_TEST_PYTHON");
    char command[4096];
    int status;

    snprintf(command, sizeof command, "%s -B %s/tests/%s %s %s",
             python ? python : "/usr/bin/python3", TEST_SOURCE_DIR, script,
             folder, arguments);
    status = system(command);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_python)) {
        CHECK_INT(rmdir(folder), 0);
        SKIP("%s: python3-torchvision is missing", script);
    }
    CHECK_INT(status, 0);
}

/* A kept answer gets its name when it is complete. If another test was faster,
 * its answer is as good. */
static void ask_and_keep(const char *folder, const char *script,
                         const char *arguments)
{
    char part[600];

    mkdir(getenv("ASSAY_TEST_ANSWERS"), 0777);
    snprintf(part, sizeof part, "%s.%ld", folder, (long)getpid());
    CHECK_INT(mkdir(part, 0777), 0);
    ask(part, script, arguments);
    rename(part, folder);
    CHECK_INT(access(folder, R_OK), 0);
}

const char *torchvision_ask(const char *name, const char *script,
                            const char *arguments)
{
    static char folder[512];

    if (answers_are_kept()) {
        kept_path(folder, sizeof folder, name, script, arguments);
        if (access(folder, R_OK) != 0)
            ask_and_keep(folder, script, arguments);
        return folder;
    }
    snprintf(folder, sizeof folder, "%s", test_path(name));
    if (mkdir(folder, 0777) == 0)
        ask(folder, script, arguments);
    return folder;
}

void answer_remove(const char *folder, const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    if (!answers_are_kept())
        CHECK_INT(remove(path), 0);
}

struct checkpoint *answer_open(const char *folder, const char *name)
{
    struct checkpoint *answer;
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    CHECK_STATUS(checkpoint_open(path, &answer, &err), ASSAY_OK, &err);
    return answer;
}

struct tensor answer_tensor(const struct checkpoint *answer, struct pool *pool,
                            const char *name)
{
    struct tensor tensor;
    size_t i;

    if (!checkpoint_find(answer, name, &i)) {
        print_error("torchvision gave no %s\n", name);
        fail();
    }
    CHECK_STATUS(checkpoint_load(answer, i, pool, &tensor, &err), ASSAY_OK,
                 &err);
    return tensor;
}
