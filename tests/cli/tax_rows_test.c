/* tests/cli/tax_rows_test.c - a recorded model beside the engine's, made up. */
#include "cli/tax_rows.h"
#include "run/device_balance.h"
#include "test.h"

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

static struct error err;

static void put(struct run *run, uint32_t scope, uint32_t thread,
                uint32_t iteration, int64_t ns)
{
    struct sample sample = {.scope = scope,
                            .thread = thread,
                            .iteration = iteration,
                            .start_ns = 1000 * (int64_t)iteration,
                            .duration_ns = ns,
                            .self_ns = ns,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    OK(run_count(run, &sample, &err));
}

/* A model with one layer, called once in each of 8 iterations; the device ran
 * 300 ns for the layer in the first so many. */
static struct run *made_run(uint32_t n_timed)
{
    uint32_t main, device, model, layer;
    struct run *run;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &main, &err));
    OK(run_thread_add(run, "cuda:0", THREAD_DEVICE, &device, &err));
    OK(run_scope_add(run, RUN_ROOT, "model", "Net", &model, &err));
    OK(run_scope_add(run, model, "conv", "Conv2d", &layer, &err));
    for (uint32_t i = 0; i < 8; i++) {
        put(run, layer, main, i, 40);
        put(run, model, main, i, 50);
        if (i < n_timed)
            put(run, layer, device, i, 300);
        put(run, RUN_ROOT, main, i, 100);
    }
    OK(run_seal(run, &err));
    return run;
}

TEST(iterations_with_device_times_stand_for_those_without)
{
    struct run *live = made_run(2), *engine = made_run(8);
    const struct tax_run sides[N_TAX_SIDES] = {
        {live, run_model_scope(live), true},
        {engine, run_model_scope(engine), true},
        {engine, run_model_scope(engine), true}};
    struct tax_rows rows = {0};

    OK(run_fact_set(live, RUN_DEVICE_TIMED, "2", &err));
    OK(tax_rows_build(&rows, sides, &err));
    CHECK_INT(rows.n, 2);
    CHECK_STR(rows.items[1].name, "conv");
    for (int i = 0; i < N_TAX_SIDES; i++) {
        CHECK_NEAR(rows.items[0].ns[i], 300, 1e-9);
        CHECK_NEAR(rows.items[1].ns[i], 300, 1e-9);
        CHECK_NEAR(rows.host_ns[i], 50, 1e-9);
    }
    tax_rows_release(&rows);
    run_free(live);
    run_free(engine);
}
