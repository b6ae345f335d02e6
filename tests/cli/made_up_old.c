/* tests/cli/made_up_old.c - stands in for a library of CUDA that is too old:
 * it opens, and has nothing of what is needed. */
int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
    return (int)flags;
}
