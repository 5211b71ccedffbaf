/* driver.h: a CUDA driver whose device is the CPU.
 *
 * Device pointers are host pointers; a stream's work is done when it is
 * enqueued; a module's image is the text "kiln-emu:PATH", which ends at a NUL
 * or a newline, and PATH is a shared object made of files of out/cuda, or
 * empty: the program itself. What the real driver checks on the host is checked
 * here too: limits of a launch, calls that are illegal in a capture, a context
 * that must be current; and a failed kernel makes every later call of its
 * context fail.
 *
 * One driver a process: the functions of a kiln_cuda_driver have no argument
 * that could tell two apart.
 */
#ifndef KILN_EMU_DRIVER_H
#define KILN_EMU_DRIVER_H

#include "cuda/driver.h"
#include "emu.h"

typedef struct emu_device {
    const char *name;
    int capability; /* major * 10 + minor */
    int multiprocessors;
    int shared_optin; /* bytes of shared memory a block may ask for */
    int l2_bytes;
} emu_device;

extern const emu_device emu_device_h200; /* sm_90 */
extern const emu_device emu_device_a100; /* sm_80 */
extern const emu_device emu_device_t4;   /* sm_75 */

enum { EMU_DEVICES = 4 };

/* Starts over with these devices, ordinals from 0 (at most EMU_DEVICES), and
 * fills driver. Nothing of an earlier start may be in use. */
void emu_driver_open(kiln_cuda_driver *driver, const emu_device *const *devices,
                     int n_devices);

/* Orders of blocks and threads for the launches to come; forward at first. */
void emu_driver_order(emu_order blocks, emu_order threads);

/* The last kernel's error, "" if none failed since the start. It is also
 * printed on standard error, and is part of cuGetErrorString's text. */
const char *emu_driver_text(void);

/* What is held: a test that closed everything wants zeros. */
typedef struct emu_held {
    int contexts; /* retains */
    int modules;
    int streams;
    int allocations;
    uint64_t launches; /* done since the start */
} emu_held;

emu_held emu_driver_held(void);

/* cuStreamBeginCapture, cuStreamEndCapture, cuGraphLaunch, cuGraphDestroy. */
typedef struct emu_graph emu_graph;

kiln_cu_result emu_capture_begin(kiln_cu_stream stream, int mode);
/* *graph NULL and KILN_CU_CAPTURE_INVALIDATED: a call broke it. */
kiln_cu_result emu_capture_end(kiln_cu_stream stream, emu_graph **graph);
kiln_cu_result emu_graph_launch(const emu_graph *graph, kiln_cu_stream stream);
size_t emu_graph_nodes(const emu_graph *graph);
void emu_graph_destroy(emu_graph *graph);

#endif /* KILN_EMU_DRIVER_H */
