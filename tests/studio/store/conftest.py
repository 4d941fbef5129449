"""What tests of the database begin with."""

import pytest

from studio.store.accounts import local_account


@pytest.fixture
def account(database) -> str:
    """The id of the account that a database begins with."""
    return local_account(database).id
