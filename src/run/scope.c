/* run/scope.c - the names of a run: scopes, phases, threads. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum {
    max_phases = 1 << 11, /* that fit in the key of a cell */
    max_threads = 1 << 20
};

static enum assay_status scope_key(struct str *key, uint32_t parent,
                                   const char *name, const char *class_name)
{
    size_t class_bytes = strlen(class_name);

    if (str_append_n(key, (const char *)&parent, sizeof parent) ||
        str_append_n(key, (const char *)&class_bytes, sizeof class_bytes) ||
        str_append_n(key, class_name, class_bytes))
        return ASSAY_NOMEM;
    return str_append(key, name);
}

static bool scope_reserve(struct run *run)
{
    return vec_grow(&run->scopes, &run->scopes_capacity, run->n_scopes + 1,
                    sizeof *run->scopes) &&
           vec_grow(&run->links, &run->links_capacity, run->n_scopes + 1,
                    sizeof *run->links);
}

static void scope_append_child(struct run *run, uint32_t parent, uint32_t child)
{
    struct scope_links *links = &run->links[parent];

    if (links->last_child == RUN_NONE)
        run->scopes[parent].first_child = child;
    else
        run->scopes[links->last_child].next_sibling = child;
    links->last_child = child;
}

static enum assay_status scope_append(struct run *run, const struct str *key,
                                      uint32_t parent, const char *name,
                                      const char *class_name, uint32_t *id,
                                      struct error *err)
{
    const char *kept_name, *kept_class;
    uint32_t new_id = (uint32_t)run->n_scopes;

    kept_name = arena_strdup(&run->text, name);
    kept_class = arena_strdup(&run->text, class_name);
    if (!kept_name || !kept_class || !scope_reserve(run) ||
        map_put(&run->scope_ids, key->text, key->n, new_id))
        return error_nomem(err, strlen(name), "the name of a scope");
    run->scopes[new_id] = (struct scope){
        .parent = parent,
        .depth = parent == RUN_NONE ? 0 : run->scopes[parent].depth + 1,
        .first_child = RUN_NONE,
        .next_sibling = RUN_NONE,
        .name = kept_name,
        .class_name = kept_class,
    };
    run->links[new_id] = (struct scope_links){.last_child = RUN_NONE,
                                              .first_cell = RUN_NONE,
                                              .last_cell = RUN_NONE,
                                              .work = RUN_NONE,
                                              .text = RUN_NONE};
    run->n_scopes++;
    if (parent != RUN_NONE)
        scope_append_child(run, parent, new_id);
    if (parent == RUN_ROOT && run->model == RUN_NONE && !strcmp(name, "model"))
        run->model = new_id;
    *id = new_id;
    return ASSAY_OK;
}

enum assay_status run_scope_add(struct run *run, uint32_t parent,
                                const char *name, const char *class_name,
                                uint32_t *id, struct error *err)
{
    enum assay_status st;
    struct str key = {0};
    uint64_t found;

    if (run->n_scopes && parent >= run->n_scopes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "scope '%s' has an unknown parent (%u)", name, parent);
    if (run->n_scopes && run->scopes[parent].depth + 1 >= RUN_MAX_DEPTH)
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%s' is nested deeper than %d levels", name,
                         RUN_MAX_DEPTH);
    class_name = class_name ? class_name : "";
    if (scope_key(&key, parent, name, class_name)) {
        st = error_nomem(err, strlen(name), "the name of a scope");
    } else if (map_find(&run->scope_ids, key.text, key.n, &found)) {
        *id = (uint32_t)found;
        st = ASSAY_OK;
    } else {
        st = scope_append(run, &key, parent, name, class_name, id, err);
    }
    str_release(&key);
    return st;
}

enum assay_status run_scope_find(const struct run *run, uint32_t parent,
                                 const char *name, const char *class_name,
                                 uint32_t *id, struct error *err)
{
    struct str key = {0};
    uint64_t found = RUN_NONE;

    if (scope_key(&key, parent, name, class_name ? class_name : "")) {
        str_release(&key);
        return error_nomem(err, strlen(name), "the name of a scope");
    }
    map_find(&run->scope_ids, key.text, key.n, &found);
    *id = (uint32_t)found;
    str_release(&key);
    return ASSAY_OK;
}

size_t run_scope_count(const struct run *run)
{
    return run->n_scopes;
}

const struct scope *run_scope(const struct run *run, uint32_t id)
{
    return &run->scopes[id];
}

enum assay_status run_name_root(struct run *run, const char *name,
                                const char *class_name, struct error *err)
{
    const char *kept_name = arena_strdup(&run->text, name);
    const char *kept_class =
        arena_strdup(&run->text, class_name ? class_name : "");

    if (!kept_name || !kept_class)
        return error_nomem(err, strlen(name), "the name of a run");
    run->scopes[RUN_ROOT].name = kept_name;
    run->scopes[RUN_ROOT].class_name = kept_class;
    return ASSAY_OK;
}

enum assay_status run_scope_path(const struct run *run, uint32_t id,
                                 struct str *path)
{
    return run_scope_path_below(run, RUN_ROOT, id, path);
}

static bool scope_is_below(const struct run *run, uint32_t above, uint32_t id)
{
    while (id != RUN_NONE && id != above)
        id = run->scopes[id].parent;
    return id == above;
}

enum assay_status run_scope_path_below(const struct run *run, uint32_t above,
                                       uint32_t id, struct str *path)
{
    uint32_t chain[RUN_MAX_DEPTH];
    size_t n = 0;

    if (id == RUN_ROOT)
        return str_append(path, run->scopes[RUN_ROOT].name);
    if (above == RUN_NONE || id == above || !scope_is_below(run, above, id))
        above = RUN_ROOT;
    for (; id != above; id = run->scopes[id].parent)
        chain[n++] = id;
    while (n--) {
        if (str_append(path, run->scopes[chain[n]].name) ||
            (n > 0 && str_append_char(path, '.')))
            return ASSAY_NOMEM;
    }
    return ASSAY_OK;
}

uint32_t run_model_scope(const struct run *run)
{
    return run->model;
}

enum assay_status run_phase_add(struct run *run, const char *name, uint32_t *id,
                                struct error *err)
{
    const char *kept;

    for (size_t i = 0; i < run->n_phases; i++) {
        if (strcmp(run->phases[i], name) == 0) {
            *id = (uint32_t)i;
            return ASSAY_OK;
        }
    }
    if (run->n_phases == max_phases)
        return error_set(err, ASSAY_BAD_INPUT, "more than %d phases",
                         max_phases);
    kept = arena_strdup(&run->text, name);
    if (!kept || !vec_grow(&run->phases, &run->phases_capacity,
                           run->n_phases + 1, sizeof *run->phases))
        return error_nomem(err, strlen(name), "the name of a phase");
    *id = (uint32_t)run->n_phases;
    run->phases[run->n_phases++] = kept;
    return ASSAY_OK;
}

size_t run_phase_count(const struct run *run)
{
    return run->n_phases;
}

const char *run_phase_name(const struct run *run, uint32_t id)
{
    return run->phases[id];
}

const char *thread_kind_text(enum thread_kind kind)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        RUN_THREAD_KINDS(TEXT)
#undef TEXT
    };

    return texts[kind];
}

enum assay_status run_thread_add(struct run *run, const char *name,
                                 enum thread_kind kind, uint32_t *id,
                                 struct error *err)
{
    const char *kept;

    if (run->n_threads == max_threads)
        return error_set(err, ASSAY_BAD_INPUT, "more than %d threads",
                         max_threads);
    kept = arena_strdup(&run->text, name);
    if (!kept || !vec_grow(&run->threads, &run->threads_capacity,
                           run->n_threads + 1, sizeof *run->threads))
        return error_nomem(err, strlen(name), "the name of a thread");
    *id = (uint32_t)run->n_threads;
    run->threads[run->n_threads++] =
        (struct run_thread){.name = kept, .kind = kind};
    return ASSAY_OK;
}

enum assay_status run_thread_rename(struct run *run, uint32_t id,
                                    const char *name, struct error *err)
{
    const char *kept = arena_strdup(&run->text, name);

    if (!kept)
        return error_nomem(err, strlen(name), "the name of a thread");
    run->threads[id].name = kept;
    return ASSAY_OK;
}

size_t run_thread_count(const struct run *run)
{
    return run->n_threads;
}

const struct run_thread *run_thread(const struct run *run, uint32_t id)
{
    return &run->threads[id];
}
