"""What confluent-kafka's registry client and serializers have to do against any registry."""

import json
from typing import Any

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2 as pb
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from tests.support.schema_registry import ask

USER = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "example",
        "fields": [
            {"name": "name", "type": "string"},
            {"name": "favorite_number", "type": ["null", "int"], "default": None},
        ],
    }
)
ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "example",
        "fields": [{"name": "id", "type": "long"}, {"name": "user", "type": "example.User"}],
    }
)
PERSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Person",
        "type": "object",
        "properties": {"name": {"type": "string"}, "home": {"$ref": "address.json"}},
        "required": ["name"],
    }
)
ADDRESS = json.dumps(
    {"title": "Address", "type": "object", "properties": {"city": {"type": "string"}}}
)


def refusal(call: Any, *args: Any, **named: Any) -> tuple[int, int]:
    """Status and code of the error that a call must end with."""
    try:
        call(*args, **named)
    except SchemaRegistryError as error:
        return error.http_status_code, error.error_code
    raise AssertionError("the registry did not refuse")


def use_every_call(client: SchemaRegistryClient, subject: str) -> None:
    """Each method of the client once, and what it must come to."""
    schema = Schema(USER, "AVRO")
    id_ = client.register_schema(subject, schema)
    assert client.register_schema(subject, schema) == id_
    assert json.loads(client.get_schema(id_).schema_str or "") == json.loads(USER)
    found = client.lookup_schema(subject, schema)
    assert (found.schema_id, found.version, found.subject) == (id_, 1, subject)
    assert client.get_latest_version(subject).version == 1
    assert client.get_version(subject, 1).schema_id == id_
    assert client.get_versions(subject) == [1]
    assert subject in client.get_subjects()
    assert subject in client.get_subjects_by_schema_id(id_)
    assert any(row.subject == subject for row in client.get_schema_versions(id_))
    assert set(client.get_schema_types()) == {"AVRO", "JSON", "PROTOBUF"}
    broken = Schema(USER.replace('"name": "name"', '"name": "surname"'), "AVRO")
    assert client.test_compatibility(subject, broken) is False
    assert client.test_compatibility(subject, schema) is True
    assert client.test_compatibility_all_versions(subject, broken) is False
    assert refusal(client.register_schema, subject, broken) == (409, 409)
    client.set_compatibility(subject, "NONE")
    assert client.get_compatibility(subject) == "NONE"
    assert client.register_schema(subject, broken) != id_
    client.delete_config(subject)
    assert refusal(client.get_compatibility, subject) == (404, 40408)
    assert client.delete_version(subject, 2) == 2
    assert client.delete_version(subject, 2, permanent=True) == 2
    client.update_mode(subject, "READONLY")
    assert client.get_mode(subject) == "READONLY"
    other = Schema('"long"', "AVRO")
    assert refusal(client.register_schema, subject, other) == (422, 42205)
    client.delete_mode(subject)
    assert client.get_global_mode() == "READWRITE"
    assert "." in client.get_contexts()
    assert client.delete_subject(subject) == [1]
    assert client.delete_subject(subject, permanent=True) == [1]
    assert refusal(client.get_versions, subject) == (404, 40401)


def round_trip_avro(client: SchemaRegistryClient, topic: str) -> None:
    context = SerializationContext(topic, MessageField.VALUE)
    client.register_schema(f"{topic}-user", Schema(USER, "AVRO"))
    reference = SchemaReference("example.User", f"{topic}-user", 1)
    schema = Schema(ORDER, "AVRO", [reference])
    order = {"id": 7, "user": {"name": "Ann", "favorite_number": 3}}
    data = AvroSerializer(client, schema)(order, context)
    assert data is not None
    assert AvroDeserializer(client)(data, context) == order


def round_trip_json(client: SchemaRegistryClient, topic: str) -> None:
    context = SerializationContext(topic, MessageField.VALUE)
    client.register_schema("address.json", Schema(ADDRESS, "JSON"))
    schema = Schema(PERSON, "JSON", [SchemaReference("address.json", "address.json", 1)])
    person = {"name": "Ann", "home": {"city": "Delft"}}
    data = JSONSerializer(schema, client)(person, context)
    assert data is not None
    reader = JSONDeserializer(schema, schema_registry_client=client)
    assert reader(data, context) == person


def round_trip_protobuf(client: SchemaRegistryClient, topic: str) -> None:
    """Two files, one importing the other, which becomes a reference; nested messages and maps."""
    pool = _protobuf_pool()
    for name in ("example.Person", "example.Person.Pet", "example.Address"):
        context = SerializationContext(f"{topic}-{name}", MessageField.VALUE)
        kind = GetMessageClass(pool.FindMessageTypeByName(name))
        message: Any = kind()
        if name == "example.Person":
            message.name = "Ann"
            message.home.city = "Delft"
            message.born.seconds = 5
            message.marks["x"] = 3
            message.pets.add(name="Tom")
        data = ProtobufSerializer(kind, client, {})(message, context)
        assert data is not None
        assert ProtobufDeserializer(kind, {}, client)(data, context) == message


def _protobuf_pool() -> DescriptorPool:
    field = pb.FieldDescriptorProto
    pool = DescriptorPool()
    stamp = pb.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    pool.Add(stamp)
    address = pb.FileDescriptorProto(
        name="example/address.proto", package="example", syntax="proto3"
    )
    city = address.message_type.add(name="Address").field
    city.add(name="city", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    pool.Add(address)
    file = pb.FileDescriptorProto(name="example/person.proto", package="example", syntax="proto3")
    file.dependency.extend(["example/address.proto", "google/protobuf/timestamp.proto"])
    person = file.message_type.add(name="Person")
    pet = person.nested_type.add(name="Pet")
    pet.field.add(name="name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    marks = person.nested_type.add(name="MarksEntry")
    marks.options.map_entry = True
    marks.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    marks.field.add(name="value", number=2, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
    add, message = person.field.add, field.TYPE_MESSAGE
    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    add(name="name", number=1, type=field.TYPE_STRING, label=one)
    add(name="home", number=2, type=message, type_name=".example.Address", label=one)
    add(name="born", number=3, type=message, type_name=".google.protobuf.Timestamp", label=one)
    add(name="marks", number=4, type=message, type_name=".example.Person.MarksEntry", label=many)
    add(name="pets", number=5, type=message, type_name=".example.Person.Pet", label=many)
    pool.Add(file)
    return pool


def find_by_guid(url: str, subject: str) -> None:
    """The GUID that a registration answers with leads back to the schema."""
    answer = ask(url, "POST", f"/subjects/{subject}/versions", {"schema": USER})
    found = ask(url, "GET", f"/schemas/guids/{answer.body['guid']}")
    assert json.loads(found.body["schema"]) == json.loads(USER)
