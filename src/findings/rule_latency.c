/* findings/rule_latency.c - a part that neither arithmetic nor memory
 * explains: small steps, waiting, a single thread. */
#include "findings/evidence_internal.h"

/* Many small calls that go over more data together than a cache holds, as an
 * optimizer does over all parameters, may find none of it in one: memory
 * explains them then, though it does not explain one of them. */
static bool may_stream(const struct evidence *evidence, uint32_t scope)
{
    static const double least_explained = 1.0 / 3;
    const struct bound *bound = &evidence->bounds.items[scope];
    double memory_ns = bound->done_bytes /
                       peaks_gbs(&evidence->bounds.peaks, bound->done_bytes);

    return memory_ns >= bound->time_ns * least_explained;
}

/* A whole model of that kind says less than its parts. */
static bool is_latent(const struct evidence *evidence, uint32_t scope)
{
    return scope != RUN_ROOT && scope != run_model_scope(evidence->run) &&
           evidence->bounds.items[scope].kind == BOUND_LATENCY &&
           !may_stream(evidence, scope);
}

/* The outermost scopes of that kind only: what is inside is part of them. */
static uint32_t latency_find_worst(const struct evidence *evidence)
{
    uint32_t worst = RUN_NONE;

    for (uint32_t i = 1; i < evidence->bounds.n; i++) {
        if (is_latent(evidence, i) &&
            !is_latent(evidence, run_scope(evidence->run, i)->parent) &&
            (worst == RUN_NONE || evidence->bounds.items[i].saved_ns >
                                      evidence->bounds.items[worst].saved_ns))
            worst = i;
    }
    return worst;
}

void rule_latency(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    uint32_t scope = latency_find_worst(evidence);
    const struct bound *bound;
    char path[FINDING_PATH], time[FINDING_TIME], share[UNITS_MAX];

    if (scope == RUN_NONE)
        return;
    bound = &evidence->bounds.items[scope];
    if (bound->saved_ns < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, bound->saved_ns,
                "%s takes %s, and its arithmetic and memory explain %s of that",
                evidence_path(path, evidence, scope),
                evidence_time(time, evidence, bound->time_ns),
                units_percent(share, bound->share, 0));
    finding_help(finding, "more --threads do not help it; larger batches and "
                          "fewer, larger steps do");
}
