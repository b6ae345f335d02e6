/* data/mask_text.c - COCO's compressed masks.
 *
 * A run is written as its difference from the last one of its kind (but for
 * the first three), in groups of five bits, the lowest first. A group is a
 * letter from '0' on; 32 on top says that another follows, and the fifth bit
 * of the last one is the sign. */
#include "data/mask_internal.h"

enum {
    FIRST_LETTER = '0',
    GROUP_BITS = 5,
    GROUP = 31,
    SIGN = 16,
    MORE = 32,
    MOST_GROUPS = 7 /* more than any 32-bit difference has */
};

/* False where no number begins at *at, or it does not end. */
static bool mask_text_read_number(const char *text, size_t n, size_t *at,
                                  int64_t *out)
{
    uint64_t value = 0;

    for (int k = 0; k < MOST_GROUPS && *at < n; k++) {
        int group = text[(*at)++] - FIRST_LETTER;

        if (group < 0 || group > (GROUP | MORE))
            return false;
        value |= (uint64_t)(group & GROUP) << (GROUP_BITS * k);
        if (group & MORE)
            continue;
        if (group & SIGN)
            value |= ~(uint64_t)0 << (GROUP_BITS * (k + 1));
        *out = (int64_t)value;
        return true;
    }
    return false;
}

enum assay_status mask_from_text(const char *text, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err)
{
    enum assay_status st = mask_begin(out, width, height, err);
    int64_t last[2] = {0}, left;
    size_t at = 0;

    if (st)
        return st;
    left = (int64_t)mask_pixels(out);
    for (size_t i = 0; !st && at < n; i++) {
        int64_t run;

        if (!mask_text_read_number(text, n, &at, &run)) {
            st = error_set(err, ASSAY_BAD_INPUT,
                           "the text of a mask is broken at letter %zu", at);
            break;
        }
        if (i > 2)
            run += last[i % 2];
        if (run < 0 || run > left) {
            left = -1;
            break;
        }
        last[i % 2] = run;
        left -= run;
        st = mask_append(out, i % 2 == 1, (uint64_t)run, err);
    }
    if (!st && left != 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the runs of a mask do not add up to its %dx%d pixels",
                       width, height);
    if (st)
        mask_release(out);
    return st;
}

enum assay_status mask_to_text(const struct mask *mask, struct str *text)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < mask->n; i++) {
        int64_t value = mask->runs[i];
        bool has_more = true;

        if (i > 2)
            value -= mask->runs[i - 2];
        while (!st && has_more) {
            int group = (int)(value & GROUP);

            value = (value - group) / (GROUP + 1);
            has_more = group & SIGN ? value != -1 : value != 0;
            st = str_append_char(
                text, (char)(FIRST_LETTER + (group | (has_more ? MORE : 0))));
        }
    }
    return st;
}
