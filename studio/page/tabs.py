"""The tabs of the page, from left to right, and what makes each."""

from engine.texts import tr

LIVE = tr("Live")
TABS = {
    tr("Convert"): "studio.page.convert.tab:ConvertTab",
    LIVE: "studio.page.live.tab:LiveTab",
    tr("History"): "studio.page.history.tab:HistoryTab",
    tr("Voices"): "studio.page.voices.tab:VoicesTab",
    tr("Create"): "studio.page.create.tab:CreateTab",
    tr("Train"): "studio.page.train.tab:TrainTab",
    tr("Explore"): "studio.page.explore.tab:ExploreTab",
    tr("Settings"): "studio.page.settings.tab:SettingsTab",
}
_OF_THE_HOST = {tr("Settings")}  # tokens and the machine


def tabs_of(is_demo: bool) -> tuple[str, ...]:
    """Return the names of the tabs that a page has."""
    return tuple(name for name in TABS if not (is_demo and name in _OF_THE_HOST))
