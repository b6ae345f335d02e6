/* predict/description.c - see description.h. */
#include "predict/description.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

#define FIELD(name)                                                            \
    {                                                                          \
#name, offsetof(struct image_counts, name)                             \
    }

const struct description_field description_fields[] = {
    FIELD(parameters),
    FIELD(norm_parameters),
    FIELD(parameter_tensors),
    FIELD(norm_elements),
    FIELD(n_norm),
    FIELD(relu_elements),
    FIELD(n_relu),
    FIELD(add_elements),
    FIELD(n_add),
    FIELD(concat_elements),
    FIELD(n_concat),
    FIELD(max_pool_inputs),
    FIELD(max_pool_outputs),
    FIELD(max_pool_taps),
    FIELD(n_max_pool),
    FIELD(avg_pool_inputs),
    FIELD(n_avg_pool),
    FIELD(saved_bytes),
    {NULL, 0},
};

#define WALKED(name, member, batch, i)                                         \
    {                                                                          \
        name "_" #batch "_mb", offsetof(struct image_counts, member[i])        \
    }
#define WALKED_ALL(name, member)                                               \
    WALKED(name, member, 1, 0), WALKED(name, member, 2, 1),                    \
        WALKED(name, member, 4, 2), WALKED(name, member, 8, 3),                \
        WALKED(name, member, 16, 4), WALKED(name, member, 32, 5),              \
        WALKED(name, member, 64, 6), WALKED(name, member, 128, 7)

const struct description_field description_walked_fields[] = {
    WALKED_ALL("torch_training", torch_training),
    WALKED_ALL("torch_inference", torch_inference),
    WALKED_ALL("assay_training", own_training),
    WALKED_ALL("assay_inference", own_inference),
    {NULL, 0},
};

double *description_count(struct image_counts *counts,
                          const struct description_field *field)
{
    return (double *)((char *)counts + field->offset);
}

void description_release(struct description *description)
{
    mem_free(description->network);
    mem_free(description->convs);
    mem_free(description->denses);
    mem_free(description->uncounted);
    *description = (struct description){0};
}

enum assay_status description_set_name(struct description *description,
                                       const char *network, int64_t level,
                                       struct error *err)
{
    char *copy = mem_strdup(network);

    if (!copy)
        return error_nomem(err, strlen(network), "the name of a network");
    mem_free(description->network);
    description->network = copy;
    description->level = level;
    return ASSAY_OK;
}

enum assay_status description_add_conv(struct description *description,
                                       const struct conv_row *conv,
                                       struct error *err)
{
    struct conv_row *moved =
        vec_reserve(description->convs, &description->convs_capacity,
                    description->n_convs + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a convolution");
    description->convs = moved;
    moved[description->n_convs++] = *conv;
    return ASSAY_OK;
}

enum assay_status description_add_dense(struct description *description,
                                        int64_t in, int64_t out,
                                        struct error *err)
{
    struct dense_row *moved =
        vec_reserve(description->denses, &description->denses_capacity,
                    description->n_denses + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a fully connected layer");
    description->denses = moved;
    moved[description->n_denses++] = (struct dense_row){in, out};
    return ASSAY_OK;
}

enum assay_status description_add_uncounted(struct description *description,
                                            const char *op, double macs,
                                            struct error *err)
{
    struct uncounted_row *moved;

    description->uncounted_macs += macs;
    for (size_t i = 0; i < description->n_uncounted; i++) {
        if (strcmp(description->uncounted[i].op, op) == 0) {
            description->uncounted[i].n++;
            return ASSAY_OK;
        }
    }
    moved =
        vec_reserve(description->uncounted, &description->uncounted_capacity,
                    description->n_uncounted + 1, sizeof *moved);
    if (!moved)
        return error_nomem(err, sizeof *moved, "an uncounted layer");
    description->uncounted = moved;
    moved[description->n_uncounted++] = (struct uncounted_row){op, 1};
    return ASSAY_OK;
}

enum assay_status description_copy(struct description *to,
                                   const struct description *from,
                                   struct error *err)
{
    enum assay_status st =
        description_set_name(to, from->network, from->level, err);

    to->counts = from->counts;
    for (size_t i = 0; !st && i < from->n_convs; i++)
        st = description_add_conv(to, &from->convs[i], err);
    for (size_t i = 0; !st && i < from->n_denses; i++)
        st = description_add_dense(to, from->denses[i].in, from->denses[i].out,
                                   err);
    for (size_t i = 0; !st && i < from->n_uncounted; i++) {
        st = description_add_uncounted(to, from->uncounted[i].op, 0, err);
        if (!st)
            to->uncounted[i].n = from->uncounted[i].n;
    }
    to->uncounted_macs = from->uncounted_macs;
    return st;
}

int64_t conv_out(const struct conv_row *conv, int side)
{
    int64_t room = conv->size[side] + 2 * conv->pad[side] - conv->kernel[side];

    return room < 0 ? 0 : room / conv->stride[side] + 1;
}

const int64_t conv_least[CONV_NUMBERS] = {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0};

void conv_to_numbers(const struct conv_row *conv, int64_t out[CONV_NUMBERS])
{
    const int64_t numbers[CONV_NUMBERS] = {
        conv->in,        conv->out,       conv->kernel[0], conv->kernel[1],
        conv->stride[0], conv->stride[1], conv->pad[0],    conv->pad[1],
        conv->groups,    conv->size[0],   conv->size[1],   conv->has_bias};

    memcpy(out, numbers, sizeof numbers);
}

bool conv_from_numbers(const int64_t v[CONV_NUMBERS], struct conv_row *out)
{
    *out = (struct conv_row){.in = v[0],
                             .out = v[1],
                             .kernel = {v[2], v[3]},
                             .stride = {v[4], v[5]},
                             .pad = {v[6], v[7]},
                             .groups = v[8],
                             .size = {v[9], v[10]},
                             .has_bias = v[11] != 0};
    return conv_out(out, 0) && conv_out(out, 1) && out->in % out->groups == 0 &&
           out->out % out->groups == 0;
}

bool conv_is_depthwise(const struct conv_row *conv)
{
    return conv->groups > 1 && conv->groups == conv->in;
}

double description_macs(const struct description *description)
{
    double macs = 0;

    for (size_t i = 0; i < description->n_convs; i++) {
        const struct conv_row *conv = &description->convs[i];
        int64_t depth = conv->in / conv->groups;

        macs += (double)(conv_out(conv, 0) * conv_out(conv, 1)) *
                (double)(conv->kernel[0] * conv->kernel[1]) * (double)depth *
                (double)conv->out;
    }
    for (size_t i = 0; i < description->n_denses; i++)
        macs += (double)description->denses[i].in *
                (double)description->denses[i].out;
    return macs;
}

static const struct {
    const char *canonical, *model;
} aliases[] = {{"mobilenetv2", "mobilenet_v2"},
               {"mnasnet", "mnasnet1_0"},
               {"squeezenet", "squeezenet1_0"}};

const char *network_canonical(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(name, aliases[i].model) == 0)
            return aliases[i].canonical;
    }
    return name;
}

const char *network_model(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(name, aliases[i].canonical) == 0)
            return aliases[i].model;
    }
    return name;
}
