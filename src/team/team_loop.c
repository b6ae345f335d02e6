/* team/team_loop.c - see team.h: loops whose turns go to whoever is free. */
#include "team/team_internal.h"

#include <limits.h>
#include <sched.h>

/* A loop whose fields are being written. */
static const unsigned nobody = UINT_MAX;

/* The first member that gets there sets the loop up, in a place that all have
 * left. */
static struct team_loop *find_loop(struct team *team, unsigned which,
                                   unsigned long long n,
                                   unsigned long long piece)
{
    struct team_loop *loop = &team->loops[which % TEAM_LOOPS];
    unsigned seen;

    while ((seen = atomic_load(&loop->which)) != which) {
        if (seen != nobody && !atomic_load(&loop->n_left) &&
            atomic_compare_exchange_strong(&loop->which, &seen, nobody)) {
            loop->n = n;
            loop->piece = piece;
            atomic_store(&loop->next, 0);
            atomic_store(&loop->n_left, (unsigned)team->n);
            atomic_store(&loop->which, which);
        } else {
            sched_yield();
        }
    }
    return loop;
}

void team_loop_open(unsigned long long n, unsigned long long piece)
{
    struct team_place *place = &team_self.place;

    piece = piece ? piece : 1;
    if (place->team) {
        /* 0 is what no loop is. */
        unsigned which = place->team->n_loops + ++place->n_loops;

        place->loop = find_loop(place->team, which % INT_MAX + 1, n, piece);
    } else {
        place->next = 0;
        place->n = n;
        place->piece = piece;
    }
}

static unsigned long long take_piece(struct team_loop *loop)
{
    unsigned long long next = atomic_load(&loop->next), end;

    do {
        end = loop->n - next < loop->piece ? loop->n : next + loop->piece;
    } while (next < loop->n &&
             !atomic_compare_exchange_weak(&loop->next, &next, end));
    return next;
}

bool team_loop_next(unsigned long long *first, unsigned long long *end)
{
    struct team_place *place = &team_self.place;
    unsigned long long n, piece;

    if (place->team) {
        n = place->loop->n;
        piece = place->loop->piece;
        *first = take_piece(place->loop);
    } else {
        n = place->n;
        piece = place->piece;
        *first = place->next;
        place->next = n - *first < piece ? n : *first + piece;
    }
    if (*first >= n)
        return false;
    *end = n - *first < piece ? n : *first + piece;
    return true;
}

void team_loop_close(void)
{
    if (team_self.place.team)
        atomic_fetch_sub(&team_self.place.loop->n_left, 1);
}
