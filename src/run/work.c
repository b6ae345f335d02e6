/* run/work.c - the arithmetic that the scopes of a run have to do. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

struct scope_work scope_work_unknown(void)
{
    return (struct scope_work){.macs = NAN,
                               .flops = NAN,
                               .read_bytes = NAN,
                               .write_bytes = NAN,
                               .parameters = NAN,
                               .done_flops = NAN,
                               .done_bytes = NAN,
                               .kept_bytes = NAN,
                               .done_by = RUN_NONE};
}

const struct scope_work *run_work(const struct run *run, uint32_t scope)
{
    uint32_t work = run->links[scope].work;

    return work == RUN_NONE ? NULL : &run->works[work];
}

bool run_has_work(const struct run *run)
{
    return run->n_works > 0;
}

static bool work_is_fused(const struct run *run, uint32_t scope)
{
    const struct scope_work *work = run_work(run, scope);

    return work && work->done_by != RUN_NONE;
}

bool run_can_be_done_by(const struct run *run, uint32_t scope, uint32_t done_by)
{
    return done_by == RUN_NONE ||
           (done_by < run->n_scopes && done_by != scope &&
            run->links[scope].n_doing == 0 && !work_is_fused(run, done_by));
}

static enum assay_status work_check_values(const struct scope_work *work,
                                           const char *name, struct error *err)
{
    const struct {
        const char *what;
        double value;
    } values[] = {
        {"macs", work->macs},
        {"flops", work->flops},
        {"read_bytes", work->read_bytes},
        {"write_bytes", work->write_bytes},
        {"parameters", work->parameters},
        {"done_flops", work->done_flops},
        {"done_bytes", work->done_bytes},
        {"kept_bytes", work->kept_bytes},
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (values[i].value < 0 || isinf(values[i].value))
            return error_set(err, ASSAY_BAD_INPUT,
                             "the work of '%s' cannot have %g %s", name,
                             values[i].value, values[i].what);
    }
    return ASSAY_OK;
}

static enum assay_status work_check(const struct run *run, uint32_t scope,
                                    const struct scope_work *work,
                                    struct error *err)
{
    const char *name;

    if (scope >= run->n_scopes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "work is for an unknown scope (%u)", scope);
    name = run->scopes[scope].name;
    if (work->done_by != RUN_NONE && work->done_by >= run->n_scopes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%s' is done by an unknown scope (%u)", name,
                         work->done_by);
    if (!run_can_be_done_by(run, scope, work->done_by))
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%s' cannot be done by '%s': name the scope that "
                         "really does the work",
                         name, run->scopes[work->done_by].name);
    return work_check_values(work, name, err);
}

/* The entry for the work of a scope, which may have some already. */
static struct scope_work *work_place(struct run *run, uint32_t scope)
{
    struct scope_links *links = &run->links[scope];

    if (links->work != RUN_NONE)
        return &run->works[links->work];
    if (!vec_grow(&run->works, &run->works_capacity, run->n_works + 1,
                  sizeof *run->works))
        return NULL;
    links->work = (uint32_t)run->n_works;
    run->works[run->n_works] = scope_work_unknown();
    return &run->works[run->n_works++];
}

enum assay_status run_work_set(struct run *run, uint32_t scope,
                               const struct scope_work *work, struct error *err)
{
    enum assay_status st = work_check(run, scope, work, err);
    struct scope_work *place;

    if (st)
        return st;
    place = work_place(run, scope);
    if (!place)
        return error_nomem(err, sizeof *work, "the work of a scope");
    if (place->done_by != RUN_NONE)
        run->links[place->done_by].n_doing--;
    if (work->done_by != RUN_NONE)
        run->links[work->done_by].n_doing++;
    *place = *work;
    return ASSAY_OK;
}

/* ---- in words ------------------------------------------------------------ */

const struct scope_text *run_text(const struct run *run, uint32_t scope)
{
    uint32_t text = run->links[scope].text;

    return text == RUN_NONE ? NULL : &run->texts[text];
}

bool run_has_text(const struct run *run)
{
    return run->n_texts > 0;
}

static bool text_is_same(const struct scope_text *a, const struct scope_text *b)
{
    return strcmp(a->shapes, b->shapes) == 0 &&
           strcmp(a->kernel, b->kernel) == 0;
}

enum assay_status run_text_set(struct run *run, uint32_t scope,
                               const struct scope_text *text, struct error *err)
{
    struct scope_text copy, *known;

    if (scope >= run->n_scopes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "texts are for an unknown scope (%u)", scope);
    if (run_text(run, scope) && text_is_same(run_text(run, scope), text))
        return ASSAY_OK;
    copy.shapes = mem_strdup(text->shapes);
    copy.kernel = mem_strdup(text->kernel);
    if (!copy.shapes || !copy.kernel ||
        !vec_grow(&run->texts, &run->texts_capacity, run->n_texts + 1,
                  sizeof *run->texts)) {
        mem_free((char *)copy.shapes);
        mem_free((char *)copy.kernel);
        return error_nomem(err, strlen(text->shapes), "the texts of a scope");
    }
    if (run->links[scope].text == RUN_NONE) {
        run->links[scope].text = (uint32_t)run->n_texts++;
        run->texts[run->links[scope].text] = copy;
        return ASSAY_OK;
    }
    known = &run->texts[run->links[scope].text];
    mem_free((char *)known->shapes);
    mem_free((char *)known->kernel);
    *known = copy;
    return ASSAY_OK;
}
