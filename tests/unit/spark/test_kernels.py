"""Compiling ahead: every kernel that a query uses has its machine code afterwards."""

from typing import Any

import pytest

from headrace.records import append_kernels, decode_kernels, encode_kernels, header_kernels
from headrace.serde.avro_columns import decode_kernel, encode_kernel
from headrace.spark.kernels import compile_kernels

KERNELS: list[Any] = [
    decode_kernels.walk_spans,
    encode_kernels.pack_rows,
    header_kernels.count_headers,
    header_kernels.split_headers,
    append_kernels.choose_targets,
    decode_kernel.decode_rows,
    encode_kernel.encode_rows,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel.__name__))
def test_it_is_compiled(kernel: Any) -> None:
    compile_kernels()
    assert kernel.signatures
