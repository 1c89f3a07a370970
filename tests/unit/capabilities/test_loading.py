"""What models of each capability are given for a request, but for detection's."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from roost.capabilities import MediaPolicy, Turn, load_frames, load_images
from roost.capabilities.table import CAPABILITIES
from roost.errors import BadRequest, InvalidMedia, PayloadTooLarge

POLICY = MediaPolicy()
ARRAY = {"shape": [1, 2], "dtype": "float32", "data": "AACAPwAAAEA="}


def png(width: int = 6, height: int = 4) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, "PNG")
    return buffer.getvalue()


def text(width: int = 6) -> str:
    return base64.b64encode(png(width)).decode()


def load(capability: str, uploads: list[bytes] | None = None, **fields: Any) -> Any:
    row = CAPABILITIES[capability]
    kind = row.request_type if uploads is None else row.upload_request_type
    assert kind is not None
    return row.load_input(kind.model_validate({"model": "m", **fields}), uploads, POLICY)


class TestSegmentation:
    def test_prompts_come_as_arrays(self) -> None:
        loaded = load("segmentation", image=text(), points=[[[1, 2], [3, 4]], [[5, 6]]], labels=[[1, 0], [1]])
        assert [each.tolist() for each in loaded.points] == [[[1, 2], [3, 4]], [[5, 6]]]
        assert [each.tolist() for each in loaded.labels] == [[1, 0], [1]]
        assert (loaded.image.size, loaded.boxes, loaded.mask_input) == ((6, 4), None, None)

    def test_arrays_of_an_earlier_answer(self) -> None:
        loaded = load(
            "segmentation",
            [png()],
            boxes=[[0, 0, 3, 2]],
            maskInput=ARRAY,
            imageEmbedding=ARRAY,
            highResolutionFeatures=[ARRAY],
        )
        assert loaded.boxes.tolist() == [[0, 0, 3, 2]]
        for array in (loaded.mask_input, loaded.image_embedding, *loaded.high_resolution_features):
            assert array.tolist() == [[1.0, 2.0]]

    def test_an_array_that_is_not_base64(self) -> None:
        with pytest.raises(BadRequest, match="mask_input has data that is not base64"):
            load("segmentation", [png()], maskInput={**ARRAY, "data": "!" * 12})

    def test_one_image(self) -> None:
        with pytest.raises(BadRequest, match="segmentation takes exactly one image, got 2"):
            load("segmentation", [png(), png()])


class TestTracking:
    def test_frames_and_prompted_objects(self) -> None:
        keyframe = {"frameIndex": 1, "prompts": {"box": {"x": 0, "y": 0, "width": 2, "height": 2}}}
        loaded = load("tracking", [png(3), png(4)], objectsIds=[7], keyframes=[keyframe], classes="cat")
        assert [frame.width for frame in loaded.frames] == [3, 4]
        assert [(name, each.frame_index) for name, each in loaded.objects] == [(7, 1)]
        assert loaded.classes == ["cat"]

    def test_frames_of_a_json_request(self) -> None:
        assert [frame.width for frame in load("tracking", video=[text(3), text(4)]).frames] == [3, 4]
        assert [frame.width for frame in load("tracking", video=text(5)).frames] == [5]

    @pytest.mark.parametrize(
        "fields",
        [
            {"frameIndexes": [2]},
            {"interval": {"startFrame": 0, "endFrame": 2}},
            {
                "objectsIds": [1],
                "keyframes": [{"frameIndex": 2, "prompts": {"points": [{"x": 1, "y": 1, "label": 1}]}}],
            },
        ],
    )
    def test_a_frame_that_is_not_there(self, fields: dict[str, Any]) -> None:
        with pytest.raises(BadRequest, match="frame index 2 is not there: the video has 2 frames"):
            load("tracking", [png(), png()], **fields)


class TestVLM:
    def test_a_prompt_comes_after_the_images(self) -> None:
        loaded = load("vlm", [png(3), png(4)], prompt="what?", maxNewTokens=5, temperature=0)
        assert loaded.turns == [Turn("user", [0, 1, "what?"])]
        assert [image.width for image in loaded.images] == [3, 4]
        assert (loaded.max_new_tokens, loaded.temperature, loaded.turns[0].text) == (5, 0.0, "what?")

    def test_text_alone(self) -> None:
        assert load("vlm", prompt="hi").turns == [Turn("user", ["hi"])]

    def test_images_in_messages_and_beside_them(self) -> None:
        messages = [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [
                    {"type": "image", "image": text(3)},
                    {"type": "text", "text": "and"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text(4)}"}},
                    {"type": "image"},
                ],
            },
        ]
        loaded = load("vlm", prompt=messages, images=[text(5), text(6)])
        assert loaded.turns == [Turn("system", ["be brief"]), Turn("user", [0, "and", 1, 2])]
        assert [image.width for image in loaded.images] == [3, 4, 5, 6]

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            ({"type": "audio"}, "is neither a text nor an image"),
            ({"type": "text"}, "is neither a text nor an image"),
            ({}, "is neither a text nor an image"),
            ({"type": "image"}, "has no image"),
            ({"type": "image_url", "image_url": {}}, "has no image"),
            ({"type": "image", "image": 5}, "has no image"),
        ],
    )
    def test_a_part_that_is_neither(self, part: dict[str, Any], message: str) -> None:
        with pytest.raises(BadRequest, match=message):
            load("vlm", prompt=[{"role": "user", "content": [part]}])


class TestEmbedding:
    def test_texts(self) -> None:
        loaded = load("embedding", text=["a", "b"], normalize=False)
        assert (loaded.texts, loaded.images, loaded.normalize) == (["a", "b"], [], False)
        assert load("embedding", text="a").texts == ["a"]

    def test_images(self) -> None:
        assert [image.width for image in load("embedding", image=[text(3), text(4)]).images] == [3, 4]
        assert [image.width for image in load("embedding", image=text(3)).images] == [3]
        assert [image.width for image in load("embedding", [png(5), png(6)]).images] == [5, 6]


def test_ner_gets_the_text() -> None:
    assert load("ner", text="Ada").text == "Ada"


class TestBounds:
    def test_pixels_of_all_images_together(self) -> None:
        policy = MediaPolicy(max_video_pixels=50)
        assert len(load_images([png(), png()], policy)) == 2
        with pytest.raises(PayloadTooLarge, match="the first 3 images or frames have 72 pixels; at most 50"):
            load_images([png()] * 3, policy)

    def test_the_number_of_images(self) -> None:
        with pytest.raises(PayloadTooLarge, match="more than 2 images or frames"):
            load_frames([png()] * 3, MediaPolicy(max_frames=2))

    def test_a_broken_frame(self) -> None:
        with pytest.raises(InvalidMedia):
            load_frames([png(), b"no image"], POLICY)


class TestVideoFiles:
    @pytest.fixture
    def video(self) -> bytes:
        av = pytest.importorskip("av")
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="mp4") as container:
            stream = container.add_stream("mpeg4", rate=10)
            stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv420p"
            for shade in (0, 120, 240):
                frame = av.VideoFrame.from_ndarray(np.full((16, 32, 3), shade, np.uint8), format="rgb24")
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return buffer.getvalue()

    def test_its_frames_in_their_order(self, video: bytes) -> None:
        frames = load_frames([video], POLICY)
        assert [frame.size for frame in frames] == [(32, 16)] * 3
        shades = [int(np.asarray(frame).mean()) for frame in frames]
        assert shades == pytest.approx([0, 120, 240], abs=4)

    def test_as_base64(self, video: bytes) -> None:
        assert len(load("tracking", video=base64.b64encode(video).decode()).frames) == 3

    @pytest.mark.parametrize(
        "bounds", [{"max_frames": 2}, {"max_video_pixels": 1500}, {"max_image_pixels": 500}]
    )
    def test_beyond_the_bounds(self, video: bytes, bounds: dict[str, Any]) -> None:
        with pytest.raises(PayloadTooLarge):
            load_frames([video], MediaPolicy(**bounds))

    def test_cut_off_or_altered_it_is_our_error(self, video: bytes) -> None:
        for size in range(12, len(video), 97):
            try:
                load_frames([video[:size]], POLICY)
            except InvalidMedia:
                continue
        with pytest.raises(InvalidMedia, match="video is broken"):
            load_frames([video[:40]], POLICY)

    def test_one_video_file_and_no_more(self, video: bytes) -> None:
        with pytest.raises(InvalidMedia, match="frame 0 is a video file, but there are more frames"):
            load_frames([video, png()], POLICY)

    def test_a_playlist_is_no_video(self) -> None:
        with pytest.raises(InvalidMedia):
            load_frames([b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"], POLICY)
