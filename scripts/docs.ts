// `npm run docs`: runs every generator, scripts/generate-*.ts. With --check (as `npm run check` does) a generator
// writes nothing and ends with 1 when what it would write is not what is there. They run one after the other in this
// process, so that what they share is loaded and read once; each can be run alone as well.
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

for (const generator of globSync('scripts/generate-*.ts').sort()) {
  try {
    await import(pathToFileURL(resolve(generator)).href);
  } catch (error) {
    // The others still say what they found.
    console.error(`${generator}:`, error);
    process.exitCode = 1;
  }
}
