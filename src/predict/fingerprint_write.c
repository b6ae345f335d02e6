/* predict/fingerprint_write.c - a fingerprint as a text. */
#include "predict/fingerprint.h"

#include "base/decimal.h"
#include "predict/fingerprint_internal.h"

#include <math.h>

/* " 1.5", or " -" for what is not known. */
static void fingerprint_write_put(struct sink *sink, double value)
{
    char text[DECIMAL_MAX];

    if (!isfinite(value)) {
        sink_puts(sink, " -");
        return;
    }
    decimal_write(text, value);
    sink_printf(sink, " %s", text);
}

static void fingerprint_write_put_line(struct sink *sink, const char *key,
                                       double value)
{
    sink_puts(sink, key);
    fingerprint_write_put(sink, value);
    sink_puts(sink, "\n");
}

/* ---- networks and rows --------------------------------------------------- */

static void write_network(const struct description *description,
                          struct sink *sink)
{
    struct image_counts counts = description->counts;

    sink_printf(sink, "network %lld %s\n", (long long)description->level,
                description->network);
    for (const struct description_field *f = description_fields; f->name; f++) {
        sink_printf(sink, "count %s", f->name);
        fingerprint_write_put(sink, *description_count(&counts, f));
        sink_puts(sink, "\n");
    }
    for (size_t i = 0; i < description->n_convs; i++) {
        const struct conv_row *c = &description->convs[i];

        sink_printf(sink,
                    "conv %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld "
                    "%lld %d\n",
                    (long long)c->in, (long long)c->out,
                    (long long)c->kernel[0], (long long)c->kernel[1],
                    (long long)c->stride[0], (long long)c->stride[1],
                    (long long)c->pad[0], (long long)c->pad[1],
                    (long long)c->groups, (long long)c->size[0],
                    (long long)c->size[1], c->has_bias);
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
            fingerprint_write_put(sink, row->value[t]);
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
        fingerprint_write_put(sink, ranges->least_batch);
        fingerprint_write_put(sink, ranges->most_batch);
        sink_puts(sink, "\n");
        for (size_t f = 0; f < N_FEATURES; f++) {
            sink_printf(sink, "range %s %s", stage_names[s], feature_name(f));
            fingerprint_write_put(sink, ranges->low[f]);
            fingerprint_write_put(sink, ranges->high[f]);
            sink_puts(sink, "\n");
        }
    }
}

/* ---- what was fitted ----------------------------------------------------- */

static void write_physical(const char *key, const struct physical *physical,
                           struct sink *sink)
{
    for (size_t i = 0; i < physical_count(physical->target); i++) {
        sink_printf(sink, "%s %s", key, physical_name(physical->target, i));
        fingerprint_write_put(sink, exp(physical->log_value[i]));
        sink_puts(sink, "\n");
    }
}

static void write_calibration(const struct calibration *own, const char *sight,
                              struct sink *sink)
{
    sink_printf(sink, "calibration %s %s %s", sight, method_names[own->method],
                own->is_known ? "known" : "unknown");
    fingerprint_write_put(sink, own->width);
    fingerprint_write_put(sink, own->distance);
    sink_printf(sink, " %zu", own->n);
    for (int m = 0; m < N_METHODS; m++)
        fingerprint_write_put(sink, own->error[m]);
    sink_puts(sink, "\n");
}

static void write_family(const struct family *family, struct sink *sink)
{
    sink_printf(sink, "family %s\n", family->network);
    for (int axis = 0; axis < N_CURVE_AXES; axis++) {
        const struct curve *curve = &family->curves[axis];

        sink_printf(sink, "curve %d", axis);
        fingerprint_write_put(sink, curve->reference_macs);
        for (size_t i = 0; i < curve_count(curve->target, curve->axis); i++)
            fingerprint_write_put(sink, curve->value[i]);
        sink_puts(sink, "\n");
    }
    write_physical("own", &family->physical, sink);
    for (int k = 0; k <= N_CURVE_AXES; k++) {
        const struct batch_bias *bias = &family->bias[k];

        for (size_t i = 0; i < bias->n; i++) {
            sink_printf(sink, "bias %d", k);
            fingerprint_write_put(sink, bias->log2_batch[i]);
            fingerprint_write_put(sink, bias->sum[i]);
            fingerprint_write_put(sink, bias->count[i]);
            sink_puts(sink, "\n");
        }
    }
}

static void fingerprint_write_part(const struct part *part, struct sink *sink)
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
    fingerprint_write_put_line(sink, "capacity_mb", data->capacity_mb);
    fingerprint_write_put_line(sink, "available_mb", data->available_mb);
    fingerprint_write_put_line(sink, "lane", data->lane);
    sink_printf(sink, "seed %llu\n", (unsigned long long)fingerprint->seed);
    for (size_t i = 0; i < data->n_descriptions; i++) {
        write_network(&data->descriptions[i], sink);
        write_rows(data, i, sink);
    }
    write_ranges(fingerprint, sink);
    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            if (fingerprint->parts[s][t].is_there)
                fingerprint_write_part(&fingerprint->parts[s][t], sink);
        }
    }
    sink_puts(sink, "end\n");
    return sink_status(sink, err);
}
