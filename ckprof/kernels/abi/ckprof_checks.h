/* SPDX-License-Identifier: MIT
 *
 * What a target may provide so that results are verified where they are: operands, reference and
 * comparison without copies to the host. A target without it has all of that done on the host.
 *
 * All memory is the target's. Functions wait for kernels that were launched before, and are done
 * when they return. CKPROF_FAILED: the device has failed, see last_error.
 */
#ifndef CKPROF_CHECKS_H
#define CKPROF_CHECKS_H

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever anything below changes. */
#define CKPROF_CHECKS_VERSION 3

/* Most axes of a tensor, loops of a sum, and indices of one operand that are checked; most axes of
 * a piece of memory that are negated, and pieces of one call. */
#define CKPROF_MAX_AXES 8
#define CKPROF_MAX_LOOPS 16
#define CKPROF_MAX_CHECKED 3
#define CKPROF_MAX_SIGNS 2
#define CKPROF_MAX_PIECES 16

/* Element types. fp8 has four bits of exponent, bf8 five; OCP is the open standard's variant, the
 * other has no infinity and no negative zero. */
typedef enum ckprof_element
{
    CKPROF_FP32    = 0,
    CKPROF_FP16    = 1,
    CKPROF_BF16    = 2,
    CKPROF_FP8_OCP = 3,
    CKPROF_BF8_OCP = 4,
    CKPROF_FP8     = 5,
    CKPROF_BF8     = 6,
    CKPROF_INT8    = 7,
    CKPROF_INT32   = 8
} ckprof_element;

/* What an operand is filled with: a function of a key and of an element's number. */
typedef enum ckprof_values
{
    CKPROF_ZEROS    = 0,
    CKPROF_INTEGERS = 1, /* see ckprof_integers */
    CKPROF_DECIMALS = 2, /* 24 random bits behind the point, plus lowest */
    CKPROF_SIGNS    = 3  /* 1 where these bits are below low, -1 from high on, else 0 */
} ckprof_values;

/* How integers are drawn, and what is made of them. */
typedef struct ckprof_integers
{
    int32_t lowest; /* the least one, and how many there are */
    int32_t count;
    uint64_t kept; /* 0 where the lower half of the random bits is no less */
    /* The power of two that they are multiplied by: exponent, plus direction times the element's
     * index modulo period. The index is the element's number divided by step, modulo length. */
    int32_t exponent;
    int32_t direction;
    int64_t step;
    int64_t length;
    int64_t period;
    float largest; /* no magnitude exceeds it */
    int32_t less;  /* other than 0: the last place is taken off magnitudes, in fp32 */
} ckprof_integers;

typedef struct ckprof_operand
{
    int32_t element; /* ckprof_element */
    int32_t values;  /* ckprof_values */
    uint64_t key;
    float lowest;
    uint32_t low;
    uint32_t high;
    ckprof_integers integers;
    int32_t axes;
    /* Axes in the order of the memory, slowest first; the number of an element is the sum of its
     * indices times these strides. */
    int64_t lengths[CKPROF_MAX_AXES];
    int64_t numbers[CKPROF_MAX_AXES];
    int64_t line; /* elements from one line along the last axis to the next one */
} ckprof_operand;

/* One loop of a sum of products: what a step means for the offsets of the result and of both
 * operands, in elements, and for the operands' checked indices. */
typedef struct ckprof_loop
{
    int64_t length;
    int64_t result;
    int64_t offset[2];
    int32_t checked[2][CKPROF_MAX_CHECKED];
} ckprof_loop;

/* An index that may be no element: the product counts only if it is a multiple of divisor and the
 * quotient less than length. Then the quotient times stride is added to the offset. */
typedef struct ckprof_checked_index
{
    int32_t start;
    int32_t divisor;
    int64_t length;
    int64_t stride;
} ckprof_checked_index;

/* For each element of the result: the sum of products of an element of each operand. */
typedef struct ckprof_contraction
{
    int32_t elements[2]; /* ckprof_element of the operands */
    /* Numbers of loops: over what both operands have, over what only the first one has, over what
     * only the second one has, and those that are summed. loop has them in this order, slowest
     * first. */
    int32_t batches;
    int32_t rows;
    int32_t columns;
    int32_t sums;
    ckprof_loop loop[CKPROF_MAX_LOOPS];
    int32_t checks[2];
    ckprof_checked_index check[2][CKPROF_MAX_CHECKED];
    /* Long sums are cut: into slices of so many products, whose sums are added in their order. */
    int64_t slices;
    int64_t slice;
    int64_t stored; /* elements of the result, gaps included */
} ckprof_contraction;

/* What the reference is rounded to the type of the result with before it is compared. */
typedef enum ckprof_rounding
{
    CKPROF_NOT_ROUNDED = 0,
    CKPROF_TO_NEAREST  = 1, /* ties to even */
    CKPROF_CUT_OFF     = 2
} ckprof_rounding;

/* An element passes when it is finite and |out - ref| <= atol + rtol * |ref|, or infinite where the
 * type of the result holds no number that is near enough. Where the reference is a NaN the result
 * has a gap, which must still be poisoned: each of its bytes has this value. */
typedef struct ckprof_comparison
{
    int32_t element;  /* ckprof_element of the result */
    int32_t rounding; /* ckprof_rounding */
    int32_t poison;
    int64_t stored;
    double rtol;
    double atol;
} ckprof_comparison;

typedef struct ckprof_findings
{
    uint64_t wrong;      /* elements that do not pass */
    uint64_t unwritten;  /* of these, still poisoned */
    uint64_t non_finite; /* infinite or NaN, not poisoned, not in gaps */
    uint64_t in_gaps;    /* of these, in gaps */
    uint64_t gaps;
    uint64_t first;   /* position of the first wrong element, -1 if there is none */
    double max_error; /* largest among finite elements */
    double got;       /* the first wrong element, and what was expected; 0 if there is none */
    double expected;
} ckprof_findings;

/* Which indices of an axis are negated: those that an odd number of two sets has. A set has an
 * index where the upper 32 of its random bits, a function of the set's key and of the index, are
 * less than its share. The index of an element is its number divided by step, modulo length. */
typedef struct ckprof_signs
{
    int64_t length;
    int64_t step;
    uint64_t key[2];
    uint32_t share[2];
} ckprof_signs;

/* Memory that is looked at, or negated. */
typedef struct ckprof_piece
{
    void* memory; /* fastest at multiples of 16 bytes */
    int64_t bytes;
    int32_t element; /* ckprof_element, no integer; read where there are signs */
    int32_t
        others;   /* less than 0: a digest is asked for; or the bytes that do not have this value */
    int32_t axes; /* that are negated, each element by each of them */
    ckprof_signs signs[CKPROF_MAX_SIGNS];
} ckprof_piece;

typedef struct ckprof_checks
{
    uint32_t version; /* CKPROF_CHECKS_VERSION */
    /* Sets bytes. */
    ckprof_status (*fill)(void* memory, int32_t value, size_t bytes);
    /* For each of at most CKPROF_MAX_PIECES pieces: a number that changes when a byte does, of what
     * the piece would be if the values that are negated were not, or the number of other bytes. */
    ckprof_status (*survey)(const ckprof_piece* pieces, int32_t count, uint64_t* found);
    /* Fills an operand, gaps between its lines excepted, and adds up the squares of its values. */
    ckprof_status (*fill_operand)(const ckprof_operand* operand, void* memory, double* squares);
    /* Computes the reference. partial has room for slices times stored doubles, and may be the
     * reference where there is one slice. Gaps are left as they are. */
    ckprof_status (*contract)(const ckprof_contraction* contraction,
                              const void* first,
                              const void* second,
                              double* partial,
                              double* reference);
    /* The largest magnitude of the reference's elements, infinite if one is, and the number of
     * those that are no numbers. */
    ckprof_status (*magnitude)(const double* reference,
                               int64_t stored,
                               double* magnitude,
                               uint64_t* gaps);
    ckprof_status (*compare)(const ckprof_comparison* comparison,
                             const void* result,
                             const double* reference,
                             ckprof_findings* findings);
    /* Text of the device's error in the last call that failed. */
    void (*last_error)(char* text, size_t text_size);
    /* Changes the sign of values of pieces that are not 0, where they are to be negated. */
    ckprof_status (*negate)(const ckprof_piece* pieces, int32_t count);
    /* Waits until the whole device is idle, whatever stream work was launched in. */
    ckprof_status (*wait)(void);
} ckprof_checks;

/* A target may leave this function out. Never NULL; lives as long as the library. */
__attribute__((visibility("default"))) const ckprof_checks* ckprof_get_checks(void);

#ifdef __cplusplus
}
#endif

#endif
