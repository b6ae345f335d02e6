/* cli/completion_fish.c - completes command lines in fish. */
#include "cli/completion.h"

#include "models/models.h"

static const char fish_special[] = "\\";

static const char fish_head[] =
    "# fish completion for assay, written by `assay completion fish`\n"
    "\n"
    "function __assay_first\n"
    "    test (count (commandline -opc)) -eq 1\n"
    "end\n"
    "\n"
    "function __assay_in\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
    "end\n"
    "\n"
    "# Folders, and files with these endings.\n"
    "function __assay_files\n"
    "    set -l word (commandline -ct)\n"
    "    set -l paths $word*\n"
    "    for path in $paths\n"
    "        if test -d $path\n"
    "            echo $path/\n"
    "            continue\n"
    "        end\n"
    "        for ending in $argv\n"
    "            string match -q -- \"*$ending\" $path; and echo $path\n"
    "        end\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c assay -e\n"
    "complete -c assay -f\n"
    "complete -c assay -n __assay_first -l help -d 'list the commands'\n"
    "complete -c assay -n __assay_first -l version -d 'print the version'\n";

static void fish_put_words(struct sink *sink, const char *const *words)
{
    sink_puts(sink, " -a '");
    for (size_t i = 0; words[i]; i++)
        sink_printf(sink, "%s%s", i ? " " : "", words[i]);
    sink_puts(sink, "'");
}

static void fish_put_in(struct sink *sink, const struct command *command)
{
    sink_printf(sink, "complete -c assay -n '__assay_in %s'", command->name);
}

static void fish_put_option(struct sink *sink, const struct command *command,
                            const struct option *option)
{
    if (!option->name)
        return;
    fish_put_in(sink, command);
    sink_printf(sink, " -l %s", option->name);
    if (option->letter)
        sink_printf(sink, " -s %c", option->letter);
    if (option_needs_value(option))
        sink_puts(sink, completion_takes_file(option) ? " -r -F" : " -x");
    if (option->choices)
        fish_put_words(sink, option->choices);
    sink_puts(sink, " -d '");
    completion_put_quoted(sink, option->help, fish_special);
    sink_puts(sink, "'\n");
}

static void fish_put_commands(struct sink *sink, const char *condition)
{
    for (size_t i = 0; commands[i]; i++) {
        sink_printf(sink, "complete -c assay -n %s -a %s -d '", condition,
                    commands[i]->name);
        completion_put_quoted(sink, commands[i]->purpose, fish_special);
        sink_puts(sink, "'\n");
    }
}

static void fish_put_actions(struct sink *sink, const struct command *command)
{
    fish_put_in(sink, command);
    sink_puts(sink, " -a '");
    for (size_t i = 0; command->actions[i].name; i++)
        sink_printf(sink, "%s%s", i ? " " : "", command->actions[i].name);
    sink_puts(sink, "'\n");
}

static void fish_put_list(struct sink *sink, const struct command *command,
                          const char *const *words)
{
    if (!words)
        return;
    fish_put_in(sink, command);
    fish_put_words(sink, words);
    sink_puts(sink, "\n");
}

static void fish_put_operands(struct sink *sink, const struct command *command)
{
    const struct operand_rule *rule = &command->operands;

    if (rule->are_commands)
        fish_put_commands(sink, "'__assay_in help'");
    fish_put_list(sink, command, rule->words);
    if (rule->are_models)
        fish_put_list(sink, command, model_names());
    if (!rule->endings)
        return;
    fish_put_in(sink, command);
    sink_puts(sink, " -a '(__assay_files");
    for (size_t i = 0; rule->endings[i]; i++)
        sink_printf(sink, " %s", rule->endings[i]);
    sink_puts(sink, ")'\n");
}

void completion_put_fish(struct sink *sink)
{
    sink_puts(sink, fish_head);
    fish_put_commands(sink, "__assay_first");
    for (size_t i = 0; commands[i]; i++) {
        for (const struct option *o = commands[i]->options; o->kind; o++)
            fish_put_option(sink, commands[i], o);
        if (commands[i]->actions)
            fish_put_actions(sink, commands[i]);
        else
            fish_put_operands(sink, commands[i]);
    }
}
