/* cli/campaign_launch.c - see campaign_launch.h. */
#include "cli/campaign_launch.h"

#include "cli/shell_quote.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static enum assay_status put_script(const struct launch *launch,
                                    const char *program, const char *folder,
                                    struct str *script)
{
    enum assay_status st =
        str_printf(script,
                   "#!/bin/sh\n#SBATCH --job-name=assay-campaign\n"
                   "#SBATCH --array=1-%zu\n#SBATCH --chdir=%s\n"
                   "#SBATCH --output=%s/slurm-%%a.txt\n",
                   launch->n_shards, folder, launch->log_dir);

    if (!st && launch->n_threads)
        st = str_printf(script, "#SBATCH --cpus-per-task=%lld\n",
                        (long long)launch->n_threads);
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

enum assay_status launch_script(const struct launch *launch, struct str *script,
                                struct error *err)
{
    char program[PATH_MAX], folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

    if (n < 0 || !getcwd(folder, sizeof folder))
        return error_errno(err, errno, "finding this program");
    program[n] = '\0';
    return put_script(launch, program, folder, script)
               ? error_nomem(err, script->n, "a script")
               : ASSAY_OK;
}

/* All that comes out of a pipe. */
static enum assay_status read_answer(int from, struct str *answer)
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

static int start(const char *path, int to, pid_t *child)
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
    rc = start(path, ends[1], &child);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        return error_set(err, ASSAY_NOT_FOUND,
                         "sbatch cannot be started (%s); is Slurm installed? "
                         "--dry-run shows the script",
                         strerror(rc));
    }
    st = read_answer(ends[0], answer);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (st || !WIFEXITED(status) || WEXITSTATUS(status))
        return error_set(err, ASSAY_IO, "sbatch refused the script %s: %.*s",
                         path, (int)strcspn(str_text(answer), "\n"),
                         str_text(answer));
    return ASSAY_OK;
}
