/* predict/campaign_try.c - see campaign.h: a test in a process of its own. */
#include "predict/campaign.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/processor.h"
#include "base/scanner.h"
#include "base/units.h"
#include "predict/campaign_internal.h"
#include "predict/torch_runner.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* What the child sends back. */
struct test_answer {
    enum assay_status status;
    struct campaign_result result;
    struct error error;
};

/* From /proc/meminfo, in MB; 0: unknown. */
struct machine_memory {
    double total, available, free;
};

static struct machine_memory machine_memory(void)
{
    struct machine_memory memory = {0};
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    uint64_t kb;

    while (file && fgets(line, sizeof line, file)) {
        if (scan_field(line, "MemTotal", &kb))
            memory.total = (double)kb / 1024;
        else if (scan_field(line, "MemAvailable", &kb))
            memory.available = (double)kb / 1024;
        else if (scan_field(line, "MemFree", &kb))
            memory.free = (double)kb / 1024;
    }
    if (file)
        fclose(file);
    return memory;
}

/* Channels that this processor's kernels compute together: the number of
 * float32 in a vector. */
static double processor_lane(void)
{
    switch (processor_level()) {
    case PROCESSOR_PLAIN:
        return 0;
    case PROCESSOR_SSE41:
    case PROCESSOR_AVX2:
        return 8; /* oneDNN blocks channels by 8 with either */
    case PROCESSOR_AVX512:
    case PROCESSOR_AMX:
        return 16;
    }
    return 0;
}

/* What the child starts with. */
struct test_attempt {
    const struct campaign_test *test;
    const struct campaign_limits *limits;
};

static bool is_host(const char *device)
{
    return !device || !*device || strcmp(device, device_cpu()->name) == 0;
}

static void run_attempt(void *context, int line)
{
    const struct test_attempt *attempt = context;
    campaign_measure *measure = attempt->limits->measure
                                    ? attempt->limits->measure
                                    : campaign_measure_here;
    struct test_answer answer = {0};

    answer.status =
        measure(attempt->test, attempt->limits, &answer.result, &answer.error);
    child_send(line, &answer, sizeof answer, 0);
}

static const char nomem_words[] = "out of memory";

bool campaign_is_nomem(const struct campaign_result *result)
{
    return !result->is_passed &&
           strncmp(result->reason, nomem_words, strlen(nomem_words)) == 0;
}

void campaign_explain_end(struct campaign_result *result, enum child_told told,
                          int status, double seconds, size_t memory_bytes)
{
    char limit[UNITS_MAX];

    if (told == CHILD_LATE)
        snprintf(result->reason, sizeof result->reason, "no answer within %g s",
                 seconds);
    else if (WIFSIGNALED(status))
        snprintf(result->reason, sizeof result->reason,
                 "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(result->reason, sizeof result->reason,
                 "ended with code %d at a limit of %s", WEXITSTATUS(status),
                 units_bytes(limit, (double)memory_bytes));
}

/* What follows "out of memory: " in a message, or else all of it. */
static const char *without_nomem_words(const char *message)
{
    const char *at = strstr(message, nomem_words);

    return at && at[strlen(nomem_words)] == ':' ? at + strlen(nomem_words) + 2
                                                : message;
}

void campaign_explain_nomem(struct campaign_result *result,
                            const struct campaign_limits *limits,
                            size_t memory_bytes, const char *message)
{
    char limit[UNITS_MAX];

    if (is_host(limits->device))
        snprintf(result->reason, sizeof result->reason, "%s at a limit of %s",
                 nomem_words, units_bytes(limit, (double)memory_bytes));
    else
        snprintf(result->reason, sizeof result->reason, "%s on %.20s: %.120s",
                 nomem_words, limits->device, without_nomem_words(message));
}

static size_t choose_limit(const struct campaign_limits *limits,
                           const struct machine_memory *memory)
{
    if (limits->memory_bytes)
        return limits->memory_bytes;
    return memory->available > 0
               ? (size_t)(memory->available * 0.9 * 1024 * 1024)
               : SIZE_MAX / 2;
}

static void finish_attempt(struct child *child,
                           const struct campaign_limits *limits,
                           size_t memory_bytes, struct campaign_result *result)
{
    struct test_answer answer = {0};
    enum child_told told =
        child_receive(child->line, &answer, sizeof answer, limits->seconds);
    bool is_done = told == CHILD_TOLD && !answer.status;
    int status = child_end(child, !is_done, NULL);

    if (is_done) {
        *result = answer.result;
        result->is_passed = true;
    } else if (told != CHILD_TOLD) {
        campaign_explain_end(result, told, status, limits->seconds,
                             memory_bytes);
    } else if (answer.status == ASSAY_NOMEM) {
        campaign_explain_nomem(result, limits, memory_bytes, answer.error.text);
    } else {
        snprintf(result->reason, sizeof result->reason, "%.150s",
                 answer.error.text);
    }
}

/* ---- what it ran on ------------------------------------------------------ */

static void name_processor(char name[96])
{
    name[0] = '\0';
    (void)processor_name("", name, 96);
}

/* What is asked for, and the answer. */
struct device_question {
    const char *name;
    enum assay_status status;
    struct campaign_place place;
    struct error error;
};

static void answer_question(void *context, int line)
{
    struct device_question *question = context;
    struct device_look look = device_look_unknown();
    const struct device *device = NULL;

    question->status = device_find(question->name, &device, &question->error);
    if (!question->status) {
        if (device->backend->look)
            device->backend->look(device, &look);
        snprintf(question->place.device, sizeof question->place.device, "%s",
                 device->name);
        snprintf(question->place.machine, sizeof question->place.machine, "%s",
                 look.model[0] ? look.model : device->name);
        question->place.multiprocessors = look.n_units;
    }
    child_send(line, question, sizeof *question, 0);
}

static enum assay_status
ask_device(const char *device, struct campaign_place *out, struct error *err)
{
    const struct child_options options = {.what = "a look at the devices"};
    struct device_question question = {.name = device};
    struct child child;
    enum child_told told;
    enum assay_status st =
        child_start(&child, &options, answer_question, &question, err);

    if (st)
        return st;
    told = child_receive(child.line, &question, sizeof question, 0);
    (void)child_end(&child, told != CHILD_TOLD, NULL);
    if (told != CHILD_TOLD)
        return error_set(err, ASSAY_IO, "looking at device %s failed", device);
    if (question.status && err)
        *err = question.error;
    if (!question.status && !is_host(question.place.device))
        *out = question.place;
    return question.status;
}

enum assay_status campaign_find(const char *device, struct campaign_place *out,
                                struct error *err)
{
    *out = (struct campaign_place){0};
    name_processor(out->machine);
    return is_host(device) ? ASSAY_OK : ask_device(device, out, err);
}

enum assay_status campaign_find_torch(struct torch_runner *torch,
                                      const char *device,
                                      struct campaign_place *out,
                                      struct error *err)
{
    const char *name = is_host(device)               ? "cpu"
                       : strcmp(device, "cuda") == 0 ? "cuda:0"
                                                     : device;
    struct torch_answer answer;
    enum assay_status st = torch_check(torch, name, &answer, err);

    *out = (struct campaign_place){0};
    if (st)
        return st;
    memcpy(out->machine, answer.result.machine, sizeof out->machine);
    memcpy(out->library, answer.library, sizeof out->library);
    out->multiprocessors = answer.result.multiprocessors;
    if (!is_host(device))
        snprintf(out->device, sizeof out->device, "%s", name);
    if (!out->machine[0])
        name_processor(out->machine);
    return ASSAY_OK;
}

/* Letters and digits, in lower case. */
static void keep_plain(const char *text, char *out, size_t size)
{
    size_t n = 0;

    for (; *text && n + 1 < size; text++) {
        char c = *text;

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            out[n++] = c;
    }
    out[n] = '\0';
}

bool machine_is_called(const char *machine, const char *label)
{
    char whole[128], part[128];

    keep_plain(machine, whole, sizeof whole);
    keep_plain(label, part, sizeof part);
    return strstr(whole, part) != NULL;
}

/* ---- a test -------------------------------------------------------------- */

static enum assay_status
try_here(const struct campaign_test *test, const struct campaign_limits *limits,
         size_t memory_bytes, struct campaign_result *result, struct error *err)
{
    /* The campaign handles an interrupt, after the test has ended. */
    const struct child_options options = {
        .what = "a test",
        .is_quiet = true,
        .is_expendable = true,
        .leaves_interrupt = true,
        .data_bytes = memory_bytes + (size_t)(campaign_own_mb() * 0x1p20)};
    struct test_attempt attempt = {test, limits};
    struct child child;
    enum assay_status st =
        child_start(&child, &options, run_attempt, &attempt, err);

    if (!st)
        finish_attempt(&child, limits, memory_bytes, result);
    return st;
}

enum assay_status campaign_try(const struct campaign_test *test,
                               const struct campaign_limits *limits,
                               struct campaign_result *result,
                               struct error *err)
{
    bool is_torch = test->framework == FRAMEWORK_TORCH;
    struct machine_memory memory = machine_memory();
    size_t limit = choose_limit(limits, &memory);
    int64_t began_ns = clock_monotonic_ns();
    enum assay_status st;

    *result = (struct campaign_result){0};
    st = is_torch ? torch_try(test, limits, limit, result, err)
                  : try_here(test, limits, limit, result, err);
    if (st)
        return st;
    result->seconds = (double)(clock_monotonic_ns() - began_ns) / 1e9;
    result->lane = is_host(limits->device) && !is_torch ? processor_lane() : 0;
    if (limits->machine)
        snprintf(result->machine, sizeof result->machine, "%s",
                 limits->machine);
    else if (is_host(limits->device))
        name_processor(result->machine);
    else
        snprintf(result->machine, sizeof result->machine, "%s", limits->device);
    result->multiprocessors = limits->multiprocessors;
    if (!is_host(limits->device))
        return ASSAY_OK; /* the test knows its device's memory */
    result->avail_mb = memory.available;
    result->free_mb = memory.free;
    result->capacity_mb = limits->memory_bytes
                              ? (double)limits->memory_bytes / 1024 / 1024
                              : memory.total;
    return ASSAY_OK;
}
