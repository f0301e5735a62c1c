/** Notices against their published schemas, as whoever subscribes to them would read them. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

function published(name: string): z.ZodType {
  const file = new URL(`../schema/${name}.schema.json`, import.meta.url);
  return z.fromJSONSchema(JSON.parse(readFileSync(file, 'utf8')) as Parameters<typeof z.fromJSONSchema>[0]);
}

const ended = published('notice');
const ofApproval = new Map([
  ['IMDS Rollout Approval Awaited', published('notice-awaited')],
  ['IMDS Rollout Approved', published('notice-approved')],
]);

/** What is wrong with each that does not keep to it, and with each whose type is not its outcome's. */
export const wrongNotices = (
  notices: readonly { type: string; detail: Readonly<Record<string, unknown>> }[],
): string[] =>
  notices.flatMap(({ type, detail }) => {
    const schema = ofApproval.get(type);
    const { error } = (schema ?? ended).safeParse(detail);
    const isItsType = schema !== undefined || type === `IMDS Rollout ${String(detail['outcome'])}`;
    return [
      ...(error === undefined ? [] : [`${type}: ${error.message}`]),
      ...(isItsType ? [] : [`${type} is not the outcome's type`]),
    ];
  });
