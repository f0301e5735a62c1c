// `npm run test:planted [-- NAME]`: plants one mistake at a time and demands that it is noticed. Each
// test/planted/<invariant>-<name>.patch is applied to a copy of the sources, where the scenario beside it (or the one
// that it names: `Scenario: FILE`) then has to report that invariant as broken; without the patch the scenario has to
// break nothing. A mistake that breaks none is an `expect-<name>.patch`: what the scenario expects may not hold then. Where chance decides whether a mistake shows, `Seeds: N` in the patch has it played so often.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import pMap from 'p-map';
import { z } from 'zod';

const invariants = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
/** A defect may keep a run from ending at all. */
const longestRunMs = 180_000;
const atOnce = 2;
/** What a run needs of the sources. */
const needed = ['package.json', 'functions', 'rollout', 'scripts', 'simulator', 'statemachine'];

interface Planted {
  name: string;
  patch: string;
  /** What has to be reported: the number of an invariant, or `expect`. */
  invariant: string;
  /** For planted-play.ts. Invariant 8 is about tasks that are run twice. */
  run: string;
}

const root = realpathSync(join(import.meta.dirname, '..'));
const workshop = mkdtempSync(join(realpathSync(tmpdir()), 'imds-rollout-planted-'));
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(workshop, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    process.exit(1);
  });
}

function readPlanted(patch: string): Planted {
  const name = basename(patch, '.patch');
  const [, invariant = ''] = /^(\d|expect)-/.exec(name) ?? [];
  const text = readFileSync(join(root, patch), 'utf8');
  const [, elsewhere] = /^Scenario: (\S+)$/m.exec(text) ?? [];
  const [, seeds = '1'] = /^Seeds: (\d+)$/m.exec(text) ?? [];
  const scenario = elsewhere ?? patch.replace(/\.patch$/, '.yaml');
  const mode = invariant === '8' ? 'twice' : 'once';
  return { name, patch, invariant, run: `${mode}:${seeds}:${join(root, scenario)}` };
}

/** A copy of what a run needs, as git has it or would have it, with the dependencies of this tree. */
function copyTree(): string {
  const tree = join(workshop, 'tree');
  const list = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...needed],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  for (const file of new Set(list.split('\0'))) {
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(tree, file));
  }
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

/** What git says where the patch does not fit; undefined where it does. */
function apply(patch: string, tree: string): string | undefined {
  try {
    execFileSync('git', ['apply', '--whitespace=nowarn', join(root, patch)], {
      cwd: tree,
      encoding: 'utf8',
      stdio: 'pipe',
      // Inside of another repository, git would apply it there.
      env: { ...process.env, GIT_CEILING_DIRECTORIES: workshop },
    });
    return undefined;
  } catch (error) {
    return error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
  }
}

const playedSchema = z.strictObject({ run: z.string(), broken: z.record(z.string(), z.string()) });
type Broken = z.infer<typeof playedSchema>['broken'];

/** Plays runs with the sources of a tree: what each breaks, by run. Throws where one does not end well. */
async function play(tree: string, runs: readonly string[]): Promise<Map<string, Broken>> {
  const child = spawn(process.execPath, [join(tree, 'scripts/planted-play.ts'), ...runs], {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: longestRunMs,
    killSignal: 'SIGKILL',
  });
  children.add(child);
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  children.delete(child);
  if (code === null) throw new Error(`it was not over after ${longestRunMs / 1000} s`);
  if (code !== 0) throw new Error(`it ended with ${code}: ${errors.trim()}`);
  const played = output
    .trim()
    .split('\n')
    .map((line) => playedSchema.parse(JSON.parse(line)));
  return new Map(played.map(({ run, broken }) => [run, broken]));
}

/** Every scenario without a patch: what it breaks, or why it could not be played. */
async function playUnplanted(tree: string, planted: readonly Planted[]): Promise<Map<string, Broken>> {
  const runs = [...new Set(planted.map(({ run }) => run))];
  const shares = Array.from({ length: atOnce }, (_, share) =>
    runs.filter((_run, index) => index % atOnce === share),
  ).filter(({ length }) => length > 0);
  const played = await Promise.all(
    shares.map((share) =>
      play(tree, share).catch((error: unknown) => {
        const why: Broken = { 'not played': error instanceof Error ? error.message : String(error) };
        return new Map(share.map((run) => [run, why]));
      }),
    ),
  );
  return new Map(played.flatMap((share) => [...share]));
}

const inWords = (broken: Broken): string =>
  Object.entries(broken)
    .map(([invariant, what]) => `\n       ${invariant}: ${what}`)
    .join('');

/** What is wrong with a patch or its run; undefined where the mistake was noticed. */
async function judge(
  one: Planted,
  tree: string,
  unplanted: Map<string, Broken>,
): Promise<string | undefined> {
  const before = unplanted.get(one.run) ?? {};
  if (Object.keys(before).length > 0)
    return `the scenario breaks something without the patch:${inWords(before)}`;
  const mine = join(workshop, one.name);
  cpSync(tree, mine, { recursive: true, verbatimSymlinks: true });
  try {
    const refused = apply(one.patch, mine);
    if (refused !== undefined) {
      return `the patch does not fit any more: plant the same mistake again and renew ${one.patch}\n       ${refused}`;
    }
    const after = (await play(mine, [one.run])).get(one.run) ?? {};
    const names = Object.keys(after);
    if (!names.some((name) => name.split(' ')[0] === one.invariant))
      return `nobody noticed: ${one.invariant} is not reported${names.length > 0 ? `, but${inWords(after)}` : ''}`;
    console.log(`ok     ${one.name}: ${names.join(', ')}`);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(mine, { recursive: true, force: true });
  }
}

const [wanted = ''] = process.argv.slice(2);
const all = globSync('test/planted/*.patch', { cwd: root }).sort().map(readPlanted);
const planted = all.filter(({ name }) => name.includes(wanted));
const tree = copyTree();
const unplanted = await playUnplanted(tree, planted);
const problems = await pMap(
  planted,
  async (one) => {
    const problem = await judge(one, tree, unplanted);
    if (problem !== undefined) console.log(`FAILED ${one.name}: ${problem}`);
    return problem;
  },
  { concurrency: atOnce },
);

const uncovered = invariants.filter((number) => !all.some(({ invariant }) => invariant === number));
for (const number of uncovered) console.log(`FAILED no patch breaks invariant ${number}`);
const failed = problems.filter((problem) => problem !== undefined).length + uncovered.length;
console.log(`${planted.length + uncovered.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
