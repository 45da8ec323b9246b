// Reads one AsyncAPI document with the AsyncAPI initiative's own parser and fails on anything worse than a hint. The parser also holds every
// message example against its payload's schema.
const { Parser } = require(process.argv[2]);
const { readFileSync } = require("node:fs");

(async () => {
  const file = process.argv[3];
  const { document, diagnostics } = await new Parser().parse(readFileSync(file, "utf8"), { source: file });
  const bad = diagnostics.filter((d) => d.severity <= 1);
  for (const d of bad) {
    console.error(`${file}:${d.range.start.line + 1}: ${d.code}: ${d.message} (${d.path.join(".")})`);
  }
  if (!document || bad.length > 0) process.exit(1);
  const count = (all) => all.all().length;
  console.log(`${file}: ${document.version()}, ${count(document.channels())} channels, ${count(document.operations())} operations, ${count(document.messages())} messages`);
})();
