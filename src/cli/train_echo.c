/* cli/train_echo.c - see train_echo.h. */
#include "cli/train_echo.h"

#include "base/units.h"
#include "views/line.h"

#include <inttypes.h>
#include <string.h>

/* A text without its quotes, if it needs none. */
static const char *echo_bare_text(const struct config_key *key,
                                  char value[CONFIG_VALUE_MAX])
{
    size_t n = strlen(value);

    if ((key->type != CONFIG_TEXT && key->type != CONFIG_CHOICE) || n < 2 ||
        strpbrk(value, " \\"))
        return value;
    value[n - 1] = '\0';
    return value + 1;
}

static const char *echo_show_value(const struct train_config *config,
                                   const struct config_key *key,
                                   char value[CONFIG_VALUE_MAX])
{
    return config_value_text(config, key, value) ? echo_bare_text(key, value)
                                                 : "auto";
}

static void echo_add_setting(struct line *line,
                             const struct train_config *config,
                             const struct train_config *defaults,
                             const struct config_key *key)
{
    char value[CONFIG_VALUE_MAX], usual[CONFIG_VALUE_MAX];
    const char *is = echo_show_value(config, key, value);
    const char *was = echo_show_value(defaults, key, usual);

    if (strcmp(is, was) == 0)
        line_printf(line, "%s %s", key->name, is);
    else
        line_printf(line, "%s %s (default %s)", key->name, is, was);
}

/* A label that fits in front of a line. */
static const char *echo_label_of(const char *section)
{
    return strcmp(section, "optimizer") == 0 ? "optim" : section;
}

void train_echo_config(const struct train_config *config,
                       const struct term *term, struct sink *sink)
{
    struct train_config defaults = train_config_defaults();
    struct line line = line_begin(sink, term, "settings");
    const struct config_key *key = config_keys;

    line_sentence(&line, config->path
                             ? config->path
                             : "the defaults: there is no " TRAIN_CONFIG_PATH);
    line_end(&line);
    while (key->section) {
        const char *section = key->section;

        line = line_begin(sink, term, echo_label_of(section));
        for (; key->section && strcmp(key->section, section) == 0; key++)
            echo_add_setting(&line, config, &defaults, key);
        line_end(&line);
    }
    train_config_release(&defaults);
}

static void echo_model(const struct train_plan *plan, const struct term *term,
                       struct sink *sink)
{
    struct line line = line_begin(sink, term, "trains");
    char all[UNITS_MAX], some[UNITS_MAX];

    line_item(&line, plan->model);
    line_printf(&line, "%s parameters, %s of them trained",
                units_count(all, (double)plan->parameters),
                units_count(some, (double)plan->trainable_parameters));
    line_printf(&line, "%" PRId64 " classes", plan->build.n_classes);
    if (plan->task == TASK_DETECTION)
        line_printf(&line, "norm %s",
                    plan->build.norm == NORM_FROZEN ? "frozen" : "batch");
    line_end(&line);
    line = line_begin(sink, term, "weights");
    line_item(&line, str_text(&plan->weights));
    if (plan->renewed.n)
        line_printf(&line, "initialised: %s", str_text(&plan->renewed));
    line_end(&line);
}

static void echo_data(const struct train_plan *plan, const struct term *term,
                      struct sink *sink)
{
    struct line line = line_begin(sink, term, "data");

    line_item(&line, str_text(&plan->dataset));
    line_printf(&line, "%" PRIu64 " images", plan->n_samples);
    line_printf(&line, "%" PRIu64 " steps per epoch", plan->epoch_steps);
    if (plan->first_step)
        line_printf(&line, "resumed after step %" PRIu64 " of %" PRIu64,
                    plan->first_step, plan->n_steps);
    else
        line_printf(&line, "%" PRIu64 " in all", plan->n_steps);
    line_end(&line);
    line = line_begin(sink, term, "threads");
    line_printf(&line, "%d to compute, %d to load", plan->n_threads,
                plan->n_workers);
    line_end(&line);
}

void train_echo_plan(const struct train_plan *plan, const struct term *term,
                     struct sink *sink)
{
    echo_model(plan, term, sink);
    echo_data(plan, term, sink);
}
