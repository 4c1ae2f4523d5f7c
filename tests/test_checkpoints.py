from __future__ import annotations

import json
import os
import shlex
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import fingerprints
from harness.checkpoints import default_pooling, discover
from harness.errors import CheckpointError
from harness.fingerprints import default_cache, hash_file
from harness.weightfiles import count_parameters

BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("HARNESS_CACHE", str(folder))
    return folder


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """Write the format by hand, so that the reader is not tested against itself."""
    header, body = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(body), len(body) + len(content)],
        }
        body += content
    text = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    return struct.pack("<Q", len(text)) + text + body


def weights(fill: int = 0) -> bytes:
    """Six float parameters, and two integers that are none."""
    return safetensors(
        {
            "layer.weight": ("F32", [2, 3], bytes([fill]) * 24),
            "layer.positions": ("I64", [2], bytes(16)),
        }
    )


def write_checkpoint(folder: Path, config: dict[str, Any] = BERT, fill: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(weights(fill))
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    return folder


def write_sharded(folder: Path) -> Path:
    write_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for index, name in enumerate(names):
        content = safetensors({f"part{index}": ("BF16", [4], bytes(8))})
        (folder / name).write_bytes(content)
    index_file = {"metadata": {}, "weight_map": {"part0": names[0], "part1": names[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index_file))
    return folder


def reason(root: Path) -> str:
    """Give the reason for which the only broken checkpoint beside a good one is skipped."""
    write_checkpoint(root / "zz-good", fill=99)
    (skipped,) = discover(root).skipped
    return skipped.reason


# --- discovery ----------------------------------------------------------------------------------


def test_a_folder_with_a_config_is_one_checkpoint(tmp_path: Path) -> None:
    found = discover(write_checkpoint(tmp_path / "small"))
    (checkpoint,) = found.checkpoints
    assert checkpoint.name == "small"
    assert checkpoint.path == str(tmp_path / "small")
    assert checkpoint.parameters == 6
    assert found.skipped == ()


def test_the_name_is_the_folders_own_even_if_given_as_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_checkpoint(tmp_path / "small"))
    (checkpoint,) = discover(".").checkpoints
    assert checkpoint.name == "small"
    assert Path(checkpoint.path).is_absolute()


def test_step_9_comes_before_step_10(tmp_path: Path) -> None:
    for step in (10, 9, 1000, 200):
        write_checkpoint(tmp_path / f"step{step}", fill=step % 251)
    names = [checkpoint.name for checkpoint in discover(tmp_path).checkpoints]
    assert names == ["step9", "step10", "step200", "step1000"]


def test_equal_last_names_become_paths_and_others_stay_short(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "mlm" / "step1", fill=1)
    write_checkpoint(tmp_path / "clm" / "step1", fill=2)
    write_checkpoint(tmp_path / "clm" / "step2", fill=3)
    names = [checkpoint.name for checkpoint in discover(tmp_path).checkpoints]
    assert names == ["clm--step1", "step2", "mlm--step1"]


def test_linked_folders_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "elsewhere" / "real")
    root = tmp_path / "root"
    root.mkdir()
    (root / "linked").symlink_to(tmp_path / "elsewhere" / "real")
    (root / "loop").symlink_to(root)
    assert [checkpoint.name for checkpoint in discover(root).checkpoints] == ["linked"]


def test_steps_inside_a_checkpoint_count_and_parts_of_other_tools_do_not(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "final", fill=1)
    write_checkpoint(tmp_path / "final" / "step5", fill=2)
    (tmp_path / "final" / "1_Pooling").mkdir()
    (tmp_path / "final" / "1_Pooling" / "config.json").write_text('{"pooling": "mean"}')
    found = discover(tmp_path)
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["final", "step5"]
    assert found.skipped == ()


def test_a_copy_is_skipped_because_its_runs_would_be_the_same(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "step1")
    write_checkpoint(tmp_path / "step2")
    found = discover(tmp_path)
    assert [checkpoint.name for checkpoint in found.checkpoints] == ["step1"]
    assert found.skipped[0].path == tmp_path / "step2"
    assert "same content as 'step1'" in found.skipped[0].reason


def test_a_missing_folder_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(CheckpointError, match=r"no such folder; did you mean .*/checkpoints\?"):
        discover(tmp_path / "chekpoints")


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint here or below"):
        discover(tmp_path)


def test_if_none_can_be_used_every_reason_is_given(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "a") / "config.json").unlink()
    (write_checkpoint(tmp_path / "b") / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError) as caught:
        discover(tmp_path)
    assert "a: no config.json" in str(caught.value)
    assert "b: no tokenizer" in str(caught.value)


def test_a_single_broken_checkpoint_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "small") / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match="small: can't be used: no tokenizer"):
        discover(tmp_path / "small")


def test_the_hub_out_of_reach_names_the_command_that_helps() -> None:
    with pytest.raises(CheckpointError, match=r"nobody/nothing@v1: .*harness fetch"):
        discover("nobody/nothing@v1")


# --- reasons to skip ----------------------------------------------------------------------------


def test_without_config_it_is_skipped(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "broken") / "config.json").unlink()
    assert reason(tmp_path) == "no config.json"


@pytest.mark.parametrize("content", ["{", "[]", '"text"'])
def test_an_unreadable_config_is_skipped(tmp_path: Path, content: str) -> None:
    (write_checkpoint(tmp_path / "broken") / "config.json").write_text(content)
    assert reason(tmp_path).startswith("config.json can't be read")


def test_a_config_without_a_model_type_is_skipped(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "broken", config={"hidden_size": 4})
    assert "model_type" in reason(tmp_path)


def test_without_weights_it_is_skipped(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "broken") / "model.safetensors").unlink()
    assert reason(tmp_path).startswith("no weights")


def test_an_adapter_is_skipped_and_called_so(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")
    assert "adapter" in reason(tmp_path)


@pytest.mark.parametrize("keep", [0, 5, 8, 40, -1])
def test_truncated_weights_are_skipped(tmp_path: Path, keep: int) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    assert "model.safetensors is truncated" in reason(tmp_path)


def test_weights_with_a_tail_are_skipped(tmp_path: Path) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_bytes(file.read_bytes() + b"x")
    assert "damaged" in reason(tmp_path)


def test_a_shape_that_does_not_fit_its_bytes_is_damage(tmp_path: Path) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_bytes(safetensors({"weight": ("F32", [2, 2], bytes(12))}))
    assert "does not fit" in reason(tmp_path)


def test_a_page_saved_in_place_of_the_weights_is_named(tmp_path: Path) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert "truncated or no safetensors file" in reason(tmp_path)


def test_shards_are_counted_together(tmp_path: Path) -> None:
    assert count_parameters(write_sharded(tmp_path / "big")) == 8


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    (write_sharded(tmp_path / "broken") / "model-00002-of-00002.safetensors").unlink()
    assert "1 of 2 weight files" in reason(tmp_path)


def test_a_truncated_shard_is_named(tmp_path: Path) -> None:
    shard = write_sharded(tmp_path / "broken") / "model-00002-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-2])
    assert "model-00002-of-00002.safetensors is truncated" in reason(tmp_path)


def test_a_shard_without_its_tensor_is_named(tmp_path: Path) -> None:
    folder = write_sharded(tmp_path / "broken")
    first, second = sorted(folder.glob("*.safetensors"))
    second.write_bytes(first.read_bytes())
    assert "expects part1" in reason(tmp_path)


def test_an_index_can_not_reach_out_of_its_folder(tmp_path: Path) -> None:
    index = write_sharded(tmp_path / "broken") / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"part0": "../zz-good/model.safetensors"}}')
    assert "outside of its own folder" in reason(tmp_path)


def test_pickled_weights_are_skipped_with_a_command_that_converts_them(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "python -c 'from transformers import AutoModel" in reason(tmp_path)


@pytest.mark.slow
def test_the_command_for_pickles_works(tmp_path: Path) -> None:
    import torch
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path / "old one"
    config = BertConfig(
        vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4
    )
    write_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    config.save_pretrained(folder)
    torch.save(BertForMaskedLM(config).state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError) as caught:
        discover(folder)
    command = shlex.split(str(caught.value).split("convert them: ")[1])
    subprocess.run([sys.executable, *command[1:]], check=True, capture_output=True)
    assert discover(folder).checkpoints[0].name == "old one"


# --- fingerprints -------------------------------------------------------------------------------


def fingerprint_of(folder: Path) -> str:
    return discover(folder).checkpoints[0].fingerprint


def test_the_fingerprint_does_not_know_path_or_time(tmp_path: Path) -> None:
    one, other = write_checkpoint(tmp_path / "one"), write_checkpoint(tmp_path / "other")
    os.utime(other / "model.safetensors", (1, 1))
    assert fingerprint_of(one) == fingerprint_of(other)
    assert len(fingerprint_of(one)) == 16


def test_the_fingerprint_is_pinned(tmp_path: Path) -> None:
    assert fingerprint_of(write_checkpoint(tmp_path / "one")) == "3e0c533a0cc765c7"


def test_where_and_with_what_a_config_was_written_does_not_count(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "one")
    noise = {"transformers_version": "4.8.2", "_name_or_path": "/home/me/x"}
    assert fingerprint_of(one) == fingerprint_of(write_checkpoint(tmp_path / "two", BERT | noise))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", '{"model_type": "bert", "hidden_act": "relu"}'),
        ("model.safetensors", None),
        ("tokenizer.json", '{"version": "2.0"}'),
        ("tokenizer_config.json", '{"do_lower_case": true}'),
        ("vocab.txt", "[PAD]\n"),
    ],
)
def test_the_content_of_every_part_counts(tmp_path: Path, file: str, content: str | None) -> None:
    one, other = write_checkpoint(tmp_path / "one"), write_checkpoint(tmp_path / "other")
    (other / file).write_bytes(weights(1) if content is None else content.encode())
    assert fingerprint_of(one) != fingerprint_of(other)


def test_a_null_in_a_config_is_not_the_same_as_nothing(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "one")
    other = write_checkpoint(tmp_path / "other", BERT | {"sliding_window": None})
    assert fingerprint_of(one) != fingerprint_of(other)


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    os.utime(file, (1000, 1000))
    first = hash_file(file)
    (memo,) = (cache / "hashes").iterdir()
    assert memo.read_text() == first
    memo.write_text("remembered")
    assert hash_file(file) == "remembered"
    file.write_bytes(b"two")
    assert hash_file(file) not in {first, "remembered"}


def test_a_file_changed_just_now_is_not_remembered(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "weights").write_bytes(b"one")
    hash_file(tmp_path / "weights")
    assert not (cache / "hashes").exists()


def test_a_cache_that_can_not_be_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"one")
    os.utime(tmp_path / "file", (1000, 1000))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    assert len(hash_file(tmp_path / "file")) == 64


def test_the_cache_is_where_the_environment_says(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_cache() == cache
    monkeypatch.delenv("HARNESS_CACHE")
    assert fingerprints.default_cache() == Path.home() / ".cache" / "harness"


# --- attention and pooling ----------------------------------------------------------------------


def test_an_encoder_is_pooled_by_mean_and_a_decoder_by_its_last_token(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "decoder", LLAMA)
    write_checkpoint(tmp_path / "encoder", BERT)
    decoder, encoder = discover(tmp_path).checkpoints
    assert (decoder.attention, decoder.pooling) == ("native", "last")
    assert (encoder.attention, encoder.pooling) == ("native", "mean")


def test_a_decoder_that_looks_both_ways_is_pooled_by_mean(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "decoder", LLAMA)
    (checkpoint,) = discover(folder, attention="bidirectional").checkpoints
    assert (checkpoint.attention, checkpoint.pooling) == ("bidirectional", "mean")


def test_what_is_asked_for_is_taken(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "decoder", LLAMA)
    (checkpoint,) = discover(folder, attention="causal", pooling="first").checkpoints
    assert (checkpoint.attention, checkpoint.pooling) == ("causal", "first")


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, "last"),
        ({"model_type": "qwen3"}, "last"),
        ({"model_type": "gemma3_text"}, "last"),
        ({"model_type": "gpt_neox"}, "last"),
        ({"model_type": "bert", "is_decoder": True}, "last"),
        ({"model_type": "somebodys_own", "architectures": ["OwnForCausalLM"]}, "last"),
        ({"model_type": "llama", "is_causal": False}, "mean"),
        ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, "mean"),
        ({"model_type": "xlm", "architectures": ["XLMWithLMHeadModel"]}, "mean"),
        ({"model_type": "modernbert"}, "mean"),
        ({"model_type": "eurobert"}, "mean"),
    ],
)
def test_the_config_tells_who_reads_left_to_right(config: dict[str, Any], pooling: str) -> None:
    assert default_pooling(config, "native") == pooling


def test_causal_attention_asks_for_the_last_token_of_any_model() -> None:
    assert default_pooling(BERT, "causal") == "last"
