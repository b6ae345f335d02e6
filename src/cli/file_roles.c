/* cli/file_roles.c - see file_roles.h. */
#include "cli/file_roles.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

void file_roles_release(struct file_roles *roles)
{
    mem_free(roles->inputs);
    mem_free(roles->outputs);
    arena_release(&roles->arena);
    *roles = (struct file_roles){0};
}

static bool file_roles_find(const char *path, struct place *place)
{
    return path && strcmp(path, "-") != 0 && place_find(path, place);
}

static void file_roles_add(struct file_roles *roles, bool is_output,
                           struct file_role role)
{
    struct file_role **items = is_output ? &roles->outputs : &roles->inputs;
    size_t *n = is_output ? &roles->n_outputs : &roles->n_inputs;
    size_t *capacity =
        is_output ? &roles->outputs_capacity : &roles->inputs_capacity;
    struct file_role *moved =
        vec_reserve(*items, capacity, *n + 1, sizeof *moved);

    if (moved)
        *items = moved;
    role.path = arena_strdup(&roles->arena, role.path);
    role.what = arena_strdup(&roles->arena, role.what);
    if (moved && role.path && role.what)
        moved[(*n)++] = role;
    else
        roles->has_no_memory = true;
}

void file_roles_read(struct file_roles *roles, const char *path)
{
    struct file_role role = {.path = path, .what = ""};

    if (file_roles_find(path, &role.place) && role.place.is_there)
        file_roles_add(roles, false, role);
}

void file_roles_write(struct file_roles *roles, const char *what,
                      const char *path)
{
    struct file_role role = {.path = path, .what = what};

    if (file_roles_find(path, &role.place))
        file_roles_add(roles, true, role);
}

void file_roles_read_in(struct file_roles *roles, const char *folder,
                        const char *name)
{
    struct str path = {0};

    if (str_printf(&path, "%s/%s", folder, name))
        roles->has_no_memory = true;
    else
        file_roles_read(roles, path.text);
    str_release(&path);
}

void file_roles_write_in(struct file_roles *roles, const char *what,
                         const char *folder, const char *name)
{
    struct str path = {0};

    if (str_printf(&path, "%s/%s", folder, name))
        roles->has_no_memory = true;
    else
        file_roles_write(roles, what, path.text);
    str_release(&path);
}

void file_roles_write_all(struct file_roles *roles, const char *what,
                          const char *folder, const char *const *names)
{
    for (; *names; names++)
        file_roles_write_in(roles, what, folder, *names);
}

static enum assay_status file_roles_check_output(const struct file_roles *roles,
                                                 size_t at, struct error *err)
{
    const struct file_role *output = &roles->outputs[at];

    for (size_t i = 0; i < roles->n_inputs; i++) {
        const struct file_role *input = &roles->inputs[i];

        if (place_is_same(&output->place, &input->place))
            return error_set(err, ASSAY_BAD_USAGE,
                             "%s %s would replace %s, which this command "
                             "reads; name another file",
                             output->what, output->path, input->path);
    }
    for (size_t i = 0; i < at; i++) {
        const struct file_role *other = &roles->outputs[i];

        if (place_is_same(&output->place, &other->place))
            return error_set(err, ASSAY_BAD_USAGE,
                             "%s and %s both write %s; name two files",
                             other->what, output->what, output->path);
    }
    return ASSAY_OK;
}

enum assay_status file_roles_check(const struct file_roles *roles,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (roles->has_no_memory)
        return error_nomem(err, sizeof *roles->inputs, "a list of files");
    for (size_t i = 0; !st && i < roles->n_outputs; i++)
        st = file_roles_check_output(roles, i, err);
    return st;
}

enum assay_status file_roles_check_one(const char *what, const char *output,
                                       const struct words *inputs,
                                       struct error *err)
{
    struct file_roles roles = {0};
    enum assay_status st;

    file_roles_write(&roles, what, output);
    for (size_t i = 0; i < inputs->n; i++)
        file_roles_read(&roles, inputs->items[i]);
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

/* ---- a command line ----------------------------------------------------- */

static void file_roles_add_text(struct file_roles *roles,
                                const struct option *option, const char *path)
{
    struct str what = {0};

    if (option->role != ROLE_OUTPUT)
        file_roles_read(roles, path);
    else if (str_printf(&what, "--%s", option->name))
        roles->has_no_memory = true;
    else
        file_roles_write(roles, what.text, path);
    str_release(&what);
}

static void file_roles_add_option(struct file_roles *roles,
                                  const struct option *option,
                                  const void *field)
{
    bool is_named = option->role != ROLE_OF_KIND;

    if (option->kind == OPTION_FILE ||
        (option->kind == OPTION_TEXT && is_named)) {
        file_roles_add_text(roles, option, *(const char *const *)field);
    } else if (option->kind == OPTION_FILES ||
               (option->kind == OPTION_LIST && is_named)) {
        const struct words *words = field;

        for (size_t i = 0; i < words->n; i++)
            file_roles_read(roles, words->items[i]);
    }
}

enum assay_status file_roles_check_line(const struct option *options,
                                        const struct arguments *arguments,
                                        struct error *err)
{
    struct file_roles roles = {0};
    enum assay_status st;

    for (const struct option *option = options; option->kind; option++)
        file_roles_add_option(
            &roles, option, (const char *)arguments->settings + option->offset);
    for (size_t i = 0; i < arguments->operands.n; i++)
        file_roles_read(&roles, arguments->operands.items[i]);
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}
