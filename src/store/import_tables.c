/* store/import_tables.c - the names, processes and threads of a trace. */
#include "store/import_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <ctype.h>
#include <string.h>

/* Kineto's categories, including those it used until 2021. */
static const struct {
    const char *category;
    unsigned traits;
} known_categories[] = {
    {"cpu_op", LABEL_OPERATOR},
    {"Operator", LABEL_OPERATOR},
    {"kernel", LABEL_KERNEL | LABEL_DEVICE | LABEL_WORK},
    {"Kernel", LABEL_KERNEL | LABEL_DEVICE | LABEL_WORK},
    {"gpu_memcpy", LABEL_DEVICE | LABEL_WORK},
    {"Memcpy", LABEL_DEVICE | LABEL_WORK},
    {"gpu_memset", LABEL_DEVICE | LABEL_WORK},
    {"Memset", LABEL_DEVICE | LABEL_WORK},
    {"gpu_user_annotation", LABEL_DEVICE},
    {"cuda_sync", LABEL_DEVICE},
    {"cuda_runtime", LABEL_CALL},
    {"cuda_driver", LABEL_CALL},
    {"Runtime", LABEL_CALL},
    {"Trace", LABEL_FRAME},
};

static bool label_is_step(const char *name)
{
    static const char prefix[] = "ProfilerStep#";
    const char *digits = name + sizeof prefix - 1;

    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !*digits)
        return false;
    while (isdigit((unsigned char)*digits))
        digits++;
    return *digits == '\0';
}

static unsigned label_find_traits(const char *name, const char *category)
{
    unsigned traits = 0;

    for (size_t i = 0; i < sizeof known_categories / sizeof known_categories[0];
         i++) {
        if (strcmp(category, known_categories[i].category) == 0)
            traits = known_categories[i].traits;
    }
    if (!(traits & LABEL_DEVICE) && label_is_step(name))
        traits |= LABEL_STEP;
    return traits;
}

void tables_release(struct import_tables *tables)
{
    mem_free(tables->labels);
    mem_free(tables->processes);
    mem_free(tables->lanes);
    map_release(&tables->label_map);
    map_release(&tables->process_map);
    map_release(&tables->lane_map);
    map_release(&tables->counter_map);
    str_release(&tables->key);
    arena_release(&tables->texts);
}

static enum assay_status tables_nomem(struct error *err)
{
    return error_nomem(err, sizeof(struct lane), "the names of a trace");
}

/* Neither part has a NUL in it, so every pair has its own key. */
static enum assay_status tables_make_key(struct import_tables *tables,
                                         const struct str *first,
                                         const struct str *second)
{
    struct str *key = &tables->key;
    enum assay_status st;

    str_clear(key);
    st = str_append_n(key, str_text(first), first->n);
    if (!st)
        st = str_append_char(key, '\0');
    return st ? st : str_append_n(key, str_text(second), second->n);
}

/* ---- labels ----------------------------------------------------------- */

static bool label_is(const struct label *label, const struct str *name,
                     const struct str *category)
{
    return label->name_bytes == name->n &&
           label->category_bytes == category->n &&
           memcmp(label->name, str_text(name), name->n) == 0 &&
           memcmp(label->category, str_text(category), category->n) == 0;
}

/* Names are long and few: guessing from their length and two pieces of their
 * text, and checking with one comparison, avoids hashing every byte. */
static uint32_t *label_slot(struct import_tables *tables,
                            const struct str *name, const struct str *category)
{
    uint64_t tail = 0, middle = 0, mixed;
    size_t n = name->n < sizeof tail ? name->n : sizeof tail;

    if (n > 0) {
        memcpy(&tail, name->text + name->n - n, n);
        memcpy(&middle, name->text + (name->n - n) / 2, n);
    }
    mixed = (tail ^ (middle << 7 | middle >> 57)) + name->n * 31 +
            category->n * UINT64_C(0x100000001);
    mixed *= UINT64_C(0x9e3779b97f4a7c15);
    return &tables->label_cache[mixed >> (64 - LABEL_CACHE_BITS)];
}

static enum assay_status label_add(struct import_tables *tables,
                                   const struct str *name,
                                   const struct str *category, uint32_t *id,
                                   struct error *err)
{
    const struct str *key = &tables->key;
    struct label *label;
    char *text;

    if (tables->n_labels == IMPORT_MAX_LABELS ||
        tables->label_bytes + key->n > IMPORT_MAX_LABEL_BYTES)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "more different event names than an import can hold "
                         "(%d, or %d MiB of text); put counters and addresses "
                         "into args instead of names",
                         IMPORT_MAX_LABELS, IMPORT_MAX_LABEL_BYTES >> 20);
    text = arena_strndup(&tables->texts, key->text, key->n);
    if (!text ||
        !vec_grow(&tables->labels, &tables->labels_capacity,
                  tables->n_labels + 1, sizeof *tables->labels) ||
        map_put(&tables->label_map, key->text, key->n, tables->n_labels))
        return tables_nomem(err);
    label = &tables->labels[tables->n_labels];
    *label = (struct label){.name = text,
                            .category = text + name->n + 1,
                            .name_bytes = name->n,
                            .category_bytes = category->n};
    label->traits = label_find_traits(label->name, label->category);
    tables->label_bytes += key->n;
    *id = (uint32_t)tables->n_labels++;
    return ASSAY_OK;
}

enum assay_status tables_label(struct import_tables *tables,
                               const struct str *name,
                               const struct str *category, uint32_t *id,
                               struct error *err)
{
    uint32_t *slot = label_slot(tables, name, category);
    enum assay_status st = ASSAY_OK;
    uint64_t found;

    if (*slot && label_is(&tables->labels[*slot - 1], name, category)) {
        *id = *slot - 1;
        return ASSAY_OK;
    }
    if (tables_make_key(tables, name, category))
        return tables_nomem(err);
    if (map_find(&tables->label_map, tables->key.text, tables->key.n, &found))
        *id = (uint32_t)found;
    else
        st = label_add(tables, name, category, id, err);
    if (!st)
        *slot = *id + 1;
    return st;
}

/* ---- processes and threads -------------------------------------------- */

enum assay_status tables_process(struct import_tables *tables,
                                 const struct str *pid, uint32_t *id,
                                 struct error *err)
{
    uint64_t found;
    char *text;

    if (map_find(&tables->process_map, str_text(pid), pid->n, &found)) {
        *id = (uint32_t)found;
        return ASSAY_OK;
    }
    text = arena_strdup(&tables->texts, str_text(pid));
    if (!text ||
        !vec_grow(&tables->processes, &tables->processes_capacity,
                  tables->n_processes + 1, sizeof *tables->processes) ||
        map_put(&tables->process_map, str_text(pid), pid->n,
                tables->n_processes))
        return tables_nomem(err);
    tables->processes[tables->n_processes] = (struct process){.pid = text};
    *id = (uint32_t)tables->n_processes++;
    return ASSAY_OK;
}

static enum assay_status lane_add(struct import_tables *tables,
                                  const struct str *pid, const struct str *tid,
                                  enum thread_kind kind, uint32_t *id,
                                  struct error *err)
{
    enum assay_status st;
    uint32_t process;
    char *text;

    if (tables->n_lanes == IMPORT_MAX_LANES)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "more than %d threads, the limit of a run",
                         IMPORT_MAX_LANES);
    st = tables_process(tables, pid, &process, err);
    if (st)
        return st;
    text = arena_strdup(&tables->texts, str_text(tid));
    if (!text ||
        !vec_grow(&tables->lanes, &tables->lanes_capacity, tables->n_lanes + 1,
                  sizeof *tables->lanes) ||
        map_put(&tables->lane_map, tables->key.text, tables->key.n,
                tables->n_lanes))
        return tables_nomem(err);
    tables->lanes[tables->n_lanes] = (struct lane){.process = process,
                                                   .tid = text,
                                                   .kind = kind,
                                                   .last_iteration = RUN_NONE,
                                                   .last_ns = -IMPORT_MAX_NS};
    *id = (uint32_t)tables->n_lanes++;
    return ASSAY_OK;
}

static bool lane_is(const struct import_tables *tables, uint32_t id,
                    const struct str *pid, const struct str *tid,
                    enum thread_kind kind)
{
    const struct lane *lane = &tables->lanes[id];

    return (lane->kind == THREAD_ASYNC) == (kind == THREAD_ASYNC) &&
           strcmp(lane->tid, str_text(tid)) == 0 &&
           strcmp(tables->processes[lane->process].pid, str_text(pid)) == 0;
}

static enum assay_status lane_look_up(struct import_tables *tables,
                                      const struct str *pid,
                                      const struct str *tid,
                                      enum thread_kind kind, uint32_t *id,
                                      struct error *err)
{
    uint64_t found;

    /* A category and a thread may have the same name. */
    if (tables_make_key(tables, pid, tid) ||
        str_append_char(&tables->key, kind == THREAD_ASYNC ? 'a' : 't'))
        return tables_nomem(err);
    if (!map_find(&tables->lane_map, tables->key.text, tables->key.n, &found))
        return lane_add(tables, pid, tid, kind, id, err);
    *id = (uint32_t)found;
    return ASSAY_OK;
}

enum assay_status tables_lane(struct import_tables *tables,
                              const struct str *pid, const struct str *tid,
                              enum thread_kind kind, uint32_t *id,
                              struct error *err)
{
    unsigned char last = tid->n ? (unsigned char)tid->text[tid->n - 1] : 0;
    uint32_t *slot = &tables->lane_cache[(last + 8 * tid->n) % LANE_CACHE];
    enum assay_status st;

    if (*slot && lane_is(tables, *slot - 1, pid, tid, kind)) {
        *id = *slot - 1;
        return ASSAY_OK;
    }
    st = lane_look_up(tables, pid, tid, kind, id, err);
    if (!st)
        *slot = *id + 1;
    return st;
}
