/* cli/main.c - the program: finds the command, reads its options, runs it. */
#include "base/file_guard.h"
#include "base/mem.h"
#include "base/processor.h"
#include "cli/file_roles.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/worker_lanes.h"

#include <signal.h>
#include <string.h>

static enum assay_status main_check_operands(const struct command *command,
                                             const struct words *operands,
                                             struct error *err)
{
    const struct operand_rule *rule = &command->operands;

    if (operands->n > rule->max)
        return error_set(err, ASSAY_BAD_USAGE,
                         "unexpected argument '%s'; usage: assay %s",
                         operands->items[rule->max], command->usage[0]);
    if (operands->n < rule->min)
        return error_set(err, ASSAY_BAD_USAGE, "missing %s; usage: assay %s",
                         rule->missing, command->usage[0]);
    return ASSAY_OK;
}

static enum assay_status main_run_arguments(const struct command *command,
                                            const struct arguments *arguments,
                                            struct error *err)
{
    enum assay_status st =
        command->actions
            ? ASSAY_OK
            : main_check_operands(command, &arguments->operands, err);

    if (!st)
        st = file_roles_check_line(command->options, arguments, err);
    if (st)
        return st;
    return command->run ? command->run(arguments, err)
                        : command_act(command, arguments, err);
}

static enum assay_status main_run_command(const struct command *command,
                                          const char *const *words,
                                          size_t n_words, struct error *err)
{
    struct arguments arguments = {0};
    void *settings = mem_zalloc(command->settings_bytes);
    enum assay_status st;

    if (!settings)
        return error_nomem(err, command->settings_bytes, "the settings");
    if (command->defaults)
        memcpy(settings, command->defaults, command->settings_bytes);
    arguments.settings = settings;
    st = options_parse(command->options, words, n_words, &arguments, err);
    if (!st)
        st = arguments.wants_help
                 ? help_show(command, err)
                 : main_run_arguments(command, &arguments, err);
    arguments_release(&arguments);
    mem_free(settings);
    return st;
}

/* `assay --help` and `assay --version` are commands too. */
static const char *main_command_word(const char *word)
{
    static const struct {
        const char *word, *name;
    } others[] = {
        {"--help", "help"},
        {"-h", "help"},
        {"--version", "version"},
        {"-V", "version"},
    };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(others[i].word, word) == 0)
            return others[i].name;
    }
    return word;
}

int main(int argc, char **argv)
{
    const char *const *words = (const char *const *)argv;
    const char *name = argc > 1 ? main_command_word(argv[1]) : "";
    size_t n_words = argc > 2 ? (size_t)argc - 2 : 0;
    const struct command *command = NULL;
    struct error err = {0};
    int exit_code;
    enum assay_status st = processor_check(&err);

    signal(SIGXFSZ, SIG_IGN); /* the failing write is reported instead */
    file_guard_catch();
    worker_lanes_show();
    if (!st && argc < 2)
        st = help_start(&err);
    else if (!st)
        st = command_find(name, &command, &err);
    if (!st && command)
        st = main_run_command(command, words + 2, n_words, &err);
    exit_code = st ? message_failure(command, st, &err) : 0;
    interrupt_pass_on();
    return exit_code;
}
