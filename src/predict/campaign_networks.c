/* predict/campaign_networks.c - see campaign.h: the pruned networks. */
#include "predict/campaign.h"

#include "base/cache.h"
#include "base/str.h"
#include "formats/net/net.h"
#include "models/model_open.h"
#include "predict/campaign_names.h"
#include "predict/describe_graph.h"
#include "predict/torch_runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A network before it is pruned. */
struct network_source {
    struct pool *pool;
    struct graph *graph;
    bool is_filled; /* with random weights, to have norms to prune by */
};

static enum assay_status refuse_python(const char *name, struct error *err)
{
    return error_set(err, ASSAY_UNSUPPORTED,
                     "'%.80s' is a network written in Python; name the "
                     "function that makes it, as in my_models.py:make_net, or "
                     "use a built-in model, or a .net or .onnx file",
                     name);
}

/* Finds the file of a network in model_desc_dir, or named directly; *path stays
 * empty for a built-in model. */
static enum assay_status find_network_file(const struct campaign_config *config,
                                           const char *name, struct str *path,
                                           struct error *err)
{
    static const char *const endings[] = {".net", ".onnx", ".py"};
    const char *folder = config->create.model_desc_dir;

    if (str_ends_with(name, ".py"))
        return refuse_python(name, err);
    if (str_ends_with(name, ".net") || str_ends_with(name, ".onnx"))
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

static enum model_variant network_variant(const struct campaign_config *config)
{
    const char *dataset = config->has_profile ? config->profile.dataset : "";

    return strcmp(dataset, "cifar10") == 0    ? MODEL_CIFAR10
           : strcmp(dataset, "cifar100") == 0 ? MODEL_CIFAR100
                                              : MODEL_IMAGENET;
}

static enum assay_status build_network(const struct campaign_config *config,
                                       const char *name,
                                       struct network_source *source,
                                       struct error *err)
{
    const char *model = network_model(name);
    struct model_source built_in = {.name = model};
    int64_t side;
    struct shape shape;
    enum assay_status st;

    if (!model_is_classifier(&built_in))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s is a detector; a campaign measures classifiers",
                         model);
    built_in.build = model_options_for(model, network_variant(config));
    side = built_in.build.image_size;
    shape = shape_of(4, (int64_t)-1, (int64_t)3, side, side);
    st = model_open(&built_in, source->pool, &source->graph, err);
    if (!st)
        graph_declare_input(source->graph, graph_input_at(source->graph, 0),
                            &shape);
    return st;
}

/* The file of "my_models.py:make_net" is there. */
static enum assay_status check_source(const char *source, struct error *err)
{
    struct str path = {0};
    enum assay_status st =
        str_append_n(&path, source, (size_t)(strrchr(source, ':') - source))
            ? error_nomem(err, 64, "a path")
            : ASSAY_OK;

    if (!st && access(path.text, R_OK) != 0)
        st = error_errno(err, errno, "opening the network %s", path.text);
    str_release(&path);
    return st;
}

/* Through an ONNX file that nobody else sees. */
static enum assay_status export_network(const struct campaign_config *config,
                                        const char *source,
                                        struct network_source *out,
                                        struct error *err)
{
    int64_t side = network_variant(config) == MODEL_IMAGENET ? 224 : 32;
    char path[] = "/tmp/assay-export-XXXXXX";
    int file = config->torch ? mkstemp(path) : -1;
    enum assay_status st;

    if (!config->torch)
        return refuse_python(source, err);
    if (file < 0)
        return error_errno(err, errno, "making a file in /tmp");
    close(file);
    st = torch_export(config->torch, source, side, path, err);
    if (!st)
        st = model_open(&(struct model_source){.name = path, .is_file = true},
                        out->pool, &out->graph, err);
    unlink(path);
    /* Not that of the file, by which nobody would know it again. */
    if (!st)
        st =
            graph_set_name(out->graph, strrchr(source, ':') + 1, "Module", err);
    return st;
}

static enum assay_status open_network(const struct campaign_config *config,
                                      const char *name,
                                      struct network_source *source,
                                      struct error *err)
{
    struct str path = {0};
    enum assay_status st = pool_new(&source->pool, err);

    if (!st && !torch_is_source(name))
        st = find_network_file(config, name, &path, err);
    if (!st && torch_is_source(name))
        st = export_network(config, name, source, err);
    else if (!st && path.n)
        st = model_open(
            &(struct model_source){.name = path.text, .is_file = true},
            source->pool, &source->graph, err);
    else if (!st)
        st = build_network(config, name, source, err);
    str_release(&path);
    if (!st && graph_input_count(source->graph) != 1)
        st = error_set(
            err, ASSAY_UNSUPPORTED,
            "%s has %zu inputs; a campaign measures networks with one input",
            name, graph_input_count(source->graph));
    source->is_filled =
        !st && config->mode == PRUNE_L1 && !graph_has_data(source->graph);
    if (source->is_filled)
        st = model_fill(source->graph, source->pool,
                        (uint64_t)config->create.seed, err);
    return st;
}

/* Saves the network at a level to a file. Level 0 is the network itself, which
 * exists even if it cannot be pruned. */
static enum assay_status save_pruned(const struct campaign_config *config,
                                     const struct network_source *source,
                                     const char *name, int64_t level,
                                     int64_t repeat, const char *path,
                                     struct error *err)
{
    struct prune_options options = {
        .percent = (double)level,
        .mode = config->mode,
        .seed = (uint64_t)(config->create.seed + repeat)};
    struct shape shape = describe_image(source->graph);
    struct prune_report report = {0};
    struct survey survey = {0};
    struct net_notes notes = {.survey = &survey,
                              .has_no_weights = source->is_filled};
    struct graph *pruned = NULL;
    const struct graph *graph = source->graph;
    char note[160];
    enum assay_status st = ASSAY_OK;

    if (level) {
        st = graph_prune(source->graph, &shape, &options, source->pool, &pruned,
                         &report, err);
        graph = pruned;
    }
    if (!st)
        st = survey_graph(&survey, graph, &shape, err);
    snprintf(note, sizeof note,
             "%.60s without %lld %% of its filters (seed "
             "%lld)",
             name, (long long)level, (long long)options.seed);
    notes.text = note;
    if (!st)
        st = net_save(graph, path, &notes, err);
    survey_release(&survey);
    prune_report_release(&report);
    graph_free(pruned);
    return st;
}

/* ---- all of them -------------------------------------------------------- */

/* The files of one network, one per level and repeat. */
struct making {
    const struct campaign_config *config;
    const struct campaign_listener *listener;
    const char *name;
    struct network_source source;
    struct str path;
};

static size_t count_repeats(const struct campaign_config *config)
{
    return config->mode == PRUNE_RANDOM_WEIGHTED
               ? (size_t)config->create.repeats
               : 1;
}

static size_t count_files(const struct campaign_config *config)
{
    return config->create.pruning_perc.n * count_repeats(config);
}

static int64_t level_of(const struct making *making, size_t file)
{
    const struct campaign_config *config = making->config;

    return config->create.pruning_perc.items[file / count_repeats(config)];
}

static int64_t repeat_of(const struct making *making, size_t file)
{
    return (int64_t)(file % count_repeats(making->config));
}

/* Sets the path of a file, and checks whether it exists. */
static enum assay_status find_made(struct making *making, size_t file,
                                   bool *is_made, struct error *err)
{
    enum assay_status st =
        network_file_name(making->config, making->name, level_of(making, file),
                          repeat_of(making, file), &making->path, err);

    *is_made = !st && access(making->path.text, F_OK) == 0;
    return st;
}

/* Passes over a network that cannot be made; level -1: at any level. */
static enum assay_status leave_out_network(const struct making *making,
                                           int64_t level, enum assay_status st,
                                           struct error *why, struct error *err)
{
    const struct campaign_listener *listener = making->listener;
    /* Then others can still be made. */
    bool is_of_network = st == ASSAY_UNSUPPORTED || st == ASSAY_BAD_INPUT ||
                         st == ASSAY_BAD_USAGE;

    if (is_of_network && listener && listener->left_out) {
        listener->left_out(listener->context, making->name, level, why->text);
        return ASSAY_OK;
    }
    if (level >= 0)
        error_context(why, "%s at %lld %%", making->name, (long long)level);
    if (err)
        *err = *why;
    return st;
}

static enum assay_status make_file(struct making *making, size_t file,
                                   struct error *err)
{
    int64_t level = level_of(making, file);
    struct error why = {0};
    enum assay_status st = cache_make_folders(making->path.text, err);

    if (st)
        return st;
    st = save_pruned(making->config, &making->source, making->name, level,
                     repeat_of(making, file), making->path.text, &why);
    if (st)
        return leave_out_network(making, level, st, &why, err);
    if (making->listener && making->listener->made)
        making->listener->made(making->listener->context, making->path.text);
    return ASSAY_OK;
}

static enum assay_status make_network(struct making *making, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    size_t n = count_files(making->config);

    for (size_t i = 0; !st && i < n; i++) {
        bool is_made;

        st = find_made(making, i, &is_made, err);
        if (st || is_made)
            continue;
        if (!making->source.graph) {
            struct error why = {0};

            st = open_network(making->config, making->name, &making->source,
                              &why);
            if (st)
                return leave_out_network(making, -1, st, &why, err);
        }
        st = make_file(making, i, err);
    }
    return st;
}

/* Checks that a name is a network, if any of its files must be made. */
static enum assay_status check_network_name(struct making *making,
                                            struct error *err)
{
    bool is_made = true;
    struct str file = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && is_made && i < count_files(making->config); i++)
        st = find_made(making, i, &is_made, err);
    if (st || is_made)
        return st;
    if (torch_is_source(making->name))
        return check_source(making->name, err);
    st = find_network_file(making->config, making->name, &file, err);
    if (!st && file.n && access(file.text, R_OK) != 0)
        st = error_errno(err, errno, "opening the network %s", file.text);
    else if (!st && !file.n && !model_full_name(network_model(making->name)))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "unknown network '%.60s': it is neither a built-in "
                       "model nor a .net or .onnx file in model_desc_dir",
                       making->name);
    str_release(&file);
    return st;
}

enum assay_status
campaign_make_networks(const struct campaign_config *config,
                       const struct campaign_listener *listener,
                       struct error *err)
{
    const struct config_texts *networks = &config->create.networks;
    struct making making = {.config = config, .listener = listener};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < networks->n; i++) {
        making.name = networks->items[i];
        st = check_network_name(&making, err);
    }
    for (size_t i = 0; !st && i < networks->n; i++) {
        making.name = networks->items[i];
        st = make_network(&making, err);
        graph_free(making.source.graph);
        pool_free(making.source.pool);
        making.source = (struct network_source){0};
    }
    str_release(&making.path);
    return st;
}
