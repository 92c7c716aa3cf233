// A program for the tests of sstruct.js.
// driver predict READER MODEL ROWS: print the labels of all sequences as JSON.
// driver check READER FILE...: print the error of each file, or "ok".
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [command, reader, ...paths] = process.argv.slice(2);
const { Model, ModelError } = await import(pathToFileURL(reader));
const read = (path) => readFileSync(path, "utf8");

function outcome(path) {
  try {
    Model.parse(read(path));
    return "ok";
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return error.message.replaceAll("\n", " ");
  }
}

if (command === "check") {
  console.log(paths.map(outcome).join("\n"));
} else {
  const model = Model.parse(read(paths[0]));
  console.log(JSON.stringify(JSON.parse(read(paths[1])).map((rows) => model.predict(rows))));
}
