/* tests/models/torchvision.c - see torchvision.h. */
#include "torchvision.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { no_torch = 77, no_python = 127 }; /* what the shell exits with */

static struct error err;

const char *torchvision_ask(const char *name, const char *script,
                            const char *arguments)
{
    static char folder[512];
    const char *python = getenv("ASSAY_TEST_PYTHON");
    char command[4096];
    int status;

    snprintf(folder, sizeof folder, "%s", test_path(name));
    if (mkdir(folder, 0777) != 0)
        return folder;
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
    return folder;
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
