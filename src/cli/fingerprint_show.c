/* cli/fingerprint_show.c - see fingerprint_show.h. */
#include "cli/fingerprint_show.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { cell_size = 32 };

/* ---- a fingerprint --------------------------------------------------------
 */

/* "mnasnet 0 10 20, resnet50 0 5": networks with their levels. */
static void show_networks(const struct data_set *data, struct sink *sink,
                          const struct term *term)
{
    for (size_t i = 0; i < data->n_descriptions; i++) {
        const struct description *own = &data->descriptions[i];
        bool is_new = i == 0 || strcmp(own->network, own[-1].network) != 0;

        if (is_new) {
            sink_puts(sink, i ? " %\n         " : "made of  ");
            text_put(sink, term, own->network);
            sink_puts(sink, "  pruned by");
        }
        sink_printf(sink, " %lld", (long long)own->level);
    }
    sink_puts(sink, " %\n");
}

static void write_error(char text[cell_size], const struct calibration *own)
{
    if (own->is_known)
        snprintf(text, cell_size, "%s  %.1f %%", method_names[own->method],
                 100 * own->error[own->method]);
    else
        snprintf(text, cell_size, "-");
}

/* A line a target: which model, and its error on rows held back. */
static void show_part(const struct fingerprint *fingerprint, enum stage stage,
                      enum target target, struct sink *sink)
{
    char levels[cell_size], networks[cell_size];
    const struct calibration *own =
        fingerprint_calibration(fingerprint, stage, target, SIGHT_NETWORKS);

    write_error(levels, fingerprint_calibration(fingerprint, stage, target,
                                                SIGHT_LEVELS));
    write_error(networks, own);
    if (!own->is_known)
        snprintf(networks, sizeof networks, "%s  ?", method_names[own->method]);
    sink_printf(sink, "%-9s  %-7s  %5zu  %-22s  %s\n", stage_names[stage],
                target_names[target],
                fingerprint_row_count(fingerprint, stage, target), levels,
                networks);
}

static void show_parameters(const struct fingerprint *fingerprint,
                            enum stage stage, enum target target,
                            struct sink *sink)
{
    char value[UNITS_MAX];

    sink_printf(sink, "\nphysical model of %s, %s\n", target_names[target],
                stage_names[stage]);
    for (size_t i = 0; i < physical_count(target); i++) {
        if (!fingerprint_has_parameter(fingerprint, stage, target, i))
            continue;
        sink_printf(sink, "  %-22s %9s  %s\n", physical_name(target, i),
                    units_number(value, fingerprint_parameter(
                                            fingerprint, stage, target, i)),
                    physical_unit(target, i));
    }
}

void fingerprint_show(const struct fingerprint *fingerprint,
                      bool with_parameters, struct sink *sink,
                      const struct term *term)
{
    const char *device = fingerprint_device(fingerprint);
    double capacity = fingerprint_capacity_mb(fingerprint);
    char size[UNITS_MAX];

    if (*device) {
        sink_puts(sink, "device   ");
        text_put(sink, term, device);
        sink_puts(sink, "\n");
    }
    if (!isnan(capacity))
        sink_printf(sink, "memory   %s\n",
                    units_bytes(size, capacity * 0x1p20));
    show_networks(fingerprint_data(fingerprint), sink, term);
    sink_printf(sink, "\n%-9s  %-7s  %5s  %-22s  %s\n", "", "", "rows",
                "levels held back", "networks held back");
    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            if (fingerprint_has(fingerprint, (enum stage)s, (enum target)t))
                show_part(fingerprint, (enum stage)s, (enum target)t, sink);
        }
    }
    for (int s = 0; with_parameters && s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            if (fingerprint_has(fingerprint, (enum stage)s, (enum target)t))
                show_parameters(fingerprint, (enum stage)s, (enum target)t,
                                sink);
        }
    }
}

enum assay_status fingerprint_print(const struct fingerprint *fingerprint,
                                    bool with_parameters, struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    fingerprint_show(fingerprint, with_parameters, result.sink, &result.term);
    return result_close(&result, sink_status(result.sink, err), err);
}

/* ---- an evaluation --------------------------------------------------------
 */

static const char *cell(char text[cell_size], const char *format, double value)
{
    if (isnan(value))
        snprintf(text, cell_size, "-");
    else
        snprintf(text, cell_size, format, value);
    return text;
}

static void show_stats(const struct error_stats *stats, struct sink *sink)
{
    char text[cell_size];

    sink_printf(sink, " %5zu", stats->n);
    sink_printf(sink, " %7s", cell(text, "%.2f", stats->mean));
    sink_printf(sink, " %7s", cell(text, "%.2f", stats->median));
    sink_printf(sink, " %7s", cell(text, "%.2f", stats->p90));
    sink_printf(sink, " %7s", cell(text, "%.1f", stats->max));
    sink_printf(sink, " %9s\n", cell(text, "%.1f", stats->coverage));
}

/* The mean over networks, where there are several. */
static void show_mean(const struct evaluation *evaluation, enum target target,
                      struct sink *sink)
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
    }
    if (n < 2)
        return;
    mean.mean /= n;
    mean.median /= n;
    mean.p90 /= n;
    mean.coverage /= n;
    sink_printf(sink, "%-20s %-8s", "mean", target_names[target]);
    show_stats(&mean, sink);
}

void evaluation_show_table(const struct evaluation *evaluation,
                           struct sink *sink, const struct term *term)
{
    size_t n_judged = evaluation->n_right + evaluation->n_wrong;

    sink_printf(sink, "relative error in %%, and rows inside of the 90 %% "
                      "interval in %%\n\n");
    sink_printf(sink, "%-20s %-8s %5s %7s %7s %7s %7s %9s\n", "network", "",
                "rows", "mean", "median", "p90", "max", "inside");
    for (size_t i = 0; i < evaluation->n_networks; i++) {
        for (int t = 0; t < N_TARGETS; t++) {
            if (!evaluation->networks[i].stats[t].n)
                continue;
            text_fit(sink, term, evaluation->networks[i].name, 20, ALIGN_LEFT);
            sink_printf(sink, " %-8s", target_names[t]);
            show_stats(&evaluation->networks[i].stats[t], sink);
        }
    }
    for (int t = 0; t < N_TARGETS; t++)
        show_mean(evaluation, (enum target)t, sink);
    if (n_judged)
        sink_printf(sink,
                    "\nfits or not: right in %zu of %zu runs, %zu too close to "
                    "tell\n",
                    evaluation->n_right, n_judged, evaluation->n_undecided);
    if (evaluation->n_seen)
        sink_printf(sink, "%s%zu rows it was made from are left out\n",
                    n_judged ? "" : "\n", evaluation->n_seen);
}

static void write_stats(struct json_writer *json,
                        const struct error_stats *stats)
{
    json_inline_object_begin(json);
    json_member_int(json, "n", (int64_t)stats->n);
    json_key(json, "mean");
    json_write_rounded(json, stats->mean, 6);
    json_key(json, "median");
    json_write_rounded(json, stats->median, 6);
    json_key(json, "p90");
    json_write_rounded(json, stats->p90, 6);
    json_key(json, "max");
    json_write_rounded(json, stats->max, 6);
    json_key(json, "coverage");
    json_write_rounded(json, stats->coverage, 6);
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
            write_stats(&json, &evaluation->networks[i].stats[t]);
        }
        json_object_end(&json);
    }
    json_object_end(&json);
    sink_puts(sink, "\n");
}
