"""Work goes to the pool; where the pool takes none, it is done all the same, once, and models serve on."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sklearn_hashnlp._threads import submit

SERVE = """
import sys
import threading
import numpy as np
from sklearn_hashnlp import make_text_classifier

words = [f"word{i}" for i in range(500)]
rng = np.random.default_rng(0)
texts = [" ".join(rng.choice(words, 30)) for _ in range(2500)]
y = ["word1" in text.split() for text in texts]

def learn():
    model = make_text_classifier(random_state=0, max_epochs=1, n_embeddings=10**4, n_buckets=10**4, batch_size=500)
    model[0].set_params(n_jobs=2)
    return model.fit(texts, y).predict_proba(texts)

def serve():
    threading.main_thread().join()
    found = learn()
    print("same" if (found == expected).all() else "other")

BEFORE
threading.Thread(target=serve).start()
"""


@pytest.mark.parametrize(
    "before", ["expected = learn()", "learned, expected = learn, 0; learn = lambda: 0 * learned()"]
)
def test_models_learn_and_predict_after_the_main_thread_has_ended(before):
    done = subprocess.run([sys.executable, "-c", SERVE.replace("BEFORE", before)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "same\n", "")


def test_the_pool_does_it():
    with ThreadPoolExecutor(1) as pool:
        assert submit(pool, threading.get_ident).result() == pool.submit(threading.get_ident).result()
        with pytest.raises(ZeroDivisionError):
            submit(pool, lambda: 1 / 0).result()


def test_a_pool_that_takes_none_leaves_it_to_the_caller():
    with ThreadPoolExecutor(1) as pool:
        pass
    assert submit(pool, threading.get_ident).result() == threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        submit(pool, lambda: 1 / 0).result()


def test_what_is_on_the_list_of_a_pool_without_a_new_thread_is_done_once(monkeypatch):
    done = []
    with ThreadPoolExecutor(2) as pool:
        pool.submit(int).result()
        free = threading.Event()
        pool.submit(free.wait)

        def refuse(self):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert submit(pool, done.append, 3).result() is None
        free.set()
    assert done == [3]


def test_cancelled_work_is_not_done():
    free, done = threading.Event(), []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(free.wait)
        assert submit(pool, done.append, 3).cancel()
        free.set()
    assert done == []
