/* cli/file_roles.h - what a command reads and writes: no file may be both, and
 * none may be written twice.
 *
 * Outputs replace the file of their name. A file that the user named twice by
 * mistake would be lost, so that is refused before anything is measured.
 * file_roles_check_line() checks the files on the command line for every
 * command; commands that make up names add them and check again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_FILE_ROLES_H
#define CLI_FILE_ROLES_H

#include "base/place.h"
#include "cli/options.h"

struct file_role {
    const char *path;
    const char *what; /* an output: "--html", "the checkpoint" */
    struct place place;
};

/* Start from {0}. Texts are copied. */
struct file_roles {
    struct file_role *inputs, *outputs;
    size_t n_inputs, inputs_capacity, n_outputs, outputs_capacity;
    struct arena arena;
    bool has_no_memory;
};

void file_roles_release(struct file_roles *roles);

/* NULL, "-" and names that cannot be files are ignored; so are inputs that do
 * not exist. */
void file_roles_read(struct file_roles *roles, const char *path);
void file_roles_write(struct file_roles *roles, const char *what,
                      const char *path);
/* The same for a file in a folder. */
void file_roles_read_in(struct file_roles *roles, const char *folder,
                        const char *name);
void file_roles_write_in(struct file_roles *roles, const char *what,
                         const char *folder, const char *name);
/* NULL ends the names. */
void file_roles_write_all(struct file_roles *roles, const char *what,
                          const char *folder, const char *const *names);

/* ASSAY_BAD_USAGE names the two files. */
enum assay_status file_roles_check(const struct file_roles *roles,
                                   struct error *err);
/* The command line: operands and options for files are inputs; options with
 * ROLE_OUTPUT are outputs, even if they have their default. */
enum assay_status file_roles_check_line(const struct option *options,
                                        const struct arguments *arguments,
                                        struct error *err);
/* One output and the files it is made from. */
enum assay_status file_roles_check_one(const char *what, const char *output,
                                       const struct words *inputs,
                                       struct error *err);

#endif
