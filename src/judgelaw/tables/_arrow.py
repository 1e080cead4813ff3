"""Numbers out of an Arrow stream, batch by batch.

DuckDB hands out a result in pieces only through the Arrow C stream interface, and NumPy does not
read that. Columns of numbers without nulls need five fields of one struct, which is less than
pyarrow, a hundred megabytes that nothing else here asks for.
"""

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import DTypeLike, NDArray


class _Array(ctypes.Structure):
    """`struct ArrowArray` of the Arrow C data interface."""


_ArrayPointer = ctypes.POINTER(_Array)
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(_ArrayPointer)),
    ("dictionary", _ArrayPointer),
    ("release", ctypes.CFUNCTYPE(None, _ArrayPointer)),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """`struct ArrowArrayStream` of the Arrow C stream interface."""


_StreamPointer = ctypes.POINTER(_Stream)
_Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, _StreamPointer, _ArrayPointer)),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, _StreamPointer)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]


def batches(
    relation: duckdb.DuckDBPyRelation, types: Sequence[DTypeLike]
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Run a query whose columns are numbers of these types without nulls, and yield its pieces.

    The arrays lie in the engine's memory and are gone with the next step.
    """
    capsule = relation.__arrow_c_stream__()
    stream = ctypes.cast(_pointer_in(capsule, b"arrow_array_stream"), _StreamPointer)
    while True:
        piece = _Array()
        if stream.contents.get_next(stream, ctypes.byref(piece)):
            words = stream.contents.get_last_error(stream) or b"the stream broke off"
            raise duckdb.Error(words.decode(errors="replace"))
        if not piece.release:
            return
        try:
            yield tuple(
                _values(piece.children[i].contents, np.dtype(of)) for i, of in enumerate(types)
            )
        finally:
            piece.release(ctypes.byref(piece))


def _values(column: _Array, of: np.dtype[Any]) -> NDArray[Any]:
    if column.null_count > 0 or not column.length:
        if column.length:
            raise duckdb.Error("a column of numbers holds nulls")
        return np.empty(0, of)
    start = column.buffers[1] + column.offset * of.itemsize
    memory = (ctypes.c_char * (column.length * of.itemsize)).from_address(start)
    return np.frombuffer(memory, of)
