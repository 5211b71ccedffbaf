/* sources: tests/emu/ */
/* libs: -rdynamic -ldl */
/* The emulated CUDA driver: what it does and what it refuses, as the CUDA
 * Driver API Reference has it for the functions that kiln uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/calls.h"
#include "emu/driver.h"
#include "emu/san.h"

typedef struct slots {
    uint32_t *words;
    int64_t n;
    int64_t what;
} slots;

enum { ADD_ONE, FAIL };

/* Exported: the module is this program. */
void emu_test_kernel(slots arg);

void emu_test_kernel(slots arg)
{
    const emu_place *place = emu_now->place;
    const int64_t i = (int64_t)place->block_index.x * place->block_dim.x +
                      emu_now->thread_index.x;
    if (arg.what == FAIL) {
        emu_refuse(77, "as asked");
    }
    if (i < arg.n) {
        arg.words[i] += 1 + place->ranks;
    }
}

typedef struct fixture {
    kiln_cuda_driver cu;
    kiln_cu_context context;
    kiln_cu_module module;
    kiln_cu_function function;
    kiln_cu_stream stream;
    kiln_cu_pointer memory;
} fixture;

enum { WORDS = 100, BYTES = WORDS * 4 };

#define GOOD(call) assert_int_equal(call, KILN_CU_SUCCESS)

static int open_on(void **state, const emu_device *device)
{
    static fixture f;
    *state = &f;
    emu_driver_open(&f.cu, &device, 1);
    GOOD(f.cu.init(0));
    GOOD(f.cu.primary_ctx_retain(&f.context, 0));
    GOOD(f.cu.ctx_push_current(f.context));
    GOOD(f.cu.module_load_data(&f.module, "kiln-emu:\n"));
    GOOD(f.cu.module_get_function(&f.function, f.module, "emu_test_kernel"));
    GOOD(f.cu.stream_create(&f.stream, KILN_CU_STREAM_NON_BLOCKING));
    GOOD(f.cu.mem_alloc(&f.memory, BYTES));
    GOOD(f.cu.memset_d8_async(f.memory, 0, BYTES, f.stream));
    return 0;
}

static int open_h200(void **state)
{
    return open_on(state, &emu_device_h200);
}

static int open_a100(void **state)
{
    return open_on(state, &emu_device_a100);
}

static int close_all(void **state)
{
    fixture *f = *state;
    kiln_cu_context context;
    (void)f->cu.mem_free(f->memory);
    (void)f->cu.module_unload(f->module);
    (void)f->cu.stream_destroy(f->stream);
    GOOD(f->cu.ctx_pop_current(&context));
    GOOD(f->cu.primary_ctx_release(0));
    const emu_held held = emu_driver_held();
    return held.contexts || held.modules || held.streams;
}

static kiln_cu_result launch_with(fixture *f, kiln_cu_launch_config config,
                                  kiln_cu_stream stream, int64_t what)
{
    slots arg = {(uint32_t *)(uintptr_t)f->memory, WORDS, what};
    size_t bytes = sizeof arg;
    void *extra[] = {KILN_CU_PARAM_BUFFER, &arg, KILN_CU_PARAM_SIZE, &bytes,
                     KILN_CU_PARAM_END};
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
    config.stream = stream;
    return f->cu.launch_kernel_ex(&config, f->function, NULL, extra);
}

static kiln_cu_result launch(fixture *f, kiln_cu_stream stream, int64_t what)
{
    return launch_with(f, (kiln_cu_launch_config){.grid_x = 4, .block_x = 32},
                       stream, what);
}

static void all_words_are(fixture *f, uint32_t value)
{
    uint32_t words[WORDS];
    GOOD(f->cu.memcpy_dtoh_async(words, f->memory, BYTES, f->stream));
    for (int i = 0; i < WORDS; i++) {
        assert_int_equal(words[i], value);
    }
}

/* --- devices and contexts ----------------------------------------------------
 */

static void devices_have_their_facts(void **state)
{
    const emu_device *devices[] = {&emu_device_h200, &emu_device_t4};
    kiln_cuda_driver cu;
    kiln_cu_device device;
    char name[64];
    int value;
    (void)state;
    emu_driver_open(&cu, devices, 2);
    assert_int_equal(cu.device_get(&device, 0), KILN_CU_NOT_INITIALIZED);
    GOOD(cu.init(0));
    GOOD(cu.device_get_count(&value));
    assert_int_equal(value, 2);
    GOOD(cu.device_get(&device, 1));
    GOOD(cu.device_get_name(name, sizeof name, device));
    assert_string_equal(name, "Tesla T4");
    GOOD(cu.device_get_attribute(&value, KILN_CU_DEVICE_CAPABILITY_MINOR, 1));
    assert_int_equal(value, 5);
    GOOD(cu.device_get_attribute(&value, KILN_CU_DEVICE_SHARED_OPTIN, 0));
    assert_int_equal(value, 227 * 1024);
    GOOD(cu.device_get_attribute(&value, KILN_CU_DEVICE_MULTIPROCESSOR_COUNT,
                                 0));
    assert_int_equal(value, 132);
    assert_int_equal(cu.device_get(&device, 2), KILN_CU_INVALID_DEVICE);
}

static void a_context_must_be_current(void **state)
{
    fixture *f = *state;
    kiln_cu_context context;
    GOOD(f->cu.ctx_pop_current(&context));
    assert_ptr_equal(context, f->context);
    assert_int_equal(launch(f, f->stream, ADD_ONE), KILN_CU_INVALID_CONTEXT);
    assert_int_equal(f->cu.ctx_synchronize(), KILN_CU_INVALID_CONTEXT);
    assert_int_equal(f->cu.ctx_pop_current(&context), KILN_CU_INVALID_CONTEXT);
    GOOD(f->cu.ctx_push_current(f->context));
    GOOD(launch(f, f->stream, ADD_ONE));
}

/* --- modules
 * ------------------------------------------------------------------ */

static void modules_and_functions(void **state)
{
    fixture *f = *state;
    kiln_cu_module module;
    kiln_cu_function function;
    assert_int_equal(f->cu.module_load_data(&module, "\177ELF"),
                     KILN_CU_INVALID_IMAGE);
    assert_int_equal(f->cu.module_load_data(&module, "kiln-emu:/none.so"),
                     KILN_CU_INVALID_IMAGE);
    assert_non_null(strstr(emu_driver_text(), "/none.so"));
    assert_int_equal(f->cu.module_get_function(&function, f->module, "none"),
                     KILN_CU_NOT_FOUND);
    GOOD(f->cu.func_load(f->function));
    assert_int_equal(emu_driver_held().modules, 1);
}

/* --- launches
 * ------------------------------------------------------------------ */

static void launches_run_at_once(void **state)
{
    fixture *f = *state;
    GOOD(launch(f, f->stream, ADD_ONE));
    all_words_are(f, 2);
    GOOD(launch(f, NULL, ADD_ONE));
    all_words_are(f, 4);
    emu_driver_order(EMU_REVERSE, EMU_STRIDED);
    GOOD(launch(f, f->stream, ADD_ONE));
    all_words_are(f, 6);
    assert_int_equal(emu_driver_held().launches, 3);
}

static kiln_cu_result launch_cluster(fixture *f, unsigned blocks, unsigned grid)
{
    kiln_cu_launch_attribute cluster = {.id = KILN_CU_LAUNCH_CLUSTER};
    cluster.value.cluster.x = blocks;
    cluster.value.cluster.y = cluster.value.cluster.z = 1;
    return launch_with(f,
                       (kiln_cu_launch_config){.grid_x = grid,
                                               .block_x = 32,
                                               .attributes = &cluster,
                                               .n_attributes = 1},
                       f->stream, ADD_ONE);
}

static void clusters_have_limits(void **state)
{
    fixture *f = *state;
    GOOD(launch_cluster(f, 2, 4));
    all_words_are(f, 3);
    assert_int_equal(launch_cluster(f, 3, 4), KILN_CU_INVALID_VALUE);
    assert_int_equal(launch_cluster(f, 16, 16), KILN_CU_INVALID_VALUE);
    GOOD(f->cu.func_set_attribute(f->function,
                                  KILN_CU_FUNC_NON_PORTABLE_CLUSTER, 1));
    GOOD(launch_cluster(f, 16, 16));
    all_words_are(f, 3 + 17);
}

static void old_chips_have_no_clusters(void **state)
{
    assert_int_equal(launch_cluster(*state, 2, 4), KILN_CU_INVALID_VALUE);
    GOOD(launch_cluster(*state, 1, 4));
}

static void shared_memory_has_limits(void **state)
{
    fixture *f = *state;
    kiln_cu_launch_config config = {
        .grid_x = 1, .block_x = 32, .shared_bytes = 48 * 1024};
    const int attribute = KILN_CU_FUNC_MAX_DYNAMIC_SHARED;
    GOOD(launch_with(f, config, f->stream, ADD_ONE));
    config.shared_bytes = 100 * 1024;
    assert_int_equal(launch_with(f, config, f->stream, ADD_ONE),
                     KILN_CU_INVALID_VALUE);
    GOOD(f->cu.func_set_attribute(f->function, attribute, 100 * 1024));
    GOOD(launch_with(f, config, f->stream, ADD_ONE));
    assert_int_equal(
        f->cu.func_set_attribute(f->function, attribute, 227 * 1024 + 1),
        KILN_CU_INVALID_VALUE);
}

static void a_failed_kernel_stays(void **state)
{
    fixture *f = *state;
    const char *text;
    assert_int_equal(launch(f, f->stream, FAIL), KILN_CU_LAUNCH_FAILED);
    assert_int_equal(launch(f, f->stream, ADD_ONE), KILN_CU_LAUNCH_FAILED);
    assert_int_equal(f->cu.ctx_synchronize(), KILN_CU_LAUNCH_FAILED);
    GOOD(f->cu.get_error_string(KILN_CU_LAUNCH_FAILED, &text));
    assert_string_equal(text, "kernel emu_test_kernel, block 0, thread 0, line "
                              "77: as asked");
    assert_string_equal(text, emu_driver_text());
    GOOD(f->cu.get_error_name(KILN_CU_LAUNCH_FAILED, &text));
    assert_string_equal(text, "CUDA_ERROR_LAUNCH_FAILED");
}

/* --- captures
 * ------------------------------------------------------------------- */

static void captures_are_replayed(void **state)
{
    fixture *f = *state;
    emu_graph *graph;
    int status;
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    GOOD(f->cu.stream_is_capturing(f->stream, &status));
    assert_int_equal(status, KILN_CU_CAPTURE_ACTIVE);
    GOOD(f->cu.memset_d8_async(f->memory, 1, BYTES, f->stream));
    GOOD(launch(f, f->stream, ADD_ONE));
    assert_int_equal(emu_driver_held().launches, 0);
    GOOD(emu_capture_end(f->stream, &graph));
    assert_int_equal(emu_graph_nodes(graph), 2);
    all_words_are(f, 0);
    for (int i = 0; i < 3; i++) {
        GOOD(emu_graph_launch(graph, f->stream));
        all_words_are(f, 0x01010103);
    }
    assert_int_equal(emu_driver_held().launches, 3);
    emu_graph_destroy(graph);
}

static void broken(fixture *f, kiln_cu_result result, kiln_cu_result expected)
{
    emu_graph *graph;
    assert_int_equal(result, expected);
    assert_int_equal(launch(f, f->stream, ADD_ONE),
                     KILN_CU_CAPTURE_INVALIDATED);
    assert_int_equal(emu_capture_end(f->stream, &graph),
                     KILN_CU_CAPTURE_INVALIDATED);
    assert_null(graph);
}

static void captures_forbid(void **state)
{
    fixture *f = *state;
    kiln_cu_pointer memory;
    kiln_cu_module module;
    const int unsupported = KILN_CU_CAPTURE_UNSUPPORTED;
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    broken(f, f->cu.mem_alloc(&memory, 16), unsupported);
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    broken(f, f->cu.module_load_data(&module, "kiln-emu:"), unsupported);
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    broken(f, f->cu.stream_synchronize(f->stream), unsupported);
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    broken(f, f->cu.mem_alloc_async(&memory, 16, f->stream), unsupported);
    assert_int_equal(emu_driver_held().allocations, 1);
}

static void a_relaxed_thread_may(void **state)
{
    fixture *f = *state;
    kiln_cu_pointer memory;
    emu_graph *graph;
    int mode = KILN_CU_MODE_RELAXED;
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    GOOD(f->cu.exchange_capture_mode(&mode));
    assert_int_equal(mode, KILN_CU_MODE_GLOBAL);
    GOOD(f->cu.mem_alloc(&memory, 16));
    GOOD(f->cu.mem_free(memory));
    GOOD(f->cu.exchange_capture_mode(&mode));
    GOOD(emu_capture_end(f->stream, &graph));
    emu_graph_destroy(graph);
}

static void the_legacy_stream_waits_for_blocking_ones(void **state)
{
    fixture *f = *state;
    kiln_cu_stream blocking;
    emu_graph *graph;
    int status;
    GOOD(f->cu.stream_create(&blocking, 0));
    GOOD(emu_capture_begin(f->stream, KILN_CU_MODE_GLOBAL));
    GOOD(f->cu.stream_is_capturing(NULL, &status));
    GOOD(emu_capture_end(f->stream, &graph));
    emu_graph_destroy(graph);
    GOOD(emu_capture_begin(blocking, KILN_CU_MODE_GLOBAL));
    assert_int_equal(f->cu.stream_is_capturing(NULL, &status),
                     KILN_CU_CAPTURE_IMPLICIT);
    assert_int_equal(emu_capture_end(blocking, &graph),
                     KILN_CU_CAPTURE_INVALIDATED);
    GOOD(f->cu.stream_destroy(blocking));
}

/* --- memory
 * ---------------------------------------------------------------------- */

static void memory_is_poisoned_aligned_and_counted(void **state)
{
    fixture *f = *state;
    kiln_cu_pointer memory;
    unsigned char bytes[3];
    GOOD(f->cu.mem_alloc_async(&memory, 3, f->stream));
    assert_int_equal(memory % 256, 0);
    GOOD(f->cu.memcpy_dtoh_async(bytes, memory, 3, f->stream));
    assert_memory_equal(bytes, "\xff\xff\xff", 3);
    assert_int_equal(emu_driver_held().allocations, 2);
    GOOD(f->cu.mem_free_async(memory, f->stream));
    assert_int_equal(f->cu.mem_free_async(memory, f->stream),
                     KILN_CU_INVALID_VALUE);
    assert_int_equal(f->cu.mem_alloc(&memory, 0), KILN_CU_INVALID_VALUE);
    GOOD(f->cu.mem_free(0));
    assert_int_equal(emu_driver_held().allocations, 1);
}

#ifndef KILN_EMU_ASAN

static void writes_past_the_end_are_found(void **state)
{
    fixture *f = *state;
    kiln_cu_pointer memory;
    GOOD(f->cu.mem_alloc(&memory, 5));
    ((volatile unsigned char *)(uintptr_t)memory)[5] = 0;
    assert_int_equal(f->cu.mem_free(memory), KILN_CU_ILLEGAL_ADDRESS);
    assert_string_equal(
        emu_driver_text(),
        "something wrote past the end of 5 bytes of device memory");
}

#endif

#define ON(device, test)                                                       \
    cmocka_unit_test_setup_teardown(test, open_##device, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_their_facts),
        ON(h200, a_context_must_be_current),
        ON(h200, modules_and_functions),
        ON(h200, launches_run_at_once),
        ON(h200, clusters_have_limits),
        ON(a100, old_chips_have_no_clusters),
        ON(h200, shared_memory_has_limits),
        ON(h200, a_failed_kernel_stays),
        ON(h200, captures_are_replayed),
        ON(h200, captures_forbid),
        ON(h200, a_relaxed_thread_may),
        ON(h200, the_legacy_stream_waits_for_blocking_ones),
        ON(h200, memory_is_poisoned_aligned_and_counted),
#ifndef KILN_EMU_ASAN
        ON(h200, writes_past_the_end_are_found),
#endif
    };
    return cmocka_run_group_tests_name("emu_driver", tests, NULL, NULL);
}
