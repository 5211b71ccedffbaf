/* judge.h: whether an output is the truth, within an op's limits. */
#ifndef KILN_TESTS_JUDGE_H
#define KILN_TESTS_JUDGE_H

#include "../truth/truth.h"

/* An absent limit is negative. */
typedef struct judge_limits {
    double ulp; /* units in the last place, beyond the rounding itself */
    double abs; /* absolute error that passes whatever the ulp */
    double l2;  /* relative error of the whole output, as a vector */
} judge_limits;

typedef struct judge_report {
    double share;  /* worst share of a limit: at most 1 passes */
    int64_t index; /* row-major, of the worst element; -1: none, or l2 */
    double got;    /* at index */
    double want;
    double max_abs; /* largest finite error */
    double max_ulp; /* the same in units, rounding included */
    double l2;
    int64_t nan_mismatches;
    int64_t inf_mismatches;
    int64_t elements;
} judge_report;

/* "ulp=4;abs=1e-7;l2=": an empty value is an absent limit. false, with the
 * reason in why: unknown or malformed, or neither ulp nor abs is there. */
bool judge_limits_parse(const char *text, judge_limits *limits, char *why,
                        size_t cap);

/* Judges every element of got, of any strides, against want, dense doubles of
 * got's shape. An element of a float dtype D passes
 *   - when both are NaN, or both the same infinity (want rounded to D, so that
 *     a truth beyond D's largest number wants an infinity);
 *   - when |got - want| <= (ulp + 0.5) * spacing of D at want rounded to D:
 *     want itself is not rounded, half a unit is the rounding's own, and a
 *     limit of 0 asks for the correctly rounded result;
 *   - when |got - want| <= abs.
 * Where one is infinite and the other is not, the infinity counts as the
 * number that would follow D's largest, unless the truth itself is infinite.
 * l2 is |got - want rounded to D| / |want|, over elements finite in both.
 * Integers and bools must be equal. */
void judge_tensor(const DLTensor *got, const double *want,
                  const judge_limits *limits, judge_report *report);

#endif /* KILN_TESTS_JUDGE_H */
