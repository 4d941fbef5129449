@echo off
rem Open it: it sets up Python and Timbre Studio, once, and opens the page.
rem With uv (https://docs.astral.sh/uv), in folders of this user; "uv tool uninstall timbre-studio" removes it again.
setlocal
cd /d "%~dp0..\.."
set "PATH=%USERPROFILE%\.local\bin;%PATH%"

where uv >nul 2>nul
if not errorlevel 1 goto install
echo Fetching uv, which brings Python ...
powershell -NoProfile -ExecutionPolicy Bypass -Command "irm https://astral.sh/uv/install.ps1 | iex"
where uv >nul 2>nul
if errorlevel 1 set "problem=uv could not be fetched. Is there a connection to the internet?" & goto fail

:install
echo Setting up Timbre Studio; the first time it fetches 600 MB ...
uv tool install --quiet --python 3.11 --torch-backend cpu .
if errorlevel 1 set "problem=Timbre Studio could not be set up; the reason stands above. Once it is mended, open this again: it goes on." & goto fail
for /f "usebackq delims=" %%f in (`uv tool dir --bin`) do set "programs=%%f"
echo Timbre Studio runs as long as this window is open.
"%programs%\timbre-studio.exe" serve --open-page on
if not errorlevel 1 exit /b 0
set "problem=Timbre Studio ended; the reason stands above."

:fail
echo %problem%
pause
exit /b 1
