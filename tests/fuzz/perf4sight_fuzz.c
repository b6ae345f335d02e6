/* Any bytes as a profile of perf4sight, in commas or bars: rows are taken with
 * sensible numbers or the file is refused, and nothing leaks. */
#include "base/mem.h"
#include "fuzz.h"
#include "predict/perf4sight.h"

#include <math.h>

static void describe(struct data_set *set)
{
    const struct conv_row conv = {.in = 3,
                                  .out = 8,
                                  .kernel = {1, 1},
                                  .stride = {1, 1},
                                  .groups = 1,
                                  .size = {8, 8}};
    size_t index = 0;

    data_set_begin(set);
    if (data_set_describe(set, "net", 30, &index, NULL) ||
        description_add_conv(&set->descriptions[index], &conv, NULL))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct data_set set = {0};
    struct error err = {0};
    enum assay_status st;

    describe(&set);
    st = perf4sight_read_text(&set, "net_30-gt.csv",
                              n ? (const char *)data : "", n, &err);
    if (st && !err.text[0])
        __builtin_trap();
    for (size_t i = 0; i < set.n_rows; i++) {
        const struct measurement *row = &set.rows[i];

        if (!(row->batch >= 1) || row->description >= set.n_descriptions)
            __builtin_trap();
        for (int t = 0; t < N_TARGETS; t++) {
            if (!isnan(row->value[t]) && !(row->value[t] > 0))
                __builtin_trap();
        }
    }
    data_set_release(&set);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
