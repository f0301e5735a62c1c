/** A scene as a screen, and what happened between two scenes as lines. */
import type { Scene, SceneNode } from './scene.ts';
import { bold, dim, good, notable } from './style.ts';
import { renderTable } from './table.ts';
import { count, holdText, optionsText, sinceStart } from './words.ts';

/** The whole screen. */
export function sceneText(scene: Scene, title: string): string {
  const { workflow } = scene;
  const asked = optionsText(classOf(scene));
  const rows = scene.nodes.map((node) => [
    node.name,
    node.options === undefined ? '–' : inColour(node, asked),
    stateText(node),
    holdText(node) || dim('–'),
    node.builds.join(', ') || dim('–'),
    waitsFor(node),
  ]);
  return [
    [bold(title), ...since(scene), dim(scene.at.toISOString())].join('  '),
    workflow === undefined
      ? 'Workflow: no execution yet'
      : `Workflow: ${workflow.execution} ${workflow.status === 'RUNNING' ? `at ${bold(workflow.state)}` : workflow.status}${workflow.status === 'RUNNING' && workflow.waitsFor !== '' ? ` – ${workflow.waitsFor}` : ''}`,
    `Class ${scene.className}: ${asked}`,
    '',
    rows.length === 0
      ? 'No build node.'
      : renderTable(['NODE', 'OPTIONS', 'STATE', 'HOLD', 'BUILDS', 'WAITS FOR'], rows),
    '',
    [
      `Waiting Builds: ${scene.waiting.join(', ') || 'none'}`,
      ...(scene.ended === undefined ? [] : [`Ended: ${endedText(scene.ended)}`]),
      `Other pools: ${count(scene.others, 'node')}`,
    ].join('   '),
  ].join('\n');
}

const since = ({ at, startsAt }: Scene): string[] =>
  startsAt === undefined ? [] : [sinceStart(at, startsAt)];

function classOf(scene: Scene): Parameters<typeof optionsText>[0] {
  const { httpTokens, httpPutResponseHopLimit } = scene.classOptions;
  return {
    ...(httpTokens === 'optional' || httpTokens === 'required' ? { httpTokens } : {}),
    ...(httpPutResponseHopLimit === undefined ? {} : { httpPutResponseHopLimit }),
  };
}

function inColour(node: SceneNode, asked: string): string {
  const text = optionsText(node.options);
  if (node.options?.state === 'pending') return notable(`${text} pending`);
  return text === asked ? good(text) : notable(text);
}

function stateText(node: SceneNode): string {
  if (node.leaving) return 'leaving';
  if (!node.ready) return 'not ready';
  return node.drifted ? 'drifted' : 'ready';
}

function waitsFor(node: SceneNode): string {
  if (node.leaving) return 'its pods to end';
  const replaced = node.drifted || (node.cordoned && !node.protected);
  if (node.builds.length > 0 && (replaced || node.cordoned)) return 'its Builds';
  if (!replaced) return '';
  if (node.held && node.protected && node.blockedBy === undefined) return 'its hold to be lifted';
  return node.blockedBy === undefined ? 'Karpenter' : `Karpenter: ${node.blockedBy}`;
}

function endedText(ended: Record<string, string>): string {
  const outcomes = Object.values(ended);
  const kinds = [...new Set(outcomes)].map(
    (kind) => `${String(outcomes.filter((one) => one === kind).length)} ${kind}`,
  );
  return kinds.join(', ') || 'none';
}

/** What is different, one line each, for where no screen can be redrawn. */
export function changes(before: Scene | undefined, after: Scene): string[] {
  const at = (since(after)[0] ?? after.at.toISOString().slice(11, 19)).padEnd(10);
  const named = (nodes: readonly SceneNode[]): Map<string, SceneNode> =>
    new Map(nodes.map((node) => [node.name, node]));
  const [was, is] = [named(before?.nodes ?? []), named(after.nodes)];
  const lines = [
    ...workflowChange(before, after),
    ...change(
      `class ${after.className}`,
      before && optionsText(classOf(before)),
      optionsText(classOf(after)),
    ),
    ...[...is].flatMap(([name, node]) => change(`node ${name}`, nodeText(was.get(name)), nodeText(node))),
    ...[...was.keys()].filter((name) => !is.has(name)).map((name) => `node ${name}: gone`),
    ...after.waiting
      .filter((name) => !before?.waiting.includes(name))
      .map((name) => `Build ${name}: waits for a node`),
    ...Object.entries(after.ended ?? {})
      .filter(([name]) => before?.ended?.[name] === undefined)
      .map(([name, outcome]) => `Build ${name}: ${outcome}`),
  ];
  return lines.map((line) => `${at} ${line}`);
}

function workflowChange(before: Scene | undefined, after: Scene): string[] {
  const text = ({ workflow }: Scene): string => {
    if (workflow === undefined) return '';
    const { execution, status, waitsFor: waiting } = workflow;
    // States come round with every look; what it waits for says how far it is.
    return `workflow ${execution}: ${status === 'RUNNING' ? waiting || 'running' : status}`;
  };
  const now = text(after);
  return now === '' || (before && text(before) === now) ? [] : [now];
}

function change(what: string, before: string | undefined, after: string | undefined): string[] {
  return after === undefined || before === after ? [] : [`${what}: ${after}`];
}

function nodeText(node: SceneNode | undefined): string | undefined {
  if (node === undefined) return undefined;
  const pending = node.options?.state === 'pending' ? ' pending' : '';
  const parts = [
    `${optionsText(node.options)}${pending}`,
    stateText(node),
    ...(holdText(node) ? [holdText(node)] : []),
    ...(node.builds.length > 0 ? [`runs ${node.builds.join(', ')}`] : []),
  ];
  return parts.join(', ');
}
