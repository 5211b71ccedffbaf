#include "marked.h"

#include <assert.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "sandbox.h"
#include "syntax.h"
#include "text.h"

/* Bytes of a user's text that a message repeats. */
#define SHOWN 60

/* Lua stack: these, then FRAME_SLOTS for each open collection. */
enum { SLOT_READER = 1, SLOT_PATH, SLOT_ANCHORS, SLOT_ROOT, SLOT_FRAMES };
#define SLOTS (SLOT_FRAMES - 1 + MARKED_DEPTH_MAX * FRAME_SLOTS)
enum { FRAME_NODE, FRAME_SEEN, FRAME_KEY, FRAME_ANCHOR, FRAME_SLOTS };

/* An anchor's record: a Lua array of these. No node yet: it is still open. */
enum { ANCHOR_LINE = 1, ANCHOR_NODE, ANCHOR_SIZE, ANCHOR_HEIGHT };

/* How much a node holds, aliases expanded. */
typedef struct extent {
    lua_Integer size;   /* nodes, itself included */
    lua_Integer height; /* collections in each other; 0: a scalar */
} extent;

typedef struct frame {
    bool map;
    bool has_key;
    lua_Integer n; /* entries */
    extent extent;
} frame;

/* One run of marked_load, in a userdata that cleans up when Lua raises. */
typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_parser, has_event;
    lua_State *L;
    diag *sink;
    const char *path;
    const char *text; /* without a byte-order mark */
    size_t n;
    bool failed;  /* something is in the sink */
    bool stopped; /* reading on makes no sense */
    int documents;
    int depth;
    lua_Integer nodes, aliased;
    frame frames[MARKED_DEPTH_MAX];
} reader;

/* --- errors --------------------------------------------------------------- */

DIAG_FORMAT(3, 4)
static void fail(reader *r, yaml_mark_t mark, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_vadd(r->sink, r->path, (int)mark.line + 1, (int)mark.column + 1,
              format, args);
    va_end(args);
    r->failed = true;
}

/* fail, and read no further. */
DIAG_FORMAT(3, 4)
static void stop(reader *r, yaml_mark_t mark, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_vadd(r->sink, r->path, (int)mark.line + 1, (int)mark.column + 1,
              format, args);
    va_end(args);
    r->failed = true;
    r->stopped = true;
}

static void stop_at_syntax(reader *r)
{
    char why[SYNTAX_ROOM];
    syntax_explain(&r->parser, r->text, r->n, why);
    stop(r, r->parser.problem_mark, "%s", why);
}

/* --- nodes ---------------------------------------------------------------- */

static int frame_slot(const reader *r, int what)
{
    return SLOT_FRAMES + (r->depth - 1) * FRAME_SLOTS + what;
}

static frame *top_frame(reader *r)
{
    return r->depth > 0 ? &r->frames[r->depth - 1] : NULL;
}

/* Whether the next node is a key. */
static bool wants_key(reader *r)
{
    const frame *f = top_frame(r);
    return f && f->map && !f->has_key;
}

static void set_int(lua_State *L, const char *name, size_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

/* Pushes a node with what all kinds have. */
static void push_node(reader *r, const char *kind)
{
    lua_State *L = r->L;
    const yaml_mark_t mark = r->event.start_mark;
    if (++r->nodes > MARKED_NODES_MAX && !r->stopped) {
        stop(r, mark, "more than %d nodes", MARKED_NODES_MAX);
    }
    lua_createtable(L, 0, kind[0] == 's' && kind[1] == 'c' ? 6 : 4);
    lua_pushstring(L, kind);
    lua_setfield(L, -2, "kind");
    set_int(L, "line", mark.line + 1);
    set_int(L, "col", mark.column + 1);
    lua_pushvalue(L, SLOT_PATH);
    lua_setfield(L, -2, "path");
}

static void push_scalar(reader *r)
{
    lua_State *L = r->L;
    const yaml_event_t *e = &r->event;
    const yaml_scalar_style_t style = e->data.scalar.style;
    push_node(r, "scalar");
    lua_pushlstring(L, (const char *)e->data.scalar.value,
                    e->data.scalar.length);
    lua_setfield(L, -2, "text");
    lua_pushboolean(L, style == YAML_PLAIN_SCALAR_STYLE);
    lua_setfield(L, -2, "plain");
    if (style == YAML_LITERAL_SCALAR_STYLE ||
        style == YAML_FOLDED_SCALAR_STYLE) {
        lua_pushboolean(L, 1);
        lua_setfield(L, -2, "block");
    }
    if (e->end_mark.line != e->start_mark.line) {
        set_int(L, "end_line", e->end_mark.line + 1);
    }
}

/* Takes {key, value} from the frame's key and the node at the top. */
static void push_pair(reader *r)
{
    lua_State *L = r->L;
    lua_createtable(L, 0, 2);
    lua_insert(L, -2);
    lua_setfield(L, -2, "value");
    lua_pushvalue(L, frame_slot(r, FRAME_KEY));
    lua_setfield(L, -2, "key");
}

/* Moves the whole node at the top to where it belongs. */
static void deliver(reader *r, extent e)
{
    frame *f = top_frame(r);
    if (!f) {
        lua_replace(r->L, SLOT_ROOT);
        return;
    }
    f->extent.size += e.size;
    if (f->extent.height <= e.height) {
        f->extent.height = e.height + 1;
    }
    if (wants_key(r)) {
        lua_replace(r->L, frame_slot(r, FRAME_KEY));
        f->has_key = true;
        return;
    }
    if (f->map) {
        push_pair(r);
        f->has_key = false;
    }
    lua_rawseti(r->L, frame_slot(r, FRAME_NODE), ++f->n);
}

/* --- anchors -------------------------------------------------------------- */

static lua_Integer record_int(lua_State *L, int field)
{
    lua_rawgeti(L, -1, field);
    const lua_Integer value = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return value;
}

/* Pushes the record of a node's new anchor, or nil. */
static void push_anchor(reader *r, const yaml_char_t *name)
{
    lua_State *L = r->L;
    if (!name) {
        lua_pushnil(L);
        return;
    }
    if (lua_getfield(L, SLOT_ANCHORS, (const char *)name) != LUA_TNIL) {
        fail(r, r->event.start_mark,
             "anchor &%.*s is set twice (first at "
             "line %d)",
             text_clip((const char *)name, strlen((const char *)name), SHOWN),
             (const char *)name, (int)record_int(L, ANCHOR_LINE));
    }
    lua_pop(L, 1);
    lua_createtable(L, 4, 0);
    lua_pushinteger(L, (lua_Integer)r->event.start_mark.line + 1);
    lua_rawseti(L, -2, ANCHOR_LINE);
    lua_pushvalue(L, -1);
    lua_setfield(L, SLOT_ANCHORS, (const char *)name);
}

/* Completes the anchor record (or nil) at `record` by the node at the top. */
static void close_anchor(reader *r, int record, extent e)
{
    lua_State *L = r->L;
    if (lua_isnil(L, record)) {
        return;
    }
    record = lua_absindex(L, record);
    lua_pushvalue(L, -1);
    lua_rawseti(L, record, ANCHOR_NODE);
    lua_pushinteger(L, e.size);
    lua_rawseti(L, record, ANCHOR_SIZE);
    lua_pushinteger(L, e.height);
    lua_rawseti(L, record, ANCHOR_HEIGHT);
}

/* What the anchor of the record at the top holds; bounds what it adds. */
static extent use_anchor(reader *r)
{
    const yaml_mark_t mark = r->event.start_mark;
    const extent e = {record_int(r->L, ANCHOR_SIZE),
                      record_int(r->L, ANCHOR_HEIGHT)};
    r->aliased += e.size;
    if (r->aliased > MARKED_ALIAS_MAX) {
        stop(r, mark,
             "alias expansion limit: aliases stand for more than %d "
             "nodes",
             MARKED_ALIAS_MAX);
    } else if (r->depth + e.height > MARKED_DEPTH_MAX) {
        stop(r, mark, "nesting deeper than %d, aliases expanded",
             MARKED_DEPTH_MAX);
    }
    return e;
}

static void on_alias(reader *r)
{
    lua_State *L = r->L;
    const char *name = (const char *)r->event.data.alias.anchor;
    const int shown = text_clip(name, strlen(name), SHOWN);
    const yaml_mark_t mark = r->event.start_mark;
    if (wants_key(r)) {
        fail(r, mark, "a key must be a scalar, not an alias");
    }
    if (lua_getfield(L, SLOT_ANCHORS, name) == LUA_TNIL) {
        stop(r, mark, "alias *%.*s has no anchor before it", shown, name);
    } else if (lua_rawgeti(L, -1, ANCHOR_NODE) == LUA_TNIL) {
        stop(r, mark, "alias *%.*s stands inside its own anchor", shown, name);
    } else {
        lua_pop(L, 1);
        const extent e = use_anchor(r);
        lua_rawgeti(L, -1, ANCHOR_NODE);
        deliver(r, e);
    }
}

/* --- events --------------------------------------------------------------- */

static void refuse_tag(reader *r, const yaml_char_t *tag)
{
    static const char standard[] = "tag:yaml.org,2002:";
    if (!tag) {
        return;
    }
    const char *name = (const char *)tag;
    const char *prefix = "";
    if (strncmp(name, standard, sizeof standard - 1) == 0) {
        name += sizeof standard - 1;
        prefix = "!!";
    }
    fail(r, r->event.start_mark, "tags are not supported: leave out %s%.*s",
         prefix, text_clip(name, strlen(name), SHOWN), name);
}

/* The scalar event as key: its text must be new in this map. */
static void check_key(reader *r)
{
    lua_State *L = r->L;
    const yaml_event_t *e = &r->event;
    const char *text = (const char *)e->data.scalar.value;
    const size_t n = e->data.scalar.length;
    const bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const int seen = frame_slot(r, FRAME_SEEN);
    if (plain && n == 0) {
        fail(r, e->start_mark, "a key has no text");
        return;
    }
    if (plain && strcmp(text, "<<") == 0) {
        fail(r, e->start_mark,
             "merge keys are not supported (<<); write the fields out");
        return;
    }
    lua_pushlstring(L, text, n);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, seen) != LUA_TNIL) {
        fail(r, e->start_mark, "duplicate key %.*s (first at line %d)",
             text_clip(text, n, SHOWN), text, (int)lua_tointeger(L, -1));
    } else {
        lua_pushvalue(L, -2);
        lua_pushinteger(L, (lua_Integer)e->start_mark.line + 1);
        lua_rawset(L, seen);
    }
    lua_pop(L, 2);
}

static void on_scalar(reader *r)
{
    const extent one = {1, 0};
    refuse_tag(r, r->event.data.scalar.tag);
    if (wants_key(r)) {
        check_key(r);
    }
    push_anchor(r, r->event.data.scalar.anchor);
    push_scalar(r);
    close_anchor(r, -2, one);
    deliver(r, one);
}

static void on_start(reader *r, bool map, const yaml_char_t *anchor,
                     const yaml_char_t *tag)
{
    lua_State *L = r->L;
    refuse_tag(r, tag);
    if (wants_key(r)) {
        fail(r, r->event.start_mark, "a key must be a scalar, not a %s",
             map ? "map; quote a text that holds { }"
                 : "list; quote a text that holds [ ]");
    }
    if (r->depth == MARKED_DEPTH_MAX) {
        stop(r, r->event.start_mark, "nesting deeper than %d",
             MARKED_DEPTH_MAX);
        return;
    }
    push_anchor(r, anchor);
    push_node(r, map ? "map" : "seq");
    r->frames[r->depth++] = (frame){.map = map, .extent = {1, 1}};
    lua_replace(L, frame_slot(r, FRAME_NODE));
    lua_replace(L, frame_slot(r, FRAME_ANCHOR));
    if (map) {
        lua_newtable(L);
        lua_replace(L, frame_slot(r, FRAME_SEEN));
    }
}

static void on_end(reader *r)
{
    const extent e = top_frame(r)->extent;
    lua_pushvalue(r->L, frame_slot(r, FRAME_NODE));
    close_anchor(r, frame_slot(r, FRAME_ANCHOR), e);
    r->depth--;
    deliver(r, e);
}

static void on_document(reader *r)
{
    const yaml_event_t *e = &r->event;
    if (e->data.document_start.version_directive ||
        e->data.document_start.tag_directives.start !=
            e->data.document_start.tag_directives.end) {
        fail(r, e->start_mark, "directives (%%YAML, %%TAG) are not supported");
    }
    if (r->documents++ > 0) {
        stop(r, e->start_mark, "a second document; a file holds one");
    }
}

static void on_event(reader *r)
{
    const yaml_event_t *e = &r->event;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        on_document(r);
        break;
    case YAML_ALIAS_EVENT:
        on_alias(r);
        break;
    case YAML_SCALAR_EVENT:
        on_scalar(r);
        break;
    case YAML_SEQUENCE_START_EVENT:
        on_start(r, false, e->data.sequence_start.anchor,
                 e->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        on_start(r, true, e->data.mapping_start.anchor,
                 e->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        on_end(r);
        break;
    case YAML_STREAM_END_EVENT:
        r->stopped = true;
        break;
    default:
        break;
    }
}

/* --- the run -------------------------------------------------------------- */

static void drop_event(reader *r)
{
    if (r->has_event) {
        r->has_event = false;
        yaml_event_delete(&r->event);
    }
}

static int close_reader(lua_State *L)
{
    reader *r = lua_touserdata(L, 1);
    drop_event(r);
    if (r->has_parser) {
        r->has_parser = false;
        yaml_parser_delete(&r->parser);
    }
    return 0;
}

static void read_events(reader *r)
{
    const int top = lua_gettop(r->L);
    while (!r->stopped) {
        r->has_event = yaml_parser_parse(&r->parser, &r->event);
        if (!r->has_event && r->parser.error == YAML_MEMORY_ERROR) {
            sandbox_no_memory(r->L);
        }
        if (!r->has_event) {
            stop_at_syntax(r);
            return;
        }
        on_event(r);
        drop_event(r);
        lua_settop(r->L, top);
    }
}

/* Pushes a reader that closes itself when it is collected. */
static reader *push_reader(lua_State *L)
{
    reader *r = lua_newuserdatauv(L, sizeof *r, 0);
    memset(r, 0, sizeof *r);
    if (luaL_newmetatable(L, "marked.reader")) {
        lua_pushcfunction(L, close_reader);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return r;
}

/* An empty root is no value: a text of comments, or of `---`. */
static bool is_empty(lua_State *L, int root)
{
    if (lua_isnil(L, root)) {
        return true;
    }
    lua_getfield(L, root, "plain");
    lua_getfield(L, root, "text");
    const bool empty = lua_toboolean(L, -2) && lua_rawlen(L, -1) == 0;
    lua_pop(L, 2);
    return empty;
}

/* What load_checked is called with. */
typedef struct source {
    diag *sink;
    const char *path;
    const char *text;
    size_t n;
} source;

static void start_parser(reader *r, const source *from)
{
    r->sink = from->sink;
    r->path = from->path;
    r->text = from->text;
    r->n = from->n;
    r->has_parser = yaml_parser_initialize(&r->parser);
    if (!r->has_parser) {
        sandbox_no_memory(r->L);
    }
    yaml_parser_set_input_string(&r->parser, (const yaml_char_t *)r->text,
                                 r->n);
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
}

/* (source): its root node, or nil. */
static int load_checked(lua_State *L)
{
    const source *from = lua_touserdata(L, 1);
    luaL_checkstack(L, SLOTS + 20, NULL);
    reader *r = push_reader(L);
    r->L = L;
    lua_replace(L, SLOT_READER);
    lua_pushstring(L, from->path);
    lua_newtable(L);
    lua_settop(L, SLOTS);
    start_parser(r, from);
    read_events(r);
    if (!r->failed && is_empty(L, SLOT_ROOT)) {
        fail(r, (yaml_mark_t){0, 0, 0}, "empty file");
    }
    if (r->failed) {
        lua_pushnil(L);
    } else {
        lua_pushvalue(L, SLOT_ROOT);
    }
    lua_pushcfunction(L, close_reader);
    lua_pushvalue(L, SLOT_READER);
    lua_call(L, 1, 0);
    return 1;
}

void marked_load(lua_State *L, diag *sink, const char *path, const char *text,
                 size_t n)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (n > MARKED_BYTES_MAX) {
        diag_add(sink, path, 0, 0, "larger than %d MB",
                 (int)(MARKED_BYTES_MAX >> 20));
        lua_pushnil(L);
        return;
    }
    if (n >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        n -= 3;
    }
    if (!text_check(text, n, path, sink)) {
        lua_pushnil(L);
        return;
    }
    source from = {sink, path, text, n};
    lua_pushcfunction(L, load_checked);
    lua_pushlightuserdata(L, &from);
    lua_call(L, 1, 1);
}
