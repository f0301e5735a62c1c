// The sources are TypeScript that Node 24 runs as it is. `npm run` finds the project's own Node 24 first, through
// the platform packages in optionalDependencies; this preload (`node --import`) covers what is left: an older Node
// that was called directly goes on under the project's, and where there is none, the message says what to do.
// It is plain JavaScript because an older Node must be able to read it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

if (Number.parseInt(process.versions.node, 10) < 24) {
  const own = fileURLToPath(
    new URL(`../node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url),
  );
  if (!existsSync(own)) {
    console.error(
      `imds-rollout needs Node 24, and this is Node ${process.versions.node}. ` +
        `On Linux (x64, arm64) \`npm ci\` brings it along, unless optional dependencies are switched off ` +
        `(--omit=optional). Elsewhere install Node 24 from https://nodejs.org and run the command again.`,
    );
    process.exit(1);
  }
  // Children (vitest, eslint) start with `env node`: they shall find the same one.
  const env = { ...process.env, PATH: `${dirname(own)}${delimiter}${process.env.PATH ?? ''}` };
  const run = spawnSync(own, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit', env });
  process.exit(run.status ?? 1);
}
