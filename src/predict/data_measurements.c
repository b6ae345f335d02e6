/* predict/data_measurements.c - measurements.csv of a data folder. */
#include "predict/data_folder_internal.h"

#include <math.h>
#include <string.h>

enum { max_batch = 1 << 20, most_lane = 1024 };

struct measured_columns {
    int batch, stage;
    int passed[N_TARGETS], value[N_TARGETS], is_kept[N_TARGETS];
    int capacity, available, lane; /* these may be missing, and is_kept */
};

static enum assay_status data_measurements_find_columns(
    const struct csv *csv, struct measured_columns *columns, struct error *err)
{
    static const char *const passed[] = {"lat_passed", "mem_passed"};
    static const char *const value[] = {"latency_ms", "mem_used_mb"};
    static const char *const is_kept[] = {"lat_in_gt", "mem_in_gt"};
    enum assay_status st = csv_need(csv, "batch", &columns->batch, err);

    if (!st)
        st = csv_need(csv, "stage", &columns->stage, err);
    for (size_t t = 0; !st && t < N_TARGETS; t++) {
        st = csv_need(csv, passed[t], &columns->passed[t], err);
        if (!st)
            st = csv_need(csv, value[t], &columns->value[t], err);
        columns->is_kept[t] = csv_find(csv, is_kept[t]);
    }
    columns->capacity = csv_find(csv, "mem_capacity_mb");
    columns->available = csv_find(csv, "mem_avail_mb");
    columns->lane = csv_find(csv, "lane");
    return st;
}

static enum assay_status read_stage(const struct data_reading *reading,
                                    int place, enum stage *stage,
                                    struct error *err)
{
    const char *text = csv_field(&reading->csv, place);

    for (int i = 0; stage_names[i]; i++) {
        if (strcmp(text, stage_names[i]) == 0) {
            *stage = (enum stage)i;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu, column stage: '%.40s' is neither training "
                     "nor inference",
                     str_text(&reading->csv.name), reading->csv.line, text);
}

/* What a row says of one target: a value where it passed and was kept. */
static enum assay_status read_target(const struct data_reading *reading,
                                     const struct measured_columns *columns,
                                     enum target target,
                                     struct measurement *row, struct error *err)
{
    const struct csv *csv = &reading->csv;
    double passed = 0, is_kept = 1, value = NAN;
    enum assay_status st =
        csv_number(csv, columns->passed[target], NAN, &passed, err);

    if (!st)
        st = csv_number(csv, columns->is_kept[target], 1, &is_kept, err);
    if (!st)
        st = csv_number(csv, columns->value[target], NAN, &value, err);
    if (st)
        return st;
    row->value[target] =
        passed > 0 && is_kept > 0 && value > 0 ? value : (double)NAN;
    if (target == TARGET_MEMORY)
        row->is_failed = passed <= 0 && is_kept > 0;
    return ASSAY_OK;
}

static enum assay_status
data_measurements_read_device(const struct data_reading *reading,
                              const struct measured_columns *columns,
                              struct data_set *set, struct error *err)
{
    double capacity = NAN, available = NAN, lane = NAN;
    enum assay_status st =
        csv_number(&reading->csv, columns->capacity, NAN, &capacity, err);

    if (!st)
        st =
            csv_number(&reading->csv, columns->available, NAN, &available, err);
    if (!st)
        st = csv_number(&reading->csv, columns->lane, NAN, &lane, err);
    if (st)
        return st;
    if (capacity > 0)
        set->capacity_mb = fmax(set->capacity_mb, capacity);
    if (available > 0)
        set->available_mb = fmax(set->available_mb, available);
    if (lane >= 1 && lane <= most_lane)
        set->lane = lane;
    return ASSAY_OK;
}

/* "mnasnet 5 15, resnet18 40": each network and level once. */
static enum assay_status note_undescribed(struct data_set *set,
                                          const char *network, int64_t level,
                                          struct error *err)
{
    struct str key = {0};
    bool is_last = strcmp(str_text(&set->last_undescribed), network) == 0;
    enum assay_status st = data_set_key(&key, network, level, err);

    set->n_undescribed++;
    if (!st && !map_find_text(&set->noted, str_text(&key), NULL)) {
        str_clear(&set->last_undescribed);
        if (map_put_text(&set->noted, str_text(&key), 1) ||
            str_append(&set->last_undescribed, network) ||
            str_printf(&set->undescribed, "%s%s %lld",
                       is_last || !set->undescribed.n ? "" : ", ",
                       is_last ? "" : network, (long long)level))
            st = error_nomem(err, 32, "a note");
    }
    str_release(&key);
    return st;
}

static enum assay_status
data_measurements_read_row(struct data_reading *reading,
                           const struct measured_columns *columns,
                           struct data_set *set, struct error *err)
{
    const char *network = csv_field(&reading->csv, reading->network);
    struct measurement row = {0};
    int64_t level = 0, batch = 0;
    enum assay_status st = data_read_level(reading, &level, err);

    if (!st)
        st = csv_integer(&reading->csv, columns->batch, 1, max_batch, &batch,
                         err);
    if (!st)
        st = read_stage(reading, columns->stage, &row.stage, err);
    for (int t = 0; !st && t < N_TARGETS; t++)
        st = read_target(reading, columns, (enum target)t, &row, err);
    if (!st)
        st = data_measurements_read_device(reading, columns, set, err);
    if (st)
        return st;
    row.batch = (double)batch;
    row.description = data_set_find(set, network, level);
    if (row.description == SIZE_MAX ||
        (!set->descriptions[row.description].n_convs &&
         !set->descriptions[row.description].n_denses))
        return note_undescribed(set, network, level, err);
    return data_set_add_row(set, &row, err);
}

enum assay_status data_read_measurements(struct data_reading *reading,
                                         struct data_set *set,
                                         struct error *err)
{
    struct measured_columns columns;
    enum assay_status st =
        data_measurements_find_columns(&reading->csv, &columns, err);
    bool more = true;

    while (!st && !(st = csv_next(&reading->csv, &more, err)) && more)
        st = data_measurements_read_row(reading, &columns, set, err);
    return st;
}
