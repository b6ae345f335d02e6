/* tests/fuzz/picture_fuzz.c - any bytes, read as a picture. */
#include "base/mem.h"
#include "fuzz.h"
#include "picture/picture.h"

#include <string.h>

/* Small pictures, so that many are tried per second. */
static const uint64_t max_pixels = 1 << 18;

/* Reads every pixel. */
static void check_pixels(const struct picture *picture)
{
    size_t n = (size_t)picture->width * (size_t)picture->height;
    volatile uint8_t sum = 0;

    if (picture->width < 1 || picture->height < 1 || n > max_pixels)
        __builtin_trap();
    for (size_t i = 0; i < n * 3; i++)
        sum = (uint8_t)(sum + picture->rgb[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct picture picture;
    struct error err = {0};
    char comment[32];

    if (picture_comment(data, n, comment, sizeof comment) &&
        strlen(comment) >= sizeof comment)
        __builtin_trap();
    if (picture_decode(data, n, "fuzz", max_pixels, &picture, &err)) {
        if (picture.rgb || !err.text[0])
            __builtin_trap();
    } else {
        check_pixels(&picture);
    }
    picture_release(&picture);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
