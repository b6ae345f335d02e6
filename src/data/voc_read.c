/* data/voc_read.c - see voc_read.h. */
#include "data/voc_read.h"

#include "base/decimal.h"
#include "base/mem.h"
#include "base/vec.h"

#include <expat.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { MOST_PATH = 128, MOST_TEXT = 1024 };

enum side { XMIN, YMIN, XMAX, YMAX, N_SIDES };

/* An object being read. */
struct draft {
    const char *name;
    double sides[N_SIDES];
    bool has_side[N_SIDES];
    bool is_difficult;
};

struct xml_reading {
    XML_Parser parser;
    struct arena *memory;
    struct voc_annotation *out;
    char path[MOST_PATH]; /* "annotation/object/name" */
    char text[MOST_TEXT]; /* of the current element */
    size_t n_path, n_text;
    struct draft draft;
    enum assay_status st;
    struct error *err;
};

void voc_annotation_release(struct voc_annotation *annotation)
{
    mem_free(annotation->objects);
    *annotation = (struct voc_annotation){0};
}

static void XMLCALL voc_read_refuse(struct xml_reading *reading,
                                    const char *what)
{
    if (!reading->st)
        reading->st = error_set(
            reading->err, ASSAY_BAD_INPUT, "line %lu: %s",
            (unsigned long)XML_GetCurrentLineNumber(reading->parser), what);
    XML_StopParser(reading->parser, XML_FALSE);
}

/* ---- values ----------------------------------------------------------- */

/* Accepts digits, maybe with a fraction, and blanks around them. */
static bool voc_read_number(const char *text, double *out)
{
    size_t begin = strspn(text, " \t\r\n");
    const char *first = text + begin;
    size_t sign = *first == '-' || *first == '+';
    size_t whole = strspn(first + sign, "0123456789");
    size_t n = sign + whole;

    if (first[n] == '.' && whole)
        n += 1 + strspn(first + n + 1, "0123456789");
    if (!whole || first[n + strspn(first + n, " \t\r\n")] != '\0')
        return false;
    if (first[n - 1] == '.')
        n--;
    *out = decimal_double(first, n);
    return isfinite(*out);
}

static void take_size(struct xml_reading *reading, int *out)
{
    double value;

    if (!voc_read_number(reading->text, &value) || value < 0 || value > INT_MAX)
        voc_read_refuse(reading, "the image size is not a number");
    else
        *out = (int)value;
}

static void take_side(struct xml_reading *reading, enum side side)
{
    if (!voc_read_number(reading->text, &reading->draft.sides[side]))
        voc_read_refuse(reading, "a side of a box is not a number");
    else
        reading->draft.has_side[side] = true;
}

static void take_name(struct xml_reading *reading)
{
    const char *text = reading->text + strspn(reading->text, " \t\r\n");
    size_t n = strlen(text);

    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        n--;
    reading->draft.name = arena_strndup(reading->memory, text, n);
    if (!reading->draft.name) {
        reading->st = error_nomem(reading->err, n, "the name of a class");
        XML_StopParser(reading->parser, XML_FALSE);
    }
}

/* Pixels count from 1, and the last one is included. */
static void take_object(struct xml_reading *reading)
{
    const struct draft *draft = &reading->draft;
    struct voc_annotation *out = reading->out;
    struct voc_object *moved;
    double width = draft->sides[XMAX] - draft->sides[XMIN] + 1;
    double height = draft->sides[YMAX] - draft->sides[YMIN] + 1;
    bool has_box = draft->has_side[XMIN] && draft->has_side[YMIN] &&
                   draft->has_side[XMAX] && draft->has_side[YMAX];

    if (!draft->name || !draft->name[0] || !has_box) {
        voc_read_refuse(reading, "an object without a name or a bndbox");
        return;
    }
    if (width < 0 || height < 0) {
        voc_read_refuse(reading, "a box ends before it begins");
        return;
    }
    moved =
        vec_reserve(out->objects, &out->capacity, out->n + 1, sizeof *moved);
    if (!moved) {
        reading->st = error_nomem(reading->err, sizeof *moved, "an object");
        XML_StopParser(reading->parser, XML_FALSE);
        return;
    }
    out->objects = moved;
    moved[out->n++] =
        (struct voc_object){.name = draft->name,
                            .object = {.x = draft->sides[XMIN] - 1,
                                       .y = draft->sides[YMIN] - 1,
                                       .width = width,
                                       .height = height,
                                       .area = width * height,
                                       .is_difficult = draft->is_difficult}};
}

/* Handles the end of an element. */
static void voc_read_take(struct xml_reading *reading)
{
    static const char *const sides[N_SIDES] = {
        [XMIN] = "annotation/object/bndbox/xmin",
        [YMIN] = "annotation/object/bndbox/ymin",
        [XMAX] = "annotation/object/bndbox/xmax",
        [YMAX] = "annotation/object/bndbox/ymax",
    };
    const char *path = reading->path;
    double value;

    if (strcmp(path, "annotation/object") == 0)
        take_object(reading);
    else if (strcmp(path, "annotation/object/name") == 0)
        take_name(reading);
    else if (strcmp(path, "annotation/object/difficult") == 0)
        reading->draft.is_difficult =
            voc_read_number(reading->text, &value) && value != 0;
    else if (strcmp(path, "annotation/size/width") == 0)
        take_size(reading, &reading->out->width);
    else if (strcmp(path, "annotation/size/height") == 0)
        take_size(reading, &reading->out->height);
    for (enum side side = 0; side < N_SIDES; side++) {
        if (strcmp(path, sides[side]) == 0)
            take_side(reading, side);
    }
}

/* ---- elements --------------------------------------------------------- */

static void XMLCALL begin_element(void *context, const XML_Char *name,
                                  const XML_Char **attributes)
{
    struct xml_reading *reading = context;
    size_t n = strlen(name), slash = reading->n_path > 0;

    (void)attributes;
    if (reading->st)
        return;
    if (reading->n_path == 0 && strcmp(name, "annotation") != 0) {
        voc_read_refuse(
            reading, "not a VOC annotation: it must begin with <annotation>");
        return;
    }
    if (reading->n_path + slash + n >= MOST_PATH) {
        voc_read_refuse(reading, "elements are nested too deeply");
        return;
    }
    if (slash)
        reading->path[reading->n_path++] = '/';
    memcpy(reading->path + reading->n_path, name, n + 1);
    reading->n_path += n;
    reading->n_text = 0;
    reading->text[0] = '\0';
    if (strcmp(reading->path, "annotation/object") == 0)
        reading->draft = (struct draft){0};
}

static void XMLCALL end_element(void *context, const XML_Char *name)
{
    struct xml_reading *reading = context;
    size_t n = strlen(name);

    if (reading->st)
        return;
    voc_read_take(reading);
    reading->n_path -= n;
    if (reading->n_path > 0)
        reading->n_path--;
    reading->path[reading->n_path] = '\0';
    reading->n_text = 0;
    reading->text[0] = '\0';
}

static void XMLCALL voc_read_add_text(void *context, const XML_Char *text,
                                      int n)
{
    struct xml_reading *reading = context;
    size_t room = MOST_TEXT - 1 - reading->n_text;
    size_t taken = (size_t)n < room ? (size_t)n : room;

    if (reading->st)
        return;
    memcpy(reading->text + reading->n_text, text, taken);
    reading->n_text += taken;
    reading->text[reading->n_text] = '\0';
}

/* Refuses entities: they can make an XML file grow far beyond its size. */
static void XMLCALL refuse_entity(void *context, const XML_Char *name,
                                  int is_parameter, const XML_Char *value,
                                  int n, const XML_Char *base,
                                  const XML_Char *system,
                                  const XML_Char *public,
                                  const XML_Char *notation)
{
    (void)name, (void)is_parameter, (void)value, (void)n, (void)base;
    (void)system, (void)public, (void)notation;
    voc_read_refuse(context, "it declares entities");
}

enum assay_status voc_read_text(const char *text, size_t n, const char *name,
                                struct arena *memory,
                                struct voc_annotation *out, struct error *err)
{
    static const XML_Memory_Handling_Suite counted = {mem_alloc, mem_realloc,
                                                      mem_free};
    struct xml_reading reading = {.memory = memory, .out = out, .err = err};

    *out = (struct voc_annotation){0};
    if (n > INT_MAX)
        return error_set(err, ASSAY_BAD_INPUT, "%s is too large", name);
    reading.parser = XML_ParserCreate_MM(NULL, &counted, NULL);
    if (!reading.parser)
        return error_nomem(err, n, "an XML reader");
    XML_SetUserData(reading.parser, &reading);
    XML_SetElementHandler(reading.parser, begin_element, end_element);
    XML_SetCharacterDataHandler(reading.parser, voc_read_add_text);
    XML_SetEntityDeclHandler(reading.parser, refuse_entity);
    if (XML_Parse(reading.parser, text, (int)n, XML_TRUE) != XML_STATUS_OK &&
        !reading.st) {
        enum XML_Error code = XML_GetErrorCode(reading.parser);

        if (code == XML_ERROR_NO_MEMORY)
            reading.st = error_nomem(err, n, "an XML reader");
        else
            reading.st = error_set(
                err, ASSAY_BAD_INPUT, "line %lu: %s",
                (unsigned long)XML_GetCurrentLineNumber(reading.parser),
                XML_ErrorString(code));
    }
    XML_ParserFree(reading.parser);
    if (reading.st)
        error_context(err, "%s", name);
    return reading.st;
}
