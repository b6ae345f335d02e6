/* Any bytes as a tar archive: its entries are read or refused, and no path of
 * them that is accepted leads out of a folder. */
#include "base/mem.h"
#include "data/tar.h"
#include "data/unpack.h"
#include "fuzz.h"

#include <string.h>

struct input {
    const uint8_t *data;
    size_t n, at;
};

static enum assay_status read_input(void *context, void *bytes, size_t n,
                                    size_t *got, struct error *err)
{
    struct input *input = context;
    size_t left = input->n - input->at;

    (void)err;
    *got = left < n ? left : n;
    if (*got)
        memcpy(bytes, input->data + input->at, *got);
    input->at += *got;
    return ASSAY_OK;
}

static void check_path(const char *path)
{
    struct str inside = {0};
    struct error err = {0};

    if (!unpack_path(path, &inside, &err)) {
        const char *text = str_text(&inside);

        if (text[0] == '/' || strstr(text, "//") || strcmp(text, "..") == 0 ||
            strncmp(text, "../", 3) == 0 || strstr(text, "/../") ||
            (inside.n > 3 && strcmp(text + inside.n - 3, "/..") == 0))
            __builtin_trap();
    }
    str_release(&inside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input input = {data, n, 0};
    struct tar tar = {
        .source = {.read = read_input, .context = &input, .name = "fuzz"}};
    struct tar_entry entry = {.path = ""};
    long before = mem_live();
    enum assay_status st = ASSAY_OK;
    bool is_end = false;

    while (!st && !is_end) {
        struct error err = {0};
        char bytes[700];
        size_t got;

        st = tar_next(&tar, &entry, &is_end, &err);
        if (!st && !is_end) {
            check_path(entry.path);
            st = tar_read(&tar, bytes, sizeof bytes, &got, &err);
        }
        if (st && !err.text[0])
            __builtin_trap();
    }
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
