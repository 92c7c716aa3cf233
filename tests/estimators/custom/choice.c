/* The oracle of choices.py in C: x holds m candidates of d features, y the place of the right one. */

#include <stddef.h>
#include <stdint.h>

double choice_loss(const int32_t *y_true, const int32_t *y, int32_t size, void *data)
{
    const int32_t far = y[0] > y_true[0] ? y[0] - y_true[0] : y_true[0] - y[0];
    return (far < 2 ? far : 2) / 2.0;
}

int choice_argmax(const double *w, const double *x, const int32_t *shape, const int32_t *y_true,
                  double loss_weight, int32_t *y, void *data)
{
    double best = 0;
    for (int32_t k = 0; k < shape[0]; k++) {
        double score = y_true != NULL ? loss_weight * choice_loss(y_true, &k, 1, NULL) : 0;
        for (int32_t f = 0; f < shape[1]; f++)
            score += w[f] * x[k * shape[1] + f];
        if (k == 0 || score > best) {
            best = score;
            y[0] = k;
        }
    }
    return 0;
}

int choice_joint_feature(const double *x, const int32_t *shape, const int32_t *y, int32_t *index,
                         double *value, void *data)
{
    for (int32_t f = 0; f < shape[1]; f++) {
        index[f] = f;
        value[f] = x[y[0] * shape[1] + f];
    }
    return shape[1];
}
