/* What a recorded run of a detector says: torchvision's tree, torchvision's
 * count of multiply-adds, and sums that match. list_modules.py asks torchvision
 * for its modules. */
#include "base/file.h"
#include "models/torchvision.h"
#include "picture/picture.h"
#include "session/profile.h"
#include "store/store.h"
#include "test.h"
#include "views/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { side = 64, max_modules = 256 };

static struct error err;

/* ---- torchvision's modules -------------------------------------------- */

struct module {
    char path[96], class_name[48];
    bool is_called; /* else it only contains some that are */
};

static size_t list_modules(const char *model, struct module *modules)
{
    const char *folder =
        torchvision_ask("modules", "session/list_modules.py", "");
    char path[1024], how[16];
    size_t n = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.txt", folder, model);
    file = fopen(path, "r");
    CHECK(file != NULL);
    while (n < max_modules && fscanf(file, "%95s %47s %15s", modules[n].path,
                                     modules[n].class_name, how) == 3)
        modules[n++].is_called = strcmp(how, "called") == 0;
    CHECK(feof(file) != 0);
    fclose(file);
    CHECK(n > 150);
    return n;
}

static const struct module *find_module(const struct module *modules, size_t n,
                                        const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(modules[i].path, path) == 0)
            return &modules[i];
    }
    print_error("torchvision calls no %s\n", path);
    fail();
    return NULL;
}

/* Every module of torchvision is a scope, and every scope with a class is a
 * module of torchvision; the others are its functions. */
static void check_graph(const char *model)
{
    struct model_options options = model_defaults();
    struct module modules[max_modules];
    size_t n = list_modules(model, modules), n_found = 0;
    struct graph *graph;

    CHECK_STATUS(model_build(model, &options, &graph, &err), ASSAY_OK, &err);
    for (uint32_t i = 0; i < graph_scope_count(graph); i++) {
        const struct graph_scope *scope = graph_scope(graph, i);
        const struct module *module;

        if (!scope->class_name[0])
            continue;
        module = find_module(modules, n, scope->path);
        CHECK_STR(scope->class_name, module->class_name);
        CHECK_INT(scope->is_container, !module->is_called);
        n_found++;
    }
    CHECK_INT(n_found, n);
    graph_free(graph);
}

TEST(the_modules_of_a_graph_are_torchvisions)
{
    check_graph("faster-rcnn");
    check_graph("mask-rcnn");
}

/* ---- a recorded run --------------------------------------------------- */

static struct profile_options small_job(const char *model, bool is_plain)
{
    struct profile_options options = {
        .session.model.name = model,
        .session.model.build = model_defaults(),
        .session.n_threads = 1,
        .session.is_plain = is_plain,
        .session.detail = ENGINE_OPS,
        .n_images = 1,
        .session.vision.score = NAN,
        .session.tuning_seconds =
            0.05, /* the choice of kernels does not matter */
    };

    options.session.model.build.min_size = side;
    options.session.model.build.max_size = 2 * side;
    return options;
}

static struct run *record(struct profile_options *options, const char *photo)
{
    struct photos photos = {0};
    struct profile_report report = {0};
    struct run *run;

    err = (struct error){0};
    options->run_path = test_path("recorded.assay");
    CHECK_STATUS(photos_add(&photos, photo, &err), ASSAY_OK, &err);
    CHECK_STATUS(profile_run(options, &photos, &report, &err), ASSAY_OK, &err);
    CHECK_STATUS(store_load(options->run_path, &run, &err), ASSAY_OK, &err);
    profile_report_release(&report);
    photos_release(&photos);
    return run;
}

static uint32_t find_scope(const struct run *run, const struct module *module)
{
    struct str path = {0};
    uint32_t found = RUN_NONE;

    for (uint32_t i = 0; found == RUN_NONE && i < run_scope_count(run); i++) {
        str_clear(&path);
        CHECK_INT(run_scope_path(run, i, &path), ASSAY_OK);
        if (strncmp(str_text(&path), "model.", 6) == 0 &&
            strcmp(str_text(&path) + 6, module->path) == 0 &&
            strcmp(run_scope(run, i)->class_name, module->class_name) == 0)
            found = i;
    }
    if (found == RUN_NONE)
        print_error("the run has no %s (%s)\n", module->path,
                    module->class_name);
    CHECK(found != RUN_NONE);
    str_release(&path);
    return found;
}

/* A batch norm is fused into the convolution before it: bn2 into conv2, and
 * downsample.1 into downsample.0. */
static void check_doer(const struct run *run, const struct scope *norm,
                       uint32_t done_by)
{
    const struct scope *doer = run_scope(run, done_by);

    CHECK_INT(doer->parent, norm->parent);
    CHECK_STR(doer->class_name, "Conv2d");
    if (strncmp(norm->name, "bn", 2) == 0)
        CHECK_STR(doer->name + strlen("conv"), norm->name + strlen("bn"));
    else
        CHECK_STR(doer->name, "0");
}

static void check_run(const char *model, bool is_plain)
{
    struct profile_options options = small_job(model, is_plain);
    struct module modules[max_modules];
    size_t n = list_modules(model, modules), n_fused = 0;
    struct run *run = record(&options, TEST_SOURCE_DIR "/assets/coffee.jpg");

    for (size_t i = 0; i < n; i++) {
        uint32_t id = find_scope(run, &modules[i]);
        const struct scope_work *work = run_work(run, id);
        struct scope_stats stats;

        CHECK_STATUS(run_scope_stats(run, id, RUN_ANY, &stats, &err), ASSAY_OK,
                     &err);
        if (!modules[i].is_called || stats.calls > 0)
            continue;
        CHECK(!is_plain);
        CHECK(work && work->done_by != RUN_NONE);
        if (strcmp(modules[i].class_name, "FrozenBatchNorm2d") == 0) {
            check_doer(run, run_scope(run, id), work->done_by);
            n_fused++;
        }
    }
    CHECK_INT(n_fused, is_plain ? 0 : 53); /* all that ResNet-50 has */
    run_free(run);
}

TEST(every_module_is_in_the_run_as_called_or_with_the_one_that_does_it)
{
    check_run("faster-rcnn", true);
    check_run("faster-rcnn", false);
    check_run("mask-rcnn", true);
    check_run("mask-rcnn", false);
}

/* ---- the warm-up ------------------------------------------------------ */

TEST(every_size_of_photograph_is_warmed_up_before_it_is_measured)
{
    const char *list = test_path("sizes.txt");
    struct profile_options options = small_job("faster-rcnn", true);
    struct picture wide;
    struct output *output;
    struct run *run;
    FILE *file = fopen(list, "w");

    CHECK(file != NULL);
    fprintf(file, "%s\n%s\n", TEST_SOURCE_DIR "/assets/coffee.jpg",
            test_path("wide.jpg"));
    fclose(file);
    CHECK_INT(picture_init(&wide, 700, 400, &err), ASSAY_OK);
    CHECK_INT(output_open(test_path("wide.jpg"), &output, &err), ASSAY_OK);
    CHECK_INT(picture_write_jpeg(&wide, 90, output_sink(output), &err),
              ASSAY_OK);
    CHECK_INT(output_commit(output, &err), ASSAY_OK);
    picture_release(&wide);
    for (uint64_t asked = 0; asked < 2; asked++) {
        options.n_warm_up = asked;
        options.n_images = 3;
        run = record(&options, list);
        CHECK_INT(run_health_of(run)->warm_up, asked ? 2 : 0);
        CHECK_INT(run_iteration_count(run), 3);
        CHECK_STR(run_fact(run, "input.resized"), "95..111 x 63");
        run_free(run);
    }
}

/* ---- arithmetic ------------------------------------------------------- */

/* 134.38 is torchvision's figure for 800 by 800 and 1000 proposals. */
TEST(a_run_counts_the_multiply_adds_that_torchvision_publishes)
{
    const char *photo = test_shared(
        "photos/decoder-corner-cases/fakedata_logos_rgb_pytorch.png");
    struct profile_options options = small_job("faster-rcnn", true);
    struct run *run;
    double macs = 0;

    if (!photo)
        SKIP("multiply-adds: ../shared/data/photos is missing");
    options.session.model.build.min_size =
        options.session.model.build.max_size = 800;
    options.session.n_threads = 2;
    run = record(&options, photo);
    CHECK_STR(run_fact(run, "content.proposals"), "1000");
    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        const struct scope_work *work = run_work(run, i);

        macs += work && !isnan(work->macs) ? work->macs : 0;
    }
    CHECK_NEAR(macs / 1e9, 134.38, 0.005);
    run_free(run);
}

/* ---- the balance ------------------------------------------------------ */

static const struct cell *find_cell(const struct run *run, uint32_t scope)
{
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (cell->scope == scope && !cell->is_outside)
            return cell;
    }
    return NULL;
}

static bool is_below(const struct run *run, uint32_t scope, uint32_t above)
{
    while (scope != RUN_NONE && scope != above)
        scope = run_scope(run, scope)->parent;
    return scope == above;
}

/* The self times below add up to the whole, to the nanosecond. */
static void check_sum(const struct run *run, uint32_t whole)
{
    int64_t sum = 0;

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (!cell->is_outside && is_below(run, cell->scope, whole))
            sum += cell->self_ns;
    }
    CHECK(sum > 0);
    CHECK_INT(sum, find_cell(run, whole)->total_ns);
}

/* The smallest share over the iterations: time that another process took in the
 * middle of one is not ours. */
static double least_residual(const struct run *run, uint32_t scope)
{
    const struct cell *cell = find_cell(run, scope);
    double least = 1;

    CHECK(cell && cell->n_points > 1);
    for (size_t i = 0; i < cell->n_points; i++)
        least = fmin(least, (double)cell->points[i].self_ns /
                                (double)cell->points[i].total_ns);
    return least;
}

static void check_books(const struct run *run)
{
    struct rows rows = {0};
    struct stages stages;
    struct balance balance;
    double sum;

    CHECK_STATUS(rows_build(run, &rows, &err), ASSAY_OK, &err);
    CHECK(stages_find(&rows, &stages));
    CHECK(balance_find(&rows, &balance));
    sum = stages.residual_ns;
    for (enum stage i = 0; i < N_STAGES; i++)
        sum += stages.ns[i];
    CHECK_NEAR(sum, stages.whole_ns, 1e-3);
    CHECK_NEAR(balance.ops_ns + balance.gaps_ns + balance.residual_ns,
               balance.model_ns, 1e-3);
    CHECK_NEAR(balance.model_ns, stages.ns[STAGE_MODEL], 1e-3);
    rows_release(&rows);
}

static void check_balance(bool is_plain, enum engine_detail detail)
{
    struct profile_options options = small_job("faster-rcnn", is_plain);
    uint32_t model;
    struct run *run;

    options.session.detail = detail;
    options.n_images = 6;
    options.n_warm_up = 1;
    run = record(&options, TEST_SOURCE_DIR "/assets/coffee.jpg");
    CHECK_STATUS(
        run_scope_find(run, RUN_ROOT, "model", "FasterRCNN", &model, &err),
        ASSAY_OK, &err);
    CHECK(model != RUN_NONE);
    check_sum(run, RUN_ROOT);
    check_sum(run, model);
    check_books(run);
    CHECK(least_residual(run, RUN_ROOT) <= 0.005);
    CHECK(least_residual(run, model) <= 0.005);
    run_free(run);
}

TEST(stages_and_ops_add_up_to_the_iteration_and_the_model)
{
    for (enum engine_detail i = ENGINE_LEAVES; i <= ENGINE_OPS; i++) {
        check_balance(true, i);
        check_balance(false, i);
    }
}
