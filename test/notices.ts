/** Notices against their published schemas, as whoever subscribes to them would read them. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

function published(name: string): z.ZodType {
  const file = new URL(`../schema/${name}.schema.json`, import.meta.url);
  return z.fromJSONSchema(JSON.parse(readFileSync(file, 'utf8')) as Parameters<typeof z.fromJSONSchema>[0]);
}

interface Notice {
  type: string;
  detail: Readonly<Record<string, unknown>>;
}

const ended = published('notice');
const ofApproval = new Map([
  ['IMDS Rollout Approval Awaited', published('notice-awaited')],
  ['IMDS Rollout Approved', published('notice-approved')],
]);

/** The ends of executions that are told more than once. */
function toldTwice(notices: readonly Notice[]): string[] {
  const ends = notices.filter(({ type }) => !ofApproval.has(type)).map(({ detail }) => detail['execution']);
  return ends
    .filter((execution, index) => ends.indexOf(execution) < index)
    .map((execution) => `the end of ${String(execution)} is told twice`);
}

/** What is wrong with each that does not keep to it, and with each whose type is not its outcome's. */
export const wrongNotices = (notices: readonly Notice[]): string[] => [
  ...toldTwice(notices),
  ...notices.flatMap(({ type, detail }) => {
    const schema = ofApproval.get(type);
    const { error } = (schema ?? ended).safeParse(detail);
    const isItsType = schema !== undefined || type === `IMDS Rollout ${String(detail['outcome'])}`;
    return [
      ...(error === undefined ? [] : [`${type}: ${error.message}`]),
      ...(isItsType ? [] : [`${type} is not the outcome's type`]),
    ];
  }),
];
