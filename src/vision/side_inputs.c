/* vision/side_inputs.c - see side_inputs.h. */
#include "vision/side_inputs.h"

#include "base/decimal.h"
#include "base/mem.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

/* ---- meanings ------------------------------------------------------------ */

static const struct {
    const char *name;
    enum side_meaning meaning;
} side_names[] = {
    {"orig_target_sizes", SIDE_WIDTH_HEIGHT}, /* RT-DETR, D-FINE, DEIM */
    {"orig_size", SIDE_WIDTH_HEIGHT},
    {"orig_sizes", SIDE_WIDTH_HEIGHT},
    {"image_shape", SIDE_HEIGHT_WIDTH}, /* YOLOv3 of the ONNX project */
    {"im_shape", SIDE_RESIZED},         /* PaddleDetection */
    {"scale_factor", SIDE_SCALES},
    {"im_info", SIDE_INFO},    /* Detectron */
    {"pixel_mask", SIDE_ONES}, /* Hugging Face's DETR */
};

/* Whether the input has as many numbers as the meaning, of a type for them. */
static bool side_fits(const struct side_input *side, enum side_meaning meaning)
{
    return (meaning == SIDE_ONES ||
            side->each == (meaning == SIDE_INFO ? 3 : 2)) &&
           (side->dtype == DTYPE_F32 || side->dtype == DTYPE_F64 ||
            side->dtype == DTYPE_I64 || side->dtype == DTYPE_I32);
}

void side_input_init(struct side_input *side, const char *name,
                     enum dtype dtype, const struct shape *shape, int64_t batch)
{
    size_t n = 0;
    bool has_batch = shape->rank > 1 && batch > 0 && shape->dims[0] == batch;

    *side = (struct side_input){.name = name,
                                .dtype = dtype,
                                .shape = *shape,
                                .n_images = has_batch ? (size_t)batch : 1};
    if (shape_elements(shape, &n))
        side->each = n / side->n_images;
    for (size_t i = 0; i < sizeof side_names / sizeof *side_names; i++) {
        if (strcmp(side_names[i].name, name) == 0 &&
            side_fits(side, side_names[i].meaning))
            side->meaning = side_names[i].meaning;
    }
}

void side_input_release(struct side_input *side)
{
    mem_free(side->numbers);
    side->numbers = NULL;
}

bool side_input_is_known(const struct side_input *side)
{
    return side->numbers || side->meaning;
}

/* ---- the user's numbers -------------------------------------------------- */

/* Doubles hold whole numbers exactly up to 2^53. */
static bool side_find_range(enum dtype dtype, double *low, double *high)
{
    static const struct {
        enum dtype dtype;
        double low, high;
    } ranges[] = {
        {DTYPE_BOOL, 0, 1},         {DTYPE_I8, -128, 127},
        {DTYPE_U8, 0, 255},         {DTYPE_I16, -32768, 32767},
        {DTYPE_U16, 0, 65535},      {DTYPE_I32, -0x1p31, 0x1p31 - 1},
        {DTYPE_U32, 0, 0x1p32 - 1}, {DTYPE_I64, -0x1p53, 0x1p53},
        {DTYPE_U64, 0, 0x1p53},     {DTYPE_I4, -8, 7},
        {DTYPE_U4, 0, 15},          {DTYPE_I2, -2, 1},
        {DTYPE_U2, 0, 3},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (ranges[i].dtype != dtype)
            continue;
        *low = ranges[i].low;
        *high = ranges[i].high;
        return true;
    }
    return false;
}

static bool side_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *side_skip_digits(const char *text)
{
    while (side_is_digit(*text))
        text++;
    return text;
}

/* [+-]digits[.digits][e[+-]digits]; 0 if the text does not begin so. */
static size_t side_number_length(const char *text)
{
    const char *at = text + (*text == '-' || *text == '+');
    const char *digits = at;

    at = side_skip_digits(at);
    if (at == digits)
        return 0;
    if (at[0] == '.' && side_is_digit(at[1]))
        at = side_skip_digits(at + 1);
    if (at[0] == 'e' || at[0] == 'E') {
        const char *power = at + 1 + (at[1] == '-' || at[1] == '+');

        if (side_is_digit(*power))
            at = side_skip_digits(power);
    }
    return (size_t)(at - text);
}

static bool side_read_number(enum dtype dtype, const char **at, double *number)
{
    size_t n = side_number_length(*at);
    bool is_true = strncmp(*at, "true", 4) == 0;

    if (dtype == DTYPE_BOOL && (is_true || strncmp(*at, "false", 5) == 0)) {
        *number = is_true;
        *at += is_true ? 4 : 5;
        return true;
    }
    *number = n ? decimal_double(*at, n) : 0;
    *at += n;
    return n && isfinite(*number);
}

static enum assay_status side_check_number(const struct side_input *side,
                                           double number, struct error *err)
{
    double low, high;

    if (!side_find_range(side->dtype, &low, &high))
        return ASSAY_OK;
    if (number != floor(number))
        return error_set(err, ASSAY_BAD_USAGE,
                         "%g is not a whole number, and the input is %s",
                         number, dtype_name(side->dtype));
    if (number < low || number > high)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%.17g is outside of %s, which goes from %.17g to "
                         "%.17g",
                         number, dtype_name(side->dtype), low, high);
    return ASSAY_OK;
}

/* Reads up to `room` numbers; counts the rest. */
static enum assay_status side_read_numbers(const struct side_input *side,
                                           const char *text, double *numbers,
                                           size_t room, size_t *n,
                                           struct error *err)
{
    const char *at = text;
    enum assay_status st = ASSAY_OK;

    for (*n = 0; !st; at++) {
        double number;

        if (!side_read_number(side->dtype, &at, &number) ||
            (*at && *at != 'x' && *at != ','))
            return error_set(err, ASSAY_BAD_USAGE,
                             "'%s' is not a list of numbers such as 640x640 "
                             "or 0.5,0.25",
                             text);
        st = side_check_number(side, number, err);
        if (*n < room)
            numbers[*n] = number;
        ++*n;
        if (!*at)
            break;
    }
    return st;
}

static enum assay_status side_refuse_count(const struct side_input *side,
                                           size_t n, struct error *err)
{
    size_t all = side->each * side->n_images;
    char text[64];

    shape_text(&side->shape, text, sizeof text);
    if (all == 1)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%zu numbers, but the input is a single %s", n,
                         dtype_name(side->dtype));
    return error_set(err, ASSAY_BAD_USAGE,
                     "%zu numbers, but the input is %s %s: give 1 for all, or "
                     "%zu%s",
                     n, text, dtype_name(side->dtype), side->each,
                     side->n_images > 1 ? " for each image" : "");
}

enum assay_status side_input_give(struct side_input *side, const char *text,
                                  struct error *err)
{
    size_t n = 0, all = side->each * side->n_images;
    double *numbers;
    enum assay_status st;

    if (side->dtype == DTYPE_SEQUENCE)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the input is a list of tensors, which cannot be "
                         "given");
    numbers = mem_array(all, sizeof *numbers);
    st = numbers ? side_read_numbers(side, text, numbers, all, &n, err)
                 : error_nomem(err, all * sizeof *numbers, "an input");
    if (!st && n != 1 && n != side->each && n != all)
        st = side_refuse_count(side, n, err);
    if (st) {
        mem_free(numbers);
        return st;
    }
    for (size_t i = n; i < all; i++)
        numbers[i] = numbers[i % n];
    side_input_release(side);
    side->numbers = numbers;
    return ASSAY_OK;
}

enum assay_status side_input_refuse(const struct side_input *side,
                                    struct error *err)
{
    char text[64];

    return error_set(err, ASSAY_BAD_USAGE,
                     "input '%s' (%s %s) needs a value besides the "
                     "photograph; give it with --set %s=%s",
                     side->name, shape_text(&side->shape, text, sizeof text),
                     dtype_name(side->dtype), side->name,
                     side->each == 2 ? "640x640" : "1");
}

/* ---- elements ------------------------------------------------------------ */

enum { most_said = 3 };

/* What a known input says of a photograph. */
static void side_tell(enum side_meaning meaning, const struct recipe *recipe,
                      int width, int height, double said[most_said])
{
    struct placement place = recipe_place(recipe, width, height);

    said[2] = place.y_scale;
    switch (meaning) {
    case SIDE_WIDTH_HEIGHT:
        said[0] = width;
        said[1] = height;
        break;
    case SIDE_HEIGHT_WIDTH:
        said[0] = height;
        said[1] = width;
        break;
    case SIDE_RESIZED:
    case SIDE_INFO:
        said[0] = place.height;
        said[1] = place.width;
        break;
    case SIDE_SCALES:
        said[0] = place.y_scale;
        said[1] = place.x_scale;
        break;
    case SIDE_UNKNOWN:
    case SIDE_ONES:
        break;
    }
}

void side_input_write(const struct side_input *side,
                      const struct recipe *recipe, int width, int height,
                      size_t at, void *data)
{
    size_t first = side->n_images > 1 ? at * side->each : 0;
    size_t bytes = dtype_bytes(side->dtype);
    char *to = (char *)data + first * bytes;
    const double one = 1;
    double said[most_said] = {0};

    if (side->numbers) {
        convert_elements(DTYPE_F64, side->numbers + first, side->dtype, to,
                         side->each);
    } else if (side->meaning == SIDE_ONES) {
        for (size_t i = 0; i < side->each; i++)
            convert_elements(DTYPE_F64, &one, side->dtype, to + i * bytes, 1);
    } else if (side->meaning) {
        side_tell(side->meaning, recipe, width, height, said);
        convert_elements(DTYPE_F64, said, side->dtype, to, side->each);
    }
}

bool side_input_size(const struct side_input *side, size_t at, double *width,
                     double *height)
{
    size_t first = side->n_images > 1 ? at * side->each : 0;
    bool is_height_first = side->meaning == SIDE_HEIGHT_WIDTH;

    if (side->meaning != SIDE_WIDTH_HEIGHT && !is_height_first)
        return false;
    if (side->numbers) {
        *width = side->numbers[first + is_height_first];
        *height = side->numbers[first + !is_height_first];
    }
    return true;
}
