/* metrics/evaluation.c - runs the samples of a dataset through the model. */
#include "metrics/profiler_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

/* Holds a batch. Start from {0}. */
struct sample_batch {
    struct assay_tensor *inputs; /* as the model takes them */
    void **memory;               /* ours; a dataset may replace it with its
                                    own */
    size_t n_inputs;
    struct assay_target *targets;
    size_t n_images;
};

static void batch_release(struct sample_batch *batch)
{
    for (size_t i = 0; batch->memory && i < batch->n_inputs; i++)
        mem_free(batch->memory[i]);
    mem_free(batch->memory);
    mem_free(batch->inputs);
    mem_free(batch->targets);
}

static enum assay_status batch_make(struct sample_batch *batch,
                                    const struct assay_model *model,
                                    struct error *err)
{
    batch->n_inputs = assay_model_input_count(model);
    batch->n_images = (size_t)model->totals.images;
    batch->inputs = mem_array(batch->n_inputs, sizeof *batch->inputs);
    batch->memory = mem_array(batch->n_inputs, sizeof *batch->memory);
    batch->targets = mem_array(batch->n_images, sizeof *batch->targets);
    if (!batch->inputs || !batch->memory || !batch->targets)
        return error_nomem(err, batch->n_images * sizeof *batch->targets,
                           "a batch");
    for (size_t i = 0; i < batch->n_inputs; i++) {
        size_t bytes = assay_model_input(model, i, NULL)->n_bytes;

        batch->memory[i] = mem_zalloc(bytes);
        if (!batch->memory[i])
            return error_nomem(err, bytes, "a batch");
    }
    return ASSAY_OK;
}

/* Reads n samples; the rest of a batch that is not full keeps its old
 * content. */
static enum assay_status batch_read(struct sample_batch *batch,
                                    const struct assay_model *model,
                                    const struct assay_dataset *dataset,
                                    size_t first, size_t n, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < batch->n_inputs; i++) {
        batch->inputs[i] = *assay_model_input(model, i, NULL);
        batch->inputs[i].data = batch->memory[i];
    }
    for (size_t i = 0; !st && i < n; i++) {
        struct assay_error error = {0};

        batch->targets[i] =
            (struct assay_target){.image = (int64_t)(first + i), .label = -1};
        st = dataset->read(dataset->context, first + i, batch->inputs, i,
                           &batch->targets[i], &error);
        error.text[sizeof error.text - 1] = '\0';
        if (st)
            error_set(err, st, "sample %zu of %s: %s", first + i, dataset->name,
                      error.text[0] ? error.text : assay_status_text(st));
    }
    return st;
}

/* The part of an output that belongs to one image of a batch. */
static struct assay_tensor part_of(const struct assay_tensor *output, size_t at,
                                   size_t n_images)
{
    struct assay_tensor part = *output;

    if (n_images == 1 || part.rank == 0 || part.dims[0] != (int64_t)n_images)
        return part;
    part.dims[0] = 1;
    part.n_elements /= n_images;
    part.n_bytes /= n_images;
    part.data = (char *)output->data + at * part.n_bytes;
    return part;
}

static enum assay_status hand_out(struct metric_job *jobs, size_t n_jobs,
                                  const struct sample_batch *batch, size_t n,
                                  const struct assay_tensor *outputs,
                                  size_t n_outputs, struct error *err)
{
    struct assay_tensor *parts = mem_array(n_outputs, sizeof *parts);

    if (!parts)
        return error_nomem(err, n_outputs * sizeof *parts, "a sample");
    for (size_t i = 0; i < n; i++) {
        struct assay_sample sample = {.outputs = parts,
                                      .n_outputs = n_outputs,
                                      .target = batch->targets[i]};

        for (size_t k = 0; k < n_outputs; k++)
            parts[k] = part_of(&outputs[k], i, batch->n_images);
        for (size_t k = 0; k < n_jobs; k++) {
            if (jobs[k].input.evaluated)
                metric_job_sample(&jobs[k], &sample);
        }
    }
    mem_free(parts);
    return ASSAY_OK;
}

static enum assay_status run_batch(struct assay_profiler *profiler,
                                   struct metric_job *jobs, size_t n_jobs,
                                   struct sample_batch *batch, size_t first,
                                   struct assay_evaluated *evaluated,
                                   struct error *err)
{
    const struct assay_dataset *dataset = profiler->dataset;
    size_t n = dataset->n - first < batch->n_images ? dataset->n - first
                                                    : batch->n_images;
    const struct assay_tensor *outputs;
    struct assay_error error = {0};
    size_t n_outputs;
    int64_t began_ns, ran_ns;
    enum assay_status st;

    began_ns = clock_monotonic_ns();
    st = batch_read(batch, profiler->model, dataset, first, n, err);
    if (st)
        return st;
    ran_ns = clock_monotonic_ns();
    st = assay_model_run(profiler->model, batch->inputs, &outputs, &n_outputs,
                         &error);
    if (st)
        return error_set(err, st, "%s", error.text);
    evaluated->forward_ns += (double)(clock_monotonic_ns() - ran_ns);
    st = hand_out(jobs, n_jobs, batch, n, outputs, n_outputs, err);
    evaluated->total_ns += (double)(clock_monotonic_ns() - began_ns);
    evaluated->n += n;
    return st;
}

enum assay_status evaluation_run(struct assay_profiler *profiler,
                                 struct metric_job *jobs, size_t n,
                                 struct assay_evaluated *evaluated,
                                 struct error *err)
{
    const struct assay_model *model = profiler->model;
    struct sample_batch batch = {0};
    enum assay_status st;

    if (profiler->dataset->n == 0)
        return error_set(err, ASSAY_BAD_INPUT, "%s has no samples",
                         profiler->dataset->name);
    if (model->options.vision.decode == DECODE_DETECTOR &&
        model->totals.images > 1)
        return error_set(
            err, ASSAY_BAD_USAGE,
            "a detector is evaluated one image at a time; leave out --batch");
    st = batch_make(&batch, model, err);
    for (size_t i = 0; !st && i < profiler->dataset->n; i += batch.n_images) {
        if (profiler->options.stop && *profiler->options.stop)
            st = error_set(err, ASSAY_CHECK_FAILED,
                           "stopped after %zu of %zu samples", i,
                           profiler->dataset->n);
        else
            st = run_batch(profiler, jobs, n, &batch, i, evaluated, err);
    }
    batch_release(&batch);
    return st;
}
