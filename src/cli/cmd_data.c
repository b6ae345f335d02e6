/* cli/cmd_data.c - assay data: inspects and fetches datasets. */
#include "cli/command.h"

#include "cli/data_fetch.h"
#include "cli/data_show.h"
#include "cli/messages.h"
#include "cli/result.h"

static const char default_folder[] = "data";

static const char *const kind_names[] = {
    "imagefolder", "cifar10",         "cifar100", "coco",
    "voc",         "oxford-iiit-pet", NULL};
static const char *const splits[] = {"train", "test", NULL};

struct settings {
    int kind;  /* of kind_names; -1: recognised */
    int split; /* of splits; -1: both */
    bool images, classes, all, json, keep;
    const char *to, *url, *sums;
};

static const struct settings defaults = {.kind = -1, .split = -1};

#define FIELD(field) OPTION_FIELD(struct settings, field)

/* The actions, as bits of struct option. */
enum { SHOW = 1 << 0, LIST = 1 << 1, FETCH = 1 << 2 };

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "show"},
    {OPT_CHOICE("dataset", "KIND", kind_names),
     .help = "how the files are laid out",
     .shown_default = "recognised from the files", .actions = SHOW,
     FIELD(kind)},
    {OPT_CHOICE("split", "PART", splits), .help = "only this part",
     .shown_default = "both", .actions = SHOW, FIELD(split)},
    {OPT_FLAG("images"),
     .help = "read every image and check that it is whole and has the right "
             "size",
     .actions = SHOW, FIELD(images)},
    {OPT_FLAG("classes"), .help = "list the classes with their counts",
     .actions = SHOW, FIELD(classes)},
    {OPT_FLAG("all"),
     .help = "list everything that is odd, not only the first 20",
     .actions = SHOW, FIELD(all)},
    OPTION_JSON("print JSON (show and list)", .actions = SHOW | LIST,
                FIELD(json)),
    {.kind = OPTION_SECTION, .help = "fetch"},
    {OPT_FILE("to", "DIR"), .help = "folder to put the dataset's folder in",
     .shown_default = default_folder, .actions = FETCH, FIELD(to)},
    {OPT_TEXT("url", "BASE"), .help = "where the archives are",
     .shown_default = "where they are published", .actions = FETCH, FIELD(url)},
    {OPT_FILE("sums", "FILE"),
     .help = "the MD5 sums of repacked archives, as md5sum writes them",
     .shown_default = "the published ones", .actions = FETCH, FIELD(sums)},
    {OPT_FLAG("keep"), .help = "keep the archives after unpacking them",
     .actions = FETCH, FIELD(keep)},
    {.kind = OPTION_END},
};

/* ---- the actions ------------------------------------------------------- */

static enum assay_status cmd_data_show(const char *const *words,
                                       const void *context, struct error *err)
{
    const struct settings *settings = context;
    const struct data_show show = {
        .path = words[0],
        .kind = settings->kind < 0 ? NULL : kind_names[settings->kind],
        .split = settings->split < 0    ? -1
                 : settings->split == 0 ? DATASET_TRAIN
                                        : DATASET_TEST,
        .reads_images = settings->images,
        .lists_classes = settings->classes,
        .lists_all = settings->all};
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    st = data_show(&show, settings->json, result.sink, &result.term, err);
    return result_close(&result, st, err);
}

static enum assay_status cmd_data_list(const char *const *words,
                                       const void *context, struct error *err)
{
    const struct settings *settings = context;
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    (void)words;
    if (st)
        return st;
    data_list(settings->json, result.sink);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status
cmd_data_find_published(const char *name, const struct data_published **out,
                        struct error *err)
{
    struct nearest nearest = nearest_to(name);

    *out = data_find_published(name);
    if (*out)
        return ASSAY_OK;
    for (const struct data_published *p = data_published; p->url; p++)
        nearest_offer(&nearest, dataset_kind_name(p->kind));
    return message_unknown("cannot fetch", &nearest,
                           "only 'oxford-iiit-pet' can be fetched", err);
}

static enum assay_status cmd_data_fetch(const char *const *words,
                                        const void *context, struct error *err)
{
    const struct settings *settings = context;
    struct data_fetch fetch = {.to =
                                   settings->to ? settings->to : default_folder,
                               .url = settings->url,
                               .sums = settings->sums,
                               .keeps_archives = settings->keep};
    struct result result;
    enum assay_status st =
        cmd_data_find_published(words[0], &fetch.published, err);

    if (!st)
        st = result_open(NULL, &result, err);
    if (st)
        return st;
    st = data_fetch(&fetch, result.sink, err);
    return result_close(&result, st, err);
}

const struct command cmd_data = {
    .name = "data",
    .section = "Models",
    .purpose = "inspect datasets, fetch Oxford-IIIT Pet",
    .usage = TEXTS("data show [--dataset KIND] [--images] [--classes] PATH",
                   "data list [--json]",
                   "data fetch [--to DIR] [--url BASE] oxford-iiit-pet"),
    .description = TEXTS(
        "show prints what a dataset holds: samples, classes and boxes of "
        "each split, image sizes, and what is odd: files that are missing "
        "or belong to nothing, annotations without a box, boxes outside "
        "their image. It recognises the kind of dataset.",
        "list names the kinds of datasets that training and evaluation "
        "read.",
        "fetch downloads a published dataset and unpacks it where 'assay "
        "train' looks for it. Archives are checked against their published "
        "MD5 sums; an interrupted download continues where it stopped, and "
        "a folder appears only when it is complete."),
    .options = options,
    .examples = EXAMPLES(
        {"data fetch oxford-iiit-pet", "811 MB into data/oxford-iiit-pet"},
        {"data show data/oxford-iiit-pet --images",
         "what is in it, with every image read"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .actions = ACTIONS({"show", 1, "the path of a dataset", cmd_data_show},
                       {"list", 0, NULL, cmd_data_list},
                       {"fetch", 1,
                        "the name of a dataset; 'assay data list' has them",
                        cmd_data_fetch}),
};
