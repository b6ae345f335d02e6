/* cli/prune_show.c - see prune_show.h. */
#include "cli/prune_show.h"

#include "base/json.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

enum { most_groups = 8 }; /* unless all are asked for */

/* "25.6 M to 12.8 M (-50 %)" */
static void put_change(struct sink *sink, const char *title, double before,
                       double after, const char *unit)
{
    char from[UNITS_MAX], to[UNITS_MAX], change[UNITS_MAX];

    sink_printf(sink, "%-8s %s to %s%s", title, units_count(from, before),
                units_count(to, after), unit);
    if (before > 0)
        sink_printf(sink, " (%s)",
                    units_percent(change, after / before - 1, 1));
}

static void put_groups(const struct prune_view *view, bool has_all,
                       struct sink *sink)
{
    const struct prune_report *report = &view->report;
    size_t n = has_all || report->n_groups <= most_groups ? report->n_groups
                                                          : most_groups;

    sink_printf(sink, "\n%-44s %7s %9s %7s\n", "filters that go together",
                "layers", "channels", "kept");
    for (size_t i = 0; i < n; i++) {
        const struct prune_group *group = &report->groups[i];

        sink_printf(sink, "%-44.44s %7zu %9zu %7zu\n", group->name,
                    group->n_layers, group->channels, group->kept);
    }
    if (n < report->n_groups)
        sink_printf(sink, "... and %zu more (--all)\n", report->n_groups - n);
}

void prune_show_table(const struct prune_view *view, bool has_all,
                      struct sink *sink)
{
    const struct prune_report *report = &view->report;

    sink_printf(sink, "model    %s   %g %% of the filters, %s", view->model,
                view->options.percent, view->mode);
    if (view->options.mode != PRUNE_L1)
        sink_printf(sink, " (seed %" PRIu64 ")", view->options.seed);
    sink_printf(sink, "\nfilters  %zu to %zu", report->filters,
                report->kept_filters);
    if (report->bound_filters)
        sink_printf(sink, "; %zu of them stay at any level",
                    report->bound_filters);
    sink_puts(sink, "\n");
    put_change(sink, "params", (double)view->parameters[PRUNE_BEFORE],
               (double)view->parameters[PRUNE_AFTER], "");
    sink_puts(sink, "\n");
    put_change(sink, "work", (double)view->macs[PRUNE_BEFORE],
               (double)view->macs[PRUNE_AFTER], " MACs");
    sink_printf(sink, "   %s\n", view->input);
    put_groups(view, has_all, sink);
    if (view->path)
        sink_printf(sink, "\nwrote    %s\n", view->saved);
}

static void put_pair(struct json_writer *json, const char *key, uint64_t before,
                     uint64_t after)
{
    json_key(json, key);
    json_inline_object_begin(json);
    json_member_int(json, "before", (int64_t)before);
    json_member_int(json, "after", (int64_t)after);
    json_object_end(json);
}

static void put_group(struct json_writer *json, const struct prune_group *group)
{
    json_inline_object_begin(json);
    json_member_string(json, "name", group->name);
    json_member_int(json, "layers", (int64_t)group->n_layers);
    json_member_int(json, "channels", (int64_t)group->channels);
    json_member_int(json, "kept", (int64_t)group->kept);
    json_member_int(json, "filters", (int64_t)group->filters);
    json_member_int(json, "kept_filters", (int64_t)group->kept_filters);
    json_object_end(json);
}

void prune_show_json(const struct prune_view *view, struct sink *sink)
{
    const struct prune_report *report = &view->report;
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "model", view->model);
    json_member_double(&json, "percent", view->options.percent);
    json_member_string(&json, "mode", view->mode);
    json_member_int(&json, "seed", (int64_t)view->options.seed);
    json_member_string(&json, "input", view->input);
    put_pair(&json, "filters", report->filters, report->kept_filters);
    json_member_int(&json, "bound_filters", (int64_t)report->bound_filters);
    put_pair(&json, "parameters", view->parameters[PRUNE_BEFORE],
             view->parameters[PRUNE_AFTER]);
    put_pair(&json, "macs", view->macs[PRUNE_BEFORE], view->macs[PRUNE_AFTER]);
    json_key(&json, "groups");
    json_array_begin(&json);
    for (size_t i = 0; i < report->n_groups; i++)
        put_group(&json, &report->groups[i]);
    json_array_end(&json);
    if (view->path)
        json_member_string(&json, "wrote", view->path);
    json_object_end(&json);
    sink_puts(sink, "\n");
}
