"""The sets of Zhang, Zhao and LeCun (2015): names, classes, sizes, terms of use, URLs, SHA-256."""

from __future__ import annotations

from typing import NamedTuple

# fast.ai's public copies: https://registry.opendata.aws/fast-ai-nlp/. Their URLs and lengths in bytes are in
# fastai's fastai/data/checks.txt (github.com/fastai/fastai, commit 29be53d7ccaf7405320e2e47db8f35182abeff0a).
# All eight SHA-256 are published in FastAI.jl's src/datasets/fastaidatasets.jl (github.com/FluxML/FastAI.jl, commit
# b4fffa1e8f3eb0768fad066c8982431b488205de). Those of all but ag_news and amazon_review_full are also, with the same
# lengths, in datasets/*/dataset_infos.json of Hugging Face's datasets (github.com/huggingface/datasets, commit
# 040102f100964a33fd334e2695f1c493fa6b92db), and that of yelp_review_polarity is in TensorFlow Datasets'
# url_checksums/yelp_polarity_reviews.txt (github.com/tensorflow/datasets, commit
# 31f1255e57e519a6c004f0b097a2f5cfcf0dde7d).
_FAST_AI = "https://s3.amazonaws.com/fast-ai-nlp"

_STARS = ("1", "2", "3", "4", "5")
_POLARITIES = ("negative", "positive")
_AMAZON_TERMS = (
    "Its authors name no license. The reviews were collected for J. McAuley and J. Leskovec, Hidden factors and hidden "
    "topics, RecSys 2013."
)
_YELP_TERMS = "Yelp's terms for its dataset, for academic purposes: https://www.yelp.com/dataset"


class ZhangSet(NamedTuple):
    """A text classification set of the paper."""

    title: str
    archive: str  # name of the archive and its folder, without ``_csv``
    classes: tuple[str, ...]  # class number i of the files is ``classes[i - 1]``
    n_train: int
    n_test: int
    columns: str  # columns of the files after the class number
    terms: str  # terms of use of the authors
    n_bytes: int  # size of the archive
    sha256: str  # SHA-256 of the archive in hexadecimal
    # Whether the files have a line feed as a backslash and an ``n``. In AG's News it is a backslash only, so that a
    # backslash and an ``n`` may start a word.
    escapes_line_feeds: bool = True

    @property
    def url(self) -> str:
        """The URL of the archive."""
        return f"{_FAST_AI}/{self.archive}_csv.tgz"


# The keys are the names of the sets in the code of the hash-embedding paper.
ZHANG_SETS = {
    "ag": ZhangSet(
        title="AG's News",
        archive="ag_news",
        classes=("World", "Sports", "Business", "Sci/Tech"),
        n_train=120_000,
        n_test=7_600,
        columns="title and description",
        escapes_line_feeds=False,
        terms="For research and any other non-commercial activity: "
        "http://www.di.unipi.it/~gulli/AG_corpus_of_news_articles.html",
        n_bytes=11_784_419,
        sha256="9a8c300eabb45750237fcc669f61cb8a3448f3ef6f6098e1ce340e444f6872be",
    ),
    "amazon": ZhangSet(
        title="Amazon Review Full",
        archive="amazon_review_full",
        classes=_STARS,
        n_train=3_000_000,
        n_test=650_000,
        columns="title and review",
        terms=_AMAZON_TERMS,
        n_bytes=643_695_014,
        sha256="4af62eeee139d0142e0747340b68646d23483d9475c33ea0641ee9175b423443",
    ),
    "amazon-polarity": ZhangSet(
        title="Amazon Review Polarity",
        archive="amazon_review_polarity",
        classes=_POLARITIES,
        n_train=3_600_000,
        n_test=400_000,
        columns="title and review",
        terms=_AMAZON_TERMS,
        n_bytes=688_339_454,
        sha256="d2a3ee7a214497a5d1b8eaed7c8d7ba2737de00ada3b0ec46243983efa100361",
    ),
    "dbpedia": ZhangSet(
        title="DBpedia Ontology",
        archive="dbpedia",
        classes=(
            "Company",
            "EducationalInstitution",
            "Artist",
            "Athlete",
            "OfficeHolder",
            "MeanOfTransportation",
            "Building",
            "NaturalPlace",
            "Village",
            "Animal",
            "Plant",
            "Album",
            "Film",
            "WrittenWork",
        ),
        n_train=560_000,
        n_test=70_000,
        columns="title and content",
        escapes_line_feeds=False,  # there are none
        terms="Creative Commons Attribution-ShareAlike and the GNU Free Documentation License: https://www.dbpedia.org",
        n_bytes=68_341_743,
        sha256="42db5221ddedddb673a4cabcc5f3a7d869714c878bcfe4ba94b29d14aa38e417",
    ),
    "sogou": ZhangSet(
        title="Sogou News",
        archive="sogou_news",
        classes=("sports", "finance", "entertainment", "automobile", "technology"),
        n_train=450_000,
        n_test=60_000,
        columns="title and content, Chinese written in Pinyin",
        terms="The License for Use of Sogou Lab Data: http://www.sogou.com/labs/dl/ca.html",
        n_bytes=384_269_937,
        sha256="6b77fc935561d339b82aa552d7e31ea59eff492a494920579b3ce70604efb5c2",
    ),
    "yahoo": ZhangSet(
        title="Yahoo! Answers",
        archive="yahoo_answers",
        classes=(
            "Society & Culture",
            "Science & Mathematics",
            "Health",
            "Education & Reference",
            "Computers & Internet",
            "Sports",
            "Business & Finance",
            "Entertainment & Music",
            "Family & Relationships",
            "Politics & Government",
        ),
        n_train=1_400_000,
        n_test=60_000,
        columns="title of the question, question and best answer",
        terms="For approved non-commercial research by those who have signed a Data Sharing Agreement with Yahoo! "
        "(Webscope).",
        n_bytes=319_476_345,
        sha256="2d4277855faf8b35259009425fa8f7fe1888b5644b47165508942d000f4c96ae",
    ),
    "yelp": ZhangSet(
        title="Yelp Review Full",
        archive="yelp_review_full",
        classes=_STARS,
        n_train=650_000,
        n_test=50_000,
        columns="review",
        terms=_YELP_TERMS,
        n_bytes=196_146_755,
        sha256="56006b0a17a370f1e366504b1f2c3e3754e4a3dda17d3e718a885c552869a559",
    ),
    "yelp-polarity": ZhangSet(
        title="Yelp Review Polarity",
        archive="yelp_review_polarity",
        classes=_POLARITIES,
        n_train=560_000,
        n_test=38_000,
        columns="review",
        terms=_YELP_TERMS,
        n_bytes=166_373_201,
        sha256="528f22e286cad085948acbc3bea7e58188416546b0e364d0ae4ca0ce666abe35",
    ),
}
