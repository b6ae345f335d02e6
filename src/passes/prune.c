/* passes/prune.c - see prune.h: the steps of pruning, and the check. */
#include "passes/prune.h"

#include "base/mem.h"
#include "ops/ops.h"
#include "passes/prune_internal.h"

#include <math.h>

void prune_report_release(struct prune_report *report)
{
    arena_release(&report->arena);
    *report = (struct prune_report){0};
}

static enum assay_status
prune_check_options(const struct graph *graph,
                    const struct prune_options *options, struct error *err)
{
    if (!(options->percent >= 0 && options->percent <= PRUNE_MOST_PERCENT))
        return error_set(err, ASSAY_BAD_USAGE,
                         "%g %% of the filters cannot be removed; levels go "
                         "from 0 to %d",
                         options->percent, PRUNE_MOST_PERCENT);
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        if (graph_node(graph, i)->n_bodies)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "%s runs graphs inside nodes (%s), which cannot "
                             "be pruned",
                             graph_name(graph), graph_node(graph, i)->op->name);
    }
    return ASSAY_OK;
}

static void find_node_channels(struct channels *channels, size_t at)
{
    const struct node *node = graph_node(channels->graph, at);

    channels->node = at;
    if (node->op->channels && !(channels->is_fixed && channels->is_fixed[at]))
        node->op->channels(channels, node);
    else
        channels_fix_inputs(channels, node);
}

/* Finds the channels that belong together. Borrows the graph and its survey. */
static enum assay_status find_channels(struct channels *channels,
                                       const struct graph *graph,
                                       const struct survey *survey,
                                       struct error *err)
{
    size_t n = graph_value_count(graph);

    channels->graph = graph;
    channels->survey = survey;
    channels->values = mem_array(n, sizeof *channels->values);
    channels->is_out_of_memory = !channels->values;
    if (channels->values)
        channels_new(channels, 1); /* CHANNEL_FIXED */
    for (size_t i = 0;
         !channels->is_out_of_memory && i < graph_node_count(graph); i++)
        find_node_channels(channels, i);
    for (size_t i = 0;
         !channels->is_out_of_memory && i < graph_output_count(graph); i++)
        channels_fix_value(channels, graph_output_at(graph, i, NULL));
    return channels->is_out_of_memory
               ? error_nomem(err, n * sizeof *channels->values,
                             "the channels of a model")
               : ASSAY_OK;
}

/* The shape that a value should have after pruning. */
static struct shape expected_shape(const struct prune_choice *choice,
                                   uint32_t value)
{
    const struct channels *channels = choice->channels;
    struct shape shape = *channels_shape(channels, value);

    for (int d = 0; d < shape.rank; d++)
        shape.dims[d] =
            prune_kept(choice, channels_of(channels, value, d), shape.dims[d]);
    return shape;
}

/* Whether every node of the pruned graph makes the planned shapes. */
static bool is_as_planned(const struct prune_choice *choice,
                          const struct graph *pruned,
                          const struct survey *survey)
{
    const struct channels *channels = choice->channels;

    for (size_t i = 0; i < graph_node_count(pruned); i++) {
        const struct node *old = graph_node(channels->graph, i);
        const struct node *new = graph_node(pruned, i);

        for (size_t k = 0; k < old->n_outputs; k++) {
            struct shape shape;

            if (!channels_shape(channels, old->outputs[k]) ||
                !survey->is_known[new->outputs[k]])
                continue;
            shape = expected_shape(choice, old->outputs[k]);
            if (!shape_equal(&shape, &survey->values[new->outputs[k]].shape))
                return false;
        }
    }
    return true;
}

/* Sizes that nodes compute may depend on channels in unknown ways. Each attempt
 * trusts them less. */
enum trust {
    TRUST_SIZES,
    TRUST_NO_USERS,  /* ops that read such a size keep their inputs whole */
    TRUST_NO_ASKERS, /* values whose shape is read stay whole too */
    TRUST_END
};

static bool is_told_sizes(const struct graph *graph, const struct node *node)
{
    static const struct op_class *const ops[] = {&op_reshape, &op_resize,
                                                 &op_slice, &op_split, &op_pad};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        for (size_t k = 1; node->op == ops[i] && k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE &&
                graph_value(graph, node->inputs[k])->kind == VALUE_COMPUTED)
                return true;
        }
    }
    return false;
}

static void fix_nodes(const struct graph *graph, enum trust trust,
                      bool *is_fixed)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        is_fixed[i] = trust != TRUST_SIZES &&
                      (is_told_sizes(graph, node) ||
                       (trust == TRUST_NO_ASKERS && node->op->reads_shapes));
    }
}

struct attempt {
    const struct graph *graph;
    const struct shape *inputs;
    const struct prune_options *options;
    struct pool *pool;
    struct survey survey;
    bool *is_fixed; /* one per node */
};

static enum assay_status attempt_run(const struct attempt *attempt,
                                     struct graph **out, bool *is_good,
                                     struct prune_report *report,
                                     struct error *err)
{
    struct channels channels = {.has_linear = attempt->options->has_linear,
                                .is_fixed = attempt->is_fixed};
    struct prune_choice choice = {0};
    struct survey survey = {0};
    enum assay_status st =
        find_channels(&channels, attempt->graph, &attempt->survey, err);

    if (!st)
        st = prune_choose(&choice, &channels, attempt->options, report, err);
    if (!st && report->filters == report->bound_filters)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "%s has no filters that can be removed",
                       graph_name(attempt->graph));
    if (!st)
        st = prune_copy(&choice, attempt->pool, out, err);
    if (!st) {
        enum assay_status fits =
            survey_graph(&survey, *out, attempt->inputs, NULL);

        *is_good = !fits && is_as_planned(&choice, *out, &survey);
        if (fits == ASSAY_NOMEM)
            st = error_nomem(err, 0, "the shapes of a graph");
    }
    survey_release(&survey);
    prune_choice_release(&choice);
    channels_release(&channels);
    return st;
}

static enum assay_status attempt_all(struct attempt *attempt,
                                     struct graph **out,
                                     struct prune_report *report,
                                     struct error *err)
{
    for (int trust = TRUST_SIZES; trust < TRUST_END; trust++) {
        bool is_good = false;
        enum assay_status st;

        fix_nodes(attempt->graph, (enum trust)trust, attempt->is_fixed);
        st = attempt_run(attempt, out, &is_good, report, err);
        if (st || is_good)
            return st;
        graph_free(*out);
        *out = NULL;
        prune_report_release(report);
    }
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s computes sizes from its channels in a way that "
                     "pruning cannot follow",
                     graph_name(attempt->graph));
}

enum assay_status graph_prune(const struct graph *graph,
                              const struct shape *inputs,
                              const struct prune_options *options,
                              struct pool *pool, struct graph **out,
                              struct prune_report *report, struct error *err)
{
    struct attempt attempt = {
        .graph = graph, .inputs = inputs, .options = options, .pool = pool};
    enum assay_status st = prune_check_options(graph, options, err);

    *out = NULL;
    if (!st)
        st = survey_graph(&attempt.survey, graph, inputs, err);
    attempt.is_fixed =
        mem_array(graph_node_count(graph), sizeof *attempt.is_fixed);
    if (!st && !attempt.is_fixed)
        st = error_nomem(err, graph_node_count(graph), "the nodes of a model");
    if (!st)
        st = attempt_all(&attempt, out, report, err);
    if (st) {
        graph_free(*out);
        *out = NULL;
        prune_report_release(report);
    }
    survey_release(&attempt.survey);
    mem_free(attempt.is_fixed);
    return st;
}
