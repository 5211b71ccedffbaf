"""Tensor views of expr_ref.py, by listing where every element lies."""

INT_MIN, INT_MAX = -2**63, 2**63 - 1
DTYPES = ["none", "bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16",
          "f32", "f64"]
SIZES = [0, 1, 1, 1, 2, 4, 8, 2, 2, 4, 8]


class Skip(Exception):
    """Not worth computing: a view of too many elements to list."""


class Fault(Exception):
    """Computing fails; its argument is the kind of failure."""


class View:
    def __init__(self, dtype, sizes, strides, offset=0, made=False):
        self.dtype, self.sizes, self.strides = dtype, sizes, strides
        self.offset, self.made = offset, made

    def numel(self):
        count = 1
        for size in self.sizes:
            count *= size
        return count

    def places(self):
        if self.numel() > 4096:
            raise Skip
        out = [self.offset] if self.numel() else []
        bytes_ = SIZES[self.dtype]
        for size, stride in zip(self.sizes, self.strides):
            out = [at + i * stride * bytes_ for at in out
                   for i in range(size)] if out else []
        return out


def view_of(places, dtype, sizes):
    """The strided view with these sizes and places of elements, if any."""
    if not places:
        return View(dtype, sizes, [1] * len(sizes), 0, True)
    bytes_, step, strides = SIZES[dtype], len(places), []
    for size in sizes:
        step //= size
        strides.append((places[step] - places[0]) // bytes_ if size > 1
                       else 1)
    view = View(dtype, sizes, strides, places[0], True)
    if view.places() != places:
        raise Fault("view")
    return view


def dim_of(view, dim):
    if not -len(view.sizes) <= dim < len(view.sizes):
        raise Fault("view")
    return dim % len(view.sizes)


def apply_view(name, view, ints):
    sizes, strides = list(view.sizes), list(view.strides)
    offset, places = view.offset, None
    if name == "transpose":
        a, b = (dim_of(view, d) for d in (ints or [-2, -1]))
        sizes[a], sizes[b] = sizes[b], sizes[a]
        strides[a], strides[b] = strides[b], strides[a]
    elif name == "slice":
        dim, start, stop = dim_of(view, ints[0]), ints[1], ints[2]
        if not 0 <= start <= stop <= sizes[dim]:
            raise Fault("view")
        offset += start * strides[dim] * SIZES[view.dtype]
        sizes[dim] = stop - start
    elif name == "expand":
        if not len(sizes) <= len(ints) <= 8:
            raise Fault("view")
        lead = len(ints) - len(sizes)
        sizes, strides = [1] * lead + sizes, [0] * lead + strides
        for d, want in enumerate(ints):
            if want == -1 and d >= lead or want == sizes[d]:
                continue
            if want < 0 or sizes[d] != 1:
                raise Fault("view")
            sizes[d], strides[d] = want, 0
    else:
        places = view.places()
        sizes = new_sizes(name, view, ints)
    if places is not None:
        return view_of(places, view.dtype, sizes)
    return View(view.dtype, sizes, strides, offset, True)


def new_sizes(name, view, ints):
    sizes = list(view.sizes)
    if name == "merge":
        first, last = dim_of(view, ints[0]), dim_of(view, ints[1])
        if first > last:
            raise Fault("view")
        merged = View(0, sizes[first:last + 1], []).numel()
        if merged > INT_MAX:
            raise Fault("view")
        return sizes[:first] + [merged] + sizes[last + 1:]
    if name == "group":
        if not 2 <= len(sizes) <= 7 or ints[0] < 1 or (
                sizes[1] != 1 and sizes[1] % ints[0]):
            raise Fault("view")
        inner = 1 if sizes[1] == 1 else ints[0]
        return [sizes[0], sizes[1] // inner, inner] + sizes[2:]
    known = View(0, [n for n in ints if n != -1], []).numel()
    if len(ints) > 8 or ints.count(-1) > 1 or any(n < -1 for n in ints):
        raise Fault("view")
    if -1 in ints:
        if known == 0 or view.numel() % known:
            raise Fault("view")
        ints = [view.numel() // known if n == -1 else n for n in ints]
    elif known != view.numel():
        raise Fault("view")
    return ints
