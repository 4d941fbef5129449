from contextlib import closing
from dataclasses import replace

from studio.page.parts.page import Visit
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import Cost, costs, done_here, open_studio


def test_visit_does_apart_what_costs_that_and_the_rest_here(home):
    apart: list[str] = []

    def submit(studio, account, action, at_most=None):
        apart.append(action.name)
        return done_here(studio, account, action)

    def show(studio, account, word, *, again):
        return account, word + again

    @costs(Cost.APART)
    def make(studio, account, word, *, again):
        return account, word + again

    with closing(open_studio(Settings(home), ServiceSettings())) as studio:
        visit = Visit(replace(studio, submit=submit), studio.local, 0.0)
        assert [visit.do(one, "a", again="b") for one in (show, make)] == 2 * [(studio.local, "ab")]
    assert apart == ["make"]
