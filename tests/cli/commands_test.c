/* The table of cli/command.h, and whether help, manual and completion show all
 * of it. The program itself is run, as a user would. */
#include "base/mem.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/help.h"
#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PROGRAM TEST_BINARY_DIR "/assay"

/* The output of a shell command, whose exit code must be 0. The caller releases
 * the text. */
static struct str output_of(const char *command)
{
    struct str text = {0};
    char chunk[4096];
    FILE *pipe = popen(command, "r");
    size_t n;
    int status;

    CHECK(pipe != NULL);
    while ((n = fread(chunk, 1, sizeof chunk, pipe)) > 0)
        CHECK_INT(str_append_n(&text, chunk, n), ASSAY_OK);
    status = pclose(pipe);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    return text;
}

static struct str help_of(const struct command *command)
{
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    struct term term = term_plain(80);

    if (command)
        CHECK_INT(help_command(command, &sink, &term, NULL), ASSAY_OK);
    else
        CHECK_INT(help_overview(&sink, &term, NULL), ASSAY_OK);
    return text;
}

/* The part of a text from a mark to the next end mark. */
static const char *section_of(const char *text, const char *mark,
                              const char *end, struct str *part)
{
    const char *from = strstr(text, mark), *to;

    str_clear(part);
    if (!from)
        return "";
    to = strstr(from + strlen(mark), end);
    CHECK_INT(str_append_n(part, from, to ? (size_t)(to - from) : strlen(from)),
              ASSAY_OK);
    return part->text;
}

TEST(every_command_is_described_completely)
{
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];

        CHECK(c->name && c->section && c->purpose);
        CHECK((c->run != NULL) != (c->actions != NULL));
        for (size_t u = 0; c->usage[u] || u == 0; u++)
            CHECK(strncmp(c->usage[u], c->name, strlen(c->name)) == 0);
        CHECK(c->description && c->description[0]);
        CHECK(islower((unsigned char)c->purpose[0]));
        CHECK(c->purpose[strlen(c->purpose) - 1] != '.');
        CHECK((c->operands.min == 0) == (c->operands.missing == NULL));
        for (size_t j = i + 1; commands[j]; j++)
            CHECK(strcmp(c->name, commands[j]->name) != 0);
    }
}

static void check_option(const struct command *command, const struct option *o)
{
    CHECK(o->help && *o->help);
    if (o->kind == OPTION_SECTION)
        return;
    CHECK_INT(o->field_size, option_field_size(o->kind));
    CHECK(o->offset + o->field_size <= command->settings_bytes);
    CHECK((o->value != NULL) == option_has_value(o));
    CHECK(o->choices || o->kind != OPTION_CHOICE);
    CHECK(islower((unsigned char)o->help[0]));
    CHECK(o->help[strlen(o->help) - 1] != '.');
    CHECK(!strstr(o->help, "given again")); /* option_sentence() says that */
    for (const struct option *other = o + 1; other->kind; other++) {
        CHECK(!other->name || strcmp(o->name, other->name) != 0);
        CHECK(!o->letter || o->letter != other->letter);
    }
}

TEST(every_option_fits_its_field_and_has_its_own_name)
{
    for (size_t i = 0; commands[i]; i++) {
        const struct option *o = commands[i]->options;

        for (; o->kind; o++)
            check_option(commands[i], o);
        CHECK(o - commands[i]->options <= OPTIONS_MAX);
    }
}

TEST(help_fits_80_columns_and_ends_no_line_with_a_space)
{
    for (size_t i = 0;; i++) {
        struct str text = help_of(commands[i]);
        char *rest = text.text, *line;

        while ((line = strsep(&rest, "\n"))) {
            CHECK(text_columns(line) <= 80);
            CHECK(!*line || line[strlen(line) - 1] != ' ');
        }
        str_release(&text);
        if (!commands[i])
            break;
    }
}

TEST(the_overview_names_every_command_and_exit_code)
{
    struct str text = help_of(NULL);

    for (size_t i = 0; commands[i]; i++) {
        CHECK_HAS(text.text, commands[i]->name);
        CHECK_HAS(text.text, commands[i]->purpose);
    }
    for (const struct exit_code *e = exit_codes; e->meaning; e++)
        CHECK_HAS(text.text, e->meaning);
    str_release(&text);
}

TEST(every_option_is_in_its_help)
{
    for (size_t i = 0; commands[i]; i++) {
        struct str help = help_of(commands[i]), label = {0};

        CHECK_HAS(help.text, "-h, --help");
        for (const struct option *o = commands[i]->options; o->kind; o++) {
            str_clear(&label);
            if (o->name) {
                CHECK_INT(option_label(o, &label), ASSAY_OK);
                CHECK_HAS(help.text, label.text);
            }
        }
        str_release(&help);
        str_release(&label);
    }
}

TEST(every_option_is_in_the_manual_under_its_command)
{
    struct str man = output_of(PROGRAM " man"), part = {0};

    for (size_t i = 0; commands[i]; i++) {
        char mark[64];

        snprintf(mark, sizeof mark, ".SS %s\n", commands[i]->name);
        for (const struct option *o = commands[i]->options; o->kind; o++) {
            char name[64] = "\\fB\\-\\-";

            for (const char *c = o->name; c && *c; c++)
                snprintf(name + strlen(name), sizeof name - strlen(name),
                         "%s%c", *c == '-' ? "\\" : "", *c);
            if (o->name)
                CHECK_HAS(section_of(man.text, mark, "\n.SS ", &part), name);
        }
    }
    str_release(&man);
    str_release(&part);
}

TEST(every_option_is_in_the_completion_of_its_command)
{
    for (size_t i = 0; commands[i]; i++) {
        char command[256];
        struct str words;

        snprintf(command, sizeof command,
                 "bash -c '. <(%s completion bash); "
                 "COMP_WORDS=(assay %s -); COMP_CWORD=2; _assay; "
                 "printf \"%%s\\n\" \"${COMPREPLY[@]}\"'",
                 PROGRAM, commands[i]->name);
        words = output_of(command);
        CHECK_HAS(words.text, "--help\n");
        for (const struct option *o = commands[i]->options; o->kind; o++) {
            char line[64];

            snprintf(line, sizeof line, "--%s\n", o->name ? o->name : "help");
            CHECK_HAS(words.text, line);
        }
        str_release(&words);
    }
}

/* Examples are shell lines; operators of the shell end the words. */
static size_t example_words(char *line, const char **words, size_t max)
{
    size_t n = 0;
    char *word;

    while ((word = strsep(&line, " ")) && n < max && !strchr("|>&", word[0]))
        words[n++] = word;
    return n;
}

TEST(every_example_is_a_valid_command_line)
{
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];
        const struct example *e = c->examples;

        for (; e && e->line; e++) {
            struct arguments arguments = {.settings =
                                              mem_zalloc(c->settings_bytes)};
            void *settings = arguments.settings;
            const char *words[32];
            struct error err = {0};
            char line[256];
            size_t n;

            snprintf(line, sizeof line, "%s", e->line);
            n = example_words(line, words, 32);
            CHECK_STR(words[0], c->name);
            CHECK_STATUS(
                options_parse(c->options, words + 1, n - 1, &arguments, &err),
                ASSAY_OK, &err);
            CHECK(arguments.operands.n >= c->operands.min);
            CHECK(c->actions || arguments.operands.n <= c->operands.max);
            arguments_release(&arguments);
            mem_free(settings);
        }
    }
}

TEST(an_unknown_command_suggests_the_nearest)
{
    const struct command *command;
    struct error err = {0};

    CHECK_INT(command_find("versoin", &command, &err), ASSAY_BAD_USAGE);
    CHECK_STR(err.text, "unknown command 'versoin'; did you mean 'version'?");
    CHECK(command == NULL);
    err = (struct error){0};
    CHECK_INT(command_find("xyzzy", &command, &err), ASSAY_BAD_USAGE);
    CHECK_STR(err.text, "unknown command 'xyzzy'; 'assay help' lists them");
    CHECK_INT(command_find("help", &command, &err), ASSAY_OK);
    CHECK_STR(command->name, "help");
}
