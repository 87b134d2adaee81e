"""`/schemas...` and `/contexts`: schemas by id and GUID, and lists over all subjects."""

from __future__ import annotations

from typing import Any

from headrace.registry.core import queries, shown
from headrace.registry.core.deleting import delete_context
from headrace.registry.core.registry import Registry
from headrace.registry.core.schema import TYPES, SchemaVersion
from headrace.registry.core.shown import version_fields
from headrace.registry.core.subjects import (
    ANY_CONTEXT,
    DEFAULT_CONTEXT,
    context_of,
    normal,
    parse_context,
)
from headrace.registry.http.answers import Remembered, answer, raw
from headrace.registry.http.bodies import read_id
from headrace.registry.http.subjects_api import page_of
from headrace.registry.service import RegistryService
from headrace.web.messages import HttpError, Request, Response
from headrace.web.router import Route

#: An id says everything about the schema, and nothing about where it stands.
_BY_ID = ("guid", "schemaType", "references", "metadata", "ruleSet", "schema")
_LIMIT_MAX = 1000


class SchemasApi:
    """The schema of an id never changes, so it is answered at once; lists are caught up."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._remembered = Remembered(service.core.state)

    def routes(self) -> list[Route]:
        by_id = "/schemas/ids/{id}"
        return [
            Route("GET", "/schemas", self.schemas),
            Route("GET", "/schemas/types", self.types),
            Route("GET", by_id, self.by_id),
            Route("GET", f"{by_id}/schema", self.schema),
            Route("GET", f"{by_id}/subjects", self.subjects),
            Route("GET", f"{by_id}/versions", self.versions),
            Route("GET", "/schemas/guids/{guid}", self.by_guid),
            Route("GET", "/schemas/guids/{guid}/ids", self.ids_of_guid),
            Route("GET", "/contexts", self.contexts),
            Route("DELETE", "/contexts/{context}", self.delete_context),
        ]

    async def schemas(self, request: Request) -> Response:
        prefix = request.text("subjectPrefix", ANY_CONTEXT)
        found = await self._service.fresh(
            lambda core: queries.schemas(
                core,
                prefix,
                deleted=request.flag("deleted"),
                latest_only=request.flag("latestOnly"),
            )
        )
        rows = page_of(request).of(found)[:_LIMIT_MAX]
        return answer([version_fields(self._service.core, one) for one in rows])

    async def types(self, request: Request) -> Response:
        return answer(list(TYPES))

    async def by_id(self, request: Request) -> Response:
        remembered = self._remembered.get(request.target)
        if remembered is not None:
            return remembered
        id_, subject = read_id(request.params["id"]), normal(request.text("subject"))
        form = request.text("format")

        def ask(core: Registry) -> dict[str, Any]:
            found = queries.find_id(core, id_, subject)
            fields = self._by_id(core, found, form, named=bool(subject))
            if request.flag("fetchMaxId"):
                fields["maxId"] = core.state.context(context_of(found.subject)).highest_id
            if request.text("referenceFormat") == "qualified" and found.schema.references:
                fields["references"] = shown.qualified_references(found)
            return fields

        return self._remembered.keep(request.target, answer(await self._service.sure(ask)))

    async def schema(self, request: Request) -> Response:
        id_, subject = read_id(request.params["id"]), normal(request.text("subject"))
        form = request.text("format")
        return raw(
            await self._service.sure(
                lambda core: shown.text_in_form(core, queries.find_id(core, id_, subject), form)
            )
        )

    async def subjects(self, request: Request) -> Response:
        found = await self._versions_of_id(request)
        return answer(page_of(request).of(list(dict.fromkeys(one.subject for one in found))))

    async def versions(self, request: Request) -> Response:
        found = await self._versions_of_id(request)
        return answer(page_of(request).of(list(shown.pairs(found))))

    async def _versions_of_id(self, request: Request) -> list[SchemaVersion]:
        id_, subject = read_id(request.params["id"]), normal(request.text("subject"))
        return await self._service.fresh(
            lambda core: queries.versions_of_id(core, id_, subject, deleted=request.flag("deleted"))
        )

    async def by_guid(self, request: Request) -> Response:
        guid, form = request.params["guid"], request.text("format")
        return answer(
            await self._service.sure(
                lambda core: self._by_id(core, queries.find_guid(core, guid)[0], form)
            )
        )

    async def ids_of_guid(self, request: Request) -> Response:
        guid = request.params["guid"]
        found = await self._service.fresh(lambda core: queries.find_guid(core, guid))
        return answer([{"context": context_of(one.subject), "id": one.id} for one in found])

    async def contexts(self, request: Request) -> Response:
        found = await self._service.fresh(
            lambda core: [DEFAULT_CONTEXT, *sorted(core.state.named_contexts)]
        )
        prefix = request.text("contextPrefix")
        return answer(page_of(request).of([one for one in found if one.startswith(prefix)]))

    async def delete_context(self, request: Request) -> Response:
        context = parse_context(request.params["context"])
        if context == DEFAULT_CONTEXT:
            raise HttpError(422, "The default context cannot be deleted")
        await self._service.change(lambda core: delete_context(core, context))
        return Response(b"", 204)

    @staticmethod
    def _by_id(
        core: Registry, version: SchemaVersion, form: str, *, named: bool = False
    ) -> dict[str, Any]:
        fields = version_fields(core, version, form)
        wanted = ("subject", "version", *_BY_ID) if named else _BY_ID
        return {name: fields[name] for name in wanted if name in fields}
