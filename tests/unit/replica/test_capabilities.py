"""Every capability's routes at the replica, with a model that answers what it was given."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from roost.capabilities import (
    CompressedRLE,
    EmbeddingInput,
    EmbeddingModel,
    EmbeddingOutput,
    InferenceModel,
    NDArray,
    NEREntity,
    NERInput,
    NERModel,
    NEROutput,
    SegmentationInput,
    SegmentationModel,
    SegmentationOutput,
    TrackedFrame,
    TrackedObject,
    TrackingInput,
    TrackingModel,
    TrackingOutput,
    Usage,
    VLMInput,
    VLMModel,
    VLMOutput,
)
from roost.capabilities.table import CAPABILITIES


def png(width: int = 3, height: int = 2) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, "PNG")
    return buffer.getvalue()


IMAGE = base64.b64encode(png()).decode()


class Whole(SegmentationModel):
    def load_model(self) -> None: ...

    def predict(self, input: SegmentationInput) -> SegmentationOutput:
        mask = CompressedRLE.from_numpy(np.ones(input.image.size[::-1]))
        return SegmentationOutput(masks=[[mask]], scores=NDArray.from_numpy([[np.nan]], "float32"))


class Still(TrackingModel):
    def load_model(self) -> None: ...

    def predict(self, input: TrackingInput) -> TrackingOutput:
        return TrackingOutput(
            frames=[
                TrackedFrame(frame_index=at, objects=[TrackedObject(track_id=1, box=[0, 0, *frame.size])])
                for at, frame in enumerate(input.frames)
            ]
        )


class Parrot(VLMModel):
    def load_model(self) -> None: ...

    def predict(self, input: VLMInput) -> VLMOutput:
        said = f"{input.turns[-1].text} {len(input.images)}"
        usage = Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
        return VLMOutput(
            generated_text=said, usage=usage, generation_config={"temperature": input.temperature}
        )


class First(NERModel):
    def load_model(self) -> None: ...

    def predict(self, input: NERInput) -> NEROutput:
        return NEROutput(entities=[NEREntity(text=input.text[:3], label="ANY", start=0, end=3, score=0.5)])


class Sizes(EmbeddingModel):
    def load_model(self) -> None: ...

    def predict(self, input: EmbeddingInput) -> EmbeddingOutput:
        rows = [[float(len(text))] for text in input.texts] or [[float(each.width)] for each in input.images]
        return EmbeddingOutput(embeddings=NDArray.from_numpy(rows, "float32"), dim=1)


MODELS: dict[str, type[InferenceModel[Any, Any]]] = {
    model.__roost_capability__: model for model in (Whole, Still, Parrot, First, Sizes)
}
WHOLE = {
    "masks": [[{"size": [2, 3], "counts": "06"}]],
    "scores": {"shape": [1, 1], "dtype": "float32", "data": "AADAfw=="},
    "imageEmbedding": None,
    "highResolutionFeatures": None,
    "maskLogits": None,
}
STILL = [
    {
        "frameIndex": at,
        "objects": [{"trackId": 1, "box": [0, 0, 3, 2], "score": None, "class": None, "mask": None}],
    }
    for at in (0, 1)
]
USAGE = {"promptTokens": 1, "completionTokens": 2, "totalTokens": 3}


@pytest.mark.parametrize(
    ("capability", "fields", "data"),
    [
        ("segmentation", {"image": IMAGE}, WHOLE),
        ("tracking", {"video": [IMAGE, IMAGE]}, {"frames": STILL}),
        (
            "vlm",
            {"prompt": "hi", "images": [IMAGE], "max_new_tokens": 9},
            {"generatedText": "hi 1", "usage": USAGE, "generationConfig": {"temperature": 1.0}},
        ),
        (
            "ner",
            {"text": "Ada L."},
            {"entities": [{"text": "Ada", "label": "ANY", "start": 0, "end": 3, "score": 0.5}]},
        ),
        (
            "embedding",
            {"text": ["a", "bb"]},
            {"embeddings": {"shape": [2, 1], "dtype": "float32", "data": "AACAPwAAAEA="}, "dim": 1},
        ),
    ],
)
def test_json_requests(
    call: Any, serve: Any, capability: str, fields: dict[str, Any], data: dict[str, Any]
) -> None:
    body = json.dumps({"model": "fam/suf", **fields}).encode()
    answer = serve(MODELS[capability], lambda app, _: call(app, "POST", f"/v1/inference/{capability}", body))
    assert (answer.status, answer.json["data"]) == (200, data)
    assert answer.json["metadata"]["capability"] == capability


@pytest.mark.parametrize(
    ("capability", "fields", "uploads", "shown"),
    [
        ("segmentation", {}, 1, WHOLE),
        ("tracking", {}, 2, {"frames": STILL}),
        (
            "vlm",
            {"prompt": "hi"},
            2,
            {"generatedText": "hi 2", "usage": USAGE, "generationConfig": {"temperature": 1.0}},
        ),
        (
            "embedding",
            {},
            1,
            {"embeddings": {"shape": [1, 1], "dtype": "float32", "data": "AABAQA=="}, "dim": 1},
        ),
    ],
)
def test_binary_requests(
    call: Any, serve: Any, capability: str, fields: dict[str, Any], uploads: int, shown: dict[str, Any]
) -> None:
    field = CAPABILITIES[capability].upload_field
    assert field is not None
    metadata = json.dumps({"model": "fam/suf", **fields}).encode()
    parts = [b'--X\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n' + metadata + b"\r\n"]
    parts += [
        b'--X\r\nContent-Disposition: form-data; name="' + field.encode() + b'"\r\n\r\n' + png() + b"\r\n"
    ] * uploads
    body = b"".join(parts) + b"--X--\r\n"
    answer = serve(
        MODELS[capability],
        lambda app, _: call(
            app,
            "POST",
            f"/v1/inference/{capability}/binary",
            body,
            content_type="multipart/form-data; boundary=X",
        ),
    )
    assert (answer.status, answer.json["data"]) == (200, shown)


def test_ner_has_no_binary_route(call: Any, serve: Any) -> None:
    answer = serve(First, lambda app, _: call(app, "POST", "/v1/inference/ner/binary", b""))
    assert answer.status == 404
