/* cli/cmd_man.c - assay man: the manual page, as troff. */
#include "cli/command.h"

#include "cli/result.h"

#include <ctype.h>
#include <string.h>

static const struct example environment[] = {
    {"COLUMNS", "width of the screen; by default that of the terminal"},
    {"LC_ALL, LC_CTYPE, LANG", "lines and bars are drawn with UTF-8 if the "
                               "locale has it, otherwise with ASCII"},
    {"NO_COLOR", "if set and not empty, no colour is used"},
    {"TMPDIR", "where 'assay import' sorts traces that do not fit into "
               "memory; /var/tmp by default"},
    {"XDG_CACHE_HOME", "the folder of the cache; ~/.cache by default"},
    {NULL, NULL},
};

static const struct example files[] = {
    {"*.assay", "a run: a SQLite database that can be queried with sqlite3(1)"},
    {"*.assay.PID-*.part",
     "a run that is being recorded, or whose program died; it can be shown "
     "like any other"},
    {"~/.cache/assay/weights", "weights from 'assay weights fetch'"},
    {NULL, NULL},
};

/* Text as troff prints it: escapes backslashes, makes a minus that can be
 * copied into a shell, and avoids accidental control lines. */
static void man_put_text(struct sink *sink, const char *text)
{
    if (*text == '.' || *text == '\'')
        sink_puts(sink, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            sink_puts(sink, "\\e");
        else if (*text == '-')
            sink_puts(sink, "\\-");
        else if (*text == '\'')
            sink_puts(sink, "\\(aq");
        else if (*text == '~')
            sink_puts(sink, "\\(ti");
        else if (*text == '`')
            sink_puts(sink, "\\(ga");
        else if (*text == '^')
            sink_puts(sink, "\\(ha");
        else
            sink_write(sink, text, 1);
    }
}

static void man_put_line(struct sink *sink, const char *text)
{
    man_put_text(sink, text);
    sink_puts(sink, "\n");
}

/* Makes a sentence from a text without a capital and a full stop. */
static void man_put_sentence(struct sink *sink, const char *text)
{
    sink_printf(sink, "%c", toupper((unsigned char)*text));
    man_put_text(sink, text + 1);
    sink_puts(sink, ".\n");
}

static void man_put_bold(struct sink *sink, const char *text)
{
    sink_puts(sink, "\\fB");
    man_put_text(sink, text);
    sink_puts(sink, "\\fR");
}

/* Options in bold, their values in italics, as in other manuals. */
static enum assay_status man_put_option(struct sink *sink,
                                        const struct option *option)
{
    struct str sentence = {0};
    enum assay_status st = option_sentence(option, &sentence);

    if (st) {
        str_release(&sentence);
        return st;
    }
    sink_puts(sink, ".TP\n");
    if (option->letter)
        sink_printf(sink, "\\fB\\-%c\\fR, ", option->letter);
    sink_puts(sink, "\\fB\\-\\-");
    man_put_text(sink, option->name);
    sink_puts(sink, "\\fR");
    if (option_needs_value(option))
        sink_printf(sink, " \\fI%s\\fR%s", option->value,
                    option->kind == OPTION_FILES ? "..." : "");
    else if (option_has_value(option))
        sink_printf(sink, "[=\\fI%s\\fR]", option->value);
    sink_puts(sink, "\n");
    man_put_sentence(sink, str_text(&sentence));
    str_release(&sentence);
    return ASSAY_OK;
}

static enum assay_status man_put_options(struct sink *sink,
                                         const struct option *options)
{
    enum assay_status st = ASSAY_OK;

    for (; options->kind && !st; options++) {
        if (options->kind != OPTION_SECTION) {
            st = man_put_option(sink, options);
            continue;
        }
        sink_puts(sink, ".PP\n\\fI");
        man_put_text(sink, options->help);
        sink_puts(sink, "\\fR\n");
    }
    return st;
}

static void man_put_usage(struct sink *sink, const struct command *command)
{
    for (size_t i = 0; command->usage[i]; i++) {
        sink_puts(sink, i ? ".br\n" : ".PP\n");
        man_put_bold(sink, "assay ");
        man_put_bold(sink, command->name);
        man_put_line(sink, command->usage[i] + strlen(command->name));
    }
}

static enum assay_status man_put_command(struct sink *sink,
                                         const struct command *command)
{
    sink_puts(sink, ".SS ");
    man_put_text(sink, command->name);
    sink_puts(sink, "\n");
    man_put_sentence(sink, command->purpose);
    man_put_usage(sink, command);
    for (size_t i = 0; command->description[i]; i++) {
        sink_puts(sink, ".PP\n");
        man_put_line(sink, command->description[i]);
    }
    if (man_put_options(sink, command->options))
        return ASSAY_NOMEM;
    if (command->exit_codes) {
        sink_puts(sink, ".PP\nExit status: ");
        man_put_line(sink, command->exit_codes);
    }
    return ASSAY_OK;
}

static void man_put_entries(struct sink *sink, const char *title,
                            const struct example *entries)
{
    sink_printf(sink, ".SH %s\n", title);
    for (; entries->line; entries++) {
        sink_puts(sink, ".TP\n");
        man_put_bold(sink, entries->line);
        sink_puts(sink, "\n");
        man_put_sentence(sink, entries->what);
    }
}

static void man_put_examples(struct sink *sink)
{
    sink_puts(sink, ".SH EXAMPLES\n");
    for (size_t i = 0; commands[i]; i++) {
        const struct example *e = commands[i]->examples;

        for (; e && e->line; e++) {
            sink_puts(sink, ".TP\n");
            man_put_bold(sink, "assay ");
            man_put_bold(sink, e->line);
            sink_puts(sink, "\n");
            man_put_sentence(sink, e->what);
        }
    }
}

static void man_put_exit_codes(struct sink *sink)
{
    sink_puts(sink, ".SH EXIT STATUS\n");
    for (const struct exit_code *e = exit_codes; e->meaning; e++) {
        sink_printf(sink, ".TP\n\\fB%d\\fR\n", e->code);
        man_put_sentence(sink, e->meaning);
    }
}

static void man_put_head(struct sink *sink)
{
    sink_puts(sink, ".\\\" Written by `assay man`: the text is in src/cli.\n"
                    ".TH ASSAY 1 \"\" \"assay " ASSAY_VERSION "\" "
                    "\"User Commands\"\n"
                    ".SH NAME\n"
                    "assay \\- where the time and the memory of a program go\n"
                    ".SH SYNOPSIS\n"
                    "\\fBassay\\fR \\fICOMMAND\\fR [options] ...\n"
                    ".SH DESCRIPTION\n");
    man_put_line(sink,
                 "Assay records what a program does, span by span, into a run "
                 "file, and shows, compares and exports such files. It also "
                 "imports traces of other profilers.");
    sink_puts(sink, ".PP\n");
    man_put_line(sink,
                 "Results go to standard output, progress and failures to "
                 "standard error. Options may appear anywhere after the "
                 "command, as --name value or --name=value; -- ends them. "
                 "Every command has --help.");
}

static enum assay_status run_man(const struct arguments *arguments,
                                 struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    (void)arguments;
    if (st)
        return st;
    man_put_head(result.sink);
    sink_puts(result.sink, ".SH COMMANDS\n");
    for (size_t i = 0; commands[i] && !st; i++)
        st = man_put_command(result.sink, commands[i]);
    if (st)
        error_nomem(err, 1, "the manual page");
    man_put_exit_codes(result.sink);
    man_put_entries(result.sink, "ENVIRONMENT", environment);
    man_put_entries(result.sink, "FILES", files);
    man_put_examples(result.sink);
    return result_close(&result, st, err);
}

const struct command cmd_man = {
    .name = "man",
    .section = "This program",
    .purpose = "print the manual page, as troff",
    .usage = TEXTS("man"),
    .description = TEXTS(
        "One page about all commands. 'make install' installs it for 'man "
        "assay'."),
    .options = no_options,
    .examples = EXAMPLES({"man | man -l -", "read it without installing it"}),
    .run = run_man,
};
