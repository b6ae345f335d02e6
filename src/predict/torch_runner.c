/* predict/torch_runner.c - see torch_runner.h. */
#include "predict/torch_runner.h"

#include "base/child.h"
#include "base/csv_text.h"
#include "base/decimal.h"
#include "base/str.h"
#include "predict/torch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the answer ---------------------------------------------------------- */

/* 0 if it is none. */
static double answer_number(const char *text)
{
    double value = csv_is_number(text) ? decimal_double(text, strlen(text)) : 0;

    return isfinite(value) && value >= 0 ? value : 0;
}

/* Ends a text at the first of such a character; the rest of it. */
static char *answer_cut(char *text, const char *at)
{
    size_t n = strcspn(text, at);
    bool is_end = !text[n];

    text[n] = '\0';
    return text + n + !is_end;
}

static void answer_steps(struct campaign_result *result, char *text)
{
    const size_t most = sizeof result->steps_ms / sizeof *result->steps_ms;

    for (size_t i = 0; i < most && *text; i++) {
        char *next = answer_cut(text, " ");

        result->steps_ms[i] = answer_number(text);
        text = next;
    }
}

/* Lines with other keys are no mistake: a newer package may have more. */
static void answer_line(struct torch_answer *out, const char *key, char *text)
{
    struct campaign_result *result = &out->result;
    const struct {
        const char *key;
        double *value;
    } numbers[] = {
        {"latency_ms", &result->latency_ms},
        {"alloc_mb", &result->alloc_mb},
        {"reserved_mb", &result->reserved_mb},
        {"used_mb", &result->used_mb},
        {"avail_mb", &result->avail_mb},
        {"capacity_mb", &result->capacity_mb},
    };
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {
        {"reason", out->reason, sizeof out->reason},
        {"library", out->library, sizeof out->library},
        {"machine", result->machine, sizeof result->machine},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(numbers[i].key, key) == 0)
            *numbers[i].value = answer_number(text);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(texts[i].key, key) == 0)
            snprintf(texts[i].text, texts[i].size, "%s", text);
    }
    if (strcmp(key, "n_steps") == 0)
        result->n_steps = (size_t)fmin(answer_number(text), 1e6);
    else if (strcmp(key, "steps_ms") == 0)
        answer_steps(result, text);
}

static bool answer_status(const char *word, enum assay_status *out)
{
    static const struct {
        const char *word;
        enum assay_status status;
    } words[] = {{"ok", ASSAY_OK},
                 {"nomem", ASSAY_NOMEM},
                 {"failed", ASSAY_UNSUPPORTED}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, word) == 0) {
            *out = words[i].status;
            return true;
        }
    }
    return false;
}

enum assay_status torch_answer_read(const char *text, size_t n,
                                    struct torch_answer *out, struct error *err)
{
    char copy[TORCH_ANSWER_BYTES + 1], *line = copy;
    bool has_status = false;

    *out = (struct torch_answer){0};
    snprintf(copy, sizeof copy, "%.*s", (int)strnlen(text, n), text);
    while (*line) {
        char *next = answer_cut(line, "\n"), *value = answer_cut(line, " ");

        if (strcmp(line, "status") == 0)
            has_status = answer_status(value, &out->status);
        else
            answer_line(out, line, value);
        line = next;
    }
    return has_status ? ASSAY_OK
                      : error_set(err, ASSAY_BAD_INPUT,
                                  "the answer of Python is not understood");
}

/* ---- the process --------------------------------------------------------- */

enum { most_words = 24 };

void torch_send_failure(int line, enum assay_status status, const char *reason)
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
static enum assay_status torch_no_answer(const struct torch_call *call,
                                         int status, struct error *err)
{
    if (WIFSIGNALED(status))
        return error_set(err, ASSAY_IO, "%.80s was killed by signal %d",
                         call->runner->python, WTERMSIG(status));
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%.60s cannot run the package assay; "
                     "PYTHONPATH=%.100s %.60s -m %s --check says why",
                     call->runner->python, call->runner->package,
                     call->runner->python, "assay.torch_test");
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
        return torch_no_answer(call, status, err);
    st = torch_answer_read(block, sizeof block, out, err);
    return !st && out->status ? error_set(err, out->status, "%s", out->reason)
                              : st;
}

enum assay_status torch_check(const struct torch_runner *runner,
                              const char *device, struct torch_answer *out,
                              struct error *err)
{
    const char *const words[] = {"--check", "--device", device, NULL};
    const struct torch_call call = {runner, "assay.torch_test", words};

    return torch_ask(&call, out, err);
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
