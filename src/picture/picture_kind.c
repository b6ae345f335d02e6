/* picture/picture_kind.c - which image format a file's first bytes tell. */
#include "picture/picture.h"

#include <string.h>

enum { max_marks = 2 };

struct mark {
    size_t at;
    const char *bytes;
    size_t n;
};

struct kind {
    const char *name;
    struct mark marks[max_marks]; /* all of them; n 0: no more */
};

/* "BM" alone begins too many texts: BMP's reserved field is looked at too. */
static const struct kind kinds[] = {
    {"JPEG", {{0, "\xff\xd8\xff", 3}}},
    {"PNG", {{0, "\x89PNG", 4}}},
    {"GIF", {{0, "GIF8", 4}}},
    {"WebP", {{0, "RIFF", 4}, {8, "WEBP", 4}}},
    {"BMP", {{0, "BM", 2}, {6, "\0\0\0\0", 4}}},
    {"TIFF", {{0, "II*\0", 4}}},
    {"TIFF", {{0, "MM\0*", 4}}},
    {"AVIF", {{4, "ftypavif", 8}}},
    {"AVIF", {{4, "ftypavis", 8}}},
    {"HEIC", {{4, "ftyphei", 7}}},
    {"HEIC", {{4, "ftyphev", 7}}},
    {"HEIC", {{4, "ftypmif1", 8}}},
    {"HEIC", {{4, "ftypmsf1", 8}}},
    {"JPEG XL", {{0, "\xff\x0a", 2}}},
    {"JPEG XL", {{4, "JXL ", 4}}},
    {"JPEG 2000", {{4, "jP  ", 4}}},
};

static bool has_mark(const uint8_t *bytes, size_t n, const struct mark *mark)
{
    return n >= mark->at + mark->n &&
           memcmp(bytes + mark->at, mark->bytes, mark->n) == 0;
}

const char *picture_kind(const void *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t found = 0;

        while (found < max_marks && kinds[i].marks[found].n > 0 &&
               has_mark(bytes, n, &kinds[i].marks[found]))
            found++;
        if (found == max_marks || kinds[i].marks[found].n == 0)
            return kinds[i].name;
    }
    return NULL;
}
