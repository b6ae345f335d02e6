/* cli/metrics_subject.c - see metrics_subject.h. */
#include "cli/metrics_subject.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/vec.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/run_settings.h"

#include <string.h>

void metrics_subject_release(struct metrics_subject *subject)
{
    mem_free(subject->keys);
    assay_profiler_free(subject->profiler);
    feed_close(subject->feed);
    assay_model_free(subject->model);
}

/* A failure of the public interface, for those above. */
static enum assay_status
take(enum assay_status st, const struct assay_error *error, struct error *err)
{
    return st ? error_set(err, st, "%s", error->text) : ASSAY_OK;
}

static void say(void *context, const char *line)
{
    (void)context;
    message_note("%s", line);
}

/* ---- the models ----------------------------------------------------------
 */

static enum assay_status copy_shapes(const struct shape_list *list,
                                     struct assay_input_shape **out,
                                     struct error *err)
{
    struct assay_input_shape *shapes = mem_array(list->n, sizeof *shapes);

    *out = shapes;
    if (!shapes)
        return error_nomem(err, list->n * sizeof *shapes, "shapes of inputs");
    for (size_t i = 0; i < list->n; i++) {
        shapes[i].input = list->items[i].input;
        shapes[i].rank = list->items[i].shape.rank;
        memcpy(shapes[i].dims, list->items[i].shape.dims,
               sizeof shapes[i].dims);
    }
    return ASSAY_OK;
}

/* Those that `assay train` makes for the same settings. */
static struct synthetic_options
made_images(const struct metrics_settings *settings, const char *model,
            bool is_onnx)
{
    bool is_detector = !is_onnx && model_task(model) == TASK_DETECTION;
    int64_t n = settings->classes;

    return (struct synthetic_options){
        .width = (int)settings->min_size,
        .height = (int)settings->min_size,
        .n_classes = n > 0 ? (size_t)(n - is_detector) : 0,
        .seed = (uint64_t)settings->seed,
        .has_one = !is_detector,
    };
}

static enum assay_status load_model(const struct metrics_settings *settings,
                                    const struct assay_input_shape *shapes,
                                    const char *word, const char *weights,
                                    struct metrics_subject *subject,
                                    struct error *err)
{
    struct assay_model_options wanted = {
        .variant = metrics_variant(&settings->dataset),
        .classes = settings->classes,
        .batch = settings->batch,
        .min_size = settings->min_size,
        .seed = (uint64_t)settings->seed,
        .weights = weights,
        .has_no_weights = settings->has_no_weights,
        .threads = (int)settings->threads,
        .tell = say,
    };
    struct assay_error error = {0};
    struct synthetic_options made;
    const char *name;
    bool is_onnx;
    enum assay_status st = run_find_model(word, &name, &is_onnx, err);

    if (st)
        return st;
    made = made_images(settings, name, is_onnx);
    if (is_onnx) {
        wanted.shapes = shapes;
        wanted.n_shapes = settings->shapes.n;
    }
    st = take(assay_model_load(name, &wanted, &subject->model, &error), &error,
              err);
    return st ? st
              : metrics_open_feed(&settings->dataset, name, is_onnx, &made,
                                  subject->model, &subject->feed, err);
}

/* ---- the metrics ---------------------------------------------------------
 */

static enum assay_status set_argument(struct assay_profiler *profiler,
                                      const char *word, struct error *err)
{
    const char *sign = strchr(word, '=');
    struct assay_error error = {0};
    char *name;
    enum assay_status st;

    if (!sign || sign == word)
        return error_set(err, ASSAY_BAD_USAGE, "--set %s: NAME=VALUE is wanted",
                         word);
    name = mem_strndup(word, (size_t)(sign - word));
    if (!name)
        return error_nomem(err, strlen(word), "an argument");
    st =
        take(assay_profiler_set(profiler, name, sign + 1, &error), &error, err);
    if (st)
        error_context(err, "--set %s", word);
    mem_free(name);
    return st;
}

static enum assay_status open_profiler(const struct metrics_settings *settings,
                                       struct metrics_subject *subject,
                                       struct error *err)
{
    const struct assay_profiler_options wanted = {
        .iterations = (uint64_t)settings->iterations,
        .stop = interrupt_watch(),
        .warn = say,
    };
    unsigned flags = settings->is_override ? ASSAY_OVERRIDE : 0;
    struct assay_error error = {0};
    enum assay_status st = take(
        assay_profiler_new(subject->model, &wanted, &subject->profiler, &error),
        &error, err);

    if (!st && subject->feed)
        profiler_set_feed(subject->profiler, subject->feed);
    if (!st)
        st = take(assay_profiler_register_standard(subject->profiler, &error),
                  &error, err);
    if (!st)
        subject->n_standard = assay_profiler_count(subject->profiler);
    for (size_t i = 0; !st && i < settings->plugins.n; i++)
        st = take(assay_profiler_load_plugin(subject->profiler,
                                             settings->plugins.items[i], flags,
                                             &error),
                  &error, err);
    for (size_t i = 0; !st && i < settings->arguments.n; i++)
        st = set_argument(subject->profiler, settings->arguments.items[i], err);
    return st;
}

static enum assay_status add_key(struct metrics_subject *subject, size_t key,
                                 struct error *err)
{
    size_t *moved = vec_reserve(subject->keys, &subject->keys_capacity,
                                subject->n_keys + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a list of metrics");
    subject->keys = moved;
    subject->keys[subject->n_keys++] = key;
    return ASSAY_OK;
}

static enum assay_status find_key(const struct assay_profiler *profiler,
                                  const char *name, size_t n, size_t *key,
                                  struct error *err)
{
    char word[64];
    struct nearest nearest;

    snprintf(word, sizeof word, "%.*s", (int)n, name);
    nearest = nearest_to(word);
    for (size_t i = 0; i < assay_profiler_count(profiler); i++) {
        const char *known = assay_profiler_metric(profiler, i)->key;

        nearest_offer(&nearest, known);
        if (strcmp(known, word) == 0) {
            *key = i;
            return ASSAY_OK;
        }
    }
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no metric '%s'; did you mean '%s'?", word,
                         nearest.candidate);
    return error_set(err, ASSAY_BAD_USAGE,
                     "there is no metric '%s'; --notes names those that are",
                     word);
}

static enum assay_status compute_key(struct metrics_subject *subject,
                                     const char *name, size_t n,
                                     struct error *err)
{
    const struct assay_result *result;
    struct assay_error error = {0};
    size_t key = 0;
    enum assay_status st = find_key(subject->profiler, name, n, &key, err);

    if (st)
        return st;
    st = assay_profiler_compute(
        subject->profiler, assay_profiler_metric(subject->profiler, key)->key,
        0, &result, &error);
    if (!result || st == ASSAY_NOMEM)
        return take(st, &error, err);
    return add_key(subject, key, err);
}

/* The keys of --only, or all of them; what has no value says why. */
static enum assay_status compute(const struct metrics_settings *settings,
                                 struct metrics_subject *subject,
                                 struct error *err)
{
    const char *next = settings->only;
    struct assay_error error = {0};
    enum assay_status st = ASSAY_OK;

    if (!next)
        st = take(assay_profiler_compute_all(subject->profiler, 0, &error),
                  &error, err);
    for (size_t i = 0;
         !st && !next && i < assay_profiler_count(subject->profiler); i++)
        st = add_key(subject, i, err);
    while (!st && next && *next) {
        size_t n = strcspn(next, ",");

        if (n)
            st = compute_key(subject, next, n, err);
        next += next[n] ? n + 1 : n;
    }
    if (!st && !subject->n_keys)
        return error_set(err, ASSAY_BAD_USAGE, "--only names no metric");
    return st;
}

/* With a line on the screen that says how far the evaluation is. */
enum assay_status
metrics_subject_compute(const struct metrics_settings *settings,
                        struct metrics_subject *subject, struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress;
    enum assay_status st;

    if (!subject->feed)
        return compute(settings, subject, err);
    progress = progress_start(&screen, &term, clock_real(), "evaluating",
                              "images", feed_dataset(subject->feed)->n);
    feed_set_progress(subject->feed, &progress);
    st = compute(settings, subject, err);
    feed_set_progress(subject->feed, NULL);
    progress_finish(&progress);
    return st;
}

enum assay_status metrics_subject_open(const struct metrics_settings *settings,
                                       const char *word, const char *weights,
                                       struct metrics_subject *subject,
                                       struct error *err)
{
    struct assay_input_shape *shapes = NULL;
    struct shape_list list = {0};
    enum assay_status st = shapes_read(&settings->shapes, &list, err);

    if (!st)
        st = copy_shapes(&list, &shapes, err);
    if (!st)
        st = load_model(settings, shapes, word, weights, subject, err);
    if (!st)
        st = open_profiler(settings, subject, err);
    mem_free(shapes);
    shapes_release(&list);
    return st;
}
