/* predict/fingerprint_write.c - a fingerprint as a text. */
#include "predict/fingerprint.h"

#include "base/decimal.h"
#include "predict/fingerprint_internal.h"

#include <math.h>
#include <string.h>

/* Writes " 1.5", or " -" for what is unknown. */
static void put_print_value(struct sink *sink, double value)
{
    char text[DECIMAL_MAX];

    if (!isfinite(value)) {
        sink_puts(sink, " -");
        return;
    }
    decimal_write(text, value);
    sink_printf(sink, " %s", text);
}

/* Ends a line with these values. */
static void put_print_values(struct sink *sink, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_print_value(sink, values[i]);
    sink_puts(sink, "\n");
}

/* ---- networks and rows --------------------------------------------------- */

static void write_counts(struct image_counts *counts,
                         const struct description_field *fields,
                         struct sink *sink)
{
    for (const struct description_field *f = fields; f->name; f++) {
        sink_printf(sink, "count %s", f->name);
        put_print_values(sink, description_count(counts, f), 1);
    }
}

static void write_network(const struct description *description,
                          struct sink *sink)
{
    struct image_counts counts = description->counts;

    sink_printf(sink, "network %lld %s\n", (long long)description->level,
                description->network);
    write_counts(&counts, description_fields, sink);
    if (counts.torch_training[0] > 0)
        write_counts(&counts, description_walked_fields, sink);
    for (size_t i = 0; i < description->n_convs; i++) {
        int64_t numbers[CONV_NUMBERS];

        conv_to_numbers(&description->convs[i], numbers);
        sink_puts(sink, "conv");
        for (size_t k = 0; k < CONV_NUMBERS; k++)
            sink_printf(sink, " %lld", (long long)numbers[k]);
        sink_puts(sink, "\n");
    }
    for (size_t i = 0; i < description->n_denses; i++)
        sink_printf(sink, "dense %lld %lld\n",
                    (long long)description->denses[i].in,
                    (long long)description->denses[i].out);
}

static void write_rows(const struct data_set *data, size_t description,
                       struct sink *sink)
{
    for (size_t i = 0; i < data->n_rows; i++) {
        const struct measurement *row = &data->rows[i];

        if (row->description != description)
            continue;
        sink_printf(sink, "row %s %.0f", stage_names[row->stage], row->batch);
        for (int t = 0; t < N_TARGETS; t++)
            put_print_value(sink, row->value[t]);
        sink_puts(sink, row->is_failed ? " failed\n" : " passed\n");
    }
}

static void write_ranges(const struct fingerprint *fingerprint,
                         struct sink *sink)
{
    for (int s = 0; s < N_STAGES; s++) {
        const struct ranges *ranges = &fingerprint->ranges[s];

        if (ranges->most_batch <= 0)
            continue;
        sink_printf(sink, "batches %s", stage_names[s]);
        put_print_values(
            sink, (double[]){ranges->least_batch, ranges->most_batch}, 2);
        for (size_t f = 0; f < N_FEATURES; f++) {
            sink_printf(sink, "range %s %s", stage_names[s], feature_name(f));
            put_print_values(sink, (double[]){ranges->low[f], ranges->high[f]},
                             2);
        }
    }
}

/* ---- fitted models ------------------------------------------------------ */

static void write_physical(const char *key, const struct physical *physical,
                           struct sink *sink)
{
    for (size_t i = 0; i < physical_count(physical); i++) {
        sink_printf(sink, "%s %s", key, physical_name(physical, i));
        put_print_values(sink, (double[]){exp(physical->log_value[i])}, 1);
    }
}

static void write_calibration(const struct calibration *own, const char *sight,
                              struct sink *sink)
{
    sink_printf(sink, "calibration %s %s %s", sight, method_names[own->method],
                own->is_known ? "known" : "unknown");
    put_print_value(sink, own->width);
    put_print_value(sink, own->distance);
    sink_printf(sink, " %zu", own->n);
    put_print_value(sink, own->announced);
    put_print_value(sink, own->most);
    put_print_values(sink, own->error, N_METHODS);
}

static void write_family(const struct family *family, struct sink *sink)
{
    sink_printf(sink, "family %s\n", family->network);
    for (int axis = 0; axis < N_CURVE_AXES; axis++) {
        const struct curve *curve = &family->curves[axis];

        sink_printf(sink, "curve %d", axis);
        put_print_value(sink, curve->reference_macs);
        put_print_values(sink, curve->value,
                         curve_count(curve->target, curve->axis));
    }
    write_physical("own", &family->physical, sink);
    for (int k = 0; k <= N_CURVE_AXES; k++) {
        const struct batch_bias *bias = &family->bias[k];

        for (size_t i = 0; i < bias->n; i++) {
            sink_printf(sink, "bias %d", k);
            put_print_values(
                sink,
                (double[]){bias->log2_batch[i], bias->sum[i], bias->count[i]},
                3);
        }
    }
}

static void write_print_part(const struct print_part *part, struct sink *sink)
{
    const struct predictor *predictor = &part->predictor;

    sink_printf(sink, "part %s %s\n", stage_names[predictor->stage],
                target_names[predictor->target]);
    write_physical("physical", &predictor->physical, sink);
    for (int s = 0; s < N_SIGHTS; s++)
        write_calibration(&part->calibration[s], sight_names[s], sink);
    for (size_t i = 0; i < predictor->n_families; i++)
        write_family(&predictor->families[i], sink);
}

enum assay_status fingerprint_write(const struct fingerprint *fingerprint,
                                    struct sink *sink, struct error *err)
{
    const struct data_set *data = &fingerprint->data;

    sink_printf(sink, "assay fingerprint %d\n", FINGERPRINT_VERSION);
    sink_printf(sink, "device %s\n", fingerprint->device);
    for (const char *at = str_text(&data->machines); *at;) {
        int n = (int)strcspn(at, "\n");

        sink_printf(sink, "machine %.*s\n", n, at);
        at += n + 1;
    }
    if (fingerprint->framework)
        sink_printf(sink, "framework %s\n",
                    fingerprint_framework_name(fingerprint));
    sink_puts(sink, "capacity_mb");
    put_print_values(sink, &data->capacity_mb, 1);
    sink_puts(sink, "available_mb");
    put_print_values(sink, &data->available_mb, 1);
    sink_puts(sink, "lane");
    put_print_values(sink, &data->lane, 1);
    if (!isnan(data->multiprocessors)) {
        sink_puts(sink, "multiprocessors");
        put_print_values(sink, &data->multiprocessors, 1);
    }
    sink_printf(sink, "seed %llu\n", (unsigned long long)fingerprint->seed);
    for (size_t i = 0; i < data->n_descriptions; i++) {
        write_network(&data->descriptions[i], sink);
        write_rows(data, i, sink);
    }
    write_ranges(fingerprint, sink);
    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            if (fingerprint->parts[s][t].is_there)
                write_print_part(&fingerprint->parts[s][t], sink);
        }
    }
    sink_puts(sink, "end\n");
    return sink_status(sink, err);
}
