/* backend/dnnl/tuning.c - which kernel for a convolution: measured on the real
 * shapes while there is time for it, by rule of thumb afterwards. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/clock.h"
#include "ops/conv2d.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    dnnl_alg_kind_t kind;
    size_t most; /* implementations to look at, the library's favourites */
} algorithms[] = {{"winograd", dnnl_convolution_winograd, 2},
                  {"direct", dnnl_convolution_direct, 1}};

enum { n_algorithms = sizeof algorithms / sizeof *algorithms };

/* "n1 c64 h200 w200 o64 k3x3 s1x1 d1x1 p1,1,1,1 g1 nChw16c" */
static void write_key(const struct job *job, char *text, size_t size)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *x = job->x->shape.dims, *w = job->weight->shape.dims;
    dnnl_memory_desc_t desc = desc_of(job->x);

    snprintf(text, size,
             "n%" PRId64 " c%" PRId64 " h%" PRId64 " w%" PRId64 " o%" PRId64
             " k%" PRId64 "x%" PRId64 " s%" PRId64 "x%" PRId64 " d%" PRId64
             "x%" PRId64 " p%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
             " g%" PRId64 " %s",
             x[0], x[1], x[2], x[3], w[0], w[2], w[3], attrs->stride[0],
             attrs->stride[1], attrs->dilation[0], attrs->dilation[1],
             attrs->before[0], attrs->before[1], attrs->after[0],
             attrs->after[1], attrs->groups, desc_text(&desc));
}

/* Taken only where nothing else is: kernels that any processor can run, and
 * those that want channels last. These are no faster than the ones on blocked
 * channels, but Winograd's are blocked, and a reorder of a large map costs a
 * fifth of its convolution. */
static bool is_last_resort(const_dnnl_primitive_desc_t found, const char *name)
{
    const dnnl_memory_desc_t *dst =
        dnnl_primitive_desc_query_md(found, dnnl_query_dst_md, 0);

    return strncmp(name, "ref", 3) == 0 || strstr(name, "gemm") ||
           strcmp(desc_text(dst), "nhwc") == 0;
}

static const char *implementation_name(const_dnnl_primitive_desc_t found)
{
    const char *name = "";

    dnnl_primitive_desc_query(found, dnnl_query_impl_info_str, 0,
                              (void *)&name);
    return name;
}

/* The first ones of an algorithm that are no last resort, or else the very
 * first. */
static dnnl_status_t append_implementations(dnnl_primitive_desc_iterator_t at,
                                            size_t algorithm,
                                            struct candidates *list)
{
    struct candidate first = {.name = ""};
    dnnl_status_t status = dnnl_success;
    size_t begin = list->n;

    while (!status && list->n < begin + algorithms[algorithm].most) {
        dnnl_primitive_desc_t found = dnnl_primitive_desc_iterator_fetch(at);
        struct candidate next = {.ms = -1};
        const char *name;

        if (!found)
            return dnnl_out_of_memory;
        name = implementation_name(found);
        snprintf(next.name, sizeof next.name, "%s %s",
                 algorithms[algorithm].name, name);
        if (!is_last_resort(found, name))
            list->items[list->n++] = next;
        if (!first.name[0])
            first = next;
        dnnl_primitive_desc_destroy(found);
        status = dnnl_primitive_desc_iterator_next(at);
    }
    if (list->n == 0)
        list->items[list->n++] = first;
    return status == dnnl_iterator_ends ? dnnl_success : status;
}

/* Plain mode is direct; a wish for another algorithm is tried first and ends
 * the search where it can be met. */
static bool is_wanted(const struct onednn *dn, const char *algorithm,
                      const struct candidates *list)
{
    const char *wish = dn->options.is_plain ? "direct" : dn->options.algorithm;

    return !wish || strcmp(wish, algorithm) == 0 ||
           (list->n == 0 && strcmp(algorithm, "direct") == 0);
}

/* An algorithm that has no kernel for the shape adds nothing. */
static enum assay_status list_candidates(struct onednn *dn,
                                         const struct job *job,
                                         describe_convolution *describe,
                                         struct candidates *list,
                                         struct error *err)
{
    dnnl_primitive_attr_t attributes = NULL;
    enum assay_status st = job_attributes(job, &attributes, err);

    list->n = 0;
    for (size_t i = 0; !st && i < n_algorithms; i++) {
        dnnl_primitive_desc_iterator_t iterator = NULL;
        dnnl_convolution_desc_t description;

        if (!is_wanted(dn, algorithms[i].name, list) ||
            describe(job, algorithms[i].kind, &description) ||
            dnnl_primitive_desc_iterator_create(&iterator, &description,
                                                attributes, dn->engine, NULL))
            continue;
        st = onednn_status(append_implementations(iterator, i, list),
                           "list its kernels", err);
        dnnl_primitive_desc_iterator_destroy(iterator);
    }
    dnnl_primitive_attr_destroy(attributes);
    if (!st && list->n == 0)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "oneDNN has no kernel for this convolution");
    return st;
}

static enum assay_status make_candidate(struct onednn *dn,
                                        const struct job *job,
                                        describe_convolution *describe,
                                        const char *name, struct kernel **out,
                                        struct error *err)
{
    size_t length = strcspn(name, " ");
    dnnl_convolution_desc_t description;

    for (size_t i = 0; i < n_algorithms; i++) {
        enum assay_status st;

        if (strncmp(algorithms[i].name, name, length) != 0 ||
            strlen(algorithms[i].name) != length || !name[length])
            continue;
        st = onednn_status(describe(job, algorithms[i].kind, &description),
                           "describe a convolution", err);
        return st ? st
                  : kernel_make(dn, job, &description, name + length + 1, out,
                                err);
    }
    return error_set(err, ASSAY_NOT_FOUND, "there is no kernel %s", name);
}

/* Winograd's transforms pay where much is done with each transformed tile. */
static bool prefers_winograd(const struct job *job)
{
    const int64_t *x = job->x->shape.dims, *w = job->weight->shape.dims;

    return w[0] >= 64 && w[1] >= 64 && x[0] * x[2] * x[3] >= 28 * 28;
}

/* Puts the one that is likely the fastest first: it is taken where nothing can
 * be measured. Winograd, where there is one, comes first already. */
static void guess(const struct job *job, struct candidates *list)
{
    struct candidate first = list->items[0];

    if (list->n < 2 || strncmp(first.name, "winograd", 8) != 0 ||
        prefers_winograd(job))
        return;
    list->items[0] = list->items[1];
    list->items[1] = first;
}

static enum assay_status run_once(struct onednn *dn, const struct job *job,
                                  struct kernel *kernel, double *ms,
                                  struct error *err)
{
    int64_t since = clock_monotonic_ns();
    struct tensor y;
    enum assay_status st = kernel_run(dn, job, kernel, &y, err);

    *ms = (double)(clock_monotonic_ns() - since) / 1e6;
    if (!st)
        tensor_release(&y);
    return st;
}

/* The best of a few runs after one that warms up. */
static enum assay_status measure(struct onednn *dn, const struct job *job,
                                 struct kernel *kernel, double *best,
                                 struct error *err)
{
    static const double short_ms = 4;
    enum { short_runs = 4, long_runs = 2 };
    double first, ms;
    enum assay_status st = run_once(dn, job, kernel, &first, err);
    int runs = first < short_ms ? short_runs : long_runs;

    *best = first;
    for (int i = 1; !st && i < runs; i++) {
        st = run_once(dn, job, kernel, &ms, err);
        if (ms < *best)
            *best = ms;
    }
    return st;
}

/* Drops what the losers packed, from the index on. */
static void drop_packed(struct onednn *dn, size_t from,
                        const struct kernel *winner)
{
    size_t kept = from;

    for (size_t i = from; i < dn->n_packed; i++) {
        if (dnnl_memory_desc_equal(&dn->packed[i].layout->desc,
                                   &winner->weights))
            dn->packed[kept++] = dn->packed[i];
        else
            buffer_release(dn->packed[i].buffer);
    }
    dn->n_packed = kept;
    buffer_release(dn->scratch);
    dn->scratch = NULL;
}

/* Moves the fastest to the front; *kernel is the fastest so far. */
static enum assay_status try_candidate(struct onednn *dn, const struct job *job,
                                       describe_convolution *describe,
                                       struct candidates *list, size_t i,
                                       struct kernel **kernel,
                                       struct error *err)
{
    struct candidate *candidate = &list->items[i], best = list->items[0];
    struct kernel *made = NULL;
    enum assay_status st =
        make_candidate(dn, job, describe, candidate->name, &made, err);

    if (!st)
        st = measure(dn, job, made, &candidate->ms, err);
    if (st || (*kernel && candidate->ms >= best.ms)) {
        kernel_free(made);
        return st;
    }
    list->items[0] = *candidate;
    if (i > 0)
        *candidate = best;
    kernel_free(*kernel);
    *kernel = made;
    return ASSAY_OK;
}

static enum assay_status compare(struct onednn *dn, const struct job *job,
                                 describe_convolution *describe,
                                 struct candidates *list, bool *is_complete,
                                 struct kernel **out, struct error *err)
{
    struct job trial = *job;
    size_t n_packed = dn->n_packed, i;
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    trial.may_take_residual = false;
    for (i = 0; !st && i < list->n && dn->tuning_left_ns > 0; i++) {
        int64_t since = clock_monotonic_ns();

        st = try_candidate(dn, &trial, describe, list, i, out, err);
        dn->tuning_left_ns -= clock_monotonic_ns() - since;
    }
    *is_complete = i == list->n;
    if (st) {
        kernel_free(*out);
        *out = NULL;
        return st;
    }
    drop_packed(dn, n_packed, *out);
    return ASSAY_OK;
}

static enum assay_status
measure_or_guess(struct onednn *dn, const struct job *job,
                 describe_convolution *describe, const char *key,
                 struct candidates *list, struct kernel **out, const char **how,
                 struct error *err)
{
    bool is_complete = false;
    enum assay_status st = list_candidates(dn, job, describe, list, err);

    if (st)
        return st;
    guess(job, list);
    if (dn->options.is_plain || list->n == 1 || dn->tuning_left_ns <= 0) {
        *how = dn->options.is_plain ? "plain"
               : list->n == 1       ? "the only one"
                                    : "by rule of thumb";
        return make_candidate(dn, job, describe, list->items[0].name, out, err);
    }
    *how = "measured";
    st = compare(dn, job, describe, list, &is_complete, out, err);
    if (!st && is_complete && !dn->options.algorithm)
        st = choices_put(dn->choices, key, list, err);
    if (st) {
        kernel_free(*out);
        *out = NULL;
    }
    return st;
}

enum assay_status tuning_choose(struct onednn *dn, const struct job *job,
                                describe_convolution *describe,
                                struct kernel **out, struct error *err)
{
    struct candidates list;
    const char *how = "remembered";
    enum assay_status st = ASSAY_OK;
    char key[256];

    *out = NULL;
    write_key(job, key, sizeof key);
    /* What is remembered may not be there for what is fused here. */
    if (dn->options.is_plain || dn->options.algorithm ||
        !choices_find(dn->choices, key, &list) ||
        make_candidate(dn, job, describe, list.items[0].name, out, NULL))
        st = measure_or_guess(dn, job, describe, key, &list, out, &how, err);
    if (st)
        return st;
    (*out)->candidates = list;
    (*out)->how = how;
    return ASSAY_OK;
}
