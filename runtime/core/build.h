/* build.h: a program under construction: arrays that grow in its arena.
 * Private to the planner.
 */
#ifndef KILN_CORE_BUILD_H
#define KILN_CORE_BUILD_H

#include "bind.h"
#include "plan.h"

#define KILN_MAX_ROUNDS 65536 /* of all loops of a plan together */

typedef struct kiln_build {
    const kiln_request *request;
    kiln_program *program;
    kiln_error *err;
    int32_t node_room;
    int32_t decision_room;
    int32_t buffer_room;
    int32_t depth;
    int32_t rounds;
    kiln_value loops[KILN_MAX_LOOPS];
} kiln_build;

/* Appends a zeroed element; NULL when memory or a limit is refused (err is
 * set). Earlier pointers into the array die. */
kiln_node *kiln_build_node(kiln_build *build);
kiln_decision *kiln_build_decision(kiln_build *build);
kiln_buffer *kiln_build_buffer(kiln_build *build);
kiln_status kiln_build_no_memory(kiln_build *build, size_t bytes);
/* An expression of call's spec has no value: `why`. */
kiln_status kiln_build_bad_expr(kiln_build *build, const kiln_call *call,
                                const kiln_expr *expr, const char *why);

/* A launch of the variant at op->routes[route] on call's tensors. */
kiln_status kiln_launch(kiln_build *build, kiln_call *call, int route);

/* Units, grain, grid and arguments of node's kernel. */
kiln_status kiln_bake(kiln_build *build, kiln_call *call, kiln_node *node,
                      const kiln_space *space);

/* Plans an op whose tensors and attributes are bound: checks, lets, route,
 * then a launch or steps. */
kiln_status kiln_build_call(kiln_build *build, kiln_call *call);

/* The temporaries and steps of a composite route. */
kiln_status kiln_build_steps(kiln_build *build, kiln_call *call,
                             const kiln_route *route);

/* Whether a condition holds; an absent one does. */
kiln_status kiln_build_holds(kiln_build *build, const kiln_call *call,
                             const kiln_expr *when, bool *holds);

/* Adds to one of the program's totals; false, err set, past int64. */
bool kiln_build_count(kiln_build *build, int64_t *total, int64_t more);

/* What call's expressions can name. */
kiln_scope kiln_build_scope(const kiln_build *build, const kiln_call *call);

#endif /* KILN_CORE_BUILD_H */
