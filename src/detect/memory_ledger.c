/* detect/memory_ledger.c - see memory_ledger.h. */
#include "detect/memory_ledger.h"

static enum assay_status add(struct run *run, enum ledger_kind kind,
                             uint32_t scope, size_t bytes, const char *what,
                             struct error *err)
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
        {OWNER_PACKED, LEDGER_WEIGHTS, "as kernels want them"},
        {OWNER_SCRATCH, LEDGER_SCRATCH, "of kernels"},
        {OWNER_IMAGES, LEDGER_IMAGES, "as tensors"},
        {OWNER_GRADIENTS, LEDGER_GRADIENTS, "of parameters"},
        {OWNER_OPTIMIZER, LEDGER_OPTIMIZER, ""},
        {OWNER_OTHER, LEDGER_ACTIVATIONS, "of no module"},
    };
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof owners / sizeof owners[0]; i++)
        st = add(run, owners[i].kind, RUN_NONE,
                 pool_peak_of(pool, owners[i].owner), owners[i].what, err);
    return st;
}

/* The i-th module; 0 is the model. What it kept for a backward pass is told
 * apart from what was on its way when the most was live. */
static enum assay_status add_module(struct run *run,
                                    const struct memory_account *account,
                                    uint32_t i, struct error *err)
{
    uint32_t scope = i ? account->scopes[i - 1] : account->model;
    size_t bytes = pool_peak_of(account->pool, OWNER_MODULE + i);
    size_t kept = account->kept ? smaller(account->kept[i], bytes) : 0;
    enum assay_status st = add(run, LEDGER_ACTIVATIONS, scope, kept,
                               "kept for the backward pass", err);

    return st ? st : add(run, LEDGER_ACTIVATIONS, scope, bytes - kept, "", err);
}

static enum assay_status add_modules(struct run *run,
                                     const struct memory_account *account,
                                     struct error *err)
{
    size_t n = graph_scope_count(account->graph);
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i <= n; i++)
        st = add_module(run, account, i, err);
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

/* left: what the process held beside the pool's peak and the named parts. The
 * pool's idle buffers are the first of it, and what is left in the end has no
 * better name. */
static enum assay_status add_rest(struct run *run, size_t left,
                                  const struct pool_usage *usage,
                                  struct error *err)
{
    size_t idle = smaller(usage->held_peak_bytes - usage->peak_bytes, left);
    enum assay_status st =
        add(run, LEDGER_OUTSIDE, RUN_NONE, idle,
            "buffers of the pool that wait to be used again", err);

    return st ? st
              : add(run, LEDGER_OUTSIDE, RUN_NONE, left - idle,
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
        st = add(run, LEDGER_OUTSIDE, RUN_NONE, parts[i].bytes, parts[i].what,
                 err);
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

enum assay_status memory_ledger(struct run *run,
                                const struct memory_account *account,
                                struct error *err)
{
    struct pool *pool = account->pool;
    struct pool_usage usage = pool_usage(pool);
    enum assay_status st = add_owned(run, pool, err);

    if (!st)
        st = add_modules(run, account, err);
    if (!st)
        st = add(run, LEDGER_FRAGMENTATION, RUN_NONE,
                 usage.peak_bytes - owned_bytes(pool),
                 "sizes rounded up by the pool", err);
    if (!st)
        st = add_process(run, account, &usage, err);
    if (!st)
        run_memory(run)->peak_bytes = (int64_t)usage.peak_bytes;
    return st;
}
