"""Tables in files: the same vectors as in memory, shared by processes, and files that are refused by name."""

import copy
import json
import os
import pickle
import resource
import subprocess
import sys
import warnings
from threading import Event

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from sklearn_hashnlp.nn import NgramHashEmbedding, NgramMemory
from sklearn_hashnlp.nn.ngrams._table_file import TableFile

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


def test_prefetched_rows_are_those_of_later_calls(tmp_path, monkeypatch):
    layer = make(dtype=torch.float32)
    layer.save_table(tmp_path / "table.safetensors")
    file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    ids, starts = sequences()
    file.prefetch(ids)
    file.prefetch(ids + 1)
    for future in [one[2] for one in file.file._prefetched]:
        future.result()
    with monkeypatch.context() as patch:
        patch.setattr(TableFile, "read", None)
        for _ in range(2):  # of layers that share the table
            assert torch.equal(file(ids + 1), layer(ids + 1))
            assert torch.equal(file(ids), layer(ids))
    changing = ids.clone()
    file.prefetch(changing)
    file.file._prefetched[-1][2].result()
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


def rewrite(path, change):
    """Write a file with a changed header."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def described(**changes):
    """Change the description of the tables in a header."""

    def change(header):
        (key,) = header["__metadata__"]
        description = json.loads(header["__metadata__"][key])
        scheme = json.loads(description["scheme"])
        for name, value in changes.items():
            (scheme if name in scheme else description)[name] = value
        header["__metadata__"][key] = json.dumps(description | {"scheme": json.dumps(scheme)})

    return change


def without_mode(header):
    (key,) = header["__metadata__"]
    description = json.loads(header["__metadata__"][key])
    del description["mode"]
    header["__metadata__"][key] = json.dumps(description)


def test_damaged_and_foreign_files_are_named(tmp_path):
    path = tmp_path / "table.safetensors"
    make(num_hashes=2, importance=True).save_table(path)
    whole = path.read_bytes()
    for n_bytes in (len(whole) - 1, len(whole) // 2):
        path.write_bytes(whole[:n_bytes])
        message = rf"{path} is truncated or damaged: its header describes {len(whole)} bytes, but it has {n_bytes}"
        with pytest.raises(ValueError, match=message):
            NgramHashEmbedding.from_file(path)
    for content in (b"", b"{}", whole[:100], b"\xff" * 200, (2).to_bytes(8, "little") + b"{}" + whole, b"\0" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path} is not a table of n-grams as .*save_table writes them"):
            NgramHashEmbedding.from_file(path)
    for change in (
        lambda header: header["weight"].update(dtype="F64"),
        lambda header: header["weight"].update(shape=5),
        lambda header: header["weight"].update(shape=[69, 7]),
        lambda header: header["weight"].update(data_offsets=[0]),
        without_mode,
        described(mode="mean"),
        described(orders=[4, 2]),
        described(hash_specification=3),
        described(num_heads=0),
    ):
        path.write_bytes(whole)
        rewrite(path, change)
        with pytest.raises(ValueError, match=f"{path} is not a table of n-grams as .*save_table writes them"):
            NgramHashEmbedding.from_file(path)
    for change in (described(sizes=[10**9, 5, 5]), described(embedding_dim="7"), described(importance=False)):
        path.write_bytes(whole)
        rewrite(path, change)
        with pytest.raises(ValueError, match=f"{path} is damaged: it has arrays of the shapes .*, but its layer has"):
            NgramHashEmbedding.from_file(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        NgramHashEmbedding.from_file(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        NgramHashEmbedding.from_file(tmp_path)


def test_a_layer_keeps_its_rows_when_the_file_is_replaced_or_deleted(tmp_path):
    path, layer = tmp_path / "table.safetensors", make(dtype=torch.float32)
    layer.save_table(path)
    file = NgramHashEmbedding.from_file(path)
    stored = pickle.dumps(file)
    other = make(dtype=torch.float32, num_heads=2)
    other.save_table(path, "float16")
    ids, _ = sequences()
    assert torch.equal(file(ids), layer(ids))
    with pytest.raises(ValueError, match=f"{path} is another table than when the layer was pickled"):
        pickle.loads(stored)
    path.unlink()
    assert torch.equal(file(ids), layer(ids))


@pytest.mark.parametrize("name", ["importance", "concat", "one row"])
def test_a_layer_from_a_file_has_the_dtype_of_its_network(name, tmp_path):
    layer = make(dtype=torch.float32, **OPTIONS[name])
    layer.save_table(tmp_path / "table.safetensors")
    ids, _ = sequences()
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors").to(dtype)
        vectors = file(ids)
        assert vectors.dtype == dtype
        torch.testing.assert_close(vectors.float(), layer(ids), rtol=0.05, atol=0.05)
        hidden = torch.randn(*ids.shape, 8, dtype=dtype)
        assert NgramMemory(file, 8, dtype=dtype)(hidden, ids).dtype == dtype


def test_a_layer_from_a_file_is_not_traced(tmp_path):
    make().save_table(tmp_path / "table.safetensors")
    file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    ids, _ = sequences()
    torch.compiler.reset()
    with pytest.raises(Exception, match="cannot be compiled, exported or transformed"):
        torch.compile(file, backend="eager", fullgraph=True)(ids)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_rows_of_its_parent(tmp_path, monkeypatch):
    make().save_table(tmp_path / "table.safetensors")
    file = NgramHashEmbedding.from_file(tmp_path / "table.safetensors")
    ids, _ = sequences()
    expected, released = file(ids), Event()
    read = TableFile.read
    monkeypatch.setattr(TableFile, "read", lambda self, bags: (released.wait(), read(self, bags))[1])
    file.prefetch(ids)
    monkeypatch.setattr(TableFile, "read", read)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of processes with threads
        child = os.fork()
    if not child:
        os._exit(0 if torch.equal(file(ids), expected) else 1)
    released.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert torch.equal(file(ids), expected)


def test_numbers_that_a_dtype_cannot_hold_are_refused(tmp_path):
    path = tmp_path / "table.safetensors"
    for value, dtype in ((1e5, "float16"), (float("nan"), "int8"), (float("inf"), "float32")):
        layer = make(dtype=torch.float32)
        with torch.no_grad():
            layer.weight[3, 2] = value
        with pytest.raises(ValueError, match=f"the table has numbers that {dtype} cannot hold"):
            layer.save_table(path, dtype)
        assert not list(tmp_path.iterdir())
    layer = make(dtype=torch.float32)
    transposed = layer.state_dict() | {"weight": layer.weight.detach().T.contiguous().T}
    layer.load_state_dict(transposed, assign=True)
    layer.save_table(path)
    assert np.array_equal(load_file(path)["weight"], layer.weight.detach().numpy())


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
