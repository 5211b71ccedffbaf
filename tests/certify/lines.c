#include "lines.h"

#include "json.h"

static void put_head(json *j, FILE *out, const char *kind,
                     const tier_facts *tier, const char *isa)
{
    json_begin(j, out);
    json_text(j, "kind", kind);
    json_text(j, "tier", tier->name);
    json_text(j, "isa", isa);
    json_text(j, "reach", tier->forced ? "forced" : "measured");
}

static void put_place(json *j, const tier_facts *tier)
{
    json_text(j, "device", tier->device);
    json_text(j, "compiler", tier->compiler);
}

void lines_put_kernel(FILE *out, const tier_facts *tier, const work_kernel *k,
                      const correct_result *result)
{
    json j;
    put_head(&j, out, "kernel", tier, k->isa);
    json_text(&j, "kernel", k->symbol);
    json_text(&j, "op", k->op);
    json_text(&j, "config", k->config);
    json_text(&j, "hash", k->hash);
    json_int(&j, "cases", result->cases);
    json_int(&j, "elements", result->elements);
    json_real(&j, "error", result->error);
    json_text(&j, "worst", result->worst);
    json_text(&j, "status", *result->check ? "fail" : "pass");
    json_text(&j, "check", result->check);
    json_text(&j, "detail", result->detail);
    put_place(&j, tier);
    json_end(&j);
}

void lines_put_key(FILE *out, const tier_facts *tier, const work_key *k,
                   const timing_result *result)
{
    json j;
    put_head(&j, out, "key", tier, k->isa);
    json_text(&j, "key", k->key);
    json_text(&j, "ranges", k->ranges);
    json_text(&j, "op", k->op);
    json_text(&j, "config", result->config);
    json_real(&j, "us", result->us);
    json_real(&j, "spread", result->spread);
    json_int(&j, "rounds", result->rounds);
    json_text(&j, "call", k->call);
    put_place(&j, tier);
    json_text(&j, "status", result->same ? "pass" : "fail");
    json_end(&j);
}
