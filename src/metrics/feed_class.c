/* metrics/feed_class.c - which class of a dataset a label of a model is. */
#include "metrics/feed_internal.h"

#include "detect/found.h"

#include <string.h>

/* What COCO calls the classes of VOC that it has another name for. */
static const char *name_in_coco(const char *name)
{
    static const struct {
        const char *voc, *coco;
    } names[] = {
        {"aeroplane", "airplane"},   {"diningtable", "dining table"},
        {"motorbike", "motorcycle"}, {"pottedplant", "potted plant"},
        {"sofa", "couch"},           {"tvmonitor", "tv"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].voc) == 0)
            return names[i].coco;
    }
    return name;
}

static bool is_number(const char *text)
{
    return text[strspn(text, "0123456789")] == '\0';
}

/* The name of a label; NULL where labels are numbers. */
static const char *label_name(const struct feed *feed,
                              const struct session *session, int64_t label,
                              char *buffer, size_t size)
{
    enum { coco_classes = 91 }; /* with the background and gaps */
    const char *name;

    if (feed->options.decode == DECODE_DETECTOR &&
        feed->options.build.n_classes != coco_classes)
        return NULL;
    name = found_name(&feed->options, session, label, buffer, size);
    return is_number(name) ? NULL : name;
}

size_t feed_class(const struct feed *feed, const struct session *session,
                  int64_t label)
{
    size_t n = dataset_class_count(feed->dataset);
    /* Of these models 0 is the background. */
    int64_t first = feed->options.decode == DECODE_YOLOV8 ? 0 : 1;
    char buffer[32];
    const char *name = label_name(feed, session, label, buffer, sizeof buffer);

    if (!name)
        return label >= first && (uint64_t)(label - first) < n
                   ? (size_t)(label - first)
                   : SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const char *class_name = dataset_class_name(feed->dataset, i);

        if (strcmp(name, class_name) == 0 ||
            strcmp(name, name_in_coco(class_name)) == 0)
            return i;
    }
    return SIZE_MAX;
}
