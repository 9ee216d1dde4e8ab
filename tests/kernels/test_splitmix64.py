from sklearn_hashnlp.kernels._hashes import splitmix64


def test_splitmix64_gives_the_published_sequence():
    assert splitmix64(1234567, 5) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
