/* serve/list_trend.c - the trend of a model in the list of runs. */
#include "serve/list_internal.h"

#include "base/units.h"
#include "views/report.h"

#include <math.h>
#include <string.h>

enum {
    TREND_W = 560,
    TREND_H = 170,
    TREND_LEFT = 64,
    TREND_TOP = 26,
    TREND_BOTTOM = 146,
    TREND_RIM = 12, /* between the axis and the first point */
    DATE = 10,      /* letters: 2026-11-17 */
    TIME = 8        /* 17:07:25 */
};

/* One figure of some runs. Every scale begins at 0. */
struct list_chart {
    const char *label;
    const struct folder_entry *runs;
    size_t n, offset; /* of the figure in a struct trend_point */
    const char *(*write)(char *, double);
    bool is_judged, is_bytes; /* the gate is about time */
    double step, most;        /* of the scale */
};

void list_write_mark(struct sink *sink, const struct trend_verdict *verdict,
                     double x, double y)
{
    if (verdict->is_judged && verdict->gate == GATE_FAILED)
        sink_printf(sink,
                    "<path class=\"failed\" d=\"M%.1f %.1fl6 10.5h-12z\"/>", x,
                    y - 6.5);
    else
        sink_printf(sink,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>",
                    !verdict->is_judged           ? "start"
                    : verdict->gate == GATE_NOISY ? "open"
                                                  : "passed",
                    x, y);
}

static double chart_value(const struct list_chart *chart, size_t i)
{
    double value;

    memcpy(&value, (const char *)&chart->runs[i].point + chart->offset,
           sizeof value);
    return value;
}

/* Two to four round steps up to the largest value. False: none is known. */
static bool chart_scale(struct list_chart *chart)
{
    static const double round[] = {1, 2, 5, 10};
    double most = 0, unit = 1, power;
    size_t k = 0;

    for (size_t i = 0; i < chart->n; i++)
        most = fmax(most, chart_value(chart, i));
    if (!(most > 0) || !isfinite(most))
        return false;
    while (chart->is_bytes && most / unit >= 1024)
        unit *= 1024;
    power = pow(10, floor(log10(most / unit / 3)));
    while (round[k] * power * unit * 4 < most)
        k++;
    chart->step = round[k] * power * unit;
    chart->most = ceil(most / chart->step - 1e-9) * chart->step;
    return true;
}

static double chart_x(const struct list_chart *chart, size_t i)
{
    return TREND_LEFT + TREND_RIM +
           (double)i * (TREND_W - TREND_LEFT - 2 * TREND_RIM) /
               (double)(chart->n > 1 ? chart->n - 1 : 1);
}

static double chart_y(const struct list_chart *chart, double value)
{
    return TREND_BOTTOM - value / chart->most * (TREND_BOTTOM - TREND_TOP);
}

/* The day; the time of the day if all runs are of one day. */
static void chart_write_when(struct sink *sink, const struct list_chart *chart,
                             size_t i, const char *anchor)
{
    const char *first = chart->runs[0].point.started;
    const char *last = chart->runs[chart->n - 1].point.started;
    const struct trend_point *point = &chart->runs[i].point;
    bool is_one_day = strlen(first) > DATE && strncmp(first, last, DATE) == 0;
    const char *when = point->started;
    char text[DATE + 1];

    if (is_one_day && strlen(when) > DATE)
        when += DATE + 1; /* after the T */
    snprintf(text, sizeof text, "%.*s",
             when == point->started || *point->commit ? DATE : TIME,
             *point->commit ? point->commit
             : *when        ? when
                            : chart->runs[i].name);
    sink_printf(sink, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">",
                chart_x(chart, i), TREND_BOTTOM + 17, anchor);
    html_escape(sink, text);
    sink_puts(sink, "</text>");
}

/* Of a round number: "50 ms" instead of "50.0 ms". */
static void chart_trim(char text[UNITS_MAX])
{
    char *point = strchr(text, '.'), *unit = strchr(text, ' ');

    if (point && unit && strspn(point + 1, "0") == (size_t)(unit - point - 1))
        memmove(point, unit, strlen(unit) + 1);
}

static void chart_write_axes(struct sink *sink, const struct list_chart *chart)
{
    char text[UNITS_MAX];

    for (int i = 0; i * chart->step <= chart->most * (1 + 1e-9); i++) {
        double y = chart_y(chart, i * chart->step);

        chart->write(text, i * chart->step);
        chart_trim(text);
        sink_printf(sink,
                    "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                    TREND_LEFT, TREND_W, y, y, TREND_LEFT - 6, y + 4,
                    i ? text : "0");
    }
    chart_write_when(sink, chart, 0, "start");
    chart_write_when(sink, chart, chart->n - 1, "end");
}

static void chart_write_way(struct sink *sink, const struct list_chart *chart)
{
    const char *before = "M";

    sink_puts(sink, "<path class=\"way\" d=\"");
    for (size_t i = 0; i < chart->n; i++) {
        double value = chart_value(chart, i);

        if (isnan(value))
            continue;
        sink_printf(sink, "%s%.1f %.1f", before, chart_x(chart, i),
                    chart_y(chart, value));
        before = "L";
    }
    sink_puts(sink, "\"/>");
}

/* A mark leads to its run; its title has the figure and the verdict. */
static void chart_write_point(struct sink *sink, const struct list_chart *chart,
                              size_t i)
{
    const struct folder_entry *run = &chart->runs[i];
    static const struct trend_verdict none = {0};
    const struct trend_verdict *verdict =
        chart->is_judged ? &run->point.verdict : &none;
    double value = chart_value(chart, i);
    char text[UNITS_MAX];

    if (isnan(value))
        return;
    sink_puts(sink, "<a href=\"/run?name=");
    list_write_address(sink, run->name);
    sink_puts(sink, "\"><title>");
    html_escape(sink, run->name);
    sink_printf(sink, ": %s", chart->write(text, value));
    if (verdict->is_judged) {
        sink_puts(sink, "; gate ");
        html_escape(sink, verdict->text);
    }
    sink_puts(sink, "</title>");
    list_write_mark(sink, verdict, chart_x(chart, i), chart_y(chart, value));
    sink_puts(sink, "</a>");
}

static void chart_write(struct sink *sink, struct list_chart chart)
{
    if (!chart_scale(&chart))
        return;
    sink_printf(sink,
                "<svg class=\"trend\" viewBox=\"0 0 %d %d\" role=\"group\" "
                "aria-label=\"%s of the runs in order\">"
                "<text x=\"0\" y=\"11\">%s</text>",
                TREND_W, TREND_H, chart.label, chart.label);
    chart_write_axes(sink, &chart);
    chart_write_way(sink, &chart);
    for (size_t i = 0; i < chart.n; i++)
        chart_write_point(sink, &chart, i);
    sink_puts(sink, "</svg>\n");
}

static void trend_write_legend(struct sink *sink)
{
    static const struct {
        struct trend_verdict verdict;
        const char *text;
    } items[] = {{{.is_judged = true, .gate = GATE_PASSED}, "passed"},
                 {{.is_judged = true, .gate = GATE_FAILED}, "failed"},
                 {{.is_judged = true, .gate = GATE_NOISY}, "undecided"},
                 {{.is_judged = false}, "not judged"}};

    sink_puts(sink, "<ul class=\"legend soft\">");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        sink_puts(sink, "<li><svg class=\"sign\" viewBox=\"-7 -7 14 14\" "
                        "aria-hidden=\"true\">");
        list_write_mark(sink, &items[i].verdict, 0, 0);
        sink_printf(sink, "</svg>%s</li>", items[i].text);
    }
    sink_puts(sink, "</ul>\n");
}

void list_write_trend(struct sink *sink, const struct folder_entry *runs,
                      size_t n)
{
    while (n && runs[n - 1].kind != ENTRY_RUN)
        n--;
    if (n < 2)
        return;
    trend_write_legend(sink);
    sink_puts(sink, "<div class=\"trends\">\n");
    chart_write(sink, (struct list_chart){
                          .label = "mean latency",
                          .runs = runs,
                          .n = n,
                          .offset = offsetof(struct trend_point, mean_ns),
                          .write = units_time,
                          .is_judged = true,
                      });
    chart_write(sink, (struct list_chart){
                          .label = "memory peak",
                          .runs = runs,
                          .n = n,
                          .offset = offsetof(struct trend_point, peak_bytes),
                          .write = units_bytes,
                          .is_bytes = true,
                      });
    sink_puts(sink, "</div>\n");
}
