/* cli/campaign_launch.c - a campaign's parts as Slurm jobs, see
 * campaign_steps.h. */
#include "cli/campaign_steps.h"

#include "cli/shell_quote.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A path on an #SBATCH line, which no shell reads: sbatch itself understands
 * quotes, and backslashes inside them. */
static enum assay_status launch_put_path(struct str *script, const char *path)
{
    enum assay_status st = ASSAY_OK;

    if (is_plain_word(path))
        return str_append(script, path);
    st = str_append_char(script, '"');
    for (; !st && *path; path++) {
        if (*path == '"' || *path == '\\')
            st = str_append_char(script, '\\');
        if (!st)
            st = str_append_char(script, *path);
    }
    return st ? st : str_append_char(script, '"');
}

/* Slurm expands signs in the name of an output and of its folder, and has no
 * way to escape them that works in all versions. */
static bool launch_has_signs(const struct launch *launch, const char *folder)
{
    return strpbrk(folder, "%\\") || strpbrk(launch->log_dir, "%\\");
}

static enum assay_status campaign_launch_put_head(const struct launch *launch,
                                                  const char *folder,
                                                  struct str *script)
{
    enum assay_status st =
        str_printf(script,
                   "#!/bin/sh\n#SBATCH --job-name=assay-campaign\n"
                   "#SBATCH --array=1-%zu\n#SBATCH --chdir=",
                   launch->n_shards);

    if (!st)
        st = launch_put_path(script, folder);
    if (!st)
        st = str_append(script, "\n#SBATCH --output=");
    if (!st && launch_has_signs(launch, folder))
        return str_append(script, "/dev/null\n");
    if (!st)
        st = launch_put_path(script, launch->log_dir);
    return st ? st : str_append(script, "/slurm-%a.txt\n");
}

/* If Slurm cannot, the job redirects its own output. */
static enum assay_status launch_put_output(const struct launch *launch,
                                           const char *folder,
                                           struct str *script)
{
    enum assay_status st = ASSAY_OK;

    if (!launch_has_signs(launch, folder))
        return ASSAY_OK;
    st = str_append(script, "exec >");
    if (!st)
        st = shell_quote(script, launch->log_dir);
    return st ? st
              : str_append(script,
                           "/slurm-\"$SLURM_ARRAY_TASK_ID\".txt 2>&1\n");
}

static enum assay_status launch_put_script(const struct launch *launch,
                                           const char *program,
                                           const char *folder,
                                           struct str *script)
{
    enum assay_status st = campaign_launch_put_head(launch, folder, script);

    if (!st && launch->n_threads)
        st = str_printf(script, "#SBATCH --cpus-per-task=%lld\n",
                        (long long)launch->n_threads);
    if (!st)
        st = launch_put_output(launch, folder, script);
    if (!st)
        st = str_append(script, "exec ");
    if (!st)
        st = shell_quote(script, program);
    if (!st)
        st = str_append(script, " campaign ");
    if (!st)
        st = shell_quote(script, launch->config);
    return st ? st
              : str_printf(script, " --shard \"$SLURM_ARRAY_TASK_ID/%zu\"%s\n",
                           launch->n_shards, launch->options);
}

/* A line end would start a new line in the script. */
static enum assay_status launch_check_path(const char *what, const char *path,
                                           struct error *err)
{
    for (const char *at = path; *at; at++) {
        unsigned char c = (unsigned char)*at;

        if (c < ' ' || c == 0x7f)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s has a control character (0x%02x) in its path, "
                             "which a Slurm script cannot hold; rename it",
                             what, c);
    }
    return ASSAY_OK;
}

enum assay_status launch_script(const struct launch *launch, struct str *script,
                                struct error *err)
{
    char program[PATH_MAX], folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    enum assay_status st;

    if (n < 0 || !getcwd(folder, sizeof folder))
        return error_errno(err, errno, "finding this program");
    program[n] = '\0';
    st = launch_check_path("the folder of the campaign", folder, err);
    if (!st)
        st = launch_check_path("log_dir", launch->log_dir, err);
    if (st)
        return st;
    return launch_put_script(launch, program, folder, script)
               ? error_nomem(err, script->n, "a script")
               : ASSAY_OK;
}

/* Reads a pipe to its end. */
static enum assay_status launch_read_answer(int from, struct str *answer)
{
    char buffer[256];
    ssize_t n;

    while ((n = read(from, buffer, sizeof buffer)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || str_append_n(answer, buffer, (size_t)n))
            return ASSAY_IO;
    }
    return ASSAY_OK;
}

static int campaign_launch_start(const char *path, int to, pid_t *child)
{
    char *const words[] = {(char *)"sbatch", (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc)
        return rc;
    rc = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
    if (!rc)
        rc = posix_spawnp(child, "sbatch", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

enum assay_status launch_submit(const char *path, struct str *answer,
                                struct error *err)
{
    int ends[2], status = 0, rc;
    pid_t child = 0;
    enum assay_status st;

    if (pipe(ends))
        return error_errno(err, errno, "starting sbatch");
    rc = campaign_launch_start(path, ends[1], &child);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        return error_set(err, ASSAY_NOT_FOUND,
                         "cannot start sbatch (%s); is Slurm installed? "
                         "--dry-run shows the script",
                         strerror(rc));
    }
    st = launch_read_answer(ends[0], answer);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (st || !WIFEXITED(status) || WEXITSTATUS(status))
        return error_set(err, ASSAY_IO, "sbatch refused the script %s: %.*s",
                         path, (int)strcspn(str_text(answer), "\n"),
                         str_text(answer));
    return ASSAY_OK;
}
