/* cli/train_fetch.c - see train_fetch.h. */
#include "cli/train_fetch.h"

#include "base/str.h"
#include "base/units.h"
#include "cli/data_fetch.h"
#include "cli/weights_fetch.h"
#include "models/models.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Start from {0}. */
struct train_missing {
    const struct data_published *dataset; /* NULL: it is there */
    struct str to;                        /* the folder that gets it */
    const struct published *weights;      /* NULL: they are there */
    struct str path;                      /* of the weights */
};

static void missing_release(struct train_missing *missing)
{
    str_release(&missing->to);
    str_release(&missing->path);
}

static bool missing_has(const char *root, const char *folder)
{
    struct str path = {0};
    struct stat info;
    bool found = !str_printf(&path, "%s/%s", root, folder) &&
                 stat(str_text(&path), &info) == 0;

    str_release(&path);
    return found;
}

/* Of "DIR/NAME" the DIR, which gets the folder; NULL if the root is called
 * otherwise: then it is the user's own. Cuts the text. */
static const char *folder_above(struct str *root, const char *name)
{
    size_t n = root->n, n_name = strlen(name);

    while (n > 1 && root->text[n - 1] == '/')
        root->text[--n] = '\0';
    if (!str_ends_with(root->text, name))
        return NULL;
    if (n == n_name)
        return ".";
    if (root->text[n - n_name - 1] != '/')
        return NULL;
    root->text[n - n_name - (n > n_name + 1)] = '\0';
    return root->text;
}

static enum assay_status missing_find_dataset(struct train_missing *missing,
                                              const struct train_config *config,
                                              struct error *err)
{
    const char *name =
        train_dataset_name((enum train_dataset)config->dataset.kind);
    const struct data_published *published = data_find_published(name);
    const char *root = config->dataset.root, *to;
    struct str own = {0};
    bool is_whole = true;
    enum assay_status st = ASSAY_OK;

    if (!published)
        return ASSAY_OK;
    if (str_printf(&own, "%s%s", root ? root : "data/", root ? "" : name))
        return error_nomem(err, strlen(name), "a path");
    for (const struct data_archive *a = published->archives; a->file; a++)
        is_whole &= missing_has(own.text, a->folder);
    to = is_whole ? NULL : folder_above(&own, name);
    if (to && str_append(&missing->to, to))
        st = error_nomem(err, own.n, "a path");
    if (to && !st)
        missing->dataset = published;
    str_release(&own);
    return st;
}

static enum assay_status missing_find_weights(struct train_missing *missing,
                                              const struct train_config *config,
                                              struct error *err)
{
    const char *model = model_full_name(config->model.name);
    const struct published *published = model ? published_find(model) : NULL;
    bool is_here = false;
    enum assay_status st;

    if (!published || strcmp(config->model.weights, "auto") != 0)
        return ASSAY_OK;
    st = published_path(published, &missing->path, &is_here, err);
    if (!st && !is_here)
        missing->weights = published;
    return st;
}

/* ---- asking ---------------------------------------------------------------
 */

static void missing_describe(const struct train_missing *missing,
                             struct sink *sink)
{
    char size[UNITS_MAX];
    double bytes = 0;

    if (missing->dataset) {
        for (const struct data_archive *a = missing->dataset->archives; a->file;
             a++)
            bytes += (double)a->bytes;
        sink_printf(sink, "the dataset %s (%s)",
                    dataset_kind_name(missing->dataset->kind),
                    units_file_size(size, bytes));
    }
    if (missing->weights)
        sink_printf(
            sink, "%sthe published weights of %s (%s)",
            missing->dataset ? " and " : "", missing->weights->model,
            units_file_size(size, missing->weights->mebibytes * 0x1p20));
}

/* Enter means yes. */
static bool missing_ask(const struct train_missing *missing)
{
    struct sink screen = sink_to_file(stderr, "standard error");
    char answer[16];

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    sink_puts(&screen, "missing: ");
    missing_describe(missing, &screen);
    sink_puts(&screen, "; fetch now? [Y/n] ");
    if (!fgets(answer, sizeof answer, stdin))
        return false;
    return answer[0] == '\n' || answer[0] == 'y' || answer[0] == 'Y';
}

/* ---- fetching -------------------------------------------------------------
 */

static enum assay_status missing_fetch(const struct train_missing *missing,
                                       const struct train_fetch *fetch,
                                       struct error *err)
{
    struct sink screen = sink_to_file(stderr, "standard error");
    const struct data_fetch dataset = {.published = missing->dataset,
                                       .to = str_text(&missing->to),
                                       .url = fetch->url,
                                       .sums = fetch->sums};
    enum assay_status st = ASSAY_OK;

    if (missing->weights)
        st = weights_fetch_to(missing->weights, fetch->url,
                              str_text(&missing->path),
                              "set model.weights to a file, or to random", err);
    if (!st && missing->dataset)
        st = data_fetch(&dataset, &screen, err);
    return st;
}

enum assay_status train_fetch_missing(const struct train_fetch *fetch,
                                      const struct train_config *config,
                                      struct error *err)
{
    struct train_missing missing = {0};
    enum assay_status st = missing_find_dataset(&missing, config, err);

    if (!st)
        st = missing_find_weights(&missing, config, err);
    if (!st && (missing.dataset || missing.weights) &&
        (fetch->is_wanted || missing_ask(&missing)))
        st = missing_fetch(&missing, fetch, err);
    missing_release(&missing);
    return st;
}
