/* cli/commands.c - the table of commands, see command.h. */
#include "cli/command.h"

#include "cli/messages.h"
#include "views/model_title.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct command *const commands[] = {
    &cmd_run,
    &cmd_train,
    &cmd_fit,
    &cmd_layers,
    &cmd_metrics,
    &cmd_eval,
    &cmd_fingerprint,
    &cmd_predict,
    &cmd_prune,
    &cmd_export,
    &cmd_campaign,
    &cmd_weights,
    &cmd_data,
    &cmd_machine,
    &cmd_verify,
    &cmd_ops,
    &cmd_record,
    &cmd_show,
    &cmd_report,
    &cmd_serve,
    &cmd_trace,
    &cmd_plot,
    &cmd_tensorboard,
    &cmd_compare,
    &cmd_tax,
    &cmd_import,
    &cmd_help,
    &cmd_version,
    &cmd_completion,
    &cmd_man,
    NULL,
};
/* clang-format on */

const struct option no_options[] = {{.kind = OPTION_END}};

const struct exit_code exit_codes[] = {
    {0, "success"},
    {1, "a budget or a comparison failed"},
    {2, "wrong usage: an unknown option or argument"},
    {3, "a file that cannot be read, used or written"},
    {4, "out of memory"},
    {5, "too noisy to decide"},
    {0, NULL},
};

enum assay_status command_find(const char *name, const struct command **out,
                               struct error *err)
{
    struct nearest nearest = nearest_to(name);

    *out = NULL;
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            *out = commands[i];
            return ASSAY_OK;
        }
        nearest_offer(&nearest, commands[i]->name);
    }
    if (access(name, F_OK) == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is a file, not a command; did you mean 'assay "
                         "%s %s'?",
                         name, model_file_title(name) ? "run" : "show", name);
    if (strcmp(name, "models") == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no command 'models'; 'assay help run' lists "
                         "the built-in models");
    return message_unknown("unknown command", &nearest,
                           "'assay help' lists them", err);
}

/* ---- actions ------------------------------------------------------------ */

static size_t actions_left(const struct action *actions, unsigned bits)
{
    size_t n = 0;

    for (size_t i = 0; actions[i].name; i++)
        n += bits >> i & 1;
    return n;
}

/* "'fit'", "'show', 'list' or 'fetch'": the actions of a set of bits. */
static const char *actions_list(const struct action *actions, unsigned bits,
                                const char *conjunction, char out[128])
{
    const char *before = "";
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; actions[i].name; i++) {
        if (!(bits >> i & 1))
            continue;
        bits &= ~(1U << i);
        n += (size_t)snprintf(out + n, 128 - n, "%s'%s'", before,
                              actions[i].name);
        before = actions_left(actions, bits) > 1 ? ", " : conjunction;
    }
    return out;
}

static enum assay_status action_find(const struct action *actions,
                                     const char *word, size_t *found,
                                     struct error *err)
{
    struct nearest nearest = nearest_to(word);
    char text[128], hint[160];

    for (size_t i = 0; actions[i].name; i++) {
        if (strcmp(actions[i].name, word) == 0) {
            *found = i;
            return ASSAY_OK;
        }
        nearest_offer(&nearest, actions[i].name);
    }
    snprintf(hint, sizeof hint, "use %s",
             actions_list(actions, ~0U, " or ", text));
    return message_unknown("unknown action", &nearest, hint, err);
}

static enum assay_status action_check_options(const struct command *command,
                                              size_t action, uint64_t given,
                                              struct error *err)
{
    const struct option *options = command->options;
    char text[128];

    for (size_t i = 0; options[i].kind; i++) {
        if (!(given >> i & 1) || !options[i].actions ||
            options[i].actions >> action & 1)
            continue;
        return error_set(
            err, ASSAY_BAD_USAGE, "--%s is for %s, not for '%s'",
            options[i].name,
            actions_list(command->actions, options[i].actions, " and ", text),
            command->actions[action].name);
    }
    return ASSAY_OK;
}

enum assay_status command_act(const struct command *command,
                              const struct arguments *arguments,
                              struct error *err)
{
    const struct words *words = &arguments->operands;
    const struct action *action;
    char text[128];
    size_t found = 0;
    enum assay_status st;

    if (!words->n)
        return error_set(err, ASSAY_BAD_USAGE, "missing an action: %s",
                         actions_list(command->actions, ~0U, " or ", text));
    st = action_find(command->actions, words->items[0], &found, err);
    if (!st)
        st = action_check_options(command, found, arguments->given, err);
    if (st)
        return st;
    action = &command->actions[found];
    if (words->n - 1 > action->n_words)
        return message_unexpected(words->items[action->n_words + 1], err);
    if (words->n - 1 < action->n_words)
        return error_set(err, ASSAY_BAD_USAGE, "'%s' needs %s", action->name,
                         action->needs);
    return action->run(words->items + 1, arguments->settings, err);
}
