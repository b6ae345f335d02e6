/* findings/rule_plain.c - plain mode, which does not fuse modules. */
#include "findings/evidence_internal.h"

#include <string.h>

/* Modules that the optimised mode folds into the convolution before them. */
static bool plain_is_fusible(const char *class_name)
{
    static const char *const classes[] = {"BatchNorm2d", "FrozenBatchNorm2d",
                                          "ReLU", "ReLU6"};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(class_name, classes[i]) == 0)
            return true;
    }
    return false;
}

static bool plain_is_apart(const struct evidence *evidence, uint32_t scope,
                           const void *context)
{
    (void)context;
    return scope != RUN_ROOT &&
           plain_is_fusible(run_scope(evidence->run, scope)->class_name) &&
           evidence->stats[scope].mean_ns > 0 &&
           !evidence->stats[scope].is_outside;
}

void rule_plain(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    const char *mode = run_fact(evidence->run, "settings.mode");
    char time[FINDING_TIME];
    struct estimate sum;
    size_t n = 0;

    if (!mode || strcmp(mode, "plain") != 0)
        return;
    for (uint32_t i = 0; i < run_scope_count(evidence->run); i++)
        n += plain_is_apart(evidence, i, NULL);
    sum = evidence_sum(evidence, plain_is_apart, NULL, EVIDENCE_TOTAL);
    if (!estimate_reaches(sum, worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, sum,
                "%zu batch norms and activations run on their own and take %s",
                n, evidence_time(time, evidence, sum));
    finding_help(finding, "without --plain they are fused into the "
                          "convolutions");
}
