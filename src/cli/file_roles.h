/* cli/file_roles.h - what a command reads and what it writes: no file may be
 * both, and none may be written twice.
 *
 * Outputs appear by replacing what has their name. What the user named twice
 * by mistake would be gone, so it is refused before anything is measured. The
 * check of what a command line names (file_roles_check_line()) serves every
 * command; those that make names up add them and check again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_FILE_ROLES_H
#define CLI_FILE_ROLES_H

#include "base/place.h"
#include "cli/options.h"

struct file_role {
    const char *path;
    const char *what; /* of an output: "--html", "the checkpoint" */
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

/* NULL, "-" and what is no place for a file are passed over; so is an input
 * that is not there. */
void file_roles_read(struct file_roles *roles, const char *path);
void file_roles_write(struct file_roles *roles, const char *what,
                      const char *path);
/* The same of a file in a folder. */
void file_roles_read_in(struct file_roles *roles, const char *folder,
                        const char *name);
void file_roles_write_in(struct file_roles *roles, const char *what,
                         const char *folder, const char *name);
/* The names end with NULL. */
void file_roles_write_all(struct file_roles *roles, const char *what,
                          const char *folder, const char *const *names);

/* Operands and options for files are inputs; options with ROLE_OUTPUT are
 * outputs, also by their default. */
void file_roles_add_line(struct file_roles *roles, const struct option *options,
                         const struct arguments *arguments);

/* ASSAY_BAD_USAGE names the two. */
enum assay_status file_roles_check(const struct file_roles *roles,
                                   struct error *err);
enum assay_status file_roles_check_line(const struct option *options,
                                        const struct arguments *arguments,
                                        struct error *err);
/* One output and what it is made of. */
enum assay_status file_roles_check_one(const char *what, const char *output,
                                       const struct words *inputs,
                                       struct error *err);

#endif
