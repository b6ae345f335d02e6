/* cli/main.c - the program: finds the command and runs it. */
#include <stdio.h>

int main(void)
{
    printf("assay %s\n", ASSAY_VERSION);
    return 0;
}
