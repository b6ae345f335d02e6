/* cli/options.c - see options.h. */
#include "cli/options.h"

#include "base/units.h"
#include "cli/messages.h"
#include "cli/values.h"

#include <stdio.h>
#include <string.h>

/* A command line while it is read. */
struct option_reader {
    const struct option *options;
    const char *const *words;
    size_t n_words, next;
    struct arguments *out;
    struct error *err;
};

void arguments_release(struct arguments *arguments)
{
    arena_release(&arguments->arena);
    *arguments = (struct arguments){0};
}

bool option_has_value(const struct option *option)
{
    if (option->kind == OPTION_MODE)
        return option->choices != NULL;
    return option->kind > OPTION_MODE;
}

bool option_needs_value(const struct option *option)
{
    return option_has_value(option) && option->kind != OPTION_MODE &&
           !option->implied;
}

size_t option_field_size(enum option_kind kind)
{
    switch (kind) {
    case OPTION_END:
    case OPTION_SECTION:
        return 0;
    case OPTION_FLAG:
        return sizeof(bool);
    case OPTION_MODE:
    case OPTION_CHOICE:
        return sizeof(int);
    case OPTION_TEXT:
    case OPTION_FILE:
        return sizeof(const char *);
    case OPTION_INTEGER:
        return sizeof(int64_t);
    case OPTION_SIZE:
        return sizeof(uint64_t);
    case OPTION_TIME:
    case OPTION_NUMBER:
    case OPTION_PERCENT:
        return sizeof(double);
    case OPTION_RANGE:
        return sizeof(struct range);
    case OPTION_LIST:
    case OPTION_FILES:
        return sizeof(struct words);
    }
    return 0;
}

/* ---- values ----------------------------------------------------------- */

/* The values as a list: "self, total or calls". */
static enum assay_status choices_append(const char *const *choices,
                                        struct str *out)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; choices[i] && !st; i++) {
        const char *between = choices[i + 1] ? ", " : " or ";

        st = str_printf(out, "%s%s", i ? between : "", choices[i]);
    }
    return st;
}

static enum assay_status words_add(struct option_reader *reader,
                                   struct words *words, const char *word)
{
    size_t bytes = reader->n_words * sizeof *words->items;

    /* No list can hold more than the whole command line. */
    if (!words->items) {
        words->items = arena_alloc(&reader->out->arena, bytes);
        if (!words->items)
            return error_nomem(reader->err, bytes, "the command line");
    }
    words->items[words->n++] = word;
    return ASSAY_OK;
}

static enum assay_status option_find_choice(const struct option *option,
                                            const char *text, int *index,
                                            struct error *err)
{
    struct nearest nearest = nearest_to(text);
    struct str all = {0};
    enum assay_status st;

    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *index = i;
            return ASSAY_OK;
        }
        nearest_offer(&nearest, option->choices[i]);
    }
    (void)!str_append(&all, "use ");
    (void)!choices_append(option->choices, &all);
    st = message_unknown("unknown value", &nearest, str_text(&all), err);
    str_release(&all);
    return st;
}

/* A bound in the unit that the value is written in. */
static const char *option_bound_text(const struct option *option, double bound,
                                     char text[UNITS_MAX])
{
    if (option->kind == OPTION_SIZE)
        return units_bytes(text, bound);
    if (option->kind == OPTION_TIME)
        return units_time(text, bound * 1e9);
    if (option->kind == OPTION_PERCENT)
        snprintf(text, UNITS_MAX, "%.15g%%", bound * 100);
    else
        snprintf(text, UNITS_MAX, "%.15g", bound);
    return text;
}

/* A number without a unit, short enough to be repeated. */
static bool option_is_bare(const char *text)
{
    enum { longest = 20 };

    return strlen(text) <= longest && text[strspn(text, "0123456789.")] == '\0';
}

static enum assay_status option_check_bounds(const struct option *option,
                                             const char *text, double value,
                                             struct error *err)
{
    char bound[UNITS_MAX];

    if (option->min == 0 && option->max == 0)
        return ASSAY_OK;
    if (value < option->min && option->kind == OPTION_SIZE &&
        option_is_bare(text))
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s without a unit is %s bytes; write %sGiB or %sMiB",
                         text, text, text, text);
    if (value < option->min)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s is too small; it must be at least %s", text,
                         option_bound_text(option, option->min, bound));
    if (value > option->max)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s is too large; it must be at most %s", text,
                         option_bound_text(option, option->max, bound));
    return ASSAY_OK;
}

static enum assay_status option_check_modes(const struct option_reader *reader,
                                            const struct option *option)
{
    if (option->kind != OPTION_MODE)
        return ASSAY_OK;
    for (size_t i = 0; reader->options[i].kind; i++) {
        const struct option *other = &reader->options[i];

        if (other != option && other->kind == OPTION_MODE &&
            other->offset == option->offset &&
            (reader->out->given >> i & 1) != 0)
            return error_set(reader->err, ASSAY_BAD_USAGE,
                             "--%s and --%s cannot both be given; choose one",
                             other->name, option->name);
    }
    return ASSAY_OK;
}

/* The field is an int or an enum, so it is written as bytes. mode is 0 for
 * OPTION_CHOICE. */
static enum assay_status option_store_choice(const struct option *option,
                                             const char *text, void *field,
                                             struct error *err)
{
    enum assay_status st = ASSAY_OK;
    int choice = 0;

    if (text)
        st = option_find_choice(option, text, &choice, err);
    if (st)
        return st;
    choice += option->mode;
    memcpy(field, &choice, sizeof choice);
    return ASSAY_OK;
}

static enum assay_status option_store_number(const struct option *option,
                                             const char *text, void *field,
                                             struct error *err)
{
    union {
        int64_t integer;
        uint64_t size;
        double number;
    } value;
    enum assay_status st;

    if (option->kind == OPTION_INTEGER)
        st = value_integer(text, &value.integer, err);
    else if (option->kind == OPTION_SIZE)
        st = value_size(text, &value.size, err);
    else if (option->kind == OPTION_TIME)
        st = value_time(text, &value.number, err);
    else if (option->kind == OPTION_PERCENT)
        st = value_percent(text, &value.number, err);
    else
        st = value_number(text, &value.number, err);
    if (!st)
        st = option_check_bounds(
            option, text,
            option->kind == OPTION_INTEGER ? (double)value.integer
            : option->kind == OPTION_SIZE  ? (double)value.size
                                           : value.number,
            err);
    if (!st)
        memcpy(field, &value, option_field_size(option->kind));
    return st;
}

/* text is NULL if the option was given without a value. */
static enum assay_status option_store(struct option_reader *reader,
                                      const struct option *option,
                                      const char *text)
{
    void *field = (char *)reader->out->settings + option->offset;
    struct error *err = reader->err;

    if (!text)
        text = option->implied;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return ASSAY_OK;
    case OPTION_MODE:
    case OPTION_CHOICE:
        return option_store_choice(option, text, field, err);
    case OPTION_TEXT:
    case OPTION_FILE:
        *(const char **)field = text;
        return ASSAY_OK;
    case OPTION_INTEGER:
    case OPTION_SIZE:
    case OPTION_TIME:
    case OPTION_NUMBER:
    case OPTION_PERCENT:
        return option_store_number(option, text, field, err);
    case OPTION_RANGE:
        return value_range(text, field, err);
    case OPTION_LIST:
    case OPTION_FILES:
        return words_add(reader, field, text);
    case OPTION_END:
    case OPTION_SECTION:
        break;
    }
    return ASSAY_OK;
}

/* ---- words ------------------------------------------------------------ */

static const struct option *option_find_name(const struct option_reader *reader,
                                             const char *name, size_t n)
{
    for (const struct option *o = reader->options; o->kind; o++) {
        if (o->name && strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
    }
    return NULL;
}

static const struct option *
option_find_letter(const struct option_reader *reader, char letter)
{
    for (const struct option *o = reader->options; o->kind; o++) {
        if (o->letter == letter)
            return o;
    }
    return NULL;
}

static enum assay_status option_unknown_name(struct option_reader *reader,
                                             const char *name, size_t n)
{
    char typed[64];
    struct nearest nearest = nearest_to(typed);

    if (n >= sizeof typed)
        return error_set(reader->err, ASSAY_BAD_USAGE,
                         "unknown option '--%.40s...'", name);
    memcpy(typed, name, n);
    typed[n] = '\0';
    for (const struct option *o = reader->options; o->kind; o++) {
        if (o->name)
            nearest_offer(&nearest, o->name);
    }
    nearest_offer(&nearest, "help");
    if (nearest.candidate)
        return error_set(reader->err, ASSAY_BAD_USAGE,
                         "unknown option '--%s'; did you mean '--%s'?", typed,
                         nearest.candidate);
    return error_set(reader->err, ASSAY_BAD_USAGE,
                     "unknown option '--%s'; --help lists them", typed);
}

static enum assay_status option_unknown_letter(struct option_reader *reader,
                                               char letter)
{
    const struct option *same = option_find_name(reader, &letter, 1);

    if (same)
        return error_set(reader->err, ASSAY_BAD_USAGE,
                         "unknown option '-%c'; did you mean '--%s'?", letter,
                         same->name);
    return error_set(reader->err, ASSAY_BAD_USAGE,
                     "unknown option '-%c'; --help lists them", letter);
}

static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* The word after an option that needs a value. One that begins with two dashes
 * is far more likely the next option; --name=--value still works. */
static const char *option_next_value(struct option_reader *reader)
{
    const char *word;

    if (reader->next == reader->n_words)
        return NULL;
    word = reader->words[reader->next];
    if (strncmp(word, "--", 2) == 0)
        return NULL;
    reader->next++;
    return word;
}

/* value is what was written together with the name, or NULL. */
static enum assay_status option_take(struct option_reader *reader,
                                     const struct option *option,
                                     const char *value)
{
    bool is_open = option->kind == OPTION_FILES && !value;
    size_t index = (size_t)(option - reader->options);
    enum assay_status st = option_check_modes(reader, option);

    if (st)
        return st;
    if (option->is_once && reader->out->given >> index & 1)
        return error_set(reader->err, ASSAY_BAD_USAGE,
                         "--%s is given twice; it takes one %s", option->name,
                         option->value);
    if (value && !option_has_value(option))
        return error_set(reader->err, ASSAY_BAD_USAGE, "--%s takes no value",
                         option->name);
    if (!value && option_needs_value(option)) {
        value = option_next_value(reader);
        if (!value)
            return error_set(reader->err, ASSAY_BAD_USAGE,
                             "--%s needs a value: --%s %s", option->name,
                             option->name, option->value);
    }
    st = option_store(reader, option, value);
    if (st == ASSAY_BAD_USAGE)
        error_context(reader->err, "--%s", option->name);
    while (!st && is_open && reader->next < reader->n_words &&
           !looks_like_option(reader->words[reader->next]))
        st = option_store(reader, option, reader->words[reader->next++]);
    reader->out->given |= UINT64_C(1) << index;
    return st;
}

static enum assay_status option_read_long(struct option_reader *reader,
                                          const char *name)
{
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = option_find_name(reader, name, n);

    if (option)
        return option_take(reader, option, equals ? equals + 1 : NULL);
    if (strcmp(name, "help") == 0) {
        reader->out->wants_help = true;
        return ASSAY_OK;
    }
    return option_unknown_name(reader, name, n);
}

/* The letters of one word: flags, and at most one with a value at the end. */
static enum assay_status option_read_letters(struct option_reader *reader,
                                             const char *letters)
{
    enum assay_status st = ASSAY_OK;

    for (; *letters && !st; letters++) {
        const struct option *option = option_find_letter(reader, *letters);

        if (option && option_needs_value(option) && letters[1])
            return option_take(reader, option, letters + 1);
        if (option) {
            st = option_take(reader, option, NULL);
        } else if (*letters == 'h') {
            reader->out->wants_help = true;
            return ASSAY_OK;
        } else {
            st = option_unknown_letter(reader, *letters);
        }
    }
    return st;
}

enum assay_status options_parse(const struct option *options,
                                const char *const *words, size_t n_words,
                                struct arguments *arguments, struct error *err)
{
    struct option_reader reader = {.options = options,
                                   .words = words,
                                   .n_words = n_words,
                                   .out = arguments,
                                   .err = err};
    bool are_over = false; /* the options, after "--" */
    enum assay_status st = ASSAY_OK;

    while (!st && !arguments->wants_help && reader.next < n_words) {
        const char *word = words[reader.next++];

        if (are_over || !looks_like_option(word))
            st = words_add(&reader, &arguments->operands, word);
        else if (strcmp(word, "--") == 0)
            are_over = true;
        else if (word[1] == '-')
            st = option_read_long(&reader, word + 2);
        else
            st = option_read_letters(&reader, word + 1);
    }
    return st;
}

/* ---- an option in words ----------------------------------------------- */

enum assay_status option_label(const struct option *option, struct str *out)
{
    enum assay_status st = str_printf(out, "--%s", option->name);

    if (st || !option_has_value(option))
        return st;
    if (!option_needs_value(option))
        return str_printf(out, "[=%s]", option->value);
    return str_printf(out, " %s%s", option->value,
                      option->kind == OPTION_FILES ? "..." : "");
}

enum assay_status option_sentence(const struct option *option, struct str *out)
{
    enum assay_status st = str_append(out, option->help);

    if (!st && option->kind == OPTION_CHOICE)
        st = str_append(out, ": ");
    if (!st && option->kind == OPTION_CHOICE)
        st = choices_append(option->choices, out);
    if (!st && option->kind == OPTION_LIST)
        st = str_append(out, "; may be given again");
    if (!st && option->shown_default)
        st = str_printf(out, " (default: %s)", option->shown_default);
    return st;
}
