"""Fixtures of this folder."""

from tests.few_epochs import all_epochs as all_epochs
from tests.few_epochs import few_epochs as few_epochs
