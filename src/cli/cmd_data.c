/* cli/cmd_data.c - assay data: what datasets hold, and fetching them. */
#include "cli/command.h"

#include "base/nearest.h"
#include "cli/action_word.h"
#include "cli/data_fetch.h"
#include "cli/data_show.h"
#include "cli/result.h"

#include <string.h>

static const char default_folder[] = "data";

static const char *const kind_names[] = {
    "imagefolder", "cifar10",         "cifar100", "coco",
    "voc",         "oxford-iiit-pet", NULL};
static const char *const splits[] = {"train", "test", NULL};

struct settings {
    int kind;  /* of kind_names; -1: found out */
    int split; /* of splits; -1: both */
    bool images, classes, all, json, keep;
    const char *to, *url, *sums;
};

static const struct settings defaults = {.kind = -1, .split = -1};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "What is shown"},
    {.name = "dataset",
     .kind = OPTION_CHOICE,
     .value = "KIND",
     .choices = kind_names,
     .help = "how the files are laid out",
     .shown_default = "found out",
     FIELD(kind)},
    {.name = "split",
     .kind = OPTION_CHOICE,
     .value = "PART",
     .choices = splits,
     .help = "one part alone",
     .shown_default = "both",
     FIELD(split)},
    {.name = "images",
     .kind = OPTION_FLAG,
     .help = "read every image: is it whole, and of the size it should have",
     FIELD(images)},
    {.name = "classes",
     .kind = OPTION_FLAG,
     .help = "list the classes with their counts",
     FIELD(classes)},
    {.name = "all",
     .kind = OPTION_FLAG,
     .help = "list all that is odd, not only 20",
     FIELD(all)},
    OPTION_JSON("show and list: as JSON", FIELD(json)),
    {.kind = OPTION_SECTION, .help = "What is fetched"},
    {.name = "to",
     .kind = OPTION_FILE,
     .value = "DIR",
     .help = "the folder that the dataset becomes a folder of",
     .shown_default = default_folder,
     FIELD(to)},
    {.name = "url",
     .kind = OPTION_TEXT,
     .value = "BASE",
     .help = "where the archives are",
     .shown_default = "where they are published",
     FIELD(url)},
    {.name = "sums",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "their MD5 sums, as md5sum writes them, where they were packed "
             "anew",
     .shown_default = "the published ones",
     FIELD(sums)},
    {.name = "keep",
     .kind = OPTION_FLAG,
     .help = "keep the archives beside what was unpacked",
     FIELD(keep)},
    {.kind = OPTION_END},
};

/* ---- what is done ------------------------------------------------------ */

static enum assay_status show(const char *const *words,
                              const struct settings *settings,
                              struct sink *sink, const struct term *term,
                              struct error *err)
{
    const struct data_show wanted = {
        .path = words[0],
        .kind = settings->kind < 0 ? NULL : kind_names[settings->kind],
        .split = settings->split < 0    ? -1
                 : settings->split == 0 ? DATASET_TRAIN
                                        : DATASET_TEST,
        .reads_images = settings->images,
        .lists_classes = settings->classes,
        .lists_all = settings->all};

    return data_show(&wanted, settings->json, sink, term, err);
}

static enum assay_status list(const char *const *words,
                              const struct settings *settings,
                              struct sink *sink, const struct term *term,
                              struct error *err)
{
    (void)words, (void)term, (void)err;
    data_list(settings->json, sink);
    return ASSAY_OK;
}

static enum assay_status find_published(const char *name,
                                        const struct data_published **out,
                                        struct error *err)
{
    struct nearest nearest = nearest_to(name);

    *out = data_find_published(name);
    if (*out)
        return ASSAY_OK;
    for (const struct data_published *p = data_published; p->url; p++)
        nearest_offer(&nearest, dataset_kind_name(p->kind));
    return error_set(err, ASSAY_BAD_USAGE, "'%s' cannot be fetched; %s '%s'%s",
                     name, nearest.candidate ? "did you mean" : "there is",
                     dataset_kind_name(data_published[0].kind),
                     nearest.candidate ? "?" : "");
}

static enum assay_status fetch(const char *const *words,
                               const struct settings *settings,
                               struct sink *sink, const struct term *term,
                               struct error *err)
{
    struct data_fetch wanted = {.to = settings->to ? settings->to
                                                   : default_folder,
                                .url = settings->url,
                                .sums = settings->sums,
                                .keeps_archives = settings->keep};
    enum assay_status st = find_published(words[0], &wanted.published, err);

    (void)term;
    return st ? st : data_fetch(&wanted, sink, err);
}

/* ---- the command ------------------------------------------------------- */

static const char *const action_names[] = {"show", "list", "fetch", NULL};

/* What goes with each of the names. */
static const struct action {
    size_t n_words;     /* behind the name */
    const char *wanted; /* those, in words */
    enum assay_status (*run)(const char *const *words,
                             const struct settings *settings, struct sink *sink,
                             const struct term *term, struct error *err);
} actions[] = {
    {1, "the path of a dataset", show},
    {0, "no more words", list},
    {1, "the name of a dataset; 'assay data list' has them", fetch},
};

static const struct action_words action_words = {
    .names = action_names,
    .what = "data",
    .all = "'show PATH', 'list' and 'fetch NAME'"};

static enum assay_status check_options(const struct settings *settings,
                                       size_t action, struct error *err)
{
    enum { SHOW = 1 << 0, LIST = 1 << 1, FETCH = 1 << 2 };
    const struct action_option given[] = {
        {"to", settings->to != NULL, FETCH},
        {"url", settings->url != NULL, FETCH},
        {"sums", settings->sums != NULL, FETCH},
        {"keep", settings->keep, FETCH},
        {"dataset", settings->kind >= 0, SHOW},
        {"split", settings->split >= 0, SHOW},
        {"images", settings->images, SHOW},
        {"classes", settings->classes, SHOW},
        {"all", settings->all, SHOW},
        {"json", settings->json, SHOW | LIST},
    };

    return action_check_options(&action_words, action, given,
                                sizeof given / sizeof *given, err);
}

static enum assay_status run_data(const struct arguments *arguments,
                                  struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *const *words = arguments->operands.items;
    const struct action *action;
    size_t found = 0;
    struct result result;
    enum assay_status st = action_find(&action_words, words[0], &found, err);

    action = &actions[found];
    if (!st)
        st = check_options(settings, found, err);
    if (!st && arguments->operands.n - 1 != action->n_words)
        st = error_set(err, ASSAY_BAD_USAGE, "'%s' wants %s", words[0],
                       action->wanted);
    if (!st)
        st = result_open(NULL, &result, err);
    if (st)
        return st;
    st = action->run(words + 1, settings, result.sink, &result.term, err);
    return result_close(&result, st ? st : sink_status(result.sink, err), err);
}

const struct command cmd_data = {
    .name = "data",
    .section = "Models",
    .purpose = "look into datasets, fetch Oxford-IIIT Pet",
    .usage =
        (const char *const[]){
            "data show [--dataset KIND] [--images] [--classes] PATH",
            "data list [--json]",
            "data fetch [--to DIR] [--url BASE] oxford-iiit-pet", NULL},
    .operands = {.min = 1,
                 .max = 2,
                 .missing = "'show', 'list' or 'fetch'",
                 .words = action_names},
    .description =
        (const char *const[]){
            "Shows what a dataset holds: samples, classes and boxes of each "
            "split, sizes, and what is odd in it: files that are missing or "
            "belong to nothing, annotations without a box, boxes outside "
            "their image. Which kind it is is found out.",
            "Lists the kinds of datasets that training and evaluation read.",
            "Fetches a published dataset and unpacks it where 'assay train' "
            "looks for it. Archives are checked against their published MD5 "
            "sums; a download that was interrupted goes on where it ended, "
            "and a folder appears only when it is whole.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"data fetch oxford-iiit-pet", "811 MB into data/oxford-iiit-pet"},
            {"data show data/oxford-iiit-pet --images",
             "what is in it, with every image read"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_data,
};
