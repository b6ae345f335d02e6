/* data/voc_results.c - results in Pascal VOC's format, see detections.h. */
#include "data/detections_internal.h"

#include "base/csv_text.h"
#include "base/decimal.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/dataset_internal.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N_FIELDS = 6, MOST_FIELD = 256 };

/* Images by their names. */
struct image_names {
    struct map places;
};

static enum assay_status image_names_fill(struct image_names *names,
                                          const struct dataset *dataset,
                                          struct error *err)
{
    for (size_t i = 0; i < dataset->n; i++) {
        if (map_put_text(&names->places, dataset->images[i].path, i))
            return error_nomem(err, 32, "the name of an image");
    }
    return ASSAY_OK;
}

/* ---- a line ----------------------------------------------------------- */

/* Splits a line at its blanks; returns how many fields it has, N_FIELDS + 1 for
 * any more. Fields that are too long are cut. */
static size_t voc_results_split(const char *line, size_t n,
                                char fields[N_FIELDS][MOST_FIELD])
{
    size_t count = 0, at = 0;

    while (at < n) {
        size_t begin, length;

        while (at < n && strchr(" \t\r", line[at]))
            at++;
        begin = at;
        while (at < n && !strchr(" \t\r", line[at]))
            at++;
        length = at - begin;
        if (length == 0)
            break;
        if (count == N_FIELDS)
            return N_FIELDS + 1;
        if (length >= MOST_FIELD)
            length = MOST_FIELD - 1;
        memcpy(fields[count], line + begin, length);
        fields[count++][length] = '\0';
    }
    return count;
}

static bool voc_results_number(const char *text, double *out)
{
    if (!csv_is_number(text))
        return false;
    *out = decimal_double(text, strlen(text));
    return isfinite(*out);
}

static enum assay_status voc_results_line(const struct image_names *names,
                                          char fields[N_FIELDS][MOST_FIELD],
                                          size_t n_fields,
                                          struct detection *found,
                                          struct error *err)
{
    double sides[4];
    uint64_t image;

    if (n_fields != N_FIELDS)
        return error_set(err, ASSAY_BAD_INPUT,
                         "expected 'IMAGE SCORE XMIN YMIN XMAX YMAX'");
    if (!map_find_text(&names->places, fields[0], &image))
        return error_set(err, ASSAY_BAD_INPUT,
                         "a result of image '%.100s', which the annotations do "
                         "not have; is this the right pair of files?",
                         fields[0]);
    found->image = (size_t)image;
    if (!voc_results_number(fields[1], &found->score))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the score '%.40s' is not a number", fields[1]);
    for (size_t i = 0; i < 4; i++) {
        if (!voc_results_number(fields[2 + i], &sides[i]))
            return error_set(err, ASSAY_BAD_INPUT,
                             "'%.40s' is not a side of a box", fields[2 + i]);
    }
    /* Pixels count from 1, and the last one is included. */
    found->object.x = sides[0] - 1;
    found->object.y = sides[1] - 1;
    found->object.width = fmax(sides[2] - sides[0] + 1, 0);
    found->object.height = fmax(sides[3] - sides[1] + 1, 0);
    found->has_box = true;
    return ASSAY_OK;
}

static enum assay_status voc_results_lines(const struct image_names *names,
                                           const char *text, size_t n,
                                           size_t label, struct detections *out,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;
    size_t number = 1;

    for (size_t at = 0; !st && at < n; number++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        char fields[N_FIELDS][MOST_FIELD];
        size_t n_fields = voc_results_split(text + at, length, fields);
        struct detection found = {.object.label = label};

        if (n_fields > 0) {
            st = voc_results_line(names, fields, n_fields, &found, err);
            if (st)
                error_context(err, "line %zu", number);
            else
                st = detections_add(out, &found, err);
        }
        at += length + 1;
    }
    return st;
}

enum assay_status voc_results_read_text(const struct dataset *dataset,
                                        const char *text, size_t n,
                                        size_t label, const char *name,
                                        struct detections *out,
                                        struct error *err)
{
    struct image_names names = {0};
    enum assay_status st = image_names_fill(&names, dataset, err);

    if (!st)
        st = voc_results_lines(&names, text, n, label, out, err);
    if (st)
        error_context(err, "%s", name);
    map_release(&names.places);
    return st;
}

/* ---- files ------------------------------------------------------------ */

/* Start from {0}. */
struct voc_files {
    const struct dataset *dataset;
    struct image_names names;
    struct detections *out;
    const char **of_class; /* the file read for each class; NULL: none */
    struct arena memory;
};

/* The class at the end of a file's name; the longest if several fit. */
static bool voc_results_class(const struct dataset *dataset, const char *path,
                              size_t *label)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), longest = 0;

    if (str_ends_with(name, ".txt"))
        n -= 4;
    for (size_t i = 0; i < dataset->n_classes; i++) {
        size_t n_class = strlen(dataset->classes[i]);

        if (n_class <= longest || n_class > n ||
            memcmp(name + n - n_class, dataset->classes[i], n_class) != 0 ||
            (n_class < n && name[n - n_class - 1] != '_'))
            continue;
        longest = n_class;
        *label = i;
    }
    return longest > 0;
}

static size_t voc_results_count(const struct str *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->n; i++)
        n += text->text[i] == '\n';
    return n + (text->n > 0 && text->text[text->n - 1] != '\n');
}

static enum assay_status voc_results_file(struct voc_files *files,
                                          const char *path, struct error *err)
{
    enum { most_bytes = 1 << 30 };
    struct str text = {0};
    size_t label = 0;
    enum assay_status st = file_read(path, most_bytes, &text, err);

    if (!st && !voc_results_class(files->dataset, path, &label)) {
        st = detections_leave_out(files->out, voc_results_count(&text), err,
                                  "the file %s", path);
    } else if (!st && files->of_class[label]) {
        st = error_set(err, ASSAY_BAD_INPUT,
                       "two result files of the class %s: %s and %s; keep the "
                       "files of one competition in a folder of their own",
                       files->dataset->classes[label], files->of_class[label],
                       path);
    } else if (!st) {
        files->of_class[label] = arena_strdup(&files->memory, path);
        st = files->of_class[label]
                 ? voc_results_lines(&files->names, str_text(&text), text.n,
                                     label, files->out, err)
                 : error_nomem(err, 32, "a file name");
        if (st)
            error_context(err, "%s", path);
    }
    str_release(&text);
    return st;
}

/* In the order of their names. */
static enum assay_status voc_results_folder(struct voc_files *files,
                                            const char *folder,
                                            struct error *err)
{
    DIR *dir = opendir(folder);
    const char **paths = NULL;
    size_t n = 0, capacity = 0;
    const struct dirent *entry;
    enum assay_status st = ASSAY_OK;

    if (!dir)
        return error_errno(err, errno, "reading %s", folder);
    while (!st && (entry = readdir(dir)) != NULL) {
        struct str path = {0};

        if (!str_ends_with(entry->d_name, ".txt"))
            continue;
        if (!vec_grow(&paths, &capacity, n + 1, sizeof *paths) ||
            str_printf(&path, "%s/%s", folder, entry->d_name) ||
            !(paths[n++] = arena_strdup(&files->memory, path.text)))
            st = error_nomem(err, 32, "a file name");
        str_release(&path);
    }
    closedir(dir);
    if (!st && n == 0)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "%s has no .txt files; results are one file per class, "
                       "named like comp4_det_test_dog.txt",
                       folder);
    if (!st)
        qsort(paths, n, sizeof *paths, dataset_by_text);
    for (size_t i = 0; !st && i < n; i++)
        st = voc_results_file(files, paths[i], err);
    mem_free(paths);
    return st;
}

enum assay_status voc_results_read(const struct dataset *dataset,
                                   const char *path, struct detections *out,
                                   struct error *err)
{
    struct voc_files files = {.dataset = dataset, .out = out};
    struct stat info;
    enum assay_status st;

    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    st = image_names_fill(&files.names, dataset, err);
    files.of_class = mem_array(dataset->n_classes, sizeof *files.of_class);
    if (!st && !files.of_class)
        st = error_nomem(err, dataset->n_classes * sizeof *files.of_class,
                         "the classes");
    if (!st)
        st = S_ISDIR(info.st_mode) ? voc_results_folder(&files, path, err)
                                   : voc_results_file(&files, path, err);
    if (!st)
        st = detections_check(out, path, err);
    if (!st)
        detections_settle(out);
    mem_free(files.of_class);
    map_release(&files.names.places);
    arena_release(&files.memory);
    return st;
}
