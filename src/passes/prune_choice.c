/* passes/prune_choice.c - see prune_internal.h: which channels are removed. */
#include "passes/prune_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Channels that are removed together: filters of one or several layers. */
struct unit {
    uint32_t atom;
    size_t group;
    size_t first_layer, n_layers, last_layer;
    size_t filters;
    uint64_t signature; /* equal for units of the same layers */
    double score;       /* the lowest are removed first */
    bool is_removed;
};

struct chooser {
    const struct channels *channels;
    const struct prune_options *options;
    struct prune_report *report;
    struct unit *units; /* one per atom; later only those with filters */
    size_t n_units;
    struct map groups; /* by signature */
};

void prune_choice_release(struct prune_choice *choice)
{
    mem_free(choice->is_removed);
    *choice = (struct prune_choice){0};
}

int64_t prune_kept(const struct prune_choice *choice, struct labels labels,
                   int64_t n)
{
    int64_t kept = 0;

    if (!labels.n)
        return n;
    for (size_t i = 0; i < labels.n && (int64_t)i < n; i++)
        kept += prune_keeps(choice, labels.atoms[i]);
    return kept;
}

/* ---- what can be removed ------------------------------------------------ */

static struct labels layer_labels(const struct channels *channels, size_t layer)
{
    const struct channel_layer *of = &channels->layers[layer];

    return channels_of(channels, of->weight, of->axis);
}

static void count_filter(struct chooser *chooser, uint32_t atom, size_t layer)
{
    uint32_t root = channels_root(chooser->channels, atom);
    struct unit *unit = &chooser->units[root];

    chooser->report->filters++;
    if (root == CHANNEL_FIXED) {
        chooser->report->bound_filters++;
        return;
    }
    if (!unit->filters)
        unit->first_layer = layer;
    if (!unit->filters || unit->last_layer != layer) {
        uint64_t mixed[2] = {unit->signature, layer};

        unit->signature = map_hash(mixed, sizeof mixed);
        unit->n_layers++;
        unit->last_layer = layer;
    }
    unit->atom = root;
    unit->filters++;
}

static enum assay_status list_units(struct chooser *chooser, struct error *err)
{
    const struct channels *channels = chooser->channels;
    size_t n = 0;

    chooser->units = mem_array(channels->n_atoms, sizeof *chooser->units);
    if (!chooser->units)
        return error_nomem(err, channels->n_atoms * sizeof *chooser->units,
                           "the channels of a model");
    for (size_t i = 0; i < channels->n_layers; i++) {
        struct labels labels = layer_labels(channels, i);

        for (size_t k = 0; k < labels.n; k++)
            count_filter(chooser, labels.atoms[k], i);
    }
    for (size_t i = 0; i < channels->n_atoms; i++) {
        if (chooser->units[i].filters)
            chooser->units[n++] = chooser->units[i];
    }
    chooser->n_units = n;
    return ASSAY_OK;
}

/* "layer1.0.conv3", or the weight's name. */
static const char *layer_name(const struct channels *channels, size_t layer)
{
    const struct channel_layer *of = &channels->layers[layer];
    const struct node *node = graph_node(channels->graph, of->node);

    return node->scope == GRAPH_NONE
               ? graph_value(channels->graph, of->weight)->name
               : graph_scope(channels->graph, node->scope)->path;
}

static enum assay_status prune_choice_add_group(struct chooser *chooser,
                                                const struct unit *unit,
                                                struct error *err)
{
    struct prune_report *report = chooser->report;
    const char *name = layer_name(chooser->channels, unit->first_layer);

    name = arena_strdup(&report->arena, name);
    if (!name || map_put(&chooser->groups, &unit->signature,
                         sizeof unit->signature, report->n_groups))
        return error_nomem(err, sizeof *unit, "the groups of a model");
    report->groups[report->n_groups++] =
        (struct prune_group){.name = name, .n_layers = unit->n_layers};
    return ASSAY_OK;
}

/* Units of the same layers are a group. */
static enum assay_status form_groups(struct chooser *chooser, struct error *err)
{
    struct prune_report *report = chooser->report;
    size_t n = chooser->n_units ? chooser->n_units : 1;

    report->groups = arena_alloc(&report->arena, n * sizeof *report->groups);
    if (!report->groups)
        return error_nomem(err, n * sizeof *report->groups,
                           "the groups of a model");
    for (size_t i = 0; i < chooser->n_units; i++) {
        struct unit *unit = &chooser->units[i];
        uint64_t group = report->n_groups;
        enum assay_status st = ASSAY_OK;

        if (!map_find(&chooser->groups, &unit->signature,
                      sizeof unit->signature, &group))
            st = prune_choice_add_group(chooser, unit, err);
        if (st)
            return st;
        unit->group = (size_t)group;
        report->groups[group].channels++;
        report->groups[group].filters += unit->filters;
    }
    return ASSAY_OK;
}

/* ---- scores ------------------------------------------------------------- */

/* Adds the mean absolute weight of each filter. */
static enum assay_status add_norms(struct chooser *chooser, size_t layer,
                                   double *scores, struct error *err)
{
    const struct channel_layer *of = &chooser->channels->layers[layer];
    const struct value *weight =
        graph_value(chooser->channels->graph, of->weight);
    struct labels labels = layer_labels(chooser->channels, layer);
    size_t n = labels.n, inner = 1, outer;
    struct tensor plain;
    enum assay_status st;

    if (!weight->data.buffer)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s has no weights to compare filters by; load "
                         "weights, or choose another mode",
                         weight->name);
    for (int d = of->axis + 1; d < weight->shape.rank; d++)
        inner *= (size_t)weight->shape.dims[d];
    st = tensor_convert(chooser->channels->survey->pool, &weight->data,
                        DTYPE_F32, &plain, err);
    if (st)
        return st;
    outer = n && inner ? tensor_elements(&plain) / n / inner : 0;
    for (size_t i = 0; i < outer * n * inner; i++) {
        uint32_t atom = labels.atoms[i / inner % n];

        scores[channels_root(chooser->channels, atom)] +=
            fabs((double)tensor_f32(&plain)[i]) / (double)(outer * inner);
    }
    tensor_release(&plain);
    return ASSAY_OK;
}

static enum assay_status score_norms(struct chooser *chooser, struct error *err)
{
    size_t n = chooser->channels->n_atoms;
    double *scores = mem_array(n, sizeof *scores);
    enum assay_status st = ASSAY_OK;

    if (!scores)
        return error_nomem(err, n * sizeof *scores, "the norms of filters");
    for (size_t i = 0; !st && i < chooser->channels->n_layers; i++)
        st = add_norms(chooser, i, scores, err);
    for (size_t i = 0; i < chooser->n_units; i++)
        chooser->units[i].score = scores[chooser->units[i].atom];
    mem_free(scores);
    return st;
}

/* Removes filters of the first layers (lean 1) or the last ones (-1) sooner: a
 * factor of up to exp(2) between the two ends. */
static double depth_weight(const struct chooser *chooser, double lean,
                           size_t layer)
{
    double depth = (double)layer / (double)chooser->channels->n_layers;

    return exp(2 * lean * depth);
}

static void score_lots(struct chooser *chooser, bool is_weighted)
{
    struct random random = random_seed(chooser->options->seed);
    double lean = 0;

    if (is_weighted) {
        double lot = random_unit(&random);

        lean = lot < 0.3 ? -1 : lot < 0.6 ? 1 : 0;
    }
    for (size_t i = 0; i < chooser->n_units; i++) {
        struct unit *unit = &chooser->units[i];

        unit->score = random_unit(&random) *
                      depth_weight(chooser, lean, unit->first_layer);
    }
}

static enum assay_status score_units(struct chooser *chooser, struct error *err)
{
    if (chooser->options->mode == PRUNE_L1)
        return score_norms(chooser, err);
    score_lots(chooser, chooser->options->mode == PRUNE_RANDOM_WEIGHTED);
    return ASSAY_OK;
}

static int prune_choice_by_score(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return x->atom < y->atom ? -1 : x->atom > y->atom;
}

/* ---- what is removed ---------------------------------------------------- */

/* The share of n to remove, rounded. */
static size_t prune_choice_share_of(const struct chooser *chooser, size_t n)
{
    return (size_t)floor(chooser->options->percent / 100 * (double)n + 0.5);
}

static void prune_choice_drop(struct chooser *chooser, struct unit *unit)
{
    struct prune_group *group = &chooser->report->groups[unit->group];

    unit->is_removed = true;
    group->kept--;
    group->kept_filters -= unit->filters;
    chooser->report->kept_filters -= unit->filters;
}

/* How many channels a group loses. If they go in bundles, one stays, because a
 * bundle can be a whole layer. */
static size_t group_share(const struct chooser *chooser,
                          const struct prune_group *group)
{
    size_t share = prune_choice_share_of(chooser, group->channels);
    bool has_bundles = group->filters > group->channels * group->n_layers;

    return has_bundles && share == group->channels ? share - 1 : share;
}

static void drop_by_group(struct chooser *chooser)
{
    for (size_t i = 0; i < chooser->n_units; i++) {
        struct unit *unit = &chooser->units[i];
        const struct prune_group *group = &chooser->report->groups[unit->group];

        if (group->channels - group->kept < group_share(chooser, group))
            prune_choice_drop(chooser, unit);
    }
}

/* Removes units of the whole network until the share is reached; each group
 * keeps one. */
static enum assay_status drop_by_rank(struct chooser *chooser,
                                      struct error *err)
{
    const struct prune_report *report = chooser->report;
    size_t free_filters = report->filters - report->bound_filters;
    size_t wanted = prune_choice_share_of(chooser, free_filters), dropped = 0;

    for (size_t i = 0; dropped < wanted && i < chooser->n_units; i++) {
        struct unit *unit = &chooser->units[i];

        if (report->groups[unit->group].kept == 1)
            continue;
        prune_choice_drop(chooser, unit);
        dropped += unit->filters;
    }
    if (dropped >= wanted)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%g %% of the filters would leave some layers without "
                     "any; keeping one in each, %zu of %zu can be removed",
                     chooser->options->percent, dropped, free_filters);
}

static enum assay_status
prune_choice_check_layers(const struct chooser *chooser,
                          const struct prune_choice *choice, struct error *err)
{
    for (size_t i = 0; i < chooser->channels->n_layers; i++) {
        struct labels labels = layer_labels(chooser->channels, i);

        if (!labels.n || prune_kept(choice, labels, (int64_t)labels.n))
            continue;
        return error_set(err, ASSAY_BAD_USAGE,
                         "%g %% would remove all %zu filters of %s; a lower "
                         "level leaves some",
                         chooser->options->percent, labels.n,
                         layer_name(chooser->channels, i));
    }
    return ASSAY_OK;
}

static enum assay_status drop_units(struct chooser *chooser, struct error *err)
{
    struct prune_report *report = chooser->report;

    report->kept_filters = report->filters;
    for (size_t i = 0; i < report->n_groups; i++) {
        report->groups[i].kept = report->groups[i].channels;
        report->groups[i].kept_filters = report->groups[i].filters;
    }
    qsort(chooser->units, chooser->n_units, sizeof *chooser->units,
          prune_choice_by_score);
    if (chooser->options->mode == PRUNE_RANDOM_WEIGHTED)
        return drop_by_rank(chooser, err);
    drop_by_group(chooser);
    return ASSAY_OK;
}

enum assay_status prune_choose(struct prune_choice *choice,
                               const struct channels *channels,
                               const struct prune_options *options,
                               struct prune_report *report, struct error *err)
{
    struct chooser chooser = {
        .channels = channels, .options = options, .report = report};
    enum assay_status st = list_units(&chooser, err);

    choice->channels = channels;
    choice->is_removed =
        mem_array(channels->n_atoms, sizeof *choice->is_removed);
    if (!st && !choice->is_removed)
        st = error_nomem(err, channels->n_atoms, "the channels of a model");
    if (!st)
        st = form_groups(&chooser, err);
    if (!st)
        st = score_units(&chooser, err);
    if (!st)
        st = drop_units(&chooser, err);
    for (size_t i = 0; !st && i < chooser.n_units; i++)
        choice->is_removed[chooser.units[i].atom] = chooser.units[i].is_removed;
    if (!st)
        st = prune_choice_check_layers(&chooser, choice, err);
    map_release(&chooser.groups);
    mem_free(chooser.units);
    return st;
}
