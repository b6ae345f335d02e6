/* cli/campaign_rows.c - see campaign_rows.h. */
#include "cli/campaign_rows.h"

#include "cli/messages.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which rows --------------------------------------------------------- */

static bool is_among(const struct config_texts *texts, const char *network)
{
    for (size_t i = 0; i < texts->n; i++) {
        if (strcmp(network_canonical(texts->items[i]),
                   network_canonical(network)) == 0)
            return true;
    }
    return false;
}

/* "resnet50:0,30" */
static enum assay_status select_network(const char *network,
                                        const struct config_numbers *levels,
                                        struct selection *selection,
                                        struct error *err)
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

/* A network that was left out, and has no rows of before, is not asked for. */
static enum assay_status select_rows(const struct campaign_rows *rows,
                                     const struct config_texts *networks,
                                     const struct config_numbers *levels,
                                     const struct data_set *set,
                                     struct selection *selection,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < networks->n; i++) {
        const char *network = networks->items[i];
        struct selection one = {0};

        st = select_network(network, levels, &one, err);
        if (!st && (!is_among(rows->left_out, network) ||
                    !selection_check(&one, set, NULL)))
            st = select_network(network, levels, selection, err);
        else if (!st && !rows->expected)
            message_note("%s was left out, so nothing is learned of it",
                         network);
        selection_release(&one);
    }
    if (!st && networks->n && !selection->n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "[fingerprint] every network that it names was left "
                       "out; train_nets and eval_nets choose others");
    return st;
}

/* ---- where they are ----------------------------------------------------- */

/* A path without "./" before it, and its length without slashes behind it. */
static const char *plain_path(const char *path, size_t *n)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    *n = strlen(path);
    while (*n > 1 && path[*n - 1] == '/')
        --*n;
    return path;
}

/* Also of folders that are not there yet. */
static bool is_same_folder(const char *a, const char *b)
{
    struct stat of_a, of_b;
    size_t n_a, n_b;

    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    a = plain_path(a, &n_a);
    b = plain_path(b, &n_b);
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static enum assay_status add_expected(const struct data_set *expected,
                                      struct data_set *set, struct error *err)
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

static enum assay_status read_folders(const struct campaign_rows *rows,
                                      const struct config_texts *folders,
                                      struct data_set *set, struct error *err)
{
    const char *own = rows->config->profile.log_dir;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < folders->n; i++) {
        const char *folder = folders->items[i];

        st = rows->expected && own && is_same_folder(folder, own)
                 ? add_expected(rows->expected, set, err)
                 : data_set_read(set, folder, err);
    }
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
static enum assay_status read_logs(const struct campaign_rows *rows,
                                   const struct logs *logs,
                                   struct data_set *set, struct error *err)
{
    const struct campaign_config *config = rows->config;
    const struct config_texts *memory = &logs->of[TARGET_MEMORY];
    const struct config_texts *latency = &logs->of[TARGET_LATENCY];
    enum assay_status st = read_folders(rows, memory, set, err);

    if (!st && !are_same(memory, latency)) {
        size_t n = set->n_rows;

        leave_out(set, 0, TARGET_LATENCY);
        st = read_folders(rows, latency, set, err);
        leave_out(set, n, TARGET_MEMORY);
    }
    if (st)
        return st;
    keep_stages(config, set);
    if (!config->fingerprint.memory_model)
        leave_out(set, 0, TARGET_MEMORY);
    if (!config->fingerprint.latency_model)
        leave_out(set, 0, TARGET_LATENCY);
    if (set->n_undescribed && !rows->expected)
        message_note("%zu rows are left out because their networks have no "
                     "layers: %s",
                     set->n_undescribed, str_text(&set->undescribed));
    return ASSAY_OK;
}

enum assay_status campaign_rows_train(const struct campaign_rows *rows,
                                      struct data_set *set,
                                      struct selection *selection,
                                      struct error *err)
{
    const struct fingerprint_config *wanted = &rows->config->fingerprint;
    struct logs logs;
    enum assay_status st = find_train_logs(rows->config, &logs, err);

    if (!st)
        st = read_logs(rows, &logs, set, err);
    return st ? st
              : select_rows(rows, &wanted->train_nets,
                            &wanted->train_logs.levels, set, selection, err);
}

enum assay_status campaign_rows_eval(const struct campaign_rows *rows,
                                     struct data_set *set,
                                     struct selection *selection,
                                     struct error *err)
{
    const struct fingerprint_config *wanted = &rows->config->fingerprint;
    struct logs logs;
    enum assay_status st = find_eval_logs(rows->config, &logs, err);

    if (!st)
        st = read_logs(rows, &logs, set, err);
    return st ? st
              : select_rows(rows, &wanted->eval_nets, &wanted->eval_logs.levels,
                            set, selection, err);
}
