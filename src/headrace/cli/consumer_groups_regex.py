"""`headrace consumer-groups --validate-regex`: whether brokers take a pattern of a subscription."""

from __future__ import annotations

import argparse

from headrace.base.linear_regex import what_re2_says
from headrace.cli.output import print_json, wants_json

#: Kafka's words for what is wrong (those of RE2/J), by RE2's.
_REASONS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}


def validate_regex(args: argparse.Namespace) -> int:
    regex = args.validate_regex
    reason = what_is_wrong(regex)
    if wants_json(args):
        print_json({"regex": regex, "valid": reason is None, "error": reason})
    elif reason is None:
        print(f"The regular expression `{regex}` is valid.")
    else:
        print(f"The regular expression `{regex}` is invalid: {reason}.")
    return 0


def what_is_wrong(regex: str) -> str | None:
    """None if it is an expression of RE2, the language in which brokers read subscriptions."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(regex, options)
    except re2.error as error:
        reason = what_re2_says(error).partition(": ")[0]
        return _REASONS.get(reason, reason)
    return None
