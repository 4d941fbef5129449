"""Accounts: whose they are, and which names they may have."""

import pytest

from studio.errors import Invalid, NotFound
from studio.store import accounts
from studio.store.accounts import create_account, local_account
from studio.store.tokens import create_token
from tests.waiting import in_threads


def test_local_account_is_created_once_by_parallel_threads(database):
    found = in_threads(6, lambda _: local_account(database))
    assert len(set(found)) == 1
    assert found[0].is_local
    assert accounts.find_account(database, "local") == accounts.account_of_id(database, found[0].id) == found[0]


def test_create_account_refuses_a_name_in_use(database):
    anna = create_account(database, "Anna Ähre")
    assert not anna.is_local
    assert accounts.find_account(database, "Anna Ähre") == anna
    with pytest.raises(Invalid, match="already"):
        create_account(database, "Anna Ähre")
    with pytest.raises(NotFound, match="no account 'leo'"):
        accounts.find_account(database, "leo")
    with pytest.raises(NotFound):
        accounts.account_of_id(database, "0" * 24)


@pytest.mark.parametrize("name", ["", "   ", "a" * 201, "a\0b", "a\nb", "\ud800"])
def test_create_account_and_create_token_refuse_invalid_names(database, name):
    with pytest.raises(Invalid, match="needs a name"):
        create_account(database, name)
    with pytest.raises(Invalid, match="needs a name"):
        create_token(database, local_account(database), name)
