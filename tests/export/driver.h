/* A program for the tests of sstruct.h, included by the source file that readers.py compiles.
 * driver predict MODEL ROWS: print the labels of all sequences, one line each.
 * driver columns MODEL NAME...: print the column of each name.
 * driver check FILE...: print the error of each file, or "ok". */
#define SSTRUCT_IMPLEMENTATION
#include "sstruct.h"

static int64_t read_int(FILE *file)
{
    int64_t value = 0;
    return fread(&value, sizeof value, 1, file) == 1 ? value : -1;
}

static void *read_items(FILE *file, int64_t count, size_t size)
{
    void *items = malloc((size_t)count * size + 1);
    if (!items || fread(items, size, (size_t)count, file) != (size_t)count) exit(3);
    return items;
}

static int print_labels(sstruct_model *model, const char *path)
{
    sstruct_error error;
    FILE *file = fopen(path, "rb");
    int64_t n_rows, l;
    int status = 0;
    if (!file) return 3;
    while (!status && (n_rows = read_int(file)) >= 0) {
        const int64_t n_values = read_int(file);
        size_t n_out = (size_t)n_rows, k;
        int64_t *given = read_items(file, n_values < 0 ? 0 : n_rows + 1, sizeof *given);
        int32_t *columns = read_items(file, n_values < 0 ? 0 : n_values, sizeof *columns);
        const int64_t n_dense = n_rows * (int64_t)sstruct_n_features(model);
        double *values = read_items(file, n_values < 0 ? n_dense : n_values, sizeof *values);
        size_t *starts = malloc(((size_t)n_rows + 1) * sizeof *starts);
        int32_t *labels;
        if (sstruct_kind(model) == SSTRUCT_LABEL_SETS) n_out *= sstruct_n_classes(model);
        labels = malloc(n_out * sizeof *labels + 1);
        for (l = 0; n_values >= 0 && l <= n_rows; l++) starts[l] = (size_t)given[l];
        status = n_values < 0
            ? sstruct_predict(model, values, (size_t)n_rows, labels, &error)
            : sstruct_predict_sparse(
                model, starts, columns, values, (size_t)n_rows, labels, &error);
        for (k = 0; !status && k < n_out; k++) {
            const size_t label = (size_t)labels[k];
            const int is_set = sstruct_kind(model) == SSTRUCT_LABEL_SETS;
            fputs(is_set ? (label ? "1" : "0") : sstruct_class(model, label), stdout);
            putchar(k + 1 < n_out ? '\t' : '\n');
        }
        if (!n_out) putchar('\n');
        free(given);
        free(columns);
        free(values);
        free(starts);
        free(labels);
    }
    fclose(file);
    if (status) puts(error.text);
    return status ? 1 : 0;
}

int main(int argc, char **argv)
{
    sstruct_error error;
    sstruct_model *model;
    int i, status = 0;
    if (argc < 3) return 2;
    for (i = 2; !strcmp(argv[1], "check") && i < argc; i++) {
        error.text[0] = 0;
        model = sstruct_read_file(argv[i], &error);
        puts(model ? "ok" : error.text);
        sstruct_free(model);
    }
    if (!strcmp(argv[1], "check")) return 0;
    model = sstruct_read_file(argv[2], &error);
    if (!model) {
        puts(error.text);
        return 1;
    }
    if (!strcmp(argv[1], "predict") && argc > 3) status = print_labels(model, argv[3]);
    else
        for (i = 3; i < argc; i++) printf("%ld\n", (long)sstruct_column(model, argv[i]));
    sstruct_free(model);
    return status;
}
