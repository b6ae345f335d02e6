/* cli/options.h - one table of options gives the parser, the help screens, the
 * manual page and the completion.
 *
 *     struct settings {
 *         int64_t depth;
 *         bool all;
 *     };
 *     static const struct option options[] = {
 *         {.name = "depth", .letter = 'd', .kind = OPTION_INTEGER,
 *          .value = "N", .max = 100, .help = "levels of the tree to show",
 *          OPTION_FIELD(struct settings, depth)},
 *         {.name = "all", .kind = OPTION_FLAG, .help = "hide nothing",
 *          OPTION_FIELD(struct settings, all)},
 *         {.kind = OPTION_END},
 *     };
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option takes, and the type of the field that it is stored in. */
enum option_kind {
    OPTION_END,     /* closes the table */
    OPTION_SECTION, /* a title in the help screens: only help is set */
    OPTION_FLAG,    /* nothing; bool */
    OPTION_MODE,    /* nothing or one of choices; int: see mode */
    OPTION_TEXT,    /* const char * */
    OPTION_FILE,    /* const char * */
    OPTION_INTEGER, /* "12"; int64_t */
    OPTION_SIZE,    /* "64M", "1.5 GiB", "2GB"; uint64_t bytes */
    OPTION_TIME,    /* "30", "500ms", "1.5 min"; double seconds */
    OPTION_NUMBER,  /* "0.5"; double */
    OPTION_PERCENT, /* "5%"; double share: 0.05 */
    OPTION_CHOICE,  /* one of choices; int: its index */
    OPTION_RANGE,   /* "3", "3..9", "3..", "..9"; struct range */
    OPTION_LIST,    /* may be given again; struct words */
    OPTION_FILES    /* all words up to the next option; struct words */
};

/* Whether the value names a file that is read or written. Those of OPTION_FILE
 * and OPTION_FILES are read where nothing else is said. */
enum option_role { ROLE_OF_KIND, ROLE_INPUT, ROLE_OUTPUT };

struct words {
    const char **items;
    size_t n;
};

struct range {
    uint64_t first, last; /* both belong to it */
};

struct option {
    const char *name; /* "depth" for --depth */
    char letter;      /* 'd' for -d; 0: none */
    enum option_kind kind;
    const char *value;   /* what the value is called: "N", "FILE" */
    const char *implied; /* stored when the value is left out, which makes it
                          * optional: --html[=FILE] */
    const char *const *choices; /* NULL at the end */
    /* Options of one field with OPTION_MODE exclude each other; mode is what
     * is stored, plus the index of the choice: --tree is --tree=rich. */
    int mode;
    double min, max;           /* of a number or a share; both 0: any */
    bool is_once;              /* given again it is refused; else the last
                                * one counts */
    const char *help;          /* lower case, no full stop */
    const char *shown_default; /* NULL: none worth telling */
    enum option_role role;
    size_t offset, field_size; /* use OPTION_FIELD */
};

#define OPTION_FIELD(type, field)                                              \
    .offset = offsetof(type, field), .field_size = sizeof(((type *)0)->field)

/* ---- lines that several tables have; each with the field of its value ---- */

#define OPTION_THREADS(...)                                                    \
    {                                                                          \
        .name = "threads", .letter = 't', .kind = OPTION_INTEGER,              \
        .value = "N", .min = 1, .max = 1024,                                   \
        .help = "threads to compute with",                                     \
        .shown_default = "the processors assay may use", __VA_ARGS__           \
    }

#define OPTION_RESULT(...)                                                     \
    {                                                                          \
        .name = "output", .letter = 'o', .kind = OPTION_FILE, .value = "FILE", \
        .role = ROLE_OUTPUT,                                                   \
        .help = "write there instead of to standard output", __VA_ARGS__       \
    }

#define OPTION_JSON(text, ...)                                                 \
    {                                                                          \
        .name = "json", .kind = OPTION_FLAG, .help = (text), __VA_ARGS__       \
    }

/* How a table is written. */
enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV, FORMAT_MARKDOWN };

#define OPTION_FORMATS(...)                                                    \
    {.name = "json",                                                           \
     .kind = OPTION_MODE,                                                      \
     .mode = FORMAT_JSON,                                                      \
     .help = "as JSON",                                                        \
     __VA_ARGS__},                                                             \
        {.name = "csv",                                                        \
         .kind = OPTION_MODE,                                                  \
         .mode = FORMAT_CSV,                                                   \
         .help = "as comma-separated values",                                  \
         __VA_ARGS__},                                                         \
    {                                                                          \
        .name = "md", .kind = OPTION_MODE, .mode = FORMAT_MARKDOWN,            \
        .help = "as Markdown, for reports", __VA_ARGS__                        \
    }

enum { OPTIONS_MAX = 64 }; /* in one table */

/* What a command line says. Texts are borrowed from it. */
struct arguments {
    void *settings; /* the caller's, with the defaults in it */
    struct words operands;
    bool wants_help; /* --help or -h; the rest was not looked at */
    uint64_t given;  /* bit i: options[i] was given */
    struct arena arena;
};

void arguments_release(struct arguments *arguments); /* start from {0} */

/* Reads words as GNU programs do: options anywhere, --name value, --name=value,
 * -n value, -nvalue, letters of flags together, `--` before operands that look
 * like options. ASSAY_BAD_USAGE says what is wrong and what was near. */
enum assay_status options_parse(const struct option *options,
                                const char *const *words, size_t n_words,
                                struct arguments *arguments, struct error *err);

/* Whether a value may follow the name, and whether one must. */
bool option_has_value(const struct option *option);
bool option_needs_value(const struct option *option);

/* Bytes of the field that a kind is stored in; 0 for those without one. */
size_t option_field_size(enum option_kind kind);

/* "--depth N", "--tree[=plain]", "--a FILE..." */
enum assay_status option_label(const struct option *option, struct str *out);
/* The help with the choices and the default behind it. */
enum assay_status option_sentence(const struct option *option, struct str *out);

#endif
