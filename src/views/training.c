/* views/training.c - see training.h. */
#include "views/training.h"

#include "views/stages.h"

const char *part_name(enum part part)
{
    static const char *const names[] = {
#define VIEW_PART_NAME(name, text) text,
        VIEW_PARTS(VIEW_PART_NAME)
#undef VIEW_PART_NAME
    };

    return names[part];
}

bool training_find(const struct rows *rows, struct training *training)
{
    *training = (struct training){
        .whole_ns = rows_each(rows, &rows->items[0], rows->whole_ns)};
    training->other_ns = training->whole_ns;
    for (enum part i = 0; i < N_PARTS; i++) {
        size_t at = stage_row(rows, part_name(i));
        const struct row *row = &rows->items[at];

        training->row[i] = at;
        if (at)
            training->ns[i] = rows_each(rows, row, row->total_ns);
        training->other_ns -= training->ns[i];
    }
    return training->row[PART_FORWARD] && training->row[PART_BACKWARD];
}
