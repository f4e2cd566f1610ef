"""The trained generator: its training, its file, its pictures, and the cases that read it."""

from importlib.util import find_spec

import numpy as np
import pytest
from matplotlib.image import imread
from test_dcgan import problem_of, sizes_of

from ladder.catalogue import datasets, workloads
from ladder.data import dataset
from ladder.errors import LadderError
from ladder.workloads import dcgan
from ladder.workloads.dcgan import artefacts, exact, gallery, layout, network, reference

needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
CHANNELS = 16


@pytest.fixture(scope="module")
def digits(digits_folder):
    """A folder of digits and the images for training."""
    return digits_folder, dataset.load(digits_folder).train_images


@pytest.fixture(scope="module")
def learning():
    """The module of the training, with small batches and few latents."""
    learning = pytest.importorskip("ladder.workloads.dcgan.learning")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"BATCH": 8, "STATISTICS_LATENTS": 64, "MIN_SPREAD": 0.0}.items():
            patch.setattr(learning, name, value)
        yield learning


def write_random_network(path):
    """Write a network of full size and return its numbers, none below 0, because variances are among them."""
    numbers = np.abs(np.random.default_rng(3).standard_normal(layout.count(512), np.float32))
    numbers.astype("<f4").tofile(path)
    return numbers


@needs_torch
def test_the_exported_network_is_the_generator(learning):
    import torch

    torch.manual_seed(2)
    generator = learning.Generator(CHANNELS)
    for weights in generator.parameters():  # so that a swap of two arrays is detected
        torch.nn.init.normal_(weights, 0.1, 0.3)
    generator.calibrate(torch.randn(64, 100))
    values = generator.network(CHANNELS)
    latents = network.latents(1)
    with torch.no_grad():
        expected = generator.double()(torch.from_numpy(latents).double()).permute(0, 2, 3, 1).numpy()
    arrays = layout.arrays(values.astype(np.float64), CHANNELS)
    pictures = exact.generate(arrays, latents.astype(np.float64), exact.ExactArithmetic())
    assert np.abs(pictures).max() > 0.3, "grey pictures would show no mistake"
    assert np.abs(pictures - expected).max() < 1e-12
    assert not (values.view(np.uint32) & 0x1FFF).any(), "more than 11 significant bits"


@needs_torch
def test_statistics_are_those_of_the_rounded_weights(learning):
    import torch

    torch.manual_seed(2)
    generator, latents = learning.Generator(8), torch.randn(64, 100)
    generator.calibrate(latents)
    arrays = layout.arrays(generator.network(8).astype(np.float64), 8)
    values = exact.project(arrays, latents.double().numpy(), exact.ExactArithmetic())
    for index in range(4):
        assert np.allclose(arrays[f"bn{index}_mean"], values.mean((0, 1, 2)), rtol=1e-3, atol=1e-5)
        assert np.allclose(arrays[f"bn{index}_variance"], values.var((0, 1, 2)), rtol=1e-3)
        values = exact.transposed_convolution(
            arrays, index + 1, exact.normalise(arrays, index, values, exact.ExactArithmetic()), exact.ExactArithmetic()
        )


@needs_torch
def test_numbers_are_rounded_to_the_nearest_of_11_bits(learning):
    import torch

    values = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    rounded = learning.round_bits(torch.from_numpy(values)).numpy()
    assert (np.abs(rounded - values) <= 2.0**-11 * np.abs(values)).all()
    assert (rounded == values.astype(np.float16)).mean() > 0.99  # which rounds ties to even


@needs_torch
def test_digits_are_upright_coloured_and_in_the_range(learning, digits):
    import torch

    pictures = learning.colour_digits(torch.from_numpy(digits[1][:5])).numpy()
    assert pictures.shape == (5, 3, 64, 64)
    assert pictures.min() == -1
    assert 0.5 < pictures.max() <= 1
    brightness = (pictures.max(axis=1) + 1) / 2
    shrunk = brightness[:, 4:-4, 4:-4].reshape(5, 28, 2, 28, 2).mean(axis=(2, 4))
    for image, digit in zip(shrunk, digits[1], strict=False):
        assert np.corrcoef(image.ravel(), digit.ravel())[0, 1] > 0.9


@needs_torch
def test_a_training_returns_a_network(learning, digits, capsys):
    weights = learning.train(digits[1], 8, steps=3, device="cpu")
    assert weights.shape == (layout.count(8),)
    assert np.isfinite(weights).all()
    assert "step 3 of 3" in capsys.readouterr().err
    assert (weights == learning.train(digits[1], 8, steps=3, device="cpu")).all(), (
        "the same seed must give the same network"
    )


@needs_torch
@pytest.mark.parametrize("fault", ["one picture", "not a number"])
def test_a_collapsed_generator_is_refused(learning, digits, fault, monkeypatch):
    import torch

    monkeypatch.setattr(learning, "MIN_SPREAD", 0.5)
    pictures = learning.colour_digits(torch.from_numpy(digits[1][:16]))
    value = 0.3 if fault == "one picture" else torch.nan
    learning.require_variety(lambda latents: pictures, None, pictures)
    with pytest.raises(LadderError, match="collapsed"):
        learning.require_variety(lambda latents: torch.full_like(pictures, value), None, pictures)


@needs_torch
def test_a_training_without_a_gpu_is_refused(digits, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("requires a machine without a GPU")
    with pytest.raises(LadderError, match="trained on a GPU"):
        datasets.make("dcgan", "learned.bin", tmp_path / "learned.bin", digits[0])
    assert not list(tmp_path.iterdir())


def test_a_training_without_pytorch_is_refused(monkeypatch):
    monkeypatch.setattr(artefacts, "find_spec", lambda name: None)
    with pytest.raises(LadderError, match="PyTorch, which isn't installed"):
        artefacts.require_torch_gpu()


def test_trained_weights_are_an_artefact_of_one_size():
    sizes = sizes_of(5, 512, weights="trained")
    assert dcgan.data_set(sizes) == "dcgan/learned.bin"
    assert datasets.files_of("dcgan", sizes) == ["results/data/dcgan/learned.bin"]
    assert datasets.artefacts("dcgan")["learned.bin"] == "mnist"
    assert dcgan.data_set(sizes_of(5)) is None
    with pytest.raises(LadderError, match="channels=8 of dcgan with weights=trained must be 512"):
        sizes_of(5, 8, weights="trained")


def test_cases_read_the_trained_network(tmp_path):
    numbers = write_random_network(tmp_path / "learned.bin")
    data = datasets.load(dcgan, tmp_path / "learned.bin")
    assert (data == numbers).all()
    problem = problem_of(workloads.complete("dcgan", {"images": 2, "channels": 512}))
    before = problem.network.copy()
    dcgan.fill(problem.inputs, problem.sizes | {"weights": "trained"}, 0, data)
    assert (problem.network == numbers).all()
    assert (problem.network != before).any()


@pytest.mark.slow
def test_the_reference_draws_with_the_trained_network():
    sizes = sizes_of(1, 8)
    references = reference.compute(sizes | {"weights": "trained"}, network.random_network(8, 7))
    assert (references["pictures"] == reference.compute(sizes | {"seed": 1}, None)["pictures"]).mean() < 0.1
    assert set(references) == {"pictures", *(f"drift_{name}" for name in reference.PRECISIONS)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "has 20549131 bytes, which no network has"),
        (lambda path: path.write_bytes(path.read_bytes() + b"\0\0\0\0"), "has 20549136 bytes"),
        (lambda path: np.full(layout.count(512), np.nan, "<f4").tofile(path), "infinite or not a number"),
        (lambda path: np.zeros(layout.count(8), "<f4").tofile(path), "a network of 8 channels, but the trained one"),
        (lambda path: path.unlink(), "can't be read: No such file"),
    ],
)
def test_a_broken_network_is_refused(tmp_path, change, words):
    write_random_network(path := tmp_path / "learned.bin")
    change(path)
    with pytest.raises(LadderError, match=words):
        datasets.load(dcgan, path)


def test_the_sheet_has_all_pictures_of_the_pool_in_order(tmp_path):
    weights = network.random_network(8, 1)
    gallery.write(tmp_path / "pictures.png", weights, 8)
    sheet = imread(tmp_path / "pictures.png")[..., :3] * 255
    assert sheet.shape == (4 * 64, 16 * 64, 3)  # 4 rows of 16 pictures
    expected = exact.generate(
        layout.arrays(weights.astype(np.float64), 8), network.latents(1).astype(np.float64), exact.ExactArithmetic()
    )
    for row, column in [(0, 0), (1, 0), (0, 1), (3, 15)]:
        tile = sheet[64 * row : 64 * row + 64, 64 * column : 64 * column + 64]
        # Truncated to integers: between the value and one below.
        assert np.abs(tile - ((expected[16 * row + column] + 1) / 2 * 255 - 0.5)).max() < 0.51
