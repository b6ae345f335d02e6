/* cli/data_parts.c - see data_parts.h. */
#include "cli/data_parts.h"

#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void data_parts_release(struct data_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        census_release(&parts->items[i].census);
        dataset_close(parts->items[i].dataset);
    }
    for (size_t i = 0; i < parts->n_odd; i++)
        mem_free(parts->odd[i]);
    mem_free(parts->odd);
}

/* ---- opening ----------------------------------------------------------- */

static enum assay_status open_split(struct data_parts *parts,
                                    enum dataset_split split, struct error *err)
{
    const struct data_show *show = parts->show;
    struct data_part *part = &parts->items[parts->n];
    struct dataset_options options = {.kind = parts->kind,
                                      .split = split,
                                      .path = show->path,
                                      .lists_strays = parts->n == 0};
    enum assay_status st = dataset_open(&options, &part->dataset, err);

    part->split = split;
    parts->n += st ? 0 : 1;
    return st;
}

/* A dataset need not have both splits, unless one was asked for. */
static enum assay_status open_kind(struct data_parts *parts,
                                   enum dataset_kind kind, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    parts->kind = kind;
    if (parts->show->split >= 0)
        return open_split(parts, (enum dataset_split)parts->show->split, err);
    for (enum dataset_split split = DATASET_TRAIN; split <= DATASET_TEST;
         split++) {
        struct error why = {0};

        st = open_split(parts, split, &why);
        if (st && parts->n == 0)
            error_set(err, st, "%s", why.text);
        if (st && st != ASSAY_NOT_FOUND)
            break;
    }
    return parts->n ? ASSAY_OK : st;
}

/* The first kind that finds what it looks for. */
static enum assay_status open_any(struct data_parts *parts, struct error *err)
{
    static const enum dataset_kind order[] = {
        DATASET_PETS,    DATASET_COCO,     DATASET_VOC,
        DATASET_CIFAR10, DATASET_CIFAR100, DATASET_IMAGEFOLDER};
    const char *path = parts->show->path;

    if (access(path, R_OK))
        return error_errno(err, errno, "cannot read the dataset %s", path);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct error why = {0};
        enum assay_status st = open_kind(parts, order[i], &why);

        if (!st)
            return ASSAY_OK;
        if (st != ASSAY_NOT_FOUND)
            return error_set(err, st, "%s", why.text);
    }
    return error_set(err, ASSAY_NOT_FOUND,
                     "%s holds no dataset that is known; --dataset says which "
                     "it should be, and 'assay data list' what is looked for",
                     path);
}

static enum assay_status open_wanted(struct data_parts *parts,
                                     struct error *err)
{
    const char *wanted = parts->show->kind;
    enum dataset_kind kind = 0;

    if (!wanted)
        return open_any(parts, err);
    while (strcmp(dataset_kind_name(kind), wanted) != 0)
        kind++; /* it is one of the choices */
    return open_kind(parts, kind, err);
}

/* A folder of classes without folders of splits is either. */
static void find_one(struct data_parts *parts)
{
    struct dataset_target first[2] = {{0}};
    struct error ignored = {0};

    if (parts->n < 2 || parts->kind != DATASET_IMAGEFOLDER)
        return;
    for (size_t i = 0; i < 2; i++) {
        if (dataset_target(parts->items[i].dataset, 0, &first[i], &ignored))
            return;
    }
    parts->is_one = strcmp(first[0].path, first[1].path) == 0;
    if (parts->is_one)
        dataset_close(parts->items[--parts->n].dataset);
}

/* ---- counting ---------------------------------------------------------- */

static void note(void *context, const char *line)
{
    struct data_parts *parts = context;
    char **moved = vec_reserve(parts->odd, &parts->odd_capacity,
                               parts->n_odd + 1, sizeof *moved);
    char *copy = mem_strdup(line);

    if (moved)
        parts->odd = moved;
    if (moved && copy)
        moved[parts->n_odd++] = copy;
    else
        mem_free(copy);
    parts->has_no_memory = parts->has_no_memory || !moved || !copy;
}

static enum assay_status count_parts(struct data_parts *parts,
                                     struct error *err)
{
    struct sink screen = sink_to_file(stderr, "standard error");
    struct term term = term_of(stderr);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < parts->n; i++) {
        struct data_part *part = &parts->items[i];
        struct progress progress = progress_start(&screen, &term, clock_real(),
                                                  "reading", "samples", 0);
        const struct census_options options = {.reads_images =
                                                   parts->show->reads_images,
                                               .progress = &progress,
                                               .odd = note,
                                               .context = parts};

        for (size_t k = 0; k < dataset_odd_count(part->dataset); k++)
            note(parts, dataset_odd(part->dataset, k));
        st = census_dataset(part->dataset, &options, &part->census, err);
        progress_finish(&progress);
    }
    if (!st && parts->has_no_memory)
        st = error_nomem(err, 128, "what is odd in a dataset");
    return st;
}

enum assay_status data_parts_open(struct data_parts *parts, struct error *err)
{
    enum assay_status st = open_wanted(parts, err);

    if (st)
        return st;
    find_one(parts);
    return count_parts(parts, err);
}
