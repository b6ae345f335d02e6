/* cli/predict_show.c - see predict_show.h. */
#include "cli/predict_show.h"

#include "base/json.h"
#include "base/units.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const fit_words[] = {
    [FIT_YES] = "yes", [FIT_MAYBE] = "maybe", [FIT_NO] = "no"};

enum { cell_size = 64 };

/* ---- the screen -----------------------------------------------------------
 */

static const char *value_text(char out[UNITS_MAX], enum target target,
                              double value)
{
    return target == TARGET_LATENCY ? units_time(out, value * 1e6)
                                    : units_bytes(out, value * 0x1p20);
}

/* "1.13 s to 1.21 s", or "-" where the width is not known. */
static const char *interval_text(char out[cell_size],
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
                 value_text(low, target, estimate->low * scale),
                 value_text(high, target, estimate->high * scale));
    return out;
}

/* Memory is shown as what it would take, beyond the device's limit too. */
static double shown_value(const struct estimate *estimate, enum target target)
{
    return target == TARGET_MEMORY ? estimate->demand : estimate->value;
}

/* "caution  not counted: 2 Softmax, 12 Transpose" */
static void show_uncounted(const struct prediction *prediction,
                           struct sink *sink, const struct term *term)
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

static void show_head(const struct prediction *prediction, struct sink *sink,
                      const struct term *term)
{
    const char *device = fingerprint_device(prediction->fingerprint);

    text_put(sink, term, prediction->network);
    if (*device) {
        sink_puts(sink, " on ");
        text_put(sink, term, device);
    }
    sink_printf(sink, ", %s\n", stage_names[prediction->stage]);
    for (int t = 0; prediction->n_rows && t < N_TARGETS; t++) {
        const struct estimate *first = &prediction->rows[0].of[t];

        if (!prediction->has[t])
            continue;
        sink_printf(sink, "%-8s by %s, a network that ", target_names[t],
                    method_names[first->method]);
        if (first->sight != SIGHT_LEVELS) {
            sink_puts(sink, "it was not made from\n");
            continue;
        }
        sink_puts(sink, "the fingerprint was made from (");
        text_put(sink, term, prediction->family);
        sink_puts(sink, ")\n");
    }
    if (prediction->outside) {
        struct line line = line_begin(sink, term, "caution");

        line_sentence(&line, prediction->outside);
        line_end(&line);
    }
    show_uncounted(prediction, sink, term);
}

static void show_row(const struct prediction *prediction,
                     const struct predicted *row, struct sink *sink)
{
    char value[UNITS_MAX], interval[cell_size];

    sink_printf(sink, "%6lld", (long long)row->batch);
    for (int t = 0; t < N_TARGETS; t++) {
        const struct estimate *own = &row->of[t];

        if (!prediction->has[t])
            continue;
        sink_printf(
            sink, "  %9s  %-22s",
            value_text(value, (enum target)t, shown_value(own, (enum target)t)),
            interval_text(interval, own, (enum target)t));
        if (t == TARGET_LATENCY)
            sink_printf(
                sink, " %8s",
                units_number(value, 1e3 * (double)row->batch / own->value));
    }
    if (prediction->has[TARGET_MEMORY])
        sink_printf(sink, "  %s", fit_words[row->fit]);
    sink_puts(sink, "\n");
}

static void show_largest(const struct prediction *prediction, struct sink *sink)
{
    char size[UNITS_MAX];

    if (!prediction->has[TARGET_MEMORY] || isnan(prediction->usable_mb))
        return;
    sink_printf(sink, "\n%s can be used",
                units_bytes(size, prediction->usable_mb * 0x1p20));
    if (prediction->n_rows < 2) {
        sink_puts(sink, "\n");
        return;
    }
    sink_puts(sink, ": ");
    if (!prediction->largest)
        sink_puts(sink, "no batch of these fits");
    else if (prediction->largest == prediction->last)
        sink_printf(sink, "batch %lld fits too",
                    (long long)prediction->largest);
    else
        sink_printf(sink, "batch %lld is the largest that fits",
                    (long long)prediction->largest);
    if (prediction->surely != prediction->maybe)
        sink_printf(sink, " (%lld surely, %lld at best)",
                    (long long)prediction->surely,
                    (long long)prediction->maybe);
    sink_puts(sink, "\n");
}

void prediction_show_table(const struct prediction *prediction,
                           struct sink *sink, const struct term *term)
{
    show_head(prediction, sink, term);
    sink_printf(sink, "\n%6s", "batch");
    if (prediction->has[TARGET_LATENCY])
        sink_printf(sink, "  %9s  %-22s %8s", "a step", "90 %", "images/s");
    if (prediction->has[TARGET_MEMORY])
        sink_printf(sink, "  %9s  %-22s  %s", "memory", "90 %", "fits");
    sink_puts(sink, "\n");
    for (size_t i = 0; i < prediction->n_rows; i++)
        show_row(prediction, &prediction->rows[i], sink);
    show_largest(prediction, sink);
}

/* ---- JSON -----------------------------------------------------------------
 */

static void write_number(struct json_writer *json, const char *key,
                         double value)
{
    json_key(json, key);
    json_write_rounded(json, value, 6);
}

static void write_estimate(struct json_writer *json,
                           const struct estimate *estimate, enum target target)
{
    static const char *const keys[] = {"latency_ms", "memory_mb"};

    json_key(json, keys[target]);
    json_inline_object_begin(json);
    write_number(json, "value", estimate->value);
    write_number(json, "low", estimate->low);
    write_number(json, "high", estimate->high);
    if (target == TARGET_MEMORY)
        write_number(json, "demand", estimate->demand);
    json_member_string(json, "model", method_names[estimate->method]);
    json_member_bool(json, "seen", estimate->sight == SIGHT_LEVELS);
    json_object_end(json);
}

static void write_uncounted(struct json_writer *json,
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
    json_member_string(&json, "stage", stage_names[prediction->stage]);
    if (prediction->outside)
        json_member_string(&json, "outside", prediction->outside);
    write_uncounted(&json, prediction);
    write_number(&json, "usable_mb", prediction->usable_mb);
    json_member_int(&json, "largest_batch", prediction->largest);
    json_key(&json, "batches");
    json_array_begin(&json);
    for (size_t i = 0; i < prediction->n_rows; i++) {
        const struct predicted *row = &prediction->rows[i];

        json_object_begin(&json);
        json_member_int(&json, "batch", row->batch);
        for (int t = 0; t < N_TARGETS; t++) {
            if (prediction->has[t])
                write_estimate(&json, &row->of[t], (enum target)t);
        }
        json_member_string(&json, "fits", fit_words[row->fit]);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}
