/* run/fact.c - facts about the machine and the settings of a run. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum assay_status fact_append(struct run *run, const char *key,
                                     char *value)
{
    const char *kept = arena_strdup(&run->text, key);

    if (!kept ||
        !vec_grow(&run->facts, &run->facts_capacity, run->n_facts + 1,
                  sizeof *run->facts) ||
        map_put_text(&run->fact_ids, key, run->n_facts))
        return ASSAY_NOMEM;
    run->facts[run->n_facts++] = (struct fact){.key = kept, .value = value};
    return ASSAY_OK;
}

enum assay_status run_fact_set(struct run *run, const char *key,
                               const char *value, struct error *err)
{
    char *copy = mem_strdup(value);
    uint64_t found;

    if (!copy)
        return error_nomem(err, strlen(value), "a fact about the run");
    if (map_find_text(&run->fact_ids, key, &found)) {
        mem_free(run->facts[found].value);
        run->facts[found].value = copy;
        return ASSAY_OK;
    }
    if (fact_append(run, key, copy)) {
        mem_free(copy);
        return error_nomem(err, strlen(key), "a fact about the run");
    }
    return ASSAY_OK;
}

enum assay_status run_fact_printf(struct run *run, struct error *err,
                                  const char *key, const char *format, ...)
{
    struct str value = {0};
    enum assay_status st;
    va_list args;

    va_start(args, format);
    st = str_vprintf(&value, format, args);
    va_end(args);
    st = st ? error_nomem(err, 1, "a fact about the run")
            : run_fact_set(run, key, str_text(&value), err);
    str_release(&value);
    return st;
}

const char *run_fact(const struct run *run, const char *key)
{
    uint64_t found;

    return map_find_text(&run->fact_ids, key, &found) ? run->facts[found].value
                                                      : NULL;
}

double run_fact_number(const struct run *run, const char *key)
{
    const char *text = run_fact(run, key);
    char *end;
    double value = text ? strtod(text, &end) : NAN;

    return text && end != text && *end == '\0' && isfinite(value) ? value : NAN;
}

double run_images_each(const struct run *run)
{
    const char *batch = run_fact(run, "settings.batch"); /* "4 images" */
    double trained = run_fact_number(run, "training.batch_images");

    if (!isnan(trained))
        return trained;
    if (batch)
        return strtod(batch, NULL) > 0 ? strtod(batch, NULL) : NAN;
    return run_fact(run, "input.photographs")
               ? 1
               : run_fact_number(run, "input.images");
}

size_t run_fact_count(const struct run *run)
{
    return run->n_facts;
}

void run_fact_at(const struct run *run, size_t i, const char **key,
                 const char **value)
{
    *key = run->facts[i].key;
    *value = run->facts[i].value;
}
