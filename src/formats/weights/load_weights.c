/* formats/weights/load_weights.c - see load_weights.h.
 *
 * Everything is checked before the graph is changed. */
#include "formats/weights/load_weights.h"

#include "base/file_guard.h"
#include "base/mem.h"
#include "tensor/convert.h"

#include <string.h>

enum problem { PROBLEM_MISSING, PROBLEM_UNKNOWN, PROBLEM_UNFIT, n_problems };

/* The name of a module, at the beginning of a tensor's name. */
struct module {
    const char *name;
    size_t n;
};

enum { max_renewed = 4 }; /* modules that tell classes apart */
#define RENEWED SIZE_MAX  /* the source of a value that gets no data */

struct match {
    struct graph *graph;
    const struct checkpoint *checkpoint;
    size_t *source; /* by value: tensor of the checkpoint, plus 1; 0: none */
    bool may_renew;
    struct module renewed[max_renewed];
    size_t n_renewed;
    const struct weights_problems *problems;
    struct weights_report report;
    struct str first[n_problems]; /* the first of each kind, in words */
    struct str text;
};

static bool load_weights_is_wanted(const struct value *value)
{
    return value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER;
}

/* Counts the problem that match->text describes, reports it and keeps the
 * first. */
static enum assay_status
load_weights_note(struct match *match, enum problem problem, struct error *err)
{
    static const char *const words[] = {"missing", "unknown", "unfit"};
    size_t *counts[] = {&match->report.n_missing, &match->report.n_unknown,
                        &match->report.n_unfit};

    if (match->problems && *counts[problem] < match->problems->most)
        sink_printf(match->problems->sink, "%s  %s\n", words[problem],
                    str_text(&match->text));
    if ((*counts[problem])++ == 0 &&
        str_append(&match->first[problem], str_text(&match->text)))
        return error_nomem(err, match->text.n, "the names of tensors");
    return ASSAY_OK;
}

static enum assay_status load_weights_note_name(struct match *match,
                                                enum problem problem,
                                                const char *name,
                                                struct error *err)
{
    str_clear(&match->text);
    if (str_append(&match->text, name))
        return error_nomem(err, strlen(name), "the names of tensors");
    return load_weights_note(match, problem, err);
}

static enum assay_status
load_weights_note_unfit(struct match *match, const struct value *value,
                        const struct checkpoint_tensor *tensor,
                        struct error *err)
{
    char wanted[64], found[64];

    str_clear(&match->text);
    if (str_printf(&match->text, "%s is %s %s, the model needs %s %s",
                   value->name, dtype_name(tensor->dtype),
                   shape_text(&tensor->shape, found, sizeof found),
                   dtype_name(value->dtype),
                   shape_text(&value->shape, wanted, sizeof wanted)))
        return error_nomem(err, strlen(value->name), "the names of tensors");
    return load_weights_note(match, PROBLEM_UNFIT, err);
}

/* ---- other classes ---------------------------------------------------- */

/* The module that tells classes apart, if the tensor belongs to one; else n is
 * 0. In a detector it is a whole predictor, in a classifier one layer. */
static struct module head_of(const char *name)
{
    static const char heads[] = "roi_heads.", predictor[] = "_predictor.";
    const char *end = NULL;

    if (strncmp(name, heads, sizeof heads - 1) == 0) {
        end = strstr(name, predictor);
        end = end ? end + sizeof predictor - 2 : NULL;
    } else if (strncmp(name, "fc.", 3) == 0 ||
               strncmp(name, "classifier.", 11) == 0) {
        end = strrchr(name, '.');
    }
    return (struct module){name, end ? (size_t)(end - name) : 0};
}

/* Whether only the first size differs: the number of classes, or of their
 * boxes. */
static bool has_other_classes(const struct shape *a, const struct shape *b)
{
    bool is_same = a->rank == b->rank && a->rank > 0;

    for (int i = 1; is_same && i < a->rank; i++)
        is_same = a->dims[i] == b->dims[i];
    return is_same;
}

static bool is_renewed(const struct match *match, const char *name)
{
    struct module head = head_of(name);

    for (size_t i = 0; head.n && i < match->n_renewed; i++) {
        if (match->renewed[i].n == head.n &&
            memcmp(match->renewed[i].name, head.name, head.n) == 0)
            return true;
    }
    return false;
}

/* Notes the module of a value for new classes; false if it does not tell
 * classes apart. */
static bool load_weights_renew(struct match *match, const struct value *value,
                               const struct checkpoint_tensor *tensor)
{
    struct module head = head_of(value->name);

    if (!match->may_renew || !head.n ||
        !has_other_classes(&value->shape, &tensor->shape))
        return false;
    if (is_renewed(match, value->name))
        return true;
    if (match->n_renewed == max_renewed)
        return false;
    match->renewed[match->n_renewed++] = head;
    return true;
}

/* Renews all tensors of a module if one of them is renewed. */
static void renew_modules(struct match *match)
{
    for (uint32_t id = 0;
         match->n_renewed && id < graph_value_count(match->graph); id++) {
        const struct value *value = graph_value(match->graph, id);

        if (load_weights_is_wanted(value) && is_renewed(match, value->name)) {
            match->source[id] = RENEWED;
            match->report.n_renewed++;
        }
    }
}

static enum assay_status name_renewed(const struct match *match,
                                      struct str *out, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < match->n_renewed; i++)
        st = str_printf(out, "%s%.*s", i ? ", " : "", (int)match->renewed[i].n,
                        match->renewed[i].name);
    return st ? error_nomem(err, out->n, "the names of modules") : st;
}

/* ---- matching --------------------------------------------------------- */

static uint32_t load_weights_find_wanted(const struct match *match,
                                         const char *name)
{
    uint32_t id = graph_find_value(match->graph, name);

    return id != GRAPH_NONE &&
                   load_weights_is_wanted(graph_value(match->graph, id))
               ? id
               : GRAPH_NONE;
}

/* The value that a tensor is for, under its own name or a newer one. */
static enum assay_status find_target(struct match *match, const char *name,
                                     uint32_t *id, struct error *err)
{
    *id = load_weights_find_wanted(match, name);
    if (*id != GRAPH_NONE)
        return ASSAY_OK;
    str_clear(&match->text);
    if (weights_new_name(name, &match->text))
        return error_nomem(err, strlen(name), "the names of tensors");
    if (match->text.n)
        *id = load_weights_find_wanted(match, match->text.text);
    if (*id != GRAPH_NONE)
        match->report.n_renamed++;
    return ASSAY_OK;
}

/* Tensors that inference does not need: the number of batches seen, and
 * GoogLeNet's heads for training. */
static bool load_weights_is_ignored(const char *name)
{
    static const char ending[] = "num_batches_tracked";
    size_t n = strlen(name), n_ending = sizeof ending - 1;

    if (strncmp(name, "aux1.", 5) == 0 || strncmp(name, "aux2.", 5) == 0)
        return true;
    return n >= n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static bool load_weights_fits(const struct value *value,
                              const struct checkpoint_tensor *tensor)
{
    return shape_equal(&value->shape, &tensor->shape) &&
           (value->dtype == tensor->dtype ||
            (value->dtype == DTYPE_F32 && dtype_is_float(tensor->dtype)));
}

static enum assay_status match_tensor(struct match *match, size_t i,
                                      struct error *err)
{
    const struct checkpoint_tensor *tensor =
        checkpoint_tensor(match->checkpoint, i);
    const struct value *value;
    uint32_t id = GRAPH_NONE;
    enum assay_status st = find_target(match, tensor->name, &id, err);

    if (st)
        return st;
    if (id == GRAPH_NONE && load_weights_is_ignored(tensor->name))
        return ASSAY_OK;
    if (id == GRAPH_NONE || match->source[id])
        return load_weights_note_name(match, PROBLEM_UNKNOWN, tensor->name,
                                      err);
    value = graph_value(match->graph, id);
    match->source[id] = i + 1;
    if (load_weights_fits(value, tensor) ||
        load_weights_renew(match, value, tensor))
        return ASSAY_OK;
    return load_weights_note_unfit(match, value, tensor, err);
}

static enum assay_status load_weights_match_all(struct match *match,
                                                struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < checkpoint_count(match->checkpoint); i++)
        st = match_tensor(match, i, err);
    renew_modules(match);
    for (uint32_t id = 0; !st && id < graph_value_count(match->graph); id++) {
        const struct value *value = graph_value(match->graph, id);

        if (load_weights_is_wanted(value) && !match->source[id])
            st = load_weights_note_name(match, PROBLEM_MISSING, value->name,
                                        err);
    }
    return st;
}

/* Fails if there are problems: how many of each kind, and the first one. */
static enum assay_status load_weights_judge(const struct match *match,
                                            struct error *err)
{
    static const char *const words[] = {"missing", "unknown to it",
                                        "of another shape or type"};
    const size_t counts[] = {match->report.n_missing, match->report.n_unknown,
                             match->report.n_unfit};
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < n_problems; i++) {
        if (counts[i])
            st = str_printf(&text, "; %zu %s (%s%s)", counts[i], words[i],
                            str_text(&match->first[i]),
                            counts[i] > 1 ? ", ..." : "");
    }
    if (st)
        error_nomem(err, text.n, "the names of tensors");
    else if (text.n)
        st = error_set(err, ASSAY_BAD_INPUT, "the tensors do not match %s%s",
                       graph_name(match->graph), str_text(&text));
    str_release(&text);
    return st;
}

/* ---- loading ---------------------------------------------------------- */

static enum assay_status load_weights_load_value(struct match *match,
                                                 uint32_t id, struct pool *pool,
                                                 struct error *err)
{
    const struct value *value = graph_value(match->graph, id);
    struct tensor found = {0}, made;
    enum assay_status st = checkpoint_load(
        match->checkpoint, match->source[id] - 1, pool, &found, err);

    if (st)
        return st;
    if (found.dtype != value->dtype) {
        st = tensor_convert(pool, &found, value->dtype, &made, err);
        tensor_release(&found);
        found = made;
        match->report.n_converted++;
    }
    if (!st)
        st = graph_set_data(match->graph, id, found, err);
    match->report.n_loaded++;
    return st;
}

static void match_release(struct match *match)
{
    mem_free(match->source);
    str_release(&match->text);
    for (int i = 0; i < n_problems; i++)
        str_release(&match->first[i]);
}

/* renewed: NULL if every tensor has to fit. */
static enum assay_status
load_weights_load(struct graph *graph, const struct checkpoint *checkpoint,
                  struct pool *pool, const struct weights_problems *problems,
                  struct weights_report *report, struct str *renewed,
                  struct error *err)
{
    size_t n_values = graph_value_count(graph);
    struct match match = {.graph = graph,
                          .checkpoint = checkpoint,
                          .problems = problems,
                          .may_renew = renewed != NULL};
    enum assay_status st;

    match.source = mem_array(n_values, sizeof *match.source);
    if (!match.source)
        return error_nomem(err, n_values * sizeof *match.source,
                           "the names of tensors");
    st = load_weights_match_all(&match, err);
    if (!st)
        st = load_weights_judge(&match, err);
    if (!st && renewed)
        st = name_renewed(&match, renewed, err);
    for (uint32_t id = 0; !st && id < n_values; id++) {
        if (match.source[id] && match.source[id] != RENEWED)
            st = load_weights_load_value(&match, id, pool, err);
    }
    if (report)
        *report = match.report;
    match_release(&match);
    return st;
}

enum assay_status weights_load(struct graph *graph,
                               const struct checkpoint *checkpoint,
                               struct pool *pool,
                               const struct weights_problems *problems,
                               struct weights_report *report, struct error *err)
{
    return load_weights_load(graph, checkpoint, pool, problems, report, NULL,
                             err);
}

enum assay_status weights_load_to_train(struct graph *graph, const char *path,
                                        struct pool *pool,
                                        const struct weights_problems *problems,
                                        struct weights_report *report,
                                        struct str *renewed, struct error *err)
{
    struct checkpoint *checkpoint = NULL;
    enum assay_status st = checkpoint_open(path, &checkpoint, err);

    if (st)
        return st;
    st = checkpoint_unwrap(checkpoint, err);
    if (!st)
        st = load_weights_load(graph, checkpoint, pool, problems, report,
                               renewed, err);
    if (st)
        error_context(err, "loading %s", path);
    st = file_guards_check(st, err);
    checkpoint_free(checkpoint);
    return st;
}

enum assay_status weights_load_file(struct graph *graph, const char *path,
                                    struct pool *pool,
                                    const struct weights_problems *problems,
                                    struct weights_report *report,
                                    struct error *err)
{
    return weights_load_to_train(graph, path, pool, problems, report, NULL,
                                 err);
}
