/* cli/campaign_merge.c - the logs of a campaign's parts as one, see
 * campaign_steps.h. */
#include "cli/campaign_steps.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/scanner.h"
#include "base/vec.h"
#include "cli/file_roles.h"
#include "cli/result.h"
#include "predict/campaign.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool merge_is_shard(const char *name)
{
    uint64_t k, n;

    return scan_word(&name, "campaign-") && scan_number(&name, SIZE_MAX, &k) &&
           scan_word(&name, "-of-") && scan_number(&name, SIZE_MAX, &n) &&
           strcmp(name, ".sqlite") == 0;
}

/* The logs of the parts in a folder. Start from {0}. */
struct shards {
    const char **paths;
    size_t n, capacity;
    struct arena arena;
};

static void shards_release(struct shards *shards)
{
    mem_free(shards->paths);
    arena_release(&shards->arena);
}

static enum assay_status shards_add(struct shards *shards, const char *folder,
                                    const char *name, struct error *err)
{
    const char **moved = vec_reserve(shards->paths, &shards->capacity,
                                     shards->n + 1, sizeof *moved);
    struct str path = {0};
    const char *kept = NULL;

    if (moved)
        shards->paths = moved;
    if (moved && !str_printf(&path, "%s/%s", folder, name))
        kept = arena_strdup(&shards->arena, path.text);
    str_release(&path);
    if (!kept)
        return error_nomem(err, strlen(folder), "a path");
    shards->paths[shards->n++] = kept;
    return ASSAY_OK;
}

/* Fails if there is nothing to join. */
static enum assay_status shards_find(struct shards *shards, const char *folder,
                                     struct error *err)
{
    DIR *open = opendir(folder);
    enum assay_status st = ASSAY_OK;
    struct dirent *entry;

    if (!open)
        return error_errno(err, errno, "opening %s", folder);
    while (!st && (entry = readdir(open))) {
        if (merge_is_shard(entry->d_name))
            st = shards_add(shards, folder, entry->d_name, err);
    }
    closedir(open);
    if (!st && !shards->n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no logs of parts (campaign-K-of-N.sqlite)",
                       folder);
    return st;
}

/* Whether each of them can be read, before anything is written. */
static enum assay_status shards_check(const struct shards *shards,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < shards->n; i++) {
        struct campaign_log *log = NULL;

        st = campaign_log_read(shards->paths[i], &log, err);
        campaign_log_close(log);
    }
    return st;
}

static enum assay_status shards_join(const struct shards *shards,
                                     struct campaign_log *log, size_t *n_tests,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < shards->n; i++) {
        size_t n_added = 0;

        st = campaign_log_join(log, shards->paths[i], &n_added, err);
        *n_tests += n_added;
    }
    return st;
}

static enum assay_status shards_check_roles(const struct shards *shards,
                                            const char *folder, const char *log,
                                            struct error *err)
{
    struct file_roles roles = {0};
    enum assay_status st;

    for (size_t i = 0; i < shards->n; i++)
        file_roles_read(&roles, shards->paths[i]);
    file_roles_write(&roles, "the log", log);
    file_roles_write_all(&roles, "a table", folder, data_folder_files);
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

/* Without trailing slashes, and short enough for a line. */
static size_t merge_path_length(const char *path)
{
    enum { most = 150 };
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n < most ? n : most;
}

enum assay_status campaign_merge(const char *folder, struct error *err)
{
    struct campaign_log *log = NULL;
    struct shards shards = {0};
    struct str path = {0};
    size_t n_tests = 0;
    char text[256];
    enum assay_status st = shards_find(&shards, folder, err);

    if (!st)
        st = shards_check(&shards, err);
    if (!st && str_printf(&path, "%s/campaign.sqlite", folder))
        st = error_nomem(err, 64, "a path");
    if (!st)
        st = shards_check_roles(&shards, folder, path.text, err);
    if (!st)
        st = campaign_log_open(path.text, &log, err);
    if (!st)
        st = shards_join(&shards, log, &n_tests, err);
    if (!st)
        st = campaign_write_csv(log, folder, err);
    campaign_log_close(log);
    str_release(&path);
    snprintf(text, sizeof text,
             "merged   %zu logs, %zu new tests\nwrote    %.*s/measurements.csv "
             "and the other files\n",
             shards.n, n_tests, (int)merge_path_length(folder), folder);
    shards_release(&shards);
    return st ? st : result_print(text, err);
}
