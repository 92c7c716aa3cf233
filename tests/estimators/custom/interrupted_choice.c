/* The oracle of choice.c that Ctrl-C meets in the call which counts `calls_left` down to 0. */

#include <signal.h>

#define choice_argmax uninterrupted
#include "choice.c"
#undef choice_argmax

int32_t calls_left = 0;

int choice_argmax(const double *w, const double *x, const int32_t *shape, const int32_t *y_true,
                  double loss_weight, int32_t *y, void *data)
{
    if (--calls_left == 0)
        raise(SIGINT);
    return uninterrupted(w, x, shape, y_true, loss_weight, y, data);
}
