/* How the time per image depends on what is in it. */
#include "observed.h"

#include "base/mem.h"
#include "run/content.h"

static struct error err;

static struct content_photo photo(double ns, double proposals,
                                  double detections, double pixels)
{
    return (struct content_photo){
        .runs = 1, .median_ns = ns, .terms = {proposals, detections, pixels}};
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

TEST(a_relation_without_noise_is_found_exactly)
{
    struct content_photo photos[12];
    struct content_fit fit;

    for (int i = 0; i < 12; i++) {
        double proposals = 500 + 37 * ((i * 5) % 12);
        double detections = (i * i) % 11, pixels = 0.5 + 0.1 * ((i * 7) % 5);

        photos[i] =
            photo(1e6 + 300 * proposals + 20000 * detections + 5e5 * pixels,
                  proposals, detections, pixels);
    }
    fit = content_fit(photos, 12);
    CHECK_INT(fit.n, 12);
    CHECK(is_near(fit.base_ns, 1e6));
    CHECK(is_near(fit.terms_ns[CONTENT_PROPOSALS], 300));
    CHECK(is_near(fit.terms_ns[CONTENT_DETECTIONS], 20000));
    CHECK(is_near(fit.terms_ns[CONTENT_PIXELS], 5e5));
    CHECK(is_near(fit.r2, 1));
}

/* Anscombe's first quartet (The American Statistician 27, 1973): the published
 * line is y = 3.00 + 0.500 x with R2 = 0.67. */
TEST(a_published_regression_is_reproduced)
{
    static const double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
    static const double y[] = {8.04, 6.95, 7.58,  8.81, 8.33, 9.96,
                               7.24, 4.26, 10.84, 4.82, 5.68};
    struct content_photo photos[11];
    struct content_fit fit;

    for (int i = 0; i < 11; i++)
        photos[i] = photo(y[i], 1000, x[i], 1.07);
    fit = content_fit(photos, 11);
    CHECK(fabs(fit.base_ns - 3.00) < 0.005);
    CHECK(fabs(fit.terms_ns[CONTENT_DETECTIONS] - 0.500) < 0.0005);
    CHECK(fabs(fit.r2 - 0.67) < 0.005);
    CHECK(isnan(fit.terms_ns[CONTENT_PROPOSALS]));
    CHECK(isnan(fit.terms_ns[CONTENT_PIXELS]));
}

TEST(terms_that_follow_from_others_are_left_out)
{
    struct content_photo photos[8];
    struct content_fit fit;

    for (int i = 0; i < 8; i++)
        photos[i] = photo(100 + 3 * i, 10 * i, 20 * i + 7, NAN);
    fit = content_fit(photos, 8);
    CHECK_INT(fit.n, 8);
    CHECK(is_near(fit.terms_ns[CONTENT_PROPOSALS], 0.3));
    CHECK(isnan(fit.terms_ns[CONTENT_DETECTIONS]));
    CHECK(isnan(fit.terms_ns[CONTENT_PIXELS]));
    CHECK(is_near(fit.base_ns, 100));
}

TEST(few_or_identical_photographs_have_no_fit)
{
    struct content_photo photos[6];

    for (int i = 0; i < 6; i++)
        photos[i] = photo(100 + i, 1000, 100, 1);
    CHECK_INT(content_fit(photos, 6).n, 0);
    for (int i = 0; i < 6; i++)
        photos[i] = photo(100 + i, 1000 + i, 100, 1);
    CHECK_INT(content_fit(photos, 5).n, 0);
    CHECK_INT(content_fit(photos, 6).n, 6);
    CHECK_INT(content_fit(photos, 0).n, 0);
}

/* Six photographs, three times each; one takes 100 ms plus 2 ms per
 * detection, and the third time 1 ms longer. */
static struct run *photo_run(void)
{
    static const double detections[] = {5, 0, 12, 97, 3, 8};
    struct run *run = observed_run();

    name_photos(run, 6);
    for (uint32_t i = 0; i < 18; i++) {
        double n = detections[i % 6];

        observe_ms(run, i, 100 + 2 * n + (i >= 12));
        observe(run, "input.photo", i, i % 6);
        observe(run, "content.detections", i, n);
        observe(run, "content.proposals", i, 1000);
        observe(run, "content.width", i, 1066);
        observe(run, "content.height", i, 800);
    }
    return run;
}

TEST(the_slowest_photograph_is_named_with_its_reason)
{
    struct run *run = photo_run();
    struct content content;

    seal(run);
    OK(run_content(run, &content, &err));
    CHECK_INT(content.n_photos, 6);
    CHECK_INT(content.photos[content.slowest].runs, 3);
    CHECK_STR(content_name(run, &content.photos[content.slowest]), "3.jpg");
    CHECK(is_near(content.photos[content.slowest].median_ns, 294e6));
    CHECK_STR(content.reason, "97 detections, where the mean is 20.8");
    CHECK(is_near(content.fit.terms_ns[CONTENT_DETECTIONS], 2e6));
    CHECK(is_near(content.fit.base_ns, 100e6));
    CHECK(content.detections.most == 97 && content.detections.least == 0);
    CHECK(content.proposals.p5 == 1000);
    CHECK(isnan(content.p99_ns)); /* 18 iterations */
    content_release(&content);
    run_free(run);
}

/* One photograph in six is above all others. */
TEST(the_p99_of_the_set_needs_a_hundred_iterations)
{
    for (uint32_t n = 99; n <= 100; n++) {
        struct run *run = observed_run();
        struct content content;

        name_photos(run, 6);
        for (uint32_t i = 0; i < n; i++) {
            observe_ms(run, i, i % 6 == 3 ? 294 : 100);
            observe(run, "input.photo", i, i % 6);
        }
        seal(run);
        OK(run_content(run, &content, &err));
        CHECK(n < 100 ? isnan(content.p99_ns) : is_near(content.p99_ns, 294e6));
        content_release(&content);
        run_free(run);
    }
}

/* The same numbers of everything in all: nothing of it explains the one that
 * took longer. */
TEST(an_unexplained_photograph_has_no_reason)
{
    struct run *run = observed_run();
    struct content content;

    name_photos(run, 6);
    for (uint32_t i = 0; i < 6; i++) {
        observe_ms(run, i, i == 2 ? 300 : 100);
        observe(run, "input.photo", i, i);
        observe(run, "content.detections", i, i == 2 ? 3 : 3 + i % 2);
    }
    seal(run);
    OK(run_content(run, &content, &err));
    CHECK_STR(content_name(run, &content.photos[content.slowest]), "2.jpg");
    CHECK_STR(content.reason, "");
    CHECK(isnan(content.p99_ns));
    content_release(&content);
    run_free(run);
}

TEST(a_run_without_photographs_has_no_content)
{
    struct run *run = observed_run();
    struct content content;

    observe_ms(run, 0, 5);
    seal(run);
    OK(run_content(run, &content, &err));
    CHECK_INT(content.n_photos, 0);
    CHECK_INT(content.proposals.n, 0);
    CHECK_INT(content.n_parts, 0);
    content_release(&content);
    run_free(run);
}

TEST(parts_that_depend_on_the_picture_are_found_by_torchvisions_names)
{
    struct run *run = photo_run();
    struct content content;
    uint32_t model, rpn, filter, heads;

    OK(run_scope_add(run, RUN_ROOT, "model", "FasterRCNN", &model, &err));
    OK(run_scope_add(run, model, "rpn", "RegionProposalNetwork", &rpn, &err));
    OK(run_scope_add(run, rpn, "filter_proposals", "", &filter, &err));
    OK(run_scope_add(run, model, "roi_heads", "RoIHeads", &heads, &err));
    for (uint32_t i = 0; i < 18; i++) {
        struct sample sample = {.scope = filter,
                                .iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = 7000000 + i,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    seal(run);
    OK(run_content(run, &content, &err));
    CHECK_INT(content.n_parts, 1);
    CHECK_INT(content.parts[0].scope, filter);
    CHECK(content.parts[0].max_ns == 7000017);
    content_release(&content);
    run_free(run);
}

TEST(content_leaks_nothing_whichever_allocation_fails)
{
    struct run *run = photo_run();
    struct content content;
    enum assay_status st;
    long nth = 0, before;

    seal(run);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = run_content(run, &content, NULL);
        mem_fail_at(-1);
        content_release(&content);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 4);
    run_free(run);
}
