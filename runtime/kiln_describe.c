#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text of at most cap bytes with its NUL. A line that does not fit is taken
 * back whole, and nothing follows it. */
typedef struct page {
    char *text;
    size_t cap;
    size_t used;
    size_t line; /* where the current line starts */
    bool full;
} page;

static void put(page *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(page *out, const char *format, ...)
{
    size_t room = out->cap - out->used;
    va_list list;
    int n;

    if (out->full) {
        return;
    }
    va_start(list, format);
    n = vsnprintf(out->text + out->used, room, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= room) {
        out->full = true;
        out->used = out->line;
        out->text[out->used] = '\0';
        return;
    }
    out->used += (size_t)n;
}

static void end_line(page *out)
{
    put(out, "\n");
    out->line = out->used;
}

/* A number with `digits` decimals, with a point in every locale. */
static void put_fixed(page *out, double value, int digits)
{
    int64_t scale = 1;
    int64_t scaled;

    for (int i = 0; i < digits; i++) {
        scale *= 10;
    }
    if (!(value >= 0 && value < 1e12)) {
        put(out, "?");
        return;
    }
    scaled = (int64_t)(value * (double)scale + 0.5);
    put(out, "%lld.%0*lld", (long long)(scaled / scale), digits,
        (long long)(scaled % scale));
}

/* --- routes --------------------------------------------------------------- */

static void put_refused_routes(page *out, const kiln_decision *decision)
{
    const char *between = "; before it, ";

    for (const kiln_route *r = decision->op->routes; r < decision->route; r++) {
        put(out, "%s\"%s\"", between, r->when.text);
        between = " and ";
    }
    if (decision->route - decision->op->routes == 1) {
        put(out, " does not hold");
    } else if (decision->route > decision->op->routes) {
        put(out, " do not hold");
    }
}

static void put_decision(page *out, const kiln_context *ctx,
                         const kiln_decision *decision)
{
    const kiln_route *route = decision->route;

    put(out, "%s: route %s: ", decision->op->name, route->name);
    if (route->when.n_code > 0) {
        put(out, "\"%s\" holds", route->when.text);
    } else {
        put(out, "always");
    }
    if (ctx->route != NULL && decision->depth == 0) {
        put(out, "; chosen by option route");
    } else {
        put_refused_routes(out, decision);
    }
}

void kiln_describe_decision(const kiln_context *ctx,
                            const kiln_decision *decision, char *text,
                            size_t cap)
{
    page out = {text, cap, 0, 0, false};

    text[0] = '\0';
    put_decision(&out, ctx, decision);
    if (out.full) {
        (void)snprintf(text, cap, "%.60s: route %.60s", decision->op->name,
                       decision->route->name);
    }
}

static void put_routes(page *out, const kiln_plan *plan)
{
    const kiln_program *program = plan->program;

    for (int32_t i = 0; i < program->n_decisions; i++) {
        const kiln_decision *decision = &program->decisions[i];

        put(out, "%*s", 2 * (int)decision->depth, "");
        put_decision(out, plan->context, decision);
        end_line(out);
    }
}

/* --- launches ------------------------------------------------------------- */

static void put_key(page *out, const kiln_context *ctx, const kiln_node *node)
{
    int positions[KILN_MAX_AXES];
    char text[KILN_KEY_TEXT];

    if (node->run != NULL) {
        kiln_cell_unpack(node->cell, node->key->op->n_axes, positions);
    } else {
        (void)kiln_key_positions(ctx->tables, node->key, positions);
    }
    kiln_key_text(ctx->tables, node->key, positions, text, sizeof text);
    put(out, "%s", text);
}

static void put_evidence(page *out, const kiln_context *ctx,
                         const kiln_node *node)
{
    const kiln_cell_run *run = node->run;
    const kiln_tier_table *tier = ctx->tier;

    if (run == NULL) {
        put(out, "  forced config, no evidence for this key");
        return;
    }
    put(out, "  %s on %s, error ",
        run->state & KILN_CELL_FORCED ? "forced evidence" : "certified",
        run->device < tier->n_devices ? tier->devices[run->device] : "?");
    put_fixed(out, node->kernel->error, 2);
    put(out, " of its limit");
}

static void put_sizes(page *out, const kiln_node *node)
{
    put(out, "  arguments %d bytes, ",
        (int)node->n_args * (int)sizeof *node->args);
    if (node->threads > 0) {
        put(out, "grid %lld x threads %d, shared %d bytes, cluster %d",
            (long long)node->units, (int)node->threads, (int)node->shared,
            (int)node->cluster);
    } else {
        put(out, "units %lld, grain %lld", (long long)node->units,
            (long long)node->grain);
    }
}

static void put_launch(page *out, const kiln_plan *plan, int32_t i)
{
    const kiln_program *program = plan->program;
    const kiln_node *node = &program->nodes[i];

    put(out, "launch %d: ", (int)i);
    if (node->memset_buffer >= 0) {
        const kiln_buffer *buffer = &program->buffers[node->memset_buffer];

        put(out, "clears temporary %s, %lld bytes", buffer->name,
            (long long)buffer->bytes);
        end_line(out);
        return;
    }
    put_key(out, plan->context, node);
    end_line(out);
    put(out, "  kernel %s, config %s", node->kernel->symbol,
        node->kernel->config);
    end_line(out);
    put_evidence(out, plan->context, node);
    end_line(out);
    put_sizes(out, node);
    end_line(out);
}

/* --- buffers and totals --------------------------------------------------- */

static void put_buffer(page *out, const kiln_buffer *buffer)
{
    put(out, "buffer %s: %lld bytes", buffer->name, (long long)buffer->bytes);
    if (buffer->offset < 0) {
        put(out, ", the caller's");
    } else {
        put(out, ", workspace + %lld", (long long)buffer->offset);
    }
    if (buffer->first < 0) {
        put(out, ", not used");
    } else {
        put(out, ", launches %d to %d", (int)buffer->first, (int)buffer->last);
    }
    end_line(out);
}

static void put_total(page *out, const kiln_program *program)
{
    put(out,
        "total: launches %d, workspace %lld bytes, read %lld bytes, written "
        "%lld bytes, %lld operations",
        (int)program->n_nodes, (long long)program->workspace,
        (long long)program->bytes_read, (long long)program->bytes_written,
        (long long)program->flops);
    end_line(out);
}

/* The tier as it was chosen, for which device. */
static void put_title(page *out, const kiln_context *ctx, const kiln_op *op)
{
    put(out, "op %s, tier %s%s%s, profile %s", op->name, ctx->tier->tier,
        ctx->tier->isa[0] != '\0' ? " " : "", ctx->tier->isa, ctx->arch->name);
    if (ctx->cuda != NULL) {
        put(out, "%s, device %d %s", ctx->forced ? " (forced)" : "",
            (int)ctx->device.device_id, kiln_cuda_get_facts(ctx->cuda)->name);
    }
}

static kiln_status check_describe(const kiln_plan *plan, const char *text,
                                  size_t cap)
{
    const char *defect = plan == NULL   ? "plan is NULL"
                         : text == NULL ? "text is NULL"
                         : cap == 0     ? "cap is 0"
                                        : NULL;

    if (defect != NULL) {
        return kiln_fail(kiln_thread_error(), KILN_INVALID_ARGUMENT,
                         "kiln_plan_describe: %s", defect);
    }
    return kiln_context_check_process(plan->context, "kiln_plan_describe");
}

kiln_status kiln_plan_describe(const kiln_plan *plan, char *text, size_t cap)
{
    kiln_status status = check_describe(plan, text, cap);
    page out = {text, cap, 0, 0, false};
    const kiln_context *ctx;

    if (status != KILN_OK) {
        return status;
    }
    ctx = plan->context;
    text[0] = '\0';
    put_title(&out, ctx, plan->program->op);
    end_line(&out);
    put_routes(&out, plan);
    for (int32_t i = 0; i < plan->program->n_nodes; i++) {
        put_launch(&out, plan, i);
    }
    for (int32_t i = 0; i < plan->program->n_buffers; i++) {
        put_buffer(&out, &plan->program->buffers[i]);
    }
    put_total(&out, plan->program);
    return KILN_OK;
}
