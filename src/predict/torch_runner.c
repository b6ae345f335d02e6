/* predict/torch_runner.c - see torch_runner.h. */
#include "predict/torch_runner.h"

#include "base/str.h"
#include "predict/torch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the process --------------------------------------------------------- */

enum { most_words = 24 };

static void torch_send_failure(int line, enum assay_status status,
                               const char *reason)
{
    char block[TORCH_ANSWER_BYTES] = {0};

    snprintf(block, sizeof block, "status %s\nreason %s\n",
             status == ASSAY_NOMEM ? "nomem" : "failed", reason);
    child_send(line, block, sizeof block, 0);
}

/* Where Python finds the package, before anything that the user has set. */
static bool torch_set_path(const char *package)
{
    const char *old = getenv("PYTHONPATH");
    struct str path = {0};
    bool is_set = !str_append(&path, package) &&
                  (!old || !*old || !str_printf(&path, ":%s", old)) &&
                  setenv("PYTHONPATH", path.text, 1) == 0;

    str_release(&path);
    return is_set;
}

void torch_become(const struct torch_call *call, int line)
{
    const char *words[most_words + 8] = {call->runner->python, "-m",
                                         call->module, "--line"};
    char number[16], reason[200];
    size_t n = 4;

    snprintf(number, sizeof number, "%d", line);
    words[n++] = number;
    for (size_t i = 0; call->words[i] && i < most_words; i++)
        words[n++] = call->words[i];
    if (!torch_set_path(call->runner->package) ||
        fcntl(line, F_SETFD, 0) != 0) {
        torch_send_failure(line, ASSAY_NOMEM, "out of memory");
        return;
    }
    execvp(words[0], (char *const *)words);
    snprintf(reason, sizeof reason,
             "cannot start %.100s (%s); --python names the interpreter that "
             "has PyTorch",
             words[0], strerror(errno));
    torch_send_failure(line, ASSAY_UNSUPPORTED, reason);
}

static void torch_run_call(void *context, int line)
{
    torch_become(context, line);
}

/* Python started, and ended before it could answer. */
static enum assay_status torch_no_answer(const struct torch_runner *runner,
                                         int status, struct error *err)
{
    if (WIFSIGNALED(status))
        return error_set(err, ASSAY_IO, "%.80s was killed by signal %d",
                         runner->python, WTERMSIG(status));
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%.60s cannot run the package assay; "
                     "PYTHONPATH=%.100s %.60s -m %s --check says why",
                     runner->python, runner->package, runner->python,
                     "assay.torch_test");
}

/* Runs a module to its end. A failure that it reports is a failure here. */
static enum assay_status torch_ask(const struct torch_call *call,
                                   struct torch_answer *out, struct error *err)
{
    const struct child_options options = {.what = "Python", .is_quiet = true};
    char block[TORCH_ANSWER_BYTES];
    struct child child;
    enum child_told told;
    enum assay_status st = child_start(&child, &options, torch_run_call,
                                       (void *)(uintptr_t)call, err);
    int status;

    if (st)
        return st;
    told = child_receive(child.line, block, sizeof block, 0);
    status = child_end(&child, told != CHILD_TOLD, NULL);
    if (told != CHILD_TOLD)
        return torch_no_answer(call->runner, status, err);
    st = torch_answer_read(block, sizeof block, out, err);
    return !st && out->status ? error_set(err, out->status, "%s", out->reason)
                              : st;
}

enum assay_status torch_check(struct torch_runner *runner, const char *device,
                              struct torch_answer *out, struct error *err)
{
    const char *const words[] = {"--check", "--device", device, NULL};
    enum assay_status st = torch_host_ask(runner, words, 0, out, err);

    if (st)
        return st;
    if (out->told != CHILD_TOLD)
        return torch_no_answer(runner, out->wait_status, err);
    return out->status ? error_set(err, out->status, "%s", out->reason)
                       : ASSAY_OK;
}

/* ---- networks given as Python -------------------------------------------- */

/* FILE.py:NAME, with a name as Python has them. */
bool torch_is_source(const char *name)
{
    const char *colon = strrchr(name, ':');

    return colon && colon - name > 3 && strncmp(colon - 3, ".py", 3) == 0 &&
           colon[1] && !strpbrk(colon + 1, "/. ");
}

enum assay_status torch_export(const struct torch_runner *runner,
                               const char *source, int64_t side,
                               const char *path, struct error *err)
{
    char number[24];
    const char *const words[] = {"--source", source, "--side", number,
                                 "--output", path,   NULL};
    const struct torch_call call = {runner, "assay.net_export", words};
    struct torch_answer answer;

    snprintf(number, sizeof number, "%lld", (long long)side);
    return torch_ask(&call, &answer, err);
}
