// Prints what openDAW's parser finds in the XML files of a .dawproject, one line each.
import { readFileSync } from "node:fs";
import { MetaDataSchema, ProjectSchema } from "@opendaw/lib-dawproject";
import { Xml } from "@opendaw/lib-xml";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("");
for (const name of ["DOMParser", "Element", "Node"]) globalThis[name] = window[name];
for (const [file, schema] of [["project.xml", ProjectSchema], ["metadata.xml", MetaDataSchema]]) {
  console.log(JSON.stringify(Xml.parse(readFileSync(file, "utf8"), schema)));
}
