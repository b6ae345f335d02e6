/* cli/campaign_learn.c - see campaign_learn.h. */
#include "cli/campaign_learn.h"

#include "base/cache.h"
#include "cli/fingerprint_show.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "predict/fingerprint_eval.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* "resnet50:0,30,resnet18:0,30" */
static enum assay_status select_rows(const struct config_texts *networks,
                                     const struct config_numbers *levels,
                                     struct selection *selection,
                                     struct error *err)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < networks->n; i++) {
        st = str_printf(&text, "%s%s", i ? "," : "", networks->items[i]);
        for (size_t k = 0; !st && k < levels->n; k++)
            st = str_printf(&text, "%s%lld", k ? "," : ":",
                            (long long)levels->items[k]);
    }
    if (st)
        st = error_nomem(err, text.n, "a selection");
    else if (text.n)
        st = selection_parse(selection, text.text, err);
    str_release(&text);
    return st;
}

static enum assay_status read_folders(const struct config_texts *folders,
                                      struct data_set *set, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < folders->n; i++)
        st = data_set_read(set, folders->items[i], err);
    return st;
}

/* The folders of both kinds, or the campaign's own; what no model is wanted
 * for is left out. */
static enum assay_status read_logs(const struct campaign_config *config,
                                   const struct config_texts *memory,
                                   const struct config_texts *latency,
                                   struct data_set *set, struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    const char *own = config->profile.log_dir;
    struct config_texts folder = {&own, 1};
    enum assay_status st = read_folders(memory, set, err);

    if (!st &&
        (memory->n != latency->n ||
         (memory->n && strcmp(memory->items[0], latency->items[0]) != 0)))
        st = read_folders(latency, set, err);
    if (!st && !memory->n && !latency->n && !own)
        return error_set(err, ASSAY_BAD_INPUT,
                         "[fingerprint] names no memory_logs or latency_logs");
    if (!st && !memory->n && !latency->n)
        st = read_folders(&folder, set, err);
    for (size_t i = 0; !st && i < set->n_rows; i++) {
        if (!wanted->memory_model)
            set->rows[i].value[TARGET_MEMORY] = (double)NAN;
        if (!wanted->latency_model)
            set->rows[i].value[TARGET_LATENCY] = (double)NAN;
    }
    if (!st && set->n_undescribed)
        message_note("%zu rows are left out, for their networks have no "
                     "layers: %s",
                     set->n_undescribed, str_text(&set->undescribed));
    return st;
}

static enum assay_status fingerprint_path(const struct campaign_config *config,
                                          struct str *path, struct error *err)
{
    const char *folder = config->profile.log_dir;
    const char *device = config->profile.device;

    return str_printf(path, "%s%s%s.fp", folder ? folder : "",
                      folder ? "/" : "", device ? device : "device")
               ? error_nomem(err, 64, "a path")
               : ASSAY_OK;
}

static enum assay_status fit(const struct campaign_config *config,
                             int n_threads, const char *path, struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    struct fingerprint_options how = {.device = config->profile.device,
                                      .method = N_METHODS,
                                      .n_threads = n_threads};
    struct fingerprint *fingerprint = NULL;
    struct selection selection = {0};
    struct data_set set = {0};
    struct result result;
    enum assay_status st =
        select_rows(&wanted->train_nets, &wanted->train_logs, &selection, err);

    if (!st)
        st = read_logs(config, &wanted->memory_logs, &wanted->latency_logs,
                       &set, err);
    if (!st)
        st = fingerprint_fit(&set, &selection, &how, &fingerprint, err);
    if (!st)
        st = cache_make_folders(path, err);
    if (!st)
        st = result_open(path, &result, err);
    if (!st)
        st = result_close(
            &result, fingerprint_write(fingerprint, result.sink, err), err);
    fingerprint_free(fingerprint);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

static enum assay_status eval(const struct campaign_config *config,
                              int n_threads, const char *path,
                              struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    bool has_own = wanted->eval_memory_logs.n || wanted->eval_latency_logs.n;
    struct fingerprint *fingerprint = NULL;
    struct evaluation evaluation = {0};
    struct selection selection = {0};
    struct data_set set = {0};
    struct result result;
    enum assay_status st =
        select_rows(&wanted->eval_nets, &wanted->eval_logs, &selection, err);

    if (!st)
        st = read_logs(
            config, has_own ? &wanted->eval_memory_logs : &wanted->memory_logs,
            has_own ? &wanted->eval_latency_logs : &wanted->latency_logs, &set,
            err);
    if (!st)
        st = fingerprint_read(path, n_threads, &fingerprint, err);
    if (!st)
        st = evaluate(&evaluation, fingerprint, &set, &selection, false, err);
    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        evaluation_show_table(&evaluation, result.sink, &result.term);
        st = result_close(&result, sink_status(result.sink, err), err);
    }
    evaluation_release(&evaluation);
    fingerprint_free(fingerprint);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

enum assay_status campaign_learn(const struct campaign_config *config,
                                 int n_threads, struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    struct str path = {0};
    enum assay_status st = fingerprint_path(config, &path, err);
    bool is_there = !st && access(path.text, F_OK) == 0;

    if (!st && is_there && !wanted->overwrite && !wanted->evaluate)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "%s is there already; overwrite= True replaces it",
                       path.text);
    if (!st && (!is_there || wanted->overwrite))
        st = fit(config, n_threads, path.text, err);
    if (!st && wanted->evaluate)
        st = eval(config, n_threads, path.text, err);
    str_release(&path);
    return st;
}
