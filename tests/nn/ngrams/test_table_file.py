"""Tables in files: the same vectors as in memory, shared by processes, and files that are refused by name."""

import copy
import json
import pickle
import resource
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from sklearn_hashnlp.nn import NgramHashEmbedding, NgramMemory

from .layers import OPTIONS, make, sequences

TOLERANCES = {"float32": 1e-6, "float16": 2e-3, "int8": 0.02}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_table_in_a_file_gives_the_vectors_of_memory(name, dtype, tmp_path):
    layer = make(**OPTIONS[name])
    layer.save_table(tmp_path / "table.safetensors", dtype)
    assert [path.name for path in tmp_path.iterdir()] == ["table.safetensors"]
    file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    ids, starts = sequences()
    expected = layer(ids, starts).float()
    scale = expected.detach().abs().max()
    torch.testing.assert_close(file(ids, starts), expected, rtol=0, atol=float(scale) * TOLERANCES[dtype])
    assert not [name for name, _ in file.named_parameters() if name == "weight"]
    assert str(tmp_path / "table.safetensors") in repr(file)
    vectors, state = file.step(ids[:, 0], None, starts[:, 0])
    vectors, state = file.step(ids[:, 1], state, starts[:, 1])
    torch.testing.assert_close(vectors, file(ids, starts)[:, 1])


def test_a_file_of_float32_is_the_table_bit_for_bit(tmp_path):
    layer = make(dtype=torch.float32, num_hashes=2, importance=True)
    layer.save_table(tmp_path / "table.safetensors")
    arrays = load_file(tmp_path / "table.safetensors")  # any reader of safetensors can open it
    assert np.array_equal(arrays["weight"], layer.weight.detach().numpy())
    assert np.array_equal(arrays["importance"], layer.importance.detach().numpy())
    ids, _ = sequences()
    assert torch.equal(NgramHashEmbedding.from_file(tmp_path / "table.safetensors")(ids), layer(ids))


def test_the_rows_of_int8_start_with_their_scale(tmp_path):
    layer = make(dtype=torch.float32)
    with torch.no_grad():
        layer.weight[5] = 0
    layer.save_table(tmp_path / "table.safetensors", "int8")
    rows = load_file(tmp_path / "table.safetensors")["weight"]
    assert rows.shape == (69, 4 + 6)
    weight = layer.weight.detach().numpy()
    scales = np.abs(weight).max(axis=1) / np.float32(127)
    assert np.array_equal(np.ascontiguousarray(rows[:, :4]).view("<f4")[:, 0], scales)
    numbers = rows[:, 4:].view(np.int8)
    assert np.abs(numbers * scales[:, None] - weight).max() <= scales.max() / 2 * 1.001
    assert not numbers[5].any()


def test_prefetched_rows_are_those_of_the_next_call(tmp_path):
    layer = make(dtype=torch.float32)
    layer.save_table(tmp_path / "table.safetensors")
    file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    ids, starts = sequences()
    file.prefetch(ids)
    assert torch.equal(file(ids), layer(ids))
    changing = ids.clone()
    file.prefetch(changing)
    changing += 1
    assert torch.equal(file(changing), layer(ids + 1))  # other ids than those that were prefetched
    file.prefetch(ids, starts)
    assert torch.equal(file(ids), layer(ids))
    file.prefetch(ids, starts)
    assert torch.equal(file(ids, starts), layer(ids, starts))
    file.prefetch(ids)
    assert torch.equal(pickle.loads(pickle.dumps(file))(ids), layer(ids))
    layer.prefetch(ids)  # of a table in memory there is nothing to read


def test_copies_and_pickles_open_the_same_file(tmp_path):
    layer = make(dtype=torch.float32, mode="concat")
    layer.save_table(tmp_path / "table.safetensors")
    file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    ids, _ = sequences()
    expected = file(ids)
    stored = pickle.dumps(file)
    for other in (pickle.loads(stored), copy.deepcopy(file)):
        assert torch.equal(other(ids), expected)
    code = (
        "import pickle, sys, torch; print(pickle.load(open(sys.argv[1], 'rb'))(torch.tensor([[5, 8, 5]])).sum().item())"
    )
    (tmp_path / "layer.pickle").write_bytes(stored)
    command = [sys.executable, "-c", code, str(tmp_path / "layer.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(file(torch.tensor([[5, 8, 5]])).sum().item())


def test_a_memory_with_its_table_in_a_file(tmp_path):
    memory = NgramMemory(make(dtype=torch.float32), 8)
    ids, _ = sequences()
    hidden = torch.randn(*ids.shape, 8)
    expected = memory(hidden, ids)
    memory.embedding.save_table(tmp_path / "table.safetensors")
    memory.embedding = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    outputs = memory(hidden, ids)
    torch.testing.assert_close(outputs, expected)
    outputs.sum().backward()  # the other layers can still be trained
    assert memory.value.weight.grad.any()


def test_damaged_and_foreign_files_are_named(tmp_path):
    path = tmp_path / "table.safetensors"
    make(num_hashes=2, importance=True).save_table(path)
    whole = path.read_bytes()
    for n_bytes in (len(whole) - 1, len(whole) // 2):
        path.write_bytes(whole[:n_bytes])
        with pytest.raises(
            ValueError, match=f"{path} is truncated or damaged: .* another table than its {n_bytes} byt"
        ):
            NgramHashEmbedding.from_file(path)
    for content in (b"", b"{}", whole[:100], b"\xff" * 200, (2).to_bytes(8, "little") + b"{}" + whole, b"\0" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path} is not a table of n-grams: expected a file of .*save_table"):
            NgramHashEmbedding.from_file(path)
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    for change in ({"dtype": "F64"}, {"shape": 5}, {"data_offsets": [0]}):
        changed = json.dumps(header | {"weight": header["weight"] | change}).encode()
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + whole[8 + length :])
        with pytest.raises(ValueError, match=f"{path} is not a table of n-grams"):
            NgramHashEmbedding.from_file(path)
    changed = json.dumps(header | {"weight": header["weight"] | {"shape": [69, 7]}}).encode()
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + whole[8 + length :])
    with pytest.raises(ValueError, match=f"{path} is truncated or damaged"):
        NgramHashEmbedding.from_file(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        NgramHashEmbedding.from_file(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        NgramHashEmbedding.from_file(tmp_path)


def test_tables_of_other_hash_functions_are_refused(tmp_path):
    path = tmp_path / "table.safetensors"
    make().save_table(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b'hash_specification\\\\\\": 2', b'hash_specification\\\\\\": 3'))
    assert path.read_bytes() != content
    with pytest.raises(ValueError, match="saved with version 3 of the hash functions, this package has 2"):
        NgramHashEmbedding.from_file(path)


def test_a_file_that_cannot_be_written_is_named_and_the_old_one_stays(tmp_path, monkeypatch):
    path, layer = tmp_path / "table.safetensors", make(num_embeddings=[5000, 5000, 5000])
    layer.save_table(path)
    before = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))  # as on a full disk, the write fails halfway
    try:
        with pytest.raises(OSError, match=f"the table cannot be written .*'{path}'"):
            layer.save_table(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == before
    with pytest.raises(OSError, match="the table cannot be written"):
        layer.save_table("/proc/table.safetensors")  # where nothing can be written
    assert [one.name for one in tmp_path.iterdir()] == ["table.safetensors"]
    with pytest.raises(ValueError, match=r"dtype must be one of \('float32', 'float16', 'int8'\), got 'int4'"):
        layer.save_table(path, "int4")
    with pytest.raises(ValueError, match="the rows are in a file already; copy the file"):
        NgramHashEmbedding.from_file(path).save_table(tmp_path / "other")
