/* How often a comparison errs, on simulated runs with a known answer.
 *
 * Every case is several hundred whole comparisons of a tree of 150 scopes with
 * fixed seeds. Where both sides draw from the same distribution, at most 5 %
 * may find anything; where one layer is 5 % slower, at least 95 % must name
 * it. */
#include "base/random.h"
#include "run/compare.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n_stages = 3, n_blocks = 4, n_layers = 11, most_runs = 8 };
enum { n_leaves = n_stages * n_blocks * n_layers };

enum noise { NORMAL, LOGNORMAL, OUTLIERS };

/* How the runs of a case are made. Shares: 0.03 is 3 %. */
struct world {
    enum noise noise;
    size_t n_runs;         /* per side */
    uint32_t n_iterations; /* per run; A's if B's differ */
    uint32_t n_iterations_b;
    double layer_noise;      /* of an iteration of a layer */
    double layer_memory;     /* its correlation with the iteration before */
    double wobble;           /* of an iteration as a whole */
    double wobble_memory;    /* its correlation with the iteration before */
    double drift;            /* from the first iteration to the last */
    double run_effect;       /* of a run as a whole */
    double run_layer_effect; /* of a layer in a run */
    double slower;           /* the planted layer in B */
};

struct layer {
    uint32_t scope;
    double ns, state;
};

struct model {
    struct run *run;
    struct layer layers[n_leaves];
    uint32_t stages[n_stages], blocks[n_stages][n_blocks];
};

static uint32_t add_scope(struct run *run, uint32_t parent, const char *format,
                          int i)
{
    char name[32];
    uint32_t id;

    snprintf(name, sizeof name, format, i);
    CHECK_INT(run_scope_add(run, parent, name, NULL, &id, NULL), ASSAY_OK);
    return id;
}

static void count(struct run *run, uint32_t scope, uint32_t iteration,
                  double ns)
{
    struct sample sample = {.scope = scope,
                            .iteration = iteration,
                            .duration_ns = llround(ns),
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
}

/* Layers of 50 us to 2 ms, the same in every run. */
static void build(struct model *model)
{
    struct random random = random_seed(1);
    struct layer *layer = model->layers;
    uint32_t thread;

    CHECK_INT(run_new(&model->run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(model->run, "main", THREAD_CPU, &thread, NULL),
              ASSAY_OK);
    for (int s = 0; s < n_stages; s++) {
        model->stages[s] = add_scope(model->run, RUN_ROOT, "stage%d", s);
        for (int b = 0; b < n_blocks; b++) {
            model->blocks[s][b] =
                add_scope(model->run, model->stages[s], "block%d", b);
            for (int l = 0; l < n_layers; l++, layer++) {
                layer->scope =
                    add_scope(model->run, model->blocks[s][b], "conv%d", l);
                layer->ns = 5e4 * exp(random_unit(&random) * log(40));
                layer->state = NAN;
            }
        }
    }
}

/* One value of an AR(1) series with variance 1; NaN starts it. */
static double next_state(struct random *random, double state, double memory)
{
    double fresh = random_normal(random);

    return isnan(state) ? fresh
                        : memory * state + sqrt(1 - memory * memory) * fresh;
}

static double draw(const struct world *world, struct random *random,
                   struct layer *layer)
{
    double factor;

    layer->state = next_state(random, layer->state, world->layer_memory);
    if (world->noise == NORMAL)
        factor = fmax(0.1, 1 + world->layer_noise * layer->state);
    else
        factor = exp(world->layer_noise * layer->state);
    if (world->noise == OUTLIERS && random_unit(random) < 0.08)
        factor *= 1 + random_unit(random) / fmax(0.02, random_unit(random));
    return layer->ns * factor;
}

static void run_iteration_draw(struct model *model, const struct world *world,
                               struct random *random, uint32_t iteration,
                               double factor)
{
    struct layer *layer = model->layers;
    double whole = 0;

    for (int s = 0; s < n_stages; s++) {
        double stage = 0;

        for (int b = 0; b < n_blocks; b++) {
            double block = 500;

            for (int l = 0; l < n_layers; l++, layer++) {
                double ns = factor * draw(world, random, layer);

                count(model->run, layer->scope, iteration, ns);
                block += ns;
            }
            count(model->run, model->blocks[s][b], iteration, block);
            stage += block;
        }
        count(model->run, model->stages[s], iteration, stage + 800);
        whole += stage + 800;
    }
    count(model->run, RUN_ROOT, iteration, whole + 1000);
}

static struct run *simulate(const struct world *world, struct random *random,
                            uint32_t n_iterations, size_t planted,
                            double slower)
{
    struct model *model = malloc(sizeof *model);
    double wobble = NAN;
    double run_factor = exp(world->run_effect * random_normal(random));
    struct run *run;

    build(model);
    model->layers[planted].ns *= 1 + slower;
    for (size_t i = 0; i < n_leaves && world->run_layer_effect > 0; i++)
        model->layers[i].ns *=
            exp(world->run_layer_effect * random_normal(random));
    for (uint32_t i = 0; i < n_iterations; i++) {
        double factor = run_factor * (1 + world->drift * i / n_iterations);

        wobble = next_state(random, wobble, world->wobble_memory);
        run_iteration_draw(model, world, random, i,
                           factor * exp(world->wobble * wobble));
    }
    run = model->run;
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    free(model);
    return run;
}

struct outcome {
    bool is_flagged; /* anything */
    bool is_named;   /* the planted layer, as a cause */
    size_t n_others; /* causes that are neither it nor around it */
};

static struct outcome compare_once(const struct world *world,
                                   struct random *random)
{
    size_t planted = (size_t)random_below(random, n_leaves);
    uint32_t n_b =
        world->n_iterations_b ? world->n_iterations_b : world->n_iterations;
    const struct run *a[most_runs], *b[most_runs];
    struct compare_side side_a = {a, world->n_runs};
    struct compare_side side_b = {b, world->n_runs};
    struct outcome outcome = {0};
    struct comparison *comparison;
    struct str path = {0};
    char wanted[64];

    for (size_t i = 0; i < world->n_runs; i++) {
        a[i] = simulate(world, random, world->n_iterations, planted, 0);
        b[i] = simulate(world, random, n_b, planted, world->slower);
    }
    snprintf(wanted, sizeof wanted, "stage%zu.block%zu.conv%zu",
             planted / n_layers / n_blocks, planted / n_layers % n_blocks,
             planted % n_layers);
    CHECK_INT(compare_new(&side_a, &side_b, &(struct compare_options){0},
                          &comparison, NULL),
              ASSAY_OK);
    for (size_t i = 0; i < compare_row_count(comparison); i++) {
        const struct compare_row *row = compare_row(comparison, i);

        outcome.is_flagged |= row->is_significant;
        CHECK((row->low > 1 || row->high < 1) == row->is_significant);
        if (!row->is_cause)
            continue;
        str_clear(&path);
        CHECK_INT(compare_row_path(comparison, i, &path), ASSAY_OK);
        if (strcmp(path.text, wanted) == 0 && row->ratio > 1)
            outcome.is_named = true;
        else
            outcome.n_others++;
    }
    compare_free(comparison);
    str_release(&path);
    for (size_t i = 0; i < world->n_runs; i++) {
        run_free((struct run *)a[i]);
        run_free((struct run *)b[i]);
    }
    return outcome;
}

/* Whole comparisons that flagged anything, or that named the layer. */
static double hit_share(const struct world *world, size_t times, uint64_t seed)
{
    struct random random = random_seed(seed);
    size_t hits = 0;

    if (TEST_IS_SANITIZED)
        times /= 10;
    for (size_t i = 0; i < times; i++) {
        struct outcome outcome = compare_once(world, &random);

        hits += world->slower > 0 ? outcome.is_named : outcome.is_flagged;
    }
    printf("%zu of %zu\n", hits, times);
    return (double)hits / (double)times;
}

static void check_quiet(const struct world *world, size_t times)
{
    CHECK(hit_share(world, times, 20) <= 0.05);
}

static void check_named(const struct world *world, size_t times)
{
    CHECK(hit_share(world, times, 21) >= 0.95);
}

TEST(alike_sides_are_quiet_with_normal_noise)
{
    check_quiet(&(struct world){.noise = NORMAL,
                                .n_runs = 1,
                                .n_iterations = 50,
                                .layer_noise = 0.03},
                300);
}

TEST(alike_sides_are_quiet_with_skewed_noise_in_few_iterations)
{
    check_quiet(&(struct world){.noise = LOGNORMAL,
                                .n_runs = 1,
                                .n_iterations = 8,
                                .layer_noise = 0.2},
                300);
}

TEST(alike_sides_are_quiet_with_outliers_and_unequal_lengths)
{
    check_quiet(&(struct world){.noise = OUTLIERS,
                                .n_runs = 1,
                                .n_iterations = 50,
                                .n_iterations_b = 15,
                                .layer_noise = 0.03},
                300);
}

TEST(alike_sides_are_quiet_when_iterations_resemble_their_neighbours)
{
    check_quiet(&(struct world){.noise = LOGNORMAL,
                                .n_runs = 1,
                                .n_iterations = 50,
                                .layer_noise = 0.03,
                                .layer_memory = 0.4,
                                .wobble = 0.01,
                                .wobble_memory = 0.6},
                300);
}

TEST(alike_sides_are_quiet_when_both_drift)
{
    check_quiet(&(struct world){.noise = NORMAL,
                                .n_runs = 1,
                                .n_iterations = 50,
                                .layer_noise = 0.02,
                                .drift = 0.03},
                200);
}

TEST(alike_sides_are_quiet_when_every_run_has_its_own_speed)
{
    check_quiet(&(struct world){.noise = NORMAL,
                                .n_runs = 2,
                                .n_iterations = 20,
                                .layer_noise = 0.03,
                                .run_effect = 0.02},
                300);
    check_quiet(&(struct world){.noise = NORMAL,
                                .n_runs = 5,
                                .n_iterations = 10,
                                .layer_noise = 0.03,
                                .run_effect = 0.02},
                200);
}

TEST(alike_sides_are_quiet_when_layers_differ_from_run_to_run)
{
    check_quiet(&(struct world){.noise = LOGNORMAL,
                                .n_runs = 3,
                                .n_iterations = 20,
                                .layer_noise = 0.03,
                                .run_effect = 0.01,
                                .run_layer_effect = 0.01},
                200);
}

TEST(a_layer_five_percent_slower_is_named)
{
    check_named(&(struct world){.noise = LOGNORMAL,
                                .n_runs = 1,
                                .n_iterations = 50,
                                .layer_noise = 0.03,
                                .slower = 0.05},
                200);
}

TEST(a_slower_layer_is_named_on_an_unsteady_machine)
{
    check_named(&(struct world){.noise = LOGNORMAL,
                                .n_runs = 1,
                                .n_iterations = 50,
                                .layer_noise = 0.025,
                                .wobble = 0.02,
                                .slower = 0.05},
                200);
}

TEST(a_slower_layer_is_named_over_several_runs)
{
    check_named(&(struct world){.noise = LOGNORMAL,
                                .n_runs = 5,
                                .n_iterations = 20,
                                .layer_noise = 0.03,
                                .run_effect = 0.005,
                                .run_layer_effect = 0.005,
                                .slower = 0.05},
                100);
}
