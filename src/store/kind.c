/* store/kind.c - recognises files that are not run files. */
#include "store/store_internal.h"

#include "base/file.h"

#include <string.h>
#include <unistd.h>

static const char text_kind[] = "a text file";

static const struct {
    const char *start;
    size_t n;
    const char *kind;
    const char *advice;
} kinds[] = {
    {"\x89PNG\r\n\x1a\n", 8, "a PNG image", ""},
    {"\xff\xd8\xff", 3, "a JPEG image", ""},
    {"PK\x03\x04", 4, "a zip archive (or a PyTorch checkpoint)", ""},
    {"\x1f\x8b", 2, "compressed with gzip",
     "; if it is a trace of another profiler, use assay import"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd", "; unpack it first"},
    {"\x7f"
     "ELF",
     4, "a program or a library", "; run it to get a run file from it"},
    {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file", ""},
    {"%PDF", 4, "a PDF document", ""},
};

static bool kind_is_text(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] < 0x20 && !strchr("\t\n\r\f\x1b", bytes[i]))
            return false;
        if (bytes[i] == 0)
            return false;
    }
    return true;
}

static bool kind_is_json(const unsigned char *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && strchr(" \t\r\n", bytes[i]) && bytes[i])
        i++;
    return i < n && (bytes[i] == '{' || bytes[i] == '[');
}

static void kind_recognise(const unsigned char *bytes, size_t n,
                           const char **kind, const char **advice)
{
    *kind = NULL;
    *advice = "";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (n >= kinds[i].n && memcmp(bytes, kinds[i].start, kinds[i].n) == 0) {
            *kind = kinds[i].kind;
            *advice = kinds[i].advice;
            return;
        }
    }
    if (!kind_is_text(bytes, n))
        return;
    *kind = text_kind;
    if (kind_is_json(bytes, n)) {
        *kind = "a JSON file";
        *advice = "; if it is a trace of another profiler, use assay import";
    }
}

enum assay_status kind_refuse(const char *path, struct error *err)
{
    const char *kind, *advice;
    unsigned char bytes[64];
    ssize_t got;
    size_t n;
    int fd;
    enum assay_status st = file_open(path, &fd, err);

    if (st)
        return st;
    got = read(fd, bytes, sizeof bytes);
    n = got > 0 ? (size_t)got : 0;
    close(fd);
    kind_recognise(bytes, n, &kind, &advice);
    if (n >= 16 && memcmp(bytes, "SQLite format 3", 16) == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged; was it copied completely?", path);
    if (!kind)
        return error_set(err, ASSAY_BAD_INPUT, "%s is not a run file", path);
    return error_set(err, ASSAY_BAD_INPUT, "%s is not a run file: it is %s%s",
                     path, kind, advice);
}
