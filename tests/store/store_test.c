/* tests/store/store_test.c - writes runs to files and reads them back. */
#include "runs.h"

#include "store/store.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static struct run *sealed_run(uint32_t n_iterations)
{
    struct run *run = rich_run(n_iterations);
    struct error err = {0};

    OK(run_seal(run, &err));
    return run;
}

/* Loads the file and compares it with the run. */
static void check_file(const char *path, const struct run *run)
{
    struct error err = {0};
    struct run *loaded;

    OK(store_load(path, &loaded, &err));
    check_same_run(run, loaded);
    run_free(loaded);
}

static void check_round_trip(uint32_t n_iterations)
{
    struct run *run = sealed_run(n_iterations);
    const char *path = test_path("trip.assay");
    struct error err = {0};

    OK(store_save(run, path, &err));
    check_file(path, run);
    run_free(run);
}

TEST(a_saved_run_loads_with_every_field_unchanged)
{
    check_round_trip(7);
}

TEST(a_thinned_run_loads_with_every_field_unchanged)
{
    check_round_trip(5000);
}

TEST(an_empty_run_loads_as_an_empty_run)
{
    struct error err = {0};
    struct run *run;

    OK(run_new(&run, &err));
    OK(run_seal(run, &err));
    OK(store_save(run, test_path("empty.assay"), &err));
    check_file(test_path("empty.assay"), run);
    run_free(run);
}

TEST(saving_again_replaces_the_file)
{
    struct run *first = sealed_run(3), *second = sealed_run(9);
    const char *path = test_path("again.assay");
    struct error err = {0};

    OK(store_save(first, path, &err));
    OK(store_save(second, path, &err));
    check_file(path, second);
    run_free(first);
    run_free(second);
}

TEST(an_incomplete_run_stays_incomplete_when_saved)
{
    struct run *run = sealed_run(3);
    struct error err = {0};

    run_health(run)->is_incomplete = true;
    OK(store_save(run, test_path("half.assay"), &err));
    check_file(test_path("half.assay"), run);
    run_free(run);
}

static long file_size(const char *path)
{
    struct stat info;

    return stat(path, &info) ? -1 : (long)info.st_size;
}

/* 600 scopes of 1000 points should stay around 10 MB: 24 bytes per point
 * are 14 MB. Without any points there are a few pages per table. */
TEST(a_file_is_a_few_pages_and_some_bytes_per_point)
{
    struct run *run = sealed_run(0), *longer = sealed_run(1000);
    struct error err = {0};
    size_t n_points = 0;
    long base;

    OK(store_save(run, test_path("small.assay"), &err));
    base = file_size(test_path("small.assay"));
    CHECK(base > 0 && base < 100000);
    OK(store_save(longer, test_path("longer.assay"), &err));
    for (size_t i = 0; i < run_cell_count(longer); i++)
        n_points += run_cell(longer, i)->n_points;
    CHECK(n_points > 3000);
    CHECK(file_size(test_path("longer.assay")) - base <
          (long)(24 * (n_points + run_iterations_kept(longer) +
                       run_counter(longer, 0)->n_points +
                       2 * run_series(longer, 0)->n_points)) +
              8192);
    run_free(run);
    run_free(longer);
}

/* ---- the writer ------------------------------------------------------- */

TEST(a_recording_is_a_part_until_it_is_finished)
{
    struct run *run = rich_run(20);
    struct store_writer *writer;
    struct error err = {0};
    struct run *loaded;

    OK(store_open(test_path("live.assay"), &writer, &err));
    CHECK(test_part_count("live.assay"));
    OK(store_checkpoint(writer, run, &err));
    CHECK(!exists(test_path("live.assay")));
    OK(store_load(test_part("live.assay"), &loaded, &err));
    CHECK(run_health_of(loaded)->is_incomplete);
    CHECK_INT(run_scope_count(loaded), run_scope_count(run));
    run_free(loaded);

    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    CHECK(!test_part_count("live.assay"));
    check_file(test_path("live.assay"), run);
    run_free(run);
}

/* Checkpoints write only what changed; the file must not depend on how many
 * there were, even if the points were thinned between two. */
TEST(many_checkpoints_leave_the_same_file_as_one)
{
    struct run *run = rich_run(0);
    struct store_writer *writer;
    struct error err = {0};
    uint32_t id;

    OK(store_open(test_path("steps.assay"), &writer, &err));
    for (uint32_t i = 0; i < 9000; i += 450) {
        count_iterations(run, i, 450);
        if (i == 1800)
            OK(run_scope_add(run, 2, "late", NULL, &id, &err));
        if (i == 2250)
            run_forget_kept(run);
        OK(store_checkpoint(writer, run, &err));
    }
    OK(run_thread_rename(run, 1, "renamed", &err));
    OK(run_name_root(run, "other", NULL, &err));
    OK(run_fact_set(run, "machine.cpu", "another", &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    check_file(test_path("steps.assay"), run);
    run_free(run);
}

TEST(work_that_was_set_again_is_written_again)
{
    struct run *run = rich_run(3);
    struct store_writer *writer;
    struct error err = {0};
    struct scope_work work = scope_work_unknown();

    OK(store_open(test_path("work.assay"), &writer, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(run_work_set(run, 3, &work, &err));
    OK(store_checkpoint(writer, run, &err));
    work.parameters = 64;
    OK(run_work_set(run, 3, &work, &err));
    OK(run_work_set(run, RUN_ROOT, &work, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    check_file(test_path("work.assay"), run);
    run_free(run);
}

TEST(texts_of_work_that_were_set_again_are_written_again)
{
    struct run *run = named_run();
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("texts.assay"), &writer, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(run_text_set(run, 1, &(struct scope_text){"1x3", "gemm"}, &err));
    OK(run_text_set(run, 2, &(struct scope_text){"", "copy"}, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(run_text_set(run, 1, &(struct scope_text){"2x3", "gemm"}, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    check_file(test_path("texts.assay"), run);
    CHECK_STR(run_text(run, 1)->shapes, "2x3");
    run_free(run);
}

TEST(edges_that_were_added_later_are_written)
{
    struct run *run = named_run(), *read;
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("edges.assay"), &writer, &err));
    OK(run_edge_add(run, &(struct run_edge){RUN_NONE, 1}, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(run_edge_add(run, &(struct run_edge){1, 2}, &err));
    OK(run_edge_add(run, &(struct run_edge){1, 2}, &err)); /* is known */
    OK(run_edge_add(run, &(struct run_edge){2, 2}, &err)); /* to itself */
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    OK(store_load(test_path("edges.assay"), &read, &err));
    CHECK_INT(run_edge_count(read), 2);
    CHECK_INT(run_edge(read, 0)->from, RUN_NONE);
    CHECK_INT(run_edge(read, 0)->to, 1);
    CHECK_INT(run_edge(read, 1)->from, 1);
    CHECK_INT(run_edge(read, 1)->to, 2);
    run_free(read);
    run_free(run);
}

TEST(late_labels_and_owners_are_written)
{
    struct ledger_row row = {
        .kind = LEDGER_IMAGES, .scope = RUN_NONE, .bytes = 7, .what = "late"};
    struct run *run = rich_run(3);
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("late.assay"), &writer, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(run_series_label(run, 0, "third.jpg", &err));
    OK(run_series_put(run, 0, 3, 2, &err));
    OK(run_ledger_add(run, &row, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(run_series_put(run, 0, 4, 1, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    check_file(test_path("late.assay"), run);
    run_free(run);
}

/* As many are kept after thinning as were written before it. */
TEST(iterations_thinned_between_two_checkpoints_are_written_again)
{
    struct run *run = rich_run(600);
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("thin.assay"), &writer, &err));
    OK(store_checkpoint(writer, run, &err));
    count_iterations(run, 600, 1100);
    CHECK(run_iterations_kept(run) >= 600 && run_iterations_kept(run) < 1000);
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    check_file(test_path("thin.assay"), run);
    run_free(run);
}

TEST(replaced_kept_samples_are_written_again)
{
    struct sample samples[] = {sample_at(1, 0, 5), sample_at(1, 1, 6),
                               sample_at(2, 2, 7)};
    struct run *run = named_run();
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("kept.assay"), &writer, &err));
    OK(run_keep(run, &samples[0], &err));
    OK(store_checkpoint(writer, run, &err));
    run_forget_kept(run);
    OK(run_keep(run, &samples[1], &err));
    OK(run_keep(run, &samples[2], &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    check_file(test_path("kept.assay"), run);
    run_free(run);
}

TEST(appended_samples_stay_while_the_kept_ones_change)
{
    struct sample samples[130];
    struct run *run = named_run(), *loaded;
    struct store_writer *writer;
    struct error err = {0};
    struct sample kept;

    for (uint32_t i = 0; i < 130; i++)
        samples[i] = sample_at(1, i, i);
    OK(store_open(test_path("all.assay"), &writer, &err));
    OK(store_append(writer, samples, 60, &err));
    kept = sample_at(2, 1000, 7);
    OK(run_keep(run, &kept, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(store_append(writer, samples + 60, 70, &err));
    run_forget_kept(run);
    kept = sample_at(2, 2000, 8);
    OK(run_keep(run, &kept, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));

    OK(store_load(test_path("all.assay"), &loaded, &err));
    CHECK_INT(run_kept_count(loaded), 131);
    for (size_t i = 0; i < 130; i++)
        check_same_sample(run_kept(loaded, i), &samples[i]);
    check_same_sample(run_kept(loaded, 130), &kept);
    run_free(loaded);
    run_free(run);
}

/* The schema's version: four bytes of SQLite's header. */
static int version_of(const char *path)
{
    unsigned char bytes[4] = {0};
    FILE *file = fopen(path, "rb");

    CHECK(file && fseek(file, 60, SEEK_SET) == 0);
    CHECK_INT(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
    return bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void save_with_launches(const char *name, bool has_launches)
{
    struct sample samples[120];
    struct run *run = named_run(), *loaded;
    struct store_writer *writer;
    struct error err = {0};

    for (uint32_t i = 0; i < 120; i++) {
        samples[i] = sample_at(1, i, i);
        if (has_launches && i >= 70)
            samples[i].queued_ns = 1000 + i;
    }
    OK(store_open(test_path(name), &writer, &err));
    OK(store_append(writer, samples, 60, &err));
    OK(store_checkpoint(writer, run, &err));
    OK(store_append(writer, samples + 60, 59, &err));
    OK(run_keep(run, &samples[119], &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    OK(store_load(test_path(name), &loaded, &err));
    CHECK_INT(run_kept_count(loaded), 120);
    for (size_t i = 0; i < 120; i++)
        check_same_sample(run_kept(loaded, i), &samples[i]);
    run_free(loaded);
    run_free(run);
}

TEST(launches_are_stored_and_a_file_without_any_has_version_5)
{
    save_with_launches("with.assay", true);
    save_with_launches("without.assay", false);
    CHECK_INT(version_of(test_path("with.assay")), 6);
    CHECK_INT(version_of(test_path("without.assay")), 5);
}

TEST(an_abandoned_recording_leaves_nothing)
{
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("gone.assay"), &writer, &err));
    store_abandon(writer);
    CHECK(!test_part_count("gone.assay"));
    CHECK(!exists(test_path("gone.assay")));
    store_abandon(NULL);
}

TEST(a_bad_path_is_reported_when_the_file_is_opened)
{
    struct store_writer *writer;
    struct error err = {0};

    CHECK_INT(store_open(test_path("no/such/run.assay"), &writer, &err),
              ASSAY_NOT_FOUND);
    CHECK(writer == NULL);
    CHECK_HAS(err.text, "no/such/run.assay");
    err = (struct error){0};
    CHECK_INT(store_open("/tmp", &writer, &err), ASSAY_IO);
    CHECK_HAS(err.text, "not a regular file");
    err = (struct error){0};
    CHECK_INT(store_open("", &writer, &err), ASSAY_IO);
}

/* As written when steps had a series of their own. */
TEST(an_old_training_is_read_by_its_steps)
{
    struct error err = {0};
    struct run *run, *loaded;
    uint32_t loss, step;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "train.loss", "", &loss, &err));
    OK(run_series_add(run, "train.step", "", &step, &err));
    for (uint32_t i = 0; i < 3; i++) {
        OK(run_series_put(run, loss, i, 1, &err));
        OK(run_series_put(run, step, i, 4 + i, &err));
    }
    OK(run_seal(run, &err));
    OK(store_save(run, test_path("before.assay"), &err));
    OK(store_load(test_path("before.assay"), &loaded, &err));
    CHECK(run_series_find(loaded, "train.step") == NULL);
    CHECK_INT(run_series_find(loaded, "train.loss")->points[0].iteration, 3);
    run_free(loaded);
    run_free(run);
}

TEST(the_stem_of_a_run_file_is_that_of_its_parts)
{
    static const struct {
        const char *path, *stem;
    } cases[] = {
        {"run.assay", "run"},
        {"run.assay.part", "run"}, /* of earlier versions */
        {"run.assay.1234-abcdef.part", "run"},
        {"/a.b/run.assay.1-a2b3c4.part", "/a.b/run"},
        {"run.1234-abcdef.part", "run"},
        {"run.assay.1234-ABCDEF.part", "run.assay.1234-ABCDEF"},
        {"run.assay.x-abcdef.part", "run.assay.x-abcdef"},
        {"a.1/run", "a.1/run"},
        {".assay", ".assay"},
        {"", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char stem[64];

        snprintf(stem, sizeof stem, "%.*s", (int)store_stem(cases[i].path),
                 cases[i].path);
        CHECK_STR(stem, cases[i].stem);
    }
}
