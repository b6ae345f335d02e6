/* findings/findings.c - see findings.h. */
#include "findings/findings.h"

#include "findings/evidence_internal.h"

#include <math.h>
#include <string.h>

static const struct {
    finding_rule *look;
    const char *name;
    bool holds_busy;
} rules[] = {
#define RULE(function, name, holds_busy) {function, name, holds_busy},
    FINDING_RULES(RULE)
#undef RULE
};

const char *const *findings_rules(void)
{
    static const char *const names[] = {
#define NAME(function, name, holds_busy) name,
        FINDING_RULES(NAME)
#undef NAME
            NULL};

    return names;
}

/* Inserts by milliseconds; drops the smallest if there are too many. */
static void insert(struct finding_list *list, const struct finding *finding)
{
    size_t at = list->n;

    while (at > 0 && list->items[at - 1].saved_ns < finding->saved_ns)
        at--;
    if (at == FINDINGS_MOST)
        return;
    if (list->n < FINDINGS_MOST)
        list->n++;
    memmove(&list->items[at + 1], &list->items[at],
            (list->n - 1 - at) * sizeof list->items[0]);
    list->items[at] = *finding;
}

enum assay_status findings_find(const struct run *run, struct finding_list *out,
                                struct error *err)
{
    struct evidence evidence;
    enum assay_status st;

    *out = (struct finding_list){0};
    if (!run_has_iterations(run))
        return ASSAY_OK;
    st = evidence_gather(run, &evidence, err);
    for (size_t i = 0;
         !st && evidence.iteration_ns > 0 && i < sizeof rules / sizeof rules[0];
         i++) {
        struct finding finding = {.rule = rules[i].name};

        if (evidence.load.is_disturbed && !rules[i].holds_busy)
            continue;
        rules[i].look(&evidence, &finding);
        if (finding.text[0] && isfinite(finding.saved_ns))
            insert(out, &finding);
    }
    evidence_release(&evidence);
    return st;
}
