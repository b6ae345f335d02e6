/* cli/data_show.c - see data_show.h. */
#include "cli/data_show.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/data_fetch.h"
#include "data/census.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *what, *layout; /* the layout is how it is recognised */
} data_kinds[N_DATASET_KINDS] = {
    [DATASET_CIFAR10] = {"10 classes", "cifar-10-batches-bin/"},
    [DATASET_CIFAR100] = {"100 classes", "cifar-100-binary/"},
    [DATASET_IMAGEFOLDER] = {"one folder per class",
                             "train/CLASS/, val/CLASS/"},
    [DATASET_COCO] = {"boxes and masks", "annotations/instances_*.json"},
    [DATASET_VOC] = {"boxes", "Annotations/, JPEGImages/"},
    [DATASET_PETS] = {"37 breeds, boxes, masks", "images/, annotations/*.txt"},
    [DATASET_SYNTHETIC] = {"shapes, boxes, masks", "nothing: it is generated"},
};

static const char *const split_names[] = {
    [DATASET_TRAIN] = "train", [DATASET_TEST] = "test"};

/* A split that is there. */
struct data_part {
    enum dataset_split split;
    struct dataset *dataset;
    struct census census;
};

/* The splits of a dataset, opened and counted. Start from {.show}. */
struct data_parts {
    const struct data_show *show;
    enum dataset_kind kind;
    struct data_part items[2];
    size_t n;
    bool is_one; /* both splits have the same samples */
    char **odd;  /* lines */
    size_t n_odd, odd_capacity;
    bool has_no_memory; /* for one of the lines */
};

static void data_parts_release(struct data_parts *parts)
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

static enum assay_status data_parts_open_split(struct data_parts *parts,
                                               enum dataset_split split,
                                               struct error *err)
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

/* Without --split a dataset may have only one of them. */
static enum assay_status data_parts_open_kind(struct data_parts *parts,
                                              enum dataset_kind kind,
                                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    parts->kind = kind;
    if (parts->show->split >= 0)
        return data_parts_open_split(
            parts, (enum dataset_split)parts->show->split, err);
    for (enum dataset_split split = DATASET_TRAIN; split <= DATASET_TEST;
         split++) {
        struct error why = {0};

        st = data_parts_open_split(parts, split, &why);
        if (st && parts->n == 0)
            error_set(err, st, "%s", why.text);
        if (st && st != ASSAY_NOT_FOUND)
            break;
    }
    return parts->n ? ASSAY_OK : st;
}

/* The first kind that finds what it looks for. */
static enum assay_status data_parts_open_any(struct data_parts *parts,
                                             struct error *err)
{
    static const enum dataset_kind order[] = {
        DATASET_PETS,    DATASET_COCO,     DATASET_VOC,
        DATASET_CIFAR10, DATASET_CIFAR100, DATASET_IMAGEFOLDER};
    const char *path = parts->show->path;

    if (access(path, R_OK))
        return error_errno(err, errno, "cannot read the dataset %s", path);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct error why = {0};
        enum assay_status st = data_parts_open_kind(parts, order[i], &why);

        if (!st)
            return ASSAY_OK;
        if (st != ASSAY_NOT_FOUND)
            return error_set(err, st, "%s", why.text);
    }
    return error_set(err, ASSAY_NOT_FOUND,
                     "%s is not a dataset of a known kind; name the kind with "
                     "--dataset; 'assay data list' shows what each looks like",
                     path);
}

static enum assay_status data_parts_open_kinds(struct data_parts *parts,
                                               struct error *err)
{
    const char *name = parts->show->kind;
    enum dataset_kind kind = 0;

    if (!name)
        return data_parts_open_any(parts, err);
    while (strcmp(dataset_kind_name(kind), name) != 0)
        kind++; /* it is one of the choices */
    return data_parts_open_kind(parts, kind, err);
}

/* A folder of classes without folders for the splits serves as both. */
static void data_parts_join(struct data_parts *parts)
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

static void data_parts_note(void *context, const char *line)
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

static enum assay_status data_parts_count(struct data_parts *parts,
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
                                               .odd = data_parts_note,
                                               .context = parts};

        for (size_t k = 0; k < dataset_odd_count(part->dataset); k++)
            data_parts_note(parts, dataset_odd(part->dataset, k));
        st = census_dataset(part->dataset, &options, &part->census, err);
        progress_finish(&progress);
    }
    if (!st && parts->has_no_memory)
        st = error_nomem(err, 128, "what is odd in a dataset");
    return st;
}

/* Release the parts also after a failure. */
static enum assay_status data_parts_open(struct data_parts *parts,
                                         struct error *err)
{
    enum assay_status st = data_parts_open_kinds(parts, err);

    if (st)
        return st;
    data_parts_join(parts);
    return data_parts_count(parts, err);
}

/* ---- for people -------------------------------------------------------- */

static const char *data_part_name(const struct data_parts *parts, size_t i)
{
    return parts->is_one ? "all" : split_names[parts->items[i].split];
}

static const char *data_sizes_text(const struct census *census, char text[64])
{
    if (!census->n_sized)
        return "-";
    if (census->least_width == census->most_width &&
        census->least_height == census->most_height)
        snprintf(text, 64, "%dx%d", census->least_width, census->least_height);
    else
        snprintf(text, 64, "%dx%d to %dx%d", census->least_width,
                 census->least_height, census->most_width, census->most_height);
    return text;
}

static void data_put_parts(const struct data_parts *parts, struct sink *sink)
{
    bool has_boxes = dataset_has_objects(parts->items[0].dataset);

    sink_printf(sink, "\n%-8s %8s", "split", "samples");
    if (has_boxes)
        sink_printf(sink, " %9s %8s", "boxes", "/sample");
    sink_puts(sink, "  sizes\n");
    for (size_t i = 0; i < parts->n; i++) {
        const struct census *census = &parts->items[i].census;
        char sizes[64], number[UNITS_MAX];
        size_t n_good = census->n_samples - census->n_bad;

        sink_printf(sink, "%-8s %8zu", data_part_name(parts, i),
                    census->n_samples);
        if (has_boxes)
            sink_printf(sink, " %9zu %8s", census->n_boxes,
                        units_number(number, n_good ? (double)census->n_boxes /
                                                          (double)n_good
                                                    : 0));
        sink_printf(sink, "  %s\n", data_sizes_text(census, sizes));
    }
}

/* As many names as fit. */
static void data_put_class_names(const struct data_parts *parts,
                                 struct sink *sink, const struct term *term)
{
    const struct dataset *dataset = parts->items[0].dataset;
    enum { around = 35 }; /* "classes  1000: " and ", ... (--classes)" */
    size_t n = dataset_class_count(dataset), columns = 0;
    size_t room = term->width > 60 ? (size_t)term->width - around : 30;
    size_t i = 0;

    sink_printf(sink, "classes  %zu: ", n);
    for (; i < n; i++) {
        const char *name = dataset_class_name(dataset, i);

        columns += text_columns(name) + 2;
        if (i && columns > room)
            break;
        sink_puts(sink, i ? ", " : "");
        text_put(sink, term, name);
    }
    sink_puts(sink, i < n ? ", ... (--classes)\n" : "\n");
}

static void data_put_classes(const struct data_parts *parts, struct sink *sink,
                             const struct term *term)
{
    const struct dataset *dataset = parts->items[0].dataset;
    size_t columns = 5;

    for (size_t k = 0; k < dataset_class_count(dataset); k++) {
        size_t n = text_columns(dataset_class_name(dataset, k));

        columns = n > columns && n <= 40 ? n : columns;
    }
    sink_puts(sink, "\n");
    text_fit(sink, term, "class", columns, ALIGN_LEFT);
    for (size_t i = 0; i < parts->n; i++)
        sink_printf(sink, " %8s", data_part_name(parts, i));
    sink_puts(sink, "\n");
    for (size_t k = 0; k < dataset_class_count(dataset); k++) {
        text_fit(sink, term, dataset_class_name(dataset, k), columns,
                 ALIGN_LEFT);
        for (size_t i = 0; i < parts->n; i++)
            sink_printf(sink, " %8zu", parts->items[i].census.n_of_class[k]);
        sink_puts(sink, "\n");
    }
}

/* Without the path of the dataset, which all files begin with. */
static const char *data_path_inside(const struct data_parts *parts,
                                    const char *line)
{
    size_t n = strlen(parts->show->path);

    return strncmp(line, parts->show->path, n) == 0 && line[n] == '/'
               ? line + n + 1
               : line;
}

static void data_put_lines(const struct data_parts *parts, struct sink *sink,
                           const struct term *term)
{
    enum { most_lines = 20 };
    size_t n = parts->n_odd > most_lines && !parts->show->lists_all
                   ? most_lines
                   : parts->n_odd;

    for (size_t i = 0; i < n; i++) {
        sink_puts(sink, "  ");
        text_put(sink, term, data_path_inside(parts, parts->odd[i]));
        sink_puts(sink, "\n");
    }
    if (n < parts->n_odd)
        sink_printf(sink, "  and %zu more (--all)\n", parts->n_odd - n);
}

/* Only the first line that is printed begins with the label. */
static void data_put_count(struct sink *sink, const char **before, size_t n,
                           const char *what)
{
    if (!n)
        return;
    sink_printf(sink, "%s%s: %zu\n", *before, what, n);
    *before = "         ";
}

static void data_put_odd(const struct data_parts *parts, struct sink *sink,
                         const struct term *term)
{
    struct census sum = {0};
    const char *before = "odd      ";

    for (size_t i = 0; i < parts->n; i++) {
        sum.n_bad += parts->items[i].census.n_bad;
        sum.n_without += parts->items[i].census.n_without;
        sum.n_crowds += parts->items[i].census.n_crowds;
        sum.n_cut += parts->items[i].census.n_cut;
        sum.n_left_out += parts->items[i].census.n_left_out;
    }
    if (sum.n_crowds)
        sink_printf(sink, "crowds   %zu, which training leaves out\n",
                    sum.n_crowds);
    sink_puts(sink, "\n");
    data_put_count(sink, &before, sum.n_bad, "samples that cannot be used");
    data_put_count(sink, &before, sum.n_without, "samples without a box");
    data_put_count(sink, &before, sum.n_cut,
                   "boxes that reach beyond their image");
    data_put_count(sink, &before, sum.n_left_out, "empty boxes");
    data_put_count(sink, &before, parts->n_odd, "notes");
    if (before[0] != ' ')
        sink_printf(sink, "%snothing\n", before);
    data_put_lines(parts, sink, term);
}

static void data_put_screen(const struct data_parts *parts, struct sink *sink,
                            const struct term *term)
{
    sink_printf(sink, "data     %s in ", dataset_kind_name(parts->kind));
    text_put(sink, term, parts->show->path);
    sink_puts(sink, "\n");
    data_put_class_names(parts, sink, term);
    data_put_parts(parts, sink);
    if (parts->show->lists_classes)
        data_put_classes(parts, sink, term);
    data_put_odd(parts, sink, term);
    if (!parts->show->reads_images)
        sink_puts(sink, "images were not read (--images)\n");
}

/* ---- for programs ------------------------------------------------------ */

static void data_write_part(const struct data_parts *parts, size_t i,
                            struct json_writer *json)
{
    const struct data_part *part = &parts->items[i];
    const struct census *census = &part->census;

    json_object_begin(json);
    json_member_string(json, "split", data_part_name(parts, i));
    json_member_int(json, "samples", (int64_t)census->n_samples);
    json_member_int(json, "unusable", (int64_t)census->n_bad);
    if (dataset_has_objects(part->dataset)) {
        json_member_int(json, "without_box", (int64_t)census->n_without);
        json_member_int(json, "boxes", (int64_t)census->n_boxes);
        json_member_int(json, "boxes_cut", (int64_t)census->n_cut);
        json_member_int(json, "boxes_left_out", (int64_t)census->n_left_out);
        json_member_int(json, "crowds", (int64_t)census->n_crowds);
    }
    if (census->n_sized) {
        json_member_int(json, "least_width", census->least_width);
        json_member_int(json, "least_height", census->least_height);
        json_member_int(json, "most_width", census->most_width);
        json_member_int(json, "most_height", census->most_height);
    }
    json_key(json, "of_class");
    json_inline_array_begin(json);
    for (size_t k = 0; k < dataset_class_count(part->dataset); k++)
        json_write_int(json, (int64_t)census->n_of_class[k]);
    json_array_end(json);
    json_object_end(json);
}

static void data_show_write_json(const struct data_parts *parts,
                                 struct sink *sink)
{
    const struct dataset *dataset = parts->items[0].dataset;
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "kind", dataset_kind_name(parts->kind));
    json_member_string(&json, "path", parts->show->path);
    json_key(&json, "classes");
    json_array_begin(&json);
    for (size_t i = 0; i < dataset_class_count(dataset); i++)
        json_write_string(&json, dataset_class_name(dataset, i));
    json_array_end(&json);
    json_key(&json, "splits");
    json_array_begin(&json);
    for (size_t i = 0; i < parts->n; i++)
        data_write_part(parts, i, &json);
    json_array_end(&json);
    json_key(&json, "odd");
    json_array_begin(&json);
    for (size_t i = 0; i < parts->n_odd; i++)
        json_write_string(&json, parts->odd[i]);
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

enum assay_status data_show(const struct data_show *show, bool is_json,
                            struct sink *sink, const struct term *term,
                            struct error *err)
{
    struct data_parts parts = {.show = show};
    enum assay_status st = data_parts_open(&parts, err);

    if (!st && is_json)
        data_show_write_json(&parts, sink);
    else if (!st)
        data_put_screen(&parts, sink, term);
    data_parts_release(&parts);
    return st;
}

/* ---- kinds ------------------------------------------------------------- */

static double data_fetched_megabytes(enum dataset_kind kind)
{
    const struct data_published *published =
        data_find_published(dataset_kind_name(kind));
    double sum = 0;

    for (size_t i = 0; published && published->archives[i].file; i++)
        sum += (double)published->archives[i].bytes / 1e6;
    return sum;
}

static void data_show_list_json(struct sink *sink)
{
    struct json_writer json = json_writer(sink, 2);

    json_array_begin(&json);
    for (enum dataset_kind kind = 0; kind < N_DATASET_KINDS; kind++) {
        json_inline_object_begin(&json);
        json_member_string(&json, "kind", dataset_kind_name(kind));
        json_member_string(&json, "what", data_kinds[kind].what);
        json_member_string(&json, "layout", data_kinds[kind].layout);
        json_member_double(&json, "fetch_megabytes",
                           data_fetched_megabytes(kind));
        json_object_end(&json);
    }
    json_array_end(&json);
    sink_puts(sink, "\n");
}

void data_list(bool is_json, struct sink *sink)
{
    if (is_json) {
        data_show_list_json(sink);
        return;
    }
    sink_printf(sink, "%-15s  %-23s  %-28s  %s\n", "dataset", "what",
                "looked for", "fetch");
    for (enum dataset_kind kind = 0; kind < N_DATASET_KINDS; kind++) {
        double megabytes = data_fetched_megabytes(kind);
        char size[UNITS_MAX] = "-";

        if (megabytes > 0)
            units_file_size(size, megabytes * 1e6);
        sink_printf(sink, "%-15s  %-23s  %-28s  %s\n", dataset_kind_name(kind),
                    data_kinds[kind].what, data_kinds[kind].layout, size);
    }
}
