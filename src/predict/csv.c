/* predict/csv.c - see csv.h. */
#include "predict/csv.h"

#include "base/csv_text.h"
#include "base/decimal.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

enum { max_file_bytes = 1 << 28 };

void csv_release(struct csv *csv)
{
    str_release(&csv->name);
    str_release(&csv->text);
    arena_release(&csv->names);
    *csv = (struct csv){0};
}

/* ---- records ------------------------------------------------------------ */

/* Removes the quotes of a field, in place. Returns what follows it, or NULL if
 * the closing quote is missing. */
static char *unquote(char *from)
{
    char *to = from++;

    for (;; from++) {
        if (!*from || *from == '\n')
            return NULL;
        if (*from != '"') {
            *to++ = *from;
        } else if (from[1] == '"') {
            *to++ = '"';
            from++;
        } else {
            break;
        }
    }
    *to = '\0';
    return from + 1;
}

/* Splits the line at csv->at, in place. */
static enum assay_status csv_split(struct csv *csv, const char **fields,
                                   size_t *n, struct error *err)
{
    const char separator = csv->separator ? csv->separator : ',';
    const char ends[] = {separator, '\n', '\0'};
    char *at = csv->text.text + csv->at;
    char end = separator;

    csv->line++;
    for (*n = 0; end == separator; (*n)++) {
        char *begin = at;

        if (*n == CSV_MAX_COLUMNS)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s line %zu: more than %d fields",
                             str_text(&csv->name), csv->line, CSV_MAX_COLUMNS);
        if (*begin == '"' && !(at = unquote(begin)))
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s line %zu: missing closing quote",
                             str_text(&csv->name), csv->line);
        at += strcspn(at, ends);
        end = *at;
        if (end)
            *at++ = '\0';
        if (end != separator)
            begin[strcspn(begin, "\r")] = '\0';
        fields[*n] = csv_meant(begin);
    }
    csv->at = (size_t)(at - csv->text.text);
    return ASSAY_OK;
}

static enum assay_status csv_read_head(struct csv *csv, struct error *err)
{
    enum assay_status st;

    if (csv->text.n != strlen(str_text(&csv->text)))
        return error_set(err, ASSAY_BAD_INPUT, "%s: this is not text",
                         str_text(&csv->name));
    if (!csv->text.n)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s: empty; it must have a line of column names",
                         str_text(&csv->name));
    st = csv_split(csv, csv->columns, &csv->n_columns, err);
    for (size_t i = 0; !st && i < csv->n_columns; i++) {
        csv->columns[i] = arena_strdup(&csv->names, csv->columns[i]);
        if (!csv->columns[i])
            st = error_nomem(err, 16, "the names of columns");
    }
    return st;
}

enum assay_status csv_open_text(struct csv *csv, const char *name,
                                const char *text, size_t n, struct error *err)
{
    if (str_append(&csv->name, name) || str_append_n(&csv->text, text, n))
        return error_nomem(err, n, name);
    return csv_read_head(csv, err);
}

enum assay_status csv_open(struct csv *csv, const char *path, struct error *err)
{
    enum assay_status st = str_append(&csv->name, path);

    if (st)
        return error_nomem(err, strlen(path), "a file name");
    st = file_read(path, max_file_bytes, &csv->text, err);
    return st ? st : csv_read_head(csv, err);
}

enum assay_status csv_next(struct csv *csv, bool *more, struct error *err)
{
    const char *text = csv->text.text;
    enum assay_status st;
    size_t n;

    while (text[csv->at] == '\n' || text[csv->at] == '\r') {
        csv->line += text[csv->at] == '\n';
        csv->at++;
    }
    *more = text[csv->at] != '\0';
    if (!*more)
        return ASSAY_OK;
    st = csv_split(csv, csv->fields, &n, err);
    if (!st && n != csv->n_columns)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s line %zu: %zu fields, but %zu columns are named",
                       str_text(&csv->name), csv->line, n, csv->n_columns);
    return st;
}

/* ---- columns ------------------------------------------------------------ */

int csv_find(const struct csv *csv, const char *column)
{
    for (size_t i = 0; i < csv->n_columns; i++) {
        if (strcmp(csv->columns[i], column) == 0)
            return (int)i;
    }
    return -1;
}

enum assay_status csv_need(const struct csv *csv, const char *column,
                           int *place, struct error *err)
{
    *place = csv_find(csv, column);
    return *place >= 0 ? ASSAY_OK
                       : error_set(err, ASSAY_BAD_INPUT, "%s: no column '%s'",
                                   str_text(&csv->name), column);
}

const char *csv_field(const struct csv *csv, int place)
{
    return place < 0 ? "" : csv->fields[place];
}

static enum assay_status csv_refuse(const struct csv *csv, int place,
                                    const char *wanted, struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s line %zu, column %s: '%.40s' is not %s",
                     str_text(&csv->name), csv->line, csv->columns[place],
                     csv->fields[place], wanted);
}

enum assay_status csv_number(const struct csv *csv, int place, double missing,
                             double *out, struct error *err)
{
    const char *text = csv_field(csv, place);
    double value = missing;

    if (*text) {
        if (!csv_is_number(text))
            return csv_refuse(csv, place, "a number", err);
        value = decimal_double(text, strlen(text));
        if (!isfinite(value))
            return csv_refuse(csv, place, "a finite number", err);
    }
    *out = value;
    return ASSAY_OK;
}

enum assay_status csv_integer(const struct csv *csv, int place, int64_t low,
                              int64_t high, int64_t *out, struct error *err)
{
    const char *text = csv_field(csv, place);
    int64_t value;

    if (!csv_is_number(text) || !decimal_int64(text, strlen(text), &value))
        return csv_refuse(csv, place, "a whole number", err);
    if (value < low || value > high)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%s line %zu, column %s: %lld is not from %lld to %lld",
            str_text(&csv->name), csv->line, csv->columns[place],
            (long long)value, (long long)low, (long long)high);
    *out = value;
    return ASSAY_OK;
}
