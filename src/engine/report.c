/* engine/report.c - see engine_internal.h: what an engine reports to the
 * recorder besides spans: work, fused modules, device times, memory. */
#include "engine/engine_internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "record/record.h"

#include <assay/memory.h>
#include <assay/work.h>

#include <stdio.h>
#include <string.h>

/* ---- the model, once per recording -----------------------------------------
 */

/* A module's parameters that training changes or could. */
static void report_parameters(const struct engine *engine)
{
    const struct graph *graph = engine->graph;
    size_t n = graph_scope_count(graph);
    double *counts = mem_array(n, sizeof *counts);

    if (!counts)
        return; /* figures that are shown as unknown then */
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        uint32_t scope =
            value->scope != GRAPH_NONE ? value->scope : value->reader;
        size_t elements;

        if (value->kind == VALUE_PARAMETER && scope != GRAPH_NONE &&
            shape_elements(&value->shape, &elements))
            counts[scope] += (double)elements;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i] > 0)
            assay_scope_work(module_scope(&engine->forward, i),
                             &(struct assay_work){.parameters = counts[i]});
    }
    mem_free(counts);
}

/* Makes the modules known in the order of the model: the tree shows them in the
 * order in which they become known. */
static void report_modules(const struct engine *engine)
{
    const struct module_scopes *modules = &engine->forward;

    for (size_t i = 0; i < modules->n_order; i++)
        assay_scope_work(module_scope(modules, modules->order[i]),
                         &(struct assay_work){0});
}

static void report_fused(const struct engine *engine)
{
    for (size_t i = 0; i < graph_node_count(engine->graph); i++) {
        const struct node *node = graph_node(engine->graph, i);

        for (size_t k = 0; k < node->n_stands_for; k++)
            assay_fused(module_scope(&engine->forward, node->stands_for[k]),
                        module_scope(&engine->forward, node->scope));
    }
}

void engine_report_model(struct engine *engine)
{
    if (!assay_is_recording() || engine->reported_to == record_number())
        return;
    engine->reported_to = record_number();
    for (size_t i = 0; i < graph_node_count(engine->graph); i++)
        engine->reports[i].shapes = 0;
    report_modules(engine);
    report_parameters(engine);
    report_fused(engine);
}

/* ---- nodes -----------------------------------------------------------------
 */

static uint64_t mix_shape(uint64_t hash, const struct shape *shape)
{
    hash = (hash ^ (uint64_t)shape->rank) * UINT64_C(0x100000001b3);
    for (int i = 0; i < shape->rank; i++)
        hash = (hash ^ (uint64_t)shape->dims[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A number for the shapes of what a node computes with; never 0. */
static uint64_t mix_shapes(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i])
            hash = mix_shape(hash, &inputs[i]->shape);
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        hash = mix_shape(hash, &outputs[i].shape);
    return hash | 1;
}

/* "1x3x224x224 -> 1x64x112x112": what is computed from, and what comes out. */
static void write_shapes(struct str *text, const struct engine *engine,
                         const struct node *node,
                         const struct tensor *const *inputs,
                         const struct tensor *outputs)
{
    const char *before = "";
    char shape[64];

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!inputs[i] || !engine->values[node->inputs[i]].made.buffer)
            continue;
        (void)str_printf(text, "%s%s", before,
                         shape_text(&inputs[i]->shape, shape, sizeof shape));
        before = ", ";
    }
    before = " -> ";
    for (size_t i = 0; i < node->n_outputs; i++) {
        (void)str_printf(text, "%s%s", before,
                         shape_text(&outputs[i].shape, shape, sizeof shape));
        before = ", ";
    }
}

static struct assay_work work_of_cost(const struct cost *cost)
{
    return (struct assay_work){.macs = (double)cost->macs,
                               .flops = (double)cost->flops,
                               .bytes_read = (double)cost->read_bytes,
                               .bytes_written = (double)cost->write_bytes,
                               .done_flops = (double)cost->done_flops,
                               .done_bytes = (double)cost->done_bytes};
}

void engine_report_cost(const struct cost *cost)
{
    struct assay_work work = work_of_cost(cost);

    assay_work(&work);
}

/* Texts are written only when they change: they take longer than the rest. */
void engine_report_node(struct engine *engine, size_t at,
                        const struct tensor *const *inputs,
                        const struct tensor *outputs)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct backend_class *class = engine->backend->class;
    struct assay_work work = work_of_cost(&engine->costs[at]);
    struct node_report *report = &engine->reports[at];
    uint64_t shapes = mix_shapes(node, inputs, outputs);
    struct str text = {0};

    report->scope = assay_scope_here();
    if (shapes != report->shapes) {
        write_shapes(&text, engine, node, inputs, outputs);
        work.shapes = text.n ? str_text(&text) : NULL;
        work.kernel =
            class->kernel ? class->kernel(engine->backend, node, at) : NULL;
        report->shapes = shapes;
    }
    assay_work(&work);
    str_release(&text);
}

void engine_report_kept(const struct engine *engine)
{
    for (size_t i = 0; i < graph_node_count(engine->graph); i++) {
        size_t bytes = engine_kept_bytes(engine, i);

        if (bytes)
            assay_scope_work(engine->reports[i].scope,
                             &(struct assay_work){.kept_bytes = (double)bytes});
    }
}

assay_scope_t engine_scope(const struct engine *engine, uint32_t scope)
{
    return module_scope(&engine->forward, scope);
}

assay_scope_t engine_node_scope(const struct engine *engine, size_t node)
{
    return engine->reports[node].scope;
}

/* ---- the device ------------------------------------------------------------
 */

/* A lane for what it computes, and for each way that data goes. */
struct device_lanes {
    assay_lane_t of[N_QUEUE_WORKS];
};

static void report_timing(void *context, const struct queue_timing *timing)
{
    const struct device_lanes *lanes = context;
    struct assay_span_details details = {.launched_ns = timing->launched_ns};

    if (timing->tag != ASSAY_SCOPE_ROOT) /* outside of every module */
        assay_span_at(lanes->of[timing->work], timing->tag, timing->begin_ns,
                      timing->end_ns, &details);
}

/* What tells the times, once per recording and whenever that changes. */
static void report_timed_by(struct engine *engine)
{
    const struct backend_class *class = engine->backend->class;
    const char *text = class->timed_by ? class->timed_by(engine->backend) : "";

    if (!assay_is_recording() || !*text ||
        (engine->timed_in == record_number() &&
         strcmp(engine->timed_by, text) == 0))
        return;
    engine->timed_in = record_number();
    snprintf(engine->timed_by, sizeof engine->timed_by, "%s", text);
    assay_fact("device.timed_by", text);
}

void engine_report_timings(struct engine *engine)
{
    static const char *const works[N_QUEUE_WORKS] = {
        [QUEUE_KERNEL] = "",
        [QUEUE_COPY_IN] = " copy in",
        [QUEUE_COPY_OUT] = " copy out"};
    struct backend *backend = engine->backend;
    struct device_lanes lanes;
    char name[64];

    if (!backend->class->timings)
        return;
    report_timed_by(engine);
    for (size_t i = 0; i < N_QUEUE_WORKS; i++) {
        snprintf(name, sizeof name, "%s%s", backend->device->name, works[i]);
        lanes.of[i] = assay_lane_open(name, ASSAY_LANE_DEVICE);
    }
    backend->class->timings(backend, report_timing, &lanes);
}

void engine_watch_device(struct engine *engine)
{
    if (engine->backend->class->watch)
        engine->backend->class->watch(engine->backend, assay_is_recording());
}

void engine_launching(struct engine *engine, uint32_t scope)
{
    if (engine->backend->class->launching)
        engine->backend->class->launching(engine->backend, scope);
}

/* ---- memory ----------------------------------------------------------------
 */

static enum assay_memory_category category_of(uint32_t owner)
{
    static const enum assay_memory_category categories[OWNER_MODULE] = {
        [OWNER_OTHER] = ASSAY_MEMORY_OTHER,
        [OWNER_WEIGHTS] = ASSAY_MEMORY_WEIGHTS,
        [OWNER_PACKED] = ASSAY_MEMORY_WEIGHTS,
        [OWNER_SCRATCH] = ASSAY_MEMORY_SCRATCH,
        [OWNER_IMAGES] = ASSAY_MEMORY_ACTIVATIONS,
        [OWNER_GRADIENTS] = ASSAY_MEMORY_GRADIENTS,
        [OWNER_OPTIMIZER] = ASSAY_MEMORY_OPTIMIZER,
    };

    return owner < OWNER_MODULE ? categories[owner] : ASSAY_MEMORY_ACTIVATIONS;
}

static void report_memory(void *context, const struct pool_change *change)
{
    const char *space = context;
    enum assay_memory_category now = category_of(change->owner);
    enum assay_memory_category before = category_of(change->owner_before);

    if (!change->is_handed_over) {
        assay_memory(space, now, change->asked_bytes);
    } else if (now != before) {
        assay_memory(space, before, -change->asked_bytes);
        assay_memory(space, now, change->asked_bytes);
    }
}

static void report_all(void *context, const struct pool_change *change)
{
    if (!change->is_handed_over)
        assay_bytes(change->bytes);
    report_memory(context, change);
}

void pool_report(struct pool *pool, bool is_in_spans)
{
    const char *space = pool_space(pool)->name;

    pool_observe(
        pool, (struct pool_observer){is_in_spans ? report_all : report_memory,
                                     (void *)(uintptr_t)space});
    if (!assay_is_recording())
        return;
    if (is_in_spans)
        assay_bytes((int64_t)pool_usage(pool).live_bytes);
    for (uint32_t i = 0; i < pool_owner_count(pool); i++) {
        size_t bytes = pool_live_of(pool, i);

        if (bytes)
            assay_memory(space, category_of(i), (int64_t)bytes);
    }
}
