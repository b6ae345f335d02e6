/* base/progress.c - see progress.h. */
#include "base/progress.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

enum { REDRAW_NS = 100000000, BAR_COLUMNS = 15 };

struct progress progress_start(struct sink *sink, const struct term *term,
                               struct clock clock, const char *what,
                               const char *unit, uint64_t total)
{
    int64_t now = clock_now(&clock);

    /* The first line comes one redraw time later: short jobs stay silent. */
    return (struct progress){.sink = sink,
                             .term = *term,
                             .clock = clock,
                             .what = what,
                             .unit = unit,
                             .total = total,
                             .began_ns = now,
                             .drawn_ns = now};
}

static bool is_bytes(const struct progress *progress)
{
    return strcmp(progress->unit, "bytes") == 0;
}

/* "310 MB", "1.2 k": an amount of the unit, without the noun. */
static const char *amount(const struct progress *progress,
                          char buffer[UNITS_MAX], double value)
{
    if (is_bytes(progress))
        return units_file_size(buffer, value);
    return units_count(buffer, nearbyint(value));
}

/* "  1.1 of 2.0 GB", or "  1.1 GB" if the total is unknown. */
static void add_amounts(const struct progress *progress, struct sink *line,
                        uint64_t done)
{
    char has[UNITS_MAX], total[UNITS_MAX];

    amount(progress, has, (double)done);
    if (progress->total) {
        char *unit = strchr(has, ' ');
        const char *same;

        amount(progress, total, (double)progress->total);
        same = strchr(total, ' ');
        if (unit && same && strcmp(unit, same) == 0)
            *unit = '\0'; /* said once, after the total */
        sink_printf(line, "  %s of %s", has, total);
    } else {
        sink_printf(line, "  %s", has);
    }
    if (!is_bytes(progress))
        sink_printf(line, " %s", progress->unit);
}

static void progress_add_pace(const struct progress *progress,
                              struct sink *line, uint64_t done,
                              double elapsed_ns)
{
    char text[UNITS_MAX];
    double per_ns = (double)done / elapsed_ns;

    if (done == 0)
        return;
    sink_printf(line, "  %s/s", amount(progress, text, per_ns * 1e9));
    if (progress->total) {
        double seconds = ceil((double)(progress->total - done) / per_ns / 1e9);

        /* Whole seconds: anything finer would only flicker. */
        if (seconds < 60)
            sink_printf(line, "  %.0f s left", seconds);
        else
            sink_printf(line, "  %s left", units_time(text, seconds * 1e9));
    }
}

static void progress_draw(struct progress *progress, uint64_t done,
                          double elapsed_ns)
{
    const struct term *term = &progress->term;
    size_t columns = (size_t)term->width - 1; /* the last one would wrap */
    struct str text = {0}, fitted = {0};
    struct sink line = sink_to_str(&text), whole = sink_to_str(&fitted);

    sink_puts(&line, progress->what);
    if (progress->total) {
        double share = (double)done / (double)progress->total;

        sink_puts(&line, " ");
        text_bar(&line, term, share, BAR_COLUMNS);
        sink_printf(&line, " %3.0f %%", floor(share * 100));
    }
    add_amounts(progress, &line, done);
    progress_add_pace(progress, &line, done, elapsed_ns);
    /* Written at once: stderr is unbuffered, and half a line flickers. */
    sink_puts(&whole, "\r");
    text_fit(&whole, term, str_text(&text), columns, ALIGN_LEFT);
    sink_puts(progress->sink, str_text(&fitted));
    str_release(&text);
    str_release(&fitted);
    progress->is_drawn = true;
}

void progress_update(struct progress *progress, uint64_t done)
{
    int64_t now;

    if (!progress->term.is_terminal)
        return;
    now = clock_now(&progress->clock);
    if (now - progress->drawn_ns < REDRAW_NS)
        return;
    if (progress->total && done > progress->total)
        done = progress->total;
    progress->drawn_ns = now;
    progress_draw(progress, done, (double)(now - progress->began_ns));
}

void progress_finish(struct progress *progress)
{
    if (!progress->is_drawn)
        return;
    sink_printf(progress->sink, "\r%*s\r", progress->term.width - 1, "");
    progress->is_drawn = false;
}
