/* cli/cmd_completion.c - assay completion: a script that completes command
 * lines, for one of three shells. */
#include "cli/completion.h"

#include "cli/result.h"

#include <string.h>

static const char *const shells[] = {"bash", "fish", "zsh", NULL};
static void (*const writers[])(struct sink *sink) = {
    completion_put_bash, completion_put_fish, completion_put_zsh};

bool completion_takes_file(const struct option *option)
{
    return option->kind == OPTION_FILE || option->kind == OPTION_FILES;
}

void completion_put_quoted(struct sink *sink, const char *text,
                           const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            sink_puts(sink, "'\\''");
        else
            sink_printf(sink, "%s%c", strchr(escaped, *text) ? "\\" : "",
                        *text);
    }
}

static enum assay_status run_completion(const struct arguments *arguments,
                                        struct error *err)
{
    const char *shell = arguments->operands.items[0];
    struct result result;
    enum assay_status st;
    size_t i = 0;

    while (shells[i] && strcmp(shell, shells[i]) != 0)
        i++;
    if (!shells[i])
        return error_set(err, ASSAY_BAD_USAGE,
                         "no completion for '%s'; bash, fish and zsh are "
                         "supported",
                         shell);
    st = result_open(NULL, &result, err);
    if (st)
        return st;
    writers[i](result.sink);
    return result_close(&result, ASSAY_OK, err);
}

const struct command cmd_completion = {
    .name = "completion",
    .section = "This program",
    .purpose = "print the completion of command lines for bash, zsh or fish",
    .usage = TEXTS("completion bash|fish|zsh"),
    .operands = {.min = 1, .max = 1, .missing = "a shell", .words = shells},
    .description = TEXTS(
        "Prints a script that teaches the shell the commands, their options, "
        "the values of those and the names of the built-in models. 'make "
        "install' installs all three; otherwise load one as below."),
    .options = no_options,
    .examples = EXAMPLES({"completion bash >~/.assay.bash && . ~/.assay.bash",
                          "complete in this shell; ~/.bashrc does it in all"},
                         {"completion zsh >~/.zfunc/_assay",
                          "for zsh, with ~/.zfunc in fpath before compinit"},
                         {"completion fish "
                          ">~/.config/fish/completions/assay.fish",
                          "for fish, which finds it there"}),
    .run = run_completion,
};
