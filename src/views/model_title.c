/* views/model_title.c - see model_title.h. */
#include "views/model_title.h"

#include "run/run.h"

#include <stdbool.h>
#include <string.h>

const char *model_file_title(const char *path)
{
    static const char *const endings[] = {".onnx", ".keras", ".h5", ".hdf5",
                                          ".net"};
    size_t n = path ? strlen(path) : 0, slashes = 0;
    bool is_model = false;

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);

        is_model |= n > length && strcmp(path + n - length, endings[i]) == 0;
    }
    if (!is_model)
        return NULL;
    for (; n > 0; n--) {
        slashes += path[n - 1] == '/';
        if (slashes == 2)
            break;
    }
    return path + n;
}

const char *model_run_title(const struct run *run)
{
    const char *name = run_fact(run, "model.name");
    const char *file = model_file_title(run_fact(run, "model.weights"));

    return name && file ? file : name;
}
