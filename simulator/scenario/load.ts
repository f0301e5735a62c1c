/** Reads a scenario file's text: all of its problems at once, each with its place, or the scenario to play. */
import {
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type YAMLParseError,
} from 'yaml';
import { impossibilities, type Path, type Problem } from './check.ts';
import { expectationProblems } from './expect.ts';
import { normalise } from './normalise.ts';
import { problemsOf } from './problems.ts';
import type { Scenario } from './scenario.ts';
import { scenarioSchema } from './schema.ts';

/** How many errors of YAML's syntax are named: most of the rest follow from these. */
const SYNTAX_TROUBLES = 5;

/** A scenario that cannot be played. The message has one line a problem: `file:line:column: path: what`. */
export class ScenarioError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ScenarioError';
    this.problems = problems;
  }
}

/** The scenario in the text; `filename` is only for messages. Throws a ScenarioError that names every problem. */
export function loadScenario(text: string, filename: string): Scenario {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${filename}:${String(line)}:${String(col)}`;
  };
  if (document.errors.length > 0) {
    const troubles = document.errors.map((error) => `${place(error.pos[0])}: ${yamlTrouble(error, text)}`);
    const more = troubles.length - SYNTAX_TROUBLES;
    throw new ScenarioError([
      ...troubles.slice(0, SYNTAX_TROUBLES),
      ...(more > 0 ? [`${filename}: ${String(more)} more of that kind: is it a scenario?`] : []),
    ]);
  }
  const input = plain(document, filename);
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new ScenarioError([`${filename}:1:1: a scenario is a mapping with at least name and runFor`]);
  }
  const fail = (problems: readonly Problem[]): never => {
    const placed = problems.map((problem) => ({ ...problem, offset: offsetOf(document, problem.path) }));
    throw new ScenarioError(
      placed
        .sort((one, other) => one.offset - other.offset)
        .map(({ path, what, offset }) => `${place(offset)}: ${pathText(path)}: ${what}`),
    );
  };
  const parsed = scenarioSchema.safeParse(input);
  if (!parsed.success) return fail(problemsOf(scenarioSchema, parsed.error.issues, input));
  const problems = [...impossibilities(parsed.data), ...expectationProblems(parsed.data.expect)];
  return problems.length > 0 ? fail(problems) : normalise(parsed.data);
}

type Trouble = Pick<YAMLParseError, 'code' | 'message' | 'pos'>;

/** The parser's words, except where they are for programmers or leave out what is meant. */
function yamlTrouble({ code, message, pos }: Trouble, text: string): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here (---); a scenario is one';
  if (code === 'DUPLICATE_KEY') {
    const key = /^[\w.-]+/.exec(text.slice(pos[0]))?.[0];
    if (key !== undefined) return `${key} is written twice in one mapping`;
  }
  return message;
}

/** Aliases upon aliases, which the parser refuses to expand without end, are a problem of the file like others. */
function plain(document: Document, filename: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ScenarioError([`${filename}:1:1: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

/** `nodes[2].builds[0].runsFor` */
function pathText(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${String(part)}]` : index === 0 ? part : `.${part}`))
    .join('');
}

/** Where the key of the path stands, or the nearest thing around it that is written. */
function offsetOf(document: Document, path: Path): number {
  let current: unknown = document.contents;
  let offset = startOf(current) ?? 0;
  for (const key of path) {
    const next = childOf(current, key);
    if (next === undefined) break;
    offset = next.offset ?? offset;
    current = next.value;
  }
  return offset;
}

function childOf(
  node: unknown,
  key: string | number,
): { value: unknown; offset: number | undefined } | undefined {
  if (isSeq(node) && typeof key === 'number') {
    const value = node.items[key];
    return value === undefined ? undefined : { value, offset: startOf(value) };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(
    (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key),
  );
  return pair && { value: pair.value, offset: startOf(pair.key) };
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
