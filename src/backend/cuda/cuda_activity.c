/* backend/cuda/cuda_activity.c - see cuda_activity.h. */
#include "backend/cuda/cuda_activity.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void cuda_activities_release(struct cuda_activities *book)
{
    mem_free(book->ran);
    mem_free(book->notes);
    *book = (struct cuda_activities){0};
}

/* ---- notes --------------------------------------------------------------- */

void cuda_activity_ran(struct cuda_activities *book,
                       const struct cuda_activity *activity)
{
    if (book->n_ran >= CUDA_MOST_NOTES ||
        activity->end_ns < activity->begin_ns ||
        !vec_grow(&book->ran, &book->ran_capacity, book->n_ran + 1,
                  sizeof *book->ran)) {
        book->n_lost++;
        return;
    }
    book->ran[book->n_ran++] = *activity;
}

/* What is told of one call usually comes at once. */
static void activity_note(struct cuda_activities *book,
                          struct cuda_launch_note note)
{
    struct cuda_launch_note *last =
        book->n_notes ? &book->notes[book->n_notes - 1] : NULL;

    if (last && last->correlation == note.correlation) {
        last->tag = note.tag ? note.tag : last->tag;
        last->launched_ns =
            note.launched_ns ? note.launched_ns : last->launched_ns;
        return;
    }
    if (book->n_notes >= CUDA_MOST_NOTES ||
        !vec_grow(&book->notes, &book->notes_capacity, book->n_notes + 1,
                  sizeof *book->notes)) {
        book->n_lost++;
        return;
    }
    book->notes[book->n_notes++] = note;
}

void cuda_activity_called(struct cuda_activities *book, uint32_t correlation,
                          int64_t launched_ns)
{
    activity_note(book, (struct cuda_launch_note){.correlation = correlation,
                                                  .launched_ns = launched_ns});
}

void cuda_activity_tagged(struct cuda_activities *book, uint32_t correlation,
                          uint32_t tag)
{
    activity_note(book, (struct cuda_launch_note){.correlation = correlation,
                                                  .tag = tag});
}

static int activity_compare_notes(const void *left, const void *right)
{
    const struct cuda_launch_note *a = left, *b = right;

    return (a->correlation > b->correlation) -
           (a->correlation < b->correlation);
}

typedef int activity_order(const void *left, const void *right);

/* Records nearly always come in order; looking is a tenth of sorting. */
static void activity_sort(void *items, size_t n, size_t size,
                          activity_order *order)
{
    const char *at = items;
    size_t i = 1;

    while (i < n && order(at + (i - 1) * size, at + i * size) <= 0)
        i++;
    if (i < n)
        qsort(items, n, size, order);
}

/* Sorts the notes, and joins those of one call. */
static void activity_settle_notes(struct cuda_activities *book)
{
    size_t n = 0;

    if (!book->n_notes)
        return;
    activity_sort(book->notes, book->n_notes, sizeof *book->notes,
                  activity_compare_notes);
    for (size_t i = 0; i < book->n_notes; i++) {
        struct cuda_launch_note note = book->notes[i];

        if (n && book->notes[n - 1].correlation == note.correlation) {
            if (note.tag)
                book->notes[n - 1].tag = note.tag;
            if (note.launched_ns)
                book->notes[n - 1].launched_ns = note.launched_ns;
        } else {
            book->notes[n++] = note;
        }
    }
    book->n_notes = n;
}

/* Forgets the calls before a number. */
static void activity_drop_notes(struct cuda_activities *book,
                                uint32_t correlation)
{
    size_t n = 0;

    while (n < book->n_notes && book->notes[n].correlation < correlation)
        n++;
    book->n_notes -= n;
    if (n)
        memmove(book->notes, book->notes + n,
                book->n_notes * sizeof *book->notes);
}

/* ---- visiting ------------------------------------------------------------ */

static int activity_compare(const void *left, const void *right)
{
    const struct cuda_activity *a = left, *b = right;

    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void activity_visit(struct cuda_activities *book,
                           const struct cuda_activity *activity,
                           queue_visit *visit, void *context)
{
    struct cuda_launch_note wanted = {.correlation = activity->correlation};
    const struct cuda_launch_note *note =
        book->n_notes ? bsearch(&wanted, book->notes, book->n_notes,
                                sizeof *book->notes, activity_compare_notes)
                      : NULL;
    struct queue_timing timing = {.tag = book->tag,
                                  .work = activity->work,
                                  .launched_ns = activity->begin_ns,
                                  .begin_ns = activity->begin_ns,
                                  .end_ns = activity->end_ns};

    if (note && note->tag)
        timing.tag = book->tag = note->tag;
    else
        book->n_guessed++;
    if (note && note->launched_ns && note->launched_ns < activity->begin_ns)
        timing.launched_ns = note->launched_ns;
    book->n_visited++;
    visit(context, &timing);
}

void cuda_activities_visit(struct cuda_activities *book, queue_visit *visit,
                           void *context)
{
    uint32_t highest = 0;

    activity_settle_notes(book);
    activity_sort(book->ran, book->n_ran, sizeof *book->ran, activity_compare);
    for (size_t i = 0; i < book->n_ran; i++) {
        activity_visit(book, &book->ran[i], visit, context);
        if (book->ran[i].correlation > highest)
            highest = book->ran[i].correlation;
    }
    book->n_ran = 0;
    activity_drop_notes(book, highest);
}
