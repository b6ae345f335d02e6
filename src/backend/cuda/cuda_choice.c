/* backend/cuda/cuda_choice.c - see cuda_plan.h: which plan does a job, by what
 * is remembered by GPU and libraries, or by a contest. */
#include "backend/cuda/cuda_plan.h"

#include "base/cache.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- jobs and plans ------------------------------------------------------ */

bool cuda_job_is_product(const struct cuda_job *job)
{
    return job->kh == 1 && job->kw == 1 && job->groups == 1 &&
           job->stride[0] == 1 && job->stride[1] == 1 && !job->before[0] &&
           !job->before[1] && !job->after[0] && !job->after[1];
}

void cuda_plan_release(struct cuda_plan *plan)
{
    cudnn_plan_free(plan->cudnn);
    lt_plan_free(plan->lt);
    *plan = (struct cuda_plan){0};
}

static enum assay_status run_direct(struct cuda_call *call,
                                    const struct cuda_job *job,
                                    const struct cuda_operands *operands)
{
    struct cuda_device *device = call->cuda->device;
    struct cuda_operands at = *operands;
    struct cuda_job by_value = *job;
    int64_t weights = job->o * job->kh * job->kw * (job->c / job->groups);
    char name[CUDA_NAME];

    if (job->way == WAY_DATA) {
        cuda_kernel_name(name, "direct_data", (enum dtype)job->stored);
        return CUDA_LAUNCH(
            call, "gradient", name,
            cuda_grid_for(device, (size_t)(job->n * job->h * job->w * job->c),
                          1),
            by_value, at.y, at.w, at.x);
    }
    if (job->way == WAY_WEIGHTS) {
        cuda_kernel_name(name, "direct_weights", (enum dtype)job->stored);
        return CUDA_LAUNCH(call, "gradient", name,
                           cuda_grid_for(device, (size_t)weights * 256, 1),
                           by_value, at.y, at.x, at.w);
    }
    cuda_kernel_name(name, job->made == job->stored ? "direct" : "direct_wide",
                     (enum dtype)job->stored);
    return CUDA_LAUNCH(
        call, "convolution", name,
        cuda_grid_for(device, (size_t)(job->n * job->oh * job->ow * job->o), 1),
        by_value, at.x, at.w, at.bias, at.residual, at.y);
}

/* What the plan left of what follows the sums. */
static enum assay_status run_epilogue(struct cuda_call *call,
                                      const struct cuda_job *job,
                                      const struct cuda_plan *plan,
                                      const struct cuda_operands *operands)
{
    struct cuda_operands at = *operands;
    bool is_forward = job->way == WAY_FORWARD, is_data = job->way == WAY_DATA;
    int64_t c = is_data ? job->c : job->o;
    int64_t n = c * job->n * (is_data ? job->h * job->w : job->oh * job->ow);
    cu_pointer made = is_data ? at.x : at.y;
    /* As struct finish in kernels/prelude.cuh. */
    struct {
        int32_t has_relu;
        float limit;
        int32_t activation;
        float slope;
    } last = {0};
    char name[CUDA_NAME];

    if (is_forward) {
        last.activation = job->activation;
        last.slope = job->slope;
    }
    if (is_forward && plan->is_bare) {
        last.has_relu = job->has_relu;
        last.limit = job->relu_limit;
    }
    if (!plan->is_bare)
        at.bias = at.residual = 0;
    if (!at.bias && !at.residual && !last.has_relu && !last.activation)
        return ASSAY_OK;
    cuda_kernel_name(name, "epilogue",
                     (enum dtype)(is_data ? job->stored : job->made));
    return CUDA_LAUNCH(call, "convolution", name,
                       cuda_grid_for(call->cuda->device, (size_t)n, 4), made,
                       at.bias, at.residual, c, n, last);
}

enum assay_status cuda_plan_run(struct cuda_call *call,
                                const struct cuda_job *job,
                                const struct cuda_plan *plan,
                                const struct cuda_operands *operands)
{
    struct cuda_operands all = *operands;
    struct buffer *workspace = NULL;
    enum assay_status st = ASSAY_OK;

    if (plan->workspace_bytes)
        st = cuda_scratch(call, plan->workspace_bytes, &workspace);
    if (st)
        return st;
    if (workspace)
        all.workspace = (cu_pointer)(uintptr_t)buffer_data(workspace);
    if (plan->kind == PLAN_CUDNN)
        st = cudnn_plan_run(call, plan, &all);
    else if (plan->kind == PLAN_CUBLASLT)
        st = lt_plan_run(call, job, plan, &all);
    else if (plan->kind == PLAN_THIN)
        st = thin_plan_run(call, job, &all);
    else if (plan->kind == PLAN_DEPTHWISE || plan->kind == PLAN_DEPTHWISE_SMALL)
        st = depthwise_plan_run(call, job, plan->kind == PLAN_DEPTHWISE_SMALL,
                                &all);
    else
        st = run_direct(call, job, &all);
    if (!st && !plan->is_whole)
        st = run_epilogue(call, job, plan, &all);
    buffer_release(workspace);
    return st;
}

/* Its forward kernel has what follows the sums in itself. */
bool cuda_plan_direct(const struct cuda_job *job, struct cuda_plan *plan)
{
    *plan = (struct cuda_plan){.kind = PLAN_DIRECT,
                               .name = "direct",
                               .kernel = "direct",
                               .is_whole = job->way == WAY_FORWARD,
                               .is_bare = job->way != WAY_FORWARD};
    return true;
}

/* The number after a prefix, if that is all of the name. */
static bool plan_number(const char *name, const char *prefix, size_t *number)
{
    size_t n = strlen(prefix);
    char *end;

    if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9')
        return false;
    *number = strtoul(name + n, &end, 10);
    return *end == '\0';
}

/* By the name it is remembered by. */
static bool plan_by_name(struct cuda_device *device, const struct cuda_job *job,
                         const char *name, struct cuda_plan *plan)
{
    size_t i, n;

    if (plan_number(name, "cublaslt ", &i))
        return lt_plan_make(device, job, i, &n, plan);
    if (plan_number(name, "cudnn fused ", &i))
        return cudnn_plan_make(device, job, true, i, plan);
    if (plan_number(name, "cudnn bare ", &i))
        return cudnn_plan_make(device, job, false, i, plan);
    if (strcmp(name, "thin") == 0)
        return thin_plan_make(device, job, plan);
    if (strcmp(name, "depthwise") == 0)
        return depthwise_plan_make(device, job, false, plan);
    if (strcmp(name, "depthwise small") == 0)
        return depthwise_plan_make(device, job, true, plan);
    return strcmp(name, "direct") == 0 && cuda_plan_direct(job, plan);
}

/* ---- what is remembered -------------------------------------------------- */

struct remembered {
    char key[17];
    char name[PLAN_NAME];
    bool is_kept; /* in the cache: it was measured, or found there */
    bool is_used; /* by this backend, or by the one whose text it is from */
};

struct cuda_choices {
    struct str path;
    struct remembered *items;
    size_t n, capacity;
    bool is_changed;
};

static void job_key(const struct cuda_job *job, char key[17])
{
    snprintf(key, 17, "%016" PRIx64, map_hash(job, sizeof *job));
}

static struct remembered *choices_find(struct cuda_choices *choices,
                                       const char *key)
{
    for (size_t i = 0; i < choices->n; i++) {
        if (memcmp(choices->items[i].key, key, 16) == 0)
            return &choices->items[i];
    }
    return NULL;
}

static bool choices_add(struct cuda_choices *choices, const char *key,
                        const char *name, bool is_kept, bool is_used)
{
    struct remembered *item;

    if (!vec_grow(&choices->items, &choices->capacity, choices->n + 1,
                  sizeof *choices->items))
        return false;
    item = &choices->items[choices->n++];
    snprintf(item->key, sizeof item->key, "%.16s", key);
    snprintf(item->name, sizeof item->name, "%s", name);
    item->is_kept = is_kept;
    item->is_used = is_used;
    return true;
}

static void choices_drop(struct cuda_choices *choices, struct remembered *item)
{
    *item = choices->items[--choices->n];
}

/* Lines: 16 digits, a blank, the name of a plan. Others are passed over, and so
 * are those of a job that is known. */
static void choices_read(struct cuda_choices *choices, const char *at,
                         bool is_cache)
{
    while (*at) {
        size_t n = strcspn(at, "\n");
        char name[PLAN_NAME];

        if (n > 17 && n - 17 < sizeof name && at[16] == ' ' &&
            strspn(at, "0123456789abcdef") == 16 &&
            !choices_find(choices, at)) {
            snprintf(name, sizeof name, "%.*s", (int)(n - 17), at + 17);
            (void)choices_add(choices, at, name, is_cache, !is_cache);
        }
        at += n + (at[n] == '\n');
    }
}

static void choices_read_file(struct cuda_choices *choices)
{
    struct str text = {0};

    if (!file_read(str_text(&choices->path), (size_t)4 << 20, &text, NULL))
        choices_read(choices, str_text(&text), true);
    str_release(&text);
}

enum assay_status cuda_choices_open(struct cuda *cuda, struct error *err)
{
    struct cuda_choices *choices = mem_zalloc(sizeof *choices);
    struct error ignored = {0};
    char name[200];

    cuda->choices = choices;
    if (!choices)
        return error_nomem(err, sizeof *choices, "the choices of kernels");
    /* Before those of the cache: the first of a job counts. */
    if (cuda->options.choices_text)
        choices_read(choices, cuda->options.choices_text, false);
    cuda->options.choices_text = NULL; /* it was borrowed */
    if (!cuda->options.choices_path)
        return ASSAY_OK;
    snprintf(name, sizeof name, "cuda/choices2-%s-sm_%d%d-cudnn-%s%s.txt",
             cuda->device->model, cuda->device->major, cuda->device->minor,
             cuda_cudnn_version(), cuda_lt_is_there() ? "" : "-no-cublaslt");
    for (char *at = name + strlen("cuda/"); *at; at++) {
        if (*at == ' ' || *at == '/')
            *at = '_';
    }
    if (cache_path(name, &choices->path, &ignored))
        str_clear(&choices->path);
    else
        choices_read_file(choices);
    return ASSAY_OK;
}

/* For the cache, or for a backend that is to choose the same. */
static void choices_write(const struct cuda_choices *choices, bool is_cache,
                          struct sink *sink)
{
    for (size_t i = 0; i < choices->n; i++) {
        const struct remembered *item = &choices->items[i];

        if (is_cache ? item->is_kept : item->is_used)
            sink_printf(sink, "%s %s\n", item->key, item->name);
    }
}

void cuda_choices_store(struct cuda *cuda)
{
    struct cuda_choices *choices = cuda->choices;
    struct error ignored = {0};
    struct output *output;

    if (!choices->is_changed || !choices->path.n)
        return;
    choices->is_changed = false;
    if (cache_make_folders(str_text(&choices->path), &ignored) ||
        output_open(str_text(&choices->path), &output, &ignored))
        return;
    choices_write(choices, true, output_sink(output));
    (void)output_commit(output, &ignored);
}

void cuda_choices_text(const struct cuda *cuda, struct sink *sink)
{
    choices_write(cuda->choices, false, sink);
}

void cuda_choices_close(struct cuda *cuda)
{
    if (!cuda->choices)
        return;
    str_release(&cuda->choices->path);
    mem_free(cuda->choices->items);
    mem_free(cuda->choices);
}

/* ---- choosing ------------------------------------------------------------ */

static void choose_plan(struct cuda_call *call, const struct cuda_job *job,
                        const struct cuda_operands *operands,
                        struct cuda_chosen *chosen)
{
    struct cuda *cuda = call->cuda;
    int64_t since = clock_monotonic_ns();
    struct remembered *known;
    struct str times = {0};
    bool is_measured;
    char key[17];

    job_key(job, key);
    known = choices_find(cuda->choices, key);
    if (known && plan_by_name(cuda->device, job, known->name, &chosen->plan)) {
        known->is_used = true;
        snprintf(chosen->others, sizeof chosen->others, "remembered");
        return;
    }
    is_measured = cuda_contest(call, job, operands, &chosen->plan, &times);
    if (is_measured)
        snprintf(chosen->others, sizeof chosen->others, "chosen in %.0f ms: %s",
                 (double)(clock_monotonic_ns() - since) / 1e6,
                 str_text(&times));
    else
        snprintf(chosen->others, sizeof chosen->others,
                 "by rule, not measured");
    str_release(&times);
    if (known)
        choices_drop(cuda->choices, known); /* it cannot be had any more */
    if (choices_add(cuda->choices, key, chosen->plan.name, is_measured, true))
        cuda->choices->is_changed |= is_measured;
}

/* Jobs have no padding. */
static bool job_is_same(const struct cuda_job *a, const struct cuda_job *b)
{
    const void *bytes = a, *others = b;

    return memcmp(bytes, others, sizeof *a) == 0;
}

enum assay_status cuda_choose(struct cuda_call *call,
                              const struct cuda_job *job,
                              const struct cuda_operands *operands,
                              const struct cuda_chosen **out)
{
    struct cuda_chosen **list = &call->cuda->chosen[call->at];
    struct cuda_chosen *chosen = *list;

    while (chosen && !job_is_same(&chosen->job, job))
        chosen = chosen->next;
    *out = chosen;
    if (chosen)
        return ASSAY_OK;
    chosen = mem_zalloc(sizeof *chosen);
    if (!chosen)
        return error_nomem(call->err, sizeof *chosen, "a choice");
    chosen->job = *job;
    choose_plan(call, job, operands, chosen);
    chosen->next = *list;
    *list = chosen;
    *out = chosen;
    return ASSAY_OK;
}
