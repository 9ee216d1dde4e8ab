"""Texts and labels, from files of your own, from what is already on the machine, or from public sets."""

from sklearn_hashnlp.datasets._fetch_ag_news import fetch_ag_news
from sklearn_hashnlp.datasets._fetch_amazon_review_full import fetch_amazon_review_full
from sklearn_hashnlp.datasets._fetch_amazon_review_polarity import fetch_amazon_review_polarity
from sklearn_hashnlp.datasets._fetch_dbpedia import fetch_dbpedia
from sklearn_hashnlp.datasets._fetch_sogou_news import fetch_sogou_news
from sklearn_hashnlp.datasets._fetch_yahoo_answers import fetch_yahoo_answers
from sklearn_hashnlp.datasets._fetch_yelp_review_full import fetch_yelp_review_full
from sklearn_hashnlp.datasets._fetch_yelp_review_polarity import fetch_yelp_review_polarity
from sklearn_hashnlp.datasets._labelled import load_labelled
from sklearn_hashnlp.datasets._paragraphs import stream_paragraphs
from sklearn_hashnlp.datasets._stdlib_docstrings import load_stdlib_docstrings
from sklearn_hashnlp.datasets._wikipedia import stream_wikipedia

__all__ = [
    "fetch_ag_news",
    "fetch_amazon_review_full",
    "fetch_amazon_review_polarity",
    "fetch_dbpedia",
    "fetch_sogou_news",
    "fetch_yahoo_answers",
    "fetch_yelp_review_full",
    "fetch_yelp_review_polarity",
    "load_labelled",
    "load_stdlib_docstrings",
    "stream_paragraphs",
    "stream_wikipedia",
]
