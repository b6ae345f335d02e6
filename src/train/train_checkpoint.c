/* train/train_checkpoint.c - see train_checkpoint.h. */
#include "train/train_checkpoint.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "formats/weights/checkpoint.h"
#include "formats/weights/checkpoint_write.h"

#include <inttypes.h>
#include <stdio.h>

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
            str_clear(&name);
            st = str_printf(&name, TRAIN_STATE_NAME,
                            graph_value(graph, i)->name, state)
                     ? error_nomem(err, name.n, "the name of a tensor")
                     : list_add(list, tensor, &name, err);
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
        {TRAIN_FORMAT_NOTE, TRAIN_FORMAT_TEXT},
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
