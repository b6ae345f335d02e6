/* cli/fingerprint_show.c - see fingerprint_show.h. */
#include "cli/fingerprint_show.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "predict/campaign.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { cell_size = 64 };

/* ---- a fingerprint ------------------------------------------------------ */

/* "mnasnet 0 10 20, resnet50 0 5": the networks with their levels. */
static void fingerprint_show_networks(const struct data_set *data,
                                      struct sink *sink,
                                      const struct term *term)
{
    struct line line = line_begin(sink, term, "made of");

    for (size_t i = 0; i < data->n_descriptions; i++) {
        const struct description *own = &data->descriptions[i];
        bool is_new = i == 0 || strcmp(own->network, own[-1].network) != 0;

        if (is_new) {
            if (i)
                line_word(&line, "%%");
            line_end(&line);
            line = line_begin(sink, term, i ? "" : "made of");
            line_item(&line, own->network);
            line_word(&line, " pruned by");
        }
        line_word(&line, "%lld", (long long)own->level);
    }
    if (data->n_descriptions)
        line_word(&line, "%%");
    line_end(&line);
}

static void fingerprint_write_error(char text[cell_size],
                                    const struct calibration *own)
{
    if (own->is_known)
        snprintf(text, cell_size, "%s  %.1f %%", method_names[own->method],
                 100 * own->error[own->method]);
    else
        snprintf(text, cell_size, "-");
}

/* One line per target: its model and the error on held-out rows. */
static void fingerprint_show_part(const struct fingerprint *fingerprint,
                                  enum stage stage, enum target target,
                                  struct sink *sink)
{
    char levels[cell_size], networks[cell_size];
    const struct calibration *own =
        fingerprint_calibration(fingerprint, stage, target, SIGHT_NETWORKS);

    fingerprint_write_error(
        levels,
        fingerprint_calibration(fingerprint, stage, target, SIGHT_LEVELS));
    fingerprint_write_error(networks, own);
    if (own->is_known && !isnan(own->most))
        snprintf(
            networks, sizeof networks, "%s  %.1f %%, 9 of 10 below %.1f %%",
            method_names[own->method], 100 * own->announced, 100 * own->most);
    if (!own->is_known)
        snprintf(networks, sizeof networks, "%s  ?", method_names[own->method]);
    sink_printf(sink, "%-9s %-7s %5zu  %-16s  %s\n", stage_names[stage],
                target_names[target],
                fingerprint_row_count(fingerprint, stage, target), levels,
                networks);
}

static void fingerprint_show_parameters(const struct fingerprint *fingerprint,
                                        enum stage stage, enum target target,
                                        struct sink *sink)
{
    const struct physical *physical =
        fingerprint_physical(fingerprint, stage, target);
    char value[UNITS_MAX];

    sink_printf(sink, "\nphysical model of %s, %s\n", target_names[target],
                stage_names[stage]);
    for (size_t i = 0; i < physical_count(physical); i++) {
        if (!physical_uses(physical, i))
            continue;
        sink_printf(sink, "  %-22s %9s  %s\n", physical_name(physical, i),
                    units_number(value, exp(physical->log_value[i])),
                    physical_unit(physical, i));
    }
}

/* Calls show() for every stage and target that the fingerprint has. */
static void fingerprint_show_each(
    const struct fingerprint *fingerprint,
    void (*show)(const struct fingerprint *fingerprint, enum stage stage,
                 enum target target, struct sink *sink),
    struct sink *sink)
{
    for (enum stage s = 0; s < N_STAGES; s++) {
        for (enum target t = 0; t < N_TARGETS; t++) {
            if (fingerprint_has(fingerprint, s, t))
                show(fingerprint, s, t, sink);
        }
    }
}

void machines_note(const char *machines, const char *label)
{
    size_t n = strcspn(machines, "\n");
    size_t n_machines = 0;

    for (const char *at = machines; *at; at++)
        n_machines += *at == '\n';
    if (n_machines > 1)
        message_note("the rows were measured on %zu machines, of which %.*s is "
                     "the first; what is learned from them is true of none",
                     n_machines, (int)n, machines);
    if (n_machines == 1 && label && *label) {
        char name[128];

        snprintf(name, sizeof name, "%.*s", (int)n, machines);
        if (!machine_is_called(name, label))
            message_note("the device is called '%.60s', but what was measured "
                         "is %s; both names are stored",
                         label, name);
    }
}

const char *framework_title(const struct fingerprint *fingerprint)
{
    switch (fingerprint_framework(fingerprint)) {
    case FRAMEWORK_UNKNOWN:
        break;
    case FRAMEWORK_ASSAY:
        return "Assay's own engine";
    case FRAMEWORK_TORCH:
        return "PyTorch";
    case N_FRAMEWORKS:
        return "several frameworks";
    }
    return "";
}

static void fingerprint_show(const struct fingerprint *fingerprint,
                             bool with_parameters, struct sink *sink,
                             const struct term *term)
{
    const struct data_set *data = fingerprint_data(fingerprint);
    const char *device = fingerprint_device(fingerprint);
    double capacity = fingerprint_capacity_mb(fingerprint);
    char size[UNITS_MAX];

    if (*device) {
        sink_puts(sink, "device   ");
        text_put(sink, term, device);
        sink_puts(sink, "\n");
    }
    for (const char *at = str_text(&data->machines); *at;) {
        size_t n = strcspn(at, "\n");

        sink_puts(sink,
                  at == str_text(&data->machines) ? "machine  " : "         ");
        text_put_n(sink, term, at, n);
        sink_puts(sink, "\n");
        at += n + 1;
    }
    if (fingerprint_framework(fingerprint))
        sink_printf(sink, "runs in  %s\n", framework_title(fingerprint));
    if (!isnan(capacity))
        sink_printf(sink, "memory   %s\n",
                    units_bytes(size, capacity * 0x1p20));
    fingerprint_show_networks(data, sink, term);
    sink_printf(sink, "\n%-9s %-7s %5s  %-16s  %s\n", "", "", "rows",
                "held-out levels", "held-out networks");
    fingerprint_show_each(fingerprint, fingerprint_show_part, sink);
    if (with_parameters)
        fingerprint_show_each(fingerprint, fingerprint_show_parameters, sink);
}

enum assay_status fingerprint_print(const struct fingerprint *fingerprint,
                                    bool with_parameters, struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    fingerprint_show(fingerprint, with_parameters, result.sink, &result.term);
    return result_close(&result, ASSAY_OK, err);
}

/* ---- an evaluation ------------------------------------------------------ */

static const char *evaluation_cell(char text[cell_size], const char *format,
                                   double value)
{
    if (isnan(value))
        snprintf(text, cell_size, "-");
    else
        snprintf(text, cell_size, format, value);
    return text;
}

static void evaluation_show_stats(const struct error_stats *stats,
                                  struct sink *sink)
{
    char text[cell_size];

    sink_printf(sink, " %5zu", stats->n);
    sink_printf(sink, " %7s", evaluation_cell(text, "%.2f", stats->mean));
    sink_printf(sink, " %7s", evaluation_cell(text, "%.2f", stats->median));
    sink_printf(sink, " %7s", evaluation_cell(text, "%.2f", stats->p90));
    sink_printf(sink, " %7s", evaluation_cell(text, "%.1f", stats->max));
    sink_printf(sink, " %9s", evaluation_cell(text, "%.1f", stats->coverage));
    sink_printf(sink, " %6s\n", evaluation_cell(text, "%.1f", stats->width));
}

/* The mean over the networks if there are several. */
static void evaluation_show_mean(const struct evaluation *evaluation,
                                 enum target target, struct sink *sink)
{
    struct error_stats mean = {0};
    double n = 0;

    for (size_t i = 0; i < evaluation->n_networks; i++) {
        const struct error_stats *own = &evaluation->networks[i].stats[target];

        if (!own->n)
            continue;
        n++;
        mean.n += own->n;
        mean.mean += own->mean;
        mean.median += own->median;
        mean.p90 += own->p90;
        mean.max = fmax(mean.max, own->max);
        mean.coverage += own->coverage;
        mean.width += own->width;
    }
    if (n < 2)
        return;
    mean.mean /= n;
    mean.median /= n;
    mean.p90 /= n;
    mean.coverage /= n;
    mean.width /= n;
    sink_printf(sink, "%-20s %-8s", "mean", target_names[target]);
    evaluation_show_stats(&mean, sink);
}

void evaluation_show_table(const struct evaluation *evaluation,
                           struct sink *sink, const struct term *term)
{
    size_t n_judged = evaluation->n_right + evaluation->n_wrong;

    sink_printf(sink, "relative error in %%, share of rows inside the 90 %% "
                      "interval, and its mean width, in %%\n\n");
    sink_printf(sink, "%-20s %-8s %5s %7s %7s %7s %7s %9s %6s\n", "network", "",
                "rows", "mean", "median", "p90", "max", "inside", "width");
    for (size_t i = 0; i < evaluation->n_networks; i++) {
        for (int t = 0; t < N_TARGETS; t++) {
            if (!evaluation->networks[i].stats[t].n)
                continue;
            text_fit(sink, term, evaluation->networks[i].name, 20, ALIGN_LEFT);
            sink_printf(sink, " %-8s", target_names[t]);
            evaluation_show_stats(&evaluation->networks[i].stats[t], sink);
        }
    }
    for (int t = 0; t < N_TARGETS; t++)
        evaluation_show_mean(evaluation, (enum target)t, sink);
    if (n_judged)
        sink_printf(sink,
                    "\nwhether it fits: right for %zu of %zu runs, %zu too "
                    "close to tell\n",
                    evaluation->n_right, n_judged, evaluation->n_undecided);
    if (evaluation->n_seen)
        sink_printf(sink, "%s%zu rows that it was learned from are left out\n",
                    n_judged ? "" : "\n", evaluation->n_seen);
}

static void evaluation_write_stats(struct json_writer *json,
                                   const struct error_stats *stats)
{
    const struct {
        const char *key;
        double value;
    } members[] = {{"mean", stats->mean},         {"median", stats->median},
                   {"p90", stats->p90},           {"max", stats->max},
                   {"coverage", stats->coverage}, {"width", stats->width}};

    json_inline_object_begin(json);
    json_member_int(json, "n", (int64_t)stats->n);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_key(json, members[i].key);
        json_write_rounded(json, members[i].value, 6);
    }
    json_object_end(json);
}

void evaluation_show_json(const struct evaluation *evaluation,
                          struct sink *sink)
{
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    for (size_t i = 0; i < evaluation->n_networks; i++) {
        json_key(&json, evaluation->networks[i].name);
        json_object_begin(&json);
        for (int t = 0; t < N_TARGETS; t++) {
            json_key(&json, target_names[t]);
            evaluation_write_stats(&json, &evaluation->networks[i].stats[t]);
        }
        json_object_end(&json);
    }
    json_object_end(&json);
    sink_puts(sink, "\n");
}
