/* metrics/child.c - see child.h.
 *
 * To the child go samples: a struct sample_header, then each output as a
 * struct assay_tensor and its data, then the boxes; a header with no_more ends
 * them. From it comes one struct answer, and the values behind it where it is
 * ASSAY_OK. Both sides are the same program: structs go as they are. */
#include "metrics/child.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct sample_header {
    size_t n_outputs;                 /* no_more: nothing follows */
    struct assay_target target;       /* boxes: where they are in the parent */
    struct assay_evaluated evaluated; /* with no_more */
};

/* The end of the pipe alone does not tell: a child that was started later has
 * this one's pipe open too. */
static const size_t no_more = SIZE_MAX;

struct answer {
    enum assay_status status;
    struct assay_error error;
};

/* Waits until the file can be read or written; false where the time is over.
 */
static bool wait_for(int file, short events, double seconds)
{
    int64_t until_ns = clock_monotonic_ns() + (int64_t)(seconds * 1e9);

    for (;;) {
        int64_t left_ms = (until_ns - clock_monotonic_ns()) / 1000000;
        struct pollfd wanted = {.fd = file, .events = events};
        int n = left_ms < 0 ? 0 : poll(&wanted, 1, (int)left_ms);

        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

/* Waits at most so long for a pipe, where it does not block itself. */
static bool write_all(int file, const void *bytes, size_t n, double seconds)
{
    const char *next = bytes;

    while (n > 0) {
        ssize_t written = write(file, next, n);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN && wait_for(file, POLLOUT, seconds))
            continue;
        if (written <= 0)
            return false;
        next += written;
        n -= (size_t)written;
    }
    return true;
}

static bool read_all(int file, void *bytes, size_t n)
{
    char *next = bytes;

    while (n > 0) {
        ssize_t got = read(file, next, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- inside of the child -------------------------------------------------
 */

/* A block from the pipe; NULL where it ends early. Nothing is freed before the
 * child is gone but what a sample brought. */
static void *read_block(int file, size_t bytes)
{
    void *block = mem_alloc(bytes);

    if (block && !read_all(file, block, bytes)) {
        mem_free(block);
        block = NULL;
    }
    return block;
}

static bool read_sample(int file, const struct sample_header *header,
                        struct assay_sample *sample)
{
    struct assay_tensor *outputs =
        mem_array(header->n_outputs, sizeof *outputs);
    size_t n_boxes = header->target.n_boxes;

    *sample =
        (struct assay_sample){.outputs = outputs, .target = header->target};
    sample->target.boxes = NULL;
    if (!outputs)
        return false;
    for (; sample->n_outputs < header->n_outputs; sample->n_outputs++) {
        struct assay_tensor *output = &outputs[sample->n_outputs];

        if (!read_all(file, output, sizeof *output))
            return false;
        output->data = read_block(file, output->n_bytes);
        if (!output->data)
            return false;
    }
    if (n_boxes)
        sample->target.boxes =
            read_block(file, n_boxes * sizeof *sample->target.boxes);
    return !n_boxes || sample->target.boxes;
}

static void release_sample(const struct assay_sample *sample)
{
    for (size_t i = 0; i < sample->n_outputs; i++)
        mem_free(sample->outputs[i].data);
    mem_free((void *)(uintptr_t)sample->outputs);
    mem_free((void *)(uintptr_t)sample->target.boxes);
}

static enum assay_status
take_samples(int file, const struct assay_metric_function *function,
             struct assay_evaluated *evaluated, struct assay_error *error)
{
    struct sample_header header;
    enum assay_status st = ASSAY_OK;

    for (;;) {
        struct assay_sample sample;
        bool is_whole;

        if (st || !read_all(file, &header, sizeof header))
            return st ? st : ASSAY_IO;
        if (header.n_outputs == no_more) {
            *evaluated = header.evaluated;
            return ASSAY_OK;
        }
        is_whole = read_sample(file, &header, &sample);

        if (is_whole && function->sample)
            st = function->sample(function->context, &sample, error);
        release_sample(&sample);
        if (!is_whole)
            return ASSAY_IO;
    }
}

/* What the program does about signals is not the child's business: it dies of
 * them, and quietly. */
static void leave_signals(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                                  SIGINT,  SIGHUP, SIGTERM, SIGPIPE};
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    const struct rlimit no_core = {0};
    sigset_t none;

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CORE, &no_core);
}

_Noreturn static void serve(int from, int to,
                            const struct assay_metric_function *function,
                            const struct assay_metric_input *input)
{
    double *values = mem_array(function->n_metrics, sizeof *values);
    struct answer answer = {.status = values ? ASSAY_OK : ASSAY_NOMEM};
    struct assay_metric_input seen = *input;
    struct assay_evaluated evaluated;

    leave_signals();
    if (seen.evaluated)
        seen.evaluated = &evaluated;
    if (!answer.status && function->begin)
        answer.status =
            function->begin(function->context, &seen, &answer.error);
    if (!answer.status)
        answer.status = take_samples(from, function, &evaluated, &answer.error);
    if (!answer.status)
        answer.status =
            function->compute(function->context, &seen, values, &answer.error);
    if (write_all(to, &answer, sizeof answer, 0) && !answer.status)
        write_all(to, values, function->n_metrics * sizeof *values, 0);
    _exit(0); /* not a step further: buffers and handlers are the parent's */
}

/* ---- in the parent -------------------------------------------------------
 */

static void close_pipe(int pipe[2])
{
    close(pipe[0]);
    close(pipe[1]);
}

enum assay_status child_start(struct child *child,
                              const struct assay_metric_function *function,
                              const struct assay_metric_input *input,
                              double seconds, struct error *err)
{
    int to[2], from[2];

    *child = (struct child){.seconds = seconds};
    if (pipe(to))
        return error_errno(err, errno, "making a pipe for '%s'",
                           function->name);
    if (pipe(from)) {
        close_pipe(to);
        return error_errno(err, errno, "making a pipe for '%s'",
                           function->name);
    }
    child->pid = fork();
    if (child->pid == 0) {
        close(to[1]);
        close(from[0]);
        serve(to[0], from[1], function, input);
    }
    if (child->pid < 0) {
        close_pipe(to);
        close_pipe(from);
        child->pid = 0;
        return error_errno(err, errno, "starting a process for '%s'",
                           function->name);
    }
    close(to[0]);
    close(from[1]);
    child->to = to[1];
    child->from = from[0];
    fcntl(child->to, F_SETFL, O_NONBLOCK);
    return ASSAY_OK;
}

static bool send_sample(const struct child *child,
                        const struct assay_sample *sample)
{
    struct sample_header header = {.n_outputs = sample->n_outputs,
                                   .target = sample->target};
    int file = child->to;
    bool is_sent = write_all(file, &header, sizeof header, child->seconds);

    for (size_t i = 0; is_sent && i < sample->n_outputs; i++) {
        const struct assay_tensor *output = &sample->outputs[i];

        is_sent =
            write_all(file, output, sizeof *output, child->seconds) &&
            write_all(file, output->data, output->n_bytes, child->seconds);
    }
    return is_sent &&
           write_all(file, sample->target.boxes,
                     sample->target.n_boxes * sizeof *sample->target.boxes,
                     child->seconds);
}

static bool send_end(const struct child *child,
                     const struct assay_evaluated *evaluated)
{
    struct sample_header header = {.n_outputs = no_more};

    if (evaluated)
        header.evaluated = *evaluated;
    return write_all(child->to, &header, sizeof header, child->seconds);
}

/* A child that died must not take its parent along. sample NULL: the end. */
static void tell(struct child *child, const struct assay_sample *sample,
                 const struct assay_evaluated *evaluated)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;

    if (child->to < 0)
        return;
    sigaction(SIGPIPE, &ignore, &before);
    if (!(sample ? send_sample(child, sample) : send_end(child, evaluated))) {
        close(child->to);
        child->to = -1;
    }
    sigaction(SIGPIPE, &before, NULL);
}

void child_sample(struct child *child, const struct assay_sample *sample)
{
    tell(child, sample, NULL);
}

/* How it ended, where that was not with an answer. */
static enum assay_status explain_end(int status, const char *name,
                                     struct error *err)
{
    if (WIFSIGNALED(status))
        return error_set(err, ASSAY_BAD_INPUT, "'%s' crashed (%s)", name,
                         strsignal(WTERMSIG(status)));
    return error_set(err, ASSAY_BAD_INPUT,
                     "'%s' ended without a value (exit "
                     "code %d)",
                     name, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void hang_up(struct child *child)
{
    if (child->to >= 0)
        close(child->to);
    close(child->from);
}

static int reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* False where it ended without a whole answer. */
static bool read_answer(int file, size_t n_values, struct answer *answer,
                        double *values)
{
    if (!read_all(file, answer, sizeof *answer))
        return false;
    return answer->status || read_all(file, values, n_values * sizeof *values);
}

enum assay_status child_finish(struct child *child,
                               const struct assay_metric_function *function,
                               const struct assay_evaluated *evaluated,
                               double *values, struct error *err)
{
    double seconds = child->seconds;
    struct answer answer;
    bool is_late, is_told = false;
    int status;

    tell(child, NULL, evaluated);
    is_late = !wait_for(child->from, POLLIN, seconds);
    if (is_late)
        kill(child->pid, SIGKILL);
    else
        is_told =
            read_answer(child->from, function->n_metrics, &answer, values);
    hang_up(child);
    status = reap(child->pid);
    *child = (struct child){0};
    if (is_late)
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%s' gave no value within %g s and was stopped",
                         function->name, seconds);
    if (!is_told)
        return explain_end(status, function->name, err);
    if (!answer.status)
        return ASSAY_OK;
    answer.error.text[sizeof answer.error.text - 1] = '\0';
    return error_set(err, answer.status, "'%s': %s", function->name,
                     answer.error.text[0] ? answer.error.text
                                          : assay_status_text(answer.status));
}

void child_stop(struct child *child)
{
    if (child->pid <= 0)
        return;
    hang_up(child);
    kill(child->pid, SIGKILL);
    reap(child->pid);
    *child = (struct child){0};
}
