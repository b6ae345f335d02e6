/* cli/predict_show.c - see predict_show.h. */
#include "cli/predict_show.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/fingerprint_show.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const fit_words[] = {
    [FIT_YES] = "yes", [FIT_MAYBE] = "maybe", [FIT_NO] = "no"};

enum { cell_size = 64 };

/* ---- the screen --------------------------------------------------------- */

static const char *prediction_value_text(char out[UNITS_MAX],
                                         enum target target, double value)
{
    return target == TARGET_LATENCY ? units_time(out, value * 1e6)
                                    : units_bytes(out, value * 0x1p20);
}

/* "1.13 s to 1.21 s", or "-" if the width is not known. */
static const char *prediction_interval_text(char out[cell_size],
                                            const struct estimate *estimate,
                                            enum target target)
{
    char low[UNITS_MAX], high[UNITS_MAX];
    double scale =
        target == TARGET_MEMORY ? estimate->demand / estimate->value : 1;

    if (isnan(estimate->low))
        snprintf(out, cell_size, "-");
    else
        snprintf(out, cell_size, "%s to %s",
                 prediction_value_text(low, target, estimate->low * scale),
                 prediction_value_text(high, target, estimate->high * scale));
    return out;
}

/* Memory is what it would take, even beyond the device's limit. */
static double prediction_shown_value(const struct estimate *estimate,
                                     enum target target)
{
    return target == TARGET_MEMORY ? estimate->demand : estimate->value;
}

/* "caution  not counted: 2 Softmax, 12 Transpose" */
static void prediction_show_uncounted(const struct prediction *prediction,
                                      struct sink *sink,
                                      const struct term *term)
{
    struct line line = line_begin(sink, term, "caution");

    for (size_t i = 0; i < prediction->n_uncounted; i++) {
        const struct uncounted_row *row = &prediction->uncounted[i];
        const char *comma = i + 1 < prediction->n_uncounted ? "," : "";

        if (!i)
            line_printf(&line, "not counted:");
        line_word(&line, "%zu %s%s", row->n, row->op, comma);
    }
    line_end(&line);
}

static void prediction_show_head(const struct prediction *prediction,
                                 struct sink *sink, const struct term *term)
{
    const char *device = fingerprint_device(prediction->fingerprint);

    text_put(sink, term, prediction->network);
    if (*device) {
        sink_puts(sink, " on ");
        text_put(sink, term, device);
    }
    if (fingerprint_framework(prediction->fingerprint))
        sink_printf(sink, " in %s", framework_title(prediction->fingerprint));
    sink_printf(sink, ", %s\n", stage_names[prediction->stage]);
    for (int t = 0; prediction->n_rows && t < N_TARGETS; t++) {
        const struct estimate *first = &prediction->rows[0].of[t];

        if (!prediction->has[t])
            continue;
        sink_printf(sink, "%-8s by %s, a network that ", target_names[t],
                    method_names[first->method]);
        if (!prediction->family) {
            sink_puts(sink, "the fingerprint was not learned from\n");
            continue;
        }
        sink_puts(sink, "the fingerprint was learned from (");
        text_put(sink, term, prediction->family);
        sink_puts(sink, first->sight == SIGHT_LEVELS
                            ? ")\n"
                            : ", at too few levels to go by them)\n");
    }
    if (prediction->outside) {
        struct line line = line_begin(sink, term, "caution");

        line_sentence(&line, prediction->outside);
        line_end(&line);
    }
    prediction_show_uncounted(prediction, sink, term);
}

static void prediction_show_row(const struct prediction *prediction,
                                const struct predicted *row, struct sink *sink)
{
    char value[UNITS_MAX], interval[cell_size];

    sink_printf(sink, "%5lld", (long long)row->batch);
    for (int t = 0; t < N_TARGETS; t++) {
        const struct estimate *own = &row->of[t];

        if (!prediction->has[t])
            continue;
        sink_printf(
            sink, t == TARGET_LATENCY ? "%9s  %-18s" : "%9s  %-20s",
            prediction_value_text(value, (enum target)t,
                                  prediction_shown_value(own, (enum target)t)),
            prediction_interval_text(interval, own, (enum target)t));
        if (t == TARGET_LATENCY)
            sink_printf(
                sink, "%9s",
                units_number(value, 1e3 * (double)row->batch / own->value));
    }
    if (prediction->has[TARGET_MEMORY])
        sink_printf(sink, " %s", fit_words[row->fit]);
    sink_puts(sink, "\n");
}

/* Of the memory a device has, a program gets less: as much less as on the
 * measured device. */
static void prediction_show_usable(const struct prediction *prediction,
                                   struct sink *sink)
{
    double kept = prediction->memory_mb - prediction->usable_mb;
    char size[UNITS_MAX], all[UNITS_MAX], less[UNITS_MAX];

    sink_printf(sink, "\n%s",
                units_bytes(size, prediction->usable_mb * 0x1p20));
    if (!(kept >= 1)) {
        sink_puts(sink, " are usable");
        return;
    }
    sink_printf(sink, " of %s are usable",
                units_bytes(all, prediction->memory_mb * 0x1p20));
    if (prediction->memory_mb == prediction->capacity_mb)
        sink_puts(sink, ", the most that was ever available");
    else
        sink_printf(sink,
                    ": of the measured device's %s,\n%s were never "
                    "available",
                    units_bytes(all, prediction->capacity_mb * 0x1p20),
                    units_bytes(less, kept * 0x1p20));
}

static void prediction_show_largest(const struct prediction *prediction,
                                    struct sink *sink)
{
    if (!prediction->has[TARGET_MEMORY] || isnan(prediction->usable_mb))
        return;
    prediction_show_usable(prediction, sink);
    sink_puts(sink, "\n");
    if (prediction->n_rows < 2)
        return;
    if (!prediction->largest)
        sink_puts(sink, "none of these batches fits");
    else if (prediction->largest == prediction->last)
        sink_printf(sink, "even batch %lld fits",
                    (long long)prediction->largest);
    else
        sink_printf(sink, "batch %lld is the largest that fits",
                    (long long)prediction->largest);
    if (prediction->surely != prediction->maybe)
        sink_printf(sink, " (%lld for sure, %lld at best)",
                    (long long)prediction->surely,
                    (long long)prediction->maybe);
    sink_puts(sink, "\n");
}

void prediction_show_table(const struct prediction *prediction,
                           struct sink *sink, const struct term *term)
{
    prediction_show_head(prediction, sink, term);
    sink_printf(sink, "\n%5s", "batch");
    if (prediction->has[TARGET_LATENCY])
        sink_printf(sink, "%9s  %-18s%9s", "per step", "90 %", "images/s");
    if (prediction->has[TARGET_MEMORY])
        sink_printf(sink, "%9s  %-20s %s", "memory", "90 %", "fits");
    sink_puts(sink, "\n");
    for (size_t i = 0; i < prediction->n_rows; i++)
        prediction_show_row(prediction, &prediction->rows[i], sink);
    prediction_show_largest(prediction, sink);
}

/* ---- JSON --------------------------------------------------------------- */

static void prediction_write_number(struct json_writer *json, const char *key,
                                    double value)
{
    json_key(json, key);
    json_write_rounded(json, value, 6);
}

static void prediction_write_estimate(struct json_writer *json,
                                      const struct estimate *estimate,
                                      enum target target)
{
    static const char *const keys[] = {"latency_ms", "memory_mb"};

    json_key(json, keys[target]);
    json_inline_object_begin(json);
    prediction_write_number(json, "value", estimate->value);
    prediction_write_number(json, "low", estimate->low);
    prediction_write_number(json, "high", estimate->high);
    if (target == TARGET_MEMORY)
        prediction_write_number(json, "demand", estimate->demand);
    json_member_string(json, "model", method_names[estimate->method]);
    json_member_bool(json, "seen", estimate->sight == SIGHT_LEVELS);
    json_object_end(json);
}

static void prediction_write_uncounted(struct json_writer *json,
                                       const struct prediction *prediction)
{
    if (!prediction->n_uncounted)
        return;
    json_key(json, "not_counted");
    json_inline_object_begin(json);
    for (size_t i = 0; i < prediction->n_uncounted; i++)
        json_member_int(json, prediction->uncounted[i].op,
                        (int64_t)prediction->uncounted[i].n);
    json_object_end(json);
}

void prediction_show_json(const struct prediction *prediction,
                          struct sink *sink)
{
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "network", prediction->network);
    json_member_string(&json, "device",
                       fingerprint_device(prediction->fingerprint));
    if (fingerprint_framework(prediction->fingerprint))
        json_member_string(&json, "framework",
                           fingerprint_framework_name(prediction->fingerprint));
    json_member_string(&json, "stage", stage_names[prediction->stage]);
    if (prediction->outside)
        json_member_string(&json, "outside", prediction->outside);
    prediction_write_uncounted(&json, prediction);
    prediction_write_number(&json, "usable_mb", prediction->usable_mb);
    json_member_int(&json, "largest_batch", prediction->largest);
    json_key(&json, "batches");
    json_array_begin(&json);
    for (size_t i = 0; i < prediction->n_rows; i++) {
        const struct predicted *row = &prediction->rows[i];

        json_object_begin(&json);
        json_member_int(&json, "batch", row->batch);
        for (int t = 0; t < N_TARGETS; t++) {
            if (prediction->has[t])
                prediction_write_estimate(&json, &row->of[t], (enum target)t);
        }
        json_member_string(&json, "fits", fit_words[row->fit]);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}
