// The elements of the page. Each is a module that defines one custom element.
import "./player.js";
import "./roll.js";
import "./voices.js";
