/* predict/data_folder.c - see data_folder.h. */
#include "predict/data_folder.h"

#include "base/scanner.h"
#include "predict/csv.h"
#include "predict/perf4sight.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    max_size = 1 << 24,
    max_level = 100,
    max_batch = 1 << 20,
    max_lane = 1024,
    max_multiprocessors = 1 << 20
};

/* A file of the folder that is being read. */
struct data_reading {
    struct csv csv;
    int network, level; /* columns */
};

/* ---- the files ----------------------------------------------------------- */

static enum assay_status open_table(struct data_reading *reading,
                                    const char *folder, const char *file,
                                    struct error *err)
{
    struct str path = {0};
    enum assay_status st =
        str_printf(&path, "%s%s%s", folder,
                   folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/",
                   file)
            ? error_nomem(err, strlen(folder), "a file name")
            : csv_open(&reading->csv, str_text(&path), err);

    str_release(&path);
    if (!st)
        st = csv_need(&reading->csv, "network", &reading->network, err);
    if (!st)
        st = csv_need(&reading->csv, "prune", &reading->level, err);
    return st;
}

static enum assay_status read_level(struct data_reading *reading,
                                    int64_t *level, struct error *err)
{
    return csv_integer(&reading->csv, reading->level, 0, max_level, level, err);
}

/* Finds the description that the record is about. */
static enum assay_status read_subject(struct data_reading *reading,
                                      struct data_set *set, size_t *index,
                                      struct error *err)
{
    int64_t level = 0;
    enum assay_status st = read_level(reading, &level, err);

    return st ? st
              : data_set_describe(set,
                                  csv_field(&reading->csv, reading->network),
                                  level, index, err);
}

const char *const data_folder_files[] = {
    "measurements.csv", "layers.csv", "networks.csv", "network_ops.csv", NULL};

/* ---- layers.csv ---------------------------------------------------------- */

static const char *const layer_columns[CONV_NUMBERS] = {
    "ic", "oc", "kh",     "kw", "sh", "sw",
    "ph", "pw", "groups", "ih", "iw", "bias"};

static enum assay_status read_layer(struct data_reading *reading,
                                    struct data_set *set, const int *columns,
                                    struct error *err)
{
    int64_t v[CONV_NUMBERS] = {0};
    struct conv_row conv;
    size_t index = 0;
    enum assay_status st = read_subject(reading, set, &index, err);

    for (size_t i = 0; !st && i < CONV_NUMBERS; i++)
        st = csv_integer(&reading->csv, columns[i], conv_least[i], max_size,
                         &v[i], err);
    if (st)
        return st;
    if (!conv_from_numbers(v, &conv))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s line %zu: not a possible convolution: its kernel "
                         "does not fit, or its groups do not divide the "
                         "channels",
                         str_text(&reading->csv.name), reading->csv.line);
    return index < set->n_settled
               ? ASSAY_OK
               : description_add_conv(&set->descriptions[index], &conv, err);
}

static enum assay_status read_layer_rows(struct data_reading *reading,
                                         struct data_set *set,
                                         struct error *err)
{
    int columns[CONV_NUMBERS];
    enum assay_status st = ASSAY_OK;
    bool more = true;

    for (size_t i = 0; !st && i < CONV_NUMBERS; i++)
        st = csv_need(&reading->csv, layer_columns[i], &columns[i], err);
    while (!st && !(st = csv_next(&reading->csv, &more, err)) && more)
        st = read_layer(reading, set, columns, err);
    return st;
}

/* ---- networks.csv and network_ops.csv ------------------------------------ */

#define COUNT(name, field)                                                     \
    {                                                                          \
        name, offsetof(struct image_counts, field)                             \
    }

static const struct description_field network_columns[] = {
    COUNT("total_params", parameters),
    COUNT("bn_params", norm_parameters),
    COUNT("n_param_tensors", parameter_tensors),
    COUNT("saved_act_bytes_per_image", saved_bytes),
    {NULL, 0},
};

const struct description_field data_op_columns[] = {
    COUNT("relu_elems", relu_elements),
    COUNT("n_relu", n_relu),
    COUNT("bn_elems", norm_elements),
    COUNT("n_bn", n_norm),
    COUNT("cat_elems", concat_elements),
    COUNT("n_cat", n_concat),
    COUNT("add_elems", add_elements),
    COUNT("n_add", n_add),
    COUNT("maxpool_in", max_pool_inputs),
    COUNT("maxpool_out", max_pool_outputs),
    COUNT("maxpool_taps", max_pool_taps),
    COUNT("n_maxpool", n_max_pool),
    COUNT("avgpool_in", avg_pool_inputs),
    COUNT("n_avgpool", n_avg_pool),
    {NULL, 0},
};

enum { max_count_columns = 16 };

static enum assay_status read_count(struct data_reading *reading, int place,
                                    double *out, struct error *err)
{
    enum assay_status st = csv_number(&reading->csv, place, 0, out, err);

    if (!st && *out < 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s line %zu, column %s: a count cannot be negative",
                       str_text(&reading->csv.name), reading->csv.line,
                       reading->csv.columns[place]);
    return st;
}

/* "9216x4096;4096x1000" */
static enum assay_status read_denses(struct data_reading *reading,
                                     const char *text,
                                     struct description *description,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && *text) {
        enum { most = 99999999 };
        const char *at = text;
        uint64_t in = 0, out = 0;

        if (!scan_number(&at, most, &in) || !scan_word(&at, "x") ||
            !scan_number(&at, most, &out) || in < 1 || out < 1 ||
            (*at && *at != ';'))
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s line %zu, column fc_layers: '%.40s' is not "
                             "INxOUT;INxOUT",
                             str_text(&reading->csv.name), reading->csv.line,
                             text);
        st = description_add_dense(description, (int64_t)in, (int64_t)out, err);
        text = at + (*at == ';');
    }
    return st;
}

/* Folders of earlier versions do not have them. */
static enum assay_status read_walked(struct data_reading *reading,
                                     struct image_counts *counts,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (const struct description_field *f = description_walked_fields;
         !st && f->name; f++) {
        int place = csv_find(&reading->csv, f->name);

        if (place >= 0)
            st = read_count(reading, place, description_count(counts, f), err);
    }
    return st;
}

static enum assay_status read_counts(struct data_reading *reading,
                                     struct data_set *set,
                                     const struct description_field *columns,
                                     bool has_denses, struct error *err)
{
    int places[max_count_columns], denses = -1;
    enum assay_status st = ASSAY_OK;
    bool more = true;

    for (size_t i = 0; !st && columns[i].name; i++)
        st = csv_need(&reading->csv, columns[i].name, &places[i], err);
    if (!st && has_denses)
        st = csv_need(&reading->csv, "fc_layers", &denses, err);
    while (!st && !(st = csv_next(&reading->csv, &more, err)) && more) {
        struct description *description;
        size_t index = 0;

        st = read_subject(reading, set, &index, err);
        if (st || index < set->n_settled)
            continue;
        description = &set->descriptions[index];
        for (size_t i = 0; !st && columns[i].name; i++)
            st = read_count(
                reading, places[i],
                description_count(&description->counts, &columns[i]), err);
        if (!st)
            st = read_walked(reading, &description->counts, err);
        if (!st)
            st = read_denses(reading, csv_field(&reading->csv, denses),
                             description, err);
    }
    return st;
}

static enum assay_status read_networks(struct data_reading *reading,
                                       struct data_set *set, struct error *err)
{
    return read_counts(reading, set, network_columns, true, err);
}

static enum assay_status read_ops(struct data_reading *reading,
                                  struct data_set *set, struct error *err)
{
    return read_counts(reading, set, data_op_columns, false, err);
}

/* ---- measurements.csv ---------------------------------------------------- */

struct measured_columns {
    int batch, stage;
    int passed[N_TARGETS], value[N_TARGETS], is_kept[N_TARGETS];
    /* These and is_kept may be missing. */
    int capacity, available, lane, machine, framework, multiprocessors;
};

static enum assay_status find_measured(const struct csv *csv,
                                       struct measured_columns *columns,
                                       struct error *err)
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
    columns->machine = csv_find(csv, "machine");
    columns->framework = csv_find(csv, "framework");
    columns->multiprocessors = csv_find(csv, "multiprocessors");
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

/* Nothing, if the row does not say. */
static enum assay_status read_framework(const struct data_reading *reading,
                                        int place, enum framework *framework,
                                        struct error *err)
{
    const char *text = csv_field(&reading->csv, place);

    for (int i = 0; framework_names[i]; i++) {
        if (strcmp(text, framework_names[i]) == 0) {
            *framework = (enum framework)i;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu, column framework: '%.40s' is neither assay "
                     "nor torch",
                     str_text(&reading->csv.name), reading->csv.line, text);
}

/* The value of a target if it passed and was kept. */
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

static enum assay_status read_device(const struct data_reading *reading,
                                     const struct measured_columns *columns,
                                     struct data_set *set, struct error *err)
{
    double capacity = NAN, available = NAN, lane = NAN, multiprocessors = NAN;
    enum assay_status st =
        csv_number(&reading->csv, columns->capacity, NAN, &capacity, err);

    if (!st)
        st =
            csv_number(&reading->csv, columns->available, NAN, &available, err);
    if (!st)
        st = csv_number(&reading->csv, columns->lane, NAN, &lane, err);
    if (!st)
        st = csv_number(&reading->csv, columns->multiprocessors, NAN,
                        &multiprocessors, err);
    if (st)
        return st;
    data_set_note_device(set, capacity, available);
    if (lane >= 1 && lane <= max_lane)
        set->lane = lane;
    if (multiprocessors >= 1 && multiprocessors <= max_multiprocessors)
        set->multiprocessors = multiprocessors;
    return data_set_note_machine(
        set, csv_field(&reading->csv, columns->machine), err);
}

static enum assay_status
read_measurement(struct data_reading *reading,
                 const struct measured_columns *columns, struct data_set *set,
                 struct error *err)
{
    const char *network = csv_field(&reading->csv, reading->network);
    struct measurement row = {0};
    int64_t level = 0, batch = 0;
    enum assay_status st = read_level(reading, &level, err);

    if (!st)
        st = csv_integer(&reading->csv, columns->batch, 1, max_batch, &batch,
                         err);
    if (!st)
        st = read_stage(reading, columns->stage, &row.stage, err);
    if (!st)
        st = read_framework(reading, columns->framework, &row.framework, err);
    for (int t = 0; !st && t < N_TARGETS; t++)
        st = read_target(reading, columns, (enum target)t, &row, err);
    if (!st)
        st = read_device(reading, columns, set, err);
    if (st)
        return st;
    row.batch = (double)batch;
    return data_set_measure(set, network, level, row, err);
}

static enum assay_status read_measurements(struct data_reading *reading,
                                           struct data_set *set,
                                           struct error *err)
{
    struct measured_columns columns;
    enum assay_status st = find_measured(&reading->csv, &columns, err);
    bool more = true;

    while (!st && !(st = csv_next(&reading->csv, &more, err)) && more)
        st = read_measurement(reading, &columns, set, err);
    return st;
}

/* ---- the folder ---------------------------------------------------------- */

static enum assay_status check_data_folder(const char *folder,
                                           struct error *err)
{
    struct stat info;

    if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
        return ASSAY_OK;
    return error_set(
        err, ASSAY_NOT_FOUND,
        "%s: there is no such folder; a data folder has measurements.csv, "
        "layers.csv, networks.csv and network_ops.csv, or perf4sight's "
        "NETWORK_LEVEL-gt.csv",
        folder);
}

static enum assay_status read_table(struct data_set *set, const char *folder,
                                    size_t i, struct error *err)
{
    static const struct {
        const char *file;
        enum assay_status (*read)(struct data_reading *reading,
                                  struct data_set *set, struct error *err);
    } files[] = {{"layers.csv", read_layer_rows},
                 {"networks.csv", read_networks},
                 {"network_ops.csv", read_ops},
                 {"measurements.csv", read_measurements}};
    struct data_reading reading = {0};
    enum assay_status st = open_table(&reading, folder, files[i].file, err);

    if (!st)
        st = files[i].read(&reading, set, err);
    csv_release(&reading.csv);
    return st;
}

enum { n_descriptive = 3, n_tables };

static bool has_table(const char *folder, const char *file)
{
    struct str path = {0};
    bool is_there = !str_printf(&path, "%s/%s", folder, file) &&
                    access(str_text(&path), F_OK) == 0;

    str_release(&path);
    return is_there;
}

enum assay_status data_set_read(struct data_set *set, const char *folder,
                                struct error *err)
{
    enum assay_status st = check_data_folder(folder, err);
    bool is_perf4sight = !st && perf4sight_is_folder(folder);
    size_t n = !is_perf4sight                    ? n_tables
               : has_table(folder, "layers.csv") ? n_descriptive
                                                 : 0;

    data_set_begin(set);
    set->n_settled = set->n_descriptions;
    for (size_t i = 0; !st && i < n; i++)
        st = read_table(set, folder, i, err);
    if (!st && is_perf4sight)
        st = perf4sight_read(set, folder, err);
    return st;
}
