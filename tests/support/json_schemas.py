"""JSON Schemas made by chance, small changes to them, and documents that fit them."""

import copy
from random import Random
from typing import Any

_NAMES = ("a", "b", "c", "d")


def make_schema(random: Random, depth: int = 0) -> Any:
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "empty"]
    if depth < 3:
        kinds += ["object"] * 4 + ["array", "array", "anyOf", "types"]
    match random.choice(kinds):
        case "object":
            return _object(random, depth)
        case "array":
            schema: dict[str, Any] = {"type": "array", "items": make_schema(random, depth + 1)}
            return _maybe(random, schema, minItems=1, maxItems=3, uniqueItems=True)
        case "anyOf":
            return {"anyOf": [make_schema(random, depth + 1) for _ in range(random.randint(1, 3))]}
        case "types":
            return {"type": random.sample(["string", "integer", "null", "boolean"], 2)}
        case "enum":
            return {"enum": random.sample(["x", "y", 1, 2, None, True], random.randint(1, 4))}
        case "string":
            return _maybe(random, {"type": "string"}, minLength=1, maxLength=4, pattern="^[a-c]*$")
        case "empty":
            return random.choice(({}, True))
        case "integer" | "number" as kind:
            return _maybe(random, {"type": kind}, minimum=-5, maximum=5, multipleOf=2)
        case kind:
            return {"type": kind}


def change_schema(random: Random, schema: Any) -> Any:
    """The same with one to three things changed somewhere."""
    changed = copy.deepcopy(schema)
    for _ in range(random.randint(1, 3)):
        nodes = list(_nodes(changed))
        if nodes:
            _change(random, random.choice(nodes))
    return changed


def make_document(random: Random, schema: Any, depth: int = 0) -> Any:
    """A guess at a document; whether it fits is the validator's word."""
    if not isinstance(schema, dict) or not schema or random.random() < 0.1:
        return _anything(random, depth)
    if "anyOf" in schema:
        return make_document(random, random.choice(schema["anyOf"]), depth)
    if "enum" in schema:
        return random.choice(schema["enum"])
    kind = schema.get("type")
    match random.choice(kind) if isinstance(kind, list) else kind:
        case "object":
            return _fitting_object(random, schema, depth)
        case "array":
            count = random.randint(0, 3)
            return [make_document(random, schema.get("items"), depth + 1) for _ in range(count)]
        case "string":
            return "".join(random.choices("abcd", k=random.randint(0, 5)))
        case "integer":
            return random.randint(-7, 7)
        case "number":
            return random.choice((0, 2, -4, 1.5, 3.25, 8))
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
    return _anything(random, depth)


def _object(random: Random, depth: int) -> Any:
    names = random.sample(_NAMES, random.randint(0, 3))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: make_schema(random, depth + 1) for name in names},
    }
    required = [name for name in names if random.random() < 0.4]
    if required:
        schema["required"] = required
    others = random.random()
    if others < 0.4:
        schema["additionalProperties"] = False
    elif others < 0.6:
        schema["additionalProperties"] = make_schema(random, depth + 1)
    return _maybe(random, schema, minProperties=1, maxProperties=3)


def _fitting_object(random: Random, schema: dict[str, Any], depth: int) -> Any:
    properties = schema.get("properties", {})
    document = {}
    for name, one in properties.items():
        if name in schema.get("required", ()) or random.random() < 0.6:
            document[name] = make_document(random, one, depth + 1)
    if schema.get("additionalProperties") is not False and random.random() < 0.4:
        name = random.choice(_NAMES)
        if name not in properties:
            others = schema.get("additionalProperties", {})
            document[name] = make_document(random, others, depth + 1)
    return document


def _anything(random: Random, depth: int) -> Any:
    simple: list[Any] = ["a", "zz", 1, -3, 2.5, True, None]
    if depth < 2:
        simple += [{"a": 1}, {"b": "x"}, [], [1, "a"]]
    return random.choice(simple)


def _maybe(random: Random, schema: dict[str, Any], **limits: Any) -> dict[str, Any]:
    return schema | {word: value for word, value in limits.items() if random.random() < 0.25}


def _change(random: Random, node: dict[str, Any]) -> None:
    properties = node.get("properties")
    numbers = [word for word, value in node.items() if type(value) is int]
    choice = random.randint(0, 6)
    if choice == 0 and numbers:
        word = random.choice(numbers)
        changed = node[word] + random.choice((-1, 1))
        node[word] = changed if word in ("minimum", "maximum") else max(changed, 1)
    elif choice == 1 and numbers:
        del node[random.choice(numbers)]
    elif choice == 2 and properties:
        name = random.choice(list(properties))
        del properties[name]
        if name in node.get("required", ()):
            node["required"].remove(name)
    elif choice == 3 and properties is not None:
        properties.setdefault(random.choice(_NAMES), make_schema(random, 2))
    elif choice == 4 and properties is not None:
        node["additionalProperties"] = random.choice((True, False, {"type": "integer"}))
    elif choice == 5 and properties:
        node["required"] = [random.choice(list(properties))]
    elif "anyOf" in node:
        node["anyOf"].append(make_schema(random, 2))
    elif node.get("type") == "integer":
        node["type"] = "number"
    elif "enum" in node:
        node["enum"] = [*node["enum"], "new"][random.randint(0, 1) :]


def _nodes(schema: Any) -> Any:
    if isinstance(schema, dict):
        yield schema
        for one in schema.get("properties", {}).values():
            yield from _nodes(one)
        for word in ("items", "additionalProperties"):
            yield from _nodes(schema.get(word))
        for one in schema.get("anyOf", ()):
            yield from _nodes(one)
