"""`headrace schemas check|register|diff`: schemas in a build, before and after a merge.

`check` asks the registry whether new schemas may follow the registered ones, `register` registers
them, and `diff` compares two files without any registry.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument, print_json, wants_json

_DEFAULT_URL = "http://localhost:8081"
_TYPES = {".avsc": "AVRO", ".json": "JSON", ".jsonschema": "JSON", ".proto": "PROTOBUF"}
_LEVELS = ("BACKWARD", "FORWARD", "FULL")
EXIT_INCOMPATIBLE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="are new schemas compatible with the registered ones?")
    register = actions.add_parser("register", help="register schemas, and print their ids")
    for action in (check, register):
        action.add_argument(
            "schemas",
            nargs="+",
            metavar="SUBJECT=FILE",
            help="a subject and the file of its new schema (.avsc, .json, .proto)",
        )
        action.add_argument(
            "--schema-registry",
            metavar="URL",
            default=os.environ.get("SCHEMA_REGISTRY_URL", _DEFAULT_URL),
            help=f"address of the registry (default: $SCHEMA_REGISTRY_URL, else {_DEFAULT_URL})",
        )
        action.add_argument(
            "--reference",
            metavar="NAME=SUBJECT:VERSION",
            action="append",
            default=[],
            help="a registered schema that the new ones refer to; may be given several times",
        )
        action.add_argument(
            "--normalize", action="store_true", help="ignore differences without meaning"
        )
        _add_common(action)
    diff = actions.add_parser("diff", help="what breaks between two files, without a registry")
    diff.add_argument("old", metavar="OLD", help="the file of the old schema")
    diff.add_argument("new", metavar="NEW", help="the file of the new schema")
    diff.add_argument("--level", choices=_LEVELS, default="BACKWARD", help="default: BACKWARD")
    _add_common(diff)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--type", choices=sorted(set(_TYPES.values())), help="default: by the file's suffix"
    )
    add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    if args.action == "diff":
        return _diff(args)
    from headrace.serde.errors import SerdeError
    from headrace.serde.registry_http import RegistryHttp

    http = RegistryHttp(args.schema_registry.split(","))
    bodies = {subject: _body(args, path) for subject, path in _pairs(args.schemas)}
    ask = _check if args.action == "check" else _register
    try:
        rows = [ask(http, args, subject, body) for subject, body in bodies.items()]
    except SerdeError as error:
        raise CommandFailedError(str(error)) from error
    finally:
        http.close()
    _print(args, rows)
    return 0 if all(row.get("is_compatible", True) for row in rows) else EXIT_INCOMPATIBLE


def _check(http: Any, args: argparse.Namespace, subject: str, body: dict[str, Any]) -> Any:
    query = "?verbose=true" + ("&normalize=true" if args.normalize else "")
    path = f"/compatibility/subjects/{quote(subject, safe='')}/versions{query}"
    return {"subject": subject, **http.ask("POST", path, body)}


def _register(http: Any, args: argparse.Namespace, subject: str, body: dict[str, Any]) -> Any:
    query = "?normalize=true" if args.normalize else ""
    answer = http.ask("POST", f"/subjects/{quote(subject, safe='')}/versions{query}", body)
    return {"subject": subject, "id": answer["id"], "version": answer.get("version")}


def _print(args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    if wants_json(args):
        print_json(rows)
        return
    for row in rows:
        if args.action == "register":
            print(f"{row['subject']}: id {row['id']}, version {row['version']}")
            continue
        print(f"{row['subject']}: {'compatible' if row['is_compatible'] else 'NOT compatible'}")
        for message in row.get("messages") or ():
            print(f"  {message}")


def _diff(args: argparse.Namespace) -> int:
    try:
        from headrace.registry.core.languages import parse
        from headrace.registry.errors import InvalidSchemaError
    except ImportError as error:
        raise CommandFailedError(
            f"Schemas need the package {error.name}: pip install 'headrace[registry]'."
        ) from error
    parsed = []
    for path in (args.old, args.new):
        try:
            parsed.append(parse(_type(args, path), _read(path), {}))
        except InvalidSchemaError as error:
            raise CommandFailedError(f"{path}: {error.message}.") from error
    old, new = parsed
    if type(old) is not type(new):
        raise UsageError("Only schemas of one type can be compared.")
    messages = []
    if args.level != "FORWARD":
        messages += [one.text("new", "old") for one in new.unreadable(old)]
    if args.level != "BACKWARD":
        messages += [one.text("old", "new") for one in old.unreadable(new)]
    if wants_json(args):
        print_json({"is_compatible": not messages, "messages": messages})
    else:
        print("\n".join(messages or ["compatible"]))
    return EXIT_INCOMPATIBLE if messages else 0


def _body(args: argparse.Namespace, path: str) -> dict[str, Any]:
    return {
        "schema": _read(path),
        "schemaType": _type(args, path),
        "references": [_reference(text) for text in args.reference],
    }


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        subject, equals, path = text.partition("=")
        if not equals or not subject or not path:
            raise UsageError(f"A schema is given as SUBJECT=FILE, not '{text}'.")
        pairs.append((subject, path))
    return pairs


def _reference(text: str) -> dict[str, Any]:
    name, _, place = text.partition("=")
    subject, _, version = place.rpartition(":")
    if not name or not subject or not version.isdecimal():
        raise UsageError(f"A reference is given as NAME=SUBJECT:VERSION, not '{text}'.")
    return {"name": name, "subject": subject, "version": int(version)}


def _type(args: argparse.Namespace, path: str) -> str:
    if args.type:
        return str(args.type)
    found = _TYPES.get(Path(path).suffix.lower())
    if found is None:
        raise UsageError(f"{path} does not say by its suffix what it is: give --type.")
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise CommandFailedError(f"Cannot read {path}: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise CommandFailedError(f"{path} is no text in UTF-8.") from None
