/* Any bytes as comma-separated values: records are read or refused, their
 * fields can be looked at, and nothing leaks. */
#include "base/mem.h"
#include "fuzz.h"
#include "predict/csv.h"

#include <math.h>
#include <string.h>

static void look_at(const struct csv *csv)
{
    for (size_t i = 0; i < csv->n_columns; i++) {
        double number = 0;
        int64_t integer = 0;

        if (strchr(csv_field(csv, (int)i), '\n'))
            __builtin_trap();
        if (!csv_number(csv, (int)i, 0, &number, NULL) && !isfinite(number))
            __builtin_trap();
        if (!csv_integer(csv, (int)i, 1, 100, &integer, NULL) &&
            (integer < 1 || integer > 100))
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct error err = {0};
    struct csv csv = {0};
    bool more = true;
    enum assay_status st =
        csv_open_text(&csv, "fuzz", n ? (const char *)data : "", n, &err);

    while (!st && !(st = csv_next(&csv, &more, &err)) && more)
        look_at(&csv);
    if (st && !err.text[0])
        __builtin_trap();
    csv_release(&csv);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
