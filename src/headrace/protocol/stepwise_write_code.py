"""Generates a write function that stops after each element of a list of structs.

An answer may have tens of thousands of elements. Whoever writes it takes as many steps at a time
as others can wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.protocol.write_code import WriteCode


class StepwiseWriteCode(WriteCode):
    """The same statements, in a generator."""

    def compile_steps(self) -> Callable[[Any, Callable[[Any], None]], Iterator[None]]:
        self.write_message()
        # Also a message without lists makes a generator.
        self.line("yield")
        function: Callable[[Any, Callable[[Any], None]], Iterator[None]] = self.function(
            "def write(message, put):", "write"
        )
        return function

    def end_element(self) -> None:
        self.line("yield")
