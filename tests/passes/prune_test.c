/* What pruning removes, on networks small enough to work out by hand. */
#include "passes/prune.h"

#include "base/mem.h"
#include "formats/net/net.h"
#include "test.h"

#include <string.h>

static struct error err;
static struct pool *pool;

/* Two convolutions with 8 and 4 filters; the latter are the outputs. */
static const char two[] =
    "assay-net 1\n"
    "input x float32 1x3x4x4\n"
    "parameter a float32 8x3x1x1 zero\n"
    "parameter b float32 4x8x1x1 zero\n"
    "%0 = Conv2d(x, a, -, -) stride=1,1 dilation=1,1 groups=1\n"
    "%1 = ReLU(%0)\n"
    "%2 = Conv2d(%1, b, -, -) stride=1,1 dilation=1,1 groups=1\n"
    "output y %2\n";

static struct graph *make(const char *text)
{
    struct graph *graph;

    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(net_read(text, strlen(text), pool, &graph, &err), ASSAY_OK,
                 &err);
    return graph;
}

/* The first input has its declared shape. */
static enum assay_status prune(const struct graph *graph,
                               const struct prune_options *options,
                               struct graph **pruned)
{
    struct prune_report report = {0};
    enum assay_status st = graph_prune(graph, graph_input_shape(graph, 0),
                                       options, pool, pruned, &report, &err);

    prune_report_release(&report);
    return st;
}

static int64_t size_of(const struct graph *graph, const char *name, int axis)
{
    return graph_value(graph, graph_find_value(graph, name))->shape.dims[axis];
}

static void close_all(struct graph *graph, struct graph *pruned)
{
    graph_free(pruned);
    graph_free(graph);
    pool_free(pool);
}

/* Row i of a weight holds numbers[i]. */
static void set_rows(struct graph *graph, const char *name,
                     const float *numbers)
{
    uint32_t id = graph_find_value(graph, name);
    const struct value *value = graph_value(graph, id);
    struct tensor data;
    size_t row;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &value->shape, &data, &err),
              ASSAY_OK);
    row = tensor_elements(&data) / (size_t)value->shape.dims[0];
    for (size_t i = 0; i < tensor_elements(&data); i++)
        tensor_f32(&data)[i] = numbers[i / row];
    CHECK_INT(graph_set_data(graph, id, data, &err), ASSAY_OK);
}

TEST(filters_are_removed_with_the_columns_that_read_them)
{
    struct prune_options options = {.percent = 25};
    struct graph *graph = make(two), *pruned;

    CHECK_STATUS(prune(graph, &options, &pruned), ASSAY_OK, &err);
    CHECK_INT(size_of(pruned, "a", 0), 6);
    CHECK_INT(size_of(pruned, "a", 1), 3); /* the image's */
    CHECK_INT(size_of(pruned, "b", 1), 6);
    CHECK_INT(size_of(pruned, "b", 0), 4); /* the output's */
    close_all(graph, pruned);
}

TEST(l1_keeps_the_filters_with_the_largest_weights)
{
    static const float rows[] = {-8, 1, 7, -2, 3, 6, -5, 4};
    static const float left[] = {-8, 7, 6, -5};
    static const float others[4] = {1, 1, 1, 1};
    struct prune_options options = {.percent = 50, .mode = PRUNE_L1};
    struct graph *graph = make(two), *pruned;
    const struct value *a;

    set_rows(graph, "a", rows);
    set_rows(graph, "b", others);
    CHECK_STATUS(prune(graph, &options, &pruned), ASSAY_OK, &err);
    a = graph_value(pruned, graph_find_value(pruned, "a"));
    CHECK_INT(a->shape.dims[0], 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(tensor_f32(&a->data)[i * 3], left[i], 0);
    close_all(graph, pruned);
}

TEST(l1_needs_weights)
{
    struct prune_options options = {.percent = 50, .mode = PRUNE_L1};
    struct graph *graph = make(two), *pruned;

    CHECK_INT(prune(graph, &options, &pruned), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "a has no weights");
    close_all(graph, pruned);
}

/* Which rows remain, as bits. */
static unsigned rows_left(const struct graph *pruned)
{
    const struct value *a = graph_value(pruned, graph_find_value(pruned, "a"));
    unsigned bits = 0;

    for (int64_t i = 0; i < a->shape.dims[0]; i++)
        bits |= 1U << (unsigned)tensor_f32(&a->data)[i * 3];
    return bits;
}

TEST(random_choices_repeat_for_a_seed_and_differ_between_seeds)
{
    static const float rows[] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned first = 0, n_same = 0;

    for (uint64_t seed = 0; seed < 8; seed++) {
        struct prune_options options = {.percent = 50, .seed = seed};
        struct graph *graph = make(two), *pruned, *again;
        unsigned left;

        set_rows(graph, "a", rows);
        CHECK_STATUS(prune(graph, &options, &pruned), ASSAY_OK, &err);
        CHECK_STATUS(prune(graph, &options, &again), ASSAY_OK, &err);
        left = rows_left(pruned);
        CHECK_INT(rows_left(again), left);
        if (!seed)
            first = left;
        n_same += left == first;
        graph_free(again);
        close_all(graph, pruned);
    }
    CHECK(n_same < 4);
}

TEST(levels_go_from_0_to_95)
{
    struct prune_options options = {.percent = 95.5};
    struct graph *graph = make(two), *pruned;

    CHECK_INT(prune(graph, &options, &pruned), ASSAY_BAD_USAGE);
    CHECK(pruned == NULL);
    CHECK_HAS(err.text, "levels go from 0 to 95");
    err = (struct error){0};
    options.percent = -1;
    CHECK_INT(prune(graph, &options, &pruned), ASSAY_BAD_USAGE);
    options.percent = 0;
    CHECK_STATUS(prune(graph, &options, &pruned), ASSAY_OK, &err);
    CHECK_INT(size_of(pruned, "a", 0), 8);
    close_all(graph, pruned);
}

TEST(a_level_that_would_remove_a_layer_entirely_is_refused)
{
    struct prune_options options = {.percent = 94};
    struct graph *graph = make(two), *pruned;

    CHECK_INT(prune(graph, &options, &pruned), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "94 % would remove all 8 filters of a");
    close_all(graph, pruned);
}

TEST(outputs_are_never_cut_so_nothing_may_be_left_to_remove)
{
    static const char text[] =
        "assay-net 1\ninput x float32 1x3x4x4\n"
        "parameter a float32 8x3x1x1 zero\n"
        "%0 = Conv2d(x, a, -, -) stride=1,1 dilation=1,1 groups=1\n"
        "output y %0\n";
    struct prune_options options = {.percent = 50};
    struct graph *graph = make(text), *pruned;

    CHECK_INT(prune(graph, &options, &pruned), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "no filters that can be removed");
    close_all(graph, pruned);
}

/* A squeeze-excite block between two convolutions, a shuffle of two groups, a
 * split, then a flatten. */
static const char rich[] =
    "assay-net 1\n"
    "input x float32 2x3x4x4\n"
    "parameter a float32 16x3x1x1 zero\n"
    "parameter down float32 8x16x1x1 zero\n"
    "parameter up float32 16x8x1x1 zero\n"
    "parameter depth float32 16x1x3x3 zero\n"
    "parameter grouped float32 16x4x1x1 zero\n"
    "parameter half float32 8x8x1x1 zero\n"
    "parameter fc float32 5x256 zero\n"
    "constant $0 int64 5 = 2 4 4 4 4\n"
    "constant $1 int64 4 = 2 16 4 4\n"
    "constant $2 int64 2 = 8 8\n"
    "%0 = Conv2d(x, a, -, -) stride=1,1 dilation=1,1 groups=1\n"
    "%1 = AdaptiveAvgPool2d(%0) size=1,1\n"
    "%2 = Conv2d(%1, down, -, -) stride=1,1 dilation=1,1 groups=1\n"
    "%3 = Conv2d(%2, up, -, -) stride=1,1 dilation=1,1 groups=1\n"
    "%4 = Sigmoid(%3)\n"
    "%5 = Mul(%0, %4)\n"
    "%6 = Conv2d(%5, depth, -, -) stride=1,1 dilation=1,1 before=1,1 after=1,1 "
    "groups=16\n"
    "%7 = Conv2d(%6, grouped, -, -) stride=1,1 dilation=1,1 groups=4\n"
    "%8 = Reshape(%7, $0)\n"
    "%9 = Transpose(%8) rank=5 order=0,2,1,3,4,0,0,0\n"
    "%10 = Reshape(%9, $1)\n"
    "%11 %12 = Split(%10, $2) axis=1\n"
    "%13 = Conv2d(%12, half, -, -) stride=1,1 dilation=1,1 groups=1\n"
    "%14 = Concat(%11, %13) axis=1\n"
    "%15 = Flatten(%14)\n"
    "%16 = Linear(%15, fc, -)\n"
    "output y %16\n";

TEST(all_kinds_of_dependent_layers_are_pruned_together)
{
    struct prune_options options = {.percent = 50};
    struct graph *graph = make(rich), *pruned;

    CHECK_STATUS(prune(graph, &options, &pruned), ASSAY_OK, &err);
    CHECK_INT(size_of(pruned, "a", 0), 8);
    CHECK_INT(size_of(pruned, "up", 0), 8);
    CHECK_INT(size_of(pruned, "down", 0), 4);
    CHECK_INT(size_of(pruned, "depth", 0), 8);
    CHECK_INT(size_of(pruned, "half", 0), 4);
    /* 4x4 pixels per channel, of the two halves. */
    CHECK_INT(size_of(pruned, "fc", 1),
              16 * (size_of(pruned, "half", 0) + size_of(pruned, "grouped", 0) -
                    size_of(pruned, "half", 1)));
    close_all(graph, pruned);
}

TEST(pruning_leaks_nothing_whichever_allocation_fails)
{
    struct prune_options options = {.percent = 50};
    struct graph *graph = make(rich), *pruned = NULL;
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        err = (struct error){0};
        mem_fail_at(nth++);
        st = prune(graph, &options, &pruned);
        mem_fail_at(-1);
        graph_free(pruned);
        pool_trim(pool);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_STATUS(st, ASSAY_OK, &err);
    close_all(graph, NULL);
}
