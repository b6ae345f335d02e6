/* train/step_inputs.c - see trainer_internal.h. */
#include "train/trainer_internal.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/scanner.h"

#include <stdio.h>
#include <string.h>

static struct step_input step_input_role(const char *name, size_t *n_images)
{
    static const struct {
        const char *name;
        enum input_role role;
    } roles[] = {
        {"boxes", INPUT_BOXES},
        {"labels", INPUT_LABELS},
        {"counts", INPUT_COUNTS},
        {"seed", INPUT_SEED},
    };
    const char *at = name;
    uint64_t number;

    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(name, roles[i].name) == 0)
            return (struct step_input){roles[i].role, 0};
    }
    if (scan_word(&at, "masks_") && scan_number(&at, SIZE_MAX, &number) && !*at)
        return (struct step_input){INPUT_MASKS, number};
    return (struct step_input){INPUT_IMAGE, (*n_images)++};
}

enum assay_status step_inputs_plan(struct trainer *trainer, struct error *err)
{
    const struct graph *graph = trainer->options.graph;
    size_t n = graph_input_count(graph);

    trainer->n_inputs = n;
    trainer->inputs = mem_array(n, sizeof *trainer->inputs);
    trainer->given = mem_array(n, sizeof *trainer->given);
    trainer->sent = mem_array(n, sizeof *trainer->sent);
    if (!trainer->inputs || !trainer->given || !trainer->sent)
        return error_nomem(err, n * sizeof *trainer->given,
                           "the inputs of a model");
    for (size_t i = 0; i < n; i++)
        trainer->inputs[i] =
            step_input_role(graph_value(graph, graph_input_at(graph, i))->name,
                            &trainer->n_images);
    if (!trainer->n_images)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s has no input for images; it cannot be trained",
                         graph_name(graph));
    return ASSAY_OK;
}

bool step_inputs_fit(const struct trainer *trainer, const struct batch *batch)
{
    return batch->n_tensors == trainer->n_images;
}

/* Everything random in a step follows from this. */
static enum assay_status make_seed(const struct trainer *trainer,
                                   struct tensor *out, struct error *err)
{
    struct random random =
        random_seed(trainer->position.seed + trainer->position.step);
    struct shape shape = shape_of(1, (int64_t)1);
    enum assay_status st =
        tensor_new(trainer->options.pool, DTYPE_I64, &shape, out, err);

    if (!st)
        tensor_i64(out)[0] = (int64_t)(random_u64(&random) >> 1);
    return st;
}

static const struct tensor *step_input_of(const struct step_input *input,
                                          const struct batch *batch)
{
    switch (input->role) {
    case INPUT_IMAGE:
        return &batch->images[input->i];
    case INPUT_BOXES:
        return &batch->boxes;
    case INPUT_LABELS:
        return &batch->labels;
    case INPUT_COUNTS:
        return &batch->counts;
    case INPUT_MASKS:
        return input->i < batch->n_masks ? &batch->masks[input->i] : NULL;
    case INPUT_SEED:
        break;
    }
    return NULL;
}

static enum assay_status step_input_give(struct trainer *trainer, size_t i,
                                         const struct batch *batch,
                                         struct error *err)
{
    const struct graph *graph = trainer->options.graph;
    const struct tensor *tensor = step_input_of(&trainer->inputs[i], batch);

    if (trainer->inputs[i].role == INPUT_SEED)
        return make_seed(trainer, &trainer->given[i], err);
    if (!tensor || !tensor->buffer)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the data has no '%s', which %s learns from; use "
                         "another dataset or model",
                         graph_value(graph, graph_input_at(graph, i))->name,
                         graph_name(graph));
    trainer->given[i] = tensor_share(tensor);
    return ASSAY_OK;
}

enum assay_status step_inputs_give(struct trainer *trainer,
                                   const struct batch *batch, struct error *err)
{
    uint32_t owner = pool_set_owner(trainer->options.pool, OWNER_IMAGES);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < trainer->n_inputs; i++)
        st = step_input_give(trainer, i, batch, err);
    pool_set_owner(trainer->options.pool, owner);
    return st;
}

void step_inputs_look(struct trainer *trainer, const struct batch *batch)
{
    for (size_t i = 0; i < trainer->n_inputs; i++) {
        const struct tensor *tensor = step_input_of(&trainer->inputs[i], batch);

        trainer->sent[i] = tensor ? *tensor : (struct tensor){0};
    }
}

void step_inputs_release(struct trainer *trainer)
{
    for (size_t i = 0; trainer->given && i < trainer->n_inputs; i++)
        tensor_release(&trainer->given[i]);
}
