from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import open_studio


def test_open_studio_makes_its_folder_and_database_private(home):
    home.mkdir(mode=0o755, parents=True)  # made by another program, or by an earlier version
    studio = open_studio(Settings(home), ServiceSettings())
    studio.close()
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "studio.sqlite").stat().st_mode & 0o777 == 0o600
