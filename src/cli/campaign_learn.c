/* cli/campaign_learn.c - see campaign_learn.h. */
#include "cli/campaign_learn.h"

#include "base/cache.h"
#include "cli/fingerprint_show.h"
#include "cli/result.h"
#include "predict/fingerprint_eval.h"

#include <unistd.h>

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

static struct fingerprint_options
learn_options(const struct campaign_config *config, int n_threads)
{
    return (struct fingerprint_options){.device = config->profile.device,
                                        .method = N_METHODS,
                                        .n_threads = n_threads};
}

static enum assay_status fit(const struct campaign_rows *rows, int n_threads,
                             const char *path, struct error *err)
{
    struct fingerprint_options how = learn_options(rows->config, n_threads);
    struct fingerprint *fingerprint = NULL;
    struct selection selection = {0};
    struct data_set set = {0};
    struct result result;
    enum assay_status st = campaign_rows_train(rows, &set, &selection, err);

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

static void hint_others(size_t n_seen, struct error *err)
{
    if (n_seen)
        error_hint(err, "eval_nets and eval_logs choose others");
}

static enum assay_status eval(const struct campaign_rows *rows, int n_threads,
                              const char *path, struct error *err)
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
        hint_others(evaluation.n_seen, err);
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

/* Where the fingerprint is, and whether it has to be made. */
static enum assay_status find_fingerprint(const struct campaign_config *config,
                                          struct str *path, bool *is_made,
                                          struct error *err)
{
    const struct fingerprint_config *wanted = &config->fingerprint;
    enum assay_status st = fingerprint_path(config, path, err);
    bool is_there = !st && access(path->text, F_OK) == 0;

    *is_made = !is_there || wanted->overwrite;
    if (st || *is_made || wanted->evaluate)
        return st;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s is there already; overwrite= True replaces it",
                     path->text);
}

enum assay_status campaign_learn(const struct campaign_rows *rows,
                                 int n_threads, struct error *err)
{
    struct str path = {0};
    bool is_made = false;
    enum assay_status st = find_fingerprint(rows->config, &path, &is_made, err);

    if (!st && is_made)
        st = of_file(fit(rows, n_threads, path.text, err), err);
    if (!st && rows->config->fingerprint.evaluate)
        st = of_file(eval(rows, n_threads, path.text, err), err);
    str_release(&path);
    return st;
}

/* ---- before anything is measured ---------------------------------------- */

/* The rows of the fingerprint that will be made, or of the one there is. */
static enum assay_status gather(const struct campaign_rows *rows, bool is_made,
                                const char *path, struct fingerprint **out,
                                struct error *err)
{
    struct fingerprint_options how = learn_options(rows->config, 1);
    struct selection selection = {0};
    struct data_set set = {0};
    enum assay_status st;

    if (!is_made)
        return fingerprint_read(path, 1, out, err);
    st = campaign_rows_train(rows, &set, &selection, err);
    if (!st)
        st = fingerprint_gather(&set, &selection, &how, out, err);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

static enum assay_status check_eval(const struct campaign_rows *rows,
                                    const struct fingerprint *fingerprint,
                                    struct error *err)
{
    struct selection selection = {0};
    struct data_set set = {0};
    size_t n_seen = 0;
    enum assay_status st = campaign_rows_eval(rows, &set, &selection, err);

    if (!st)
        st = evaluation_check(fingerprint, &set, &selection, &n_seen, err);
    if (st == ASSAY_BAD_USAGE)
        hint_others(n_seen, err);
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
    enum assay_status st = find_fingerprint(rows->config, &path, &is_made, err);

    if (!st)
        st = of_file(gather(rows, is_made, path.text, &fingerprint, err), err);
    if (!st && rows->config->fingerprint.evaluate)
        st = of_file(check_eval(rows, fingerprint, err), err);
    fingerprint_free(fingerprint);
    str_release(&path);
    return st;
}
