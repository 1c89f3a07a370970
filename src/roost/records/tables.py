"""All tables in one metadata: what the migrations lead to."""

from __future__ import annotations

from typing import Final

from sqlalchemy import MetaData

from roost.records.base import Base
from roost.records.claims import ClaimRow
from roost.records.deployments import DeploymentRow
from roost.records.events import EventRow
from roost.records.leases import LeaseRow
from roost.records.models import ModelRow
from roost.records.trash import EmptyingRow, TrashRow

TABLES: Final = (ModelRow, ClaimRow, DeploymentRow, EventRow, LeaseRow, TrashRow, EmptyingRow)

METADATA: Final[MetaData] = Base.metadata
