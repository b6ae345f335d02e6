/* views/compare_unlike.c - what else is not the same on the two sides of a
 * comparison: a difference may come from that. */
#include "views/compare_words_internal.h"

#include <string.h>

/* What is said of a run, in the order of the screen. */
static const struct {
    const char *fact, *name;
    const char *of_one; /* for a run without it, of one image at a time */
} compared[] = {{"model.name", "model", NULL},
                {"model.weights", "weights", NULL},
                {"model.device", "device", NULL},
                {"model.precision", "precision", NULL},
                {"settings.mode", "mode", NULL},
                {"settings.threads", "threads", NULL},
                {"settings.batch", "batch", "1 image"},
                {"training.batch_images", "batch", NULL},
                {"input.note", "input", NULL},
                {"input.resized", "size", NULL},
                {"machine.cpu", "processor", NULL},
                {"machine.simd", "instructions", NULL},
                {"machine.gpu", "GPU", NULL},
                {"machine.library", "library", NULL},
                {"assay.version", "Assay", NULL}};

enum { n_compared = sizeof compared / sizeof *compared };

static const char *unlike_fact(const struct run *run, size_t which)
{
    const char *value = run_fact(run, compared[which].fact);

    if (!value && compared[which].of_one && run_images_each(run) <= 1)
        return compared[which].of_one;
    return value;
}

/* Of the side's first run; *others: some other run says something else. */
static const char *side_fact(const struct compare_side *side, size_t which,
                             bool *others)
{
    const char *first = NULL;

    *others = false;
    for (size_t i = 0; i < side->n_runs; i++) {
        const char *value = unlike_fact(side->runs[i], which);

        if (i == 0)
            first = value;
        else if (value && first && strcmp(value, first) != 0)
            *others = true;
    }
    return first;
}

bool compare_unlike(const struct comparison *comparison, size_t *next,
                    struct compare_unlike *out)
{
    while (*next < n_compared) {
        size_t i = (*next)++;

        *out = (struct compare_unlike){.fact = compared[i].fact,
                                       .name = compared[i].name};
        out->a = side_fact(compare_side_a(comparison), i, &out->a_has_others);
        out->b = side_fact(compare_side_b(comparison), i, &out->b_has_others);
        if (out->a && out->b &&
            (out->a_has_others || out->b_has_others ||
             strcmp(out->a, out->b) != 0))
            return true;
    }
    return false;
}

enum assay_status compare_unlike_words(const struct compare_unlike *unlike,
                                       struct str *text)
{
    return str_printf(text, "%s A %s%s, B %s%s", unlike->name, unlike->a,
                      unlike->a_has_others ? " and others" : "", unlike->b,
                      unlike->b_has_others ? " and others" : "");
}

enum assay_status compare_all_unlike(const struct comparison *comparison,
                                     struct str *text)
{
    struct compare_unlike unlike;
    size_t next = 0, before = text->n;
    enum assay_status st = ASSAY_OK;

    while (!st && compare_unlike(comparison, &next, &unlike)) {
        if (text->n > before)
            st = str_append(text, "; ");
        if (!st)
            st = compare_unlike_words(&unlike, text);
    }
    return st;
}
