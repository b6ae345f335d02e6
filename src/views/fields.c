/* views/fields.c - see fields_internal.h. */
#include "views/fields_internal.h"

#include "views/ranking_internal.h"

#include <math.h>

const char *field_name(enum field field)
{
    static const char *const names[] = {
#define VIEW_FIELD_NAME(name, text) text,
        VIEW_FIELDS(VIEW_FIELD_NAME)
#undef VIEW_FIELD_NAME
    };

    return names[field];
}

static double bytes_value(int64_t bytes)
{
    return bytes == RUN_UNKNOWN ? NAN : (double)bytes;
}

double field_value(enum field field, const struct rows *rows,
                   const struct row *row, const struct scope_stats *stats)
{
    switch (field) {
    case FIELD_DEPTH:
        return row->scope == RUN_NONE ? NAN : (double)row->depth;
    case FIELD_CALLS:
        return rows_each(rows, row, row->calls);
    case FIELD_TOTAL:
        return rows_each(rows, row, row->total_ns) / 1e6;
    case FIELD_SELF:
        return rows_each(rows, row, row->self_ns) / 1e6;
    case FIELD_SHARE:
        return row->share;
    case FIELD_CALL:
        return row_call_ns(row) / 1e6;
    case FIELD_MEDIAN:
        return stats->median_ns / 1e6;
    case FIELD_MEDIAN_LOW:
        return stats->median_low_ns / 1e6;
    case FIELD_MEDIAN_HIGH:
        return stats->median_high_ns / 1e6;
    case FIELD_P5:
        return stats->p5_ns / 1e6;
    case FIELD_P95:
        return stats->p95_ns / 1e6;
    case FIELD_P99:
        return stats->p99_ns / 1e6;
    case FIELD_MIN:
        return stats->min_ns / 1e6;
    case FIELD_MAX:
        return stats->max_ns / 1e6;
    case FIELD_SD:
        return stats->sd_ns / 1e6;
    case FIELD_ALL_CALLS:
        return row->calls;
    case FIELD_ALL_TOTAL:
        return row->total_ns;
    case FIELD_ALL_SELF:
        return row->self_ns;
    case FIELD_BYTES:
        return bytes_value(row->bytes);
    case FIELD_PEAK_BYTES:
        return bytes_value(row->peak_bytes);
    case FIELD_MACS:
        return row->work.macs;
    case FIELD_SELF_MACS:
        return row->self_macs;
    case FIELD_GFLOPS:
        return row_gflops(rows, row);
    case FIELD_FLOPS:
        return row->work.flops;
    case FIELD_READ_BYTES:
        return row->work.read_bytes;
    case FIELD_WRITE_BYTES:
        return row->work.write_bytes;
    case FIELD_PARAMETERS:
        return row->work.parameters;
    case FIELD_DONE_FLOPS:
        return row->work.done_flops;
    case FIELD_DONE_BYTES:
        return row->work.done_bytes;
    case FIELD_KEPT_BYTES:
        return row->work.kept_bytes;
    case FIELD_DONE_GFLOPS:
        return row->bound.done_gflops;
    case FIELD_GBS:
        return row->bound.gbs;
    case FIELD_FLOOR:
        return row->bound.floor_ns / 1e6;
    case FIELD_REACHED:
        return row->bound.share;
    case FIELD_SAVED:
        return row->bound.saved_ns / 1e6;
    case N_FIELDS:
        break;
    }
    return NAN;
}
