/* train/train_checkpoint.c - see train_checkpoint.h. */
#include "train/train_checkpoint.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "formats/checkpoint.h"
#include "formats/checkpoint_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_NOTE "assay.training"
#define FORMAT_TEXT "1"

void train_position_release(struct train_position *position)
{
    str_release(&position->model);
    str_release(&position->choices);
    *position = (struct train_position){0};
}

/* ---- tensors ------------------------------------------------------------ */

/* What is to be written. */
struct tensor_list {
    struct named_tensor *items;
    size_t n, capacity;
    struct arena names;
};

static enum assay_status list_add(struct tensor_list *list,
                                  const struct tensor *tensor,
                                  const struct str *name, struct error *err)
{
    struct named_tensor *moved =
        vec_reserve(list->items, &list->capacity, list->n + 1, sizeof *moved);
    char *kept = arena_strdup(&list->names, str_text(name));

    if (moved)
        list->items = moved;
    if (!moved || !kept)
        return error_nomem(err, (list->n + 1) * sizeof *moved,
                           "the list of a checkpoint's tensors");
    list->items[list->n++] = (struct named_tensor){kept, tensor};
    return ASSAY_OK;
}

static void list_release(struct tensor_list *list)
{
    mem_free(list->items);
    arena_release(&list->names);
}

static bool is_weight(const struct value *value)
{
    return value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER;
}

static enum assay_status list_weights(struct tensor_list *list,
                                      const struct graph *graph,
                                      const char *prefix, struct error *err)
{
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (!is_weight(value) || !value->data.buffer)
            continue;
        str_clear(&name);
        st = str_printf(&name, "%s%s", prefix, value->name)
                 ? error_nomem(err, name.n, "the name of a tensor")
                 : list_add(list, &value->data, &name, err);
    }
    str_release(&name);
    return st;
}

static enum assay_status name_state(struct str *name, const char *parameter,
                                    const char *state, struct error *err)
{
    str_clear(name);
    return str_printf(name, "optimizer.%s.%s", parameter, state)
               ? error_nomem(err, name->n, "the name of a tensor")
               : ASSAY_OK;
}

static enum assay_status list_states(struct tensor_list *list,
                                     const struct graph *graph,
                                     const struct optimizer *optimizer,
                                     struct error *err)
{
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const char *state;

        for (size_t k = 0;
             !st && (state = optimizer_state_name(optimizer, k)) != NULL; k++) {
            const struct tensor *tensor = optimizer_state(optimizer, i, k);

            if (!tensor)
                break;
            st = name_state(&name, graph_value(graph, i)->name, state, err);
            if (!st)
                st = list_add(list, tensor, &name, err);
        }
    }
    str_release(&name);
    return st;
}

/* ---- notes -------------------------------------------------------------- */

/* Steps that changed each parameter that was changed: "12 fc.weight" lines. */
static enum assay_status write_steps(struct str *text,
                                     const struct graph *graph,
                                     const struct optimizer *optimizer,
                                     struct error *err)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        uint64_t steps = optimizer_steps(optimizer, i);

        if (steps && str_printf(text, "%" PRIu64 " %s\n", steps,
                                graph_value(graph, i)->name))
            return error_nomem(err, text->n, "a checkpoint's notes");
    }
    return ASSAY_OK;
}

enum { number_text = 24 };

static const char *number(char text[number_text], uint64_t value)
{
    snprintf(text, number_text, "%" PRIu64, value);
    return text;
}

static enum assay_status write_file(const char *path,
                                    const struct tensor_list *list,
                                    const struct train_position *position,
                                    const char *steps, struct error *err)
{
    char step[number_text], epoch[number_text], index[number_text];
    char seed[number_text], threads[number_text];
    const struct named_text texts[] = {
        {FORMAT_NOTE, FORMAT_TEXT},
        {CHECKPOINT_HAS_DICTS, "1"},
        {"model", str_text(&position->model)},
        {"step", number(step, position->step)},
        {"epoch", number(epoch, position->place.epoch)},
        {"index", number(index, position->place.index)},
        {"seed", number(seed, position->seed)},
        {"threads", number(threads, (uint64_t)position->n_threads)},
        {"optimizer", optimizer_kind_name(position->optimizer)},
        {"optimizer.steps", steps},
        {"kernels", str_text(&position->choices)},
    };

    return safetensors_write(path, list->items, list->n, texts,
                             sizeof texts / sizeof *texts, err);
}

enum assay_status train_checkpoint_save(const char *path,
                                        const struct graph *graph,
                                        const struct optimizer *optimizer,
                                        const struct train_position *position,
                                        struct error *err)
{
    struct tensor_list list = {0};
    struct str steps = {0};
    enum assay_status st = list_weights(&list, graph, "model.", err);

    if (!st)
        st = list_states(&list, graph, optimizer, err);
    if (!st)
        st = write_steps(&steps, graph, optimizer, err);
    if (!st)
        st = write_file(path, &list, position, str_text(&steps), err);
    if (st)
        error_context(err, "writing the checkpoint");
    str_release(&steps);
    list_release(&list);
    return st;
}

enum assay_status train_checkpoint_export(const char *path,
                                          const struct graph *graph,
                                          struct error *err)
{
    struct tensor_list list = {0};
    enum assay_status st = list_weights(&list, graph, "", err);

    if (!st)
        st = torch_zip_write(path, list.items, list.n, err);
    list_release(&list);
    return st;
}

/* ---- reading ------------------------------------------------------------ */

static enum assay_status note_number(const struct checkpoint *checkpoint,
                                     const char *key, uint64_t *out,
                                     struct error *err)
{
    const char *text = checkpoint_note(checkpoint, key);
    char *end = NULL;

    errno = 0;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || text[0] == '-')
        return error_set(err, ASSAY_BAD_INPUT,
                         "its note '%s' is missing or no number", key);
    return ASSAY_OK;
}

static enum assay_status note_text(const struct checkpoint *checkpoint,
                                   const char *key, struct str *out,
                                   struct error *err)
{
    const char *text = checkpoint_note(checkpoint, key);

    if (!text)
        return error_set(err, ASSAY_BAD_INPUT, "its note '%s' is missing", key);
    return str_append(out, text)
               ? error_nomem(err, strlen(text), "a checkpoint's notes")
               : ASSAY_OK;
}

static enum assay_status note_optimizer(const struct checkpoint *checkpoint,
                                        enum optimizer_kind *out,
                                        struct error *err)
{
    const char *text = checkpoint_note(checkpoint, "optimizer");

    *out = OPTIMIZER_SGD;
    if (text && strcmp(text, optimizer_kind_name(OPTIMIZER_ADAMW)) == 0)
        *out = OPTIMIZER_ADAMW;
    else if (!text || strcmp(text, optimizer_kind_name(OPTIMIZER_SGD)) != 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its note 'optimizer' is missing or unknown");
    return ASSAY_OK;
}

static enum assay_status check_format(const struct checkpoint *checkpoint,
                                      struct error *err)
{
    const char *format = checkpoint_note(checkpoint, FORMAT_NOTE);

    if (!format)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds weights, but not where a training was; "
                         "give it as the model's weights");
    if (strcmp(format, FORMAT_TEXT) != 0)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it was written by another version of assay");
    return ASSAY_OK;
}

static enum assay_status read_position(const struct checkpoint *checkpoint,
                                       struct train_position *out,
                                       struct error *err)
{
    enum { most_threads = 1 << 16 };
    uint64_t threads = 0;
    enum assay_status st = check_format(checkpoint, err);

    if (!st)
        st = note_number(checkpoint, "step", &out->step, err);
    if (!st)
        st = note_number(checkpoint, "epoch", &out->place.epoch, err);
    if (!st)
        st = note_number(checkpoint, "index", &out->place.index, err);
    if (!st)
        st = note_number(checkpoint, "seed", &out->seed, err);
    if (!st)
        st = note_number(checkpoint, "threads", &threads, err);
    if (!st && (threads < 1 || threads > most_threads))
        st = error_set(err, ASSAY_BAD_INPUT, "its note 'threads' is %" PRIu64,
                       threads);
    out->n_threads = (int)threads;
    if (!st)
        st = note_optimizer(checkpoint, &out->optimizer, err);
    if (!st)
        st = note_text(checkpoint, "model", &out->model, err);
    if (!st)
        st = note_text(checkpoint, "kernels", &out->choices, err);
    return st;
}

enum assay_status train_checkpoint_look(const char *path,
                                        struct train_position *out,
                                        struct error *err)
{
    struct checkpoint *checkpoint = NULL;
    enum assay_status st = checkpoint_open(path, &checkpoint, err);

    *out = (struct train_position){0};
    if (st)
        return st;
    st = read_position(checkpoint, out, err);
    if (st) {
        error_context(err, "resuming from %s", path);
        train_position_release(out);
    }
    checkpoint_free(checkpoint);
    return st;
}

/* ---- the optimizer's tensors -------------------------------------------- */

struct restoring {
    const struct checkpoint *checkpoint;
    const struct graph *graph;
    struct pool *pool;
    struct optimizer *optimizer;
    struct str name;
};

static enum assay_status load_state(struct restoring *restoring,
                                    const char *parameter, const char *state,
                                    struct tensor *out, struct error *err)
{
    size_t at;
    enum assay_status st = name_state(&restoring->name, parameter, state, err);

    if (st)
        return st;
    if (!checkpoint_find(restoring->checkpoint, str_text(&restoring->name),
                         &at))
        return error_set(err, ASSAY_BAD_INPUT, "%s is missing",
                         str_text(&restoring->name));
    return checkpoint_load(restoring->checkpoint, at, restoring->pool, out,
                           err);
}

static enum assay_status restore_one(struct restoring *restoring,
                                     uint32_t value, uint64_t steps,
                                     struct error *err)
{
    const char *parameter = graph_value(restoring->graph, value)->name;
    struct tensor states[OPTIMIZER_MAX_STATES] = {{0}};
    const struct tensor *list[OPTIMIZER_MAX_STATES];
    const char *state;
    enum assay_status st = ASSAY_OK;
    size_t n = 0;

    for (;
         !st && (state = optimizer_state_name(restoring->optimizer, n)) != NULL;
         n++) {
        st = load_state(restoring, parameter, state, &states[n], err);
        list[n] = &states[n];
    }
    if (!st)
        st = optimizer_restore(restoring->optimizer, value, steps, list, err);
    for (size_t i = 0; i < n; i++)
        tensor_release(&states[i]);
    return st;
}

/* The next line "12 fc.weight" of the note; *text moves behind it. */
static enum assay_status next_steps(const struct graph *graph,
                                    const char **text, uint64_t *steps,
                                    uint32_t *value, struct str *name,
                                    struct error *err)
{
    char *end;
    const char *line_end = strchr(*text, '\n');

    *steps = strtoull(*text, &end, 10);
    str_clear(name);
    if (!line_end || end == *text || *end != ' ' || end >= line_end)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its note 'optimizer.steps' is damaged");
    if (str_append_n(name, end + 1, (size_t)(line_end - end - 1)))
        return error_nomem(err, name->n, "the name of a tensor");
    *value = graph_find_value(graph, str_text(name));
    if (*value == GRAPH_NONE ||
        graph_value(graph, *value)->kind != VALUE_PARAMETER)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the model has no parameter %.80s", str_text(name));
    *text = line_end + 1;
    return ASSAY_OK;
}

static enum assay_status restore_states(struct restoring *restoring,
                                        struct error *err)
{
    const char *text =
        checkpoint_note(restoring->checkpoint, "optimizer.steps");
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    while (!st && text && *text) {
        uint64_t steps = 0;
        uint32_t value = GRAPH_NONE;

        st = next_steps(restoring->graph, &text, &steps, &value, &name, err);
        if (!st)
            st = restore_one(restoring, value, steps, err);
    }
    str_release(&name);
    return st;
}

enum assay_status train_checkpoint_restore(const char *path,
                                           const struct graph *graph,
                                           struct pool *pool,
                                           struct optimizer *optimizer,
                                           struct error *err)
{
    struct restoring restoring = {
        .graph = graph, .pool = pool, .optimizer = optimizer};
    struct checkpoint *checkpoint = NULL;
    enum assay_status st = checkpoint_open(path, &checkpoint, err);

    if (st)
        return st;
    restoring.checkpoint = checkpoint;
    st = restore_states(&restoring, err);
    if (st)
        error_context(err, "resuming from %s", path);
    str_release(&restoring.name);
    checkpoint_free(checkpoint);
    return st;
}
