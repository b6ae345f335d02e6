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

/* Where both kinds of logs lie. */
struct logs {
    struct config_texts of[N_TARGETS]; /* folders */
    const char *own;                   /* the campaign's */
};

/* Folders of both kinds, and of any; the lists may be empty. */
struct named_logs {
    const struct config_texts *memory, *latency, *any;
};

static bool has_logs(const struct named_logs *named)
{
    return named->memory->n || named->latency->n || named->any->n;
}

/* The folders of each kind; those of any, the other kind's, or the campaign's
 * own, where none are named. */
static enum assay_status find_logs(const struct campaign_config *config,
                                   const struct named_logs *named,
                                   struct logs *out, struct error *err)
{
    const struct config_texts own = {&out->own, 1};
    const struct config_texts *any = named->any->n      ? named->any
                                     : named->memory->n ? named->memory
                                                        : named->latency;

    out->own = config->profile.log_dir;
    if (!any->n && !out->own)
        return error_set(err, ASSAY_BAD_INPUT,
                         "[fingerprint] names no folders to learn from: "
                         "memory_logs= ['DIR'] and latency_logs= ['DIR']");
    any = any->n ? any : &own;
    out->of[TARGET_MEMORY] = named->memory->n ? *named->memory : *any;
    out->of[TARGET_LATENCY] = named->latency->n ? *named->latency : *any;
    return ASSAY_OK;
}

static enum assay_status find_train_logs(const struct campaign_config *config,
                                         struct logs *out, struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    struct named_logs named = {&wanted->memory_logs, &wanted->latency_logs,
                               &wanted->train_logs.folders};

    return find_logs(config, &named, out, err);
}

/* Those that were learned from where none are named for it. */
static enum assay_status find_eval_logs(const struct campaign_config *config,
                                        struct logs *out, struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    struct named_logs named = {&wanted->eval_memory_logs,
                               &wanted->eval_latency_logs,
                               &wanted->eval_logs.folders};

    return has_logs(&named) ? find_logs(config, &named, out, err)
                            : find_train_logs(config, out, err);
}

static bool are_same(const struct config_texts *a, const struct config_texts *b)
{
    bool is_same = a->n == b->n;

    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = strcmp(a->items[i], b->items[i]) == 0;
    return is_same;
}

static void leave_out(struct data_set *set, size_t first, enum target target)
{
    for (size_t i = first; i < set->n_rows; i++)
        set->rows[i].value[target] = (double)NAN;
}

/* Rows of stages that are not learned go. */
static void keep_stages(const struct campaign_config *config,
                        struct data_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_rows; i++) {
        if (config->learns_stage[set->rows[i].stage])
            set->rows[n++] = set->rows[i];
    }
    set->n_rows = n;
}

/* Memory as the one kind of logs has it, latency as the other has; what no
 * model is wanted for is left out. */
static enum assay_status read_logs(const struct campaign_config *config,
                                   const struct logs *logs,
                                   struct data_set *set, struct error *err)
{
    const struct config_texts *memory = &logs->of[TARGET_MEMORY];
    const struct config_texts *latency = &logs->of[TARGET_LATENCY];
    enum assay_status st = read_folders(memory, set, err);

    if (!st && !are_same(memory, latency)) {
        size_t n = set->n_rows;

        leave_out(set, 0, TARGET_LATENCY);
        st = read_folders(latency, set, err);
        leave_out(set, n, TARGET_MEMORY);
    }
    if (st)
        return st;
    keep_stages(config, set);
    if (!config->fingerprint.memory_model)
        leave_out(set, 0, TARGET_MEMORY);
    if (!config->fingerprint.latency_model)
        leave_out(set, 0, TARGET_LATENCY);
    if (set->n_undescribed)
        message_note("%zu rows are left out, for their networks have no "
                     "layers: %s",
                     set->n_undescribed, str_text(&set->undescribed));
    return ASSAY_OK;
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
    struct logs logs;
    struct result result;
    enum assay_status st = select_rows(
        &wanted->train_nets, &wanted->train_logs.levels, &selection, err);

    if (!st)
        st = find_train_logs(config, &logs, err);
    if (!st)
        st = read_logs(config, &logs, &set, err);
    if (!st)
        st = fingerprint_fit(&set, &selection, &how, &fingerprint, err);
    if (!st)
        st = cache_make_folders(path, err);
    if (!st)
        st = result_open(path, &result, err);
    if (!st) {
        st = fingerprint_write(fingerprint, result.sink, err);
        if (!st)
            st = fingerprint_print(fingerprint, false, err);
        st = result_close(&result, st, err);
    }
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
    struct fingerprint *fingerprint = NULL;
    struct evaluation evaluation = {0};
    struct selection selection = {0};
    struct data_set set = {0};
    struct logs logs;
    struct result result;
    enum assay_status st = select_rows(
        &wanted->eval_nets, &wanted->eval_logs.levels, &selection, err);

    if (!st)
        st = find_eval_logs(config, &logs, err);
    if (!st)
        st = read_logs(config, &logs, &set, err);
    if (!st)
        st = fingerprint_read(path, n_threads, &fingerprint, err);
    if (!st)
        st = evaluate(&evaluation, fingerprint, &set, &selection, false, err);
    if (st == ASSAY_BAD_USAGE && evaluation.n_seen)
        error_hint(err, "eval_nets and eval_logs choose others");
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

/* What would be wrong words of a command is a wrong configuration here. */
static enum assay_status of_file(enum assay_status st, struct error *err)
{
    if (st != ASSAY_BAD_USAGE)
        return st;
    error_context(err, "[fingerprint]");
    err->status = ASSAY_BAD_INPUT;
    return ASSAY_BAD_INPUT;
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
        st = of_file(fit(config, n_threads, path.text, err), err);
    if (!st && wanted->evaluate)
        st = of_file(eval(config, n_threads, path.text, err), err);
    str_release(&path);
    return st;
}
