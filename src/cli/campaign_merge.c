/* cli/campaign_merge.c - see campaign_merge.h. */
#include "cli/campaign_merge.h"

#include "cli/result.h"
#include "predict/campaign.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_shard(const char *name)
{
    size_t k, n;
    int end = 0;

    return sscanf(name, "campaign-%zu-of-%zu.sqlite%n", &k, &n, &end) == 2 &&
           end && !name[end];
}

/* Fails where there is nothing to join, before anything is made. */
static enum assay_status check_folder(const char *folder, struct error *err)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    bool has_shards = false;

    if (!open)
        return error_errno(err, errno, "opening %s", folder);
    while ((entry = readdir(open)))
        has_shards |= is_shard(entry->d_name);
    closedir(open);
    return has_shards ? ASSAY_OK
                      : error_set(err, ASSAY_BAD_INPUT,
                                  "%s has no logs of parts, called "
                                  "campaign-K-of-N.sqlite",
                                  folder);
}

static enum assay_status join_folder(struct campaign_log *log,
                                     const char *folder, size_t *n_logs,
                                     size_t *n_tests, struct error *err)
{
    DIR *open = opendir(folder);
    enum assay_status st = ASSAY_OK;
    struct dirent *entry;

    if (!open)
        return error_errno(err, errno, "opening %s", folder);
    while (!st && (entry = readdir(open))) {
        struct str path = {0};
        size_t n_added = 0;

        if (!is_shard(entry->d_name))
            continue;
        st = str_printf(&path, "%s/%s", folder, entry->d_name)
                 ? error_nomem(err, 64, "a path")
                 : campaign_log_join(log, path.text, &n_added, err);
        *n_logs += 1;
        *n_tests += n_added;
        str_release(&path);
    }
    closedir(open);
    return st;
}

/* Without slashes at its end; short enough for a line. */
static size_t path_length(const char *path)
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
    struct str path = {0};
    size_t n_logs = 0, n_tests = 0;
    char text[256];
    enum assay_status st = check_folder(folder, err);

    if (!st && str_printf(&path, "%s/campaign.sqlite", folder))
        st = error_nomem(err, 64, "a path");
    if (!st)
        st = campaign_log_open(path.text, &log, err);
    if (!st)
        st = join_folder(log, folder, &n_logs, &n_tests, err);
    if (!st)
        st = campaign_write_csv(log, folder, err);
    campaign_log_close(log);
    str_release(&path);
    snprintf(text, sizeof text,
             "merged   %zu logs, %zu new tests\nwrote    %.*s/measurements.csv "
             "and the other files\n",
             n_logs, n_tests, (int)path_length(folder), folder);
    return st ? st : result_print(text, err);
}
