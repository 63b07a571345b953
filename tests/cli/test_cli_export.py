"""`zoo export` on a finished run."""

from __future__ import annotations

from pathlib import Path


def test_a_run_is_exported_in_each_format_that_can_hold_it(zoo, run: Path, tmp_path: Path) -> None:
    done = zoo("export", "run", "--format", "onnx")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Wrote run.onnx (1.1 MB)\n")
    assert "Compared with ONNX Runtime" in done.stdout
    done = zoo("export", "run", "--format", "safetensors", "--out", "w.safetensors")
    assert (done.returncode, done.stdout) == (0, "Wrote w.safetensors (1.1 MB)\n")
    assert "resnet20" in zoo("info", "w.safetensors").stdout
    again = zoo("predict", "w.safetensors", "pictures-of-nothing.png")
    assert "internal error" not in again.stderr and again.returncode == 1


def test_refusals_say_what_to_do_and_write_nothing(zoo, run: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for arguments, said, code in [
        (("run", "--format", "hf"), "timm has no resnet20", 1),
        (("run", "--format", "tflite"), "invalid choice", 2),
        (("run",), "--format", 2),
        (("run", "--format", "onnx", "--out", "run"), "exists already", 1),
        (("resnet21", "--format", "onnx"), "did you mean", 2),
    ]:
        done = zoo("export", *arguments)
        assert done.returncode == code and said in done.stderr, arguments
        assert "Traceback" not in done.stderr and done.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_a_language_model_is_exported_and_described(zoo) -> None:
    done = zoo("export", "gpt_shakespeare", "--format", "hf")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Wrote gpt_shakespeare-hf (3.6 MB)\n")
    zoo("export", "gpt_shakespeare", "--format", "safetensors")
    done = zoo("info", "gpt_shakespeare.safetensors")
    assert done.returncode == 0 and "gpt_shakespeare.works" in done.stdout
