/* tests/session/strays_test.c - what counts as an explanation, and what not. */
#include "strays.h"
#include "test.h"

enum { n_boxes = 3 };

/* Far from each other. */
static const float apart[4 * n_boxes] = {0,   0,  10,  10, 100, 0,
                                         110, 10, 200, 0,  210, 10};

static const double cut_scores[] = {0.05};
static const struct cuts cuts = {
    .iou = 0.5, .keep = 100, .scores = cut_scores, .n_scores = 1};

static size_t unexplained(const float *boxes, const float *scores,
                          const float *other_boxes, const float *other_scores,
                          size_t n_others, const struct cuts *at)
{
    bool is_stray[n_boxes] = {true}, none[n_boxes] = {0};
    struct found theirs = {
        .boxes = boxes, .scores = scores, .n = 1, .is_stray = is_stray};
    struct found ours = {.boxes = other_boxes,
                         .scores = other_scores,
                         .n = n_others,
                         .is_stray = none};

    return strays_unexplained(&theirs, &ours, at);
}

TEST(a_stray_far_from_everything_is_not_explained)
{
    static const float score[] = {0.6f}, others[] = {0.9f, 0.8f};

    CHECK_INT(unexplained(apart, score, apart + 4, others, 2, &cuts), 1);
}

TEST(a_score_at_the_threshold_explains)
{
    static const float others[] = {0.9f, 0.8f};
    static const float at[] = {0.05008f}, off[] = {0.0503f};

    CHECK_INT(unexplained(apart, at, apart + 4, others, 2, &cuts), 0);
    CHECK_INT(unexplained(apart, off, apart + 4, others, 2, &cuts), 1);
}

/* 10x10 next to itself, moved by 10/3: their IoU is 1/2. */
TEST(an_overlap_at_the_threshold_explains)
{
    static const float score[] = {0.6f}, others[] = {0.9f};
    static const float at[] = {10 / 3.0f, 0, 40 / 3.0f, 10};
    static const float off[] = {3.4f, 0, 13.4f, 10};

    CHECK_INT(unexplained(apart, score, at, others, 1, &cuts), 0);
    CHECK_INT(unexplained(apart, score, off, others, 1, &cuts), 1);
}

TEST(a_tie_in_score_explains_which_of_two_overlapping_boxes_stays)
{
    static const float score[] = {0.6f}, tie[] = {0.60005f},
                       apart_by[] = {0.61f};
    static const float moved[] = {1, 0, 11, 10};

    CHECK_INT(unexplained(apart, score, moved, tie, 1, &cuts), 0);
    CHECK_INT(unexplained(apart, score, moved, apart_by, 1, &cuts), 1);
}

TEST(the_last_of_a_full_list_are_explained_by_strays_of_the_other_side)
{
    static const float boxes[] = {0,   0, 10,  10, 100, 0, 110, 10,
                                  300, 0, 310, 10, 400, 0, 410, 10};
    static const float ours_scores[] = {0.9f, 0.05f}, scores[] = {0.9f, 0.7f};
    bool last[] = {false, true};
    struct found theirs = {
        .boxes = boxes, .scores = scores, .n = 2, .is_stray = last};
    struct found ours = {
        .boxes = boxes + 8, .scores = ours_scores, .n = 2, .is_stray = last};
    struct cuts full = cuts;

    CHECK_INT(strays_unexplained(&theirs, &ours, &full), 1);
    full.keep = 2;
    CHECK_INT(strays_unexplained(&theirs, &ours, &full), 0);
}
