/* record/ticks.c - see ticks_internal.h. */
#include "record/ticks_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const int64_t first_interval_ns = 50 * 1000 * 1000;
static const int64_t second_ns = 1000 * 1000 * 1000;
static const int64_t minute_ns = 60 * second_ns;

enum { pair_attempts = 5, intervals_of_elapsed = 64 };

/* How far a piece may deviate from the measured rate to catch up. */
static const double max_steering = 0.1;

struct ticks_piece {
    uint64_t ticks;
    int64_t ns;
    double ns_per_tick;
};

atomic_int ticks_from_counter;

#if defined(__x86_64__)
/* Intel SDM vol. 3, "Invariant TSC": CPUID.80000007H:EDX[8]. */
static bool ticks_has_constant_counter(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & 1u << 8);
}
#else
static bool ticks_has_constant_counter(void)
{
    return false;
}
#endif

void ticks_choose(void)
{
    atomic_store_explicit(&ticks_from_counter, ticks_has_constant_counter(),
                          memory_order_relaxed);
}

const char *ticks_source(void)
{
    return atomic_load(&ticks_from_counter) ? "tsc" : "monotonic";
}

/* The attempt that was interrupted least: its two ticks are closest. */
struct ticks_pair ticks_pair_now(void)
{
    struct ticks_pair best = {0};
    uint64_t best_width = UINT64_MAX;

    for (int i = 0; i < pair_attempts; i++) {
        uint64_t before = ticks_now();
        int64_t ns = clock_monotonic_ns();
        uint64_t width = ticks_now() - before;

        if (width < best_width) {
            best_width = width;
            best = (struct ticks_pair){before + width / 2, ns};
        }
    }
    return best;
}

static double ticks_rate(struct ticks_pair from, struct ticks_pair to)
{
    uint64_t ticks = to.ticks - from.ticks;

    return ticks ? (double)(to.ns - from.ns) / (double)ticks : 1;
}

static enum assay_status ticks_add_piece(struct ticks_map *map,
                                         struct ticks_piece piece,
                                         struct error *err)
{
    if (!vec_grow(&map->pieces, &map->pieces_capacity, map->n_pieces + 1,
                  sizeof piece))
        return error_nomem(err, sizeof piece, "the clock's calibration");
    map->pieces[map->n_pieces++] = piece;
    return ASSAY_OK;
}

enum assay_status ticks_map_start(struct ticks_map *map,
                                  struct ticks_pair first,
                                  struct ticks_pair second, struct error *err)
{
    struct ticks_piece piece = {.ticks = first.ticks,
                                .ns_per_tick = ticks_rate(first, second)};

    map->first = first;
    map->newest = first.ticks;
    map->next_ns = first.ns + first_interval_ns;
    return ticks_add_piece(map, piece, err);
}

void ticks_map_release(struct ticks_map *map)
{
    mem_free(map->pieces);
    *map = (struct ticks_map){0};
}

static double ticks_clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Time until the next piece: doubles up to a second, a second for the first
 * minute, then a share of the time that has passed. */
static int64_t ticks_interval(int64_t elapsed_ns)
{
    int64_t share = elapsed_ns / intervals_of_elapsed;

    if (elapsed_ns < second_ns)
        return elapsed_ns > first_interval_ns ? elapsed_ns : first_interval_ns;
    if (share < second_ns)
        return second_ns;
    return share < minute_ns ? share : minute_ns;
}

enum assay_status ticks_map_steer(struct ticks_map *map, struct ticks_pair now,
                                  struct error *err)
{
    struct ticks_piece piece;
    int64_t interval, behind;
    double rate, catch_up;

    if (now.ns < map->next_ns || now.ticks <= map->first.ticks)
        return ASSAY_OK;
    piece.ticks = now.ticks > map->newest ? now.ticks : map->newest + 1;
    piece.ns = ticks_map_ns(map, piece.ticks);

    interval = ticks_interval(now.ns - map->first.ns);
    behind = now.ns - map->first.ns - ticks_map_ns(map, now.ticks);
    rate = ticks_rate(map->first, now);
    catch_up = (double)behind / (double)interval;
    piece.ns_per_tick =
        rate * (1 + ticks_clamp(catch_up, -max_steering, max_steering));
    map->next_ns = now.ns + interval;
    return ticks_add_piece(map, piece, err);
}

static const struct ticks_piece *ticks_find_piece(const struct ticks_map *map,
                                                  uint64_t ticks)
{
    size_t low = 0, high = map->n_pieces - 1;

    if (ticks >= map->pieces[high].ticks)
        return &map->pieces[high];
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (map->pieces[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    return &map->pieces[low];
}

int64_t ticks_map_ns(struct ticks_map *map, uint64_t ticks)
{
    const struct ticks_piece *piece = ticks_find_piece(map, ticks);

    if (ticks > map->newest)
        map->newest = ticks;
    if (ticks < piece->ticks) /* before the recording began */
        return 0;
    return piece->ns +
           (int64_t)((double)(ticks - piece->ticks) * piece->ns_per_tick);
}
