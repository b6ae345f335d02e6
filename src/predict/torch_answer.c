/* predict/torch_answer.c - what Python answers, see torch_runner.h. */
#include "predict/torch_runner.h"

#include "base/csv_text.h"
#include "base/decimal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
        {"multiprocessors", &result->multiprocessors},
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
    else if (strcmp(key, "has_both") == 0)
        result->has_both = answer_number(text) > 0;
    else if (strcmp(key, "is_steady") == 0)
        result->is_steady = answer_number(text) > 0;
    else if (strcmp(key, "signal") == 0) /* as waitpid() has them */
        out->wait_status = (int)answer_number(text) & 0x7f;
    else if (strcmp(key, "code") == 0)
        out->wait_status = ((int)answer_number(text) & 0xff) << 8;
    else if (strcmp(key, "steps_ms") == 0)
        answer_steps(result, text);
}

static bool answer_status(const char *word, struct torch_answer *out)
{
    static const struct {
        const char *word;
        enum assay_status status;
        enum child_told told;
    } words[] = {{"ok", ASSAY_OK, CHILD_TOLD},
                 {"nomem", ASSAY_NOMEM, CHILD_TOLD},
                 {"failed", ASSAY_UNSUPPORTED, CHILD_TOLD},
                 {"late", ASSAY_IO, CHILD_LATE},
                 {"ended", ASSAY_IO, CHILD_GONE}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, word) == 0) {
            out->status = words[i].status;
            out->told = words[i].told;
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
            has_status = answer_status(value, out);
        else
            answer_line(out, line, value);
        line = next;
    }
    return has_status
               ? ASSAY_OK
               : error_set(err, ASSAY_BAD_INPUT,
                           "cannot read Python's answer; the package "
                           "assay and this program must be of one version");
}
