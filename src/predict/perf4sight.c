/* predict/perf4sight.c - see perf4sight.h. */
#include "predict/perf4sight.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "predict/csv.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ending[] = "-gt.csv";

enum { max_text_bytes = 1 << 26, max_level = 100, max_batch = 1 << 20 };

/* ---- one file ------------------------------------------------------------ */

struct profile_columns {
    int passed, batch, value;
    int stage, network, capacity, available; /* these may be missing */
    enum target target;
};

/* Splits "resnet18_30-gt.csv", with or without a folder in front. */
static bool profile_split(const char *name, char network[128], int64_t *level)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t n = str_ends_with(base, ending) ? strlen(base) - strlen(ending) : 0;
    size_t at = n;

    while (at && base[at - 1] >= '0' && base[at - 1] <= '9')
        at--;
    if (at == n || n - at > 3 || at < 2 || base[at - 1] != '_' || at > 128)
        return false;
    *level = strtol(base + at, NULL, 10);
    memcpy(network, base, at - 1);
    network[at - 1] = '\0';
    return *level <= max_level;
}

static enum assay_status profile_find(const struct csv *csv,
                                      struct profile_columns *columns,
                                      struct error *err)
{
    enum assay_status st = csv_need(csv, "passed", &columns->passed, err);

    if (!st)
        st = csv_need(csv, "bs", &columns->batch, err);
    if (st)
        return st;
    columns->value = csv_find(csv, "mem_used");
    columns->target = TARGET_MEMORY;
    if (columns->value < 0) {
        columns->value = csv_find(csv, "latency");
        columns->target = TARGET_LATENCY;
    }
    if (columns->value < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s: neither a column 'latency' nor 'mem_used'",
                         str_text(&csv->name));
    columns->stage = csv_find(csv, "exec_stage");
    if (columns->stage < 0)
        columns->stage = csv_find(csv, "stage");
    columns->network = csv_find(csv, "net_name");
    columns->capacity = csv_find(csv, "capacity");
    columns->available = csv_find(csv, "mem_avail");
    return ASSAY_OK;
}

/* Its files about training do not say so. */
static enum assay_status profile_stage(const struct csv *csv, int place,
                                       enum stage *stage, struct error *err)
{
    const char *text = csv_field(csv, place);

    *stage = STAGE_TRAINING;
    if (!*text)
        return ASSAY_OK;
    for (int i = 0; stage_names[i]; i++) {
        if (strcmp(text, stage_names[i]) == 0) {
            *stage = (enum stage)i;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu, column %s: '%.40s' is neither training nor "
                     "inference",
                     str_text(&csv->name), csv->line, csv->columns[place],
                     text);
}

static enum assay_status profile_passed(const struct csv *csv, int place,
                                        bool *passed, struct error *err)
{
    const char *text = csv_field(csv, place);

    *passed = strcmp(text, "True") == 0;
    if (*passed || strcmp(text, "False") == 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu, column passed: '%.40s' is neither True nor "
                     "False",
                     str_text(&csv->name), csv->line, text);
}

static enum assay_status profile_check_name(const struct csv *csv, int place,
                                            const char *network,
                                            struct error *err)
{
    const char *own = csv_field(csv, place);

    if (!*own ||
        strcmp(network_canonical(own), network_canonical(network)) == 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu is about %.60s, its file about %.60s",
                     str_text(&csv->name), csv->line, own, network);
}

/* A failed run has a value that means nothing; of memory it says that this did
 * not fit. */
static enum assay_status profile_row(const struct csv *csv,
                                     const struct profile_columns *columns,
                                     struct measurement *row,
                                     double *capacity_mb, double *available_mb,
                                     struct error *err)
{
    bool passed = false;
    int64_t batch = 0;
    double value = NAN;
    enum assay_status st = profile_passed(csv, columns->passed, &passed, err);

    *row =
        (struct measurement){.value = {NAN, NAN}, .framework = FRAMEWORK_TORCH};
    if (!st)
        st = csv_integer(csv, columns->batch, 1, max_batch, &batch, err);
    if (!st)
        st = profile_stage(csv, columns->stage, &row->stage, err);
    if (!st && passed)
        st = csv_number(csv, columns->value, NAN, &value, err);
    if (!st)
        st = csv_number(csv, columns->capacity, NAN, capacity_mb, err);
    if (!st)
        st = csv_number(csv, columns->available, NAN, available_mb, err);
    row->batch = (double)batch;
    if (passed && value > 0)
        row->value[columns->target] = value;
    row->is_failed = !passed && columns->target == TARGET_MEMORY;
    return st;
}

static enum assay_status profile_rows(struct data_set *set, struct csv *csv,
                                      const char *network, int64_t level,
                                      struct error *err)
{
    struct profile_columns columns;
    enum assay_status st = profile_find(csv, &columns, err);
    bool more = true;

    while (!st && !(st = csv_next(csv, &more, err)) && more) {
        double capacity_mb = NAN, available_mb = NAN;
        struct measurement row;

        st = profile_check_name(csv, columns.network, network, err);
        if (!st)
            st = profile_row(csv, &columns, &row, &capacity_mb, &available_mb,
                             err);
        if (st)
            break;
        data_set_note_device(set, capacity_mb, available_mb);
        st = data_set_measure(set, network, level, row, err);
    }
    return st;
}

enum assay_status perf4sight_read_text(struct data_set *set, const char *name,
                                       const char *text, size_t n,
                                       struct error *err)
{
    struct csv csv = {.separator = '|'};
    char network[128];
    int64_t level;
    enum assay_status st;

    if (!profile_split(name, network, &level))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s: a profile is called NETWORK_LEVEL-gt.csv, with a "
                         "level of 0 to %d",
                         name, max_level);
    st = csv_open_text(&csv, name, text, n, err);
    if (!st)
        st = profile_rows(set, &csv, network, level, err);
    csv_release(&csv);
    return st;
}

/* ---- folders ------------------------------------------------------------- */

/* The names of files, in the order of the alphabet: what is read must not
 * depend on the file system. */
struct profile_list {
    char **items;
    size_t n, capacity;
};

static void profile_list_release(struct profile_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->items[i]);
    mem_free(list->items);
}

static int profile_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum assay_status profile_list_add(struct profile_list *list,
                                          const char *folder, const char *name,
                                          struct error *err)
{
    struct str path = {0};
    char **moved =
        vec_reserve(list->items, &list->capacity, list->n + 1, sizeof *moved);

    if (moved)
        list->items = moved;
    if (!moved || str_printf(&path, "%s/%s", folder, name)) {
        str_release(&path);
        return error_nomem(err, strlen(name), "the name of a file");
    }
    list->items[list->n] = mem_strdup(path.text);
    str_release(&path);
    if (!list->items[list->n])
        return error_nomem(err, strlen(name), "the name of a file");
    list->n++;
    return ASSAY_OK;
}

/* A folder that does not exist has no files. */
static enum assay_status profile_list_fill(struct profile_list *list,
                                           const char *folder,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;
    DIR *open = opendir(folder);
    struct dirent *entry;

    if (!open)
        return errno == ENOENT || errno == ENOTDIR
                   ? ASSAY_OK
                   : error_errno(err, errno, "opening %s", folder);
    while (!st && (entry = readdir(open))) {
        if (entry->d_name[0] != '.' && str_ends_with(entry->d_name, ending))
            st = profile_list_add(list, folder, entry->d_name, err);
    }
    closedir(open);
    return st;
}

static enum assay_status profile_list_all(struct profile_list *list,
                                          const char *folder, struct error *err)
{
    static const char *const parts[] = {"", "/latency", "/memory"};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof parts / sizeof *parts; i++) {
        struct str path = {0};

        st = str_printf(&path, "%s%s", folder, parts[i])
                 ? error_nomem(err, strlen(folder), "a path")
                 : profile_list_fill(list, path.text, err);
        str_release(&path);
    }
    if (!st && list->n)
        qsort(list->items, list->n, sizeof *list->items, profile_order);
    return st;
}

bool perf4sight_is_folder(const char *folder)
{
    struct profile_list list = {0};
    struct str path = {0};
    bool is_one = !str_printf(&path, "%s/measurements.csv", folder) &&
                  access(path.text, F_OK) != 0 &&
                  !profile_list_all(&list, folder, NULL) && list.n > 0;

    profile_list_release(&list);
    str_release(&path);
    return is_one;
}

enum assay_status perf4sight_read(struct data_set *set, const char *folder,
                                  struct error *err)
{
    struct profile_list list = {0};
    enum assay_status st = profile_list_all(&list, folder, err);

    for (size_t i = 0; !st && i < list.n; i++) {
        struct str text = {0};

        st = file_read(list.items[i], max_text_bytes, &text, err);
        if (!st)
            st = perf4sight_read_text(set, list.items[i], str_text(&text),
                                      text.n, err);
        str_release(&text);
    }
    profile_list_release(&list);
    return st;
}
