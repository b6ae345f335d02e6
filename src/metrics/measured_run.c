/* metrics/measured_run.c - see measured_run.h. */
#include "metrics/measured_run.h"

enum assay_status measured_run(const struct detect_options *options,
                               struct run **out, struct error *err)
{
    const struct photos no_photos = {0};
    struct detect_report report = {0};
    struct detect_options job = *options;
    enum assay_status st;

    *out = NULL;
    job.run_path = NULL;
    job.is_random = true;
    st = detect_run(&job, &no_photos, &report, err);
    if (!st && !report.n_measured)
        st = error_set(err, ASSAY_CHECK_FAILED,
                       "stopped before anything was measured");
    if (!st) {
        *out = report.run;
        report.run = NULL;
    }
    detect_report_release(&report);
    return st;
}
