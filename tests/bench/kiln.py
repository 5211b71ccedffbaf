"""kiln through ctypes, on PyTorch's tensors. The order of fields is that of
dlpack.h and kiln.h."""
import ctypes

import torch


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device),
                ("ndim", ctypes.c_int32), ("dtype", DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tier", ctypes.c_char_p),
                ("isa", ctypes.c_char_p), ("profile", ctypes.c_char_p),
                ("config", ctypes.c_char_p), ("route", ctypes.c_char_p),
                ("workspace_limit", ctypes.c_int64),
                ("threads", ctypes.c_int32),
                ("accept_forced", ctypes.c_int32),
                ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p),
                ("allocator", ctypes.c_void_p)]


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double),
                ("s", ctypes.c_char_p)]


class Attr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int),
                ("value", Value)]


CPU, CUDA = Device(1, 0), Device(2, 0)
DTYPES = {torch.float16: DataType(2, 16, 1), torch.bfloat16: DataType(4, 16, 1),
          torch.float32: DataType(2, 32, 1), torch.float64: DataType(2, 64, 1)}


def wrap(t):
    """t as a DLPack tensor; both must outlive its use."""
    return Tensor(t.data_ptr(), CUDA if t.is_cuda else CPU, t.dim(),
                  DTYPES[t.dtype], (ctypes.c_int64 * t.dim())(*t.shape),
                  (ctypes.c_int64 * t.dim())(*t.stride()), 0)


class Kiln:
    """A context. options: fields of kiln_options, texts as str."""

    def __init__(self, path, device=CPU, **options):
        self.lib = ctypes.CDLL(path)
        self.lib.kiln_last_error.restype = ctypes.c_char_p
        self.lib.kiln_context_create.argtypes = [
            ctypes.c_void_p, Device, ctypes.c_void_p]
        self.lib.kiln_plan_create.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p,
            ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
        for name, n in (("prepare", 2), ("enqueue", 4), ("destroy", 1),
                        ("describe", 3)):
            getattr(self.lib, "kiln_plan_" + name).argtypes = \
                [ctypes.c_void_p] * n
        given = {k: v.encode() if isinstance(v, str) else v
                 for k, v in options.items()}
        record = Options(size=ctypes.sizeof(Options), **given)
        self.context = ctypes.c_void_p()
        self.check(self.lib.kiln_context_create(
            ctypes.byref(self.context), device, ctypes.byref(record)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.kiln_last_error().decode())

    def plan(self, op, *tensors):
        """A prepared call of op; calling it with a stream runs it."""
        plan = ctypes.c_void_p()
        wrapped = [wrap(t) for t in tensors]
        array = (ctypes.POINTER(Tensor) * len(tensors))(
            *[ctypes.pointer(t) for t in wrapped])
        self.check(self.lib.kiln_plan_create(
            ctypes.byref(plan), self.context, op.encode(), array,
            len(tensors), None, 0))
        self.check(self.lib.kiln_plan_prepare(plan, None))
        enqueue = self.lib.kiln_plan_enqueue

        def run(stream=None):
            if enqueue(plan, None, None, stream) != 0:
                raise RuntimeError(self.lib.kiln_last_error().decode())
        run.kernel = self.kernel(plan)
        return run

    def kernel(self, plan):
        """The kernel's name, as the plan describes it."""
        text = ctypes.create_string_buffer(16384)
        self.check(self.lib.kiln_plan_describe(plan, text, len(text)))
        for line in text.value.decode().splitlines():
            if line.strip().startswith("kernel "):
                return line.split()[1].rstrip(",")
        return "?"
