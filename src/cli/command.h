/* cli/command.h - what the program can do: a table of commands.
 *
 * A command is a file cmd_NAME.c with its settings, its table of options and
 * its run function, and a line in commands.c. Everything a user can read about
 * it (help screens, manual page, completion) is made from here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options.h"

/* The words of a command that are not options. */
struct operand_rule {
    size_t min, max;     /* how many; max 0: none are taken */
    const char *missing; /* "a run file": what is wanted where min are not
                          * there */
    /* What completion offers: names of files with these endings (NULL at the
     * end; an empty list: any file), or words, or commands. */
    const char *const *endings;
    const char *const *words;
    bool are_commands;
};

struct example {
    const char *line; /* without "assay "; NULL ends a list */
    const char *what;
};

struct command {
    const char *name;
    const char *section; /* of the list of commands: "runs" */
    const char *purpose; /* one line for that list, lower case, no full stop */
    const char *const *usage; /* behind "assay ", NULL at the end */
    struct operand_rule operands;
    const char *const *description; /* paragraphs, NULL at the end */
    const struct option *options;
    const struct example *examples; /* NULL: none */
    const char *exit_codes;         /* what is special; NULL: nothing */
    size_t settings_bytes;          /* of its settings; 0: it has none */
    const void *defaults;           /* settings before the options; NULL: 0 */
    /* Prints on standard output only; failures are the caller's to tell. */
    enum assay_status (*run)(const struct arguments *arguments,
                             struct error *err);
};

/* In the order of the help; NULL at the end. */
extern const struct command *const commands[];

/* ASSAY_BAD_USAGE with the nearest name where there is none like it. */
enum assay_status command_find(const char *name, const struct command **out,
                               struct error *err);

/* The exit codes of TERMINAL.md, for the help and the manual. */
struct exit_code {
    int code;
    const char *meaning; /* NULL at the end */
};
extern const struct exit_code exit_codes[];

/* No options but --help: for the commands that need none. */
extern const struct option no_options[];

extern const struct command cmd_run;
extern const struct command cmd_train;
extern const struct command cmd_fit;
extern const struct command cmd_layers;
extern const struct command cmd_metrics;
extern const struct command cmd_show;
extern const struct command cmd_report;
extern const struct command cmd_trace;
extern const struct command cmd_plot;
extern const struct command cmd_tensorboard;
extern const struct command cmd_compare;
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
