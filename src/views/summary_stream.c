/* views/summary_stream.c - see summary_internal.h: photographs that followed
 * each other, with several passes in flight. */
#include "base/units.h"
#include "run/device_balance.h"
#include "views/summary_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double stream_reason_ms(const struct run *run, enum idle_reason reason)
{
    char key[64];

    snprintf(key, sizeof key, "stream.idle.%s_ms", idle_reason_text(reason));
    return run_fact_number(run, key);
}

/* From a hundredth of the time per pass on. */
static void stream_add_reasons(const struct run *run, double all_ms,
                               struct line *line)
{
    const char *before = "idle for: ";
    char text[160];
    size_t n = 0;

    for (enum idle_reason i = 0; i < N_IDLE_REASONS; i++) {
        double ms = stream_reason_ms(run, i);

        if (!(ms >= all_ms / 100) || n >= sizeof text)
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.2g", before,
                              idle_reason_text(i), ms);
        before = ", ";
    }
    if (n)
        line_printf(line, "%s ms per pass", text);
}

static void stream_add_device(const struct run *run, struct line *line)
{
    double busy_ms = run_fact_number(run, "stream.busy_ms");
    double idle_ms = run_fact_number(run, "stream.idle_ms");
    const char *one_by_one = run_fact(run, "stream.one_by_one");

    if (one_by_one)
        line_printf(line, "%s passes launched one by one", one_by_one);
    if (!(busy_ms + idle_ms > 0))
        return;
    line_printf(line, "device idle %.0f %%",
                100 * idle_ms / (busy_ms + idle_ms));
    line->is_single = false; /* why it waits is worth a line */
    stream_add_reasons(run, busy_ms + idle_ms, line);
}

void summary_stream(const struct summary *summary)
{
    struct line line = summary_line(summary, "stream");
    const struct run *run = summary->run;
    const char *in_flight = run_fact(run, "stream.in_flight");
    double rate = run_fact_number(run, "stream.images_per_second");
    double latency = run_fact_number(run, "stream.latency_ms");
    double p95 = run_fact_number(run, "stream.p95_ms");
    const char *compared = run_fact(run, "stream.compared");
    const char *same = run_fact(run, "stream.same");
    const char *decoders = run_fact(run, "stream.decoders");
    char number[UNITS_MAX];

    if (!in_flight || isnan(rate) || isnan(latency))
        return;
    line_printf(&line, "%s in flight", in_flight);
    line_printf(&line, "%s img/s", units_count(number, rate));
    line_printf(&line, "pass %s ms", units_ms(number, latency * 1e6));
    if (!isnan(p95))
        line_word(&line, "(p95 %s)", units_ms(number, p95 * 1e6));
    stream_add_device(run, &line);
    line.is_single = summary->is_brief;
    if (compared && same && strcmp(compared, same) != 0) {
        line.is_single = false;
        line_printf(&line, "results differ from one at a time in %.0f of %s",
                    run_fact_number(run, "stream.compared") -
                        run_fact_number(run, "stream.same"),
                    compared);
    } else if (compared) {
        line_printf(&line, "results the same as one at a time (%s of %s)", same,
                    compared);
    }
    if (decoders)
        line_printf(&line, "%s thread%s decode%s ahead", decoders,
                    strcmp(decoders, "1") == 0 ? "" : "s",
                    strcmp(decoders, "1") == 0 ? "s" : "");
    line_end(&line);
}
