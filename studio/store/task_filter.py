"""Which tasks of an account to list: by kind, state, recording, voice, date, and words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, and_, exists, or_

from engine.spelling import folded
from studio.store.kinds import UNLISTED
from studio.store.tables import projects, tasks


@dataclass(frozen=True)
class TaskFilter:
    """Which tasks to list; None and empty: all. words: all must be in the file's or the project's name, or be in
    `model_ids_by_word`, the voices that have each word in their names. since, until: seconds since 1970."""

    state: str | None = None
    kind: str | None = None
    recording: str | None = None
    words: Sequence[str] = ()
    model_ids_by_word: Mapping[str, Collection[str]] = field(default_factory=dict)
    model_id: str | None = None
    since: float | None = None
    until: float | None = None

    def condition(self) -> ColumnElement[bool]:
        """Return the condition on the table of tasks, without the account."""
        kinds = tasks.c.kind.not_in(UNLISTED) if self.kind is None else tasks.c.kind == self.kind
        same = {"state": self.state, "recording": self.recording, "model_id": self.model_id}
        exact = [tasks.c[name] == value for name, value in same.items() if value is not None]
        exact += [] if self.since is None else [tasks.c.created_at >= self.since]
        exact += [] if self.until is None else [tasks.c.created_at < self.until]
        return and_(kinds, *exact, *map(self._has, self.words))

    def _has(self, word: str) -> ColumnElement[bool]:
        named = exists().where(
            projects.c.account_id == tasks.c.account_id,
            projects.c.id == tasks.c.recording,
            projects.c.texts.contains(folded(word), autoescape=True),
        )
        voices = self.model_ids_by_word.get(word, ())
        return or_(tasks.c.texts.contains(folded(word), autoescape=True), tasks.c.model_id.in_(voices), named)
