/* train/train_restore.c - see train_checkpoint.h: reading what was saved. */
#include "train/train_checkpoint.h"

#include "formats/weights/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    const char *format = checkpoint_note(checkpoint, TRAIN_FORMAT_NOTE);

    if (!format)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds weights, but not where a training was; "
                         "give it as the model's weights");
    if (strcmp(format, TRAIN_FORMAT_TEXT) != 0)
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
    if (str_printf(&restoring->name, TRAIN_STATE_NAME, parameter, state))
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
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    while (!st && text && *text) {
        uint64_t steps = 0;
        uint32_t value = GRAPH_NONE;

        st = next_steps(graph, &text, &steps, &value, &name, err);
        if (!st)
            st = restore_one(&restoring, value, steps, err);
    }
    str_release(&restoring.name);
    str_release(&name);
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
