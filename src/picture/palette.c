/* picture/palette.c - a colour for each class. */
#include "picture/canvas.h"

#include <math.h>

static uint8_t palette_to_byte(double share)
{
    return (uint8_t)lround(share * 255);
}

/* hue is a share of the circle. */
static struct colour from_hsv(double hue, double saturation, double value)
{
    double rgb[3];

    for (int i = 0; i < 3; i++) {
        /* How far the hue is from this primary, in sixths of the circle. */
        double sixths = fabs(fmod(hue * 6 + 9 - 2 * i, 6) - 3);
        double grey = fmin(fmax(sixths - 1, 0), 1);

        rgb[i] = value * (1 - saturation * (1 - grey));
    }
    return (struct colour){palette_to_byte(rgb[0]), palette_to_byte(rgb[1]),
                           palette_to_byte(rgb[2])};
}

/* Steps of the golden ratio around the circle never come close to an earlier
 * hue soon; three tones in turn keep apart those that do in the end. */
struct colour canvas_colour(int class_index)
{
    static const double golden = 0.61803398874989485, first = 0.6;
    static const struct {
        double saturation, value;
    } tones[] = {{0.9, 1.0}, {0.55, 1.0}, {0.9, 0.7}};
    size_t tone = (size_t)class_index % (sizeof tones / sizeof tones[0]);

    return from_hsv(fmod(first + class_index * golden, 1.0),
                    tones[tone].saturation, tones[tone].value);
}
