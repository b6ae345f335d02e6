/* run/budgets.c - how much slower a scope may get, by name or pattern. */
#include "run/compare.h"

#include "base/decimal.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/toml.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

void budgets_release(struct budgets *budgets)
{
    for (size_t i = 0; i < budgets->n; i++)
        mem_free(budgets->items[i].scope);
    mem_free(budgets->items);
    *budgets = (struct budgets){0};
}

enum assay_status budgets_add(struct budgets *budgets, const char *scope,
                              double above, struct error *err)
{
    char *kept;

    if (!(above >= 0) || !isfinite(above))
        return error_set(err, ASSAY_BAD_USAGE,
                         "a budget cannot be %g; write 0.05 or \"5%%\"", above);
    kept = scope ? mem_strdup(scope) : NULL;
    if ((scope && !kept) || !vec_grow(&budgets->items, &budgets->capacity,
                                      budgets->n + 1, sizeof *budgets->items)) {
        mem_free(kept);
        return error_nomem(err, sizeof *budgets->items, "a budget");
    }
    budgets->items[budgets->n++] =
        (struct budget){.scope = kept, .above = above};
    return ASSAY_OK;
}

/* "5%", "2.5 %". */
static bool budgets_parse_percent(const struct toml_text *text, double *above)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(text->text, digits), rest;

    if (n > 0 && text->text[n] == '.')
        n += 1 + strspn(text->text + n + 1, digits);
    rest = n + strspn(text->text + n, " ");
    if (n == 0 || text->text[n - 1] == '.' || rest + 1 != text->n ||
        text->text[rest] != '%')
        return false;
    *above = decimal_double(text->text, n) / 100;
    return isfinite(*above);
}

/* A share is below 1: a larger number was most likely meant as a percentage. */
static enum assay_status budgets_read_above(const struct toml_value *value,
                                            double *above, struct error *err)
{
    *above = -1;
    if (value->kind == TOML_STRING &&
        budgets_parse_percent(&value->string, above))
        return ASSAY_OK;
    if (value->kind == TOML_FLOAT)
        *above = value->real;
    if (value->kind == TOML_INTEGER)
        *above = (double)value->integer;
    if (*above >= 0 && *above < 1)
        return ASSAY_OK;
    return toml_complain(value, err,
                         "a budget is a percentage in quotes (\"5%%\") or a "
                         "number from 0 to below 1 (0.05)");
}

/* The path from the budget table down to a value. Tables are entered, because
 * backbone.body = 0.03 without quotes makes one. */
struct budget_walk {
    const struct toml_value *at[TOML_MAX_DEPTH + 1];
    size_t n; /* 0: the end */
};

static void budget_walk_enter(struct budget_walk *walk,
                              const struct toml_value *table)
{
    if (table->items.first && walk->n <= TOML_MAX_DEPTH)
        walk->at[walk->n++] = table->items.first;
}

static void budget_walk_next(struct budget_walk *walk)
{
    const struct toml_value *value = walk->at[walk->n - 1];

    if (value->kind == TOML_TABLE && value->items.first) {
        budget_walk_enter(walk, value);
        return;
    }
    while (walk->n > 0 && !walk->at[walk->n - 1]->next)
        walk->n--;
    if (walk->n > 0)
        walk->at[walk->n - 1] = walk->at[walk->n - 1]->next;
}

static enum assay_status budget_walk_path(const struct budget_walk *walk,
                                          struct str *path, struct error *err)
{
    for (size_t i = 0; i < walk->n; i++) {
        const struct toml_text *key = &walk->at[i]->key;

        if (memchr(key->text, '\0', key->n))
            return toml_complain(walk->at[i], err,
                                 "the name of a scope cannot have a NUL");
        if ((i > 0 && str_append_char(path, '.')) ||
            str_append(path, key->text))
            return error_nomem(err, path->n, "the path of a scope");
    }
    return ASSAY_OK;
}

static enum assay_status budgets_add_value(struct budgets *budgets,
                                           const struct budget_walk *walk,
                                           struct error *err)
{
    struct str path = {0};
    enum assay_status st;
    double above;

    st = budgets_read_above(walk->at[walk->n - 1], &above, err);
    if (!st)
        st = budget_walk_path(walk, &path, err);
    if (!st)
        st = budgets_add(budgets, str_text(&path), above, err);
    str_release(&path);
    return st;
}

static bool budget_is_default(const struct budget_walk *walk)
{
    return walk->n == 1 && strcmp(walk->at[0]->key.text, "default") == 0;
}

static enum assay_status budgets_add_table(struct budgets *budgets,
                                           const struct toml_value *table,
                                           struct error *err)
{
    const struct toml_value *value = toml_find(table, "default");
    struct budget_walk walk = {.n = 0};
    enum assay_status st = ASSAY_OK;
    double above;

    /* First, so that all others take precedence. */
    if (value) {
        st = budgets_read_above(value, &above, err);
        if (!st)
            st = budgets_add(budgets, NULL, above, err);
    }
    for (budget_walk_enter(&walk, table); !st && walk.n > 0;
         budget_walk_next(&walk)) {
        if (walk.at[walk.n - 1]->kind != TOML_TABLE &&
            !budget_is_default(&walk))
            st = budgets_add_value(budgets, &walk, err);
    }
    return st;
}

enum assay_status budgets_read(struct budgets *budgets, const char *path,
                               struct error *err)
{
    static const char *const known[] = {"budget"};
    const struct toml_value *table = NULL;
    struct toml *toml;
    enum assay_status st = toml_read_file(path, &toml, err);

    if (st)
        return st;
    st = toml_get(toml_root(toml), "budget", TOML_TABLE, &table, err);
    if (!st && !table)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no [budget] table; put budgets below a line "
                       "[budget]",
                       path);
    if (!st)
        st = toml_check_keys(toml_root(toml), known, 1, err);
    if (!st)
        st = budgets_add_table(budgets, table, err);
    toml_free(toml);
    return st;
}
