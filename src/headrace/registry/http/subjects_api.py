"""`/subjects...`: subjects, their versions, lookups, registrations and deletions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.registry.core import queries, shown
from headrace.registry.core.deleting import delete_subject, delete_version
from headrace.registry.core.lookup import normalizes
from headrace.registry.core.queries import Page
from headrace.registry.core.registering import Registration, find_registered, register
from headrace.registry.core.registry import Registry
from headrace.registry.core.schema import AVRO, SchemaVersion
from headrace.registry.core.shown import version_fields
from headrace.registry.core.subjects import ANY_CONTEXT, is_valid, normal
from headrace.registry.errors import invalid_subject
from headrace.registry.http.answers import Remembered, answer, raw
from headrace.registry.http.bodies import (
    LATEST,
    read_object,
    read_schema,
    read_version,
    read_whole,
    subject_of,
)
from headrace.registry.service import RegistryService
from headrace.web.messages import Request, Response
from headrace.web.router import Route


class SubjectsApi:
    """Lists, `latest` and refusals come from a state that is caught up; the rest is at hand."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._remembered = Remembered(service.core.state)

    def routes(self) -> list[Route]:
        subject = "/subjects/{subject}"
        version = f"{subject}/versions/{{version}}"
        return [
            Route("GET", "/subjects", self.subjects),
            Route("POST", subject, self.look_up),
            Route("DELETE", subject, self.delete),
            Route("GET", f"{subject}/metadata", self.with_metadata),
            Route("GET", f"{subject}/versions", self.versions),
            Route("POST", f"{subject}/versions", self.register),
            Route("GET", version, self.version),
            Route("DELETE", version, self.delete_version),
            Route("GET", f"{version}/schema", self.version_schema),
            Route("GET", f"{version}/referencedby", self.referenced_by),
        ]

    async def subjects(self, request: Request) -> Response:
        prefix = request.text("subjectPrefix", ANY_CONTEXT)
        found = await self._service.fresh(
            lambda core: queries.subjects(
                core,
                prefix,
                deleted=request.flag("deleted"),
                deleted_only=request.flag("deletedOnly"),
            )
        )
        return answer(page_of(request).of(found))

    async def versions(self, request: Request) -> Response:
        subject = subject_of(request)
        found = await self._service.fresh(
            lambda core: queries.versions(
                core,
                subject,
                deleted=request.flag("deleted"),
                deleted_only=request.flag("deletedOnly"),
            )
        )
        return answer(page_of(request).of(found))

    async def version(self, request: Request) -> Response:
        form = request.text("format")

        def show(core: Registry, version: SchemaVersion) -> dict[str, Any]:
            fields = version_fields(core, version, form)
            if request.text("referenceFormat") == "qualified" and version.schema.references:
                fields["references"] = shown.qualified_references(version)
            return fields

        return answer(await self._version(request, show))

    async def version_schema(self, request: Request) -> Response:
        form = request.text("format")
        return raw(
            await self._version(
                request, lambda core, version: shown.text_in_form(core, version, form)
            )
        )

    async def _version(
        self, request: Request, show: Callable[[Registry, SchemaVersion], Any]
    ) -> Any:
        subject, number = subject_of(request), read_version(request.params["version"])
        deleted = request.flag("deleted")

        def ask(core: Registry) -> Any:
            return show(core, queries.get_version(core, subject, number, deleted=deleted))

        if number == LATEST:
            return await self._service.fresh(ask)
        return await self._service.sure(ask)

    async def referenced_by(self, request: Request) -> Response:
        subject, number = subject_of(request), read_version(request.params["version"])
        found = await self._service.fresh(
            lambda core: queries.referenced_by(
                core, subject, number, deleted=request.flag("deleted")
            )
        )
        return answer(page_of(request).of(found))

    async def with_metadata(self, request: Request) -> Response:
        subject = subject_of(request)
        wanted = dict(zip(request.texts("key"), request.texts("value"), strict=False))
        return answer(
            await self._service.fresh(
                lambda core: version_fields(
                    core,
                    queries.latest_with_metadata(
                        core, subject, wanted, deleted=request.flag("deleted")
                    ),
                    request.text("format"),
                )
            )
        )

    async def look_up(self, request: Request) -> Response:
        subject, schema = subject_of(request), read_schema(await read_object(request))

        def ask(core: Registry) -> dict[str, Any]:
            found = queries.look_up(
                core,
                subject,
                schema,
                normalize=normalizes(core, subject, request.flag("normalize")),
                deleted=request.flag("deleted"),
            )
            return version_fields(core, found, request.text("format"))

        return answer(await self._service.sure(ask))

    async def register(self, request: Request) -> Response:
        question = (request.target, await request.body())
        remembered = self._remembered.get(question)
        if remembered is not None:
            return remembered
        subject = request.params["subject"]
        if not is_valid(subject):
            raise invalid_subject(subject)
        subject = normal(subject)
        body = await read_object(request)
        core = self._service.core
        asked = Registration(
            subject,
            read_schema(body, needed=False),
            read_whole(body, "id", -1),
            read_whole(body, "version", 0),
            normalizes(core, subject, request.flag("normalize")),
            request.flag("force"),
        )
        # What is there already needs no leader; what is not is looked for again by the leader.
        found = find_registered(core, asked)
        form = request.text("format")
        if found is not None:
            known = answer(_registered(core, found, form))
            return self._remembered.keep(question, known, len(question[1]))
        found = await self._service.change(lambda core: register(core, asked))
        return answer(_registered(core, found, form))

    async def delete(self, request: Request) -> Response:
        subject, permanent = subject_of(request), request.flag("permanent")
        return answer(
            await self._service.change(
                lambda core: delete_subject(core, subject, permanent=permanent)
            )
        )

    async def delete_version(self, request: Request) -> Response:
        subject, number = subject_of(request), read_version(request.params["version"])
        permanent = request.flag("permanent")
        return answer(
            await self._service.change(
                lambda core: delete_version(core, subject, number, permanent=permanent)
            )
        )


def _registered(core: Registry, version: SchemaVersion, form: str) -> dict[str, Any]:
    """The text only in a form that was asked for.

    Clients that register a descriptor take whatever text they get back for that descriptor.
    """
    fields: dict[str, Any] = {"id": version.id, "version": version.version, "guid": version.guid}
    if version.schema.type != AVRO:
        fields["schemaType"] = version.schema.type
    if form:
        fields["schema"] = shown.text_in_form(core, version, form)
    return fields


def page_of(request: Request) -> Page:
    return Page(request.number("offset", 0), request.number("limit", -1))
