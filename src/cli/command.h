/* cli/command.h - what the program can do: a table of commands.
 *
 * A command is a file cmd_NAME.c with its settings, its table of options and
 * its run function, and a line in commands.c. The help screens, the manual page
 * and the completion are generated from that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options.h"

/* The words of a command line that are not options. */
struct operand_rule {
    size_t min, max;     /* how many; max 0: none are taken */
    const char *missing; /* "a run file": the refusal names it if there are
                          * fewer than min */
    /* What completion offers: files with these endings (NULL ends the list; an
     * empty one means any file), or words, or commands. */
    const char *const *endings;
    const char *const *words;
    bool are_commands;
    bool are_models; /* names of built-in models, besides files */
};

/* One of several things that a command does: "show" of `assay data show PATH`.
 */
struct action {
    const char *name;  /* NULL ends a table */
    size_t n_words;    /* words after the name */
    const char *needs; /* those words: "the path of a dataset" */
    enum assay_status (*run)(const char *const *words, const void *settings,
                             struct error *err);
};

struct example {
    const char *line; /* without "assay "; NULL ends a list */
    const char *what;
};

struct command {
    const char *name;
    const char *section; /* in the list of commands: "Runs" */
    const char *purpose; /* one line for that list, lower case, no full stop */
    const char *const *usage; /* after "assay "; NULL ends it */
    struct operand_rule operands;
    const char *const *description; /* paragraphs; NULL ends them */
    const struct option *options;
    const struct example *examples; /* NULL: none */
    const char *exit_codes;         /* the special ones; NULL: none */
    size_t settings_bytes;          /* 0: it has no settings */
    const void *defaults;           /* settings before the options; NULL: 0 */
    /* Either run or actions. Both print on standard output only and leave it to
     * the caller to report a failure. */
    enum assay_status (*run)(const struct arguments *arguments,
                             struct error *err);
    const struct action *actions;
};

/* clang-format off */
/* Lists for a command, with what ends them. */
#define TEXTS(...)    (const char *const[]){__VA_ARGS__, NULL}
#define EXAMPLES(...) (const struct example[]){__VA_ARGS__, {NULL, NULL}}
#define ACTIONS(...)  (const struct action[]){__VA_ARGS__, {NULL, 0, NULL, NULL}}
/* clang-format on */

/* In the order of the help; NULL ends it. */
extern const struct command *const commands[];

/* ASSAY_BAD_USAGE suggests the nearest name. */
enum assay_status command_find(const char *name, const struct command **out,
                               struct error *err);

/* Runs the action that the first operand names. Options of another action are
 * refused: "--url is for 'fetch', not for 'list'". */
enum assay_status command_act(const struct command *command,
                              const struct arguments *arguments,
                              struct error *err);

/* The exit codes of TERMINAL.md, for the help and the manual. */
struct exit_code {
    int code;
    const char *meaning; /* NULL at the end */
};
extern const struct exit_code exit_codes[];

/* An empty table: only --help. */
extern const struct option no_options[];

extern const struct command cmd_run;
extern const struct command cmd_train;
extern const struct command cmd_fit;
extern const struct command cmd_layers;
extern const struct command cmd_metrics;
extern const struct command cmd_eval;
extern const struct command cmd_record;
extern const struct command cmd_show;
extern const struct command cmd_report;
extern const struct command cmd_serve;
extern const struct command cmd_trace;
extern const struct command cmd_plot;
extern const struct command cmd_tensorboard;
extern const struct command cmd_compare;
extern const struct command cmd_tax;
extern const struct command cmd_import;
extern const struct command cmd_fingerprint;
extern const struct command cmd_predict;
extern const struct command cmd_prune;
extern const struct command cmd_export;
extern const struct command cmd_campaign;
extern const struct command cmd_weights;
extern const struct command cmd_data;
extern const struct command cmd_machine;
extern const struct command cmd_verify;
extern const struct command cmd_ops;
extern const struct command cmd_help;
extern const struct command cmd_version;
extern const struct command cmd_completion;
extern const struct command cmd_man;

#endif
