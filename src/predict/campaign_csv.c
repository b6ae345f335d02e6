/* predict/campaign_csv.c - see campaign.h: a log as the four files of a data
 * folder. */
#include "predict/campaign.h"

#include "base/csv_text.h"
#include "base/decimal.h"
#include "base/file.h"
#include "base/map.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "predict/network_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MEASUREMENTS, FILE_LAYERS, FILE_NETWORKS, FILE_OPS, N_FILES };

static const struct {
    const char *name, *columns;
} files[N_FILES] = {
    [FILE_MEASUREMENTS] =
        {"measurements.csv",
         "network,prune,batch,stage,repeat,passed,lat_passed,mem_passed,"
         "latency_ms,mem_alloc_mb,mem_reserved_mb,mem_used_mb,mem_avail_mb,"
         "mem_free_mb,mem_capacity_mb,lat_in_gt,mem_in_gt,has_description,"
         "lane,machine,framework,multiprocessors\n"},
    [FILE_LAYERS] = {"layers.csv",
                     "network,prune,layer_index,layer_name,ic,oc,kh,kw,sh,sw,"
                     "ph,pw,groups,ih,iw,bias\n"},
    [FILE_NETWORKS] =
        {"networks.csv",
         "network,prune,total_params,bn_params,n_conv,n_bn,n_fc,fc_layers,"
         "n_param_tensors,fwd_macs_per_image,bn_elems,"
         "saved_act_bytes_per_image\n"},
    [FILE_OPS] = {"network_ops.csv", "network,prune"}, /* data_op_columns */
};

/* A row of measurements.csv while its two tests are collected. */
struct csv_row {
    bool is_open;
    char network[128]; /* as long as a file name can be */
    int64_t level, repeat, batch;
    enum stage stage;
    enum framework framework;
    bool has[N_TARGETS];
    struct campaign_result results[N_TARGETS];
    bool has_description;
};

struct csv_writer {
    struct output *outputs[N_FILES];
    struct csv_row row;
    struct map described; /* "network level" to whether its file could be
                             read */
};

static struct sink *sink_of(const struct csv_writer *writer, int file)
{
    return output_sink(writer->outputs[file]);
}

/* A number, or nothing if it was not measured. */
static void put_csv_number(struct sink *sink, bool is_there, double value)
{
    char text[DECIMAL_MAX];

    sink_puts(sink, ",");
    if (!is_there)
        return;
    decimal_write(text, value);
    sink_puts(sink, text);
}

static void put_flag(struct sink *sink, bool is_there, bool value)
{
    sink_puts(sink, !is_there ? "," : value ? ",1" : ",0");
}

/* ---- measurements ------------------------------------------------------- */

static void close_row(struct csv_writer *writer)
{
    struct sink *sink = sink_of(writer, FILE_MEASUREMENTS);
    struct csv_row *row = &writer->row;
    const struct campaign_result *latency = &row->results[TARGET_LATENCY];
    const struct campaign_result *memory = &row->results[TARGET_MEMORY];
    bool has_latency = row->has[TARGET_LATENCY];
    bool has_memory = row->has[TARGET_MEMORY];
    const struct campaign_result *any = has_memory ? memory : latency;
    bool is_latency = has_latency && latency->is_passed;
    bool is_memory = has_memory && memory->is_passed;

    if (!row->is_open)
        return;
    row->is_open = false;
    csv_text(sink, row->network);
    sink_printf(sink, ",%" PRId64 ",%" PRId64 ",%s,%" PRId64, row->level,
                row->batch, stage_names[row->stage], row->repeat);
    put_flag(sink, true,
             (!has_latency || is_latency) && (!has_memory || is_memory));
    put_flag(sink, has_latency, is_latency);
    put_flag(sink, has_memory, is_memory);
    put_csv_number(sink, is_latency, latency->latency_ms);
    put_csv_number(sink, is_memory, memory->alloc_mb);
    put_csv_number(sink, is_memory, memory->reserved_mb);
    put_csv_number(sink, is_memory, memory->used_mb);
    put_csv_number(sink, any->avail_mb > 0, any->avail_mb);
    put_csv_number(sink, any->free_mb > 0, any->free_mb);
    put_csv_number(sink, any->capacity_mb > 0, any->capacity_mb);
    put_flag(sink, true, is_latency);
    put_flag(sink, true,
             is_memory || (has_memory && campaign_is_nomem(memory)));
    put_flag(sink, true, row->has_description);
    put_csv_number(sink, any->lane > 0, any->lane);
    sink_puts(sink, ",");
    csv_text(sink, any->machine);
    sink_printf(sink, ",%s", framework_names[row->framework]);
    put_csv_number(sink, any->multiprocessors > 0, any->multiprocessors);
    sink_puts(sink, "\n");
}

static bool is_same_row(const struct csv_row *row,
                        const struct campaign_test *test)
{
    return row->is_open && strcmp(row->network, test->network) == 0 &&
           row->level == test->level && row->repeat == test->repeat &&
           row->batch == test->batch && row->stage == test->stage &&
           row->framework == test->framework;
}

/* ---- descriptions ------------------------------------------------------- */

static void put_key(struct sink *sink, const struct campaign_test *test)
{
    csv_text(sink, test->network);
    sink_printf(sink, ",%" PRId64, test->level);
}

static void put_layers(struct csv_writer *writer,
                       const struct campaign_test *test,
                       const struct graph *graph,
                       const struct description *network)
{
    struct sink *sink = sink_of(writer, FILE_LAYERS);
    size_t at = 0;

    for (size_t i = 0; i < network->n_convs; i++) {
        int64_t numbers[CONV_NUMBERS];
        const struct node *node;

        while (at < graph_node_count(graph) &&
               graph_node(graph, at)->op != &op_conv2d)
            at++;
        node = at < graph_node_count(graph) ? graph_node(graph, at++) : NULL;
        put_key(sink, test);
        sink_printf(sink, ",%zu,", i);
        csv_text(sink, node && node->scope != GRAPH_NONE
                           ? graph_scope(graph, node->scope)->path
                           : "");
        conv_to_numbers(&network->convs[i], numbers);
        for (size_t k = 0; k < CONV_NUMBERS; k++)
            sink_printf(sink, ",%" PRId64, numbers[k]);
        sink_puts(sink, "\n");
    }
}

static void put_network(struct csv_writer *writer,
                        const struct campaign_test *test,
                        const struct description *network)
{
    const struct image_counts *counts = &network->counts;
    struct sink *sink = sink_of(writer, FILE_NETWORKS);

    put_key(sink, test);
    put_csv_number(sink, true, counts->parameters);
    put_csv_number(sink, true, counts->norm_parameters);
    put_csv_number(sink, true, (double)network->n_convs);
    put_csv_number(sink, true, counts->n_norm);
    put_csv_number(sink, true, (double)network->n_denses);
    sink_puts(sink, ",");
    for (size_t i = 0; i < network->n_denses; i++)
        sink_printf(sink, "%s%" PRId64 "x%" PRId64, i ? ";" : "",
                    network->denses[i].in, network->denses[i].out);
    put_csv_number(sink, true, counts->parameter_tensors);
    put_csv_number(sink, true, description_macs(network));
    put_csv_number(sink, true, counts->norm_elements);
    put_csv_number(sink, true, counts->saved_bytes);
    sink_puts(sink, "\n");
}

static void put_ops(struct csv_writer *writer, const struct campaign_test *test,
                    struct image_counts *counts)
{
    struct sink *sink = sink_of(writer, FILE_OPS);

    put_key(sink, test);
    for (const struct description_field *f = data_op_columns; f->name; f++)
        put_csv_number(sink, true, *description_count(counts, f));
    for (const struct description_field *f = description_walked_fields; f->name;
         f++)
        put_csv_number(sink, true, *description_count(counts, f));
    sink_puts(sink, "\n");
}

static enum assay_status describe_tested(struct csv_writer *writer,
                                         const struct campaign_test *test,
                                         struct error *err)
{
    struct opened_network network = {0};
    enum assay_status st = network_open(&network, test->file, err);

    if (!st) {
        put_layers(writer, test, network.graph, &network.description);
        put_network(writer, test, &network.description);
        put_ops(writer, test, &network.description.counts);
    }
    network_close(&network);
    return st;
}

/* Once per network and level. A missing file leaves it without a description;
 * running out of memory is a failure. */
static enum assay_status describe_test(struct csv_writer *writer,
                                       const struct campaign_test *test,
                                       bool *has_description, struct error *err)
{
    struct str key = {0};
    uint64_t is_described = 0;
    enum assay_status st = ASSAY_OK;

    if (str_printf(&key, "%s %" PRId64, test->network, test->level))
        return error_nomem(err, 64, "the name of a network");
    if (!map_find_text(&writer->described, key.text, &is_described)) {
        enum assay_status read = describe_tested(writer, test, NULL);

        is_described = !read;
        if (read == ASSAY_NOMEM ||
            map_put_text(&writer->described, key.text, is_described))
            st = error_nomem(err, 64, "a network");
    }
    *has_description = is_described;
    str_release(&key);
    return st;
}

static enum assay_status take_test(void *context,
                                   const struct campaign_test *test,
                                   const struct campaign_result *result,
                                   struct error *err)
{
    struct csv_writer *writer = context;
    struct csv_row *row = &writer->row;
    enum assay_status st = ASSAY_OK;

    if (!is_same_row(row, test)) {
        close_row(writer);
        *row = (struct csv_row){.is_open = true,
                                .level = test->level,
                                .repeat = test->repeat,
                                .batch = test->batch,
                                .stage = test->stage,
                                .framework = test->framework};
        snprintf(row->network, sizeof row->network, "%s", test->network);
        st = describe_test(writer, test, &row->has_description, err);
    }
    row->has[test->target] = true;
    row->results[test->target] = *result;
    return st;
}

/* ---- files -------------------------------------------------------------- */

static enum assay_status open_files(struct csv_writer *writer,
                                    const char *folder, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < N_FILES; i++) {
        struct str path = {0};

        if (str_printf(&path, "%s/%s", folder, files[i].name))
            st = error_nomem(err, 64, "a path");
        if (!st)
            st = output_open(path.text, &writer->outputs[i], err);
        if (!st)
            sink_puts(sink_of(writer, i), files[i].columns);
        str_release(&path);
    }
    for (const struct description_field *f = data_op_columns; !st && f->name;
         f++)
        sink_printf(sink_of(writer, FILE_OPS), ",%s", f->name);
    for (const struct description_field *f = description_walked_fields;
         !st && f->name; f++)
        sink_printf(sink_of(writer, FILE_OPS), ",%s%s", f->name,
                    f[1].name ? "" : "\n");
    return st;
}

enum assay_status campaign_write_csv(struct campaign_log *log,
                                     const char *folder, struct error *err)
{
    struct csv_writer writer = {0};
    enum assay_status st = open_files(&writer, folder, err);

    if (!st)
        st = campaign_log_each(log, take_test, &writer, err);
    if (!st)
        close_row(&writer);
    for (int i = 0; i < N_FILES; i++) {
        if (!writer.outputs[i])
            continue;
        if (st)
            output_discard(writer.outputs[i]);
        else
            st = output_commit(writer.outputs[i], err);
    }
    map_release(&writer.described);
    return st;
}
