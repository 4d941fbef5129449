-- Timbre Studio for REAPER: converts the selected item to another voice; the result is a new take of it, in place.
-- Needs the studio running on this or another machine, and curl, which Windows, macOS and Linux come with.
-- `timbre-studio reaper` writes this file and its settings, with an access token, into REAPER's folder of scripts.

local studio = {}

-- ---- JSON (RFC 8259), as the studio writes it

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
local NAMED = { ["true"] = true, ["false"] = false }

local function text_at(json, at)
  local parts = {}
  while true do
    local plain, stop = json:match('^([^"\\]*)()', at)
    parts[#parts + 1], at = plain, stop
    local mark = json:sub(at, at)
    if mark == '"' then return table.concat(parts), at + 1 end
    local kind = json:sub(at + 1, at + 1)
    if mark ~= "\\" or kind == "" then error("JSON: a text does not end") end
    if kind ~= "u" then
      parts[#parts + 1], at = ESCAPES[kind] or kind, at + 2
    else
      local unit = tonumber(json:match("^%x%x%x%x", at + 2) or error("JSON: not a code"), 16)
      local low = unit >= 0xD800 and unit < 0xDC00 and json:match("^\\u([dD][c-fC-F]%x%x)", at + 6)
      if low then unit = 0x10000 + (unit - 0xD800) * 0x400 + tonumber(low, 16) - 0xDC00 end
      parts[#parts + 1], at = utf8.char(unit), at + (low and 12 or 6)
    end
  end
end

local value_at

local function list_at(json, at)
  local found = {}
  at = json:match("^%s*()", at)
  if json:sub(at, at) == "]" then return found, at + 1 end
  while true do
    local mark
    found[#found + 1], at = value_at(json, at)
    mark, at = json:match("^%s*([,%]])()", at)
    if not mark then error("JSON: a list does not end") end
    if mark == "]" then return found, at end
  end
end

local function object_at(json, at)
  local found = {}
  at = json:match("^%s*()", at)
  if json:sub(at, at) == "}" then return found, at + 1 end
  while true do
    local name, mark
    at = json:match('^%s*"()', at) or error("JSON: a name is missing")
    name, at = text_at(json, at)
    at = json:match("^%s*:()", at) or error("JSON: a value is missing")
    found[name], at = value_at(json, at)
    mark, at = json:match("^%s*([,}])()", at)
    if not mark then error("JSON: an object does not end") end
    if mark == "}" then return found, at end
  end
end

function value_at(json, at)
  at = json:match("^%s*()", at)
  local mark = json:sub(at, at)
  if mark == '"' then return text_at(json, at + 1) end
  if mark == "{" then return object_at(json, at + 1) end
  if mark == "[" then return list_at(json, at + 1) end
  local word, stop = json:match("^(%l+)()", at)
  if word == "null" then return nil, stop end
  if word and NAMED[word] ~= nil then return NAMED[word], stop end
  local number, last = json:match("^(-?%d+%.?%d*[eE]?[+-]?%d*)()", at)
  return tonumber(number) or error("JSON: not a value"), last
end

-- Returns the value of a JSON text; null is nil, so it leaves no trace in objects. Raises an error for other text.
function studio.decoded(json)
  local value, at = value_at(json, 1)
  if json:match("^%s*()", at) <= #json then error("JSON: more than a value") end
  return value
end

-- ---- HTTP, by curl: what it does is in a file, so that no shell reads names or the token

local function quoted(value)
  if value:find("[\r\n%z]") then error("A name with a line break cannot be sent: " .. value, 0) end
  return '"' .. value:gsub('[\\"]', "\\%0") .. '"'
end

local function written(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function content(path)
  local file = io.open(path, "rb")
  local text = file and file:read("a")
  if file then file:close() end
  return text or ""
end

-- Returns what the studio answers. asked: path, or url of a sound, which is no secret's business; fields, file.
-- Raises an error that is text for the user.
local function answer(settings, asked)
  local order, body = settings.folder .. "/timbre_studio.curl", asked.target or settings.folder .. "/timbre_studio.json"
  local lines = { "silent", "max-time = 600", "output = " .. quoted(body), 'write-out = "%{http_code}"' }
  lines[#lines + 1] = "url = " .. quoted(asked.url or settings.address .. asked.path)
  if asked.path then lines[#lines + 1] = "header = " .. quoted("Authorization: Bearer " .. settings.token) end
  for name, value in pairs(asked.fields or {}) do
    lines[#lines + 1] = "form-string = " .. quoted(name .. "=" .. value)
  end
  if asked.file then lines[#lines + 1] = "form = " .. quoted("audio=@" .. quoted(asked.file)) end
  written(order, table.concat(lines, "\n") .. "\n")
  local code = tonumber(settings.run(order)) or 0
  os.remove(order)
  local text = asked.target and "" or content(body)
  if not asked.target then os.remove(body) end
  if code >= 200 and code < 300 then return not asked.target and studio.decoded(text) or nil end
  if code == 0 then error("The studio does not answer at " .. settings.address .. ". Start it: timbre-studio.", 0) end
  if asked.target then
    os.remove(asked.target)
    error("The result could not be fetched (" .. code .. "). Convert the item again.", 0)
  end
  local is_json, problem = pcall(studio.decoded, text)
  error(is_json and problem.detail or "The studio answered " .. code .. ".", 0)
end

-- ---- what the studio is asked

-- Returns its voices: id, name.
function studio.voices(settings)
  return answer(settings, { path = "/models" }).models
end

-- Begins the conversion of a file; returns the id of its task. The key follows the voice's range by whole octaves.
function studio.begun(settings, file, voice)
  return answer(settings, { path = "/convert", file = file, fields = { model = voice, transpose = "auto" } }).task_id
end

-- Returns the address of the result, or nil while the studio works.
function studio.result(settings, task)
  local found = answer(settings, { path = "/check-task/" .. task })
  if found.status == "in_progress" then return nil end
  if found.status == "completed" then return found.output_audio_urls[1] end
  error(answer(settings, { path = "/tasks/" .. task }).error or "The conversion failed.", 0)
end

-- Fetches a result into a file beside others, none of which is replaced; returns its path.
function studio.fetched(settings, url, folder, name)
  local kind = url:match("%.(%w+)$") or url:match("%.(%w+)%?") or "wav"
  local stem = folder .. "/" .. name:gsub('[/\\:*?"<>|%c]', "_")
  local path, number = stem .. "." .. kind, 1
  while io.open(path, "rb") do
    number = number + 1
    path = stem .. " " .. number .. "." .. kind
  end
  answer(settings, { url = url, target = path })
  return path
end

if not reaper then return studio end

-- ---- in REAPER

local LOOK_S = 1.0
local LIKE_THE_FIRST = { "D_STARTOFFS", "D_VOL", "D_PAN", "D_PLAYRATE", "D_PITCH", "B_PPITCH" }
local MISSING = "Settings are missing: run `timbre-studio reaper` in a terminal, which writes them."

local function say(text) reaper.ShowMessageBox(text, "Timbre Studio", 0) end

local function run(order)
  local curl = reaper.GetOS():match("^Win") and "curl.exe" or "/usr/bin/curl"
  return (reaper.ExecProcess(curl .. ' --config "' .. order .. '"', 0) or ""):match("(%d+)%s*$")
end

local function read_settings()
  local _, script = reaper.get_action_context()
  local is_there, settings = pcall(dofile, script:gsub("%.lua$", "_settings.lua"))
  if not is_there then error(MISSING, 0) end
  settings.folder, settings.run = reaper.GetResourcePath(), run
  return settings
end

local function chosen(voices)
  local names = {}
  for index, voice in ipairs(voices) do names[index] = voice.name:gsub("[|#!<>&]", " ") end
  gfx.init("Timbre Studio", 1, 1)
  gfx.x, gfx.y = gfx.mouse_x, gfx.mouse_y
  local index = gfx.showmenu(table.concat(names, "|"))
  gfx.quit()
  return voices[index]
end

-- Returns the file that a take plays: a section or a reversed take plays a part of its parent's.
local function file_of(take)
  local source = reaper.GetMediaItemTake_Source(take)
  if reaper.GetMediaSourceParent(source) then
    error("This take plays a section of a file or is reversed: choose Glue items first.", 0)
  end
  local file = reaper.GetMediaSourceFileName(source, "")
  if reaper.TakeIsMIDI(take) or file == "" then error("This item has no recording. Select one that has.", 0) end
  return file
end

local function add_take(item, first, path, name)
  reaper.Undo_BeginBlock()
  local take = reaper.AddTakeToMediaItem(item)
  reaper.SetMediaItemTake_Source(take, reaper.PCM_Source_CreateFromFile(path))
  for _, what in ipairs(LIKE_THE_FIRST) do
    reaper.SetMediaItemTakeInfo_Value(take, what, reaper.GetMediaItemTakeInfo_Value(first, what))
  end
  reaper.GetSetMediaItemTakeInfo_String(take, "P_NAME", name, true)
  reaper.SetActiveTake(take)
  reaper.Undo_EndBlock("Timbre Studio: " .. name, -1)
  reaper.Main_OnCommand(40047, 0) -- Peaks: Build any missing peaks
  reaper.UpdateArrange()
end

local function main()
  local item = reaper.GetSelectedMediaItem(0, 0)
  local take = item and reaper.GetActiveTake(item)
  if not take then error("Select an item with a vocal first.", 0) end
  local file, settings = file_of(take), read_settings()
  local voice = chosen(studio.voices(settings))
  if not voice then return end
  local task, next_s = studio.begun(settings, file, voice.id), 0
  local name = (file:match("([^/\\]+)%.%w+$") or "vocal") .. " - " .. voice.name

  local function look()
    local url = studio.result(settings, task)
    if not url then return false end
    local path = studio.fetched(settings, url, reaper.GetProjectPath(), name)
    if not reaper.ValidatePtr2(0, item, "MediaItem*") or not reaper.ValidatePtr2(0, take, "MediaItem_Take*") then
      error("The item is gone; its new take is in " .. path .. ".", 0)
    end
    add_take(item, take, path, voice.name)
    return true
  end

  local function wait()
    if reaper.time_precise() >= next_s then
      local went_well, found = pcall(look)
      if not went_well then return say(found) end
      if found then return end
      next_s = reaper.time_precise() + LOOK_S
    end
    reaper.defer(wait)
  end

  wait()
end

local went_well, problem = pcall(main)
if not went_well then say(problem) end
