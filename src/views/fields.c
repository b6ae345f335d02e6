/* views/fields.c - see fields_internal.h. */
#include "views/fields_internal.h"

#include "views/ranking_internal.h"

#include <math.h>

const char *field_name(enum field field)
{
    static const char *const names[] = {
#define VIEW_FIELD_NAME(name, text, value) text,
        VIEW_FIELDS(VIEW_FIELD_NAME)
#undef VIEW_FIELD_NAME
    };

    return names[field];
}

static double field_bytes(int64_t bytes)
{
    return bytes == RUN_UNKNOWN ? NAN : (double)bytes;
}

double field_value(enum field field, const struct rows *rows,
                   const struct row *row, const struct scope_stats *stats)
{
    switch (field) {
#define VIEW_FIELD_VALUE(name, text, value)                                    \
    case name:                                                                 \
        return value;
        VIEW_FIELDS(VIEW_FIELD_VALUE)
#undef VIEW_FIELD_VALUE
    case N_FIELDS:
        break;
    }
    return NAN;
}
