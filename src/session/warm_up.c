/* session/warm_up.c - see warm_up_internal.h. */
#include "session/warm_up_internal.h"

#include "base/mem.h"

static int64_t round_up(int64_t side)
{
    return (side + MODEL_SIZE_MULTIPLE - 1) / MODEL_SIZE_MULTIPLE *
           MODEL_SIZE_MULTIPLE;
}

/* The size that the model makes of the batch starting with a photograph. */
static struct intake_size batch_size(const struct intake *intake, size_t first,
                                     size_t batch)
{
    struct intake_size size = {0};

    for (size_t i = 0; i < batch; i++) {
        const struct intake_size *one = &intake->sizes[(first + i) % intake->n];

        if (one->width > size.width)
            size.width = one->width;
        if (one->height > size.height)
            size.height = one->height;
    }
    return (struct intake_size){round_up(size.width), round_up(size.height)};
}

static bool has_size(const struct warm_up *plan, const struct intake *intake,
                     size_t first)
{
    struct intake_size size = batch_size(intake, first, plan->batch);

    for (size_t i = 0; i < plan->n_sizes; i++) {
        struct intake_size known =
            batch_size(intake, plan->firsts[i], plan->batch);

        if (known.width == size.width && known.height == size.height)
            return true;
    }
    return false;
}

enum assay_status warm_up_plan(struct warm_up *plan,
                               const struct intake *intake, size_t batch,
                               uint64_t n_frames, uint64_t at_least,
                               struct error *err)
{
    /* After as many frames as there are photographs, they repeat. */
    size_t n = n_frames < intake->n ? (size_t)n_frames : intake->n;

    *plan = (struct warm_up){.n_photos = intake->n, .batch = batch};
    if (at_least == 0)
        return ASSAY_OK;
    plan->firsts = mem_array(n, sizeof *plan->firsts);
    if (!plan->firsts)
        return error_nomem(err, n * sizeof *plan->firsts,
                           "the photographs of the warm-up");
    for (size_t i = 0; i < n; i++) {
        size_t first = i * batch % intake->n;

        if (!has_size(plan, intake, first))
            plan->firsts[plan->n_sizes++] = first;
    }
    plan->n = at_least > plan->n_sizes ? at_least : plan->n_sizes;
    return ASSAY_OK;
}

void warm_up_release(struct warm_up *plan)
{
    mem_free(plan->firsts);
    *plan = (struct warm_up){0};
}

size_t warm_up_photo(const struct warm_up *plan, uint64_t i)
{
    if (i < plan->n_sizes)
        return plan->firsts[i];
    return (size_t)((i - plan->n_sizes) * plan->batch % plan->n_photos);
}
