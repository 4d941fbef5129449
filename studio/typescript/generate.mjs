// Writes src/schema.ts, the types of the service that runs: npm run generate -- http://127.0.0.1:7860/openapi.json
import { writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const BLOB = ts.factory.createTypeReferenceNode("Blob");
const document = await openapiTS(new URL(process.argv[2]), {
  defaultNonNullable: false,
  transform: (schema) => (schema.format === "binary" ? BLOB : undefined), // a file, not its text
});
await writeFile(new URL("src/schema.ts", import.meta.url), astToString(document));
