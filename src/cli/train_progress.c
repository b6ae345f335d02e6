/* cli/train_progress.c - see train_progress.h. */
#include "cli/train_progress.h"

#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { bar_columns = 20, least_width_for_bar = 80 };

static const int64_t redraw_ns = 100000000;  /* on a terminal */
static const int64_t lines_ns = 10000000000; /* elsewhere */

struct train_progress train_progress_start(struct sink *sink,
                                           const struct term *term,
                                           struct clock clock)
{
    int64_t now = clock_now(&clock);

    return (struct train_progress){.sink = sink,
                                   .term = *term,
                                   .clock = clock,
                                   .began_ns = now,
                                   .told_ns = INT64_MIN};
}

/* "0:31", "1:02:03" */
static const char *progress_clock_text(char text[UNITS_MAX], double ns)
{
    uint64_t seconds = (uint64_t)(ns / 1e9 + 0.5);

    if (seconds >= 3600)
        snprintf(text, UNITS_MAX, "%" PRIu64 ":%02u:%02u", seconds / 3600,
                 (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
    else
        snprintf(text, UNITS_MAX, "%u:%02u", (unsigned)(seconds / 60),
                 (unsigned)(seconds % 60));
    return text;
}

/* The first step, which chooses kernels, says nothing about the others. */
static void train_progress_add_pace(const struct train_progress *progress,
                                    const struct train_step *step, int64_t now,
                                    struct sink *line)
{
    uint64_t n = step->step - progress->first_step;
    double pace_ns = n ? (double)(now - progress->first_ns) / (double)n : 0;
    char text[UNITS_MAX];

    sink_printf(line, "  %s",
                progress_clock_text(text, (double)(now - progress->began_ns)));
    if (!(pace_ns > 0))
        return;
    if (step->step < step->n_steps)
        sink_printf(line, ", %s left",
                    progress_clock_text(
                        text, pace_ns * (double)(step->n_steps - step->step)));
    sink_printf(line, "  %s images/s",
                units_number(text, (double)progress->n_images / (double)n /
                                       pace_ns * 1e9));
}

/* "loss 1.23 = classifier 0.9 + box_reg 0.33" */
static void progress_add_losses(const struct train_step *step,
                                struct sink *line)
{
    static const char prefix[] = "loss_";
    size_t n = sizeof prefix - 1;
    char text[UNITS_MAX];

    sink_printf(line, "  loss %s", units_number(text, step->loss));
    for (size_t i = 0; step->n_parts > 1 && i < step->n_parts; i++) {
        const char *name = step->part_names[i];

        if (strncmp(name, prefix, n) == 0)
            name += n;
        sink_printf(line, " %s %s %s", i ? "+" : "=", name,
                    units_number(text, step->parts[i]));
    }
}

/* Bytes that a text has more than columns on the screen, in UTF-8. */
static size_t progress_extra(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) == 0x80;
    return n;
}

/* The place in the epoch, or in the training if it is not given in epochs. */
static void progress_add_bar(const struct train_progress *progress,
                             const struct train_step *step, struct sink *line)
{
    uint64_t n = step->n_steps, at = step->step;
    double share;

    if (step->n_epochs && step->epoch) {
        n = (step->n_steps + step->n_epochs - 1) / step->n_epochs;
        at -= (step->epoch - 1) * n;
    }
    share = n ? (double)at / (double)n : 0;
    if (progress->term.width >= least_width_for_bar) {
        sink_puts(line, "  ");
        text_bar(line, &progress->term, share, bar_columns);
    }
    sink_printf(line, "  %" PRIu64 "/%" PRIu64 "  %.0f %%", at, n,
                floor(share * 100));
}

static void progress_write_step(const struct train_progress *progress,
                                const struct train_step *step, int64_t now,
                                struct sink *line)
{
    sink_printf(line, "epoch %" PRIu64, step->epoch);
    if (step->n_epochs)
        sink_printf(line, "/%" PRIu64, step->n_epochs);
    if (progress->term.is_terminal)
        progress_add_bar(progress, step, line);
    else
        sink_printf(line, "  step %" PRIu64 "/%" PRIu64 "  %.0f %%", step->step,
                    step->n_steps,
                    floor((double)step->step / (double)step->n_steps * 100));
    train_progress_add_pace(progress, step, now, line);
    progress_add_losses(step, line);
}

/* How much of a line fits: the parts of the loss at its end are shown whole or
 * not at all. */
static size_t train_progress_fit(const char *text, size_t columns)
{
    size_t n = strlen(text);

    if (n <= columns)
        return n;
    for (size_t i = columns; i > 0; i--) {
        if (strncmp(text + i, " = ", 3) == 0 ||
            strncmp(text + i, " + ", 3) == 0)
            return i;
    }
    return columns;
}

/* One write: standard error has no buffer, and half a line would flicker. */
static void train_progress_draw(struct train_progress *progress,
                                const char *text)
{
    size_t columns = (size_t)progress->term.width - 1;
    size_t extra = progress_extra(text); /* of the bar, near the beginning */
    size_t n = train_progress_fit(text, columns + extra);

    sink_printf(progress->sink, "\r%.*s%*s", (int)n, text,
                (int)(columns + extra - n), "");
    progress->is_drawn = true;
}

void train_progress_step(struct train_progress *progress,
                         const struct train_step *step)
{
    bool is_terminal = progress->term.is_terminal;
    int64_t now = clock_now(&progress->clock);
    bool is_first = progress->told_ns == INT64_MIN;
    struct str text = {0};
    struct sink line = sink_to_str(&text);

    if (!progress->first_step) {
        progress->first_step = step->step;
        progress->first_ns = now;
    } else {
        progress->n_images += step->n_images;
    }
    if (!is_first && step->step < step->n_steps &&
        now - progress->told_ns < (is_terminal ? redraw_ns : lines_ns))
        return;
    progress->told_ns = now;
    progress_write_step(progress, step, now, &line);
    if (is_terminal)
        train_progress_draw(progress, str_text(&text));
    else
        sink_printf(progress->sink, "%s\n", str_text(&text));
    str_release(&text);
}

void train_progress_finish(struct train_progress *progress)
{
    if (!progress->is_drawn)
        return;
    sink_printf(progress->sink, "\r%*s\r", progress->term.width - 1, "");
    progress->is_drawn = false;
}
