/* backend/dnnl/tuning.c - which kernel for a convolution: measured on the real
 * shapes while there is time for it, by rule of thumb afterwards. */
#include "backend/dnnl/channel_affine.h"
#include "backend/dnnl/own_winograd.h"

#include "base/clock.h"
#include "ops/convolution/conv2d.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum algorithm algorithm;
    size_t most; /* implementations to look at, the library's favourites */
} algorithms[] = {{"winograd", ALGORITHM_WINOGRAD, 2},
                  {"direct", ALGORITHM_DIRECT, 1}};

enum { n_algorithms = sizeof algorithms / sizeof *algorithms };

static const char *task_name(const struct job *job)
{
    switch (job->direction) {
    case DIRECTION_DATA:
        return "backward data ";
    case DIRECTION_WEIGHTS:
        return "backward weights ";
    case DIRECTION_FORWARD:
    case N_DIRECTIONS:
        break;
    }
    return job->is_training ? "training " : "";
}

/* "n1 c64 h200 w200 o64 k3x3 s1x1 d1x1 p1,1,1,1 g1 nChw16c". What is done comes
 * first where that is not inference in float32; "scaled" follows where x still
 * is to be scaled, and "smooth" where an activation other than a ReLU comes
 * after: some kernels leave that to a pass of its own. */
static void write_key(struct onednn *dn, const struct job *job, char *text,
                      size_t size)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;
    const int64_t *x =
        job->direction == DIRECTION_DATA ? job->y.dims : job->x->shape.dims;
    const struct pending *pending = pending_of(job->x);

    snprintf(text, size,
             "%s%sn%" PRId64 " c%" PRId64 " h%" PRId64 " w%" PRId64 " o%" PRId64
             " k%" PRId64 "x%" PRId64 " s%" PRId64 "x%" PRId64 " d%" PRId64
             "x%" PRId64 " p%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
             " g%" PRId64 " %s%s%s",
             dn->narrow ? "bf16 " : "", task_name(job), x[0], x[1], x[2], x[3],
             w[0], w[2], w[3], attrs->stride[0], attrs->stride[1],
             attrs->dilation[0], attrs->dilation[1], attrs->before[0],
             attrs->before[1], attrs->after[0], attrs->after[1], attrs->groups,
             layout_text(pending ? pending->base : layout_of(dn, job->x)),
             pending ? " scaled" : "", job->activation ? " smooth" : "");
}

/* Taken only where nothing else is: kernels that any processor can run, and
 * those that want channels last. These are no faster than the ones on blocked
 * channels, but Winograd's are blocked, and a reorder of a large map costs a
 * fifth of its convolution. */
static bool is_last_resort(const char *name, const struct layout *y)
{
    return strncmp(name, "ref", 3) == 0 || strstr(name, "gemm") ||
           strcmp(layout_text(y), "nhwc") == 0;
}

static bool is_listed(const struct candidates *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Plain mode is direct. */
static const char *wished_algorithm(const struct onednn *dn)
{
    return dn->options.is_plain ? "direct" : dn->options.algorithm;
}

/* A wish for one kernel, such as "winograd assay_2x3", names its algorithm
 * first. */
static bool is_wished_algorithm(const struct onednn *dn, const char *algorithm)
{
    const char *wish = wished_algorithm(dn);
    size_t length = strlen(algorithm);

    return strncmp(wish, algorithm, length) == 0 &&
           (wish[length] == '\0' || wish[length] == ' ');
}

/* False for another kernel of that algorithm. */
static bool is_wished_kernel(const struct onednn *dn, const char *name)
{
    const char *wish = wished_algorithm(dn);

    return !wish || !strchr(wish, ' ') ||
           strncmp(name, wish, strcspn(wish, " ")) != 0 ||
           strncmp(name, wish, strlen(wish)) == 0;
}

static bool wishes_gemm(const struct onednn *dn)
{
    return wished_algorithm(dn) && strcmp(wished_algorithm(dn), "gemm") == 0;
}

/* The first ones of an algorithm that are worth it, or else the very first.
 * Some are there twice under one name: the first of them counts. */
struct listing {
    const struct onednn *dn;
    const char *algorithm;
    size_t most; /* of the list's length */
    struct candidates *list;
    struct candidate first;
};

static bool is_worth_it(const struct onednn *dn, const char *name,
                        const struct layout *y)
{
    if (wishes_gemm(dn))
        return strstr(name, "gemm") != NULL;
    if (dn->narrow)
        return strncmp(name, "ref", 3) != 0 && !strstr(name, "gemm");
    return dn->options.tries_last_resorts || !is_last_resort(name, y);
}

static bool list_implementation(const char *name, const struct layout *y,
                                void *context)
{
    struct listing *listing = context;
    struct candidates *list = listing->list;
    struct candidate next = {.ms = -1};

    snprintf(next.name, sizeof next.name, "%s %s", listing->algorithm, name);
    if (is_worth_it(listing->dn, name, y) && !is_listed(list, next.name) &&
        is_wished_kernel(listing->dn, next.name))
        list->items[list->n++] = next;
    if (!listing->first.name[0] && is_wished_kernel(listing->dn, next.name))
        listing->first = next;
    return list->n < listing->most;
}

/* A wish for another algorithm is tried first and ends the search where it can
 * be met. Of bf16 there are direct kernels alone. */
static bool is_wanted(const struct onednn *dn, const char *algorithm,
                      const struct candidates *list)
{
    if (dn->narrow && strcmp(algorithm, "direct") != 0)
        return false;
    return !wished_algorithm(dn) || is_wished_algorithm(dn, algorithm) ||
           (list->n == 0 && strcmp(algorithm, "direct") == 0);
}

/* Or with phases that small: see winograd.h. */
static bool is_small_map(const struct job *job)
{
    int64_t dilation = conv2d_attrs(job->node)->dilation[0];
    const int64_t *y = job->y.dims;

    return y[0] * y[2] * y[3] <= 20 * 20 * dilation * dilation;
}

/* Our own come first: on most processors nobody else has any. The small tile
 * wins only where there is little but edges, so it is spared the contest
 * elsewhere. */
static void list_own(const struct onednn *dn, const struct job *job,
                     struct candidates *list)
{
    struct candidates own = {.n = 0};

    own_winograd_list(job, &own);
    for (size_t i = 0; i < own.n; i++) {
        if (is_wished_kernel(dn, own.items[i].name) &&
            (list->n == 0 || is_small_map(job)))
            list->items[list->n++] = own.items[i];
    }
}

/* A single one, not an algorithm. */
static bool wishes_kernel(const struct onednn *dn)
{
    return dn->options.algorithm && strchr(dn->options.algorithm, ' ');
}

/* An algorithm that has no kernel for the shape adds nothing. */
static enum assay_status list_wished(struct onednn *dn, const struct job *job,
                                     describe_convolution *describe,
                                     struct candidates *list, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    list->n = 0;
    if (is_wanted(dn, "winograd", list))
        list_own(dn, job, list);
    for (size_t i = 0; !st && i < n_algorithms; i++) {
        struct listing listing = {.dn = dn,
                                  .algorithm = algorithms[i].name,
                                  .most = list->n + algorithms[i].most,
                                  .list = list};
        struct operation operation;

        if (dn->options.tries_last_resorts && listing.most < MAX_CANDIDATES)
            listing.most++;
        if (!is_wanted(dn, algorithms[i].name, list) ||
            !describe(dn, job, &operation))
            continue;
        operation.algorithm = algorithms[i].algorithm;
        job_complete(job, &operation);
        st = onednn_list(dn, &operation, list_implementation, &listing, err);
        if (!st && list->n == 0 && listing.first.name[0])
            list->items[list->n++] = listing.first;
    }
    if (!st && is_wanted(dn, "direct", list))
        own_direct_list(dn, job, list);
    return st;
}

/* Where a wish for one kernel cannot be met, any direct one will do. */
static enum assay_status list_candidates(struct onednn *dn,
                                         const struct job *job,
                                         describe_convolution *describe,
                                         struct candidates *list,
                                         struct error *err)
{
    enum assay_status st = list_wished(dn, job, describe, list, err);

    if (!st && list->n == 0 && wishes_kernel(dn)) {
        const char *wish = dn->options.algorithm;

        dn->options.algorithm = "direct";
        st = list_wished(dn, job, describe, list, err);
        dn->options.algorithm = wish;
    }
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

    if (own_winograd_has(name))
        return own_winograd_make(dn, job, name, out, err);
    if (own_direct_has(name))
        return own_direct_make(dn, job, out, err);
    for (size_t i = 0; i < n_algorithms; i++) {
        if (strncmp(algorithms[i].name, name, length) != 0 ||
            strlen(algorithms[i].name) != length || !name[length])
            continue;
        return parts_make(dn, job,
                          &(struct variant){describe, algorithms[i].algorithm,
                                            name + length + 1},
                          out, err);
    }
    return error_set(err, ASSAY_NOT_FOUND, "there is no kernel %s", name);
}

/* Winograd's transforms pay where much is done with each transformed tile.
 * Ours cost little: they are fused with the products, and weights are
 * transformed once, outside of training. */
static bool prefers_winograd(const struct job *job, const char *name)
{
    const int64_t *x = job->x->shape.dims, *w = job->weight->shape.dims;
    bool is_cheap = own_winograd_has(name) && !job->is_training &&
                    job->direction == DIRECTION_FORWARD;
    int64_t channels = is_cheap ? 16 : 64, side = is_cheap ? 14 : 28;

    return w[0] >= channels && w[1] >= channels &&
           x[0] * x[2] * x[3] >= side * side;
}

/* Puts the one that is likely the fastest first: it is taken where nothing can
 * be measured. Winograd, where there is one, comes first already. */
static void guess(const struct job *job, struct candidates *list)
{
    struct candidate first = list->items[0];
    size_t i = 0;

    if (prefers_winograd(job, first.name))
        return;
    while (i < list->n && strncmp(list->items[i].name, "winograd", 8) == 0)
        i++;
    if (i == list->n)
        return;
    list->items[0] = list->items[i];
    list->items[i] = first;
}

static enum assay_status
make_candidates(struct onednn *dn, const struct job *job,
                describe_convolution *describe, const struct candidates *list,
                struct kernel **kernels, struct error *err)
{
    int64_t since = clock_monotonic_ns();
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < list->n; i++)
        st = make_candidate(dn, job, describe, list->items[i].name, &kernels[i],
                            err);
    dn->tuning_left_ns -= clock_monotonic_ns() - since;
    return st;
}

static enum assay_status compare(struct onednn *dn, const struct job *job,
                                 describe_convolution *describe,
                                 struct candidates *list, bool *is_complete,
                                 struct kernel **out, struct error *err)
{
    struct kernel *kernels[MAX_CANDIDATES] = {NULL};
    enum assay_status st =
        make_candidates(dn, job, describe, list, kernels, err);

    if (!st)
        st = contest_run(dn, job, list, kernels, is_complete, err);
    *out = kernels[0];
    for (size_t i = st ? 0 : 1; i < list->n; i++)
        kernel_free(kernels[i]);
    if (st)
        *out = NULL;
    return st;
}

static enum assay_status
measure_or_guess(struct onednn *dn, const struct job *job,
                 describe_convolution *describe, struct candidates *list,
                 struct kernel **out, struct error *err)
{
    const char *how = "by rule of thumb";
    bool is_complete = false;
    enum assay_status st = list_candidates(dn, job, describe, list, err);

    if (st)
        return st;
    guess(job, list);
    if (dn->options.is_plain || list->n == 1 || dn->tuning_left_ns <= 0)
        st = make_candidate(dn, job, describe, list->items[0].name, out, err);
    else
        st = compare(dn, job, describe, list, &is_complete, out, err);
    if (st)
        return st;
    if (is_complete)
        how = "measured";
    else if (dn->options.is_plain)
        how = "plain";
    else if (list->n == 1)
        how = "the only one";
    (*out)->how = how;
    return ASSAY_OK;
}

/* What was measured; in training what was not, too, so that it goes on as it
 * began. */
static enum assay_status remember(const struct onednn *dn, const char *key,
                                  const struct candidates *list,
                                  struct error *err)
{
    if (dn->options.is_plain || dn->options.algorithm || list->n < 2 ||
        (!dn->options.is_training && list->items[0].ms < 0))
        return ASSAY_OK;
    return choices_put(dn->choices, key, list, err);
}

/* What is remembered may not be there for what is fused here. */
static bool recall(struct onednn *dn, const struct job *job,
                   describe_convolution *describe, const char *key,
                   struct candidates *list, struct kernel **out)
{
    if (dn->options.is_plain || dn->options.algorithm ||
        !choices_find(dn->choices, key, list) ||
        make_candidate(dn, job, describe, list->items[0].name, out, NULL))
        return false;
    (*out)->how = "remembered";
    return true;
}

enum assay_status tuning_choose(struct onednn *dn, const struct job *job,
                                describe_convolution *describe,
                                struct kernel **out, struct error *err)
{
    struct candidates list;
    enum assay_status st = ASSAY_OK;
    char key[256];

    *out = NULL;
    write_key(dn, job, key, sizeof key);
    if (!recall(dn, job, describe, key, &list, out)) {
        st = measure_or_guess(dn, job, describe, &list, out, err);
        if (!st)
            st = remember(dn, key, &list, err);
    }
    if (st) {
        kernel_free(*out);
        *out = NULL;
        return st;
    }
    (*out)->candidates = list;
    return ASSAY_OK;
}
