/* What engine/engine.h promises of passes in flight, on a device that writes
 * inputs as early as it can and runs kernels as late as it can. */
#include "backend/far.h"
#include "base/mem.h"
#include "picky_op.h"
#include "small_graph.h"

#include <math.h>
#include <string.h>

static struct error err;

enum { n_columns = 3 };

struct sky {
    struct far_device *far;
    struct small small;
    struct engine *engine;
    uint32_t middle; /* a value that is kept */
};

/* Two outputs, tanh(x) and x, of which refused ops are the host's. */
static struct sky sky_new(const char *refused, size_t most)
{
    struct sky sky = {.far = far_device_new(refused), .small = small_new()};
    struct engine_options options = {.device = far_device(sky.far),
                                     .may_replay = true};
    uint32_t x = small_input(&sky.small);

    err = (struct error){0};
    sky.middle = small_op(&sky.small, &picky_op, GRAPH_NONE, "picky", x);
    small_output(&sky.small, small_op(&sky.small, &op_tanh, GRAPH_NONE, "tanh",
                                      sky.middle));
    small_output(&sky.small, small_op(&sky.small, &op_relu, GRAPH_NONE, "relu",
                                      sky.middle));
    CHECK_STATUS(engine_new(sky.small.graph, sky.small.pool, &options,
                            &sky.engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_keep(sky.engine, sky.middle, &err), ASSAY_OK, &err);
    engine_allow_in_flight(sky.engine, most);
    return sky;
}

static void sky_free(struct sky *sky)
{
    engine_free(sky->engine);
    small_free(&sky->small);
    far_device_free(sky->far);
}

/* Rows of columns that hold `number`. The input is overwritten as soon as it
 * was submitted. */
static enum assay_status submit(struct sky *sky, int64_t rows, float number)
{
    struct tensor x =
        small_ones(&sky->small, shape_of(2, rows, (int64_t)n_columns));
    enum assay_status st;

    for (size_t i = 0; i < tensor_elements(&x); i++)
        tensor_f32(&x)[i] = number;
    err = (struct error){0};
    st = engine_submit(sky->engine, &x, &err);
    for (size_t i = 0; i < tensor_elements(&x); i++)
        tensor_f32(&x)[i] = -100;
    tensor_release(&x);
    return st;
}

/* The results of the pass over that input; whether it flew. */
static bool check_collected(struct sky *sky, int64_t rows, float number)
{
    struct engine_pass pass;
    struct tensor y[2];

    CHECK_STATUS(engine_collect(sky->engine, y, &pass, &err), ASSAY_OK, &err);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(y[i].shape.dims[0], rows);
        CHECK(tensor_is_on_host(&y[i]));
    }
    for (size_t i = 0; i < tensor_elements(&y[0]); i++) {
        CHECK_NEAR(tensor_f32(&y[0])[i], tanh((double)number), 1e-6);
        CHECK_NEAR(tensor_f32(&y[1])[i], (double)number, 0);
    }
    CHECK_NEAR(*tensor_f32(engine_kept(sky->engine, sky->middle)),
               (double)number, 0);
    CHECK_INT(pass.is_flown, engine_was_replayed(sky->engine));
    CHECK(pass.end_ns >= pass.begin_ns);
    CHECK_INT(pass.begin_ns > 0, pass.is_flown);
    tensor_release(&y[0]);
    tensor_release(&y[1]);
    return pass.is_flown;
}

/* n passes, `most` of them in flight; how many flew. Rows of pass i from a
 * row of sizes. */
static size_t stream(struct sky *sky, size_t n, size_t most,
                     const int64_t *rows, size_t n_rows)
{
    size_t n_flown = 0;

    for (size_t i = 0; i < n + most; i++) {
        if (i >= most && i - most < n)
            n_flown += check_collected(sky, rows[(i - most) % n_rows],
                                       (float)(i - most + 10));
        if (i < n)
            CHECK_STATUS(submit(sky, rows[i % n_rows], (float)(i + 10)),
                         ASSAY_OK, &err);
    }
    CHECK_INT(engine_in_flight(sky->engine), 0);
    return n_flown;
}

TEST(results_come_in_order_however_many_passes_are_in_flight)
{
    static const int64_t rows = 5;

    for (size_t most = 1; most <= ENGINE_MOST_IN_FLIGHT; most += 5) {
        struct sky sky = sky_new(NULL, most);

        /* all but the first, which has to be seen once */
        CHECK_INT(stream(&sky, 40, most, &rows, 1), 39);
        CHECK_INT(stream(&sky, 3, most, &rows, 1), 3);
        sky_free(&sky);
    }
}

TEST(passes_of_several_sizes_are_in_flight_together)
{
    static const int64_t rows[] = {5, 2, 70000, 2, 1};
    struct sky sky = sky_new(NULL, 3);

    CHECK_INT(stream(&sky, 30, 3, rows, 5), 26); /* four sizes were new */
    sky_free(&sky);
}

TEST(more_sizes_than_are_remembered_give_the_same_results)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    struct sky sky = sky_new(NULL, 2);

    stream(&sky, 60, 2, rows, 10);
    sky_free(&sky);
}

TEST(passes_that_cannot_be_one_launch_are_collected_too)
{
    static const int64_t rows = 4;
    struct sky sky = sky_new("Tanh", 3);

    CHECK_INT(stream(&sky, 12, 3, &rows, 1), 0);
    sky_free(&sky);
}

TEST(a_pass_may_run_by_itself_while_others_are_in_flight)
{
    static const int64_t rows = 4;
    struct sky sky = sky_new(NULL, 2);
    struct tensor x, y[2];

    stream(&sky, 4, 2, &rows, 1);
    submit(&sky, 4, 1);
    submit(&sky, 4, 2);
    x = small_ones(&sky.small, shape_of(2, rows, (int64_t)n_columns));
    CHECK_STATUS(engine_run(sky.engine, &x, y, &err), ASSAY_OK, &err);
    CHECK_NEAR(*tensor_f32(&y[1]), 1, 0);
    CHECK(check_collected(&sky, 4, 1));
    CHECK(check_collected(&sky, 4, 2));
    tensor_release(&x);
    tensor_release(&y[0]);
    tensor_release(&y[1]);
    sky_free(&sky);
}

TEST(a_failure_is_that_of_its_own_pass)
{
    static const int64_t rows = 4;
    struct sky sky = sky_new(NULL, 3);
    struct tensor y[2];

    stream(&sky, 6, 3, &rows, 1);
    CHECK_STATUS(submit(&sky, 4, 1), ASSAY_OK, &err);
    CHECK_STATUS(submit(&sky, 4, 9), ASSAY_OK, &err);
    CHECK_STATUS(submit(&sky, 4, 3), ASSAY_OK, &err);
    check_collected(&sky, 4, 1);
    CHECK_INT(engine_collect(sky.engine, y, NULL, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "nine cannot be");
    CHECK(!y[0].buffer && !y[1].buffer);
    check_collected(&sky, 4, 3);
    CHECK_INT(stream(&sky, 6, 3, &rows, 1), 6);
    sky_free(&sky);
}

TEST(a_pass_too_many_is_refused_and_the_others_are_not_touched)
{
    struct sky sky = sky_new(NULL, 2);
    struct tensor y[2];

    CHECK_INT(engine_collect(sky.engine, y, NULL, &err), ASSAY_BAD_USAGE);
    CHECK_STATUS(submit(&sky, 4, 1), ASSAY_OK, &err);
    CHECK_STATUS(submit(&sky, 4, 2), ASSAY_OK, &err);
    CHECK_INT(submit(&sky, 4, 3), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "2 passes are in flight");
    check_collected(&sky, 4, 1);
    check_collected(&sky, 4, 2);
    sky_free(&sky);
}

TEST(an_engine_ends_with_passes_in_flight)
{
    static const int64_t rows = 4;
    struct sky sky = sky_new(NULL, 3);

    stream(&sky, 6, 3, &rows, 1);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(submit(&sky, 4, 9), ASSAY_OK, &err);
    sky_free(&sky);
}

TEST(the_host_runs_a_pass_when_it_is_submitted)
{
    struct sky sky = sky_new(NULL, 2);

    engine_free(sky.engine);
    sky.engine = small_engine(&sky.small, NULL, ENGINE_MODULES);
    engine_allow_in_flight(sky.engine, 2);
    CHECK_STATUS(engine_keep(sky.engine, sky.middle, &err), ASSAY_OK, &err);
    CHECK_STATUS(submit(&sky, 4, 1), ASSAY_OK, &err);
    CHECK_STATUS(submit(&sky, 2, 2), ASSAY_OK, &err);
    CHECK(!check_collected(&sky, 4, 1));
    CHECK(!check_collected(&sky, 2, 2));
    sky_free(&sky);
}

TEST(pixels_become_what_the_host_would_make_of_them)
{
    struct shape read = shape_of(3, (int64_t)3, (int64_t)2, (int64_t)3);
    struct shape shape = shape_of(3, (int64_t)2, (int64_t)3, (int64_t)3);
    struct sky sky = sky_new(NULL, 2);
    struct tensor x, y[2];

    CHECK(engine_takes_pictures(sky.engine));
    CHECK_STATUS(tensor_new(sky.small.pool, DTYPE_U8, &shape, &x, &err),
                 ASSAY_OK, &err);
    for (int run = 0; run < 8; run++) {
        uint8_t *pixels = tensor_data(&x);

        for (int i = 0; i < 18; i++)
            pixels[i] = (uint8_t)(37 * run + 14 * i);
        if (run % 2) {
            CHECK_STATUS(engine_run(sky.engine, &x, y, &err), ASSAY_OK, &err);
        } else {
            CHECK_STATUS(engine_submit(sky.engine, &x, &err), ASSAY_OK, &err);
            CHECK_STATUS(engine_collect(sky.engine, y, NULL, &err), ASSAY_OK,
                         &err);
        }
        CHECK(shape_equal(&y[1].shape, &read));
        for (int i = 0; i < 18; i++)
            CHECK_NEAR(tensor_f32(&y[1])[i],
                       (double)((float)pixels[3 * (i % 6) + i / 6] / 255), 0);
        CHECK_INT(engine_was_replayed(sky.engine), run > 0);
        tensor_release(&y[0]);
        tensor_release(&y[1]);
    }
    tensor_release(&x);
    sky_free(&sky);
}

/* Submits and collects; the first failure. */
static enum assay_status fly_anyhow(struct sky *sky)
{
    enum assay_status st = ASSAY_OK, one;
    struct tensor y[2];

    for (int i = 0; i < 3; i++) {
        one = submit(sky, 2, 1);
        st = st ? st : one;
    }
    while (engine_in_flight(sky->engine)) {
        one = engine_collect(sky->engine, y, NULL, &err);
        st = st ? st : one;
        tensor_release(&y[0]);
        tensor_release(&y[1]);
    }
    return st;
}

TEST(passes_in_flight_without_memory_leave_nothing_behind)
{
    enum assay_status st = ASSAY_OK;
    long nth = 0, n_failed = 0;

    do {
        struct sky sky = sky_new(NULL, 2);
        struct tensor x =
            small_ones(&sky.small, shape_of(2, (int64_t)2, (int64_t)n_columns));
        struct tensor y[2];

        CHECK_STATUS(engine_run(sky.engine, &x, y, &err), ASSAY_OK, &err);
        tensor_release(&x);
        tensor_release(&y[0]);
        tensor_release(&y[1]);
        engine_allow_in_flight(sky.engine, 3);
        mem_fail_at(nth++);
        st = fly_anyhow(&sky);
        mem_fail_at(-1);
        n_failed += st == ASSAY_NOMEM;
        CHECK(!st || st == ASSAY_NOMEM);
        sky_free(&sky);
    } while (nth < 400);
    CHECK_INT(st, ASSAY_OK);
    CHECK(n_failed > 10);
}
