/* observe/memory_ledger.c - see memory_ledger.h. */
#include "observe/memory_ledger.h"

#include "base/mem.h"

static enum assay_status memory_ledger_add(struct run *run,
                                           enum ledger_kind kind,
                                           uint32_t scope, size_t bytes,
                                           const char *what, struct error *err)
{
    struct ledger_row row = {
        .kind = kind, .scope = scope, .bytes = (int64_t)bytes, .what = what};

    return bytes ? run_ledger_add(run, &row, err) : ASSAY_OK;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- in the pool ------------------------------------------------------- */

static enum assay_status add_owned(struct run *run, struct pool *pool,
                                   struct error *err)
{
    static const struct {
        enum pool_owner owner;
        enum ledger_kind kind;
        const char *what;
    } owners[] = {
        {OWNER_WEIGHTS, LEDGER_WEIGHTS, "as loaded"},
        {OWNER_PACKED, LEDGER_WEIGHTS, "repacked for the kernels"},
        {OWNER_SCRATCH, LEDGER_SCRATCH, "of kernels"},
        {OWNER_IMAGES, LEDGER_IMAGES, "as tensors"},
        {OWNER_GRADIENTS, LEDGER_GRADIENTS, "of parameters"},
        {OWNER_OPTIMIZER, LEDGER_OPTIMIZER, ""},
        {OWNER_OTHER, LEDGER_ACTIVATIONS, "outside of modules"},
    };
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof owners / sizeof owners[0]; i++)
        st = memory_ledger_add(run, owners[i].kind, RUN_NONE,
                               pool_peak_of(pool, owners[i].owner),
                               owners[i].what, err);
    return st;
}

/* What each module kept for the last backward pass; the model is the first.
 * NULL: no memory. */
static size_t *count_kept(const struct memory_account *account)
{
    const struct graph *graph = account->graph;
    size_t *kept = mem_array(graph_scope_count(graph) + 1, sizeof *kept);

    for (size_t i = 0; kept && i < graph_node_count(graph); i++)
        kept[graph_node(graph, i)->scope + 1u] +=
            engine_kept_bytes(account->engine, i);
    return kept;
}

/* What a module kept for a backward pass is separate from what was in use at
 * the peak. */
static enum assay_status add_module(struct run *run, uint32_t scope,
                                    size_t bytes, size_t kept,
                                    struct error *err)
{
    enum assay_status st;

    kept = smaller(kept, bytes);
    st = memory_ledger_add(run, LEDGER_ACTIVATIONS, scope, kept,
                           "kept for the backward pass", err);
    return st ? st
              : memory_ledger_add(run, LEDGER_ACTIVATIONS, scope, bytes - kept,
                                  "", err);
}

static enum assay_status add_modules(const struct recorded *recorded,
                                     const struct memory_account *account,
                                     struct error *err)
{
    struct pool *pool = engine_pool(account->engine);
    size_t n = graph_scope_count(account->graph);
    size_t *kept = count_kept(account);
    enum assay_status st = ASSAY_OK;

    if (!kept)
        return error_nomem(err, n * sizeof *kept, "the modules of a model");
    for (uint32_t i = 0; !st && i <= n; i++) {
        /* GRAPH_NONE, the model itself, is the first. */
        assay_scope_t there = engine_scope(account->engine, i - 1);

        st = add_module(recorded->run, recorded_scope(recorded, there),
                        pool_peak_of(pool, OWNER_MODULE + i), kept[i], err);
    }
    mem_free(kept);
    return st;
}

static size_t owned_bytes(struct pool *pool)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < pool_owner_count(pool); i++)
        sum += pool_peak_of(pool, i);
    return sum;
}

/* ---- outside of it ----------------------------------------------------- */

/* left: what the process held besides the pool's peak and the named parts. The
 * pool's idle buffers come first; what is left after that has no better
 * name. */
static enum assay_status add_rest(struct run *run, size_t left,
                                  const struct pool_usage *usage,
                                  struct error *err)
{
    size_t idle = smaller(usage->held_peak_bytes - usage->peak_bytes, left);
    enum assay_status st = memory_ledger_add(
        run, LEDGER_OUTSIDE, RUN_NONE, idle, "idle buffers of the pool", err);

    return st ? st
              : memory_ledger_add(
                    run, LEDGER_OUTSIDE, RUN_NONE, left - idle,
                    "heaps of libraries, kernels made at run time, stacks",
                    err);
}

static enum assay_status add_named(struct run *run,
                                   const struct memory_account *account,
                                   size_t *sum, struct error *err)
{
    const struct process_memory *process = &account->process;
    const struct {
        size_t bytes;
        const char *what;
    } parts[] = {
        {process->mapped_bytes, "weights mapped from their file"},
        {process->code_bytes, "the program and its libraries"},
        {account->picture_bytes, "decoded photographs"},
        {process->tables_bytes, "the graph, the recording, tables"},
        {process->sqlite_bytes, "SQLite, for the run file"},
    };
    enum assay_status st = ASSAY_OK;

    *sum = 0;
    for (size_t i = 0; !st && i < sizeof parts / sizeof parts[0]; i++) {
        st = memory_ledger_add(run, LEDGER_OUTSIDE, RUN_NONE, parts[i].bytes,
                               parts[i].what, err);
        *sum += parts[i].bytes;
    }
    return st;
}

static enum assay_status add_process(struct run *run,
                                     const struct memory_account *account,
                                     const struct pool_usage *usage,
                                     struct error *err)
{
    size_t mark = account->process.peak_bytes, known;
    enum assay_status st;

    if (!mark)
        return ASSAY_OK;
    st = run_fact_printf(run, err, "memory.process_peak_bytes", "%zu", mark);
    if (!st)
        st = add_named(run, account, &known, err);
    if (st)
        return st;
    known += usage->peak_bytes;
    if (known <= mark)
        return add_rest(run, mark - known, usage, err);
    return run_fact_printf(run, err, "memory.untouched_bytes", "%zu",
                           known - mark);
}

enum assay_status memory_ledger(const struct recorded *recorded,
                                const struct memory_account *account,
                                struct error *err)
{
    struct run *run = recorded->run;
    struct pool *pool = engine_pool(account->engine);
    struct pool_usage usage = pool_usage(pool);
    enum assay_status st = add_owned(run, pool, err);

    if (!st)
        st = add_modules(recorded, account, err);
    if (!st)
        st = memory_ledger_add(run, LEDGER_FRAGMENTATION, RUN_NONE,
                               usage.peak_bytes - owned_bytes(pool),
                               "sizes rounded up by the pool", err);
    if (!st && pool_space(pool)->is_host)
        st = add_process(run, account, &usage, err);
    if (!st)
        run_memory(run)->peak_bytes = (int64_t)usage.peak_bytes;
    return st;
}
