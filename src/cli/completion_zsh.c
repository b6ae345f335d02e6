/* cli/completion_zsh.c - completes command lines in zsh. */
#include "cli/completion.h"

#include "models/models.h"

/* _describe splits its texts at colons. */
static const char zsh_special[] = ":\\";

static const char zsh_head[] =
    "#compdef assay\n"
    "# zsh completion for assay, written by `assay completion zsh`\n"
    "\n"
    "_assay() {\n"
    "    local command=${words[2]} option=${words[CURRENT - 1]}\n"
    "    local -a found\n";

/* The value of --option=value is completed like that of --option value. */
static const char zsh_values[] = "    if [[ $PREFIX == --*=* ]]; then\n"
                                 "        option=${PREFIX%%=*}=\n"
                                 "        compset -P '*='\n"
                                 "    fi\n"
                                 "    case \"$command $option\" in\n";

/* A file in fpath is the function's body when it is first called. */
static const char zsh_foot[] = "    esac\n"
                               "}\n"
                               "\n"
                               "compdef _assay assay\n"
                               "if [[ $funcstack[1] == _assay ]]; then\n"
                               "    _assay \"$@\"\n"
                               "fi\n";

static void zsh_put_commands(struct sink *sink)
{
    sink_puts(sink, "        found=(\n");
    for (size_t i = 0; commands[i]; i++) {
        sink_printf(sink, "            '%s:", commands[i]->name);
        completion_put_quoted(sink, commands[i]->purpose, zsh_special);
        sink_puts(sink, "'\n");
    }
    sink_puts(sink, "        )\n"
                    "        _describe -t commands command found\n");
}

static void zsh_put_words(struct sink *sink, const char *const *words)
{
    sink_puts(sink, "        compadd --");
    for (size_t i = 0; words[i]; i++)
        sink_printf(sink, " %s", words[i]);
    sink_puts(sink, "\n");
}

/* What may follow an option that takes a value. */
static void zsh_put_value(struct sink *sink, const struct command *command,
                          const struct option *option)
{
    if (!option_has_value(option))
        return;
    sink_printf(sink, "    ('%s --%s='", command->name, option->name);
    if (option_needs_value(option))
        sink_printf(sink, " | '%s --%s'", command->name, option->name);
    if (option_needs_value(option) && option->letter)
        sink_printf(sink, " | '%s -%c'", command->name, option->letter);
    sink_puts(sink, ")\n");
    if (option->choices)
        zsh_put_words(sink, option->choices);
    else if (completion_takes_file(option))
        sink_puts(sink, "        _files\n");
    sink_puts(sink, "        return ;;\n");
}

static void zsh_put_options(struct sink *sink, const struct command *command)
{
    sink_puts(sink, "        if [[ $PREFIX == -* ]]; then\n"
                    "            found=(\n"
                    "                '--help:show this page'\n");
    for (const struct option *o = command->options; o->kind; o++) {
        if (!o->name)
            continue;
        sink_printf(sink, "                '--%s:", o->name);
        completion_put_quoted(sink, o->help, zsh_special);
        sink_puts(sink, "'\n");
    }
    sink_puts(sink, "            )\n"
                    "            _describe -o -t options option found\n"
                    "            return\n"
                    "        fi\n");
}

/* "*.(jpg|png)": the endings without their dots. */
static void zsh_put_files(struct sink *sink, const char *const *endings)
{
    sink_puts(sink, "        _files");
    for (size_t i = 0; endings[i]; i++)
        sink_printf(sink, "%s%s", i ? "|" : " -g '*(", endings[i]);
    sink_puts(sink, endings[0] ? ")'\n" : "\n");
}

static void zsh_put_operands(struct sink *sink, const struct command *command)
{
    const struct operand_rule *rule = &command->operands;

    if (command->actions) {
        sink_puts(sink, "        compadd --");
        for (size_t i = 0; command->actions[i].name; i++)
            sink_printf(sink, " %s", command->actions[i].name);
        sink_puts(sink, "\n");
        return;
    }
    if (rule->are_commands)
        zsh_put_commands(sink);
    if (rule->words)
        zsh_put_words(sink, rule->words);
    if (rule->are_models)
        zsh_put_words(sink, model_names());
    if (rule->endings)
        zsh_put_files(sink, rule->endings);
}

void completion_put_zsh(struct sink *sink)
{
    sink_puts(sink, zsh_head);
    sink_puts(sink, "    if ((CURRENT == 2)); then\n");
    zsh_put_commands(sink);
    sink_puts(sink, "        return\n    fi\n");
    sink_puts(sink, zsh_values);
    for (size_t i = 0; commands[i]; i++) {
        for (const struct option *o = commands[i]->options; o->kind; o++)
            zsh_put_value(sink, commands[i], o);
    }
    sink_puts(sink, "    esac\n    case $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        sink_printf(sink, "    (%s)\n", commands[i]->name);
        zsh_put_options(sink, commands[i]);
        zsh_put_operands(sink, commands[i]);
        sink_puts(sink, "        ;;\n");
    }
    sink_puts(sink, zsh_foot);
}
