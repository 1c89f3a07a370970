"""`roost models bundle`: what a model's code is."""

from __future__ import annotations

from roost.cli.arguments import ModelArgument
from roost.cli.output import JsonFlag, print_fields, print_json, print_table
from roost.client import control_calls
from roost.keys import ModelKey
from roost.sdk.connection import current_client


def bundle(
    key: ModelArgument,
    as_json: JsonFlag = False,
) -> None:
    """Show what a model's bundle holds, and why each file and pin is there."""
    info = current_client().run(control_calls.get_bundle(ModelKey.parse(key)))
    if as_json:
        print_json(info)
        return
    print_fields({"class": info.class_path, "fingerprint": info.fingerprint})
    print_table(
        ("FILE", "BYTES", "WHY"),
        ((file.path, file.size, file.reason) for file in info.files),
        empty="No files: the class is part of an installed distribution.",
    )
    print_table(
        ("PIN", "WHY"),
        ((pin.requirement, pin.reason) for pin in info.pins),
        empty="No pins: the workers have all it imports.",
    )
    for note in info.notes:
        print_fields({"note": note})
