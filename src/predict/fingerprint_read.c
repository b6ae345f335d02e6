/* predict/fingerprint_read.c - a fingerprint from its text, a line at a time.
 *
 * A line is a word that says what it is, and what belongs to it. What comes
 * behind a network, a part or a family is of that one. */
#include "predict/fingerprint.h"

#include "base/csv_text.h"
#include "base/decimal.h"
#include "base/file.h"
#include "base/mem.h"
#include "predict/csv.h"
#include "predict/fingerprint_internal.h"

#include <math.h>
#include <string.h>

enum { max_words = 24, max_file_bytes = 1 << 28, max_level = 100 };

struct reading {
    const char *name; /* of the file */
    char *at;
    size_t line;
    char *words[max_words]; /* of the line */
    size_t n_words;
    char *rest; /* behind the second word, untouched: names may have spaces */
    struct fingerprint *fingerprint;
    int n_threads;
    size_t network; /* SIZE_MAX: none yet */
    struct part *part;
    struct family *family;
    bool is_sorted; /* all networks and rows are there */
    bool is_whole;
};

static enum assay_status fingerprint_read_refuse(const struct reading *r,
                                                 const char *why,
                                                 struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "%s line %zu: %s", r->name, r->line,
                     why);
}

/* ---- words --------------------------------------------------------------- */

/* The next line that is not empty; false at the end. */
static bool fingerprint_read_next_line(struct reading *r, const char **line)
{
    char *begin = r->at;
    size_t n;

    if (!*begin)
        return false;
    n = strcspn(begin, "\n");
    r->at = begin + n + (begin[n] == '\n');
    begin[n] = '\0';
    begin[strcspn(begin, "\r")] = '\0';
    r->line++;
    *line = begin;
    return true;
}

static enum assay_status split_line(struct reading *r, char *line,
                                    struct error *err)
{
    r->n_words = 0;
    r->rest = line + strlen(line);
    while (*line) {
        if (r->n_words == 2)
            r->rest = line;
        if (r->n_words == max_words)
            return fingerprint_read_refuse(r, "too many words", err);
        r->words[r->n_words++] = line;
        line += strcspn(line, " ");
        if (*line && r->n_words <= 2)
            *line++ = '\0';
        else if (*line)
            line++;
    }
    return ASSAY_OK;
}

/* The words behind the second one are cut only once they are asked for. */
static enum assay_status word(struct reading *r, size_t i, const char **out,
                              struct error *err)
{
    if (i >= r->n_words)
        return fingerprint_read_refuse(r, "the line is too short", err);
    *out = r->words[i];
    if (i >= 2)
        r->words[i][strcspn(r->words[i], " ")] = '\0';
    return ASSAY_OK;
}

/* A number, or NAN for "-". */
static enum assay_status fingerprint_read_number(struct reading *r, size_t i,
                                                 double *out, struct error *err)
{
    const char *text = "";
    enum assay_status st = word(r, i, &text, err);

    if (st)
        return st;
    *out = NAN;
    if (strcmp(text, "-") == 0)
        return ASSAY_OK;
    if (!csv_is_number(text))
        return fingerprint_read_refuse(r, "a number is wanted", err);
    *out = decimal_double(text, strlen(text));
    return isfinite(*out)
               ? ASSAY_OK
               : fingerprint_read_refuse(r, "a number is wanted", err);
}

static enum assay_status integer(struct reading *r, size_t i, int64_t low,
                                 int64_t high, int64_t *out, struct error *err)
{
    const char *text = "";
    enum assay_status st = word(r, i, &text, err);

    if (st)
        return st;
    if (!csv_is_number(text) || !decimal_int64(text, strlen(text), out) ||
        *out < low || *out > high)
        return fingerprint_read_refuse(
            r, "a whole number is wanted that makes sense here", err);
    return ASSAY_OK;
}

/* Which of some names a word is. */
static enum assay_status choice(struct reading *r, size_t i,
                                const char *const *names, int *out,
                                struct error *err)
{
    const char *text = "";
    enum assay_status st = word(r, i, &text, err);

    for (int k = 0; !st && names[k]; k++) {
        if (strcmp(names[k], text) == 0) {
            *out = k;
            return ASSAY_OK;
        }
    }
    return st ? st
              : fingerprint_read_refuse(r, "a word that is not known", err);
}

/* ---- networks and rows --------------------------------------------------- */

static enum assay_status fingerprint_read_device(struct reading *r,
                                                 struct error *err)
{
    char *name = mem_strdup(r->n_words > 1 ? r->words[1] : "");

    if (!name)
        return error_nomem(err, 16, "the device's name");
    /* The second word and the rest are one name. */
    mem_free(r->fingerprint->device);
    r->fingerprint->device = name;
    if (*r->rest) {
        struct str whole = {0};

        if (str_printf(&whole, "%s %s", name, r->rest)) {
            str_release(&whole);
            return error_nomem(err, 16, "the device's name");
        }
        mem_free(name);
        r->fingerprint->device = mem_strdup(str_text(&whole));
        str_release(&whole);
        if (!r->fingerprint->device)
            return error_nomem(err, 16, "the device's name");
    }
    return ASSAY_OK;
}

static enum assay_status read_capacity(struct reading *r, struct error *err)
{
    return fingerprint_read_number(r, 1, &r->fingerprint->data.capacity_mb,
                                   err);
}

static enum assay_status read_available(struct reading *r, struct error *err)
{
    return fingerprint_read_number(r, 1, &r->fingerprint->data.available_mb,
                                   err);
}

static enum assay_status read_lane(struct reading *r, struct error *err)
{
    return fingerprint_read_number(r, 1, &r->fingerprint->data.lane, err);
}

static enum assay_status read_seed(struct reading *r, struct error *err)
{
    int64_t seed = 0;
    enum assay_status st = integer(r, 1, 0, INT64_MAX, &seed, err);

    r->fingerprint->seed = (uint64_t)seed;
    return st;
}

static enum assay_status read_network(struct reading *r, struct error *err)
{
    size_t n_before = r->fingerprint->data.n_descriptions;
    int64_t level = 0;
    enum assay_status st = integer(r, 1, 0, max_level, &level, err);

    if (!st && (r->is_sorted || !*r->rest))
        st = fingerprint_read_refuse(r, "a network has no place here", err);
    if (!st)
        st = data_set_describe(&r->fingerprint->data, r->rest, level,
                               &r->network, err);
    if (!st && r->network != n_before)
        st = fingerprint_read_refuse(r, "the network was there before", err);
    return st;
}

static enum assay_status
own_network(struct reading *r, struct description **out, struct error *err)
{
    if (r->network == SIZE_MAX || r->is_sorted)
        return fingerprint_read_refuse(r, "this belongs behind a network", err);
    *out = &r->fingerprint->data.descriptions[r->network];
    return ASSAY_OK;
}

static enum assay_status fingerprint_read_count(struct reading *r,
                                                struct error *err)
{
    struct description *own = NULL;
    double value = 0;
    enum assay_status st = own_network(r, &own, err);

    if (!st)
        st = fingerprint_read_number(r, 2, &value, err);
    if (!st && !(value >= 0))
        st = fingerprint_read_refuse(r, "a count is wanted", err);
    for (const struct description_field *f = description_fields; !st && f->name;
         f++) {
        if (strcmp(f->name, r->words[1]) == 0) {
            *description_count(&own->counts, f) = value;
            return ASSAY_OK;
        }
    }
    return st ? st
              : fingerprint_read_refuse(r, "a count that is not known", err);
}

static enum assay_status read_conv(struct reading *r, struct error *err)
{
    enum { n_numbers = 12, max_size = 1 << 24 };
    int64_t v[n_numbers] = {0};
    struct description *own = NULL;
    struct conv_row conv;
    enum assay_status st = own_network(r, &own, err);

    for (size_t i = 0; !st && i < n_numbers; i++)
        st = integer(r, i + 1, i == 6 || i == 7 || i == 11 ? 0 : 1, max_size,
                     &v[i], err);
    if (st)
        return st;
    conv = (struct conv_row){.in = v[0],
                             .out = v[1],
                             .kernel = {v[2], v[3]},
                             .stride = {v[4], v[5]},
                             .pad = {v[6], v[7]},
                             .groups = v[8],
                             .size = {v[9], v[10]},
                             .has_bias = v[11] != 0};
    if (!conv_out(&conv, 0) || !conv_out(&conv, 1) || conv.in % conv.groups ||
        conv.out % conv.groups)
        return fingerprint_read_refuse(r, "a convolution that cannot be", err);
    return description_add_conv(own, &conv, err);
}

static enum assay_status read_dense(struct reading *r, struct error *err)
{
    struct description *own = NULL;
    int64_t in = 0, out = 0;
    enum assay_status st = own_network(r, &own, err);

    if (!st)
        st = integer(r, 1, 1, INT32_MAX, &in, err);
    if (!st)
        st = integer(r, 2, 1, INT32_MAX, &out, err);
    return st ? st : description_add_dense(own, in, out, err);
}

static enum assay_status fingerprint_read_row(struct reading *r,
                                              struct error *err)
{
    static const char *const ends[] = {"passed", "failed", NULL};
    struct measurement row = {.description = r->network};
    struct description *own = NULL;
    int stage = 0, end = 0;
    enum assay_status st = own_network(r, &own, err);

    if (!st)
        st = choice(r, 1, stage_names, &stage, err);
    if (!st)
        st = fingerprint_read_number(r, 2, &row.batch, err);
    for (size_t t = 0; !st && t < N_TARGETS; t++)
        st = fingerprint_read_number(r, 3 + t, &row.value[t], err);
    if (!st)
        st = choice(r, 3 + N_TARGETS, ends, &end, err);
    if (!st && (!(row.batch >= 1) || row.value[TARGET_LATENCY] <= 0 ||
                row.value[TARGET_MEMORY] <= 0))
        st = fingerprint_read_refuse(r, "a row that cannot be", err);
    row.stage = (enum stage)stage;
    row.is_failed = end;
    return st ? st : data_set_add_row(&r->fingerprint->data, &row, err);
}

static enum assay_status read_batches(struct reading *r, struct error *err)
{
    int stage = 0;
    enum assay_status st = choice(r, 1, stage_names, &stage, err);
    struct ranges *ranges = &r->fingerprint->ranges[stage];

    if (!st)
        st = fingerprint_read_number(r, 2, &ranges->least_batch, err);
    return st ? st : fingerprint_read_number(r, 3, &ranges->most_batch, err);
}

static enum assay_status read_range(struct reading *r, struct error *err)
{
    int stage = 0;
    const char *name = "";
    enum assay_status st = choice(r, 1, stage_names, &stage, err);
    struct ranges *ranges = &r->fingerprint->ranges[stage];

    if (!st)
        st = word(r, 2, &name, err);
    for (size_t f = 0; !st && f < N_FEATURES; f++) {
        if (strcmp(feature_name(f), name) != 0)
            continue;
        st = fingerprint_read_number(r, 3, &ranges->low[f], err);
        return st ? st : fingerprint_read_number(r, 4, &ranges->high[f], err);
    }
    return st ? st
              : fingerprint_read_refuse(r, "a feature that is not known", err);
}

/* ---- what was fitted ----------------------------------------------------- */

static enum assay_status fingerprint_read_part(struct reading *r,
                                               struct error *err)
{
    int stage = 0, target = 0;
    struct predictor *predictor;
    enum assay_status st = choice(r, 1, stage_names, &stage, err);

    if (!st)
        st = choice(r, 2, target_names, &target, err);
    if (!st && !r->is_sorted)
        st = fingerprint_sort_rows(r->fingerprint, err);
    if (st)
        return st;
    r->is_sorted = true;
    r->part = &r->fingerprint->parts[stage][target];
    r->family = NULL;
    predictor = &r->part->predictor;
    if (!r->part->is_there || predictor->families)
        return fingerprint_read_refuse(r, "a part that its rows do not make",
                                       err);
    predictor->stage = predictor->physical.stage = (enum stage)stage;
    predictor->target = predictor->physical.target = (enum target)target;
    predictor->families =
        mem_array(r->part->points.n_networks + 1, sizeof *predictor->families);
    return predictor->families
               ? ASSAY_OK
               : error_nomem(err, sizeof *predictor->families, "a network");
}

static enum assay_status fingerprint_read_parameter(struct reading *r,
                                                    struct physical *physical,
                                                    struct error *err)
{
    double value = 0;
    enum assay_status st = fingerprint_read_number(r, 2, &value, err);

    if (!st && !(value > 0))
        st = fingerprint_read_refuse(r, "a positive number is wanted", err);
    for (size_t i = 0; !st && i < physical_count(physical->target); i++) {
        if (strcmp(physical_name(physical->target, i), r->words[1]) == 0) {
            physical->log_value[i] = log(value);
            return ASSAY_OK;
        }
    }
    return st ? st
              : fingerprint_read_refuse(r, "a parameter that is not known",
                                        err);
}

static enum assay_status read_physical(struct reading *r, struct error *err)
{
    return r->part
               ? fingerprint_read_parameter(r, &r->part->predictor.physical,
                                            err)
               : fingerprint_read_refuse(r, "this belongs behind a part", err);
}

static enum assay_status read_calibration(struct reading *r, struct error *err)
{
    static const char *const known[] = {"unknown", "known", NULL};
    struct calibration own = {0};
    int sight = 0, method = 0, is_known = 0;
    int64_t n = 0;
    enum assay_status st =
        r->part ? choice(r, 1, sight_names, &sight, err)
                : fingerprint_read_refuse(r, "this belongs behind a part", err);

    if (!st)
        st = choice(r, 2, method_names, &method, err);
    if (!st)
        st = choice(r, 3, known, &is_known, err);
    if (!st)
        st = fingerprint_read_number(r, 4, &own.width, err);
    if (!st)
        st = fingerprint_read_number(r, 5, &own.distance, err);
    if (!st)
        st = integer(r, 6, 0, INT32_MAX, &n, err);
    for (size_t m = 0; !st && m < N_METHODS; m++)
        st = fingerprint_read_number(r, 7 + m, &own.error[m], err);
    if (!st && sight == SIGHT_NETWORKS &&
        !method_is_for_all((enum method)method))
        st = fingerprint_read_refuse(
            r, "a method that is for networks it was made from", err);
    if (st)
        return st;
    own.method = (enum method)method;
    own.is_known = is_known;
    own.n = (size_t)n;
    r->part->calibration[sight] = own;
    return ASSAY_OK;
}

static enum assay_status read_family(struct reading *r, struct error *err)
{
    struct predictor *predictor = r->part ? &r->part->predictor : NULL;
    struct str name = {0};
    enum assay_status st;

    if (!predictor)
        return fingerprint_read_refuse(r, "this belongs behind a part", err);
    if (str_printf(&name, "%s%s%s", r->n_words > 1 ? r->words[1] : "",
                   *r->rest ? " " : "", r->rest))
        st = error_nomem(err, 16, "a network");
    else
        st = predictor_add_family(predictor, &r->part->points, str_text(&name),
                                  &r->family, err);
    str_release(&name);
    if (!st && !r->family)
        st = fingerprint_read_refuse(
            r,
            "a network that is not among the rows, or was there "
            "before",
            err);
    return st;
}

static enum assay_status need_family(const struct reading *r, struct error *err)
{
    return r->family ? ASSAY_OK
                     : fingerprint_read_refuse(
                           r, "this belongs behind a family", err);
}

static enum assay_status read_curve(struct reading *r, struct error *err)
{
    int64_t axis = 0;
    struct curve *curve;
    enum assay_status st = need_family(r, err);

    if (!st)
        st = integer(r, 1, 0, N_CURVE_AXES - 1, &axis, err);
    if (st)
        return st;
    curve = &r->family->curves[axis];
    curve->axis = (enum curve_axis)axis;
    curve->target = r->part->predictor.target;
    st = fingerprint_read_number(r, 2, &curve->reference_macs, err);
    if (!st && !(curve->reference_macs > 0))
        st = fingerprint_read_refuse(r, "a positive number is wanted", err);
    for (size_t i = 0; !st && i < curve_count(curve->target, curve->axis);
         i++) {
        st = fingerprint_read_number(r, 3 + i, &curve->value[i], err);
        if (!st && isnan(curve->value[i]))
            st = fingerprint_read_refuse(r, "a number is wanted", err);
    }
    return st;
}

static enum assay_status read_own(struct reading *r, struct error *err)
{
    enum assay_status st = need_family(r, err);

    return st ? st : fingerprint_read_parameter(r, &r->family->physical, err);
}

static enum assay_status fingerprint_read_bias(struct reading *r,
                                               struct error *err)
{
    struct batch_bias *bias;
    int64_t part = 0;
    double at[3] = {0};
    enum assay_status st = need_family(r, err);

    if (!st)
        st = integer(r, 1, 0, N_CURVE_AXES, &part, err);
    for (size_t i = 0; !st && i < 3; i++) {
        st = fingerprint_read_number(r, 2 + i, &at[i], err);
        if (!st && isnan(at[i]))
            st = fingerprint_read_refuse(r, "a number is wanted", err);
    }
    if (st)
        return st;
    bias = &r->family->bias[part];
    if (bias->n == BATCH_BIAS_MAX || !(at[2] >= 0))
        return fingerprint_read_refuse(r, "more batch sizes than there can be",
                                       err);
    bias->log2_batch[bias->n] = at[0];
    bias->sum[bias->n] = at[1];
    bias->count[bias->n++] = at[2];
    return ASSAY_OK;
}

static enum assay_status fingerprint_read_end(struct reading *r,
                                              struct error *err)
{
    (void)err;
    r->is_whole = true;
    return ASSAY_OK;
}

/* ---- the file ------------------------------------------------------------ */

static const struct {
    const char *word;
    enum assay_status (*read)(struct reading *r, struct error *err);
} lines[] = {
    {"device", fingerprint_read_device},
    {"capacity_mb", read_capacity},
    {"available_mb", read_available},
    {"lane", read_lane},
    {"seed", read_seed},
    {"network", read_network},
    {"count", fingerprint_read_count},
    {"conv", read_conv},
    {"dense", read_dense},
    {"row", fingerprint_read_row},
    {"batches", read_batches},
    {"range", read_range},
    {"part", fingerprint_read_part},
    {"physical", read_physical},
    {"calibration", read_calibration},
    {"family", read_family},
    {"curve", read_curve},
    {"own", read_own},
    {"bias", fingerprint_read_bias},
    {"end", fingerprint_read_end},
};

static enum assay_status fingerprint_read_line(struct reading *r, char *line,
                                               struct error *err)
{
    enum assay_status st = split_line(r, line, err);

    if (st || !r->n_words)
        return st;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(lines[i].word, r->words[0]) == 0)
            return lines[i].read(r, err);
    }
    return fingerprint_read_refuse(r, "a line that is not known", err);
}

static enum assay_status fingerprint_read_check_version(struct reading *r,
                                                        struct error *err)
{
    static const char head[] = "assay fingerprint ";
    const char *line = "";
    int64_t version = 0;

    if (!fingerprint_read_next_line(r, &line) ||
        strncmp(line, head, sizeof head - 1) != 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s: this is no fingerprint; 'assay fingerprint fit' "
                         "makes one",
                         r->name);
    line += sizeof head - 1;
    if (!csv_is_number(line) || !decimal_int64(line, strlen(line), &version) ||
        version != FINGERPRINT_VERSION)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s: a fingerprint of version %.12s; this program "
                         "reads version %d: fit it again from its data",
                         r->name, line, FINGERPRINT_VERSION);
    return ASSAY_OK;
}

static bool uses(const struct part *part, enum method method)
{
    return part->calibration[SIGHT_LEVELS].method == method ||
           part->calibration[SIGHT_NETWORKS].method == method;
}

static enum assay_status grow_forests(struct reading *r, struct error *err)
{
    struct predictor_options growth =
        fingerprint_growth(r->fingerprint, r->n_threads);
    enum assay_status st = ASSAY_OK;
    bool has_any = false;

    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; !st && t < N_TARGETS; t++) {
            struct part *part = &r->fingerprint->parts[s][t];

            part->is_there = part->is_there && part->predictor.families;
            if (!part->is_there)
                continue;
            has_any = true;
            growth.needs_correction = uses(part, METHOD_HYBRID);
            st = predictor_grow(&part->predictor, &part->points, &growth, err);
        }
    }
    return st || has_any ? st
                         : error_set(err, ASSAY_BAD_INPUT,
                                     "%s: nothing was fitted in it", r->name);
}

static enum assay_status fingerprint_read_all(struct reading *r,
                                              struct error *err)
{
    enum assay_status st = fingerprint_read_check_version(r, err);
    const char *line;

    while (!st && !r->is_whole && fingerprint_read_next_line(r, &line))
        st = fingerprint_read_line(r, (char *)line, err);
    if (!st && !r->is_whole)
        st = error_set(err, ASSAY_BAD_INPUT, "%s: the file ends in the middle",
                       r->name);
    return st ? st : grow_forests(r, err);
}

enum assay_status fingerprint_read_text(const char *name, const char *text,
                                        int n_threads, struct fingerprint **out,
                                        struct error *err)
{
    struct reading r = {
        .name = name, .n_threads = n_threads, .network = SIZE_MAX};
    char *copy = mem_strdup(text);
    enum assay_status st = copy ? fingerprint_new(&r.fingerprint, err)
                                : error_nomem(err, strlen(text), name);

    *out = NULL;
    if (!st) {
        r.at = copy;
        r.fingerprint->device = mem_strdup("");
        st = r.fingerprint->device ? fingerprint_read_all(&r, err)
                                   : error_nomem(err, 1, name);
        if (st)
            fingerprint_free(r.fingerprint);
        else
            *out = r.fingerprint;
    }
    mem_free(copy);
    return st;
}

enum assay_status fingerprint_read(const char *path, int n_threads,
                                   struct fingerprint **out, struct error *err)
{
    struct str text = {0};
    enum assay_status st = file_check_input(path, err);

    *out = NULL;
    if (!st)
        st = file_read(path, max_file_bytes, &text, err);
    if (!st)
        st = fingerprint_read_text(path, str_text(&text), n_threads, out, err);
    str_release(&text);
    return st;
}
