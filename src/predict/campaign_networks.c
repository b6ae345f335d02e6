/* predict/campaign_networks.c - see campaign.h: the pruned networks. */
#include "predict/campaign.h"

#include "base/cache.h"
#include "detect/recipe.h"
#include "formats/model_file.h"
#include "formats/net.h"
#include "models/models.h"
#include "predict/campaign_names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A network before it is pruned. */
struct source {
    struct pool *pool;
    struct graph *graph;
    bool is_filled; /* with random weights, for their norms */
};

static void source_release(struct source *source)
{
    graph_free(source->graph);
    pool_free(source->pool);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), n_ending = strlen(ending);

    return n > n_ending && strcmp(text + n - n_ending, ending) == 0;
}

static enum assay_status refuse_python(const char *name, struct error *err)
{
    return error_set(err, ASSAY_UNSUPPORTED,
                     "'%.80s' is a network written in Python, which is not "
                     "run here; name a built-in model, or a .net or .onnx file",
                     name);
}

/* The file of a network in model_desc_dir, or a name that is a file; *path
 * stays empty for a built-in model. */
static enum assay_status find_file(const struct campaign_config *config,
                                   const char *name, struct str *path,
                                   struct error *err)
{
    static const char *const endings[] = {".net", ".onnx", ".py"};
    const char *folder = config->create.model_desc_dir;

    if (ends_with(name, ".py"))
        return refuse_python(name, err);
    if (ends_with(name, ".net") || ends_with(name, ".onnx"))
        return str_append(path, name) ? error_nomem(err, 64, "a path")
                                      : ASSAY_OK;
    for (size_t i = 0; folder && i < sizeof endings / sizeof *endings; i++) {
        str_clear(path);
        if (str_printf(path, "%s/%s%s", folder, name, endings[i]))
            return error_nomem(err, 64, "a path");
        if (access(path->text, F_OK) != 0)
            continue;
        if (i == 2 && !model_full_name(network_model(name)))
            return refuse_python(path->text, err);
        if (i < 2)
            return ASSAY_OK;
    }
    str_clear(path);
    return ASSAY_OK;
}

static enum model_variant variant_of(const struct campaign_config *config)
{
    const char *dataset = config->has_profile ? config->profile.dataset : "";

    return strcmp(dataset, "cifar10") == 0    ? MODEL_CIFAR10
           : strcmp(dataset, "cifar100") == 0 ? MODEL_CIFAR100
                                              : MODEL_IMAGENET;
}

static enum assay_status build(const struct campaign_config *config,
                               const char *name, struct source *source,
                               struct error *err)
{
    const char *model = network_model(name);
    struct model_options options;
    int64_t side;
    struct shape shape;
    enum assay_status st;

    if (!model_full_name(model))
        return error_set(err, ASSAY_BAD_INPUT,
                         "there is no network '%.60s': neither a built-in "
                         "model nor a .net or .onnx file of model_desc_dir",
                         name);
    if (model_task(model) != TASK_CLASSIFICATION)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s is a detector; a campaign measures classifiers",
                         model);
    options = model_options_for(model, variant_of(config));
    side = options.image_size;
    shape = shape_of(4, (int64_t)-1, (int64_t)3, side, side);
    st = model_build(model, &options, &source->graph, err);
    if (!st)
        graph_declare_input(source->graph, graph_input_at(source->graph, 0),
                            &shape);
    return st;
}

static enum assay_status open_source(const struct campaign_config *config,
                                     const char *name, struct source *source,
                                     struct error *err)
{
    const struct onnx_options none = {0};
    struct str path = {0};
    enum assay_status st = pool_new(&source->pool, err);

    if (!st)
        st = find_file(config, name, &path, err);
    if (!st && path.n)
        st = model_file_load(path.text, &none, source->pool, &source->graph,
                             err);
    else if (!st)
        st = build(config, name, source, err);
    str_release(&path);
    if (!st && graph_input_count(source->graph) != 1)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "%s has %zu inputs; a campaign measures networks with "
                       "one",
                       name, graph_input_count(source->graph));
    source->is_filled =
        !st && config->mode == PRUNE_L1 && !graph_has_data(source->graph);
    if (source->is_filled)
        st = model_fill(source->graph, source->pool,
                        (uint64_t)config->create.seed, err);
    return st;
}

/* Free sizes are settled for one image. */
static struct shape one_image(const struct graph *graph)
{
    struct shape shape =
        graph_input_shape(graph, 0)
            ? *graph_input_shape(graph, 0)
            : shape_of(4, (int64_t)1, (int64_t)3, (int64_t)224, (int64_t)224);

    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = i ? 224 : 1;
    }
    return shape;
}

static enum assay_status prune_to(const struct campaign_config *config,
                                  const struct source *source, const char *name,
                                  int64_t level, int64_t repeat,
                                  const char *path, struct error *err)
{
    struct prune_options options = {
        .percent = (double)level,
        .mode = config->mode,
        .seed = (uint64_t)(config->create.seed + repeat)};
    struct shape shape = one_image(source->graph);
    struct prune_report report = {0};
    struct survey survey = {0};
    struct net_notes notes = {.survey = &survey};
    struct graph *pruned = NULL;
    char note[160];
    enum assay_status st = graph_prune(source->graph, &shape, &options,
                                       source->pool, &pruned, &report, err);

    if (!st)
        st = survey_graph(&survey, pruned, &shape, err);
    snprintf(note, sizeof note,
             "%.60s without %lld %% of its filters (seed "
             "%lld)",
             name, (long long)level, (long long)options.seed);
    notes.text = note;
    for (uint32_t i = 0;
         !st && source->is_filled && i < graph_value_count(pruned);
         i++) { /* they were only there to be compared */
        if (graph_value(pruned, i)->kind != VALUE_CONSTANT)
            graph_release_data(pruned, i);
    }
    if (!st)
        st = net_save(pruned, path, &notes, err);
    if (st)
        error_context(err, "%s at %lld %%", name, (long long)level);
    survey_release(&survey);
    prune_report_release(&report);
    graph_free(pruned);
    return st;
}

enum assay_status campaign_make_networks(const struct campaign_config *config,
                                         void (*made)(void *context,
                                                      const char *path),
                                         void *context, struct error *err)
{
    const struct create_config *create = &config->create;
    int64_t repeats =
        config->mode == PRUNE_RANDOM_WEIGHTED ? create->repeats : 1;
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < create->networks.n; i++) {
        const char *name = create->networks.items[i];
        struct source source = {0};

        for (size_t k = 0; !st && k < create->pruning_perc.n * (size_t)repeats;
             k++) {
            int64_t level = create->pruning_perc.items[k / (size_t)repeats];
            int64_t repeat = (int64_t)(k % (size_t)repeats);

            st = network_file_name(config, name, level, repeat, &path, err);
            if (!st && access(path.text, F_OK) == 0)
                continue;
            if (!st && !source.graph)
                st = open_source(config, name, &source, err);
            if (!st)
                st = cache_make_folders(path.text, err);
            if (!st)
                st = prune_to(config, &source, name, level, repeat, path.text,
                              err);
            if (!st && made)
                made(context, path.text);
        }
        source_release(&source);
    }
    str_release(&path);
    return st;
}
