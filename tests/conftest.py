"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# No test asserts how long something took: the machine may be busy with others' work.
settings.register_profile("roost", deadline=None)
settings.load_profile("roost")
