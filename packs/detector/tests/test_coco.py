from __future__ import annotations

from roost_detector.coco import CLASS_NAMES


def test_there_are_eighty_distinct_names_in_the_ninety_id_space() -> None:
    assert len(CLASS_NAMES) == len(set(CLASS_NAMES.values())) == 80
    assert set(range(1, 91)) - set(CLASS_NAMES) == {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
