/* run/series_test.c - values an iteration, and who owned the memory. */
#include "run/run.h"
#include "test.h"

#include <math.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

TEST(a_series_is_found_again_by_its_name)
{
    struct error err = {0};
    struct run *run = NULL;
    uint32_t first, second, again;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "content.detections", "", &first, &err));
    OK(run_series_add(run, "steady.page_faults", "", &second, &err));
    OK(run_series_add(run, "content.detections", "", &again, &err));
    CHECK_INT(again, first);
    CHECK(second != first);
    CHECK_INT(run_series_count(run), 2);
    CHECK(run_series_find(run, "steady.page_faults") ==
          run_series(run, second));
    CHECK(run_series_find(run, "steady") == NULL);
    run_free(run);
}

TEST(a_long_series_keeps_the_iterations_that_every_scope_keeps)
{
    struct error err = {0};
    struct run *run = NULL;
    const struct series *series;
    uint32_t id;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "x", "", &id, &err));
    for (uint32_t i = 0; i < 5000; i++)
        OK(run_series_put(run, id, i, i * 2.0, &err));
    series = run_series(run, id);
    CHECK(series->n_points <= RUN_MAX_POINTS);
    CHECK(series->n_points > RUN_MAX_POINTS / 4);
    for (size_t i = 0; i < series->n_points; i++) {
        CHECK(run_is_kept(series->points[i].iteration, series->stride));
        CHECK(series->points[i].value == series->points[i].iteration * 2.0);
    }
    run_free(run);
}

TEST(values_that_make_no_sense_are_refused_with_the_name_of_the_series)
{
    struct error err = {0};
    struct run *run = NULL;
    uint32_t id;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "input.photo", "", &id, &err));
    OK(run_series_label(run, id, "street.jpg", &err));
    OK(run_series_put(run, id, 3, 0, &err));
    CHECK(run_series_put(run, id, 3, 0, &err) == ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "input.photo goes back from iteration 3 to 3");
    CHECK(run_series_put(run, id, 4, 1, &err) == ASSAY_BAD_INPUT);
    CHECK(run_series_put(run, id, 4, 0.5, &err) == ASSAY_BAD_INPUT);
    CHECK(run_series_put(run, id, 4, NAN, &err) == ASSAY_BAD_INPUT);
    CHECK(run_series_put(run, id, RUN_NONE, 0, &err) == ASSAY_BAD_INPUT);
    CHECK_STR(series_label(run_series(run, id), run_series(run, id)->points),
              "street.jpg");
    run_free(run);
}

TEST(the_ledger_refuses_owners_that_are_not_there)
{
    struct error err = {0};
    struct run *run = NULL;
    struct ledger_row row = {
        .kind = LEDGER_SCRATCH, .scope = RUN_NONE, .bytes = 96};

    OK(run_new(&run, &err));
    OK(run_ledger_add(run, &row, &err));
    CHECK_STR(run_ledger(run, 0)->what, "");
    CHECK_STR(ledger_kind_text(run_ledger(run, 0)->kind), "scratch");
    row.scope = 7;
    CHECK(run_ledger_add(run, &row, &err) == ASSAY_BAD_INPUT);
    row.scope = RUN_ROOT;
    row.bytes = -1;
    CHECK(run_ledger_add(run, &row, &err) == ASSAY_BAD_INPUT);
    CHECK_INT(run_ledger_count(run), 1);
    run_free(run);
}
