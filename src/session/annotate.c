/* session/annotate.c - adds what the recorder cannot know to the run. */
#include "session/profile_internal.h"

#include "observe/memory_ledger.h"
#include "observe/model_edges.h"

enum assay_status profile_annotate(struct profile *profile, struct error *err)
{
    const struct profile_facts *facts = &profile->options->facts;
    const struct session *session = &profile->session;
    struct run *run = profile->recorded.run;
    enum assay_status st = profile_state_facts(profile, err);

    if (!st)
        st = memory_ledger(
            &profile->recorded,
            &(struct memory_account){.engine = session->engine,
                                     .graph = session->graph,
                                     .process = profile->process,
                                     .picture_bytes = profile->picture_bytes},
            err);
    if (!st)
        st = model_edges(&profile->recorded, session->engine, session->graph,
                         err);
    if (!st)
        st = observer_hand_over(&profile->observer, run, err);
    if (!st && facts->state)
        st = facts->state(facts->context, run, err);
    if (!st)
        st = run_seal(run, err);
    if (!st)
        st = recorded_save(&profile->recorded, err);
    return st;
}
