/* predict/fingerprint_read.c - reads a fingerprint, line by line.
 *
 * A line starts with a word that says what it is. Lines after a network, a part
 * or a family belong to it. */
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

struct print_reading {
    const char *name; /* of the file */
    char *at;
    size_t line;
    char *words[max_words]; /* of the line */
    size_t n_words;
    char *rest; /* after the second word, unsplit: names may have spaces */
    struct fingerprint *fingerprint;
    int n_threads;
    size_t network; /* SIZE_MAX: none yet */
    struct print_part *part;
    struct family *family;
    bool is_sorted; /* all networks and rows have been read */
    bool is_whole;
};

static enum assay_status reading_refuse(const struct print_reading *r,
                                        const char *why, struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "%s line %zu: %s", r->name, r->line,
                     why);
}

/* ---- words --------------------------------------------------------------- */

/* The next line; false at the end. */
static bool next_print_line(struct print_reading *r, const char **line)
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

static enum assay_status split_line(struct print_reading *r, char *line,
                                    struct error *err)
{
    r->n_words = 0;
    r->rest = line + strlen(line);
    while (*line) {
        if (r->n_words == 2)
            r->rest = line;
        if (r->n_words == max_words)
            return reading_refuse(r, "too many words", err);
        r->words[r->n_words++] = line;
        line += strcspn(line, " ");
        if (*line && r->n_words <= 2)
            *line++ = '\0';
        else if (*line)
            line++;
    }
    return ASSAY_OK;
}

/* Words after the second are cut only when they are asked for. */
static enum assay_status print_word(struct print_reading *r, size_t i,
                                    const char **out, struct error *err)
{
    if (i >= r->n_words)
        return reading_refuse(r, "the line is too short", err);
    *out = r->words[i];
    if (i >= 2)
        r->words[i][strcspn(r->words[i], " ")] = '\0';
    return ASSAY_OK;
}

/* Reads a number, or NAN for "-". */
static enum assay_status print_number(struct print_reading *r, size_t i,
                                      double *out, struct error *err)
{
    const char *text = "";
    enum assay_status st = print_word(r, i, &text, err);

    if (st)
        return st;
    *out = NAN;
    if (strcmp(text, "-") == 0)
        return ASSAY_OK;
    if (!csv_is_number(text))
        return reading_refuse(r, "expected a number", err);
    *out = decimal_double(text, strlen(text));
    return isfinite(*out) ? ASSAY_OK
                          : reading_refuse(r, "expected a number", err);
}

static enum assay_status print_integer(struct print_reading *r, size_t i,
                                       int64_t low, int64_t high, int64_t *out,
                                       struct error *err)
{
    const char *text = "";
    enum assay_status st = print_word(r, i, &text, err);

    if (st)
        return st;
    if (!csv_is_number(text) || !decimal_int64(text, strlen(text), out) ||
        *out < low || *out > high)
        return reading_refuse(
            r, "expected a whole number that makes sense here", err);
    return ASSAY_OK;
}

/* Finds a word in a list of names. */
static enum assay_status print_choice(struct print_reading *r, size_t i,
                                      const char *const *names, int *out,
                                      struct error *err)
{
    const char *text = "";
    enum assay_status st = print_word(r, i, &text, err);

    for (int k = 0; !st && names[k]; k++) {
        if (strcmp(names[k], text) == 0) {
            *out = k;
            return ASSAY_OK;
        }
    }
    return st ? st : reading_refuse(r, "unknown word", err);
}

/* ---- networks and rows --------------------------------------------------- */

/* The second word and all after it, as one name. */
static enum assay_status whole_name(const struct print_reading *r,
                                    struct str *out, struct error *err)
{
    return str_printf(out, "%s%s%s", r->n_words > 1 ? r->words[1] : "",
                      *r->rest ? " " : "", r->rest)
               ? error_nomem(err, 16, "a name")
               : ASSAY_OK;
}

static enum assay_status read_device_name(struct print_reading *r,
                                          struct error *err)
{
    struct str name = {0};
    enum assay_status st = whole_name(r, &name, err);

    if (st)
        return st;
    mem_free(r->fingerprint->device);
    r->fingerprint->device = name.text;
    return ASSAY_OK;
}

static enum assay_status read_machine(struct print_reading *r,
                                      struct error *err)
{
    struct str name = {0};
    enum assay_status st = whole_name(r, &name, err);

    if (!st)
        st = data_set_note_machine(&r->fingerprint->data, str_text(&name), err);
    str_release(&name);
    return st;
}

static enum assay_status read_print_framework(struct print_reading *r,
                                              struct error *err)
{
    int framework = FRAMEWORK_UNKNOWN;
    enum assay_status st =
        print_choice(r, 1, print_frameworks, &framework, err);

    r->fingerprint->framework = (enum framework)framework;
    return st;
}

static enum assay_status read_figure(struct print_reading *r, struct error *err)
{
    struct data_set *data = &r->fingerprint->data;
    const struct {
        const char *word;
        double *value;
    } figures[] = {{"lane", &data->lane},
                   {"multiprocessors", &data->multiprocessors},
                   {"capacity_mb", &data->capacity_mb},
                   {"available_mb", &data->available_mb}};

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (strcmp(r->words[0], figures[i].word) == 0)
            return print_number(r, 1, figures[i].value, err);
    }
    return reading_refuse(r, "unknown word", err);
}

static enum assay_status read_seed(struct print_reading *r, struct error *err)
{
    int64_t seed = 0;
    enum assay_status st = print_integer(r, 1, 0, INT64_MAX, &seed, err);

    r->fingerprint->seed = (uint64_t)seed;
    return st;
}

static enum assay_status read_network(struct print_reading *r,
                                      struct error *err)
{
    size_t n_before = r->fingerprint->data.n_descriptions;
    int64_t level = 0;
    enum assay_status st = print_integer(r, 1, 0, max_level, &level, err);

    if (!st && (r->is_sorted || !*r->rest))
        st = reading_refuse(r, "a network cannot be here", err);
    if (!st)
        st = data_set_describe(&r->fingerprint->data, r->rest, level,
                               &r->network, err);
    if (!st && r->network != n_before)
        st = reading_refuse(r, "duplicate network", err);
    return st;
}

static enum assay_status own_network(struct print_reading *r,
                                     struct description **out,
                                     struct error *err)
{
    if (r->network == SIZE_MAX || r->is_sorted)
        return reading_refuse(r, "this must follow a network", err);
    *out = &r->fingerprint->data.descriptions[r->network];
    return ASSAY_OK;
}

static const struct description_field *
find_count(const struct description_field *fields, const char *name)
{
    while (fields->name && strcmp(fields->name, name) != 0)
        fields++;
    return fields->name ? fields : NULL;
}

static enum assay_status read_image_count(struct print_reading *r,
                                          struct error *err)
{
    const struct description_field *field;
    struct description *own = NULL;
    double value = 0;
    enum assay_status st = own_network(r, &own, err);

    if (!st)
        st = print_number(r, 2, &value, err);
    if (!st && !(value >= 0))
        st = reading_refuse(r, "expected a count", err);
    if (st)
        return st;
    field = find_count(description_fields, r->words[1]);
    if (!field)
        field = find_count(description_walked_fields, r->words[1]);
    if (!field)
        return reading_refuse(r, "unknown count", err);
    *description_count(&own->counts, field) = value;
    return ASSAY_OK;
}

static enum assay_status read_conv(struct print_reading *r, struct error *err)
{
    enum { max_size = 1 << 24 };
    int64_t v[CONV_NUMBERS] = {0};
    struct description *own = NULL;
    struct conv_row conv;
    enum assay_status st = own_network(r, &own, err);

    for (size_t i = 0; !st && i < CONV_NUMBERS; i++)
        st = print_integer(r, i + 1, conv_least[i], max_size, &v[i], err);
    if (st)
        return st;
    if (!conv_from_numbers(v, &conv))
        return reading_refuse(r, "not a possible convolution", err);
    return description_add_conv(own, &conv, err);
}

static enum assay_status read_dense(struct print_reading *r, struct error *err)
{
    struct description *own = NULL;
    int64_t in = 0, out = 0;
    enum assay_status st = own_network(r, &own, err);

    if (!st)
        st = print_integer(r, 1, 1, INT32_MAX, &in, err);
    if (!st)
        st = print_integer(r, 2, 1, INT32_MAX, &out, err);
    return st ? st : description_add_dense(own, in, out, err);
}

static enum assay_status read_print_row(struct print_reading *r,
                                        struct error *err)
{
    static const char *const ends[] = {"passed", "failed", NULL};
    struct measurement row = {.description = r->network};
    struct description *own = NULL;
    int stage = 0, end = 0;
    enum assay_status st = own_network(r, &own, err);

    if (!st)
        st = print_choice(r, 1, stage_names, &stage, err);
    if (!st)
        st = print_number(r, 2, &row.batch, err);
    for (size_t t = 0; !st && t < N_TARGETS; t++)
        st = print_number(r, 3 + t, &row.value[t], err);
    if (!st)
        st = print_choice(r, 3 + N_TARGETS, ends, &end, err);
    if (!st && (!(row.batch >= 1) || row.value[TARGET_LATENCY] <= 0 ||
                row.value[TARGET_MEMORY] <= 0))
        st = reading_refuse(r, "not a possible row", err);
    row.stage = (enum stage)stage;
    row.is_failed = end;
    return st ? st : data_set_add_row(&r->fingerprint->data, &row, err);
}

static enum assay_status read_batches(struct print_reading *r,
                                      struct error *err)
{
    int stage = 0;
    enum assay_status st = print_choice(r, 1, stage_names, &stage, err);
    struct ranges *ranges = &r->fingerprint->ranges[stage];

    if (!st)
        st = print_number(r, 2, &ranges->least_batch, err);
    return st ? st : print_number(r, 3, &ranges->most_batch, err);
}

static enum assay_status read_range(struct print_reading *r, struct error *err)
{
    int stage = 0;
    const char *name = "";
    enum assay_status st = print_choice(r, 1, stage_names, &stage, err);
    struct ranges *ranges = &r->fingerprint->ranges[stage];

    if (!st)
        st = print_word(r, 2, &name, err);
    for (size_t f = 0; !st && f < N_FEATURES; f++) {
        if (strcmp(feature_name(f), name) != 0)
            continue;
        st = print_number(r, 3, &ranges->low[f], err);
        return st ? st : print_number(r, 4, &ranges->high[f], err);
    }
    return st ? st : reading_refuse(r, "unknown feature", err);
}

/* ---- fitted models ------------------------------------------------------ */

static enum assay_status read_print_part(struct print_reading *r,
                                         struct error *err)
{
    int stage = 0, target = 0;
    struct predictor *predictor;
    enum assay_status st = print_choice(r, 1, stage_names, &stage, err);

    if (!st)
        st = print_choice(r, 2, target_names, &target, err);
    if (!st && !r->is_sorted)
        st = fingerprint_sort_rows(r->fingerprint, err);
    if (st)
        return st;
    r->is_sorted = true;
    r->part = &r->fingerprint->parts[stage][target];
    r->family = NULL;
    predictor = &r->part->predictor;
    if (!r->part->is_there || predictor->families)
        return reading_refuse(r, "a part without rows", err);
    predictor->stage = (enum stage)stage;
    predictor->target = (enum target)target;
    predictor->physical = physical_for(&r->part->points);
    predictor->families =
        mem_array(r->part->points.n_networks + 1, sizeof *predictor->families);
    return predictor->families
               ? ASSAY_OK
               : error_nomem(err, sizeof *predictor->families, "a network");
}

static enum assay_status read_parameter(struct print_reading *r,
                                        struct physical *physical,
                                        struct error *err)
{
    double value = 0;
    enum assay_status st = print_number(r, 2, &value, err);

    if (!st && !(value > 0))
        st = reading_refuse(r, "expected a positive number", err);
    for (size_t i = 0; !st && i < physical_count(physical); i++) {
        if (strcmp(physical_name(physical, i), r->words[1]) == 0) {
            physical->log_value[i] = log(value);
            return ASSAY_OK;
        }
    }
    return st ? st : reading_refuse(r, "unknown parameter", err);
}

static enum assay_status read_physical(struct print_reading *r,
                                       struct error *err)
{
    return r->part ? read_parameter(r, &r->part->predictor.physical, err)
                   : reading_refuse(r, "this must follow a part", err);
}

static enum assay_status read_calibration(struct print_reading *r,
                                          struct error *err)
{
    static const char *const known[] = {"unknown", "known", NULL};
    struct calibration own = {0};
    int sight = 0, method = 0, is_known = 0;
    int64_t n = 0;
    enum assay_status st =
        r->part ? print_choice(r, 1, sight_names, &sight, err)
                : reading_refuse(r, "this must follow a part", err);

    if (!st)
        st = print_choice(r, 2, method_names, &method, err);
    if (!st)
        st = print_choice(r, 3, known, &is_known, err);
    if (!st)
        st = print_number(r, 4, &own.width, err);
    if (!st)
        st = print_number(r, 5, &own.distance, err);
    if (!st)
        st = print_integer(r, 6, 0, INT32_MAX, &n, err);
    if (!st)
        st = print_number(r, 7, &own.announced, err);
    if (!st)
        st = print_number(r, 8, &own.most, err);
    for (size_t m = 0; !st && m < N_METHODS; m++)
        st = print_number(r, 9 + m, &own.error[m], err);
    if (!st && sight == SIGHT_NETWORKS &&
        !method_is_for_all((enum method)method))
        st = reading_refuse(
            r,
            "this method only works for networks the fingerprint was made from",
            err);
    if (st)
        return st;
    own.method = (enum method)method;
    own.is_known = is_known;
    own.n = (size_t)n;
    r->part->calibration[sight] = own;
    return ASSAY_OK;
}

static enum assay_status read_family(struct print_reading *r, struct error *err)
{
    struct predictor *predictor = r->part ? &r->part->predictor : NULL;
    struct str name = {0};
    enum assay_status st;

    if (!predictor)
        return reading_refuse(r, "this must follow a part", err);
    st = whole_name(r, &name, err);
    if (!st)
        st = predictor_add_family(predictor, &r->part->points, name.text,
                                  &r->family, err);
    str_release(&name);
    if (!st && !r->family)
        st = reading_refuse(r, "a network without rows, or a duplicate", err);
    return st;
}

static enum assay_status need_family(const struct print_reading *r,
                                     struct error *err)
{
    return r->family ? ASSAY_OK
                     : reading_refuse(r, "this must follow a family", err);
}

static enum assay_status read_curve(struct print_reading *r, struct error *err)
{
    int64_t axis = 0;
    struct curve *curve;
    enum assay_status st = need_family(r, err);

    if (!st)
        st = print_integer(r, 1, 0, N_CURVE_AXES - 1, &axis, err);
    if (st)
        return st;
    curve = &r->family->curves[axis];
    curve->axis = (enum curve_axis)axis;
    curve->target = r->part->predictor.target;
    st = print_number(r, 2, &curve->reference_macs, err);
    if (!st && !(curve->reference_macs > 0))
        st = reading_refuse(r, "expected a positive number", err);
    for (size_t i = 0; !st && i < curve_count(curve->target, curve->axis);
         i++) {
        st = print_number(r, 3 + i, &curve->value[i], err);
        if (!st && isnan(curve->value[i]))
            st = reading_refuse(r, "expected a number", err);
    }
    return st;
}

static enum assay_status read_own(struct print_reading *r, struct error *err)
{
    enum assay_status st = need_family(r, err);

    return st ? st : read_parameter(r, &r->family->physical, err);
}

static enum assay_status read_bias(struct print_reading *r, struct error *err)
{
    struct batch_bias *bias;
    int64_t part = 0;
    double at[3] = {0};
    enum assay_status st = need_family(r, err);

    if (!st)
        st = print_integer(r, 1, 0, N_CURVE_AXES, &part, err);
    for (size_t i = 0; !st && i < 3; i++) {
        st = print_number(r, 2 + i, &at[i], err);
        if (!st && isnan(at[i]))
            st = reading_refuse(r, "expected a number", err);
    }
    if (st)
        return st;
    bias = &r->family->bias[part];
    if (bias->n == BATCH_BIAS_MAX || !(at[2] >= 0))
        return reading_refuse(r, "too many batch sizes", err);
    bias->log2_batch[bias->n] = at[0];
    bias->sum[bias->n] = at[1];
    bias->count[bias->n++] = at[2];
    return ASSAY_OK;
}

static enum assay_status read_print_end(struct print_reading *r,
                                        struct error *err)
{
    (void)err;
    r->is_whole = true;
    return ASSAY_OK;
}

/* ---- the file ------------------------------------------------------------ */

static const struct {
    const char *word;
    enum assay_status (*read)(struct print_reading *r, struct error *err);
} lines[] = {
    {"device", read_device_name},
    {"machine", read_machine},
    {"framework", read_print_framework},
    {"capacity_mb", read_figure},
    {"available_mb", read_figure},
    {"lane", read_figure},
    {"multiprocessors", read_figure},
    {"seed", read_seed},
    {"network", read_network},
    {"count", read_image_count},
    {"conv", read_conv},
    {"dense", read_dense},
    {"row", read_print_row},
    {"batches", read_batches},
    {"range", read_range},
    {"part", read_print_part},
    {"physical", read_physical},
    {"calibration", read_calibration},
    {"family", read_family},
    {"curve", read_curve},
    {"own", read_own},
    {"bias", read_bias},
    {"end", read_print_end},
};

static enum assay_status read_print_line(struct print_reading *r, char *line,
                                         struct error *err)
{
    enum assay_status st = split_line(r, line, err);

    if (st || !r->n_words)
        return st;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(lines[i].word, r->words[0]) == 0)
            return lines[i].read(r, err);
    }
    return reading_refuse(r, "unknown line", err);
}

static enum assay_status check_print_version(struct print_reading *r,
                                             struct error *err)
{
    static const char head[] = "assay fingerprint ";
    const char *line = "";
    int64_t version = 0;

    if (!next_print_line(r, &line) || strncmp(line, head, sizeof head - 1) != 0)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%s: this is not a fingerprint; 'assay fingerprint fit' makes one",
            r->name);
    line += sizeof head - 1;
    if (!csv_is_number(line) || !decimal_int64(line, strlen(line), &version) ||
        version < FINGERPRINT_OLDEST || version > FINGERPRINT_VERSION)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s: the fingerprint has version %.12s, but this "
                         "program reads versions %d and %d; fit it again from "
                         "its data",
                         r->name, line, FINGERPRINT_OLDEST,
                         FINGERPRINT_VERSION);
    return ASSAY_OK;
}

static enum assay_status grow_forests(struct print_reading *r,
                                      struct error *err)
{
    struct predictor_options growth =
        fingerprint_growth(r->fingerprint, r->n_threads);
    enum assay_status st = ASSAY_OK;
    bool has_any = false;

    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; !st && t < N_TARGETS; t++) {
            struct print_part *part = &r->fingerprint->parts[s][t];

            part->is_there = part->is_there && part->predictor.families;
            if (!part->is_there)
                continue;
            has_any = true;
            growth.needs_correction =
                part->calibration[SIGHT_LEVELS].method == METHOD_HYBRID ||
                part->calibration[SIGHT_NETWORKS].method == METHOD_HYBRID;
            st = predictor_grow(&part->predictor, &part->points, &growth, err);
        }
    }
    return st || has_any ? st
                         : error_set(err, ASSAY_BAD_INPUT,
                                     "%s: it has no fitted models", r->name);
}

static enum assay_status read_all_lines(struct print_reading *r,
                                        struct error *err)
{
    enum assay_status st = check_print_version(r, err);
    const char *line;

    while (!st && !r->is_whole && next_print_line(r, &line))
        st = read_print_line(r, (char *)line, err);
    if (!st && !r->is_whole)
        st =
            error_set(err, ASSAY_BAD_INPUT, "%s: the file is cut off", r->name);
    return st ? st : grow_forests(r, err);
}

enum assay_status fingerprint_read_text(const char *name, const char *text,
                                        int n_threads, struct fingerprint **out,
                                        struct error *err)
{
    struct print_reading r = {
        .name = name, .n_threads = n_threads, .network = SIZE_MAX};
    char *copy = mem_strdup(text);
    enum assay_status st = copy ? fingerprint_new(&r.fingerprint, err)
                                : error_nomem(err, strlen(text), name);

    *out = NULL;
    if (!st) {
        r.at = copy;
        r.fingerprint->device = mem_strdup("");
        st = r.fingerprint->device ? read_all_lines(&r, err)
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
