/* Any bytes as a fingerprint: it is read or refused, what was read predicts and
 * can be written, and nothing leaks. */
#include "base/mem.h"
#include "fuzz.h"
#include "predict/fingerprint.h"

static void look_at(const struct fingerprint *fingerprint)
{
    const struct data_set *data = fingerprint_data(fingerprint);
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            struct estimate estimate;

            if (fingerprint_has(fingerprint, (enum stage)s, (enum target)t))
                (void)fingerprint_predict(fingerprint, (enum stage)s,
                                          (enum target)t, data->descriptions, 8,
                                          &estimate, NULL);
        }
    }
    if (fingerprint_write(fingerprint, &sink, NULL))
        __builtin_trap();
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct error err = {0};
    struct fingerprint *fingerprint = NULL;
    char *text = mem_strndup(n ? (const char *)data : "", n);
    enum assay_status st;

    if (!text)
        return 0;
    st = fingerprint_read_text("fuzz", text, 1, &fingerprint, &err);
    if (!st)
        look_at(fingerprint);
    else if (!err.text[0])
        __builtin_trap();
    fingerprint_free(fingerprint);
    mem_free(text);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
