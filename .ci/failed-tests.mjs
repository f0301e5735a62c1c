// What runs again the tests that failed, from vitest's results: arguments, one to a line. Files whose set-up failed
// have no failed test to name, and run again whole.
import { readFileSync } from 'node:fs';

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed');
const names = failed.flatMap(({ assertionResults }) =>
  assertionResults
    .filter(({ status }) => status === 'failed')
    // As vitest joins them where it looks for a name.
    .map(({ ancestorTitles, title }) => [...ancestorTitles, title].join(' > ')),
);
const withoutTest = failed.some(({ assertionResults }) =>
  assertionResults.every(({ status }) => status !== 'failed'),
);
const escaped = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
if (!withoutTest && names.length > 0) console.log(`-t\n(?:${escaped.join('|')})$`);
else for (const { name } of failed) console.log(name);
