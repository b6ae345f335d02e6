/* cli/report_file.c - see report_file.h. */
#include "cli/report_file.h"

#include "cli/album.h"

static enum assay_status compare(const struct report_side *sides,
                                 struct comparison **out, struct error *err)
{
    struct compare_side a = {&sides[0].run, 1}, b = {&sides[1].run, 1};
    struct compare_options options = {0};

    return compare_new(&a, &b, &options, out, err);
}

enum assay_status report_write(const struct report_side *sides, size_t n_sides,
                               const char *folder, struct sink *sink,
                               struct error *err)
{
    struct report report = {.sides = {sides[0]}};
    struct comparison *comparison = NULL;
    struct album album = {0};
    enum assay_status st = ASSAY_OK;

    if (n_sides > 1) {
        report.sides[1] = sides[1];
        st = compare(sides, &comparison, err);
        report.comparison = comparison;
    }
    if (!st && folder)
        st = album_read(&album, folder, sides[n_sides - 1].run, err);
    if (!st) {
        report.pictures = album.pictures;
        report.n_pictures = album.n;
        st = view_html(&report, sink, err);
    }
    compare_free(comparison);
    album_release(&album);
    return st;
}
