"""`/docs`: the API in a browser, in one page without anything from elsewhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem 1.5rem;
color:#1c2430;background:#fff}
h1{margin:.5rem 0 0}h2{margin-top:2.5rem;border-bottom:1px solid #d5dbe3}
details{border:1px solid #d5dbe3;border-radius:6px;margin:.4rem 0;padding:.3rem .7rem}
summary{cursor:pointer}code,pre{font-family:ui-monospace,monospace;font-size:13px}
pre{background:#f3f5f8;padding:.6rem;border-radius:6px;overflow:auto}
b{display:inline-block;min-width:4.5rem}
.GET{color:#1a7f4b}.POST{color:#1f5fbf}.PUT,.PATCH{color:#a05a00}.DELETE{color:#b3261e}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#dde3ec}pre{background:#1e242e}
details,h2{border-color:#333c49}
.GET{color:#5fcf97}.POST{color:#86b4ff}.PUT,.PATCH{color:#f0b25f}.DELETE{color:#ff8a80}}
"""


def docs_page(description: dict[str, Any]) -> str:
    """HTML of an OpenAPI description."""
    info = description["info"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width,initial-scale=1">',
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>",
        f"<h1>{escape(info['title'])}</h1>",
        f"<p>{escape(info['description'])} Version {escape(info['version'])};",
        " the same as data: <a href=/openapi.json>openapi.json</a>.</p>",
    ]
    schemas = description["components"]["schemas"]
    for tag in ("v2", "v3"):
        parts.append(f"<h2>{tag}</h2>")
        for path, methods in description["paths"].items():
            for method, operation in methods.items():
                if tag in operation["tags"]:
                    parts.append(_operation(method.upper(), path, operation, schemas))
    return "".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    query = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
    inside = f"<pre>{escape(_curl(method, path, next(iter(content), None)))}</pre>"
    if query:
        inside += f"<p>Query: {', '.join(f'<code>{escape(name)}</code>' for name in query)}</p>"
    if content:
        name = next(iter(content.values()))["schema"]["$ref"].rpartition("/")[2]
        shown = escape(json.dumps(schemas[name], indent=2))
        types = ", ".join(f"<code>{escape(kind)}</code>" for kind in content)
        inside += f"<p>Body ({types}):</p><pre>{shown}</pre>"
    return (
        f"<details><summary><b class={method}>{method}</b> <code>{escape(path)}</code>"
        f" {escape(operation['summary'])}</summary>{inside}</details>"
    )


def _curl(method: str, path: str, content_type: str | None) -> str:
    """A command to begin with; what stands in braces is for the reader to fill in."""
    if content_type is None:
        told = "" if method == "GET" else f" -X {method}"
        return f"curl{told} 'localhost:8082{path}'"
    told = "" if method == "POST" else f" -X {method}"
    return f"curl{told} -H 'Content-Type: {content_type}' -d @body.json 'localhost:8082{path}'"
