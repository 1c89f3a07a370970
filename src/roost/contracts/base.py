"""The base of every wire model: camelCase out, camelCase or snake_case in."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A wire model. Unknown fields are ignored, so that older and newer sides understand each other."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_inf_nan="null",
        protected_namespaces=(),
    )

    def to_json(self) -> bytes:
        """The wire form as UTF-8 JSON. NaN and infinity are written as null."""
        return self.model_dump_json(by_alias=True).encode()
