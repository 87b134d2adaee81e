"""A `.proto` file as the descriptor that Protobuf's runtime understands.

Only what decides about bytes and JSON is kept: options other than `packed`, `json_name`, `default`,
`allow_alias` and `map_entry`, services and reserved ranges are read over.
"""

from __future__ import annotations

from google.protobuf import descriptor_pb2 as pb

from headrace.serde.protobuf_tokens import Tokens

_Field = pb.FieldDescriptorProto
_SCALARS: dict[str, int] = {
    name[len("TYPE_") :].lower(): number
    for name, number in _Field.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
_LABELS = {
    "optional": _Field.LABEL_OPTIONAL,
    "required": _Field.LABEL_REQUIRED,
    "repeated": _Field.LABEL_REPEATED,
}
_EXTENSION_MAX = 1 << 29
_NESTING_MAX = 64


def parse_proto(text: str, name: str) -> pb.FileDescriptorProto:
    """`SchemaError` with the line if the text is no `.proto` file."""
    return _Parser(Tokens(text), name).file()


class _Parser:
    def __init__(self, tokens: Tokens, name: str) -> None:
        self._tokens = tokens
        self._file = pb.FileDescriptorProto(name=name)
        self._is_proto3 = False

    def file(self) -> pb.FileDescriptorProto:
        tokens = self._tokens
        if tokens.peek() in ("syntax", "edition"):
            self._syntax()
        while not tokens.is_done:
            match tokens.peek():
                case ";":
                    tokens.take()
                case "import":
                    self._import()
                case "package":
                    tokens.take()
                    self._file.package = tokens.dotted()
                    tokens.expect(";")
                case "option":
                    self._option_statement()
                case "message":
                    self._message(self._file.message_type.add(), 0)
                case "enum":
                    self._enum(self._file.enum_type.add())
                case "extend":
                    self._extend()
                case "service":
                    tokens.take()
                    tokens.name()
                    tokens.skip_block()
                case word:
                    raise tokens.failure(f"'{word}' has no meaning here")
        return self._file

    def _syntax(self) -> None:
        tokens = self._tokens
        keyword = tokens.take()
        tokens.expect("=")
        value = tokens.text()
        tokens.expect(";")
        if keyword == "edition":
            numbers = dict(pb.Edition.items())
            if f"EDITION_{value}" not in numbers:
                raise tokens.failure(f"edition {value} is unknown")
            self._file.syntax = "editions"
            self._file.edition = pb.Edition.Value(f"EDITION_{value}")
        elif value in ("proto2", "proto3"):
            self._is_proto3 = value == "proto3"
            if self._is_proto3:
                self._file.syntax = value
        else:
            raise tokens.failure(f"syntax {value} is unknown")

    def _import(self) -> None:
        tokens = self._tokens
        tokens.take()
        kind = tokens.take() if tokens.peek() in ("public", "weak") else ""
        if kind == "public":
            self._file.public_dependency.append(len(self._file.dependency))
        self._file.dependency.append(tokens.text())
        tokens.expect(";")

    # ---------------------------------------------------------------- messages

    def _message(self, message: pb.DescriptorProto, depth: int) -> None:
        tokens = self._tokens
        if depth > _NESTING_MAX:
            raise tokens.failure(f"messages are nested deeper than {_NESTING_MAX} levels")
        tokens.expect("message")
        message.name = tokens.name()
        tokens.expect("{")
        entries: list[pb.DescriptorProto] = []
        while not tokens.skip("}"):
            self._member(message, entries, depth)
        # Records name a message by its position, and what is not written has none before others.
        message.nested_type.extend(entries)
        self._add_synthetic_oneofs(message)

    def _member(
        self, message: pb.DescriptorProto, entries: list[pb.DescriptorProto], depth: int
    ) -> None:
        tokens = self._tokens
        after = tokens.peek(1)
        # A field's type may be called like a keyword; then a second name follows, and a '='.
        is_keyword = tokens.peek(2) != "="
        match tokens.peek():
            case ";":
                tokens.take()
            case "message" if is_keyword:
                self._message(message.nested_type.add(), depth + 1)
            case "enum" if is_keyword:
                self._enum(message.enum_type.add())
            case "option":
                if self._option_statement() == ("map_entry", "true"):
                    message.options.map_entry = True
            case "oneof" if is_keyword:
                self._oneof(message)
            case "extend" if is_keyword:
                self._extend()
            case "reserved" if is_keyword:
                self._skip_statement()
            case "extensions" if is_keyword:
                self._extensions(message)
            case "map" if after == "<":
                entries.append(self._map(message))
            case _:
                self._field(message.field.add())

    def _field(self, field: pb.FieldDescriptorProto) -> None:
        tokens = self._tokens
        label = tokens.peek()
        has_label = label in _LABELS and tokens.peek(2) != "="
        if has_label:
            tokens.take()
        field.label = _LABELS[label] if has_label else _Field.LABEL_OPTIONAL
        if self._is_proto3 and has_label and label == "optional":
            field.proto3_optional = True
        self._type(field)
        self._name_and_number(field)

    def _type(self, field: pb.FieldDescriptorProto) -> None:
        name = self._tokens.dotted()
        if name == "group":
            raise self._tokens.failure("groups are not supported")
        if name in _SCALARS:
            field.type = _Field.Type.ValueType(_SCALARS[name])
        else:
            # Whether it is a message or an enum, and of which package, the runtime finds out.
            field.type_name = name

    def _name_and_number(self, field: pb.FieldDescriptorProto) -> None:
        tokens = self._tokens
        field.name = tokens.name()
        tokens.expect("=")
        number = tokens.integer()
        if not 0 < number < _EXTENSION_MAX:
            raise tokens.failure(f"field {field.name} has the number {number}")
        field.number = number
        for option, value in self._bracket_options():
            if option == "packed":
                field.options.packed = value == "true"
            elif option == "json_name":
                field.json_name = value
            elif option == "default":
                field.default_value = value
        tokens.expect(";")

    def _map(self, message: pb.DescriptorProto) -> pb.DescriptorProto:
        """Adds the field; returns the message that its entries are."""
        tokens = self._tokens
        tokens.take()
        tokens.expect("<")
        entry = pb.DescriptorProto()
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL)
        self._type(key)
        tokens.expect(",")
        value = entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL)
        self._type(value)
        tokens.expect(">")
        field = message.field.add(label=_Field.LABEL_REPEATED)
        self._name_and_number(field)
        entry.name = "".join(part[0].upper() + part[1:] for part in _words(field.name)) + "Entry"
        field.type = _Field.TYPE_MESSAGE
        field.type_name = entry.name
        return entry

    def _oneof(self, message: pb.DescriptorProto) -> None:
        tokens = self._tokens
        tokens.take()
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=tokens.name())
        tokens.expect("{")
        while not tokens.skip("}"):
            if tokens.skip(";"):
                continue
            if tokens.peek() == "option":
                self._option_statement()
                continue
            field = message.field.add(label=_Field.LABEL_OPTIONAL, oneof_index=index)
            self._type(field)
            self._name_and_number(field)

    def _add_synthetic_oneofs(self, message: pb.DescriptorProto) -> None:
        """How descriptors say that a proto3 field knows whether it was set."""
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")

    def _extensions(self, message: pb.DescriptorProto) -> None:
        tokens = self._tokens
        tokens.take()
        while True:
            start = tokens.integer()
            end = start
            if tokens.skip("to"):
                end = _EXTENSION_MAX - 1 if tokens.skip("max") else tokens.integer()
            message.extension_range.add(start=start, end=end + 1)
            if not tokens.skip(","):
                break
        self._bracket_options()
        tokens.expect(";")

    def _extend(self) -> None:
        tokens = self._tokens
        tokens.take()
        tokens.dotted()
        # Options of our own making: nothing that reads or writes records needs them.
        tokens.skip_block()

    # ---------------------------------------------------------------- enums and options

    def _enum(self, enum: pb.EnumDescriptorProto) -> None:
        tokens = self._tokens
        tokens.expect("enum")
        enum.name = tokens.name()
        tokens.expect("{")
        while not tokens.skip("}"):
            if tokens.skip(";"):
                continue
            if tokens.peek() == "option" and tokens.peek(1) != "=":
                if self._option_statement() == ("allow_alias", "true"):
                    enum.options.allow_alias = True
                continue
            if tokens.peek() == "reserved" and tokens.peek(1) != "=":
                self._skip_statement()
                continue
            name = tokens.name()
            tokens.expect("=")
            enum.value.add(name=name, number=tokens.integer())
            self._bracket_options()
            tokens.expect(";")

    def _option_statement(self) -> tuple[str, str]:
        self._tokens.expect("option")
        option = self._option()
        self._tokens.expect(";")
        return option

    def _bracket_options(self) -> list[tuple[str, str]]:
        tokens = self._tokens
        options = []
        if tokens.skip("["):
            options.append(self._option())
            while tokens.skip(","):
                options.append(self._option())
            tokens.expect("]")
        return options

    def _option(self) -> tuple[str, str]:
        tokens = self._tokens
        name = ""
        while tokens.peek() != "=":
            name += tokens.take()
        tokens.expect("=")
        if tokens.is_text():
            return name, tokens.text()
        if tokens.peek() == "{":
            tokens.skip_block()
            return name, ""
        sign = "-" if tokens.skip("-") else ""
        return name, sign + tokens.take()

    def _skip_statement(self) -> None:
        while self._tokens.take() != ";":
            pass


def _words(name: str) -> list[str]:
    return [part for part in name.split("_") if part]
