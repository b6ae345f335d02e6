/* ops/detection/balanced_sample.c - see balanced_sample.h. */
#include "ops/detection/balanced_sample.h"

enum assay_status sample_check_seed(const struct tensor *seed,
                                    struct error *err)
{
    char text[64];

    if (seed->dtype == DTYPE_I64 && tensor_elements(seed) == 1)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT, "the seed is %s of %s; expected int64 of 1",
        dtype_name(seed->dtype), shape_text(&seed->shape, text, sizeof text));
}

struct random sample_start(const struct tensor *seed, enum sample_stream stream,
                           int64_t image)
{
    struct random by_step = random_seed((uint64_t)tensor_i64(seed)[0]);
    uint64_t place = (uint64_t)stream << 32 | (uint64_t)image;

    return random_seed(random_u64(&by_step) ^ place);
}

/* Knuth's selection sampling (The Art of Computer Programming, 3.4.2): how many
 * are left, and how many of these are still to be taken. */
struct picker {
    uint64_t left, wanted;
};

static bool picker_pick(struct picker *picker, struct random *random)
{
    bool is_taken = random_below(random, picker->left) < picker->wanted;

    picker->left--;
    picker->wanted -= is_taken;
    return is_taken;
}

static uint64_t balanced_sample_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

size_t balanced_sample(const struct sample_rule *rule, struct random random,
                       const int64_t *labels, size_t n, int64_t *chosen)
{
    struct picker objects = {0}, background = {0};
    size_t n_chosen = 0;

    for (size_t i = 0; i < n; i++) {
        objects.left += labels[i] > 0;
        background.left += labels[i] == 0;
    }
    objects.wanted = balanced_sample_least(
        objects.left, (uint64_t)((double)rule->n * rule->share));
    background.wanted = balanced_sample_least(
        background.left, (uint64_t)rule->n - objects.wanted);
    for (size_t i = 0; i < n; i++) {
        struct picker *picker = labels[i] > 0 ? &objects : &background;

        if (labels[i] >= 0 && picker_pick(picker, &random))
            chosen[n_chosen++] = (int64_t)i;
    }
    return n_chosen;
}
