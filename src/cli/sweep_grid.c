/* cli/sweep_grid.c - see sweep.h: the points of a sweep. */
#include "cli/sweep.h"

#include "cli/values.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t most;
} keys[] = {[SWEEP_BATCH] = {"batch", SESSION_MAX_BATCH},
            [SWEEP_THREADS] = {"threads", 1024},
            [SWEEP_SIZE] = {"size", 10000}};

enum { n_keys = sizeof keys / sizeof *keys };

static enum assay_status sweep_grid_find_key(const char *name, size_t length,
                                             enum sweep_key *key,
                                             struct error *err)
{
    for (int i = 0; i < n_keys; i++) {
        if (strlen(keys[i].name) == length &&
            memcmp(keys[i].name, name, length) == 0) {
            *key = (enum sweep_key)i;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     "--sweep takes batch=, threads= and size=, not '%.*s'",
                     (int)length, name);
}

static enum assay_status sweep_grid_add_value(struct sweep_axis *axis,
                                              const char *text,
                                              struct error *err)
{
    int64_t most = keys[axis->key].most, value = 0;
    enum assay_status st = value_integer(text, &value, err);

    if (st)
        return st;
    if (value < 1 || value > most)
        return error_set(err, ASSAY_BAD_USAGE, "%s is not between 1 and %lld",
                         text, (long long)most);
    if (axis->n == SWEEP_MAX_VALUES)
        return error_set(err, ASSAY_BAD_USAGE, "at most %d values are allowed",
                         SWEEP_MAX_VALUES);
    axis->values[axis->n++] = value;
    return ASSAY_OK;
}

static enum assay_status sweep_read_axis(struct sweep_axis *axis,
                                         const char *word, struct error *err)
{
    const char *at = word + strcspn(word, "=");
    enum assay_status st =
        sweep_grid_find_key(word, (size_t)(at - word), &axis->key, err);

    while (!st && *at) {
        size_t length = strcspn(++at, ",");
        char text[32];

        snprintf(text, sizeof text, "%.*s", (int)length, at);
        st = sweep_grid_add_value(axis, text, err);
        if (st)
            error_context(err, "--sweep %s", keys[axis->key].name);
        at += length;
    }
    if (!st && !axis->n)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "--sweep %s has no values; write %s=1,2,4", word, word);
    return st;
}

enum assay_status sweep_read(struct sweep *sweep, const struct words *words,
                             struct error *err)
{
    *sweep = (struct sweep){.n_points = 1};
    for (size_t i = 0; i < words->n; i++) {
        struct sweep_axis *axis = &sweep->axes[sweep->n_axes];
        enum assay_status st;

        if (sweep->n_axes == SWEEP_MAX_AXES)
            return error_set(err, ASSAY_BAD_USAGE,
                             "--sweep can be given at most %d times",
                             SWEEP_MAX_AXES);
        st = sweep_read_axis(axis, words->items[i], err);
        for (size_t k = 0; !st && k < sweep->n_axes; k++) {
            if (sweep->axes[k].key == axis->key)
                st =
                    error_set(err, ASSAY_BAD_USAGE, "--sweep %s is given twice",
                              keys[axis->key].name);
        }
        if (st)
            return st;
        sweep->n_axes++;
        sweep->n_points *= axis->n;
    }
    if (sweep->n_points > SWEEP_MAX_POINTS)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--sweep makes %zu points; at most %d are allowed",
                         sweep->n_points, SWEEP_MAX_POINTS);
    return ASSAY_OK;
}

void sweep_point(const struct sweep *sweep, size_t point,
                 int64_t values[SWEEP_MAX_AXES])
{
    for (size_t i = sweep->n_axes; i-- > 0;) {
        const struct sweep_axis *axis = &sweep->axes[i];

        values[i] = axis->values[point % axis->n];
        point /= axis->n;
    }
}

const char *sweep_key_name(enum sweep_key key)
{
    return keys[key].name;
}
