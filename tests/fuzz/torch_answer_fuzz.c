/* Any bytes as the answer of Python: refused, or numbers that make sense. */
#include "fuzz.h"
#include "predict/torch_runner.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct torch_answer answer;
    struct error err = {0};

    if (torch_answer_read((const char *)data, n, &answer, &err)) {
        if (!err.text[0])
            __builtin_trap();
        return 0;
    }
    if (!(answer.result.latency_ms >= 0) || !(answer.result.used_mb >= 0) ||
        isinf(answer.result.used_mb) || answer.result.n_steps > 1000000)
        __builtin_trap();
    return 0;
}
