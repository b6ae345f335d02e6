/* cli/cmd_completion.c - assay completion: what a shell needs to complete the
 * words of a command line. */
#include "cli/command.h"

#include "cli/result.h"

#include <string.h>

/* Words behind `=` come apart from their option (it breaks words in bash), so
 * the option is looked for two words back then; its key gets a `=` to tell
 * --tree=plain from --tree plain. */
static const char head[] =
    "# bash completion for assay, written by `assay completion bash`\n"
    "\n"
    "_assay_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")\n"
    "}\n"
    "\n"
    "# _assay_files WORD [ENDING...]: folders, and files with these endings\n"
    "_assay_files() {\n"
    "    local word=$1 ending\n"
    "    shift\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    if (($# == 0)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "        return\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(\n"
    "        compgen -d -- \"$word\"\n"
    "        for ending; do compgen -f -X \"!*$ending\" -- \"$word\"; done)\n"
    "}\n"
    "\n"
    "_assay() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
    "    local option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _assay_words \"$_assay_commands --help --version\" \"$word\"\n"
    "        return\n"
    "    fi\n"
    "    if [[ $word == '=' ]]; then\n"
    "        word=\n"
    "        option+='='\n"
    "    elif [[ $option == '=' ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}=\n"
    "    fi\n";

static const char foot[] = "}\n"
                           "\n"
                           "complete -F _assay assay\n";

static void put_words(struct sink *sink, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        sink_printf(sink, "%s%s", i ? " " : "", words[i]);
}

static void put_command_names(struct sink *sink)
{
    sink_puts(sink, "_assay_commands='");
    for (size_t i = 0; commands[i]; i++)
        sink_printf(sink, "%s%s", i ? " " : "", commands[i]->name);
    sink_puts(sink, "'\n\n");
}

static bool takes_file(const struct option *option)
{
    return option->kind == OPTION_FILE || option->kind == OPTION_FILES;
}

/* What may stand behind an option that has a value. */
static void put_option_case(struct sink *sink, const struct command *command,
                            const struct option *option)
{
    if (!option_has_value(option))
        return;
    sink_printf(sink, "    '%s --%s='", command->name, option->name);
    if (option_needs_value(option))
        sink_printf(sink, " | '%s --%s'", command->name, option->name);
    if (option_needs_value(option) && option->letter)
        sink_printf(sink, " | '%s -%c'", command->name, option->letter);
    sink_puts(sink, ")\n");
    if (option->choices) {
        sink_puts(sink, "        _assay_words '");
        put_words(sink, option->choices);
        sink_puts(sink, "' \"$word\"\n");
    } else if (takes_file(option)) {
        sink_puts(sink, "        _assay_files \"$word\"\n");
    }
    sink_puts(sink, "        return ;;\n");
}

static void put_operands(struct sink *sink, const struct operand_rule *rule)
{
    if (rule->are_commands) {
        sink_puts(sink, "        _assay_words \"$_assay_commands\"");
        sink_puts(sink, " \"$word\"\n");
    } else if (rule->words) {
        sink_puts(sink, "        _assay_words '");
        put_words(sink, rule->words);
        sink_puts(sink, "' \"$word\"\n");
    } else if (rule->endings) {
        sink_puts(sink, "        _assay_files \"$word\" ");
        put_words(sink, rule->endings);
        sink_puts(sink, "\n");
    }
}

static void put_command_case(struct sink *sink, const struct command *command)
{
    sink_printf(sink, "    %s)\n        if [[ $word == -* ]]; then\n",
                command->name);
    sink_puts(sink, "            _assay_words '--help");
    for (const struct option *o = command->options; o->kind; o++) {
        if (o->letter)
            sink_printf(sink, " -%c", o->letter);
        if (o->name)
            sink_printf(sink, " --%s", o->name);
    }
    sink_puts(sink, "' \"$word\"\n            return\n        fi\n");
    put_operands(sink, &command->operands);
    sink_puts(sink, "        ;;\n");
}

static void put_bash(struct sink *sink)
{
    put_command_names(sink);
    sink_puts(sink, head);
    sink_puts(sink, "    case \"$command $option\" in\n");
    for (size_t i = 0; commands[i]; i++) {
        for (const struct option *o = commands[i]->options; o->kind; o++)
            put_option_case(sink, commands[i], o);
    }
    sink_puts(sink, "    esac\n    case $command in\n");
    for (size_t i = 0; commands[i]; i++)
        put_command_case(sink, commands[i]);
    sink_puts(sink, "    esac\n");
    sink_puts(sink, foot);
}

static const char *const shells[] = {"bash", NULL};

static enum assay_status run_completion(const struct arguments *arguments,
                                        struct error *err)
{
    const char *shell = arguments->operands.items[0];
    struct result result;
    enum assay_status st;

    if (strcmp(shell, shells[0]) != 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "no completion for '%s'; there is one for bash",
                         shell);
    st = result_open(NULL, &result, err);
    if (st)
        return st;
    put_bash(result.sink);
    return result_close(&result, sink_status(result.sink, err), err);
}

const struct command cmd_completion = {
    .name = "completion",
    .section = "This program",
    .purpose = "the completion of command lines, for bash",
    .usage = (const char *const[]){"completion bash", NULL},
    .operands = {.min = 1, .max = 1, .missing = "a shell", .words = shells},
    .description =
        (const char *const[]){
            "Writes a script that teaches bash the commands, their options "
            "and the values of those. 'make install' puts it in place; "
            "without that, load it into a shell as below, or from ~/.bashrc.",
            NULL,
        },
    .options = no_options,
    .examples =
        (const struct example[]){
            {"completion bash >~/.assay.bash && . ~/.assay.bash",
             "complete in this shell"},
            {NULL, NULL},
        },
    .run = run_completion,
};
