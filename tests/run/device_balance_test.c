/* tests/run/device_balance_test.c - what a device did and waited for, on
 * activity that is made up. */
#include "test.h"

#include "run/device_balance.h"

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

enum { MAIN, KERNELS, COPY_IN, COPY_OUT, N_LANES };
enum { DECODE = 1, MODEL, POSTPROCESS, OP, N_SCOPES };

static struct error err;

/* An iteration from 1000 to 2000 per thousand: the first stage to 300, model to
 * 900, postprocess to 950. Nothing on the device. */
static struct run *made_run_with(const char *first, uint32_t n)
{
    const struct {
        const char *name;
        uint32_t parent;
        int64_t from, to;
    } scopes[N_SCOPES] = {
        [DECODE] = {first, RUN_ROOT, 0, 300},
        [MODEL] = {"model", RUN_ROOT, 300, 900},
        [POSTPROCESS] = {"postprocess", RUN_ROOT, 900, 950},
        [OP] = {"conv", MODEL, 310, 320},
    };
    static const char *const lanes[N_LANES] = {
        "main", "cuda:0", "cuda:0 copy in", "cuda:0 copy out"};
    struct run *run;
    uint32_t id;

    OK(run_new(&run, &err));
    for (size_t i = 0; i < N_LANES; i++)
        OK(run_thread_add(run, lanes[i], i ? THREAD_DEVICE : THREAD_CPU, &id,
                          &err));
    for (size_t i = 1; i < N_SCOPES; i++)
        OK(run_scope_add(run, scopes[i].parent, scopes[i].name, "", &id, &err));
    for (uint32_t i = 0; i < n; i++) {
        int64_t start = 1000 * ((int64_t)i + 1);
        struct sample whole = {.iteration = i,
                               .start_ns = start,
                               .duration_ns = 1000,
                               .bytes = RUN_UNKNOWN,
                               .peak_bytes = RUN_UNKNOWN};

        for (uint32_t k = 1; k < N_SCOPES; k++) {
            struct sample sample = whole;

            sample.scope = k;
            sample.start_ns = start + scopes[k].from;
            sample.duration_ns = scopes[k].to - scopes[k].from;
            OK(run_count(run, &sample, &err));
            OK(run_keep(run, &sample, &err));
        }
        OK(run_count(run, &whole, &err));
        OK(run_keep(run, &whole, &err));
    }
    return run;
}

static struct run *made_run(uint32_t n)
{
    return made_run_with("decode", n);
}

/* Something that ran in the first iteration, launched at a time. */
static void put(struct run *run, uint32_t lane, int64_t launched, int64_t from,
                int64_t to)
{
    struct sample sample = {.scope = OP,
                            .thread = lane,
                            .start_ns = 1000 + from,
                            .duration_ns = to - from,
                            .self_ns = to - from,
                            .queued_ns = from - launched,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    OK(run_count(run, &sample, &err));
    OK(run_keep(run, &sample, &err));
}

static struct device_balance balance_of(struct run *run)
{
    struct device_balance balance;
    double sum = 0;
    bool is_known;

    OK(run_seal(run, &err));
    OK(run_device_balance(run, &balance, &is_known, &err));
    CHECK(is_known);
    for (size_t i = 0; i < N_IDLE_REASONS; i++)
        sum += balance.reasons_ns[i];
    CHECK_NEAR(sum, balance.idle_ns, 0);
    CHECK_NEAR(balance.kernels_ns + balance.copies_ns + balance.idle_ns,
               balance.span_ns, 0);
    run_free(run);
    return balance;
}

TEST(a_run_without_devices_has_no_books_of_one)
{
    struct run *run = made_run(1);
    struct device_balance balance;
    bool is_known = true;

    OK(run_seal(run, &err));
    OK(run_device_balance(run, &balance, &is_known, &err));
    CHECK(!is_known);
    run_free(run);
}

TEST(idle_time_before_the_model_is_the_photographs)
{
    struct run *run = made_run(1);
    struct device_balance balance;

    put(run, KERNELS, 320, 330, 900);
    balance = balance_of(run);
    CHECK_NEAR(balance.span_ns, 1000, 0);
    CHECK_NEAR(balance.kernels_ns, 570, 0);
    CHECK_NEAR(balance.copies_ns, 0, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_PHOTOGRAPH], 300, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_LAUNCH], 30, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_HOST], 100, 0);
}

TEST(idle_time_while_the_loop_waits_for_a_batch_is_the_datas)
{
    struct run *run = made_run_with("data", 1);
    struct device_balance balance;

    put(run, KERNELS, 320, 330, 900);
    balance = balance_of(run);
    CHECK_NEAR(balance.reasons_ns[IDLE_DATA], 300, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_LAUNCH], 30, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_HOST], 100, 0);
}

TEST(a_gap_before_a_kernel_waits_for_its_launch)
{
    struct run *run = made_run(1);
    struct device_balance balance;

    put(run, KERNELS, 300, 300, 400);
    put(run, KERNELS, 310, 400, 500); /* launched ahead: no gap */
    put(run, KERNELS, 560, 570, 900); /* launched late */
    balance = balance_of(run);
    CHECK_NEAR(balance.kernels_ns, 530, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_LAUNCH], 70, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_SYNC], 0, 0);
}

TEST(a_gap_after_a_result_was_copied_out_is_a_synchronisation)
{
    struct run *run = made_run(1);
    struct device_balance balance;

    put(run, KERNELS, 300, 300, 400);
    put(run, COPY_OUT, 310, 400, 410);
    put(run, KERNELS, 450, 455, 900);
    balance = balance_of(run);
    CHECK_NEAR(balance.copies_ns, 10, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_SYNC], 40, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_LAUNCH], 5, 0); /* once launched */
}

TEST(a_gap_before_a_copy_waits_for_the_copy)
{
    struct run *run = made_run(1);
    struct device_balance balance;

    put(run, COPY_IN, 340, 345, 400);
    put(run, KERNELS, 350, 400, 900);
    balance = balance_of(run);
    CHECK_NEAR(balance.copies_ns, 55, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_COPY], 40, 0);
    CHECK_NEAR(balance.reasons_ns[IDLE_LAUNCH], 5, 0);
}

TEST(what_runs_at_once_is_counted_once)
{
    struct run *run = made_run(1);
    struct device_balance balance;

    put(run, KERNELS, 300, 300, 500);
    put(run, COPY_IN, 350, 400, 600);
    put(run, KERNELS, 360, 450, 480); /* inside both */
    put(run, KERNELS, 370, 600, 900);
    balance = balance_of(run);
    CHECK_NEAR(balance.kernels_ns, 500, 0);
    CHECK_NEAR(balance.copies_ns, 100, 0);
}

TEST(what_reaches_over_the_iteration_is_cut_there)
{
    struct run *run = made_run(1);
    struct device_balance balance;

    put(run, KERNELS, 0, -50, 100);
    put(run, KERNELS, 850, 900, 1100);
    put(run, KERNELS, 860, 1100, 1200);
    balance = balance_of(run);
    CHECK_NEAR(balance.kernels_ns, 200, 0);
    CHECK_NEAR(balance.span_ns, 1000, 0);
}

TEST(the_books_are_of_an_iteration_in_which_the_device_worked)
{
    struct run *run = made_run(3);
    struct device_balance balance;

    put(run, KERNELS, 320, 330, 900);
    balance = balance_of(run);
    CHECK_INT(balance.iteration, 0);
    CHECK_NEAR(balance.kernels_ns, 570, 0);
}

TEST(timed_iterations_stand_for_all_however_many_kernels_they_have)
{
    struct run *run = made_run(8);

    put(run, KERNELS, 310, 320, 330);
    put(run, KERNELS, 330, 340, 350);
    put(run, KERNELS, 350, 360, 370);
    OK(run_seal(run, &err));
    CHECK_NEAR(run_device_scale(run), 1, 0); /* nobody says that some are not */
    OK(run_fact_set(run, RUN_DEVICE_TIMED, "1", &err));
    CHECK_NEAR(run_device_scale(run), 8, 0);
    run_free(run);
}
