// The elements of the page. Each is a module that defines one custom element.
import "./restart.js";
import "./player.js";
import "./roll.js";
import "./voices.js";
import "./command.js";
import "./curves.js";
import "./facts.js";
import "./tasks.js";
import "./theme.js";
import "./tokens.js";
import "./notes.js";
import "./fit.js";
import "./recording.js";
import "./voice.js";
import "./report.js";
import "./gathered.js";
import "./pitch-editor.js";
