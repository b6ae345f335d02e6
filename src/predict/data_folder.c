/* predict/data_folder.c - see data_folder.h. */
#include "predict/data_folder.h"

#include "base/scanner.h"
#include "predict/data_folder_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { max_size = 1 << 24, max_level = 100 };

/* ---- the files ----------------------------------------------------------- */

static enum assay_status data_folder_open_file(struct data_reading *reading,
                                               const char *folder,
                                               const char *file,
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

enum assay_status data_read_level(struct data_reading *reading, int64_t *level,
                                  struct error *err)
{
    return csv_integer(&reading->csv, reading->level, 0, max_level, level, err);
}

/* The description that the record is about. */
static enum assay_status read_subject(struct data_reading *reading,
                                      struct data_set *set, size_t *index,
                                      struct error *err)
{
    int64_t level = 0;
    enum assay_status st = data_read_level(reading, &level, err);

    return st ? st
              : data_set_describe(set,
                                  csv_field(&reading->csv, reading->network),
                                  level, index, err);
}

const char *const data_folder_files[] = {
    "measurements.csv", "layers.csv", "networks.csv", "network_ops.csv", NULL};

/* ---- layers.csv ---------------------------------------------------------- */

enum layer_column {
    LAYER_IN,
    LAYER_OUT,
    LAYER_KERNEL_H,
    LAYER_KERNEL_W,
    LAYER_STRIDE_H,
    LAYER_STRIDE_W,
    LAYER_PAD_H,
    LAYER_PAD_W,
    LAYER_GROUPS,
    LAYER_SIZE_H,
    LAYER_SIZE_W,
    LAYER_BIAS,
    N_LAYER_COLUMNS
};

static const struct {
    const char *name;
    int64_t low;
} layer_columns[] = {
    [LAYER_IN] = {"ic", 1},         [LAYER_OUT] = {"oc", 1},
    [LAYER_KERNEL_H] = {"kh", 1},   [LAYER_KERNEL_W] = {"kw", 1},
    [LAYER_STRIDE_H] = {"sh", 1},   [LAYER_STRIDE_W] = {"sw", 1},
    [LAYER_PAD_H] = {"ph", 0},      [LAYER_PAD_W] = {"pw", 0},
    [LAYER_GROUPS] = {"groups", 1}, [LAYER_SIZE_H] = {"ih", 1},
    [LAYER_SIZE_W] = {"iw", 1},     [LAYER_BIAS] = {"bias", 0},
};

static enum assay_status check_conv(const struct data_reading *reading,
                                    const struct conv_row *conv,
                                    struct error *err)
{
    if (conv_out(conv, 0) && conv_out(conv, 1) &&
        conv->in % conv->groups == 0 && conv->out % conv->groups == 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu: a convolution that cannot be: its kernel "
                     "does not fit, or its groups do not divide the channels",
                     str_text(&reading->csv.name), reading->csv.line);
}

static enum assay_status read_layer(struct data_reading *reading,
                                    struct data_set *set, const int *columns,
                                    struct error *err)
{
    int64_t v[N_LAYER_COLUMNS] = {0};
    struct conv_row conv;
    size_t index = 0;
    enum assay_status st = read_subject(reading, set, &index, err);

    for (size_t i = 0; !st && i < N_LAYER_COLUMNS; i++)
        st = csv_integer(&reading->csv, columns[i], layer_columns[i].low,
                         max_size, &v[i], err);
    if (st)
        return st;
    conv = (struct conv_row){
        .in = v[LAYER_IN],
        .out = v[LAYER_OUT],
        .kernel = {v[LAYER_KERNEL_H], v[LAYER_KERNEL_W]},
        .stride = {v[LAYER_STRIDE_H], v[LAYER_STRIDE_W]},
        .pad = {v[LAYER_PAD_H], v[LAYER_PAD_W]},
        .groups = v[LAYER_GROUPS],
        .size = {v[LAYER_SIZE_H], v[LAYER_SIZE_W]},
        .has_bias = v[LAYER_BIAS] != 0,
    };
    st = check_conv(reading, &conv, err);
    return st || index < set->n_settled
               ? st
               : description_add_conv(&set->descriptions[index], &conv, err);
}

static enum assay_status data_folder_read_layers(struct data_reading *reading,
                                                 struct data_set *set,
                                                 struct error *err)
{
    int columns[N_LAYER_COLUMNS];
    enum assay_status st = ASSAY_OK;
    bool more = true;

    for (size_t i = 0; !st && i < N_LAYER_COLUMNS; i++)
        st = csv_need(&reading->csv, layer_columns[i].name, &columns[i], err);
    while (!st && !(st = csv_next(&reading->csv, &more, err)) && more)
        st = read_layer(reading, set, columns, err);
    return st;
}

/* ---- networks.csv and network_ops.csv ------------------------------------ */

struct count_column {
    const char *name;
    size_t offset; /* in struct image_counts */
};

#define COUNT(name, field)                                                     \
    {                                                                          \
        name, offsetof(struct image_counts, field)                             \
    }

static const struct count_column network_columns[] = {
    COUNT("total_params", parameters),
    COUNT("bn_params", norm_parameters),
    COUNT("n_param_tensors", parameter_tensors),
    COUNT("saved_act_bytes_per_image", saved_bytes),
    {NULL, 0},
};

static const struct count_column op_columns[] = {
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

static enum assay_status data_folder_read_count(struct data_reading *reading,
                                                int place, double *out,
                                                struct error *err)
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

static enum assay_status
data_folder_read_counts(struct data_reading *reading, struct data_set *set,
                        const struct count_column *columns, bool has_denses,
                        struct error *err)
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
            st = data_folder_read_count(
                reading, places[i],
                (double *)((char *)&description->counts + columns[i].offset),
                err);
        if (!st)
            st = read_denses(reading, csv_field(&reading->csv, denses),
                             description, err);
    }
    return st;
}

static enum assay_status read_networks(struct data_reading *reading,
                                       struct data_set *set, struct error *err)
{
    return data_folder_read_counts(reading, set, network_columns, true, err);
}

static enum assay_status read_ops(struct data_reading *reading,
                                  struct data_set *set, struct error *err)
{
    return data_folder_read_counts(reading, set, op_columns, false, err);
}

/* ---- the folder ---------------------------------------------------------- */

static enum assay_status data_folder_check(const char *folder,
                                           struct error *err)
{
    struct stat info;

    if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
        return ASSAY_OK;
    return error_set(err, ASSAY_NOT_FOUND,
                     "%s: there is no such folder; one is wanted with "
                     "measurements.csv, layers.csv, networks.csv and "
                     "network_ops.csv",
                     folder);
}

enum assay_status data_set_read(struct data_set *set, const char *folder,
                                struct error *err)
{
    static const struct {
        const char *file;
        enum assay_status (*read)(struct data_reading *reading,
                                  struct data_set *set, struct error *err);
    } files[] = {{"layers.csv", data_folder_read_layers},
                 {"networks.csv", read_networks},
                 {"network_ops.csv", read_ops},
                 {"measurements.csv", data_read_measurements}};
    enum assay_status st = data_folder_check(folder, err);

    if (!set->n_descriptions)
        set->capacity_mb = set->available_mb = set->lane = NAN;
    set->n_settled = set->n_descriptions;
    for (size_t i = 0; !st && i < sizeof files / sizeof files[0]; i++) {
        struct data_reading reading = {0};

        st = data_folder_open_file(&reading, folder, files[i].file, err);
        if (!st)
            st = files[i].read(&reading, set, err);
        csv_release(&reading.csv);
    }
    return st;
}
