/* metrics/metric_child.c - see profiler_internal.h.
 *
 * The parent sends samples: a struct sample_header, then each output as a
 * struct assay_tensor and its data, then the boxes; a header with no_more ends
 * them. The child sends one struct metric_answer, and the values if it is
 * ASSAY_OK. Both sides are the same program, so structs are sent as they are.
 */
#include "metrics/profiler_internal.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct sample_header {
    size_t n_outputs;                 /* no_more: nothing follows */
    struct assay_target target;       /* boxes: a pointer in the parent */
    struct assay_evaluated evaluated; /* with no_more */
};

/* The end of the line alone is not enough: a child started later has this one's
 * line open too. */
static const size_t no_more = SIZE_MAX;

struct metric_answer {
    enum assay_status status;
    struct assay_error error;
};

/* ---- in the child ------------------------------------------------------- */

/* Reads a block from the pipe; NULL if it ends early. Only what a sample
 * brought is freed before the child ends. */
static void *read_block(int line, size_t bytes)
{
    void *block = mem_alloc(bytes);

    if (block && child_receive(line, block, bytes, 0) != CHILD_TOLD) {
        mem_free(block);
        block = NULL;
    }
    return block;
}

static bool receive_sample(int line, const struct sample_header *header,
                           struct assay_sample *sample)
{
    struct assay_tensor *outputs =
        mem_array(header->n_outputs, sizeof *outputs);
    size_t n_boxes = header->target.n_boxes;

    *sample =
        (struct assay_sample){.outputs = outputs, .target = header->target};
    sample->target.boxes = NULL;
    if (!outputs)
        return false;
    for (; sample->n_outputs < header->n_outputs; sample->n_outputs++) {
        struct assay_tensor *output = &outputs[sample->n_outputs];

        if (child_receive(line, output, sizeof *output, 0) != CHILD_TOLD)
            return false;
        output->data = read_block(line, output->n_bytes);
        if (!output->data)
            return false;
    }
    if (n_boxes)
        sample->target.boxes =
            read_block(line, n_boxes * sizeof *sample->target.boxes);
    return !n_boxes || sample->target.boxes;
}

static void release_sample(const struct assay_sample *sample)
{
    for (size_t i = 0; i < sample->n_outputs; i++)
        mem_free(sample->outputs[i].data);
    mem_free((void *)(uintptr_t)sample->outputs);
    mem_free((void *)(uintptr_t)sample->target.boxes);
}

static enum assay_status
take_samples(int line, const struct assay_metric_function *function,
             struct assay_evaluated *evaluated, struct assay_error *error)
{
    struct sample_header header;
    enum assay_status st = ASSAY_OK;

    for (;;) {
        struct assay_sample sample;
        bool is_whole;

        if (st || child_receive(line, &header, sizeof header, 0) != CHILD_TOLD)
            return st ? st : ASSAY_IO;
        if (header.n_outputs == no_more) {
            *evaluated = header.evaluated;
            return ASSAY_OK;
        }
        is_whole = receive_sample(line, &header, &sample);

        if (is_whole && function->sample)
            st = function->sample(function->context, &sample, error);
        release_sample(&sample);
        if (!is_whole)
            return ASSAY_IO;
    }
}

/* What a child starts with. */
struct service {
    const struct assay_metric_function *function;
    const struct assay_metric_input *input;
};

static void serve(void *context, int line)
{
    const struct service *service = context;
    const struct assay_metric_function *function = service->function;
    double *values = mem_array(function->n_metrics, sizeof *values);
    struct metric_answer answer = {.status = values ? ASSAY_OK : ASSAY_NOMEM};
    struct assay_metric_input seen = *service->input;
    struct assay_evaluated evaluated;

    if (seen.evaluated)
        seen.evaluated = &evaluated;
    if (!answer.status && function->begin)
        answer.status =
            function->begin(function->context, &seen, &answer.error);
    if (!answer.status)
        answer.status = take_samples(line, function, &evaluated, &answer.error);
    if (!answer.status)
        answer.status =
            function->compute(function->context, &seen, values, &answer.error);
    if (child_send(line, &answer, sizeof answer, 0) == CHILD_TOLD &&
        !answer.status)
        child_send(line, values, function->n_metrics * sizeof *values, 0);
}

/* ---- in the parent ------------------------------------------------------ */

enum assay_status metric_child_start(
    struct metric_child *child, const struct assay_metric_function *function,
    const struct assay_metric_input *input, double seconds, struct error *err)
{
    char what[64];
    const struct child_options options = {.what = what};
    struct service service = {function, input};

    snprintf(what, sizeof what, "'%.60s'", function->name);
    *child = (struct metric_child){.seconds = seconds};
    return child_start(&child->process, &options, serve, &service, err);
}

static bool send_block(const struct metric_child *child, const void *bytes,
                       size_t n)
{
    return child_send(child->process.line, bytes, n, child->seconds) ==
           CHILD_TOLD;
}

static bool send_sample(const struct metric_child *child,
                        const struct assay_sample *sample)
{
    struct sample_header header = {.n_outputs = sample->n_outputs,
                                   .target = sample->target};
    bool is_sent = send_block(child, &header, sizeof header);

    for (size_t i = 0; is_sent && i < sample->n_outputs; i++) {
        const struct assay_tensor *output = &sample->outputs[i];

        is_sent = send_block(child, output, sizeof *output) &&
                  send_block(child, output->data, output->n_bytes);
    }
    return is_sent &&
           send_block(child, sample->target.boxes,
                      sample->target.n_boxes * sizeof *sample->target.boxes);
}

void metric_child_sample(struct metric_child *child,
                         const struct assay_sample *sample)
{
    if (!child->is_deaf)
        child->is_deaf = !send_sample(child, sample);
}

static void send_end(struct metric_child *child,
                     const struct assay_evaluated *evaluated)
{
    struct sample_header header = {.n_outputs = no_more};

    if (evaluated)
        header.evaluated = *evaluated;
    if (!child->is_deaf)
        child->is_deaf = !send_block(child, &header, sizeof header);
}

/* Explains an end without an answer. */
static enum assay_status explain_end(int status, const char *name,
                                     struct error *err)
{
    if (WIFSIGNALED(status))
        return error_set(err, ASSAY_BAD_INPUT, "'%s' crashed (%s)", name,
                         strsignal(WTERMSIG(status)));
    return error_set(err, ASSAY_BAD_INPUT,
                     "'%s' ended without a value (exit code %d)", name,
                     WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

enum assay_status metric_child_finish(
    struct metric_child *child, const struct assay_metric_function *function,
    const struct assay_evaluated *evaluated, double *values, struct error *err)
{
    int line = child->process.line, status;
    struct metric_answer answer = {0};
    enum child_told told;

    send_end(child, evaluated);
    told = child_receive(line, &answer, sizeof answer, child->seconds);
    if (told == CHILD_TOLD && !answer.status)
        told = child_receive(line, values, function->n_metrics * sizeof *values,
                             child->seconds);
    status = child_end(&child->process, told == CHILD_LATE, NULL);
    if (told == CHILD_LATE)
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%s' returned no value within %g s and was stopped",
                         function->name, child->seconds);
    if (told == CHILD_GONE)
        return explain_end(status, function->name, err);
    if (!answer.status)
        return ASSAY_OK;
    answer.error.text[sizeof answer.error.text - 1] = '\0';
    return error_set(err, answer.status, "'%s': %s", function->name,
                     answer.error.text[0] ? answer.error.text
                                          : assay_status_text(answer.status));
}

void metric_child_stop(struct metric_child *child)
{
    child_end(&child->process, true, NULL);
    *child = (struct metric_child){0};
}
