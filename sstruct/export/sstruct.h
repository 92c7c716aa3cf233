/* Predict with models that sstruct has exported as JSON, schema version 1.
 *
 * In one C source file, define SSTRUCT_IMPLEMENTATION before including this header:
 *
 *     #define SSTRUCT_IMPLEMENTATION
 *     #include "sstruct.h"
 *
 *     sstruct_error error;
 *     sstruct_model *model = sstruct_read_file("model.json", &error);
 *     if (!model) { fprintf(stderr, "%s\n", error.text); return 1; }
 *     if (sstruct_predict(model, rows, n_rows, labels, &error)) ...
 *     puts(sstruct_class(model, (size_t)labels[0]));
 *     sstruct_free(model);
 *
 * C99, without dependencies. Do not compile with -ffast-math: forbidden transitions are infinite.
 *
 * Design: (a) The parser reads fields directly into arrays and validates them, so memory is
 * proportional to the file, except for the K x K table of transitions. (b) Every index from the file
 * or the caller is checked before it is used. (c) Ties are resolved as in Python: the lowest last
 * label, then the lowest previous label. (d) A model is not changed after it has been read, so
 * threads may share it.
 */
#ifndef SSTRUCT_H
#define SSTRUCT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sstruct_model sstruct_model;
typedef struct { char text[256]; } sstruct_error;

/* Chains have one label per row, which depends on its neighbors. Classes have one label per row.
 * Label sets have a 0 or 1 for each class per row. */
enum { SSTRUCT_CHAIN, SSTRUCT_CLASSES, SSTRUCT_LABEL_SETS };

/* Read a model from memory, or from a file. Returns NULL and sets the error, which names the field,
 * if the text is not a valid model. `error` may be NULL in all functions. */
sstruct_model *sstruct_read(const char *json, size_t size, sstruct_error *error);
sstruct_model *sstruct_read_file(const char *path, sstruct_error *error);
void sstruct_free(sstruct_model *model);

int sstruct_kind(const sstruct_model *model);
size_t sstruct_n_classes(const sstruct_model *model);
size_t sstruct_n_features(const sstruct_model *model);
/* Text of class k < n_classes. For numbers and booleans, it is their JSON text. */
const char *sstruct_class(const sstruct_model *model, size_t k);
/* Column of a feature by name, such as "word:Paris"; -1 if the model has no weights for it. */
int32_t sstruct_column(const sstruct_model *model, const char *name);

/* Predict the labels of one sequence, or of rows that are independent: the numbers of classes, n_rows
 * of them, or n_rows * n_classes values 0 and 1 for label sets. rows: n_rows x n_features, row by row.
 * Returns 0, or -1 if the input is invalid or memory is exhausted. */
int sstruct_predict(
    const sstruct_model *model, const double *rows, size_t n_rows, int32_t *labels,
    sstruct_error *error);
/* As sstruct_predict, for sparse rows: row r has the entries starts[r] to starts[r + 1] - 1 of columns
 * and values (NULL: all are 1). Scores are added in this order; Python adds them by column. */
int sstruct_predict_sparse(
    const sstruct_model *model, const size_t *starts, const int32_t *columns,
    const double *values, size_t n_rows, int32_t *labels, sstruct_error *error);

#ifdef __cplusplus
}
#endif
#endif

#ifdef SSTRUCT_IMPLEMENTATION
#undef SSTRUCT_IMPLEMENTATION

#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Growing arrays ------------------------------------------------------------------------------- */

typedef struct { double *items; size_t count, capacity; } sstruct_doubles;
typedef struct { int32_t *items; size_t count, capacity; } sstruct_ints;
typedef struct { char *items; size_t count, capacity; } sstruct_bytes;
typedef struct { size_t *items; size_t count, capacity; } sstruct_sizes;
/* Consecutive strings, each with a final zero, and their starts. */
typedef struct { sstruct_bytes bytes; sstruct_sizes at; } sstruct_strings;

/* Rows of numbers: dense (starts.items == NULL), or the nonzero entries of each row. */
typedef struct {
    size_t n_rows, n_columns;
    sstruct_doubles values;
    sstruct_ints columns;
    sstruct_sizes starts;
} sstruct_table;

struct sstruct_model {
    int kind;
    size_t n_classes, n_features;
    int single;                        /* values of the vectorizer are rounded to float */
    unsigned given;                    /* bits of the fields that are not null */
    sstruct_strings classes, features;
    sstruct_doubles center, scale, intercept, start, end;
    sstruct_table weights, transitions;
    sstruct_ints next, first, last;    /* allowed labels */
    sstruct_sizes next_starts;
    double *edge;                      /* n_classes x n_classes scores, or NULL */
    size_t n_slots;                    /* hash table of features: index + 1, or 0 */
    size_t *slots;
};

/* Fields of the file; the constants below have the same order. */
static const char *const sstruct_fields[] = {
    "format", "version", "kind", "classes", "features", "vectorizer", "center", "scale", "weights",
    "intercept", "start", "end", "transitions", "allowed_next", "allowed_first", "allowed_last"};
enum {
    SSTRUCT_FORMAT, SSTRUCT_VERSION, SSTRUCT_KIND, SSTRUCT_CLASS_LIST, SSTRUCT_FEATURES,
    SSTRUCT_VECTORIZER, SSTRUCT_CENTER, SSTRUCT_SCALE, SSTRUCT_WEIGHTS, SSTRUCT_INTERCEPT,
    SSTRUCT_START, SSTRUCT_END, SSTRUCT_TRANSITIONS, SSTRUCT_NEXT, SSTRUCT_FIRST, SSTRUCT_LAST,
    SSTRUCT_N_FIELDS};

static int sstruct_given(const sstruct_model *model, int field)
{
    return model->given >> field & 1;
}

static void *sstruct_grown(void *items, size_t count, size_t *capacity, size_t size)
{
    size_t larger = *capacity ? *capacity : 8;
    void *moved;
    if (count < *capacity) return items;
    if (*capacity) {
        if (larger > SIZE_MAX / 2 / size) return NULL;
        larger *= 2;
    }
    moved = realloc(items, larger * size);
    if (moved) *capacity = larger;
    return moved;
}

/* Append a value; return from the function with an error if memory is exhausted. */
#define SSTRUCT_PUSH(parser, array, value)                                                   \
    do {                                                                                     \
        void *grown_ = sstruct_grown(                                                        \
            (array)->items, (array)->count, &(array)->capacity, sizeof *(array)->items);     \
        if (!grown_) return sstruct_wrong(parser, "out of memory");                          \
        (array)->items = grown_;                                                             \
        (array)->items[(array)->count++] = (value);                                          \
    } while (0)

/* Parser --------------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t size, at;
    char field[64];       /* the field that is read, for errors */
    sstruct_bytes key;
    sstruct_error *error;
} sstruct_parser;

static int sstruct_fail(sstruct_error *error, const char *format, ...)
{
    va_list arguments;
    if (error) {
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return -1;
}

static int sstruct_wrong(sstruct_parser *p, const char *message)
{
    const char *found = p->at >= p->size ? " at the end of the file" : "";
    const char *field = p->field[0] ? p->field : "model";
    return sstruct_fail(p->error, "%s: %s%s (byte %zu)", field, message, found, p->at);
}

/* Return the next character after white space without reading it, or -1 at the end. */
static int sstruct_peek(sstruct_parser *p)
{
    while (p->at < p->size && strchr(" \t\r\n", p->text[p->at]) && p->text[p->at]) p->at++;
    return p->at < p->size ? (unsigned char)p->text[p->at] : -1;
}

static int sstruct_take(sstruct_parser *p, char c, const char *message)
{
    if (sstruct_peek(p) != (unsigned char)c) return sstruct_wrong(p, message);
    p->at++;
    return 0;
}

/* Read a word such as null if it comes next; return whether it did. */
static int sstruct_word(sstruct_parser *p, const char *word)
{
    const size_t length = strlen(word);
    if (sstruct_peek(p) < 0 || p->size - p->at < length) return 0;
    if (memcmp(p->text + p->at, word, length)) return 0;
    p->at += length;
    return 1;
}

static int sstruct_is_digit(const sstruct_parser *p)
{
    return p->at < p->size && p->text[p->at] >= '0' && p->text[p->at] <= '9';
}

/* Read the digits of a number; return how many there are. */
static size_t sstruct_digits(sstruct_parser *p)
{
    const size_t start = p->at;
    while (sstruct_is_digit(p)) p->at++;
    return p->at - start;
}

static int sstruct_has(sstruct_parser *p, const char *characters)
{
    if (p->at >= p->size || !p->text[p->at] || !strchr(characters, p->text[p->at])) return 0;
    p->at++;
    return 1;
}

/* Read a number and return its length, or 0; its text starts at p->at - length. */
static size_t sstruct_number_text(sstruct_parser *p, int *whole)
{
    size_t start;
    int leading_zero;
    sstruct_peek(p);
    start = p->at;
    *whole = 1;
    sstruct_has(p, "-");
    leading_zero = p->at < p->size && p->text[p->at] == '0';
    switch (sstruct_digits(p)) {
    case 0: return 0;
    case 1: break;
    default: if (leading_zero) return 0;
    }
    if (sstruct_has(p, ".")) {
        *whole = 0;
        if (!sstruct_digits(p)) return 0;
    }
    if (sstruct_has(p, "eE")) {
        *whole = 0;
        sstruct_has(p, "+-");
        if (!sstruct_digits(p)) return 0;
    }
    return p->at - start;
}

static int sstruct_double(sstruct_parser *p, double *out)
{
    char text[512];
    const char *point = localeconv()->decimal_point;   /* strtod reads the point of the locale */
    const size_t point_length = strlen(point);
    int whole;
    const size_t length = sstruct_number_text(p, &whole);
    size_t i, n = 0;
    if (!length) return sstruct_wrong(p, "expected a number");
    if (length + point_length >= sizeof text) return sstruct_wrong(p, "the number is too long");
    for (i = p->at - length; i < p->at; i++) {
        if (p->text[i] == '.') {
            memcpy(text + n, point, point_length);
            n += point_length;
        } else {
            text[n++] = p->text[i];
        }
    }
    text[n] = 0;
    *out = strtod(text, NULL);
    return isfinite(*out) ? 0 : sstruct_wrong(p, "expected a finite number");
}

/* Read an integer from 0 to 2^31 - 1. */
static int sstruct_int(sstruct_parser *p, int32_t *out)
{
    int whole;
    const size_t length = sstruct_number_text(p, &whole);
    size_t i;
    *out = 0;
    if (!length || !whole) return sstruct_wrong(p, "expected an integer");
    for (i = p->at - length; i < p->at; i++) {
        const int32_t digit = p->text[i] - '0';
        if (digit < 0 || digit > 9 || *out > (INT32_MAX - digit) / 10)
            return sstruct_wrong(p, "expected an integer from 0 to 2147483647");
        *out = *out * 10 + digit;
    }
    return 0;
}

static int sstruct_byte(sstruct_parser *p, sstruct_bytes *out, unsigned long byte)
{
    SSTRUCT_PUSH(p, out, (char)(unsigned char)byte);
    return 0;
}

/* Read the four hexadecimal digits of an escape. */
static int sstruct_hex(sstruct_parser *p, unsigned long *out)
{
    int i;
    *out = 0;
    for (i = 0; i < 4; i++) {
        const char *all = "0123456789abcdefABCDEF";
        const char *found = p->at < p->size && p->text[p->at] ? strchr(all, p->text[p->at]) : NULL;
        if (!found) return sstruct_wrong(p, "expected four hexadecimal digits after \\u");
        *out = *out * 16 + (unsigned long)(found - all - (found - all > 15 ? 6 : 0));
        p->at++;
    }
    return 0;
}

/* Append the character of an escape as UTF-8. */
static int sstruct_escape(sstruct_parser *p, sstruct_bytes *out)
{
    const char *names = "\"\\/bfnrt", *values = "\"\\/\b\f\n\r\t", *found;
    const char name = p->at < p->size ? p->text[p->at] : 0;
    unsigned long code, low;
    int n;
    found = name ? strchr(names, name) : NULL;
    if (found) {
        p->at++;
        return sstruct_byte(p, out, (unsigned char)values[found - names]);
    }
    if (name != 'u') return sstruct_wrong(p, "invalid escape in a string");
    p->at++;
    if (sstruct_hex(p, &code)) return -1;
    if (code >= 0xD800 && code < 0xDC00) {
        if (p->size - p->at < 2 || p->text[p->at] != '\\' || p->text[p->at + 1] != 'u')
            return sstruct_wrong(p, "expected the second half of a surrogate pair");
        p->at += 2;
        if (sstruct_hex(p, &low)) return -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return sstruct_wrong(p, "expected the second half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return sstruct_wrong(p, "expected the first half of a surrogate pair");
    }
    if (code == 0) return sstruct_wrong(p, "U+0000 is not supported in strings");
    if (code < 0x80) return sstruct_byte(p, out, code);
    n = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;   /* bytes after the first one */
    if (sstruct_byte(p, out, (0xFF80u >> n & 0xFF) | code >> 6 * n)) return -1;
    while (n--)
        if (sstruct_byte(p, out, 0x80 | (code >> 6 * n & 0x3F))) return -1;
    return 0;
}

/* Append a string and a final zero. */
static int sstruct_string(sstruct_parser *p, sstruct_bytes *out)
{
    if (sstruct_take(p, '"', "expected a string")) return -1;
    while (p->at < p->size && p->text[p->at] != '"') {
        const unsigned char c = (unsigned char)p->text[p->at];
        if (c < 0x20) return sstruct_wrong(p, "control character in a string");
        p->at++;
        if (c == '\\' ? sstruct_escape(p, out) : sstruct_byte(p, out, c)) return -1;
    }
    if (p->at >= p->size) return sstruct_wrong(p, "string without an end");
    p->at++;
    return sstruct_byte(p, out, 0);
}

typedef int (*sstruct_item)(sstruct_parser *p, void *out, size_t i);
typedef int (*sstruct_member)(sstruct_parser *p, void *out, const char *key);

/* Read the end of an array or object if it comes next; return whether it did. */
static int sstruct_ends(sstruct_parser *p, char c, size_t field_length)
{
    if (sstruct_peek(p) != (unsigned char)c) return 0;
    p->at++;
    p->field[field_length] = 0;
    return 1;
}

/* Read an array with a function for its items, or an object with one for its members. */
static int sstruct_array(sstruct_parser *p, sstruct_item item, void *out)
{
    const size_t length = strlen(p->field);
    size_t i;
    if (sstruct_take(p, '[', "expected an array")) return -1;
    if (sstruct_ends(p, ']', length)) return 0;
    for (i = 0;; i++) {
        int status;
        snprintf(p->field + length, sizeof p->field - length, "[%zu]", i);
        status = item(p, out, i);
        if (status) return status;
        if (sstruct_ends(p, ']', length)) return 0;
        if (sstruct_take(p, ',', "expected ',' or ']' after it")) return -1;
        p->field[length] = 0;
    }
}

static int sstruct_object(sstruct_parser *p, sstruct_member member, void *out)
{
    const size_t length = strlen(p->field);
    if (sstruct_take(p, '{', "expected an object")) return -1;
    if (sstruct_ends(p, '}', length)) return 0;
    for (;;) {
        char key[32] = "";
        p->key.count = 0;
        /* Until the name is read, errors name the previous member. Longer names are unknown fields. */
        if (sstruct_string(p, &p->key)) return -1;
        strncpy(key, p->key.items, sizeof key - 1);
        if (sstruct_take(p, ':', "expected ':' after the next name")) return -1;
        snprintf(p->field + length, sizeof p->field - length, "%s%s", length ? "." : "", key);
        if (member(p, out, key)) return -1;
        if (sstruct_ends(p, '}', length)) return 0;
        if (sstruct_take(p, ',', "expected ',' or '}' after it")) return -1;
    }
}

static int sstruct_skip(sstruct_parser *p, int depth);

static int sstruct_skip_item(sstruct_parser *p, void *out, size_t i)
{
    (void)i;
    return sstruct_skip(p, *(int *)out);
}

static int sstruct_skip_member(sstruct_parser *p, void *out, const char *key)
{
    (void)key;
    return sstruct_skip(p, *(int *)out);
}

/* Read a value of an unknown field. */
static int sstruct_skip(sstruct_parser *p, int depth)
{
    int c = sstruct_peek(p), deeper = depth + 1, whole;
    if (depth > 32) return sstruct_wrong(p, "arrays or objects are nested too deeply");
    if (c == '[') return sstruct_array(p, sstruct_skip_item, &deeper);
    if (c == '{') return sstruct_object(p, sstruct_skip_member, &deeper);
    if (c == '"') {
        p->key.count = 0;
        return sstruct_string(p, &p->key);
    }
    if (sstruct_word(p, "null") || sstruct_word(p, "true") || sstruct_word(p, "false")) return 0;
    return sstruct_number_text(p, &whole) ? 0 : sstruct_wrong(p, "expected a value");
}

/* Fields --------------------------------------------------------------------------------------- */

static int sstruct_read_double(sstruct_parser *p, void *out, size_t i)
{
    sstruct_doubles *array = (sstruct_doubles *)out;
    double value;
    (void)i;
    if (sstruct_double(p, &value)) return -1;
    SSTRUCT_PUSH(p, array, value);
    return 0;
}

static int sstruct_read_scale(sstruct_parser *p, void *out, size_t i)
{
    if (sstruct_read_double(p, out, i)) return -1;
    return ((sstruct_doubles *)out)->items[i] != 0 ? 0 : sstruct_wrong(p, "must not be 0");
}

static int sstruct_read_int(sstruct_parser *p, void *out, size_t i)
{
    sstruct_ints *array = (sstruct_ints *)out;
    int32_t value;
    (void)i;
    if (sstruct_int(p, &value)) return -1;
    SSTRUCT_PUSH(p, array, value);
    return 0;
}

static int sstruct_read_name(sstruct_parser *p, void *out, size_t i)
{
    sstruct_strings *strings = (sstruct_strings *)out;
    (void)i;
    SSTRUCT_PUSH(p, &strings->at, strings->bytes.count);
    return sstruct_string(p, &strings->bytes);
}

/* A class: a string, an integer or a boolean, stored as text. */
static int sstruct_read_class(sstruct_parser *p, void *out, size_t i)
{
    sstruct_strings *strings = (sstruct_strings *)out;
    int whole;
    size_t start, length;
    if (sstruct_peek(p) == '"') return sstruct_read_name(p, out, i);
    start = p->at;
    if (!sstruct_word(p, "true") && !sstruct_word(p, "false")) {
        length = sstruct_number_text(p, &whole);
        if (!length || !whole) return sstruct_wrong(p, "expected a string, an integer or a boolean");
    }
    SSTRUCT_PUSH(p, &strings->at, strings->bytes.count);
    for (; start < p->at; start++)
        if (sstruct_byte(p, &strings->bytes, (unsigned char)p->text[start])) return -1;
    return sstruct_byte(p, &strings->bytes, 0);
}

static int sstruct_read_allowed(sstruct_parser *p, void *out, size_t i)
{
    sstruct_model *model = (sstruct_model *)out;
    (void)i;
    SSTRUCT_PUSH(p, &model->next_starts, model->next.count);
    return sstruct_array(p, sstruct_read_int, &model->next);
}

typedef struct { sstruct_table *table; sstruct_ints shape, counts; int seen; } sstruct_table_reader;

enum { SSTRUCT_SHAPE = 1, SSTRUCT_VALUES = 2, SSTRUCT_COUNTS = 4, SSTRUCT_COLUMNS = 8 };

static int sstruct_table_member(sstruct_parser *p, void *out, const char *key)
{
    sstruct_table_reader *r = (sstruct_table_reader *)out;
    const int bit = !strcmp(key, "shape") ? SSTRUCT_SHAPE : !strcmp(key, "values") ? SSTRUCT_VALUES
        : !strcmp(key, "counts") ? SSTRUCT_COUNTS : !strcmp(key, "columns") ? SSTRUCT_COLUMNS : 0;
    if (r->seen & bit) return sstruct_wrong(p, "found twice");
    r->seen |= bit;
    switch (bit) {
    case SSTRUCT_SHAPE: return sstruct_array(p, sstruct_read_int, &r->shape);
    case SSTRUCT_VALUES: return sstruct_array(p, sstruct_read_double, &r->table->values);
    case SSTRUCT_COUNTS: return sstruct_array(p, sstruct_read_int, &r->counts);
    case SSTRUCT_COLUMNS: return sstruct_array(p, sstruct_read_int, &r->table->columns);
    default: return sstruct_skip(p, 0);
    }
}

/* Validate a table and compute where its rows start. */
static int sstruct_table_of(sstruct_parser *p, sstruct_table_reader *r)
{
    sstruct_table *t = r->table;
    const char *field = p->field;
    size_t row, e = 0;
    int32_t last;
    if (!(r->seen & SSTRUCT_SHAPE)) return sstruct_fail(p->error, "%s.shape: missing", field);
    if (!(r->seen & SSTRUCT_VALUES)) return sstruct_fail(p->error, "%s.values: missing", field);
    if (r->shape.count != 2 || r->shape.items[0] < 1 || r->shape.items[1] < 1)
        return sstruct_fail(p->error, "%s.shape: expected two positive integers", field);
    t->n_rows = (size_t)r->shape.items[0];
    t->n_columns = (size_t)r->shape.items[1];
    if (!(r->seen & (SSTRUCT_COUNTS | SSTRUCT_COLUMNS))) {
        if ((uint64_t)t->n_rows * t->n_columns != t->values.count)
            return sstruct_fail(
                p->error, "%s.values: found %zu numbers, expected %zu x %zu as in shape", field,
                t->values.count, t->n_rows, t->n_columns);
        return 0;
    }
    if (!(r->seen & SSTRUCT_COUNTS)) return sstruct_fail(p->error, "%s.counts: missing", field);
    if (!(r->seen & SSTRUCT_COLUMNS)) return sstruct_fail(p->error, "%s.columns: missing", field);
    if (r->counts.count != t->n_rows)
        return sstruct_fail(p->error, "%s.counts: found %zu entries, expected %zu as in shape",
                            field, r->counts.count, t->n_rows);
    if (t->columns.count != t->values.count)
        return sstruct_fail(p->error, "%s.columns: found %zu entries, expected %zu as in values",
                            field, t->columns.count, t->values.count);
    for (row = 0; row < t->n_rows; row++) {
        const size_t count = (size_t)r->counts.items[row];
        const size_t end = e + count;
        if (count > t->columns.count - e)
            return sstruct_fail(p->error, "%s.counts[%zu]: more entries than in columns", field, row);
        SSTRUCT_PUSH(p, &t->starts, e);
        for (last = -1; e < end; last = t->columns.items[e++])
            if (t->columns.items[e] <= last || (size_t)t->columns.items[e] >= t->n_columns)
                return sstruct_fail(p->error, "%s.columns[%zu]: expected increasing columns below %zu",
                                    field, e, t->n_columns);
    }
    if (e != t->columns.count)
        return sstruct_fail(p->error, "%s.counts: the sum is %zu, expected %zu as in columns", field,
                            e, t->columns.count);
    SSTRUCT_PUSH(p, &t->starts, e);
    return 0;
}

static int sstruct_read_table(sstruct_parser *p, sstruct_table *table)
{
    sstruct_table_reader r = {table, {NULL, 0, 0}, {NULL, 0, 0}, 0};
    int status = sstruct_object(p, sstruct_table_member, &r);
    if (!status) status = sstruct_table_of(p, &r);
    free(r.shape.items);
    free(r.counts.items);
    return status;
}

/* Read a string and return its index among two or three strings, or -1. */
static int sstruct_choice(sstruct_parser *p, const char *a, const char *b, const char *c)
{
    p->key.count = 0;
    if (sstruct_string(p, &p->key)) return -1;
    if (a && !strcmp(p->key.items, a)) return 0;
    if (b && !strcmp(p->key.items, b)) return 1;
    if (c && !strcmp(p->key.items, c)) return 2;
    return sstruct_wrong(p, "unknown value");
}

typedef struct { int kind, dtype, has_separator; } sstruct_vectorizer;

static int sstruct_vectorizer_member(sstruct_parser *p, void *out, const char *key)
{
    sstruct_vectorizer *v = (sstruct_vectorizer *)out;
    if (!strcmp(key, "kind")) {
        v->kind = sstruct_choice(p, "sequence", "dict", NULL);
        return v->kind < 0 ? -1 : 0;
    }
    if (!strcmp(key, "dtype")) {
        v->dtype = sstruct_choice(p, "float64", "float32", NULL);
        return v->dtype < 0 ? -1 : 0;
    }
    if (strcmp(key, "separator")) return sstruct_skip(p, 0);
    v->has_separator = 1;
    p->key.count = 0;
    return sstruct_string(p, &p->key);
}

/* The caller makes features of words, so of the vectorizer only the type of values is kept. */
static int sstruct_read_vectorizer(sstruct_parser *p, sstruct_model *model)
{
    sstruct_vectorizer v = {-1, -1, 0};
    if (sstruct_object(p, sstruct_vectorizer_member, &v)) return -1;
    if (v.kind < 0) return sstruct_fail(p->error, "vectorizer.kind: missing");
    if (v.dtype < 0) return sstruct_fail(p->error, "vectorizer.dtype: missing");
    if (!v.has_separator) return sstruct_fail(p->error, "vectorizer.separator: missing");
    model->single = v.dtype;
    return 0;
}

typedef struct { sstruct_model *model; unsigned seen; } sstruct_reader;

static int sstruct_model_member(sstruct_parser *p, void *out, const char *key)
{
    sstruct_reader *r = (sstruct_reader *)out;
    sstruct_model *m = r->model;
    int32_t version;
    int field = 0, nullable;
    while (field < SSTRUCT_N_FIELDS && strcmp(key, sstruct_fields[field])) field++;
    if (field == SSTRUCT_N_FIELDS) return sstruct_skip(p, 0);
    if (r->seen & 1u << field) return sstruct_wrong(p, "found twice");
    r->seen |= 1u << field;
    nullable = (field >= SSTRUCT_FEATURES && field <= SSTRUCT_SCALE) || field >= SSTRUCT_TRANSITIONS;
    if (nullable && sstruct_word(p, "null")) return 0;
    m->given |= 1u << field;
    switch (field) {
    case SSTRUCT_FORMAT: return sstruct_choice(p, "sstruct model", NULL, NULL);
    case SSTRUCT_VERSION:
        if (sstruct_int(p, &version)) return -1;
        return version == 1 ? 0 : sstruct_wrong(p, "this reader supports version 1 only");
    case SSTRUCT_KIND:
        m->kind = sstruct_choice(p, "chain", "classes", "label sets");
        return m->kind < 0 ? -1 : 0;
    case SSTRUCT_CLASS_LIST: return sstruct_array(p, sstruct_read_class, &m->classes);
    case SSTRUCT_FEATURES: return sstruct_array(p, sstruct_read_name, &m->features);
    case SSTRUCT_VECTORIZER: return sstruct_read_vectorizer(p, m);
    case SSTRUCT_CENTER: return sstruct_array(p, sstruct_read_double, &m->center);
    case SSTRUCT_SCALE: return sstruct_array(p, sstruct_read_scale, &m->scale);
    case SSTRUCT_WEIGHTS: return sstruct_read_table(p, &m->weights);
    case SSTRUCT_INTERCEPT: return sstruct_array(p, sstruct_read_double, &m->intercept);
    case SSTRUCT_START: return sstruct_array(p, sstruct_read_double, &m->start);
    case SSTRUCT_END: return sstruct_array(p, sstruct_read_double, &m->end);
    case SSTRUCT_TRANSITIONS: return sstruct_read_table(p, &m->transitions);
    case SSTRUCT_NEXT: return sstruct_array(p, sstruct_read_allowed, m);
    case SSTRUCT_FIRST: return sstruct_array(p, sstruct_read_int, &m->first);
    default: return sstruct_array(p, sstruct_read_int, &m->last);
    }
}

/* Validation of a whole model ------------------------------------------------------------------ */

static int sstruct_length(sstruct_error *error, const char *field, size_t found, size_t expected)
{
    if (found == expected) return 0;
    return sstruct_fail(error, "%s: found %zu entries, expected %zu", field, found, expected);
}

/* Check that labels increase and are classes. */
static int sstruct_check_labels(
    sstruct_error *error, const char *field, const int32_t *labels, size_t count, size_t n_classes)
{
    size_t i;
    for (i = 0; i < count; i++)
        if ((size_t)labels[i] >= n_classes || (i && labels[i] <= labels[i - 1]))
            return sstruct_fail(error, "%s[%zu]: expected increasing numbers below %zu", field, i,
                                n_classes);
    return 0;
}

/* Forbid the labels that are not listed, by scores of -inf. */
static void sstruct_forbid(double *scores, size_t n, const int32_t *allowed, size_t count)
{
    size_t k, i = 0;
    for (k = 0; k < n; k++) {
        if (i < count && (size_t)allowed[i] == k) i++;
        else scores[k] = -INFINITY;
    }
}

static int sstruct_set_edges(sstruct_model *m, sstruct_error *error)
{
    const size_t K = m->n_classes;
    size_t j, k, e;
    if (!sstruct_given(m, SSTRUCT_TRANSITIONS) && !sstruct_given(m, SSTRUCT_NEXT)) return 0;
    m->edge = K <= SIZE_MAX / sizeof(double) / K ? calloc(K * K, sizeof(double)) : NULL;
    if (!m->edge) return sstruct_fail(error, "transitions: out of memory");
    for (j = 0; j < (sstruct_given(m, SSTRUCT_TRANSITIONS) ? K : 0); j++) {
        const sstruct_table *t = &m->transitions;
        if (!t->starts.items)
            for (k = 0; k < K; k++) m->edge[j * K + k] = t->values.items[j * K + k];
        else
            for (e = t->starts.items[j]; e < t->starts.items[j + 1]; e++)
                m->edge[j * K + (size_t)t->columns.items[e]] = t->values.items[e];
    }
    for (j = 0; j < (sstruct_given(m, SSTRUCT_NEXT) ? K : 0); j++) {
        const size_t start = m->next_starts.items[j];
        const size_t end = j + 1 < K ? m->next_starts.items[j + 1] : m->next.count;
        char field[48];
        snprintf(field, sizeof field, "allowed_next[%zu]", j);
        if (start < end) {
            if (sstruct_check_labels(error, field, m->next.items + start, end - start, K)) return -1;
            sstruct_forbid(m->edge + j * K, K, m->next.items + start, end - start);
        } else {
            sstruct_forbid(m->edge + j * K, K, NULL, 0);
        }
    }
    return 0;
}

static uint64_t sstruct_hash(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* Return the slot of a name in the hash table: that of the feature, or an empty one. */
static size_t sstruct_slot(const sstruct_model *m, const char *name)
{
    size_t slot = (size_t)sstruct_hash(name) & (m->n_slots - 1);
    while (m->slots[slot]) {
        const size_t f = m->slots[slot] - 1;
        if (!strcmp(m->features.bytes.items + m->features.at.items[f], name)) break;
        slot = (slot + 1) & (m->n_slots - 1);
    }
    return slot;
}

static int sstruct_set_slots(sstruct_model *m, sstruct_error *error)
{
    const size_t n = m->features.at.count;
    size_t f;
    if (!n) return 0;
    for (m->n_slots = 4; m->n_slots / 2 < n; m->n_slots *= 2)
        if (m->n_slots > SIZE_MAX / 4) return sstruct_fail(error, "features: out of memory");
    m->slots = calloc(m->n_slots, sizeof *m->slots);
    if (!m->slots) return sstruct_fail(error, "features: out of memory");
    for (f = 0; f < n; f++) {
        const size_t slot = sstruct_slot(m, m->features.bytes.items + m->features.at.items[f]);
        if (m->slots[slot] && sstruct_given(m, SSTRUCT_VECTORIZER))
            return sstruct_fail(error, "features[%zu]: the name is also features[%zu]", f,
                                m->slots[slot] - 1);
        if (!m->slots[slot]) m->slots[slot] = f + 1;
    }
    return 0;
}

static int sstruct_complete(sstruct_model *m, unsigned seen, sstruct_error *error)
{
    const size_t K = m->n_classes = m->classes.at.count, F = m->n_features = m->weights.n_rows;
    int field;
    for (field = 0; field < SSTRUCT_N_FIELDS; field++)
        if (!(seen & 1u << field) && (field < SSTRUCT_START || m->kind == SSTRUCT_CHAIN))
            return sstruct_fail(error, "%s: missing", sstruct_fields[field]);
    if (!K || K > INT32_MAX) return sstruct_fail(error, "classes: expected at least one class");
    if (m->weights.n_columns != K)
        return sstruct_fail(error, "weights.shape: found %zu columns, expected %zu as in classes",
                            m->weights.n_columns, K);
    if (sstruct_length(error, "intercept", m->intercept.count, K)) return -1;
    if (sstruct_given(m, SSTRUCT_FEATURES) && sstruct_length(error, "features", m->features.at.count, F)) return -1;
    if (sstruct_given(m, SSTRUCT_VECTORIZER) && !sstruct_given(m, SSTRUCT_FEATURES))
        return sstruct_fail(error, "features: missing, but required by vectorizer");
    if (sstruct_given(m, SSTRUCT_CENTER) && sstruct_length(error, "center", m->center.count, F)) return -1;
    if (sstruct_given(m, SSTRUCT_SCALE) && sstruct_length(error, "scale", m->scale.count, F)) return -1;
    if (sstruct_set_slots(m, error)) return -1;
    if (m->kind != SSTRUCT_CHAIN) return 0;
    if (sstruct_length(error, "start", m->start.count, K)) return -1;
    if (sstruct_length(error, "end", m->end.count, K)) return -1;
    if (sstruct_given(m, SSTRUCT_TRANSITIONS) && (m->transitions.n_rows != K || m->transitions.n_columns != K))
        return sstruct_fail(error, "transitions.shape: expected %zu x %zu as in classes", K, K);
    if (sstruct_given(m, SSTRUCT_NEXT) && sstruct_length(error, "allowed_next", m->next_starts.count, K)) return -1;
    if (sstruct_given(m, SSTRUCT_FIRST)) {
        if (sstruct_check_labels(error, "allowed_first", m->first.items, m->first.count, K)) return -1;
        sstruct_forbid(m->start.items, K, m->first.items, m->first.count);
    }
    if (sstruct_given(m, SSTRUCT_LAST)) {
        if (sstruct_check_labels(error, "allowed_last", m->last.items, m->last.count, K)) return -1;
        sstruct_forbid(m->end.items, K, m->last.items, m->last.count);
    }
    return sstruct_set_edges(m, error);
}

sstruct_model *sstruct_read(const char *json, size_t size, sstruct_error *error)
{
    sstruct_parser p = {json, json ? size : 0, 0, "", {NULL, 0, 0}, error};
    sstruct_reader reader = {calloc(1, sizeof(sstruct_model)), 0};
    int status;
    if (!reader.model) {
        sstruct_fail(error, "out of memory");
        return NULL;
    }
    if (p.size >= 3 && !memcmp(json, "\xEF\xBB\xBF", 3)) p.at = 3;
    status = sstruct_object(&p, sstruct_model_member, &reader);
    if (!status && sstruct_peek(&p) >= 0) status = sstruct_wrong(&p, "unexpected text after the model");
    if (!status) status = sstruct_complete(reader.model, reader.seen, error);
    free(p.key.items);
    if (status) {
        sstruct_free(reader.model);
        return NULL;
    }
    return reader.model;
}

sstruct_model *sstruct_read_file(const char *path, sstruct_error *error)
{
    sstruct_bytes text = {NULL, 0, 0};
    sstruct_model *model = NULL;
    FILE *file = fopen(path, "rb");
    int ok = 1;
    if (!file) {
        sstruct_fail(error, "%.200s: cannot be opened", path);
        return NULL;
    }
    while (ok && !feof(file) && !ferror(file)) {
        void *grown = sstruct_grown(text.items, text.count, &text.capacity, 1);
        ok = grown != NULL;
        if (ok) {
            text.items = grown;
            text.count += fread(text.items + text.count, 1, text.capacity - text.count, file);
        }
    }
    if (!ok || ferror(file)) sstruct_fail(error, "%.200s: cannot be read", path);
    else model = sstruct_read(text.items, text.count, error);
    fclose(file);
    free(text.items);
    return model;
}

void sstruct_free(sstruct_model *m)
{
    size_t i;
    if (!m) return;
    {
        void *const all[] = {
            m->classes.bytes.items, m->classes.at.items, m->features.bytes.items,
            m->features.at.items, m->center.items, m->scale.items, m->intercept.items,
            m->start.items, m->end.items, m->weights.values.items, m->weights.columns.items,
            m->weights.starts.items, m->transitions.values.items, m->transitions.columns.items,
            m->transitions.starts.items, m->next.items, m->first.items, m->last.items,
            m->next_starts.items, m->edge, m->slots, m};
        for (i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    }
}

int sstruct_kind(const sstruct_model *m) { return m->kind; }
size_t sstruct_n_classes(const sstruct_model *m) { return m->n_classes; }
size_t sstruct_n_features(const sstruct_model *m) { return m->n_features; }

const char *sstruct_class(const sstruct_model *m, size_t k)
{
    return k < m->n_classes ? m->classes.bytes.items + m->classes.at.items[k] : NULL;
}

int32_t sstruct_column(const sstruct_model *m, const char *name)
{
    return m->n_slots ? (int32_t)((int64_t)m->slots[sstruct_slot(m, name)] - 1) : -1;
}

/* Prediction ----------------------------------------------------------------------------------- */

static void sstruct_add_feature(const sstruct_model *m, size_t f, double value, double *scores)
{
    const sstruct_table *t = &m->weights;
    size_t k, e;
    if (t->starts.items) {
        for (e = t->starts.items[f]; e < t->starts.items[f + 1]; e++)
            scores[t->columns.items[e]] += value * t->values.items[e];
    } else {
        for (k = 0; k < m->n_classes; k++) scores[k] += value * t->values.items[f * m->n_classes + k];
    }
}

/* Add a feature after scaling. */
static void sstruct_add_value(const sstruct_model *m, size_t f, double value, double *scores)
{
    if (sstruct_given(m, SSTRUCT_CENTER)) value -= m->center.items[f];
    if (sstruct_given(m, SSTRUCT_SCALE)) value /= m->scale.items[f];
    sstruct_add_feature(m, f, value, scores);
}

static int sstruct_check_scores(
    const sstruct_model *m, const double *scores, size_t row, sstruct_error *error)
{
    size_t k;
    for (k = 0; k < m->n_classes; k++)
        if (!isfinite(scores[k]))
            return sstruct_fail(error, "rows[%zu]: the scores exceed the range of double", row);
    return 0;
}

static size_t sstruct_argmax(const double *scores, size_t n)
{
    size_t k, best = 0;
    for (k = 1; k < n; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

/* Find the best path. scores: n x K, replaced by the best scores of paths. Ties: the lowest label. */
static int sstruct_viterbi(
    const sstruct_model *m, double *scores, size_t n, int32_t *labels, sstruct_error *error)
{
    const size_t K = m->n_classes;
    int32_t *origin;
    size_t l, j, k;
    for (k = 0; k < K; k++) scores[k] += m->start.items[k];
    for (k = 0; k < K; k++) scores[(n - 1) * K + k] += m->end.items[k];
    if (!m->edge) {
        for (l = 0; l < n; l++) {
            k = sstruct_argmax(scores + l * K, K);
            if (scores[l * K + k] == -INFINITY)
                return sstruct_fail(error, "the model forbids every labeling of %zu rows", n);
            labels[l] = (int32_t)k;
        }
        return 0;
    }
    origin = malloc(n * K * sizeof *origin);   /* fits, since the larger array of scores does */
    if (!origin) return sstruct_fail(error, "out of memory for %zu rows", n);
    for (l = 1; l < n; l++) {
        const double *before = scores + (l - 1) * K;
        double *now = scores + l * K;
        for (k = 0; k < K; k++) {
            double best = before[0] + m->edge[k];
            int32_t from = 0;
            for (j = 1; j < K; j++) {
                const double score = before[j] + m->edge[j * K + k];
                if (score > best) {
                    best = score;
                    from = (int32_t)j;
                }
            }
            origin[l * K + k] = from;
            now[k] = best + now[k];
        }
    }
    k = sstruct_argmax(scores + (n - 1) * K, K);
    if (scores[(n - 1) * K + k] == -INFINITY) {
        free(origin);
        return sstruct_fail(error, "the model forbids every labeling of %zu rows", n);
    }
    for (l = n; l-- > 0;) {
        labels[l] = (int32_t)k;
        if (l) k = (size_t)origin[l * K + k];
    }
    free(origin);
    return 0;
}

/* Compute the labels from the scores of all rows, n x K. */
static int sstruct_decode(
    const sstruct_model *m, double *scores, size_t n, int32_t *labels, sstruct_error *error)
{
    const size_t K = m->n_classes;
    size_t l;
    if (m->kind == SSTRUCT_CHAIN) return sstruct_viterbi(m, scores, n, labels, error);
    if (m->kind == SSTRUCT_CLASSES)
        for (l = 0; l < n; l++) labels[l] = (int32_t)sstruct_argmax(scores + l * K, K);
    else
        for (l = 0; l < n * K; l++) labels[l] = scores[l] > 0;
    return 0;
}

static double *sstruct_first_scores(const sstruct_model *m, size_t n, sstruct_error *error)
{
    const size_t K = m->n_classes;
    double *scores = n <= SIZE_MAX / sizeof(double) / K ? malloc(n * K * sizeof(double)) : NULL;
    size_t l;
    if (!scores) sstruct_fail(error, "out of memory for %zu rows", n);
    else
        for (l = 0; l < n; l++) memcpy(scores + l * K, m->intercept.items, K * sizeof(double));
    return scores;
}

int sstruct_predict(
    const sstruct_model *m, const double *rows, size_t n_rows, int32_t *labels, sstruct_error *error)
{
    const size_t F = m->n_features, K = m->n_classes;
    double *scores;
    size_t l, f;
    int status = 0;
    if (!n_rows) return 0;
    scores = sstruct_first_scores(m, n_rows, error);
    if (!scores) return -1;
    for (l = 0; l < n_rows && !status; l++) {
        for (f = 0; f < F && !status; f++) {
            const double value = rows[l * F + f];
            if (!isfinite(value)) status = sstruct_fail(error, "rows[%zu][%zu] is not finite", l, f);
            else sstruct_add_value(m, f, value, scores + l * K);
        }
        if (!status) status = sstruct_check_scores(m, scores + l * K, l, error);
    }
    if (!status) status = sstruct_decode(m, scores, n_rows, labels, error);
    free(scores);
    return status;
}

/* Add a sparse row. dense: NULL, or n_features zeros, which are used and cleared. */
static int sstruct_add_sparse(
    const sstruct_model *m, const int32_t *columns, const double *values, size_t count, size_t row,
    double *dense, double *scores, sstruct_error *error)
{
    size_t e, f;
    for (e = 0; e < count; e++) {
        double value = values ? values[e] : 1.0;
        if (columns[e] < 0 || (size_t)columns[e] >= m->n_features)
            return sstruct_fail(error, "row %zu: column %ld is not below %zu", row, (long)columns[e],
                                m->n_features);
        if (!isfinite(value)) return sstruct_fail(error, "row %zu: a value is not finite", row);
        if (m->single) {
            if (fabs(value) > FLT_MAX) return sstruct_fail(error, "row %zu: a value exceeds float", row);
            value = (double)(float)value;
        }
        if (dense) dense[columns[e]] += value;
        else sstruct_add_value(m, (size_t)columns[e], value, scores);
    }
    for (f = 0; dense && f < m->n_features; f++) {
        sstruct_add_value(m, f, dense[f], scores);
        dense[f] = 0;
    }
    return sstruct_check_scores(m, scores, row, error);
}

int sstruct_predict_sparse(
    const sstruct_model *m, const size_t *starts, const int32_t *columns, const double *values,
    size_t n_rows, int32_t *labels, sstruct_error *error)
{
    double *scores, *dense = NULL;
    size_t l;
    int status = 0;
    if (!n_rows) return 0;
    scores = sstruct_first_scores(m, n_rows, error);
    if (!scores) return -1;
    if (sstruct_given(m, SSTRUCT_CENTER)) {   /* absent features are not 0 after centering */
        dense = calloc(m->n_features, sizeof *dense);
        if (!dense) status = sstruct_fail(error, "out of memory");
    }
    for (l = 0; l < n_rows && !status; l++) {
        if (starts[l] > starts[l + 1]) {
            status = sstruct_fail(error, "starts[%zu] is less than starts[%zu]", l + 1, l);
        } else {
            const size_t at = starts[l];
            status = sstruct_add_sparse(
                m, starts[l + 1] > at ? columns + at : NULL, values ? values + at : NULL,
                starts[l + 1] - at, l, dense, scores + l * m->n_classes, error);
        }
    }
    if (!status) status = sstruct_decode(m, scores, n_rows, labels, error);
    free(dense);
    free(scores);
    return status;
}

#endif /* SSTRUCT_IMPLEMENTATION */
