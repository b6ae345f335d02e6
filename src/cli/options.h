/* cli/options.h - one table of options drives the parser, the help screens, the
 * manual page and the completion.
 *
 *     struct settings {
 *         int64_t depth;
 *         bool all;
 *     };
 *     static const struct option options[] = {
 *         {OPT_INTEGER("depth", "N", 0, 100), .letter = 'd',
 *          .help = "levels of the tree to show",
 *          OPTION_FIELD(struct settings, depth)},
 *         {OPT_FLAG("all"), .help = "hide nothing",
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

/* What an option takes, and the type of the field that stores it. */
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

/* Whether the value names a file that is read or written. By default those of
 * OPTION_FILE and OPTION_FILES are read. */
enum option_role { ROLE_OF_KIND, ROLE_INPUT, ROLE_OUTPUT };

struct words {
    const char **items;
    size_t n;
};

struct range {
    uint64_t first, last; /* inclusive */
};

struct option {
    const char *name; /* "depth" for --depth */
    char letter;      /* 'd' for -d; 0: none */
    enum option_kind kind;
    const char *value;   /* what the value is called: "N", "FILE" */
    const char *implied; /* stored if the value is left out, which makes it
                          * optional: --html[=FILE] */
    const char *const *choices; /* NULL ends them */
    /* OPTION_MODE options of one field exclude each other; what is stored is
     * mode plus the index of the choice: --tree is --tree=rich. */
    int mode;
    double min, max;           /* of a number or a share; both 0: any */
    bool is_once;              /* giving it twice is refused; otherwise the last
                                * one counts */
    const char *help;          /* lower case, no full stop */
    const char *shown_default; /* NULL: none worth showing */
    enum option_role role;
    unsigned actions; /* bit i: for the command's i-th action; 0: for all */
    size_t offset, field_size; /* use OPTION_FIELD */
};

#define OPTION_FIELD(type, field)                                              \
    .offset = offsetof(type, field), .field_size = sizeof(((type *)0)->field)

/* ---- how a row begins, by its kind -------------------------------------- */

#define OPT_KIND(word, type, what)                                             \
    .name = (word), .kind = (type), .value = (what)
#define OPT_BOUNDED(word, type, what, low, high)                               \
    OPT_KIND(word, type, what), .min = (low), .max = (high)

#define OPT_FLAG(word) .name = (word), .kind = OPTION_FLAG
#define OPT_MODE(word, index)                                                  \
    .name = (word), .kind = OPTION_MODE, .mode = (index)
#define OPT_TEXT(word, what)  OPT_KIND(word, OPTION_TEXT, what)
#define OPT_FILE(word, what)  OPT_KIND(word, OPTION_FILE, what)
#define OPT_LIST(word, what)  OPT_KIND(word, OPTION_LIST, what)
#define OPT_RANGE(word, what) OPT_KIND(word, OPTION_RANGE, what)
#define OPT_CHOICE(word, what, list)                                           \
    OPT_KIND(word, OPTION_CHOICE, what), .choices = (list)
#define OPT_INTEGER(word, what, low, high)                                     \
    OPT_BOUNDED(word, OPTION_INTEGER, what, low, high)
#define OPT_NUMBER(word, what, low, high)                                      \
    OPT_BOUNDED(word, OPTION_NUMBER, what, low, high)
#define OPT_PERCENT(word, what, low, high)                                     \
    OPT_BOUNDED(word, OPTION_PERCENT, what, low, high)
#define OPT_TIME(word, what, low, high)                                        \
    OPT_BOUNDED(word, OPTION_TIME, what, low, high)
#define OPT_SIZE(word, what, low, high)                                        \
    OPT_BOUNDED(word, OPTION_SIZE, what, low, high)

/* ---- rows that several tables share; they end with the field ------------ */

/* clang-format off: it takes the braces of a row for a block. */
#define OPTION_THREADS_TO(text, ...)                                           \
    {                                                                          \
        OPT_INTEGER("threads", "N", 1, 1024), .letter = 't', .help = (text),   \
                                              __VA_ARGS__                      \
    }
#define OPTION_THREADS(...)                                                    \
    OPTION_THREADS_TO("threads to compute with",                               \
                      .shown_default = "all processors assay may use",         \
                      __VA_ARGS__)

#define OPTION_DEVICE_TO(text, ...)                                            \
    {                                                                          \
        OPT_TEXT("device", "NAME"), .help = (text), __VA_ARGS__                \
    }
#define OPTION_DEVICE(...)                                                     \
    OPTION_DEVICE_TO("where to compute: cpu, cuda:0, or auto for a GPU if "    \
                     "one works; 'assay machine' lists them",                  \
                     .shown_default = "cpu", __VA_ARGS__)

#define OPTION_OUTPUT(what, text, ...)                                         \
    {                                                                          \
        OPT_FILE("output", what), .letter = 'o', .role = ROLE_OUTPUT,          \
                                  .help = (text), __VA_ARGS__                  \
    }
#define OPTION_RESULT(...)                                                     \
    OPTION_OUTPUT("FILE", "write to this file instead of standard output",     \
                  __VA_ARGS__)

#define OPTION_SEED(text, ...)                                                 \
    {                                                                          \
        OPT_INTEGER("seed", "N", 0, 0x1p53), .help = (text),                   \
                                             .shown_default = "0", __VA_ARGS__ \
    }

#define OPTION_JSON(text, ...)                                                 \
    {                                                                          \
        OPT_FLAG("json"), .help = (text), __VA_ARGS__                          \
    }

#define OPTION_FULL(...)                                                       \
    {                                                                          \
        OPT_FLAG("full"),                                                      \
            .help = "show everything, not only what fits a screen of 80x24",   \
            __VA_ARGS__                                                        \
    }

/* How a table is written. */
enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV, FORMAT_MARKDOWN };

#define OPTION_FORMATS(...)                                                    \
    {OPT_MODE("json", FORMAT_JSON), .help = "print JSON", __VA_ARGS__},        \
        {OPT_MODE("csv", FORMAT_CSV), .help = "print comma-separated values",  \
         __VA_ARGS__},                                                         \
    {                                                                          \
        OPT_MODE("md", FORMAT_MARKDOWN),                                       \
            .help = "print Markdown, for reports", __VA_ARGS__                 \
    }
/* clang-format on */

enum { OPTIONS_MAX = 64 }; /* in one table */

/* A parsed command line. Texts are borrowed from it. */
struct arguments {
    void *settings; /* the caller's, holding the defaults */
    struct words operands;
    bool wants_help; /* --help or -h; nothing after it was read */
    uint64_t given;  /* bit i: options[i] was given */
    struct arena arena;
};

void arguments_release(struct arguments *arguments); /* start from {0} */

/* Reads words as GNU programs do: options anywhere, --name value,
 * --name=value, -n value, -nvalue, letters of flags together, `--` before
 * operands that look like options. ASSAY_BAD_USAGE names the mistake and
 * what was probably meant.
 */
enum assay_status options_parse(const struct option *options,
                                const char *const *words, size_t n_words,
                                struct arguments *arguments, struct error *err);

/* Whether a value may follow the name, and whether one must. */
bool option_has_value(const struct option *option);
bool option_needs_value(const struct option *option);

/* Size of the field that a kind is stored in; 0 if it has none. */
size_t option_field_size(enum option_kind kind);

/* "--depth N", "--tree[=plain]", "--a FILE..." */
enum assay_status option_label(const struct option *option, struct str *out);
/* The help text followed by the choices and the default. */
enum assay_status option_sentence(const struct option *option, struct str *out);

#endif
