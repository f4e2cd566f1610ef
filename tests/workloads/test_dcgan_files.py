"""Pictures from files in the earlier study's formats, compared with the definition; refused files; GPU counts."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import yaml
from PIL import Image

import made_up
from conftest import ROOT
from ladder.catalogue.workloads import complete
from ladder.errors import LadderError
from ladder.harness import generation
from ladder.store import gpu_counts
from ladder.workloads.dcgan import formats
from made_up import chapters as made_chapters

pytestmark = pytest.mark.xdist_group("tconv")  # so its functions are compiled once
CHANNELS = 8


def network_arrays(seed=1):
    """A network's arrays in the order of its file, all different."""
    generator = np.random.default_rng(seed)

    def normal(*shape, scale=0.3, mean=0.0):
        return (mean + scale * generator.standard_normal(shape)).astype("<f4")

    def norm(channels):
        return [
            normal(channels, mean=0.2),
            normal(channels, mean=1.5),
            normal(channels),
            np.abs(normal(channels, mean=0.7)) + 0.1,
        ]

    network = [normal(100, 16 * CHANNELS, scale=0.15), normal(16 * CHANNELS), *norm(CHANNELS)]
    for c, k in ((CHANNELS, CHANNELS // 2), (CHANNELS // 2, CHANNELS // 4), (CHANNELS // 4, CHANNELS // 8)):
        network += [normal(5, 5, k, c), normal(k), *norm(k)]
    return [*network, normal(5, 5, 3, CHANNELS // 8), normal(3)]


def layer(image, weights, bias):
    """The transposed convolution by its definition: zeros between pixels, 3 before and 2 after, a reversed filter."""
    rows, columns, _ = image.shape
    padded = np.zeros((2 * rows + 4, 2 * columns + 4, image.shape[2]))
    padded[3 : 3 + 2 * rows : 2, 3 : 3 + 2 * columns : 2] = image
    result = np.zeros((2 * rows, 2 * columns, len(bias))) + bias
    for r, s in np.ndindex(5, 5):
        result += padded[r : r + 2 * rows, s : s + 2 * columns] @ weights[4 - r, 4 - s].T
    return result


def draw(network, latent):
    """A picture in float64, by the formula."""
    remaining = iter([array.astype(np.float64) for array in network])
    values = (latent @ next(remaining) + next(remaining)).reshape(4, 4, CHANNELS)
    for _ in range(4):
        beta, gamma, mean, variance = (next(remaining) for _ in range(4))
        values = np.maximum(gamma * (values - mean) / np.sqrt(variance + 1e-5) + beta, 0)
        values = layer(values, next(remaining), next(remaining))
    return np.tanh(values)


def write_files(folder, images, network):
    """Write a network and random latents to files; returns the latents."""
    latents = np.random.default_rng(2).standard_normal((images, 100)).round(4)
    (folder / "network.bin").write_bytes(b"".join(array.tobytes() for array in network))
    lines = [str(images), *(" ".join(f"{value:.4f}" for value in row) for row in latents)]
    (folder / "latents.txt").write_text("\n".join(lines) + "\n")
    return latents


def draw_all(network, latents):
    """The expected pictures of a network, in float64."""
    return np.array([draw(network, latent) for latent in latents])


def generate(folder, output, advance=lambda done: None):
    """What the verb `generate` does, on one thread of the host."""
    request = formats.read(folder / "network.bin", folder / "latents.txt")
    case = generation.case_of("dcgan", formats, request.sizes, 0, 1)
    chunks = generation.chunks(case, formats, request.inputs, advance)
    generation.write(formats, folder / output, request.sizes["images"], chunks)
    return folder / output


@pytest.mark.parametrize("images", [1, 2, 17])
def test_a_network_of_the_study_is_applied_as_defined(tmp_path, monkeypatch, images):
    monkeypatch.setattr(generation, "IMAGES_PER_RUN", {"host": 8})
    monkeypatch.setattr(generation, "IMAGES_PER_UPDATE", 3)
    expected = draw_all(network_arrays(), write_files(tmp_path, images, network_arrays()))
    assert np.abs(expected).max() > 0.3, "grey pictures would show no mistake"
    progress = []
    lines = generate(tmp_path, "pictures.txt", progress.append).read_text().splitlines()
    assert progress == {1: [1], 2: [2], 17: [3, 3, 2, 3, 3, 2, 1]}[images]  # at most 3 at a time, in runs of 8, 8 and 1
    assert lines[0] == str(images)
    assert all(line.endswith(" ") and len(line.split()) == 64 * 64 * 3 for line in lines[1:])
    pictures = np.array([line.split() for line in lines[1:]], float).reshape(expected.shape)
    assert np.abs(pictures - expected).max() < 1.5e-4  # the file has four decimals
    side = int(np.ceil(np.sqrt(images)))
    for name in ("pictures.bmp", "pictures.PNG"):
        grid = np.asarray(Image.open(generate(tmp_path, name))).astype(int)
        assert grid.shape == (64 * side, 64 * side, 3)
        cells = grid.reshape(side, 64, side, 64, 3).swapaxes(1, 2).reshape(-1, 64, 64, 3)
        assert np.abs(cells[:images] - np.floor((expected + 1) / 2 * 255)).max() <= 1
        assert not cells[images:].any()


def test_swapped_beta_and_gamma_are_detected(tmp_path):
    network = network_arrays()
    network[2], network[3] = network[3], network[2]
    expected = draw_all(network_arrays(), write_files(tmp_path, 1, network))
    pictures = np.array(generate(tmp_path, "pictures.txt").read_text().split()[1:], float)
    assert np.abs(pictures - expected.reshape(-1)).max() > 0.01


@pytest.mark.parametrize(
    ("name", "change", "pattern"),
    [
        ("network.bin", lambda raw: raw[:-4], "bytes, which no network has"),
        ("network.bin", lambda raw: raw + b"1234", "bytes, which no network has"),
        ("network.bin", lambda raw: b"", "bytes, which no network has"),
        (
            "network.bin",
            lambda raw: np.float32(np.nan).tobytes() + raw[4:],
            "array proj_w has numbers that are infinite",
        ),
        ("network.bin", None, "can't be read"),
        ("latents.txt", None, "can't be read"),
        ("latents.txt", lambda raw: b"", "number of images, a whole number of at least 1, not with nothing"),
        ("latents.txt", lambda raw: b"0", "must begin with the number of images"),
        ("latents.txt", lambda raw: b"-1 2", "must begin with the number of images"),
        ("latents.txt", lambda raw: b"3" + raw[1:], "has 200 numbers after the first, but 3 images have 300"),
        ("latents.txt", lambda raw: raw + b" 1.0", "has 201 numbers after the first"),
        ("latents.txt", lambda raw: raw[:-8] + b" word\n", "has 'word' as number 100 of image 2"),
        ("latents.txt", lambda raw: raw[:-8] + b" inf\n", "has 'inf' as number 100 of image 2"),
        ("latents.txt", lambda raw: raw[:-8] + b" 1_0\n", "has '1_0' as number 100"),
        ("latents.txt", lambda raw: raw[:-8] + b" 1e39\n", "has '1e39' as number 100 of image 2: it is too large"),
        (
            "latents.txt",
            lambda raw: raw[:-8] + b" 0,345584\n",
            "'0,345584' as number 100 of image 2: a number has a decimal",
        ),
        (
            "latents.txt",
            lambda raw: raw[:-8] + b" 1.5D+00\n",
            r"'1\.5D\+00' as number 100 of image 2: it has an exponent of F",
        ),
        ("latents.txt", lambda raw: raw[:-8] + b" 0x1p3\n", "'0x1p3' as number 100 of image 2: it is hexadecimal"),
        ("latents.txt", lambda raw: raw[:-8] + b" --5\n", "'--5' as number 100 of image 2: it isn't a number"),
        ("latents.txt", lambda raw: raw.decode().encode("utf-16"), "has null bytes, as UTF-16 has"),
        ("latents.txt", lambda raw: raw + b"\xff", "isn't a text of numbers"),
    ],
)
def test_a_broken_file_is_refused_with_a_sentence(tmp_path, name, change, pattern):
    write_files(tmp_path, 2, network_arrays())
    path = tmp_path / name
    if change:
        path.write_bytes(change(path.read_bytes().rstrip() + b"\n" if name.endswith("txt") else path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(LadderError, match=pattern):
        formats.read(tmp_path / "network.bin", tmp_path / "latents.txt")


def test_a_negative_variance_is_refused(tmp_path):
    network = network_arrays()
    network[5][0] = -1
    write_files(tmp_path, 1, network)
    with pytest.raises(LadderError, match="array bn0_variance has variances below 0"):
        formats.read(tmp_path / "network.bin", tmp_path / "latents.txt")


def test_impossible_outputs_are_refused_before_anything_is_drawn(tmp_path):
    write_files(tmp_path, 1, network_arrays())
    with pytest.raises(LadderError, match=r"must end in \.txt, \.bmp, \.png"):
        formats.require_output("pictures.jpg", 1)
    with pytest.raises(LadderError, match=r"write a \.txt"):
        formats.require_output("pictures.png", formats.MAX_GRID_IMAGES + 1)
    with pytest.raises(LadderError, match="is an input as well"):
        generation.require_usable(tmp_path / "latents.txt", tmp_path / "latents.txt")
    with pytest.raises(LadderError, match="create its folder"):
        generation.require_usable(tmp_path / "none" / "pictures.txt")
    with pytest.raises(LadderError, match="is a folder"):
        generation.require_usable(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LadderError, match="a device or a pipe"):
        generation.require_usable(tmp_path / "pipe")
    with pytest.raises(LadderError, match="can't be read twice"):
        generation.require_usable(tmp_path / "pictures.txt", tmp_path / "pipe")
    with pytest.raises(LadderError, match="gemm generates nothing from files"):
        generation.formats_of("gemm")


def test_a_failure_keeps_the_old_file_and_leaves_no_partial_one(tmp_path):
    output = tmp_path / "pictures.txt"
    output.write_text("old")

    def chunks():
        yield np.zeros((1, 64, 64, 3), np.float32)
        raise OSError(28, "No space left on device")

    with pytest.raises(LadderError, match="No space left on device"):
        generation.write(formats, output, 2, chunks())
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["pictures.txt"]


@pytest.mark.slow
def test_the_verb_draws_and_says_what_is_wrong(tmp_path):
    write_files(tmp_path, 2, network_arrays())
    command = [sys.executable, "-m", "ladder", "generate", "dcgan", "network.bin", "latents.txt"]

    def run(*arguments):
        return subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True)

    process = run("pictures.png", "--gpus", "0")
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    assert (tmp_path / "pictures.png").stat().st_size > 1000
    refused = run("pictures.txt", "--gpus", "1000")
    assert refused.returncode == 1
    assert "this machine has" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "pictures.txt").exists()


# {GPUs: {images: (seconds of a call, seconds of a cold start)}}.
TIMES = {1: {10: (0.1, 1.0), 1000: (10.0, 11.0)}, 2: {10: (0.2, 3.0), 1000: (5.0, 8.0)}, 4: {1000: (3.0, 7.5)}}


# By linear interpolation, a cold start on two GPUs takes as long as on one for 406 images.
@pytest.mark.parametrize(
    ("images", "available", "expected"),
    [(10, 8, 1), (1000, 1, 1), (1000, 2, 2), (1000, 4, 4), (400, 2, 1), (410, 2, 2), (10**6, 2, 2), (10**6, 8, 4)],
)
def test_the_fastest_number_of_gpus_is_used(images, available, expected):
    assert gpu_counts.best_count(TIMES, images, available) == expected
    assert gpu_counts.best_count({}, images, available) == 1


def test_beyond_the_largest_measured_number_of_images_time_grows_as_in_a_call():
    # For 110 images, cold starts take 2 + 100 x 0.1 s on one GPU, and 7 + 100 x 0.05 s on two that halve the time.
    half, same = ({1: {10: (1.0, 2.0)}, 2: {10: (seconds, 7.0)}} for seconds in (0.5, 1.0))
    assert [gpu_counts.best_count(half, images, 2) for images in (110, 111)] == [1, 2]
    assert gpu_counts.best_count(same, 10**9, 2) == 1


def test_times_are_those_of_the_tuning_of_the_verb(tmp_path):
    frame = made_chapters.full_study("dcgan").tables["dcgan_cards"]["samples"]
    rows = gpu_counts.rows_of(frame[frame["phase"] == "total"])
    for name, model in (("a", "NVIDIA H200"), ("b", "another GPU")):
        (tmp_path / name).mkdir()
        (tmp_path / name / gpu_counts.TIMES_FILE).write_text(json.dumps(rows))
        description = made_up.description() | {"gpus": [{"name": model}]}
        (tmp_path / name / "machine.json").write_text(json.dumps({"machine": name, "description": description}))
    variant, tuning = formats.VARIANTS["offload"]
    sizes = gpu_counts.drop_key(complete("dcgan", {"images": 1, "channels": 512}), "images")
    times = gpu_counts.published_times("dcgan", sizes, variant, tuning, "NVIDIA H200", tmp_path)
    assert set(times) == {1, 2, 4}
    seconds, cold_start = times[1][5248]
    assert seconds == pytest.approx(2 * times[2][5248][0], rel=0.02)
    assert cold_start > seconds
    for other in (
        (sizes, variant, tuning | {"batch": 7}, "NVIDIA H200"),
        (sizes, variant, tuning, "NVIDIA A100"),
        (sizes, "cuda", tuning, "NVIDIA H200"),
        (sizes | {"channels": 64}, variant, tuning, "NVIDIA H200"),
    ):
        assert gpu_counts.published_times("dcgan", *other, tmp_path) == {}
    for missing in ("cold_start", "images"):
        assert gpu_counts.rows_of(frame.drop(columns=missing)) == []


def test_published_times_of_several_gpus_are_read():
    sizes = gpu_counts.drop_key(complete("dcgan", {"images": 1, "channels": 512}), "images")
    times = gpu_counts.published_times("dcgan", sizes, *formats.VARIANTS["offload"], "NVIDIA H200")
    images = max(set(times[1]) & set(times[2]))
    assert 0 < times[2][images][0] < times[1][images][0] < times[1][images][1]
    assert gpu_counts.best_count(times, images, 2) == 1


def test_the_study_measures_the_tuning_of_the_verb():
    experiments = yaml.safe_load((ROOT / "config/config.yaml").read_text())["experiments"]
    variant, tuning = formats.VARIANTS["offload"]
    assert gpu_counts.drop_key(experiments["dcgan_cards"]["variants"][variant], "gpus") == tuning
