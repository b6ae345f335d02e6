/* ops/detection/bilinear.c - see bilinear_internal.h. */
#include "ops/detection/bilinear_internal.h"

struct tap bilinear_tap(int64_t i, int64_t from, int64_t to)
{
    /* Scale in single, position in double precision, as in PyTorch. */
    float scale = (float)from / (float)to;
    double at = (double)scale * ((double)i + 0.5) - 0.5;
    struct tap tap;

    if (from == to)
        return (struct tap){.low = i, .high = i, .low_weight = 1};
    if (at < 0)
        at = 0;
    tap.low = (int64_t)at;
    if (tap.low > from - 1)
        tap.low = from - 1;
    tap.high = tap.low < from - 1 ? tap.low + 1 : tap.low;
    tap.high_weight = (float)(at - (double)tap.low);
    if (tap.high_weight > 1)
        tap.high_weight = 1;
    tap.low_weight = 1 - tap.high_weight;
    return tap;
}
