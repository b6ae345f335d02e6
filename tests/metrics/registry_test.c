/* Which function computes which key. */
#include "metrics/registry_internal.h"

#include "base/mem.h"
#include "test.h"

#include <string.h>

static enum assay_status compute(void *context,
                                 const struct assay_metric_input *input,
                                 double *values, struct assay_error *error)
{
    (void)context, (void)input, (void)values, (void)error;
    return ASSAY_OK;
}

static const struct assay_metric a_and_b[] = {
    {"a", "A", "the first", NULL, ASSAY_COMPARE_NONE},
    {"b", "B", "the second", NULL, ASSAY_COMPARE_NONE}};

static const struct assay_metric_function both = {
    .name = "both", .metrics = a_and_b, .n_metrics = 2, .compute = compute};
static const struct assay_metric_function only_b = {.name = "only_b",
                                                    .metrics = &a_and_b[1],
                                                    .n_metrics = 1,
                                                    .compute = compute};
static const struct assay_metric_function b_again = {.name = "b_again",
                                                     .metrics = &a_and_b[1],
                                                     .n_metrics = 1,
                                                     .compute = compute};

/* Registers functions in turn; warnings go to text. */
struct scene {
    struct registry registry;
    struct str text;
    struct sink warnings;
    struct error err;
};

static enum assay_status add(struct scene *scene,
                             const struct assay_metric_function *function,
                             bool is_override)
{
    scene->warnings = sink_to_str(&scene->text);
    scene->err = (struct error){0};
    return registry_add(
        &scene->registry,
        &(struct registered){.function = function, .is_override = is_override},
        &scene->warnings, &scene->err);
}

static const char *owner(const struct scene *scene, const char *key)
{
    size_t at = registry_find(&scene->registry, key);

    return at == SIZE_MAX
               ? "nobody"
               : scene->registry.functions[scene->registry.keys[at].function]
                     .function->name;
}

static void scene_release(struct scene *scene)
{
    registry_release(&scene->registry);
    str_release(&scene->text);
}

TEST(a_later_function_takes_a_key_with_a_warning)
{
    struct scene scene = {0};

    CHECK_INT(add(&scene, &both, false), ASSAY_OK);
    CHECK_STR(str_text(&scene.text), "");
    CHECK_INT(add(&scene, &only_b, false), ASSAY_OK);
    CHECK_STR(str_text(&scene.text), "metric 'b': 'only_b' replaces 'both'\n");
    CHECK_STR(owner(&scene, "a"), "both");
    CHECK_STR(owner(&scene, "b"), "only_b");
    CHECK_INT(scene.registry.n_keys, 2);
    scene_release(&scene);
}

TEST(an_override_takes_a_key_for_good_without_a_warning)
{
    struct scene scene = {0};

    CHECK_INT(add(&scene, &both, false), ASSAY_OK);
    CHECK_INT(add(&scene, &only_b, true), ASSAY_OK);
    CHECK_STR(str_text(&scene.text), "");
    CHECK_INT(add(&scene, &b_again, false), ASSAY_OK);
    CHECK_STR(owner(&scene, "b"), "only_b");
    CHECK_HAS(str_text(&scene.text), "'b_again' is ignored");
    scene_release(&scene);
}

TEST(two_overrides_of_a_key_are_an_error_that_names_both)
{
    struct scene scene = {0};

    CHECK_INT(add(&scene, &only_b, true), ASSAY_OK);
    CHECK_INT(add(&scene, &both, true), ASSAY_BAD_USAGE);
    CHECK_STR(scene.err.text, "metric 'b': both 'only_b' and 'both' override "
                              "it; only one can");
    CHECK_STR(owner(&scene, "a"), "nobody");
    CHECK_INT(scene.registry.n_functions, 1);
    scene_release(&scene);
}

TEST(invalid_functions_are_refused)
{
    static const struct assay_unit no_scale[] = {{"x", 0, 0}, {0}};
    static const struct assay_metric bad[] = {
        {"Not A Key", "A", "d", NULL, ASSAY_COMPARE_NONE},
        {"c", NULL, "d", NULL, ASSAY_COMPARE_NONE},
        {"c", "C", "d", no_scale, ASSAY_COMPARE_NONE},
        {"c", "C", "d", NULL, (enum assay_comparison)9},
    };
    static const char *const parts[] = {"a-z, 0-9 and _", "has no name",
                                        "scale 0", "unknown comparison"};
    struct scene scene = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct assay_metric_function function = {.name = "bad",
                                                       .metrics = &bad[i],
                                                       .n_metrics = 1,
                                                       .compute = compute};

        CHECK_INT(add(&scene, &function, false), ASSAY_BAD_INPUT);
        CHECK_HAS(scene.err.text, parts[i]);
    }
    CHECK_INT(
        add(&scene, &(struct assay_metric_function){.name = "bare"}, false),
        ASSAY_BAD_INPUT);
    CHECK_HAS(scene.err.text, "lacks a compute function");
    scene_release(&scene);
}

TEST(a_key_twice_in_one_function_is_refused)
{
    const struct assay_metric twice[] = {a_and_b[0], a_and_b[0]};
    const struct assay_metric_function function = {
        .name = "twice", .metrics = twice, .n_metrics = 2, .compute = compute};
    struct scene scene = {0};

    CHECK_INT(add(&scene, &function, false), ASSAY_BAD_INPUT);
    CHECK_HAS(scene.err.text, "'a' twice");
    scene_release(&scene);
}

TEST(a_function_with_unknown_needs_is_refused)
{
    struct assay_metric_function function = both;
    struct scene scene = {0};

    function.needs = 1u << 9;
    CHECK_INT(add(&scene, &function, false), ASSAY_UNSUPPORTED);
    CHECK_HAS(scene.err.text, "has unknown needs");
    scene_release(&scene);
}

TEST(registering_without_memory_leaves_nothing_half_done)
{
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct scene scene = {0};

        mem_fail_at(nth++);
        st = add(&scene, &both, false);
        mem_fail_at(-1);
        CHECK_INT(scene.registry.n_keys, st ? 0 : 2);
        CHECK_INT(scene.registry.n_functions, st ? 0 : 1);
        scene_release(&scene);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
}
