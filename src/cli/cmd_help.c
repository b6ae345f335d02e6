/* cli/cmd_help.c - assay help: the commands and their options, see help.h. */
#include "cli/help.h"

#include "cli/result.h"

#include <stdio.h>
#include <string.h>

enum {
    max_columns = 80, /* longer lines are hard to read on any screen */
    min_columns = 40,
    margin = 2,
    name_columns = 14,  /* in the list of commands */
    label_columns = 26, /* in the list of options */
};

struct help_page {
    struct sink *sink;
    const struct term *term;
    size_t columns;
};

static struct help_page help_page(struct sink *sink, const struct term *term)
{
    int columns = term->width;

    if (columns > max_columns)
        columns = max_columns;
    if (columns < min_columns)
        columns = min_columns;
    return (struct help_page){sink, term, (size_t)columns};
}

static void help_put_title(struct help_page *page, const char *title)
{
    sink_printf(page->sink, "\n%s%s%s\n", term_style(page->term, STYLE_BOLD),
                title, term_style(page->term, STYLE_NONE));
}

/* Writes words from column `at`, wraps them to `indent`, and ends the line. */
static void help_put_wrapped(struct help_page *page, const char *text,
                             size_t at, size_t indent)
{
    bool is_first = true;

    while (*text) {
        size_t word = strcspn(text, " ");

        if (!is_first && at + 1 + word > page->columns) {
            sink_puts(page->sink, "\n");
            sink_repeat(page->sink, " ", indent);
            at = indent;
            is_first = true;
        }
        if (!is_first) {
            sink_puts(page->sink, " ");
            at++;
        }
        sink_write(page->sink, text, word);
        at += word;
        is_first = false;
        text += word;
        text += strspn(text, " ");
    }
    sink_puts(page->sink, "\n");
}

/* A name on the left, a text to its right, or below if the name is long. */
static void help_put_entry(struct help_page *page, const char *name,
                           const char *text, size_t columns)
{
    size_t n = margin + strlen(name);

    sink_repeat(page->sink, " ", margin);
    sink_puts(page->sink, name);
    if (n + 2 > columns) {
        sink_puts(page->sink, "\n");
        n = 0;
    }
    sink_repeat(page->sink, " ", columns - n);
    help_put_wrapped(page, text, columns, columns);
}

static enum assay_status help_put_option(struct help_page *page,
                                         const struct option *option)
{
    struct str label = {0}, sentence = {0};
    enum assay_status st;

    if (option->letter)
        st = str_printf(&label, "-%c, ", option->letter);
    else
        st = str_append(&label, "    ");
    if (!st)
        st = option_label(option, &label);
    if (!st)
        st = option_sentence(option, &sentence);
    if (!st)
        help_put_entry(page, label.text, sentence.text, label_columns);
    str_release(&label);
    str_release(&sentence);
    return st;
}

static enum assay_status help_put_options(struct help_page *page,
                                          const struct option *options)
{
    static const struct option help = {OPT_FLAG("help"), .letter = 'h',
                                       .help = "show this page"};
    enum assay_status st = ASSAY_OK;

    if (options->kind != OPTION_SECTION)
        help_put_title(page, "Options");
    for (; options->kind && !st; options++) {
        if (options->kind == OPTION_SECTION)
            help_put_title(page, options->help);
        else
            st = help_put_option(page, options);
    }
    return st ? st : help_put_option(page, &help);
}

static void help_put_usage(struct help_page *page,
                           const struct command *command)
{
    for (size_t i = 0; command->usage[i]; i++)
        sink_printf(page->sink, "%s assay %s\n",
                    i ? "      " : "Usage:", command->usage[i]);
}

static void help_put_list(struct help_page *page, const char *title,
                          const struct example *examples)
{
    help_put_title(page, title);
    for (; examples->line; examples++) {
        sink_printf(page->sink, "  %sassay %s%s\n",
                    term_style(page->term, STYLE_CYAN), examples->line,
                    term_style(page->term, STYLE_NONE));
        sink_repeat(page->sink, " ", 2 * margin + 2);
        help_put_wrapped(page, examples->what, 2 * margin + 2, 2 * margin + 2);
    }
}

enum assay_status help_command(const struct command *command, struct sink *sink,
                               const struct term *term, struct error *err)
{
    struct help_page page = help_page(sink, term);

    sink_printf(sink, "assay %s: %s\n\n", command->name, command->purpose);
    help_put_usage(&page, command);
    for (size_t i = 0; command->description[i]; i++) {
        sink_puts(sink, "\n");
        help_put_wrapped(&page, command->description[i], 0, 0);
    }
    if (help_put_options(&page, command->options))
        return error_nomem(err, max_columns, "a help screen");
    if (command->exit_codes) {
        help_put_title(&page, "Exit code");
        sink_repeat(sink, " ", margin);
        help_put_wrapped(&page, command->exit_codes, margin, margin);
    }
    if (command->examples)
        help_put_list(&page, "Examples", command->examples);
    return sink_status(sink, err);
}

enum assay_status help_overview(struct sink *sink, const struct term *term,
                                struct error *err)
{
    struct help_page page = help_page(sink, term);
    const char *section = "";

    sink_puts(sink, "assay: where the time and the memory of a program go\n\n"
                    "Usage: assay COMMAND [options] ...\n");
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(section, commands[i]->section) != 0)
            help_put_title(&page, commands[i]->section);
        section = commands[i]->section;
        help_put_entry(&page, commands[i]->name, commands[i]->purpose,
                       name_columns);
    }
    help_put_title(&page, "Exit codes");
    for (const struct exit_code *e = exit_codes; e->meaning; e++) {
        char code[8];

        snprintf(code, sizeof code, "%d", e->code);
        help_put_entry(&page, code, e->meaning, name_columns);
    }
    sink_puts(sink, "\n'assay help COMMAND' describes one of them.\n");
    return sink_status(sink, err);
}

/* The screen of `assay` alone: what people come for, not all there is. */
enum assay_status help_start(struct error *err)
{
    static const struct example first[] = {
        {"run resnet50 --random", "what a model costs; needs no file at all"},
        {"run model.onnx street.jpg",
         "your own model on your photographs: time, memory, what it finds"},
        {"report run.assay", "the run as a page for the browser"},
        {"compare before.assay after.assay",
         "whether a change made it faster, or slower, by more than noise"},
        {"fit --synthetic --memory 8GiB",
         "the largest batch that trains within that memory"},
        {NULL, NULL},
    };
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);
    struct help_page page;

    if (st)
        return st;
    page = help_page(result.sink, &result.term);
    sink_puts(result.sink,
              "assay: where the time and the memory of a vision model go\n");
    help_put_list(&page, "Five things to start with", first);
    sink_puts(result.sink,
              "\n'assay help' lists all commands, 'assay help COMMAND' the "
              "options of one.\n");
    return result_close(&result, ASSAY_OK, err);
}

enum assay_status help_show(const struct command *command, struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    if (command)
        st = help_command(command, result.sink, &result.term, err);
    else
        st = help_overview(result.sink, &result.term, err);
    return result_close(&result, st, err);
}

static enum assay_status run_help(const struct arguments *arguments,
                                  struct error *err)
{
    const struct command *command = NULL;
    enum assay_status st = ASSAY_OK;

    if (arguments->operands.n == 1)
        st = command_find(arguments->operands.items[0], &command, err);
    return st ? st : help_show(command, err);
}

const struct command cmd_help = {
    .name = "help",
    .section = "This program",
    .purpose = "show what a command does, and its options",
    .usage = TEXTS("help [COMMAND]"),
    .operands = {.max = 1, .are_commands = true},
    .description =
        TEXTS("Without a command, lists all of them. 'assay COMMAND --help' "
              "shows the same as 'assay help COMMAND'."),
    .options = no_options,
    .run = run_help,
};
