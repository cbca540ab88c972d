"""jsonschema 4.17.3: one validator that two threads use says that a valid document is not.

Race: ``RefResolver`` keeps the schemas that references are relative to on one stack
(validators.py), and a reference that one thread follows is looked up in the schema of another.
Reported: found by reading the source.
"""

import threading

from jsonschema import Draft202012Validator, RefResolver


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_both_documents_are_valid() -> None:
    def schema_of(name: str, type_name: str) -> dict[str, object]:
        return {"$id": name, "$ref": "#/$defs/it", "$defs": {"it": {"type": type_name}}}

    number, text = "http://example.com/number.json", "http://example.com/text.json"
    schema = {"properties": {"number": {"$ref": number}, "text": {"$ref": text}}}
    store = {number: schema_of(number, "integer"), text: schema_of(text, "string")}
    validator = Draft202012Validator(
        schema, resolver=RefResolver("http://example.com/", schema, store=store)
    )
    seen: list[bool] = []
    together(
        lambda: seen.append(validator.is_valid({"number": 1})),
        lambda: seen.append(validator.is_valid({"text": "one"})),
    )
    assert seen == [True, True]
