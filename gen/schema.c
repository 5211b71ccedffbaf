#include "schema.h"

#include "core/tables.h"

/* clang-format off */
#define FIELD(type, field, kind) \
    {#field, SCHEMA_##kind, offsetof(type, field), 0, NULL}
#define STRUCT(type, field, of) \
    {#field, SCHEMA_STRUCT, offsetof(type, field), 0, &schema_##of}
#define LIST(type, field, kind) \
    {#field, SCHEMA_##kind, offsetof(type, field), offsetof(type, n_##field), \
     NULL}
#define STRUCTS(type, field, of) \
    {#field, SCHEMA_STRUCTS, offsetof(type, field), \
     offsetof(type, n_##field), &schema_##of}
#define POINTERS(type, field, of) \
    {#field, SCHEMA_POINTERS, offsetof(type, field), \
     offsetof(type, n_##field), &schema_##of}
#define DEFINE(name, linkage) \
    linkage const schema_struct schema_##name = {"kiln_" #name, \
        sizeof(kiln_##name), name##_fields, \
        sizeof name##_fields / sizeof name##_fields[0]}

static const schema_field ins_fields[] = {
    FIELD(kiln_ins, op, U8),
    FIELD(kiln_ins, argc, U8),
    FIELD(kiln_ins, i, I64),
    FIELD(kiln_ins, f, F64),
};
DEFINE(ins, static);

static const schema_field expr_fields[] = {
    FIELD(kiln_expr, text, STR),
    STRUCTS(kiln_expr, code, ins),
};
DEFINE(expr, );

static const schema_field op_tensor_fields[] = {
    FIELD(kiln_op_tensor, name, STR),
    FIELD(kiln_op_tensor, role, U8),
    FIELD(kiln_op_tensor, optional, U8),
    FIELD(kiln_op_tensor, keyed, U8),
    FIELD(kiln_op_tensor, dtypes, U32),
    FIELD(kiln_op_tensor, like, U32),
    FIELD(kiln_op_tensor, promote, U32),
    FIELD(kiln_op_tensor, shape_rule, U8),
    FIELD(kiln_op_tensor, shape_like, U8),
    STRUCTS(kiln_op_tensor, shape, expr),
};
DEFINE(op_tensor, static);

static const schema_field op_attr_fields[] = {
    FIELD(kiln_op_attr, name, STR),
    FIELD(kiln_op_attr, type, U8),
    FIELD(kiln_op_attr, baked, U8),
    FIELD(kiln_op_attr, required, U8),
    FIELD(kiln_op_attr, i, I64),
    FIELD(kiln_op_attr, f, F64),
    LIST(kiln_op_attr, choices, STRS),
};
DEFINE(op_attr, static);

static const schema_field let_fields[] = {
    FIELD(kiln_let, name, STR),
    STRUCT(kiln_let, expr, expr),
};
DEFINE(let, static);

static const schema_field binding_fields[] = {
    FIELD(kiln_binding, slot, I32),
    STRUCT(kiln_binding, expr, expr),
};
DEFINE(binding, static);

static const schema_struct schema_step;
static const schema_field step_fields[] = {
    STRUCT(kiln_step, when, expr),
    FIELD(kiln_step, op, STR),
    STRUCTS(kiln_step, tensors, binding),
    STRUCTS(kiln_step, attrs, binding),
    FIELD(kiln_step, loop, I32),
    STRUCT(kiln_step, start, expr),
    STRUCT(kiln_step, stop, expr),
    STRUCT(kiln_step, step, expr),
    STRUCTS(kiln_step, body, step),
};
DEFINE(step, static);

static const schema_field temporary_fields[] = {
    FIELD(kiln_temporary, name, STR),
    FIELD(kiln_temporary, dtype, U8),
    FIELD(kiln_temporary, zeroed, U8),
    FIELD(kiln_temporary, dtype_like, I32),
    STRUCTS(kiln_temporary, shape, expr),
};
DEFINE(temporary, static);

static const schema_field route_fields[] = {
    FIELD(kiln_route, name, STR),
    STRUCT(kiln_route, when, expr),
    FIELD(kiln_route, composite, I32),
    STRUCTS(kiln_route, temporaries, temporary),
    STRUCTS(kiln_route, steps, step),
};
DEFINE(route, static);

static const schema_field axis_fields[] = {
    FIELD(kiln_axis, name, STR),
    FIELD(kiln_axis, ladder, I32),
    STRUCT(kiln_axis, expr, expr),
};
DEFINE(axis, static);

static const schema_field op_fields[] = {
    FIELD(kiln_op, name, STR),
    FIELD(kiln_op, spec, STR),
    STRUCTS(kiln_op, tensors, op_tensor),
    STRUCTS(kiln_op, attrs, op_attr),
    STRUCTS(kiln_op, lets, let),
    STRUCTS(kiln_op, routes, route),
    FIELD(kiln_op, space, U8),
    STRUCT(kiln_op, row_dim, expr),
    FIELD(kiln_op, in_place, U8),
    STRUCTS(kiln_op, axes, axis),
    STRUCT(kiln_op, flops, expr),
};
DEFINE(op, static);

static const schema_field ladder_fields[] = {
    FIELD(kiln_ladder, name, STR),
    LIST(kiln_ladder, edges, I64S),
    LIST(kiln_ladder, census, I64S),
};
DEFINE(ladder, static);

static const schema_field arch_fields[] = {
    FIELD(kiln_arch, name, STR),
    FIELD(kiln_arch, tier, STR),
    FIELD(kiln_arch, classes, U8),
    LIST(kiln_arch, fields, I64S),
    FIELD(kiln_arch, chip, STR),
    FIELD(kiln_arch, capability, I32),
};
DEFINE(arch, static);

static const schema_field slot_fields[] = {
    FIELD(kiln_slot, kind, U8),
    FIELD(kiln_slot, tensor, U8),
    STRUCT(kiln_slot, expr, expr),
};
DEFINE(slot, static);

static const schema_field recipe_fields[] = {
    STRUCTS(kiln_recipe, slots, slot),
    STRUCT(kiln_recipe, units, expr),
    STRUCT(kiln_recipe, grain, expr),
    STRUCT(kiln_recipe, threads, expr),
    STRUCT(kiln_recipe, shared, expr),
    STRUCT(kiln_recipe, cluster, expr),
};
DEFINE(recipe, );

static const schema_field kernel_fields[] = {
    FIELD(kiln_kernel, symbol, STR),
    FIELD(kiln_kernel, config, STR),
    LIST(kiln_kernel, values, I64S),
    {"recipe", SCHEMA_REF, offsetof(kiln_kernel, recipe), 0,
     &schema_recipe},
    FIELD(kiln_kernel, cpu, REF),
    FIELD(kiln_kernel, error, F64),
    FIELD(kiln_kernel, module, REF),
};
DEFINE(kernel, static);

static const schema_field cell_run_fields[] = {
    FIELD(kiln_cell_run, first, U64),
    FIELD(kiln_cell_run, last, U16),
    FIELD(kiln_cell_run, kernel, U16),
    FIELD(kiln_cell_run, state, U8),
    FIELD(kiln_cell_run, device, U8),
};
DEFINE(cell_run, static);

static const schema_field group_fields[] = {
    FIELD(kiln_group, text, STR),
    FIELD(kiln_group, packed, U64),
    STRUCTS(kiln_group, runs, cell_run),
    LIST(kiln_group, configs, U16S),
};
DEFINE(group, static);

static const schema_field op_keys_fields[] = {
    FIELD(kiln_op_keys, op, STR),
    STRUCTS(kiln_op_keys, groups, group),
    STRUCTS(kiln_op_keys, kernels, kernel),
};
DEFINE(op_keys, static);

static const schema_field tier_table_fields[] = {
    FIELD(kiln_tier_table, tier, STR),
    FIELD(kiln_tier_table, isa, STR),
    LIST(kiln_tier_table, devices, STRS),
    POINTERS(kiln_tier_table, ops, op_keys),
};
DEFINE(tier_table, static);

static const schema_field tables_fields[] = {
    FIELD(kiln_tables, layout, I32),
    STRUCTS(kiln_tables, ladders, ladder),
    LIST(kiln_tables, arch_fields, STRS),
    STRUCTS(kiln_tables, archs, arch),
    POINTERS(kiln_tables, ops, op),
    POINTERS(kiln_tables, tiers, tier_table),
};
DEFINE(tables, );
/* clang-format on */
