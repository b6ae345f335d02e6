/* predict/torch_try.c - a test in PyTorch, see campaign_internal.h: the network
 * is written with its weights into a folder of its own, and built again there.
 * The next test of the same network finds it. */
#include "predict/campaign_internal.h"

#include "formats/net/net.h"
#include "models/model_open.h"
#include "predict/torch_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the network --------------------------------------------------------- */

static enum assay_status torch_make_folder(struct torch_host *host,
                                           const char *file, struct error *err)
{
    const char *place = getenv("TMPDIR");

    if (!place || !*place)
        place = "/tmp";
    if (str_printf(&host->folder, "%s/assay-torch-XXXXXX", place))
        return error_nomem(err, 64, "a path");
    if (!mkdtemp(host->folder.text)) {
        str_clear(&host->folder);
        return error_errno(err, errno, "making a folder in %s", place);
    }
    return str_printf(&host->net, "%s/network.net", host->folder.text) ||
                   str_append(&host->of, file)
               ? error_nomem(err, 64, "a path")
               : ASSAY_OK;
}

/* What the child that writes it starts with, and its answer. */
struct torch_writing {
    const char *file, *net;
    enum assay_status status;
    struct error error;
};

/* The same network with the same weights as this program's engine would run,
 * before anything is fused. */
static enum assay_status torch_write(const char *file, const char *net,
                                     struct error *err)
{
    const struct model_source source = {.name = file, .is_file = true};
    struct graph *graph = NULL;
    struct pool *pool = NULL;
    enum assay_status st = pool_new(&pool, err);

    if (!st)
        st = model_open(&source, pool, &graph, err);
    if (!st)
        st = model_load_weights(&source, graph, pool, NULL, err);
    if (!st)
        st = net_save(graph, net, &(struct net_notes){0}, err);
    graph_free(graph);
    pool_free(pool);
    return st;
}

static void torch_write_apart(void *context, int line)
{
    struct torch_writing *writing = context;

    writing->status = torch_write(writing->file, writing->net, &writing->error);
    child_send(line, writing, sizeof *writing, 0);
}

/* In a process of its own, because the file may be anything. False: the test
 * cannot be made, for the reason in the result. */
static enum assay_status torch_hand_over(struct torch_host *host,
                                         const char *file,
                                         struct campaign_result *result,
                                         struct error *err)
{
    const struct child_options options = {.what = "a network",
                                          .is_quiet = true,
                                          .is_expendable = true,
                                          .leaves_interrupt = true};
    struct torch_writing writing = {.file = file};
    struct child child;
    enum child_told told;
    enum assay_status st;
    int status;

    if (host->of.n && strcmp(host->of.text, file) == 0)
        return ASSAY_OK;
    torch_host_forget(host);
    st = torch_make_folder(host, file, err);
    writing.net = str_text(&host->net);
    if (!st)
        st = child_start(&child, &options, torch_write_apart, &writing, err);
    if (st)
        return st;
    told = child_receive(child.line, &writing, sizeof writing, 0);
    status = child_end(&child, told != CHILD_TOLD, NULL);
    if (told != CHILD_TOLD)
        campaign_explain_end(result, told, status, 0, 0);
    else if (writing.status)
        snprintf(result->reason, sizeof result->reason, "%.150s",
                 writing.error.text);
    if (result->reason[0])
        torch_host_forget(host);
    return ASSAY_OK;
}

/* ---- the test ------------------------------------------------------------ */

/* What is asked for. */
struct torch_attempt {
    const struct campaign_test *test;
    const struct campaign_limits *limits;
    size_t memory_bytes;
};

static void torch_take_answer(const struct torch_attempt *attempt,
                              const struct torch_answer *answer,
                              struct campaign_result *result)
{
    *result = answer->result;
    if (answer->told != CHILD_TOLD) {
        campaign_explain_end(result, answer->told, answer->wait_status,
                             attempt->limits->seconds, attempt->memory_bytes);
        return;
    }
    result->is_passed = !answer->status;
    if (answer->status == ASSAY_NOMEM)
        campaign_explain_nomem(result, attempt->limits, attempt->memory_bytes,
                               answer->reason);
    else if (answer->status)
        snprintf(result->reason, sizeof result->reason, "%.150s",
                 answer->reason);
}

static enum assay_status torch_attempt(const struct torch_attempt *attempt,
                                       const char *net,
                                       struct torch_answer *answer,
                                       struct error *err)
{
    const struct campaign_test *test = attempt->test;
    const struct campaign_limits *limits = attempt->limits;
    const char *device = limits->device ? limits->device : "cpu";
    /* A GPU's memory is limited only on request. */
    size_t bytes =
        limits->device ? limits->memory_bytes : attempt->memory_bytes;
    char batch[24], threads[16], memory_mb[32];
    const char *const words[] = {"--net",       net,
                                 "--batch",     batch,
                                 "--stage",     stage_names[test->stage],
                                 "--variable",  target_names[test->target],
                                 "--device",    device,
                                 "--threads",   threads,
                                 "--memory-mb", memory_mb,
                                 NULL};

    snprintf(batch, sizeof batch, "%" PRId64, test->batch);
    snprintf(threads, sizeof threads, "%d", limits->n_threads);
    snprintf(memory_mb, sizeof memory_mb, "%zu", bytes >> 20);
    return torch_host_ask(limits->torch, words, limits->seconds, answer, err);
}

enum assay_status torch_try(const struct campaign_test *test,
                            const struct campaign_limits *limits,
                            size_t memory_bytes, struct campaign_result *result,
                            struct error *err)
{
    const struct torch_attempt attempt = {test, limits, memory_bytes};
    struct torch_answer answer;
    enum assay_status st = torch_wake(limits->torch, err);

    if (!st)
        st = torch_hand_over(limits->torch->host, test->file, result, err);
    if (st || result->reason[0])
        return st;
    st = torch_attempt(&attempt, limits->torch->host->net.text, &answer, err);
    if (!st)
        torch_take_answer(&attempt, &answer, result);
    return st;
}
