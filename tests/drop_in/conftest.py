"""Fixtures of scikit-learn's tests, and the list of what must fail, applied."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: a mark of scikit-learn's own tests")


@pytest.fixture
def global_random_seed():
    return 42  # scikit-learn's own default


def pytest_collection_modifyitems(items):
    for item in items:
        expected = getattr(getattr(item, "module", None), "EXPECTED_FAILURES", None)
        if expected is None:
            continue
        # Warnings of scikit-learn's tests are theirs to judge, as in its own configuration.
        item.add_marker(pytest.mark.filterwarnings("default"))
        reason = expected.get(item.name) or expected.get(getattr(item, "originalname", item.name))
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
