/* train/train_checkpoint.c - see train_checkpoint.h. */
#include "train/train_checkpoint.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "formats/weights/checkpoint.h"
#include "formats/weights/checkpoint_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The note that marks a training checkpoint, with its version. */
static const char format_note[] = "assay.training", format_version[] = "1";
/* Of the optimizer's tensors: "optimizer.PARAMETER.STATE". */
static const char state_prefix[] = "optimizer.";

void train_position_release(struct train_position *position)
{
    str_release(&position->model);
    str_release(&position->choices);
    *position = (struct train_position){0};
}

/* ---- tensors ------------------------------------------------------------ */

/* The tensors to write. */
struct tensor_list {
    struct named_tensor *items;
    size_t n, capacity;
    struct str name;    /* scratch */
    struct arena arena; /* names, and tensors that share their data */
};

/* Under PREFIX NAME or PREFIX NAME.STATE; state may be NULL. */
static enum assay_status list_add(struct tensor_list *list,
                                  const struct tensor *tensor,
                                  const char *prefix, const char *name,
                                  const char *state, struct error *err)
{
    struct named_tensor *moved =
        vec_reserve(list->items, &list->capacity, list->n + 1, sizeof *moved);
    struct tensor *own = arena_alloc(&list->arena, sizeof *own);
    char *kept = NULL;

    str_clear(&list->name);
    if (!str_printf(&list->name, "%s%s%s%s", prefix, name, state ? "." : "",
                    state ? state : ""))
        kept = arena_strdup(&list->arena, list->name.text);
    if (moved)
        list->items = moved;
    if (!moved || !kept || !own)
        return error_nomem(err, (list->n + 1) * sizeof *moved,
                           "the list of a checkpoint's tensors");
    *own = tensor_share(tensor);
    list->items[list->n++] = (struct named_tensor){kept, own};
    return ASSAY_OK;
}

static void list_release(struct tensor_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        buffer_release(list->items[i].tensor->buffer);
    mem_free(list->items);
    str_release(&list->name);
    arena_release(&list->arena);
}

static enum assay_status list_weights(struct tensor_list *list,
                                      const struct graph *graph,
                                      const char *prefix, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if ((value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER) &&
            value->data.buffer)
            st = list_add(list, &value->data, prefix, value->name, NULL, err);
    }
    return st;
}

static enum assay_status list_states(struct tensor_list *list,
                                     const struct graph *graph,
                                     const struct optimizer *optimizer,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const char *state;

        for (size_t k = 0;
             !st && (state = optimizer_state_name(optimizer, k)) != NULL; k++) {
            struct tensor tensor;

            st = optimizer_read_state(optimizer, i, k, &tensor, err);
            if (st || !tensor.buffer)
                break;
            st = list_add(list, &tensor, state_prefix,
                          graph_value(graph, i)->name, state, err);
            tensor_release(&tensor);
        }
    }
    return st;
}

/* ---- writing notes ----------------------------------------------------- */

/* One line "12 fc.weight" per changed parameter: how many steps changed it. */
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

static const char *note_of_number(char text[number_text], uint64_t value)
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
    char scale[number_text], good_steps[number_text];
    const struct named_text texts[] = {
        {format_note, format_version},
        {CHECKPOINT_HAS_DICTS, "1"},
        {"model", str_text(&position->model)},
        {"step", note_of_number(step, position->step)},
        {"epoch", note_of_number(epoch, position->place.epoch)},
        {"index", note_of_number(index, position->place.index)},
        {"seed", note_of_number(seed, position->seed)},
        {"threads", note_of_number(threads, (uint64_t)position->n_threads)},
        {"optimizer", optimizer_kind_name(position->optimizer)},
        {"optimizer.steps", steps},
        {"kernels", str_text(&position->choices)},
        {"loss_scale", note_of_number(scale, (uint64_t)position->scale.factor)},
        {"loss_scale.steps",
         note_of_number(good_steps, position->scale.good_steps)},
    };
    /* Those of the scale are the last two, where there is one. */
    size_t n =
        sizeof texts / sizeof *texts - (position->scale.factor > 0 ? 0 : 2);

    return safetensors_write(path, list->items, list->n, texts, n, err);
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

/* ---- notes -------------------------------------------------------------- */

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
                         "its note '%s' is missing or not a number", key);
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

/* Only those of float16 have one. */
static enum assay_status note_scale(const struct checkpoint *checkpoint,
                                    struct loss_scale *out, struct error *err)
{
    uint64_t factor = 0;
    enum assay_status st;

    if (!checkpoint_note(checkpoint, "loss_scale"))
        return ASSAY_OK;
    st = note_number(checkpoint, "loss_scale", &factor, err);
    if (!st && (factor < 1 || factor > (uint64_t)LOSS_SCALE_MOST))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "its note 'loss_scale' is %" PRIu64, factor);
    if (!st)
        st = note_number(checkpoint, "loss_scale.steps", &out->good_steps, err);
    out->factor = (double)factor;
    return st;
}

static enum assay_status check_format(const struct checkpoint *checkpoint,
                                      struct error *err)
{
    const char *format = checkpoint_note(checkpoint, format_note);

    if (!format)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds weights, but not the state of a training; "
                         "use it as the model's weights instead");
    if (strcmp(format, format_version) != 0)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it was written by another version of assay");
    return ASSAY_OK;
}

static enum assay_status read_notes(const struct checkpoint *checkpoint,
                                    struct train_position *out,
                                    struct error *err)
{
    enum { most_threads = 1 << 16 };
    uint64_t threads = 0;
    const struct {
        const char *key;
        uint64_t *out;
    } numbers[] = {
        {"step", &out->step},         {"epoch", &out->place.epoch},
        {"index", &out->place.index}, {"seed", &out->seed},
        {"threads", &threads},
    };
    enum assay_status st = check_format(checkpoint, err);

    for (size_t i = 0; !st && i < sizeof numbers / sizeof *numbers; i++)
        st = note_number(checkpoint, numbers[i].key, numbers[i].out, err);
    if (!st && (threads < 1 || threads > most_threads))
        st = error_set(err, ASSAY_BAD_INPUT, "its note 'threads' is %" PRIu64,
                       threads);
    out->n_threads = (int)threads;
    if (!st)
        st = note_optimizer(checkpoint, &out->optimizer, err);
    if (!st)
        st = note_scale(checkpoint, &out->scale, err);
    if (!st)
        st = note_text(checkpoint, "model", &out->model, err);
    if (!st)
        st = note_text(checkpoint, "kernels", &out->choices, err);
    return st;
}

enum assay_status train_position_read(const struct checkpoint *checkpoint,
                                      struct train_position *out,
                                      struct error *err)
{
    enum assay_status st;

    *out = (struct train_position){0};
    st = read_notes(checkpoint, out, err);
    if (st)
        train_position_release(out);
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
    st = train_position_read(checkpoint, out, err);
    if (st)
        error_context(err, "resuming from %s", path);
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

    str_clear(&restoring->name);
    if (str_printf(&restoring->name, "%s%s.%s", state_prefix, parameter, state))
        return error_nomem(err, restoring->name.n, "the name of a tensor");
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

/* Reads the next line "12 fc.weight" of the note; *text moves past it. */
static enum assay_status next_steps(struct restoring *restoring,
                                    const char **text, uint64_t *steps,
                                    uint32_t *value, struct error *err)
{
    const struct graph *graph = restoring->graph;
    struct str *name = &restoring->name;
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

enum assay_status train_states_restore(const struct checkpoint *checkpoint,
                                       const struct graph *graph,
                                       struct pool *pool,
                                       struct optimizer *optimizer,
                                       struct error *err)
{
    const char *text = checkpoint_note(checkpoint, "optimizer.steps");
    struct restoring restoring = {.checkpoint = checkpoint,
                                  .graph = graph,
                                  .pool = pool,
                                  .optimizer = optimizer};
    enum assay_status st = ASSAY_OK;

    while (!st && text && *text) {
        uint64_t steps = 0;
        uint32_t value = GRAPH_NONE;

        st = next_steps(&restoring, &text, &steps, &value, err);
        if (!st)
            st = restore_one(&restoring, value, steps, err);
    }
    str_release(&restoring.name);
    return st;
}

enum assay_status train_checkpoint_restore(const char *path,
                                           const struct graph *graph,
                                           struct pool *pool,
                                           struct optimizer *optimizer,
                                           struct error *err)
{
    struct checkpoint *checkpoint = NULL;
    enum assay_status st = checkpoint_open(path, &checkpoint, err);

    if (st)
        return st;
    st = train_states_restore(checkpoint, graph, pool, optimizer, err);
    if (st)
        error_context(err, "resuming from %s", path);
    checkpoint_free(checkpoint);
    return st;
}
