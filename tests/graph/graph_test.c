/* What graph/graph.h promises. */
#include "base/mem.h"
#include "graph/graph.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "test.h"

static struct error err;

static struct graph *new_graph(void)
{
    struct graph *graph;

    err = (struct error){0};
    CHECK_INT(graph_new(&graph, &err), ASSAY_OK);
    return graph;
}

static uint32_t add_node(struct graph *graph, const struct op_class *op,
                         const uint32_t *inputs, size_t n_inputs)
{
    uint32_t output = GRAPH_NONE;
    struct node_description description = {.op = op,
                                           .scope = GRAPH_NONE,
                                           .inputs = inputs,
                                           .n_inputs = n_inputs,
                                           .n_outputs = 1};

    CHECK_INT(graph_node_add(graph, &description, &output, &err), ASSAY_OK);
    return output;
}

TEST(a_parameter_is_found_by_its_path)
{
    struct graph *graph = new_graph();
    struct shape shape = shape_of(1, (int64_t)64);
    uint32_t body, conv, weight;

    CHECK_INT(
        graph_scope_add(graph, GRAPH_NONE, "body", "Body", false, &body, &err),
        ASSAY_OK);
    CHECK_INT(
        graph_scope_add(graph, body, "conv1", "Conv2d", false, &conv, &err),
        ASSAY_OK);
    CHECK_STR(graph_scope(graph, conv)->path, "body.conv1");
    CHECK_INT(graph_parameter(graph, conv, "weight", VALUE_PARAMETER, DTYPE_F32,
                              &shape, &weight, &err),
              ASSAY_OK);
    CHECK_INT(graph_find_value(graph, "body.conv1.weight"), weight);
    CHECK_INT(graph_find_value(graph, "body.conv1.bias"), GRAPH_NONE);
    CHECK_INT(graph_parameter_elements(graph), 64);
    CHECK_INT(graph_parameter_bytes(graph), 256);
    graph_free(graph);
}

TEST(data_that_does_not_fit_its_parameter_is_refused_with_both_shapes)
{
    struct graph *graph = new_graph();
    struct shape shape = shape_of(1, (int64_t)64),
                 other = shape_of(1, (int64_t)3);
    struct tensor data;
    struct pool *pool;
    uint32_t weight;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_INT(graph_parameter(graph, GRAPH_NONE, "w", VALUE_PARAMETER,
                              DTYPE_F32, &shape, &weight, &err),
              ASSAY_OK);
    CHECK_INT(tensor_new(pool, DTYPE_F32, &other, &data, &err), ASSAY_OK);
    CHECK_INT(graph_set_data(graph, weight, data, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "w is float32 64, not float32 3");
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    graph_free(graph);
    pool_free(pool);
}

TEST(nodes_that_nothing_reads_are_removed)
{
    struct graph *graph = new_graph();
    uint32_t x, used, unused;

    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    unused = add_node(graph, &op_relu, &x, 1);
    unused = add_node(graph, &op_relu, &unused, 1);
    used = add_node(graph, &op_relu, &x, 1);
    CHECK_INT(graph_output(graph, "y", used, &err), ASSAY_OK);
    graph_sweep(graph);
    CHECK_INT(graph_node_count(graph), 1);
    CHECK_INT(graph_value(graph, used)->producer, 0);
    CHECK_INT(graph_check(graph, &err), ASSAY_OK);
    graph_free(graph);
}

/* Checks the number of readers of every value by counting. */
static void check_uses(const struct graph *graph)
{
    for (uint32_t value = 0; value < graph_value_count(graph); value++) {
        size_t uses = 0;

        for (size_t i = 0; i < graph_node_count(graph); i++) {
            for (size_t k = 0; k < graph_node(graph, i)->n_inputs; k++)
                uses += graph_node(graph, i)->inputs[k] == value;
        }
        for (size_t i = 0; i < graph_output_count(graph); i++)
            uses += graph_output_at(graph, i, NULL) == value;
        CHECK_INT(graph_use_count(graph, value), uses);
    }
}

TEST(counts_of_readers_stay_right_through_every_change)
{
    struct graph *graph = new_graph();
    uint32_t x, a, b, both[2], c;

    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    a = add_node(graph, &op_relu, &x, 1);
    both[0] = both[1] = a;
    b = add_node(graph, &op_add, both, 2);
    both[1] = b;
    c = add_node(graph, &op_add, both, 2);
    CHECK_INT(graph_output(graph, "y", b, &err), ASSAY_OK);
    CHECK_INT(graph_output(graph, "z", c, &err), ASSAY_OK);
    CHECK_INT(graph_use_count(graph, a), 3);
    check_uses(graph);
    graph_input_set(graph, 1, 0, x);
    check_uses(graph);
    CHECK_INT(graph_input_append(graph, 0, GRAPH_NONE, &err), ASSAY_OK);
    CHECK_INT(graph_input_append(graph, 2, x, &err), ASSAY_OK);
    check_uses(graph);
    graph_replace_uses(graph, b, a);
    CHECK_INT(graph_use_count(graph, b), 0);
    check_uses(graph);
    graph_inputs_drop(graph, 1);
    CHECK_INT(graph_node(graph, 1)->n_inputs, 0);
    check_uses(graph);
    graph_sweep(graph);
    CHECK_INT(graph_node_count(graph), 2);
    check_uses(graph);
    graph_clear_outputs(graph);
    check_uses(graph);
    graph_sweep(graph);
    CHECK_INT(graph_node_count(graph), 0);
    check_uses(graph);
    graph_free(graph);
}

TEST(readers_can_be_moved_to_another_value)
{
    struct graph *graph = new_graph();
    uint32_t x, a, b;

    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    a = add_node(graph, &op_relu, &x, 1);
    b = add_node(graph, &op_relu, &a, 1);
    CHECK_INT(graph_output(graph, "y", a, &err), ASSAY_OK);
    CHECK_INT(graph_use_count(graph, a), 2);
    graph_replace_uses(graph, a, x);
    CHECK_INT(graph_use_count(graph, a), 0);
    CHECK_INT(graph_node(graph, 1)->inputs[0], x);
    CHECK_INT(graph_output_at(graph, 0, NULL), x);
    CHECK_INT(graph_use_count(graph, b), 0);
    graph_free(graph);
}

TEST(a_node_that_reads_the_future_is_refused)
{
    struct graph *graph = new_graph();
    uint32_t x, y;

    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    y = add_node(graph, &op_relu, &x, 1);
    graph_node_edit(graph, 0)->inputs[0] = y;
    CHECK_INT(graph_check(graph, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "node 0 (ReLU) reads input 0 before it is made");
    graph_free(graph);
}

TEST(a_node_with_too_few_inputs_is_refused)
{
    struct graph *graph = new_graph();
    uint32_t x;

    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    add_node(graph, &op_add, &x, 1);
    CHECK_INT(graph_check(graph, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "node 0 (Add) has 1 inputs and 1 outputs");
    graph_free(graph);
}

TEST(a_fused_node_remembers_what_it_stands_for)
{
    struct graph *graph = new_graph();
    uint32_t x, bn, relu;

    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &x, &err), ASSAY_OK);
    add_node(graph, &op_relu, &x, 1);
    CHECK_INT(graph_scope_add(graph, GRAPH_NONE, "bn", "BN", false, &bn, &err),
              ASSAY_OK);
    CHECK_INT(
        graph_scope_add(graph, GRAPH_NONE, "relu", "ReLU", false, &relu, &err),
        ASSAY_OK);
    CHECK_INT(graph_stand_for(graph, 0, bn, &err), ASSAY_OK);
    CHECK_INT(graph_stand_for(graph, 0, relu, &err), ASSAY_OK);
    CHECK_INT(graph_node(graph, 0)->n_stands_for, 2);
    CHECK_INT(graph_node(graph, 0)->stands_for[1], relu);
    graph_free(graph);
}

TEST(building_a_graph_leaks_nothing_whichever_allocation_fails)
{
    long before = mem_live();
    enum assay_status st;
    long nth = 0;

    do {
        struct graph *graph = NULL;
        uint32_t value, scope = GRAPH_NONE;

        mem_fail_at(nth++);
        st = graph_new(&graph, NULL);
        if (!st)
            st = graph_input(graph, "x", DTYPE_F32, &value, NULL);
        for (int i = 0; !st && i < 20; i++) {
            struct node_description relu = {.op = &op_relu,
                                            .scope = scope,
                                            .inputs = &value,
                                            .n_inputs = 1,
                                            .n_outputs = 1};

            st = graph_scope_add(graph, scope, "s", "S", false, &scope, NULL);
            if (!st)
                st = graph_node_add(graph, &relu, &value, NULL);
        }
        if (!st)
            st = graph_output(graph, "y", value, NULL);
        mem_fail_at(-1);
        graph_free(graph);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
}

/* ---- copies --------------------------------------------------------------
 */

/* input, weight -> Conv2d in "conv" -> an op with a body -> y */
static struct graph *small_graph(struct pool *pool)
{
    struct graph *graph = new_graph(), *body = new_graph();
    struct shape shape =
        shape_of(4, (int64_t)2, (int64_t)3, (int64_t)1, (int64_t)1);
    struct conv2d_attrs attrs = {.stride = {1, 1}, .groups = 1};
    struct tensor data;
    uint32_t conv, inputs[4], inside, made;
    struct node_description nodes[] = {{.op = &op_conv2d,
                                        .attrs = &attrs,
                                        .name = "only",
                                        .inputs = inputs,
                                        .n_inputs = 4,
                                        .n_outputs = 1},
                                       {.op = &op_relu,
                                        .scope = GRAPH_NONE,
                                        .inputs = &made,
                                        .n_inputs = 1,
                                        .n_outputs = 1,
                                        .bodies = &body,
                                        .n_bodies = 1}};

    CHECK_INT(graph_set_name(graph, "small", "Small", &err), ASSAY_OK);
    CHECK_INT(graph_input(body, "inside", DTYPE_F32, &inside, &err), ASSAY_OK);
    CHECK_INT(graph_output(body, "inside", inside, &err), ASSAY_OK);
    CHECK_INT(graph_scope_add(graph, GRAPH_NONE, "conv", "Conv2d", false, &conv,
                              &err),
              ASSAY_OK);
    CHECK_INT(graph_input(graph, "x", DTYPE_F32, &inputs[0], &err), ASSAY_OK);
    CHECK_INT(graph_parameter(graph, conv, "weight", VALUE_PARAMETER, DTYPE_F32,
                              &shape, &inputs[1], &err),
              ASSAY_OK);
    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &data, &err), ASSAY_OK);
    CHECK_INT(graph_set_data(graph, inputs[1], data, &err), ASSAY_OK);
    inputs[2] = inputs[3] = GRAPH_NONE;
    nodes[0].scope = conv;
    CHECK_INT(graph_node_add(graph, &nodes[0], &made, &err), ASSAY_OK);
    CHECK_INT(graph_node_add(graph, &nodes[1], &made, &err), ASSAY_OK);
    CHECK_INT(graph_stand_for(graph, 0, conv, &err), ASSAY_OK);
    CHECK_INT(graph_output(graph, "y", made, &err), ASSAY_OK);
    return graph;
}

TEST(a_copy_is_the_same_graph_and_can_be_changed_by_itself)
{
    struct pool *pool;
    struct graph *graph, *copy;
    const struct node *node;
    const char *name;
    uint32_t weight;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    graph = small_graph(pool);
    CHECK_STATUS(graph_copy(graph, &copy, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(copy, &err), ASSAY_OK, &err);
    CHECK_STR(graph_name(copy), "small");
    CHECK_STR(graph_class(copy), "Small");
    CHECK_STR(graph_scope(copy, 0)->path, "conv");
    weight = graph_find_value(graph, "conv.weight");
    CHECK_INT(graph_find_value(copy, "conv.weight"), weight);
    CHECK(tensor_data(&graph_value(copy, weight)->data) ==
          tensor_data(&graph_value(graph, weight)->data));
    CHECK_INT(graph_node_count(copy), 2);
    node = graph_node(copy, 0);
    CHECK(node->op == &op_conv2d);
    CHECK_INT(((const struct conv2d_attrs *)node->attrs)->groups, 1);
    CHECK_STR(node->name, "only");
    CHECK_INT(node->inputs[1], weight);
    CHECK_INT(node->n_stands_for, 1);
    CHECK_INT(graph_node(copy, 1)->n_bodies, 1);
    CHECK(graph_node(copy, 1)->bodies[0] != graph_node(graph, 1)->bodies[0]);
    CHECK_INT(graph_output_at(copy, 0, &name), graph_output_at(graph, 0, NULL));
    CHECK_STR(name, "y");
    CHECK_INT(graph_use_count(copy, weight), 1);

    graph_release_data(copy, weight);
    graph_inputs_drop(copy, 0);
    CHECK_INT(graph_use_count(graph, weight), 1);
    graph_free(graph);
    CHECK_STR(graph_value(copy, weight)->name, "conv.weight");
    CHECK_INT(graph_input_count(graph_node(copy, 1)->bodies[0]), 1);
    graph_free(copy);
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    pool_free(pool);
}

TEST(copying_a_graph_leaks_nothing_whichever_allocation_fails)
{
    struct graph *graph, *copy;
    struct pool *pool;
    enum assay_status st;
    long nth = 0, before;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    graph = small_graph(pool);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = graph_copy(graph, &copy, NULL);
        mem_fail_at(-1);
        CHECK((st == ASSAY_OK) == (copy != NULL));
        graph_free(copy);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    graph_free(graph);
    pool_free(pool);
}
