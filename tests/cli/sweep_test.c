/* The points of a sweep. */
#include "cli/sweep.h"

#include "test.h"

static struct error err;

static enum assay_status read_words(struct sweep *sweep, const char *a,
                                    const char *b)
{
    const char *items[] = {a, b};
    struct words words = {.items = items, .n = b ? 2 : 1};

    err = (struct error){0};
    return sweep_read(sweep, &words, &err);
}

TEST(the_first_axis_changes_slowest)
{
    static const int64_t want[][2] = {{1, 1}, {1, 2}, {4, 1},
                                      {4, 2}, {8, 1}, {8, 2}};
    struct sweep sweep;

    CHECK_STATUS(read_words(&sweep, "batch=1,4,8", "threads=1,2"), ASSAY_OK,
                 &err);
    CHECK_INT(sweep.n_points, 6);
    for (size_t i = 0; i < 6; i++) {
        int64_t values[SWEEP_MAX_AXES];

        sweep_point(&sweep, i, values);
        CHECK_INT(values[0], want[i][0]);
        CHECK_INT(values[1], want[i][1]);
    }
}

TEST(a_wrong_axis_is_refused_with_the_reason)
{
    static const struct {
        const char *a, *b, *text;
    } cases[] = {
        {"depth=1", NULL,
         "--sweep takes batch=, threads= and size=, not 'depth'"},
        {"batch", NULL, "--sweep batch has no values; write batch=1,2,4"},
        {"batch=", NULL, "--sweep batch: '' is not a whole number"},
        {"batch=1,,2", NULL, "--sweep batch: '' is not a whole number"},
        {"batch=0", NULL, "--sweep batch: 0 is not between 1 and 1024"},
        {"threads=2000", NULL,
         "--sweep threads: 2000 is not between 1 and 1024"},
        {"batch=1", "batch=2", "--sweep batch is given twice"},
        {"batch=1,2,3,4,5,6,7,8,9", "threads=1,2,3,4,5,6,7,8",
         "--sweep makes 72 points; at most 64 are allowed"},
        {"size=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL,
         "--sweep size: at most 16 values are allowed"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep sweep;

        CHECK_INT(read_words(&sweep, cases[i].a, cases[i].b), ASSAY_BAD_USAGE);
        CHECK_STR(err.text, cases[i].text);
    }
}
