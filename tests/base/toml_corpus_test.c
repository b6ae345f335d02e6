/* The public TOML test suite: valid files read as their tagged JSON says,
 * invalid ones are refused. */
#include "base/decimal.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/toml.h"
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_bytes = 1 << 20 };

static const char *const type_names[] = {
    [TOML_STRING] = "string",
    [TOML_INTEGER] = "integer",
    [TOML_FLOAT] = "float",
    [TOML_BOOL] = "bool",
    [TOML_OFFSET_DATETIME] = "datetime",
    [TOML_LOCAL_DATETIME] = "datetime-local",
    [TOML_LOCAL_DATE] = "date-local",
    [TOML_LOCAL_TIME] = "time-local",
};

static enum json_token next_token(struct json_reader *reader)
{
    struct error err = {0};
    enum json_token token;

    CHECK_STATUS(json_next(reader, &token, &err), ASSAY_OK, &err);
    return token;
}

static void keep_text(const struct json_reader *reader, struct str *out)
{
    size_t n;
    const char *text = json_text(reader, &n);

    str_clear(out);
    CHECK_INT(str_append_n(out, text, n), ASSAY_OK);
}

/* Trailing zeros in a fraction of a second mean nothing. */
static void trim_fraction(char *text)
{
    char *point = strchr(text, '.');
    char *end, *from;

    if (!point)
        return;
    end = point + 1 + strspn(point + 1, "0123456789");
    from = end;
    while (from[-1] == '0')
        from--;
    if (from[-1] == '.')
        from--;
    memmove(from, end, strlen(end) + 1);
}

static void print_time(const struct toml_value *value, char *out, size_t size)
{
    const struct toml_time *time = &value->time;
    int minutes = time->offset_minutes, n = 0;

    if (value->kind != TOML_LOCAL_TIME)
        n = snprintf(out, size, "%04d-%02d-%02d%s", time->year, time->month,
                     time->day, value->kind == TOML_LOCAL_DATE ? "" : "T");
    if (value->kind == TOML_LOCAL_DATE)
        return;
    n += snprintf(out + n, size - (size_t)n, "%02d:%02d:%02d.%09d", time->hour,
                  time->minute, time->second, time->nanosecond);
    if (value->kind == TOML_OFFSET_DATETIME && minutes == 0)
        snprintf(out + n, size - (size_t)n, "Z");
    else if (value->kind == TOML_OFFSET_DATETIME)
        snprintf(out + n, size - (size_t)n, "%c%02d:%02d",
                 minutes < 0 ? '-' : '+', abs(minutes) / 60, abs(minutes) % 60);
    trim_fraction(out);
}

static bool same_float(double got, const char *want)
{
    if (strcmp(want, "nan") == 0)
        return isnan(got);
    if (strcmp(want, "inf") == 0 || strcmp(want, "+inf") == 0)
        return got == INFINITY;
    if (strcmp(want, "-inf") == 0)
        return got == -INFINITY;
    return got == decimal_double(want, strlen(want));
}

static bool same_scalar(const struct toml_value *value, struct str *want)
{
    char text[96] = "";

    switch (value->kind) {
    case TOML_STRING:
        return value->string.n == want->n &&
               memcmp(value->string.text, str_text(want), want->n) == 0;
    case TOML_FLOAT:
        return same_float(value->real, want->text);
    case TOML_BOOL:
        return strcmp(want->text, value->boolean ? "true" : "false") == 0;
    case TOML_INTEGER:
        snprintf(text, sizeof text, "%" PRId64, value->integer);
        return strcmp(want->text, text) == 0;
    case TOML_OFFSET_DATETIME:
    case TOML_LOCAL_DATETIME:
    case TOML_LOCAL_DATE:
    case TOML_LOCAL_TIME:
        print_time(value, text, sizeof text);
        trim_fraction(want->text);
        return strcmp(want->text, text) == 0;
    case TOML_ARRAY:
    case TOML_TABLE:
        break;
    }
    return false;
}

/* {"type": "integer", "value": "42"}, after its brace. */
static bool compare_scalar(struct json_reader *reader,
                           const struct toml_value *value)
{
    struct str type = {0}, want = {0};
    bool is_same;

    while (next_token(reader) == JSON_KEY) {
        bool is_type = strcmp(json_text(reader, NULL), "type") == 0;

        CHECK_INT(next_token(reader), JSON_STRING);
        keep_text(reader, is_type ? &type : &want);
    }
    is_same = strcmp(str_text(&type), type_names[value->kind]) == 0 &&
              same_scalar(value, &want);
    if (!is_same)
        print_error("not the %s %s\n", str_text(&type), str_text(&want));
    str_release(&type);
    str_release(&want);
    return is_same;
}

static const struct toml_value *find(const struct toml_value *table,
                                     const struct str *key)
{
    const struct toml_value *value = table->items.first;

    while (value && (value->key.n != key->n ||
                     memcmp(value->key.text, str_text(key), key->n) != 0))
        value = value->next;
    return value;
}

static bool compare(struct json_reader *reader, const struct toml_value *value,
                    enum json_token token);

static bool compare_table(struct json_reader *reader,
                          const struct toml_value *table)
{
    struct str key = {0};
    bool is_same = true;
    size_t n = 0;

    while (is_same && next_token(reader) == JSON_KEY) {
        const struct toml_value *value;

        keep_text(reader, &key);
        value = find(table, &key);
        is_same = value && compare(reader, value, next_token(reader));
        if (!is_same)
            print_error("at key %s\n", str_text(&key));
        n++;
    }
    str_release(&key);
    return is_same && n == table->items.n;
}

static bool compare_array(struct json_reader *reader,
                          const struct toml_value *array)
{
    const struct toml_value *item = array->items.first;
    enum json_token token;

    while ((token = next_token(reader)) != JSON_ARRAY_END) {
        if (!item || !compare(reader, item, token))
            return false;
        item = item->next;
    }
    return !item;
}

static bool compare(struct json_reader *reader, const struct toml_value *value,
                    enum json_token token)
{
    if (value->kind == TOML_ARRAY)
        return token == JSON_ARRAY_BEGIN && compare_array(reader, value);
    if (token != JSON_OBJECT_BEGIN)
        return false;
    return value->kind == TOML_TABLE ? compare_table(reader, value)
                                     : compare_scalar(reader, value);
}

static bool reads_as_json(const struct toml *toml, const char *json_path)
{
    struct error err = {0};
    struct str text = {0};
    struct json_reader *reader;
    bool is_same;

    CHECK_STATUS(file_read(json_path, max_bytes, &text, &err), ASSAY_OK, &err);
    json_reader_new_text(str_text(&text), text.n, &reader, &err);
    is_same = compare(reader, toml_root(toml), next_token(reader));
    json_reader_free(reader);
    str_release(&text);
    return is_same;
}

static bool passes(const char *folder, const char *name)
{
    bool is_valid = strncmp(name, "valid/", 6) == 0, is_right;
    char path[1400];
    struct error err = {0};
    struct toml *toml;
    enum assay_status st;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    st = toml_read_file(path, &toml, &err);
    if (!is_valid) {
        is_right = st == ASSAY_BAD_INPUT && strstr(err.text, ": line ");
    } else {
        memcpy(path + strlen(path) - strlen("toml"), "json", strlen("json"));
        is_right = st == ASSAY_OK && reads_as_json(toml, path);
    }
    if (!is_right)
        print_error("%s: %s\n", name, err.text[0] ? err.text : "read wrongly");
    toml_free(toml);
    return is_right;
}

TEST(the_public_corpus_for_toml_1_0_passes)
{
    const char *list = test_shared("toml-test/files-toml-1.0.0");
    char folder[1024], name[256];
    int n = 0, n_failed = 0;
    long before = mem_live();
    FILE *file;

    if (!list)
        SKIP("toml-test: ../shared/data/toml-test is not there");
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(list, '/') - list),
             list);
    file = fopen(list, "r");
    CHECK(file != NULL);
    while (fgets(name, sizeof name, file)) {
        name[strcspn(name, "\n")] = '\0';
        if (strlen(name) < 5 || strcmp(name + strlen(name) - 5, ".toml") != 0)
            continue;
        n++;
        n_failed += !passes(folder, name);
    }
    fclose(file);
    print_message("toml-test: %d files, %d failed\n", n, n_failed);
    CHECK(n > 600);
    CHECK_INT(n_failed, 0);
    CHECK_INT(mem_live(), before);
}
