/* run/space.c - memory held, by space and category. */
#include "run/run_internal.h"

#include "base/vec.h"

#include <string.h>

size_t run_space_count(const struct run *run)
{
    return run->n_spaces;
}

const struct space_row *run_space(const struct run *run, size_t i)
{
    return &run->spaces[i];
}

const struct space_row *run_space_find(const struct run *run, const char *space,
                                       const char *category)
{
    for (size_t i = 0; i < run->n_spaces; i++) {
        const struct space_row *row = &run->spaces[i];

        if (strcmp(row->space, space) == 0 &&
            strcmp(row->category, category) == 0)
            return row;
    }
    return NULL;
}

/* The row of that space and category, empty if it is new. NULL if memory runs
 * out. */
static struct space_row *space_row_of(struct run *run, const char *space,
                                      const char *category)
{
    const struct space_row *found = run_space_find(run, space, category);
    const char *kept_space, *kept_category;

    if (found)
        return &run->spaces[found - run->spaces];
    kept_space = arena_strdup(&run->text, space);
    kept_category = arena_strdup(&run->text, category);
    if (!kept_space || !kept_category ||
        !vec_grow(&run->spaces, &run->spaces_capacity, run->n_spaces + 1,
                  sizeof *run->spaces))
        return NULL;
    run->spaces[run->n_spaces] =
        (struct space_row){.space = kept_space, .category = kept_category};
    return &run->spaces[run->n_spaces++];
}

static bool space_sum_fits(int64_t a, int64_t b)
{
    int64_t sum;

    return !__builtin_add_overflow(a, b, &sum);
}

/* The space is at its peak: records what all of its rows hold now. */
static void space_note_peak(struct run *run, const char *space)
{
    for (size_t i = 0; i < run->n_spaces; i++) {
        if (strcmp(run->spaces[i].space, space) == 0)
            run->spaces[i].at_peak_bytes = run->spaces[i].live_bytes;
    }
}

static void space_row_change(struct space_row *row, int64_t delta)
{
    row->live_bytes += delta;
    if (row->live_bytes > row->peak_bytes)
        row->peak_bytes = row->live_bytes;
}

enum assay_status run_space_change(struct run *run, const char *space,
                                   const char *category, int64_t delta,
                                   struct error *err)
{
    struct space_row *part, *whole = space_row_of(run, space, "");
    size_t at;

    if (!whole)
        return error_nomem(err, sizeof *whole, "the memory of a space");
    at = (size_t)(whole - run->spaces);
    part = space_row_of(run, space, category);
    if (!part)
        return error_nomem(err, sizeof *part, "the memory of a space");
    whole = &run->spaces[at]; /* it may have moved */
    if (!space_sum_fits(whole->live_bytes, delta) ||
        !space_sum_fits(part->live_bytes, delta))
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%s' cannot hold that many bytes", space);
    if (part != whole)
        space_row_change(part, delta);
    if (whole->live_bytes + delta > whole->peak_bytes) {
        space_row_change(whole, delta);
        space_note_peak(run, space);
    } else {
        space_row_change(whole, delta);
    }
    return ASSAY_OK;
}

static void space_row_fill(struct space_row *place, const struct space_row *row)
{
    place->live_bytes = row->live_bytes;
    place->peak_bytes = row->peak_bytes;
    place->at_peak_bytes = row->at_peak_bytes;
}

enum assay_status run_space_restore(struct run *run,
                                    const struct space_row *row,
                                    struct error *err)
{
    struct space_row *place;

    if (run_space_find(run, row->space, row->category))
        return error_set(err, ASSAY_BAD_INPUT,
                         "category '%s' of '%s' is there twice", row->category,
                         row->space);
    place = space_row_of(run, row->space, row->category);
    if (!place)
        return error_nomem(err, sizeof *place, "the memory of a space");
    space_row_fill(place, row);
    return ASSAY_OK;
}

static int64_t space_peak(const struct run *run, const char *space)
{
    const struct space_row *whole = run_space_find(run, space, "");

    return whole ? whole->peak_bytes : -1;
}

/* A space is taken from the run where it had the higher peak. Its whole comes
 * before its parts, and is copied last. */
enum assay_status spaces_merge(struct run *into, const struct run *from,
                               struct error *err)
{
    for (size_t i = from->n_spaces; i-- > 0;) {
        const struct space_row *row = &from->spaces[i];
        struct space_row *place;

        if (space_peak(into, row->space) >= space_peak(from, row->space))
            continue;
        place = space_row_of(into, row->space, row->category);
        if (!place)
            return error_nomem(err, sizeof *place, "the memory of a space");
        space_row_fill(place, row);
    }
    return ASSAY_OK;
}
