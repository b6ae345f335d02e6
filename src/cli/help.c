/* cli/help.c - see help.h. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

enum {
    max_columns = 80, /* longer lines are hard to read on any screen */
    min_columns = 40,
    margin = 2,
    name_columns = 14,  /* of the list of commands */
    label_columns = 26, /* of the list of options */
};

struct page {
    struct sink *sink;
    const struct term *term;
    size_t columns;
};

static struct page page_of(struct sink *sink, const struct term *term)
{
    int columns = term->width;

    if (columns > max_columns)
        columns = max_columns;
    if (columns < min_columns)
        columns = min_columns;
    return (struct page){sink, term, (size_t)columns};
}

static void put_title(struct page *page, const char *title)
{
    sink_printf(page->sink, "\n%s%s%s\n", term_style(page->term, STYLE_BOLD),
                title, term_style(page->term, STYLE_NONE));
}

/* Writes words from column `at` on, continued at `indent`, and ends the line.
 */
static void put_wrapped(struct page *page, const char *text, size_t at,
                        size_t indent)
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

/* A name on the left, a text beside it, or below where the name is long. */
static void put_entry(struct page *page, const char *name, const char *text,
                      size_t columns)
{
    size_t n = margin + strlen(name);

    sink_repeat(page->sink, " ", margin);
    sink_puts(page->sink, name);
    if (n + 2 > columns) {
        sink_puts(page->sink, "\n");
        n = 0;
    }
    sink_repeat(page->sink, " ", columns - n);
    put_wrapped(page, text, columns, columns);
}

static enum assay_status put_option(struct page *page,
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
        put_entry(page, label.text, sentence.text, label_columns);
    str_release(&label);
    str_release(&sentence);
    return st;
}

static enum assay_status put_options(struct page *page,
                                     const struct option *options)
{
    static const struct option help = {.name = "help",
                                       .letter = 'h',
                                       .kind = OPTION_FLAG,
                                       .help = "show this page"};
    enum assay_status st = ASSAY_OK;

    if (options->kind != OPTION_SECTION)
        put_title(page, "Options");
    for (; options->kind && !st; options++) {
        if (options->kind == OPTION_SECTION)
            put_title(page, options->help);
        else
            st = put_option(page, options);
    }
    return st ? st : put_option(page, &help);
}

static void put_usage(struct page *page, const struct command *command)
{
    for (size_t i = 0; command->usage[i]; i++)
        sink_printf(page->sink, "%s assay %s\n",
                    i ? "      " : "Usage:", command->usage[i]);
}

static void put_examples(struct page *page, const struct example *examples)
{
    put_title(page, "Examples");
    for (; examples->line; examples++) {
        sink_printf(page->sink, "  %sassay %s%s\n",
                    term_style(page->term, STYLE_CYAN), examples->line,
                    term_style(page->term, STYLE_NONE));
        sink_repeat(page->sink, " ", 2 * margin + 2);
        put_wrapped(page, examples->what, 2 * margin + 2, 2 * margin + 2);
    }
}

enum assay_status help_command(const struct command *command, struct sink *sink,
                               const struct term *term, struct error *err)
{
    struct page page = page_of(sink, term);

    sink_printf(sink, "assay %s: %s\n\n", command->name, command->purpose);
    put_usage(&page, command);
    for (size_t i = 0; command->description[i]; i++) {
        sink_puts(sink, "\n");
        put_wrapped(&page, command->description[i], 0, 0);
    }
    if (put_options(&page, command->options))
        return error_nomem(err, max_columns, "a help screen");
    if (command->exit_codes) {
        put_title(&page, "Exit code");
        sink_repeat(sink, " ", margin);
        put_wrapped(&page, command->exit_codes, margin, margin);
    }
    if (command->examples)
        put_examples(&page, command->examples);
    return sink_status(sink, err);
}

enum assay_status help_overview(struct sink *sink, const struct term *term,
                                struct error *err)
{
    struct page page = page_of(sink, term);
    const char *section = "";

    sink_puts(sink, "assay: where the time and the memory of a program go\n\n"
                    "Usage: assay COMMAND [options] ...\n");
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(section, commands[i]->section) != 0)
            put_title(&page, commands[i]->section);
        section = commands[i]->section;
        put_entry(&page, commands[i]->name, commands[i]->purpose, name_columns);
    }
    put_title(&page, "Exit codes");
    for (const struct exit_code *e = exit_codes; e->meaning; e++) {
        char code[8];

        snprintf(code, sizeof code, "%d", e->code);
        put_entry(&page, code, e->meaning, name_columns);
    }
    sink_puts(sink, "\n'assay help COMMAND' tells all about one of them.\n");
    return sink_status(sink, err);
}
