/* cli/option_text.c - an option in words, for the help and the manual. */
#include "cli/options.h"

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

static enum assay_status append_choices(const char *const *choices,
                                        struct str *out)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; choices[i] && !st; i++) {
        const char *between = choices[i + 1] ? ", " : " or ";

        st = str_printf(out, "%s%s", i ? between : ": ", choices[i]);
    }
    return st;
}

enum assay_status option_sentence(const struct option *option, struct str *out)
{
    enum assay_status st = str_append(out, option->help);

    if (!st && option->kind == OPTION_CHOICE)
        st = append_choices(option->choices, out);
    if (!st && option->kind == OPTION_LIST)
        st = str_append(out, "; may be given again");
    if (!st && option->shown_default)
        st = str_printf(out, " (default: %s)", option->shown_default);
    return st;
}
