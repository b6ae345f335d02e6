/* cli/completion_bash.c - completes command lines in bash. */
#include "cli/completion.h"

#include "models/models.h"

/* bash splits words at `=`, so the option is then two words back; its key gets
 * a `=` to tell --tree=plain from --tree plain. */
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

static void bash_put_words(struct sink *sink, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        sink_printf(sink, "%s%s", i ? " " : "", words[i]);
}

static void bash_put_command_names(struct sink *sink)
{
    sink_puts(sink, "_assay_commands='");
    for (size_t i = 0; commands[i]; i++)
        sink_printf(sink, "%s%s", i ? " " : "", commands[i]->name);
    sink_puts(sink, "'\n\n");
}

/* What may follow an option that takes a value. */
static void bash_put_option_case(struct sink *sink,
                                 const struct command *command,
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
        bash_put_words(sink, option->choices);
        sink_puts(sink, "' \"$word\"\n");
    } else if (completion_takes_file(option)) {
        sink_puts(sink, "        _assay_files \"$word\"\n");
    }
    sink_puts(sink, "        return ;;\n");
}

static void bash_put_actions(struct sink *sink, const struct action *actions)
{
    sink_puts(sink, "        _assay_words '");
    for (size_t i = 0; actions[i].name; i++)
        sink_printf(sink, "%s%s", i ? " " : "", actions[i].name);
    sink_puts(sink, "' \"$word\"\n");
}

static void bash_put_operands(struct sink *sink,
                              const struct operand_rule *rule)
{
    if (rule->are_commands) {
        sink_puts(sink, "        _assay_words \"$_assay_commands\"");
        sink_puts(sink, " \"$word\"\n");
    } else if (rule->words) {
        sink_puts(sink, "        _assay_words '");
        bash_put_words(sink, rule->words);
        sink_puts(sink, "' \"$word\"\n");
    } else if (rule->endings) {
        sink_puts(sink, "        _assay_files \"$word\" ");
        bash_put_words(sink, rule->endings);
        sink_puts(sink, "\n");
    }
    if (rule->are_models) {
        sink_puts(sink,
                  "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < "
                  "<(compgen -W '");
        bash_put_words(sink, model_names());
        sink_puts(sink, "' -- \"$word\")\n");
    }
}

static void bash_put_command_case(struct sink *sink,
                                  const struct command *command)
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
    if (command->actions)
        bash_put_actions(sink, command->actions);
    else
        bash_put_operands(sink, &command->operands);
    sink_puts(sink, "        ;;\n");
}

void completion_put_bash(struct sink *sink)
{
    bash_put_command_names(sink);
    sink_puts(sink, head);
    sink_puts(sink, "    case \"$command $option\" in\n");
    for (size_t i = 0; commands[i]; i++) {
        for (const struct option *o = commands[i]->options; o->kind; o++)
            bash_put_option_case(sink, commands[i], o);
    }
    sink_puts(sink, "    esac\n    case $command in\n");
    for (size_t i = 0; commands[i]; i++)
        bash_put_command_case(sink, commands[i]);
    sink_puts(sink, "    esac\n");
    sink_puts(sink, foot);
}
