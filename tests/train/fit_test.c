/* tests/train/fit_test.c - train/fit.h, with trainings that only allocate
 * memory. */
#include "base/mem.h"
#include "tensor/far_space.h"
#include "tensor/pool.h"
#include "test.h"
#include "train/fit.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const size_t mib = 1 << 20;

/* How much memory a training takes, and how it ends. */
struct fake {
    size_t bytes;           /* per image */
    int64_t killed_at;      /* kill batches from here on; 0: none */
    int64_t refused_at;     /* with a failure other than memory */
    int64_t worse_in_check; /* extra images' worth that the check needs */
    struct fit_trial trials[64];
    size_t n;
};

static enum assay_status take_memory(void *context, int64_t batch,
                                     bool is_check, struct fit_trained *trained,
                                     struct error *err)
{
    const struct fake *fake = context;
    size_t n = (size_t)(batch + (is_check ? fake->worse_in_check : 0));
    char *block;

    if (fake->refused_at && batch >= fake->refused_at)
        return error_set(err, ASSAY_BAD_INPUT, "no such file");
    if (fake->killed_at && batch >= fake->killed_at)
        raise(SIGKILL);
    block = mem_map(n * fake->bytes);
    if (!block)
        return error_nomem(err, n * fake->bytes, "a training");
    memset(block, 1, n * fake->bytes);
    trained->images_per_s = (double)batch;
    mem_unmap(block, n * fake->bytes);
    return ASSAY_OK;
}

static void note(void *context, const struct fit_trial *trial)
{
    struct fake *fake = context;

    CHECK(fake->n < sizeof fake->trials / sizeof *fake->trials);
    fake->trials[fake->n++] = *trial;
}

/* A sanitizer's own memory is far beyond any limit. */
static void skip_under_sanitizers(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("limits of memory: not with a sanitizer");
#endif
}

static struct fit_result search(struct fake *fake, size_t memory_bytes,
                                int64_t most)
{
    struct fit_options options = {.memory_bytes = memory_bytes,
                                  .most = most,
                                  .train = take_memory,
                                  .tried = note,
                                  .context = fake};
    struct fit_result result;
    struct error err = {0};

    skip_under_sanitizers();
    CHECK_STATUS(fit_search(&options, &result, &err), ASSAY_OK, &err);
    return result;
}

static bool was_tried(const struct fake *fake, int64_t batch, enum fit_end end,
                      bool is_check)
{
    for (size_t i = 0; i < fake->n; i++) {
        if (fake->trials[i].batch == batch && fake->trials[i].end == end &&
            fake->trials[i].is_check == is_check)
            return true;
    }
    return false;
}

static bool was_too_large(const struct fake *fake, int64_t batch)
{
    return was_tried(fake, batch, FIT_REFUSED, false) ||
           was_tried(fake, batch, FIT_OVER, false);
}

TEST(the_answer_fits_and_one_more_does_not)
{
    struct fake fake = {.bytes = 4 * mib};
    struct fit_result result = search(&fake, 80 * mib, 10000);

    CHECK(result.batch > 5 && result.batch < 20);
    CHECK(was_tried(&fake, result.batch, FIT_FITS, true));
    CHECK(was_too_large(&fake, result.batch + 1));
    CHECK(result.trial.peak_bytes <= 80 * mib);
    CHECK(result.trial.peak_bytes > (size_t)result.batch * 4 * mib);
    CHECK_NEAR(result.trial.images_per_s, (double)result.batch, 0);
    CHECK(!result.is_most);
    CHECK_INT(result.n_trials, fake.n);
}

TEST(the_memory_of_trials_keeps_the_search_short)
{
    struct fake fake = {.bytes = mib / 4};
    struct fit_result result = search(&fake, 80 * mib, 1000000);

    CHECK(result.batch > 100);
    CHECK(result.n_trials <= 14); /* halving would need 20 */
}

/* Memory that a library reserves and never touches does not count, but only up
 * to a limit. */
TEST(a_trial_that_asks_for_far_too_much_is_refused)
{
    struct fake fake = {.bytes = (size_t)4 << 30};
    struct fit_result result = search(&fake, 100 * mib, 64);

    CHECK_INT(result.batch, 0);
    CHECK_INT(result.trial.end, FIT_REFUSED);
    CHECK(result.trial.peak_bytes < 100 * mib);
}

TEST(the_answer_is_0_if_one_image_is_too_much)
{
    struct fake fake = {.bytes = 500 * mib};
    struct fit_result result = search(&fake, 100 * mib, 64);

    CHECK_INT(result.batch, 0);
    CHECK_INT(result.trial.batch, 1);
    CHECK_INT(result.trial.end, FIT_OVER);
    CHECK_INT(result.n_trials, 1);
}

TEST(the_search_ends_at_the_largest_batch_asked_for)
{
    struct fake fake = {.bytes = mib};
    struct fit_result result = search(&fake, 200 * mib, 8);

    CHECK_INT(result.batch, 8);
    CHECK(result.is_most);
}

/* As the kernel does when the host runs out of memory. */
TEST(a_killed_trial_counts_as_too_large)
{
    struct fake fake = {.bytes = mib, .killed_at = 5};
    struct fit_result result = search(&fake, 200 * mib, 100);

    CHECK_INT(result.batch, 4);
    CHECK(was_tried(&fake, 5, FIT_KILLED, false));
}

TEST(an_answer_that_fails_its_check_gives_way_to_a_smaller_one)
{
    struct fake fake = {.bytes = 4 * mib, .worse_in_check = 3};
    struct fit_result result = search(&fake, 80 * mib, 1000);
    size_t checks = 0;

    for (size_t i = 0; i < fake.n; i++)
        checks += fake.trials[i].is_check;
    CHECK_INT(checks, 4);
    CHECK(fake.trials[fake.n - 1].is_check);
    CHECK_INT(fake.trials[fake.n - 1].end, FIT_FITS);
    CHECK_INT(fake.trials[fake.n - 1].batch, result.batch);
}

TEST(a_failure_unrelated_to_memory_ends_the_search)
{
    struct fake fake = {.bytes = mib, .refused_at = 2};
    struct fit_options options = {.memory_bytes = 200 * mib,
                                  .most = 100,
                                  .train = take_memory,
                                  .context = &fake};
    struct fit_result result;
    struct error err = {0};

    skip_under_sanitizers();
    CHECK_INT(fit_search(&options, &result, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "no such file");
}

/* ---- on a device --------------------------------------------------------- */

enum { device_mib = 24 };

/* A training whose memory is a far device's: a MiB per image and two. */
static enum assay_status take_far_memory(void *context, int64_t batch,
                                         bool is_check,
                                         struct fit_trained *trained,
                                         struct error *err)
{
    const struct fit_options *options = context;
    struct far *far = far_new("far", device_mib * mib);
    struct buffer *buffer = NULL;
    struct pool *pool = NULL;
    enum assay_status st;

    (void)is_check;
    if (!far)
        return error_nomem(err, device_mib * mib, "a device");
    st = pool_new_in(far_space(far), &pool, err);
    if (!st)
        pool_set_limit(pool, options->memory_bytes);
    if (!st)
        st =
            pool_take(pool, (size_t)(batch + 2) * mib, "a batch", &buffer, err);
    if (!st)
        trained->device_bytes = pool_usage(pool).held_peak_bytes;
    trained->images_per_s = 1;
    buffer_release(buffer);
    pool_free(pool);
    far_free(far);
    return st;
}

static struct fit_result search_device(size_t memory_bytes)
{
    struct fit_options options = {.memory_bytes = memory_bytes,
                                  .is_on_device = true,
                                  .most = 1000,
                                  .train = take_far_memory};
    struct fit_result result;
    struct error err = {0};

    options.context = &options;
    CHECK_STATUS(fit_search(&options, &result, &err), ASSAY_OK, &err);
    return result;
}

TEST(on_a_device_the_limit_is_of_its_memory)
{
    struct fit_result result = search_device(8 * mib);

    CHECK_INT(result.batch, 6);
    CHECK_INT(result.trial.peak_bytes, 8 * mib);
    CHECK(result.trial.end == FIT_FITS);
}

static struct device far_found;

static enum assay_status find_far(void *context, const struct device **out,
                                  struct error *err)
{
    struct far *far = far_new("far", device_mib * mib);

    (void)context;
    if (!far)
        return error_nomem(err, device_mib * mib, "a device");
    far_found = (struct device){.name = "far:0", .space = far_space(far)};
    CHECK(far_space(far)->take(far_space(far), 4 * mib) != NULL);
    *out = &far_found;
    return ASSAY_OK;
}

static enum assay_status find_nothing(void *context, const struct device **out,
                                      struct error *err)
{
    (void)context;
    (void)out;
    return error_set(err, ASSAY_UNSUPPORTED, "there is no such device");
}

TEST(what_a_device_has_free_is_found_without_using_it_here)
{
    struct fit_place place;
    struct error err = {0};

    CHECK_STATUS(fit_find_place(find_far, NULL, &place, &err), ASSAY_OK, &err);
    CHECK(!place.is_host);
    CHECK_STR(place.device, "far:0");
    CHECK(place.free_bytes <= (device_mib - 4) * mib);
    CHECK(place.free_bytes > (device_mib - 5) * mib);
    CHECK(!far_found.name); /* that was another process */
    CHECK_INT(fit_find_place(find_nothing, NULL, &place, &err),
              ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "there is no such device");
}
