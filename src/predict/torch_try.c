/* predict/torch_try.c - a test in PyTorch, see campaign_internal.h: the network
 * is written with its weights into a folder for this test alone, and built
 * again there. */
#include "predict/campaign_internal.h"

#include "base/str.h"
#include "formats/net/net.h"
#include "models/model_open.h"
#include "predict/torch_internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the child starts with. */
struct torch_attempt {
    const struct campaign_test *test;
    const struct campaign_limits *limits;
    size_t memory_bytes;
    const char *net; /* the file to hand over */
};

/* ---- the folder ---------------------------------------------------------- */

static enum assay_status torch_make_folder(struct str *folder,
                                           struct error *err)
{
    const char *place = getenv("TMPDIR");

    if (str_printf(folder, "%s/assay-torch-XXXXXX",
                   place && *place ? place : "/tmp"))
        return error_nomem(err, 64, "a path");
    return mkdtemp(folder->text)
               ? ASSAY_OK
               : error_errno(err, errno, "making a folder in %s",
                             place && *place ? place : "/tmp");
}

/* With whatever a child that was killed left there. */
static void torch_remove_folder(const char *folder)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;

    if (!open)
        return;
    while ((entry = readdir(open))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(open), entry->d_name, 0);
    }
    closedir(open);
    (void)rmdir(folder);
}

/* ---- in the child -------------------------------------------------------- */

/* The same network with the same weights as this program's engine would run,
 * before anything is fused. */
static enum assay_status
torch_write_network(const struct torch_attempt *attempt, struct error *err)
{
    const struct model_source source = {.name = attempt->test->file,
                                        .is_file = true};
    struct graph *graph = NULL;
    struct pool *pool = NULL;
    enum assay_status st = pool_new(&pool, err);

    if (!st)
        st = model_open(&source, pool, &graph, err);
    if (!st)
        st = model_load_weights(&source, graph, pool, NULL, err);
    if (!st)
        st = net_save(graph, attempt->net, &(struct net_notes){0}, err);
    graph_free(graph);
    pool_free(pool);
    return st;
}

static void torch_run_attempt(void *context, int line)
{
    const struct torch_attempt *attempt = context;
    const struct campaign_test *test = attempt->test;
    const struct campaign_limits *limits = attempt->limits;
    const char *device = limits->device ? limits->device : "cpu";
    /* A GPU's memory is limited only on request. */
    size_t bytes =
        limits->device ? limits->memory_bytes : attempt->memory_bytes;
    char batch[24], threads[16], memory_mb[32];
    const char *const words[] = {"--net",       attempt->net,
                                 "--batch",     batch,
                                 "--stage",     stage_names[test->stage],
                                 "--variable",  target_names[test->target],
                                 "--device",    device,
                                 "--threads",   threads,
                                 "--memory-mb", memory_mb,
                                 NULL};
    const struct torch_call call = {limits->torch, "assay.torch_test", words};
    struct error why = {0};
    enum assay_status st = torch_write_network(attempt, &why);

    if (st) {
        torch_send_failure(line, st, why.text);
        return;
    }
    snprintf(batch, sizeof batch, "%" PRId64, test->batch);
    snprintf(threads, sizeof threads, "%d", limits->n_threads);
    snprintf(memory_mb, sizeof memory_mb, "%zu", bytes >> 20);
    torch_become(&call, line);
}

/* ---- in the parent ------------------------------------------------------- */

static void torch_take_answer(const struct torch_attempt *attempt,
                              const struct torch_answer *answer,
                              struct campaign_result *result)
{
    *result = answer->result;
    result->is_passed = !answer->status;
    if (answer->status == ASSAY_NOMEM && !attempt->limits->device)
        campaign_explain_nomem(result, attempt->memory_bytes);
    else if (answer->status == ASSAY_NOMEM)
        snprintf(result->reason, sizeof result->reason,
                 "out of memory on %.20s: %.120s", attempt->limits->device,
                 answer->reason);
    else if (answer->status)
        snprintf(result->reason, sizeof result->reason, "%.150s",
                 answer->reason);
}

static enum assay_status torch_attempt(const struct torch_attempt *attempt,
                                       struct campaign_result *result,
                                       struct error *err)
{
    const struct child_options options = {.what = "a test",
                                          .is_quiet = true,
                                          .is_expendable = true,
                                          .leaves_interrupt = true};
    double seconds = attempt->limits->seconds;
    char block[TORCH_ANSWER_BYTES];
    struct torch_answer answer;
    struct error why = {0};
    struct child child;
    enum child_told told;
    enum assay_status st = child_start(&child, &options, torch_run_attempt,
                                       (void *)(uintptr_t)attempt, err);
    int status;

    if (st)
        return st;
    told = child_receive(child.line, block, sizeof block, seconds);
    status = child_end(&child, told != CHILD_TOLD, NULL);
    if (told != CHILD_TOLD)
        campaign_explain_end(result, told, status, seconds,
                             attempt->memory_bytes);
    else if (torch_answer_read(block, sizeof block, &answer, &why))
        snprintf(result->reason, sizeof result->reason, "%.150s", why.text);
    else
        torch_take_answer(attempt, &answer, result);
    return ASSAY_OK;
}

enum assay_status torch_try(const struct campaign_test *test,
                            const struct campaign_limits *limits,
                            size_t memory_bytes, struct campaign_result *result,
                            struct error *err)
{
    struct torch_attempt attempt = {
        .test = test, .limits = limits, .memory_bytes = memory_bytes};
    struct str folder = {0}, net = {0};
    enum assay_status st = torch_make_folder(&folder, err);

    if (!st && str_printf(&net, "%s/network.net", folder.text))
        st = error_nomem(err, 64, "a path");
    attempt.net = str_text(&net);
    if (!st)
        st = torch_attempt(&attempt, result, err);
    if (folder.n)
        torch_remove_folder(folder.text);
    str_release(&folder);
    str_release(&net);
    return st;
}
