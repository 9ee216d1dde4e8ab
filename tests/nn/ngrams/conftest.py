from tests.one_torch_thread import _one_thread  # noqa: F401 (a fixture)
