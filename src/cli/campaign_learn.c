/* cli/campaign_learn.c - the [fingerprint] section of a campaign, see
 * campaign_steps.h. */
#include "cli/campaign_steps.h"

#include "base/cache.h"
#include "cli/fingerprint_show.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "predict/fingerprint_eval.h"
#include "predict/network_folder.h"
#include "predict/perf4sight.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which rows --------------------------------------------------------- */

bool networks_include(const struct config_texts *networks, const char *network)
{
    for (size_t i = 0; i < networks->n; i++) {
        if (strcmp(network_canonical(networks->items[i]),
                   network_canonical(network)) == 0)
            return true;
    }
    return false;
}

/* "resnet50:0,30" */
static enum assay_status
campaign_select_network(const char *network,
                        const struct config_numbers *levels,
                        struct selection *selection, struct error *err)
{
    struct str text = {0};
    enum assay_status st = str_append(&text, network);

    for (size_t k = 0; !st && k < levels->n; k++)
        st = str_printf(&text, "%s%lld", k ? "," : ":",
                        (long long)levels->items[k]);
    st = st ? error_nomem(err, text.n, "a selection")
            : selection_parse(selection, text.text, err);
    str_release(&text);
    return st;
}

/* Skips a network that was left out and has no earlier rows. */
static enum assay_status campaign_select_rows(
    const struct campaign_rows *rows, const struct config_texts *networks,
    const struct config_numbers *levels, const struct data_set *set,
    struct selection *selection, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < networks->n; i++) {
        const char *network = networks->items[i];
        struct selection one = {0};

        st = campaign_select_network(network, levels, &one, err);
        if (!st && (!networks_include(rows->left_out, network) ||
                    !selection_check(&one, set, NULL)))
            st = campaign_select_network(network, levels, selection, err);
        else if (!st && !rows->expected)
            message_note("%s was left out, so nothing is learned about it",
                         network);
        selection_release(&one);
    }
    if (!st && networks->n && !selection->n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "[fingerprint] all networks that it names were left "
                       "out; train_nets and eval_nets choose others");
    return st;
}

/* ---- where they are ----------------------------------------------------- */

/* The path without a leading "./"; *n is its length without trailing slashes.
 */
static const char *campaign_plain_path(const char *path, size_t *n)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    *n = strlen(path);
    while (*n > 1 && path[*n - 1] == '/')
        --*n;
    return path;
}

/* Also for folders that do not exist yet. */
static bool campaign_is_same_folder(const char *a, const char *b)
{
    struct stat of_a, of_b;
    size_t n_a, n_b;

    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    a = campaign_plain_path(a, &n_a);
    b = campaign_plain_path(b, &n_b);
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static enum assay_status campaign_add_expected(const struct data_set *expected,
                                               struct data_set *set,
                                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < expected->n_rows; i++) {
        struct measurement row = expected->rows[i];
        const struct description *of = &expected->descriptions[row.description];

        st = data_set_describe(set, of->network, of->level, &row.description,
                               err);
        if (!st)
            st = data_set_add_row(set, &row, err);
    }
    return st;
}

/* Files of perf4sight do not say what its networks look like: those in the
 * campaign's folder of networks do. */
static enum assay_status
campaign_describe_networks(const struct campaign_config *config,
                           struct data_set *set, struct error *err)
{
    const char *folder = config->profile.local_model_loc;

    if (!folder)
        folder = config->create.model_path;
    return folder ? data_set_describe_folder(set, folder, err) : ASSAY_OK;
}

static enum assay_status
campaign_read_folders(const struct campaign_rows *rows,
                      const struct config_texts *folders, struct data_set *set,
                      struct error *err)
{
    const char *own = rows->config->profile.log_dir;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < folders->n; i++) {
        const char *folder = folders->items[i];

        if (perf4sight_is_folder(folder))
            st = campaign_describe_networks(rows->config, set, err);
        if (st)
            break;

        st = rows->expected && own && campaign_is_same_folder(folder, own)
                 ? campaign_add_expected(rows->expected, set, err)
                 : data_set_read(set, folder, err);
    }
    return st;
}

/* The folders with the logs of each target. */
struct logs {
    struct config_texts of[N_TARGETS];
    const char *own; /* the campaign's folder */
};

/* Folders for each target, and for any; the lists may be empty. */
struct named_logs {
    const struct config_texts *memory, *latency, *any;
};

/* The folders of each target. If none are named: those for any target, the
 * other target's, or the campaign's own. */
static enum assay_status
campaign_find_logs(const struct campaign_config *config,
                   const struct named_logs *named, struct logs *out,
                   struct error *err)
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

static enum assay_status
campaign_find_train_logs(const struct campaign_config *config, struct logs *out,
                         struct error *err)
{
    const struct fingerprint_config *section = &config->fingerprint;
    struct named_logs named = {&section->memory_logs, &section->latency_logs,
                               &section->train_logs.folders};

    return campaign_find_logs(config, &named, out, err);
}

/* Without folders of its own, evaluation uses those that were learned from. */
static enum assay_status
campaign_find_eval_logs(const struct campaign_config *config, struct logs *out,
                        struct error *err)
{
    const struct fingerprint_config *section = &config->fingerprint;
    struct named_logs named = {&section->eval_memory_logs,
                               &section->eval_latency_logs,
                               &section->eval_logs.folders};

    return named.memory->n || named.latency->n || named.any->n
               ? campaign_find_logs(config, &named, out, err)
               : campaign_find_train_logs(config, out, err);
}

static bool campaign_are_same(const struct config_texts *a,
                              const struct config_texts *b)
{
    bool is_same = a->n == b->n;

    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = strcmp(a->items[i], b->items[i]) == 0;
    return is_same;
}

static void campaign_leave_out(struct data_set *set, size_t first,
                               enum target target)
{
    for (size_t i = first; i < set->n_rows; i++)
        set->rows[i].value[target] = (double)NAN;
}

/* Removes rows of stages that are not learned. */
static void campaign_keep_stages(const struct campaign_config *config,
                                 struct data_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_rows; i++) {
        if (config->learns_stage[set->rows[i].stage])
            set->rows[n++] = set->rows[i];
    }
    set->n_rows = n;
}

/* Takes memory and latency from their own logs, and leaves out targets that
 * need no model. */
static enum assay_status campaign_read_logs(const struct campaign_rows *rows,
                                            const struct logs *logs,
                                            struct data_set *set,
                                            struct error *err)
{
    const struct campaign_config *config = rows->config;
    const struct config_texts *memory = &logs->of[TARGET_MEMORY];
    const struct config_texts *latency = &logs->of[TARGET_LATENCY];
    enum assay_status st = campaign_read_folders(rows, memory, set, err);

    if (!st && !campaign_are_same(memory, latency)) {
        size_t n = set->n_rows;

        campaign_leave_out(set, 0, TARGET_LATENCY);
        st = campaign_read_folders(rows, latency, set, err);
        campaign_leave_out(set, n, TARGET_MEMORY);
    }
    if (st)
        return st;
    campaign_keep_stages(config, set);
    if (!config->fingerprint.memory_model)
        campaign_leave_out(set, 0, TARGET_MEMORY);
    if (!config->fingerprint.latency_model)
        campaign_leave_out(set, 0, TARGET_LATENCY);
    if (set->n_undescribed && !rows->expected)
        message_note("%zu rows are left out because their networks have no "
                     "layers: %s",
                     set->n_undescribed, str_text(&set->undescribed));
    return ASSAY_OK;
}

static enum assay_status campaign_rows_train(const struct campaign_rows *rows,
                                             struct data_set *set,
                                             struct selection *selection,
                                             struct error *err)
{
    const struct fingerprint_config *config = &rows->config->fingerprint;
    struct logs logs;
    enum assay_status st = campaign_find_train_logs(rows->config, &logs, err);

    if (!st)
        st = campaign_read_logs(rows, &logs, set, err);
    return st ? st
              : campaign_select_rows(rows, &config->train_nets,
                                     &config->train_logs.levels, set, selection,
                                     err);
}

static enum assay_status campaign_rows_eval(const struct campaign_rows *rows,
                                            struct data_set *set,
                                            struct selection *selection,
                                            struct error *err)
{
    const struct fingerprint_config *config = &rows->config->fingerprint;
    struct logs logs;
    enum assay_status st = campaign_find_eval_logs(rows->config, &logs, err);

    if (!st)
        st = campaign_read_logs(rows, &logs, set, err);
    return st ? st
              : campaign_select_rows(rows, &config->eval_nets,
                                     &config->eval_logs.levels, set, selection,
                                     err);
}

/* ---- learning ----------------------------------------------------------- */

static enum assay_status
campaign_name_fingerprint(const struct campaign_config *config,
                          struct str *path, struct error *err)
{
    const char *folder = config->profile.log_dir;
    const char *device = config->profile.device;

    return str_printf(path, "%s%s%s%s.fp", folder ? folder : "",
                      folder ? "/" : "", device ? device : "device",
                      config->framework == FRAMEWORK_TORCH ? "-torch" : "")
               ? error_nomem(err, 64, "a path")
               : ASSAY_OK;
}

/* The campaign's own framework if any row is of it; rows from elsewhere are of
 * one, whichever it is. */
static enum framework
campaign_learn_framework(const struct campaign_config *config,
                         const struct data_set *set)
{
    for (size_t i = 0; i < set->n_rows; i++) {
        if (set->rows[i].framework == config->framework)
            return config->framework;
    }
    return FRAMEWORK_UNKNOWN;
}

static struct fingerprint_options
campaign_learn_options(const struct campaign_config *config,
                       const struct data_set *set, int n_threads)
{
    return (struct fingerprint_options){
        .device = config->profile.device,
        .framework = campaign_learn_framework(config, set),
        .method = N_METHODS,
        .n_threads = n_threads};
}

static enum assay_status campaign_learn_fit(const struct campaign_rows *rows,
                                            int n_threads, const char *path,
                                            struct error *err)
{
    struct fingerprint_options how;
    struct fingerprint *fingerprint = NULL;
    struct selection selection = {0};
    struct data_set set = {0};
    struct result result;
    enum assay_status st = campaign_rows_train(rows, &set, &selection, err);

    if (!st)
        machines_note(str_text(&set.machines), rows->config->profile.device);
    how = campaign_learn_options(rows->config, &set, n_threads);
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

static void campaign_hint_others(size_t n_seen, struct error *err)
{
    if (n_seen)
        error_hint(err, "eval_nets and eval_logs choose others");
}

static enum assay_status campaign_learn_eval(const struct campaign_rows *rows,
                                             int n_threads, const char *path,
                                             struct error *err)
{
    struct fingerprint *fingerprint = NULL;
    struct evaluation evaluation = {0};
    struct selection selection = {0};
    struct data_set set = {0};
    struct result result;
    enum assay_status st = campaign_rows_eval(rows, &set, &selection, err);

    if (!st)
        st = fingerprint_read(path, n_threads, &fingerprint, err);
    if (!st)
        st = evaluate(&evaluation, fingerprint, &set, &selection, false, err);
    if (st == ASSAY_BAD_USAGE)
        campaign_hint_others(evaluation.n_seen, err);
    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        evaluation_show_table(&evaluation, result.sink, &result.term);
        st = result_close(&result, ASSAY_OK, err);
    }
    evaluation_release(&evaluation);
    fingerprint_free(fingerprint);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

/* Wrong usage becomes a wrong configuration: nothing was wrong with the command
 * line. */
static enum assay_status campaign_of_file(enum assay_status st,
                                          struct error *err)
{
    if (st != ASSAY_BAD_USAGE)
        return st;
    error_context(err, "[fingerprint]");
    err->status = ASSAY_BAD_INPUT;
    return ASSAY_BAD_INPUT;
}

/* The path of the fingerprint, and whether it has to be made. */
static enum assay_status
campaign_find_fingerprint(const struct campaign_config *config,
                          struct str *path, bool *is_made, struct error *err)
{
    enum assay_status st = campaign_name_fingerprint(config, path, err);
    bool is_there = !st && access(path->text, F_OK) == 0;

    *is_made = !is_there || config->fingerprint.overwrite;
    if (st || *is_made || config->fingerprint.evaluate)
        return st;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s already exists; overwrite= True replaces it",
                     path->text);
}

enum assay_status campaign_learn(const struct campaign_rows *rows,
                                 int n_threads, struct error *err)
{
    struct str path = {0};
    bool is_made = false;
    enum assay_status st =
        campaign_find_fingerprint(rows->config, &path, &is_made, err);

    if (!st && is_made)
        st = campaign_of_file(
            campaign_learn_fit(rows, n_threads, path.text, err), err);
    if (!st && rows->config->fingerprint.evaluate)
        st = campaign_of_file(
            campaign_learn_eval(rows, n_threads, path.text, err), err);
    str_release(&path);
    return st;
}

/* ---- checks before anything is measured --------------------------------- */

/* The rows of the fingerprint that will be made, or of the existing one. */
static enum assay_status campaign_learn_gather(const struct campaign_rows *rows,
                                               bool is_made, const char *path,
                                               struct fingerprint **out,
                                               struct error *err)
{
    struct fingerprint_options how;
    struct selection selection = {0};
    struct data_set set = {0};
    enum assay_status st;

    if (!is_made)
        return fingerprint_read(path, 1, out, err);
    st = campaign_rows_train(rows, &set, &selection, err);
    how = campaign_learn_options(rows->config, &set, 1);
    if (!st)
        st = fingerprint_gather(&set, &selection, &how, out, err);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

static enum assay_status
campaign_check_eval(const struct campaign_rows *rows,
                    const struct fingerprint *fingerprint, struct error *err)
{
    struct selection selection = {0};
    struct data_set set = {0};
    size_t n_seen = 0;
    enum assay_status st = campaign_rows_eval(rows, &set, &selection, err);

    if (!st)
        st = evaluation_check(fingerprint, &set, &selection, &n_seen, err);
    if (st == ASSAY_BAD_USAGE)
        campaign_hint_others(n_seen, err);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

enum assay_status campaign_learn_check(const struct campaign_rows *rows,
                                       struct error *err)
{
    struct fingerprint *fingerprint = NULL;
    struct str path = {0};
    bool is_made = false;
    enum assay_status st =
        campaign_find_fingerprint(rows->config, &path, &is_made, err);

    if (!st)
        st = campaign_of_file(
            campaign_learn_gather(rows, is_made, path.text, &fingerprint, err),
            err);
    if (!st && rows->config->fingerprint.evaluate)
        st = campaign_of_file(campaign_check_eval(rows, fingerprint, err), err);
    fingerprint_free(fingerprint);
    str_release(&path);
    return st;
}
