// Draws statemachine/rollout.asl.json as a Mermaid state diagram into README.md, as GitHub shows it.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { generate } from './generated-block.ts';

const file = 'statemachine/rollout.asl.json';

const comparison = z.looseObject({ Variable: z.string().optional(), StringEquals: z.string().optional() });
const stateSchema = z.looseObject({
  Type: z.enum(['Wait', 'Task', 'Choice', 'Succeed', 'Fail']),
  Seconds: z.number().optional(),
  SecondsPath: z.string().optional(),
  Next: z.string().optional(),
  Default: z.string().optional(),
  Choices: z.array(comparison.extend({ Or: z.array(comparison).optional(), Next: z.string() })).optional(),
  Catch: z.array(z.looseObject({ Next: z.string() })).optional(),
});
type State = z.infer<typeof stateSchema>;

const { StartAt, States } = z
  .looseObject({ StartAt: z.string(), States: z.record(z.string(), stateSchema) })
  .parse(JSON.parse(readFileSync(file, 'utf8')));
const states = Object.entries(States);

const id = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');

/** `look`, or `Succeeded, NothingToDo`: the values that a choice is made by. */
function values({ StringEquals, Or }: NonNullable<State['Choices']>[number]): string {
  const all = [StringEquals, ...(Or ?? []).map((each) => each.StringEquals)];
  if (all.every((value) => value === undefined)) throw new Error(`${file}: a choice compares no string`);
  return all.filter((value) => value !== undefined).join(', ');
}

function label(name: string, { Type, Seconds, SecondsPath }: State): string {
  if (Type === 'Wait') {
    const long = Seconds === undefined ? `as long as ${SecondsPath ?? 'it says'}` : `${String(Seconds)} s`;
    return `${name} (${long})`.replace('$.', '');
  }
  return name;
}

/** Where most tasks' Catch leads: said in words, since an arrow from each would hide the others. */
const caught = Map.groupBy(
  states.flatMap(([name, state]) => (state.Catch ?? []).map(({ Next }) => ({ name, Next }))),
  ({ Next }) => Next,
);
const [usual] = [...caught].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];

function arrows([name, state]: [string, State]): string[] {
  const arrow = (to: string, why?: string): string =>
    `${id(name)} --> ${to}${why === undefined ? '' : `: ${why}`}`;
  return [
    ...(state.Choices ?? []).map((choice) => arrow(id(choice.Next), values(choice))),
    ...(state.Default === undefined ? [] : [arrow(id(state.Default), 'else')]),
    ...(state.Next === undefined ? [] : [arrow(id(state.Next))]),
    ...(state.Catch ?? []).filter(({ Next }) => Next !== usual).map(({ Next }) => arrow(id(Next), 'error')),
    ...(state.Type === 'Succeed' ? [arrow('[*]', 'SUCCEEDED')] : []),
    ...(state.Type === 'Fail' ? [arrow('[*]', 'FAILED')] : []),
  ];
}

const names = (caught.get(usual ?? '') ?? []).map(({ name }) => name);
const diagram = [
  'stateDiagram-v2',
  ...states.map(([name, state]) => `state "${label(name, state)}" as ${id(name)}`),
  `[*] --> ${id(StartAt)}`,
  ...states.flatMap(arrows),
].join('\n  ');

await generate([
  {
    file: 'README.md',
    name: 'workflow',
    text: [
      '```mermaid',
      diagram,
      '```',
      '',
      `Not drawn: an error that the retries do not cure leads from ${names.join(', ')} to ${usual ?? ''}.`,
    ].join('\n'),
  },
]);
