/* predict/data_set.c - see data_folder.h: networks and rows, by name. */
#include "predict/data_folder.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

const char *const stage_names[] = {"training", "inference", NULL};
const char *const target_names[] = {"latency", "memory", NULL};
const char *const framework_names[] = {"", "assay", "torch", NULL};

void data_set_release(struct data_set *set)
{
    for (size_t i = 0; i < set->n_descriptions; i++)
        description_release(&set->descriptions[i]);
    mem_free(set->descriptions);
    mem_free(set->rows);
    map_release(&set->index);
    map_release(&set->noted);
    str_release(&set->machines);
    str_release(&set->undescribed);
    str_release(&set->last_undescribed);
    *set = (struct data_set){0};
}

void data_set_begin(struct data_set *set)
{
    if (!set->n_descriptions)
        set->capacity_mb = set->available_mb = set->lane =
            set->multiprocessors = NAN;
}

enum assay_status data_set_add_row(struct data_set *set,
                                   const struct measurement *row,
                                   struct error *err)
{
    struct measurement *moved = vec_reserve(set->rows, &set->rows_capacity,
                                            set->n_rows + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a measurement");
    set->rows = moved;
    moved[set->n_rows++] = *row;
    return ASSAY_OK;
}

/* ---- descriptions by name ------------------------------------------------ */

/* Appends the key of a network: "resnet50 30". */
static enum assay_status data_set_key(struct str *key, const char *network,
                                      int64_t level, struct error *err)
{
    return str_printf(key, "%s %lld", network_canonical(network),
                      (long long)level)
               ? error_nomem(err, strlen(network), "the name of a network")
               : ASSAY_OK;
}

size_t data_set_find(const struct data_set *set, const char *network,
                     int64_t level)
{
    struct str key = {0};
    uint64_t index = SIZE_MAX;

    if (!data_set_key(&key, network, level, NULL))
        map_find_text(&set->index, str_text(&key), &index);
    str_release(&key);
    return (size_t)index;
}

static enum assay_status add_description(struct data_set *set, const char *key,
                                         const char *network, int64_t level,
                                         struct error *err)
{
    struct description *moved =
        vec_reserve(set->descriptions, &set->descriptions_capacity,
                    set->n_descriptions + 1, sizeof *moved);
    enum assay_status st;

    if (!moved)
        return error_nomem(err, sizeof *moved, "a network");
    set->descriptions = moved;
    moved[set->n_descriptions] = (struct description){0};
    st = description_set_name(&moved[set->n_descriptions],
                              network_canonical(network), level, err);
    if (!st && map_put_text(&set->index, key, set->n_descriptions))
        st = error_nomem(err, 16, "a network");
    if (st)
        description_release(&moved[set->n_descriptions]);
    else
        set->n_descriptions++;
    return st;
}

enum assay_status data_set_describe(struct data_set *set, const char *network,
                                    int64_t level, size_t *index,
                                    struct error *err)
{
    struct str key = {0};
    uint64_t found;
    enum assay_status st = data_set_key(&key, network, level, err);

    if (!st && map_find_text(&set->index, str_text(&key), &found)) {
        *index = (size_t)found;
    } else if (!st) {
        st = add_description(set, str_text(&key), network, level, err);
        *index = set->n_descriptions - !st;
    }
    str_release(&key);
    return st;
}

/* ---- measurements -------------------------------------------------------- */

/* Notes "mnasnet 5 15, resnet18 40": each network and level once. */
static enum assay_status note_undescribed(struct data_set *set,
                                          const char *network, int64_t level,
                                          struct error *err)
{
    struct str key = {0};
    bool is_last = strcmp(str_text(&set->last_undescribed), network) == 0;
    enum assay_status st = data_set_key(&key, network, level, err);

    set->n_undescribed++;
    if (!st && !map_find_text(&set->noted, str_text(&key), NULL)) {
        str_clear(&set->last_undescribed);
        if (map_put_text(&set->noted, str_text(&key), 1) ||
            str_append(&set->last_undescribed, network) ||
            str_printf(&set->undescribed, "%s%s %lld",
                       is_last || !set->undescribed.n ? "" : ", ",
                       is_last ? "" : network, (long long)level))
            st = error_nomem(err, 32, "a note");
    }
    str_release(&key);
    return st;
}

enum assay_status data_set_measure(struct data_set *set, const char *network,
                                   int64_t level, struct measurement row,
                                   struct error *err)
{
    row.description = data_set_find(set, network, level);
    if (row.description == SIZE_MAX ||
        (!set->descriptions[row.description].n_convs &&
         !set->descriptions[row.description].n_denses))
        return note_undescribed(set, network, level, err);
    return data_set_add_row(set, &row, err);
}

void data_set_note_device(struct data_set *set, double capacity_mb,
                          double available_mb)
{
    if (capacity_mb > 0)
        set->capacity_mb = fmax(set->capacity_mb, capacity_mb);
    if (available_mb > 0)
        set->available_mb = fmax(set->available_mb, available_mb);
}

static bool has_line(const char *lines, const char *line)
{
    size_t n = strlen(line);

    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
        if (strncmp(lines, line, n) == 0 && lines[n] == '\n')
            return true;
    }
    return false;
}

enum assay_status data_set_note_machine(struct data_set *set, const char *name,
                                        struct error *err)
{
    if (!*name || strchr(name, '\n') ||
        has_line(str_text(&set->machines), name))
        return ASSAY_OK;
    return str_printf(&set->machines, "%s\n", name)
               ? error_nomem(err, strlen(name), "the name of a machine")
               : ASSAY_OK;
}
