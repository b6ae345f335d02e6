/* findings/rule_plain.c - plain mode, where fusing would take modules away. */
#include "findings/evidence_internal.h"

#include <string.h>

/* Modules that the optimised mode folds into the convolution before them. */
static bool is_fusible(const char *class_name)
{
    static const char *const classes[] = {"BatchNorm2d", "FrozenBatchNorm2d",
                                          "ReLU", "ReLU6"};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(class_name, classes[i]) == 0)
            return true;
    }
    return false;
}

void rule_plain(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    const char *mode = run_fact(evidence->run, "settings.mode");
    char time[FINDING_TIME];
    double sum = 0;
    size_t n = 0;

    if (!mode || strcmp(mode, "plain") != 0)
        return;
    for (uint32_t i = 1; i < run_scope_count(evidence->run); i++) {
        if (!is_fusible(run_scope(evidence->run, i)->class_name) ||
            evidence_ns(evidence, i) <= 0)
            continue;
        sum += evidence_ns(evidence, i);
        n++;
    }
    if (sum < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, sum,
                "%zu batch norms and activations run on their own and take %s",
                n, evidence_time(time, evidence, sum));
    finding_help(finding, "without --plain they are done where the "
                          "convolutions write");
}
