import os

from hypothesis import settings

# The first call of a kernel compiles it, so no single example has a deadline.
settings.register_profile("quick", deadline=None, max_examples=60)
settings.register_profile("ci", parent=settings.get_profile("quick"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "quick")
