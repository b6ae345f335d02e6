/* metrics/measured_run.c - see measured_run.h. */
#include "metrics/measured_run.h"

#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static enum assay_status run_into(const struct detect_options *options,
                                  const char *path, struct run **out,
                                  struct error *err)
{
    const struct photos no_photos = {0};
    struct detect_report report = {0};
    struct detect_options job = *options;
    enum assay_status st;

    job.run_path = path;
    job.is_random = true;
    st = detect_run(&job, &no_photos, &report, err);
    if (!st && !report.n_measured)
        st = error_set(err, ASSAY_CHECK_FAILED,
                       "stopped before anything was measured");
    if (!st)
        st = store_load(path, out, err);
    detect_report_release(&report);
    return st;
}

enum assay_status measured_run(const struct detect_options *options,
                               struct run **out, struct error *err)
{
    const char *place = getenv("TMPDIR");
    struct str folder = {0}, path = {0};
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (str_printf(&folder, "%s/assay-run-XXXXXX",
                   place && *place ? place : "/tmp"))
        st = error_nomem(err, sizeof folder, "a file name");
    if (!st && !mkdtemp(folder.text)) {
        st = error_errno(err, errno, "making a folder like %s", folder.text);
        str_clear(&folder);
    }
    if (!st && str_printf(&path, "%s/run" STORE_SUFFIX, folder.text))
        st = error_nomem(err, folder.n, "a file name");
    if (!st)
        st = run_into(options, path.text, out, err);
    if (path.n)
        unlink(path.text);
    if (folder.n)
        rmdir(folder.text);
    str_release(&path);
    str_release(&folder);
    return st;
}
