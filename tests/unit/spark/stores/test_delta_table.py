"""What a Delta table takes, compared as schemas in Spark's JSON."""

from typing import Any

from headrace.spark.stores.delta_table import differences, nullable


def struct(**types: Any) -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in types.items()
    ]
    return {"type": "struct", "fields": fields}


def test_nulls_are_allowed_at_every_depth() -> None:
    inner: dict[str, Any] = {"type": "array", "elementType": struct(x="long")}
    inner["containsNull"] = False
    schema = struct(a=inner)
    schema["fields"][0] |= {"nullable": False, "metadata": {"comment": "x"}}
    inner["elementType"]["fields"][0]["nullable"] = False
    relaxed = nullable(schema)
    assert relaxed == struct(
        a={"type": "array", "elementType": struct(x="long"), "containsNull": True}
    )


def test_rows_may_lack_columns_of_the_table_but_not_have_others() -> None:
    table = struct(id="long", name="string", list={"type": "array", "elementType": "long"})
    assert differences(struct(id="long"), table) == []
    assert differences(struct(id="long", more="string"), table) == ["no column more"]
    assert differences(struct(id="integer", list="string"), table) == [
        "id as long, not as integer",
        "list as array, not as string",
    ]
