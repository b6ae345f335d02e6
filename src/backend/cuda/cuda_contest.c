/* backend/cuda/cuda_contest.c - see cuda_plan.h: measures the plans that can do
 * a job, on the operands at hand.
 *
 * A network has dozens of jobs with a dozen candidates each, and what it takes
 * to find the best of them is waited for: a candidate that is clearly slower is
 * run twice, one that may win often enough to tell. */
#include "backend/cuda/cuda_plan.h"

#include "base/clock.h"

#include <math.h>

enum { most_fused = 5, most_bare = 3, most_products = 4, most_beside_own = 1 };

/* Candidates for a job, and the best so far. */
struct contest {
    struct cuda_call *call;
    const struct cuda_job *job;
    const struct cuda_operands *operands;
    struct cuda_plan best;
    float best_ms; /* INFINITY: not measured */
    struct str *times;
    int64_t end_ns;
    bool is_measured;
    cu_event begin, end;
};

/* ---- measuring ----------------------------------------------------------- */

/* Several runs of the plan as one graph, so that what is measured is not how
 * fast the host launches; NULL where it fails. */
static struct backend_recording *
contest_record(struct contest *contest, const struct cuda_plan *plan, int runs)
{
    struct backend *backend = &contest->call->cuda->base;
    struct backend_recording *recording = NULL;
    struct cuda_call call = *contest->call;
    struct error ignored = {0};
    enum assay_status st = ASSAY_OK;

    call.err = &ignored;
    if (cuda_recording_begin(backend, &ignored))
        return NULL;
    for (int i = 0; !st && i < runs; i++)
        st = cuda_plan_run(&call, contest->job, plan, contest->operands);
    if (cuda_recording_end(backend, st ? NULL : &recording, &ignored))
        recording = NULL;
    return recording;
}

/* The time of the recorded runs, or of as many that are queued one by one where
 * nothing is recorded, per run. */
static float contest_time(struct contest *contest, const struct cuda_plan *plan,
                          const struct backend_recording *recording, int runs)
{
    const struct driver_api *cu = cuda_driver();
    struct cuda_call call = *contest->call;
    cu_stream stream = call.cuda->device->stream;
    struct error ignored = {0};
    enum assay_status st = ASSAY_OK;
    float ms = INFINITY;

    call.err = &ignored;
    (void)cu->cuEventRecord(contest->begin, stream);
    if (recording)
        st = cuda_recording_run(&call.cuda->base, recording, &ignored);
    for (int i = 0; !recording && !st && i < runs; i++)
        st = cuda_plan_run(&call, contest->job, plan, contest->operands);
    (void)cu->cuEventRecord(contest->end, stream);
    if (cu->cuEventSynchronize(contest->end) || st ||
        cu->cuEventElapsedTime(&ms, contest->begin, contest->end))
        return INFINITY;
    return ms / (float)runs;
}

/* Short ones together, so that each is not the time of a launch. */
static float contest_time_short(struct contest *contest,
                                const struct cuda_plan *plan, float about_ms)
{
    enum { least = 3, most = 10 };
    static const float enough_ms = 0.5F;
    int runs = (int)fminf(most, fmaxf(least, enough_ms / about_ms));
    struct backend_recording *recording = contest_record(contest, plan, runs);
    float best = INFINITY;

    for (int i = 0; recording && i < 2; i++)
        best = fminf(best, contest_time(contest, plan, recording, runs));
    cuda_recording_free(&contest->call->cuda->base, recording);
    return best;
}

/* The time of a run; infinite where it fails. The first sets up what cannot be
 * recorded, and counts only where no set-up explains it: some of cuDNN's
 * engines take a quarter of a second where others take a millisecond. */
static float contest_measure(struct contest *contest,
                             const struct cuda_plan *plan)
{
    static const float launch_ms = 0.03F, long_ms = 0.3F, set_up_ms = 10;
    float ms = contest_time(contest, plan, NULL, 1);

    if (isinf(ms) || ms > 10 * contest->best_ms + set_up_ms)
        return ms;
    ms = contest_time(contest, plan, NULL, 1);
    if (ms > 1.5F * contest->best_ms + launch_ms)
        return ms;
    return ms > long_ms ? fminf(ms, contest_time(contest, plan, NULL, 2))
                        : contest_time_short(contest, plan, ms);
}

/* ---- candidates ---------------------------------------------------------- */

/* Whether something follows the sums. */
static bool job_has_more(const struct cuda_job *job)
{
    return job->way == WAY_FORWARD &&
           (job->has_bias || job->has_residual || job->has_relu);
}

/* In 16 bits a bare plan rounds the sum, and what is made of it again: it wins
 * only where it is much faster. (With a ReLU6 it is, ten times.) */
static float rounding_price(const struct cuda_job *job,
                            const struct cuda_plan *plan)
{
    bool is_rounded =
        plan->is_bare && job_has_more(job) && job->made != DTYPE_F32;

    return is_rounded ? 1.25F : 1;
}

/* Takes the plan over. */
static void contest_enter(struct contest *contest, struct cuda_plan *plan)
{
    float ms = INFINITY;

    if (contest->is_measured) {
        ms = contest_measure(contest, plan);
        (void)str_printf(contest->times, "%s%s %.1f us",
                         contest->times->n ? ", " : "", plan->name,
                         (double)ms * 1e3);
        ms *= rounding_price(contest->job, plan);
    }
    if (contest->best.kind == PLAN_NONE || ms < contest->best_ms) {
        cuda_plan_release(&contest->best);
        contest->best = *plan;
        contest->best_ms = ms;
    } else {
        cuda_plan_release(plan);
    }
}

static bool contest_is_over(const struct contest *contest)
{
    return contest->best.kind != PLAN_NONE &&
           (!contest->is_measured || clock_monotonic_ns() > contest->end_ns);
}

static void enter_own(struct contest *contest)
{
    struct cuda_device *device = contest->call->cuda->device;
    bool is_small = depthwise_is_small(device, contest->job);
    struct cuda_plan plan;

    if (thin_plan_make(device, contest->job, &plan))
        contest_enter(contest, &plan);
    for (int i = 0; i < 2 && !contest_is_over(contest);
         i++, is_small = !is_small) {
        if (depthwise_plan_make(device, contest->job, is_small, &plan))
            contest_enter(contest, &plan);
    }
}

static void enter_products(struct contest *contest)
{
    struct cuda_device *device = contest->call->cuda->device;
    struct cuda_plan plan;
    size_t n = 1;

    for (size_t i = 0; i < n && i < most_products && !contest_is_over(contest);
         i++) {
        if (lt_plan_make(device, contest->job, i, &n, &plan))
            contest_enter(contest, &plan);
    }
}

static void enter_cudnn(struct contest *contest, bool is_fused, int most)
{
    struct cudnn_list *list;
    struct cuda_plan plan;

    if (contest_is_over(contest))
        return;
    list = cudnn_list_open(contest->call->cuda->device, contest->job, is_fused);
    for (int i = 0;
         i < most && !contest_is_over(contest) && cudnn_list_next(list, &plan);
         i++)
        contest_enter(contest, &plan);
    cudnn_list_close(list);
}

/* Of a sum that nothing follows, fused and bare plans are the same. cuDNN takes
 * a tenth of a second to set up each of its depthwise plans, and the best of
 * them saves a third of a few microseconds: beside ours only the one that it
 * suggests first is tried. */
static void contest_hold(struct contest *contest)
{
    const struct cuda_job *job = contest->job;
    bool has_more = job_has_more(job), has_own;
    struct cuda_plan plan;

    enter_own(contest);
    has_own = contest->best.kind == PLAN_DEPTHWISE ||
              contest->best.kind == PLAN_DEPTHWISE_SMALL;
    enter_products(contest);
    if (has_more && !has_own)
        enter_cudnn(contest, true, most_fused);
    enter_cudnn(contest, false,
                has_own    ? most_beside_own
                : has_more ? most_bare
                           : most_fused);
    if (contest->best.kind == PLAN_NONE && cuda_plan_direct(job, &plan))
        contest_enter(contest, &plan);
}

static bool contest_prepare(struct contest *contest)
{
    struct cuda *cuda = contest->call->cuda;
    const struct driver_api *cu = cuda_driver();

    if (cuda->options.is_plain || cuda->tuning_left_ns <= 0 ||
        cuda->device->is_recording)
        return false;
    return !cu->cuEventCreate(&contest->begin, CU_EVENT_DEFAULT) &&
           !cu->cuEventCreate(&contest->end, CU_EVENT_DEFAULT);
}

static void contest_finish(struct contest *contest)
{
    const struct driver_api *cu = cuda_driver();

    if (contest->begin)
        (void)cu->cuEventDestroy_v2(contest->begin);
    if (contest->end)
        (void)cu->cuEventDestroy_v2(contest->end);
}

bool cuda_contest(struct cuda_call *call, const struct cuda_job *job,
                  const struct cuda_operands *operands, struct cuda_plan *best,
                  struct str *times)
{
    struct cuda *cuda = call->cuda;
    int64_t since = clock_monotonic_ns();
    struct contest contest = {
        call,           job,
        operands,       .best_ms = INFINITY,
        .times = times, .end_ns = since + cuda->tuning_left_ns};

    contest.is_measured = contest_prepare(&contest);
    contest_hold(&contest);
    contest_finish(&contest);
    cuda->tuning_left_ns -= clock_monotonic_ns() - since;
    *best = contest.best;
    return contest.is_measured;
}
