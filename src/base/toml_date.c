/* base/toml_date.c - dates and times of TOML, after RFC 3339. */
#include "base/toml_internal.h"

/* What is left of the text of a date or time. */
struct cursor {
    const char *at, *end;
};

static bool toml_date_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool toml_date_take(struct cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

/* A number of exactly so many digits within its bounds. */
static bool toml_date_take_number(struct cursor *cursor, int n_digits, int low,
                                  int high, int *value)
{
    int number = 0;

    for (int i = 0; i < n_digits; i++) {
        if (cursor->at == cursor->end || !toml_date_is_digit(*cursor->at))
            return false;
        number = number * 10 + (*cursor->at++ - '0');
    }
    *value = number;
    return number >= low && number <= high;
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month == 2 && is_leap ? 29 : days[month - 1];
}

static bool take_date(struct cursor *cursor, struct toml_time *time)
{
    return toml_date_take_number(cursor, 4, 0, 9999, &time->year) &&
           toml_date_take(cursor, '-') &&
           toml_date_take_number(cursor, 2, 1, 12, &time->month) &&
           toml_date_take(cursor, '-') &&
           toml_date_take_number(cursor, 2, 1,
                                 days_of_month(time->year, time->month),
                                 &time->day);
}

static bool take_fraction(struct cursor *cursor, int *nanosecond)
{
    int unit = 100000000;

    if (!toml_date_take(cursor, '.'))
        return true;
    if (cursor->at == cursor->end || !toml_date_is_digit(*cursor->at))
        return false;
    while (cursor->at < cursor->end && toml_date_is_digit(*cursor->at)) {
        *nanosecond += (*cursor->at++ - '0') * unit;
        unit /= 10;
    }
    return true;
}

static bool take_clock(struct cursor *cursor, struct toml_time *time)
{
    return toml_date_take_number(cursor, 2, 0, 23, &time->hour) &&
           toml_date_take(cursor, ':') &&
           toml_date_take_number(cursor, 2, 0, 59, &time->minute) &&
           toml_date_take(cursor, ':') &&
           toml_date_take_number(cursor, 2, 0, 60, &time->second) &&
           take_fraction(cursor, &time->nanosecond);
}

/* *has_offset tells whether one stands there. */
static bool take_offset(struct cursor *cursor, struct toml_time *time,
                        bool *has_offset)
{
    bool is_west = false;
    int hours, minutes;

    *has_offset = cursor->at < cursor->end;
    if (!*has_offset || toml_date_take(cursor, 'Z') ||
        toml_date_take(cursor, 'z'))
        return true;
    if (!toml_date_take(cursor, '+')) {
        is_west = toml_date_take(cursor, '-');
        if (!is_west)
            return false;
    }
    if (!toml_date_take_number(cursor, 2, 0, 23, &hours) ||
        !toml_date_take(cursor, ':') ||
        !toml_date_take_number(cursor, 2, 0, 59, &minutes))
        return false;
    time->offset_minutes = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

bool toml_is_time(const char *text, size_t n)
{
    size_t digits = 0;

    while (digits < n && toml_date_is_digit(text[digits]))
        digits++;
    return digits < n && ((digits == 4 && text[digits] == '-') ||
                          (digits == 2 && text[digits] == ':'));
}

bool toml_read_time(const char *text, size_t n, struct toml_value *value)
{
    struct cursor cursor = {text, text + n};
    struct toml_time time = {0};
    bool has_offset = false;

    if (n > 2 && text[2] == ':') {
        value->kind = TOML_LOCAL_TIME;
        if (!take_clock(&cursor, &time))
            return false;
    } else {
        if (!take_date(&cursor, &time))
            return false;
        value->kind = TOML_LOCAL_DATE;
        if (toml_date_take(&cursor, 'T') || toml_date_take(&cursor, 't') ||
            toml_date_take(&cursor, ' ')) {
            if (!take_clock(&cursor, &time) ||
                !take_offset(&cursor, &time, &has_offset))
                return false;
            value->kind =
                has_offset ? TOML_OFFSET_DATETIME : TOML_LOCAL_DATETIME;
        }
    }
    value->time = time;
    return cursor.at == cursor.end;
}
