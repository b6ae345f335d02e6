/* base/text.c - the text_* part of term.h: fitting text to the screen. */
#include "base/term.h"
#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

/* Unicode 15: general categories Mn and Me of the scripts in use, and the
 * variation selectors. */
static const struct range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x05BF, 0x05BF},
    {0x05C1, 0x05C2}, {0x05C4, 0x05C5}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0670, 0x0670}, {0x06D6, 0x06DC}, {0x06DF, 0x06E4}, {0x06E7, 0x06E8},
    {0x06EA, 0x06ED}, {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0941, 0x0948},
    {0x094D, 0x094D}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20F0}, {0x302A, 0x302D},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

/* Unicode 15: East Asian width W and F, joined where only unassigned code
 * points lie between. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},
    {0x2614, 0x2615},   {0x26AA, 0x26AB},   {0x2705, 0x2705},
    {0x274C, 0x274C},   {0x2757, 0x2757},   {0x2B50, 0x2B50},
    {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6B},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF},
    {0x1B000, 0x1B2FB}, {0x1F300, 0x1F320}, {0x1F330, 0x1F335},
    {0x1F337, 0x1F37C}, {0x1F380, 0x1F393}, {0x1F3A0, 0x1F3CA},
    {0x1F3E0, 0x1F3F0}, {0x1F400, 0x1F43E}, {0x1F440, 0x1F4FC},
    {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F567}, {0x1F5FB, 0x1F64F},
    {0x1F680, 0x1F6C5}, {0x1F6D0, 0x1F6DF}, {0x1F6EB, 0x1F6FC},
    {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

/* Characters that would move the cursor, break the line or change its
 * direction: controls, separators, direction marks, invisible joiners. */
static const struct range hidden[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x00AD, 0x00AD},   {0x061C, 0x061C},
    {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

#define IS_IN(ranges, code)                                                    \
    text_is_in(ranges, sizeof ranges / sizeof *ranges, code)

static bool text_is_in(const struct range *ranges, size_t n, uint32_t code)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (code > ranges[middle].last)
            low = middle + 1;
        else if (code < ranges[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

struct glyph {
    size_t bytes;   /* 0 at the end of the text */
    size_t columns; /* 0 to 2 */
    bool is_shown;  /* otherwise '?' stands for it */
};

/* The code of a complete, well-formed character of n bytes. */
static uint32_t code_of(const char *text, size_t n)
{
    uint32_t code = (unsigned char)text[0];

    if (n > 1)
        code &= 0xFFu >> (n + 1);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3Fu);
    return code;
}

static struct glyph glyph_at(const char *text)
{
    struct glyph glyph = {.bytes = 1, .columns = 1};
    uint32_t code;
    size_t n;

    if (!text[0])
        return (struct glyph){0};
    n = utf8_length(text, 4); /* the NUL ends a truncated one */
    if (n == 0)
        return glyph;
    code = code_of(text, n);
    glyph.bytes = n;
    if (IS_IN(hidden, code))
        return glyph;
    glyph.is_shown = true;
    if (IS_IN(combining, code))
        glyph.columns = 0;
    else if (IS_IN(wide, code))
        glyph.columns = 2;
    return glyph;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    struct glyph glyph;

    while ((glyph = glyph_at(text)).bytes) {
        columns += glyph.columns;
        text += glyph.bytes;
    }
    return columns;
}

/* Writes the glyphs of [text, end) in as many columns as text_columns() says,
 * whatever the terminal can show. */
static void put_range(struct sink *sink, const struct term *term,
                      const char *text, const char *end)
{
    while (text < end) {
        struct glyph glyph = glyph_at(text);

        if (glyph.is_shown && (term->has_utf8 || glyph.bytes == 1))
            sink_write(sink, text, glyph.bytes);
        else
            sink_repeat(sink, "?", glyph.columns);
        text += glyph.bytes;
    }
}

void text_put_n(struct sink *sink, const struct term *term, const char *text,
                size_t n)
{
    put_range(sink, term, text, text + n);
}

void text_put(struct sink *sink, const struct term *term, const char *text)
{
    text_put_n(sink, term, text, strlen(text));
}

/* The end of what fits into `columns` from the start of the text; *taken is how
 * many columns it takes. */
static const char *end_of_head(const char *text, size_t columns, size_t *taken)
{
    struct glyph glyph;

    *taken = 0;
    while ((glyph = glyph_at(text)).bytes &&
           *taken + glyph.columns <= columns) {
        *taken += glyph.columns;
        text += glyph.bytes;
    }
    return text;
}

/* The start of the longest tail of the text that fits into `columns`; `has` is
 * the number of columns of the whole text. */
static const char *start_of_tail(const char *text, size_t has, size_t columns,
                                 size_t *taken)
{
    struct glyph glyph;

    *taken = has;
    while ((glyph = glyph_at(text)).bytes &&
           (*taken > columns || glyph.columns == 0)) {
        *taken -= glyph.columns;
        text += glyph.bytes;
    }
    return text;
}

void text_fit(struct sink *sink, const struct term *term, const char *text,
              size_t columns, enum text_align align)
{
    size_t has = text_columns(text), head_taken = has, tail_taken = 0;
    const char *end = text + strlen(text), *head = end, *tail = end;
    size_t padding;

    if (columns == 0)
        return;
    if (has > columns) {
        tail = start_of_tail(text, has, (columns - 1) / 2, &tail_taken);
        head = end_of_head(text, columns - 1 - tail_taken, &head_taken);
        padding = columns - 1 - head_taken - tail_taken;
    } else {
        padding = columns - has;
    }
    if (align == ALIGN_RIGHT)
        sink_repeat(sink, " ", padding);
    put_range(sink, term, text, head);
    if (has > columns)
        sink_puts(sink, term->has_utf8 ? "…" : "~");
    put_range(sink, term, tail, end);
    if (align == ALIGN_LEFT)
        sink_repeat(sink, " ", padding);
}

void text_bar(struct sink *sink, const struct term *term, double share,
              size_t columns)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double clamped = share > 0 ? fmin(share, 1) : 0; /* 0 for NaN */
    size_t eighths = (size_t)lround(clamped * (double)columns * 8);
    size_t full, used;

    if (!term->has_utf8) {
        full = (eighths + 4) / 8;
        sink_repeat(sink, "#", full);
        sink_repeat(sink, " ", columns - full);
        return;
    }
    if (clamped > 0 && eighths == 0 && columns > 0)
        eighths = 1; /* a little is not nothing */
    full = eighths / 8;
    used = full + (eighths % 8 != 0);
    sink_repeat(sink, "█", full);
    sink_puts(sink, parts[eighths % 8]);
    sink_repeat(sink, " ", columns - used);
}

void text_sparkline(struct sink *sink, const struct term *term,
                    const double *values, size_t n)
{
    static const char *const levels[] = {" ", "▁", "▂", "▃", "▄",
                                         "▅", "▆", "▇", "█"};
    double largest = 0;

    if (!term->has_utf8)
        return;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, values[i]); /* ignores NaN */
    for (size_t i = 0; i < n; i++) {
        double part = values[i] > 0 ? values[i] / largest : 0;

        sink_puts(sink, levels[(size_t)ceil(fmin(part, 1) * 8)]);
    }
}
