/* bench/node_bench.c - what the engine adds to a node.
 *
 * node_bench [ROUNDS]: a chain of small nodes runs so many times (200) through
 * the engine, recorded down to its ops, and as often its kernels are called by
 * hand: the backend's, with memory from the same pool. The order changes from
 * round to round; the medians of both count. */
#include "bench.h"

#include "backend/device.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "ops/ops.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>

enum { n_nodes = 200, n_numbers = 16, most_rounds = 4000, warm_up = 20 };

struct chain {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct tensor x;
};

static enum assay_status make_chain(struct chain *chain, struct error *err)
{
    struct shape shape = shape_of(2, (int64_t)1, (int64_t)n_numbers);
    struct engine_options options = {.device = device_cpu(),
                                     .detail = ENGINE_OPS};
    enum assay_status st = pool_new(&chain->pool, err);
    uint32_t value;
    char name[32];

    options.backend_options.n_threads = 1;
    if (!st)
        st = graph_new(&chain->graph, err);
    if (!st)
        st = tensor_new(chain->pool, DTYPE_F32, &shape, &chain->x, err);
    if (!st)
        st = graph_input(chain->graph, "x", DTYPE_F32, &value, err);
    for (int i = 0; !st && i < n_numbers; i++)
        tensor_f32(&chain->x)[i] = (float)i;
    for (int i = 0; !st && i < n_nodes; i++) {
        uint32_t inputs[] = {value, value};
        struct node_description node = {.op = i % 2 ? &op_relu : &op_add,
                                        .scope = GRAPH_NONE,
                                        .name = name,
                                        .inputs = inputs,
                                        .n_inputs = i % 2 ? 1 : 2,
                                        .n_outputs = 1};

        snprintf(name, sizeof name, "node%d", i);
        st = graph_node_add(chain->graph, &node, &value, err);
    }
    if (!st)
        st = graph_output(chain->graph, "y", value, err);
    return st ? st
              : engine_new(chain->graph, chain->pool, &options, &chain->engine,
                           err);
}

static void free_chain(struct chain *chain)
{
    engine_free(chain->engine);
    tensor_release(&chain->x);
    graph_free(chain->graph);
    pool_free(chain->pool);
}

static enum assay_status by_engine(struct chain *chain, struct error *err)
{
    struct tensor y;
    enum assay_status st;

    assay_iteration_begin();
    st = engine_run(chain->engine, &chain->x, &y, err);
    if (!st)
        tensor_release(&y);
    assay_iteration_end();
    return st;
}

/* As little as can be between two kernels. */
static enum assay_status by_hand(struct chain *chain, struct error *err)
{
    struct backend *backend = engine_backend(chain->engine);
    struct op_context context = {.pool = chain->pool, .n_threads = 1};
    struct tensor last = tensor_share(&chain->x), y;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n_nodes; i++) {
        const struct node *node = graph_node(chain->graph, i);
        const struct tensor *inputs[] = {&last, &last};

        y = (struct tensor){.dtype = DTYPE_F32, .shape = last.shape};
        st = backend->class->forward(backend, &context, node, i, inputs, &y,
                                     err);
        tensor_release(&last);
        last = y;
    }
    tensor_release(&last);
    return st;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The medians of both ways, in us per node. */
static enum assay_status measure(struct chain *chain, int rounds,
                                 double medians[2], struct error *err)
{
    static double times[2][most_rounds];
    enum assay_status st = ASSAY_OK;

    for (int i = -warm_up; !st && i < rounds; i++) {
        for (int k = 0; !st && k < 2; k++) {
            int way = (k + i + warm_up) % 2;
            int64_t since = clock_monotonic_ns();

            st = way ? by_hand(chain, err) : by_engine(chain, err);
            if (i >= 0)
                times[way][i] =
                    (double)(clock_monotonic_ns() - since) / 1e3 / n_nodes;
        }
    }
    for (int way = 0; way < 2; way++) {
        qsort(times[way], (size_t)rounds, sizeof *times[way], compare_numbers);
        medians[way] = times[way][rounds / 2];
    }
    return st;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
    struct chain chain = {0};
    struct error err = {0};
    double us[2] = {0};
    struct recorded recorded = {0};
    enum assay_status st = record_start_in_memory(NULL, &err);

    rounds = rounds < 1 ? 1 : rounds > most_rounds ? most_rounds : rounds;
    if (!st)
        st = make_chain(&chain, &err);
    if (!st)
        st = measure(&chain, rounds, us, &err);
    record_stop_run(&recorded, st ? NULL : &err);
    recorded_release(&recorded);
    free_chain(&chain);
    if (st) {
        fprintf(stderr, "node_bench: %s\n", err.text);
        return 1;
    }
    bench_note("a small node, by the engine", us[0], "us");
    bench_note("its kernel, called by hand", us[1], "us");
    bench_at_most("what the engine adds to a node", us[0] - us[1], 1.5, "us");
    return bench_end();
}
