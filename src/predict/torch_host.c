/* predict/torch_host.c - see torch_internal.h: importing PyTorch takes seconds,
 * so it is done once, and tests are copies of the process that has done it. */
#include "predict/torch_internal.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long the host may take to start a test and to end it. */
static const double patience_s = 60;

/* ---- the network --------------------------------------------------------- */

/* With whatever a process that was killed left there. */
void torch_host_forget(struct torch_host *host)
{
    DIR *open = host->folder.n ? opendir(host->folder.text) : NULL;
    const struct dirent *entry;

    while (open && (entry = readdir(open))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(open), entry->d_name, 0);
    }
    if (open)
        closedir(open);
    if (host->folder.n)
        (void)rmdir(host->folder.text);
    str_release(&host->folder);
    str_release(&host->net);
    str_release(&host->of);
    host->folder = host->net = host->of = (struct str){0};
}

/* ---- the process --------------------------------------------------------- */

static void host_run(void *context, int line)
{
    static const char *const words[] = {NULL};
    const struct torch_call call = {context, "assay.torch_test", words};

    torch_become(&call, line);
}

/* The host is gone, or of no use any more. */
static void host_give_up(struct torch_host *host, enum child_told told,
                         struct torch_answer *out)
{
    out->status = ASSAY_IO;
    out->told = told;
    out->wait_status = child_end(&host->child, told != CHILD_GONE, NULL);
}

static void host_receive(struct torch_host *host, double seconds,
                         struct torch_answer *out)
{
    char block[TORCH_ANSWER_BYTES];
    struct error why = {0};
    enum child_told told =
        child_receive(host->child.line, block, sizeof block, seconds);

    if (told != CHILD_TOLD) {
        host_give_up(host, told, out);
    } else if (torch_answer_read(block, sizeof block, out, &why)) {
        host_give_up(host, told, out);
        snprintf(out->reason, sizeof out->reason, "%.190s", why.text);
    }
}

/* Its first answer says whether it is ready. */
static enum assay_status host_start(const struct torch_runner *runner,
                                    double seconds, struct torch_answer *out,
                                    struct error *err)
{
    const struct child_options options = {
        .what = "Python", .is_quiet = true, .leaves_interrupt = true};
    struct torch_host *host = runner->host;
    enum assay_status st = child_start(&host->child, &options, host_run,
                                       (void *)(uintptr_t)runner, err);

    if (st)
        return st;
    host_receive(host, seconds, out);
    if (out->status)
        (void)child_end(&host->child, true, NULL);
    return ASSAY_OK;
}

/* One word per line, filled up with zeros. */
static bool host_request(const char *const *words, double seconds,
                         char block[TORCH_ANSWER_BYTES])
{
    int n = snprintf(block, TORCH_ANSWER_BYTES, "--seconds\n%g\n", seconds);

    for (size_t i = 0; words[i] && n < TORCH_ANSWER_BYTES; i++)
        n += snprintf(block + n, (size_t)(TORCH_ANSWER_BYTES - n), "%s\n",
                      words[i]);
    if (n >= TORCH_ANSWER_BYTES)
        return false;
    memset(block + n, 0, (size_t)(TORCH_ANSWER_BYTES - n));
    return true;
}

enum assay_status torch_wake(struct torch_runner *runner, struct error *err)
{
    if (!runner->host)
        runner->host = mem_zalloc(sizeof *runner->host);
    return runner->host ? ASSAY_OK
                        : error_nomem(err, sizeof *runner->host, "Python");
}

enum assay_status torch_host_ask(struct torch_runner *runner,
                                 const char *const *words, double seconds,
                                 struct torch_answer *out, struct error *err)
{
    char block[TORCH_ANSWER_BYTES];
    enum child_told told;
    enum assay_status st;

    *out = (struct torch_answer){0};
    if (!host_request(words, seconds, block))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the name of a file is too long");
    st = torch_wake(runner, err);
    if (!st && !runner->host->child.pid)
        st = host_start(runner, seconds, out, err);
    if (st || out->status)
        return st;
    told =
        child_send(runner->host->child.line, block, sizeof block, patience_s);
    if (told == CHILD_TOLD)
        host_receive(runner->host, seconds > 0 ? seconds + patience_s : 0, out);
    else
        host_give_up(runner->host, told, out);
    return ASSAY_OK;
}

void torch_rest(struct torch_runner *runner)
{
    if (!runner->host)
        return;
    torch_host_forget(runner->host);
    (void)child_end(&runner->host->child, true, NULL);
    mem_free(runner->host);
    runner->host = NULL;
}
